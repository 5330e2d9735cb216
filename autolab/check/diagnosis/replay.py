"""The right rule run again with one thing changed in what it calls: another axis, another size, a sum taken earlier.

A rule may be a closed function whose formula nobody can read. But it works on arrays, and the arrays it is given here ask
before they reduce, move or are divided by a size. So a slip needs no formula: it is another answer to one question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

METHODS = ("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "argmax", "argmin", "argsort")
FUNCTIONS = {np.flip: "flip", np.roll: "roll", np.sort: "sort", np.linalg.norm: "norm", np.median: "median",
             np.take_along_axis: "take along"}  # fmt: skip
TURNED = {np.transpose: "transpose", np.swapaxes: "swapaxes", np.moveaxis: "moveaxis", np.matrix_transpose: "swapaxes"}
MOST_CALLS = 64


@dataclass(frozen=True, eq=False)
class Call:
    """One question: a call that goes along an axis ("along"), divides by a number ("divide"), or turns axes ("turn")."""

    kind: str
    name: str
    array: np.ndarray
    axis: Any  # or the number that it divides by
    run: Callable[..., Any]  # of an axis (or a number), and perhaps another array
    keepdims: bool = False
    factors: Any = None  # the two arrays whose product is reduced


class TooLong(Exception):
    """A loop; no slip is looked for in it."""


@dataclass(eq=False)
class Replay:
    """One run of a rule: what it calls, in order, and what is answered instead."""

    change: Callable[[int, Call], Any] | None = None  # the array that the call gives instead, or None
    calls: list[Call] = field(default_factory=list)
    work: int = 0  # operations on arrays

    def answer(self, call: Call) -> Any:
        """The result of a call, changed or not."""
        if len(self.calls) >= MOST_CALLS:
            raise TooLong
        self.calls.append(call)
        changed = self.change(len(self.calls) - 1, call) if self.change else None
        return self.wrap(call.run(call.axis) if changed is None else changed)

    def wrap(self, value: Any) -> Any:
        """The same numbers, as an array that asks."""
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        asking = np.asarray(value).view(Asking)
        asking.replay = self
        return asking


class Asking(np.ndarray):
    """An array that asks its replay before it is reduced, moved or divided by a number."""

    replay: Replay | None = None
    factors: Any = None  # what it is the product of

    def __array_finalize__(self, source: Any) -> None:
        if type(source) is Asking:
            self.replay = source.replay

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        replay = self.replay or next((a.replay for a in inputs if type(a) is Asking and a.replay), None)
        given = [a.view(np.ndarray) if type(a) is Asking else a for a in inputs]
        if replay is None or out is not None or method not in ("__call__", "reduce", "accumulate"):
            if out is not None:
                kwargs["out"] = tuple(plain(a) for a in out)
            result = getattr(ufunc, method)(*given, **kwargs)
            return result if out is None else out[0] if len(out) == 1 else out
        replay.work += 1
        if method != "__call__":
            array, *rest = given
            axis, *more = rest or [kwargs.pop("axis", 0)]
            run = getattr(ufunc, method)
            keeps = bool(kwargs.get("keepdims"))
            return replay.answer(Call("along", ufunc.__name__, array, axis, lambda a, b=array: run(b, a, *more, **kwargs), keeps))
        if ufunc is np.true_divide and is_count(given[1]):
            top, number = given
            return replay.answer(Call("divide", "division", np.asarray(top), int(number), lambda n, b=top: b / n))
        asking = replay.wrap(ufunc(*given, **kwargs))
        if ufunc is np.multiply:
            asking.factors = given
        return asking

    def __array_function__(self, function: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        replay, name = self.replay, FUNCTIONS.get(function)
        if replay and name:
            return self._along(replay, name, function, [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()})
        if replay and function in TURNED:
            array, *rest = map(plain, args)
            return replay.answer(Call("turn", TURNED[function], array, None, lambda _, b=array: function(b, *rest, **kwargs)))
        return super().__array_function__(function, types, args, kwargs)

    @staticmethod
    def _along(replay: Replay, name: str, function: Callable, args: list, kwargs: dict) -> Any:
        position = 2 if name in ("roll", "take along", "norm") else 1
        array, before = args[0], args[1:position]
        axis = args[position] if len(args) > position else kwargs.pop("axis", -1 if name == "sort" else None)
        rest = args[position + 1 :]
        if name == "norm":
            before = before or [kwargs.pop("ord", None)]
        if name == "roll":
            before = before or [kwargs.pop("shift")]
        keeps = bool(kwargs.get("keepdims"))
        return replay.answer(Call("along", name, array, axis, lambda a, b=array: function(b, *before, a, *rest, **kwargs), keeps))

    @property
    def T(self) -> Any:
        """The transpose."""
        return self._turned("transpose", lambda a: a.T)

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return self._turned("swapaxes", lambda a: a.mT)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order."""
        return self._turned("transpose", lambda a: a.transpose(*axes))

    def swapaxes(self, one: int, other: int) -> Any:
        """Two axes exchanged."""
        return self._turned("swapaxes", lambda a: a.swapaxes(one, other))

    def _turned(self, name: str, turn: Callable) -> Any:
        array = plain(self)
        return self.replay.answer(Call("turn", name, array, None, lambda _: turn(array))) if self.replay else turn(array)


def _asking(name: str) -> Callable:
    method = getattr(np.ndarray, name)

    def call(self: Asking, *args: Any, **kwargs: Any) -> Any:
        array, (axis, *rest) = plain(self), args or (kwargs.pop("axis", -1 if name == "argsort" else None),)
        kwargs = {k: plain(v) for k, v in kwargs.items() if v is not None or k == "dtype"}
        if self.replay is None:
            return method(array, axis, *rest, **kwargs)
        keeps = bool(kwargs.get("keepdims"))
        run = lambda a, b=array: method(b, a, *rest, **kwargs)
        return self.replay.answer(Call("along", name, array, axis, run, keeps, self.factors))

    call.__name__, call.__doc__ = name, method.__doc__
    return call


for _name in METHODS:
    setattr(Asking, _name, _asking(_name))


def plain(value: Any) -> Any:
    """An array that does not ask."""
    if isinstance(value, Asking):
        return value.view(np.ndarray)
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def is_count(value: Any) -> bool:
    """A whole number from 2 on, as sizes are."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and is_count(value.item())
    return isinstance(value, (int, float, np.generic)) and 2 <= value < 1e6 and value == int(value)
