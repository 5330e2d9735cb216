"""Where the contributions to an entry get lost or go astray: at the ends of a ring, among candidates of a choice, on the way back.

Each look takes a call and both Jacobians, and says what is wrong with the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..quiet import quiet
from ..replays.chains import chains
from .jacobian_rows import Jacobians, backwards

FIRST, LAST = "reaches the first", "reaches the last"


def not_round(o: Observation, pair: Jacobians) -> Mistake | None:
    """Right but for what goes past one end of an axis and comes in at the other."""
    kept = pair.needed & pair.same
    if not kept.any() or not pair.zero[~pair.same].all():
        return None
    axis = round_axis(pair, kept, pair.needed)
    if axis is None:
        return None
    text = f"does not go round along axis {axis} of {pair.x}: the neighbour past one end is the entry at the other end"
    return Mistake("padding", f"{text}, and what it gives is left out", True, hint="ring")


@quiet
def find_ends(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Of a function that goes round: right inside, and wrong at the ends of the axes along which it does."""
    axes = [_rolled(o, x) for o in wrong]
    if not axes[0] or any(a != axes[0] for a in axes):
        return None
    for o in wrong:
        off = np.abs(o.got[x] - o.want[x]) > 1e-9 * np.abs(o.want[x]).max()
        at = np.indices(off.shape)
        inside = np.all([(at[a] > 0) & (at[a] < n - 1) for a, n in enumerate(off.shape) if a in axes[0]], axis=0)
        if (off & inside).any() or not inside.any() or (~inside).sum() < 2 or off.sum() < 2:
            return None
    said = " and ".join(map(str, sorted(axes[0])))
    text = f"is right inside, and wrong at the ends of ax{'i' if len(axes[0]) == 1 else 'e'}s {said} of {x}: forward goes round there"
    return Mistake("padding", f"{text}, and the neighbour past one end is the entry at the other end", hint="ring")


def _rolled(o: Observation, x: str) -> set[int]:
    """Along which axes forward rolls arrays of the shape of x."""
    found: set[int] = set()
    for chain in filter(None, chains(o, x)):
        for step in chain.steps:
            if step.row.name == "roll" and step.names["out"].shape == o.want[x].shape:
                axis = step.names.get("axis", step.names.get("dims"))
                several = axis if isinstance(axis, tuple) else range(o.want[x].ndim) if axis is None else (axis,)
                found |= {a % o.want[x].ndim for a in several}
    return found


def round_axis(pair: Jacobians, some: np.ndarray, more: np.ndarray) -> int | None:
    """Along which axis are `more` derivatives those of `some`, and those as far away if one counts on from the end at the beginning?"""
    if (some & ~more).any() or len(pair.out_shape) != len(pair.x_shape):
        return None
    at_out, at_x = pair.places
    for axis, n in enumerate(pair.x_shape):
        if n < 3 or pair.out_shape[axis] != n:
            continue
        rest = [k for k in range(len(pair.x_shape)) if k != axis]
        beside = np.all([at_out[k][:, None] == at_x[k] for k in rest], axis=0) if rest else np.ones(more.shape, bool)
        away = at_x[axis] - at_out[axis][:, None]
        steps = set(away[some & beside].tolist())
        if len(steps) < 2 and not any(steps):  # no window lies along this axis, and nothing moves along it
            continue
        if len({s % n for s in steps}) == n:  # counted on, they would be everywhere
            continue
        if not steps.isdisjoint(away[more & ~some].tolist()):  # as far as others that come to no end
            continue
        among = np.any([away % n == s for s in {s % n for s in steps}], axis=0)
        if not (some & ~beside).any() and np.array_equal(more & ~some, beside & among & ~some):
            return axis
    return None


def shared(o: Observation, pair: Jacobians) -> Mistake | None:
    """What belongs to the one entry that forward chose is shared among several, or given to each of them whole."""
    taken = pair.needed.any(axis=1)  # of an empty part nothing is
    chosen, reached = pair.needed[taken], ~pair.zero[taken]
    count = reached.sum(axis=1)
    if np.any(chosen.sum(axis=1) != 1) or np.any(chosen & ~reached) or not np.any(count > 1) or not pair.zero[~taken].all():
        return None
    whole, yours = pair.right[taken].sum(axis=1, keepdims=True) * reached, pair.yours[taken]
    values = np.ravel(o.names[pair.x])
    which = ""
    if values.size == reached.shape[1] and _moves_with_values(o, pair.x):
        among = np.where(reached, values, np.nan)
        ends = (("largest", np.nanmax(among, axis=1)), ("smallest", np.nanmin(among, axis=1)))
        which = next((f", the {word}," for word, end in ends if np.array_equal(values[chosen.argmax(axis=1)], end)), "")
    alone = f"forward took one of them{which} and that one gets all of it" if which else "forward took one of them, which gets all of it"
    if close(yours, whole / count[:, None]):
        return Mistake("mask", f"shares each g evenly among several entries of {pair.x}: {alone}", True)
    if close(yours, whole):
        return Mistake("mask", f"gives each g to several entries of {pair.x}: {alone}", True)
    return None


def _moves_with_values(o: Observation, x: str) -> bool:
    """Are other entries chosen where the same values lie in another order?"""
    other = backwards(o)
    return other is None or not np.array_equal(other.want[x] != 0, o.want[x] != 0)


def of_blocks(o: Observation, pair: Jacobians) -> Mistake | None:
    """Where each result chose one of its block: the same place of every block, or a choice among others than those of the block."""
    yours, right = ~pair.zero, pair.needed
    n, size = right.shape
    if n < 2 or size % n or np.any(yours.sum(axis=1) != 1) or np.any(right.sum(axis=1) != 1):
        return None
    k, result = size // n, np.arange(n)
    reached, chosen = yours.argmax(axis=1), right.argmax(axis=1)
    blocks = [("neighbours", lambda j: j // k, lambda j: j % k), (f"entries that lie {n} apart", lambda j: j % n, lambda j: j // n)]
    for (among, part, place), (other, other_part, _) in (blocks, blocks[::-1]):
        if k < 2 or not np.array_equal(part(chosen), result):
            continue
        if np.array_equal(part(reached), result) and np.ptp(place(reached)) == 0:
            return Mistake(
                "mask", f"sends each g to place {place(reached)[0]} of the entries that its result chose from, whichever it chose", True
            )
        if np.array_equal(other_part(reached), result):
            text = f"chooses among {other}, and forward among {among}: the parts of an axis that is split have another order"
            return Mistake("permutation", text, True)
    return None


def largest_of_all(o: Observation, pair: Jacobians) -> Mistake | None:
    """Of the entries that results chose, the largest or the smallest of the whole array alone."""
    which = end_of_all(o, pair, np.flatnonzero((pair.needed & pair.same).any(axis=0)))
    if not which or not np.all(pair.needed.sum(axis=1) < 2):
        return None
    return Mistake("axis", f"reaches the {which} entry of the whole {pair.x} alone: each result chose the {which} of its own part", True)


def end_of_all(o: Observation, pair: Jacobians, reached: np.ndarray) -> str:
    """Is one place alone reached, and is it that of the largest or the smallest entry of all? Which of the two, or nothing."""
    values = np.ravel(o.names[pair.x])
    if len(reached) != 1 or values.size != pair.right.shape[1]:
        return ""
    return {int(values.argmax()): "largest", int(values.argmin()): "smallest"}.get(int(reached[0]), "")


def to_first(pair: Jacobians) -> Mistake | None:
    """All of each g to the first, or the last, of the entries that share it."""
    needed = pair.needed
    if needed.sum(axis=1).min() < 2 or (~pair.zero & ~needed).any():
        return None
    for which, rank in ranks(needed, 1):
        if close(pair.yours, np.where(needed & (rank == 1), pair.right.sum(axis=1, keepdims=True), 0.0)):
            text = f"gives all of each g to the {which} of the entries of {pair.x} behind it; each of them has a share"
            return Mistake("one of many", text, True)
    return None


def ranks(needed: np.ndarray, axis: int) -> list[tuple[str, np.ndarray]]:
    """Which of those that are needed along an axis each is, counted from the first and from the last."""
    return [("first", needed.cumsum(axis)), ("last", np.flip(np.flip(needed, axis).cumsum(axis), axis))]


def one_of_each(pair: Jacobians, kept: np.ndarray) -> Mistake | None:
    """Of the entries behind each result, which may be one here and many there, the first or the last alone."""
    needed = pair.needed
    count = needed.sum(axis=1)
    if count.max(initial=0) < 2 or len(set(count.tolist())) < 2:
        return None
    for which, rank in ranks(needed, 1):
        if np.array_equal(kept, needed & (rank == 1)):
            text = f"reaches the {which} of the entries of {pair.x} that each result is made of, and not the others"
            return Mistake("one of many", text, True)
    return None


def one_step(o: Observation, pair: Jacobians) -> Mistake | None:
    """Of a recurrence, what the results right after a step receive, and not what has come back to them.

    The right matrix is (1 - A)^-1 B, where A is how a result depends on others directly and B what each makes of its own step.
    """
    right = pair.right
    if pair.out_shape != pair.x_shape or len(right) < 3 or not np.all(own := np.diagonal(right)):
        return None
    if pair.zero[~pair.same].all():  # cut off after one step, which is said by the number of steps
        return None
    if np.triu(right, 1).any() and np.tril(right, -1).any():
        return None
    direct = np.eye(len(right)) - own[:, None] * np.linalg.inv(right)
    if not np.abs(direct @ direct).max() > 1e-9 or not close(pair.yours, (np.eye(len(right)) + direct) * own):
        return None
    text = "uses at each step g of the steps right after it, and not what has come back to them: what comes from later steps is lost"
    return Mistake("term", text, True, parts=("diagonal only",))
