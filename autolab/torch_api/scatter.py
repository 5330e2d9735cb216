"""Writing into a copy at places that an index names: the scatter, index and put families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import index as index_rows
from autolab.rules import scatter as rows
from autolab.torch_api import creation, pointwise
from autolab.torch_api.dims import axis_of, common_shape, refuse, require_tensor
from autolab.torch_api.index import (
    check_key,
    check_range,
    check_scatter,
    expand_key,
    gather,
    getitem,
    index_tensor,
    put_each,
    scatter_add,
    split_key,
)
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.node_names import rename_node
from autolab.torch_api.public import public
from autolab.torch_api.shape import expand, reshape


@public(method=True, inplace=True, out=True)
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """input with each entry of src (or a number) written where index says along dim; reduce "add" or "multiply" combines them.

    If several entries go to one place, the last one stays, and each of them gets the gradient of the place.

    Raises RuntimeError for another reduce, and for shapes or dtypes that do not fit.

    >>> scatter(zeros(3), 0, tensor([2, 0]), tensor([5., 7.]))
    tensor([7., 0., 5.])
    """
    index_tensor(index, "scatter")
    src = value if src is None else src
    number = not isinstance(src, Tensor)
    if number:
        src = new_tensor(np.full(index.shape, dtypes.fitting(src, input.payload.dtype), input.payload.dtype))
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"reduce argument must be either add or multiply, but it is {reduce!r}")
        return scatter_reduce(input, dim, index, src, "sum" if reduce == "add" else "prod")
    result = _along(rows.scatter, "scatter", input, dim, index, src)
    if number and index.payload.size:
        rename_node(result.edge, "ScatterBackward1")
    return result


def _along(row: Any, name: str, input: Tensor, dim: int, index: Tensor, src: Tensor, **settings: Any) -> Tensor:
    axis = axis_of(dim, require_tensor(input, name).ndim)
    index, src = check_scatter(name, input, dim, index, src)
    if not index.payload.size:
        return input + 0 if input.payload.dtype != bool else input.clone()
    check_range(index, input, axis)
    return apply(row, (input, index, src), {"axis": -1 if axis is None else axis, **settings})


EXTREMES = {"amax": rows.scatter_max, "amin": rows.scatter_min, "prod": rows.scatter_prod}


@public(method=True, inplace=True, out=True)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """input with the entries of src that index sends to a place combined: "sum", "prod", "mean", "amax" or "amin" of them.

    include_self: whether the place's own entry is one of them. Ties of amax and amin share the gradient.

    Raises RuntimeError for another reduce, and for shapes or dtypes that do not fit.

    >>> scatter_reduce(zeros(2), 0, tensor([0, 0, 1]), tensor([1., 5., 3.]), "amax")
    tensor([5., 3.])
    """
    index_tensor(index, "scatter")
    require_tensor(src, "scatter_reduce", "src", 4)
    if reduce not in ("sum", "mean", *EXTREMES):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if reduce in EXTREMES:
        return _along(EXTREMES[reduce], "scatter", input, dim, index, src, include_self=include_self)
    start = input if include_self else scatter(input, dim, index, 0)
    total = scatter_add(start, dim, index, src)
    if reduce == "sum":
        return total
    ones = creation.ones if include_self else creation.zeros
    one_each = new_tensor(np.ones(src.shape, input.payload.dtype))
    count = scatter_add(ones(input.shape, dtype=input.dtype), dim, index, one_each)
    count = count.clamp(min=1)
    if input.payload.dtype in dtypes.INEXACT:
        return total / count
    return pointwise.to(total // count, input.dtype)


def spread(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """input, index and source of an index_... function as scatter wants them: an index for each entry of source."""
    if index.ndim > 1:
        raise IndexError(f"{name}: Index should have dimension 1 or 0 (got {index.ndim})")
    if input.ndim == 0:
        return reshape(input, 1), reshape(index, -1), reshape(source, -1)
    axis = axis_of(dim, input.ndim)
    if source.ndim == 0:
        source = reshape(source, *(1,) * input.ndim)
    lengths = [1] * input.ndim
    lengths[axis] = -1  # type: ignore[index]
    return input, expand(reshape(index, lengths), source.shape), source


def check_slices(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Raise PyTorch's errors where source does not have a slice for each entry of index."""
    axis = axis_of(dim, require_tensor(input, name).ndim)
    count = max(index.shape.numel(), 0)
    if index.ndim >= 2:
        raise IndexError(f"{name}: Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and count != 1:
        raise IndexError(f"{name}: When source is scalar, index should have one element (got {count})")
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError(
            f"{name}: When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({source.ndim}), destination dimensionality ({input.ndim})"
        )
    if source.payload.dtype != input.payload.dtype:
        raise RuntimeError(
            f"{name}: self and source expected to have the same dtype, but got (self) {input.dtype.title} and (source) {source.dtype.title}"
        )
    slices = [[n for a, n in enumerate(t.shape) if a != dim % t.ndim] if t.ndim else [] for t in (input, source)]
    if slices[0] != slices[1]:
        raise RuntimeError(
            f"{name}: Source/destination tensor must have same slice shapes. Destination slice shape: {slices[0]} at dimension {dim} and "
            f"source slice shape: {slices[1]} at dimension {dim}."
        )
    if source.ndim and source.shape[dim] != count:
        raise IndexError(f"{name}: Number of indices ({count}) should be equal to source.size(dim) ({source.shape[dim]})")
    n = 1 if axis is None else input.shape[axis]
    i = index.all_numbers(0, n)
    if i.size and not (0 <= i.min() and i.max() < n):
        raise IndexError(f"{name}: index {i.max() if i.max() >= n else i.min()} is out of bounds for dimension {dim} with size {n}")


@public(method=True, inplace=True, out=True)
@returns_fresh_memory
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """input with the slices of source in place of those that a 1-d index lists along dim.

    Shapes: input (..., n, ...); index (k,); source (..., k, ...). Raises RuntimeError for an index that is not int64.

    >>> index_copy(zeros(3), 0, tensor([2, 0]), tensor([5., 6.]))
    tensor([6., 0., 5.])
    """
    if require_tensor(index, "index_copy", "index", 3).payload.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.title}")
    check_slices("index_copy_()", input, dim, index, require_tensor(source, "index_copy", "source", 4))
    wide, where, what = spread("index_copy_()", input, dim, index, source)
    return reshape(scatter(wide, dim, where, what), input.shape)


@public(method=True, inplace=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """input with one number in all the slices that a 1-d index lists along dim.

    Shapes: input (..., n, ...); index (k,). Raises IndexError for an index out of bounds.

    >>> index_fill(zeros(2, 3), 1, tensor([0, 2]), 9)
    tensor([[9., 0., 9.],
            [9., 0., 9.]])
    """
    if require_tensor(index, "index_fill", "index", 3).payload.dtype.kind not in "iu":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise IndexError("Index has to be a vector/scalar")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    axis = axis_of(dim, require_tensor(input, "index_fill").ndim)
    i = index.all_numbers()
    if axis is not None:  # from the end, as elsewhere
        n = input.shape[axis]
        if i.size and not (-n <= i.min() and i.max() < n):
            raise IndexError(f"index {i.max() if i.max() >= n else i.min()} is out of bounds for dimension {dim} with size {n}")
        index = pointwise.where(index < 0, index + n, index)
    if not hasattr(index.payload, "inner"):
        index = new_tensor(np.unique(index.numbers()))  # a slice named twice is still filled once
    elif not index.ndim:
        index = reshape(index, 1)
    lengths = list(input.shape) if axis is not None else [index.shape.numel()]
    if axis is not None:
        lengths[axis] = index.shape.numel()
    if isinstance(value, Tensor):
        source = expand(pointwise.to(value, input.dtype), lengths)
    else:
        source = new_tensor(np.full(lengths, dtypes.fitting(value, input.payload.dtype), input.payload.dtype))
    wide, where, what = spread("index_fill_()", input, dim, index, source)
    return reshape(scatter(wide, dim, where, what), input.shape)


@public(method=True, inplace=True, out=True)
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """input with the slices of source that a 1-d index sends to a place combined by "prod", "mean", "amax" or "amin".

    Shapes: input (..., n, ...); index (k,); source (..., k, ...). Raises RuntimeError for another reduce.

    >>> index_reduce(ones(3), 0, tensor([0, 2, 0]), tensor([2., 3., 4.]), "prod")
    tensor([8., 1., 3.])
    """
    index_tensor(index, "index_reduce")
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    check_slices("index_reduce()", input, dim, index, require_tensor(source, "index_reduce", "source", 4))
    wide, where, what = spread("index_reduce()", input, dim, index, source)
    return reshape(scatter_reduce(wide, dim, where, what, reduce, include_self=include_self), input.shape)


@public(method=True, inplace=True)
def index_put(input: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """input with values at input[indices]; accumulate adds them, also where a place is named twice.

    Raises RuntimeError for different dtypes, TypeError for indices that are not a tuple of tensors.

    >>> index_put(zeros(3), (tensor([0, 2, 0]),), tensor([1., 2., 3.]), accumulate=True)
    tensor([4., 0., 2.])
    """
    if isinstance(indices, Tensor) or not isinstance(indices, list | tuple):
        raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}")
    require_tensor(values, "index_put", "values", 2)
    if values.payload.dtype != input.payload.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {input.dtype.title} for the destination and "
            f"{values.dtype.title} for the source."
        )
    key = tuple(expand_key(input, tuple(slice(None) if i is None else i for i in indices)))
    if any(isinstance(k, Tensor) for k in key):  # indices that differ between the samples of a vmap
        return put_each(input, split_key(list(key))[1], values, accumulate)
    key = tuple(np.asarray(k) if isinstance(k, int) else k for k in key)
    check_key(input, key)
    if not accumulate:
        return _fitting(input, values, key, lambda v: apply(index_rows.index_put, (input, v), {"key": key}))
    picked = np.broadcast_to(np.empty((), bool), input.shape)[key].shape
    full = _fitting(input, values, key, lambda v: expand(v, picked))
    added = apply(index_rows.add_at, (full,), {"key": key, "shape": tuple(input.shape)})
    return input + added


def _fitting(input: Tensor, values: Tensor, key: Any, write: Any) -> Any:
    try:
        return write(values)
    except NotImplementedError:  # a RuntimeError to Python; it is the dtype, not the shape
        raise
    except (ValueError, RuntimeError):
        picked = list(input.payload[key].shape)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape {picked}"
        ) from None


@public(method=True, inplace=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the entries of source, one after the other, where the mask holds.

    Raises RuntimeError for a mask that is not bool, for different dtypes, and if source has too few entries.

    >>> masked_scatter(zeros(3), tensor([True, False, True]), tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    if require_tensor(mask, "masked_scatter", "mask", 2).payload.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.title}")
    if require_tensor(source, "masked_scatter", "source", 3).payload.dtype != input.payload.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype.title} and {source.dtype.title}"
        )
    shape = common_shape(input, mask)
    held: Any = reshape(expand(mask, shape), -1)
    if not mask.level and held.numbers().sum() > source.shape.numel():
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask: {source.shape.numel()} against {int(held.numbers().sum())}"
        )
    if not source.shape.numel():
        return expand(input, shape).clone()
    places = (held.long().cumsum(0) - 1).clamp(0, source.shape.numel() - 1)
    return pointwise.where(expand(mask, shape), take(source, reshape(places, shape)), expand(input, shape))


@public(method=True, out=True)
@returns_fresh_memory
def take(input: Tensor, index: Tensor) -> Tensor:
    """The entries at places counted over the flattened tensor, in the shape of index.

    >>> take(tensor([[1, 2], [3, 4]]), tensor([3, 0]))
    tensor([4, 1])
    """
    refuse(require_tensor(input, "take"), "take_cpu", dtypes.UNSIGNED)
    _places(input, index, "take")
    return getitem(reshape(input, -1), index if index.ndim else reshape(index, 1)).reshape(index.shape)


@public(method=True, inplace=True)
@returns_fresh_memory
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """input with source at places counted over the flattened tensor; accumulate adds it.

    Raises IndexError if source and index differ in length, RuntimeError if input and source do in dtype.

    >>> put(zeros(2, 2), tensor([3, 0]), tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 1.]])
    """
    _places(require_tensor(input, "put"), index, "put_")
    if require_tensor(source, "put", "source", 3).payload.dtype != input.payload.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.title} and source.dtype = "
            f"{source.dtype.title}"
        )
    if index.shape.numel() != source.shape.numel():
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.shape.numel()}, index.numel() = {index.shape.numel()}"
        )
    n = input.shape.numel()
    places: Any = reshape(index, -1)
    write = scatter_add if accumulate else scatter
    return reshape(write(reshape(input, -1), 0, pointwise.where(places < 0, places + n, places), reshape(source, -1)), input.shape)


def _places(input: Tensor, index: Tensor, name: str) -> None:
    if require_tensor(index, name, "index", 2).payload.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype.title}")
    n, i = input.shape.numel(), index.all_numbers()
    if i.size and not n:
        raise IndexError(f"{name}(): tried to take from an empty tensor")
    if i.size and not (-n <= i.min() and i.max() < n):
        raise IndexError(f"out of range: tried to access index {i.max() if i.max() >= n else i.min()} on a tensor of {n} elements.")


@public(method=True, out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather() whose other dims broadcast; without dim, over the flattened tensor.

    Raises RuntimeError for indices that are not int64, or of another number of dims.

    >>> x = tensor([[3, 1], [2, 4]])
    >>> take_along_dim(x, x.argsort(dim=1), dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    require_tensor(indices, "take_along_dim", "indices", 2)
    if dim is not None and input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if indices.payload.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.title}")
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    axis = axis_of(dim, input.ndim)
    if axis is None:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    i, n = indices.all_numbers(), input.shape[axis]
    if i.size and i.min() < 0:
        indices = pointwise.where(indices < 0, indices + n, indices)
    lengths = [[1 if a == axis else n for a, n in zip(range(-t.ndim, 0), t.shape)] for t in (input, indices)]
    common = list(common_shape(*(new_tensor(np.broadcast_to(np.empty((), bool), s)) for s in lengths)))
    wide = [[t.shape[axis] if a == axis else n for a, n in zip(range(-t.ndim, 0), common)] for t in (input, indices)]
    return gather(expand(input, wide[0]), axis, expand(indices, wide[1]))


@public(method=True, out=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` places of entries that are not zero, as rows of indices; filled up with fill_value.

    Shapes: (size, D) for a tensor of D dims; int64.

    >>> torch.nonzero_static(tensor([0, 5, 0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    found = np.argwhere(require_tensor(input, "nonzero_static").numbers())[:size]
    out = np.full((size, input.ndim), fill_value, np.int64)
    out[: len(found)] = found.reshape(len(found), input.ndim)
    return new_tensor(out)
