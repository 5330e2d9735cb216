"""Shares p = w / sum(w) of a row, as of a softmax, inside of a function: the derivative of the sum in the denominator is forgotten.

Every x changes all shares of its row. Whatever d the rest of the rule gives for the shares, the gradient for x is D (d - sum(d p)); so from
a gradient that has another factor in the place of that, d can be read, and with it the right one has to come out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..quiet import quiet

SHORTEST = 3  # of a row: two shares have the same product p (1 - p)
Shares = tuple[np.ndarray, np.ndarray]  # the shares, and what each of them is multiplied by in front of the brackets


@quiet
def find_normalisation(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """What a rule has for the derivative of the shares, along one axis, in all these calls."""
    if wrong[0].reference.elementwise or not all(_is_of_rows(o, x) for o in wrong):
        return None
    for axis in range(-1, -wrong[0].want[x].ndim - 1, -1):
        for name, shares in SHARES.items():
            for family, text, outer in WAYS:
                if all(_comes_out(o, x, axis, shares, outer) for o in wrong):
                    text = text.format(name.format(x), x, LACKS[name].format(x), axis)
                    return Mistake(family, text, len(wrong) > 1, hint="normalisation", parts=("term", "not summed"))
    return None


def _is_of_rows(o: Observation, x: str) -> bool:
    got, want, value = o.got[x], o.want[x], np.asarray(o.names[x])
    return bool(got.shape == want.shape == value.shape and want.ndim and value.dtype.kind == "f" and np.isfinite(got).all())


def _softmax(a: np.ndarray, axis: int) -> Shares:
    e = np.exp(a - a.max(axis, keepdims=True))
    p = e / e.sum(axis, keepdims=True)
    return p, p


def _shares(a: np.ndarray, axis: int) -> Shares:
    total = a.sum(axis, keepdims=True)
    return a / total, np.broadcast_to(1 / total, a.shape)


SHARES: dict[str, Callable[[np.ndarray, int], Shares]] = {"softmax({0})": _softmax, "{0} / sum({0})": _shares}
LACKS = {"softmax({0})": "a multiple of softmax({0})", "{0} / sum({0})": "the same number"}  # what the derivative of the sum adds
Outer = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of the shares and their factor: what a rule has there
WAYS: list[tuple[str, str, Outer]] = [
    ("term", "differs from the right one by {2} for all entries along axis {3} of {1}: "
     "the derivative of a sum or a mean over them is missing or wrong",
     lambda p, factor: factor),
    ("diagonal only", "takes p (1 - p) alone for the derivative of p = {0}: every entry also changes the other shares of its row",
     lambda p, factor: factor * (1 - p)),
    ("factor", "is the derivative for p = {0}, and not yet for {1}: the derivative of the shares is missing",
     lambda p, factor: np.ones_like(p)),
]  # fmt: skip


def _comes_out(o: Observation, x: str, axis: int, shares: Callable[[np.ndarray, int], Shares], outer: Outer) -> bool:
    if o.want[x].shape[axis] < SHORTEST:
        return False
    with np.errstate(all="ignore"):
        p, factor = shares(np.asarray(o.names[x], float), axis)
        d = o.got[x] / outer(p, factor)
        return bool(np.isfinite(d).all()) and close(factor * (d - (d * p).sum(axis, keepdims=True)), o.want[x])
