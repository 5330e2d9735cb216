"""Where forward compares numbers, as in a clip, a maximum or a condition: are both sides of each comparison drawn close by?

A rule whose own condition lies elsewhere, such as one that leaves a setting out of it, differs only between the two places. So where no
number was drawn near to where forward changes its formula, one input is moved there, to each side.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

COMPARED = {"greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "fmax", "fmin"}
MOST = 12  # comparisons of one call: of a long loop the first ones
NEAR = 0.1  # of the usual distance from a threshold: with so many numbers as an elementwise operation is tried on, some are
OF_A_SETTING = 0.6  # a rule may leave it out, and has its own threshold so far away then
LEAST = 0.2  # of what is near: nearer than that, two ways to write a threshold may differ
STEPS = np.array([0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2, 3, -3, 4.5, -4.5, 7, -7])  # how far an input is moved, to begin with
FAR = 14.0
HALVINGS = 24
BESIDE = (0.5, -0.5, 1.3, -1.3)
ASKED = 16  # arrays that `make` is asked for

Inputs = tuple[np.ndarray, ...]
Forward = Callable[..., Any]
Distances = list[np.ndarray]  # of each comparison of a call: by how much its first side is above its second


class Watched(np.ndarray):
    """An array that notes what it is compared with, and so does what is worked out of it."""

    found: Any = None

    def __array_finalize__(self, source: Any) -> None:
        self.found = getattr(source, "found", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [_plain(a) for a in inputs]
        if method == "__call__" and ufunc.__name__ in COMPARED:
            self._note(*plain)
        if method == "__call__" and ufunc.__name__ == "clip":
            for limit in plain[1:]:
                self._note(plain[0], limit)
        kwargs = {name: tuple(map(_plain, a)) if name == "out" else a for name, a in kwargs.items()}
        return self._watched(getattr(ufunc, method)(*plain, **kwargs))

    def __array_function__(self, function: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        return self._watched(super().__array_function__(function, types, args, kwargs))

    def _watched(self, value: Any) -> Any:
        if type(value) is np.ndarray or isinstance(value, np.floating):
            return _noting(np.asarray(value), self.found)
        return value

    def _note(self, a: Any, b: Any) -> None:
        of_library = str(sys._getframe(2).f_globals.get("__name__")).startswith("autolab.rules.")  # such as the pieces of erf
        if self.found is not None and len(self.found) < MOST and not of_library:
            self.found.append(np.asarray(np.subtract(a, b, dtype=float)))


def _noting(a: np.ndarray, found: Any) -> Watched:
    watched = a.view(Watched)
    watched.found = found
    return watched


def _plain(a: Any) -> Any:
    return a.view(np.ndarray) if isinstance(a, Watched) else a


def distances(forward: Forward, inputs: Sequence[np.ndarray]) -> Distances:
    """How far from their thresholds the comparisons of forward are; none if it does not run on such arrays."""
    found: Distances = []
    watched = []
    for a in inputs:
        a = np.asarray(a)
        if a.dtype.kind == "f":
            a = _noting(a, found)
        watched.append(a)
    try:
        forward(*watched)
    except Exception:  # it may want plain arrays, or raise for these
        return []
    return [d for d in found if np.all(np.isfinite(d))] if all(np.all(np.isfinite(d)) for d in found) else []


def nearby(
    forward: Forward, drawn: Sequence[Inputs], movable: Sequence[int], limits: Sequence[tuple[float, float]],
    settings: Iterable[Any], make: Callable | None,
) -> Iterator[Inputs]:  # fmt: skip
    """Inputs close to the thresholds of forward, on those sides where none of those that were drawn is.

    `movable`: which inputs may be moved, within these limits; `make` gives others instead.
    """
    numbers = [abs(s) for s in settings if isinstance(s, float) and s]
    seen = [distances(forward, inputs) for inputs in drawn]
    if not all(seen) or len({len(found) for found in seen}) > 1:
        return
    for k in range(len(seen[0])):
        pooled = np.concatenate([np.ravel(found[k]) for found in seen])
        near = min([NEAR * float(np.median(np.abs(pooled))), *(OF_A_SETTING * number for number in numbers)])
        for sign in (1, -1):
            if not near or np.any((sign * pooled > 0) & (sign * pooled <= near)):
                continue
            if make:
                yield from _made(forward, make, k, sign)
            elif around := _around(forward, drawn[0], movable, limits, k, sign, near, numbers):
                yield around
            else:
                yield from _moved(forward, drawn[0], movable, limits, k, sign, near)[: 1 + (not np.any(sign * pooled > 0))]


def _made(forward: Forward, make: Callable, k: int, sign: int) -> list[Inputs]:
    """Of some that are made, the ones that come nearest to a threshold on this side."""
    every = [tuple(make()) for _ in range(ASKED)]
    least, number = min((_nearest(distances(forward, inputs), k, sign), number) for number, inputs in enumerate(every))
    return [every[number]] if least < np.inf else []


def _nearest(found: Distances, k: int, sign: int) -> float:
    """How near it is on this side of a threshold, where it is on it at all."""
    above = sign * np.ravel(found[k]) if k < len(found) else np.empty(0)
    return float(np.min(above[above > 0], initial=np.inf))


def _around(
    forward: Forward, base: Inputs, movable: Sequence[int], limits: Sequence[tuple[float, float]], k: int, sign: int, near: float,
    numbers: Sequence[float],
) -> Inputs | None:  # fmt: skip
    """Every other entry of an input a little below or above a setting, or beyond it on the other side of 0."""
    for i, (low, high) in zip(movable, limits, strict=True) if numbers else ():
        values = np.resize(np.outer(BESIDE, numbers), base[i].size) * (1 + 1e-3 * np.arange(base[i].size))  # no two alike
        values = np.where(np.arange(base[i].size) % 2, base[i].ravel(), values).reshape(base[i].shape)
        inputs = (*base[:i], values, *base[i + 1 :])
        if np.all((low < values) & (values < high)) and _nearest(distances(forward, inputs), k, sign) <= near:
            return inputs
    return None


def _moved(
    forward: Forward, base: Inputs, movable: Sequence[int], limits: Sequence[tuple[float, float]], k: int, sign: int, near: float
) -> list[Inputs]:
    """The same inputs, one of them moved until a number is close to this threshold, on this side of it; and moved farther than that."""
    at_first = distances(forward, base)
    for i, (low, high) in zip(movable, limits, strict=True):
        size, shape = base[i].size, base[i].shape
        steps = np.random.default_rng(3).uniform(0.4, 1.0, size)
        for direction in (steps, steps * np.where(np.arange(size) % 3 < 2, 1, -1)):  # all of them up, or some up and some down
            move = partial(_with, base, i, direction.reshape(shape), low, high)
            for t in STEPS:
                found = distances(forward, move(t))
                if len(found) != len(at_first) or found[k].shape != at_first[k].shape:
                    continue
                crossed = np.flatnonzero(np.sign(found[k]) * np.sign(at_first[k]) < 0)
                if crossed.size and (made := _between(forward, move, t, k, int(crossed[0]), sign, near)):
                    return [made, move(float(np.copysign(FAR, t)))]
    return []


def _with(base: Inputs, i: int, direction: np.ndarray, low: float, high: float, t: float) -> Inputs:
    return (*base[:i], np.clip(base[i] + t * direction, low, high), *base[i + 1 :])


def _between(forward: Forward, moved: Callable[[float], Inputs], far: float, k: int, at: int, sign: int, near: float) -> Inputs | None:
    """Between 0 and `far`, where comparison k of entry `at` turns round: close to that."""
    ends = {np.sign(np.ravel(distances(forward, moved(t))[k])[at]): t for t in (0.0, far)}
    for _ in range(HALVINGS):
        t = (ends[1] + ends[-1]) / 2
        found = distances(forward, moved(t))
        if len(found) <= k:
            return None
        here = float(np.ravel(found[k])[at])
        if LEAST * near <= sign * here <= near:
            return moved(t)
        ends[sign if sign * here > near else -sign] = t
    return None
