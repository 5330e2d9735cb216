"""What tests ask for: `assert_close`, whether two results are equal up to rounding, and if not, where; `make_tensor`, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.creation import as_tensor
from autolab.torch_api.random import rand

__all__ = ["assert_close", "make_tensor"]

# dtype -> (rtol, atol); integers and bools must be equal
TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    actual, expected: tensors, arrays or numbers, or sequences and mappings of them. rtol, atol: both or neither; by default those of
    the dtype (float32: 1.3e-6 and 1e-5; the coarser of two). equal_nan: nan equals nan. msg: replaces the message, or makes it from
    the one there would be. check_device and check_layout: accepted, there is one of each.
    Raises ValueError for one tolerance without the other, TypeError for what cannot be compared.

    >>> assert_close(tensor(0.1) + tensor(0.2), tensor(0.3))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}.")
    for place, a, b in pairs(actual, expected, "", allow_subclasses):
        error = difference(a, b, rtol, atol, equal_nan, check_dtype, check_stride)
        if error:
            text = error if not place else f"{error}\n\nThe failure occurred for item {place}"
            raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


def is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.generic)


def pairs(a: Any, b: Any, place: str, allow_subclasses: bool) -> Any:
    """The values to compare, each with its place: (place, actual, expected)."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            missing, additional = sorted(b.keys() - a.keys(), key=str), sorted(a.keys() - b.keys(), key=str)
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}" + occurred(place)
            )
        for key in a:
            yield from pairs(a[key], b[key], f"{place}[{key!r}]", allow_subclasses)
    elif is_sequence(a) and is_sequence(b):
        if len(a) != len(b):
            raise AssertionError(f"The length of the sequences mismatch: {len(a)} != {len(b)}" + occurred(place))
        for i, (x, y) in enumerate(zip(a, b)):
            yield from pairs(x, y, f"{place}[{i}]", allow_subclasses)
    else:
        if not allow_subclasses and type(a) is not type(b):
            raise not_comparable(a, b, place)
        kinds = [Tensor if isinstance(x, Tensor) else np.ndarray if isinstance(x, np.ndarray) else is_number(x) for x in (a, b)]
        if a is not None and b is not None and (kinds[0] is not kinds[1] or not kinds[0]):
            raise not_comparable(a, b, place)
        yield place, a, b


def is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str | bytes)


def not_comparable(a: Any, b: Any, place: str) -> TypeError:
    return TypeError(
        f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}. Compare two tensors, two arrays or two numbers, "
        f"or sequences and mappings of them.{occurred(place)}"
    )


def occurred(place: str) -> str:
    return f"\n\nThe failure occurred for item {place}" if place else ""


def difference(a: Any, b: Any, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool, check_stride: bool) -> str:
    """What is not the same about two leaves; empty if nothing is."""
    if a is None or b is None:
        return "" if a is b else f"None mismatch: {a} is not {b}"
    if isinstance(a, bool) and isinstance(b, bool):
        return "" if a is b else f"Booleans mismatch: {a} is not {b}"
    both_numbers = is_number(a)
    x, y = (t if isinstance(t, Tensor) else as_tensor(np.float64(t) if type(t) is float else t) for t in (a, b))
    if not both_numbers:
        if x.shape != y.shape:
            return f"The values for attribute 'shape' do not match: {x.shape} != {y.shape}."
        if check_dtype and x.dtype != y.dtype:
            return f"The values for attribute 'dtype' do not match: {x.dtype} != {y.dtype}."
        if check_stride and x.stride() != y.stride():
            return f"The values for attribute 'stride()' do not match: {x.stride()} != {y.stride()}."
    if rtol is None or atol is None:
        chosen = [TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (x, y)]
        rtol, atol = max(r for r, _ in chosen), max(t for _, t in chosen)
    return compared(x.numbers(), y.numbers(), rtol, atol, equal_nan)


def compared(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> str:
    """PyTorch's report on entries that differ; empty if none does."""
    exact = all(v.dtype not in dtypes.INEXACT for v in (x, y))
    wide = np.int64 if exact else x.dtype if x.dtype == y.dtype else np.result_type(x, y, np.float64)
    x, y = (v.astype(wide) for v in (x, y))
    with np.errstate(all="ignore"):
        off = np.abs(x - y)
        close = (x == y) | (off <= atol + rtol * np.abs(y)) & np.isfinite(y)
        if equal_nan:
            close |= np.isnan(x) & np.isnan(y)
        ratio = np.where(close, 0, np.where(off == 0, 0, off / np.abs(y)))
        off = np.where(close, 0, off)
        ratio = ratio.astype(np.float32) if exact else ratio
    if close.all():
        return ""
    kind = "Tensor-likes" if close.ndim else "Scalars"
    equal = not rtol and not atol
    allowed = ("", "") if equal else (f" (up to {atol:.10g} allowed)", f" (up to {rtol:.10g} allowed)")
    what = f"{kind} are not {'equal' if equal else 'close'}!\n\n"
    if not close.ndim:
        return (
            f"{what}Expected {y.item()} but got {x.item()}.\n"
            f"Absolute difference: {off.item()}{allowed[0]}\nRelative difference: {ratio.item()}{allowed[1]}"
        )
    wrong = int((~close).sum())
    lines = [f"{what}Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"]
    for name, values, limit in (("absolute", off, allowed[0]), ("relative", ratio, allowed[1])):
        worst = int(np.argmax(np.where(np.isnan(values), math.inf, values)))
        at = tuple(int(i) for i in np.unravel_index(worst, values.shape))
        where = f" at index {at}" if at else ""
        lines.append(f"Greatest {name} difference: {values.reshape(-1)[worst].item()}{where}{limit}")
    return "\n".join(lines)


def make_tensor(
    *shape: Any, dtype: Any, device: Any = "cpu", low: float | None = None, high: float | None = None, requires_grad: bool = False,
    noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of random numbers for a test: uniform over [low, high), by default over [-9, 9) (from 0 for uint8, 0 and 1 for bool).

    noncontiguous: with gaps in memory. exclude_zero: no entry is 0. Raises ValueError for an empty range.

    >>> make_tensor(2, 3, dtype=dtypes.int64, low=5, high=6).tolist()
    [[5, 5, 5], [5, 5, 5]]
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    d = dtypes.to_numpy(dtype)
    bottom: float
    top: float
    bottom, top = (0, 2) if d.kind == "b" else (0, 10) if d.kind == "u" else (-9, 10 if d.kind == "i" else 9)
    bottom, top = bottom if low is None else max(low, 0 if d.kind in "ub" else low), top if high is None else high
    if bottom >= top:
        raise ValueError(f"`low` must be less than `high`, but got {bottom} >= {top}")
    sizes = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    numbers = rand(sizes, dtype=dtypes.float64).numpy() * (top - bottom) + bottom
    numbers = (np.floor(numbers) if d.kind in "biu" else numbers).astype(d)
    if exclude_zero:
        numbers = np.where(numbers == 0, np.ones((), d) if d.kind in "biu" else np.finfo(np.float16).tiny, numbers).astype(d)
    if noncontiguous and shape:
        numbers = numbers[..., ::2]
    made: Tensor = new_tensor(numbers)
    return made.requires_grad_() if requires_grad else made
