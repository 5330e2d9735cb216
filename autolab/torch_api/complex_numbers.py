"""PyTorch's functions about complex numbers. Conjugates are computed at once: no tensor is stored conjugated or negated."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import complex_numbers as rows
from autolab.rules import index
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.public import declare, example_of, public

NONE: dict[str, Any] = {}
to_complex = rows.to_complex  # the row of `to` for a complex dtype


def _itself(name: str, doc: str) -> Any:
    def function(input: Tensor) -> Tensor:
        return require_tensor(input, name)

    return declare(function, name, f"{doc}{example_of(name, '[1.+2.j] -> [1.+2.j]')}", method=True)


resolve_conj = _itself("resolve_conj", "The input itself: conjugates are computed at once, so there is none to resolve.")
resolve_neg = _itself("resolve_neg", "The input itself: nothing here is stored negated.")


def holds_complex(t: Tensor) -> bool:
    return t.payload.dtype in dtypes.COMPLEX


@public()
def real(input: Tensor) -> Tensor:
    """The real parts, in the memory of the input: writing into them writes into it. Of a real tensor itself.

    >>> real(tensor([1+2j, 3-1j]))
    tensor([1., 3.])
    """
    if not holds_complex(require_tensor(input, "real")):
        return input
    return apply(index.select, (view_as_real(input),), {"key": (..., 0)})


@public()
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, in the memory of the input. Raises RuntimeError for a real tensor, which has none.

    >>> imag(tensor([1+2j, 3-1j]))
    tensor([ 2., -1.])
    """
    if not holds_complex(require_tensor(input, "imag")):
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes. This one is {input.dtype}.")
    return apply(index.select, (view_as_real(input),), {"key": (..., 1)})


@public()
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, in the same memory: shape (...) gives (..., 2). Raises RuntimeError for a real tensor.

    >>> view_as_real(tensor([1+2j]))
    tensor([[1., 2.]])
    """
    if not holds_complex(require_tensor(input, "view_as_real")):
        raise RuntimeError(f"view_as_real is only supported for complex tensors; this one is {input.dtype}.")
    return rows.view_as_real.run(input)


@public()
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of float32 or float64 as complex numbers, in the same memory: shape (..., 2) gives (...).

    Raises RuntimeError for other dtypes, a last dim that is not 2, and pairs that do not lie together.

    >>> view_as_complex(tensor([[1., 2.]]))
    tensor([1.+2.j])
    """
    x = require_tensor(input, "view_as_complex").payload
    if x.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {input.dtype.title}"
        )
    if not x.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if x.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2; this one has shape {list(x.shape)}")
    strides = [s // x.itemsize for s in x.strides]
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1. Call .contiguous() first.")
    if any(s % 2 for s, n in zip(strides[:-1], x.shape) if n > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension. Call .contiguous() first.")
    return rows.view_as_complex.run(input)


def _pair(name: str, a: Any, b: Any, first: str, second: str) -> None:
    """Raise for what are not two real tensors of one dtype."""
    for position, (t, argument) in enumerate(((a, first), (b, second)), 1):
        if require_tensor(t, name, argument, position).payload.dtype not in (np.float32, np.float64):
            raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {a.dtype.title} and {_title(b)}")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {a.dtype.title} but got scalar type {b.dtype.title} for second argument. Convert one of them."
        )


def _title(t: Any) -> str:
    return t.dtype.title if isinstance(t, Tensor) else type(t).__name__


@public(out=True)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex numbers with these real and imaginary parts, which broadcast. Raises RuntimeError unless both are of one float dtype.

    >>> complex(tensor([1., 2.]), tensor([0., -1.]))
    tensor([1.+0.j, 2.-1.j])
    """
    _pair("complex", real, imag, "real", "imag")
    return rows.complex_.run(real, imag)


@public(out=True)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex numbers of these absolute values and angles (in radians). Raises RuntimeError unless both are of one float dtype.

    >>> polar(tensor([2.]), tensor([0.]))
    tensor([2.+0.j])
    """
    _pair("polar", abs, angle, "abs", "angle")
    return rows.polar.run(abs, angle)


@public(method=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugates, as a new tensor; of a real tensor itself.

    >>> conj(tensor([1+2j]))
    tensor([1.-2.j])
    """
    return rows.conj.run(input) if holds_complex(require_tensor(input, "conj")) else input


@public(method=True, inplace=True, out=True)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugates; of a real tensor itself.

    >>> conj_physical(tensor([1+2j]))
    tensor([1.-2.j])
    """
    return rows.conj_physical.run(input) if holds_complex(require_tensor(input, "conj_physical")) else input


@public(method=True)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex64 or complex128.

    >>> is_complex(tensor([1j])), is_complex(tensor([1.]))
    (True, False)
    """
    return holds_complex(require_tensor(input, "is_complex"))


@public(method=True)
def is_conj(input: Tensor) -> bool:
    """False: nothing here is stored conjugated.

    >>> is_conj(tensor([1j]).conj())
    False
    """
    require_tensor(input, "is_conj")
    return False


@public(method=True)
def is_neg(input: Tensor) -> bool:
    """False: nothing here is stored negated.

    >>> is_neg(-tensor([1.]))
    False
    """
    require_tensor(input, "is_neg")
    return False


@public(method=True)
def isreal(input: Tensor) -> Tensor:
    """Where the imaginary part is 0: everywhere in a real tensor.

    >>> isreal(tensor([1+0j, 1j]))
    tensor([ True, False])
    """
    if is_complex(require_tensor(input, "isreal")):
        return imag(input) == 0
    return new_tensor(np.ones(input.payload.shape, bool)[()])


def must_hold_complex(t: Tensor, value: Any) -> None:
    """Raise RuntimeError for a tensor of real numbers, unless the value is one."""
    if t.payload.dtype not in dtypes.COMPLEX and value.imag != 0:
        raise RuntimeError(f"value cannot be converted to type {dtypes.c_name(t.dtype)} without overflow: {value} is complex")


def without_imaginary_part(t: Tensor) -> Any:
    """What becomes of complex numbers in a real dtype, with PyTorch's warning."""
    warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
    return apply(rows.real, (t,), NONE)


def write(part: Any, value: Any) -> None:
    """What is written into a part: a tensor that broadcasts, or a number."""
    if isinstance(value, Tensor):
        part.copy_(value)
    else:
        part.fill_(value)


def set_real(self: Tensor, value: Any) -> None:
    write(real(self), value)


def set_imag(self: Tensor, value: Any) -> None:
    write(imag(self), value)
