"""A rule that runs with changes in its source, and whether its gradient is right then. Its work is counted and not timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...run.candidate import LocalCandidate
from ...run.observation import TOLERANCE, Observation, error
from ...run.reference import sum_to
from .schema import IN_PLACE, SLOWER, Schema, Site, store, store_in_place

FOR_A_CALL = 25  # what a call costs besides, in questions
WRITES = (store, store_in_place, *IN_PLACE.values())
LONG = 200  # questions in one run: then few changes can be tried, and those of its loops come first


class ChangedRule:
    """One rule that can be changed, and the calls in which it has to be right. The changes are tried on the first."""

    def __init__(self, observations: Sequence[Observation], x: str, candidate: LocalCandidate, every: bool = False):
        self.observations, self.x, self.candidate = observations, x, candidate
        self.first = observations[0]
        self.observation = self.first  # the call that runs
        self.work = 0  # questions that the sites of the rule asked
        self.unsummed = False  # was it right but for the sum over the axes that forward stretched?
        self.out: np.ndarray | None = None  # what forward gave without changes
        self.result: np.ndarray | None = None
        self.largest: dict[tuple[int, str], int] = {}  # where the right gradient is largest
        self.schema = Schema(candidate.methods)
        self.rule = candidate.with_methods(self.schema.methods)
        asked = sorted(self.first.reference.differentiable(), key=x.__ne__)  # x first, which is wrong
        self.right = [[y for y in asked if every or y == x or self.was_right(o, y)] for o in observations]
        self.wrong = [[y for y in asked if y not in right and not o.failed] for o, right in zip(observations, self.right, strict=True)]
        self.still_wrong: set[str] = set()  # the other inputs whose gradient a change leaves wrong

    @property
    def is_long(self) -> bool:
        """May only few changes be tried? Then each place has its likeliest tried first, and no array is asked whether it matters."""
        return self.schema.most > SLOWER * (LONG + 50)

    def note(self) -> bool:
        """Run it unchanged: every place learns what it works on. Does it answer as before?"""
        o, self.out = self.first, None
        got = self.schema.first_run(lambda: self.call(o, {}))
        if (got is None) != o.failed:
            return False
        self.out = None if got is None else self.result
        if got is None:
            return True
        a, b = got[self.x], o.got[self.x]
        return a is b or (a is not None and b is not None and a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=0, equal_nan=True))

    def call(self, o: Observation, changes: Mapping[int, Callable]) -> dict[str, Any] | None:
        """The gradients in one call; None if it raises, or if its result is another one."""
        self.observation = o
        answer = self.schema.run(lambda: self.rule.attempt(o.inputs, o.ask.settings, o.g, o.out), changes)  # type: ignore[union-attr]
        self.work += self.schema.visits + FOR_A_CALL
        if answer is None:
            return None
        self.result, gradients = answer
        is_compared = self.candidate.judges_forward and changes and o is self.first
        if is_compared and self.out is not None and not np.array_equal(answer[0], self.out):
            return None
        return dict(zip(o.reference.inputs, gradients, strict=False))

    def perturbed(self, site: Site, function: Callable[[Any], Any]) -> dict[str, Any] | None:
        """The gradients in the first call with something else at this place, or with another value written there."""
        if site.do in WRITES:
            return self.call(self.first, {site.number: lambda do, a, k, names: do(*a[:-1], function(a[-1]), **k)})
        return self.call(self.first, {site.number: lambda do, a, k, names: function(do(*a, **k))})

    def is_repaired(self, k: int, changes: Mapping[int, Callable]) -> bool:
        """Is the gradient right in this call, and what was right before?"""
        o = self.observations[k]
        got = self.call(o, changes)
        if got is None or not all(self.is_right(o, got, y) or (y == self.x and self.is_unsummed(o, got[y])) for y in self.right[k]):
            return False
        self.still_wrong.update(y for y in self.wrong[k] if not self.is_right(o, got, y))
        return True

    def is_right(self, o: Observation, got: Mapping[str, Any], x: str) -> bool:
        """Is this gradient right? Most are not, and differ from the right one where that is largest."""
        value, want = got[x], o.want[x]
        if value is not None and value.shape == want.shape and want.size:
            if (id(o), x) not in self.largest:
                self.largest[id(o), x] = int(np.argmax(np.abs(np.nan_to_num(want))))
            place = self.largest[id(o), x]
            right = want.item(place)
            if abs(value.item(place) - right) > TOLERANCE * abs(right):
                return False
        return error(value, want) <= TOLERANCE

    def is_unsummed(self, o: Observation, got: Any) -> bool:
        """Is all that is missing the sum over the axes along which the input was stretched? That is another mistake."""
        want = o.want[self.x]
        if not o.reference.elementwise or got is None or not np.shape(got) == o.out.shape != want.shape or got.size <= want.size:
            return False
        right = error(sum_to(got, want.shape), want) <= TOLERANCE
        self.unsummed |= right
        return right

    def was_right(self, o: Observation, x: str) -> bool:
        """Was it right before any change? Where what is right is not known, nothing was."""
        try:
            return not o.failed and self.is_right(o, o.got, x)
        except LookupError:
            return False
