"""Which mistake is it? Both Jacobians side by side: which derivatives are missing, too many, scaled, or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from autolab.engine.op import LINEAR

from ...run.observation import Observation, close, number
from ..diagnosis import Mistake
from .contributions import FIRST, LAST, end_of_all, largest_of_all, not_round, one_of_each, one_step, ranks, round_axis, shared, to_first
from .indices import name_of_index, of_another_axis
from .jacobian_rows import Jacobians, hears_last_elsewhere
from .scaling import POWERS


def recognise(o: Observation, pair: Jacobians) -> Mistake | None:
    """What is wrong with the matrix, if it is one of the patterns below."""
    first = (ties, not_round, one_step, _lost, _counted_once, _uses, shared, _some_of_many)
    for look in (*first, _nearest, _alone, _elsewhere, _scaled, _terms):
        if found := look(o, pair):
            return found
    return None


def ties(o: Observation, pair: Jacobians) -> Mistake | None:
    """Something else than equal shares for equal entries."""
    values = np.asarray(o.names[pair.x])
    if values.size != pair.right.shape[1]:
        return None
    full, winners = 0, 0
    for i, row in enumerate(pair.right):
        tied = np.flatnonzero(pair.needed[i])
        if len(tied) < 2 or np.ptp(row[tied]) > 1e-12 or np.ptp(values.ravel()[tied]) > 0:
            if not pair.same[i].all():
                return None
            continue
        got, whole = pair.yours[i], row.sum()
        if not pair.zero[i][~pair.needed[i]].all():
            return None
        shares = got[tied][~pair.zero[i][tied]]
        if not shares.size or not np.allclose(shares, whole):
            return None
        full, winners = full + (len(shares) == len(tied)), winners + (len(shares) == 1)
    if winners and not full:
        return Mistake("tie", "gives everything to one of several equal entries; at a tie, all of them have an equal share", True)
    if full and not winners:
        return Mistake("tie", "gives the whole g to each of several equal entries; at a tie, they have to share it", True)
    return None


def _lost(o: Observation, pair: Jacobians) -> Mistake | None:
    lost, needed = ~pair.same, pair.needed
    if not np.all(pair.zero[lost]) or not lost.any():
        return None
    if pair.out_shape == pair.x_shape and not lost.diagonal().any() and np.all(lost == (needed & ~np.eye(len(lost), dtype=bool))):
        text = "keeps only the effect of each entry on its own result; here every entry also changes the others"
        return Mistake("diagonal only", text, True)
    kept = needed & pair.same
    touched = kept.any(axis=0) | ~needed.any(axis=0)
    if touched.all() and (found := _survivors(o, pair, needed, kept)):
        return found
    if found := _own_part(pair, needed, kept) or one_of_each(pair, kept) or largest_of_all(o, pair):
        return found
    if not kept[:, lost.any(axis=0)].any():
        if len(needed) > 1 and (found := _some_of_many(o, pair)) and found.text.startswith((FIRST, LAST)):
            return found
        place = _slice(lost.any(axis=0), pair.x_shape, pair.x)
        where = "" if o.reference.row is not None and o.reference.row.kind == LINEAR else " in this call"
        return Mistake("places", f"is 0 {place}{where} where it should not be: nothing arrives there", True)
    if not kept[lost.any(axis=1)].any():
        place = _slice(lost.any(axis=1), pair.out_shape, "g")
        return Mistake("one of many", f"uses only some entries of g: {place} g is never looked at", True)
    text = f"{int(lost.sum())} of {int(needed.sum())} derivatives are 0 and should not be"
    if which := _which(pair, lost & needed, needed):
        return Mistake("term", f"{LEAVES_OUT} {which}: {text}")
    return Mistake("term", f"misses some contributions: {text}")


LEAVES_OUT = "leaves out"


def _own_part(pair: Jacobians, needed: np.ndarray, kept: np.ndarray) -> Mistake | None:
    """Of all the parts of g that an entry needs, the one at its own place alone."""
    if pair.out_shape == pair.x_shape:
        return None
    at_out, at_x = pair.places
    for i, j in product(range(len(pair.out_shape)), range(len(pair.x_shape))):
        if min(pair.out_shape[i], pair.x_shape[j]) > 1 and np.array_equal(kept, needed & (at_out[i][:, None] == at_x[j])):
            text = f"takes for place k along axis {j} of {pair.x} what is at place k along axis {i} of g, and leaves out the other places"
            return Mistake("diagonal only", f"{text}: all results that an entry goes into count", True)
    return None


def _which(pair: Jacobians, lost: np.ndarray, needed: np.ndarray) -> str:
    """By their place, which contributions are left out."""
    if pair.out_shape == pair.x_shape and np.array_equal(lost, needed & np.eye(len(lost), dtype=bool)):
        return "the effect of each entry on its own result"
    for axis, of_one in ((1, "of the entries behind each result"), (0, "of the results that each entry goes into")):
        for which, rank in ranks(needed, axis):
            if needed.sum(axis).max() > 1 and np.array_equal(lost, needed & (rank == 1)):
                return f"the {which} {of_one}"
    for axis in range(len(pair.x_shape) if len(pair.x_shape) == len(pair.out_shape) else 0):
        at_out, at_x = (np.indices(shape)[axis].ravel() for shape in (pair.out_shape, pair.x_shape))
        away = at_x - at_out[:, None]
        for side, where in ((away < 0, "after"), (away > 0, "before")):
            if np.array_equal(lost, needed & side) and (needed & ~side).any():
                return f"what reaches an entry from results {where} it along axis {axis}, as where something comes round the end"
        for back, where in ((away <= 0, "after"), (away >= 0, "before")):
            steps = np.abs(away)
            kept = steps[needed & ~lost]
            if kept.size and kept.max() and np.all(back[needed]) and np.array_equal(lost, needed & (steps > kept.max())):
                far = f"{int(kept.max())} step{'s' if kept.max() > 1 else ''}"
                return f"what reaches an entry from results more than {far} {where} it along axis {axis}"
    return ""


def _survivors(o: Observation, pair: Jacobians, needed: np.ndarray, kept: np.ndarray) -> Mistake | None:
    """Is what is left of each entry's contributions the last, or the first, along some axes of g?"""
    index, _ = pair.places
    for count in range(1, len(pair.out_shape) + 1):
        for axes in combinations(range(len(pair.out_shape)), count):
            rank = np.ravel_multi_index([index[a] for a in axes], [pair.out_shape[a] for a in axes])[:, None]
            last = np.where(needed, rank, -1).max(axis=0)
            first = np.where(needed, rank, rank.max() + 1).min(axis=0)
            if np.array_equal(kept, needed & (rank == last)):
                in_part = _is_heard_in_part(kept, needed)
                text = OVERWRITTEN if in_part else f"{OVERWRITTEN}; or the rest of g is never looked at"
                return Mistake("overwritten", text, rank.max() > 1 or in_part)
            if np.array_equal(kept, needed & (rank == first)):
                # A result that is heard at some entries and not at others was overwritten; one that is heard nowhere was left out.
                if _is_heard_in_part(kept, needed):
                    return Mistake("overwritten", OVERWRITTEN, True)
                if left_out := _left_out(o, pair, kept, needed):
                    return Mistake("one of many", left_out, True)
                return Mistake("one of many", "keeps only the first of several contributions; all of them have to be added", True)
    rank = np.arange(len(needed))[:, None]
    for part in (np.where(needed, needed.cumsum(axis=1), 0), needed * (1 + (pair.right > 0))):  # of each entry, or of each sign
        parts = [k for k in range(1, part.max(initial=0) + 1) if (part == k).any()]
        last = [(part == k) & (rank == np.where(part == k, rank, -1).max(axis=0)) for k in parts]
        if len(last) > 1 and np.array_equal(kept, np.any(last, axis=0)):
            return Mistake("overwritten", f"{OVERWRITTEN}, in each of the {len(last)} parts that a result hands on", True)
    return None


def _left_out(o: Observation, pair: Jacobians, kept: np.ndarray, needed: np.ndarray) -> str:
    """Is what is heard nowhere the last slice of g along an axis of three or more, as if a loop ended one early?"""
    shape = pair.out_shape
    silent = (needed.any(axis=1) & ~kept.any(axis=1)).reshape(shape)
    for axis, n in enumerate(shape):
        at = np.indices(shape)[axis]
        if n > 2 and np.array_equal(silent, at == n - 1) and not hears_last_elsewhere(o, pair.x, axis):
            which = "first" if axis == 0 else "last" if axis == len(shape) - 1 else "middle"
            return f"never looks at the last part of g along its {which} axis: is a loop one short?"
    return ""


def _is_heard_in_part(kept: np.ndarray, needed: np.ndarray) -> bool:
    return any((row & want).any() and not row[want].all() for row, want in zip(kept, needed, strict=True))


OVERWRITTEN = "keeps only one of several contributions: each overwrites the one before (=), where they have to be added (+=)"


def _slice(which: Any, shape: tuple[int, ...], name: str) -> str:
    """ "at [0, :]" if these entries are one slice of an array of this shape, or in what way they lie, else how many they are."""
    mask = which.reshape(shape)
    for axis, n in enumerate(shape):
        for i in range(n):
            only = np.zeros(shape, bool)
            only[(slice(None),) * axis + (i,)] = True
            if np.array_equal(mask, only):
                return f"at {name}[{_place(shape, axis, i)}]"
            if n > 2 and np.array_equal(mask, ~only):
                return f"everywhere but at {name}[{_place(shape, axis, i)}]"
    if len(shape) > 1 and shape[-1] == shape[-2]:
        square = np.ones(shape, bool)
        for side, words in ((square ^ _diagonal(square), "off"), (np.triu(square, 1), "above"), (np.tril(square, -1), "below")):
            if np.array_equal(mask, side):
                return f"{words} the diagonal of {name}"
    return _every_second(mask, name) or f"at {int(mask.sum())} of {mask.size} places"


def _place(shape: tuple[int, ...], axis: int, i: int) -> str:
    return ", ".join(str(i) if a == axis else ":" for a in range(len(shape)))


def _diagonal(square: np.ndarray) -> np.ndarray:
    return np.asarray(np.tril(np.triu(square)))


def _every_second(mask: np.ndarray, name: str) -> str:
    """Is something there at every second, third, ... place along some axes alone?"""
    kept = ~mask
    steps: list[slice] = []
    for axis, n in enumerate(mask.shape):
        at = np.flatnonzero(kept.any(axis=tuple(a for a in range(mask.ndim) if a != axis)))
        by = int(at[1] - at[0]) if len(at) > 1 else 0
        if not by or not np.array_equal(at, np.arange(at[0], n, by)):
            return ""
        steps.append(slice(int(at[0]), None, by))
    grid = np.zeros(mask.shape, bool)
    grid[tuple(steps)] = True
    axes = ", ".join(f"{s.start or ''}::{s.step}" if s.step > 1 or s.start else ":" for s in steps)
    return f"everywhere but at {name}[{axes}]" if np.array_equal(kept, grid) and any(s.step > 1 for s in steps) else ""


def _alone(o: Observation, pair: Jacobians) -> Mistake | None:
    """Only its own g reaches each entry, and not even that with the right factor."""
    if len(pair.out_shape) != len(pair.x_shape) or not pair.x_shape:
        return None
    at_out, at_x = pair.places
    diagonal = np.all(at_out[:, :, None] == at_x[:, None], axis=0)
    if not pair.zero[~diagonal].all() or not pair.needed[~diagonal].any() or pair.zero[diagonal].any():
        return None
    if pair.out_shape != pair.x_shape:
        found = pair.yours[diagonal]
        text = f"takes at each place of {pair.x} the g of that place alone{_times(o, found)}: each entry goes into other results, too"
        return Mistake("diagonal only", text)
    if not (pair.needed & ~diagonal).any(axis=0).all():  # some go nowhere, or stay where they are
        own = f"takes at each place of {pair.x} the g of that place alone{_times(o, pair.yours[diagonal])}"
        return Mistake("diagonal only", f"{own}, and forward takes entries to other places")
    text = "keeps only the effect of each entry on its own result, and that not with the right factor; here every entry also changes others"
    return Mistake("diagonal only", text)


def _times(o: Observation, factors: np.ndarray) -> str:
    """Which one number of an input it is, if it is one number."""
    if not close(factors, np.full_like(factors, factors[0])):
        return ""
    for name in o.reference.inputs:
        value = np.asarray(o.names[name])
        for words, number_of in (("sum", np.sum), ("mean", np.mean), ("largest entry", np.max), ("norm", np.linalg.norm)):
            if value.dtype.kind == "f" and value.size > 1 and np.isclose(factors[0], number_of(value), rtol=1e-9):
                return f", times the {words} of {name}"
    return "" if np.isclose(factors[0], 1) else f", times {number(factors[0])}"


def weights(o: Observation, pair: Jacobians) -> Mistake | None:
    """The right places, and wrong numbers at all or some of them: where nothing more is known."""
    if pair.needed.all() or not np.array_equal(~pair.zero, pair.needed):
        return None
    wrong = pair.needed & ~pair.same
    text = f"reaches the right entries of {pair.x} from the right entries of g, and with wrong factors"
    if pair.same[pair.needed].any():
        text += f" at {int(wrong.sum())} of {int(pair.needed.sum())}"
    ratio = pair.yours[wrong] / pair.right[wrong]
    for axis, whose in ((1, "its result adds up"), (0, "it goes to")):
        times = np.broadcast_to(pair.needed.sum(axis=axis, keepdims=True), wrong.shape)[wrong]
        for count, how in ((1 / times, "divided"), (times, "multiplied")):
            if times.max() > times.min() and close(ratio, count):
                kind = "is averaged in part" if how == "divided" else "is summed where there should be a mean"
                text = f"{kind}: each contribution is {how} by the number of entries that {whose}"
                return Mistake("averaged", text, True)
    yours = pair.yours[pair.needed]
    if close(yours, np.full_like(yours, yours[0])):
        behind = pair.needed.sum(axis=1)
        if np.isclose(yours[0] * behind.max(), 1) and np.ptp(behind) == 0 < np.ptp(pair.right[pair.needed]):
            text = "gives each of the entries behind a result the same share of its g, as a mean does: here they have shares of their own"
            return Mistake("averaged", text, True)
        sizes = [f" (1 / {n}, the size of axis {axis} of {pair.x})" for axis, n in enumerate(pair.x_shape) if np.isclose(yours[0] * n, 1)]
        text = f"has one factor for all contributions, {number(yours[0])}{''.join(sizes[:1])}, where each result has one of its own"
        return Mistake("constant", f"{text}, as the number of entries behind it")
    if close(ratio, np.full_like(ratio, ratio[0])):
        return Mistake("factor", f"{text}, each {number(ratio[0])} times the right one")
    if end := _end_of(wrong.any(axis=0), pair.x_shape, o.names.get("axis")):
        text = f"is right everywhere but at the {end}: what reaches {pair.x} there has other factors"
        text += ", as where a term is too many or too few at a border"
        return Mistake("places", text, True)
    i, j = divmod(int(np.argmax(np.abs(np.where(wrong, pair.yours - pair.right, 0)))), wrong.shape[1])
    places = f"{pair.x}{_index(j, pair.x_shape)} takes g{_index(i, pair.out_shape)}"
    return Mistake("factor", f"{text}: {places} {number(pair.yours[i, j])} times, and should {number(pair.right[i, j])} times")


def _end_of(places: np.ndarray, shape: tuple[int, ...], own: Any) -> str:
    """ "last place along axis 0" if these are all there, or some of them, and no others."""
    index = np.unravel_index(np.flatnonzero(places), shape)
    for axis, n in enumerate(shape):
        for which, at in (("first", 0), ("last", n - 1)):
            if n > 2 and np.all(index[axis] == at):
                return f"{which} place along {'the axis' if own in (axis, axis - len(shape)) else f'axis {axis}'}"
    return ""


def _index(k: int, shape: tuple[int, ...]) -> list[int]:
    return [int(i) for i in np.unravel_index(k, shape)]


def _elsewhere(o: Observation, pair: Jacobians) -> Mistake | None:
    """Other derivatives are zero than should be."""
    yours, right = ~pair.zero, pair.needed
    if not (yours & ~right).any():
        return None
    if not o.reference.elementwise and (found := _wrapped(pair, yours, right)):
        return found
    if not (right & ~yours).any():
        return Mistake("mask", f"also reaches entries of {pair.x} that the result does not depend on: a mask or a choice is missing")
    if (
        found := of_another_axis(o, pair)
        or _turned(pair, yours, right)
        or _misplaced(pair, yours, right)
        or _one_place(o, pair, yours, right)
    ):
        return found
    if found := _by_sign(o, pair, yours, right):
        return found
    if not (yours & right).any() and (index := name_of_index(o)):
        return Mistake(
            "places", f"sends every g to another entry of {pair.x} than the one that {index} names{_example(pair, yours, right)}"
        )
    if not (yours & right).any():
        return Mistake("mask", "is 0 where it should not be, and not 0 where it should: the mask or choice is the wrong way round")
    text = f"reaches other entries of {pair.x} than those that the result depends on{_example(pair, yours, right)}"
    return Mistake("mask", text, hint="pieces")


def _counted_once(o: Observation, pair: Jacobians) -> Mistake | None:
    """Whole multiples of one number where all of the learner's are that number: an entry that goes into one result several times."""
    heard = ~pair.zero
    if (heard & ~pair.needed).any() or not heard.any():
        return None
    yours = pair.yours[heard]
    if all(np.ptp(row[want]) <= 1e-12 for row, want in zip(pair.right, pair.needed, strict=True) if want.any()):
        return None  # no entry goes into one result more often than another
    times = pair.right[heard] / yours
    whole = np.round(times)
    if not close(yours, np.full_like(yours, yours[0])) or not close(times, whole) or whole.min() < 1 or whole.max() < 2:
        return None
    if np.array_equal(heard, pair.needed) and whole.min() == 1:
        text = "counts each entry once for each result, and some go into a result several times: each overwrites the one before (=)"
        return Mistake("overwritten", f"{text}, where they have to be added (+=)", True)
    lost = heard.sum(axis=0).max() == 1 and not np.array_equal(heard, pair.needed)
    return Mistake("overwritten", OVERWRITTEN, True) if lost else None


def _wrapped(pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Entries besides those that belong there, each as far away as those, if one counts on from the end at the beginning."""
    axis = round_axis(pair, right, yours)
    if axis is None:
        return None
    text = f"goes on at the beginning of axis {axis} of {pair.x} where it comes to the end: forward stops at the ends"
    return Mistake("padding", text, True)


def _turned(pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Entries as far from their result along one axis as those that belong there are along another."""
    if len(pair.out_shape) != len(pair.x_shape):
        return None
    at_out, at_x = pair.places
    away, wanted = (set(map(tuple, (at_x[:, j] - at_out[:, i]).T.tolist())) for i, j in map(np.nonzero, (yours, right)))
    along = {k for step in wanted for k, n in enumerate(step) if n}
    if len(along) != 1:
        return None
    (one,) = along
    for other in range(len(pair.x_shape)):
        turned = {tuple(step[{one: other, other: one}.get(k, k)] for k in range(len(step))) for step in wanted}
        if other != one and away == turned:
            text = f"is what belongs to another axis: what goes along axis {one} of {pair.x} in forward goes along axis {other}"
            return Mistake("axis", text, True)
    return None


def _one_place(o: Observation, pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """All of g at the largest or the smallest entry of all, where each result has chosen its own."""
    which, values = end_of_all(o, pair, np.flatnonzero(yours.any(axis=0))), np.ravel(o.names[pair.x])
    if not which or len(yours) < 2 or any(len(set(values[row].tolist())) != 1 for row in right):
        return None
    text = f"sends all of g to one entry, the {which} of the whole {pair.x}: each result chose the {which} of its own part"
    return Mistake("axis", text, True)


def _by_sign(o: Observation, pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Are the entries that are reached those of one sign, whatever forward did?"""
    values = np.ravel(o.names[pair.x])
    as_many = len(yours) > 1 and np.array_equal(yours.sum(axis=1), right.sum(axis=1))  # as by a choice of the largest
    if values.size != right.shape[1] or as_many:
        return None
    for word, of_sign in (("positive", values > 0), ("negative", values < 0)):
        if of_sign.any() and not of_sign.all() and np.array_equal(yours.any(axis=0), of_sign):
            text = f"reaches the entries of {pair.x} that are {word} and no others, as a relu does: forward chose in another way"
            return Mistake("mask", text, True)
    return None


def _example(pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> str:
    """The first result that comes from one entry, and where its g goes instead."""
    single = np.flatnonzero((yours.sum(axis=1) == 1) & (right.sum(axis=1) == 1) & (yours != right).any(axis=1))
    if not len(single):
        return ""
    to, source = (f"{pair.x}{_index(int(side[single[0]].argmax()), pair.x_shape)}" for side in (yours, right))
    return f": g{_index(int(single[0]), pair.out_shape)} goes to {to}, and its result came from {source}"


def _misplaced(pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """As many entries of g as there should be, and others."""
    if pair.out_shape == pair.x_shape and np.array_equal(yours, right.T) and not np.array_equal(right, right.T):
        text = "runs the wrong way: it collects from the entries before where those after belong, or the other way round"
        if np.tril(right, -1).any() and np.triu(right, 1).any():
            text = "runs the wrong way: what went from place i to place k comes back from k to i, and here it goes from i to k again"
        return Mistake("flipped", text, True)
    if found := _copies(pair, yours, right):
        return found
    same_count, one_number = np.array_equal(yours.sum(axis=0), right.sum(axis=0)), np.ptp(pair.right[right]) < 1e-12
    if same_count and one_number and close(np.sort(pair.yours, axis=0), np.sort(pair.right, axis=0)):
        first = int(np.argmax((yours != right).any(axis=0)))
        at = [int(i) for i in np.unravel_index(first, pair.x_shape)]
        text = f"collects from the wrong entries of g: at {pair.x}{at} it uses {_entries(yours[:, first], pair)}, which came from elsewhere"
        return Mistake("permutation", text)
    return None


def _copies(pair: Jacobians, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Copies of the whole array side by side, or each entry repeated: one is taken for the other."""
    if len(pair.out_shape) != len(pair.x_shape) or any(m % n for m, n in zip(pair.out_shape, pair.x_shape, strict=True)):
        return None
    at_out, at_x = pair.places
    times = np.array(pair.out_shape) // pair.x_shape
    tile = np.all((at_out % np.array(pair.x_shape)[:, None])[:, :, None] == at_x[:, None], axis=0)
    repeat = np.all((at_out // times[:, None])[:, :, None] == at_x[:, None], axis=0)
    for a, b, text in (
        (tile, repeat, "adds up what belongs to copies of the whole array side by side (tile), and forward repeats each entry (repeat)"),
        (
            repeat,
            tile,
            "adds up what belongs to each entry repeated (repeat), and forward lays copies of the whole array side by side (tile)",
        ),
    ):
        if np.array_equal(yours, a) and np.array_equal(right, b):
            return Mistake("permutation", text, True)
    return None


def _entries(which: np.ndarray, pair: Jacobians) -> str:
    places = [tuple(int(i) for i in np.unravel_index(k, pair.out_shape)) for k in np.flatnonzero(which)]
    said = ", ".join(f"g{list(p)}" for p in places[:3])
    return said + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def _uses(o: Observation, pair: Jacobians) -> Mistake | None:
    uses = pair.needed.sum(axis=0)
    if uses.max() > 1 and close(pair.yours, pair.right / np.maximum(uses, 1)):
        return Mistake("averaged", "is averaged over the results that each entry takes part in; the contributions have to be added", True)
    return None


def _some_of_many(o: Observation, pair: Jacobians) -> Mistake | None:
    """Of the entries behind each result only those in one place of their row, all with one factor."""
    yours, needed = ~pair.zero, pair.needed
    if (yours & ~needed).any() or not yours.any(axis=1).all() or needed.sum(axis=1).min() < 2:
        return None
    places = {tuple(map(int, np.flatnonzero(row[want]))) for row, want in zip(yours, needed, strict=True)}
    sizes = set(needed.sum(axis=1).tolist())
    ratio = pair.yours[yours] / pair.right[yours]
    if len(sizes) > 1 or not close(ratio, np.full_like(ratio, ratio[0])):
        return None
    (size,), c = sizes, float(ratio[0])
    extreme = _by_size(o, pair, yours)
    if (len(places) > 1 and not extreme) or any(len(place) == size for place in places):
        return None
    place = min(places)
    which = "the first" if place == (0,) else "the last" if place == (size - 1,) else f"{len(place)}"
    if extreme:
        which = extreme if len(places) > 1 or _is_chosen(pair) else f"one ({which}, {extreme})"
    text = f"reaches {which} of the {size} entries of {pair.x} that each result is made of, and not the others"
    return Mistake("one of many", text + f"; besides, it is {number(c)} times the right one there" * (not np.isclose(c, 1)), True)


def _nearest(o: Observation, pair: Jacobians) -> Mistake | None:
    """Of neighbours that share each g: all of it to the one with the largest share, or the shares exchanged among them."""
    needed = pair.needed
    counts = needed.sum(axis=1)
    larger = np.abs(pair.right) == np.abs(pair.right).max(axis=1, keepdims=True)
    if counts.min() < 1 or counts.max() < 2 or len(needed) < 3:
        return None
    if np.all(larger.sum(axis=1) == 1) and close(pair.yours, np.where(larger, pair.right.sum(axis=1, keepdims=True), 0.0)):
        text = f"gives all of each g to the one of the entries of {pair.x} behind it with the largest share, as for the nearest"
        return Mistake("one of many", f"{text}; each of them has a share", True)
    if found := to_first(pair):
        return found
    full = counts == counts.max()  # at an end, one entry may have all of it
    if full.sum() < 3 or counts.max() > MOST_SHARES or (~pair.zero & ~needed)[full].any():
        return None
    if not (needed[:, :-1] & needed[:, 1:])[full].any(axis=1).all():
        return None
    right, yours = (np.stack([row[want] for row, want in zip(side[full], needed[full], strict=True)]) for side in (pair.right, pair.yours))
    ends = [any(close(y, np.roll(r, by)) for by in (1, -1)) for y, r in zip(pair.yours[~full], pair.right[~full], strict=True)]
    for order in permutations(range(right.shape[1])):
        if list(order) != sorted(order) and close(yours, right[:, order]) and (not close(yours, right) or (ends and all(ends))):
            text = f"has the shares of the {len(order)} entries of {pair.x} behind each result exchanged"
            moved = ", ".join(f"{k + 1} has that of {j + 1}" for k, j in enumerate(order) if j != k)
            return Mistake("swapped", f"{text}: entry {moved}", True, hint="exchanged")
    return None


MOST_SHARES = 4  # entries behind a result, whose shares are tried in every order


def _by_size(o: Observation, pair: Jacobians, yours: np.ndarray) -> str:
    """Is the one entry that each result reaches the largest, or the smallest, of those behind it?"""
    values = np.ravel(o.names[pair.x])
    if values.size != yours.shape[1] or np.any(yours.sum(axis=1) != 1):
        return ""
    behind = np.where(pair.needed, values, np.nan)
    for words, end in (("the largest", np.nanmax(behind, axis=1)), ("the smallest", np.nanmin(behind, axis=1))):
        if np.array_equal(values[yours.argmax(axis=1)], end):
            return words
    return ""


def _is_chosen(pair: Jacobians) -> bool:
    """Do the entries behind two results lie at other distances from each other? Forward then chose them by their size."""
    gaps = {tuple(np.diff(np.flatnonzero(row)).tolist()) for row in pair.needed}
    return len(gaps) > 1


def _scaled(o: Observation, pair: Jacobians) -> Mistake | None:
    """Every column, or every row, is the right one times a number that appears in one of the arrays."""
    if not np.array_equal(~pair.zero, pair.needed):
        return None
    ratio = np.where(pair.needed, pair.yours / np.where(pair.needed, pair.right, 1), np.nan)
    for axis, shape in ((0, pair.x_shape), (1, pair.out_shape)):
        if pair.right.shape[axis] < 2:
            continue
        low, high = np.nanmin(ratio, axis=axis), np.nanmax(ratio, axis=axis)
        if not np.allclose(low, high, rtol=1e-9):
            continue
        for name in (*o.reference.inputs, "out"):
            value = np.asarray(o.names[name], float)
            if value.ndim > len(shape) or not value.size or (axis == 1 and value.shape != shape):
                continue
            try:
                value = np.broadcast_to(value, shape).ravel()
            except ValueError:
                continue
            said = "the result of forward" if name == "out" else name
            for power in (1, -1, 2, -2):
                for sign, words in ((1, ""), (-1, "minus ")):
                    if np.allclose(low, sign * value**power, rtol=1e-9):
                        how = POWERS[power].format(said)
                        if axis == 1:  # a number for each result, and so for each entry of g
                            how = f"for g {how}{OF_LOG if (name, power) == ('out', -1) else ''}"
                        return Mistake("factor", f"is {words}the right one {how}", True)
        if np.allclose(np.abs(low), 1, rtol=1e-9) and np.ptp(low):
            return Mistake("sign", f"has the wrong sign at {int((low < 0).sum())} of {low.size} places", True)
    return None


OF_LOG = ", which is that of its logarithm"


def _terms(o: Observation, pair: Jacobians) -> Mistake | None:
    """Along one axis, the difference is a multiple of a vector that people know: ones, x, the normalised x, the result."""
    if pair.out_shape != pair.x_shape or not pair.x_shape:
        return None
    difference = pair.yours - pair.right
    for axis in range(len(pair.x_shape)):
        n = pair.x_shape[axis]
        number = np.moveaxis(np.arange(difference.shape[0]).reshape(pair.x_shape), axis, -1).reshape(-1, n)
        inside = np.zeros(difference.shape, bool)
        for entries in number:
            inside[np.ix_(entries, entries)] = True
        if np.abs(difference[~inside]).max(initial=0.0) > 1e-9 * np.abs(difference).max():
            continue
        for said, vectors in _known_vectors(o, pair.x, number):
            if len(vectors) + 1 < n and all(_spans(v, difference[np.ix_(e, e)]) for v, e in zip(zip(*vectors), number, strict=True)):
                return Mistake("term", f"differs from the right one along axis {axis} {said}")
    return None


def _known_vectors(o: Observation, x: str, number: np.ndarray) -> Iterator[tuple[str, tuple]]:
    values, out = np.asarray(o.names[x], float).ravel()[number], o.out.ravel()[number]
    ones = np.ones_like(values)
    centred = values - values.mean(axis=1, keepdims=True)
    yield "by the same number for every entry: the term that comes from the mean (or sum) is missing or wrong", (ones,)
    yield "by a multiple of x without its mean: the term that comes from the variance is missing or wrong", (centred,)
    yield "by a multiple of x: the term that comes from the sum of squares is missing or wrong", (values,)
    yield ("by a multiple of the result of forward: the term with the sum over g times the result is missing or wrong", (out,))
    yield "by a multiple of exp(result): the term with the sum over g is missing or wrong", (np.exp(out),)
    yield ("by a number and a multiple of x without its mean: the terms of mean and variance are missing or wrong", (ones, centred))


def _spans(vectors: tuple, rows: np.ndarray) -> bool:
    basis = np.stack(vectors).T
    if not np.isfinite(basis).all():  # the exponential of a large result
        return False
    rest = rows.T - basis @ np.linalg.lstsq(basis, rows.T, rcond=None)[0]
    return bool(np.abs(rest).max() <= 1e-9 * (np.abs(rows).max() or 1.0))
