"""The right rule on other numbers: with axes exchanged, without the last entry, round the ends, with a number in the place of a setting.

Nothing is known of the operation but its forward and its rule. Both are called with inputs that were changed, and what they give is brought
back; where that is what came back from the rule at hand, the change says what it takes for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ...run.observation import Observation, number
from ..budget import CALL, UNLIKELY, affordable
from ..diagnosis import Mistake
from ..family import Family
from ..quiet import quiet
from ..replays.settings import BACKWARD, may_not_use
from ..shapes import lifted

LARGEST = 128  # entries
HUGE = 1e6
ROUND = (0.9, 0.99, 0.95, 0.999, 0.8, 0.7, 0.75, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.1, 0.05, 0.01, 0.001, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)
Back = Callable[[np.ndarray], np.ndarray]


@quiet
def find_fixed_setting(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """A round number, or the size of an axis, in the place of a setting, in all these calls."""
    return _first_that_fits(wrong, x, _settings(wrong[0], x))


@quiet
def find_other_inputs(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first change of the inputs that explains all these calls."""
    first = wrong[0]
    if first.want[x].size > LARGEST or first.got[x].shape != first.want[x].shape:
        return None
    return _first_that_fits(wrong, x, _of_two_inputs(first, x) if first.reference.elementwise else _families(first, x))


def _first_that_fits(wrong: Sequence[Observation], x: str, every: Iterator[Family]) -> Mistake | None:
    several = len({id(o.out) for o in wrong}) > 1
    for family in every:
        if not affordable(wrong[0], CALL, UNLIKELY):
            return None
        if all(_fits(family, o, x) for o in wrong) and (several or _fits_elsewhere(family, wrong[0], x)):
            return Mistake(family.name, family.text, len(wrong) > 1, family.predict, hint=family.hint)
    return None


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        return o.gave(x, family.predict(o, x))
    except Exception:  # the operation takes no such numbers
        return False


def _fits_elsewhere(family: Family, o: Observation, x: str) -> bool:
    """Of one call: does it fit where the inputs have their numbers in another order, too? A choice of the largest may fit by chance."""
    inputs = tuple(np.roll(np.ravel(a)[::-1], 1).reshape(np.shape(a)) if np.asarray(a).dtype.kind == "f" else a for a in o.inputs)
    try:
        answers = o.ask([o.g], inputs) if o.ask else None
        names = o.reference.environment(inputs, o.settings)
        want = {x: o.reference.gradient(x, o.g, names)}
        return answers is not None and _fits(family, replace(o, names=names, got=answers[0], want=want, memo={}, about_right={}), x)
    except Exception:  # the operation takes no such numbers
        return False


def _settings(first: Observation, x: str) -> Iterator[Family]:
    for name, given in first.settings.items():
        text = f"does not use {name}: it is what would be right if {name} were "
        if isinstance(given, bool) or name in ("axis", "dim"):
            continue
        for value, how in ((HUGE, "large"), (-HUGE, "negative")) if isinstance(given, float) and may_not_use(first, name) else ():
            predict = partial(_with_setting, name=name, to=partial(_always, value=value))
            yield Family("setting", f"{text}very {how}: what is asked of it comes out the same in every call", predict)
        if isinstance(given, float) and 0 < given < 1 and given != 0.5:
            text_of_rest = f"uses 1 - {name} where {name} belongs"
            yield Family("setting", text_of_rest, partial(_with_setting, name=name, to=partial(_rest, name=name)))
        if not may_not_use(first, name):
            continue
        for value in ROUND if isinstance(given, float) else ():
            if value != given:
                predict = partial(_with_setting, name=name, to=partial(_always, value=value))
                yield Family("setting", f"{text}{number(value)} in every call", predict)
        for axis in range(first.want[x].ndim) if isinstance(given, int) else ():
            size = partial(_size, x=x, axis=axis)
            yield Family("setting", f"{text}the size of axis {axis} of {x}", partial(_with_setting, name=name, to=size))


def _always(o: Observation, value: float) -> float:
    return value


def _rest(o: Observation, name: str) -> float:
    return 1 - float(o.settings[name])


def _size(o: Observation, x: str, axis: int) -> int:
    return int(o.want[x].shape[axis])


def _with_setting(o: Observation, x: str, name: str, to: Callable[[Observation], Any]) -> np.ndarray:
    if name not in o.settings:
        raise LookupError("there is no such setting")
    names = o.reference.environment(o.inputs, {**o.settings, name: to(o)})
    if not np.all(np.isfinite(names["out"])):
        raise OverflowError("there is no derivative of what is not finite")
    return o.reference.gradient(x, o.g, names)


def _with_right_result(o: Observation, x: str, name: str, value: float, power: int) -> np.ndarray:
    """What would be right for another number, with the result of forward, of which it is a power, as it is."""
    other = o.reference.environment(o.inputs, {**o.settings, name: value})
    ratio = (other["out"] / o.out) ** power
    shape = o.want[x].shape
    return o.reference.gradient(x, o.g, other) * (lifted(ratio, o.want[x], o.names.get("axis", -1)) if ratio.shape != shape else ratio)


def _families(first: Observation, x: str) -> Iterator[Family]:
    yield from _of_two_inputs(first, x)
    yield from _pairs(first, x)
    yield from _indices(first, x)
    shape = first.want[x].shape
    own = isinstance(first.names.get("axis"), int)  # which is another one in other calls
    for along in (None,) if own else range(len(shape)):
        for k, said in ((-1, "last"), (0, "first")) if first.out.shape == shape and "out" in first.reference.rules[x][1] else ():
            text = f"uses the {said} result along {'the axis' if own else f'axis {along}'} for all, where each has its own"
            yield Family("places", text, partial(_with_one_result, axis=along, k=k))
    for name in [n for n, value in first.settings.items() if isinstance(value, float) and may_not_use(first, n)]:
        for value in (1.0, 2.0, 0.5, 3.0):
            for power in (1, -1, 2, -2):
                text = f"does not use {name}: it is what would be right if {name} were {number(value)}{BACKWARD}"
                yield Family("setting", text, partial(_with_right_result, name=name, value=value, power=power))
    for one, other in combinations(range(len(shape)), 2):
        text = f"is what belongs to another axis: all goes along axis {one} that should go along axis {other}, and the other way round"
        yield Family("axis", text, partial(_exchanged, axes=(one, other)))
    for axis in range(len(shape)):
        for end, said in ((-1, "last"), (0, "first")):
            text = f"leaves out the {said} entry along axis {axis} of {x}: it is right as if that were not there"
            yield Family("places", text, partial(_shorter, axis=axis, end=end))
        text = f"goes on at the beginning of axis {axis} of {x} where it comes to the end: forward stops at the ends"
        yield Family("padding", text, partial(_round_the_ends, axis=axis))
    for y in first.reference.inputs:
        for axis in range(len(first.shape(y))) if y != x and np.asarray(first.names[y]).dtype.kind == "f" else ():
            for end, said in ((-1, "last"), (0, "first")):
                text = f"leaves out the {said} entry of {y} along axis {axis}: it is right as if that were 0"
                yield Family("places", text, partial(_without, y=y, axis=axis, end=end))
    others = [y for y in first.reference.inputs if y != x and first.shape(y) == first.g.shape]
    for y in others:
        for axis in range(-1, -first.g.ndim - 1, -1):
            text = f"takes {y} from the wrong side along axis {axis}: k places on where it belongs k places back, or the other way round"
            yield Family("flipped", text, partial(_both_flipped, y=y, axis=axis))
    if len(shape) == 2 and first.g.ndim == 1:
        yield Family("keepdims", LAID.format("g"), partial(_laid, name="g"))
        for name in first.reference.rules[x][1]:
            if name != x and np.shape(np.asarray(first.names.get(name))) == first.g.shape:
                yield Family("keepdims", LAID.format("the result of forward" if name == "out" else name), partial(_laid, name=name))


def _indices(first: Observation, x: str) -> Iterator[Family]:
    """Whole numbers that say where something belongs: not looked at, or one of them for all along an axis."""
    for y in first.reference.inputs:
        if y == x or np.asarray(first.names[y]).dtype.kind not in "iu" or not np.ndim(first.names[y]):
            continue
        text = f"does not use {y}: it is what would be right if {y} counted 0, 1, 2 and so on"
        yield Family("places", text, partial(_counted, y=y))
        for axis in range(np.ndim(first.names[y])):
            for k, said in ((0, "first"), (-1, "last")):
                text = f"uses the {said} entry of {y} along axis {axis} alone: it is what would be right if all entries there were that one"
                yield Family("one of many", text, partial(_one_for_all_along, y=y, axis=axis, k=k))


def _of_two_inputs(first: Observation, x: str) -> Iterator[Family]:
    """An operation of the sum or difference of two inputs, as if of each by itself; or the rest of a share where the share belongs."""
    alike = [y for y in first.reference.differentiable() if y != x and first.shape(y) == first.shape(x)]
    if len(alike) == 1:
        both = " and ".join(y for y in first.reference.inputs if y in (x, alike[0]))
        text = f"adds up what {both} give each by itself: a function of their sum or difference is not the sum of its values"
        yield Family("operation", text, partial(_by_themselves, y=alike[0]))
    for y in first.reference.inputs:
        value = np.asarray(first.names[y])
        if value.dtype.kind == "f" and value.size and value.min() > 0 and value.max() < 1:
            yield Family("variable", f"uses 1 - {y} where {y} belongs", partial(_with_input, y=y, change=partial(np.subtract, 1)))


def _pairs(first: Observation, x: str) -> Iterator[Family]:
    """An operation of pairs of entries, of which one hears nothing."""
    if first.shape(x) and 2 < first.shape(x)[0] <= MOST_PARTNERS:
        for before in (True, False):
            which = "before" if before else "after"
            text = f"lacks a part of each pair of entries: along axis 0 of {x}, each has what comes of those {which} it"
            text += " and not of the others"
            yield Family("term", text, partial(_of_some_partners, before=before))


MOST_PARTNERS = 8


def _with_input(o: Observation, x: str, y: str, change: Callable[[np.ndarray], np.ndarray], g: np.ndarray | None = None) -> np.ndarray:
    """What is right for another value of one input."""
    inputs = [change(np.asarray(o.names[name])) if name == y else o.names[name] for name in o.reference.inputs]
    return o.reference.gradient(x, o.g if g is None else g, o.reference.environment(inputs, o.settings))


def _counted(o: Observation, x: str, y: str) -> np.ndarray:
    """Of more numbers than x has rows the rest goes nowhere."""
    index = np.asarray(o.names[y])
    count = np.arange(index.size).reshape(index.shape)
    inside = count < len(o.want[x])
    g = o.g
    if not inside.all():
        if o.g.shape[: index.ndim] != index.shape:
            raise LookupError("a result has several of these numbers")
        g = o.g * inside.reshape(index.shape + (1,) * (o.g.ndim - index.ndim))
    return _with_input(o, x, y, lambda a: np.where(inside, count, 0).astype(a.dtype), g)


def _one_for_all_along(o: Observation, x: str, y: str, axis: int, k: int) -> np.ndarray:
    return _with_input(o, x, y, lambda a: np.ascontiguousarray(np.broadcast_to(np.take(a, [k], axis), a.shape)))


def _with_one_result(o: Observation, x: str, axis: int | None, k: int) -> np.ndarray:
    one = np.broadcast_to(np.take(o.out, [k], o.names["axis"] if axis is None else axis), o.out.shape)
    return o.reference.gradient(x, o.g, {**o.names, "out": one})


def _by_themselves(o: Observation, x: str, y: str) -> np.ndarray:
    """The gradient where the other input is 0, and that where this one is."""
    return _with_input(o, x, x, np.zeros_like) + _with_input(o, x, y, np.zeros_like)


def _of_some_partners(o: Observation, x: str, before: bool) -> np.ndarray:
    """Each entry along axis 0 as if those after it, or before it, were not there; ended at the first that is not what came back."""
    n = o.shape(x)[0]
    found = np.zeros_like(o.want[x])
    alone = 0 if before else n - 1  # without a partner
    if np.any(o.got[x][alone]):
        raise LookupError("it is something else")
    for k in range(n):
        if k == alone:
            continue
        some = slice(k + 1) if before else slice(k, n)
        inputs = [a[some] if np.ndim(a) and len(a) == n else a for a in o.inputs]
        names = o.reference.environment(inputs, o.settings)
        g = o.g[some] if o.g.ndim and len(o.g) == n else o.g
        if np.shape(names["out"]) != g.shape:
            raise LookupError("the result has another shape")
        found[k] = o.reference.gradient(x, g, names)[k if before else 0]
        if np.abs(found[k] - o.got[x][k]).max() > 1e-9 * np.abs(o.want[x]).max():
            raise LookupError("it is something else")
    return found


LAID = "lays {} along the last axis: the axis that forward removed was not put back in its place"


def _changed(o: Observation, x: str, change: Callable[[np.ndarray], np.ndarray], g: np.ndarray | None = None) -> np.ndarray:
    """The gradient where all inputs of the shape of x, or of as many axes, are changed alike; g is if it is of that shape."""
    shape = o.shape(x)
    inputs = [change(np.asarray(a)) if np.shape(a) == shape else a for a in o.inputs]
    names = o.reference.environment(inputs, o.settings)
    if g is None:
        g = change(o.g) if o.g.shape == shape else o.g
    if names["out"].shape != g.shape:
        raise LookupError("the result has another shape")
    return o.reference.gradient(x, g, names)


def _exchanged(o: Observation, x: str, axes: tuple[int, int]) -> np.ndarray:
    def turn(a: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.swapaxes(a, *axes))

    g = turn(o.g) if o.g.ndim == o.want[x].ndim else o.g
    return turn(_changed(o, x, turn, g))


def _shorter(o: Observation, x: str, axis: int, end: int) -> np.ndarray:
    n = o.want[x].shape[axis]
    value = _changed(o, x, lambda a: np.delete(a, end % n, axis))
    return np.insert(value, n - 1 if end else 0, 0.0, axis)


def _round_the_ends(o: Observation, x: str, axis: int) -> np.ndarray:
    """Of one result: the gradient of it for x with one entry of the other end before and after it."""
    n = o.want[x].shape[axis]
    if o.g.ndim or n < 3:
        raise LookupError("each result has ends of its own")
    return np.take(_changed(o, x, lambda a: np.take(a, range(-1, n + 1), axis, mode="wrap")), range(1, n + 1), axis)


def _without(o: Observation, x: str, y: str, axis: int, end: int) -> np.ndarray:
    less = np.array(o.names[y])
    np.moveaxis(less, axis, 0)[end] = 0
    inputs = [less if name == y else o.names[name] for name in o.reference.inputs]
    return o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings))


def _both_flipped(o: Observation, x: str, y: str, axis: int) -> np.ndarray:
    inputs = [np.flip(o.names[name], axis) if name == y else o.names[name] for name in o.reference.inputs]
    return o.reference.gradient(x, np.flip(o.g, axis), o.reference.environment(inputs, o.settings))


def _laid(o: Observation, x: str, name: str) -> np.ndarray:
    """Column j as if the value of row j were that of all rows."""
    rows, columns = o.want[x].shape
    values = np.asarray(o.g if name == "g" else o.names[name])
    if values.shape != (rows,) or rows != columns:
        raise LookupError("it would not fit there")
    found = np.empty_like(o.want[x])
    for j, value in enumerate(values):
        same = np.full_like(values, value)
        g, names = (same, o.names) if name == "g" else (o.g, {**o.names, name: same})
        found[:, j] = o.reference.gradient(x, g, names)[:, j]
    return found
