"""A forward that is written for arrays, on tensors: the words are NumPy's, and rows of the table do the work.

A tensor has PyTorch's methods: its `x.std()` divides by n - 1, its `x.max(axis)` gives places as well, `np.einsum` does not know it. So
forward is given tensors whose methods and functions mean what NumPy's mean. Then the engine can differentiate it, and a slip in it can be
looked for step by step. What is not known here raises, and so does whatever would take the numbers out: nothing is taken for a constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

import autolab
from autolab.engine.apply import apply
from autolab.engine.tensor import NUMPY_FUNCTIONS, Tensor
from autolab.rules import index as rows


class NotFollowed(AttributeError, TypeError):
    """Something of NumPy that no row of the table does."""


class NumPyTensor:
    """A tensor that forward takes for an array."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor):
        self.tensor = tensor

    def __array__(self, *args: Any, **settings: Any) -> Any:
        raise NotFollowed("its numbers would be constants")

    __float__ = __int__ = __bool__ = __index__ = item = tolist = __array__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **settings: Any) -> Any:
        if method == "reduce":
            return _called(ALONG[ufunc.__name__], args, {"axis": 0} | settings)
        if method == "accumulate" and ufunc in ACCUMULATED:
            return _called(ACCUMULATED[ufunc], args, {"axis": 0} | settings)
        if method == "outer" and not settings:
            one, other = (np.shape(a) for a in args)
            return ufunc(_called(lambda x: x.reshape(*one, *(1 for _ in other)), (args[0],), {}), args[1])
        if method == "at" and ufunc is np.add and isinstance(args[0], NumPyTensor):
            return args[0].add_at(*args[1:])
        if method != "__call__" or settings or (function := FUNCTIONS.get(ufunc) or NUMPY_FUNCTIONS.get(ufunc)) is None:
            raise NotFollowed(f"{ufunc.__name__}.{method}")
        return _called(function, args, {})

    def __array_function__(self, function: Callable, types: Any, args: Any, settings: Any) -> Any:
        known = FUNCTIONS.get(function) or NUMPY_FUNCTIONS.get(function)
        if known is None:  # made of others, or it asks for numbers, which raises
            return function._implementation(*args, **settings)  # type: ignore[attr-defined]
        return _called(known, args, settings)

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise NotFollowed(f"the method {name} of an array")
        return partial(_method, self, name)

    def __getitem__(self, key: Any) -> Any:
        return _called(_entries, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor = apply(rows.index_put, (self.tensor, self._as_part(value)), {"key": _plain(key)})

    def add_at(self, key: Any, value: Any) -> None:
        """As np.add.at does: added at each place as often as the key names it."""
        key, value = _plain(key), self._as_part(value)
        shape = np.empty(self.shape, bool)[key].shape
        value = value if tuple(value.shape) == shape else value.expand(shape)
        self.tensor = self.tensor + apply(rows.add_at, (value,), {"key": key, "shape": self.shape})

    def _as_part(self, value: Any) -> Tensor:
        """What is written into this one, with its dtype."""
        value = _unwrapped(value)
        if not isinstance(value, Tensor):
            return autolab.from_numpy(np.array(value, self.dtype))
        return value if value.dtype == self.tensor.dtype else value.to(self.tensor.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    shape = property(lambda self: tuple(self.tensor.shape))
    ndim = property(lambda self: self.tensor.ndim)
    flat = property(lambda self: _called(lambda x: x.reshape(-1), (self,), {}))
    size = property(lambda self: self.tensor.numel())
    dtype = property(lambda self: self.tensor.payload.dtype)
    T = property(lambda self: _called(_transpose, (self,), {}))
    mT = property(lambda self: _called(lambda x: x.mT, (self,), {}))
    real = property(lambda self: _called(lambda x: x.real if x.is_complex() else x, (self,), {}))
    imag = property(lambda self: _called(lambda x: x.imag, (self,), {}))


def _method(array: NumPyTensor, name: str, *args: Any, **settings: Any) -> Any:
    return _called(METHODS[name], (array, *args), settings)


def _operator(name: str) -> Callable:
    work = getattr(operator, name)

    def one(self: NumPyTensor, *other: Any) -> Any:
        return _called(work, (self, *other), {})

    return one


def _reflected(name: str) -> Callable:
    work = getattr(operator, name)

    def one(self: NumPyTensor, other: Any) -> Any:
        return _called(work, (other, self), {})

    return one


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(NumPyTensor, f"__{_name}__", _operator(_name))
    setattr(NumPyTensor, f"__r{_name}__", _reflected(_name))
for _name in ("neg", "pos", "abs", "lt", "le", "gt", "ge", "eq", "ne", "invert", "and_", "or_"):
    setattr(NumPyTensor, f"__{_name.strip('_')}__", _operator(_name))


def _called(function: Callable, args: Any, settings: Any) -> Any:
    """What a function on tensors gives for these."""
    return _wrapped(function(*map(_unwrapped, args), **{name: _unwrapped(value) for name, value in settings.items()}))


def _unwrapped(value: Any) -> Any:
    if isinstance(value, NumPyTensor):
        return value.tensor
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
        return autolab.from_numpy(np.array(value))
    return type(value)(map(_unwrapped, value)) if type(value) in (tuple, list) else value


def _wrapped(value: Any) -> Any:
    if isinstance(value, Tensor):
        return NumPyTensor(value) if value.payload.dtype.kind in "fcb" else _numbers(value)  # whole numbers have no derivative
    return tuple(map(_wrapped, value)) if isinstance(value, (tuple, list)) and not isinstance(value, autolab.Size) else value


def _plain(key: Any) -> Any:
    """A key whose numbers are only places."""
    if isinstance(key, NumPyTensor):
        return _numbers(key.tensor)
    return tuple(map(_plain, key)) if isinstance(key, tuple) else key


# ---------- NumPy's words


def _entries(x: Tensor, key: Any) -> Tensor:
    """As x[key]; an axis that is read backwards is flipped first, since a tensor's slices go forward."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not any(isinstance(part, slice) and (part.step or 1) < 0 for part in parts):
        return x[key]
    read = [np.ndim(part) if np.asarray(part).dtype == bool else int(part is not None and part is not ...) for part in parts]
    for at, part in enumerate(parts):
        if isinstance(part, slice) and (part.step or 1) < 0:
            axis = x.ndim - sum(read[at:]) if any(before is ... for before in parts[:at]) else sum(read[:at])
            n, places = x.shape[axis], range(x.shape[axis])[part]
            x = x.flip(axis)
            parts[at] = slice(n - 1 - places[0], n - places[-1], -places.step) if places else slice(0, 0)
            parts[at] = slice(None) if parts[at] == slice(0, n, 1) else parts[at]
    return x if all(part is ... or (isinstance(part, slice) and part == slice(None)) for part in parts) else x[tuple(parts)]


def _transpose(x: Tensor, *axes: Any) -> Tensor:
    axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return x if x.ndim < 2 and not axes else x.permute(*(axes or range(x.ndim)[::-1]))


def _spread(name: str) -> Callable:
    """Variance or deviation: NumPy divides by n where nothing is said."""

    def one(x: Tensor, axis: Any = None, ddof: float = 0, keepdims: bool = False, correction: Any = None) -> Tensor:
        return getattr(x, name)(axis, correction=ddof if correction is None else correction, keepdim=keepdims)

    return one


def _scan(name: str) -> Callable:
    def one(x: Tensor, axis: Any = None) -> Tensor:
        return getattr(x.reshape(-1), name)(0) if axis is None else getattr(x, name)(axis)

    return one


def _extreme(name: str) -> Callable:
    def one(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return getattr(x, name)(axis, keepdim=keepdims) if axis is not None else getattr(x, name)(keepdim=keepdims)

    return one


def _diag(x: Tensor, k: int = 0) -> Tensor:
    return autolab.diag(x, k)


def _windows(x: Tensor, window_shape: Any, axis: Any = None) -> Tensor:
    sizes, axes = (value if isinstance(value, tuple) else (value,) for value in (window_shape, range(x.ndim)[0] if axis is None else axis))
    if axis is None and len(sizes) != x.ndim:
        raise NotFollowed("windows of all axes")
    axes = tuple(range(x.ndim)) if axis is None else axes
    for size, at in zip(sizes, axes, strict=True):
        x = x.unfold(at, size, 1)
    return x


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    if ord is None:
        return autolab.linalg.vector_norm(x, 2, axis, keepdims)
    return autolab.linalg.norm(x, ord, axis, keepdims)


def _dot(x: Any, y: Any) -> Any:
    return x * y if not (np.ndim(x) and np.ndim(y)) else x @ y


def _take(x: Tensor, indices: Any, axis: Any = None) -> Any:
    return x.reshape(-1)[indices] if axis is None else x[(slice(None),) * (axis % x.ndim) + (indices,)]


def _repeat(x: Tensor, repeats: Any, axis: Any = None) -> Tensor:
    return (x.reshape(-1) if axis is None else x).repeat_interleave(repeats, 0 if axis is None else axis)


def _clip(x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    return x.clip(low, high)


def _median(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    """The middle one, or the mean of the middle two."""
    n = x.shape[axis]
    middle = x.sort(axis)[0].narrow(axis, (n - 1) // 2, 2 - n % 2)
    return middle.mean(axis, keepdim=keepdims)


def _svd(x: Tensor, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return autolab.linalg.svd(x, full_matrices=full_matrices) if compute_uv else autolab.linalg.svdvals(x)


def _moved(function: Callable) -> Callable:
    """A function that only moves, repeats or leaves out entries."""

    def one(x: Tensor, *args: Any, **settings: Any) -> Tensor:
        places = function(np.arange(x.numel()).reshape(tuple(x.shape)), *args, **settings)
        return x.reshape(-1)[places]

    return one


def _pad(x: Tensor, width: Any, mode: str = "constant", constant_values: float = 0.0) -> Tensor:
    if mode != "constant":
        return _moved(np.pad)(x, width, mode=mode)
    places = np.pad(np.arange(1, x.numel() + 1).reshape(tuple(x.shape)), width)
    return autolab.cat([autolab.full((1,), float(constant_values), dtype=x.dtype), x.reshape(-1)])[places]


def _convolve(x: Any, y: Any, mode: str = "full") -> Tensor:
    x, y = (a if isinstance(a, Tensor) else autolab.from_numpy(np.array(a, float)) for a in (x, y))
    x, y = (y, x) if len(y) > len(x) else (x, y)
    n, m = len(x), len(y)
    full = _pad(x, m - 1).unfold(0, m, 1) @ y.flip(0)
    return {"full": full, "same": full[(m - 1) // 2 : (m - 1) // 2 + n], "valid": full[m - 1 : n]}[mode]


def _correlate(x: Any, y: Any, mode: str = "valid") -> Tensor:
    if len(y) > len(x) or mode == "same":
        raise NotFollowed("where it begins is another matter")
    return _convolve(x, y.flip(0) if isinstance(y, Tensor) else np.flip(y), mode)


def _average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Tensor:
    if weights is None:
        return METHODS["mean"](x, axis, keepdims)
    if np.ndim(weights) == 1 < x.ndim:
        weights = weights.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    return ALONG["add"](x * weights, axis, keepdims) / ALONG["add"](x * 0 + weights, axis, keepdims)


def _partition(x: Tensor, kth: Any, axis: int = -1) -> Tensor:
    return x.gather(axis, autolab.from_numpy(np.argpartition(_numbers(x), kth, axis)))


def _prod(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    for one in sorted((a % x.ndim for a in axis), reverse=True) if isinstance(axis, tuple) else (axis,):
        x = x.prod() if one is None else x.prod(one, keepdim=keepdims)
    return x


def _bincount(places: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    places = np.asarray(places)
    return apply(rows.add_at, (weights,), {"key": places, "shape": (max(int(places.max()) + 1, minlength),)})


def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    y = y if isinstance(y, Tensor) else autolab.from_numpy(np.array(y, float))
    n = y.shape[axis]
    steps = dx if x is None else (x if isinstance(x, Tensor) else autolab.from_numpy(np.array(x, float))).diff()
    both = (y.narrow(axis, 1, n - 1) + y.narrow(axis, 0, n - 1)) / 2
    return (both.movedim(axis, -1) * steps).sum(-1)


def _flat_cat(x: Any, y: Any, axis: Any = None) -> Tensor:
    parts = [a if isinstance(a, Tensor) else autolab.from_numpy(np.array(a, float)) for a in (x, y)]
    return autolab.cat([a.reshape(-1) for a in parts] if axis is None else parts, 0 if axis is None else axis)


def _astype(x: Tensor, dtype: Any, **_: Any) -> Any:
    return x if np.dtype(dtype).kind in "fc" else _numbers(x).astype(dtype)


def _places(function: Callable) -> Callable:
    """What gives whole numbers, which have no derivative."""

    def one(*args: Any, **settings: Any) -> Any:
        return function(*map(_numbers, args), **settings)

    return one


def _numbers(value: Any) -> Any:
    return np.array(value.payload) if isinstance(value, Tensor) else value


ALONG: dict[str, Callable] = {
    "add": lambda x, axis=None, keepdims=False: x.sum(axis, keepdim=keepdims),
    "multiply": _prod,
    "logaddexp": lambda x, axis=None, keepdims=False: x.logsumexp(tuple(range(x.ndim)) if axis is None else axis, keepdim=keepdims),
    "maximum": _extreme("amax"),
    "minimum": _extreme("amin"),
}
ACCUMULATED: dict[Any, Callable] = {
    np.add: lambda x, axis: x.cumsum(axis), np.multiply: lambda x, axis: x.cumprod(axis),
    np.maximum: lambda x, axis: x.cummax(axis)[0], np.minimum: lambda x, axis: x.cummin(axis)[0],
    np.logaddexp: lambda x, axis: x.logcumsumexp(axis),
}  # fmt: skip
METHODS: dict[str, Callable] = {
    **{name: getattr(Tensor, name) for name in "reshape swapaxes argmax argmin argsort all any round conj".split()},
    "sum": ALONG["add"], "prod": _prod, "max": _extreme("amax"), "min": _extreme("amin"),
    "mean": lambda x, axis=None, keepdims=False: x.mean(axis, keepdim=keepdims), "var": _spread("var"), "std": _spread("std"),
    "cumsum": _scan("cumsum"), "cumprod": _scan("cumprod"),
    "ravel": lambda x: x.reshape(-1), "flatten": lambda x: x.reshape(-1), "copy": lambda x: x, "astype": _astype,
    "squeeze": lambda x, axis=None: x.squeeze() if axis is None else x.squeeze(axis), "transpose": _transpose, "dot": _dot,
    "repeat": _repeat, "take": _take, "clip": _clip, "trace": lambda x: x.trace(),
    "diagonal": lambda x, offset=0: x.diagonal(offset, -2, -1),
}  # fmt: skip
FUNCTIONS: dict[Any, Callable] = {
    np.std: METHODS["std"], np.var: METHODS["var"], np.max: METHODS["max"], np.min: METHODS["min"], np.sum: METHODS["sum"],
    np.mean: METHODS["mean"], np.prod: METHODS["prod"], np.transpose: _transpose, np.ravel: METHODS["ravel"], np.copy: METHODS["copy"],
    np.repeat: _repeat, np.take: _take, np.clip: _clip, np.dot: _dot, np.median: _median, np.diag: _diag, np.square: lambda x: x * x,
    np.trace: METHODS["trace"], np.diagonal: METHODS["diagonal"], np.outer: lambda x, y: x.reshape(-1, 1) * y.reshape(-1),
    np.einsum: lambda equation, *xs: autolab.einsum(equation, *xs), np.diff: lambda x, n=1, axis=-1: x.diff(n, axis),
    np.sort: lambda x, axis=-1: x.sort(axis)[0], np.zeros_like: lambda x: autolab.zeros(x.shape, dtype=x.dtype),
    np.ones_like: lambda x: autolab.ones(x.shape, dtype=x.dtype), np.empty_like: lambda x: autolab.zeros(x.shape, dtype=x.dtype),
    np.linalg.norm: _norm, np.linalg.svd: _svd, np.lib.stride_tricks.sliding_window_view: _windows,
    np.tensordot: lambda x, y, axes=2: autolab.tensordot(x, y, axes), np.hstack: lambda xs: autolab.hstack(xs),
    np.vstack: lambda xs: autolab.vstack(xs), np.abs: lambda x: x.abs(), np.amax: METHODS["max"], np.amin: METHODS["min"],
    np.ptp: lambda x, axis=None, keepdims=False: METHODS["max"](x, axis, keepdims) - METHODS["min"](x, axis, keepdims),
    np.column_stack: lambda xs: autolab.cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in xs], 1), np.append: _flat_cat,
    np.cross: lambda x, y, axis=-1: autolab.linalg.cross(*autolab.broadcast_tensors(x, y), dim=axis), np.pad: _pad,
    np.convolve: _convolve, np.correlate: _correlate, np.kron: lambda x, y: autolab.kron(x, y), np.average: _average,
    np.inner: lambda x, y: autolab.tensordot(x, y, ([-1], [-1])), np.vdot: lambda x, y: (x.reshape(-1) * y.reshape(-1)).sum(),
    np.partition: _partition, np.bincount: _bincount, np.cbrt: lambda x: x.sign() * x.abs() ** (1 / 3), np.trapezoid: _trapezoid,
    np.cumsum: METHODS["cumsum"], np.cumprod: METHODS["cumprod"],
    **{f: lambda x: x * (np.pi / 180) for f in (np.radians, np.deg2rad)},
    **{f: lambda x: x * (180 / np.pi) for f in (np.degrees, np.rad2deg)},
    **{f: _moved(f) for f in (np.rot90, np.fliplr, np.flipud, np.delete, np.atleast_1d, np.atleast_2d, np.resize)},
    **{f: _places(f) for f in (np.searchsorted, np.digitize, np.argsort, np.argmax, np.argmin, np.argpartition, np.nonzero, np.isnan,
                               np.heaviside)},
    **{getattr(np.linalg, name): lambda *xs, name=name, **settings: getattr(autolab.linalg, name)(*xs, **settings)
       for name in "cholesky inv solve det slogdet eigh eigvalsh pinv qr matrix_power multi_dot".split()},
    **{getattr(np.fft, name): lambda *xs, name=name, **settings: getattr(autolab.fft, name)(*xs, **settings)
       for name in "fft ifft rfft irfft".split()},
}  # fmt: skip


# ---------- arrays that forward makes and writes into


def _made(make: Callable) -> Callable:
    """An array of numbers that forward makes itself, and may write the numbers of others into."""

    def one(*args: Any, **settings: Any) -> Any:
        shape = args[0].shape if isinstance(args[0], NumPyTensor) else args[0]
        array = make(np.empty(shape) if shape is not args[0] else shape, *args[1:], **settings)
        return NumPyTensor(autolab.from_numpy(array)) if array.dtype.kind in "fc" else array

    return one


def _full(shape: Any, value: Any, dtype: Any = None) -> Any:
    return _called(autolab.broadcast_to, (value, shape), {}) if isinstance(value, NumPyTensor) else _made(np.full)(shape, value, dtype)


def _array(value: Any, dtype: Any = None, copy: Any = None) -> Any:
    """An array of what is in lists, some of which may be a tensor."""
    if isinstance(value, NumPyTensor):
        return value if dtype is None else value.astype(dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(_array(part), NumPyTensor) for part in value):
        parts = [
            part if isinstance(part, NumPyTensor) else NumPyTensor(autolab.from_numpy(np.array(part, float))) for part in map(_array, value)
        ]
        return _called(lambda *several: autolab.stack(several), parts, {})
    return np.array(value, dtype)


MAKERS: dict[str, Callable] = {
    **{name: _made(getattr(np, name)) for name in "zeros ones empty zeros_like ones_like empty_like full_like".split()},
    "full": _full, "array": _array, "asarray": _array,
}  # fmt: skip


class _NumPy:
    """NumPy as forward sees it."""

    def __getattr__(self, name: str) -> Any:
        return MAKERS.get(name) or getattr(np, name)


NUMPY = _NumPy()


def with_makers(forward: Callable) -> Callable:
    """A copy of a function, and of those of its module, for which NumPy makes arrays that a tensor can be written into."""
    if not isinstance(forward, FunctionType):
        return forward
    known = forward.__globals__
    names = {name: NUMPY if value is np else value for name, value in known.items()}
    for name, value in known.items():
        if isinstance(value, FunctionType) and value.__globals__ is known:
            names[name] = _copied(value, names)
    return _copied(forward, names)


def _copied(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _as_array(value: Any) -> Any:
    """What forward is given: an index is one."""
    if not isinstance(value, Tensor):
        return value
    return NumPyTensor(value) if value.payload.dtype.kind in "fc" else value.payload


def on_tensors(forward: Callable) -> Callable:
    """A forward for arrays as a function on tensors."""
    ways = [forward]

    def function(*tensors: Any, **settings: Any) -> Any:
        try:
            result = ways[-1](*map(_as_array, tensors), **settings)
        except Exception:  # what NumPy raises where a tensor is put into an array
            if len(ways) > 1:
                raise
            ways.append(with_makers(forward))
            result = ways[-1](*map(_as_array, tensors), **settings)
        if not isinstance(result, NumPyTensor):
            raise NotFollowed("the result comes from elsewhere")
        return result.tensor

    function.forward = forward  # type: ignore[attr-defined]  # where its source is
    return function
