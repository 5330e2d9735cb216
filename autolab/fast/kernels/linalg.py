"""Products of matrices by ndarray.dot, which starts in half the time; stacks of rows, and contractions, as one product."""

import math
from typing import Any

import numpy as np

from autolab.engine.node import F32
from autolab.fast.kernel import kernel
from autolab.fast.sums import column_sums
from autolab.rules import linalg as rows

WIDE = 1 << 10  # entries: for smaller matrices `times_transpose` is not asked


def times_transpose(x: Any, w: Any) -> Any:
    """x @ w.T of matrices. BLAS lays out the right one anew, which takes long where x is wide and has few rows: then x is put there."""
    rows, width = x.shape
    if 8 <= rows <= width // 8 and len(w) >= 128 and x.dtype is w.dtype is F32:
        return np.ascontiguousarray(w.dot(x.T).T)
    return x.dot(w.T)


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """All leading axes of x as one: one large product is faster than many small ones."""
    if 1 <= x.ndim <= 2:
        out = times_transpose(x, weight) if x.ndim == 2 and x.size >= WIDE else x.dot(weight.T)
    else:
        out = x.reshape(-1, x.shape[-1]).dot(weight.T).reshape(*x.shape[:-1], len(weight))
    out += bias
    return out


def over_rows(g: Any) -> Any:
    return column_sums(g) if g.ndim == 2 else g if g.ndim == 1 else column_sums(g.reshape(-1, g.shape[-1]))


kernel(rows.linear, linear, fuse=True, bias=over_rows)


def einsum(*xs: Any, equation: Any) -> Any:
    if len(xs) == 2 and xs[0].dtype.kind == "f":
        a, b, out = equation.replace("->", ",").split(",")
        summed = [c for c in a if c in b and c not in out]
        if summed and set(a) ^ set(b) and len(set(a)) == len(a) and len(set(b)) == len(b):
            return contracted(a, b, out, summed, *xs)
    return np.einsum(equation, *xs, optimize=len(xs) > 2)


def contracted(a: Any, b: Any, out: Any, summed: Any, x: Any, y: Any) -> Any:
    """Two operands as one product of matrices, for BLAS: letters of both that stay are a stack, the others rows, columns or summed."""
    x = x.sum(tuple(i for i, c in enumerate(a) if c not in b and c not in out))
    y = y.sum(tuple(i for i, c in enumerate(b) if c not in a and c not in out))
    a, b = [c for c in a if c in b or c in out], [c for c in b if c in a or c in out]
    stack = [c for c in a if c in b and c in out]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    n = dict(zip([*a, *b], [*x.shape, *y.shape]))
    shape = lambda *groups: [n[c] for c in stack] + [math.prod(n[c] for c in group) for group in groups]
    x = x.transpose([a.index(c) for c in [*stack, *left, *summed]]).reshape(shape(left, summed))
    y = y.transpose([b.index(c) for c in [*stack, *summed, *right]]).reshape(shape(summed, right))
    found = [*stack, *left, *right]
    return (x @ y).reshape([n[c] for c in found]).transpose([found.index(c) for c in out])


kernel(rows.einsum, einsum)
