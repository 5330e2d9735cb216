"""Of float32: hypotenuses by way of float64, and sums of exponentials by one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.engine.node import F32
from autolab.fast.blocks import Array
from autolab.fast.kernel import block_kernel
from autolab.fast.kernels.elementwise import as_double, log1p_exp
from autolab.rules import calculus as rows


def hypot(x: Array, y: Any, out: Array) -> None:
    """The squares are exact and finite."""
    a, b = x.astype(np.float64), as_double(y)
    a *= a
    a += b * b
    np.sqrt(a, a)
    with np.errstate(over="ignore"):
        out[...] = a
    finite = np.isfinite(a)
    if not finite.all():
        np.hypot(x, y, out, where=~finite)


def logaddexp(x: Array, y: Any, out: Array) -> None:
    """The larger of the two, and log(1 + exp(-|x - y|)); of equal infinities just that."""
    with np.errstate(invalid="ignore"):
        d = x - y
    broken = d != d
    if broken.any():
        d[broken] = np.where((x == y)[broken], 0, np.nan)
    log1p_exp(d, out)
    out += np.maximum(x, y)


block_kernel(rows.hypot, hypot, dtypes=(F32,))
block_kernel(rows.logaddexp, logaddexp, dtypes=(F32,))
