"""Sums over the rows of a matrix as products with ones, for which BLAS needs half the time of np.sum."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from autolab.engine.node import F32, F64, cast_gradient, sum_to
from autolab.engine.node import fit as plain_fit
from autolab.engine.tensor import TABLE, Tensor

DOWN: dict[str, Any] = {"axis": -2, "keepdims": False}


@lru_cache(maxsize=128)
def ones(length: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.ones(length, dtype)


def column_sums(g: Any) -> Any:
    """The sum of a matrix over its rows."""
    if type(g) is np.ndarray:
        dtype = g.dtype
        return ones(len(g), dtype).dot(g) if dtype is F32 or dtype is F64 else sum_to(g, g.shape[1:])
    return TABLE["sum"].run(g, settings=DOWN)


def fit(g: Any, like: tuple[tuple[int, ...], np.dtype[Any]]) -> Any:
    """`fit` of autolab.engine.node: most often for a bias under a batch."""
    shape, dtype = like
    if type(g) is np.ndarray and g.ndim == 2 and g.dtype is dtype and (dtype is F32 or dtype is F64):
        rows, columns = g.shape
        if shape == (columns,):
            return ones(rows, dtype).dot(g)
    raw = g.payload if isinstance(g, Tensor) else g
    if len(shape) == 1 and raw.ndim == 2 and raw.shape[1] == shape[0]:
        g = column_sums(g)
        return g if raw.dtype is dtype or raw.dtype == dtype else cast_gradient(g, dtype)
    return plain_fit(g, like)
