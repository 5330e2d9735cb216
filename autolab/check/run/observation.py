"""One backward call as seen from outside, and when two arrays count as equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .reference import Reference

LOST = 1e-13  # of the largest gradient of all calls: where a softmax has decided, this much of a gradient is rounding
TOLERANCE = 1e-9
RIGHT = 1e-4  # up to here the derivative is the right one, computed badly


class Right(dict[str, np.ndarray]):
    """What is right for each input, worked out when it is first asked for: of many a call nothing is."""

    def __init__(self, gradient: Callable[[str], np.ndarray], but: Mapping[str, np.ndarray] | None = None):
        super().__init__(but or {})
        self.gradient = gradient

    def __missing__(self, x: str) -> np.ndarray:
        self[x] = value = self.gradient(x)
        return value


@dataclass(frozen=True, eq=False)
class Observation:
    """One backward call as seen from outside: what went in, what came back, what was right."""

    reference: Reference
    names: dict[str, Any]  # inputs, settings, shapes, out
    g: np.ndarray
    got: dict[str, Any]  # an array for each input, or None
    want: dict[str, np.ndarray]  # or `Right`
    failed: bool = False  # the rule raised instead
    settings: Mapping[str, Any] = field(default_factory=dict)  # those that the call named
    ask: Callable | None = None  # calls the rule again: ask(gs) on these inputs, ask(gs, at) on others
    memo: dict[Any, Any] = field(default_factory=dict)  # what was worked out about it, by key
    about_right: dict[Any, Any] = field(default_factory=dict)  # the same, of what does not depend on what came back: checks share it

    @property
    def out(self) -> np.ndarray:
        """The right result of forward."""
        return self.names["out"]

    @property
    def inputs(self) -> list[Any]:
        """What forward was called with."""
        return [self.names[x] for x in self.reference.inputs]

    def shape(self, x: str) -> tuple[int, ...]:
        """The shape of an input."""
        return self.names[f"{x}_shape"]

    def worked_out(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` gives, which does not depend on what came back; None if it raises. The next check of these numbers knows it."""
        if key not in self.about_right:
            try:
                self.about_right[key] = np.asarray(make())
            except Exception:  # this cannot be worked out here
                self.about_right[key] = None
        return self.about_right[key]

    def gave(self, x: str, value: Any) -> bool:
        """Did the rule give this for x, up to rounding? Hundreds of arrays are asked about, and most differ from their first entry on."""
        got = self.got[x]
        if ("first entry", x) not in self.memo:
            size = np.abs(got).max() if got.size else np.nan
            # Where terms cancel, 1e-17 is left of 0, and not the same 1e-17 in another formula.
            rest = 1e-12 * np.abs(self.want[x]).max() if got.size and got.shape == self.want[x].shape else 0.0
            rest = rest if size <= rest else 0.0
            # What `close` allows, and a little more: it goes by the largest entry of `value`.
            most = 2e-9 * size + 2e-300 + 2 * rest
            self.memo["first entry", x] = (got.item(0), most, rest) if np.isfinite(size) else (0.0, np.inf, 0.0)
        entry, most, rest = self.memo["first entry", x]
        value, lost = np.asarray(value), LOST * self.memo.get(("usual", x), 0.0)
        if value.shape != got.shape or (value.size and abs(value.item(0) - entry) > most + lost):
            return False
        return bool(rest and np.abs(value).max() <= rest) or close(got, value) or bool(lost and np.abs(got - value).max() <= lost)


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
    lost = ~np.isfinite(b)
    if lost.all() or not np.array_equal(~np.isfinite(a), lost) or not np.array_equal(a[lost], b[lost], equal_nan=True):
        return False
    return bool(lost.any()) and close(a[~lost], b[~lost])


def all_differ(a: np.ndarray) -> bool:
    """Are no two entries equal? (`np.unique` loads NumPy's masked arrays, which take longer than a check.)"""
    return len(set(np.ravel(a).tolist())) == np.size(a)


def all_among(a: np.ndarray, b: np.ndarray) -> bool:
    """Is every entry of `a` one of `b`? (`np.isin` loads the same.)"""
    return set(np.ravel(b).tolist()).issuperset(np.ravel(a).tolist())


def observe(
    reference: Reference, names: Mapping[str, Any], g: np.ndarray, got: Sequence | None,
    settings: Mapping[str, Any] | None = None, ask: Callable | None = None, want: dict[str, np.ndarray] | None = None,
    about_right: dict[Any, Any] | None = None,
) -> Observation:  # fmt: skip
    """Put one backward call beside the right answer, `want` if it is known; `got` is None for a call that raised."""
    want = Right(lambda x: reference.right(x, g, names)) if want is None else want
    received = dict.fromkeys(reference.inputs) if got is None else dict(zip(reference.inputs, got, strict=False))
    known = {} if about_right is None else about_right
    return Observation(reference, dict(names), g, received, want, got is None, settings or {}, ask, about_right=known)


@dataclass(frozen=True, eq=False)
class Question:
    """Calls a rule with other incoming gradients, on these inputs or on others of the domain; None if it raises."""

    candidate: Any
    reference: Reference
    inputs: Sequence
    settings: Mapping[str, Any]

    def __call__(self, gs: Iterable[np.ndarray], at: Sequence | None = None) -> list[dict[str, Any]] | None:
        """The gradients for each of these g."""
        at = self.inputs if at is None else at
        if not self.reference.takes(at):
            return None
        gs = tuple(gs)
        self.reference.count(len(gs) * self.reference.weight)
        answer = self.candidate.call(at, self.settings, gs)
        return None if answer.fault else [dict(zip(self.reference.inputs, got, strict=False)) for got in answer.gradients]


def error_of(o: Observation, x: str) -> float:
    """How far the gradient is off, relative to its largest entry; inf for a wrong shape, and for None unless nothing depends on x.

    Where it is not known what is right (nan), nothing is wrong.
    """
    return error(o.got[x], o.want[x])


def error(got: np.ndarray | None, want: np.ndarray) -> float:
    """The same of two arrays."""
    if got is None and not want.any():
        return 0.0
    if got is None or got.shape != want.shape:
        return np.inf
    if not want.size:
        return 0.0
    scale = np.abs(want).max()
    if np.isnan(scale):  # some of what is right is not known
        known = ~np.isnan(want)
        return error(got[known], want[known])
    off = np.abs(got - want).max() / (scale or 1.0)
    return float(off) if np.isfinite(off) else np.inf


def number(value: float) -> str:
    """Short, and exact where it can be."""
    return f"{value:.6g}"
