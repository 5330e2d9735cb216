"""A product with another factor in the rule: added up before it is multiplied, or the result of forward, laid along an axis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import close
from ..step_names import with_article
from .lookups import TAKES, is_move
from .stepwise import Chain, ChainSlip, links_to


def partners(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """Another factor in each product of two."""
    out = chain.values[chain.last]
    for i, k in links_to(chain, x):
        step = chain.steps[i]
        if step.row.name != "mul" or len(step.sources) != 2 or (place := step.sources[1 - k]) is None:
            continue
        factor, word, where = chain.values[place], _word(chain, place), f", in {with_article(chain.names[i])}"
        for axis in range(-1, -min(factor.ndim, len(step.shape(k))) - 1, -1):
            if step.shape(k)[axis] == factor.shape[axis] > 1:  # which what comes back keeps
                text = f"adds up {word} along an axis before it is multiplied{where}: each of its entries has its own partner"
                yield ChainSlip("early sum", text, partial(_with_sum, x=x, i=i, k=k, axis=axis))
        for axis in range(-1, -factor.ndim - 1, -1) if out.ndim == factor.ndim - 1 else ():
            text = f"uses the result of forward, the same all along one axis, where {word} belongs{where}"
            yield ChainSlip("variable", text, partial(_with_result, x=x, i=i, k=k, axis=axis))


def _word(chain: Chain, place: int) -> str:
    """What a value is called, without the moves that made it of another."""
    while place >= len(chain.inputs):
        step = chain.steps[place - len(chain.inputs)]
        if not is_move(step) or len(step.sources) != 1 or step.sources[0] is None or step.row.name in TAKES:
            break
        place = step.sources[0]
    return chain.words[place]


def _with_sum(chain: Chain, x: str, i: int, k: int, axis: int) -> np.ndarray:
    return _with_factor(chain, x, i, k, lambda factor: factor.sum(axis, keepdims=True))


def _with_result(chain: Chain, x: str, i: int, k: int, axis: int) -> np.ndarray:
    return _with_factor(chain, x, i, k, lambda factor: np.broadcast_to(np.expand_dims(chain.values[chain.last], axis), factor.shape))


def _with_factor(chain: Chain, x: str, i: int, k: int, change: Any) -> np.ndarray:
    step = chain.steps[i]
    link = lambda factor: {(i, k): step.fit(k, step.incoming * factor)}
    value = chain.changed(x, link(change(step.names["raw"][1 - k])))
    with suppress(LookupError):  # without this term the gradient would be another one
        without = chain.changed(x, link(0 * step.names["raw"][1 - k]))
        if close(value, without):  # as of a factor that a softmax is the same for
            raise ArithmeticError("nothing comes of this factor")
    return value
