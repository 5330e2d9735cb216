"""From PyTorch's `dim` to NumPy's `axis`, and other arguments: checked, and dims counted from the end."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor

Dims = int | Sequence[int] | None


def axis_of(dim: Any, ndim: int) -> int | None:
    """One dim as a negative axis; None for a 0-d tensor, whose dims 0 and -1 mean the number itself.

    Raises IndexError outside [-ndim, ndim), TypeError for what is not an integer.
    """
    if type(dim) is not int:
        dim = whole(dim, "argument 'dim'")
    reach = max(ndim, 1)
    if not -reach <= dim < reach:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
    if ndim == 0:
        return None
    return dim if dim < 0 else dim - ndim


def axes_of(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """A dim, several, or all of them (None or an empty list) as negative axes. Raises RuntimeError if one is named twice."""
    if dim is None:
        return None
    if not isinstance(dim, list | tuple):
        axis = axis_of(dim, ndim)
        return None if axis is None else (axis,)
    axes = [axis_of(d, ndim) for d in dim]
    for d in axes:
        if axes.count(d) > 1:
            raise RuntimeError(f"dim {0 if d is None else d + ndim} appears multiple times in the list of dims")
    return None if not axes or ndim == 0 else tuple(axes)  # type: ignore[arg-type]


def whole(value: Any, what: str) -> int:
    """A Python integer out of anything that is one. Raises TypeError otherwise, saying `what` it was."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be int, not {type(value).__name__}") from None


def sizes_of(args: tuple[Any, ...], function: str, argument: str = "size", named: Any = None) -> tuple[int, ...]:
    """Sizes given one by one, as one sequence, or by name: view(2, 3), view((2, 3)), view(size=(2, 3)).

    Raises TypeError for what are not integers.
    """
    if named is not None and not args:
        args = (named,)
    if len(args) == 1 and type(args[0]) is not int:
        if isinstance(args[0], list | tuple):
            args = tuple(args[0])
        elif not _is_whole(args[0]):
            raise TypeError(f"{function}(): argument '{argument}' (position 1) must be tuple of ints, not {type(args[0]).__name__}")
    if {*map(type, args)} <= {int}:
        return args
    for position, n in enumerate(args):
        if type(n) is not int and not _is_whole(n):
            raise TypeError(
                f"{function}(): argument '{argument}' (position 1) must be tuple of ints, but found element of type {type(n).__name__} "
                f"at pos {position}"
            )
    return tuple(map(int, args))


def _is_whole(n: Any) -> bool:
    return hasattr(n, "__index__") and not (isinstance(n, Tensor) and n.payload.dtype in dtypes.INEXACT)


def lengths_of(args: tuple[Any, ...], function: str, named: Any = None) -> tuple[int, ...]:
    """The sizes of a new tensor. Raises TypeError if there are none, not even `()`, and RuntimeError for a negative one."""
    if not args and named is None:
        said = "received an invalid combination of arguments - got (), but expected a size" if function.startswith("rand") else (
            'missing 1 required positional arguments: "size"'
        )  # fmt: skip
        raise TypeError(f"{function}() {said}. That of a number is ().")
    sizes = sizes_of(args, function, named=named)
    for n in sizes:
        if n < 0:
            if function == "zeros":
                raise RuntimeError(f"zeros: Dimension size must be non-negative. Found {n} in {list(sizes)}.")
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def require_tensor(t: Any, function: str, name: str = "input", position: int = 1) -> Tensor:
    """Raise TypeError in PyTorch's words if `t` is no Tensor."""
    if not isinstance(t, Tensor):
        hint = ". Its __torch_function__ is asked once torch.overrides is imported" if hasattr(t, "__torch_function__") else ""
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(t).__name__}{hint}")
    return t


def require_floats(t: Tensor, kernel: str) -> None:
    """Raise NotImplementedError in PyTorch's words if `t` holds integers or bools."""
    if t.payload.dtype not in dtypes.FLOATING:
        what = "It is for real numbers." if t.payload.dtype in dtypes.COMPLEX else "Convert it first: t.float()."
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.title}'. {what}")


BOOLS = {np.dtype(np.bool_)}
SHORT_INTEGERS = {np.dtype(c) for c in "?Bbhi"}  # all but int64, which PyTorch's kernels for floats often take, too
INTEGERS = SHORT_INTEGERS | {np.dtype(np.int64)}
HALVES = dtypes.NARROW  # bfloat16 is among them as soon as there is one


def refuse(t: Tensor, kernel: str, dtypes_refused: set[Any]) -> None:
    """Raise NotImplementedError in PyTorch's words for dtypes that it has no kernel for."""
    if t.payload.dtype in dtypes_refused:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.title}'. Convert it first: t.float().")


def refuse_complex(t: Tensor, kernel: str) -> None:
    """Raise NotImplementedError in PyTorch's words for complex numbers, which have no order."""
    if t.payload.dtype in dtypes.COMPLEX:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.title}'. It is for real numbers.")


def evened_out(name: str, *tensors: Tensor) -> bool:
    """Whether autocast is on, and brings these tensors to one dtype for that function: then they may come in several."""
    return modes.autocast is not None and modes.autocast.evens_out(name, tensors)


def to_floats(t: Tensor) -> Tensor:
    """Integers and bools in the default floating dtype; floats as they are."""
    if t.payload.dtype in dtypes.INEXACT:
        return t
    return t.to(dtypes.of(dtypes.default.floating))


def common_shape(*tensors: Tensor) -> tuple[int, ...]:
    """The shape that all broadcast to. Raises RuntimeError if there is none."""
    shape: tuple[int, ...] = ()
    for t in tensors:
        own = tuple(t.shape)
        for back, (m, n) in enumerate(zip(reversed(shape), reversed(own)), 1):
            if m != n and 1 not in (m, n):
                raise RuntimeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                    f"{max(len(shape), len(own)) - back}. The shapes are {list(shape)} and {list(own)}."
                )
        shape = np.broadcast_shapes(shape, own)
    return shape
