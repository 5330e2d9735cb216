"""Reductions and normalizations of some of the entries: `torch.masked`.

`mask` says which entries count (True) and which do not; it is broadcast to the input. What is masked out is replaced by the number that
changes nothing, 0 in a sum, -inf under a maximum, so that values and gradients are those of the ordinary function without them. Where
nothing is left, the result is that number, or nan where there is none (`mean`, `median`, `var`, `std`, `softmax`).

There are no masked tensors (`MaskedTensor`), which PyTorch calls a prototype: give the mask as an argument.
"""

from __future__ import annotations

import math
from typing import Any

import autolab as torch
from autolab.engine.tensor import Tensor

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

Dims = int | tuple[int, ...] | None


def _mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the shape of the input."""
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): "
            f"the mask has shape {list(mask.shape)}, the input {list(input.shape)}"
        )
    return mask.bool().expand(input.shape)


def _filled(input: Tensor, mask: Tensor | None, number: float) -> Tensor:
    """The input with a number in the place of what is masked out. Of an integer type, infinity is its largest number."""
    if mask is None:
        return input
    if math.isinf(number) and not (input.is_floating_point() or input.is_complex()):
        limits = torch.iinfo(input.dtype)
        number = limits.max if number > 0 else limits.min
    return torch.where(_mask_of(input, mask), input, torch.tensor(number, dtype=input.dtype))


def _dims(dim: Dims, input: Tensor) -> tuple[int, ...]:
    """All dims for None, and for an empty tuple as well."""
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _summed_as(input: Tensor, dtype: Any) -> Any:
    return dtype or (input.dtype if input.is_floating_point() or input.is_complex() else torch.int64)


def sum(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The sum of the entries that count; 0 where there are none.

    Shapes: input of any shape, to which mask broadcasts; result without dim(s), or with length 1 there if keepdim. dim: int, tuple of ints,
    or None for all.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.masked.sum(x, 1, mask=x > 1)
    tensor([2., 7.])
    """
    return torch.sum(_filled(input, mask, 0), _dims(dim, input), keepdim, dtype=_summed_as(input, dtype))


def prod(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The product of the entries that count; 1 where there are none. Shapes as in `sum`.

    >>> torch.masked.prod(tensor([2.0, 3.0, 4.0]), mask=tensor([True, False, True]))
    tensor(8.)
    """
    result = _filled(input, mask, 1).to(_summed_as(input, dtype))
    for one in sorted((d % max(input.ndim, 1) for d in _dims(dim, input)), reverse=True):
        result = torch.prod(result, one, keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums along a dim of the entries that count, in the shape of the input.

    >>> torch.masked.cumsum(tensor([2.0, 3.0, 4.0]), 0, mask=tensor([True, False, True]))
    tensor([2., 2., 6.])
    """
    return torch.cumsum(_filled(input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products along a dim of the entries that count, in the shape of the input.

    >>> torch.masked.cumprod(tensor([2.0, 3.0, 4.0]), 0, mask=tensor([True, False, True]))
    tensor([2., 2., 8.])
    """
    return torch.cumprod(_filled(input, mask, 1), dim, dtype=dtype or input.dtype)


def amax(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The largest of the entries that count; -inf (of integers the smallest there is) where there are none. Shapes as in `sum`.

    >>> torch.masked.amax(tensor([2.0, 3.0, 4.0]), mask=tensor([True, True, False]))
    tensor(3.)
    """
    return torch.amax(_filled(input, mask, -math.inf), _dims(dim, input), keepdim).to(dtype or input.dtype)


def amin(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The smallest of the entries that count; inf (of integers the largest there is) where there are none. Shapes as in `sum`.

    >>> torch.masked.amin(tensor([2.0, 3.0, 4.0]), mask=tensor([False, True, True]))
    tensor(3.)
    """
    return torch.amin(_filled(input, mask, math.inf), _dims(dim, input), keepdim).to(dtype or input.dtype)


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Where the largest entry that counts is. As in PyTorch the index has the dtype of the input unless `dtype` is given.

    >>> torch.masked.argmax(tensor([2.0, 3.0, 4.0]), mask=tensor([True, True, False]), dtype=torch.int64)
    tensor(1)
    """
    return torch.argmax(_filled(input, mask, -math.inf), dim, keepdim).to(dtype or input.dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Where the smallest entry that counts is. As in PyTorch the index has the dtype of the input unless `dtype` is given.

    >>> torch.masked.argmin(tensor([2.0, 3.0, 4.0]), mask=tensor([False, True, True]), dtype=torch.int64)
    tensor(1)
    """
    return torch.argmin(_filled(input, mask, math.inf), dim, keepdim).to(dtype or input.dtype)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many entries count."""
    every = torch.ones(input.shape, dtype=torch.bool) if mask is None else _mask_of(input, mask)
    return torch.sum(every, _dims(dim, input), keepdim)


def mean(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The mean of the entries that count; nan where there are none. Shapes as in `sum`.

    Raises ValueError for integers without a floating `dtype`.

    >>> torch.masked.mean(tensor([2.0, 3.0, 4.0]), mask=tensor([True, False, True]))
    tensor(3.)
    """
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        whose = "Optional" if dtype else "Input"
        raise ValueError(
            f"mean(): Could not infer output dtype. {whose} dtype must be either a floating point or complex dtype. Got: {wanted}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask) / _count(input, dim, keepdim, mask)


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The median (the lower of two) of the entries that count; nan where there are none, for which integers raise ValueError.

    >>> torch.masked.median(tensor([2.0, 3.0, 4.0]), mask=tensor([False, True, True]))
    tensor(3.)
    """
    exact = input.is_floating_point()
    found = torch.nanmedian(_filled(input if exact else input.float(), mask, math.nan), dim, keepdim).values
    if exact:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """log(sum(exp(input))) over the entries that count; -inf where there are none. Shapes as in `sum`.

    >>> torch.masked.logsumexp(tensor([0.0, 0.0, 5.0]), 0, mask=tensor([True, True, False]))
    tensor(0.6931)
    """
    return torch.logsumexp(_filled(input, mask, -math.inf), _dims(dim, input), keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """log(exp(input) + exp(other)), entry by entry, without what is masked out of either.

    Shapes: input and other broadcast to the result.

    >>> torch.masked.logaddexp(tensor([0.0, 0.0]), tensor([0.0, 0.0]), other_mask=tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    return torch.logaddexp(_filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf)).to(dtype or input.dtype)


def norm(
    input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The vector norm of the entries that count; 0 where there are none, and inf for ord=-inf. Shapes as in `sum`.

    >>> torch.masked.norm(tensor([3.0, 4.0, 5.0]), mask=tensor([True, True, False]))
    tensor(5.)
    """
    number = math.inf if ord == -math.inf else 0
    return torch.linalg.vector_norm(_filled(input, mask, number), ord, _dims(dim, input), keepdim, dtype=dtype or input.dtype)


def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of the entries that count: squared deviations over their number less `correction` (1 by default). Shapes as in `sum`.

    >>> torch.masked.var(tensor([2.0, 3.0, 4.0]), mask=tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    inexact = input.is_floating_point() or input.is_complex()
    wanted = dtype or (input.dtype if inexact else torch.float32)
    computed = wanted if wanted.is_floating_point or wanted.is_complex else torch.float32
    away = input - sum(input, dim, keepdim=True, dtype=wanted, mask=mask) / _count(input, dim, True, mask)
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    count = _count(input, dim, keepdim, mask).to(computed.to_real())
    return (total / torch.clamp(count - correction, min=0)).to(wanted)


def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of the entries that count: the root of `var`. Shapes as in `sum`.

    >>> torch.masked.std(tensor([2.0, 3.0, 4.0]), correction=0, mask=tensor([True, False, True]))
    tensor(1.)
    """
    return torch.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax over the entries that count; 0 for the others, nan where none counts. The result has the shape of the input.

    >>> torch.masked.softmax(tensor([1.0, 1.0, 5.0]), 0, mask=tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return torch.softmax(_filled(input, mask, -math.inf), dim, dtype=dtype or input.dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`: -inf for the entries that do not count.

    >>> torch.masked.log_softmax(tensor([1.0, 1.0, 5.0]), 0, mask=tensor([True, True, False]))
    tensor([-0.6931, -0.6931,    -inf])
    """
    return torch.log_softmax(_filled(input, mask, -math.inf), dim, dtype=dtype or input.dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax(-input) over the entries that count; 0 for the others. The result has the shape of the input.

    >>> torch.masked.softmin(tensor([1.0, 1.0, 0.0]), 0, mask=tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return torch.softmax(-_filled(input, mask, math.inf), dim, dtype=dtype or input.dtype)


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The input over the norm along dim of the entries that count (at least eps); 0 for the others.

    >>> torch.masked.normalize(tensor([3.0, 4.0, 5.0]), 2.0, 0, mask=tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / torch.maximum(length, torch.tensor(eps, dtype=length.dtype))
