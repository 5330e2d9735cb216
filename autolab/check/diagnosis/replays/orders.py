"""An axis that is read in another order: the entries of several axes lie along it, and a reshape or a slice takes them the other way.

Channels and places of a window lie along one axis of its columns, groups and their members along one axis of channels, halves along
the last. The right rule is called with g, with the inputs, or read afterwards, in such another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ...run.observation import Observation, all_differ
from ..budget import CALL, UNLIKELY, affordable
from ..diagnosis import Mistake
from ..family import Family
from ..quiet import quiet

SMALL = 12  # entries along an axis, of which all orders are tried
LEAST = 8  # numbers
MOST = 120  # calls of the right rule
Order = Callable[[int, Observation], np.ndarray]  # of the size of an axis, in a call: in which order its entries are taken


@quiet
def find_order(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first other order that explains all these calls."""
    first = wrong[0]
    if first.reference.elementwise or first.got[x].shape != first.want[x].shape:
        return None
    for _, family in zip(range(MOST), _families(first, x), strict=False):
        if affordable(first, CALL, UNLIKELY) and all(_fits(family, o, x) for o in wrong):
            return Mistake(family.name, family.text, len(wrong) > 1, family.predict)
    return _layout(wrong, x)


def _layout(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """All of g in another order: it is cut into axes, and some of these are exchanged."""
    found = [_exchange(o, x) for o in wrong]
    if not found[0] or any(one != found[0] for one in found):
        return None
    shape, axes = found[0]
    text = f"takes g in another order than forward gave its result: as if it lay as {shape}, with these axes in the order {axes}"
    return Mistake("permutation", text, len(wrong) > 1)


def _exchange(o: Observation, x: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape of g and the order of its axes that put the numbers of the right gradient where those of the other one are."""
    got, want = np.ravel(o.got[x]), np.ravel(o.want[x])
    if got.size != want.size or got.size < LEAST or not all_differ(want) or np.any(np.sort(got) != np.sort(want)):
        return None
    if np.array_equal(got, np.ravel(o.g)):  # nothing was moved, which is simpler to say
        return None
    if o.g.size != want.size or np.any(np.sort(np.ravel(o.g)) != np.sort(want)):
        return None
    places = {value: k for k, value in enumerate(np.ravel(o.g).tolist())}
    moved = np.empty(got.size, int)  # which entry of g is where the rule needs the one with this number
    for right, yours in zip(want.tolist(), got.tolist(), strict=True):
        moved[places[right]] = places[yours]
    sizes: list[int] = []
    strides: list[int] = []
    while moved.size > 1:
        step = moved[1] - moved[0]
        n = next((k for k in range(2, moved.size) if moved[k] - moved[k - 1] != step), moved.size)
        n = max(k for k in range(1, n + 1) if moved.size % k == 0)
        rows = moved.reshape(-1, n)
        if n < 2 or np.any(rows - rows[:, :1] != rows[0] - rows[0, 0]):
            return None
        sizes, strides, moved = [n, *sizes], [int(step), *strides], rows[:, 0]
    if moved[0] or min(strides) < 1 or len(sizes) < 3:
        return None
    order = sorted(range(len(sizes)), key=lambda k: -strides[k])
    return tuple(sizes[k] for k in order), tuple(order.index(k) for k in range(len(sizes)))


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        return o.gave(x, family.predict(o, x))
    except Exception:  # no such sizes here
        return False


def _families(first: Observation, x: str) -> Iterator[Family]:
    for axis, n in enumerate(first.g.shape):
        for said, order in _orders(n, first):
            text = f"takes axis {axis} of g in another order: {said}"
            if order is _halves:  # which is a roll
                continue
            yield Family("permutation", text, partial(_with_g, axis=axis, order=order))
    for axis, n in enumerate(first.want[x].shape):
        for said, order in _orders(n, first):
            text = f"has the entries along axis {axis} of {x} in another order: {said}"
            if order is not _halves:
                yield Family("permutation", text, partial(_afterwards, axis=axis, order=order))
            if axis < first.g.ndim and first.g.shape[axis] == n:
                text = f"takes axis {axis} of {x} and of g in another order than forward: {said}"
                yield Family("permutation", text, partial(_with_all, axis=axis, order=order))
            elif axis >= first.g.ndim or first.g.shape[axis] != n:
                text = f"takes the entries along axis {axis} of {x} in another order than forward: {said}"
                yield Family("permutation", text, partial(_with_x, axis=(axis,), order=(order,)))
    for name, shape in (("g", first.g.shape), (x, first.want[x].shape)):
        for one, other in combinations(range(len(shape)), 2):
            for said, order in _orders(shape[one], first):
                for again, second in _orders(shape[other], first):
                    text = (
                        f"has axes {one} and {other} of {name} in another order, as blocks for what lies in turns or the other way round: "
                    )
                    predict = partial(_with_both, axes=(one, other), orders=(order, second), of_g=name == "g")
                    yield Family("permutation", text + f"{said}, and {again}", predict)
                    if name == x and x != "g":
                        text = f"takes axes {one} and {other} of {x} in another order than forward, as blocks for what lies in turns "
                        predict = partial(_with_x, axis=(one, other), order=(order, second))
                        yield Family("permutation", f"{text}or the other way round: {said}, and {again}", predict)


def _orders(n: int, o: Observation) -> Iterator[tuple[str, Order]]:
    """Two or three axes that lie along one, taken the other way round; those of sizes that are known before others."""
    sizes = {1, *(m for y in o.reference.inputs for m in o.shape(y))}
    for name, value in o.settings.items():
        if (
            isinstance(value, tuple)
            and len(value) == 2
            and all(isinstance(v, int) and v > 1 for v in value)
            and n % (value[0] * value[1]) == 0
        ):
            for k in (0, 1):
                yield f"the two axes of {name} that lie along it are exchanged", partial(_exchanged, name=name, k=k)
    if n > 2 and n % 2 == 0:
        yield "its halves are exchanged", _halves
    parts = [a for a in range(2, n) if n % a == 0]
    for a in parts:
        yield f"as if its {n // a} rows of {a} were read column by column", partial(_turned, a=a)
    for a in parts:
        for b in (b for b in parts if n % (a * b) == 0 and b < n // a):
            c = n // (a * b)
            if n <= SMALL or {a, b, c} <= sizes:
                yield f"as if in each of its {a} parts {b} rows of {c} were read column by column", partial(_turned_inside, a=a, b=b)
                yield f"as if {a} rows of {b} were read column by column, {c} entries at a time", partial(_turned_outside, a=a, b=b)


def _turned(n: int, o: Observation, a: int) -> np.ndarray:
    return np.arange(n).reshape(_whole(n, a), a).T.ravel()


def _turned_inside(n: int, o: Observation, a: int, b: int) -> np.ndarray:
    return np.arange(n).reshape(a, b, _whole(n, a * b)).swapaxes(1, 2).ravel()


def _halves(n: int, o: Observation) -> np.ndarray:
    return np.roll(np.arange(n), _whole(n, 2) and n // 2)


def _turned_outside(n: int, o: Observation, a: int, b: int) -> np.ndarray:
    return np.arange(n).reshape(a, b, _whole(n, a * b)).swapaxes(0, 1).ravel()


def _exchanged(n: int, o: Observation, name: str, k: int) -> np.ndarray:
    """The axes of a window, within each channel; k: which of them is taken for the longer step."""
    sizes = o.settings[name]
    return np.arange(n).reshape(_whole(n, sizes[0] * sizes[1]), sizes[k], sizes[1 - k]).swapaxes(1, 2).ravel()


def _whole(n: int, a: int) -> int:
    if n % a:
        raise LookupError("no whole number of parts")
    return n // a


def _with_g(o: Observation, x: str, axis: int, order: Order) -> np.ndarray:
    return o.reference.gradient(x, np.take(o.g, order(o.g.shape[axis], o), axis), o.names)


def _with_both(o: Observation, x: str, axes: tuple[int, int], orders: tuple[Order, Order], of_g: bool) -> np.ndarray:
    value = o.g if of_g else o.want[x]
    for axis, order in zip(axes, orders, strict=True):
        value = np.take(value, order(value.shape[axis], o), axis)
    return o.reference.gradient(x, value, o.names) if of_g else value


def _with_x(o: Observation, x: str, axis: tuple[int, ...], order: tuple[Order, ...]) -> np.ndarray:
    """The operation on an input with axes in another order, with the same g, and its gradient brought back."""
    taken = [(k, one(o.want[x].shape[k], o)) for k, one in zip(axis, order, strict=True)]
    moved = np.asarray(o.names[x])
    for k, places in taken:
        moved = np.take(moved, places, k)
    inputs: list[Any] = [moved if y == x else o.names[y] for y in o.reference.inputs]
    value = o.reference.gradient(x, o.g, o.reference.environment(inputs, o.settings))
    for k, places in taken:
        value = np.take(value, np.argsort(places), k)
    return value


def _afterwards(o: Observation, x: str, axis: int, order: Order) -> np.ndarray:
    return np.take(o.want[x], order(o.want[x].shape[axis], o), axis)


def _with_all(o: Observation, x: str, axis: int, order: Order) -> np.ndarray:
    """The whole operation on an input whose axis is in another order, and its gradient brought back."""
    taken = order(o.want[x].shape[axis], o)
    inputs: list[Any] = [np.take(o.names[y], taken, axis) if y == x else o.names[y] for y in o.reference.inputs]
    value = o.reference.gradient(x, np.take(o.g, taken, axis), o.reference.environment(inputs, o.settings))
    return np.take(value, np.argsort(taken), axis)
