"""The in-place twins: `add_` is `add`, written into the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine import dtypes
from autolab.engine.inplace import check_may_write, overwrite
from autolab.engine.tensor import Tensor, fresh
from autolab.rules import elementwise
from autolab.rules import index as index_rows
from autolab.surface import creation, pointwise, reduce, shape
from autolab.surface.index import expand_key, getitem

# Every name here gets a twin with an underscore; the function's first argument is the tensor that is written to.
TWINS: dict[str, Callable[..., Any]] = {
    name: getattr(pointwise, name)
    for name in (
        "abs add ceil clamp div exp expm1 floor floor_divide log log1p masked_fill mul neg pow reciprocal relu remainder round "
        "rsqrt sigmoid sign sin cos sqrt square sub tan tanh trunc"
    ).split()
}
TWINS["cumsum"] = reduce.cumsum
TWINS["tril"], TWINS["triu"] = shape.tril, shape.triu


def twin(name: str) -> Callable[..., Any]:
    """The in-place form of a function."""
    function = TWINS[name]

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_may_write(self)
        return overwrite(self, function(self, *args, **kwargs))

    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"`{name}`, written into this tensor. Raises RuntimeError for a leaf that requires grad."
    return in_place


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the entries of src, broadcast and cast, into this tensor."""
    check_may_write(self)
    return overwrite(self, elementwise.copy(self, src))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number into every entry."""
    check_may_write(self)
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return overwrite(self, elementwise.fill(self, value))


def zero_(self: Tensor) -> Tensor:
    """Write zeros into every entry."""
    return fill_(self, 0)


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """x[key] = value: through a view for integers and slices, entry by entry for index arrays."""
    check_may_write(self)
    items = expand_key(self, key if type(key) is tuple else (key,))
    if not isinstance(value, Tensor):
        value = fresh(np.asarray(value, self.payload.dtype)[()])
    if any(isinstance(item, np.ndarray) for item in items):
        if value.payload.dtype != self.payload.dtype:
            value = pointwise.to(value, self.dtype)
        overwrite(self, index_rows.index_put(self, value, key=tuple(items)))
        return
    part = getitem(self, tuple(items)) if items else self
    while value.ndim > part.ndim and value.shape[0] == 1:
        value = value[0]  # type: ignore[index]
    copy_(part, value)


def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with uniform numbers from [a, b)."""
    return _fill_with(self, a + (b - a) * creation.generator().random(tuple(self.shape)))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    return _fill_with(self, mean + std * creation.generator().standard_normal(tuple(self.shape)))


def _fill_with(self: Tensor, values: Any) -> Tensor:
    return copy_(self, fresh(dtypes.cast(np.asarray(values), self.payload.dtype)))


def detach(self: Tensor) -> Tensor:
    """The same memory as a tensor without history. Writes through it are counted, so the graph notices them."""
    t = fresh(self.box())
    t.version = self.version
    return t


def detach_(self: Tensor) -> Tensor:
    """Forget the history of this tensor: it becomes a leaf that does not require grad."""
    if self.window is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
            "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
            "called on these gradients."
        )
    self.edge, self.flag = None, False
    return self


def augmented(name: str) -> Callable[..., Any]:
    """`x += y` and its kin."""
    write = twin(name)

    def operator(self: Tensor, other: Any) -> Any:
        return write(self, other) if isinstance(other, Tensor | int | float | np.generic | np.ndarray) else NotImplemented

    return operator
