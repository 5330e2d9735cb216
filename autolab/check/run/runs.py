"""One case put to a candidate, with the right answer beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .candidate import Answer, Candidate
from .cases import Case
from .observation import RIGHT, Observation, Question, Right, close, error_of, observe
from .reference import Reference


class CaseRun:
    """One case, the answer to it, and the right answer; of the case `before`, if its inputs are the same, what is right is known.

    What the right rule raises, now or when it is asked, goes through `fitting`.
    """

    def __init__(
        self, case: Case, answer: Answer, reference: Reference, candidate: Candidate, before: CaseRun | None = None,
        fitting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ):  # fmt: skip
        self.case, self.answer = case, answer
        self.where = case.describe(reference.inputs)
        same_inputs = before is not None and before.case.inputs is case.inputs and before.case.settings is case.settings
        right = case.right
        if "names" not in right:
            with fitting():
                right["names"] = before.names if before and same_inputs else reference.environment(case.inputs, case.settings)
        self.names: dict[str, Any] = right["names"]
        calls = zip(case.upstream, answer.gradients, strict=False)
        ask = Question(candidate, reference, case.inputs, case.settings)
        # by the id of g, which an observation keeps alive
        self.known: dict[int, Observation] = before.known if before and same_inputs else {}
        self.seen: list[Observation] = []
        for g, gradients in calls:
            first = self.known.get(id(g))
            if id(g) not in right:
                right[id(g)] = (first.want, first.about_right) if first else (_right(reference, g, self.names, fitting), {})
            self.seen.append(observe(reference, self.names, g, gradients, case.settings, ask, *right[id(g)]))
            self.known.setdefault(id(g), self.seen[-1])
        self.failure = None if self.seen else observe(reference, self.names, case.upstream[0], None, ask=ask)

    @property
    def first(self) -> Observation | None:
        """What the first backward call gave; None if it raised."""
        return self.seen[0] if self.seen else None

    @property
    def repeatable(self) -> bool:
        """Does the last call, with the g of the first, give what the first gave?"""
        if len(self.seen) < len(self.case.upstream):
            return False
        return all(same(a, self.seen[-1].got[x]) for x, a in self.seen[0].got.items())

    @property
    def observations(self) -> list[Observation]:
        """All that a diagnosis may rest on."""
        if self.failure:
            return [self.failure]
        return self.seen[:2] if self.repeatable else self.seen[:1]


def _right(reference: Reference, g: np.ndarray, names: Mapping[str, Any], fitting: Callable[[], AbstractContextManager[None]]) -> Right:
    def gradient(x: str) -> np.ndarray:
        with fitting():
            return reference.right(x, g, names)

    return Right(gradient)


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is b or a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return True
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def adds_up(o: Observation, inputs: Iterable[str]) -> bool:
    """For one array given as both inputs: is the sum right? Where the two tie, as in max(x, x), they may share as they like."""
    if all(error_of(o, x) <= RIGHT for x in inputs):
        return True
    got, want = [o.got[x] for x in inputs], [o.want[x] for x in inputs]
    if any(a is None or a.shape != b.shape for a, b in zip(got, want, strict=True)):
        return False
    tied, whole = close(want[0], want[-1]), np.sum(want, axis=0)  # each has an equal share
    within = all(np.all((a * b >= -1e-12) & (np.abs(a) <= np.abs(whole) + 1e-12)) for a, b in zip(got, want, strict=True))
    return tied and within and close(np.sum(got, axis=0), whole)


def how_not_linear(x: str, *calls: Observation | None) -> str:
    """Of g, h, g + h and 0: in which way the gradient does not follow g, in words; nothing if it does.

    Each sentence is said only where that very thing was seen.
    """
    if any(o is None or o.got[x] is None for o in calls):
        return f"one of the calls that compare gradients for several g gave none for {x}"
    one, other, both, zero = (o.got[x] for o in calls if o)
    if not np.all(np.abs(zero) <= 1e-12 * np.abs(one).max(initial=0.0)):
        return f"the gradient for {x} does not follow g: where g is 0 everywhere it must be 0, and it is not"
    if not one.shape == other.shape == both.shape:
        return f"the gradient for {x} has another shape for another g"
    if np.all(np.abs(one + other - both) <= 1e-4 * np.abs(both).max(initial=1e-300)):
        return ""
    return f"the gradient for {x} does not follow g: for the sum of two g it must be the sum of their gradients, and it is not"


def worst_result(got: np.ndarray, want: np.ndarray) -> str:
    distance = np.abs(np.asarray(got, float) - want)
    at = np.unravel_index(np.argmax(np.where(np.isnan(distance), np.inf, distance)), distance.shape)
    place = f"[{', '.join(str(int(i)) for i in at)}]" if at else ""
    return f"result{place}: received {got[at]:.6g}, expected {want[at]:.6g}"
