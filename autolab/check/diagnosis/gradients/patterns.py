"""Explanations that look at the gradient itself: what is said only if it is seen in every call that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ...run.observation import Observation, all_among, all_differ, close, error_of, number
from ..diagnosis import Mistake
from ..quiet import quiet
from ..replays.chains import stretched
from ..shapes import axes_in_words
from .digits import hears
from .indices import mistaken_index
from .jacobian import OVERWRITTEN, recognise, ties
from .jacobian_rows import LARGEST, backwards, is_linear, jacobians, right_row
from .scaling import reduction

Observations = list[Observation]
BELONGS = "what belongs at"
WRONG_PLACES = "in the wrong places"
NEAR = 0.05  # of the largest entry


def seen_in_all(wrong: Observations, x: str, look: Callable[[Observation, str], Mistake | None]) -> Mistake | None:
    """What one call shows, if all the others show the same kind of mistake."""
    first = look(wrong[0], x)
    return first if first and all((f := look(o, x)) and f.family == first.family for o in wrong[1:]) else None


def is_thin(o: Observation, x: str) -> bool:
    """Would stretching make it right? Zeros may as well be a sum of zeros."""
    got, want = o.got[x], o.want[x]
    if got.size >= want.size or got.ndim > want.ndim or not want.any():
        return False
    try:
        return close(np.broadcast_to(got, want.shape), want)
    except ValueError:
        return False


def is_surplus(o: Observation, x: str) -> bool:
    """Right wherever the right one is not 0, and the same number where it is: nothing was asked of the places."""
    got, want = o.got[x], o.want[x]
    if got.shape != want.shape or o.reference.elementwise:
        return False
    needed = want != 0
    return bool(needed.any() and not needed.all() and close(got[needed], want[needed]) and got[~needed].all())


@quiet
def find_nan(wrong: Observations, x: str, besides: bool = False) -> Mistake | None:
    """Not a number, or infinite, where the right gradient is an ordinary number; `besides`: and something else is wrong, too."""
    if not besides and any(np.isfinite(o.got[x]).all() for o in wrong):
        return None
    for o in wrong:
        got, want = o.got[x], o.want[x]
        lost = ~np.isfinite(got) if got.shape == want.shape else np.zeros(())
        if not lost.any() or not np.isfinite(want).all():
            continue
        text = f"is not a number (nan, inf) at {int(lost.sum())} of {lost.size} places"
        if besides:
            text += ", and not right at the others"
        elif not close(np.where(lost, want, got), want):
            continue
        for name in (*o.reference.inputs, "out", "g"):
            value = np.asarray(o.g if name == "g" else o.names[name])
            if value.shape == lost.shape:
                for word, test in (("negative", value < 0), ("positive", value > 0)):
                    if np.array_equal(test, lost) and not lost.all():
                        text += f": exactly where {name} is {word}"
        return Mistake("nan", f"{text}; a log or root of a negative number, or 0 / 0, on the way", True, place=o)
    return None


@quiet
def find_tie(wrong: Observations, x: str) -> Mistake | None:
    """Something else than equal shares, where several entries are the largest."""
    for o in wrong:
        values = np.asarray(o.names[x])
        if o.reference.elementwise or all_differ(values):
            return None
    found = [ties(o, pair) for o in _distinct(wrong) if (pair := jacobians(o, x)) and is_linear(o, pair)]
    return found[0] if found and all(f == found[0] for f in found) else None


@quiet
def find_average(o: Observation, x: str) -> Mistake | None:
    """Was what a layer adds up for its bias averaged?"""
    found = (reduction(o.got[x], full, shape) for full, shape in stretched(o, x))
    return next((f for f in found if f and f.family == "averaged"), None)


@quiet
def find_reduction(o: Observation, x: str) -> Mistake | None:
    """What was summed that should not be; or, where g itself should be summed (a bias), along which axes it was."""
    got, want = o.got[x], o.want[x]
    if found := reduction(got, want, want.shape, ()):
        return found
    for full, shape in stretched(o, x):
        if found := reduction(got, full, shape):
            return found
    for count in range(1, o.g.ndim + 1) if o.g.ndim >= want.ndim and not o.reference.elementwise else ():
        for axes in combinations(range(o.g.ndim), count):
            summed = o.g.sum(axes, keepdims=True)
            if summed.size == want.size and close(summed.reshape(want.shape), want):
                return reduction(got, o.g, want.shape, axes)
    return None


@quiet
def find_exchange(calls: Observations, x: str) -> Mistake | None:
    """Has the gradient the shape of the other input, wherever the two shapes differ?"""
    for y in calls[0].reference.differentiable() if calls else ():
        differ = [o for o in calls if o.shape(x) != o.shape(y)]
        if y != x and differ and all((np.shape(o.got[x]), np.shape(o.got[y])) == (o.shape(y), o.shape(x)) for o in differ):
            return Mistake("swapped", f"has the shape of {y}, and that for {y} the shape of {x}", True, place=differ[0])
    return None


@quiet
def find_move(wrong: Observations, x: str) -> Mistake | None:
    """The right numbers in other places."""
    if wrong[0].reference.elementwise or not all(o.want[x].size > 1 for o in wrong):
        return None
    mover = all(all_among(o.want[x], o.g) for o in wrong)  # nothing but moving: every number comes from g as it is
    o = wrong[-1]
    got, want = o.got[x], o.want[x]
    if not all(o.got[x].size == o.want[x].size and close(np.sort(o.got[x], axis=None), np.sort(o.want[x], axis=None)) for o in wrong):
        if not mover or not all(all_among(o.got[x], o.g) for o in wrong):
            return None
        if got.shape != want.shape:
            what = "is another piece of g: it" if got.size <= o.g.size else "is made of the numbers of g, and"
            return Mistake("pieces", f"{what} has shape {got.shape}, expected {want.shape}", True)
        return Mistake("pieces", f"is another piece of g than the one that came from {x}", True)
    if all(close(o.got[x].ravel(), o.g.ravel()) for o in wrong):
        text = "has its numbers in the order of g: they were given another shape, and not moved back to where they came from"
        return Mistake("permutation", text, True)
    if all(o.want[x].ndim > 1 and close(o.got[x], np.reshape(o.want[x].ravel(), o.want[x].shape, order="F")) for o in wrong):
        text = "has its numbers put in column by column, or taken out so, where the rows of forward go one after the other"
        return Mistake("permutation", f"{text}: a reshape and a transpose are not the same", True)
    if got.shape != want.shape:
        how = "with the axes in another order" if sorted(got.shape) == sorted(want.shape) else "in an array of another shape"
        return Mistake("permutation", f"has the right numbers {how}: {got.shape}, expected {want.shape}", mover)
    rolled = [_rolled(o, x) for o in wrong]
    if all(rolled) and (last := rolled[-1]):
        by, axis = last
        if all(2 * k[0] == o.want[x].shape[k[1]] for k, o in zip(rolled, wrong, strict=True) if k):
            halves = f"has its two halves along axis {axis} of {x} exchanged"
            return Mistake("permutation", f"{halves}: it is rolled by {by} of {want.shape[axis]} places along axis {axis}", mover)
        text = f"is rolled by {by} of {want.shape[axis]} places along axis {axis} of {x}: it has the right numbers, that much too far on"
        return Mistake("permutation", text, mover)
    if all(o.g.ndim < o.want[x].ndim and close(o.got[x], np.resize(o.g, o.want[x].shape)) for o in wrong):
        text = f"repeats g in the order of its numbers until {x} is full: the axis that forward removed was not put back in its place"
        return Mistake("permutation", text, mover, hint="keepdims")
    for axis in range(want.ndim):
        if all(o.want[x].ndim > axis and _at_one_place(o.got[x], axis) and not _at_one_place(o.want[x], axis) for o in wrong):
            text = (
                f"fills the same places of each line along axis {axis} of {x}: forward chose its entries by their size, not by their place"
            )
            return Mistake("places", text, mover)
    text = f"has the right numbers {WRONG_PLACES}"
    for at in np.argwhere(~np.isclose(got, want)):
        value = want[tuple(at)]
        if value and np.isclose(want, value).sum() == 1:  # of equal numbers nobody knows which is where
            text += f": {BELONGS} {at.tolist()} is at {np.argwhere(np.isclose(got, value))[0].tolist()}"
            break
    return Mistake("permutation", text, mover)


def _at_one_place(a: np.ndarray, axis: int) -> bool:
    """Are the same entries of each line not 0, and the others 0?"""
    heard = np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis]) != 0
    return len(heard) > 2 and not heard.all() and bool(np.all(heard == heard[0]))


def _rolled(o: Observation, x: str) -> tuple[int, int] | None:
    """By how many places, and along which axis, the right one would have to be rolled to give what came back."""
    want = o.want[x]
    tries = ((by, axis) for axis in range(want.ndim) for by in range(1, want.shape[axis]))
    return next((k for k in tries if close(o.got[x], np.roll(want, *k))), None)


def _distinct(wrong: Observations) -> Observations:
    """One of the two g of each call is enough where the whole Jacobian is looked at."""
    return list({id(o.out): o for o in reversed(wrong)}.values())[::-1]


MOST_JACOBIANS = 3  # each takes a call of the learner's rule for every result
MOST_ROWS = 96  # of all of them; two are looked at in any case


def _telling(calls: Observations) -> Observations:
    """A few calls: for each setting the smallest, then others."""
    first = {repr(o.settings): o for o in reversed(calls)}
    few = sorted(calls, key=lambda o: first[repr(o.settings)] is not o)[:MOST_JACOBIANS]
    return few if sum(o.out.size for o in few) <= MOST_ROWS else few[:2]


@quiet
def find_in_jacobian(wrong: Observations, x: str, look: Callable = recognise) -> Mistake | None:
    """What the two Jacobians show, if they show the same in two calls; sure if they do in all."""
    found: list[Mistake] = []
    asked = _telling(_distinct(wrong))
    for o in asked:
        pair = jacobians(o, x)
        if pair is None or not is_linear(o, pair) or not np.isfinite(pair.yours).all():
            continue
        seen = look(o, pair)
        if seen is None or (found and found[0].family != seen.family):
            if len(found) < 2:
                return None
            break
        found.append(replace(seen, place=o))
    if not found:
        return None
    kinds = {f.text for f in found if not any(map(str.isdigit, f.text))}  # a number is of one call
    return replace(found[0], sure=found[0].sure and len(found) == len(asked) > 1 and len(kinds) < 2)


@quiet
def find_index(wrong: Observations, x: str) -> Mistake | None:
    """An index into another array, seen in two calls; elsewhere it may have met an entry that ties, by chance."""
    o = wrong[0]
    calls = _distinct(wrong)
    if o.reference.elementwise or sum(o.out.size for o in calls) > MOST_ROWS or any(np.size(o.names[x]) != o.want[x].size for o in calls):
        return None
    found: list[Mistake] = []
    for o in calls:
        pair = jacobians(o, x)
        if pair is None or not is_linear(o, pair):
            return None
        if (~pair.zero & ~pair.needed).any():
            seen = mistaken_index(o, pair)
            if seen is None or (found and found[0].family != seen.family):
                return None
            found.append(replace(seen, place=o))
    return replace(found[0], sure=all(f.sure for f in found)) if len(found) > 1 else None


@quiet
def find_overwritten(wrong: Observations, x: str) -> Mistake | None:
    """Of a move with many results: one entry of g where several have to be added, and right where there is one."""
    if all(o.out.size <= LARGEST for o in wrong):  # whose Jacobian says more
        return None
    for o in wrong:
        got, want = o.got[x], o.want[x]
        if o.reference.elementwise or got.shape != want.shape or not o.g.ndim or not all_among(got, np.append(o.g, 0.0)):
            return None
        uses = o.reference.gradient(x, np.ones_like(o.g), o.names)
        off = np.flatnonzero(~np.isclose(got, want, rtol=1e-9, atol=1e-12))
        if np.any(np.ravel(uses)[off] < 1.5) or not np.all(np.ravel(got)[off]):
            return None
        where = {value: k for k, value in enumerate(np.ravel(o.g).tolist())}
        if not all(right_row(o, x, where[np.ravel(got)[k]]).flat[k] for k in off[:8].tolist()):
            return None
    return Mistake("overwritten", OVERWRITTEN, len(wrong) > 1)


@quiet
def find_fixed_size(wrong: Observations, x: str) -> Mistake | None:
    """Right up to the same place along an axis in all calls, whatever its size, and 0 from there on."""
    if wrong[0].reference.elementwise or any(not o.got[x].shape or o.got[x].shape != o.want[x].shape for o in wrong):
        return None
    for axis in range(min(o.want[x].ndim for o in wrong)):
        sizes = {o.want[x].shape[axis] for o in wrong}
        ends = {_end(o, x, axis) for o in wrong}
        if len(sizes) > 1 and len(ends) == 1 and 1 < (end := ends.pop()) < min(sizes):
            text = f"is right for the first {end} entries along axis {axis} of {x} and 0 after them, whatever its size is"
            return Mistake("number", f"{text}: a size seems to be a fixed number", True, hint="fixed size", parts=("places",))
    return None


def _end(o: Observation, x: str, axis: int) -> int:
    """Up to which entry along an axis the gradient is right, if it is 0 from there on; else 0."""
    got, want = (np.moveaxis(a[x], axis, 0) for a in (o.got, o.want))
    heard = np.flatnonzero(got.reshape(len(got), -1).any(axis=1))
    end = int(heard[-1]) + 1 if len(heard) else 0
    return end if close(got[:end], want[:end]) and want[end:].any() else 0


@quiet
def find_early_sum(wrong: Observations, x: str) -> Mistake | None:
    """Of a product: g added up to the shape of the input, and then times a value of that shape, or nothing."""
    o = wrong[0]
    if o.reference.elementwise or len(o.reference.inputs) < 2:
        return None
    for count in range(1, o.g.ndim + 1):
        for axes in combinations(range(o.g.ndim), count):
            for name in ("", *o.reference.inputs, "out"):
                if all(_is_summed_times(o, x, axes, name) for o in wrong):
                    text = f"is g, added up over {axes_in_words(axes)}"
                    if not name:
                        return Mistake("upstream only", f"{text}: the local derivative is missing")
                    whose = ": each entry of g has its own partner, before anything is added up"
                    if name == x:
                        whose = " itself: the values of another input belong there"
                    return Mistake("variable", f"{text}, times {name}{whose}")
    return None


def _is_summed_times(o: Observation, x: str, axes: tuple[int, ...], name: str) -> bool:
    summed = o.g.sum(axes) if max(axes) < o.g.ndim else o.g
    value = np.asarray(o.names[name]) if name else np.ones(())
    if summed.shape != o.want[x].shape or value.shape not in ((), summed.shape):
        return False
    return close(o.got[x], summed * value)


@quiet
def find_g_unused(wrong: Observations, x: str) -> Mistake | None:
    """Does the gradient stay the same for another g?"""
    pairs = [(one, other) for one, other in combinations(wrong, 2) if one.out is other.out and not np.array_equal(one.g, other.g)]
    if pairs and all(one.got[x].any() and close(one.got[x], other.got[x]) for one, other in pairs) and not hears(pairs[0][0], x):
        return Mistake("upstream ignored", "does not change when g does: the incoming gradient is not used")
    return None


@quiet
def find_g_dependence(wrong: Observations, x: str) -> Mistake | None:
    """Whatever the formula is: does the gradient change with g, and is it linear in it?"""
    if found := find_g_unused(wrong, x):
        return found
    pairs = [(one, other) for one, other in combinations(wrong, 2) if one.out is other.out and not np.array_equal(one.g, other.g)]
    for one, other in pairs:
        both = one.ask([one.g + other.g, 2 * one.g]) if one.ask else None
        if both is None or any(b[x] is None or b[x].shape != one.got[x].shape for b in both):
            continue
        if not close(both[0][x], one.got[x] + other.got[x]) and not close(both[1][x], 2 * one.got[x]):
            text = "is not linear in g: twice the g does not give twice the gradient"
            return Mistake("upstream twice", text)
    return None


@quiet
def find_part_without_g(wrong: Observations, x: str) -> Mistake | None:
    """The right one, and something besides that is there without any g."""
    parts = []
    for o in wrong:
        answers = o.ask([np.zeros_like(o.g)]) if o.ask and np.shape(o.got[x]) == o.want[x].shape else None
        rest = answers[0][x] if answers else None
        if rest is None or np.shape(rest) != o.want[x].shape or not np.any(rest) or not close(o.got[x] - rest, o.want[x]):
            return None
        parts.append(rest)
    text = "is the right one, and besides something is added that g has no part in: where g is 0, this gradient is not"
    return Mistake("upstream added", text + _added(parts, wrong), len(wrong) > 1)


def _added(parts: list[np.ndarray], wrong: Observations) -> str:
    """What is added, if it is one number, a setting or an input wherever it is not 0."""
    added = np.concatenate([part[part != 0] for part in parts])
    if len(added) > 1 and close(added, np.full_like(added, added[0])) and not wrong[0].settings:
        return f". It is {number(added[0])}"
    for name in (*wrong[0].settings, *wrong[0].reference.inputs, "out"):
        values = [np.asarray(o.names.get(name)) for o in wrong]
        if any(v.dtype.kind != "f" or (v.ndim and v.shape != part.shape) for v, part in zip(values, parts, strict=True)):
            continue
        if all(close(np.abs(part), np.abs(v) * (part != 0)) for v, part in zip(values, parts, strict=True)):
            signs = {bool(n) for v, part in zip(values, parts, strict=True) for n in np.ravel(part * v < 0)[np.ravel(part) != 0]}
            minus = {(True,): "minus ", (False,): "", (False, True): "plus or minus "}[tuple(sorted(signs))]
            return f". It is {minus}{'the result of forward' if name == 'out' else name}"
    return ""


@quiet
def find_multiple_at_some_places(wrong: Observations, x: str) -> Mistake | None:
    """Right at some places, and the same multiple of the right one at all others."""
    ratios = []
    for o in wrong:
        got, want = o.got[x], o.want[x]
        if got.shape != want.shape:
            return None
        off = ~np.isclose(got, want, rtol=1e-9, atol=1e-12)
        if off.all() or not np.all(want[off]):
            return None
        ratios.append(got[off] / want[off])
    ratio = np.concatenate(ratios)
    if ratio.size < 3 or not close(ratio, np.full_like(ratio, ratio[0])):
        return None
    return Mistake("places", f"is right at some places, and {ratio[0]:.6g} times the right one at the others")


@quiet
def find_offsets(wrong: Observations, x: str) -> Mistake | None:
    """Off by one number times g, or by one at some places and another at the rest, whatever the input is there."""
    levels = []
    for o in wrong:
        got, want = o.got[x], o.want[x]
        g = _g_along(o, x)
        if g is None or got.shape != want.shape or want.size < 6 or not np.all(g):
            return None
        off = ((got - want) / g).ravel()
        if not np.any(np.ravel(got)[np.abs(off) > 1e-12]):  # that is 0, which is simpler to say
            return None
        off = np.sort(off)
        if not np.all(np.isfinite(off)):
            return None
        off[np.abs(off) < 1e-12 * np.abs(want / g).max()] = 0.0
        at = np.flatnonzero(np.diff(off) > 1e-9 * np.abs(off).max()) + 1
        if len(at) > 1 or (len(at) and o.reference.elementwise):
            return None
        levels.append((off[0], off[-1], int(at[0]) if len(at) else 0, off.size))
    low, high, count, size = levels[0]
    few, number_of, rest = (low, count, high) if 2 * count < size else (high, size - count, low)
    if not count:
        said = _in_all(wrong, [level[0] for level in levels]) if not any(level[2] for level in levels) else number(high)
        text = f"is off by {said} times g everywhere, whatever {x} is there"
        return Mistake("term", f"{text}: a number is added that does not belong there, or is missing")
    others = f"by {number(rest)} times g" if rest else "right"
    text = f"is off by {number(few)} times g at {number_of} of {size} places and {others} at the rest, whatever {x} is there"
    if not few:
        text = f"is right at {number_of} of {size} places and off by {number(rest)} times g at the rest, whatever {x} is there"
    how = "a constant is not that of forward, as in a target that only one of the two smooths"
    if all(_adds_up_to_nothing(o, x) for o in wrong):
        how += ", or each smooths in its own way: these add up to 0, and what is taken from one place is given to the others of its row"
    return Mistake("term", f"{text}: {how}")


def _in_all(wrong: Observations, numbers: Sequence[float]) -> str:
    """What one number in each call is: the same in all, or a setting, or 1 without it, or its inverse; else what it is in two of them."""
    if np.ptp(numbers) <= 1e-9 * np.abs(numbers).max():
        return number(numbers[0])
    for name in wrong[0].reference.settings:
        values: list[Any] = [o.settings.get(name) for o in wrong]
        if all(type(v) in (int, float) and v for v in values):
            for said, of in ((f"{name}", values), (f"(1 - {name})", [1 - v for v in values]), (f"1 / {name}", [1 / v for v in values])):
                for sign, minus in ((1, ""), (-1, "minus ")):
                    if close(np.array(numbers), sign * np.array(of, float)):
                        return minus + said
    return f"a number that is not the same in all calls ({number(min(numbers))} and {number(max(numbers))})"


def _adds_up_to_nothing(o: Observation, x: str) -> bool:
    off = o.got[x] - o.want[x]
    return off.ndim > 1 and bool(np.abs(off.sum(-1)).max() <= 1e-9 * np.abs(off).max())


def _g_along(o: Observation, x: str) -> np.ndarray | None:
    """The incoming gradient beside the gradient for x: one number, or one for each row, whichever axis was removed."""
    shape = o.want[x].shape
    if o.g.size == 1 or o.g.shape == shape:
        return o.g.reshape(()) if o.g.size == 1 else o.g
    for axis in range(len(shape)):
        if o.g.shape == shape[:axis] + shape[axis + 1 :]:
            return np.expand_dims(o.g, axis)
    return None


@quiet
def find_held_extreme(wrong: Observations, x: str) -> Mistake | None:
    """Wrong at the largest or the smallest entries alone, in a gradient that is not theirs alone: one of them is taken for a constant."""
    if any(o.reference.elementwise or o.got[x].shape != o.want[x].shape or o.want[x].ndim < 1 for o in wrong):
        return None
    for axis in (*range(-1, -wrong[0].want[x].ndim - 1, -1), None):
        for words, ends in EXTREMES.items():
            if all(_is_wrong_at(o, x, axis, ends) for o in wrong) and _is_wrong_at(backwards(wrong[0]), x, axis, ends):
                along = "" if axis is None else f" along axis {axis}"
                through = words.replace("largest", "maximum").replace("smallest", "minimum").replace(" entry", "")
                what = f"what goes through the {through} is missing or wrong there, as if it were a constant"
                return Mistake("term", f"is right except at the {words} of {x}{along}: {what}", len(wrong) > 1)
    return None


EXTREMES = {"largest entry": (np.max,), "smallest entry": (np.min,), "largest and the smallest entry": (np.max, np.min)}


def _is_wrong_at(o: Observation | None, x: str, axis: int | None, ends: tuple[Callable, ...]) -> bool:
    """Is each of these entries wrong, and all others right and most of them not 0?"""
    if o is None or np.shape(o.got[x]) != o.want[x].shape:
        return False
    a, got, want = np.asarray(o.names[x]), o.got[x], o.want[x]
    if a.shape[axis or -1] < len(ends) + 2 or (axis is not None and a.ndim <= -axis - 1):
        return False
    at = np.any([a == end(a, axis=axis, keepdims=True) for end in ends], axis=0)
    off = np.abs(got - want) > 1e-9 * np.abs(want).max()
    return bool(np.array_equal(off, at) and np.count_nonzero(want[~at]) > want[~at].size / 2)


@quiet
def find_factor_of_rows(wrong: Observations, x: str) -> Mistake | None:
    """The right one times a number of its own for each part along one axis, such as a weight or a count."""
    ratios = []
    for o in wrong:
        got, want = o.got[x], o.want[x]
        if o.reference.elementwise or got.shape != want.shape or want.ndim < 2 or np.any(got[want == 0]):
            return None
        ratios.append(np.divide(got, want, out=np.full(want.shape, np.nan), where=want != 0))
    for axis in range(ratios[0].ndim):
        if all(r.ndim > axis and _is_one_for_each(r, axis) for r in ratios):
            few = [number(float(np.nanmean(part))) for part in np.moveaxis(ratios[0], axis, 0)[:3]]
            said = f"is the right one times a number of its own for each place along axis {axis} of {x}: {', '.join(few)}"
            more = " and so on" if ratios[0].shape[axis] > 3 else ""
            if counted := _counted_by([np.nanmean(r, axis=tuple(i for i in range(r.ndim) if i != axis)) for r in ratios], wrong):
                return Mistake("factor", f"{said}{more}. It grows with {counted}: a division by that is missing, or by another number")
            return Mistake(
                "factor", f"{said}{more}. What belongs to such a place, as a weight or a count, is missing, or another one is there"
            )
    return None


def _counted_by(rows: list[np.ndarray], wrong: Observations) -> str:
    """Is the factor of each row in proportion to how often its number is among the indices?"""
    for name in wrong[0].reference.inputs:
        indices = [np.asarray(o.names[name]) for o in wrong]
        if all(i.dtype.kind in "iu" and i.shape == r.shape and i.min(initial=0) >= 0 for i, r in zip(indices, rows, strict=True)):
            counts = [np.bincount(i)[i] for i in indices]
            if any(np.ptp(n) for n in counts) and all(close(r * n[0], n * r[0]) for r, n in zip(rows, counts, strict=True)):
                return f"the number of entries of {name} that are the same"
    return ""


def _is_one_for_each(ratio: np.ndarray, axis: int) -> bool:
    """Is it the same number, and known twice, within each part along an axis?"""
    parts = [p[~np.isnan(p)] for p in np.moveaxis(ratio, axis, 0).reshape(ratio.shape[axis], -1)]
    return all(p.size > 1 and np.ptp(p) <= 1e-9 * np.abs(p).max() for p in parts)


@quiet
def find_small_error(wrong: Observations, x: str) -> Mistake | None:
    """Off by a little, everywhere: by a number in it and not by its form."""
    off = max(error_of(o, x) for o in wrong)
    if off > NEAR:
        return None
    text = f"is close to the right one, off by at most {100 * off:.2g} % of its largest entry: "
    small = [name for name, value in wrong[0].settings.items() if isinstance(value, float) and 0 < abs(value) < SMALL_STEP]
    if small and not wrong[0].reference.elementwise:
        return Mistake("number", f"{text}a term that is small where {small[0]} is small is missing or another one{OF_STEPS}")
    return Mistake("number", text + OF_LITTLE)


OF_LITTLE = "a small number such as eps appears in it, a rounded constant or an approximation, or a small contribution is lost or elsewhere"
SMALL_STEP = 0.5
OF_STEPS = ", as where a step takes a new value for the old one, or goes back in another order, or a number such as eps is wrong"
