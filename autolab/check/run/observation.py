"""One backward call as seen from outside, and when two arrays count as equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .reference import Reference


@dataclass(frozen=True, eq=False)
class Observation:
    """One backward call as seen from outside: what went in, what came back, what was right."""

    reference: Reference
    names: dict[str, Any]  # inputs, settings, shapes, out
    g: np.ndarray
    got: dict[str, np.ndarray | None]
    want: dict[str, np.ndarray]
    failed: bool = False  # the rule raised instead
    given: tuple[str, ...] = ()  # the settings that the call named
    ask: Callable | None = None  # calls the rule again on these inputs, with other incoming gradients
    memo: dict[Any, Any] = field(default_factory=dict)  # what was worked out about it, by key

    @property
    def out(self) -> np.ndarray:
        """The right result of forward."""
        return self.names["out"]


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal up to rounding, relative to the largest entry; what is not a number equals what is not."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if not b.size:
        return True
    scale = np.abs(b).max()
    if np.isfinite(scale):
        # Most arrays that are compared differ from their first entry on.
        small = 1e-9 * scale + 1e-300
        return bool(abs(a.item(0) - b.item(0)) <= small and np.abs(a - b).max() <= small)
    lost = np.isnan(b)
    if lost.all() or not np.array_equal(np.isnan(a), lost):
        return False
    return bool(lost.any()) and close(a[~lost], b[~lost])


def number(value: float) -> str:
    """Short, and exact where it can be."""
    return f"{value:.6g}"
