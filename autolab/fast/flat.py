"""Small parameters side by side: an optimizer that computes entry by entry moves all of them at once, as if they were one.

A step of Adam is a dozen passes, and on a bias NumPy's calls take longer than the numbers do. Here parameters and gradients are copied into
one array each, the optimizer's own `update` runs on these, and the parameters are copied back. The state stays where it is documented,
`optimizer.state[p]`: its arrays are parts of one long array. Every entry goes through the same operations as it would alone.
"""

from __future__ import annotations

import os
from _thread import _local as ThreadLocal
from collections import defaultdict
from operator import attrgetter, is_
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from autolab.engine.node import F32, F64
from autolab.engine.tensor import Tensor, new_tensor

SMALL = 1 << 11  # entries: up to here copies cost less than calls
WHOLE = 1 << 16  # entries of what moves at once: it stays in the cache
FEWEST = 3  # of two, copies take longer than the calls of SGD and Adagrad, and as long as those of Adam
LOOPS = 1 << 15  # entries of a group: from here on a loop made for the step gains more than it takes to note what the step does
CHANCES = 10  # steps that could not be made at once, after which nobody tries again
ON = os.environ.get("AUTOLAB_FAST") != "0"

payload_of = attrgetter("payload")


class Moves(ThreadLocal):
    """now: moves parameters by loops of machine code, in a program compiled for them (`autolab.compiler.moves`)."""

    now: Any = None


moves = Moves()


class Part(NamedTuple):
    """One parameter. known: what the payloads of its state were when it last moved, to see whether anybody changed them."""

    p: Tensor
    shape: tuple[int, ...]
    low: int
    high: int
    state: dict[str, Any] | None
    known: list[Any]


class Flat:
    """Parameters of one group that move at once. It does not hold the optimizer, which holds it."""

    def __init__(self, optimizer: Any, params: list[Tensor]) -> None:
        self.chances = CHANCES
        self.dtype = params[0].payload.dtype
        self.size = sum(p.payload.size for p in params)
        self.x, self.g = np.empty((2, self.size), self.dtype)
        self.whole = new_tensor(self.x)
        self.alone: Any = object.__new__(type(optimizer))  # an optimizer of this one parameter
        vars(self.alone).update(state=defaultdict(dict), _scratch={}, _numbers={})
        ends = np.cumsum([p.payload.size for p in params]).tolist()
        self.parts = [
            Part(p, p.payload.shape, end - p.payload.size, end, optimizer.state.get(p) or None, []) for p, end in zip(params, ends)
        ]
        first = self.parts[0].state
        if first is not None:
            for name, value in first.items():
                if type(value.payload) is ndarray:
                    joined = np.concatenate([part.state[name].payload.ravel() for part in self.parts])  # type: ignore[index]
                    self.alone.state[self.whole][name] = new_tensor(joined)
                else:
                    self.alone.state[self.whole][name] = new_tensor(value.payload)
        self.share_out(optimizer)

    def share_out(self, optimizer: Any) -> None:
        """Let the state of each parameter be its part of the state of the whole."""
        state = self.alone.state.get(self.whole, {})
        for value in state.values():
            base: Any = getattr(value.payload, "base", None)
            if type(value.payload) is ndarray and type(base) is not bytearray:
                # Not in the memory of an array: to NumPy, a part has this memory by itself, and what is saved of it is the part alone.
                memory = bytearray(value.payload.tobytes())
                value.payload = np.frombuffer(memory, value.payload.dtype)
        for k, (p, shape, low, _, found, known) in enumerate(self.parts):
            if found is None and state:
                found = optimizer.state[p]
                self.parts[k] = self.parts[k]._replace(state=found)
            known.clear()
            for name, value in state.items():
                raw = value.payload
                if type(raw) is ndarray:
                    raw = ndarray(shape, raw.dtype, raw.base, low * raw.itemsize)
                if name in found:  # type: ignore[operator]
                    found[name].payload = raw  # type: ignore[index]
                else:
                    found[name] = new_tensor(raw)  # type: ignore[index]
                known.append(raw)
        self.numbers = [(k, name) for k, (name, value) in enumerate(state.items()) if type(value.payload) is not ndarray]
        self.names = list(state)

    def step(self, optimizer: Any, group: dict[str, Any], update: Any = None) -> bool:
        """Move them, by `update` if there is one; False if something is not as it was, and nothing was done."""
        xs, gs, dtype, states = [], [], self.dtype, optimizer.state
        for p, shape, _, _, state, known in self.parts:
            grad, x = p._grad, p.payload
            if grad is None:
                return False
            g = grad.payload
            if not (type(x) is type(g) is ndarray and x.dtype is g.dtype is dtype and x.shape == g.shape == shape and x.base is None):
                return False
            if (states.get(p) or None) is not state:
                return False
            if state is not None and not (len(state) == len(known) and all(map(is_, map(payload_of, state.values()), known))):
                return False
            xs.append(x.ravel())
            gs.append(g.ravel())
        np.concatenate(xs, out=self.x)
        np.concatenate(gs, out=self.g)
        if update is None:
            self.alone.update(self.whole, self.x, self.g, group)
        else:
            update(self.alone, self.whole, self.x, self.g, group)
        moved = self.x
        for (p, shape, low, high, _, _), x in zip(self.parts, xs):
            if x.base is None:  # ravel had to copy
                p.payload[...] = moved[low:high].reshape(shape)
            else:
                x[...] = moved[low:high]
            p.version[0] += 1
        state = self.alone.state.get(self.whole, {})
        if len(state) != len(self.names):
            self.share_out(optimizer)
        else:
            for k, name in self.numbers:
                number = state[name].payload
                for part in self.parts:
                    part.state[name].payload = part.known[k] = number  # type: ignore[index]
        return True


class Moved(NamedTuple):
    """What is known of one group: its parameters, those that move at once, and the others."""

    group: dict[str, Any]
    params: list[Tensor]
    flats: list[Flat]
    others: list[Tensor]
    loops: bool  # whether loops are worth it


def step_at_once(optimizer: Any, number: int, group: dict[str, Any]) -> list[Tensor]:
    """Move the parameters of a group that can be moved at once; those that are left to move one by one."""
    known: dict[int, Moved] = optimizer._flat
    moved = known.get(number)
    params = group["params"]
    if moved is None or moved.group is not group or len(moved.params) != len(params) or not all(map(is_, moved.params, params)):
        moved = known[number] = arranged(optimizer, group)
    left, by_loops = list(moved.others), moves.now if moved.loops else None
    for flat in list(moved.flats):
        if flat.step(optimizer, group, by_loops and by_loops.update):
            if flat.names:
                continue
            flat.chances = 0  # nothing to remember: a step so short that copies take longer
        else:
            left += [part.p for part in flat.parts]
            flat.chances -= 1
        if not flat.chances:
            moved.flats.remove(flat)
            moved.others.extend(part.p for part in flat.parts)
    return left if by_loops is None else [p for p in left if not moved_by_loop(by_loops, optimizer, p, group)]


def moved_by_loop(by_loops: Any, optimizer: Any, p: Tensor, group: dict[str, Any]) -> bool:
    """Move one parameter in one loop; False if nothing was done."""
    if p._grad is None or not by_loops.at_once(optimizer, p, p.payload, p._grad.payload, group):
        return False
    p.version[0] += 1
    return True


def arranged(optimizer: Any, group: dict[str, Any]) -> Moved:
    """Which parameters of a group move at once: small ones of one dtype, with memory of their own, whose state is alike."""
    params = list(group["params"])
    alike: dict[Any, list[Tensor]] = {}
    if len({id(p) for p in params}) == len(params) >= FEWEST and can(optimizer):
        for p in params:
            x, grad = p.payload, p._grad
            if type(x) is ndarray and x.ndim and 0 < x.size <= SMALL and x.base is None and x.dtype in (F32, F64) and grad is not None:
                kind = state_of(optimizer.state.get(p) or {}, x)
                if kind is not None:
                    alike.setdefault((x.dtype, kind), []).append(p)
    flats: list[Flat] = []
    some: set[int] = set()
    for found in alike.values():
        for few in pieces(found):
            if len(few) >= FEWEST:
                flats.append(Flat(optimizer, few))
                some.update(map(id, few))
    loops = can(optimizer) and sum(np.size(p.payload) for p in params) >= LOOPS
    return Moved(group, params, flats, [p for p in params if id(p) not in some], loops)


def can(optimizer: Any) -> bool:
    """Whether this optimizer computes entry by entry, with nothing that a user changed."""
    return ON and optimizer.entrywise and type(optimizer).__module__.startswith("autolab.optim.") and "update" not in vars(optimizer)


def pieces(params: list[Tensor]) -> list[list[Tensor]]:
    """Parameters in lists of up to `WHOLE` entries together."""
    found: list[list[Tensor]] = [[]]
    size = 0
    for p in params:
        size += p.payload.size
        if size > WHOLE:
            found.append([])
            size = p.payload.size
        found[-1].append(p)
    return found


def state_of(state: dict[str, Any], x: Any) -> Any:
    """The names and the numbers in the state of a parameter; None if it cannot be a part of something."""
    kind: list[Any] = []
    for name, value in state.items():
        raw = value.payload if type(value) is Tensor else None
        if isinstance(raw, np.generic):
            kind.append((name, type(raw), float(raw)))
        elif type(raw) is ndarray and raw.shape == x.shape and raw.dtype == x.dtype and own(raw) and value.view_info is None:
            kind.append((name,))
        else:
            return None
    return tuple(kind)


def own(raw: Any) -> bool:
    """Whether nothing else looks into the memory of this array, which three names hold here."""
    return (raw.base is None or type(raw.base) is bytearray) and getrefcount(raw) <= REFERENCES


def _references() -> Any:
    """References to an array of a tensor that `own` looks at, where nothing else holds it."""

    def own(raw: Any) -> int:
        return getrefcount(raw)

    def state_of(state: Any) -> int:
        raw = state["name"].payload
        return own(raw)

    return state_of({"name": new_tensor(np.zeros(1))})


REFERENCES = _references()
