"""Large and tiny inputs of an exercise that makes its own: multiples of an array that was made, where what can be seen of it stays.

A rule has to be right on what `make` may draw. A multiple keeps symmetry, order, signs, zeros, definiteness and rank; what it does
not keep, such as rows that add up to 1, shows in the arrays that were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .inputs import LARGE, TINY

MORE = 12  # are made to be sure
Made = Sequence[np.ndarray]

# Numbers of an array that are the same in all that is made where it is normalised: sums, norms, largest and smallest entries.
FIXED = (*((f, None) for f in (np.sum, np.linalg.norm)), *((f, k) for f in (np.sum, np.linalg.norm, np.max, np.min) for k in (-1, 0)))


def multiples(
    made: Sequence[tuple[np.ndarray, ...]], at: int, base: np.ndarray, make: Callable[[], Sequence[np.ndarray]]
) -> Iterator[np.ndarray]:
    """A large and a tiny multiple of `base`, input number `at` of all inputs that were `made`, those that `make` could give."""
    size = np.abs(base).max(initial=0.0)
    shown = [np.asarray(inputs[at]) for inputs in made]
    if not size or base.dtype.kind != "f":
        return
    if _is_normalised(shown) and _is_normalised([base, *(np.asarray(make()[at]) for _ in range(MORE))]):  # and not by chance
        return
    for most, may_be in ((max(LARGE), not _is_small(shown)), (max(map(abs, TINY)), True)):
        multiple = base * (most / size)
        if may_be and all(_keeps_order(made, at, other, multiple) for other in range(len(made[0]))):
            yield multiple


def _is_small(shown: Made) -> bool:
    """Do they lie between -1 and 1, as probabilities, cosines and contractions do?"""
    return all(np.abs(a).max(initial=0.0) <= 1 for a in shown)


def _is_normalised(shown: Made) -> bool:
    """Are they whole numbers, is 1 the largest, or is something else of them one number that is not 0, always?"""
    if all(np.array_equal(a, np.round(a)) for a in shown) or all(np.abs(a).max(initial=0.0) == 1 for a in shown):
        return True
    return any(_are_one_number([_of(f, axis, a) for a in shown]) for f, axis in FIXED) or _has_a_fixed_entry(shown)


def _of(f: object, axis: int | None, a: np.ndarray) -> np.ndarray:
    return np.ravel(f(a, axis=axis if a.ndim > 1 else None))  # type: ignore[operator]


def _are_one_number(several: Made) -> bool:
    first = several[0][0] if several[0].size else 0.0
    return bool(first) and len(several) > 1 and all(np.allclose(a, first, rtol=1e-9, atol=0) for a in several)


def _has_a_fixed_entry(shown: Made) -> bool:
    """Is an entry, such as one of the diagonal, the same in all arrays of a shape?"""
    alike: dict[tuple[int, ...], list[np.ndarray]] = {}
    for a in shown:
        alike.setdefault(a.shape, []).append(a)
    return any(np.any(np.all(np.stack(some) == some[0], axis=0) & (some[0] != 0)) for some in alike.values() if len(some) > 1)


def _keeps_order(made: Sequence[tuple[np.ndarray, ...]], at: int, other: int, multiple: np.ndarray) -> bool:
    """Where this input is always below another, or above, entry by entry: is the multiple, too?"""
    beside = np.asarray(made[-1][other])
    if other == at or beside.shape != multiple.shape:
        return True
    pairs = [(np.asarray(inputs[at]), np.asarray(inputs[other])) for inputs in made]
    return all(np.all(f(multiple, beside)) or not all(np.all(f(a, b)) for a, b in pairs) for f in (np.less_equal, np.greater_equal))
