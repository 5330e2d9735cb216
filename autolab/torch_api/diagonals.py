"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import shape as rows
from autolab.torch_api import shape
from autolab.torch_api.dims import axis_of, require_tensor
from autolab.torch_api.joining import clone
from autolab.torch_api.public import public


@public(method=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal along two dims, as the last dim of a view. Raises RuntimeError if the two are one.

    Shapes: (n, m, ...) gives (..., min(n, m)), less with an offset.

    >>> diagonal(tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    settings = {"offset": offset, "axis1": axis_of(dim1, input.ndim), "axis2": axis_of(dim2, input.ndim)}
    if settings["axis1"] == settings["axis2"]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(rows.diagonal, (input,), settings)


@public(method=True, inplace=True, out=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of the matrices, zeros above. Raises RuntimeError for fewer than two dims.

    Shapes: (..., n, m), as the result. `diagonal` moves the edge up.

    >>> tril(ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    _need_matrix("tril", input)
    return apply(rows.tril, (input,), {"k": diagonal})


def _need_matrix(name: str, input: Tensor) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, but it has shape {list(input.shape)}")


@public(method=True, inplace=True, out=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of the matrices, zeros below. Raises RuntimeError for fewer than two dims.

    Shapes: (..., n, m), as the result. `diagonal` moves the edge up.

    >>> triu(tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    _need_matrix("triu", input)
    return apply(rows.triu, (input,), {"k": diagonal})


@public(method=True, out=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix; a vector on the diagonal of a matrix of zeros. Raises RuntimeError for other dims.

    >>> diag(tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    n = require_tensor(input, "diag").ndim
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return diag_embed(input, diagonal) if n == 1 else clone(input.diagonal(diagonal))


@public(method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dim on the diagonals of matrices of zeros, which are in dim1 and dim2 of the result.

    Shapes: (..., n) gives (..., n, n), longer by |offset|. Raises RuntimeError if the two dims are one.

    >>> diag_embed(tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    n = require_tensor(input, "diag_embed").ndim + 1
    a, b = axis_of(dim1, n), axis_of(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = input.shape[-1] + abs(offset)
    lengths = [*input.shape[:-1]]
    for d in sorted((a + n, b + n)):  # type: ignore[operator]
        lengths.insert(d, side)
    settings = {"shape": tuple(lengths), "offset": offset, "axis1": a, "axis2": b}
    return apply(rows.diagonal_scatter, (input,), settings)


@public(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All entries on the diagonal of a matrix of zeros.

    Shapes: n entries give (n, n), longer by |offset|.

    >>> diagflat(tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(shape.reshape(require_tensor(input, "diagflat"), -1), offset)


@public()
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    """The places of the lower triangle of a (row, col) matrix, as two rows of indices.

    Shapes: (2, n) for n entries; int64 unless a dtype is given. Raises RuntimeError for a negative length.

    >>> tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle("tril_indices", np.tril, row, col, offset, dtype)


@public()
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    """The places of the upper triangle of a (row, col) matrix, as two rows of indices.

    Shapes: (2, n) for n entries; int64 unless a dtype is given. Raises RuntimeError for a negative length.

    >>> triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle("triu_indices", np.triu, row, col, offset, dtype)


def _triangle(name: str, keep: Any, row: int, col: int, offset: int, dtype: Any) -> Tensor:
    for what, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{what} must be non-negative, got{n}")
    where = np.stack(np.nonzero(keep(np.ones((row, col), bool), offset)))
    return new_tensor(where.astype(np.int64 if dtype is None else dtypes.to_numpy(dtype)))
