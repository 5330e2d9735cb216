"""Two names, axes, numbers or functions that were exchanged: two changes, and one slip."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .schema import Site, as_written
from .values import Edit

Pairs = Sequence[tuple[Edit, Site]]
KINDS = {"name": "swapped", "axis": "axis", "number": "order", "function": "order"}
COSTS = {"name": 1.15, "axis": 1.5, "number": 1.5, "function": 1.5}  # two names are soon taken for each other
MOST = 6  # sites of each of the two


def exchanges(groups: Mapping[Any, Pairs]) -> Iterator[tuple[Edit, Pairs]]:
    """For every change of one thing into another that occurs with its opposite: both, everywhere and at one place each."""
    for key, pairs in groups.items():
        if key[0] == "rest":
            yield from _with_the_rest(key, pairs)
        if len(key) != 3 or key[0] not in KINDS or str(key[1]) >= str(key[2]):
            continue
        back = groups.get((key[0], key[2], key[1]), ())
        for function in {site.function for _, site in pairs} & {site.function for _, site in back}:
            one, other = ([(e, s) for e, s in side if s.function == function] for side in (pairs, back))
            if key[0] == "number" and len(one) * len(other) > MOST:
                yield from _alike(key, one, other)
            if 0 < len(one) <= MOST and 0 < len(other) <= MOST:
                edit = Edit(
                    COSTS[key[0]], KINDS[key[0]], f"`{key[1]}` and `{key[2]}` in each other's places", ("exchanged", key), one[0][0].change
                )
                yield edit, (*one, *other)
                if 1 < len(one) * len(other) <= MOST:
                    for a, b in itertools.product(one, other):
                        yield edit._replace(cost=edit.cost + 0.6), (a, b)


def _with_the_rest(key: Any, pairs: Pairs) -> Iterator[tuple[Edit, Pairs]]:
    """A share and 1 less it: `1 - p` where p belongs, and p where that belongs."""
    rests, shares = ([(e, s) for e, s in pairs if is_taken_from_1(s) == is_rest] for is_rest in (True, False))
    both = ([(rests, shares)] if rests and shares else []) + [([a], [b]) for a, b in itertools.product(rests, shares)] * (
        len(rests) * len(shares) <= MOST
    )
    for one, other in both:
        said = f"`{key[1]}` and `1 - {key[1]}` in each other's places"
        yield Edit(COSTS["name"], "swapped", said, ("exchanged", key), one[0][0].change), (*one, *other)


def is_taken_from_1(site: Site) -> bool:
    """Is it the p in `1 - p`?"""
    parent: Any = site.parents[0]
    return (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, ast.Sub)
        and as_written(parent.right) is site.node
        and site.text(parent.left) in ("1", "1.0")
    )


def _alike(key: Any, one: Pairs, other: Pairs) -> Iterator[tuple[Edit, Pairs]]:
    """Of many numbers those two in expressions that are the same but for them: P[i, 1] and P[i, 2]."""
    for (edit, a), (back, b) in itertools.product(one, other):
        around, instead = a.text(a.parents[0]), b.text(b.parents[0])
        if around != instead and around.replace(a.text(), "") == instead.replace(b.text(), ""):
            said = f"`{around}` and `{instead}` in each other's places"
            yield Edit(1.15, "order", said, ("exchanged", key, a.number), edit.change), ((edit, a), (back, b))
