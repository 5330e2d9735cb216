"""Single entries and rows, read and written in Python loops: `P[i, j]`, `N[i, j] += 1`.

Where nothing requires grad and nobody watches there is no graph to keep: what is left is NumPy's own read or write, and a version that is
counted. `quick_read`, `quick_write` and `quick_update` put that before the general way, which they call for all else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.inplace import View
from autolab.engine.modes import modes
from autolab.engine.node import F32, F64
from autolab.engine.op import CODEGEN
from autolab.engine.tensor import Tensor, blank

ndarray, WHOLE = np.ndarray, (np.dtype(np.int64), np.dtype(np.int32))


def is_plain(t: Tensor) -> bool:
    """Whether t is an array, and nothing but its numbers matters: no transform, no graph, nothing that is told of operations."""
    return (
        modes.fast
        and type(t.payload) is ndarray
        and not t.level
        and type(t.version) is list
        and not (modes.grad and (t.wants_grad or t.edge is not None or (t.view_info is not None and t.view_info.base.requires_grad)))
    )


def can_write(t: Tensor) -> bool:
    """Whether t is plain, and its entries have places of their own that may be written to."""
    return is_plain(t) and modes.before_write is None and t.payload.flags.writeable and 0 not in t.payload.strides


def only_numbers(key: Any) -> bool:
    """Whether a key is a tuple of Python's integers."""
    for k in key:
        if type(k) is not int:
            return False
    return True


def quick_read(getitem: Callable[..., Any]) -> Callable[..., Any]:
    """`getitem` with a first look: a key of several numbers is one view, not one after the other."""
    if "forward" not in CODEGEN:
        return getitem

    @functools.wraps(getitem)
    def read(self: Tensor, key: Any) -> Any:
        if type(key) is tuple and len(key) > 1 and only_numbers(key) and is_plain(self):
            try:
                out = self.payload[(*key, ...)]
            except IndexError:  # said in PyTorch's words
                return getitem(self, key)
            if out.size:
                t = blank()
                t.payload = out
                t.edge = t.extra = t._grad = None
                t.wants_grad = False
                t.view_info, t.version = View.of(self), self.version
                return t
        return getitem(self, key)

    return read


def quick_write(setitem: Callable[..., Any]) -> Callable[..., Any]:
    """`setitem` with a first look: a number, or a tensor that fits, written where a number or several say."""
    if "forward" not in CODEGEN:
        return setitem

    @functools.wraps(setitem)
    def write(self: Tensor, key: Any, value: Any) -> Any:
        dims = 1 if type(key) is int else len(key) if type(key) is tuple and only_numbers(key) else 0
        if dims and can_write(self):
            raw, kind = self.payload, type(value)
            if kind is int or kind is float or kind is bool:
                if not -65504 <= value <= 65504:  # the largest float16; `setitem` looks whether the dtype holds more
                    return setitem(self, key, value)
                try:
                    new = np.asarray(value, raw.dtype)
                except OverflowError:  # an integer that its dtype does not hold
                    return setitem(self, key, value)
            elif not isinstance(value, Tensor) or not is_plain(value) or value.payload.dtype != raw.dtype:
                return setitem(self, key, value)
            else:
                new = value.payload
                if new.ndim and (value.version is self.version or new.shape != raw.shape[dims:]):
                    return setitem(self, key, value)
            try:
                raw[key] = new
            except IndexError:
                return setitem(self, key, value)
            self.version[0] += 1
            return None
        return setitem(self, key, value)

    return write


def quick_update(update: Callable[..., Any], function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`x += 1` and the like with a first look: a Python number and an array of a dtype that holds the result.

    update: the general way. function: Python's operator, which NumPy's arrays have.
    """
    if "forward" not in CODEGEN:
        return update

    @functools.wraps(update)
    def in_place(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if (kind is int or kind is float) and can_write(self):
            raw = self.payload
            dtype = raw.dtype
            if dtype is F32 or dtype is F64 or (kind is int and dtype in WHOLE):
                try:
                    new = function(raw, other)
                except OverflowError:  # a number beyond the dtype
                    return update(self, other)
                raw[...] = new
                self.version[0] += 1
                return self
        return update(self, other)

    return in_place
