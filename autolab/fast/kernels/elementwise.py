"""Entry by entry: what to keep, bit by bit; powers, quotients and activations in blocks.

A formula in the table makes an array for each of its steps. Here it is the same formula, on a block that stays in the cache, and with
sums of parts in place of `np.where`, which waits for every entry whose turn cannot be foreseen. The last argument is written, last of all
if it may be the gradient that came in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.node import F32, F64
from autolab.fast.blocks import Array, clip, horner, in_blocks
from autolab.fast.kernel import LARGE, block_kernel, kernel
from autolab.rules import elementwise as rows
from autolab.rules import special

# -- what to keep --------------------------------------------------------------------------------

BITS: dict[int, Any] = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def times_mask(x: Any, mask: Array, out: Array) -> None:
    """The bits of x times 1 or 0: right for inf and nan too, where 0 * x is not, and ten times as fast as np.where."""
    bits = BITS[x.itemsize]
    np.multiply(x.view(bits), mask, out.view(bits))


def keep(g: Any, condition: Any, x: Any = None, *, of: str = "") -> Any:
    try:
        bits = BITS[g.itemsize]
        kept = condition.astype(bits)
        if kept.shape != g.shape:
            return (g.view(bits) * kept).view(g.dtype)
        kept *= g.view(bits)
        return kept.view(g.dtype)
    except (AttributeError, KeyError):  # a Python number, single bytes
        return rows.keep.forward(g, condition)


kernel(rows.keep, keep)
kernel(rows.keep_at, keep, least=1)  # the compiler takes it apart, into keep


# -- powers --------------------------------------------------------------------------------------


def power(x: Array, exponent: Any, out: Array) -> None:
    """x**2 and x**3 by multiplication, as PyTorch does."""
    if exponent not in (2, 3):
        out[...] = x**exponent
        return
    np.multiply(x, x, out)
    if exponent == 3:
        out *= x


def power_rule(g: Array, x: Array, exponent: Any, out: Array) -> None:
    if exponent == 0:
        out[...] = 0
        return
    slope = x * x if exponent == 3 else x if exponent == 2 else x ** (exponent - 1)
    np.multiply(g, slope * exponent, out)


block_kernel(rows.pow_scalar, power)
block_kernel(rows.pow_scalar, least=LARGE, x=power_rule)


def exponent_rule(g: Any, x: Any, y: Any, out: Any) -> Any:
    """Of a positive number there is one logarithm for all."""
    return g * (out * math.log(x)) if rows.is_number(x) and x > 0 else rows.pow.rules["y"].function(g, x, y, out)


kernel(rows.pow, y=exponent_rule)


# -- quotients of float32, and what is left over, by way of float64; NumPy takes ten times as long, entry by entry ----------------
#
# float64 is so much finer that no quotient of two numbers of float32 below EXACT is rounded onto a whole number or over it, and what is
# left after whole multiples is exact. Larger quotients, infinite ones and nan are NumPy's, a block at a time.

EXACT = 1 << 28


def as_double(y: Any) -> Any:
    return y.astype(np.float64) if isinstance(y, np.ndarray) else np.float64(np.float32(y))


def by_whole_multiples(formula: Callable[..., Any], whole: Callable[..., Any], finish: Callable[..., Any]) -> Callable[..., None]:
    """into(x, y, out) for a formula of whole multiples: finish(x, y, n, out), with n = whole(x / y)."""

    def into(x: Array, y: Any, out: Array) -> None:
        a, b = x.astype(np.float64), as_double(y)
        with np.errstate(all="ignore"):
            n = a / b
            if np.abs(n).max() < EXACT:
                finish(a, b, whole(n, n), out)
            else:
                formula(x, y, out)

    return into


def signed_as_x(x: Array, y: Any, n: Array, out: Array) -> None:
    n *= y
    np.subtract(x, n, n)
    np.copysign(n, x, out, casting="same_kind")


def signed_as_y(x: Array, y: Any, n: Array, out: Array) -> None:
    n *= y
    np.subtract(x, n, n)
    np.copysign(n, y, out, casting="same_kind")


def multiples(x: Array, y: Any, n: Array, out: Array) -> None:
    out[...] = n


block_kernel(rows.remainder, by_whole_multiples(np.remainder, np.floor, signed_as_y), dtypes=(F32,))
block_kernel(rows.floor_divide, by_whole_multiples(np.floor_divide, np.floor, multiples), dtypes=(F32,))


# -- activations ---------------------------------------------------------------------------------

# log(1 + u) = 2 artanh(s) for s = u / (2 + u): s times these powers of s**2, for s**2 up to 1/9. They are those of the series, 2, 2/3, 2/5
# ..., Abramowitz and Stegun 4.1.28, the last ones fitted so that five terms are good to 4e-9.
ARTANH = [np.float32(c) for c in (2, 0.66666314, 0.4002491, 0.27960604, 0.28178326)]


def log1p(u: Array, out: Array) -> None:
    """log(1 + u) for u between 0 and 1, small ones without loss."""
    if u.dtype != np.float32:
        np.log1p(u, out)
        return
    s = u + 2
    np.divide(u, s, s)
    square = s * s
    horner(ARTANH, square, out)
    out *= s


def log1p_exp(x: Array, out: Array) -> None:
    """log(1 + exp(-|x|)): what softplus adds to max(x, 0)."""
    u = np.abs(x)
    np.negative(u, u)
    np.exp(u, u)
    log1p(u, out)


def relu(x: Array, out: Array) -> None:
    clip(x, 0, math.inf, out)


def relu_rule(g: Array, value: Array, out: Array) -> None:
    times_mask(g, value > 0, out)


def leaky_relu(x: Array, slope: Any, out: Array) -> None:
    """max(x, 0) + slope * min(x, 0)"""
    if 0 < slope <= 1:
        np.multiply(x, slope, out)
        np.maximum(x, out, out=out)
        return
    clip(x, -math.inf, 0, out)
    out *= slope
    out += clip(x, 0, math.inf)


def leaky_relu_rule(g: Array, x: Array, slope: Any, out: Array) -> None:
    """g * (slope + (1 - slope) * (1 or 0))"""
    factor = np.multiply(x > 0, x.dtype.type(1 - slope))
    factor += slope
    np.multiply(g, factor, out)


def sigmoid(x: Array, out: Array) -> None:
    np.negative(x, out)
    np.exp(out, out)
    out += 1
    np.divide(1, out, out)


def silu(x: Array, out: Array) -> None:
    np.negative(x, out)
    np.exp(out, out)
    out += 1
    np.divide(x, out, out)


def silu_rule(g: Array, x: Array, out: Array) -> None:
    """g * s * (1 + x * (1 - s)), with s = sigmoid(x)"""
    s = np.empty_like(x)
    sigmoid(x, s)
    slope = 1 - s
    slope *= x
    slope += 1
    slope *= s
    np.multiply(g, slope, out)


def softplus(x: Array, beta: Any, threshold: Any, out: Array) -> None:
    z = x if beta == 1 else x * beta
    log1p_exp(z, out)
    out += clip(z, 0, math.inf)
    if beta != 1:
        out /= beta
    straight = z > threshold
    if straight.any():
        np.copyto(out, x, where=straight)


def softplus_rule(g: Array, x: Array, beta: Any, threshold: Any, out: Array) -> None:
    """g / (1 + exp(-z)), with z = x * beta"""
    z = x if beta == 1 else x * beta
    below = -z
    np.exp(below, below)
    below += 1
    straight = z > threshold
    if straight.any():
        np.copyto(below, 1, where=straight)
    np.divide(g, below, out)


block_kernel(rows.relu, relu)
block_kernel(rows.relu, least=LARGE, x=relu_rule)
block_kernel(rows.leaky_relu, leaky_relu, x=leaky_relu_rule)
block_kernel(rows.sigmoid, sigmoid)
block_kernel(rows.silu, silu, x=silu_rule)
block_kernel(rows.softplus, softplus, x=softplus_rule)


# -- the error function --------------------------------------------------------------------------

# For float32 erf(x) is x P(x**2) / Q(x**2), good to 2e-8 of it, up to where it rounds to 1: a rational Chebyshev approximation as in
# W. J. Cody, Math. Comp. 23 (1969). It is computed in float64, at half the speed of float32, and rounded once.
ONE = 3.925
P = (1.12837915, 0.190553212, 0.0527640625, 0.00377087025, 0.000284814819, 2.0464342e-06)
Q = (1, 0.502206123, 0.114166082, 0.0149797967, 0.00116346953, 3.805055e-05)


def rational_erf(x: Array, out: Array) -> None:
    near = clip(x, -ONE, ONE).astype(np.float64)
    square, found = near * near, np.empty_like(near)
    horner(P, square, found)
    found *= near
    horner(Q, square, near)
    np.divide(found, near, out, casting="same_kind")


def erf_series(x: Array, out: Array) -> None:
    """What rules.special.erf computes, in the memory of `out`."""
    t = np.minimum(np.abs(x), 6)
    nearest = (np.fmin(t, 6) * 64 + 0.5).astype(np.intp)
    t -= nearest / 64
    np.take(special.ERF_SERIES[-1], nearest, out=out, mode="clip")
    for coefficients in special.ERF_SERIES[-2::-1]:
        out *= t
        out += np.take(coefficients, nearest, mode="clip")
    np.copysign(out, x, out)


def erf(x: Any) -> Any:
    if not isinstance(x, np.ndarray | np.generic) or x.dtype not in (F32, F64):
        return rows.erf.forward(x)
    if not x.ndim:
        return x.dtype.type(math.erf(x))
    return in_blocks(rational_erf if x.dtype == F32 else erf_series, np.ascontiguousarray(x), out=np.empty(x.shape, x.dtype))


kernel(rows.erf, erf)
