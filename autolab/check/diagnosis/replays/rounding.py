"""What of the gradients in a chain is rounding, and no gradient: a shift that a softmax does not depend on gets a little of it.

What a step passes on counts if it is more than rounding beside what comes in. How much that is depends on what was added on the way:
where a softmax has decided, large terms cancel, and what is left of them is as large as their last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

NOTHING, PERHAPS = 1e-12, 1e-6  # of what comes in: less is rounding, less may be rounding
LAST_DIGITS = 1e-14  # of the largest that is added


class Noise:
    """Of the steps of a chain through which a gradient has come back."""

    def __init__(self, steps: Sequence[Any]):
        self.steps = steps

    def is_less_than(self, step: Any, k: int) -> bool:
        """Is what a step passes on to its argument k more than rounding?"""
        passed, incoming = step.passed[k], step.incoming
        if not _is_more(passed, NOTHING * np.abs(incoming).max(initial=0.0)):
            return False
        return _is_more(passed, PERHAPS * np.abs(incoming).max(initial=0.0)) or _is_more(passed, self.at.get(step.place, 0.0))

    @cached_property
    def at(self) -> dict[int, float]:
        """How much of what arrives at each place may be rounding."""
        found: dict[int, float] = {}
        for step in reversed(self.steps):
            for k, passed in step.passed.items():
                size, incoming, source = np.abs(passed), np.abs(step.incoming), step.sources[k]
                if source is None:
                    continue
                if size.shape == incoming.shape:
                    times = np.divide(size, incoming, out=np.zeros(size.shape), where=incoming > 0).max(initial=0.0)
                else:
                    times = size.max(initial=0.0) / (incoming.max(initial=0.0) or 1.0)
                here = max(found.get(step.place, 0.0) * times, LAST_DIGITS * size.max(initial=0.0))
                found[source] = max(found.get(source, 0.0), float(here))
        return found


def _is_more(passed: np.ndarray, least: float) -> bool:
    """Is it more than this? Its first entry says so of most."""
    return bool(passed.size and (abs(passed.item(0)) > least or np.abs(passed).max() > least))
