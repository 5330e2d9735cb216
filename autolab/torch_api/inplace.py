"""The in-place twins: `add_` is `add`, written into the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.inplace import address, check_may_write, keep_what_was, overwrite
from autolab.engine.modes import modes
from autolab.engine.node import edge_of, next_number
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import elementwise
from autolab.torch_api import pointwise
from autolab.torch_api.complex_numbers import must_hold_complex
from autolab.torch_api.dims import common_shape, require_tensor
from autolab.torch_api.node_names import rename_node
from autolab.torch_api.public import entitle, method

# Methods that PyTorch also has as functions: torch.relu_(x).
FUNCTIONS = (
    "abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ "
    "clamp_min_ clip_ cos_ cosh_ deg2rad_ erf_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ "
    "log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ "
    "tan_ tanh_ trunc_ xlogy_ zero_"
)


def may_write(self: Tensor) -> None:
    """Raise PyTorch's errors for a tensor that may not be written to."""
    require_tensor(self, "an in-place function")
    check_may_write(self, modes.grad and self.requires_grad)  # without grad mode, nobody asks for a view's history
    raw = self.payload
    if type(raw) is not np.ndarray:
        return
    if 0 in raw.strides and raw.size > 1 and any(n > 1 and not step for n, step in zip(raw.shape, raw.strides)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if not raw.flags.writeable:
        raise RuntimeError("the memory of this tensor is read-only: clone() it before writing to it.")


def check_no_overlap(self: Tensor, args: tuple[Any, ...]) -> None:
    """Raise RuntimeError if an argument without gaps shares some places of memory with this tensor, but not one by one."""
    a = self.payload
    for other in args:
        if not isinstance(other, Tensor) or other.version is not self.version or other is self:
            continue
        b = other.payload
        if all(type(x) is np.ndarray and x.size and (x.size - 1) * x.itemsize == byte_span(x) for x in (a, b)):
            if (address(a), a.strides) != (address(b), b.strides) and np.may_share_memory(a, b):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                    "location. Please clone() the tensor before performing the operation."
                )


def byte_span(a: np.ndarray[Any, Any]) -> int:
    """How many bytes lie between the first and the last entry."""
    return sum((n - 1) * step for n, step in zip(a.shape, a.strides))


def inplace_form(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form of a function: a name that a module lists in IN_PLACE gets one."""

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        may_write(self)
        check_no_overlap(self, args)
        start = next_number() if modes.grad else 0
        if self.level:  # a rule, or a tangent's, may remember what is about to be overwritten, on any level
            return overwrite(self, function(elementwise.clone(self), *args, **kwargs))
        try:
            result = function(target_before_write(self) if modes.saved_hooks else self, *args, **kwargs)
        except NotImplementedError:
            check_result_fits(self, args)
            raise
        if result.edge is not None:
            save_target_of_composites(result.edge[0], self, start)
        elif modes.grad and self.requires_grad:  # a comparison, say: the old values are gone
            result = elementwise.copy(self, result)
            rename_node(result.edge, f"{name.title().replace('_', '')}Backward{1 if args and isinstance(args[0], Tensor) else 0}")
        return overwrite(self, result)

    return entitle(in_place, f"{name}_", f"`{name}`, written into this tensor. Raises RuntimeError for a leaf that requires grad.")


def check_result_fits(self: Tensor, args: tuple[Any, ...]) -> None:
    """What PyTorch asks before it looks for a kernel: whether the tensor can hold a result of this shape and dtype."""
    operands = [a for a in args if isinstance(a, (Tensor, *dtypes.NUMBERS, np.generic))]
    found = dtypes.of(dtypes.result_type([getattr(a, "payload", a) for a in (self, *operands)]))
    if dtypes.category(found.numpy) > dtypes.category(self.payload.dtype):
        raise RuntimeError(f"result type {found.title} can't be cast to the desired output type {self.dtype.title}")
    common = np.broadcast_shapes(*[np.shape(getattr(a, "payload", a)) for a in (self, *operands)])
    if common != tuple(self.shape):
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(common)}")


def target_before_write(target: Tensor) -> Tensor:
    """The target as it is before the write, for saved-tensor hooks: they may keep the very tensor that they are given."""
    t = new_tensor(target.payload.copy())
    t.edge = edge_of(target)
    return t


def save_target_of_composites(node: Any, target: Tensor, start: int) -> None:
    """Where a function is made of several rows, those before the last may have saved the target too: they keep a copy of it."""
    below = [edge[0] for edge in node.edges if edge is not None and edge[0].seq > start]
    while below:
        node = below.pop()
        if getattr(node, "saved", None):
            keep_what_was(node, target, all_inputs=True)
        below += [edge[0] for edge in node.edges if edge is not None and edge[0].seq > start]


@method
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the entries of src, broadcast and cast, into this tensor.

    Raises RuntimeError for a shape that does not broadcast to this tensor's.

    >>> torch.zeros(2, 2, dtype=torch.int64).copy_(torch.tensor([1.9, 2.1]))
    tensor([[1, 2],
            [1, 2]])
    """
    require_tensor(src, "copy_", "other")
    may_write(self)
    check_no_overlap(self, (src,))
    if src.shape != self.shape:
        common = common_shape(self, src)
        if common != tuple(self.shape):
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(common)}")
    if src.payload.dtype in dtypes.COMPLEX and self.payload.dtype not in dtypes.COMPLEX:
        src = pointwise.to(src, self.dtype)  # says that the imaginary part is lost
    return overwrite(self, elementwise.copy(self, src))


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number into every entry. Raises RuntimeError for a tensor with dims, TypeError for anything but a number.

    >>> torch.zeros(2).fill_(7)
    tensor([7., 7.])
    """
    may_write(self)
    if not isinstance(value, (Tensor, *dtypes.NUMBERS, np.generic)):
        raise TypeError(
            f"fill_() received an invalid combination of arguments - got ({type(value).__name__}), but expected a Tensor or a Number"
        )
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    if isinstance(value, complex):
        must_hold_complex(self, value)
    elif not isinstance(value, Tensor):
        value = dtypes.fitting(value, self.payload.dtype)
    return overwrite(self, elementwise.fill(self, value))


@method
def zero_(self: Tensor) -> Tensor:
    """Write zeros into every entry.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    may_write(self)
    result = elementwise.fill(self, 0)
    rename_node(result.edge, "ZeroBackward0")
    return overwrite(self, result)


def augmented_assignment(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`x += y` and the other augmented assignments."""
    write = inplace_form(name, function)

    def operator(self: Tensor, other: Any) -> Any:
        return write(self, other) if isinstance(other, (Tensor, *dtypes.NUMBERS, np.generic, np.ndarray)) else NotImplemented

    return operator
