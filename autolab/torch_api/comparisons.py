"""Whether tensors are equal, near, infinite, of floating point: answers for a whole tensor, or entry by entry."""

from __future__ import annotations

import builtins
import math

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.pointwise import abs, bitwise_and, bitwise_or, eq, isfinite, le, ne
from autolab.torch_api.public import public
from autolab.transforms.boxes import in_vmap


@public(method=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere. Raises RuntimeError for different dtypes.

    >>> allclose(tensor([1., 2.]), tensor([1. + 1e-7, 2.])), allclose(tensor([nan]), tensor([nan]))
    (True, False)
    """
    require_tensor(input, "allclose")
    require_tensor(other, "allclose", "other", 2)
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    wide = np.complex128 if input.payload.dtype in dtypes.COMPLEX else np.float64
    a, b = (np.asarray(t.payload, wide) for t in (input, other))
    return builtins.bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


@public(method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same entries, as one bool. Entry by entry it is `eq`.

    >>> equal(tensor([1, 2]), tensor([1, 2]))
    True
    """
    require_tensor(input, "equal")
    require_tensor(other, "equal", "other", 2)
    if in_vmap(input) or in_vmap(other):
        raise RuntimeError("Batching rule not implemented for aten::equal: it answers for all samples at once. Use (a == b).all().")
    return input.shape == other.shape and builtins.bool(np.all(np.equal(input.payload, other.payload)))


@public(method=True)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is one of floating point.

    >>> is_floating_point(tensor(1.)), is_floating_point(tensor(1))
    (True, False)
    """
    return require_tensor(input, "is_floating_point").payload.dtype in dtypes.FLOATING


@public(method=True)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one entry is not zero. Raises RuntimeError for more entries or none.

    >>> is_nonzero(tensor([2.])), is_nonzero(tensor(False))
    (True, False)
    """
    return builtins.bool(require_tensor(input, "is_nonzero"))


@public(method=True, out=True)
def isposinf(input: Tensor) -> Tensor:
    """Whether an entry is inf.

    A bool for each entry.

    >>> isposinf(tensor([inf, -inf]))
    tensor([ True, False])
    """
    return require_tensor(input, "isposinf") == math.inf


@public(method=True, out=True)
def isneginf(input: Tensor) -> Tensor:
    """Whether an entry is -inf. A bool for each entry.

    >>> isneginf(tensor([inf, -inf]))
    tensor([False,  True])
    """
    return require_tensor(input, "isneginf") == -math.inf


@public(method=True)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, entry by entry; equal infinities are close.

    Raises RuntimeError for different dtypes, and for a negative tolerance.

    >>> isclose(tensor([1., 2.]), tensor([1. + 1e-7, 2.1]))
    tensor([ True, False])
    """
    require_tensor(input, "isclose")
    require_tensor(other, "isclose", "other", 2)
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    a, b = input.detach(), other.detach()
    close = eq(a, b)
    if equal_nan:
        close = bitwise_or(close, bitwise_and(ne(a, a), ne(b, b)))
    if a.payload.dtype == np.bool_:
        return close
    if a.payload.dtype not in dtypes.INEXACT:
        a, b = a.to(dtypes.float64), b.to(dtypes.float64)
    apart = abs(a - b)
    return bitwise_or(close, bitwise_and(isfinite(apart), le(apart, abs(b * rtol) + atol)))
