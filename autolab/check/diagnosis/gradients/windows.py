"""Windows that move along an axis, seen from outside: where forward's lie, and where those of a rule do.

Which entries of the input a result depends on is the pattern of a Jacobian. In a convolution or a pool it is a window: result p looks
at the entries a * p + d for a few d. Both numbers, and what moves in the place of what, are read from the two matrices; no formula
and no setting is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...run.observation import Observation, all_among, all_differ, close
from ..diagnosis import Mistake
from ..quiet import quiet
from .jacobian_rows import rows_of

MOST_PLACES = 12  # along each axis of the result; each costs a call of the rule
LEAST_SEEN = 2  # results in which an entry of a window lies inside the input: one alone would fit any step


class Windows(NamedTuple):
    """Result p looks at the places step * p + d of an axis, for each d of `reach`."""

    step: int
    reach: tuple[int, ...]

    def __str__(self) -> str:
        return " and ".join(
            f"{self.step if self.step > 1 else ''}p{f' + {d}' if d > 0 else f' - {-d}' if d else ''}" for d in self.reach[:3]
        )

    @property
    def apart(self) -> int:
        """How far its taps lie apart, if that is one number; else 0."""
        gaps = set(np.diff(self.reach).tolist())
        return gaps.pop() if len(gaps) == 1 else 0


@quiet
def find_windows(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Windows of another step, place or spacing than forward's, if all these calls show the same."""
    if wrong[0].reference.elementwise or all(_only_moved(o, x) for o in wrong):
        return None
    found: Mistake | None = None
    calls = {(o.want[x].shape, o.out.shape, str(o.settings)): o for o in reversed(wrong)}  # one for each of their kind, the smallest last
    for o in list(calls.values())[:-3:-1]:
        seen = _other_shape(o, x) if o.got[x].shape != o.want[x].shape else _compare(o, x)
        if seen is None or (found and found.family != seen.family):
            return None
        found = found or seen
    return found


def _only_moved(o: Observation, x: str) -> bool:
    """Whether the gradient is g with its entries in another order: then no window is in it."""
    return bool(o.got[x].size == o.g.size and np.array_equal(np.sort(o.got[x], None), np.sort(o.g, None)))


# ---------- another shape


def _other_shape(o: Observation, x: str) -> Mistake | None:
    """The right numbers with room around them, or without an end that no window reaches."""
    got, want = np.asarray(o.got[x]), o.want[x]
    if got.ndim != want.ndim or not got.size or (all_among(got, o.g) and all_among(want, o.g)):  # pieces of g
        return None
    more, less = np.array(got.shape) - want.shape, np.array(want.shape) - got.shape
    axes = [int(a) for a in np.flatnonzero(more)]
    if (more >= 0).all():
        at = _where_inside(want, got)
        if at is None:
            return None
        a = axes[0]
        text = f"is {more[a]} entries longer than {x} along axis {a}; what belongs to {x} begins there at place {at[a]}"
        return Mistake("padding", f"{text}: the room that was put around {x} is not cut off")
    if (less >= 0).all():
        at = _where_inside(got, want)
        if at is None:
            return None
        kept = np.ones(want.shape, bool)
        kept[tuple(slice(n, n + m) for n, m in zip(at, got.shape, strict=True))] = False
        if want[kept].any():
            return Mistake("pieces", f"is {less[axes[0]]} entries shorter than {x} along axis {axes[0]}: a part of it is cut off")
        text = f"is {less[axes[0]]} entries shorter than {x} along axis {axes[0]}: the rest at the end that no window reaches is missing"
        return Mistake("padding", f"{text}, and has a gradient too")
    return None


def _where_inside(small: np.ndarray, large: np.ndarray) -> tuple[int, ...] | None:
    """Where the one array appears in the other."""
    room = [n - m + 1 for n, m in zip(large.shape, small.shape, strict=True)]
    for at in np.ndindex(*room):
        if close(large[tuple(slice(n, n + m) for n, m in zip(at, small.shape, strict=True))], small):
            return at
    return None


# ---------- the same shape


def _compare(o: Observation, x: str) -> Mistake | None:
    rows = _rows(o, x)
    if rows is None:
        return None
    places, yours, right = rows
    return (
        _padded(x, places, yours, right)
        or _moved(x, places, yours, right)
        or _other_windows(o, x, places, yours, right)
        or _other_sources(o, x, places, yours, right)
    )


def _rows(o: Observation, x: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """For some results, the derivatives that the rule gives and the right ones: the places (rows, axes), and twice (rows, *shape of x)."""
    if ("lines", x) not in o.memo:
        o.memo["lines", x] = _asked(o, x)
    return o.memo["lines", x]


def _asked(o: Observation, x: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    shape = o.out.shape
    if o.ask is None or not o.out.size or not shape:
        return None
    middle = [n // 2 for n in shape]
    lines = ([*middle[:axis], k, *middle[axis + 1 :]] for axis, n in enumerate(shape) for k in range(min(n, MOST_PLACES)))
    places = np.array(sorted(set(map(tuple, lines))))
    of_zero = o.ask([np.zeros(shape)])
    if of_zero is None or of_zero[0][x] is None or of_zero[0][x].any():
        return None
    rows = rows_of(o, x, np.ravel_multi_index(tuple(places.T), shape).tolist())
    return (places, np.stack(rows[0]), np.stack(rows[1])) if rows else None


def _other_windows(o: Observation, x: str, places: np.ndarray, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    scale = np.abs(right).max() or 1.0
    hit, needed = np.abs(yours) > 1e-12 * scale, np.abs(right) > 1e-12 * scale
    if np.array_equal(hit, needed):
        return None
    for i in range(places.shape[1]):
        for j in range(o.want[x].ndim):
            line = np.all(np.delete(places, i, 1) == np.delete(np.array(o.out.shape) // 2, i), axis=1)
            ours, theirs = (_touched(a[line], places[line, i], j) for a in (needed, hit))
            if len(ours) < 2 or ours.all() or np.array_equal(ours, theirs):
                continue
            forward, backward = _windows(ours), _windows(theirs)
            if not forward or not backward or not 1 < len(forward.reach) < ours.shape[1]:
                continue
            if -forward.reach[-1] <= 0 >= forward.reach[0] and (found := _difference(x, j, forward, backward)):
                return found
    return None


PADDED: tuple[Any, ...] = ("edge", "reflect", "wrap", "symmetric")


def _padded(x: str, places: np.ndarray, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Where each result is one entry, and those around x are entries of x again: filled in another way, or in other numbers."""
    if places.shape[1] != right.ndim - 1:
        return None
    for axis in range(places.shape[1]):
        line = np.all(np.delete(places, axis, 1) == np.median(np.delete(places, axis, 1), axis=0), axis=1)
        theirs, ours = (_sources_along(a[line], axis) for a in (yours, right))
        if theirs is None or ours is None or np.array_equal(theirs, ours):
            continue
        got, want = (_as_padded(s, right.shape[axis + 1]) for s in (theirs, ours))
        if not got or not want:
            continue
        if got.keys().isdisjoint(want):
            filled, right_way = (" or ".join(map(repr, side)) for side in (got, want))  # room for one is the same in several
            text = (
                f"fills the room around {x} along axis {axis} as mode {filled} of np.pad does, where forward fills it as {right_way} does"
            )
            return Mistake("padding", text, parts=("setting", "mask", "permutation"))
        mode = next(mode for mode in got if mode in want)
        text = f"has other room in front of {x} along axis {axis} than forward: {got[mode]}, where that has {want[mode]}"
        return Mistake("padding", text, parts=("setting", "permutation"))
    return None


def _sources_along(rows: np.ndarray, axis: int) -> np.ndarray | None:
    """Of each result the place along an axis of the one entry that it depends on, if it is one and counts once."""
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    if len(rows) < LEAST_SEEN or not np.all((flat != 0).sum(1) == 1) or not np.allclose(flat.sum(1), 1):
        return None
    return np.asarray(np.unravel_index(flat.argmax(1), rows.shape[1:])[axis])


def _as_padded(sources: np.ndarray, n: int) -> dict[str, int]:
    """The modes, and how many entries are in front, of which these are the places of a padded axis of this length."""
    more = len(sources) - n
    if more < 1:
        return {}
    return {
        mode: front
        for mode in PADDED
        for front in range(more + 1)
        if max(front, more - front) < n and np.array_equal(sources, np.pad(np.arange(n), (front, more - front), mode=mode))
    }


def _moved(x: str, places: np.ndarray, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Where each result comes from one entry or none, as in a maximum or a shift: that entry, moved with the place of the result."""
    hit, needed = yours != 0, right != 0
    counts = [a.reshape(len(places), -1).sum(1) for a in (needed, hit)]
    if max(counts[0].max(), counts[1].max()) > 1:
        return None
    both = (counts[0] == 1) & (counts[1] == 1)
    if both.sum() < 3 or not close(yours[both].sum(tuple(range(1, yours.ndim))), right[both].sum(tuple(range(1, right.ndim)))):
        return None
    off = np.argwhere(hit[both])[:, 1:] - np.argwhere(needed[both])[:, 1:]
    known = np.column_stack([places[both], np.ones(both.sum())])
    rule = np.asarray(np.round(np.linalg.lstsq(known, off, rcond=None)[0]))
    if not off.any() or np.abs(known @ rule - off).max() > 1e-6:
        return None
    axis = int(np.flatnonzero(off.any(axis=0))[0])
    by = rule[:-1, axis]
    if not rule[:-1].any():
        shifts = {int(k): int(rule[-1, k]) for k in np.flatnonzero(off.any(axis=0))}
        where = [f"{abs(n)} too {'far on' if n > 0 else 'early'} along axis {k}" for k, n in shifts.items()]
        opposite = " (were two offsets exchanged?)" if len(shifts) == 2 and not sum(shifts.values()) else ""
        return Mistake("permutation", f"has each number {' and '.join(where)} of {x}{opposite}")
    if np.count_nonzero(by) > 1:
        return None
    more = int(by[by != 0][0])
    text = f"moves its window by {abs(more)} {'more' if more > 0 else 'less'} along axis {axis} of {x} from one result to the next"
    return Mistake("setting", f"{text} than forward does (the stride)")


def _touched(hit: np.ndarray, place: np.ndarray, axis: int) -> np.ndarray:
    """For each place along an axis of the result, which places along an axis of the input it depends on."""
    others = tuple(k + 1 for k in range(hit.ndim - 1) if k != axis)
    found = np.asarray(hit.any(axis=others))
    return np.stack([found[place == p].any(axis=0) for p in sorted(set(place.tolist()))])


def _windows(touched: np.ndarray) -> Windows | None:
    """The step and the reach that give exactly this pattern; None if there are none."""
    count, length = touched.shape
    p, q = np.indices(touched.shape)
    best: Windows | None = None
    for step in range(1, length + 1):
        reach = sorted(set(np.asarray(q - step * p)[touched].tolist()))
        if (
            reach
            and len(set(np.diff(reach))) < 2
            and all(np.sum(touched & (q - step * p == d)) >= LEAST_SEEN for d in reach)
            and np.array_equal((np.subtract.outer(q - step * p, reach) == 0).any(-1), touched)
            and (best is None or len(reach) < len(best.reach))
        ):
            best = Windows(step, tuple(int(d) for d in reach))
    if best is None or (count == 2 and len(best.reach) == 1):  # two places lie on a line in any case
        return None
    return best


def _difference(x: str, axis: int, forward: Windows, backward: Windows) -> Mistake | None:
    along = f"along axis {axis} of {x}"
    if backward.step != forward.step and backward.apart != forward.apart:
        text = f"sends what belongs to result p to the places {backward} {along}, where forward looked at {forward}"
        return Mistake("permutation", text)
    if backward.step != forward.step:
        why = ": that is how long a window is" if backward.step == len(forward.reach) > 1 else ""
        text = f"moves its window by {backward.step} {along} from one result to the next, where forward moves it by {forward.step}"
        return Mistake("setting", f"{text} (the stride){why}")
    shift = backward.reach[0] - forward.reach[0]
    if backward.reach == tuple(d + shift for d in forward.reach):
        where = f"{abs(shift)} {'place' if abs(shift) == 1 else 'places'} too {'far on' if shift > 0 else 'early'}"
        if forward.reach[0] < 0:
            text = f"is shifted: each window lies {where} {along}. Forward put {-forward.reach[0]} of padding in front"
            return Mistake("padding", f"{text}, and it is cut off elsewhere")
        return Mistake("permutation", f"is shifted: each window lies {where} {along}")
    if len(backward.reach) == len(forward.reach) and backward.apart and forward.apart and backward.apart != forward.apart:
        text = f"has windows whose entries lie {backward.apart} apart {along}, where forward's lie {forward.apart} apart (the dilation)"
        return Mistake("setting", text)
    if set(backward.reach) > set(forward.reach):
        text = f"has windows of {len(backward.reach)} entries {along}, where forward looks at {len(forward.reach)}"
        return Mistake("setting", text)
    return None


# ---------- which entry of another input stands where


def _other_sources(o: Observation, x: str, places: np.ndarray, yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    """Of a product: each derivative is an entry of another input. Which one, as a rule for its index."""
    for y in o.reference.inputs:
        value = np.asarray(o.names[y])
        if y == x or value.dtype.kind != "f" or not value.ndim or not all_differ(value) or value.size < 3:
            continue
        ours, theirs = (_index_rule(a, places, value) for a in (right, yours))
        if ours is None or theirs is None or np.array_equal(ours, theirs):
            continue
        n = places.shape[1]
        for axis in range(value.ndim):
            want, got = ours[:, axis], theirs[:, axis]
            if np.array_equal(want, got):
                continue
            along = f"along axis {axis} of {y}"
            if np.array_equal(got[n:-1], -want[n:-1]) and want[n:-1].any():
                return Mistake("flipped", f"meets the entries of {y} in the opposite order {along}: it is the wrong way round")
            if (k := _changed(want[:n], got[:n])) is not None and want[k] and got[k] and np.array_equal(want[n:-1], got[n:-1]):
                text = (
                    f"moves the window by {abs(got[k])} from one result to the next, where forward moves it by {abs(want[k])} (the stride)"
                )
                return Mistake("setting", text)
            k = _changed(want[n:-1], got[n:-1])
            if k is not None and want[n + k] and got[n + k]:
                text = f"takes entries that lie {got[n + k]} apart {along}, where forward takes entries {want[n + k]} apart (the dilation)"
                return Mistake("setting", text)
            if np.array_equal(want[:-1], got[:-1]):
                shift = got[-1] - want[-1]
                text = f"takes each entry {abs(shift)} too {'far on' if shift > 0 else 'early'} {along}"
                if want[-1] < 0:
                    return Mistake("padding", f"{text}: the padding that forward put around {y} is missing")
                return Mistake("permutation", text)
    return None


def _changed(want: np.ndarray, got: np.ndarray) -> int | None:
    """The one coefficient that differs."""
    off = np.flatnonzero(want != got)
    return int(off[0]) if len(off) == 1 else None


def _index_rule(rows: np.ndarray, places: np.ndarray, value: np.ndarray) -> np.ndarray | None:
    """The index of `value` from that of the result and that of the input: (axes of both, and 1; axes of value), if it is linear."""
    order = np.argsort(value, axis=None)
    known = value.ravel()[order]
    row, *at = np.nonzero(np.abs(rows) > 1e-12 * np.abs(value).max())
    numbers = rows[(row, *at)]
    near = np.clip(np.searchsorted(known, numbers), 1, known.size - 1)
    near -= np.abs(known[near - 1] - numbers) < np.abs(known[near] - numbers)
    if numbers.size < 4 or np.abs(known[near] - numbers).max() > 1e-9 * np.abs(value).max():
        return None
    index = np.stack(np.unravel_index(order[near], value.shape), axis=1)
    known_index = np.column_stack([places[row], *at, np.ones(len(row))])
    found = np.linalg.lstsq(known_index, index, rcond=None)[0]
    whole = np.round(found)
    return whole.astype(int) if np.abs(known_index @ whole - index).max() < 1e-6 else None
