"""What a kind of mistake is: a prediction of what a rule with it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Family:
    """A kind of mistake: its name, a sentence about the gradient of `{x}`, and the array it predicts."""

    name: str
    text: str
    predict: Callable[..., Any]  # of an observation and an input
    exact: bool = True  # whether it can be the only explanation; a slip in one decomposition cannot
    complete: bool = False  # a whole wrong formula, after which no other explanation is looked for
    hint: str = ""  # whose hint to give, if not that of the family
