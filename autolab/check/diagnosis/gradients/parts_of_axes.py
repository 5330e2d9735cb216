"""Which parts of its axes are exchanged, where forward splits axes, moves the parts and joins them: a pixel shuffle, patches, groups.

Such a move is an order of the parts of g, and so is a wrong one. Both are read from where each number of g went.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...run.observation import Observation
from ..diagnosis import Mistake

Part = tuple[int, int]  # its size, and how far apart its steps are in g


def find_parts_of_axes(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """What is wrong with the order of the parts, in all these calls; of each g, the numbers are in both gradients."""
    texts = [_compared(o, x) for o in wrong]
    first = texts[0]
    if not first or any(text is None or text.partition(",")[0] != first.partition(",")[0] for text in texts):
        return None
    return Mistake("permutation", first, len(wrong) > 1, parts=("transposed",))


def _compared(o: Observation, x: str) -> str | None:
    right, yours = (_parts(_sources(o.g, value)) for value in (o.want[x], o.got[x]))
    if right is None or yours is None:
        return None
    cuts = sorted({step for _, step in (*right, *yours)} | {o.g.size})
    sizes = [b // a for a, b in zip(cuts, cuts[1:], strict=False)]
    if any(b % a for a, b in zip(cuts, cuts[1:], strict=False)):
        return "splits an axis into parts of other sizes than forward does: each number comes from another place"
    seen = tuple(reversed(sizes))
    wanted, made = (_order(parts, cuts) for parts in (right, yours))
    if made == tuple(range(len(seen))):
        return f"is g with another shape, as a reshape gives it: the order of the parts of its axes, seen as {seen}, is not undone"
    differ = [k for k, (a, b) in enumerate(zip(wanted, made, strict=True)) if a != b]
    if len(differ) == 2:
        a, b = sorted((made[differ[0]], made[differ[1]]))
        return (
            f"has two parts of the axes of g in each other's places, which are those of size {seen[a]} and {seen[b]}"
            f" (parts {a} and {b} of g seen as {seen})"
        )
    return f"brings the parts of the axes of g back in another order, which is {made} of g seen as {seen}"


def _sources(g: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """From which place of g each number came, counted through all of it."""
    order = np.argsort(g, axis=None)
    return order[np.searchsorted(np.ravel(g), np.ravel(moved), sorter=order)]


def _parts(sources: np.ndarray) -> list[Part] | None:
    """The parts of g in the order of the gradient, the innermost first; None if it is no order of parts."""
    n, found, done = len(sources), list[Part](), 1
    if sources[0] != 0:
        return None
    while done < n:
        step, size = int(sources[done]), 2
        while done * size < n and sources[done * size] == size * step:
            size += 1
        found.append((size, step))
        done *= size
    made = np.zeros(1, int)
    for size, step in found:
        made = (np.arange(size)[:, None] * step + made).ravel()
    return found if done == n and np.array_equal(made, sources) else None


def _order(parts: Sequence[Part], cuts: Sequence[int]) -> tuple[int, ...]:
    """Which parts of g, cut at these steps and counted from the outermost, follow each other from the outermost inwards."""
    last = len(cuts) - 2
    return tuple(last - k for size, step in reversed(parts) for k in range(last, -1, -1) if step <= cuts[k] < step * size)
