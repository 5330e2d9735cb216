"""How well a gradient is known at all: by how much it moves where the inputs move by their last digits, or what is worked out on the way.

Two right rules differ by as much. So where a rule is about to be refused for numbers that are near a singular matrix, or for lost
digits, this is asked first, and not asked of a rule that agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..run.differences import EVERYWHERE, gradient
from ..run.observation import Observation, all_among, observe
from ..run.reference import Reference
from .replay import Node, Tape
from .replays.tape_slips import lines

MOVES = 4
TIMES = 64.0  # what two formulas of some steps lose, beside what one such move does
SOLVERS = ("solve", "inv", "det")
SURE, WRONG = 1e-8, 1e-5  # relative: of differences of forward


@np.errstate(all="ignore")
def uncertainty(o: Observation, x: str) -> np.ndarray:
    """Up to how much another right gradient for x may differ from this one, entry by entry; infinite where none is known."""
    reference, right = o.reference, o.want[x]
    with reference.trying():
        far = _farthest(_nearby(o, x), right, reference.elementwise)
        if reference.function is None or any(np.asarray(a).dtype == np.float32 for a in o.inputs):
            return far  # an author's own rule is right
        size = np.abs(right) if reference.elementwise else np.abs(right).max(initial=0.0)
        try:
            slope, unsure = gradient(
                lambda *a: np.asarray(reference.result(a, o.settings)), o.inputs, reference.inputs.index(x), o.g, reference.elementwise,
                reference.domain.get(x, EVERYWHERE),
            )  # fmt: skip
        except Exception:  # a step led to where forward is not defined
            return far
    return np.where((unsure <= SURE * (size + 1)) & (np.abs(slope - right) > WRONG * (size + 1)), np.inf, far)


@np.errstate(all="ignore")
def uncertainty_of_result(reference: Reference, names: Mapping[str, Any], settings: Mapping[str, Any]) -> np.ndarray:
    """The same of the result of forward."""
    inputs = [np.asarray(names[y]) for y in reference.inputs]
    near = (partial(reference.result, a, settings) for a in _moved(inputs))
    return _farthest(near, names["out"], reference.elementwise)


def is_as_near_as_known(o: Observation, x: str) -> bool:
    """Does a gradient differ from the right one by no more than two right ones may?"""
    got, right = o.got[x], o.want[x]
    return got is not None and got.shape == right.shape and bool(np.all(np.abs(got - right) <= uncertainty(o, x)))


def is_unknown(reference: Reference, names: Mapping[str, Any], settings: Mapping[str, Any], g: np.ndarray, x: str, digits: float) -> bool:
    """Does another right gradient differ by more than this part of the largest entry?"""
    o = observe(reference, names, g, None, settings)
    known = np.isfinite(o.want[x])
    return not np.all(uncertainty(o, x)[known] <= digits * (np.abs(o.want[x][known]).max(initial=0.0) + 1))


def _nearby(o: Observation, x: str) -> Iterator[Callable[[], Any]]:
    """The right gradient, where the inputs are others in their last digit, and where all that is worked out is."""
    for near in _moved([np.asarray(a) for a in o.inputs]):
        yield partial(_gradient_at, o, x, near)
    if known := lines(o, x):
        rng, tape = np.random.default_rng(6), known.tape
        every = [k for k in tape.counting if tape.nodes[k].sources]
        for _ in range(MOVES):
            yield lambda: tape.result(tape.with_slip(every, partial(_rounded, rng)))


def _gradient_at(o: Observation, x: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
    return o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings))


def _rounded(rng: np.random.Generator, tape: Tape, node: Node, sources: list[Any], _: Any) -> Any:
    """What an operation gives, with another last digit; one that only moves or chooses entries, as a maximum does, is exact."""
    if node.name.endswith(SOLVERS):  # near a singular matrix what it is given counts for more than what it gives
        return node.function(*(_by_a_digit(rng, s) for s in sources))
    value = node.function(*sources)
    return value if any(all_among(np.abs(value), np.abs(s)) for s in sources) else _by_a_digit(rng, value)


def _moved(inputs: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
    rng = np.random.default_rng(5)
    for _ in range(MOVES):
        yield [_by_a_digit(rng, a) for a in inputs]


def _by_a_digit(rng: np.random.Generator, a: Any) -> np.ndarray:
    a = np.asarray(a)
    return a * (1 + np.finfo(a.dtype).eps * rng.choice([-1.0, 1.0], a.shape)).astype(a.dtype) if a.dtype.kind == "f" else a


def _farthest(nearby: Iterator[Callable[[], Any]], right: np.ndarray, place_by_place: bool) -> np.ndarray:
    far = np.zeros(np.shape(right))
    for make in nearby:
        try:
            far = np.maximum(far, np.abs(make() - right))
        except Exception:  # so near there is none
            return np.full(far.shape, np.inf)
    far = np.where(np.isnan(far) & np.isfinite(right), np.inf, far)
    return TIMES * (far if place_by_place else np.full(far.shape, far.max(initial=0.0)))
