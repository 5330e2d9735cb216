"""A sigmoid that is written out, 1 / (1 + exp(-z)): what stands for its slope s (1 - s)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .stepwise import SIGMOID, Chain, ChainSlip

SLOPES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("factor", "is the right one without the derivative of {}", lambda s: 1.0),
    ("factor", "is without the factor 1 - s in the derivative of {}, s (1 - s)", lambda s: s),
    ("factor", "is without the factor s in the derivative of {}, s (1 - s)", lambda s: 1 - s),
    ("function", "has the slope of tanh where that of {} belongs", lambda s: 1 - s * s),
)


def with_slope(value: Any, s: Any, slope: Callable[[Any], Any]) -> Any:
    """What comes back through a sigmoid with another slope than its own."""
    return value * slope(s) / (s * (1 - s))


def sigmoid_slopes(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """What may go wrong with it: of its four steps each alone would say less."""
    for i, step in enumerate(chain.steps):
        if step.row.name == "reciprocal" and 0 in step.passed and chain.words[step.place].startswith(SIGMOID):
            for family, text, slope in SLOPES:
                yield ChainSlip(family, text.format(chain.words[step.place]), lambda chain, i=i, slope=slope: chain.changed(
                    x, {(i, 0): with_slope(chain.steps[i].passed[0], chain.steps[i].names["out"], slope)}), complete=True)  # fmt: skip
