"""What a change of a rule is, and the values that one may put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .schema import Site

Change = Callable[..., Any]  # of what the place does, its operands, its keywords, the local variables


class Edit(NamedTuple):
    """One change at one place; `key` is the same wherever the same slip is mended, `what` continues "would be right with"."""

    cost: float
    family: str
    what: str
    key: Any
    change: Change


class Pool(NamedTuple):
    """Values that a rule may have left out: how each is found among the local variables."""

    arrays: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    sizes: Mapping[Any, Callable[[Mapping[str, Any]], Any]]
    shapes: Mapping[Any, Callable[[Mapping[str, Any]], Any]]


def is_array(value: Any) -> bool:
    """An array or a tensor of numbers with a point."""
    return hasattr(value, "ndim") and hasattr(value, "sum") and "float" in str(getattr(value, "dtype", ""))


def is_number(value: Any) -> bool:
    """A plain number, not an array."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)) and not shape_of(value)


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def kind_of(value: Any) -> str:
    if is_number(value):
        return "size" if isinstance(value, (int, np.integer)) else "array"
    if isinstance(value, tuple):
        return "shape"
    if is_array(value):
        return "array"
    return str(getattr(value, "dtype", "")) if hasattr(value, "ndim") else ""


def elementwise(name: str, value: Any) -> Any:
    """An elementwise function of an array or a tensor."""
    return getattr(np, name)(value) if isinstance(value, (np.ndarray, np.generic, float, int)) else getattr(value, name)()


def transposed(value: Any) -> Any:
    """The last two axes exchanged."""
    return value.swapaxes(-1, -2)


def flipped(value: Any, axis: int) -> Any:
    """Backwards along an axis."""
    return np.flip(value, axis) if isinstance(value, np.ndarray) else value.flip(axis)


def with_axis(value: Any, axis: int) -> Any:
    """An axis of size 1 put in."""
    return np.expand_dims(value, axis) if isinstance(value, (np.ndarray, np.generic)) else value.unsqueeze(axis)


def instead(function: Callable[..., Any]) -> Change:
    """A change that does something else with the same operands."""
    return lambda do, args, kwargs, names: function(*args, **kwargs)


def then(function: Callable[..., Any]) -> Change:
    """A change of what comes out."""
    return lambda do, args, kwargs, names: function(do(*args, **kwargs))


def short(text: str, most: int = 50) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def quote_of(site: Site) -> str:
    """The source of a place in quotes, cut to one short line."""
    return f"`{short(site.text())}`"
