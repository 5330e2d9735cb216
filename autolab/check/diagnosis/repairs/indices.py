"""The changes of an index, and of what is written where: another place, the one before, the row of this turn, `+=` for `=`."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .schema import IN_PLACE, Site, same, store, store_in_place
from .values import Change, Edit, Pool, instead, is_array, is_number, quote_of, shape_of, short, with_axis


def indices(site: Site, pool: Pool) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Subscript):
        return
    quote, index = f"`{short(site.text())}`", site.args[1]
    if isinstance(slice_of := getattr(site.node.slice, "was", site.node.slice), ast.BinOp) and isinstance(slice_of.op, ast.Sub):
        text = f"0 for {quote} in the first step, where it is the last entry: index -1 counts from the end"
        yield Edit(1.1, "places", text, ("wrapped",), lambda do, a, k, n: 0 * do(*a) if is_number(a[1]) and a[1] == -1 else do(*a))
    for key, other in _other_indices(index, site.args[0]):
        said = WHERE.get(key[-1] if isinstance(key, tuple) and len(key) == 2 else "", "another index in")
        cost = 1.04 if said in (WHERE[1], WHERE[-1]) else 1.2
        yield Edit(cost, "places", f"{said} {quote}", ("index", key), lambda do, a, k, n, f=other: do(a[0], f(a[1])))
    if is_number(index) and is_array(site.args[0]) and any(turns(site)):
        for said, first in _before_the_first(site, pool):
            text = f"the place before the one in {quote}, and {said} before the first"
            yield Edit(1, "places", text, ("before", said), lambda do, a, k, n, f=first: a[0][a[1] - 1] if a[1] else f(n, do(*a)))
    for words, names, change in _ranges(site):
        yield Edit(1.25, "places", f"{words} in {quote}", ("index", names), change)
    is_put_in = isinstance(index, tuple) and sum(part is None for part in index) == 1 and hasattr(site.args[0], "ndim")
    for name in ("axis", "dim") if is_put_in else ():
        if isinstance(site.names.get(name), int):
            text = f"`{name}` as the place of the new axis in {quote}"
            yield Edit(1.2, "axis", text, ("axis put in", name), lambda do, a, k, n, name=name: with_axis(a[0], n[name]))
    if hasattr(site.args[0], "ndim"):  # not np.r_, which as an operand is asked for one entry after another
        yield Edit(1.5, "places", f"no index in {quote}", ("no index",), instead(lambda a, i: a))
    if isinstance(index, np.ndarray) and index.dtype.kind == "i" and isinstance(site.args[0], np.ndarray):
        for key, shape in pool.shapes.items():
            text = f"each entry added at its index, and not taken from there, in {quote}"
            yield Edit(1.4, "mask", text, ("scattered", key), lambda do, a, k, names, f=shape: _scattered(a[0], a[1], f(names)))


def turns_for_numbers(site: Site, pool: Pool) -> Iterator[Edit]:
    """The entry of this turn of a loop, or the one before, for the one that a number names."""
    if site.do is same and type(site.value) is int and isinstance(site.parents[0], ast.Subscript):
        for name in turns(site):
            for less in (0, 1):
                text = f"a place that moves with the loop in the place of {site.text()}"
                key = ("number", site.value, name, less)
                yield Edit(1.2 + less / 10, "places", text, key, lambda do, a, k, n, i=name, m=less: n[i] - m)


def _before_the_first(site: Site, pool: Pool) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What a recurrence may begin with: 0, or an array of the shape of one state."""
    yield "0", lambda names, value: 0 * value
    for name, value_of in pool.arrays.items():
        if isinstance(name, str) and shape_of(value := value_of(site.names)) == shape_of(site.value) and is_array(value):
            yield f"`{name}`", lambda names, value, f=value_of: f(names)


WHERE = {1: "the place after the one in", -1: "the place before the one in", "other end": "the place counted from the other end in",
         "backwards": "the slice backwards in"}  # fmt: skip


def lost_indices(site: Site, pool: Pool) -> Iterator[Edit]:
    """In a loop: the entry or the row of this turn, and not the whole."""
    if not isinstance(site.node, (ast.Name, ast.Attribute)) or not is_array(site.value) or not site.value.ndim or is_written_into(site):
        return
    if isinstance(site.parents[0], ast.Subscript) and getattr(site.parents[0].slice, "was", site.parents[0].slice) is not site.node:
        return
    for name in turns(site):
        text = f"an index `{name}` of {quote_of(site)}"
        for axis in range(min(site.value.ndim, 3)):
            take: Change = lambda do, a, k, names, before=(slice(None),) * axis, i=name: do(*a)[(*before, names[i])]
            yield Edit(1.7, "places", text, ("index put in", name, axis), take)


def turns(site: Site) -> Iterator[str]:
    """The numbers that say which turn of a loop it is."""
    for parent in site.parents:
        for loop in (parent, *getattr(parent, "generators", ())):
            for node in ast.walk(getattr(loop, "target", None) or ast.Pass()) if isinstance(loop, (ast.For, ast.comprehension)) else ():
                if isinstance(node, ast.Name) and isinstance(site.names.get(node.id), (int, np.integer)):
                    yield node.id


def _scattered(array: np.ndarray, index: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape, array.dtype)
    np.add.at(out, index, array)
    return out


def _other_indices(index: Any, array: Any) -> Iterator[tuple[Any, Callable[..., Any]]]:
    parts = index if isinstance(index, tuple) else (index,)

    def put(i: int, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda now: tuple(function(p) if j == i else p for j, p in enumerate(now)) if isinstance(now, tuple) else function(now)

    for i, part in enumerate(parts):
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            for step in (1, -1):
                yield (i, step), put(i, lambda p, s=step: p + s)
            yield (i, "other end"), put(i, lambda p: -1 - p)
        elif isinstance(part, slice):
            for start, stop in STEPS:
                yield (i, start, stop), put(i, lambda p, a=start, b=stop: _moved(p, a, b))
            yield (i, "backwards"), put(i, lambda p: slice(p.stop, p.start, -1 if p.step is None else None))
        elif isinstance(part, np.ndarray) and part.dtype == bool:
            yield (i, "not"), put(i, lambda p: ~p)
    if sum(isinstance(part, slice) for part in parts) > 1:
        for start, stop in STEPS:
            yield ("all", start, stop), lambda now, a=start, b=stop: tuple(_moved(p, a, b) if isinstance(p, slice) else p for p in now)
    if len(parts) > 1 and len(parts) < 5:
        for order in itertools.permutations(range(len(parts))):
            if order != tuple(range(len(parts))):
                yield order, lambda now, order=order: tuple(now[k] for k in order)
    if len(parts) == 1 and parts[0] is not None and getattr(array, "ndim", 0) > 1:
        yield "second axis", lambda now: (slice(None), now)


def _ranges(site: Site) -> Iterator[tuple[str, Any, Change]]:
    """All entries between the numbers of two loops, where the first alone is."""
    index = site.args[1]
    if not is_number(index) or not isinstance(site.args[0], np.ndarray):
        return
    names = [*dict.fromkeys(turns(site))]
    for one, other in itertools.permutations(names, 2) if len(names) < 4 else ():
        if site.names[one] == index:
            change: Change = lambda do, a, k, n, i=one, j=other: do(a[0], slice(n[i], n[j]), *a[2:], **k)
            yield "several entries, and not one alone,", (one, other), change


STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))  # of the two ends of a slice


def _moved(part: slice, start: int, stop: int) -> slice:
    first = part.start if not start else (part.start or 0) + start
    last = part.stop if not stop else (part.stop if part.stop is not None else 0) + stop
    return slice(None if first == 0 else first, None if stop and last == 0 else last, part.step)


ALL_ADDED = "all contributions added, as np.add.at does, in"


def _all_along(index: Any, i: int) -> Any:
    return tuple(slice(None) if k == i else part for k, part in enumerate(index)) if isinstance(index, tuple) else slice(None)


def stores(site: Site, pool: Pool) -> Iterator[Edit]:
    if site.do in (store, store_in_place):
        quote = f"`{short(site.text())}`"
        adds = lambda do, a, k, n: np.add.at(*a) if isinstance(a[0], np.ndarray) else store_in_place(*a)
        index = site.args[1] if isinstance(site.args[1], tuple) else (site.args[1],)
        is_added = site.do is store_in_place and any(isinstance(part, (np.ndarray, list)) for part in index)
        if site.do is store or is_added:
            text = f"{ALL_ADDED} {quote}" if is_added else f"a sum of all that is written in {quote}"
            yield Edit(1, "overwritten", text, ("store", "add"), adds)
        if site.do is store_in_place:
            yield Edit(1.5, "overwritten", f"one value written in {quote}", ("store", "set"), lambda do, a, k, n: store(*a))
            other = lambda do, a, k, n: store_in_place(*a, operator.iadd if k["do"] is operator.isub else operator.isub)
            yield Edit(1, "term sign", f"the other sign in {quote}", ("store", "sign"), other)
            for i, part in enumerate(index):
                if isinstance(part, (int, np.integer)) and np.ndim(site.args[0]) > 1:
                    all_along: Change = lambda do, a, k, n, i=i: do(a[0], _all_along(a[1], i), *a[2:], **k)
                    yield Edit(1.3, "places", f"all along an axis, and not one entry, in {quote}", ("index", "all along", i), all_along)
            for c in (2, 0.5):
                text = f"another multiple of what is added in {quote}"
                yield Edit(1.5, "constant", text, ("store", "times", c), lambda do, a, k, n, c=c: do(*a[:2], c * a[2], **k))
        for key, change in _other_indices(site.args[1], site.args[0]):
            yield Edit(
                1, "places", f"another index in {quote}", ("index", key), lambda do, a, k, n, f=change: do(a[0], f(a[1]), *a[2:], **k)
            )
        for words, names, span in _ranges(site):
            yield Edit(1.25, "places", f"{words} in {quote}", ("index", names), span)
        yield Edit(2, "extra term", f"nothing written in {quote}", ("store", "no"), lambda do, a, k, n: None)
    elif site.do in IN_PLACE.values():
        yield Edit(1.5, "overwritten", f"one value in {quote_of(site)}", ("in place", "set"), lambda do, a, k, n: a[1])


def is_written_into(site: Site) -> bool:
    """Is it an array of which entries are set? In its place another array would take them, and they would be lost."""
    parent: Any = site.parents[0]
    targets = getattr(parent, "targets", [getattr(parent, "target", None)])
    return any(isinstance(target, ast.Subscript) and target.value is site.node for target in targets)
