"""What stands around the edges: pad, and its modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import index as index_rows
from autolab.rules import padding as rows
from autolab.torch_api.dims import BOOLS, refuse


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The input with more entries at its edges.

    pad: two numbers for the last dim, (before, after), then two for the one before it, and so on; a negative one cuts.
    mode: "constant" (`value`, default 0), "reflect" (mirrored at the edge entry), "replicate" (the edge entry again), "circular"
    (from the other side); the last three for the last 1, 2 or 3 dims. Raises RuntimeError or NotImplementedError otherwise.

    >>> pad(tensor([[1., 2., 3.]]), (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
    >>> pad(tensor([[1., 2., 3.]]), (1, -1, 0, 1))  # the last dim first: 1 before it, 1 less behind; a row below
    tensor([[0., 1., 2.],
            [0., 0., 0.]])
    """
    pad = [int(p) for p in pad]
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got {len(pad)} numbers")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} and input of "
            f"dimension {input.ndim}"
        )
    if mode == "constant":
        return constant(input, pad, 0 if value is None else value if isinstance(value, complex) else float(value))
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value not in (None, 0):
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor. Two numbers for each of the last one, two or three "
            f"dims, of a tensor with one or two more dims than that; got {list(pad)}."
        )
    if mode != "circular":
        refuse(input, f"{'reflection' if mode == 'reflect' else 'replication'}_pad{dims}d", BOOLS)
    out = input
    for k in range(dims):
        before, after = pad[2 * k : 2 * k + 2]
        if before or after:
            out = _along(out, -1 - k, before, after, mode, input, pad)
    return out if any(pad) else input.clone()


def constant(input: Tensor, pad: Sequence[int], value: Any) -> Tensor:
    """Cut where pad is negative, then one number around it."""
    widths = [(pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)]
    for k, (before, after) in enumerate(widths):
        n = input.shape[-1 - k]
        if n + before + after < 0:
            d = input.ndim - 1 - k
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative output size, which is invalid. "
                f"Check dimension {d} of your input."
            )
    value = dtypes.fitting(value, input.payload.dtype)
    return apply(rows.pad, (input,), {"widths": tuple(reversed(widths)), "value": value})


def _along(x: Tensor, axis: int, before: int, after: int, mode: str, input: Tensor, pad: Sequence[int]) -> Tensor:
    """Padded along one axis with entries of its own: an index says which."""
    if mode == "circular" and min(before, after) < 0:  # what is cut away does not come back from the other side
        widths = ((min(before, 0), min(after, 0)), *((0, 0),) * (-1 - axis))
        x = apply(rows.pad, (x,), {"widths": widths, "value": 0})
        before, after = max(before, 0), max(after, 0)
    n = x.shape[axis]
    places = np.arange(-before, n + after)
    if mode == "replicate":
        index = np.clip(places, 0, n - 1)
        if n == 0:
            raise RuntimeError(f"Expected non-zero size for input dimensions to be padded, but got {list(input.shape)}")
    elif mode == "circular":
        if before > n or after > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before + after + n < 0 or not n:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        index = places % n
    else:
        if before >= n or after >= n:
            d = axis % x.ndim
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {d} of input {list(input.shape)}"
            )
        index = n - 1 - np.abs(n - 1 - np.abs(places)) if n > 1 else np.zeros_like(places)
    return apply(index_rows.index_select, (x, new_tensor(index)), {"axis": axis})
