"""Which order it is, where forward only moves its numbers: that of forward again, the axes reversed, columns read for rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from ...run.observation import Observation, all_differ
from ..diagnosis import Mistake
from ..quiet import quiet
from .indices import name_of_index
from .parts_of_axes import find_parts_of_axes

MOST_AXES = 5
LEAST = 4  # numbers
Order = tuple[int, ...]


@quiet
def find_permutation(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first order that explains all these calls, where forward gives each of its numbers another place and nothing more."""
    if wrong[0].reference.elementwise or not all(_is_move(o, x) for o in wrong):
        return None
    if all(_is_forward(o, x) for o in wrong):
        index = name_of_index(wrong[0])
        text = f"is moved as forward moves {x}, where the inverse order belongs: what went from place i to place k comes back from k to i"
        text += f". The places that {index} names are those where g goes, and here g is taken from them" * bool(index)
        return Mistake("permutation", text, len(wrong) > 1, parts=("forward",))
    orders = [[(right, yours) for right in _orders(o.g, o.want[x]) for yours in _orders(o.g, o.got[x])] for o in wrong]
    for text, part, test in ORDERS:
        if all(any(test(right, yours) for right, yours in some) for some in orders):
            return Mistake("permutation", text, len(wrong) > 1, parts=(part,))
    for text, predict in READ_OR_WRITTEN:
        if all(_gives(predict, o, x) for o in wrong):
            return Mistake("permutation", text, len(wrong) > 1)
    if exchanged := set.intersection(*[{pair for order in some if (pair := _exchanged(*order))} for some in orders]):
        one, other = min(exchanged)
        return Mistake("permutation", f"has axes {one} and {other} of {x} exchanged", len(wrong) > 1, parts=("transposed",))
    return find_parts_of_axes(wrong, x)


def _is_move(o: Observation, x: str) -> bool:
    """Are the numbers of g in both gradients, each once?"""
    got, want = o.got[x], o.want[x]
    if not (got.size == want.size == o.g.size >= LEAST) or not all_differ(o.g):
        return False
    numbers = np.sort(o.g, axis=None)
    return np.array_equal(np.sort(want, axis=None), numbers) and np.array_equal(np.sort(got, axis=None), numbers)


def _is_forward(o: Observation, x: str) -> bool:
    """Is it forward applied to g, which is not the way back?"""
    try:
        again = o.reference.result([o.g if y == x else o.names[y] for y in o.reference.inputs], o.settings)
    except Exception:  # forward takes no such shape
        return False
    return np.shape(again) == o.got[x].shape and np.array_equal(again, o.got[x]) and not _orders(o.g, o.want[x])


def _orders(a: np.ndarray, b: np.ndarray) -> list[Order]:
    """In which orders the axes of one array are those of the other: several, if some have size 1."""
    if not a.ndim == b.ndim <= MOST_AXES:
        return []
    fits = (p for p in permutations(range(a.ndim)) if tuple(a.shape[k] for k in p) == b.shape)
    return [p for p in fits if np.array_equal(np.transpose(a, p), b)]


def _inverse(order: Order) -> Order:
    return tuple(order.index(k) for k in range(len(order)))


ORDERS: list[tuple[str, str, Callable[[Order, Order], bool]]] = [
    (
        "is moved by the permutation of forward, where its inverse belongs",
        "forward",
        lambda right, yours: len(right) > 2 and yours == _inverse(right),
    ),
    (
        "has all its axes in the opposite order, as .T gives them, where the permutation of forward has to be undone",
        "transposed",
        lambda right, yours: len(right) > 2 and yours == tuple(reversed(range(len(right)))),
    ),
]


def _exchanged(right: Order, yours: Order) -> tuple[int, int] | None:
    """The two axes of x that have changed places, other than the last two of a matrix."""
    differ = [k for k, (a, b) in enumerate(zip(right, yours, strict=True)) if a != b]
    if len(differ) != 2 or differ == [len(right) - 2, len(right) - 1]:
        return None
    return differ[0], differ[1]


# ---------- row by row, or column by column


def _columns_read(a: np.ndarray) -> np.ndarray:
    """The numbers read column by column, and written row by row."""
    return a.ravel(order="F").reshape(a.shape)


def _columns_written(a: np.ndarray) -> np.ndarray:
    return a.ravel().reshape(a.shape, order="F")


def _read(o: Observation, x: str) -> np.ndarray:
    return o.reference.gradient(x, _columns_read(o.g), o.names)


def _written(o: Observation, x: str) -> np.ndarray:
    return _columns_written(o.want[x])


def _both(o: Observation, x: str) -> np.ndarray:
    return _columns_written(_read(o, x))


def _of_rows(o: Observation, x: str) -> np.ndarray:
    """g row by row, where forward took its input column by column."""
    shape = o.want[x].shape
    if not any(np.array_equal(o.want[x], value) for value in _of_columns(o.g, shape)):
        raise LookupError("forward does something else")
    return o.g.reshape(shape)


def _of_columns(g: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    yield g.reshape(shape, order="F")
    yield g.ravel(order="F").reshape(shape)
    yield g.ravel().reshape(shape, order="F")


READ_OR_WRITTEN: list[tuple[str, Callable[[Observation, str], np.ndarray]]] = [
    ("is read and written column by column, as with order='F', where forward went row by row", _both),
    ("reads g column by column, as with order='F' or a transpose before the reshape, where forward wrote it row by row", _read),
    ("is written column by column, as with order='F', where forward read its input row by row", _written),
    ("is read and written row by row, where forward went column by column (order='F')", _of_rows),
]


def _gives(predict: Callable[[Observation, str], Any], o: Observation, x: str) -> bool:
    try:
        return np.array_equal(predict(o, x), o.got[x])
    except Exception:  # no such shapes here
        return False
