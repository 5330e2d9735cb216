"""3b. The order of images in memory: from one convolution to the next a program of NumPy calls keeps them as (H, C, W, N).

There a convolution lays nothing out (`autolab.fast.kernels.batch_last`). Its result is a view, in the shape that the trace has. What works
entry by entry, and what is in `HANDLERS`, is done to the array behind the view. Everything else is given a copy in the usual order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.compiler.lower import Lowering, Method, Value, power, values_in
from autolab.fast.kernel import INTO
from autolab.fast.kernels import batch_last as last
from autolab.fast.kernels import conv as columns
from autolab.fast.kernels import nn, pool
from autolab.rules import conv as rows
from autolab.rules.elementwise import keep


class BatchLast(Lowering):
    """Lowers to steps on arrays (H, C, W, N) where there are convolutions."""

    def __init__(self, keeps: Any = lambda function, values: False) -> None:
        super().__init__(keeps)
        self.behind: dict[Value, Value] = {}  # of a view (N, C, H, W): the array (H, C, W, N)

    def emit(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, elementwise: bool = False) -> Any:
        kwargs = kwargs or {}
        handler = HANDLERS.get(function) if callable(function) and hasattr(function, "__hash__") else None
        made = handler(self, *args, **kwargs) if handler is not None else None
        if made is not None:
            return made
        if not self.behind or not any(v in self.behind for v in values_in((args, kwargs))):
            return super().emit(function, args, kwargs, elementwise)
        if function == np.add.reduce and args[1:] == (None, None, None, False) and not kwargs:
            return super().emit(function, (self.behind[args[0]], *args[1:]))
        if entry_by_entry(function) and not values_in(kwargs) and all(np.ndim(v.sample) <= 4 for v in values_in(args)):
            return self.shown(super().emit(function, tuple(map(self.turned, args)), kwargs, elementwise))
        return super().emit(function, self.usual(args), self.usual(kwargs), elementwise)

    def fit(self, g: Value, like: tuple[tuple[int, ...], Any]) -> Any:
        """The gradient of what was added to each channel is summed where the image lies."""
        shape, dtype = like
        if g in self.behind and g.sample.dtype == dtype and shape in ((g.sample.shape[1], 1, 1), (1, g.sample.shape[1], 1, 1)):
            return self.emit(np.reshape, (super().emit(last.by_channel, (self.behind[g], None)), shape))
        return super().fit(g, like)

    def shown(self, behind: Value) -> Any:
        """The view of an array (H, C, W, N) in the shape that the trace has."""
        view: Any = super().emit(np.transpose, (behind, (3, 1, 0, 2)))
        self.behind[view] = behind
        return view

    def turned(self, a: Any) -> Any:
        """An argument in the order of (H, C, W, N)."""
        if not isinstance(a, Value) or a in self.behind:
            return self.behind.get(a, a) if isinstance(a, Value) else a
        if a in self.stretched:
            return self.turned(self.stretched[a])
        shape = (1,) * (4 - np.ndim(a.sample)) + np.shape(a.sample)
        if shape[0] == shape[2] == shape[3] == 1:
            return a
        return self.arranged(a if np.ndim(a.sample) == 4 else super().emit(np.reshape, (a, shape)))

    def arranged(self, x: Value) -> Any:
        """The array (H, C, W, N) behind x, or a copy in that order."""
        return self.behind[x] if x in self.behind else super().emit(last.batch_last, (x,))

    def usual(self, nest: Any) -> Any:
        """The same nest with copies in the usual order in place of views."""
        if isinstance(nest, Value):
            return super().emit(np.ascontiguousarray, (nest,)) if nest in self.behind else nest
        if type(nest) in (tuple, list):
            return type(nest)(map(self.usual, nest))
        return {k: self.usual(v) for k, v in nest.items()} if type(nest) is dict else nest


def entry_by_entry(function: Any) -> bool:
    if isinstance(function, np.ufunc):
        return function is not np.matmul and function.nout == 1 and function.signature is None
    return function in (np.where, keep.compute, power, Method("astype")) or function in INTO


def conv(to: Any, x: Any, weight: Any, bias: Any, **settings: Any) -> Any:
    if not last.suits(x.sample, weight.sample, settings["groups"], settings["dilation"]):
        return None
    return to.shown(Lowering.emit(to, last.conv, (to.arranged(x), weight, bias), settings))


def conv_input(to: Any, g: Any, weight: Any, **settings: Any) -> Any:
    if not last.suits(g.sample, weight.sample, settings["groups"], settings["dilation"]):
        return None
    return to.shown(Lowering.emit(to, last.conv_input, (to.arranged(g), weight), settings))


def conv_weight(to: Any, g: Any, x: Any, **settings: Any) -> Any:
    like = np.broadcast_to(np.zeros((), x.sample.dtype), (g.sample.shape[1], x.sample.shape[1], *settings["kernel"]))
    if g.sample.dtype != x.sample.dtype or not last.suits(g.sample, like, settings["groups"], settings["dilation"]) or not x.sample.size:
        return None
    return Lowering.emit(to, last.conv_weight, (to.arranged(g), to.arranged(x)), settings)


def to_input(to: Any, g: Any, weight: Any, x_shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    return conv_input(to, g, weight, shape=x_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def to_weight(to: Any, g: Any, x: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    return conv_weight(to, g, x, kernel=weight_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def by_channel(to: Any, x: Any, y: Any = None) -> Any:
    if x not in to.behind and y not in to.behind:
        return None
    return Lowering.emit(to, last.by_channel, (to.arranged(x), None if y is None else to.arranged(y)))


def max_pool(to: Any, x: Any, **settings: Any) -> Any:
    if x not in to.behind or len(settings["kernel"]) != 2:
        return None
    return to.shown(Lowering.emit(to, last.max_pool, (to.behind[x],), settings))


def max_pool_back(to: Any, g: Any, x: Any, top: Any, **settings: Any) -> Any:
    if x not in to.behind or len(settings["kernel"]) != 2:
        return None
    return to.shown(Lowering.emit(to, last.max_pool_back, tuple(map(to.arranged, (g, x, top))), settings))


# What to emit in place of a function; a handler gives None where that is the function itself.
HANDLERS: dict[Any, Any] = {
    columns.conv: conv, columns.conv_input: conv_input, columns.conv_weight: conv_weight, rows.to_input: to_input,
    rows.to_weight: to_weight, nn.by_channel: by_channel, columns.to_bias: by_channel, pool.max_pool: max_pool,
    pool.max_pool_back: max_pool_back,
}  # fmt: skip
