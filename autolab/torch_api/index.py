"""Picking entries: `x[...]`, and the functions that do it by index arrays."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.inplace import overwrite
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import index as rows
from autolab.rules import scatter as scatter_rows
from autolab.rules import strided
from autolab.torch_api.complex_numbers import must_hold_complex
from autolab.torch_api.dims import axis_of, common_shape, refuse, require_tensor, whole
from autolab.torch_api.inplace import copy_, fill_, may_write
from autolab.torch_api.layout import forget_base
from autolab.torch_api.pointwise import add, clone, mul, to, where
from autolab.torch_api.public import public
from autolab.torch_api.shape import expand, movedim, reshape, unsqueeze

Key = tuple[Any, ...]
SEVERAL = (list, tuple, range, slice, Tensor)
INT64 = np.dtype(np.int64)
ALL = (slice(None),) * 64  # as many dims as NumPy has


def getitem(self: Tensor, key: Any) -> Tensor:
    """x[key]: integers, slices, None and Ellipsis give views, one node each; integer or boolean arrays give a copy.

    Raises IndexError out of bounds, ValueError for a negative step.
    """
    kind, ndim = type(key), self.payload.ndim
    if ndim and kind is int:
        return _select(self, -ndim, key)
    if ndim and kind is slice:
        return cut(self, 0, key)
    if ndim and kind is Tensor and key.payload.dtype is INT64 and type(key.payload) is np.ndarray and key.payload.ndim:
        return pick(self, (key.payload, *ALL[: ndim - 1]))
    if kind is not tuple:
        key = (key,)
    simple = len(key) <= ndim and all(type(k) is int or type(k) is slice for k in key)
    items = key if simple else expand_key(self, key)
    advanced: list[Any] = []
    out, dim = self, 0
    for item in items:
        if isinstance(item, slice):
            n = out.payload.shape[dim]
            if item.indices(n) != (0, n, 1):  # x[:] is a slice, x[:, :] none
                out = cut(out, dim, item)
            advanced.append(slice(None))
            dim += 1
        elif item is None:
            out = unsqueeze(out, dim)
            advanced.append(slice(None))
            dim += 1
        elif isinstance(item, Tensor):
            return pick_each(self, items)
        elif isinstance(item, np.ndarray):
            advanced.append(item)
            dim += item.ndim if item.dtype == np.bool_ else 1
        else:
            out = _select(out, dim - out.payload.ndim, item)
    if not simple and any(isinstance(a, np.ndarray) for a in advanced):
        return pick(out, tuple(advanced))
    return apply(strided.alias, (self,), {}) if out is self else out


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """x[key] = value: through a view for integers and slices, entry by entry for index arrays."""
    if not isinstance(value, Tensor):
        if not isinstance(value, (*dtypes.NUMBERS, np.generic)):
            kind = "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__
            raise TypeError(f"can't assign a {kind} to a torch.{self.dtype.title}Tensor. Make it a tensor first: torch.tensor(...).")
        if isinstance(value, complex):
            must_hold_complex(self, value)
        elif self.payload.dtype not in dtypes.NARROW:
            value = dtypes.fitting(value, self.payload.dtype)
        value = new_tensor(np.asarray(value).astype(self.payload.dtype)[()])
    items = expand_key(self, key if type(key) is tuple else (key,))
    if any(isinstance(item, Tensor) for item in items):  # one index for each sample of a vmap
        basic, indices = split_key(items)
        part = getitem(self, basic)
        may_write(part)
        overwrite(part, put_each(part, indices, to(value, self.dtype)))
        return
    if not any(isinstance(item, np.ndarray) for item in items):
        everything = all(isinstance(item, slice) and item.indices(n) == (0, n, 1) for item, n in zip(items, self.shape))
        part = self if everything and len(items) == self.ndim else getitem(self, tuple(items))
        while value.ndim > part.ndim and value.shape[0] == 1:
            value = value[0]
        if not value.ndim:
            fill_(part, value)
            return
        copy_(part, value if value.shape == part.shape else expand(value, part.shape))
        return
    may_write(self)
    check_key(self, tuple(items))
    value = to(value, self.dtype)
    try:
        result = rows.index_put(self, value, key=tuple(items))
    except (TypeError, ValueError):  # of NumPy, the first for a mask and a value of several dims
        picked = list(self.payload[tuple(items)].shape)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {picked}"
        ) from None
    overwrite(self, result)


def expand_key(self: Tensor, key: Key) -> list[Any]:
    """The key with one item for each dim: Ellipsis and missing dims become full slices, tensors and lists become arrays."""
    if len(key) == 1 and type(key[0]) is list and len(key[0]) < 32 and any(k is None or k is ... or isinstance(k, SEVERAL) for k in key[0]):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated: x[[i, j]] with lists, tensors or slices i and j is "
            "x[i, j], one index for each dim. Use x[tuple(seq)] instead of x[seq].",
            UserWarning,
            stacklevel=3,
        )
        key = tuple(key[0])
    key = tuple(as_index(k) for k in key)
    if sum(k is ... for k in key) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if self.ndim == 0 and len(key) == 1 and type(key[0]) is int:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
            "tensor to a number"
        )
    used = sum(k.ndim if isinstance(k, np.ndarray) and k.dtype == np.bool_ else 1 for k in key if k is not None and k is not ...)
    if used > self.ndim:
        if self.ndim == 0 and len(key) == 1 and isinstance(key[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    rest = [slice(None)] * (self.ndim - used)
    if any(k is ... for k in key):
        at = next(i for i, k in enumerate(key) if k is ...)
        return [*key[:at], *rest, *key[at + 1 :]]
    return [*key, *rest]


def as_index(k: Any) -> Any:
    """One item of a key, as NumPy wants it."""
    if isinstance(k, Tensor):
        if k.payload.dtype.kind not in "biu" or k.payload.dtype in dtypes.UNSIGNED:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if k.payload.dtype == np.uint8:  # bytes are a mask, as they were before there were bools
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead: x[mask.bool()].", UserWarning,
                stacklevel=4,
            )  # fmt: skip
            return np.asarray(k.payload) != 0
        if k.level and not isinstance(k.payload, np.ndarray | np.generic):
            return k  # one for each sample of a vmap
        if k.payload.ndim:
            return np.asarray(k.payload)
        return int(k.numbers()) if k.payload.dtype.kind in "iu" else k.numbers()  # Python looks at it, and a tracer hears of it
    if isinstance(k, list | tuple | range):
        return np.asarray([as_index(i) if isinstance(i, Tensor) else i for i in k], None if len(k) else np.int64)
    if isinstance(k, bool):
        return np.asarray(k)
    if k is None or k is ... or isinstance(k, slice | np.ndarray | int):
        return k
    if isinstance(k, np.integer):
        return int(k)
    if isinstance(k, str):
        raise TypeError("new(): invalid data type 'str'. An index is a number, a slice, `...`, None, a list or a tensor.")
    raise IndexError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})"
    )


def from_the_end(ndim: int, dim: int, item: Any) -> Key:
    """A key for one dim that counts from the end, so that leading axes may be added."""
    return (..., item, *ALL[: ndim - dim - 1])


@public(method=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at one index of a dim, which disappears: a view. Raises IndexError out of bounds.

    >>> select(arange(6).reshape(2, 3), 1, -1)
    tensor([2, 5])
    """
    axis = axis_of(dim, require_tensor(input, "select").ndim)
    if axis is None:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    index = whole(index, "select(): argument 'index'")
    if not -input.shape[axis] <= index < input.shape[axis]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {axis + input.ndim}")
    return _select(input, axis, index)


def _select(input: Tensor, axis: int, index: int) -> Tensor:
    n = input.payload.shape[axis]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {axis + input.ndim} with size {n}")
    return apply(rows.select, (input,), {"key": (..., index, *(slice(None),) * (-axis - 1))})


def cut(input: Tensor, dim: int, piece: slice) -> Tensor:
    """x[start:stop:step] along one dim: a view."""
    start, stop, step = piece.start, piece.stop, piece.step
    if not (_plain(start) and _plain(stop) and _plain(step)):
        start, stop, step = (None if e is None else whole(e, "a slice's end") for e in (start, stop, step))
        piece = slice(start, stop, step)
    if step is not None and step <= 0:
        if not step:
            raise ValueError("slice step cannot be zero")
        raise ValueError("step must be greater than zero: use flip() to reverse a dim")
    return apply(rows.slice_, (input,), {"key": from_the_end(input.payload.ndim, dim, piece)})


def _plain(end: Any) -> bool:
    return end is None or type(end) is int


@public(method=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` entries of a dim from `start` on: a view.

    Raises RuntimeError for a length that does not fit, IndexError for a start out of bounds.

    >>> narrow(arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    axis = axis_of(dim, require_tensor(input, "narrow").ndim)
    if axis is None:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start.payload.dtype.kind not in "iu"):
        raise RuntimeError(f"start must be an 0-dim integral Tensor. It is {start.dtype} of shape {list(start.shape)}.")
    d = axis + input.ndim
    n, start, length = input.shape[d], whole(start, "narrow(): argument 'start'"), whole(length, "narrow(): argument 'length'")
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative. It is {length}.")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return cut(input, d, slice(start, start + length))


def pick(input: Tensor, key: Key) -> Tensor:
    """x[key] with integer or boolean arrays among the items: a copy."""
    try:
        return apply(rows.index, (input,), {"key": key})
    except IndexError:
        check_key(input, key)  # says it in PyTorch's words
        raise


def check_key(input: Tensor, key: Key) -> None:
    """Raise IndexError for an index out of bounds, for a mask of another shape, and for indices that do not broadcast."""
    shapes = [k.shape for k in key if isinstance(k, np.ndarray) and k.dtype != np.bool_]
    if len(set(shapes)) > 1:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            said = ", ".join(str(list(s)) for s in shapes)
            raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {said}") from None
    at = 0
    for item in key:
        if item is None:
            continue
        if isinstance(item, np.ndarray) and item.dtype == np.bool_:
            found = tuple(input.shape[at : at + item.ndim])
            if item.shape != found:
                raise IndexError(
                    f"The shape of the mask {list(item.shape)} at index 0 does not match the shape of the indexed tensor "
                    f"{list(input.shape)} at index {at}"
                )
            at += item.ndim
            continue
        if isinstance(item, int | np.ndarray) and np.size(item):
            n = input.shape[at]
            worst = int(np.max(item)) if np.max(item) >= n else int(np.min(item))
            if not -n <= worst < n:
                raise IndexError(f"index {worst} is out of bounds for dimension {at} with size {n}")
        at += 1


def index_tensor(index: Any, name: str) -> Tensor:
    """Raise PyTorch's errors if `index` is not a tensor of integers."""
    require_tensor(index, name, "index", 3)
    if index.payload.dtype.kind not in "iu":
        expected = f"{name}(): Expected dtype int32/int64 for index"
        raise RuntimeError(f"{expected}, but got {index.dtype}. Convert it first: index.long().")
    return index


@public(method=True, out=True)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on: one entry picked along dim for each entry of index.

    Shapes: index has as many dims as input, and is no longer in the other dims; the result has its shape.
    sparse_grad is taken; gradients are dense. Raises RuntimeError for an index of another number of dims, or longer than the input.

    >>> gather(tensor([[1, 2], [3, 4]]), 1, tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    index_tensor(index, "gather")
    require_tensor(input, "gather")
    if not index.payload.size:
        axis_of(dim, input.ndim)
        return reshape(cut(reshape(input, -1), 0, slice(0, 0)), index.shape)
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if input.ndim and not index.ndim:
        return forget_base(reshape(gather(input, dim, reshape(index, 1)), ()))
    axis = axis_of(dim, input.ndim)
    for a in range(-input.ndim, 0):
        if a != axis and index.shape[a] > input.shape[a]:
            raise RuntimeError(
                f"Size does not match at dimension {a + input.ndim} expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {dim}"
            )
    check_range(index, input, axis)
    return apply(rows.gather, (input, index), {"axis": axis if axis is not None else -1})


def check_range(index: Tensor, input: Tensor, axis: int | None) -> None:
    n = input.shape[axis] if axis is not None else 1
    i = index.all_numbers(0, n)
    if i.size and not (0 <= i.min() and i.max() < n):
        worst = int(i.max()) if i.max() >= n else int(i.min())
        raise RuntimeError(f"index {worst} is out of bounds for dimension {0 if axis is None else axis + input.ndim} with size {n}")


def check_scatter(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor) -> tuple[Tensor, Tensor]:
    """Raise PyTorch's errors for shapes and dtypes that a scatter cannot do with. Index and src: of one entry where input has a dim and
    they have none, and the first entry of src where the index has no dim."""
    axis = axis_of(dim, require_tensor(input, name).ndim)
    if src.payload.dtype != input.payload.dtype:
        raise RuntimeError(f"scatter(): Expected self.dtype to be equal to src.dtype, but got {input.dtype} and {src.dtype}")
    if not index.payload.size:
        return index, src
    for what, t in (("self", input), ("src", src)):
        if max(index.ndim, 1) != max(t.ndim, 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor: {index.ndim} and {t.ndim}")
    axis = -1 if axis is None else axis
    for a in range(-index.ndim, 0):
        if (a != axis and index.shape[a] > (input.shape or (1,))[a]) or index.shape[a] > (src.shape or (1,))[a]:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension "
                f"{dim} and to be no larger size than src {list(src.shape)}"
            )
    if input.ndim:
        return tuple(t if t.ndim else reshape(t, 1) for t in (index, src))  # type: ignore[return-value]
    return index, cut(src, 0, slice(0, index.payload.size)) if src.ndim else src


@public(method=True, inplace=True, out=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with each entry of src added where index says along dim: the transpose of gather.

    >>> scatter_add(zeros(3), 0, tensor([0, 0, 2]), ones(3))
    tensor([2., 0., 1.])
    """
    index_tensor(index, "scatter")
    require_tensor(src, "scatter_add", "src", 4)
    index, src = check_scatter("scatter_add", input, dim, index, src)
    axis = axis_of(dim, input.ndim)
    check_range(index, input, axis)
    return apply(rows.scatter_add, (input, index, src), {"axis": axis if axis is not None else -1})


@public(method=True, out=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of a dim that a 1-d index lists, in its order.

    Shapes: (..., n, ...) and index (k,) give (..., k, ...). Raises IndexError for an index out of bounds.

    >>> index_select(tensor([[1, 2], [3, 4]]), 0, tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    index_tensor(index, "index_select")
    require_tensor(input, "index_select")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    axis = axis_of(dim, input.ndim)
    i = index.all_numbers(0, None if axis is None else input.shape[axis])
    if axis is None and i.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {i.size} value(s)")
    if axis is not None and i.size and not (0 <= i.min() and i.max() < input.shape[axis]):
        raise IndexError(f"index out of range in self: found {i.min()} to {i.max()} for {input.shape[axis]} entries")
    return apply(rows.index_select, (input, index if index.ndim else unsqueeze(index, 0)), {"axis": axis if axis is not None else -1})


@public(method=True, inplace=True, out=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """input with the slices of source added where a 1-d index says along dim.

    Shapes: input (..., n, ...); index (k,); source (..., k, ...). Raises IndexError for an index out of bounds, RuntimeError for shapes or
    dtypes that do not fit.

    >>> index_add(zeros(3), 0, tensor([0, 2, 0]), tensor([1., 2., 3.]))
    tensor([4., 0., 2.])
    """
    index_tensor(index, "index_add_")
    require_tensor(source, "index_add", "source", 4)
    axis = axis_of(dim, require_tensor(input, "index_add").ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    if source.payload.dtype != input.payload.dtype:
        raise RuntimeError(f"index_add_(): self ({input.dtype.title}) and source ({source.dtype.title}) must have the same scalar type")
    along = axis_of(dim, source.ndim)
    slices = 1 if along is None else source.shape[along]
    if slices != index.payload.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.payload.size}) should be equal to source.size(dim): ({slices}), for dim: {dim}"
        )
    if source.ndim != input.ndim or any(source.shape[a] != input.shape[a] for a in range(-input.ndim, 0) if a != axis):
        raise RuntimeError(
            f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )
    if axis is not None:
        i = index.all_numbers(0, input.shape[axis])
        if i.size and not (0 <= i.min() and i.max() < input.shape[axis]):
            raise IndexError(f"index out of range in self: found {i.min()} to {i.max()} for {input.shape[axis]} entries")
    source = source if alpha == 1 else source * alpha
    return apply(rows.index_add, (input, index, source), {"axis": axis if axis is not None else -1})


@public(method=True, out=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The entries where the boolean mask holds, in one dim.

    Shapes: (k,) for k entries that hold. Raises RuntimeError for a mask that is not bool.

    >>> masked_select(tensor([1, 2, 3]), tensor([True, False, True]))
    tensor([1, 3])
    """
    if require_tensor(mask, "masked_select", "mask", 2).payload.dtype != np.bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    shape = common_shape(input, mask)
    return getitem(expand(input, shape), expand(mask, shape))


def one_shape_for_all(input: Tensor, name: str) -> Tensor:
    """The tensor, if it is none of a batch, where each sample would give a result of another shape."""
    if require_tensor(input, name).level and not isinstance(input.payload, np.ndarray | np.generic):
        raise RuntimeError(
            f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {name}: each sample would "
            "give a result of another shape. Use a mask and torch.where, or do this outside of vmap."
        )
    return input


@public(method=True, out=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the entries that are not zero: (count, ndim), or one index tensor for each dim.

    >>> nonzero(tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
    refuse(one_shape_for_all(input, "nonzero"), "nonzero_count_cpu", dtypes.UNSIGNED)
    found = [dtypes.as_places(i) for i in np.nonzero(np.atleast_1d(input.payload))]
    if as_tuple:
        return tuple(new_tensor(i) for i in found)
    return new_tensor(np.stack(found, -1) if input.ndim else np.zeros((len(found[0]), 0), np.int64))


# -- x[key] inside vmap, where the key differs between the samples ---------------------------------
# No view and no array knows such a key. The dims that are indexed are moved to the front and joined into one, and the index tensors
# become numbers along it.


def split_key(items: list[Any]) -> tuple[tuple[Any, ...], list[tuple[int, Any]]]:
    """The part of a full key that makes a view, and (dim of that view, index) for the rest."""
    basic: list[Any] = []
    indices: list[tuple[int, Any]] = []
    dim = 0
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == np.bool_:
            for places in np.nonzero(item):
                indices.append((dim, new_tensor(dtypes.as_places(places))))
                basic.append(slice(None))
                dim += 1
            continue
        if isinstance(item, Tensor | np.ndarray):
            if isinstance(item, Tensor) and item.payload.dtype == np.bool_:
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
                    "boolean mask: each sample would get another number of entries. Use torch.where."
                )
            indices.append((dim, item if isinstance(item, Tensor) else new_tensor(item)))
            item = slice(None)
        basic.append(item)
        dim += not isinstance(item, int)
    return tuple(basic), indices


def number_entries(x: Tensor, indices: list[tuple[int, Any]]) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """x with the indexed dims joined in front, the number along them of each entry picked, and the shape of the index."""
    lengths = [x.shape[d] for d, _ in indices]
    front = movedim(x, [d for d, _ in indices], list(range(len(indices))))
    slices = reshape(front, (math.prod(lengths), *front.shape[len(indices) :]))
    number: Any = None
    for (_, index), n in zip(indices, lengths):
        positive = where(index < 0, index + n, index)
        number = positive if number is None else add(mul(number, n), positive)
    return slices, reshape(number, -1), tuple(number.shape)


def pick_each(x: Tensor, items: list[Any]) -> Tensor:
    """x[key] for a full key: first what makes a view, then the index tensors."""
    basic, indices = split_key(items)
    x = getitem(x, basic)
    slices, number, shape = number_entries(x, indices)
    out = reshape(index_select(slices, 0, number), (*shape, *slices.shape[1:]))
    dims = [d for d, _ in indices]
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    return movedim(out, list(range(len(shape))), [dims[0] + k for k in range(len(shape))]) if together and dims[0] else out


def put_each(x: Tensor, indices: list[tuple[int, Any]], value: Tensor, accumulate: bool = False) -> Tensor:
    """x with value written, or added, at index tensors."""
    slices, number, shape = number_entries(x, indices)
    dims = [d for d, _ in indices]
    rest = slices.shape[1:]
    if dims == list(range(dims[0], dims[0] + len(dims))) and dims[0]:  # the value has the index's dims where they were in x
        wanted = (*rest[: dims[0]], *shape, *rest[dims[0] :])
        value = movedim(expand(value, wanted), [dims[0] + k for k in range(len(shape))], list(range(len(shape))))
    else:
        value = expand(value, (*shape, *rest))
    index = expand(reshape(number, (-1, *(1,) * len(rest))), (math.prod(shape), *rest))
    value = reshape(value, (math.prod(shape), *rest))
    if accumulate:
        written = scatter_add(slices, 0, index, value)
    elif value.payload.size:
        check_range(index, slices, -slices.ndim)
        written = apply(scatter_rows.scatter, (slices, index, value), {"axis": -slices.ndim})
    else:
        written = clone(slices)
    front = [x.shape[d] for d in dims]
    return movedim(reshape(written, (*front, *rest)), list(range(len(dims))), dims)
