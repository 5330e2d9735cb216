"""Joining, cutting, repeating and turning: functions made of the few that move entries about."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import elementwise as copies
from autolab.size import Size
from autolab.torch_api import creation, index, shape
from autolab.torch_api.dims import axis_of, require_tensor, sizes_of, whole
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.public import declare, public


def tensor_list(name: str, given: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one, or as one sequence. Raises TypeError for what is no Tensor."""
    if len(given) == 1 and isinstance(given[0], list | tuple):
        given = tuple(given[0])
    return [require_tensor(t, name, "tensors", i) for i, t in enumerate(given, 1)]


def clone(t: Tensor) -> Tensor:
    return apply(copies.clone, (t,), {})


def _at_least(name: str, raise_dims: Callable[[Tensor], Tensor], doc: str) -> Any:
    def function(*tensors: Any) -> Any:
        out = tuple(raise_dims(t) for t in tensor_list(name, tensors))
        return out[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else out

    return declare(function, name, doc)


def _matrix(t: Tensor) -> Tensor:
    return shape.reshape(t, 1, 1) if t.ndim == 0 else shape.unsqueeze(t, 0) if t.ndim == 1 else t


def _block(t: Tensor) -> Tensor:
    return shape.unsqueeze(_matrix(t), -1) if t.ndim < 3 else t


atleast_1d = _at_least(
    "atleast_1d",
    lambda t: shape.reshape(t, 1) if t.ndim == 0 else t,
    """A number as a vector of one; anything else as it is.

>>> atleast_1d(tensor(1))
tensor([1])
""",
)
atleast_2d = _at_least(
    "atleast_2d",
    _matrix,
    """With dims of length 1 in front, so that there are two.

>>> atleast_2d(tensor([1, 2]))
tensor([[1, 2]])
""",
)
atleast_3d = _at_least(
    "atleast_3d",
    _block,
    """With dims of length 1 around, so that there are three: a vector is (1, n, 1).

>>> atleast_3d(tensor([1, 2])).shape
torch.Size([1, 2, 1])
""",
)


def _joined(name: str, dim: Callable[[Tensor], int], prepare: Any, doc: str, aliases: str = "") -> Any:
    def function(tensors: Sequence[Tensor]) -> Tensor:
        ready = [prepare(t) for t in tensor_list(name, (tensors,))]
        if not ready:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        return shape.cat(ready, dim(ready[0]))

    return declare(function, name, doc, out=True, aliases=aliases)


hstack = _joined(
    "hstack",
    lambda t: 0 if t.ndim == 1 else 1,
    atleast_1d,
    """Join side by side: along dim 1, vectors along dim 0.

>>> hstack((tensor([1, 2]), tensor([3, 4])))
tensor([1, 2, 3, 4])
""",
)
vstack = _joined(
    "vstack",
    lambda t: 0,
    atleast_2d,
    """Join below one another: along dim 0, vectors as rows.

>>> vstack((tensor([1, 2]), tensor([3, 4])))
tensor([[1, 2],
        [3, 4]])
""",
    "row_stack",
)
dstack = _joined(
    "dstack",
    lambda t: 2,
    atleast_3d,
    """Join behind one another: along dim 2.

>>> dstack((tensor([1, 2]), tensor([3, 4])))
tensor([[[1, 3],
         [2, 4]]])
""",
)
column_stack = _joined(
    "column_stack",
    lambda t: 1,
    lambda t: shape.reshape(t, -1, 1) if t.ndim < 2 else t,
    """Join side by side, vectors as columns.

>>> column_stack((tensor([1, 2]), tensor([3, 4])))
tensor([[1, 3],
        [2, 4]])
""",
)


@public()
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along the diagonal of a larger one, zeros elsewhere; vectors count as rows.

    Shapes: (n, m) and (k, l) give (n + k, m + l). Raises RuntimeError for more than two dims.

    >>> block_diag(tensor([[1, 2]]), tensor([3]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    blocks = tensor_list("block_diag", tensors)
    for i, b in enumerate(blocks):
        if b.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {b.ndim} dimensions")
    if not blocks:
        return creation.zeros(1, 0)
    matrices = [_matrix(b) for b in blocks]
    widths = [m.shape[1] for m in matrices]
    out = []
    for i, m in enumerate(matrices):
        left, right = (creation.zeros(m.shape[0], sum(w), dtype=m.dtype) for w in (widths[:i], widths[i + 1 :]))
        out.append(shape.cat([left, m, right], 1))
    return shape.cat(out, 0)


@public()
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: for vectors of lengths n, m, ... one tensor of shape (n, m, ...) each ("ij"), or (m, n, ...) ("xy").

    Raises RuntimeError for more than one dim, and for different dtypes.

    >>> meshgrid(tensor([1, 2]), tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    axes = tensor_list("meshgrid", tensors)
    if not axes:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in axes:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
        if t.payload.dtype != axes[0].payload.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    lengths = [t.shape.numel() for t in axes]
    grids = [shape.expand(shape.reshape(t, *(-1 if k == i else 1 for k in range(len(axes)))), lengths) for i, t in enumerate(axes)]
    return tuple(shape.transpose(g, 0, 1) if indexing == "xy" and len(grids) > 1 else g for g in grids)


@public()
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one entry of each vector, as rows: (n, m, ...) of them; of one vector the vector itself.

    Raises RuntimeError for anything but a vector.

    >>> cartesian_prod(tensor([1, 2]), tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    vectors = tensor_list("cartesian_prod", tensors)
    for t in vectors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(vectors) == 1:
        return vectors[0]
    return shape.stack([shape.reshape(g, -1) for g in meshgrid(vectors, indexing="ij")], 1)


@public()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose r entries of a vector, as rows, in the order of itertools.combinations.

    Raises RuntimeError for anything but a vector, and for a negative r.

    >>> combinations(tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if require_tensor(input, "combinations").ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return creation.empty(0, dtype=input.dtype)
    choose: Any = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.array(list(choose(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    return index.getitem(input, new_tensor(chosen))


@public()
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to. Raises RuntimeError if there is none.

    >>> broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    for s in shapes:
        if not isinstance(s, int | tuple | list):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
    wanted = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    if any(n < 0 for s in wanted for n in s):
        raise ValueError(f"Attempting to broadcast a dimension with negative length! The shapes are {wanted}.")
    found: list[int] = []
    for i, s in enumerate(wanted):
        found = [1] * (len(s) - len(found)) + found
        for back, n in enumerate(reversed(s), 1):
            if n not in (1, found[-back]) and found[-back] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {-back}! Mismatching argument at index {i} had {s}; but "
                    f"expected shape should be broadcastable to {found}"
                )
            found[-back] = n if n != 1 else found[-back]
    return Size(found)


@public(method=True)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Cut along a dim into pieces of the lengths listed.

    >>> split_with_sizes(arange(5), [2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    return shape.split(input, list(split_sizes), dim)


@public(method=True)
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Cut along a dim into so many pieces of (almost) equal length, or before each of the indices listed.

    Raises RuntimeError for a 0-d tensor, and for fewer than one piece.

    >>> tensor_split(arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if require_tensor(input, "tensor_split").ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    where = next(w for w in (indices_or_sections, indices, sections) if w is not None)
    n = input.shape[axis_of(dim, input.ndim)]
    if isinstance(where, Tensor):
        if where.payload.dtype != np.int64:
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {where.dtype.title}")
        if where.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
                f"tensor with {where.ndim} dims"
            )
        where = where.numbers().tolist()
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        base, longer = divmod(n, where)
        where = list(itertools.accumulate(base + (i < longer) for i in range(where - 1)))
    ends = [slice(start, stop).indices(n) for start, stop in zip([0, *where], [*where, n])]
    d = dim + input.ndim if dim < 0 else dim
    return tuple(index.narrow(input, d, start, max(stop - start, 0)) for start, stop, _ in ends)


def _split_along(name: str, dim: int, least: int, doc: str) -> Any:
    def function(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> Any:
        where = next(w for w in (indices_or_sections, indices, sections) if w is not None)
        if require_tensor(input, name).ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} dimensions!"
            )
        if not isinstance(where, int | list | tuple):
            raise TypeError(f"{name}() received an invalid combination of arguments. Give a number of pieces, or a list of indices.")
        along = 0 if input.ndim == 1 else dim
        if isinstance(where, int):
            n = input.shape[along]
            if where <= 0 or n % where:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {along}, but the size of the dimension {n} is not "
                    f"divisible by the split_size {where}!"
                )
        return tensor_split(input, where, along)

    return declare(function, name, doc, method=True)


hsplit = _split_along(
    "hsplit",
    1,
    1,
    """Cut side by side: along dim 1, a vector along dim 0.

>>> hsplit(tensor([[1, 2], [3, 4]]), 2)
(tensor([[1],
        [3]]), tensor([[2],
        [4]]))
""",
)
vsplit = _split_along(
    "vsplit",
    0,
    2,
    """Cut above and below: along dim 0.

>>> vsplit(tensor([[1, 2], [3, 4]]), 2)
(tensor([[1, 2]]), tensor([[3, 4]]))
""",
)
dsplit = _split_along(
    "dsplit",
    2,
    3,
    """Cut in front and behind: along dim 2.

>>> [piece.shape for piece in dsplit(zeros(2, 3, 4), 2)]
[torch.Size([2, 3, 2]), torch.Size([2, 3, 2])]
""",
)


@public(method=True)
def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each entry so many times in a row, along dim or over the flattened tensor; a tensor of counts alone gives the indices.

    Raises RuntimeError for negative counts, and for counts that do not fit.

    >>> repeat_interleave(tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    require_tensor(input, "repeat_interleave")
    if repeats is None:  # the counts themselves
        if input.ndim != 1 or input.payload.dtype.kind != "i":
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat, of dtype int or long")
        repeats, input = input, creation.arange(input.shape[0])
    if dim is None:
        input, dim = shape.reshape(input, -1), 0
    axis = axis_of(dim, input.ndim)
    if axis is None:
        return repeat_interleave(shape.reshape(input, 1), repeats, 0)
    n = input.shape[axis]
    if isinstance(repeats, list | tuple):
        repeats = new_tensor(np.array(repeats, np.int64))
    if isinstance(repeats, Tensor):
        if repeats.payload.dtype.kind != "i":
            raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.title}'. Counts are whole numbers.")
        if repeats.ndim > 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        counts = repeats.numbers()
        if counts.ndim and counts.size not in (1, n):
            raise RuntimeError(
                f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size({dim}) = {n}"
            )
        counts = np.broadcast_to(counts, (n,))
    else:
        times = whole(repeats, "repeat_interleave(): argument 'repeats'")
        if times < 0:
            raise RuntimeError(f"Repeats must be non-negative, but found {times}")
        counts = np.full(n, times)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and counts.sum() != output_size:
        raise RuntimeError(f"allocated size does not match required size: output_size is {output_size}, needed {counts.sum()}")
    return index.index_select(input, axis, new_tensor(np.repeat(np.arange(n, dtype=np.int64), counts.astype(np.intp))))


@public(method=True)
def fliplr(input: Tensor) -> Tensor:
    """Left and right exchanged: flip(1). Raises RuntimeError for fewer than two dims.

    >>> fliplr(tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if require_tensor(input, "fliplr").ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return shape.flip(input, 1)


@public(method=True)
def flipud(input: Tensor) -> Tensor:
    """Top and bottom exchanged: flip(0). Raises RuntimeError for a 0-d tensor.

    >>> flipud(tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if require_tensor(input, "flipud").ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return shape.flip(input, 0)


@public(method=True)
@returns_fresh_memory
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters of a circle in the plane of two dims, from the first towards the second.

    Raises RuntimeError for fewer than two dims, and for dims that are equal or not there.

    >>> rot90(tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    n, dims = require_tensor(input, "rot90").ndim, list(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == n:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for at, d in enumerate(dims):
        if not -n <= d < n:
            raise RuntimeError(f"Rotation dim{at} out of range, dim{at} = {d}")
    first, second = dims
    if k % 4 == 0:
        return clone(input)
    if k % 4 == 1:
        return shape.transpose(shape.flip(input, second), first, second)
    if k % 4 == 2:
        return shape.flip(input, first, second)
    return shape.flip(shape.transpose(input, first, second), second)


@public()
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """From places in the flattened tensor to one index for each dim of a tensor of this shape.

    Raises ValueError for indices that are not integers.

    >>> unravel_index(tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    if require_tensor(indices, "unravel_index", "indices").payload.dtype.kind not in "iu":
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    lengths = sizes_of((shape,), "unravel_index", "shape")
    if any(n < 0 for n in lengths):
        raise ValueError(f"'shape' cannot have negative values, but got {lengths}")
    steps = [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]
    return tuple(indices // s % n if n else indices for s, n in zip(steps, lengths))


@public(method=True)
def argwhere(input: Tensor) -> Tensor:
    """The places of the entries that are not zero, as rows of indices.

    Shapes: (k, D) for k such entries of a tensor of D dims; int64.

    >>> argwhere(tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return index.nonzero(input)
