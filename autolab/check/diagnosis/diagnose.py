"""`diagnose`: a rule called on the inputs at hand, beside the right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..run.candidate import Answer, LocalCandidate
from ..run.inputs import draw
from ..run.observation import RIGHT, TOLERANCE, Observation, Question, all_differ, error_of, observe
from ..run.reference import Reference
from .diagnosis import Diagnosis, diagnosis, worst_place
from .explain import explain
from .failures import failure
from .gradients.digits import find_lost_digits
from .replays.chains import is_elementwise

FLOAT32 = 2e-7  # a formula with a number of float32 in it is as exact as this


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

    Raises
    ------
    LookupError
        The row has several results: name one of them, in a function on tensors.

    Examples
    --------
    >>> x = np.array([[0.3, 1.7, -0.4], [2.6, -1.2, 0.9]])
    >>> (found,) = diagnose(lambda g, x: -3 * g * x**2, lambda x: x**3, [x])
    >>> print(found.text)
    The gradient for x has the right size and the wrong sign, everywhere
    """
    arrays = tuple(np.asarray(a) for a in inputs)
    right = Reference.of(reference, arrays)
    right.require_one_result()
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
            return [failure(answer)]
        effects = after_effects(right, inputs, g, answer)
        ask = Question(candidate, right, inputs, settings)
        seen.append(observe(right, names, g, answer.gradients[0], settings, ask))
    usual = all(a.dtype.kind != "f" or _is_usual(a) for a in inputs)
    found = [_one_input(candidate, seen, x, settings) for x in right.differentiable()]
    return effects + [d if usual or d.certainty != "certain" else replace(d, certainty="likely") for d in found if d]


def after_effects(reference: Reference, inputs: Sequence[np.ndarray], g: np.ndarray, answer: Answer) -> list[Diagnosis]:
    """What a call left behind, after two backwards with the same g: something written over, or another gradient the second time."""
    said = {"the incoming gradient g": (g, answer.upstream[0])}
    said |= {f"the input {x}": (before, after) for x, before, after in zip(reference.inputs, inputs, answer.inputs, strict=False)}
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


def _one_input(candidate: Any, seen: Sequence[Observation], x: str, settings: Mapping[str, Any]) -> Diagnosis | None:
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
        near = [o.names[y] + step if y == x else o.names[y] for y in o.reference.inputs]
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
    return inexact(candidate, seen, x, settings, error)


def inexact(candidate: Any, seen: Sequence[Observation], x: str, settings: Mapping[str, Any], error: float) -> Diagnosis:
    """A gradient with some right digits: a quotient of differences is noisy, a formula with another small number is not."""
    if lost := find_lost_digits(seen, x):
        return diagnosis(
            lost.family, "certain" if lost.sure else "likely", f"The gradient for {x} {lost.text}", input=x, worst=worst_place(seen, x)
        )
    noisy = is_noisy(candidate, seen[0], settings, x)
    family, why = ("finite differences", "probably a difference quotient") if noisy else ("number", SMOOTH)
    text = f"The gradient for {x} is right to {error:.0e} only; a formula is exact to 1e-15: {why}"
    return diagnosis(family, "likely", text, input=x, worst=worst_place(seen, x))


SMOOTH = "a small number in it, such as eps, is missing or another one; or it is a difference quotient"


def _is_usual(a: np.ndarray) -> bool:
    return bool(np.all(np.abs(a - np.round(a)) > 1e-3)) and all_differ(a)
