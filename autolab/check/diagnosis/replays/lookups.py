"""A step that takes entries by an order or an index, or adds to them there: which entries, and which others somebody may take for them.

A sort, `x[index]` and a sum by segments are such steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .halves import MOVES
from .row_call import RowCall
from .stepwise import SORTS, Chain, moves

TAKES = {"gather", "index", "index_select", "embedding"}
ADDS = {"add_at": 0, "scatter_add": 2, "index_add": 2}  # and which argument is added
ARGUMENT = dict.fromkeys(TAKES, 0) | ADDS
Key = tuple[str, int]  # what is wrong with other entries, and of several such the number


@dataclass(frozen=True, eq=False)
class LookUp:
    """Where each entry of an array is taken from, or goes to: along which axis that is chosen, and other places along it."""

    at: tuple[np.ndarray, ...]
    shape: tuple[int, ...]
    axis: int
    others: dict[Key, np.ndarray]
    is_order: bool  # of all that is there
    place: int  # of what is taken, or of the sums
    free: list[int]  # the axes of what is taken that are not those of the array

    def places(self, key: Key) -> tuple[np.ndarray, ...]:
        """The places if they are chosen in another way."""
        return (*self.at[: self.axis], self.others[key], *self.at[self.axis + 1 :])

    def added(self, g: np.ndarray, at: tuple[np.ndarray, ...]) -> np.ndarray:
        """What each entry gets if g goes to these places."""
        total = np.zeros(self.shape)
        np.add.at(total, at, g)
        return total

    def family(self, key: Key) -> str:
        """What kind of mistake it is to choose them so."""
        return "permutation" if self.is_order and key[0] in ("own order", "inverse", "opposite") else "places"


def lookups_of(chain: Chain, i: int) -> list[LookUp]:
    """What step i takes, if that is chosen along one axis; of an order of all, also with the moves after it, such as a flip."""
    if i >= len(chain.steps) or chain.steps[i].row.name not in ARGUMENT:
        return []
    if ("look-ups", i) not in chain.memo:
        chain.memo["look-ups", i] = [*_made(chain, chain.steps[i])]
    return chain.memo["look-ups", i]


def _made(chain: Chain, step: RowCall) -> Iterator[LookUp]:
    values = None if step.row.name in ADDS else step.names["raw"][0]
    shape = step.names["out"].shape if values is None else values.shape
    is_given = any(value.dtype.kind in "iu" and value.ndim for value in chain.values[: len(chain.inputs)])
    by_size = step.word in SORTS or not is_given  # what an input names is not chosen by its size
    taken = _taken(step, np.arange(math.prod(shape)).reshape(shape))
    if (found := _lookup(taken, shape, values, by_size, step.place)) is None:
        return
    yield replace(found, others={**found.others, **_of_opposite(chain.values[: step.place], found)})
    last = None
    for after, k in steps_after(chain, step.place, is_move) if found.is_order else ():
        if k or after.row.variadic:
            break
        taken = np.asarray(after.row.forward(taken, *after.names["raw"][1:], **{name: after.names[name] for name in after.row.settings}))
        last = (taken, after.place) if taken.shape == shape else last
    if last and (found := _lookup(last[0], shape, values, by_size, last[1])):
        yield found


def _taken(step: RowCall, numbers: np.ndarray) -> np.ndarray:
    """Which of all numbers, in their array, a step takes, or adds to."""
    raw, name = step.names["raw"], step.row.name
    if name == "add_at":
        return numbers[step.names["key"]]
    if name == "scatter_add":
        return np.take_along_axis(numbers, raw[1], step.names["axis"])
    if name == "index_add":
        return np.take(numbers, raw[1], step.names["axis"])
    return np.asarray(step.row.forward(numbers, *raw[1:], **{k: step.names[k] for k in step.row.settings}))


def _lookup(taken: np.ndarray, shape: tuple[int, ...], values: Any, by_size: bool, place: int) -> LookUp | None:
    """Of the numbers of what is taken, in an array of that shape: along one axis they are chosen, along the others all are there."""
    at = np.unravel_index(taken, shape)
    free, chosen = list(range(taken.ndim)), []
    for axis, places in enumerate(at):
        along = next((r for r in free if taken.shape[r] == shape[axis] and np.array_equal(places, _counted(taken.shape, r))), None)
        if along is None:
            chosen.append(axis)
        else:
            free.remove(along)
    if len(chosen) != 1 or not taken.size:
        return None
    (axis,) = chosen
    lines = [r for r in free if taken.shape[r] > 1]
    is_order = len(lines) == 1 and taken.shape[lines[0]] == shape[axis]
    is_order = is_order and np.array_equal(np.sort(at[axis], lines[0]), _counted(taken.shape, lines[0]))
    sizes = {} if values is None else _by_size(at, axis, lines, values, is_order, by_size)
    others = {key: one for key, one in _others(at[axis], lines, sizes, is_order, shape[axis]) if not np.array_equal(one, at[axis])}
    return LookUp(at, shape, axis, others, is_order, place, free)


def _counted(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """0, 1, 2 and so on along an axis."""
    return np.broadcast_to(np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - axis - 1)), shape)


def _others(
    places: np.ndarray, lines: list[int], sizes: dict[str, np.ndarray], is_order: bool, n: int
) -> Iterator[tuple[Key, np.ndarray]]:  # fmt: skip
    """Other places than these along an axis of n entries, by what is wrong with them.

    `lines`: the axes along which several are taken from one line of the array; `sizes`: those that follow from its sizes.
    """
    for number, r in enumerate(lines):
        if places.shape[r] <= n:
            yield ("own order" if is_order else "first" if "other end" in sizes else "counted", number), _counted(places.shape, r)
    if len(lines) > 1 and places.size <= n:
        yield ("counted", -1), np.arange(places.size).reshape(places.shape)
    if is_order:
        yield ("inverse", 0), np.argsort(places, lines[0])
    if len(lines) == 1 and "other end" not in sizes:
        yield ("opposite", 0), np.flip(places, lines[0])
    for word, one in sizes.items():
        yield (word, 0), one
    yield ("before", 0), (places - 1) % n
    if places.max() < n - 1:
        yield ("after", 0), places + 1


def _by_size(
    at: tuple[np.ndarray, ...], axis: int, lines: list[int], values: np.ndarray, is_order: bool, by_size: bool
) -> dict[str, np.ndarray]:  # fmt: skip
    """Those at the other end, if they are chosen by their size; else those that would be."""
    order = np.argsort(values, axis, kind="stable")
    ranks = np.argsort(order, axis)[at]
    n = values.shape[axis]

    def of_rank(rank: Any) -> np.ndarray:
        return order[(*at[:axis], np.broadcast_to(rank, ranks.shape), *at[axis + 1 :])]

    first = ranks[tuple(slice(None) if r in lines else slice(1) for r in range(ranks.ndim))]
    at_an_end = 0 in (first.min(), n - 1 - first.max()) and bool(np.all(np.abs(np.diff(first.ravel())) == 1))
    if by_size and np.all(ranks == first) and (first.size < ranks.size or at_an_end):
        return {"other end": of_rank(n - 1 - ranks)}
    if is_order:
        return {"own sizes": of_rank(_counted(ranks.shape, lines[0]))}
    return {} if lines else {"largest": of_rank(n - 1), "smallest": of_rank(0)}


def _of_opposite(values: Sequence[np.ndarray], found: LookUp) -> dict[Key, np.ndarray]:
    """The places of the largest, if the right ones are those of the smallest entries of an earlier value, or the other way round."""
    places, n = found.at[found.axis], found.shape[found.axis]
    alike = tuple(slice(None) if r in found.free else 0 for r in range(places.ndim))
    index = places[alike]
    for value in values if index.size > 1 and n > 1 else ():
        for axis in range(value.ndim) if value.size == n * index.size else ():
            if value.shape[axis] == n and value.shape[:axis] + value.shape[axis + 1 :] == index.shape:
                least, most = value.argmin(axis), value.argmax(axis)
                for word, right, other in (("at largest", least, most), ("at smallest", most, least)):
                    if np.array_equal(index, right):
                        spread = tuple(slice(None) if r in found.free else None for r in range(places.ndim))
                        return {(word, 0): np.broadcast_to(other[spread], places.shape)}
    return {}


def is_move(step: RowCall) -> bool:
    """Does it only cut, turn or move what it takes?"""
    return moves(step) or step.row.name in MOVES


def steps_after(chain: Chain, place: int, test: Callable[[RowCall], bool]) -> Iterator[tuple[RowCall, int]]:
    """The steps of a kind that follow a place one after another, each the only use of what is before it, and the arguments it is there."""
    while place != chain.last:
        uses = [(after, k) for after in chain.steps for k, source in enumerate(after.sources) if source == place]
        if len(uses) != 1 or not test(uses[0][0]) or uses[0][1] not in uses[0][0].passed:
            return
        yield uses[0]
        place = uses[0][0].place
