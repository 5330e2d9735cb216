"""Running sums, recurrences and the like: the value of another step, or the order of a scan and a factor.

In y[t] = a[t] y[t - 1] + b[t], a cumulative sum or a running mean, a result depends on its own step and on those before it. The right rule
is called with a value or with g one step further on, with a count that is another, or with a factor before the scan in the place of one
after it. A factor that carries the sum on is also left out, and the value beside it that a product rule brings is taken from another step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..family import Family
from ..formulas.mutants import value_in_words
from ..quiet import quiet
from .jacobian_rows import LARGEST, right_row

MOST = 90  # calls of the right rule
SHORTEST = 3  # steps
STEPS = {1: "t - 1", -1: "t + 1", 2: "t - 2", -2: "t + 2", 0: "t"}


@quiet
def find_scan(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first slip along an axis on which results depend on what was before, or after, that explains all these calls."""
    first = wrong[0]
    if first.reference.elementwise or any(not o.g.shape == o.got[x].shape == o.want[x].shape for o in wrong):
        return None
    counted_back = len({o.g.ndim for o in wrong}) == 1  # of a vector and a matrix, the axis is one that both have
    for axis in range(-1, -first.g.ndim - 1, -1) if counted_back else (-1, 0):
        if not _runs_along(first, x, axis):
            continue
        for _, family in zip(range(MOST), _families(first, x, axis), strict=False):
            if all(_fits(family, o, x) for o in wrong):
                return Mistake(family.name, family.text, len(wrong) > 1, family.predict, hint=family.hint)
    return None


def _runs_along(o: Observation, x: str, axis: int) -> bool:
    """Does the last result depend on other steps than its own, and the first on no later one; or the other way round?"""
    n = o.g.shape[axis]
    if n < SHORTEST or o.out.size > LARGEST:
        return False
    ends = []
    for step in (0, n - 1):
        place = [0] * o.g.ndim
        place[axis] = step
        row = right_row(o, x, int(np.ravel_multi_index(place, o.g.shape)))
        line = np.moveaxis(row, axis, -1)[(0,) * (o.g.ndim - 1)] != 0
        if np.count_nonzero(row) != np.count_nonzero(line):  # other lines as well
            return False
        ends.append(line)
    start, end = ends
    return bool((end[:-1].any() and not start[1:].any()) or (start[1:].any() and not end[:-1].any()))


@dataclass(frozen=True)
class Along:
    """Arrays whose steps lie along an axis."""

    axis: int

    def shifted(self, a: Any, by: int) -> np.ndarray:
        """Of step t what was at t - by; 0 where there was none."""
        value = np.roll(np.asarray(a, float), by, self.axis)
        lost = [slice(None)] * value.ndim
        lost[self.axis] = slice(by) if by >= 0 else slice(by, None)
        value[tuple(lost)] = 0
        return value

    def turned(self, a: Any, by: int) -> np.ndarray:
        """The same, going round."""
        return np.roll(np.asarray(a, float), by, self.axis)

    def counts(self, o: Observation) -> np.ndarray:
        """1, 2, 3, ... along the axis."""
        n = o.g.shape[self.axis]
        return np.arange(1.0, n + 1).reshape([n if k == self.axis % o.g.ndim else 1 for k in range(o.g.ndim)])

    def running_sum(self, o: Observation, name: str) -> np.ndarray:
        """Of the values under this name."""
        return np.cumsum(o.names[name], self.axis)


def _value(o: Observation, name: str) -> np.ndarray:
    return np.asarray(o.names[name])


def _exponential(o: Observation, name: str) -> np.ndarray:
    return np.exp(o.names[name])


def _rule(o: Observation, x: str, /, g: Any = None, **names: Any) -> np.ndarray:
    return np.asarray(o.reference.gradient(x, o.g if g is None else g, {**o.names, **names}))


def _families(first: Observation, x: str, axis: int) -> Iterator[Family]:
    along, shape = Along(axis), first.g.shape
    inputs = [y for y in first.reference.inputs if first.shape(y) == shape and np.asarray(first.names[y]).dtype.kind == "f"]
    yield from _of_g(along, axis, late=not _looks_ahead(first, x, axis))
    yield from _of_inputs(along, inputs)
    yield from _of_products(first, x, along, inputs)
    yield from _of_order(along, inputs)
    yield from _of_counts(along)


def _looks_ahead(o: Observation, x: str, axis: int) -> bool:
    """Does the first result depend on later steps?"""
    row = right_row(o, x, 0)
    return bool(np.take(row, range(1, row.shape[axis]), axis).any())


def _of_g(along: Along, axis: int, late: bool) -> Iterator[Family]:
    for by in (1, -1):
        text = f"uses g of step {STEPS[by]} along axis {axis}, where that of step t belongs"
        yield Family("places", text, lambda o, x, by=by: _rule(o, x, along.shifted(o.g, by)))
        text = f"is at step t what belongs to step {STEPS[by]} along axis {axis}: it is shifted by one"
        if (by < 0) == late:
            text += ", or what each step gets from its own result is left out"
        yield Family("places", text, lambda o, x, by=by: along.shifted(o.want[x], by))


def _of_order(along: Along, inputs: Sequence[str]) -> Iterator[Family]:
    """Of D S and S D, for a scan S and a product D, the other one."""
    factors: list[tuple[str, Callable[[Observation], Any]]] = [("the number of entries so far (1, 2, 3, ...)", along.counts)]
    factors += [(value_in_words(y), partial(_value, name=y)) for y in (*inputs, "out")]
    factors += [(f"the running sum of {y}", partial(along.running_sum, name=y)) for y in inputs]
    factors += [(f"the exponential of {value_in_words(y)}", partial(_exponential, name=y)) for y in (*inputs, "out")]
    for said, value in factors:
        text = f"applies a factor or divisor ({said}) before the scan along the axis where it belongs after it, or the other way round"
        for power in (1, -1):
            yield Family("order", text, lambda o, x, v=value, p=power: _rule(o, x, o.g * v(o) ** p) / v(o) ** p, hint="scan")


COUNTS: list[tuple[str, Callable[[np.ndarray], Any]]] = [
    ("has a count that is one too large: the first step counts 1", lambda c: c + 1),
    ("has a count that is one too small: each step counts those before it", lambda c: np.maximum(c - 1, 1)),
    ("counts its steps from the other end", lambda c: np.flip(c)),
    ("is divided by the number of all steps, where that of the steps so far belongs", lambda c: c.max()),
]


def _of_counts(along: Along) -> Iterator[Family]:
    for text, other in COUNTS:
        yield Family("size", text, lambda o, x, f=other: _rule(o, x, o.g * along.counts(o) / f(along.counts(o))))


def _of_inputs(along: Along, inputs: Sequence[str]) -> Iterator[Family]:
    for y in inputs:
        for by in (1, -1, 2, -2):
            text = f"uses {y}[{STEPS[by]}] where {y}[t] belongs: a factor is that of another step"
            yield Family("places", text, lambda o, x, y=y, by=by: _rule(o, x, **{y: along.turned(o.names[y], by)}), hint="scan")
        text = f"is what would be right if {y} were 1 in every step: the factor {y} is left out"
        yield Family("factor", text, lambda o, x, y=y: _rule(o, x, **{y: np.ones_like(o.names[y])}))


def _of_products(first: Observation, x: str, along: Along, inputs: Sequence[str]) -> Iterator[Family]:
    """Where the gradient is that for another input times a value, perhaps of the step before: that value of another step, or as above."""
    others = [y for y in first.reference.differentiable() if y != x and first.shape(y) == first.g.shape]
    for y in others:
        for name in (*inputs, "out"):
            for by in STEPS:
                if not close(first.want[y] * along.shifted(first.names[name], by), first.want[x]):
                    continue
                said = value_in_words(name)
                for other in (k for k in STEPS if k != by):
                    text = f"uses {said} of step {STEPS[other]} where that of step {STEPS[by]} belongs"
                    yield Family("places", text, lambda o, x, y=y, n=name, k=other: o.want[y] * along.shifted(o.names[n], k), hint="scan")
                for family in _of_inputs(along, inputs):
                    yield Family(
                        family.name,
                        family.text,
                        lambda o, x, y=y, n=name, f=family, by=by: f.predict(o, y) * along.shifted(o.names[n], by),
                        hint=family.hint,
                    )


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        with np.errstate(all="ignore"):
            return o.gave(x, family.predict(o, x))
    except Exception:  # it cannot be made here
        return False
