"""PyTorch's `torch.fft`: discrete Fourier transforms, with gradients.

The names say what goes in and out. `fft` and `ifft` take complex numbers, and real ones as such. `rfft` takes real numbers and gives the
half of their spectrum that says all (the other half are conjugates), `irfft` goes back; `hfft` and `ihfft` are the same with the roles
of signal and spectrum exchanged. A 2 behind the name transforms the last two dims, an n any number of dims.

>>> import autolab as torch
>>> torch.fft.fft(torch.tensor([1., 0., -1., 0.]))
tensor([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import TABLE, Tensor
from autolab.rules import fourier as rows
from autolab.torch_api.creation import _floating, finish
from autolab.torch_api.dims import axes_of, require_tensor, whole
from autolab.torch_api.out import with_out
from autolab.torch_api.public import entitle
from autolab.torch_api.shape import roll

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Sizes = Sequence[int] | None
LAST_TWO = (-2, -1)


# -- arguments --------------------------------------------------------------------------------------------


def complex_input(input: Any, name: str) -> Tensor:
    """The input in a complex dtype. Raises RuntimeError for 16-bit floats."""
    x = require_tensor(input, name)
    wanted = dtypes.complex_of(dtypes.default.floating if x.payload.dtype not in dtypes.INEXACT else wide(x))
    return x if x.payload.dtype == wanted else x.to(dtypes.of(wanted))


def real_input(input: Any, name: str) -> Tensor:
    """The input in a floating dtype. Raises RuntimeError for complex numbers and 16-bit floats."""
    x = require_tensor(input, name)
    if x.payload.dtype in dtypes.COMPLEX:
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype.title}. Take x.real, or transform with fft.")
    return x.to(dtypes.of(dtypes.default.floating)) if wide(x) not in dtypes.FLOATING else x


def wide(x: Tensor) -> np.dtype[Any]:
    d: np.dtype[Any] = x.payload.dtype
    if d in dtypes.NARROW:
        raise RuntimeError(f"Unsupported dtype {x.dtype.title}. Transform x.float().")
    return d


def norm_of(norm: Any) -> str:
    """The name of a norm. Raises RuntimeError for another."""
    if norm is None:
        return "backward"
    if norm not in rows.OTHER:
        raise RuntimeError(f'Invalid normalization mode: "{norm}". It is "backward", "ortho" or "forward".')
    return str(norm)


def axis_of(dim: Any, x: Tensor) -> int:
    axes = axes_of(whole(dim, "argument 'dim'"), x.ndim)
    if axes is None:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axes[0]


def sizes_and_axes(x: Tensor, s: Sizes, dim: Any, name: str) -> tuple[list[int], tuple[int, ...]]:
    """How many points to transform along which axes. Raises RuntimeError for sizes that do not fit."""
    s = None if s is None else [whole(n, f"{name}(): argument 's'") for n in ([s] if isinstance(s, int) else s)]
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        axes = tuple(axis_of(d, x) for d in dim)
        if len(set(axes)) < len(axes):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(axes):
            raise RuntimeError(f"When given, dim and shape arguments must have the same length: {len(axes)} dims, {len(s)} sizes")
    else:
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        axes = tuple(range(-(x.ndim if s is None else len(s)), 0))
    return [x.shape[a] if s is None or s[k] == -1 else s[k] for k, a in enumerate(axes)], axes


def resized(x: Tensor, axis: int, n: int) -> Any:
    """x with n points along an axis: cut off, or with zeros behind. Raises RuntimeError for fewer than one."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    have = x.shape[axis]
    key = (..., slice(0, min(n, have)), *(slice(None),) * (-axis - 1))
    if n < have:
        return apply(TABLE["slice"], (x,), {"key": key})
    shape = list(x.shape)
    shape[axis] = n
    return x if n == have else apply(TABLE["place"], (x,), {"key": key, "shape": tuple(shape)})


def all_resized(x: Any, sizes: Sequence[int], axes: tuple[int, ...]) -> Any:
    for n, axis in zip(sizes, axes):
        x = resized(x, axis, n)
    return x


def transform(row: Any, x: Any, axes: tuple[int, ...], norm: str) -> Any:
    return apply(row, (x,), {"axes": axes, "norm": norm}) if axes else x


# -- of one dim --------------------------------------------------------------------------------------------


def _fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _along(rows.fft, "fft", input, n, dim, norm)


def _ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _along(rows.ifft, "ifft", input, n, dim, norm)


def _along(row: Any, name: str, input: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    x = complex_input(input, name)
    axis = axis_of(dim, x)
    return transform(row, resized(x, axis, x.shape[axis] if n is None else n), (axis,), norm_of(norm))


def _rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _half("rfft", input, n, dim, norm_of(norm))


def _ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _half("ihfft", input, n, dim, rows.OTHER[norm_of(norm)]).conj()


def _half(name: str, input: Tensor, n: int | None, dim: int, norm: str) -> Any:
    x = real_input(input, name)
    axis = axis_of(dim, x)
    return apply(rows.rfft, (resized(x, axis, x.shape[axis] if n is None else n),), {"axis": axis, "norm": norm})


def _irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _whole("irfft", input, n, dim, norm_of(norm))


def _hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return _whole("hfft", require_tensor(input, "hfft").conj(), n, dim, rows.OTHER[norm_of(norm)])


def _whole(name: str, input: Tensor, n: int | None, dim: int, norm: str) -> Any:
    x = complex_input(input, name)
    axis = axis_of(dim, x)
    n = 2 * (x.shape[axis] - 1) if n is None else n
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return apply(rows.irfft, (resized(x, axis, n // 2 + 1),), {"n": n, "axis": axis, "norm": norm})


# -- of several dims -----------------------------------------------------------------------------------------


def _fftn(input: Tensor, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Tensor:
    return _along_all(rows.fft, "fftn", input, s, dim, norm)


def _ifftn(input: Tensor, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Tensor:
    return _along_all(rows.ifft, "ifftn", input, s, dim, norm)


def _along_all(row: Any, name: str, input: Tensor, s: Sizes, dim: Any, norm: str | None) -> Any:
    x = complex_input(input, name)
    sizes, axes = sizes_and_axes(x, s, dim, name)
    return transform(row, all_resized(x, sizes, axes), axes, norm_of(norm))


def _rfftn(input: Tensor, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Tensor:
    return _half_of_all("rfftn", input, s, dim, norm_of(norm))


def _ihfftn(input: Tensor, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Tensor:
    return _half_of_all("ihfftn", input, s, dim, rows.OTHER[norm_of(norm)]).conj()


def _half_of_all(name: str, input: Tensor, s: Sizes, dim: Any, norm: str) -> Any:
    """Half of the spectrum along the last of the dims, all of it along the others."""
    x = real_input(input, name)
    sizes, axes = sizes_and_axes(x, s, dim, name)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    x = apply(rows.rfft, (all_resized(x, sizes, axes),), {"axis": axes[-1], "norm": norm})
    return transform(rows.fft, x, axes[:-1], norm)


def _irfftn(input: Tensor, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Tensor:
    return _whole_of_all("irfftn", input, s, dim, norm_of(norm))


def _hfftn(input: Tensor, s: Sizes = None, dim: Any = None, norm: str | None = None) -> Tensor:
    return _whole_of_all("hfftn", require_tensor(input, "hfftn").conj(), s, dim, rows.OTHER[norm_of(norm)])


def _whole_of_all(name: str, input: Tensor, s: Sizes, dim: Any, norm: str) -> Any:
    x = complex_input(input, name)
    sizes, axes = sizes_and_axes(x, s, dim, name)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    n = sizes[-1] if s is not None and list(s)[-1] != -1 else 2 * (x.shape[axes[-1]] - 1)
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    x = transform(rows.ifft, all_resized(x, [*sizes[:-1], n // 2 + 1], axes), axes[:-1], norm)
    return apply(rows.irfft, (x,), {"n": n, "axis": axes[-1], "norm": norm})


# -- the public names ----------------------------------------------------------------------------------------

NORMS = """norm: where the division by the number of points is: "backward" (in the inverse, the default), "ortho" (its root in both) or
    "forward"."""


def _public(function: Callable[..., Any], name: str, what: str, more: str, example: str) -> Any:
    doc = f"{what}\n\n    {more}\n    {NORMS}\n\n    >>> {example}\n    "
    return with_out(entitle(function, name, doc.replace("\n    ", "\n")))


ONE = "n: how many points to transform; more are cut off, and zeros take the place of what is missing."
ALL = "s: how many points to transform along each of the dims (default: all there are); dim: which (default: all, or the last len(s))."
OUT = "n: how many real numbers the result has (default: 2 * (points - 1), as from an even number)."

fft = _public(_fft, "fft", "The spectrum of a signal: the Fourier transform along dim.", ONE,
              "fft(tensor([1., 0., 0., 0.]))\n    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])")  # fmt: skip
ifft = _public(_ifft, "ifft", "The signal of a spectrum: the inverse of fft.", ONE,
               "ifft(tensor([4., 0., 0., 0.]))\n    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])")  # fmt: skip
rfft = _public(_rfft, "rfft", "Half of the spectrum of real numbers: n points give n // 2 + 1. Raises RuntimeError for complex input.",
               ONE, "rfft(tensor([1., 0., 0., 0.]))\n    tensor([1.+0.j, 1.+0.j, 1.+0.j])")  # fmt: skip
irfft = _public(_irfft, "irfft", "The real numbers that half a spectrum stands for: the inverse of rfft.", OUT,
                "irfft(rfft(tensor([1., 2., 3., 4.])))\n    tensor([1., 2., 3., 4.])")  # fmt: skip
hfft = _public(_hfft, "hfft", "The spectrum, which is real, of a signal whose second half are conjugates of the first.", OUT,
               "hfft(tensor([1., 0., 0.]))\n    tensor([1., 1., 1., 1.])")  # fmt: skip
ihfft = _public(_ihfft, "ihfft", "The first half of the signal that has a real spectrum: the inverse of hfft.", ONE,
                "ihfft(tensor([4., 4., 4., 4.])).abs()\n    tensor([4., 0., 0.])")  # fmt: skip
fftn = _public(
    _fftn, "fftn", "The Fourier transform along several dims.", ALL, "fftn(ones(2, 2)).abs()\n    tensor([[4., 0.],\n            [0., 0.]])"
)
ifftn = _public(_ifftn, "ifftn", "The inverse of fftn.", ALL, "ifftn(fftn(ones(2, 2))).real\n    tensor([[1., 1.],\n            [1., 1.]])")
rfftn = _public(_rfftn, "rfftn", "rfft along the last of several dims, then fft along the others.", ALL,
                "rfftn(ones(2, 4)).shape\n    torch.Size([2, 3])")  # fmt: skip
irfftn = _public(
    _irfftn,
    "irfftn",
    "The inverse of rfftn.",
    ALL,
    "irfftn(rfftn(ones(2, 4)))\n    tensor([[1., 1., 1., 1.],\n            [1., 1., 1., 1.]])",
)
hfftn = _public(_hfftn, "hfftn", "fft along several dims of a signal whose second half are conjugates along the last: real numbers.", ALL,
                "hfftn(ones(2, 3)).shape\n    torch.Size([2, 4])")  # fmt: skip
ihfftn = _public(_ihfftn, "ihfftn", "The inverse of hfftn.", ALL, "ihfftn(ones(2, 4)).shape\n    torch.Size([2, 3])")


def _of_two(function: Callable[..., Any], name: str, example: str) -> Any:
    def of_two(input: Tensor, s: Sizes = None, dim: Any = LAST_TWO, norm: str | None = None) -> Any:
        return function(input, s, dim, norm)

    return _public(of_two, name, f"`{name[:-1]}n` along the last two dims.", ALL, example)


fft2 = _of_two(_fftn, "fft2", "fft2(ones(2, 2)).abs()\n    tensor([[4., 0.],\n            [0., 0.]])")
ifft2 = _of_two(_ifftn, "ifft2", "ifft2(fft2(ones(2, 2))).real\n    tensor([[1., 1.],\n            [1., 1.]])")
rfft2 = _of_two(_rfftn, "rfft2", "rfft2(ones(3, 2, 4)).shape\n    torch.Size([3, 2, 3])")
irfft2 = _of_two(_irfftn, "irfft2", "irfft2(ones(3, 2, 3)).shape\n    torch.Size([3, 2, 4])")
hfft2 = _of_two(_hfftn, "hfft2", "hfft2(ones(3, 2, 3)).shape\n    torch.Size([3, 2, 4])")
ihfft2 = _of_two(_ihfftn, "ihfft2", "ihfft2(ones(3, 2, 4)).shape\n    torch.Size([3, 2, 3])")


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies of what fft gives, in cycles per unit of d, the time from one point to the next.

    >>> fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return finish(np.fft.fftfreq(n, d).astype(_floating(dtype)), requires_grad, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies of what rfft of n points gives: none is negative.

    >>> rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return finish(np.fft.rfftfreq(n, d).astype(_floating(dtype)), requires_grad, device)


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The frequencies in order, from the lowest to the highest, along dim (default: all dims).

    >>> fftshift(fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted(input, dim, "fftshift", lambda n: n // 2)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of fftshift.

    >>> ifftshift(fftshift(tensor([1, 2, 3])))
    tensor([1, 2, 3])
    """
    return _shifted(input, dim, "ifftshift", lambda n: (n + 1) // 2)


def _shifted(input: Tensor, dim: Any, name: str, by: Callable[[int], int]) -> Any:
    x = require_tensor(input, name)
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return roll(x, tuple(by(x.shape[d]) for d in dims), dims) if dims else x
