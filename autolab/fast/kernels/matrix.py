"""Triangular systems: large ones by halves, without taking a triangle for any matrix; the triangle by a mask that is kept."""

from functools import lru_cache
from typing import Any

import numpy as np

from autolab.engine.node import F32, F64
from autolab.fast.kernel import kernel
from autolab.rules import lapack
from autolab.rules import matrix as rows

FEW = 64  # rows: up to here LAPACK's general solver takes less time than the calls for two halves
FLOATS = F32, F64


@lru_cache(maxsize=16)
def mask(n: Any, upper: Any) -> Any:
    """Where a matrix has its triangle."""
    return np.triu(np.ones((n, n), bool)) if upper else np.tril(np.ones((n, n), bool))


def is_usual(a: Any, b: Any) -> Any:
    return type(a) is type(b) is np.ndarray and a.ndim == b.ndim == 2 and a.dtype is b.dtype and a.dtype in FLOATS and len(a) == len(b) > 0


def solve_triangular(a: Any, b: Any, *, upper: Any, unit: Any = False) -> Any:
    if unit or not is_usual(a, b):
        return rows.solve_triangular_values(a, b, upper=upper, unit=unit)
    try:
        return by_halves(np.where(mask(len(a), upper), a, a.dtype.type(0)), b, upper)
    except np.linalg.LinAlgError:
        return rows.solve_triangular_values(a, b, upper=upper, unit=unit)


def by_halves(t: Any, b: Any, upper: Any) -> Any:
    """x with t @ x = b: one half of x, then the other from what that leaves of b."""
    n = len(t)
    if n <= FEW:
        return lapack.solve(t, b)
    parts = slice(0, n // 2), slice(n // 2, n)
    first, second = parts[::-1] if upper else parts
    x = np.empty(b.shape, b.dtype)
    x[first] = by_halves(t[first, first], b[first], upper)
    x[second] = by_halves(t[second, second], b[second] - t[second, first] @ x[first], upper)
    return x


def cholesky_rule(g: Any, out: Any) -> Any:
    if not is_usual(g, out):
        return rows.cholesky_rule(g, out)
    inner = np.where(mask(len(out), False), out.T @ g, out.dtype.type(0))
    both = inner + inner.T
    both.reshape(-1)[:: len(out) + 1] *= 0.5
    both *= 0.5
    if len(out) > FEW:
        return by_halves(out.T, by_halves(out.T, both, True).T, True).T
    inverse = lapack.inv(out)
    return inverse.T @ both @ inverse


kernel(rows.solve_triangular, solve_triangular)
kernel(rows.cholesky, x=cholesky_rule)
