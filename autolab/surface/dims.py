"""From PyTorch's `dim` to NumPy's `axis`: checked, and counted from the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autolab.engine.tensor import Tensor

Dims = int | Sequence[int] | None


def axis_of(dim: int, ndim: int) -> int | None:
    """One dim as a negative axis; None for a 0-d tensor, whose dims 0 and -1 mean the number itself.

    Raises IndexError outside [-ndim, ndim).
    """
    reach = max(ndim, 1)
    if not -reach <= dim < reach:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
    if ndim == 0:
        return None
    return dim if dim < 0 else dim - ndim


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...] | None:
    """A dim, several, or all of them (None or an empty list) as negative axes. Raises RuntimeError if one is named twice."""
    if dim is None:
        return None
    if isinstance(dim, int):
        axis = axis_of(dim, ndim)
        return None if axis is None else (axis,)
    axes = [axis_of(d, ndim) for d in dim]
    if not axes or ndim == 0:
        return None
    for d in axes:
        if axes.count(d) > 1:
            raise RuntimeError(f"dim {d % ndim} appears multiple times in the list of dims")  # type: ignore[operator]
    return tuple(axes)  # type: ignore[arg-type]


def sizes_of(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence: view(2, 3) and view((2, 3))."""
    if len(args) == 1 and not isinstance(args[0], int):
        args = tuple(args[0])
    return tuple(int(n) for n in args)


def require_tensor(t: Any, function: str, name: str = "input", position: int = 1) -> Tensor:
    """Raise TypeError in PyTorch's words if `t` is no Tensor."""
    if not isinstance(t, Tensor):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(t).__name__}")
    return t
