"""Tensors out of nothing, numbers, lists and arrays; random ones from one generator."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import Any

import numpy as np

from autolab.engine import dtypes
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor, fresh
from autolab.surface.dims import sizes_of

_generator: np.random.Generator | None = None  # made when first used: numpy.random takes as long to import as this package


def manual_seed(seed: int) -> None:
    """Make the random functions repeatable. The numbers are NumPy's, not PyTorch's bit stream."""
    global _generator
    _generator = np.random.default_rng(seed % 2**64)


def generator() -> np.random.Generator:
    """The generator behind all random functions. Raises RuntimeError inside vmap, unless it was told what random means there."""
    global _generator
    for level in modes.levels:
        level.before_random()
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


def finish(array: Any, requires_grad: bool = False) -> Tensor:
    """A leaf around an array; 0-d arrays become NumPy scalars, which are much faster."""
    t = fresh(array[()] if array.ndim == 0 else array)
    return t.requires_grad_() if requires_grad else t


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new leaf tensor with a copy of `data`: a number, nested lists, or an array.

    dtype: by default bool, int64 or float32 for Python numbers, and an array's own.
    Raises ValueError for ragged lists, TypeError for what is not numbers, RuntimeError for an integer tensor that requires grad.

    >>> tensor([[1., 2.], [3., 4.]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    array = np.array(as_array(data, dtype))
    if requires_grad and array.dtype not in dtypes.FLOATING:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients. "
            f"This one is {dtypes.of(array.dtype)}: write the numbers with a point (2. instead of 2), or pass dtype=torch.float32."
        )
    return finish(array, requires_grad)


def as_array(data: Any, dtype: Any = None) -> Any:
    """`data` as an array of the dtype asked for, else of PyTorch's choice for such data."""
    if isinstance(data, Tensor):
        array = np.asarray(data.payload)
    elif isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
    else:
        array = _from_lists(data, dtype is None)
    return array if dtype is None else array.astype(dtypes.to_numpy(dtype), copy=False)


def _from_lists(data: Any, choose: bool) -> Any:
    """Nested lists as an array; in PyTorch's choice of dtype if asked to choose, else as precise as NumPy has it."""
    sample = data
    while isinstance(sample, list | tuple | range) and len(sample):
        sample = sample[0]
    if isinstance(sample, Tensor) and isinstance(data, list | tuple):
        data = _unwrap(data)
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise ValueError(f"expected sequences of equal length at every level: {error}") from None
    if array.dtype.kind in "OUSMm":
        raise TypeError(f"new(): invalid data type '{type(sample).__name__}'")
    if isinstance(sample, np.generic | np.ndarray | Tensor) or not choose:
        return array
    if array.dtype.kind == "f" or array.size == 0:
        return array.astype(dtypes.default.floating)
    return array if array.dtype.kind == "b" else array.astype(np.int64)


def _unwrap(data: Any) -> Any:
    if isinstance(data, Tensor):
        return np.asarray(data.payload)
    return [_unwrap(d) for d in data] if isinstance(data, list | tuple) else data


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory with an array or tensor where no conversion is needed."""
    if isinstance(data, Tensor):
        return data if dtype is None or dtypes.to_numpy(dtype) == data.payload.dtype else data.to(dtype)  # type: ignore[attr-defined,no-any-return]
    array = as_array(data, dtype)
    return fresh(array)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over the memory of an array: writing to one changes the other. Raises TypeError for other things."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    dtypes.of(array.dtype)
    return fresh(array)


def _floating(dtype: Any) -> Any:
    return dtypes.default.floating if dtype is None else dtypes.to_numpy(dtype)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uninitialised memory of the given sizes."""
    return finish(np.empty(sizes_of(size), _floating(dtype)), requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the given sizes."""
    return finish(np.zeros(sizes_of(size), _floating(dtype)), requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the given sizes."""
    return finish(np.ones(sizes_of(size), _floating(dtype)), requires_grad)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of `size` filled with one number; its dtype follows the number unless given."""
    value = as_array(fill_value, dtype)
    return finish(np.full(sizes_of((size,)), value, value.dtype), requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Numbers from `start` (default 0) up to, not including, `end`."""
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))  # type: ignore[attr-defined]
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        dtype = np.int64 if builtins.all(isinstance(v, int) for v in (start, end, step)) else _floating(None)
    count = math.ceil((end - start) / step)
    return finish((start + np.arange(count) * step).astype(dtypes.to_numpy(dtype)), requires_grad)


def linspace(start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`steps` evenly spaced numbers, both ends included."""
    return finish(np.linspace(start, end, steps).astype(_floating(dtype)), requires_grad)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal, zeros elsewhere: shape (n, m)."""
    return finish(np.eye(n, m, dtype=_floating(dtype)), requires_grad)


def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, generator: Any = None) -> Tensor:
    """Uniform in [0, 1)."""
    return finish(np.asarray(_source(generator).random(sizes_of(size))).astype(_floating(dtype)), requires_grad)


def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, generator: Any = None) -> Tensor:
    """Normal with mean 0 and variance 1."""
    return finish(np.asarray(_source(generator).standard_normal(sizes_of(size))).astype(_floating(dtype)), requires_grad)


def randint(low: int, high: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
            requires_grad: bool = False, generator: Any = None) -> Tensor:  # fmt: skip
    """Integers in [low, high), or in [0, low) when called as randint(high, size)."""
    if size is None:
        low, high, size = 0, low, high
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    array = np.asarray(_source(generator).integers(low, high, sizes_of((size,))))
    return finish(array.astype(np.int64 if dtype is None else dtypes.to_numpy(dtype)), requires_grad)


def randperm(n: int, *, dtype: Any = None, device: Any = None, generator: Any = None) -> Tensor:
    """The integers 0 to n-1 in random order."""
    return finish(_source(generator).permutation(n).astype(np.int64 if dtype is None else dtypes.to_numpy(dtype)))


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability given by each entry, else 0."""
    p = np.asarray(input.payload)
    return finish(np.asarray(_source(generator).random(p.shape) < p).astype(p.dtype))


def _source(g: Any) -> np.random.Generator:
    default = generator()
    return default if g is None else g


def _like(make: Any) -> Any:
    def like(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        return make(input.shape, *args, dtype=input.dtype if dtype is None else dtype, requires_grad=requires_grad)  # type: ignore[no-any-return]

    like.__name__ = f"{make.__name__}_like"
    like.__doc__ = f"`{make.__name__}` with the shape, and by default the dtype, of another tensor."
    return like


empty_like, zeros_like, ones_like, full_like = _like(empty), _like(zeros), _like(ones), _like(full)
rand_like, randn_like = _like(rand), _like(randn)


def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`randint` with the shape, and by default the dtype, of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input.shape, dtype=input.dtype if dtype is None else dtype)


def get_default_dtype() -> dtypes.dtype:
    """The dtype of tensors made from Python floats."""
    return dtypes.of(dtypes.default.floating)


def set_default_dtype(d: dtypes.dtype) -> None:
    """Choose the dtype of tensors made from Python floats. Raises TypeError for integers."""
    if not isinstance(d, dtypes.dtype) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d}")
    dtypes.default.floating = d.numpy


def is_tensor(obj: Any) -> bool:
    """True if `obj` is a Tensor."""
    return isinstance(obj, Tensor)


class device:
    """Where a tensor lives: always the CPU here; other names are accepted so that programs run."""

    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        name, _, number = str(getattr(type, "type", type)).partition(":")
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = device("cpu")
