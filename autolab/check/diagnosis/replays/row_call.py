"""One row of a forward that was followed, with all that its rules may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...run.reference import sum_to
from ..formulas.expressions import Values
from ..step_names import Frames


@dataclass(eq=False)
class RowCall:
    """One row that ran: where its arguments came from (None: a constant), and every name its rules may ask for."""

    row: Any
    sources: tuple[int | None, ...]
    names: dict[str, Any]
    place: int  # of its result
    incoming: Any = None  # the gradient of its result
    passed: dict[int, np.ndarray] = field(default_factory=dict)  # what it passes on to each argument
    memo: dict[int, Values] = field(default_factory=dict)  # for each argument the names that its formula uses
    frames: Frames = ()  # the code that made it
    word: str = ""  # what its operation is called

    def argument(self, k: int) -> str:
        """The input whose rule serves argument k; a row that takes a list has one for all."""
        return self.row.inputs[0 if self.row.variadic else k]

    def has_rule(self, k: int) -> bool:
        """Does argument k receive a gradient?"""
        return self.argument(k) in self.row.rules

    def rule(self, k: int, g: np.ndarray, **other: Any) -> np.ndarray:
        """What argument k receives, from g and perhaps other values, before stretched axes are summed."""
        rule, names = self.row.rules[self.argument(k)], {**self.names, **other}
        result = rule.function(g, *(self.value(name, names) for name in rule.needs))
        return np.asarray(result[k] if self.row.variadic else result)

    def value(self, name: str, names: Mapping[str, Any]) -> Any:
        """What a rule is given under a name: a value that was kept, or one that several rules share."""
        if name in self.row.shared:
            function, wanted = self.row.shared[name]
            return function(*(names[n] for n in wanted))
        return names[name]

    def shape(self, k: int) -> tuple[int, ...]:
        """The shape of argument k."""
        return self.names["raw"][k].shape

    def fit(self, k: int, value: np.ndarray) -> np.ndarray:
        """Sum to the shape of argument k, if that was stretched."""
        return sum_to(value, self.shape(k)) if self.row.kind == "elementwise" else value

    def stretch(self, value: np.ndarray) -> np.ndarray:
        """Give it the shape of the result, if each entry has its own place there."""
        return np.broadcast_to(value, self.names["out"].shape) if self.row.kind == "elementwise" else value

    def whole(self, k: int) -> np.ndarray:
        """All that comes back to this row, as argument k would receive it."""
        return self.fit(k, self.incoming)
