"""An index that belongs to another array than it is used in: counted through all of x and used along one axis, or the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...run.observation import Observation
from ..diagnosis import Mistake


def mistaken_index(o: Observation, pair: Any) -> Mistake | None:
    """Where each result chose one entry of x, or several that tie."""
    yours, right = ~pair.zero, pair.needed  # which entries g reaches, a row for each result
    values = np.ravel(o.names[pair.x])
    if values.size != right.shape[1] or len(right) < 2 or not right.any(axis=1).all() or np.any(yours.sum(axis=1) > 1):
        return None
    result, entry = np.nonzero(right)  # several for a result where entries tie, of which an index is the first
    tied = np.stack(np.unravel_index(entry, pair.x_shape))
    chosen = np.stack(np.unravel_index(right.argmax(axis=1), pair.x_shape))
    reached, heard = np.stack(np.unravel_index(yours.argmax(axis=1), pair.x_shape)), yours.any(axis=1)
    for axis in range(len(pair.x_shape)):
        lines = np.delete(chosen, axis, 0)
        if len(set(map(tuple, lines.T))) < len(right) or not np.array_equal(np.delete(tied, axis, 0), lines[:, result]):
            continue  # two results from one line, or one from two: forward went along another axis
        found = _one_for_all(values, pair, axis, chosen, reached, heard) or _along_for_whole(pair, axis, chosen, yours, heard)
        if found:
            return found
    return None


def _one_for_all(values: np.ndarray, pair: Any, axis: int, chosen: np.ndarray, reached: np.ndarray, heard: np.ndarray) -> Mistake | None:
    """All results send g to the same place along the axis, the right one else."""
    along = set(reached[axis].tolist())
    if not heard.all() or len(along) > 1 or not np.array_equal(np.delete(chosen, axis, 0), np.delete(reached, axis, 0)):
        return None
    (at,), n = along, pair.x_shape[axis]
    text = f"sends g to the same place along axis {axis} for every result, place {at}"
    for which, k in (("largest", int(values.argmax())), ("smallest", int(values.argmin()))):
        if at in (k % n, min(k, n - 1), int(np.unravel_index(k, pair.x_shape)[axis])):
            text += f": that of the {which} entry of the whole {pair.x}, where each result has a place of its own"
            return Mistake("axis", text, True)
    return Mistake("axis", f"{text}: each has a place of its own there")


def _along_for_whole(pair: Any, axis: int, chosen: np.ndarray, yours: np.ndarray, heard: np.ndarray) -> Mistake | None:
    """A place along the axis is taken for one in the flattened array; of several results that share it, one may be heard."""
    counted = chosen[axis]
    if not np.array_equal(yours[heard].argmax(axis=1), counted[heard]) or set(counted) != set(counted[heard]):
        return None
    text = f"takes a place along axis {axis} for one in the flattened {pair.x}: g for a result whose entry is at place k of its line"
    return Mistake("places", f"{text} goes to entry k of all", True)
