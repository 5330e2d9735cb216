"""Draws of a Gamma with rate 1, as a differentiable function of the concentration: its distribution function says how they move."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.autograd import Function
from autolab.rules.gamma import digamma_values
from autolab.torch_api.creation import finish
from autolab.torch_api.random import _standard_gamma

Array = np.ndarray[Any, Any]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2  # on [0, 1]
REACH = 45.0  # e**-45 is below what a float64 sees beside 1
BLOCK = 4096  # draws at a time, each with 64 nodes


def gamma_draws(concentration: Any, shape: Any) -> Any:
    """Draws of a shape to which the concentration expands."""
    concentration = concentration.expand(shape)
    return StandardGamma.apply(concentration, _standard_gamma(concentration.detach()))


class _OfDraws(Function):
    """A function of concentrations and their draws, entry by entry."""

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, *inputs: Any) -> Any:
        moved = [t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip(inputs, in_dims)]
        return cls.apply(*moved), 0


class StandardGamma(_OfDraws):
    """A draw x of concentration a keeps its share F(x, a) of what lies below: dx/da = -(dF/da) / (dF/dx).

    Source: Figurnov, Mohamed and Mnih 2018, "Implicit reparameterization gradients".
    """

    @staticmethod
    def forward(concentration: Any, draws: Any) -> Any:
        """The draws, which the concentration moves from now on."""
        return draws.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """By the chain rule."""
        return g * _Slope.apply(*ctx.saved_tensors), None


class _Slope(_OfDraws):
    """dx/da, which has no derivative here, nor in PyTorch."""

    @staticmethod
    def forward(concentration: Any, draws: Any) -> Any:
        a, x = concentration.numbers(), draws.numbers()
        return finish(gamma_slope(a.astype(np.float64), x.astype(np.float64)).astype(x.dtype))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise RuntimeError("the derivative for '_standard_gamma_grad' is not implemented: draws of a Gamma can be differentiated once.")


def gamma_slope(a: Array, x: Array) -> Array:
    """dx/da of a draw x of a Gamma with concentration a and rate 1.

    No part of the three forms changes its sign, so no digits cancel.

    >>> gamma_slope(np.array(1.0), np.array(0.0001)).round(6)  # the draws of concentration 1 are exponential
    np.float64(0.000963)
    """
    shape = np.broadcast_shapes(a.shape, x.shape)
    a, x = (np.broadcast_to(v, shape).ravel() for v in (a, x))
    found = np.empty(a.size)
    for start in range(0, a.size, BLOCK):
        part = slice(start, start + BLOCK)
        small, low = x[part] < 0.5, np.log(x[part]) < digamma_values(a[part])
        for chosen, form in ((small, by_series), (~small & low, from_below), (~small & ~low, from_above)):
            found[part][chosen] = form(a[part][chosen], x[part][chosen])
    return found.reshape(shape)[()]


def by_series(a: Array, x: Array) -> Array:
    """For x below 0.5. F = x**a e**-x / gamma(a + 1) * sum of c_n, c_n = x**n / ((a + 1) ... (a + n)), differentiated by a."""
    term, total, by_a, harmonic = np.ones_like(x), np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    for n in range(1, 20):
        term, harmonic = term * x / (a + n), harmonic + 1 / (a + n)
        total, by_a = total + term, by_a + term * harmonic
    return x / a * ((digamma_values(a + 1) - np.log(x)) * total + by_a)


def from_below(a: Array, x: Array) -> Array:
    """The integral of (digamma(a) - log t) (t / x)**(a - 1) e**(x - t) from 0 to x, where t = x e**-v."""
    end = (REACH + x) / a
    for _ in range(25):  # Newton: where the integrand has fallen by REACH
        end = end - (a * end + x * np.expm1(-end) - REACH) / (a - x * np.exp(-end))
    v = end[:, None] * NODES
    parts = (digamma_values(a) - np.log(x))[:, None] + v
    return x * end * ((parts * np.exp(-a[:, None] * v - x[:, None] * np.expm1(-v))) @ WEIGHTS)


def from_above(a: Array, x: Array) -> Array:
    """The integral of (log t - digamma(a)) (t / x)**(a - 1) e**(x - t) from x to infinity, where t = x e**v."""
    end = np.sqrt(2 * REACH / x) + np.log1p(2 * REACH / x)
    for _ in range(25):
        end = end - (x * np.expm1(end) - a * end - REACH) / (x * np.exp(end) - a)
    v = end[:, None] * NODES
    parts = (np.log(x) - digamma_values(a))[:, None] + v
    return x * end * ((parts * np.exp(a[:, None] * v - x[:, None] * np.expm1(v))) @ WEIGHTS)
