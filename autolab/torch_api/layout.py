"""How the entries of a tensor lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.inplace import layout_of
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import elementwise as rows
from autolab.rules.strided import memory_and_start
from autolab.torch_api.dims import axis_of
from autolab.torch_api.public import method
from autolab.transforms.boxes import in_vmap

CHANNELS_LAST = {"torch.channels_last": (0, 2, 3, 1), "torch.channels_last_3d": (0, 2, 3, 4, 1)}


@method
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if its memory is in order, else a copy.

    >>> x = tensor([[1, 2], [3, 4]])
    >>> x.contiguous() is x, x.T.contiguous().stride()
    (True, (2, 1))
    """
    return self if is_contiguous(self, memory_format) else apply(rows.clone, (self,), {"order": "C"})


@method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Itself, or a copy in another dtype: all tensors are dense. masked_grad is taken and ignored.

    >>> tensor([1, 2]).to_dense(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    return self if dtype is None else self.to(dtype)


def forget_base(result: Any, *inputs: Any) -> Any:
    """A result whose last step was to look at a temporary in another way: nobody else knows that memory, so it is not a view.

    If it looks into one of the inputs (a shuffle of a single channel), it is copied.
    """
    if not isinstance(result, Tensor):
        for part in result if isinstance(result, tuple | list) else ():
            forget_base(part)
        return result
    if result.level or result.view_info is None:
        return result
    base = result.view_info.base
    if any(base is (t if t.view_info is None else t.view_info.base) for t in inputs if isinstance(t, Tensor)):
        return apply(rows.clone, (result,), {"order": "K"})
    result.view_info, result.version = None, [0]
    return result


def returns_fresh_memory(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is not a view, though the last step makes one: see `forget_base`."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return forget_base(function(*args, **kwargs), *args)

    return called


@method
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the entries lie in order without gaps: row by row, or as the memory format says.

    >>> x = zeros(2, 3)
    >>> x.is_contiguous(), x.T.is_contiguous()
    (True, False)
    """
    order = CHANNELS_LAST.get(repr(memory_format))
    if order is not None and in_vmap(self):
        raise RuntimeError(
            f"NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format (got {memory_format})"
        )
    if order is None:
        return bool(self.payload.flags.c_contiguous)
    return len(order) == self.ndim and bool(self.payload.transpose(order).flags.c_contiguous)


@method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Steps between neighbours along each dim, counted in entries. Raises IndexError for a dim that is not there.

    >>> zeros(2, 3).stride(), zeros(2, 3).T.stride()
    ((3, 1), (1, 3))
    """
    steps = layout_of(self.payload)
    if 0 in steps and 1 in self.shape:  # NumPy gives axes of length 1 any stride at all
        found = [*steps, 1]
        for k in reversed(range(self.ndim)):
            if self.shape[k] == 1 and not found[k]:
                found[k] = found[k + 1] * (self.shape[k + 1] if k + 1 < self.ndim else 1)
        steps = tuple(found[:-1])
    if dim is None:
        return steps
    axis = axis_of(dim, self.ndim)
    if axis is None:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return steps[axis]


def as_bits(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The same memory read as another dtype: bits have no gradient, so this is a tensor without history.

    Raises RuntimeError where entries of another size do not fit between those that are there.
    """
    raw, ratio = self.writable_array(), dtype.itemsize // self.dtype.itemsize
    if self.dtype.itemsize != dtype.itemsize:
        steps = layout_of(raw)
        between = f"to view {self.dtype.title} as {dtype.title} (different element sizes), but got"
        if not self.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {between} 0. Make it a vector first: unsqueeze(0).")
        for what, n in {"size(-1)": raw.shape[-1], "storage_offset()": memory_and_start(raw)[1]}.items():
            if ratio > 1 and n % ratio:
                raise RuntimeError(f"self.{what} must be divisible by {ratio} {between} {n}")
        if steps[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {between} {steps[-1]}. contiguous() makes a copy where it is.")
        for k, n in enumerate(steps[:-1]):
            if ratio > 1 and n % ratio:
                raise RuntimeError(f"self.stride({k}) must be divisible by {ratio} {between} {n}")
    out = new_tensor(raw.view(dtype.numpy))
    out.version = self.version
    return out
