"""Activations in blocks, each as one formula without `np.where`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.fast.blocks import Array, clip, horner
from autolab.fast.kernel import LARGE, block_kernel
from autolab.fast.kernels.elementwise import BITS, log1p_exp, times_mask
from autolab.rules import activations as rows
from autolab.rules.activations import A, B
from autolab.rules.elementwise import SQRT_HALF_PI

# -- with bounds ---------------------------------------------------------------------------------


def threshold(x: Array, threshold: Any, value: Any, out: Array) -> None:
    """The bits of x or of the value, each times 1 or 0."""
    below = x <= threshold
    times_mask(x, ~below, out)
    bits = BITS[out.itemsize]
    out.view(bits)[...] += below * x.dtype.type(value).view(bits)


def threshold_rule(g: Array, x: Array, threshold: Any, out: Array) -> None:
    times_mask(g, ~(x <= threshold), out)


def hardtanh(x: Array, low: Any, high: Any, out: Array) -> None:
    clip(x, low, high, out)


def between(x: Array, low: Any, high: Any) -> Array:
    inside: Array = x > low
    inside &= x < high
    return inside


def hardtanh_rule(g: Array, x: Array, low: Any, high: Any, out: Array) -> None:
    times_mask(g, between(x, low, high), out)


def hardsigmoid(x: Array, out: Array) -> None:
    np.add(x, 3, out)
    clip(out, 0, 6, out)
    out /= 6


def hardsigmoid_rule(g: Array, x: Array, out: Array) -> None:
    inside = between(x, -3, 3)
    np.divide(g, 6, out)
    times_mask(out, inside, out)


def hardswish(x: Array, out: Array) -> None:
    np.add(x, 3, out)
    clip(out, 0, 6, out)
    out *= x
    out /= 6


def hardswish_rule(g: Array, x: Array, out: Array) -> None:
    """g times x / 3 + 0.5 within the bounds, 0 on the left, 1 on the right."""
    left, right = x > -3, x < 3
    slope = x / 3
    slope += 0.5
    times_mask(slope, left & right, slope)
    slope += ~right
    np.multiply(g, slope, out)


def hardshrink(x: Array, lambd: Any, out: Array) -> None:
    times_mask(x, ~((x >= -lambd) & (x <= lambd)), out)


def shrink_rule(g: Array, x: Array, lambd: Any, out: Array) -> None:
    times_mask(g, ~((x >= -lambd) & (x <= lambd)), out)


def softshrink(x: Array, lambd: Any, out: Array) -> None:
    clip(x, -lambd, lambd, out)
    np.subtract(x, out, out)


block_kernel(rows.threshold, threshold)
block_kernel(rows.hardtanh, hardtanh)
block_kernel(rows.hardsigmoid, hardsigmoid)
block_kernel(rows.hardswish, hardswish, x=hardswish_rule)
block_kernel(rows.hardshrink, hardshrink)
block_kernel(rows.softshrink, softshrink)
# These are worth it where they are written over the gradient.
block_kernel(rows.threshold, least=LARGE, x=threshold_rule)
block_kernel(rows.hardtanh, least=LARGE, x=hardtanh_rule)
block_kernel(rows.hardsigmoid, least=LARGE, x=hardsigmoid_rule)
block_kernel(rows.hardshrink, least=LARGE, x=shrink_rule)
block_kernel(rows.softshrink, least=LARGE, x=shrink_rule)


# -- with an exponential -------------------------------------------------------------------------


def elu(x: Array, alpha: Any, scale: Any, rate: Any, out: Array) -> None:
    """scale * max(x, 0) + scale * alpha * (exp(z) - 1), with z = rate * min(x, 0).

    In float32 by exp(z) - 1 = 2 t / (1 - t), t = tanh(z / 2): NumPy's tanh is three times as fast as its expm1, and loses nothing here.
    """
    z = clip(x, -math.inf, 0)
    if x.dtype == np.float32:
        z *= 0.5 * rate
        np.tanh(z, z)
        np.subtract(1, z, out)
        np.divide(z, out, out)
        out *= 2 * alpha * scale
    else:
        z *= rate
        np.expm1(z, out)
        out *= alpha * scale
    right = clip(x, 0, math.inf)
    if scale != 1:
        right *= scale
    out += right


def elu_rule(g: Array, x: Array, alpha: Any, scale: Any, rate: Any, out: Array) -> None:
    slope = clip(x, -math.inf, 0)
    slope *= rate
    np.exp(slope, slope)
    slope *= alpha * scale * rate
    slope += np.multiply(x > 0, x.dtype.type(scale - alpha * scale * rate))
    np.multiply(g, slope, out)


def log_sigmoid(x: Array, out: Array) -> None:
    log1p_exp(x, out)
    np.subtract(clip(x, -math.inf, 0), out, out)


def log_sigmoid_rule(g: Array, x: Array, out: Array) -> None:
    below = np.exp(x)
    below += 1
    np.divide(g, below, out)


LEVEL = 20  # from here on mish(x) is x, to the last digit of float64


def mish(x: Array, out: Array) -> None:
    """x * tanh(softplus(x)) = x * n / (n + 2), with n = e * (e + 2) and e = exp(x)"""
    e = np.exp(clip(x, -math.inf, LEVEL))
    n = e + 2
    n *= e
    np.add(n, 2, out)
    np.divide(n, out, out)
    out *= x


def mish_rule(g: Array, x: Array, out: Array) -> None:
    """g * (t + x * (1 - t) * (1 + t) * e / (1 + e)), with t = n / (n + 2), 1 - t = 2 / (n + 2)"""
    z = clip(x, -math.inf, LEVEL)
    e = np.exp(z)
    n = e + 2
    n *= e
    below = n + 2
    t = np.divide(n, below, n)
    z *= t + 1
    z *= e
    e += 1
    e *= below
    z /= e
    z *= 2
    t += z
    np.multiply(g, t, out)


block_kernel(rows.elu, elu, x=elu_rule)
block_kernel(rows.log_sigmoid, log_sigmoid, x=log_sigmoid_rule)
block_kernel(rows.mish, mish, x=mish_rule)


# -- gelu ----------------------------------------------------------------------------------------

# log(Phi(-x) / Phi(x)) is nearly a cubic and bends gently: x P(x**2) / Q(x**2) with these, of the lowest degrees that give Phi to
# 2e-9. A rational Chebyshev approximation, as in W. J. Cody, Math. Comp. 23 (1969), but fitted to |x| < 6, for float32.
P = [np.float32(c) for c in (-39564.555, -4904.6675, -373.03763, -9.4995241)]
Q = [np.float32(c) for c in (24793.408, 1944.4576, 146.36139, 1)]
FAR = np.float32(15)  # 1 / Phi(-15) is inf in float32


def one_over_phi(x: Array, out: Array) -> None:
    """1 / Phi(x) = 1 + Phi(-x) / Phi(x), for float32."""
    near = clip(x, -FAR, FAR)
    square = near * near
    horner(P, square, out)
    out *= near
    horner(Q, square, near)
    out /= near
    with np.errstate(over="ignore"):
        np.exp(out, out)
    out += 1


def gelu(x: Array, out: Array) -> None:
    if x.dtype != np.float32:
        out[...] = rows.gelu.forward(x)
        return
    one_over_phi(x, out)
    np.divide(x, out, out)


def gelu_rule(g: Array, x: Array, out: Array) -> None:
    if x.dtype != np.float32:
        out[...] = rows.gelu.rules["x"].function(g, x)
        return
    phi = np.empty_like(x)
    one_over_phi(x, phi)
    np.divide(1, phi, phi)
    slope = x * x
    slope *= -0.5
    np.exp(slope, slope)
    slope *= SQRT_HALF_PI
    slope *= x
    slope += phi
    np.multiply(g, slope, out)


def one_and_exp(x: Array, out: Array) -> None:
    """1 + exp(-x * (A + B * x**2))"""
    np.multiply(x, x, out)
    out *= -B
    out -= A
    out *= x
    np.exp(out, out)
    out += 1


def gelu_tanh(x: Array, out: Array) -> None:
    one_and_exp(x, out)
    np.divide(x, out, out)


def gelu_tanh_rule(g: Array, x: Array, out: Array) -> None:
    s = np.empty_like(x)
    one_and_exp(x, s)
    np.divide(1, s, s)
    slope = x * x
    slope *= 3 * B
    slope += A
    slope *= x
    slope *= 1 - s
    slope += 1
    slope *= s
    np.multiply(g, slope, out)


block_kernel(rows.gelu, gelu, least=0, x=gelu_rule)
block_kernel(rows.gelu_tanh, gelu_tanh, least=0, x=gelu_tanh_rule)
