"""Views by strides, windows that slide, and functions that change in place how a tensor looks into its memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autolab.engine.apply import apply
from autolab.engine.inplace import Part, change_history, check_inference, check_may_write, layout_of
from autolab.engine.modes import modes
from autolab.engine.node import edge_of
from autolab.engine.tensor import Tensor, new_tensor, no_accumulator
from autolab.rules import strided as rows
from autolab.torch_api import shape, transposes
from autolab.torch_api.dims import axis_of, require_tensor, sizes_of, whole
from autolab.torch_api.inplace import copy_, fill_
from autolab.torch_api.node_names import rename_node
from autolab.torch_api.not_differentiable import NotImplementedDerivative
from autolab.torch_api.public import declare, method, public
from autolab.torch_api.storage import UntypedStorage
from autolab.transforms.boxes import first_sample
from autolab.transforms.level import become_view


@method
def storage_offset(self: Tensor) -> int:
    """How many entries lie before this tensor's first one in the memory that it looks into.

    >>> arange(6)[2:].storage_offset()
    2
    """
    return rows.memory_and_start(np.asarray(first_sample(self)) if self.level else self.writable_array())[1]


def part(input: Tensor, size: Any, stride: Any, offset: Any, name: str) -> Part:
    """The part of a tensor's memory with this size and stride. Raises RuntimeError if it lies outside of the memory."""
    lengths, steps = sizes_of((size,), name), sizes_of((stride,), name, "stride")
    if len(lengths) != len(steps):
        raise RuntimeError(
            f"mismatch in length of strides and shape: size and stride must have the same length, but {name} got {list(lengths)}, "
            f"{list(steps)}"
        )
    for n, what in ((steps, "strides"), (lengths, "sizes")):
        if any(k < 0 for k in n):
            raise RuntimeError(f"{name}: Negative {what} are not supported at the moment, got {what}: {list(n)}")
    if input.level:
        layout = layout_of(input.payload)
        begin = 0 if offset is None else whole(offset, "storage_offset") - storage_offset(input)
        (low, high), (first, last) = rows.span(lengths, steps, begin), rows.span(input.shape, layout)
        if low < high and not first <= low <= high <= last:
            raise RuntimeError(
                f"{name}: sizes {list(lengths)}, strides {list(steps)}, storage offset {offset} are out of bounds for the {input.numel()} "
                f"entries of {list(input.shape)}, which lie at {first} to {last}: these would lie at {low} to {high}. This is not "
                "supported inside of vmap and other transforms, where a tensor has no other memory than its own: use slices, select, "
                "expand and the like."
            )
        return Part(lengths, steps, begin, layout)
    memory, start = rows.memory_and_start(input.writable_array())
    begin = start if offset is None else whole(offset, "storage_offset")
    high = rows.span(lengths, steps, begin)[1]
    if high > memory.size or begin < 0:
        item = memory.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(lengths)}, strides {list(steps)}, storage offset {begin}, and itemsize {item} requiring a storage "
            f"size of {high * item} are out of bounds for storage of size {memory.nbytes}"
        )
    return Part(lengths, steps, begin - start, layout_of(input.payload))


@public(method=True)
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the memory: entry [i, j] lies at storage_offset + i * stride[0] + j * stride[1], counted in entries.

    Raises RuntimeError outside of the memory. Entries that are seen several times receive the sum of the gradients.

    >>> as_strided(arange(6.), (2, 3), (1, 2))
    tensor([[0., 2., 4.],
            [1., 3., 5.]])
    """
    where = part(require_tensor(input, "as_strided"), size, stride, storage_offset, "as_strided")
    return apply(rows.as_strided, (input,), {"part": where})


@public(method=True)
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A copy of input with src where as_strided(input, size, stride, storage_offset) looks. src has the shape `size`.

    Raises RuntimeError for a src of another shape.

    >>> as_strided_scatter(zeros(4), ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    where = part(require_tensor(input, "as_strided_scatter"), size, stride, storage_offset, "as_strided_scatter")
    if tuple(require_tensor(src, "as_strided_scatter", "src", 2).shape) != where.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(where.shape)}"
        )
    return apply(rows.as_strided_scatter, (input, src.to(input.dtype)), {"part": where})


@method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` entries of one dim, `step` apart, in a new last dim: a view.

    Shapes: (..., n, ...) gives (..., (n - size) // step + 1, ..., size).
    Raises RuntimeError for a size that is longer than the dim, and for step <= 0.

    >>> arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    axis = axis_of(dimension, self.ndim)
    n = 1 if axis is None else self.shape[axis]
    size, step = whole(size, "unfold(): argument 'size'"), whole(step, "unfold(): argument 'step'")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {n} but size is {size}")
    if size < 0 or step <= 0:
        raise RuntimeError(f"size is {size} but must be >= 0" if size < 0 else f"step is {step} but must be > 0")
    if axis is None:
        return shape.reshape(self, (1,)) if size else shape.reshape(self, (1,))[:0]
    return apply(rows.unfold, (self,), {"axis": axis, "size": size, "step": step})


def unlinked_pieces(pieces: tuple[Tensor, ...], node: str) -> tuple[Tensor, ...]:
    """Pieces of a tensor that no longer know it: each may be written to, and the tensor does not hear of it."""
    for piece in pieces:
        piece.view_info, piece.version = None, [0]
    rename_node(pieces[0].edge, node)
    return pieces


@public(method=True)
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split`, whose pieces may be written to: they count as tensors of their own, though they lie in the same memory.

    Nothing notices such a write, so do not use the tensor itself afterwards.

    >>> x = arange(4)
    >>> x.unsafe_split(2)[1].fill_(9)
    tensor([9, 9])
    """
    return unlinked_pieces(shape.split(tensor, split_size, dim), "UnsafeSplitBackward0")


@public(method=True)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes`, whose pieces may be written to: see `unsafe_split`."""
    return unlinked_pieces(shape.split(input, split_sizes, dim), "UnsafeSplitWithSizesBackward0")


@public(method=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk`, whose pieces may be written to: see `unsafe_split`."""
    return unlinked_pieces(shape.chunk(input, chunks, dim), "UnsafeSplitBackward0")


def inplace_view(name: str, function: Callable[..., Any], node: str | Callable[..., str]) -> Callable[..., Any]:
    """The in-place form of a function that gives a view: this tensor itself looks in the other way from now on."""

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_inference(self)
        check_may_write(self, self.requires_grad)
        out = function(self, *args, **kwargs)
        if self.level:
            return become_view(self, out)
        self.payload = out.payload
        record_view_change(self, out.edge, node if isinstance(node, str) else node(*args, **kwargs))
        return self

    return declare(
        in_place,
        f"{name}_",
        f"`{name}`, of this tensor itself. Raises RuntimeError for a leaf that requires grad.",
        package=False,
        method=True,
    )


def record_view_change(self: Tensor, edge: Any, node: str) -> None:
    """Count the change and record it. The base of a view is as it was: only the view looks anew."""
    self.version[0] += 1
    if modes.grad:
        change_history(self, edge)
        rename_node(edge, node)
    if self.view_info is not None:
        self.view_info.seen = self.version[0]


def squeeze_node_name(dim: Any = None) -> str:
    return "SqueezeBackward3" if dim is None else "SqueezeBackward4" if isinstance(dim, int) else "SqueezeBackward5"


as_strided_ = inplace_view("as_strided", as_strided, "AsStridedBackward1")
squeeze_ = inplace_view("squeeze", shape.squeeze, squeeze_node_name)
swapaxes_ = inplace_view("swapaxes", shape.transpose, "TransposeBackward1")
swapdims_ = inplace_view("swapdims", shape.transpose, "TransposeBackward1")
t_ = inplace_view("t", transposes.t, "TBackward1")
transpose_ = inplace_view("transpose", shape.transpose, "TransposeBackward1")
unsqueeze_ = inplace_view("unsqueeze", shape.unsqueeze, "UnsqueezeBackward1")


@method
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Look into the memory of `source` from now on (into none without it), and forget the history: nothing can be
    differentiated through it.

    source: a Tensor, or its storage; of a storage all entries, or those that size, stride and storage_offset name.

    Raises RuntimeError for another dtype.

    >>> x, y = tensor([1., 2.]), zeros(2)
    >>> x.set_(y)
    tensor([0., 0.])
    """
    edges = tuple(edge_of(t) if isinstance(t, Tensor) else None for t in (self, source))
    if isinstance(source, UntypedStorage):
        source = new_tensor(source.memory.view(self.payload.dtype))
    if source is not None and source.payload.dtype != self.payload.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype.title} to a tensor of type {self.dtype.title}")
    check_may_write(self, self.requires_grad)
    if size is not None:
        if stride is None:
            stride = [math.prod(size[k + 1 :]) for k in range(len(size))]
        source = as_strided(source, size, stride, storage_offset)
    self.payload = np.empty(0, self.payload.dtype) if source is None else source.writable_array()
    self.view_info = None
    self.version[0] += 1
    if self.extra is not None:
        self.extra.accumulator = no_accumulator  # gradients of graphs that were made before are not for these numbers
    if modes.grad:
        change_history(self, NotImplementedDerivative(edges, "set_") if edges != (None, None) else None)
    return self


@method
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another size for the same memory; new memory (with zeros behind the old entries) if that is too small.

    Raises RuntimeError if this tensor requires grad.

    >>> arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if self.requires_grad and not modes.inference:
        raise RuntimeError("cannot resize variables that require grad")
    wanted = sizes_of(sizes, "resize_")
    if wanted == tuple(self.shape):
        return self
    memory, start = rows.memory_and_start(self.writable_array())
    n = math.prod(wanted)
    check_fits(wanted, memory.itemsize)
    if start + n > memory.size:
        memory, start = np.concatenate([memory[start:], np.zeros(start + n - memory.size, memory.dtype)]), 0
    self.payload = memory[start : start + n].reshape(wanted)
    self.version[0] += 1
    return self


def check_fits(sizes: tuple[int, ...], itemsize: int) -> None:
    """Raise RuntimeError for more entries than can be counted."""
    steps = [math.prod(max(n, 1) for n in sizes[k + 1 :]) for k in range(len(sizes))]
    for what, largest in (("Stride", max(steps, default=0)), ("Storage size", math.prod(sizes) * itemsize)):
        if largest >= 2**63:
            raise RuntimeError(f"{what} calculation overflowed with sizes={list(sizes)}. There is no memory for so many entries.")


@method
def resize_as_(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Another size for the same memory, that of another tensor: `resize_(other.shape)`.

    >>> arange(6).resize_as_(zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return resize_(self, other.shape)


@method
def share_memory_(self: Tensor) -> Tensor:
    """This tensor. Processes do not share tensors here, so there is nothing to move.

    >>> x = tensor([1., 2.])
    >>> x.share_memory_() is x
    True
    """
    return self


@method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one number where all indices are equal; with `wrap` again below, where a tall matrix goes on.

    Raises RuntimeError for less than 2 dims, and for more than 2 of different lengths.

    >>> zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if self.ndim < 2:
        raise RuntimeError(f"dimensions must larger than 1, but got {self.ndim}")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(f"all dimensions of input must be of equal length, but got {list(self.shape)}")
    n, step = min(self.shape), sum(layout_of(self.writable_array()))
    fill_(as_strided(self, (n,), (step,)), fill_value)
    if wrap and self.ndim == 2:
        for start in range(self.shape[1] + 1, self.shape[0], self.shape[1] + 1):
            fill_diagonal_(self[start:], fill_value)
    return self


@method
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each number by callable(number), one by one: slow, and not recorded. Raises RuntimeError if this requires grad.

    >>> tensor([1., 2.]).apply_(lambda number: 10 * number)
    tensor([10., 20.])
    """
    return map_entries(self, callable, (self,), "apply_")


@method
def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each number by callable(number, number of other), one by one. Raises RuntimeError if this requires grad.

    >>> tensor([1., 2.]).map_(tensor([3., 4.]), lambda a, b: a + 10 * b)
    tensor([31., 42.])
    """
    return map_entries(self, callable, (self, other), "map_")


@method
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each number by callable(number, number of x, number of y), one by one. Raises RuntimeError if one of them requires grad.

    >>> tensor([1., 2.]).map2_(tensor([3., 4.]), tensor([5., 6.]), lambda a, b, c: a + b * c)
    tensor([16., 26.])
    """
    return map_entries(self, callable, (self, x, y), "map2_")


def map_entries(self: Tensor, function: Callable[..., Any], inputs: tuple[Tensor, ...], name: str) -> Tensor:
    if any(t.requires_grad for t in inputs):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    numbers = [np.broadcast_to(t.payload, self.shape).ravel().tolist() for t in inputs]
    values = np.array([function(*row) for row in zip(*numbers)], self.payload.dtype).reshape(self.shape)
    return copy_(self, new_tensor(values[()]))


@public(method=True)
def detach(self: Tensor) -> Tensor:
    """The same memory as a tensor without history. Writes through it are counted, so the graph notices them.

    >>> x = tensor([1., 2.], requires_grad=True)
    >>> (2 * x).detach()
    tensor([2., 4.])
    """
    if self.level:
        return self.detach()
    t = new_tensor(self.writable_array())
    t.version = self.version
    return t


@public(method=True)
def detach_(self: Tensor) -> Tensor:
    """Forget the history of this tensor: it becomes a leaf that does not require grad. Raises RuntimeError for a view.

    >>> y = 2 * tensor([1., 2.], requires_grad=True)
    >>> y.detach_().is_leaf
    True
    """
    if self.view_info is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
            "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
            "called on these gradients."
        )
    if modes.inference:
        return self
    self.edge, self.wants_grad = None, False
    if self.extra is not None:
        self.extra.retains = False
    return self
