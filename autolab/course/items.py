"""How hard the items of an assignment were, and whether they tell who knows much from who knows little."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

TAIL = 0.27  # of the class: Kelley (1939), the part at which the two groups differ most surely
LEAST = 10  # students, below whom a correlation says nothing


class Item(NamedTuple):
    """One item: how many answers, the mean part of its points, and two numbers of discrimination; None where they say nothing."""

    name: str
    answers: int
    difficulty: float
    correlation: float | None
    upper_lower: float | None


def items(scores: Mapping[str, Mapping[str, float]], points: Mapping[str, float]) -> list[Item]:
    """The items of an assignment from the scores of each student by item, hardest first.

    difficulty: the mean part of the points, from 0 (nobody has any) to 1. correlation: of an item's scores with the sum of all
    others, from -1 to 1 (point-biserial where an item is right or wrong); the item itself is left out of the sum, which it would raise.
    upper_lower: by how much the mean part of the points differs between the best and the last 27 % of the class by that sum.

    >>> found = items({f"s{i}": {"a": float(i > 4), "b": float(i > 5)} for i in range(10)}, {"a": 1.0, "b": 1.0})
    >>> [(i.name, i.difficulty, round(i.correlation, 2), round(i.upper_lower, 2)) for i in found]
    [('b', 0.4, 0.82, 0.8), ('a', 0.5, 0.82, 0.83)]
    """
    found = []
    for name, of in points.items():
        rows = [(own[name], math.fsum(own.values()) - own[name]) for own in scores.values() if name in own]
        if not rows or of <= 0:
            continue
        parts = [score / of for score, _ in rows]
        rests = [rest for _, rest in rows]
        correlation = upper_lower = None
        if len(rows) >= LEAST and max(rests) > min(rests):
            correlation = pearson(parts, rests)
            n = max(1, round(TAIL * len(rows)))
            upper_lower = _mean_at(rests, parts, n, best=True) - _mean_at(rests, parts, n, best=False)
        found.append(Item(name, len(rows), math.fsum(parts) / len(parts), correlation, upper_lower))
    return sorted(found, key=lambda item: (item.difficulty, item.name))


def pearson(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The correlation of two lists of numbers; None if one of them is the same number throughout."""
    n, mean_a, mean_b = len(a), math.fsum(a) / len(a), math.fsum(b) / len(b)
    cov = math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / n
    spread = math.sqrt(math.fsum((x - mean_a) ** 2 for x in a) / n) * math.sqrt(math.fsum((y - mean_b) ** 2 for y in b) / n)
    return cov / spread if spread > 1e-12 else None


def _mean_at(rests: Sequence[float], parts: Sequence[float], n: int, best: bool) -> float:
    """The mean part of the points of the n best, or last, by the rest; those who tie at the border count in proportion."""
    order = sorted(set(rests), reverse=best)
    total, left = 0.0, float(n)
    for rest in order:
        group = [part for r, part in zip(rests, parts, strict=True) if r == rest]
        weight = min(1.0, left / len(group))
        total += weight * math.fsum(group)
        left -= weight * len(group)
        if left <= 0:
            break
    return total / n
