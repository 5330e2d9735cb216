"""Long formulas over large arrays, a block at a time: what is computed on the way stays in the cache, and no memory is asked for it.

Going through a million numbers takes as long as their way through memory, whatever is computed on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BLOCK = 1 << 15  # entries: a few intermediate results of a block fit into the cache beside each other
clip = getattr(np._core.umath, "clip", np.clip)  # type: ignore[attr-defined]  # what np.clip calls, without its wrapper


def in_blocks(into: Callable[..., Any], *args: Any, out: Array) -> Array:
    """Call into(*args, out) for one block of `out`, and of the arrays that go along with it, after the other; `out`."""
    if out.size <= BLOCK:
        into(*args, out)
        return out
    flat, *parts = (a.ravel("K") if type(a) is np.ndarray else a for a in (out, *args))
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        into(*[a[block] if type(a) is np.ndarray else a for a in parts], flat[block])
    return out


def goes_along(value: Any, array: Array) -> bool:
    """Whether a value can be looked at entry by entry along with an array, and keeps its dtype: an array laid out like it, or a number."""
    if type(value) is not np.ndarray:
        return type(value) in (int, float, bool, type(None))
    rows = array.flags.c_contiguous or not any(array.strides)  # or one number, in the shape of many
    alike = value.flags.c_contiguous if rows else value.strides == array.strides
    return alike and value.shape == array.shape and (value.dtype is array.dtype or value.dtype.kind == "b")


def horner(coefficients: Any, x: Array, out: Array) -> None:
    """c0 + c1 x + c2 x**2 + ... in the memory of `out`: by Horner's scheme, the last coefficient first."""
    np.multiply(x, coefficients[-1], out)
    for c in coefficients[-2:0:-1]:
        out += c
        out *= x
    out += coefficients[0]
