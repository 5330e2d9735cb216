"""1. What a call did: the list of its operations, backward passes and other effects, in order.

The function runs as it always does, once, with a tracer watching: its results are real, and so are its effects. A call does not
say everything, though. What cannot be read off it (numbers that Python looked at, writes in place, tensors of unknown origin) is a
*break*: the tracer notes the reason, and the function is left to eager mode from then on. Wrong is never an option.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autolab.engine.apply import dispatch
from autolab.engine.backward import run_quietly
from autolab.engine.modes import modes, recording
from autolab.engine.node import AccumulateGrad, edge_of
from autolab.engine.tensor import Tensor, new_tensor

MOST_EVENTS = 20_000
PURE = {"zeros", "ones", "full", "eye", "arange", "linspace", "zeros_like", "ones_like", "full_like"}


class Operation(NamedTuple):
    """One row that ran: arguments are numbers of tensors (`Ref`) or plain values."""

    op: Any
    args: tuple[Any, ...]
    settings: dict[str, Any]
    results: tuple[int, ...]
    needs: tuple[bool, ...]  # for each argument, whether a gradient goes to it
    several: bool


class Backward(NamedTuple):
    """A backward pass that the traced function asked for: `root.backward()`."""

    root: int
    leaves: tuple[Tensor, ...]
    freed: bool


class Gradients(NamedTuple):
    """`grad(roots, wanted)`: a root comes with the gradient to start from, None for 1."""

    roots: tuple[tuple[int, Ref | None], ...]
    wanted: tuple[int, ...]
    results: tuple[int, ...]
    freed: bool


class Effect(NamedTuple):
    """Something that is simply done again: an optimizer's step, a gradient set to None."""

    run: Callable[[], Any]
    what: str
    writes: bool  # whether it may write into parameters
    tensor: Tensor | None = None  # whose gradient is set to None


class Write(NamedTuple):
    """A tensor from outside takes the numbers of a result: a parameter without an optimizer, the running mean of a batch norm."""

    tensor: Ref
    result: Ref


class Check(NamedTuple):
    """All numbers of a tensor have to be in [low, high), or the call is made again in eager mode."""

    tensor: Ref
    low: Any
    high: Any


class Ref(int):
    """The number of a tensor of the trace."""


class Tracer:
    """Watches one call. `inputs`: the tensors among its arguments; `outside`: those it can reach without them."""

    def __init__(self, inputs: list[Tensor], outside: list[Tensor]) -> None:
        self.events: list[Operation | Backward | Gradients | Effect | Check | Write] = []
        self.numbers: dict[int, int] = {}
        self.arrays: dict[int, list[int]] = {}  # id of an array -> the numbers of the tensors over it
        self.seeds: list[Any] = []
        self.cleared: set[int] = set()  # ids of tensors whose .grad the call itself has set to None
        self.read: dict[int, Tensor] = {}  # other tensors whose .grad was read
        self.without_gradient = {id(t) for t in [*inputs, *outside] if t._grad is None}
        self.tensors: list[Tensor] = []
        self.edges: list[Any] = []
        self.made: set[int] = set()  # numbers of results of operations
        self.constants: set[int] = set()
        self.gradients: dict[int, Tensor] = {}  # number of a .grad -> its leaf
        self.broken = ""
        self.inputs = [self.number(t) for t in inputs]
        self.outside = {id(t): t for t in outside}
        self.versions = [(t, t.version[0], t.payload) for t in [*inputs, *outside]]
        self.writes: dict[int, int] = {}  # id of a tensor that was written to -> its version then
        self.before_write_outside: Any = None

    # -- watching -------------------------------------------------------------------------------

    def __enter__(self) -> Tracer:
        self.before_write_outside = modes.before_write
        modes.tracer, modes.before_write = self, self.written
        modes.settle()
        return self

    def __exit__(self, *exc: object) -> None:
        modes.tracer, modes.before_write = None, self.before_write_outside
        modes.settle()

    class aside:
        """Not to be watched: what runs in this block is one event."""

        def __init__(self, tracer: Tracer) -> None:
            self.tracer = tracer

        def __enter__(self) -> None:
            self.tracer.__exit__()

        def __exit__(self, *exc: object) -> None:
            modes.tracer, modes.before_write = self.tracer, self.tracer.written
            modes.settle()

    def leave(self, reason: str) -> None:
        """Note why this call cannot be replayed; the first reason counts."""
        if not self.broken:
            self.broken = f"{reason}{where()}"

    # -- tensors by number -----------------------------------------------------------------------

    def number(self, t: Tensor) -> int:
        """A number for a tensor that is new to the trace."""
        n = self.numbers[id(t)] = len(self.tensors)
        self.tensors.append(t)  # kept alive, so that no other tensor gets its id
        self.arrays.setdefault(id(t.payload), []).append(n)
        self.edges.append(t.edge)
        return n

    def known(self, t: Tensor) -> Ref:
        """The number of an argument. Breaks if nobody knows where the tensor comes from."""
        n = self.numbers.get(id(t))
        if n is None:
            if id(t) in self.outside:
                n = self.number(t)
            else:
                n = self.same_numbers(t.payload, t.edge)
                if n is None:
                    self.leave("a tensor is used that no operation of the function made")
                    return Ref(self.number(t))
                self.numbers[id(t)] = n
                self.tensors.append(t)
                self.edges.append(t.edge)
        elif t.edge is not self.edges[n] and self.tensors[n] is t:
            self.leave("the history of a tensor was changed")
        return Ref(n)

    def same_numbers(self, payload: Any, edge: Any = None) -> int | None:
        """The number of a tensor over the very same array: x.detach(), or a saved value that a recorded rule looks at."""
        among = self.arrays.get(id(payload), ()) if payload.ndim else range(len(self.tensors))  # a number may have been boxed since
        known = [k for k in among if self.tensors[k].payload is payload]
        if edge is not None:
            known = [k for k in known if edge_of(self.tensors[k]) == edge]
        return known[0] if known else None

    def created(self, t: Tensor) -> None:
        """A creation function made a tensor; a constant if it is one that asks for nothing but numbers."""
        frame: Any = sys._getframe(2)
        pure = frame.f_code.co_name in PURE or (frame.f_back is not None and frame.f_back.f_code.co_name in PURE)
        if pure or (frame.f_code.co_name == "tensor" and of_numbers(frame.f_locals.get("data"))):
            self.constants.add(self.number(t))

    # -- events ----------------------------------------------------------------------------------

    def operation(self, op: Any, args: Any, settings: dict[str, Any]) -> Any:
        """Run one row, and note it."""
        inside = any(isinstance(a, Tensor) and a.level for a in args)
        if len(self.events) > MOST_EVENTS:
            self.leave(f"it runs more than {MOST_EVENTS} operations")
        result = dispatch(op, args, settings)
        if inside or self.broken:
            return result
        refs, needs, bit = [], [], 1
        for a in args:
            is_tensor = isinstance(a, Tensor)
            refs.append(self.known(a) if is_tensor else self.known_array(a))
            needs.append(bool(is_tensor and modes.grad and op.mask & bit and edge_of(a) is not None))
            bit += bit
        results = result if isinstance(result, tuple) else (result,)
        numbers = tuple(self.number(r) for r in results)
        self.made.update(numbers)
        settings = {name: self.referred(value) for name, value in settings.items()}
        if op.name == "index":
            self.in_range(args[0], settings["key"])
        self.events.append(Operation(op, tuple(refs), settings, numbers, tuple(needs), isinstance(result, tuple)))
        return result

    def referred(self, setting: Any) -> Any:
        """A setting in which the arrays of known tensors are their numbers: an index such as x[rows, 2:]."""
        if type(setting) is tuple:
            return tuple(map(self.referred, setting))
        return self.known_array(setting) if isinstance(setting, np.ndarray) and setting.ndim else setting

    def in_range(self, x: Any, key: Any) -> None:
        """Note that the tensors of a key have to be indices of x at each call."""
        for n, item in zip(x.payload.shape, key):
            if isinstance(item, Ref):
                self.looked(self.tensors[item], -n, n)

    def known_array(self, a: Any) -> Any:
        """An argument that is not a tensor. A mask or an index that a recorded rule saved stands for the tensor that it was."""
        if not isinstance(a, np.ndarray):
            return a
        n = self.same_numbers(a)
        if n is not None:
            return Ref(n)
        t = next((t for t in self.outside.values() if t.payload is a), None)
        return a if t is None else self.known(t)

    def seed(self, g: Any) -> None:
        """The 1 that a backward pass starts from when nobody says what to start from."""
        self.seeds.append(g)
        if isinstance(g, Tensor):
            self.constants.add(self.number(g))

    def backward(self, roots: list[Any], gradients: list[Any], options: dict[str, Any], walk: Callable[[], None]) -> None:
        """Run a backward pass, and note it if it is `loss.backward()` or `grad(...)`."""
        recorded, returned = options.get("create_graph"), options.get("accumulate") is False
        if not returned and (recorded or len(roots) != 1 or options.get("inputs") is not None or not self.is_seed(gradients[0])):
            self.leave("of the ways to call backward(), only a plain loss.backward() is compiled")
        starts = [self.made_with(edge) for edge in roots]
        if None in starts:
            self.leave("backward() of something that no operation of the function made")
        leaves = None if self.broken else reached([root[0] for root in roots])
        if leaves is None:
            self.leave("a tensor or a node has hooks, or a rule that a user wrote")
        elif self.leads_out(roots, options.get("inputs")):
            self.leave("a backward pass leads out of the function, into the history of what it was given")
        if recorded and not self.broken:  # each rule is an operation like any other
            with recording(True):
                run_quietly(roots, gradients, **options)
            return
        seeds = [None if self.is_seed(g) else self.given(g) for g in gradients]
        with self.aside(self):
            walk()
        if self.broken or leaves is None:
            return
        if returned:
            self.returned(tuple(zip(starts, seeds)), options)
            return
        leaves = [leaf for leaf in leaves if self.is_given(leaf)]  # of others nobody may read the gradient
        self.events.append(Backward(starts[0], tuple(leaves), not options["retain_graph"]))
        for leaf in leaves:
            if leaf._grad is not None:
                self.gradients[self.number(leaf._grad)] = leaf
                self.edges[-1] = leaf._grad.edge

    def leads_out(self, roots: list[Any], wanted: Any) -> bool:
        """Whether gradients are for something behind a tensor that came with a history of its own."""
        given = {t.edge[0] for t in [*(self.tensors[n] for n in self.inputs), *self.outside.values()] if t.edge is not None}
        given &= below([root[0] for root in roots])
        behind = below([e[0] for node in given for e in node.edges if e is not None])
        return bool(given) if wanted is None else any(e[0] in behind for e in wanted)

    def is_seed(self, g: Any) -> bool:
        return any(g is seed for seed in self.seeds)

    def given(self, g: Any) -> Ref:
        """The number of a gradient that a pass was told to start from."""
        n = self.same_numbers(g.payload if isinstance(g, Tensor) else g)
        if n is None:
            n = next((self.number(t) for t in self.outside.values() if t.payload is g), None)
        if n is None:
            self.leave("a backward pass starts from numbers that no operation of the function made")
        return Ref(n or 0)

    def made_with(self, edge: Any) -> int | None:
        """The number of the result, or the leaf, that gradients along an edge are for."""
        leaf = getattr(edge[0], "variable", None)
        if leaf is not None:
            return int(self.known(leaf)) if id(leaf) in self.numbers or id(leaf) in self.outside else None
        return next((n for n in sorted(self.made) if self.edges[n] is not None and self.edges[n] == edge), None)

    def returned(self, roots: Any, options: dict[str, Any]) -> None:
        """Note a `grad(...)` and the gradients that it gives."""
        wanted, results = [], []
        for edge in dict.fromkeys(options["inputs"]):
            g = options["captured"].get(edge)
            n = self.made_with(edge)
            if n is None:
                self.leave("a gradient is asked for with respect to something that no operation of the function made")
                return
            if g is not None:
                wanted.append(n)
                results.append(self.number(new_tensor(g)))
        self.made.update(results)
        self.events.append(Gradients(roots, tuple(wanted), tuple(results), not options["retain_graph"]))

    def gradient_set(self, t: Tensor, value: Any) -> None:
        """t.grad = None is done again; any other gradient that is set by hand is not followed."""
        if value is not None:
            self.leave("a gradient is set by hand")
        else:
            self.cleared.add(id(t))
            self.events.append(Effect(lambda: setattr(t, "grad", None), "grad = None", False, t))

    def gradient_read(self, t: Tensor) -> None:
        """Python may ask whether there is one yet."""
        if id(t) not in self.cleared:
            self.read[id(t)] = t
        if not self.is_given(t):
            self.leave("the gradient of a tensor that the function made is read")

    def looked(self, t: Tensor, low: Any = None, high: Any = None) -> None:
        """Python looks at numbers, and does the same for all that are in [low, high)."""
        done = any(isinstance(e, Backward | Write) or (isinstance(e, Effect) and e.writes) for e in self.events)
        if t.level or self.broken:
            return
        from_outside = t.payload.dtype.kind in "iu" and id(t) not in self.writes and (id(t) in self.outside or self.is_argument(t))
        if low is None or high is None or (done and not from_outside) or not ((t.payload >= low) & (t.payload < high)).all():
            self.leave("Python looks at the numbers of a tensor")
        elif done:  # classes, say: they are checked before anything is done
            self.events.insert(0, Check(self.known(t), low, high))
        else:
            self.events.append(Check(self.known(t), low, high))

    def again(self, run: Callable[[], Any], what: str, strange: bool) -> Any:
        """An optimizer's step or zero_grad; `strange` if it was called in a way that cannot simply be done again."""
        if strange:
            self.leave(f"{what} with arguments")
        return self.effect(run, what, writes=what != "zero_grad()")

    def effect(self, run: Callable[[], Any], what: str, writes: bool = True) -> Any:
        """Something that is done again at each call."""
        with self.aside(self):
            result = run()
        self.events.append(Effect(run, what, writes))
        if writes:
            self.versions = [(t, t.version[0], t.payload) for t, _, _ in self.versions]
            self.writes.clear()
        return result

    def is_given(self, t: Tensor) -> bool:
        """Whether the function did not make it."""
        return id(t) in self.outside or self.is_argument(t)

    def is_argument(self, t: Tensor) -> bool:
        return any(self.tensors[n] is t for n in self.inputs)

    def overwritten(self, t: Tensor, result: Tensor) -> None:
        """Note that a tensor takes the numbers of a result. What is an argument, a view, or has a history then is not followed."""
        ours = id(t) in self.outside and not self.is_argument(t)
        if not ours or t.view_info is not None or t.edge is not None or result.edge is not None or t.payload.dtype != result.payload.dtype:
            self.leave("a tensor is written to in place")
        elif self.writes.setdefault(id(t), t.version[0]) != t.version[0]:
            self.leave("a tensor from outside is written to")
        else:
            self.events.append(Write(self.known(t), self.known(result)))
            self.writes[id(t)] = t.version[0] + 1

    def written(self, t: Tensor) -> None:
        self.leave("a tensor is written to in place")

    def finish(self) -> None:
        """What can be seen only at the end."""
        for t, version, payload in self.versions:
            replaceable = id(t) in self.writes and type(payload) is not np.ndarray  # a number that was written is another object
            if (t.payload is not payload and not replaceable) or t.version[0] != self.writes.get(id(t), version):
                self.leave("a tensor from outside is written to")
        for t in self.tensors:
            if t.edge is not None and not isinstance(t.edge, tuple) and t.edge.hooks is not None:
                self.leave("a tensor has a hook, or retains its gradient")


def of_numbers(data: Any) -> bool:
    """Whether these are Python's numbers, in lists perhaps: guards watch where they come from."""
    return all(map(of_numbers, data)) if type(data) in (list, tuple) else type(data) in (int, float, bool)


def below(nodes: list[Any]) -> set[Any]:
    """The nodes that can be reached, these among them."""
    stack, seen = list(nodes), set()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += [e[0] for e in node.edges if e is not None]
    return seen


def reached(roots: list[Any]) -> list[Tensor] | None:
    """The leaves below some nodes. None if something on the way is not a plain row."""
    leaves: dict[int, Tensor] = {}
    stack, seen = list(roots), set()
    while stack:
        node: Any = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node) is AccumulateGrad:
            extra = node.variable.extra
            if node.hooks is not None or (extra is not None and (extra.hooks or extra.post_hooks)):
                return None
            leaves[id(node.variable)] = node.variable
        elif node.op is None or node.hooks is not None:
            return None
        stack += [e[0] for e in node.edges if e is not None]
    return list(leaves.values())


def where() -> str:
    """The line of the user's code that runs, for a reason: " (train.py:12: if loss > 1:)"."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "autolab":
        frame = frame.f_back
    if frame is None:
        return ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).strip()
    return f" ({file.rpartition('/')[2]}:{line}{': ' + text if text else ''})"
