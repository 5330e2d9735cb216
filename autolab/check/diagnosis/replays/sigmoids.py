"""A sigmoid that is written out, 1 / (1 + exp(-z)): what becomes of its slope s (1 - s)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .stepwise import SIGMOID, Chain, ChainSlip

# What is wrong with the slope, and how many times too large it then is.
SLOPES: tuple[tuple[str, str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("factor", "is the right one without the derivative of {}", lambda s: 1 / (s * (1 - s))),
    ("factor", "is without the factor 1 - s in the derivative of {}, s (1 - s)", lambda s: 1 / (1 - s)),
    ("factor", "is without the factor s in the derivative of {}, s (1 - s)", lambda s: 1 / s),
    ("function", "has the slope of tanh where that of {} belongs", lambda s: (1 + s) / s),
)


def sigmoid_slopes(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """What may go wrong with it: of its four steps each alone would say less."""
    for i, step in enumerate(chain.steps):
        if step.row.name == "reciprocal" and 0 in step.passed and chain.words[step.place].startswith(SIGMOID):
            for family, text, times in SLOPES:
                yield ChainSlip(family, text.format(chain.words[step.place]), lambda chain, i=i, times=times: chain.changed(
                    x, {(i, 0): chain.steps[i].passed[0] * times(chain.steps[i].names["out"])}), complete=True)  # fmt: skip
