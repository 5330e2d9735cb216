"""The right rule run again with one thing changed in what it calls: another axis, another size, a sum taken earlier.

A rule may be a closed function whose formula nobody can read. But it works on arrays, and the arrays it is given here note
each operation on a tape, with those that reduce, move or divide by a size as calls. So a slip needs no formula: it is another
answer to one call, and only what comes after it on the tape is worked out again.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .step_names import StepNames, instruction

ALONG = ("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "argmax", "argmin", "argsort")
PLAIN = ("__getitem__", "reshape", "ravel", "flatten", "astype", "copy", "repeat", "squeeze", "take", "clip", "round", "diagonal", "dot")
FUNCTIONS = {np.flip: "flip", np.roll: "roll", np.sort: "sort", np.linalg.norm: "norm", np.median: "median",
             np.take_along_axis: "take along"}  # fmt: skip
TURNED = {np.transpose: "transpose", np.swapaxes: "swapaxes", np.moveaxis: "moveaxis", np.matrix_transpose: "swapaxes"}
ENGINE = ("autolab.engine.", "autolab.fast.", "autolab.transforms.")
MOST_NODES = 600


@dataclass(frozen=True, eq=False)
class Call:
    """A call that goes along an axis ("along"), divides by a number ("divide"), turns axes ("turn") or keeps a triangle ("triangle")."""

    kind: str
    name: str
    array: np.ndarray
    axis: Any  # or the number that it divides by, or the diagonal where a triangle ends
    run: Callable[..., Any]  # of an axis (or a number), and perhaps another array
    keepdims: bool = False
    factors: Any = None  # the two arrays whose product is reduced


Make = Callable[[Any], Call]


class CannotReplay(Exception):
    """A loop, or something written in place; no slip is looked for in it."""


@dataclass(eq=False)
class Node:
    """One operation: a function of the results of others; if it is a call, what makes that of an array."""

    function: Callable[..., Any]
    sources: tuple[int, ...]
    make: Make | None = None
    factors: Any = None  # what was multiplied
    name: str = ""  # of the NumPy function
    tag: Any = None  # the line that it comes from: the same in every round of a loop
    row: int = -1  # the number of the row of the table whose rule it belongs to, if it is known


class Tape:
    """All operations of one run, with their results."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: list[Any] = []
        self.last = -1
        self.tag: Any = None  # what the lines of a part of the run have before them
        self.row = -1
        self.results: list[int] = []  # of each row of the table that ran, where its result is
        self.row_of: dict[int, int] = {}  # and the row of each such result
        self.names: StepNames | None = None  # what the rows are called
        self.through: dict[int, tuple[str, list[int]]] = {}  # of what comes back through a row, its name and the inputs beside it
        self._after: dict[tuple[int, ...], list[tuple[int, Node]]] = {}
        self._words: dict[bool, dict[int, str]] = {}

    def words(self, every_round: bool = False) -> dict[int, str]:
        """What the results of rows are called; `every_round` if what the same code gave in each round of a loop is meant."""
        if every_round not in self._words and self.names:
            name = self.names.name
            self._words[every_round] = {node: f"the result of {name(row, every_round)}" for node, row in self.row_of.items()}
        return self._words.get(every_round, {})

    def leaf(self, value: Any) -> Any:
        """An array that notes what is done to it; what is not an array stays what it is."""
        return self._kept(value, Node(lambda: value, ())) if isinstance(value, (np.ndarray, np.generic)) else value

    def apply(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Do it on plain arrays, and note it."""
        found: list[Asking] = []
        skeleton = _skeleton((args, kwargs), found)
        sources = tuple(a.node for a in found)

        def again(*values: Any) -> Any:
            given, named = _filled(skeleton, values)
            return function(*given, **named)

        if len(found) == len(args) and all(type(a) is Asking for a in args) and not kwargs:  # nothing to fill in
            again = function

        value = again(*(self.values[k] for k in sources))
        factors = _filled(skeleton, [self.values[k] for k in sources])[0] if function is np.multiply else None
        if isinstance(value, (tuple, list)):
            parts = [self._kept(part, Node(lambda *v, k=k: again(*v)[k], sources, name="part")) for k, part in enumerate(value)]
            return tuple(parts)
        name = getattr(function, "__name__", "")
        return self._kept(value, Node(again, sources, factors=factors, name=name)) if isinstance(value, (np.ndarray, np.generic)) else value

    def answer(self, array: Asking, make: Make) -> Any:
        """What a call gives, noted as a call."""
        value = np.asarray(self.values[array.node])
        call = make(value)
        return self._kept(call.run(call.axis), Node(lambda v: (c := make(v)).run(c.axis), (array.node,), make, name=call.name))

    def _kept(self, value: Any, node: Node) -> Asking:
        if len(self.nodes) >= MOST_NODES:
            raise CannotReplay("a loop")
        node.tag, node.row = (self.tag, line_of_caller()), self.row
        self.nodes.append(node)
        self.values.append(np.asarray(value))
        asking = self.values[-1].view(Asking)
        asking.tape, asking.node = self, len(self.nodes) - 1
        return asking

    def end(self, result: Any) -> np.ndarray:
        """The array that the run gave is the last one."""
        if not isinstance(result, Asking) or result.tape is not self:
            raise CannotReplay("the result comes from elsewhere")
        self.last = result.node
        return self.values[self.last]

    @functools.cached_property
    def counting(self) -> list[int]:
        """The nodes that the last one is made of, in order."""
        wanted = {self.last}
        for k in range(self.last, -1, -1):
            if k in wanted:
                wanted.update(self.nodes[k].sources)
        return sorted(wanted)

    @functools.cached_property
    def called(self) -> list[int]:
        """The nodes that are calls, of those that count."""
        return [k for k in self.counting if self.nodes[k].make]

    def calls(self, values: dict[int, Any] | None = None) -> list[Call]:
        """The calls, as they were or with other values on the tape."""
        found = []
        for k in self.called:
            source = self.nodes[k].sources[0]
            call = self.nodes[k].make((values or {}).get(source, self.values[source]))  # type: ignore[misc]
            found.append(Call(call.kind, call.name, call.array, call.axis, call.run, call.keepdims, self.nodes[source].factors))
        return found

    def again(self, leaves: dict[int, Any]) -> dict[int, Any]:
        """All values that are others if some leaves are others."""
        return self._worked_out({k: np.asarray(value) for k, value in leaves.items()}, self.after(tuple(leaves)))

    def changed(self, some: Sequence[int], change: Callable[[int, Call], Any]) -> dict[int, Any]:
        """All values that are others if the calls with these numbers give something else; None is what they gave."""
        fresh: dict[int, Any] = {}
        calls = [self.called[k] for k in some]
        numbers = dict(zip(calls, some, strict=True))
        for k, node in self.after(tuple(calls)):
            if k in numbers:
                source = node.sources[0]
                changed = change(numbers[k], node.make(fresh.get(source, self.values[source])))  # type: ignore[misc]
                if changed is not None:
                    fresh[k] = np.asarray(changed)
                    continue
            self._worked_out(fresh, ((k, node),))
        return fresh

    def with_slip(self, some: Sequence[int], slip: Callable[[Tape, Node, list[Any], Any], Any]) -> dict[int, Any]:
        """All values that are others if these nodes give something else: `slip` is given the tape, the node, its sources and its value."""
        fresh: dict[int, Any] = {}
        chosen, values = set(some), self.values
        for k, node in self.after(tuple(some)):
            sources = [fresh[s] if s in fresh else values[s] for s in node.sources]
            fresh[k] = np.asarray(slip(self, node, sources, values[k]) if k in chosen else node.function(*sources))
        return fresh

    def _worked_out(self, fresh: dict[int, Any], nodes: Iterable[tuple[int, Node]]) -> dict[int, Any]:
        """What these nodes give, those whose sources have other values."""
        values = self.values
        for k, node in nodes:
            if k not in fresh and not fresh.keys().isdisjoint(node.sources):
                fresh[k] = np.asarray(node.function(*[fresh.get(s, values[s]) for s in node.sources]))
        return fresh

    def after(self, changed: tuple[int, ...]) -> list[tuple[int, Node]]:
        """These nodes and those that are made of them, as far as they count; found once."""
        if changed not in self._after:
            reached = set(changed)
            for k in self.counting:
                if not reached.isdisjoint(self.nodes[k].sources):
                    reached.add(k)
            self._after[changed] = [(k, self.nodes[k]) for k in self.counting if k in reached and self.nodes[k].sources]
        return self._after[changed]

    def result(self, fresh: dict[int, Any]) -> np.ndarray:
        """What the run then gives."""
        return np.asarray(fresh.get(self.last, self.values[self.last]))


class Unnoted(Tape):
    """For a run of which only the result is wanted, on plain arrays."""

    def leaf(self, value: Any) -> Any:
        return value

    def apply(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)


def line_of_caller() -> tuple[Any, ...]:
    """Where in which code the array is worked on that is being noted, outside of this file, and where that was called.

    Not where the engine called it: from another place, once functions are written out for an operation.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ and frame.f_back:
        frame = frame.f_back
    caller = frame.f_back
    if caller is None or str(caller.f_globals.get("__name__")).startswith(ENGINE):
        return frame.f_code, instruction(frame), 0
    return frame.f_code, instruction(frame), instruction(caller)


class Asking(np.ndarray):
    """An array that notes on a tape what is done to it."""

    tape: Any = None
    node: int = -1

    def __array_finalize__(self, source: Any) -> None:
        self.tape = None  # what is made of it unnoticed is a constant

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        tape = tape_of(inputs)
        if "out" in kwargs:
            raise CannotReplay("written in place")
        if method in ("reduce", "accumulate") and isinstance(inputs[0], Asking):
            array, *rest = inputs
            axis, *more = rest or [kwargs.pop("axis", 0)]
            run = getattr(ufunc, method)
            keeps = bool(kwargs.get("keepdims"))
            return tape.answer(array, lambda v: Call("along", ufunc.__name__, v, axis, lambda a, b=v: run(b, a, *more, **kwargs), keeps))
        if ufunc is np.true_divide and isinstance(inputs[0], Asking) and is_count(inputs[1]):
            n = int(inputs[1])
            return tape.answer(inputs[0], lambda v: Call("divide", "division", v, n, lambda n, b=v: b / n))
        return tape.apply(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        tape, name = tape_of((args, kwargs)), FUNCTIONS.get(function)
        if function in (np.add.at, np.put_along_axis, np.copyto, np.fill_diagonal):
            raise CannotReplay("written in place")
        if function.__name__ in ALONG and function is getattr(np, function.__name__):
            return getattr(args[0], function.__name__)(*args[1:], **kwargs)
        if function in (np.tril, np.triu) and isinstance(args[0], Asking):
            k = args[1] if len(args) > 1 else kwargs.get("k", 0)
            return tape.answer(args[0], lambda v: Call("triangle", function.__name__, v, k, lambda k, b=v: function(b, k)))
        if name and isinstance(args[0], Asking):
            return self._along(name, function, args, kwargs)
        if function in TURNED and isinstance(args[0], Asking):
            array, *rest = args
            return tape.answer(array, lambda v: Call("turn", TURNED[function], v, None, lambda _, b=v: function(b, *rest, **kwargs)))
        return tape.apply(function, args, kwargs)

    @staticmethod
    def _along(name: str, function: Callable, args: Any, kwargs: dict) -> Any:
        position = 2 if name in ("roll", "take along", "norm") else 1
        array, *before = args[:position]
        kwargs = dict(kwargs)
        axis = args[position] if len(args) > position else kwargs.pop("axis", -1 if name == "sort" else None)
        for word, of in (("ord", "norm"), ("shift", "roll"), ("indices", "take along")):
            if name == of and not before:
                before = [kwargs.pop(word, None)]
        before = [plain(a) for a in before]
        rest, keeps = args[position + 1 :], bool(kwargs.get("keepdims"))
        return array.tape.answer(
            array, lambda v: Call("along", name, v, axis, lambda a, b=v: function(b, *before, a, *rest, **kwargs), keeps)
        )

    @property
    def T(self) -> Any:
        """The transpose."""
        return self._turned("transpose", lambda a: a.T)

    @property  # type: ignore[misc]  # NumPy's can be written to; nothing is written here
    def real(self) -> Any:
        """The real part."""
        return self.tape.apply(np.real, (self,), {}) if self.tape is not None else np.ndarray.real.__get__(plain(self))

    @property  # type: ignore[misc]
    def imag(self) -> Any:
        """The imaginary part."""
        return self.tape.apply(np.imag, (self,), {}) if self.tape is not None else np.ndarray.imag.__get__(plain(self))

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return self._turned("swapaxes", lambda a: a.mT)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order."""
        return self._turned("transpose", lambda a: a.transpose(*axes))

    def swapaxes(self, one: Any, other: Any) -> Any:
        """Two axes exchanged."""
        return self._turned("swapaxes", lambda a: a.swapaxes(one, other))

    def _turned(self, name: str, turn: Callable) -> Any:
        if self.tape is None:
            return turn(plain(self))
        return self.tape.answer(self, lambda v: Call("turn", name, v, None, lambda _, b=v: turn(b)))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise CannotReplay("written in place")


def _along(name: str) -> Callable:
    method = getattr(np.ndarray, name)

    def call(self: Asking, *args: Any, **kwargs: Any) -> Any:
        axis, *rest = args or (kwargs.pop("axis", -1 if name == "argsort" else None),)
        if self.tape is None:
            return method(plain(self), axis, *rest, **kwargs)
        keeps = bool(kwargs.get("keepdims"))
        return self.tape.answer(self, lambda v: Call("along", name, v, axis, lambda a, b=v: method(b, a, *rest, **kwargs), keeps))

    call.__name__, call.__doc__ = name, method.__doc__
    return call


def _noted(name: str) -> Callable:
    method = getattr(np.ndarray, name)

    def call(self: Asking, *args: Any, **kwargs: Any) -> Any:
        return tape_of(self).apply(method, (self, *args), kwargs) if self.tape else method(plain(self), *args, **kwargs)

    call.__name__, call.__doc__ = name, method.__doc__
    return call


for _name in ALONG:
    setattr(Asking, _name, _along(_name))
for _name in PLAIN:
    setattr(Asking, _name, _noted(_name))


def plain(value: Any) -> Any:
    """An array that does not ask."""
    return value.view(np.ndarray) if isinstance(value, Asking) else value


def tape_of(values: Any) -> Tape:
    """The tape that these arrays, or those in these lists, note on."""
    found: list[Asking] = []
    _skeleton(values, found)
    if not found:
        raise CannotReplay("an array that was made unnoticed")
    return found[0].tape


@dataclass(frozen=True)
class Hole:
    """Where an array stood."""

    number: int


def _skeleton(value: Any, found: list[Asking]) -> Any:
    """The arguments with a hole for each array that asks."""
    kind = type(value)
    if kind is Asking:
        if value.tape is None:
            return plain(value)
        found.append(value)
        return Hole(len(found) - 1)
    if kind in (list, tuple):
        return kind([_skeleton(v, found) for v in value])
    return {k: _skeleton(v, found) for k, v in value.items()} if kind is dict else value


def _filled(value: Any, arrays: Any) -> Any:
    kind = type(value)
    if kind is Hole:
        return arrays[value.number]
    if kind in (list, tuple):
        return kind([_filled(v, arrays) for v in value])
    return {k: _filled(v, arrays) for k, v in value.items()} if kind is dict else value


def is_count(value: Any) -> bool:
    """A whole number from 2 on, as sizes are."""
    if isinstance(value, Asking):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and is_count(value.item())
    return isinstance(value, (int, float, np.integer, np.floating)) and 2 <= float(value) < 1e6 and float(value).is_integer()
