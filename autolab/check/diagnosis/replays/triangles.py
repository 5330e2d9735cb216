"""The part of a matrix that a rule keeps: the other triangle, none, without or with the diagonal, half of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..family import Family
from ..replay import Call
from .ways import BEFORE_AXES, Way, calls_of, is_affordable, ways

OTHER = {"tril": np.triu, "triu": np.tril}
STEP = {"tril": -1, "triu": 1}  # away from the diagonal


def diagonal(a: np.ndarray) -> np.ndarray:
    """A matrix, or a stack of them, with 0 beside the diagonal."""
    return a * np.eye(*a.shape[-2:])


WAYS: dict[str, Callable[[Call], Any]] = {
    "keeps the whole matrix where one triangle of it belongs": lambda call: call.array,
    "keeps the other triangle than belongs there": lambda call: OTHER[call.name](call.array, -call.axis),
    "leaves the diagonal out of a triangle": lambda call: call.run(call.axis + STEP[call.name]),
    "takes the diagonal into a triangle": lambda call: call.run(call.axis - STEP[call.name]),
    "counts the diagonal of a triangle twice: in a sum with its transpose it is there two times": lambda call: (
        call.run(call.axis) + diagonal(call.run(call.axis))
    ),
    "halves the diagonal of a triangle where it belongs whole": lambda call: call.run(call.axis) - diagonal(call.run(call.axis)) / 2,
    "halves a triangle where only its diagonal is halved": lambda call: (call.run(call.axis) + diagonal(call.run(call.axis))) / 2,
    "keeps the diagonal alone where a triangle belongs": lambda call: diagonal(call.run(call.axis)),
}


def other_triangles(first: Observation, x: str) -> Iterator[Family]:
    """Every other part of a matrix that explains the first call."""
    if first.reference.elementwise:
        return
    for way in ways(first, x):
        calls = calls_of(first, x, way)
        found = [k for k, call in enumerate(calls) if call.kind == "triangle"]
        for some in [[k] for k in found] + [found] * (len(found) > 1):
            for text, cut in WAYS.items():
                predict = partial(_cut, way=way, some=some, cut=cut)
                try:
                    fits = is_affordable(first, x, way, BEFORE_AXES) and first.gave(x, predict(first, x))
                except Exception:  # there is no such part
                    continue
                if fits:
                    yield Family("mask", text, predict, hint="triangle")


def _cut(o: Observation, x: str, way: Way, some: list[int], cut: Callable[[Call], Any]) -> np.ndarray:
    return way.changed(o, x, some, lambda k, call: cut(call) if call.kind == "triangle" else None)
