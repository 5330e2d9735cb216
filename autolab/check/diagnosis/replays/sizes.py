"""One size for another inside a rule: n - 1 for n, the size of another axis, no division at all, at one step or at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..family import Family
from ..replay import Call
from ..shapes import count
from .axes import in_words
from .ways import BEFORE_AXES, Steps, Way, calls_of, calls_that_count, calls_with_g, is_affordable, ways

AVERAGES = {"mean": 1.0, "var": 1.0, "std": 0.5}  # and the power of the size in them
SUMS = ("sum", "add")


# What is divided by instead of n: of n, and the shape of x.
TARGETS: Mapping[str, Callable[[int, tuple[int, ...]], float]] = {
    "n - 1": lambda n, shape: n - 1,
    "n + 1": lambda n, shape: n + 1,
    "the number of all entries": lambda n, shape: math.prod(shape),
    "the size of axis 0": lambda n, shape: shape[0],
    "the size of the last axis": lambda n, shape: shape[-1],
    "the size of axis 1": lambda n, shape: shape[1],
    "the size of the axis before the last": lambda n, shape: shape[-2],
    "the number of results": lambda n, shape: math.prod(shape) / n,
    "the square root of n": lambda n, shape: math.sqrt(n),
}


def other_sizes(first: Observation, x: str) -> Iterator[Family]:
    """Every way to take another size that explains the first call."""
    if first.reference.elementwise:
        return
    for way in ways(first, x):
        tried: dict[Any, bool] = {}
        for key, size in _slips(first, x, way):
            if key not in tried:
                try:
                    tried[key] = is_affordable(first, x, way, BEFORE_AXES) and _gives(first, x, way, key, size)
                except Exception:  # this size is none of this array, or the function that nobody knows cannot take it
                    tried[key] = False
            if tried[key]:
                yield replace(size, exact=not isinstance(way, Steps))


def _gives(first: Observation, x: str, way: Way, key: Any, size: Family) -> bool:
    value = first.worked_out(("sizes", x, way.key, key), lambda: size.predict(first, x))
    return value is not None and first.gave(x, value)


def _slips(first: Observation, x: str, way: Way) -> Iterator[tuple[Any, Family]]:
    """Each slip, and a key that those share which are the same in the first call."""
    calls = calls_of(first, x, way)
    steps = {k: calls[k] for k in calls_that_count(first, x, way) if _size(calls[k]) and not _is_a_setting(calls[k], first)}
    of_g, alone = calls_with_g(first, x, way), len({in_words(call) for call in steps.values()}) == len(steps)
    some = [(_where(call, x, alone, k in of_g), [k]) for k, call in steps.items()]
    if len(steps) > 1:
        some.append(("everywhere", list(steps)))
        together = [k for k in steps if k in of_g]
        if 1 < len(together) < len(steps):
            some.append(("in what g is averaged into", together))
    for where, ks in some:
        one_less = [_is_one_less(steps[k], first, x) for k in ks]
        for said, to in TARGETS.items():
            if said == "n - 1" and any(one_less):
                continue
            less = said == "n + 1" and all(one_less)
            belongs = "n - 1 belongs" if less else "n belongs"
            text = f"divides by {'n' if less else said} {where}, where {belongs}: n is the number of entries that go into it"
            key = *ks, *(_instead(to, steps[k], first, x) for k in ks)
            yield key, Family("constant", text, partial(_sized, way=way, some=ks, to=to), hint="size")
        text = f"{'never divides' if where == 'everywhere' else f'does not divide {where}'} by n, as a mean does"
        yield ("none", *ks), Family("constant", text, partial(_sized, way=way, some=ks, to=_one), hint="size")
    for k, call in enumerate(calls):
        if call.kind == "along" and call.name in SUMS:
            yield ("mean", k), Family("averaged", "has a mean where one of its sums belongs", partial(_averaged, way=way, k=k), hint="size")


def _one(n: int, shape: tuple[int, ...]) -> int:
    return 1


def _where(call: Call, x: str, alone: bool, of_g: bool) -> str:
    """Which step it is, as far as there are several of its kind."""
    return f"in its {in_words(call)}" if alone else f"in a {in_words(call)} of {'what g is in' if of_g else f'values of {x} alone'}"


def _instead(to: Callable, call: Call, o: Observation, x: str) -> float | None:
    try:
        return to(_size(call), o.want[x].shape)
    except IndexError:
        return None


def _is_a_setting(call: Call, o: Observation) -> bool:
    """Is it divided by a setting that is no count, such as degrees of freedom of 3.0?"""
    return call.kind == "divide" and any(isinstance(v, float) and v == call.axis for v in o.settings.values())


def _size(call: Call) -> int:
    """How many entries a mean is of, or the size that it is divided by; 0 if it is neither."""
    if call.kind == "divide":
        return call.axis
    if call.kind != "along" or call.name not in AVERAGES:
        return 0
    return count(call.array.shape, call.axis) - _less(call)


def _less(call: Call) -> int:
    """By how much less than the number of entries a variance is divided."""
    if call.name == "mean":
        return 0
    n = count(call.array.shape, call.axis)
    right, plain = (np.ravel(f)[0] ** (1 / AVERAGES[call.name]) for f in (call.run(call.axis), getattr(call.array, call.name)(call.axis)))
    return int(n - round(n * plain / right)) if right and plain else 0


def _sized(o: Observation, x: str, way: Way, some: list[int], to: Callable) -> np.ndarray:
    shape = o.want[x].shape

    def change(k: int, call: Call) -> Any:
        n = _size(call)
        if not n:
            raise LookupError("another step appears there")
        if call.kind == "divide":
            return call.run(to(n, shape))
        return call.run(call.axis) * (n / to(n, shape)) ** AVERAGES[call.name]

    return way.changed(o, x, some, change)


def _is_one_less(call: Call, o: Observation, x: str) -> bool:
    """Is it divided by a number of entries less 1? Such a number is no size of axes itself."""
    shape = o.want[x].shape
    sizes = {math.prod(some) for n in range(1, len(shape) + 1) for some in combinations(shape, n)}
    if call.kind == "along":
        return _less(call) == 1
    return call.kind == "divide" and call.axis not in sizes and call.axis + 1 in sizes


def _averaged(o: Observation, x: str, way: Way, k: int) -> np.ndarray:
    def change(at: int, call: Call) -> Any:
        return call.run(call.axis) / count(call.array.shape, call.axis)

    return way.changed(o, x, (k,), change)
