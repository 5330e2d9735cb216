"""12. What a function does to arrays entry by entry, noted: for a loop that does all of it at once.

An optimizer's `update` and the kernels of activations are written as NumPy calls, one after the other, in place. Called with `Noted`
arrays they note their calls instead. Whatever is not a function of single entries raises `NotEntrywise`, and is left as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from autolab.compiler.loops import BOOL, COMPARISONS, FLOATS, expression


class NotEntrywise(Exception):
    """A function looks at numbers, or mixes entries or dtypes."""


class Notes:
    """Calls in order: (function, arguments, the number of the result). An argument is a value's number, or ~k for numbers[k]."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.kinds: list[Any] = []  # of values
        self.calls: list[tuple[Any, list[int], int]] = []
        self.numbers: list[float] = []

    def array(self, like: Any) -> Noted:
        """A stand-in for an array, for a value that nothing has computed."""
        self.kinds.append(self.dtype)
        return Noted(self, like, len(self.kinds) - 1)

    def call(self, function: Any, args: Any) -> int:
        """Note a call; the number of its result."""
        given, numbers = [], self.numbers
        for x in args:
            kind = type(x)
            if kind is Noted:
                given.append(x.value)
            elif kind is float or kind is int or (getattr(x, "dtype", None) == self.dtype and not np.ndim(x)):
                numbers.append(float(x))
                given.append(-len(numbers))
            else:
                raise NotEntrywise
        self.kinds.append(BOOL if function in COMPARISONS else self.dtype)
        out = len(self.kinds) - 1
        self.calls.append((function, given, out))
        return out

    def kinds_of(self, given: list[int]) -> list[Any]:
        return [self.kinds[a] if a >= 0 else self.dtype for a in given]

    def can_be_a_loop(self) -> bool:
        return all(expression(f, self.kinds[out], self.kinds_of(given), ["x"] * len(given)) is not None for f, given, out in self.calls)


class Noted(NDArrayOperatorsMixin):
    """An array in the eyes of the function that is noted. `value`: the number of what it holds now."""

    def __init__(self, notes: Notes, like: Any, value: int) -> None:
        self.notes, self.like, self.value = notes, like, value
        self.shape, self.size, self.ndim = like.shape, like.size, like.ndim

    @property
    def dtype(self) -> Any:
        return self.notes.kinds[self.value]

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    def copy(self) -> Noted:
        return Noted(self.notes, self.like, self.value)

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotEntrywise

    __bool__ = __float__ = __int__ = __len__ = __iter__ = __array__ = __getitem__ = __setitem__ = refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotEntrywise

    def __array_ufunc__(self, function: Any, method: str, *args: Any, out: Any = None, **settings: Any) -> Any:
        if method != "__call__" or settings or (out is not None and type(out[0]) is not Noted):
            raise NotEntrywise
        value = self.notes.call(function, args)
        if out is None:
            return Noted(self.notes, self.like, value)
        if self.notes.kinds[value] != out[0].dtype:
            raise NotEntrywise
        out[0].value = value
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, settings: Any) -> Any:
        if function is np.empty_like and not settings and len(args) == 1:
            return self.notes.array(self.like)
        if function is np.copyto and not settings and all(type(a) is Noted for a in args):
            args[0].value = args[1].value
            return None
        if function is np.where and not settings and len(args) == 3:
            return Noted(self.notes, self.like, self.notes.call(function, args))
        raise NotEntrywise


def is_plain_float(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype in FLOATS and x.flags.c_contiguous and x.size > 0


def loop_over(notes: Notes, arrays: int, stored: list[tuple[int, int]]) -> str:
    """The text of a loop over arrays, which hold the values 0, 1, ..., and one of numbers. stored: (array, its value at the end)."""
    name = lambda a: f"v{a}" if a >= 0 else f"n{~a}"
    body = [f"v{k} = r{k}[i]" for k in range(arrays)]
    for function, given, out in notes.calls:
        body.append(f"v{out} = {expression(function, notes.kinds[out], notes.kinds_of(given), list(map(name, given)))}")
    body += [f"r{k}[i] = v{value}" for k, value in stored]
    lines = [
        f"def loop({''.join(f'r{k}, ' for k in range(arrays))}numbers):",
        *(f"    n{k} = numbers[{k}]" for k in range(len(notes.numbers))),
        "    for i in range(r0.size):",
        *(f"        {line}" for line in body),
        "",
    ]
    return "\n".join(lines)
