"""The product rule where both factors are one input, as it is or moved: x[1:] * x[:-1], x * roll(x, 1), x @ x.T.

Each entry gets two parts, one through each factor. One of them is forgotten, counted twice, left where its product was or moved on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..step_names import row_in_words
from .stepwise import Chain, ChainSlip, moves

PRODUCTS = {"mul", "matmul", "mm", "mv", "dot", "bmm", "outer", "einsum", "div"}
MOVES = {"roll", "flip", "transpose", "swapaxes", "permute", "movedim"}
SUMS = {"add", "sub", "neg"}
WHICH = {True: ("numerator", "denominator"), False: ("first", "second")}
ONE_HALF = "has one half of the"


def halves(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """What may go wrong with the two parts."""
    at, products = chain.inputs.index(x), _products(chain, x)
    every: list[tuple[int, ...] | None] = [(i,) for i in products] + [None] * (len(products) > 1)
    for some in every:  # None: all of them, however many another call has
        first = chain.steps[(some or products)[0]].row.name
        divided = first == "div"
        parts = "both parts" if divided else "both factors"
        both = f"{parts} of {row_in_words(first) if some else 'each product'} come from {x}"
        for k in (0, 1):
            is_moved = all(_path(chain, at, chain.steps[i].sources[k]) for i in some or products)  # and nothing else was done to it
            for family, text, value in _of_one(both, k, "quotient rule" if divided else "product rule", WHICH[divided]):
                if family == "places" and not is_moved:
                    continue
                yield ChainSlip(family, text, lambda chain, k=k, value=value, some=some: _predicted(chain, x, some, k, value))
    for i in products:
        text = f"is that of {x} times itself: in forward each entry meets another one, in {row_in_words(chain.steps[i].row.name)}"
        yield ChainSlip("places", text, lambda chain, i=i: _squared(chain, x, i))


def _products(chain: Chain, x: str) -> list[int]:
    """The steps that multiply, or divide, two things that come from x."""
    at = chain.inputs.index(x)
    products = [i for i, step in enumerate(chain.steps) if step.row.name in PRODUCTS and {0, 1} <= set(step.passed)]
    products = [i for i in products if len(chain.steps[i].sources) == 2 and all(_is_made_of(chain, at, s) for s in chain.steps[i].sources)]
    return [i for i in products if chain.steps[i].row.name != "mul" or len({*chain.steps[i].sources}) > 1]


Part = Callable[[Chain, str, int, int], np.ndarray]  # of a chain, the input, a product and one of its factors


def _of_one(both: str, k: int, rule: str, which: tuple[str, str]) -> Iterator[tuple[str, str, Part]]:
    """What becomes of both parts together if something is wrong with the one through factor k."""
    one, other = which[k], which[1 - k]
    yield "term", f"{ONE_HALF} {rule} alone: {both}, and what comes back through the {one} is missing", (
        lambda c, x, i, k: _part(c, x, i, 1 - k))  # fmt: skip
    yield "term", f"has one half of the {rule} twice: {both}, what comes back through the {other} counts for both, and they differ", (
        lambda c, x, i, k: 2 * _part(c, x, i, 1 - k))  # fmt: skip
    where = f": {both}, and what comes back through the {one}"
    yield "places", f"does not move one half of the {rule} back{where} belongs where that factor came from", (
        lambda c, x, i, k: _part(c, x, i, 1 - k) + c.steps[i].passed[k])  # fmt: skip
    yield "places", f"moves one half of the {rule} on, as forward does, and not back{where} belongs where that factor came from", (
        lambda c, x, i, k: _part(c, x, i, 1 - k) + _moved_on(c, x, i, k))  # fmt: skip
    yield "places", f"takes g of the wrong place in one half of the {rule}{where} has g of the product that the factor went into", (
        lambda c, x, i, k: _part(c, x, i, 1 - k) + _with_own_g(c, x, i, k))  # fmt: skip


def _is_made_of(chain: Chain, at: int, place: int | None) -> bool:
    """Is it the input, or the sum of some of its pieces?"""
    if place is None or place < len(chain.inputs):
        return place == at
    step = chain.steps[place - len(chain.inputs)]
    return (moves(step) or step.row.name in MOVES | SUMS) and all(_is_made_of(chain, at, s) for s in step.sources)


def _path(chain: Chain, at: int, place: int | None) -> list[int] | None:
    """The steps that made a factor of the input, if all of them only move it."""
    found: list[int] = []
    while place != at:
        if place is None or place < len(chain.inputs):
            return None
        i = place - len(chain.inputs)
        step = chain.steps[i]
        sources = [s for s in step.sources if s is not None]
        if len(sources) != 1 or not (moves(step) or step.row.name in MOVES):
            return None
        found.append(i)
        (place,) = sources
    return found[::-1]


def _predicted(chain: Chain, x: str, some: Sequence[int] | None, k: int, value: Part) -> np.ndarray:
    total = chain.gradients[chain.inputs.index(x)]
    for i in some or _products(chain, x):
        total = total + value(chain, x, i, k) - _part(chain, x, i, 0) - _part(chain, x, i, 1)
    return total


def _part(chain: Chain, x: str, i: int, k: int) -> np.ndarray:
    """What comes back to the input through one factor."""
    return chain.sent_from(i, k, chain.steps[i].passed[k])[chain.inputs.index(x)]


def _moved_on(chain: Chain, x: str, i: int, k: int) -> np.ndarray:
    at, step = chain.inputs.index(x), chain.steps[i]
    value = step.passed[k]
    path = _path(chain, at, step.sources[k])
    for j in path or _nothing():
        move = chain.steps[j]
        value = np.asarray(move.row.forward(value, *move.names["raw"][1:], **{name: move.names[name] for name in move.row.settings}))
    return value


def _with_own_g(chain: Chain, x: str, i: int, k: int) -> np.ndarray:
    step = chain.steps[i]
    if step.incoming.shape != chain.values[chain.inputs.index(x)].shape or step.row.name != "mul":
        _nothing()
    return step.incoming * chain.sent_from(i, k, step.fit(k, step.rule(k, np.ones_like(step.incoming))))[chain.inputs.index(x)]


def _squared(chain: Chain, x: str, i: int) -> np.ndarray:
    value, g = chain.values[chain.inputs.index(x)], chain.steps[i].incoming
    if g.shape != value.shape:  # the same for all along the axis that was added up
        axis = next(a for a, (m, n) in enumerate(zip(g.shape, value.shape, strict=True)) if m != n)
        g = np.take(g, [0], axis)
    return 2 * value * g if chain.steps[i].row.name == "mul" else _nothing()


def _nothing() -> Any:
    raise LookupError("nothing moves here")
