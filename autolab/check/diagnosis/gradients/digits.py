"""Digits that were lost after the rule was right: written into an array of integers, rounded, or clipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...run.observation import Observation, close, number
from ..diagnosis import Mistake
from ..quiet import quiet

WHOLE: dict[str, Callable[..., Any]] = {
    "its fractions are cut off": np.trunc,
    "it is rounded to whole numbers": np.round,
    "it is rounded down": np.floor,
    "it is rounded up": np.ceil,
}
DECIMALS = range(1, 9)
MOST_ALIKE = 0.5  # the cosine of the angle between what was cut and the right one
LARGE_G = 1e3
LEAST_DIGITS = 0.01  # relative: how far off float16 may be


@quiet
def find_lost_digits(answered: Sequence[Observation], x: str) -> Mistake | None:
    """Is it, in every call, the right gradient with something cut off?"""
    if any(np.shape(o.got[x]) != o.want[x].shape for o in answered):
        return None
    pairs = [(np.asarray(o.got[x]), o.want[x]) for o in answered]
    if not any(got.any() for got, _ in pairs):
        pairs = [_with_large_g(o, x) for o in answered]
    several = len(pairs) > 1
    if all(np.array_equal(got, want != 0) for got, want in pairs) and all(hears(o, x) for o in answered):
        return Mistake("precision", TRUE_OR_FALSE, several)
    for look in (_whole, _rounded, _half, _clipped):
        if text := look(pairs):
            return Mistake("clipped" if look is _clipped else "precision", text, several)
    if _is_cut_on_the_way(pairs):
        text = "holds whole numbers alone: fractions are lost on the way, as in an array of integers or a division with //"
        return Mistake("precision", text)
    for name in (*answered[0].reference.inputs, "g"):
        for dtype in (np.float16, np.float32):
            if all(_is_of_fewer_digits(o, x, name, dtype) for o in answered):
                text = f"has only the digits of {np.dtype(dtype)} in the values of {name} that it uses, for float64 inputs"
                return Mistake("precision", text, several)
    return None


BOOL = "its numbers are lost, as in an array of True and False (bool) that"
TRUE_OR_FALSE = f"is 1 wherever the right one is not 0: {BOOL} they are written into"
G_TRUE_OR_FALSE = f"takes each entry of g that is not 0 for 1: {BOOL} g is written into"
G_WHOLE = "takes g without its fractions, as in an array of integers that g is written into"


def hears(o: Observation, x: str) -> bool:
    """Does another gradient come back where g is 0? What is the same for two g may have lost their numbers, and not g."""
    answers = o.ask([0 * o.g]) if o.ask and o.g.any() else None
    return answers is not None and not np.array_equal(answers[0][x], o.got[x])


@quiet
def find_cut_g(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Is it right for a g that has lost something?"""
    for text, cut in ((G_TRUE_OR_FALSE, lambda g: (g != 0).astype(float)), (G_WHOLE, np.trunc)):
        if all(o.gave(x, o.reference.gradient(x, cut(o.g), o.names)) for o in wrong) and all(hears(o, x) for o in wrong):
            return Mistake("precision", text, len(wrong) > 1)
    return None


def _with_large_g(o: Observation, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Fractions that are cut off leave zeros; of a large g they leave more."""
    answers = o.ask([LARGE_G * o.g]) if o.ask else None
    got = answers[0][x] if answers else None
    return (o.got[x] if got is None or got.shape != o.want[x].shape else got), LARGE_G * o.want[x]


def _is_of_fewer_digits(o: Observation, x: str, name: str, dtype: type) -> bool:
    """Is it what is right for one array in another type?"""
    value = np.asarray(o.g if name == "g" else o.names[name])
    if value.dtype != np.float64 or np.abs(o.got[x] - o.want[x]).max(initial=0.0) > LEAST_DIGITS * np.abs(o.want[x]).max(initial=0.0):
        return False
    fewer = value.astype(dtype).astype(float)
    if name == "g":
        right = o.reference.gradient(x, fewer, o.names)
    else:
        right = o.reference.gradient(
            x, o.g, o.reference.environment([fewer if y == name else o.names[y] for y in o.reference.inputs], o.settings)
        )
    return not close(o.want[x], right) and close(o.got[x], right)


Pairs = list[tuple[np.ndarray, np.ndarray]]


def _whole(pairs: Pairs) -> str:
    if any(np.any(got != np.round(got)) for got, _ in pairs) or not any(np.any(want != np.round(want)) for _, want in pairs):
        return ""
    integers = all(got.dtype.kind in "iu" for got, _ in pairs)
    if not integers and not any(got.any() for got, _ in pairs):
        return ""  # zero everywhere
    for words, cut in WHOLE.items():
        if all(np.array_equal(got, cut(want)) for got, want in pairs):
            return f"has whole numbers where fractions belong: {words}" + ", as an array of integers does" * integers
    if integers and all(np.abs(got - want).max(initial=0.0) < 1 + want.size for got, want in pairs):
        near = [np.mean(np.abs(got - want) < 1) for got, want in pairs]
        if min(near) > 0.5 and any(np.abs(got).max(initial=0) > 1 for got, _ in pairs):  # or it is a mask
            return "is an array of integers: fractions are lost where numbers are written into it"
    return ""


def _is_cut_on_the_way(pairs: Pairs) -> bool:
    """Whole numbers of both signs that go with the right ones: no mask, no signs and no counts."""
    got, want = (np.concatenate([np.ravel(pair[k]) for pair in pairs]).astype(float) for k in (0, 1))
    if np.array_equal(want, np.round(want)) or not np.array_equal(got, np.round(got)) or not got.min() < 0 < 1 < got.max():
        return False
    return bool(np.vdot(got, want) > MOST_ALIKE * np.linalg.norm(got) * np.linalg.norm(want))


def _rounded(pairs: Pairs) -> str:
    for decimals in DECIMALS:
        if all(
            np.abs(got - np.round(want, decimals)).max(initial=0.0) < 1e-12 * max(1.0, np.abs(want).max(initial=0.0)) for got, want in pairs
        ):
            return f"is rounded to {decimals} decimal{'s' * (decimals > 1)}: the digits after that are lost"
    return ""


def _half(pairs: Pairs) -> str:
    size = max(np.abs(want).max(initial=0.0) for _, want in pairs)
    if all(np.array_equal(got, got.astype(np.float16)) and np.abs(got - want).max(initial=0.0) <= 2e-3 * size for got, want in pairs):
        return "has only the digits of float16, for float64 inputs"
    return ""


def _clipped(pairs: Pairs) -> str:
    """The same bounds in every call; one that is reached by several entries, or by none."""
    got = np.concatenate([a.ravel() for a, _ in pairs]).astype(float)
    want = np.concatenate([a.ravel() for _, a in pairs])
    if got.size < 3 or not np.all(np.isfinite(got)):
        return ""
    low, high = got.min(), got.max()
    if low == high or np.abs(got).max() <= 1e-12 * np.abs(want).max() or not close(got, np.clip(want, low, high)):
        return ""
    slack = 1e-9 * np.abs(want).max()
    below, above = int(np.sum(want < low - slack)), int(np.sum(want > high + slack))
    if below + above < 2 or (low == 0 and below > 1 and not above) or (high == 0 and above > 1 and not below):
        return ""  # with 0 as its bound it may be a mask
    if below and above:
        return f"is held between {number(low)} and {number(high)}: what is beyond is cut off"
    return f"is cut off {f'below {number(low)}' if below else f'above {number(high)}'}, and right elsewhere"
