"""The in-place twins: `add_` is `add`, written into the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.inplace import check_may_write, overwrite
from autolab.engine.tensor import Tensor, fresh
from autolab.rules import elementwise
from autolab.rules import index as index_rows
from autolab.surface import pointwise, shape
from autolab.surface.dims import require_tensor
from autolab.surface.index import check_key, expand_key, getitem

METHODS = "copy_ fill_ zero_"


def may_write(self: Tensor) -> None:
    """Raise PyTorch's errors for a tensor that may not be written to."""
    check_may_write(self, self.requires_grad)
    raw = self.payload
    if type(raw) is not np.ndarray:
        return
    if 0 in raw.strides and any(n > 1 and not step for n, step in zip(raw.shape, raw.strides)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if not raw.flags.writeable:
        raise RuntimeError("the memory of this tensor is read-only: clone() it before writing to it.")


def twin(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form of a function: a name that a module lists in IN_PLACE gets one."""

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        may_write(self)
        return overwrite(self, function(self, *args, **kwargs))

    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"`{name}`, written into this tensor. Raises RuntimeError for a leaf that requires grad."
    return in_place


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the entries of src, broadcast and cast, into this tensor."""
    require_tensor(src, "copy_", "other")
    may_write(self)
    if src.shape != self.shape:
        common = shape.common_shape(self, src)
        if common != tuple(self.shape):
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(common)}")
    return overwrite(self, elementwise.copy(self, src))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number into every entry."""
    may_write(self)
    if not isinstance(value, Tensor | int | float | np.generic):
        raise TypeError(
            f"fill_() received an invalid combination of arguments - got ({type(value).__name__}), but expected a Tensor or a Number"
        )
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return overwrite(self, elementwise.fill(self, value))


def zero_(self: Tensor) -> Tensor:
    """Write zeros into every entry."""
    return fill_(self, 0)


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """x[key] = value: through a view for integers and slices, entry by entry for index arrays."""
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float | np.generic):
            raise TypeError(
                f"can't assign a {type(value).__name__} to a torch.{self.dtype.title}Tensor. Make it a tensor first: torch.tensor(...)."
            )
        value = fresh(np.asarray(value).astype(self.payload.dtype)[()])
    items = expand_key(self, key if type(key) is tuple else (key,))
    if not any(isinstance(item, np.ndarray) for item in items):
        part = getitem(self, tuple(items)) if items else self
        while value.ndim > part.ndim and value.shape[0] == 1:
            value = value[0]  # type: ignore[index]
        copy_(part, value if value.shape == part.shape else shape.expand(value, part.shape))
        return
    may_write(self)
    check_key(self, tuple(items))
    value = pointwise.to(value, self.dtype)
    try:
        result = index_rows.index_put(self, value, key=tuple(items))
    except ValueError:
        picked = list(self.payload[tuple(items)].shape)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {picked}"
        ) from None
    overwrite(self, result)


def augmented(name: str) -> Callable[..., Any]:
    """`x += y` and its kin."""
    write = twin(name, getattr(pointwise, name))

    def operator(self: Tensor, other: Any) -> Any:
        return write(self, other) if isinstance(other, Tensor | int | float | np.generic | np.ndarray) else NotImplemented

    return operator
