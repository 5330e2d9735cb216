"""Sums as products with ones, at twice the speed of np.add; and their gradients without NumPy's wrappers."""

import math
from typing import Any

import numpy as np

from autolab.dtypes import as_places
from autolab.engine.node import F32
from autolab.fast.kernel import kernel
from autolab.fast.sums import ones
from autolab.rules import reduce as rows

FEW = 1 << 10  # entries: up to here all of them are added as one product
SMALL = 1 << 14  # entries: up to here it is faster to write all of them than to arrange for them to be read over and over
LONG = 1 << 16  # entries: from here on all of them are added as products of lines with ones
LINE = 256  # of a sum; what the products give is added in float64, so that rounding costs less than in a sum by halves
WIDE = 1024  # of a product


def is_whole(x: Any, axis: Any) -> Any:
    """Whether all entries of this array are reduced, and they are many and lie one behind the other."""
    return x.size >= LONG and type(x) is np.ndarray and x.flags.c_contiguous and (axis is None or len(axis) == x.ndim)


def lines(x: Any, length: Any) -> Any:
    """The entries in lines of this length, and those that are left."""
    flat = x.reshape(-1)
    whole = flat.size - flat.size % length
    return flat[:whole].reshape(-1, length), flat[whole:]


def full_result(total: Any, x: Any, keepdims: Any) -> Any:
    return np.full((1,) * x.ndim, total, x.dtype) if keepdims else x.dtype.type(total)


def add_up(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    if is_whole(x, axis) and x.dtype is F32:
        whole, rest = lines(x, LINE)
        return full_result(np.add.reduce(whole @ ones(LINE, F32), dtype=np.float64) + np.add.reduce(rest), x, keepdims)
    if axis is None and type(x) is np.ndarray and x.size <= FEW and not keepdims and x.dtype.kind == "f" and x.itemsize > 2:
        return ones(x.size, x.dtype).dot(x.ravel())
    return np.add.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]


def mean(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    return add_up(x, axis=axis, keepdims=keepdims) / rows.count(x.shape, axis)


def norm(x: Any, *, ord: Any = 2, axis: Any = None, keepdims: Any = False) -> Any:
    if ord != 2:
        return rows.norm_values(x, ord=ord, axis=axis, keepdims=keepdims)
    if not is_whole(x, axis) or x.dtype is not F32:
        return np.sqrt(np.add.reduce(x * x, axis, None, None, keepdims))  # type: ignore[call-overload]
    whole, rest = lines(x, LINE)
    return full_result(math.sqrt(np.add.reduce(np.vecdot(whole, whole), dtype=np.float64) + rest.dot(rest)), x, keepdims)


def prod(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Of columns first: side by side they take a third of the time."""
    if axis is not None or not is_whole(x, axis) or x.dtype.kind != "f":
        return rows.prod_values(x, axis=axis, keepdims=keepdims)
    whole, rest = lines(x, WIDE)
    return full_result(np.multiply.reduce(np.multiply.reduce(whole, 0)) * np.multiply.reduce(rest), x, keepdims)


def spread(g: Any, x_shape: Any, axis: Any, keepdims: Any) -> Any:
    if axis is not None:
        g = rows.restore(g, x_shape, axis, keepdims)
    if not x_shape or math.prod(x_shape) > SMALL:
        return np.broadcast_to(g, x_shape) if x_shape else g.reshape(())[()]
    out = np.empty(x_shape, g.dtype)
    if g.ndim:
        out[...] = g
    else:
        out.fill(g)
    return out


def spread_mean(g: Any, x_shape: Any, axis: Any, keepdims: Any) -> Any:
    return spread(g / rows.count(x_shape, axis), x_shape, axis, keepdims)


def extreme_along(row: Any, extreme: Any, find: Any) -> Any:
    """The forward of max or min along an axis, without the wrappers of np.max and np.argmax."""

    def forward(x: Any, *, axis: Any, keepdims: Any = False) -> Any:
        if type(x) is not np.ndarray:
            return row.forward(x, axis=axis, keepdims=keepdims)
        return extreme(x, axis, None, None, keepdims), as_places(find(x, axis, None, keepdims=keepdims))

    return forward


kernel(rows.max_along, extreme_along(rows.max_along, np.maximum.reduce, np.ndarray.argmax))
kernel(rows.min_along, extreme_along(rows.min_along, np.minimum.reduce, np.ndarray.argmin))
kernel(rows.sum, add_up, fuse=True, x=spread)
kernel(rows.mean, mean, fuse=True, x=spread_mean)
kernel(rows.norm, norm)
kernel(rows.prod, prod)
