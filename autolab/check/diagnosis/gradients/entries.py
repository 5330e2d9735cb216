"""A gradient of matrices that was made entry by entry: 1 / x for an inverse, a diagonal for a matrix, a sign for a norm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...run.observation import Observation, close, number
from ..diagnosis import Mistake
from ..quiet import quiet

ENTRIES: dict[str, Callable[..., Any]] = {
    "{}": lambda a: a,
    "1 / {}": lambda a: 1 / a,
    "{}**2": lambda a: a * a,
    "1 / {}**2": lambda a: 1 / a**2,
    "the sign of {}": np.sign,
    "log({})": lambda a: np.log(np.abs(a)),
    "exp({})": np.exp,
}
INVERSES: dict[str, Callable[..., Any]] = {
    "the inverse of {}": np.linalg.inv,
    "the inverse of {}, transposed": lambda a: np.linalg.inv(a).mT,
}
TRACES: dict[str, Callable[..., Any]] = {
    "1 everywhere": np.ones_like,
    "the trace of {}, everywhere": lambda a: np.trace(a) * np.ones_like(a),
    "the trace of its inverse, everywhere": lambda a: np.trace(np.linalg.inv(a)) * np.ones_like(a),
}
SIMPLE = (1, 2, 0.5, 3, 1 / 3, 4, 0.25)  # of one call any number would fit a matrix of equal entries
ENTRY_BY_ENTRY = ", entry by entry, and forward does more than that"
POWERS = {0: "", 1: " times the result", -1: " divided by the result", 2: " times the square of the result"}


@quiet
def find_entries(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Is it g times something simple of each entry of x, or of its diagonal alone?"""
    shape = wrong[0].want[x].shape
    if wrong[0].reference.elementwise or not 0 < len(shape) <= 2 or any(np.shape(o.got[x]) != np.shape(o.names[x]) for o in wrong):
        return None
    if any(o.g.ndim and o.g.shape != o.want[x].shape for o in wrong):
        return None
    with np.errstate(all="ignore"):
        for words, value in _values(shape):
            for power in POWERS if not wrong[0].g.ndim else (0,):
                if (c := _factor(wrong, x, value, power)) is not None:
                    times = "" if np.isclose(c, 1) else "minus " if np.isclose(c, -1) else f"{number(c)} times "
                    what = f"{times}{words.format(x)}{POWERS[power]}"
                    text = f"is g times {what}{ENTRY_BY_ENTRY * (words in ENTRIES)}"
                    return Mistake("elementwise", text, len(wrong) > 1)
    return None


def _parts(a: np.ndarray, some: slice) -> Any:
    """The singular vectors of some singular values, multiplied."""
    u, _, v = np.linalg.svd(a, full_matrices=False)
    return u[:, some] @ v[some]


def _largest_sum(a: np.ndarray, axis: int) -> Any:
    """The signs of the row or column with the largest sum of absolute values, and 0 elsewhere."""
    sums = np.abs(a).sum(axis, keepdims=True)
    return np.sign(a) * (sums == sums.max())


NORMS: dict[str, Callable[..., Any]] = {
    "Frobenius norm, the root of the sum of squares": lambda a: a / np.sqrt((a * a).sum()),
    "spectral norm, the largest singular value": lambda a: _parts(a, slice(1)),
    "smallest singular value": lambda a: _parts(a, slice(-1, None)),
    "nuclear norm, the sum of the singular values": lambda a: _parts(a, slice(None)),
    "largest sum of absolute values in a row": lambda a: _largest_sum(a, 1),
    "largest sum of absolute values in a column": lambda a: _largest_sum(a, 0),
}


@quiet
def find_other_norm(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Of one number that is made of a matrix: is it the gradient of a norm of that, another than forward's?"""
    if wrong[0].reference.elementwise or any(o.out.ndim or o.want[x].ndim != 2 or min(o.want[x].shape) < 2 for o in wrong):
        return None
    for words, slope in NORMS.items():
        try:
            if all(o.gave(x, o.g * slope(np.asarray(o.names[x], float))) for o in wrong):
                return Mistake("function", f"is the gradient of another norm of {x}: the {words}", len(wrong) > 1)
        except np.linalg.LinAlgError:
            return None
    return None


def _values(shape: tuple[int, ...]) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from ENTRIES.items()
    if len(shape) == 2 and shape[0] == shape[1]:
        yield from TRACES.items()
        for words, f in (*ENTRIES.items(), *INVERSES.items(), ("1", np.ones_like)):
            yield f"the diagonal of ({words})" if " " in words else f"the diagonal of {words}", lambda a, f=f: f(a) * np.eye(len(a))


def _factor(wrong: Sequence[Observation], x: str, value: Callable[..., Any], power: int) -> float | None:
    """One number that makes it fit all calls."""
    found = None
    for o in wrong:
        try:
            right = np.asarray(o.g * value(np.asarray(o.names[x], float)) * (o.out**power if power else 1.0))
        except np.linalg.LinAlgError:
            return None
        if right.shape != np.shape(o.got[x]) or not np.all(np.isfinite(right)) or not right.any():
            return None
        c = float(np.vdot(right, o.got[x]) / np.vdot(right, right)) if found is None else found
        if not np.isclose(abs(c), SIMPLE, rtol=1e-9).any() or not close(o.got[x], c * right):
            return None
        found = c
    return found
