"""Which mistake is it? Compare what came back with what each family of mistakes predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..run.candidate import Answer, LocalCandidate
from ..run.cases import draw
from ..run.observation import Observation, number
from ..run.reference import Reference
from .explain import TOLERANCE, error_of, mistake
from .hints import HINTS
from .stepwise import is_elementwise

RIGHT = 1e-4  # up to here the derivative is the right one, computed badly
FLOAT32 = 2e-7  # a formula with a number of float32 in it is as exact as this


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
class Diagnosis:
    """What kind of mistake it is, how sure that is, and where it shows most."""

    family: str
    certainty: str  # "certain", "likely" or "unknown"
    text: str
    hint: str
    input: str | None = None
    where: str = ""
    worst: Place | None = None
    alternatives: tuple[str, ...] = ()  # other families that explain it as well; the text names them

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.text}. ({self.certainty})"]
        if self.worst or self.where:
            lines.append("; ".join(filter(None, [self.where and f"with {self.where}", self.worst and str(self.worst)])))
        return "\n  ".join([*lines, f"hint: {self.hint}"])


def diagnosis(family: str, certainty: str, text: str, **more: Any) -> Diagnosis:
    """A diagnosis with the hint of its family."""
    return Diagnosis(family, certainty, text, HINTS.get(family, HINTS["unknown"]), **more)


def diagnose(f: Any, reference: Any, inputs: Sequence[np.ndarray], **settings: Any) -> list[Diagnosis]:
    """Say what is wrong with a backward rule, by calling it on these inputs.

    Parameters
    ----------
    f : Function class, pair (forward, backward), or backward function
        The rule to look at. A plain backward takes g first and then what it needs by name: inputs, `out`,
        `<input>_shape`, settings.
    reference : row of the table, its name, a pair (forward, backward), or a function on tensors
        The right rule; or the operation, which the engine differentiates.
    inputs : sequence of ndarray
        What forward is called with. Use numbers that differ from 0, 1 and 2 and from each other.
    settings
        Keywords of the operation, such as axis.

    Returns
    -------
    list of Diagnosis
        One for each input whose gradient is wrong; empty if all are right. `certainty` says how far to trust it.

    Examples
    --------
    >>> x = np.array([[0.3, 1.7, -0.4], [2.6, -1.2, 0.9]])
    >>> (found,) = diagnose(lambda g, x: 2 * g * x**2, lambda x: x**3, [x])
    >>> print(found.text)
    The gradient for x is 0.666667 times the right one, everywhere
    """
    arrays = tuple(np.asarray(a) for a in inputs)
    right = Reference.of(reference, arrays)
    candidate = LocalCandidate(f, right)
    with np.errstate(all="ignore"):
        return _diagnose(candidate, right, arrays, settings)


def _diagnose(candidate: LocalCandidate, right: Reference, inputs: tuple, settings: Mapping[str, Any]) -> list[Diagnosis]:
    names = right.environment(inputs, settings)
    if right.function:
        right.elementwise = is_elementwise(right.function, inputs, settings)
    rng = np.random.default_rng([0, 7])  # not the numbers that a test draws with default_rng(0)
    seen = []
    for _ in range(2):
        g = draw(rng, names["out"].shape)
        answer = candidate.call(inputs, settings, (g, g))
        if answer.fault:
            return [fault(answer)]
        care = careless(right, inputs, g, answer)
        ask = asking(candidate, right, inputs, settings)
        seen.append(observe(right, names, g, answer.gradients[0], tuple(settings), ask))
    usual = all(a.dtype.kind != "f" or _is_usual(a) for a in inputs)
    found = [_one(candidate, seen, x, settings) for x in right.differentiable()]
    return care + [d if usual or d.certainty != "certain" else replace(d, certainty="likely") for d in found if d]


def careless(reference: Reference, inputs: Sequence[np.ndarray], g: np.ndarray, answer: Answer) -> list[Diagnosis]:
    """What a call left behind, after two backwards with the same g: something written over, or another gradient the second time."""
    said = {"the incoming gradient g": (g, answer.upstream[0])}
    said |= {f"the input {x}": pair for x, *pair in zip(reference.inputs, inputs, answer.inputs, strict=False)}
    for what, (before, after) in said.items():
        if not np.array_equal(before, after, equal_nan=np.asarray(before).dtype.kind == "f"):
            return [diagnosis("mutation", "certain", f"The rule writes into {what}")]
    twice = zip(*answer.gradients, strict=True)
    if any((a is None) != (b is None) or (a is not None and not np.array_equal(a, b, equal_nan=True)) for a, b in twice):
        return [diagnosis("second call", "certain", "A second backward with the same g gives another gradient")]
    return []


def is_noisy(candidate: Any, o: Observation, settings: Mapping[str, Any], x: str) -> bool:
    """Does the gradient jump where the inputs move by their last digits? That of a formula does not."""
    reference = o.reference
    inputs = [np.asarray(o.names[y]) for y in reference.inputs]
    near = tuple(a * (1 + 2.0**-38) if a.dtype.kind == "f" else a for a in inputs)
    answer = candidate.call(near, settings, (o.g,))
    if answer.fault:
        return True
    moved = dict(zip(reference.inputs, answer.gradients[0], strict=False))[x] - o.got[x]
    should = reference.gradient(x, o.g, reference.environment(near, settings)) - o.want[x]
    return not bool(np.all(np.abs(moved - should) <= 1e-13 * np.abs(o.want[x]).max(initial=0.0)))


def _one(candidate: Any, seen: Sequence[Observation], x: str, settings: Mapping[str, Any]) -> Diagnosis | None:
    """What is wrong with the gradient for one input, if anything is."""
    if max(error_of(o, x) for o in seen) <= RIGHT:
        return _by_quotient(candidate, seen, x, settings)
    return None if all(_within_kink(o, x, settings) for o in seen) else explain(seen, x)


def _within_kink(o: Observation, x: str, settings: Mapping[str, Any]) -> bool:
    """Where the derivative jumps, any slope between those on the two sides is right."""
    got, want = o.got[x], o.want[x]
    if got is None or got.shape != want.shape or o.names[x].dtype.kind != "f":
        return False
    sides = [want]
    for step in (-1e-7, 1e-7):
        near = [np.asarray(o.names[y]) + (step if y == x else 0) for y in o.reference.inputs]
        sides.append(o.reference.gradient(x, o.g, o.reference.environment(near, settings)))
    low, high = np.min(sides, axis=0), np.max(sides, axis=0)
    size = np.abs(want).max(initial=0.0)
    wrong = np.abs(got - want) > TOLERANCE * size
    return bool(np.all(high[wrong] - low[wrong] > 1e-3 * size) and np.all((got >= low - 1e-5 * size) & (got <= high + 1e-5 * size)))


def _by_quotient(candidate: Any, seen: Sequence[Observation], x: str, settings: Mapping[str, Any]) -> Diagnosis | None:
    """A gradient that is right to a few digits only, and noisy."""
    error = max(error_of(o, x) for o in seen)
    if error < 1e-12 or (error < FLOAT32 and not is_noisy(candidate, seen[0], settings, x)):
        return None
    return nearly(candidate, seen, x, settings, error)


def nearly(candidate: Any, seen: Sequence[Observation], x: str, settings: Mapping[str, Any], error: float) -> Diagnosis:
    """A gradient with some right digits: a quotient of differences is noisy, a formula with another small number is not."""
    noisy = is_noisy(candidate, seen[0], settings, x)
    family, why = ("finite differences", "probably a difference quotient") if noisy else ("number", SMOOTH)
    text = f"The gradient for {x} is right to {error:.0e} only; a formula is exact to 1e-15: {why}"
    return diagnosis(family, "likely", text, input=x, worst=worst_place(seen, x))


SMOOTH = "a small number in it, such as eps, is missing or another one; or it is a difference quotient"


def _is_usual(a: np.ndarray) -> bool:
    return bool(np.all(np.abs(a - np.round(a)) > 1e-3)) and len(np.unique(a)) == a.size


def observe(
    reference: Reference, names: Mapping[str, Any], g: np.ndarray, got: Sequence, given: Sequence[str] = (), ask: Callable | None = None
) -> Observation:
    """Put one backward call beside the right answer."""
    want = {x: reference.gradient(x, g, names) for x in reference.differentiable()}
    received = dict(zip(reference.inputs, got, strict=False))
    return Observation(reference, dict(names), g, received, want, given=tuple(given), ask=ask)


def asking(candidate: Any, reference: Reference, inputs: Sequence, settings: Mapping[str, Any]) -> Callable:
    """A function that calls a rule on these inputs with other incoming gradients; None if it raises."""

    def ask(gs):
        answer = candidate.call(inputs, settings, tuple(gs))
        return None if answer.fault else [dict(zip(reference.inputs, got, strict=False)) for got in answer.gradients]

    return ask


def stopped(reference: Reference, names: Mapping[str, Any], g: np.ndarray) -> Observation:
    """A call that raised, put beside the right answer."""
    nothing = dict.fromkeys(reference.inputs)
    return replace(observe(reference, names, g, ()), got=nothing, failed=True)


def fault(answer: Answer, where: str = "") -> Diagnosis:
    """The diagnosis of a call that gave no gradients."""
    assert answer.fault is not None
    text = answer.fault.text + (f" (your {answer.fault.line})" if answer.fault.line else "")
    return diagnosis(answer.fault.kind, "certain", text, where=where)


def _furthest(observations: Sequence[Observation], x: str) -> Observation:
    return max(observations, key=lambda o: error_of(o, x))


def worst_place(observations: Sequence[Observation], x: str) -> Place | None:
    """The entry that is furthest from right, or the shapes if they differ."""
    o = _furthest(observations, x)
    if o.got[x] is None or o.got[x].shape != o.want[x].shape:
        return Place(x, None, None if o.got[x] is None else o.got[x].shape, o.want[x].shape)
    distance = np.abs(o.got[x] - o.want[x])
    if not distance.size:
        return None
    at = np.unravel_index(np.argmax(np.where(np.isnan(distance), np.inf, distance)), distance.shape)
    return Place(x, tuple(int(i) for i in at), float(o.got[x][at]), float(o.want[x][at]))


def explain(observations: Sequence[Observation], x: str, show: Sequence[Observation] = ()) -> Diagnosis | None:
    """The mistake behind the gradient for `x` in all these calls, or None if it is right in all of them.

    A call that raised may be among them: an explanation has to fail there as well. The worst place is looked for among
    `show`, if one of them is wrong.
    """
    answered = [o for o in observations if not o.failed]
    wrong = [o for o in answered if error_of(o, x) > TOLERANCE]
    if not wrong:
        return None
    shown = [o for o in show if not o.failed and error_of(o, x) > TOLERANCE] or wrong
    more: dict[str, Any] = {"input": x, "where": _shapes(_furthest(shown, x)), "worst": worst_place(shown, x)}
    about = f"The gradient for {x} "
    if all(o.got[x] is None for o in wrong):
        return diagnosis("none", "certain", about + "is None", **more)
    found = mistake([o for o in observations if o.failed or o.got[x] is not None], x)
    invariant = _invariant(answered, x)
    if not found:
        text = "is wrong, in no way that this checker knows" + _fraction(wrong, x)
        return diagnosis("unknown", "unknown", about + text + invariant, **more)
    if found.place:
        more |= {"where": _shapes(found.place), "worst": worst_place([found.place], x)}
    more["alternatives"] = tuple(other.name for other in found.also)
    said = ". Or it ".join([found.text, *(other.text.format(x=x) for other in found.also)])
    return diagnosis(found.family, "certain" if found.sure else "likely", about + said + invariant, **more)


def _shapes(o: Observation) -> str:
    shapes = [f"{x} {o.names[f'{x}_shape']}" for x in o.reference.inputs]
    return ", ".join(shapes + [f"{k}={o.names[k]!r}" for k in o.reference.settings if k in o.given])


def _fraction(wrong: list[Observation], x: str) -> str:
    o = wrong[0]
    got, want = o.got[x], o.want[x]
    if got is None or got.shape != want.shape or got.size < 2:
        return ""
    right = int(np.sum(np.isclose(got, want, rtol=1e-9, atol=1e-12)))
    return f" ({right} of {got.size} entries are right)" if right else ""


def _invariant(observations: Sequence[Observation], x: str) -> str:
    """What must hold for any right gradient of this operation, if it does not hold here."""
    seen = [o for o in observations if o.got[x] is not None and o.got[x].shape == o.want[x].shape]
    if not seen or seen[0].reference.elementwise or any(not o.want[x].ndim for o in seen):
        return ""
    sums = []
    for o in seen:
        axis = o.names.get("axis", -1)
        if isinstance(axis, int) and axis >= o.want[x].ndim:  # an axis of the result
            return ""
        want, got = o.want[x].sum(axis), o.got[x].sum(axis)
        if np.abs(want).max() > 1e-12 * np.abs(o.want[x]).max():
            return ""
        sums.append(float(got.flat[np.abs(got).argmax()]))
    worst = max(sums, key=abs)
    if abs(worst) < 1e-9:
        return ""
    return (
        f". Adding the same number to every entry of {x} along the axis does not change the result, "
        f"so this gradient must add up to 0 along that axis; yours adds up to {number(worst)}"
    )
