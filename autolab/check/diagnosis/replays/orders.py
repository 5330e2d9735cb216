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

from ...run.observation import Observation
from ..diagnosis import Mistake
from ..family import Family

MOST = 120  # calls of the right rule
Order = Callable[[int, Observation], np.ndarray]  # of the size of an axis, in a call: in which order its entries are taken


def find_order(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first other order that explains all these calls."""
    first = wrong[0]
    if first.reference.elementwise or first.got[x].shape != first.want[x].shape:
        return None
    for _, family in zip(range(MOST), _families(first, x), strict=False):
        if all(_fits(family, o, x) for o in wrong):
            return Mistake(family.name, family.text, len(wrong) > 1, family.predict)
    return None


def _fits(family: Family, o: Observation, x: str) -> bool:
    try:
        return o.gave(x, family.predict(o, x))
    except Exception:  # no such sizes here
        return False


def _families(first: Observation, x: str) -> Iterator[Family]:
    for axis, n in enumerate(first.g.shape):
        for said, order in _orders(n, first):
            text = f"takes axis {axis} of g in another order: {said}"
            yield Family("permutation", text, partial(_with_g, axis=axis, order=order))
    for axis, n in enumerate(first.want[x].shape):
        for said, order in _orders(n, first):
            text = f"has the entries along axis {axis} of {x} in another order: {said}"
            yield Family("permutation", text, partial(_afterwards, axis=axis, order=order))
            if axis < first.g.ndim and first.g.shape[axis] == n:
                text = f"takes axis {axis} of {x} and of g in another order than forward: {said}"
                yield Family("permutation", text, partial(_with_all, axis=axis, order=order))
    for one, other in combinations(range(first.g.ndim), 2):
        for said, order in _orders(first.g.shape[one], first):
            for again, second in _orders(first.g.shape[other], first):
                text = f"takes axes {one} and {other} of g in another order, as blocks for what lies in turns or the other way round: "
                yield Family("permutation", text + f"{said}, and {again}", partial(_with_both, axes=(one, other), orders=(order, second)))


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
    parts = [a for a in range(2, n) if n % a == 0]
    for a in parts:
        yield f"as if its {n // a} rows of {a} were read column by column", partial(_turned, a=a)
    for a in parts:
        for b in (b for b in parts if n % (a * b) == 0 and b < n // a):
            if {a, b, n // (a * b)} <= sizes:
                text = f"as if in each of its {a} parts {b} rows of {n // (a * b)} were read column by column"
                yield text, partial(_turned_inside, a=a, b=b)


def _turned(n: int, o: Observation, a: int) -> np.ndarray:
    return np.arange(n).reshape(_whole(n, a), a).T.ravel()


def _turned_inside(n: int, o: Observation, a: int, b: int) -> np.ndarray:
    return np.arange(n).reshape(a, b, _whole(n, a * b)).swapaxes(1, 2).ravel()


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


def _with_both(o: Observation, x: str, axes: tuple[int, int], orders: tuple[Order, Order]) -> np.ndarray:
    g = o.g
    for axis, order in zip(axes, orders, strict=True):
        g = np.take(g, order(g.shape[axis], o), axis)
    return o.reference.gradient(x, g, o.names)


def _afterwards(o: Observation, x: str, axis: int, order: Order) -> np.ndarray:
    return np.take(o.want[x], order(o.want[x].shape[axis], o), axis)


def _with_all(o: Observation, x: str, axis: int, order: Order) -> np.ndarray:
    """The whole operation on an input whose axis is in another order, and its gradient brought back."""
    taken = order(o.want[x].shape[axis], o)
    inputs: list[Any] = [np.take(o.names[y], taken, axis) if y == x else o.names[y] for y in o.reference.inputs]
    value = o.reference.gradient(x, np.take(o.g, taken, axis), o.reference.environment(inputs, o.settings))
    return np.take(value, np.argsort(taken), axis)
