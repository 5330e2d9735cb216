"""Axes that are exchanged: a reshape where a transpose belongs has the right shape, and its entries elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..family import Family
from ..replay import Call
from .ways import Way, calls_of, calls_that_count, ways

RESHAPED = "has a reshape where a transpose belongs: the shape fits, and the entries are in other places"
WAYS: dict[str, tuple[str, str, Callable[[Call], Any]]] = {
    "left out": ("transposed", "lacks one of its transposes", lambda call: call.array),  # of a square matrix a reshape is that as well
    "reshaped": ("permutation", RESHAPED, lambda call: np.reshape(call.array, call.run(None).shape)),
}


def other_turns(first: Observation, x: str) -> Iterator[Family]:
    """Every way to exchange axes wrongly that explains the first call."""
    for way in ways(first, x):
        for k in calls_that_count(first, x, way):
            if calls_of(first, x, way)[k].kind != "turn":
                continue
            for family, text, turn in WAYS.values():
                predict = partial(_turned, way=way, at=k, turn=turn)
                try:
                    fits = first.gave(x, predict(first, x))
                except Exception:  # the shapes do not allow it
                    continue
                if fits:
                    yield Family(family, text, predict)


def _turned(o: Observation, x: str, way: Way, at: int, turn: Callable[[Call], Any]) -> np.ndarray:
    return way.changed(o, x, (at,), lambda k, call: turn(call) if call.kind == "turn" else None)
