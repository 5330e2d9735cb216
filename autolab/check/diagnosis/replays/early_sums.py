"""g added up too early, or multiplied in too late: each entry of g has a partner of its own inside the sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ...run.observation import Observation, close
from ...run.reference import stretched_axes, sum_to
from ..diagnosis import Mistake
from ..family import Family
from ..replay import Call
from ..shapes import axes_in_words, axis_name, count, lifted
from .axes import in_words
from .ways import BEFORE_AXES, Steps, Way, calls_of, calls_with_g, is_affordable, ways

PARTNERS = ": each entry of g has its own partner, and is multiplied by that before anything is added up"
# What is made of g and of its partners v, where the sum of g * v belongs.
ORDERS: dict[str, Callable[[Call, np.ndarray, np.ndarray], Any]] = {
    "adds up g and its partners by themselves, and multiplies the sums": lambda call, g, v: call.run(call.axis, g) * call.run(call.axis, v),
    "adds up g, and multiplies that by the mean of its partners": lambda call, g, v: _sum(call, g) * _mean(call, v),
    "averages g, and multiplies that by the sum of its partners": lambda call, g, v: _mean(call, g) * _sum(call, v),
    "multiplies by g after the sum, which is then one of the partners alone": lambda call, g, v: g * call.run(call.axis, v),
    "adds up g before it is multiplied": lambda call, g, v: call.run(call.axis, g) * v,
}


def _sum(call: Call, a: np.ndarray) -> Any:
    return call.run(call.axis, a) * (count(a.shape, call.axis) if call.name == "mean" else 1)


def _mean(call: Call, a: np.ndarray) -> Any:
    return call.run(call.axis, a) / (1 if call.name == "mean" else count(a.shape, call.axis))


def early_sums(first: Observation, x: str) -> Iterator[Family]:
    """Every way to take the sum and the product in the other order that explains the first call."""
    if first.reference.elementwise:
        return
    for way in ways(first, x):
        if isinstance(way, Steps):  # which goes back by the rules of its rows
            continue
        for k in calls_with_g(first, x, way):
            call = calls_of(first, x, way)[k]
            if call.kind != "along" or call.name not in ("sum", "add", "mean"):
                continue
            for (said, order), written in product(ORDERS.items(), (False, True)):
                text = f"{said}, in one {in_words(call)}{PARTNERS}"
                predict = partial(_early, way=way, k=k, order=order, written=written)
                try:
                    fits = is_affordable(first, x, way, BEFORE_AXES) and first.gave(x, predict(first, x))
                except Exception:  # g is not a factor there, or the shapes do not allow it
                    continue
                if fits:
                    yield Family("upstream collapsed", text, predict, hint="early sum")


def _early(o: Observation, x: str, way: Way, k: int, order: Callable, written: bool) -> np.ndarray:
    """`written`: the two factors are those that the rule multiplies; else g itself and all the rest."""
    one, other = calls_of(o, x, way)[k].factors or (np.ones(()), np.ones(()))
    if written and np.ptp(other) == 0:
        raise LookupError("no product is summed")
    rest = other if written else calls_of(o, x, way, o.about_right.setdefault("ones", np.ones_like(o.g)))[k].array
    name = axis_name(o)
    g: Any = one if written else lifted(o.g, o.want[x], o.names[name]) if name else o.g

    def change(at: int, call: Call) -> Any:
        whole, partner = np.broadcast_to(g, call.array.shape), np.broadcast_to(rest, call.array.shape)
        if not close(call.array, whole * partner) or np.ptp(partner) == 0:
            raise LookupError("g is not a factor of it")
        return order(call, whole, partner)

    return way.changed(o, x, (k,), change)


def early_unbroadcast(o: Observation, x: str) -> Mistake | None:
    """Of an elementwise operation that stretched x: was g summed to the shape of x before it met the other factor?"""
    shape, got = o.shape(x), o.got[x]
    local = np.broadcast_to(o.reference.raw(x, np.ones_like(o.g), o.names), o.out.shape)
    if not close(sum_to(o.g * local, shape), o.want[x]):
        return None
    axes = axes_in_words(stretched_axes(shape, o.out.shape))
    summed, uses = sum_to(o.g, shape), o.out.size / max(o.want[x].size, 1)
    if close(got, summed):
        return Mistake("upstream only", f"is g, summed over {axes}: the other factor is missing")
    ways = {
        "before it is multiplied": sum_to(summed * local, shape),
        "before it is multiplied, and not after that": summed * local,
        "and averages the other factor": summed * sum_to(local, shape) / uses,
    }
    for said, value in ways.items():
        if close(got, np.asarray(value)):
            text = f"sums g over {axes} {said}: each entry of g has a partner of its own"
            return Mistake("upstream collapsed", text, hint="early sum")
    return None
