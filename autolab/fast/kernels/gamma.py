"""Of float32: moved up by UP at once, in float64, where the product of the steps is finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.engine.node import F32
from autolab.fast.blocks import Array, horner
from autolab.fast.kernel import block_kernel
from autolab.rules import gamma as rows
from autolab.rules.gamma import BERNOULLI

UP = 6
LOG_GAMMA = [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(BERNOULLI[:10])]  # of 1 / x, 1 / x**3 ...
DIGAMMA = [-b / (2 * k + 2) for k, b in enumerate(BERNOULLI[:10])]  # of 1 / x**2, 1 / x**4 ...
TRIGAMMA = [1.0, *BERNOULLI[:7]]  # of 1 / x, 1 / x**3 ...


def right_half(x: Array, pivot: float = 0.5) -> tuple[Array, tuple[Array, ...]]:
    """x, or 1 - x where that is larger; and where it is."""
    y = x.astype(np.float64)
    left = np.nonzero(y < pivot)
    y[left] = 1 - y[left]
    return y, left


def series_at(x: Array, coefficients: list[float]) -> tuple[Array, Array]:
    """1 / x, and the sum of coefficients[k] / x**(2 k)."""
    y = 1 / x
    out = np.empty_like(y)
    horner(coefficients, y * y, out)
    return y, out


def pairs(y: Array) -> Array:
    """w = y (y + 5), which goes into all pairs of steps: y (y + 1) ... (y + 5) = w (w + 4) (w + 6)."""
    w = y + (UP - 1)
    w *= y
    return w


def lgamma(x: Array, out: Array) -> None:
    with np.errstate(all="ignore"):
        y, left = right_half(x)
        w, z = pairs(y), y + UP
        steps = w + 4
        steps *= w
        w += 6
        steps *= w
        over, total = series_at(z, LOG_GAMMA)
        total *= over
        total += 0.5 * math.log(2 * math.pi)
        total -= z
        z -= 0.5
        z *= np.log(y + UP)
        total += z
        total -= np.log(steps, steps)
        total[np.isinf(y)] = np.inf
        if left[0].size:
            a = x[left].astype(np.float64)
            reflected = math.log(math.pi) - np.log(np.abs(np.sin(math.pi * (a - np.round(a))))) - total[left]
            total[left] = np.where((a == np.floor(a)) | np.isinf(a), np.inf, reflected)
        out[...] = total


def digamma(x: Array, out: Array) -> None:
    with np.errstate(all="ignore"):
        y, left = right_half(x, 0)
        w = pairs(y)
        steps = (w + 4) * w * (w + 6)
        slope = (2 * y + 5) * ((3 * w + 20) * w + 24)  # of the product
        over, total = series_at(y + UP, DIGAMMA)
        total *= over
        total -= 0.5
        total *= over
        total -= np.log(over)
        total -= slope / steps
        total[np.isinf(y)] = np.inf
        if left[0].size:
            a = x[left].astype(np.float64)
            total[left] = np.where(a == np.floor(a), np.nan, total[left] - math.pi / np.tan(math.pi * (a - np.round(a))))
        out[...] = np.where(x == 0, -np.copysign(np.inf, x), total) if (x == 0).any() else total


def trigamma(x: Array, out: Array) -> None:
    with np.errstate(all="ignore"):
        y, left = right_half(x)
        over, total = series_at(y + UP, TRIGAMMA)
        total *= over
        over *= over
        over *= 0.5
        total += over
        for k in range(UP):
            step = y + k
            step *= step
            total += np.divide(1, step, step)
        if left[0].size:
            a = x[left].astype(np.float64)
            total[left] = (math.pi / np.sin(math.pi * (a - np.round(a)))) ** 2 - total[left]
        out[...] = total


def polygamma(x: Array, n: Any, out: Array) -> None:
    if n > 1:
        out[...] = rows.polygamma.forward(x, n=n)
    else:
        (trigamma if n else digamma)(x, out)


block_kernel(rows.lgamma, lgamma, least=0, dtypes=(F32,))
block_kernel(rows.digamma, digamma, least=0, dtypes=(F32,))
block_kernel(rows.polygamma, polygamma, least=0, dtypes=(F32,))
