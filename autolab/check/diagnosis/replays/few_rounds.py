"""A call in which g reaches few rounds of a loop: what is wrong in each round shows there, and the tape is short.

A slip is worked out again for all that comes after it, which in a loop is much. Where only the first states receive a gradient, nothing
comes back through the rounds after them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...run.observation import TOLERANCE, Observation, Right, error_of

LONG = 60  # operations on a tape, from which on it is worth a call of both rules
SHARE = 0.7  # of them, which the short tape has at most


def of_few_rounds(o: Observation, x: str, length: Callable[[Observation], int]) -> Observation | None:
    """The call with a g that is 0 but in two or three entries along the first axis, if the rule is wrong there and the tape short."""
    n = o.out.shape[0] if o.out.ndim else 0
    whole = length(o)
    for count in range(2, min(n, 4)) if whole >= LONG else ():
        for at_end in (False, True):
            part = _part(o, n - count if at_end else 0, count)
            if part and error_of(part, x) > TOLERANCE and 0 < length(part) <= SHARE * whole:
                return part
    return None


def _part(o: Observation, start: int, count: int) -> Observation | None:
    """With g at these entries alone."""
    g, want, about_right = o.about_right.setdefault(("few rounds", start, count), _right(o, start, count))
    if ("few rounds", start, count) not in o.memo:
        o.memo["few rounds", start, count] = o.ask([g]) if o.ask else None
    answer: list[dict[str, Any]] | None = o.memo["few rounds", start, count]
    return replace(o, g=g, got=answer[0], want=want, memo={}, about_right=about_right) if answer else None


def _right(o: Observation, start: int, count: int) -> tuple[np.ndarray, Right, dict[Any, Any]]:
    g = np.zeros_like(o.g)
    g[start : start + count] = o.g[start : start + count]
    return g, Right(lambda x: o.reference.gradient(x, g, o.names)), {}
