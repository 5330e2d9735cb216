"""What is said about a wrong gradient: the kind of mistake, how sure that is, and the worst place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..run.candidate import Answer
from ..run.observation import Observation, error_of, number
from .family import Family, unknown
from .hints import HINTS


@dataclass(frozen=True)
class Place:
    """The worst entry: where it is and both numbers; without an index, the two shapes."""

    input: str
    index: tuple[int, ...] | None
    yours: Any
    expected: Any

    def __str__(self) -> str:
        if self.index is None:
            return f"gradient for {self.input}: received shape {self.yours}, expected shape {self.expected}"
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"gradient for {self.input}{at}: received {number(self.yours)}, expected {number(self.expected)}"


@dataclass(frozen=True)
class Mistake:
    """An explanation that fits: the kind of mistake, and a sentence that continues "The gradient for x ..."."""

    family: str
    text: str
    sure: bool = False
    predict: Callable | None = None  # the gradient that a rule with this mistake returns
    place: Observation | None = None  # the call that shows it best
    also: tuple[Any, ...] = ()  # other families that explain it as well
    hint: str = ""  # whose hint to give, if not that of the family
    parts: tuple[str, ...] = ()  # other families that are in it besides
    doubtful: bool = False  # a change of the rule that leaves another gradient wrong, so that the slip may be elsewhere

    def every(self) -> list[Family]:
        """All explanations, the first one first."""
        return [Family(self.family, self.text, self.predict or unknown, hint=self.hint), *self.also]


@dataclass(frozen=True)
class Diagnosis:
    """What kind of mistake it is, how sure that is, and where it shows most. `print` shows it with its hint.

    "certain" is said only if no other kind of mistake of the checker's fits all calls.

    >>> from autolab.check import check
    >>> found = check("exp", lambda g, out: -g * out).diagnoses[0]
    >>> found.family, found.certainty, found.input
    ('sign', 'certain', 'x')
    """

    family: str
    certainty: str  # "certain", "likely" or "unknown"
    text: str
    hint: str
    input: str | None = None
    where: str = ""
    worst: Place | None = None
    alternatives: tuple[str, ...] = ()  # other families that explain it as well, or are in it besides; the text names them
    seen: tuple[str, ...] | None = None  # the families that the numbers show; a change of the source that mends it may be named another

    @property
    def how_sure(self) -> str:
        """The certainty as a student reads it."""
        return "cause not known" if self.certainty == "unknown" else self.certainty

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain data, as a report is saved."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.text}. ({self.how_sure})"]
        if self.worst or self.where:
            lines.append("; ".join([*[f"with {self.where}"] * bool(self.where), *[str(self.worst)] * bool(self.worst)]))
        return "\n  ".join([*lines, f"hint: {self.hint}"])


def diagnosis(family: str, certainty: str, text: str, hint: str = "", **more: Any) -> Diagnosis:
    """A diagnosis with the hint of its family, or the named one."""
    return Diagnosis(family, certainty, text, HINTS.get(hint or family, HINTS["unknown"]), **more)


def fault(answer: Answer, where: str = "") -> Diagnosis:
    """The diagnosis of a call that gave no gradients."""
    assert answer.fault is not None
    text = answer.fault.text + (f" (your {answer.fault.line})" if answer.fault.line else "")
    return diagnosis(answer.fault.kind, "certain", text, where=where)


def furthest(observations: Sequence[Observation], x: str) -> Observation:
    return max(observations, key=lambda o: error_of(o, x))


def worst_place(observations: Sequence[Observation], x: str) -> Place | None:
    """The entry that is furthest from right, or the shapes if they differ."""
    o = furthest(observations, x)
    if o.got[x] is None or o.got[x].shape != o.want[x].shape:
        return Place(x, None, None if o.got[x] is None else o.got[x].shape, o.want[x].shape)
    distance = np.abs(o.got[x] - o.want[x])
    if not distance.size:
        return None
    at = np.unravel_index(np.argmax(np.where(np.isnan(distance), np.inf, distance)), distance.shape)
    return Place(x, tuple(int(i) for i in at), float(o.got[x][at]), float(o.want[x][at]))
