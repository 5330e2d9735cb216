"""Further ways to come by a tensor: from buffers, with strides of one's own, on scales."""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, must_be_floating, new_tensor
from autolab.torch_api import creation
from autolab.torch_api.creation import _floating, as_tensor, finish, from_dlpack, numpy_dtype
from autolab.torch_api.device import require_cpu
from autolab.torch_api.dims import lengths_of, whole
from autolab.torch_api.public import method, public
from autolab.transforms.boxes import created
from autolab.transforms.level import TransformTensor


@public()
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None) -> Tensor:
    """A tensor of anything: a tensor, an array, a buffer, a sequence, a number. Shares memory where it can, unless copy=True.

    Raises ValueError if copy=False and a copy is needed.

    >>> x = tensor([1, 2])
    >>> asarray(x) is x, asarray(x, copy=True) is x
    (True, False)
    """
    if device is not None:
        require_cpu(device)
    if not isinstance(obj, Tensor | np.ndarray) and hasattr(obj, "__dlpack__"):
        obj = from_dlpack(obj)
    elif isinstance(obj, bytes | bytearray | memoryview):
        obj = np.frombuffer(obj, numpy_dtype(dtype, "asarray") if dtype is not None else dtypes.default.floating)
    t = as_tensor(obj, dtype)
    shares = isinstance(obj, Tensor | np.ndarray) and t.payload.dtype == obj.dtype
    if copy is False and not shares:
        raise ValueError("can't alias tensor with dtype, or a sequence or scalar: its numbers have to be copied. Leave copy=False out.")
    if copy and shares:
        t = t.clone()
    if requires_grad is None and isinstance(obj, Tensor) and obj.requires_grad:
        warnings.warn(
            "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False "
            "explicitly for a detached tensor, requires_grad=True to silence this warning.",
            UserWarning,
            stacklevel=2,
        )
        requires_grad = True
    if t.requires_grad and not requires_grad:
        return t.detach()
    if requires_grad:
        must_be_floating(t, "Only Tensors of floating point and complex dtype can require gradients")
        t.requires_grad_()
    return t


@public()
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor over the memory of a buffer (bytes, bytearray, memoryview ...), from `offset` bytes on.

    Raises ValueError if nothing is left, or the buffer ends too early; warns if it cannot be written to.

    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    kind = numpy_dtype(dtype, "frombuffer")
    view = memoryview(buffer)
    length = view.nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1")
    if count > 0 and offset + count * kind.itemsize > length:
        raise ValueError(
            f"requested buffer length ({count} * {kind.itemsize} bytes) after offset ({offset} bytes) must not be greater than actual "
            f"buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % kind.itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({kind.itemsize})"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. Writing to this tensor is refused: "
            "clone() it first.",
            UserWarning,
            stacklevel=2,
        )
    t = new_tensor(np.frombuffer(buffer, kind, count, offset))
    return t.requires_grad_() if requires_grad else t


@public()
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
                  layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Uninitialised memory, with a stride in entries for each dim. Raises RuntimeError if sizes and strides differ in number.

    >>> empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    lengths = lengths_of((tuple(size),), "empty_strided")
    if len(lengths) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(lengths)}) must match dimensionality of strides ({len(stride)})")
    kind = _floating(dtype)
    flat = np.empty(extent(lengths, stride), kind)
    return finish(np.lib.stride_tricks.as_strided(flat, lengths, [s * kind.itemsize for s in stride]), requires_grad, device)


@method
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
                      layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Uninitialised memory with a stride in entries for each dim, in this tensor's dtype; inside vmap each sample gets its own.

    >>> tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    lengths, steps = lengths_of((tuple(size),), "new_empty_strided"), tuple(stride)
    homes = []
    while isinstance(self, TransformTensor):
        homes.append(self.home)
        self = self.value
    for home in homes:  # from the inside out: all samples of a batch one after the other
        more = home.size_below(lengths)
        steps = (*[extent(lengths, steps)] * (len(more) - len(lengths)), *steps)
        lengths = more
    with homes[-1].lowered() if homes else nullcontext():
        t = empty_strided(lengths, steps, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)
    for home in reversed(homes):
        t = home.put(t)
    return created(t) if homes else t


def extent(size: Any, stride: Any) -> int:
    """How many entries of memory a tensor of this size and stride needs."""
    return 0 if 0 in size else 1 + sum((k - 1) * s for k, s in zip(size, stride))


@public()
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
                   layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Uninitialised memory whose dims lie in it in the order physical_layout, the last the densest.

    Raises RuntimeError if physical_layout does not list each dim once.

    >>> empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    lengths = lengths_of((tuple(size),), "empty_permuted")
    if len(physical_layout) != len(lengths):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout: {physical_layout} for {lengths}"
        )
    for d in physical_layout:
        if not 0 <= d < len(lengths):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(lengths) - 1}, but got {d})")
        if physical_layout.count(d) > 1:
            raise RuntimeError(f"Duplicate dim not allowed: {d} in {physical_layout}")
    lying = np.empty([lengths[d] for d in physical_layout], _floating(dtype))
    return finish(lying.transpose(np.argsort(physical_layout)), requires_grad, device)


@public(creates=True)
def range(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Deprecated: like arange, but with `end` included. Warns.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.range(0, 2)
    tensor([0., 1., 2.])
    """
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    start, end = (0, start) if end is None else (start, end)
    count = math.floor((end - start) / step) + 1
    return finish((start + np.arange(count) * step).astype(_floating(dtype)), requires_grad, device)


@public()
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of one number, of the default floating dtype unless given. Raises RuntimeError if that does not hold it.

    >>> scalar_tensor(2)
    tensor(2.)
    """
    d, value = np.dtype(_floating(dtype)), creation._number(s, "scalar_tensor(): argument 's' (position 1)")
    return finish(np.asarray(value if d in dtypes.NARROW else dtypes.fitting(value, d), d), requires_grad, device)


def _window(name: str, length: int, periodic: bool, shape: Any, options: dict[str, Any]) -> Tensor:
    """A symmetric window; a periodic one lacks the last of the entries that one of length + 1 has."""
    n = whole(length, f"{name}(): argument 'window_length'")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    made = np.ones(n) if n <= 1 else shape(n + 1)[:-1] if periodic else shape(n)
    dtype = _floating(options.pop("dtype", None))
    if dtype not in dtypes.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtypes.of(dtype)}")
    return finish(made.astype(dtype), options.pop("requires_grad", False), options.pop("device", None))


@public()
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle: 1 in the middle, 0 at the ends. A periodic window of length n is one of n + 1 without the last entry.

    >>> bartlett_window(5, periodic=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett_window", window_length, periodic, np.bartlett, options)


@public()
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi i / (n - 1)).

    >>> blackman_window(5, periodic=False)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _window("blackman_window", window_length, periodic, np.blackman, options)


@public()
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any) -> Tensor:
    """alpha - beta cos(2 pi i / (n - 1)).

    >>> hamming_window(5, periodic=False)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return _window(
        "hamming_window", window_length, periodic, lambda n: alpha - beta * np.cos(2 * math.pi * np.arange(n) / (n - 1)), options
    )


@public()
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.5 - 0.5 cos(2 pi i / (n - 1)). A periodic window of length n is one of n + 1 without the last entry.

    >>> hann_window(5, periodic=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    >>> hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, np.hanning, options)


@public()
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """The Kaiser window, i0(beta sqrt(1 - x**2)) / i0(beta) for x from -1 to 1: the larger beta, the narrower.

    >>> kaiser_window(5, periodic=False, beta=2.0)
    tensor([0.4387, 0.8348, 1.0000, 0.8348, 0.4387])
    """
    return _window("kaiser_window", window_length, periodic, lambda n: np.kaiser(n, beta), options)
