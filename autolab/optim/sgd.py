"""Stochastic gradient descent, plain and averaged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.optim.optimizer import Optimizer
from autolab.optim.running_averages import add_scaled, toward
from autolab.optim.settings import settings

SMALL = 1 << 12  # entries: up to here fresh memory costs less than to look for some that was used before


class SGD(Optimizer):
    """p -= lr * g; with momentum, g is replaced by a running sum v = momentum * v + (1 - dampening) * g, which starts as g.

    nesterov looks ahead: g + momentum * v. weight_decay adds weight_decay * p to the gradient; maximize turns its sign.
    Raises ValueError for settings out of range.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SGD([w], lr=0.1).step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    entrywise = True
    in_pairs = False

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x -= lr * g, with what the settings put in the place of g."""
        if group["weight_decay"] or group["maximize"]:
            g = self.regularized(x, g, group)
        momentum = group["momentum"]
        if not momentum and x.size <= SMALL:
            x -= g * self.number(group["lr"], x)
            return
        u = self.scratch(x)
        if momentum:
            state = self.state[p]
            if state.get("momentum_buffer") is None:
                v = g.copy()
                state["momentum_buffer"] = new_tensor(v)
            else:
                v = state["momentum_buffer"].writable_array()
                v *= momentum
                add_scaled(v, g, 1 - group["dampening"], u)
            if group["nesterov"]:
                np.multiply(v, momentum, out=u)
                u += g
                g = u
            else:
                g = v
        x -= np.multiply(g, self.number(group["lr"], x), u)


class ASGD(Optimizer):
    """Gradient descent whose steps fall as lr / (1 + lambd * lr * t)^alpha, and the mean of all positions from step t0 on.

    The mean of a parameter is `optimizer.state[p]["ax"]`. lambd also shrinks the parameter a little in each step.
    Source: Polyak and Juditsky 1992.

    >>> w = tensor([1., 2.], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> ASGD([w], lr=0.1).step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    entrywise = True

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, settings(locals(), unchecked=("alpha",)))

    def update(self, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """x = (1 - lambd * eta) * x - eta * g; ax += mu * (x - ax)"""
        lr, lambd = float(group["lr"]), group["lambd"]
        state, t = self.begun(p, x, "ax", eta=lr, mu=1)
        mean, u = state["ax"].writable_array(), self.scratch(x)
        g = self.regularized(x, g, group)
        eta, mu = (float(state[name].payload) for name in ("eta", "mu"))
        x *= 1 - lambd * eta
        add_scaled(x, g, -eta, u)
        if mu == 1:
            np.copyto(mean, x)
        else:
            toward(mean, x, mu, u)
        for name, value in (("eta", lr / (1 + lambd * lr * t) ** group["alpha"]), ("mu", 1 / max(1, t - group["t0"]))):
            state[name].payload = state[name].payload.dtype.type(value)
