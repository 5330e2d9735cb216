"""Tensors out of nothing, numbers, lists and arrays."""

from __future__ import annotations

import builtins
import math
import operator
import warnings
from functools import reduce
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.modes import modes, untracked
from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.device import CPU, device, require_cpu
from autolab.torch_api.dims import lengths_of, require_tensor, whole
from autolab.torch_api.generator import generator, manual_seed
from autolab.torch_api.public import public
from autolab.transforms.boxes import created, shaped

__all__ = ["CPU", "device", "generator", "manual_seed"]


def finish(array: Any, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A leaf around an array; 0-d arrays become NumPy scalars, which are much faster.

    Raises RuntimeError for integers that require grad and for devices other than the CPU.
    """
    if device is not None:
        require_cpu(device)
    t = new_tensor(array[()] if array.ndim == 0 else array)
    if modes.tracer is not None:
        modes.tracer.created(t)
    if modes.levels:
        t = created(t)
    if modes.inference:
        t.version = untracked((), t.version)
    if not requires_grad:
        return t
    if array.dtype not in dtypes.INEXACT:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients. "
            f"This one is {dtypes.of(array.dtype)}: write the numbers with a point (2. instead of 2), or pass dtype=torch.float32."
        )
    return t.requires_grad_()


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new leaf tensor with a copy of `data`: a number, nested lists, or an array.

    dtype: by default bool, int64 or float32 for Python numbers, and an array's own.
    Raises ValueError for ragged lists and integers beyond 64 bits, TypeError for strings, RuntimeError for other things that are not
    numbers, for integers that do not fit the dtype, and for an integer tensor that requires grad.

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
    array = as_array(data, dtype)
    return finish(array.copy() if isinstance(data, Tensor | np.ndarray) else array, requires_grad, device)


def as_array(data: Any, dtype: Any = None) -> Any:
    """`data` as an array of the dtype asked for, else of PyTorch's choice for such data."""
    wanted = None if dtype is None else numpy_dtype(dtype, "tensor")
    if isinstance(data, Tensor):
        array = np.asarray(data.payload)
    elif isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
        dtypes.of(array.dtype)
    else:
        array = _from_lists(data, wanted)
    return array if wanted is None else array.astype(wanted, copy=False)


def numpy_dtype(dtype: Any, function: str) -> Any:
    """The NumPy dtype that an argument means. Raises TypeError for what is not a dtype."""
    if isinstance(dtype, str) or not (isinstance(dtype, type | np.dtype | dtypes.dtype)):
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return dtypes.to_numpy(dtype)


def _from_lists(data: Any, wanted: Any) -> Any:
    """Nested lists as an array, in PyTorch's choice of dtype unless one is wanted; then as precise as NumPy has it."""
    sample, dims = data, 0
    while isinstance(sample, list | tuple | range) and len(sample):
        sample, dims = sample[0], dims + 1
    if isinstance(sample, Tensor):
        data = _entries(data, dims, wanted)
    try:
        array = np.asarray(data, wanted if wanted == dtypes.uint64.numpy else None)  # only it holds whole numbers from 2**63
    except ValueError:
        data = _entries(data, dims + np.ndim(sample), wanted)  # there may be tensors behind the first entry
        said = _raggedness(data, 0)
        if said:
            raise ValueError(said) from None
        array, sample = np.asarray(data), np.asarray(sample)
    except OverflowError:
        raise ValueError(_OVERFLOW) from None
    if array.dtype.kind in "OUSMm":
        raise _not_numbers(data, sample)
    if array.dtype.kind == "u" and array.dtype != wanted:
        raise ValueError(_OVERFLOW)
    if wanted is not None and wanted.kind in "iu" and array.dtype.kind in "if" and array.size:
        limits = np.iinfo(wanted)
        wraps = wanted.kind == "u" and array.dtype.kind == "i"
        if not (array.min() >= (-limits.max if wraps else limits.min) and array.max() <= limits.max):  # nan fits nowhere
            raise RuntimeError(
                f"value cannot be converted to type {wanted} without overflow: found {array.min()} to {array.max()}, "
                f"{wanted} holds {limits.min} to {limits.max}."
            )
    if wanted is not None:
        if array.dtype.kind == "c" and wanted not in dtypes.COMPLEX:
            raise RuntimeError(f"value cannot be converted to type {dtypes.c_name(dtypes.of(wanted))} without overflow: it is complex.")
        return array
    if isinstance(sample, np.generic | np.ndarray | Tensor):
        return array.astype(_common_dtype(data), copy=False)
    if array.dtype.kind == "c":
        return array.astype(dtypes.complex_of(dtypes.default.floating))
    if array.dtype.kind == "f" or array.size == 0:
        return array.astype(dtypes.default.floating)
    return array if array.dtype.kind == "b" else array.astype(np.int64)


def _common_dtype(data: Any) -> Any:
    """The dtype that arrays and numbers in nested lists are promoted to."""
    if isinstance(data, list | tuple):
        return reduce(dtypes.promote_types, dict.fromkeys(map(_common_dtype, data)))
    return dtypes.result_type([np.asarray(data) if isinstance(data, np.generic) else data])


_OVERFLOW = "Overflow when unpacking long long: an integer is beyond 64 bits. Write it as a float (2.0**70)."


def _raggedness(data: Any, depth: int) -> str:
    """PyTorch's words for lists that do not form a block."""
    lengths = [len(d) if isinstance(d, list | tuple | range | np.ndarray) else None for d in data]
    for n in lengths:
        if n != lengths[0]:
            found = "a number" if n is None else n
            return (
                f"expected sequence of length {lengths[0]} at dim {depth + 1} (got {found}). "
                "All lists at one level must have the same length."
            )
    for d in data:
        inner = _raggedness(d, depth + 1) if isinstance(d, list | tuple) else ""
        if inner:
            return inner
    return ""


def _not_numbers(data: Any, sample: Any) -> Exception:
    flat = [sample]
    stack = [data]
    while stack:  # the first thing that is not a number, wherever it stands
        d = stack.pop()
        if isinstance(d, list | tuple):
            stack.extend(reversed(d))
        elif not isinstance(d, (*dtypes.NUMBERS, np.generic)):
            flat = [d]
            break
    name = type(flat[0]).__name__
    if isinstance(flat[0], str | bytes):
        return TypeError(f"new(): invalid data type '{name}'. A tensor holds numbers.")
    if isinstance(flat[0], int):
        return ValueError(_OVERFLOW)
    return RuntimeError(f"Could not infer dtype of {name}. A tensor holds numbers.")


def _entries(data: Any, dims: int, wanted: Any) -> Any:
    """Nested sequences, among them tensors, as lists of `dims` levels; what is a tensor below them becomes a number."""
    if dims and (isinstance(data, list | tuple | range) or (isinstance(data, Tensor) and data.ndim)):
        return [_entries(d, dims - 1, wanted) for d in data]
    if not isinstance(data, Tensor):
        return data
    if wanted is not None and wanted.kind in "iu":
        return wanted.type(operator.index(data))
    number = complex if data.payload.dtype in dtypes.COMPLEX else builtins.float if data.payload.dtype in dtypes.FLOATING else int
    return data.payload.dtype.type(number(data))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory with an array or tensor where no conversion is needed.

    >>> a = torch.ones(2).numpy()
    >>> torch.as_tensor(a)[0] = 5
    >>> a
    array([5., 1.], dtype=float32)
    """
    if device is not None:
        require_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None or dtypes.to_numpy(dtype) == data.payload.dtype else data.to(dtype)
    return new_tensor(as_array(data, dtype))


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over the memory of an array: writing to one changes the other. Raises TypeError for other things.

    >>> a = torch.ones(2).numpy()
    >>> torch.from_numpy(a)[0] = 5
    >>> a
    array([5., 1.], dtype=float32)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    dtypes.of(array.dtype)
    return new_tensor(array)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, through the array API's protocol. Raises AttributeError if it has none.

    >>> torch.from_dlpack(torch.ones(2).numpy())
    tensor([1., 1.])
    """
    if device is not None:
        require_cpu(device)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise AttributeError(f"from_dlpack needs an object with __dlpack__ and __dlpack_device__, and got {type(ext_tensor).__name__}")
    return from_numpy(np.from_dlpack(ext_tensor, copy=copy))


def _floating(dtype: Any) -> Any:
    return dtypes.default.floating if dtype is None else numpy_dtype(dtype, "tensor")


@public(creates=True)
def empty(*sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          memory_format: Any = None) -> Tensor:  # fmt: skip
    """Uninitialised memory of the given sizes: any numbers. memory_format is taken, and means nothing.

    >>> empty(2, 3).shape
    torch.Size([2, 3])
    """
    return finish(np.empty(lengths_of(sizes, "empty", size), _floating(dtype)), requires_grad, device)


@public(creates=True)
def zeros(*sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the given sizes.

    Raises RuntimeError for a negative size, TypeError without one: that of a number is ().

    >>> zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return finish(np.zeros(lengths_of(sizes, "zeros", size), _floating(dtype)), requires_grad, device)


@public(creates=True)
def ones(*sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the given sizes.

    Raises RuntimeError for a negative size, TypeError without one: that of a number is ().

    >>> ones(2, dtype=torch.int64)
    tensor([1, 1])
    """
    return finish(np.ones(lengths_of(sizes, "ones", size), _floating(dtype)), requires_grad, device)


@public(creates=True)
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of `size` filled with one number; its dtype follows the number unless given.

    Raises TypeError for a size that is not a tuple or list, RuntimeError for a number that does not fit the dtype.

    >>> full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    if not isinstance(size, list | tuple):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    number = _number(fill_value, "full(): argument 'fill_value' (position 2)")
    floating = dtypes.default.floating if type(number) is builtins.float else None
    d = floating if dtype is None else numpy_dtype(dtype, "full")
    value = as_array(number) if d is None else np.asarray(dtypes.fitting(number, d), d)
    return finish(np.full(lengths_of((size,), "full"), value, value.dtype), requires_grad, device)


def _number(value: Any, what: str) -> Any:
    """A Python number out of a number or a one-entry tensor. Raises TypeError otherwise."""
    if isinstance(value, Tensor):
        return value.item()
    if not isinstance(value, (*dtypes.NUMBERS, np.generic)):
        raise TypeError(f"{what} must be Number, not {type(value).__name__}")
    return value


@public(creates=True)
def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Numbers from `start` (default 0) up to, not including, `end`.

    The dtype is int64 for integers, else the default floating one. Raises RuntimeError for a step of 0 or of the wrong sign.

    >>> arange(0, 1, 0.25)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if end is None:
        start, end = 0, start
    if end is None:
        raise TypeError("arange() received an invalid combination of arguments - got (), but expected at least the end")
    start = 0 if start is None else start
    start, end, step = (_number(v, f"arange(): argument '{name}'") for v, name in zip((start, end, step), ("start", "end", "step")))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: from {start} to {end} in steps of {step}")
    if dtype is None:
        dtype = np.int64 if builtins.all(isinstance(v, int | np.integer) for v in (start, end, step)) else _floating(None)
    elif numpy_dtype(dtype, "arange") in dtypes.COMPLEX | dtypes.UNSIGNED:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtypes.of(numpy_dtype(dtype, 'arange')).title}'. Add .to(...).")
    elif numpy_dtype(dtype, "arange") not in dtypes.FLOATING:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero: it is truncated to an integer, as dtype says")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    count = math.ceil((end - start) / step)
    return finish((start + np.arange(count) * step).astype(numpy_dtype(dtype, "arange")), requires_grad, device)


@public(creates=True)
def linspace(start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`steps` evenly spaced numbers, both ends included. Raises RuntimeError for a negative number of steps.

    >>> linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    made = _signed(_spaced_dtype(dtype, start, end), "linspace_cpu")
    return finish(_spaced("linspace", start, end, steps, made), requires_grad, device)


@public(creates=True)
def logspace(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`steps` numbers from base**start to base**end, with evenly spaced logarithms. Raises RuntimeError for a negative number of steps.

    >>> logspace(0, 3, 4)
    tensor([   1.,   10.,  100., 1000.])
    """
    made = _spaced_dtype(dtype, start, end)
    # Integers, too, are powers of integers here.
    exponents = _spaced("logspace", start, end, steps, made).astype(np.complex128 if made in dtypes.COMPLEX else np.float64)
    with np.errstate(all="ignore"):
        return finish((float(base) ** exponents).astype(made), requires_grad, device)


def _spaced_dtype(dtype: Any, *ends: Any) -> Any:
    """The default floating dtype, or the complex one if an end is complex, unless another is wanted."""
    made = _floating(dtype)
    whole = dtype is None and any(isinstance(v, builtins.complex) or (isinstance(v, Tensor) and v.is_complex()) for v in ends)
    return dtypes.complex_of(made) if whole else made


def _signed(made: Any, kernel: str) -> Any:
    """A dtype that PyTorch makes such tensors in. Raises NotImplementedError for uint16, uint32 and uint64."""
    if made in dtypes.UNSIGNED:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{dtypes.of(made).title}'. Make it with another dtype, and add .to(...)."
        )
    return made


def _spaced(name: str, start: Any, end: Any, steps: int, made: Any) -> Any:
    """Evenly spaced numbers from both ends to the middle, as PyTorch counts; those of an integer dtype between integers."""
    if isinstance(steps, float):
        kinds = ", ".join(type(v).__name__ for v in (start, end, steps))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds}), but expected steps to be int")
    if whole(steps, f"{name}(): argument 'steps'") < 0:
        raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
    ends = [("start", start), ("end", end)]
    for which, v in ends:
        if isinstance(v, Tensor) and v.ndim:
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {which} with {v.ndim} dimension(s).")
    convert: Any = complex if made in dtypes.COMPLEX else float if made in dtypes.FLOATING else int
    low, high = (convert(_number(v, f"{name}(): argument '{which}'")) for which, v in ends)
    k, gap = np.arange(steps), (high - low) / builtins.max(steps - 1, 1)
    if made == np.float32:  # PyTorch's step is one, too
        low, high = float(np.float32(low)), float(np.float32(high))
        gap = float(np.float32(np.float32(high - low) / np.float32(builtins.max(steps - 1, 1))))
    return np.where(k < steps // 2, low + gap * k, high - gap * (steps - 1 - k) if steps > 1 else low).astype(made)


@public(creates=True)
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal, zeros elsewhere: shape (n, m). Raises RuntimeError for a negative length.

    >>> eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for name, length in (("n", n), ("m", 0 if m is None else m)):
        if whole(length, f"eye(): argument '{name}'") < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    return finish(np.eye(n, m, dtype=_signed(_floating(dtype), "eye")), requires_grad, device)


def _like(make: Any, shared: bool = False) -> Any:
    """`shared`: inside vmap all samples share one; otherwise each gets its own if `input` differs between them."""

    def like(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None, **generator: Any
    ) -> Tensor:
        require_tensor(input, f"{make.__name__}_like")
        options = {"dtype": input.dtype if dtype is None else dtype, "device": device, "requires_grad": requires_grad}
        made: Tensor = (
            make(tuple(input.shape), **options, **generator)
            if shared or not input.level
            else shaped(input, tuple(input.shape), lambda *size: make(size, **options))
        )
        return made

    like.__name__, like.__module__ = f"{make.__name__}_like", make.__module__
    like.__doc__ = f"""`{make.__name__}` with the shape, and by default the dtype, of another tensor.

>>> x = torch.{make.__name__}_like(torch.tensor([[1.0, 2.0]], dtype=torch.float64))
>>> x.shape, x.dtype
(torch.Size([1, 2]), torch.float64)
"""
    return like


empty_like, zeros_like, ones_like = _like(empty), _like(zeros), _like(ones)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: Any = None) -> Tensor:  # fmt: skip
    """`full` with the shape, and by default the dtype, of another tensor.

    >>> torch.full_like(torch.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    require_tensor(input, "full_like")
    value = _number(fill_value, "full_like(): argument 'fill_value' (position 2)")
    dtype = input.dtype if dtype is None else dtype
    return full(tuple(input.shape), value, dtype=dtype, device=device, requires_grad=requires_grad)


def get_default_dtype() -> dtypes.dtype:
    """The dtype of tensors made from Python floats.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return dtypes.of(dtypes.default.floating)


def set_default_dtype(d: dtypes.dtype) -> None:
    """Choose the dtype of tensors made from Python floats. Raises TypeError for integers.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(0.1).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if not isinstance(d, dtypes.dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the default type, but got {d!r}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d}")
    dtypes.default.floating = d.numpy


def is_tensor(obj: Any) -> bool:
    """True if `obj` is a Tensor.

    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1., 1.])
    (True, False)
    """
    return isinstance(obj, Tensor)


def new(like: Tensor, make: Any, sizes: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What new_zeros and the other new_... methods do: `make` with another tensor's dtype; inside vmap each sample gets its own."""
    options = {"dtype": like.dtype, **options}
    size = lengths_of(sizes, f"new_{make.__name__}", options.pop("size", None))
    return shaped(like, size, lambda *size: make(size, **options))
