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


def of_another_axis(o: Observation, pair: Any) -> Mistake | None:
    """Whole numbers that name places along one axis, as in `take_along_axis`, and are used along another."""
    yours, right = ~pair.zero, pair.needed
    results = np.indices(pair.out_shape).reshape(len(pair.out_shape), -1)
    if len(pair.out_shape) != len(pair.x_shape) or not np.all(yours.sum(axis=1) == 1) or not np.all(right.sum(axis=1) == 1):
        return None
    reached, chosen = (np.stack(np.unravel_index(a.argmax(axis=1), pair.x_shape)) for a in (yours, right))
    for name in o.reference.inputs:
        index = np.asarray(o.names[name])
        if index.dtype.kind not in "iu" or index.shape != pair.out_shape:
            continue
        named = [_replaced(results, axis, index.ravel() % pair.x_shape[axis]) for axis in range(len(pair.x_shape))]
        meant = next((axis for axis, places in enumerate(named) if np.array_equal(places, chosen)), None)
        for axis, places in enumerate(named):
            fits = (index.ravel() < pair.x_shape[axis]) & np.all(places < np.reshape(pair.x_shape, (-1, 1)), axis=0)
            if meant not in (None, axis) and fits.sum() > 1 and np.array_equal(places[:, fits], reached[:, fits]):
                return Mistake("axis", f"uses {name} along axis {axis} of {pair.x}, and forward uses it along axis {meant}", True)
    return None


def _replaced(coordinates: np.ndarray, axis: int, values: np.ndarray) -> np.ndarray:
    changed = coordinates.copy()
    changed[axis] = values
    return changed


def name_of_index(o: Observation) -> str:
    """The input of whole numbers that names the entries, if there is one."""
    return next((y for y in o.reference.inputs if np.asarray(o.names[y]).dtype.kind in "iu" and np.ndim(o.names[y])), "")
