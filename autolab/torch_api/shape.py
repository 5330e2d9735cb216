"""Functions that give the same entries another shape or order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor
from autolab.rules import shape as rows
from autolab.torch_api.dims import axes_of, axis_of, common_shape, require_tensor, sizes_of
from autolab.torch_api.layout import as_bits, contiguous, returns_fresh_memory
from autolab.torch_api.pointwise import to
from autolab.torch_api.public import method, public
from autolab.transforms.boxes import first_sample, memory_owner


@method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dim. Raises IndexError for a dim that is not there.

    >>> zeros(2, 3).size(), zeros(2, 3).size(-1)
    (torch.Size([2, 3]), 3)
    """
    if dim is None:
        return self.shape
    shape = self.payload.shape
    axis = axis_of(dim, len(shape))
    if axis is None:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[axis]


@public(method=True)
def numel(self: Tensor) -> int:
    """The number of entries.

    >>> numel(zeros(2, 3))
    6
    """
    return self.shape.numel()


def _complete(shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    """Fill in a -1, and check that there is room for just n entries."""
    if -1 not in shape and math.prod(shape) == n:
        return shape
    known = math.prod(s for s in shape if s != -1)
    holes = shape.count(-1)
    if holes > 1:
        raise RuntimeError(f"only one dimension can be inferred, but {list(shape)} leaves {holes} open")
    if holes and not known and not n:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any "
            "value and is ambiguous"
        )
    if (n != known) if not holes else (known == 0 or n % known):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {n}")
    return tuple(n // known if s == -1 else s for s in shape)


@public(method=True)
def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """The same entries in another shape; one length may be -1. Shares memory where it can, copies where it must.

    >>> reshape(arange(6), 2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    return apply(rows.reshape, (input,), {"shape": _complete(sizes_of(sizes, "reshape", "shape", shape), math.prod(input.payload.shape))})


@method
def view(self: Tensor, *shape: Any, size: Any = None) -> Tensor:
    """The same memory in another shape, or read as another dtype. Raises RuntimeError if that needs a copy: then use reshape().

    >>> x = arange(6)
    >>> x.view(2, -1)[0, 0] = 7
    >>> x
    tensor([7, 1, 2, 3, 4, 5])
    """
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        return as_bits(self, shape[0])
    wanted = _complete(sizes_of(shape, "view", named=size), math.prod(self.payload.shape))
    out = apply(rows.reshape, (self,), {"shape": wanted})
    if self.payload.size and (needs_copy(self, wanted) if self.level else out.version is not self.version):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            f"contiguous subspaces). Use .reshape(...) instead: from {list(self.shape)} to {list(wanted)} needs a copy."
        )
    return out


def needs_copy(self: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether a view inside a transform would have to be copied to have this shape. What was computed there has any layout."""
    base, sample = memory_owner(self).payload, first_sample(self)
    if type(base) is not np.ndarray or not base.flags.c_contiguous or not np.may_share_memory(sample, base):
        return False
    return not np.may_share_memory(np.reshape(sample, shape), base)


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor: `view(other.shape)`.

    >>> arange(4).view_as(zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view(self, require_tensor(other, "view_as", "other").shape)


@method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The same entries in the shape of another tensor: `reshape(other.shape)`.

    >>> arange(4).reshape_as(zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshape(self, require_tensor(other, "reshape_as", "other").shape)


@public(method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join the dims from start_dim to end_dim into one.

    Shapes: (a, b, c, d) with dims 1 to 2 gives (a, b * c, d). Raises RuntimeError if start_dim comes after end_dim.

    >>> flatten(zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    n = input.ndim
    if n == 0:
        axis_of(start_dim, n), axis_of(end_dim, n)
        return reshape(input, 1)
    start, end = axis_of(start_dim, n) + n, axis_of(end_dim, n) + n  # type: ignore[operator]
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    s = tuple(input.payload.shape)
    return apply(rows.reshape, (input,), {"shape": (*s[:start], math.prod(s[start : end + 1]), *s[end + 1 :])})


@public(method=True)
def ravel(input: Tensor) -> Tensor:
    """All entries in one dim, one behind the other: a view if they lie so already, else a copy.

    >>> ravel(tensor([[1, 2], [3, 4]]).T)
    tensor([1, 3, 2, 4])
    """
    return reshape(contiguous(input), (-1,)) if input.ndim != 1 else view(contiguous(input), (-1,))


@public(method=True)
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dim into several; one of the sizes may be -1. Raises RuntimeError for sizes that do not multiply up.

    >>> unflatten(zeros(2, 12), 1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    axis = axis_of(dim, input.ndim)
    if axis is None:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    d, wanted = axis + input.ndim, sizes_of((sizes,), "unflatten", "sizes")
    n = input.shape[d]
    known = math.prod(s for s in wanted if s != -1)
    if wanted.count(-1) > 1 or (known != n if -1 not in wanted else not known or n % known):
        raise RuntimeError(f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {dim} ({n}) in the input tensor")
    return reshape(input, (*input.shape[:d], *_complete(wanted, n), *input.shape[d + 1 :]))


@public(method=True)
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Drop all dims of length 1, or the named ones that have it.

    >>> squeeze(zeros(1, 3, 1), 0).shape
    torch.Size([3, 1])
    """
    if dim is None:
        return apply(rows.squeeze, (input,), {})
    axes = axes_of(dim, input.ndim) or ()
    if isinstance(dim, int) and axes and input.shape[axes[0]] == 1:
        return apply(rows.squeeze, (input,), {"axis": axes[0]})
    return apply(rows.squeeze, (input,), {"axis": tuple(a for a in axes if input.shape[a] == 1)})


@public(method=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dim of length 1.

    Shapes: (n, m) with dim 1 gives (n, 1, m). A view.

    >>> unsqueeze(tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    n = input.ndim + 1
    return apply(rows.expand_dims, (input,), {"axis": axis_of(dim, n)})


@public(method=True, aliases="swapaxes swapdims")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dims: a view.

    Shapes: (..., n, ..., m, ...) gives (..., m, ..., n, ...). Raises IndexError for a dim that is not there.

    >>> transpose(tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    n = len(input.payload.shape)
    a, b = axis_of(dim0, n), axis_of(dim1, n)
    if a is None:
        return input if input.level else reshape(input, ())
    return apply(rows.swapaxes, (input,), {"axis1": a, "axis2": b})


@public(method=True)
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The dims in another order.

    Shapes: (a, b, c) with dims (2, 0, 1) gives (c, a, b). A view. Raises RuntimeError unless each dim is named once.

    >>> permute(zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    if not order and dims is None:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    wanted = sizes_of(order, "permute", "dims", dims)
    n = len(input.payload.shape)
    if len(wanted) != n:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
            f"of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(wanted)}"
        )
    axes = tuple([axis_of(d, n) for d in wanted])
    if len(set(axes)) < n:
        raise RuntimeError(f"permute(): duplicate dims are not allowed. The dims are {list(wanted)}.")
    return apply(rows.transpose, (input,), {"axes": axes})


@public(method=True, aliases="moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dims to other positions.

    The others keep their order. A view.

    Raises RuntimeError for a dim that is named twice.

    >>> movedim(zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    n = input.ndim
    sources, destinations = ([axis_of(d, n) for d in _list(dims)] for dims in (source, destination))
    if n and len(sources) == len(destinations):
        for name, given, axes in (("source", source, sources), ("destination", destination, destinations)):
            if len(set(axes)) < len(axes):
                raise RuntimeError(f"movedim: repeated dim in `{name}` ({_list(given)})")
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ([{_listed(source)}] dims) should contain the same number of "
            f"dims as destination ([{_listed(destination)}] dims)"
        )
    if not n:
        return reshape(input, ())
    order = [a for a in range(-n, 0) if a not in sources]
    for at, what in sorted(zip((d + n for d in destinations), sources)):  # type: ignore[operator]
        order.insert(at, what)  # type: ignore[arg-type]
    return permute(input, order)


def _list(dims: Any) -> list[int]:
    return list(dims) if isinstance(dims, list | tuple) else [dims]


def _listed(dims: Any) -> str:
    return ", ".join(map(str, _list(dims)))


@method
def expand(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Repeat dims of length 1 without copying; -1 keeps a length, and new dims may be put in front.

    Raises RuntimeError for a shape that the tensor does not broadcast to.

    >>> tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    wanted, lengths = sizes_of(sizes, "expand", named=size), self.payload.shape
    extra = len(wanted) - len(lengths)
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{self.dtype.title}Tensor{{{list(self.shape)}}}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({self.ndim})"
        )
    if -1 in wanted[:extra]:
        raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {wanted.index(-1)}")
    shape = wanted if -1 not in wanted else tuple([lengths[i - extra] if s == -1 else s for i, s in enumerate(wanted)])
    wrong = [i for i, (s, own) in enumerate(zip(shape[extra:], lengths), extra) if own not in (1, s)]
    if wrong:
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[wrong[-1]]}) must match the existing size ({lengths[wrong[-1] - extra]}) at "
            f"non-singleton dimension {wrong[-1]}.  Target sizes: {list(shape)}.  Tensor sizes: {list(self.shape)}"
        )
    return apply(rows.expand, (self,), {"shape": shape})


@method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with dims of length 1 repeated to the shape of another tensor: `expand(other.shape)`.

    >>> tensor([[1], [2]]).expand_as(zeros(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand(self, require_tensor(other, "expand_as", "other").shape)


@public(method=True)
def broadcast_to(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """A view of another shape, in which dims of length 1 are repeated: `expand(size)`, as a function.

    Raises RuntimeError if a length other than 1 differs from the one asked for.

    >>> broadcast_to(tensor([1., 2.]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]])
    """
    return expand(input, *sizes_of(sizes, "broadcast_to", named=size))


@public()
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape.

    Raises RuntimeError if there is no such shape.

    >>> [t.shape for t in broadcast_tensors(zeros(3, 1), zeros(2))]
    [torch.Size([3, 2]), torch.Size([3, 2])]
    """
    shape = common_shape(*tensors)
    return tuple(t if tuple(t.shape) == shape else expand(t, shape) for t in tensors)


@public(out=True, aliases="concat concatenate")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dim they already have; the other lengths must agree.

    Raises RuntimeError for other lengths or numbers of dims.

    >>> cat([tensor([1, 2]), tensor([3])])
    tensor([1, 2, 3])
    """
    tensors = _several("cat", tensors)
    shapes = [x.payload.shape for x in tensors]
    if (0,) in shapes and any(len(s) > 1 for s in shapes):  # PyTorch leaves out empty lists: cat([tensor([]), m]) is m
        tensors = [x for x, s in zip(tensors, shapes) if s != (0,)]
    axis = axis_of(dim, tensors[0].payload.ndim)
    try:
        if axis is not None:
            return apply(rows.concatenate, tuple(tensors), {"axis": axis})
    except ValueError:
        pass
    raise _do_not_join(tensors, axis, dim)


def _do_not_join(tensors: Sequence[Tensor], axis: int | None, dim: int) -> RuntimeError:
    """What does not fit, and where."""
    first = tensors[0]
    for i, x in enumerate(tensors):
        if x.ndim == 0:
            return RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        if x.ndim != first.ndim:
            return RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {x.ndim}")
        for a in range(-first.ndim, 0):
            if a != axis and x.shape[a] != first.shape[a]:
                return RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. "
                    f"Expected size {first.shape[a]} but got size {x.shape[a]} for tensor number {i} in the list."
                )
    return RuntimeError(f"cat(): the shapes {[list(x.shape) for x in tensors]} cannot be joined along dim {dim}")


@public(out=True)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dim.

    Shapes: k tensors (n, m) give (k, n, m) for dim 0. Raises RuntimeError for different shapes.

    >>> stack([tensor([1, 2]), tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    tensors = _several("stack", tensors)
    shape = tensors[0].payload.shape
    for i, x in enumerate(tensors):
        if x.payload.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(x.shape)} at entry {i}"
            )
    return apply(rows.stack, tuple(tensors), {"axis": axis_of(dim, len(shape) + 1)})


def _several(name: str, tensors: Any) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = list(tensors)
    if not tensors and name == "cat":
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    try:
        own = [x.payload.dtype for x in tensors]
    except AttributeError:
        i, x = next((i, x) for i, x in enumerate(tensors) if not isinstance(x, Tensor))
        raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}") from None
    if own.count(own[0]) == len(own):
        return tensors
    common = dtypes.of(reduce(dtypes.promote_types, own))
    return [to(x, common) for x in tensors]


@public(method=True)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut along a dim into pieces of one length (the last may be shorter), or of the lengths listed.

    Raises RuntimeError for lengths that do not sum to the dim's.

    >>> split(arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    axis = axis_of(dim, tensor.ndim)
    if axis is None:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    n = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
        if step == 0 and n:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        sizes = [min(step, n - start) for start in range(0, n, step or 1)] or [0]
    else:
        sizes = list(sizes_of((split_size_or_sections,), "split", "split_sizes"))
        if min(sizes, default=0) < 0:
            raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}")
        if sum(sizes) != n:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={sizes}"
            )
    row = rows.split if isinstance(split_size_or_sections, int) else rows.split_with_sizes
    return apply(row, (tensor,), {"sizes": tuple(sizes), "axis": axis})


@public(method=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut along a dim into at most so many pieces of equal length (the last may be shorter).

    Raises RuntimeError for a 0-d tensor, and for fewer than one piece.

    >>> chunk(arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = axis_of(dim, input.ndim)
    if axis is None:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    n = input.shape[axis]
    return split(input, [0] * chunks, dim) if n == 0 else split(input, -(-n // chunks), dim)


@public(method=True)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dim, which disappears.

    Shapes: (n, ...) with dim 0 gives n views (...). Raises IndexError for a 0-d tensor.

    >>> unbind(tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    axis = axis_of(dim, input.ndim)
    if axis is None:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return apply(rows.unbind, (input,), {"axis": axis})


@public(method=True)
def flip(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """Reverse the order along dims (a copy).

    Shapes: the result has the input's.

    >>> flip(tensor([1, 2, 3]), 0)
    tensor([3, 2, 1])
    """
    axes = axes_of(sizes_of(order, "flip", "dims", dims), input.ndim) or ()
    return apply(rows.flip, (input,), {"axis": axes})


@public(method=True)
@returns_fresh_memory
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Shift entries along dims, wrapping around; without dims, over the flattened tensor.

    Raises RuntimeError if shifts and dims differ in number.

    >>> roll(tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = sizes_of((shifts,), "roll", "shifts")
    if not shifts:
        raise RuntimeError("`shifts` required: by how many places to shift along each dim")
    if dims is None:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        flat = apply(rows.roll, (reshape(input, -1),), {"shift": shifts, "axis": (-1,)})
        return reshape(flat, input.shape)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axes = axes_of(dims, input.ndim)
    if len(shifts) != len(axes or ()):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(axes or ())}")
    return apply(rows.roll, (input,), {"shift": shifts, "axis": axes})


@method
def repeat(self: Tensor, *times: Any, repeats: Any = None) -> Tensor:
    """Copies of the whole tensor side by side, so many along each dim; more numbers than dims put new dims in front.

    Shapes: (n,) repeated (k, l) times gives (k, n * l). Raises RuntimeError for fewer numbers than dims.

    >>> tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = sizes_of(times, "repeat", "repeats", repeats)
    if min(times, default=0) < 0:
        lengths = [t * n for t, n in zip(times, (1,) * (len(times) - self.ndim) + tuple(self.shape))]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(lengths)}: {lengths}")
    if len(times) < self.ndim:
        raise RuntimeError(
            f"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: got {len(times)} for {self.ndim}"
        )
    return apply(rows.repeat, (self,), {"repeats": times})


@public(method=True)
def tile(input: Tensor, *times: Any, dims: Any = None) -> Tensor:
    """`repeat` that puts ones in front when there are fewer numbers than dims.

    >>> tile(tensor([[1, 2], [3, 4]]), (2,))
    tensor([[1, 2, 1, 2],
            [3, 4, 3, 4]])
    """
    times = sizes_of(times, "tile", "dims", dims)
    return repeat(input, (1,) * (input.ndim - len(times)) + times)
