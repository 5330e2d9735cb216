"""Reductions of all entries of a large array, by rows or columns that lie beside each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.engine.node import F32
from autolab.fast.kernel import kernel
from autolab.rules import reduce as rows

ONES = np.ones(256, np.float32)
LINE = 1024
LONG = 1 << 16  # entries: from here on a sum by products is the faster one


def over_all(x: Any, axis: Any) -> bool:
    """Whether a row reduces a large array of float32 to one number."""
    return x.size >= LONG and x.dtype == F32 and (axis is None or (isinstance(axis, tuple) and len(axis) == x.ndim))


def total(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of all entries, as products of rows with ones, at twice the speed of np.add. The rows are short, and what they give is
    added in float64, so rounding costs less than in a sum by halves."""
    if not over_all(x, axis):
        return rows.sum.forward(x, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    whole = flat.size - flat.size % ONES.size
    result = np.add.reduce(flat[:whole].reshape(-1, ONES.size) @ ONES, dtype=np.float64) + np.add.reduce(flat[whole:])
    return np.full((1,) * x.ndim, result, np.float32) if keepdims else np.float32(result)


def mean(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    if not over_all(x, axis):
        return rows.mean.forward(x, axis=axis, keepdims=keepdims)
    return total(x, axis=axis, keepdims=keepdims) / x.size


def norm(x: Any, *, ord: Any = 2, axis: Any = None, keepdims: bool = False) -> Any:
    """The root of the sum of squares, likewise."""
    if ord != 2 or not over_all(x, axis):
        return rows.norm.forward(x, ord=ord, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    whole = flat.size - flat.size % ONES.size
    lines, rest = flat[:whole].reshape(-1, ONES.size), flat[whole:]
    result = math.sqrt(np.add.reduce(np.vecdot(lines, lines), dtype=np.float64) + rest.dot(rest))
    return np.full((1,) * x.ndim, result, np.float32) if keepdims else np.float32(result)


def prod(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The product of all entries, of columns first: side by side they take a third of the time."""
    if x.dtype.kind != "f" or x.size < LONG or axis is not None:
        return rows.prod.forward(x, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    whole = flat.size - flat.size % LINE
    result = np.multiply.reduce(np.multiply.reduce(flat[:whole].reshape(-1, LINE), 0)) * np.multiply.reduce(flat[whole:])
    return np.full((1,) * x.ndim, result, x.dtype) if keepdims else result


kernel(rows.sum, total, least=LONG)
kernel(rows.mean, mean, least=LONG)
kernel(rows.norm, norm, least=LONG)
kernel(rows.prod, prod, least=LONG)
