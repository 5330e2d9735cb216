"""A factor that is one number for each row: the norm, the sum or the spread of the row, too often or too seldom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..diagnosis import Mistake
from ..quiet import quiet
from ..shapes import axes_in_words
from .scaling import POWERS

MEASURES: dict[str, Callable[..., Any]] = {
    "norm": lambda a, axes: np.sqrt((a * a).sum(axes, keepdims=True)),
    "sum": lambda a, axes: a.sum(axes, keepdims=True),
    "sum of absolute values": lambda a, axes: np.abs(a).sum(axes, keepdims=True),
    "mean": lambda a, axes: a.mean(axes, keepdims=True),
    "root mean square": lambda a, axes: np.sqrt((a * a).mean(axes, keepdims=True)),
    "standard deviation": lambda a, axes: a.std(axes, keepdims=True),
    "largest entry": lambda a, axes: a.max(axes, keepdims=True),
    "sum of exponentials": lambda a, axes: np.exp(a).sum(axes, keepdims=True),
}


@quiet
def find_measure(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Is it the right gradient times, or divided by, something that is one number along some axes?"""
    o = wrong[0]
    shape = o.want[x].shape
    if o.reference.elementwise or any(np.shape(p.got[x]) != p.want[x].shape or not np.all(p.want[x]) for p in wrong):
        return None
    ratios = [p.got[x] / p.want[x] for p in wrong]
    if not all(np.all(np.isfinite(r)) and np.all(r) for r in ratios):
        return None
    for count in range(len(shape), 0, -1):
        for axes in combinations(range(len(shape)), count):
            if any(len(p.want[x].shape) != len(shape) for p in wrong) or not all(_is_one(r, axes) for r in ratios):
                continue
            return _named(wrong, x, ratios, axes)
    return None


def _is_one(ratio: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Is it one number along these axes, with several along them?"""
    along = np.prod([ratio.shape[a] for a in axes])
    return bool(along > 1 and np.all(np.ptp(ratio, axis=axes) <= 1e-8 * np.abs(ratio).max()))


def _named(wrong: Sequence[Observation], x: str, ratios: list[np.ndarray], axes: tuple[int, ...]) -> Mistake | None:
    names = [n for n in (*wrong[0].reference.inputs, "out") if all(np.shape(o.names[n]) == o.want[x].shape for o in wrong)]
    for name in names:
        for said, measure in MEASURES.items():
            for power, words in POWERS.items():
                with np.errstate(all="ignore"):
                    values = [measure(np.asarray(o.names[name], float), axes) ** power for o in wrong]
                if all(np.allclose(r, v * np.ones_like(r), rtol=1e-8) for r, v in zip(ratios, values, strict=True)):
                    of = "the result" if name == "out" else name
                    return Mistake("factor", f"is the right one {words.format(f'the {said} of {of} along {axes_in_words(axes)}')}", True)
    return None
