"""Axes and sizes, whatever way an axis was given: a number, several, or None for all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def axis_name(o: Any) -> str | None:
    """The setting of an operation that names its axis, if it has one."""
    return next((name for name in ("axis", "dim") if name in o.names and name not in o.reference.inputs), None)


def all_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that are meant, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim for a in ((axis,) if isinstance(axis, int) else axis))


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many entries are reduced into one."""
    return math.prod(shape[a] for a in all_axes(axis, len(shape)))


def lifted(value: Any, x: Any, axis: Any) -> Any:
    """What has the shape of the result, with the axes that forward removed put back beside x."""
    if np.ndim(value) == np.ndim(x):
        return value
    removed = all_axes(axis, np.ndim(x))
    return np.reshape(value, tuple(1 if i in removed else n for i, n in enumerate(np.shape(x))))


def axes_in_words(axes: Iterable[int]) -> str:
    axes = list(axes)
    return ("axis " if len(axes) == 1 else "axes ") + " and ".join(map(str, axes))
