"""Both Jacobians, the learner's and the right one.

A backward rule is a matrix, the derivative of each result with respect to each input entry, and it shows itself row by
row: an incoming gradient that is 1 for one result and 0 for the others gives one row of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...run.observation import Observation, close, observe
from ..quiet import quiet

LARGEST = 128  # results; each costs a call of the learner's rule


@dataclass(frozen=True, eq=False)
class Jacobians:
    """The learner's Jacobian beside the right one: a row for each result, a column for each entry of the input."""

    x: str
    yours: np.ndarray
    right: np.ndarray
    out_shape: tuple[int, ...]
    x_shape: tuple[int, ...]

    @property
    def _scale(self) -> float:
        return float(np.abs(self.right).max(initial=0.0)) or 1.0

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each result and each entry is along every axis, a row for each axis."""
        at_out, at_x = (np.indices(shape).reshape(len(shape), math.prod(shape)) for shape in (self.out_shape, self.x_shape))
        return at_out, at_x

    def is_zero(self, value: Any) -> Any:
        """Which of these derivatives are 0 beside the largest."""
        return np.abs(value) <= 1e-12 * self._scale

    @cached_property
    def same(self) -> np.ndarray:
        """Which derivatives are right."""
        return np.abs(self.yours - self.right) <= 1e-9 * self._scale

    @cached_property
    def zero(self) -> np.ndarray:
        """Which of the learner's derivatives are 0."""
        return self.is_zero(self.yours)

    @cached_property
    def needed(self) -> np.ndarray:
        """Which derivatives are not 0 in the right matrix."""
        return ~self.is_zero(self.right)


@quiet
def jacobians(o: Observation, x: str) -> Jacobians | None:
    """Both matrices, or None if there are too many results or the rule is not linear in g; worked out once for each call."""
    if ("jacobians", x) not in o.memo:
        o.memo["jacobians", x] = _row_by_row(o, x)
    return o.memo["jacobians", x]


def _row_by_row(o: Observation, x: str) -> Jacobians | None:
    n, shape = o.out.size, o.want[x].shape
    if o.ask is None or not 0 < n <= LARGEST:
        return None
    rows = rows_of(o, x, range(n))
    if rows is None:
        return None
    yours, right = (np.stack([row.ravel() for row in side]) for side in rows)
    return Jacobians(x, yours, right, o.out.shape, shape)


def rows_of(o: Observation, x: str, places: Iterable[int]) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
    """The learner's gradients and the right ones where g is 1 at one place and 0 elsewhere; None if they have another shape.

    Each costs a call, of which the answers for all inputs are kept.
    """
    places = list(places)
    known = o.memo.setdefault("rows", {})
    if missing := [k for k in places if k not in known]:
        answers = o.ask([unit(o, k) for k in missing]) if o.ask else None
        known |= zip(missing, answers or [None] * len(missing), strict=True)
    answers = [known[k] for k in places]
    if any(a is None or a[x] is None or a[x].shape != o.want[x].shape for a in answers):
        return None
    return [np.asarray(a[x], float) for a in answers], right_rows(o, x, places)


def right_rows(o: Observation, x: str, places: Iterable[int]) -> list[np.ndarray]:
    """The right gradients where g is 1 at one place and 0 elsewhere, each worked out once."""
    places, known = list(places), o.about_right
    missing = [k for k in places if ("right row", x, k) not in known]
    rows = o.reference.gradients(x, [unit(o, k) for k in missing], o.names)
    known |= {("right row", x, k): row for k, row in zip(missing, rows, strict=True)}
    return [known["right row", x, k] for k in places]


def right_row(o: Observation, x: str, k: int) -> np.ndarray:
    """One of them."""
    return right_rows(o, x, [k])[0]


def unit(o: Observation, k: int) -> np.ndarray:
    """An incoming gradient that is 1 at place k, counted through all axes, and 0 elsewhere."""
    g = np.zeros(o.out.shape)
    g.flat[k] = 1
    return g


def is_linear(o: Observation, pair: Jacobians) -> bool:
    """Do the rows, weighted with g, give what the rule gave for g?"""
    return close(o.g.ravel() @ pair.yours, np.asarray(o.got[pair.x]).ravel())


def backwards(o: Observation) -> Observation | None:
    """The same call with each array read from the end of its last axis: there the values of a diagonal are elsewhere, too."""
    at = [np.flip(a, -1) if isinstance(a, np.ndarray) and a.ndim else a for a in o.inputs]
    g = np.flip(o.g)
    try:
        names = o.reference.environment(at, o.settings)
    except Exception:  # forward takes them in this order alone
        return None
    answers = o.ask([g], at) if o.ask else None
    return observe(o.reference, names, g, [answers[0][x] for x in o.reference.inputs], o.settings) if answers else None


def hears_last_elsewhere(o: Observation, x: str, axis: int) -> bool:
    """Where whole numbers of a call say what goes where: is the last part of g along an axis heard if they lie in another order?"""
    at = [np.roll(a, 1) if isinstance(a, np.ndarray) and a.dtype.kind in "iu" and a.ndim else a for a in o.inputs]
    if not o.ask or all(a is b for a, b in zip(at, o.inputs, strict=True)):
        return False
    g = np.zeros_like(o.g)
    g[(slice(None),) * axis + (-1,)] = 1
    answers = o.ask([g], at)
    return bool(answers and np.any(answers[0][x]))
