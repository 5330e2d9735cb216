"""An entry that was chosen, and another one that receives its gradient: the next one in size, the one at the same place, the inverse order.

Where each result is one entry of x, as in a sort, a maximum or a gather, a wrong rule sends some parts of g to other entries. Which ones
they are, by their size among those they were chosen from or by their place, says what was exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...run.observation import Observation, all_among, all_differ, close
from ..diagnosis import Mistake
from ..quiet import quiet
from .jacobian_rows import is_linear, jacobians

LEAST = 3  # results that go elsewhere


@dataclass(frozen=True, eq=False)
class Choice:
    """Along one axis: where each result came from and where its g goes, the values of x with that axis last, the line of each result."""

    right: np.ndarray
    yours: np.ndarray
    values: np.ndarray  # (lines, n)
    line: np.ndarray
    place: np.ndarray  # of the result along that axis; -1 where the result has no such axis
    after: np.ndarray  # how many results the line has

    @property
    def n(self) -> int:
        """How many entries there are to choose from."""
        return self.values.shape[1]

    def rank(self, at: np.ndarray) -> np.ndarray:
        """How many entries of its line are smaller."""
        return np.asarray(self.values.argsort(axis=1, kind="stable").argsort(axis=1)[self.line, at])

    @property
    def is_by_size(self) -> bool:
        """Does the place of a result alone say how large its entry is among those of its line, as in a sort or a maximum?"""
        ranks: dict[int, set[int]] = {}
        for place, rank in zip(self.place.tolist(), self.rank(self.right).tolist(), strict=True):
            ranks.setdefault(place, set()).add(rank)
        return self.n > 2 and all(len(some) == 1 for some in ranks.values())

    @property
    def inverse(self) -> np.ndarray:
        """Where the inverse of the order goes, where each line is one of all its entries."""
        if np.any(self.after != self.n):
            return np.full(len(self.right), -1)
        order = np.full(self.values.shape, -1)
        order[self.line, self.right] = self.place
        return np.where((order[self.line] >= 0).all(axis=1) & (self.place >= 0), order[self.line, self.place], -1)


Test = Callable[[Choice], Any]
INSTEAD = ": each belongs to the entry that forward took"
TESTS: list[tuple[str, str, Test]] = [
    (
        "tie",
        "gives g to another one of several equal entries than forward took",
        lambda c: c.values[c.line, c.yours] == c.values[c.line, c.right],
    ),
    ("permutation", "is moved by the order of forward, where the inverse of that order belongs", lambda c: c.yours == c.inverse),
    (
        "permutation",
        "leaves each part of g at the place that it has in the result: it is not brought back to where it came from",
        lambda c: c.yours == c.place,
    ),
]
BY_SIZE: list[tuple[str, str, Test]] = [
    ("mask", "gives each part of g to the next larger entry" + INSTEAD, lambda c: c.rank(c.yours) == c.rank(c.right) + 1),
    ("mask", "gives each part of g to the next smaller entry" + INSTEAD, lambda c: c.rank(c.yours) == c.rank(c.right) - 1),
    (
        "mask",
        "counts the sizes of its entries from the other end, the smallest for the largest" + INSTEAD,
        lambda c: c.rank(c.yours) == c.n - 1 - c.rank(c.right),
    ),
    (
        "mask",
        "gives g to the smallest entries of each line, where forward took the largest",
        lambda c: (2 * c.after <= c.n) & (c.rank(c.yours) < c.after) & (c.rank(c.right) >= c.n - c.after),
    ),
    (
        "mask",
        "gives g to the largest entries of each line, where forward took the smallest",
        lambda c: (2 * c.after <= c.n) & (c.rank(c.right) < c.after) & (c.rank(c.yours) >= c.n - c.after),
    ),
    ("mask", "gives all parts of g to the largest entry of each line" + INSTEAD, lambda c: c.rank(c.yours) == c.n - 1),
    ("mask", "gives all parts of g to the smallest entry of each line" + INSTEAD, lambda c: c.rank(c.yours) == 0),
    ("permutation", "uses the rank of an entry for its place, or its place for its rank", lambda c: c.yours == c.rank(c.right)),
]
BY_ABSOLUTE = (
    "mask",
    "gives g to the entry with the largest absolute value" + INSTEAD,
    lambda c: (
        (c.yours == c.right) | ((c.values[c.line, c.yours] < 0) & (np.abs(c.values[c.line, c.yours]) > np.abs(c.values[c.line, c.right])))
    ),
)
BY_PLACE: list[tuple[str, str, Test]] = [
    ("flipped", "counts the places of its entries from the other end", lambda c: c.yours == c.n - 1 - c.right),
    ("flipped", "takes g in the opposite order: the last part first", lambda c: (c.place >= 0) & (c.yours == _opposite(c))),
    ("places", "gives each part of g to the entry after the one that it came from: a place is counted from 0",
     lambda c: c.yours == c.right + 1),
    ("places", "gives each part of g to the entry before the one that it came from: a place is counted from 0",
     lambda c: c.yours == c.right - 1),
    ("places", "gives all parts of g to the first entry of each line" + INSTEAD, lambda c: c.yours == 0),
    ("places", "gives all parts of g to the last entry of each line" + INSTEAD, lambda c: c.yours == c.n - 1),
]  # fmt: skip


def _opposite(c: Choice) -> np.ndarray:
    """Where the g of the result at the other end of the line belongs."""
    came = np.full((len(c.values), int(c.after.max())), -1)
    came[c.line, np.maximum(c.place, 0)] = c.right
    return np.asarray(came[c.line, c.after - 1 - np.maximum(c.place, 0)])


@quiet
def find_selection(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first rule by which g goes to other entries than those that were chosen, in all these calls."""
    if wrong[0].reference.elementwise:
        return None
    choices = []
    for o in wrong:
        if o.got[x].shape != o.want[x].shape or np.asarray(o.names[x]).dtype.kind != "f" or not _may_be_moved(o, x):
            return None
        if (found := _choice(o, x)) is None:
            return None
        choices.append(found)
    if sum(np.sum(c.yours != c.right) for c in choices) < LEAST:
        return None
    for family, text, test in (*TESTS, *(BY_SIZE if all(c.is_by_size for c in choices) else ()), *BY_PLACE, BY_ABSOLUTE):
        if all(np.all(test(c) | (c.yours == c.right) * (family == "tie")) for c in choices):
            return Mistake(family, text, len(wrong) > 1 and test is not BY_ABSOLUTE[2])
    return None


def _may_be_moved(o: Observation, x: str) -> bool:
    """Are the numbers of g in both gradients, as far as they are not 0? If several met, their sum is."""
    return close(np.asarray(o.got[x].sum()), np.asarray(o.want[x].sum()))


def _choice(o: Observation, x: str) -> Choice | None:
    pair = jacobians(o, x)
    if pair is None or not is_linear(o, pair):
        return None
    heard = ~pair.zero
    if not np.all(heard.sum(axis=1) == 1) or not np.all(pair.needed.sum(axis=1) == 1):
        return None
    right, yours = pair.needed.argmax(axis=1), heard.argmax(axis=1)
    rows = np.arange(len(right))
    if not close(pair.yours[rows, yours], pair.right[rows, right]):
        return None
    for axis in _axes(right, yours, pair.x_shape):
        return _along(np.asarray(o.names[x]), right, yours, pair.out_shape, axis)
    return None


def _axes(right: np.ndarray, yours: np.ndarray, shape: tuple[int, ...]) -> Iterator[int]:
    """The one axis along which they differ."""
    at, to = np.unravel_index(right, shape), np.unravel_index(yours, shape)
    differ = [k for k in range(len(shape)) if not np.array_equal(at[k], to[k])]
    if len(differ) == 1:
        yield differ[0]


def _along(values: np.ndarray, right: np.ndarray, yours: np.ndarray, out_shape: tuple[int, ...], axis: int) -> Choice:
    shape = values.shape
    lines = np.arange(values.size // shape[axis]).reshape(shape[:axis] + (1,) + shape[axis + 1 :])
    line = np.broadcast_to(lines, shape).ravel()[right]
    at = np.unravel_index(right, shape)[axis], np.unravel_index(yours, shape)[axis]
    place, after = np.full(len(right), -1), np.ones(len(right), int)
    if len(out_shape) == len(shape):
        place = np.unravel_index(np.arange(len(right)), out_shape)[axis]
        after = np.full(len(right), out_shape[axis])
    return Choice(*at, np.moveaxis(values, axis, -1).reshape(-1, shape[axis]), line, place, after)


@quiet
def find_other_end(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """What belongs to an entry with as many larger ones as this one has smaller ones, along one axis, in all these calls."""
    if wrong[0].reference.elementwise:
        return None
    if all(_is_right_for_opposite(o, x) for o in wrong):
        return Mistake("mask", "gives g to the largest entries where forward took the smallest, or the other way round", len(wrong) > 1)
    for axis in (-1, -2, -3):
        if all(_has_other_end(o, x, axis) for o in wrong):
            text = f"has sizes counted from the other end along axis {axis}, the smallest for the largest"
            return Mistake("mask", f"{text}: each number belongs to the entry that forward took", len(wrong) > 1)
    return None


def _is_right_for_opposite(o: Observation, x: str) -> bool:
    """Is it, where each number is one of g, what is right if all of x has the other sign?"""
    if not all_among(o.got[x], np.append(o.g, 0)) or not all_among(o.want[x], np.append(o.g, 0)):
        return False
    try:
        names = o.reference.environment(
            [-np.asarray(v) if y == x else v for y, v in zip(o.reference.inputs, o.inputs, strict=True)], o.settings
        )
        return o.gave(x, o.reference.gradient(x, o.g, names))
    except Exception:  # the operation takes no such numbers
        return False


def _has_other_end(o: Observation, x: str, axis: int) -> bool:
    values, want = np.asarray(o.names[x]), o.want[x]
    if values.shape != want.shape or values.ndim < -axis or values.dtype.kind != "f" or not all_differ(values):
        return False
    order = np.argsort(values, axis, kind="stable")
    moved = np.empty_like(want)
    np.put_along_axis(moved, order, np.take_along_axis(want, np.flip(order, axis), axis), axis)
    return o.gave(x, moved)
