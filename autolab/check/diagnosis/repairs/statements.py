"""The changes that are tried with a statement: another place, or none; a sum for a value; a value from before another statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from .blocks import LOOPS, Move
from .schema import Site
from .values import Change, Edit, Pool, exchanged, is_array, is_number, kind_of, quote_of, short, then

COSTS = {"exchanged": 1.2, "moved": 2, "left out": 1.8, "into the loop": 1.6, "out of the loop": 1.4}


def moves(site: Site) -> Iterator[Edit]:
    """The statement elsewhere in its block, on the other side of a loop's border, or nowhere."""
    assert site.block is not None
    statement = site.node
    place = next((k for k, s in enumerate(site.block.statements) if s is statement), -1)
    for move in site.block.moves[place] if place >= 0 else ():
        orders = {number: (lambda do, a, k, names, order=order: order) for number, order in move.orders.items()}
        change = orders.pop(site.block.number)
        yield Edit(COSTS[move.kind], _family(move, site), _said(move, site), (move.kind, site.number, move.other), change, orders)


def _family(move: Move, site: Site) -> str:
    if isinstance(site.node, ast.Return):  # it ends the loop in its first turn
        return "one of many"
    if move.kind == "left out":
        return "extra term"
    return "scan" if any(isinstance(node, LOOPS) for node in (move.other, *site.parents)) else "step"


def _said(move: Move, site: Site) -> str:
    quote = quote_of(site)
    if move.kind == "left out":
        return f"{quote} left out"
    if move.kind in ("into the loop", "out of the loop"):
        where = "in" if move.kind == "into the loop" else "outside"
        return f"{quote} {where} the {'`if`' if isinstance(move.other, ast.If) else 'loop'}"
    line = move.other.lineno if move.other else 0
    after = line > site.node.lineno  # type: ignore[attr-defined]
    return f"{quote} {'after' if after else 'before'} `{short(site.text(move.other))}`"


def assignments(site: Site, pool: Pool) -> Iterator[Edit]:
    """A sum for a value."""
    if isinstance(site.node, ast.Assign) and isinstance(target := site.node.targets[0], ast.Name):
        name = target.id
        if kind_of(site.value) == "array":
            text = f"a sum of all values in {quote_of(site)}"
            made = getattr(site.node.value, "func", None)  # zeros that are made in each turn should be made before the loop
            cost = 1.5 if getattr(made, "attr", "").startswith("zeros") else 1.2
            yield Edit(cost, "overwritten", text, ("assigned", "add"), lambda do, a, k, names: _added(names.get(name), do(*a)))


def _added(before: Any, value: Any) -> Any:
    return value if before is None else before + value


def earlier_values(site: Site, pool: Pool) -> Iterator[Edit]:
    """The value that a name had before another statement."""
    if not isinstance(site.node, ast.Name) or kind_of(site.value) not in ("array", "size"):
        return
    name = site.node.id
    for store in site.stores:
        text = f"the value of `{name}` before `{short(store.text())}`"
        keep = {store.number: lambda do, a, k, names, s=store: _kept(s, names.get(name), do, a)}
        read: Change = lambda do, a, k, names, s=store: s.past[s.number] if s.number in s.past else do(*a)
        family = "variable" if kind_of(site.value) == "array" else "size"
        yield Edit(1.15, family, text, ("earlier", name, store.number), read, keep)


def _kept(store: Site, value: Any, do: Callable, args: tuple) -> Any:
    if value is not None:
        store.past[store.number] = value if is_number(value) else value + 0
    return do(*args)


def loops(site: Site, pool: Pool) -> Iterator[Edit]:
    """What a loop goes through: the other way round, or without an end."""
    if not site.parents or not isinstance(loop := site.parents[0], ast.For) or isinstance(site.value, range):
        return
    if getattr(loop.iter, "was", loop.iter) is not site.node:
        return
    quote = quote_of(site)
    yield Edit(1.2, "scan", f"the other direction in {quote}", ("loop", "reversed"), then(lambda v: list(v)[::-1]))
    yield Edit(1.4, "places", f"other bounds in {quote}", ("loop", "start"), then(lambda v: list(v)[1:]))
    yield Edit(1.4, "places", f"other bounds in {quote}", ("loop", "stop"), then(lambda v: list(v)[:-1]))


def taken_apart(site: Site, pool: Pool) -> Iterator[Edit]:
    """The values of a tuple under the names of one another."""
    parent = site.parents[0] if site.parents else None
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Tuple):
        return
    if not isinstance(site.value, tuple) or not 1 < len(site.value) < 6 or not all(map(is_array, site.value)):
        return
    for i in range(len(site.value)):
        for j in range(i):
            change = then(lambda v, i=i, j=j: exchanged(v, i, j))
            yield Edit(1.2, "swapped", f"another order of the names for {quote_of(site)}", ("taken apart", i, j), change)
