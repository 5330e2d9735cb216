"""13. Optimizers of the numba backend: all of a parameter's step in one loop, made from the optimizer's own `update`.

Each step, `update` is called once with `Noted` arrays for all parameters whose state is alike: it works out the numbers of this step, such
as Adam's corrections, and notes what is done to an entry. What it notes is the same in each step, and so is the loop; its results are
those of `update` to the last bit. What cannot be noted moves as always.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autolab.compiler.loops import loop
from autolab.compiler.notes import Noted, NotEntrywise, Notes, is_plain_float, loop_over
from autolab.engine.tensor import Tensor, new_tensor
from autolab.fast import flat


class Move(NamedTuple):
    """One step for parameters that are alike: the loop, the numbers that it takes, and what the numbers of the state are after it."""

    run: Any
    numbers: Any
    state: dict[str, Any]


class NotedState:
    """An array of the state, in the eyes of an optimizer."""

    def __init__(self, payload: Noted) -> None:
        self.payload = payload

    def writable_array(self) -> Noted:
        return self.payload


def noted(optimizer: Any, state: dict[str, Any], x: Any, group: dict[str, Any]) -> Move | None:
    """What a step does to a parameter x with this state; None if that cannot be noted."""
    notes = Notes(x.dtype)
    whole: Any = new_tensor(x)
    arrays = [notes.array(x), notes.array(x)]
    alone: Any = object.__new__(type(optimizer))  # an optimizer of this one parameter
    own: dict[str, Any] = {}
    for name, value in state.items():
        if type(value.payload) is np.ndarray:
            arrays.append(notes.array(x))
            own[name] = NotedState(arrays[-1])
        else:
            own[name] = new_tensor(value.payload)
    scratch: dict[int, Noted] = {}
    vars(alone).update(state={whole: own}, _numbers={}, scratch=lambda x, number=0: scratch.setdefault(number, notes.array(x)))
    try:
        alone.update(whole, arrays[0], arrays[1], group)
    except NotEntrywise:
        return None
    if list(own) != list(state) or arrays[1].value != 1:  # a first step, which makes the state
        return None
    stored = [(k, a.value) for k, a in enumerate(arrays) if a.value != k]
    run = loop_of(notes, len(arrays), stored)
    if run is None:
        return None
    numbers = {name: value.payload for name, value in own.items() if type(value) is Tensor}
    return Move(run, np.array(notes.numbers, x.dtype), numbers)


RUNS: dict[Any, Any] = {}  # loops, by what was noted


def loop_of(notes: Notes, arrays: int, stored: list[tuple[int, int]]) -> Any:
    key = notes.dtype, str(notes.calls), str(stored)
    if key not in RUNS:
        whole = stored and all(notes.kinds[value] == notes.dtype for _, value in stored) and notes.can_be_a_loop()
        RUNS[key] = loop(loop_over(notes, arrays, stored)) if whole else None
    return RUNS[key]


class Moves:
    """One step of an optimizer: what was noted, by what the state of a parameter is."""

    def __init__(self) -> None:
        self.known: dict[Any, Move | None] = {}

    def update(self, optimizer: Any, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> None:
        """What optimizer.update(p, x, g, group) does."""
        if not self.at_once(optimizer, p, x, g, group):
            optimizer.update(p, x, g, group)

    def at_once(self, optimizer: Any, p: Tensor, x: Any, g: Any, group: dict[str, Any]) -> bool:
        if not (is_plain_float(x) and is_plain_float(g) and x.dtype == g.dtype and x.shape == g.shape):
            return False
        state, arrays = optimizer.state.get(p) or {}, [x.reshape(-1), g.reshape(-1)]
        key: list[Any] = [id(group), x.dtype]
        for name, value in state.items():
            raw = value.payload if type(value) is Tensor else None
            if type(raw) is np.ndarray and raw.dtype == x.dtype and raw.shape == x.shape and raw.flags.c_contiguous:
                arrays.append(raw.reshape(-1))
                key.append(name)
            elif isinstance(raw, np.generic):
                key += [name, float(raw), raw.dtype]
            else:
                return False
        known = tuple(key)
        if known not in self.known:
            self.known[known] = noted(optimizer, state, x, group)
        move = self.known[known]
        if move is None:
            return False
        move.run(*arrays, move.numbers)
        for name, number in move.state.items():
            state[name].payload = number
        return True


def with_loops(run: Any) -> Any:
    """A step of an optimizer, as loops."""

    def stepped() -> Any:
        before = flat.moves.now
        flat.moves.now = Moves()
        try:
            return run()
        finally:
            flat.moves.now = before

    return stepped
