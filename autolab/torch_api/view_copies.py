"""Copies of what views show, and copies into a part of which something is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.torch_api import diagonals, index, shape, transposes, views
from autolab.torch_api.dims import axis_of, require_tensor
from autolab.torch_api.joining import clone, split_with_sizes
from autolab.torch_api.public import declare, public
from autolab.transforms.level import room_for


def _scattered(input: Tensor, src: Tensor, name: str, look: Callable[[Tensor], Tensor]) -> Tensor:
    """A copy of input in which the part that `look` shows has the entries of src."""
    out = room_for(input, src) if isinstance(src, Tensor) and src.level > input.level else clone(input)
    part = look(out)
    if require_tensor(src, name, "src", 2).shape != part.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )
    part.copy_(src)
    return out


@public(method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with src on the diagonal of two dims.

    Shapes: src as the diagonal, (..., k). Raises RuntimeError for another shape.

    >>> diagonal_scatter(zeros(2, 2), tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    return _scattered(input, src, "diagonal_scatter", lambda t: diagonals.diagonal(t, offset, dim1, dim2))


@public(method=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """input with src as the slice at one index of a dim.

    Shapes: src as the slice, one dim fewer than input. Raises RuntimeError for another shape.

    >>> select_scatter(zeros(2, 2), tensor([1., 2.]), 1, 0)
    tensor([[1., 0.],
            [2., 0.]])
    """
    return _scattered(input, src, "select_scatter", lambda t: select(t, dim, index))


def sliced_dim(input: Tensor, dim: int) -> int:
    axis = axis_of(dim, input.ndim)
    if axis is None:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    return axis + input.ndim


@public(method=True)
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """input with src in place of input[start:end:step] along a dim.

    Shapes: src as input[start:end:step]. Raises RuntimeError for another shape.

    >>> slice_scatter(zeros(4), ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    d = sliced_dim(input, dim)
    whole_dim = slice(start, end, step).indices(input.shape[d])
    return _scattered(input, src, "slice_scatter", lambda t: index.cut(t, d, slice(*whole_dim)))


def select(input: Tensor, dim: int, at: int) -> Tensor:
    return index.select(input, dim, at)


def _copy_of(function: Callable[..., Any], name: str) -> Any:
    def copied(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        out = function(require_tensor(input, name), *args, **kwargs)
        return tuple(map(clone, out)) if isinstance(out, tuple) else clone(out)

    return declare(copied, name, f"`{name.removesuffix('_copy')}`, whose result is a copy and no view.", out=True)


@public(out=True)
def slice_copy(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """A copy of input[start:end:step] along a dim.

    >>> slice_copy(arange(6), start=1, step=2)
    tensor([1, 3, 5])
    """
    d = sliced_dim(require_tensor(input, "slice_copy"), dim)
    return clone(index.cut(input, d, slice(start, end, step)))


@public(out=True)
def alias_copy(input: Tensor) -> Tensor:
    """A copy of the tensor, as `clone`: what PyTorch calls `alias` is a view of all of it.

    >>> alias_copy(tensor([1, 2]))
    tensor([1, 2])
    """
    return clone(require_tensor(input, "alias_copy"))


diagonal_copy = _copy_of(diagonals.diagonal, "diagonal_copy")
expand_copy = _copy_of(shape.expand, "expand_copy")


@public(method=True, out=True)
def narrow_copy(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`narrow`, whose result is a copy and no view."""
    if input.ndim and dim >= input.ndim:
        raise RuntimeError(
            f"Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false. dim is {dim}, of {input.ndim} dims."
        )
    if length < 0 and -input.ndim <= dim < input.ndim:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    return clone(index.narrow(input, dim, start, length))


permute_copy = _copy_of(shape.permute, "permute_copy")
select_copy = _copy_of(index.select, "select_copy")
split_copy = _copy_of(shape.split, "split_copy")
split_with_sizes_copy = _copy_of(split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copy_of(shape.squeeze, "squeeze_copy")
t_copy = _copy_of(transposes.t, "t_copy")
transpose_copy = _copy_of(shape.transpose, "transpose_copy")
unbind_copy = _copy_of(shape.unbind, "unbind_copy")
unsqueeze_copy = _copy_of(shape.unsqueeze, "unsqueeze_copy")
view_copy = _copy_of(shape.view, "view_copy")
as_strided_copy = _copy_of(views.as_strided, "as_strided_copy")
unfold_copy = _copy_of(views.unfold, "unfold_copy")
