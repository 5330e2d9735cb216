"""Two slips in one rule: what each makes of the gradient is known, and the two together are a sum or a product of that.

A slip in one term of a sum adds to the gradient what the other does not touch, and a slip in one factor multiplies it. So of all
single slips that were tried, two are wanted whose changes add up, or multiply, to what came back. Each change is one number along a
random direction, and two numbers with a known sum are found in a sorted list.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...run.observation import Observation, close
from ..budget import affordable
from ..diagnosis import Mistake
from ..family import Family
from ..quiet import quiet
from .chains import chains

MOST_FREE = 200  # slips in the steps of the operation, which are worked out here only
MOST_PAIRS = 40  # that are compared entry by entry
PAIRS = 1200  # what all of it counts for: see `budget.py`
FEWEST = 6  # numbers, in all calls, that have to fit
LOST = "uses g where another value belongs"  # with another slip, that is a term that is written in another way
Combine = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # two wrong gradients and the right one
WHOLE = {"zero", "sign", "upstream ignored", "upstream only", "forward"}  # of which nothing is left for another slip; a sign is said as one
COMBINED: tuple[Combine, ...] = (lambda a, b, right: a + b - right, lambda a, b, right: a * b / right)


@quiet
def find_two_slips(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The two simplest slips that together give what came back, in all these calls."""
    first = wrong[0]
    if sum(np.size(o.got[x]) for o in wrong) < FEWEST or not affordable(first, PAIRS):
        return None
    _need_not_explain_alone(first, x)
    tried = _distinct(first, x)
    for combine, pairs in zip(COMBINED, (_sums(first, x, tried), _products(first, x, tried)), strict=True):
        for i, j in pairs:
            one, other = tried[i][0], tried[j][0]
            for o in wrong[1:]:
                _need_not_explain_alone(o, x)
            if all(_give(combine, one, other, o, x) for o in wrong):
                return Mistake(one.name, _both(one.text.format(x=x), other.text.format(x=x)), hint=one.hint, parts=(other.name,))
    return None


def _need_not_explain_alone(o: Observation, x: str) -> None:
    for chain in filter(None, chains(o, x)):
        chain.received = None


def _both(one: str, other: str) -> str:
    """Two mistakes in one sentence; what is the same in both is said once.

    >>> _both("is without a, in the mean of b", "is without a, in the sum of c")
    'has the same mistake in two places. It is without a, in the mean of b, and in the sum of c'
    """
    (stem, first), (same, second) = (PLACE.split(text, maxsplit=1) if PLACE.search(text) else (text, "") for text in (one, other))
    if stem != same:
        return f"seems to have two mistakes. It {one}; and it {other}"
    return f"has the same mistake in two places. It {one}" + f", and {second}" * bool(first and second and first != second)


PLACE = re.compile(r", (?=in the |outside of )")


def _distinct(o: Observation, x: str) -> list[tuple[Family, np.ndarray]]:
    """The slips that were tried, each wrong gradient once: the first that gives it is the simplest."""
    right, found = o.want[x], dict[bytes, tuple[Family, np.ndarray]]()
    size = np.abs(right).max(initial=0.0)
    predicted = o.memo.get(("predicted", x), [])
    for family in o.memo.get(("passed over", x), [])[:MOST_FREE]:
        with contextlib.suppress(Exception):  # it cannot be made here
            predicted.append((family, np.asarray(family.predict(o, x))))
    tried = [(family, value) for family, value in predicted
             if family.name not in WHOLE and not family.complete and LOST not in family.text
             and value.shape == right.shape and value.dtype.kind == "f"]  # fmt: skip
    if not tried:
        return []
    values = np.stack([np.ravel(value) for _, value in tried])
    usable = np.isfinite(values).all(axis=1) & (np.abs(values - np.ravel(right)).max(axis=1) > 1e-9 * size)
    rounded = np.round(values / size, 8) + 0.0
    for k in np.flatnonzero(usable):
        found.setdefault(rounded[k].tobytes(), tried[k])
    return list(found.values())


def _sums(o: Observation, x: str, tried: Sequence[tuple[Family, np.ndarray]]) -> Iterator[tuple[int, int]]:
    right, got = o.want[x], o.got[x]
    if not tried or got.shape != right.shape or not np.all(np.isfinite(got)):
        return
    changes = np.stack([np.ravel(value - right) for _, value in tried])
    yield from _pairs(changes, np.ravel(got - right))


def _products(o: Observation, x: str, tried: Sequence[tuple[Family, np.ndarray]]) -> Iterator[tuple[int, int]]:
    right, got = o.want[x], o.got[x]
    at = right != 0
    if got.shape != right.shape or not at.any() or not np.all(np.isfinite(got)) or not np.array_equal(got != 0, at):
        return
    usable = [k for k, (_, value) in enumerate(tried) if np.array_equal(value != 0, at)]
    if usable:
        changes = np.stack([np.log(np.abs(tried[k][1][at] / right[at])) for k in usable])
        for i, j in _pairs(changes, np.log(np.abs(got[at] / right[at]))):
            yield usable[i], usable[j]


def _pairs(changes: np.ndarray, target: np.ndarray) -> Iterator[tuple[int, int]]:
    """Which two rows add up to the target along a random direction, those that were tried first before the others."""
    direction = np.random.default_rng(8).uniform(0.5, 1.5, changes.shape[1])
    along, wanted = np.einsum("ij,j->i", changes, direction), float(target @ direction)  # BLAS would start threads
    order = np.argsort(along)
    near = 1e-9 * (np.abs(along) + np.abs(wanted))
    low = np.searchsorted(along[order], wanted - along - near)
    high = np.searchsorted(along[order], wanted - along + near)
    found = [(i, int(j)) for i in np.flatnonzero(high > low).tolist() for j in order[low[i] : high[i]] if i < j]
    yield from sorted(found, key=sum)[:MOST_PAIRS]


def _give(combine: Combine, one: Family, other: Family, o: Observation, x: str) -> bool:
    try:
        right = o.want[x]
        a, b = (np.asarray(family.predict(o, x)) for family in (one, other))
        at = (right != 0) | (a != 0) | (b != 0)
        return a.shape == b.shape == right.shape and not np.any(o.got[x][~at]) and close(o.got[x][at], combine(a[at], b[at], right[at]))
    except Exception:  # one of them cannot be made here
        return False
