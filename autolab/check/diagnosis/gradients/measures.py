"""A factor that is one number for each row: the norm, the sum or the spread of the row, too often or too seldom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..diagnosis import Mistake
from ..quiet import quiet
from ..shapes import all_axes, axes_in_words
from .scaling import POWERS

MEASURES: dict[str, Callable[..., Any]] = {
    "norm": lambda a, axes: np.sqrt((a * a).sum(axes, keepdims=True)),
    "sum": lambda a, axes: a.sum(axes, keepdims=True),
    "sum of absolute values": lambda a, axes: np.abs(a).sum(axes, keepdims=True),
    "mean": lambda a, axes: a.mean(axes, keepdims=True),
    "root mean square": lambda a, axes: np.sqrt((a * a).mean(axes, keepdims=True)),
    "standard deviation": lambda a, axes: a.std(axes, keepdims=True),
    "norm without its mean": lambda a, axes: np.sqrt(((a - a.mean(axes, keepdims=True)) ** 2).sum(axes, keepdims=True)),
    "largest entry": lambda a, axes: a.max(axes, keepdims=True),
    "exponential of the largest entry": lambda a, axes: np.exp(a.max(axes, keepdims=True)),  # a shift at one of two places
    "sum of exponentials": lambda a, axes: np.exp(a).sum(axes, keepdims=True),
}


SAID = {"norm without its mean": "norm, without its mean,"}


def _deviation(a: Any, axes: tuple[int, ...], o: Observation) -> Any:
    """The standard deviation as forward takes it: by n less a setting, and with eps."""
    less = next((o.names[name] for name in ("ddof", "correction") if isinstance(o.names.get(name), int)), 0)
    return np.sqrt(a.var(axes, keepdims=True, ddof=less) + float(o.names.get("eps", 0.0)))


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
    own = [all_axes(o.names["axis"], o.want[x].ndim) if isinstance(o.names.get("axis"), (int, tuple)) else () for o in wrong]
    fixed = [axes for count in range(len(shape), 0, -1) for axes in combinations(range(len(shape)), count)]
    for axes in [own] * (len({*own}) > 1) + [[one] * len(wrong) for one in fixed]:
        if all(k and p.want[x].ndim > max(k) and _is_one(r, k) for r, k, p in zip(ratios, axes, wrong, strict=True)):
            return _named(wrong, x, ratios, axes)
    return None


def _is_one(ratio: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Is it one number along these axes, with several along them?"""
    along = np.prod([ratio.shape[a] for a in axes])
    return bool(along > 1 and np.all(np.ptp(ratio, axis=axes) <= 1e-8 * np.abs(ratio).max()))


def _named(wrong: Sequence[Observation], x: str, ratios: list[np.ndarray], axes: list[tuple[int, ...]]) -> Mistake | None:
    names = [n for n in (*wrong[0].reference.inputs, "out") if all(np.shape(o.names[n]) == o.want[x].shape for o in wrong)]
    where = "the axis" if len({*axes}) > 1 else axes_in_words(axes[0])
    looked_at = [(name, axes, f"{'the result' if name == 'out' else name} along {where}") for name in names]
    if all(len(k) == o.want[x].ndim for k, o in zip(axes, wrong, strict=True)):  # one number for a call: of another input, too
        others = [n for n in wrong[0].reference.inputs if n not in names and all(np.ndim(o.names[n]) for o in wrong)]
        looked_at += [(n, [tuple(range(np.ndim(o.names[n]))) for o in wrong], f"all of {n}") for n in others]
    for name, axes, of in looked_at:
        arrays = [np.asarray(o.names[name], float) for o in wrong]
        with np.errstate(all="ignore"):
            values = {said: [measure(a, k) for a, k in zip(arrays, axes, strict=True)] for said, measure in MEASURES.items()}
            values["standard deviation"] = [_deviation(a, k, o) for a, k, o in zip(arrays, axes, wrong, strict=True)]
            for said, several in values.items():
                for power, words in POWERS.items():
                    if _are_all(ratios, [v**power for v in several]):
                        return Mistake("factor", f"is the right one {words.format(f'the {SAID.get(said, said)} of {of}')}", True)
            for (one, above), (other, below) in permutations(values.items(), 2):
                if _are_all(ratios, [a / b for a, b in zip(above, below, strict=True)]):
                    return Mistake("factor", f"is divided by the {SAID.get(other, other)} of {of} where the {SAID.get(one, one)} belongs")
    return None


def _are_all(ratios: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> bool:
    return all(np.allclose(r, v * np.ones_like(r), rtol=1e-8, atol=0) for r, v in zip(ratios, values, strict=True))
