"""Pooling: one number out of each window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.common import several
from autolab.rules import index as index_rows
from autolab.rules import pool as rows
from autolab.rules import reduce, resize
from autolab.torch_api import pointwise
from autolab.torch_api.dims import BOOLS, INTEGERS, SHORT_INTEGERS, refuse
from autolab.torch_api.generator import generator

LETTERS = {1: "L", 2: "H, W", 3: "D, H, W"}

# For examples: 0, 1, 2, ... in (1, 4, ...), and the largest of each window of length 2.
COUNTED = {1: "arange(4.).reshape(1, 4)", 2: "arange(16.).reshape(1, 4, 4)", 3: "arange(64.).reshape(1, 4, 4, 4)"}
LARGEST = {1: "1., 3.", 2: " 5.,  7., 13., 15.", 3: "21., 23., 29., 31., 53., 55., 61., 63."}


# The kernels that compute pools in PyTorch, and the dtypes that they do not take.
KERNELS = {
    "max_pool1d": ("max_pool1d_impl", BOOLS), "max_pool2d": ("max_pool2d", BOOLS), "max_pool3d": ("max_pool3d", BOOLS),
    "avg_pool1d": ("avg_pool2d", SHORT_INTEGERS), "avg_pool2d": ("avg_pool2d", SHORT_INTEGERS),
    "avg_pool3d": ("avg_pool3d_out_frame", SHORT_INTEGERS),
    "adaptive_avg_pool1d": ("adaptive_avg_pool2d", INTEGERS), "adaptive_avg_pool2d": ("adaptive_avg_pool2d", INTEGERS),
    "adaptive_avg_pool3d": ("adaptive_avg_pool3d_cpu", INTEGERS),
    "adaptive_max_pool1d": ("adaptive_max_pool2d", INTEGERS), "adaptive_max_pool2d": ("adaptive_max_pool2d", INTEGERS),
    "adaptive_max_pool3d": ("adaptive_max_pool3d_cpu", INTEGERS),
}  # fmt: skip


def _windows(
    function: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, ...]:
    """kernel, stride, padding, dilation and the number of windows for each of n dims. Raises PyTorch's errors."""
    kernel = _each(function, "kernel_size", kernel_size, n)
    stride = kernel if stride is None or stride == () or stride == [] else _each(function, "stride", stride, n)
    padding, dilation = _each(function, "padding", padding, n), _each(function, "dilation", dilation, n)
    for name, values in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            if n > 1 and name == "stride":
                raise RuntimeError(f"stride should not be zero: {function}() got stride={list(values)}")
            raise RuntimeError(f"{function}() {name} must be greater than zero, but got {min(values)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    if n > 1 and function.startswith("max") and input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input; {function}() got {list(input.shape)}")
    if input.ndim not in (n + 1, n + 2) or 0 in input.shape[1:] or (input.ndim == n + 1 and 0 in input.shape):
        raise RuntimeError(
            f"{function}(): Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input (non-empty "
            f"{n + 1}D or "
            f"{n + 2}D (batch mode) tensor expected for input). Expected input's non-batch dimensions to have positive length, but "
            "got input of "
            f"shape {list(input.shape)}"
        )
    kernel_name, refused = KERNELS[function]
    refuse(input, kernel_name, refused)
    size = tuple(_count(m, k, s, p, d, ceil_mode) for m, k, s, p, d in zip(input.shape[-n:], kernel, stride, padding, dilation))
    if any(m < 1 for m in size):
        if n == 1:
            raise RuntimeError(f"{function}() Invalid computed output size: {size[0]}")
        shape, made = ("x".join(map(str, input.shape[-n - 1 :])), "x".join(map(str, size)))
        raise RuntimeError(f"Given input size: ({shape}). Calculated output size: ({input.shape[-n - 1]}x{made}). Output size is too small")
    return kernel, stride, padding, dilation, size


def _each(function: str, name: str, value: Any, n: int) -> tuple[int, ...]:
    if isinstance(value, list | tuple) and len(value) not in (1, n):
        raise RuntimeError(f"{function}: {name} must either be a single int, or a tuple of {n} ints; got {list(value)}")
    return tuple(int(v) for v in several(value, n))


def _count(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    room = n + 2 * p - d * (k - 1) - 1
    if not ceil_mode:
        return room // s + 1
    size = -(-room // s) + 1
    return size - 1 if (size - 1) * s >= n + p else size  # the last window must begin inside


# -- the largest -----------------------------------------------------------------------------------


def _max_pool(n: int) -> Any:
    function = f"max_pool{n}d"

    def max_pool(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        kernel, stride, padding, dilation, size = _windows(function, n, input, kernel_size, stride, padding, dilation, ceil_mode)
        if not return_indices:
            settings = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "size": size}
            return apply(rows.max_pool, (input,), settings)
        windows = []
        for m, k, s, p, d, count in zip(input.shape[-n:], kernel, stride, padding, dilation, size):
            index = np.arange(count)[:, None] * s - p + np.arange(k) * d
            inside = (index >= 0) & (index < m)
            first = np.take_along_axis(index, np.argmax(inside, axis=1)[:, None], axis=1)
            windows.append(np.where(inside, index, first))
        return _picked(input, tuple(windows))

    def with_indices(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    max_pool.__name__ = max_pool.__qualname__ = function
    with_indices.__name__ = with_indices.__qualname__ = f"{function}_with_indices"
    max_pool.__doc__ = f"""The largest entry of each window. Shapes: (N, C, {LETTERS[n]}) or (C, {LETTERS[n]}), less of the last dims.

    stride: from window to window (default kernel_size); padding: this far the first window reaches over the edge; ceil_mode: a last
    window that is only partly filled counts; return_indices: also where the entries stood, for `max_unpool{n}d`.
    A tie goes to the first entry. Raises RuntimeError for windows that do not fit.

    >>> {function}({COUNTED[n]}, 2).flatten()
    tensor([{LARGEST[n]}])
    """
    with_indices.__doc__ = f"`{function}`, with the places of the entries: (values, indices)."
    return max_pool, with_indices


def _picked(input: Tensor, windows: Any) -> tuple[Tensor, Tensor]:
    """The largest entry of each window and its place."""
    index = apply(rows.window_argmax, (input.detach(),), {"windows": windows})
    return _at(input, index, len(windows)), index


def _at(input: Tensor, index: Any, n: int) -> Tensor:
    """The entries at places counted over the last n dims."""
    flat, places = (t.reshape(*t.shape[:-n], math.prod(t.shape[-n:])) for t in (input, index))
    return apply(index_rows.gather, (flat, places), {"axis": -1}).reshape(*index.shape)


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _max_unpool(n: int) -> Any:
    function = f"max_unpool{n}d"

    def max_unpool(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        refuse(input, f"max_unpool{max(n, 2)}d", INTEGERS)
        kernel = several(kernel_size, n)
        stride = kernel if stride is None else several(stride, n)
        default = [(m - 1) * s + k - 2 * p for m, k, s, p in zip(input.shape[-n:], kernel, stride, several(padding, n))]
        size = default if output_size is None else [int(m) for m in output_size][-n:]
        if len(size) != n:
            raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'")
        for d, (m, near, s) in enumerate(zip(size, default, stride)):
            if not near - s < m < near + s:
                raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {near - s} and {near + s})')
        if indices.dtype.name != "int64":
            raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.title}")
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(f"Input to {function} should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with dim {input.ndim}.")
        if input.shape != indices.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor with "
                f"shape: {list(indices.shape)}"
            )
        i = indices.all_numbers()
        if i.size and not (0 <= i.min() and i.max() < math.prod(size)):
            raise RuntimeError(f"Found an invalid max index: {int(i.max())} (output volumes are of size {'x'.join(map(str, size))})")
        lead = tuple(input.shape[:-n])
        flat, places = (t.reshape(*lead, -1) for t in (input, indices))
        out = apply(reduce.put_along_axis, (flat, places), {"shape": (*lead, math.prod(size)), "axis": -1})
        return out.reshape(*lead, *size)

    max_unpool.__name__ = max_unpool.__qualname__ = function
    max_unpool.__doc__ = f"""The entries of a pooled input where `max_pool{n}d(return_indices=True)` found them, zeros elsewhere.

    output_size: the lengths of the result's last dims, where several would pool to the same. Raises ValueError for an impossible one.

    >>> values, places = max_pool{n}d({COUNTED[n]}, 2, return_indices=True)
    >>> out = {function}(values, places, 2)
    >>> out.sum() == values.sum(), (out == 0).sum().item()  # the others are 0
    (tensor(True), {4**n - 2**n})
    """
    return max_unpool


max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))


# -- the mean --------------------------------------------------------------------------------------


def _average(function: str, n: int, input: Tensor, kernel: Any, stride: Any, padding: Any, ceil: bool, count: bool, divisor: Any) -> Any:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, stride, padding, _, size = _windows(function, n, input, kernel, stride, padding, 1, ceil)
    settings = {"kernel": kernel, "stride": stride, "padding": padding, "size": size, "count_padding": count, "divisor": divisor}
    return apply(rows.avg_pool, (input,), settings)


def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """The mean of each window. Shapes: (N, C, L) or (C, L). count_include_pad: zeros beyond the edge count as entries.

    >>> avg_pool1d(tensor([[2., 4., 6.]]), 2, stride=1)
    tensor([[3., 5.]])
    >>> avg_pool1d(tensor([[2., 4.]]), 2, padding=1)  # the zeros count: (0 + 2) / 2
    tensor([[1., 2.]])
    """
    return _average("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window; `divisor_override` instead of the number of entries. Shapes: (N, C, H, W) or (C, H, W).

    >>> avg_pool2d(tensor([[[1., 2., 3., 4.], [5., 6., 7., 8.]]]), 2)
    tensor([[[3.5000, 5.5000]]])
    """
    return _average("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window; `divisor_override` instead of the number of entries. Shapes: (N, C, D, H, W) or (C, D, H, W).

    >>> avg_pool3d(arange(8.).reshape(1, 2, 2, 2), 2).shape, avg_pool3d(arange(8.).reshape(1, 2, 2, 2), 2).item()
    (torch.Size([1, 1, 1, 1]), 3.5)
    """
    return _average("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _lp_pool(n: int) -> Any:
    averaged = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]

    def lp_pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        mean = averaged(input**norm_type, kernel_size, stride, 0, ceil_mode)
        total = pointwise.sign(mean) * pointwise.relu(pointwise.abs(mean)) * math.prod(several(kernel_size, n))
        return total ** (1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = f"lp_pool{n}d"
    lp_pool.__doc__ = f"""(sum of input**norm_type over each window)**(1 / norm_type). Shapes: (N, C, {LETTERS[n]}) or (C, {LETTERS[n]}).

    The gradient where a window's sum is 0 is not defined, and nan.

    >>> lp_pool{n}d({COUNTED[n]}, norm_type=1, kernel_size=4).item()  # 0 + 1 + ... + {4**n - 1}
    {4**n * (4**n - 1) / 2}
    """
    return lp_pool


lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))


# -- a given number of windows -----------------------------------------------------------------------


def _sizes(function: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    if isinstance(output_size, list | tuple) and len(output_size) not in (1, n):
        one = f"{function}(): argument 'output_size' should contain one int, but got {list(output_size)}"
        said = f"{function}(): internal error: " if "max" in function else f"{function}: output_size must be {n}: "
        raise RuntimeError(one if n == 1 else f"{said}{n} lengths expected, but got {list(output_size)}")
    if n > 1 and isinstance(output_size, list | tuple) and input.ndim < n + 1:
        raise ValueError(f"Input dimension should be at least {n + 1}: {function}() got {list(input.shape)}")
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{function}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(input.shape)}")
    if 0 in input.shape[1:]:
        at = list(input.shape).index(0, 1)
        raise RuntimeError(
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(input.shape)} with "
            f"dimension {at} being empty"
        )
    size = tuple(m if o is None else int(o) for o, m in zip(several(output_size, n), input.shape[-n:]))
    kernel_name, refused = KERNELS[function]
    if any(size) or "max" in function:
        refuse(input, kernel_name, refused)
    if any(m < 0 for m in size):
        if "max" in function:
            raise RuntimeError(f"{function}(): Trying to create tensor with negative dimension {min(size)}: {list(size)}")
        raise RuntimeError(f"{function}(): elements of output_size must be greater than or equal to 0 but received {size}")
    return size


def _edges(n: int, size: int) -> tuple[Any, Any]:
    """Where each of `size` windows over n entries begins and ends: as even as it gets, without a gap."""
    k = np.arange(size)
    return k * n // size, -((-(k + 1) * n) // size)


def _averages(n: int, start: Any, stop: Any) -> Any:
    """The matrix of means from start to stop."""
    j = np.arange(n)
    inside = (j >= start[:, None]) & (j < stop[:, None])
    return inside / np.maximum(stop - start, 1)[:, None]


def _adaptive_avg_pool(n: int) -> Any:
    function = f"adaptive_avg_pool{n}d"

    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        size = _sizes(function, n, input, output_size)
        shape = input.shape[-n:]
        if all(size) and not any(m % k for m, k in zip(shape, size)):
            kernel = tuple(m // k for m, k in zip(shape, size))
            return _average(function, n, input, kernel, None, 0, False, True, None)
        out: Any = input
        for a, (m, k) in enumerate(zip(shape, size)):
            out = apply(resize.resample, (out,), {"matrix": _averages(m, *_edges(m, k)), "axis": a - n})
        return out

    adaptive_avg_pool.__name__ = adaptive_avg_pool.__qualname__ = function
    adaptive_avg_pool.__doc__ = f"""The means of so many windows that the last dims get the lengths output_size (None: as they are).

    Shapes: (N, C, {LETTERS[n]}) or (C, {LETTERS[n]}). Neighbouring windows may share entries.

    >>> {function}({COUNTED[n]}, 1).item()  # the mean of all
    {(4**n - 1) / 2}
    >>> {function}({COUNTED[n]}, 3).shape
    torch.Size({[1, *(3,) * n]})
    """
    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg_pool, (1, 2, 3))


def _adaptive_max_pool(n: int) -> Any:
    function = f"adaptive_max_pool{n}d"

    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        windows = []
        for m, k in zip(input.shape[-n:], _sizes(function, n, input, output_size)):
            start, stop = _edges(m, k)
            longest = int((stop - start).max(initial=1))
            windows.append(np.minimum(start[:, None] + np.arange(longest), stop[:, None] - 1))
        values, index = _picked(input, tuple(windows))
        return (values, index) if return_indices else values

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return adaptive_max_pool(input, output_size, True)

    adaptive_max_pool.__name__ = adaptive_max_pool.__qualname__ = function
    with_indices.__name__ = with_indices.__qualname__ = f"{function}_with_indices"
    adaptive_max_pool.__doc__ = f"""The largest entries of so many windows that the last dims get the lengths output_size.

    Shapes: (N, C, {LETTERS[n]}) or (C, {LETTERS[n]}). return_indices: also where they stood.

    >>> {function}({COUNTED[n]}, 2).flatten()
    tensor([{LARGEST[n]}])
    >>> {function}({COUNTED[n]}, 3).shape
    torch.Size({[1, *(3,) * n]})
    """
    with_indices.__doc__ = f"`{function}`, with the places of the entries: (values, indices)."
    return adaptive_max_pool, with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


# -- windows at random places ------------------------------------------------------------------------


def _fractional_max_pool(n: int) -> Any:
    function = f"fractional_max_pool{n}d"

    def fractional_max_pool(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        if output_size is None and output_ratio is None:
            raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(f"{function}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(input.shape)}")
        if 0 in input.shape[1:]:
            raise RuntimeError(f"{function}(): Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}")
        if output_size is None:
            ratio = several(output_ratio, n)
            if any(not 0 < r < 1 for r in ratio):
                raise ValueError(f"{function} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(m * r) for m, r in zip(input.shape[-n:], ratio)]
        size, kernel = several(output_size, n), several(kernel_size, n)
        if min(size) < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {[*input.shape[:-n], *size]}")
        for axis, m, o, k in zip(("time", "height", "width")[-n:], input.shape[-n:], size, kernel):
            if k < 1:
                raise RuntimeError(f"{function}(): kernel size should be greater than zero, but got {k}")
            if o + k - 1 > m - (n == 3):  # PyTorch leaves one place free in 3d
                name = function + "_out" * (n == 3)
                raise RuntimeError(f"{name}(): pool {axis} {k} too large relative to input {axis} {m}; {o} windows were asked for")
        lead = tuple(input.shape[:-n])
        if _random_samples is None:
            samples = generator().random((*((1,) * (n + 2 - input.ndim)), *lead, n))
        else:
            samples = _random_samples.numbers()
        samples = samples.reshape(-1)[: math.prod(lead) * n].reshape(*lead, n)  # without a batch, the first of one
        order = range(n) if n == 3 else range(n)[::-1]  # in 2d the first number places the columns
        index = _fractional_index(input.numbers(), [samples[..., o] for o in order], size, kernel)
        values = _at(input, new_tensor(index), n)
        return (values, new_tensor(index)) if return_indices else values

    def with_indices(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        return fractional_max_pool(input, kernel_size, output_size, output_ratio, True, _random_samples)

    fractional_max_pool.__name__ = fractional_max_pool.__qualname__ = function
    with_indices.__name__ = with_indices.__qualname__ = f"{function}_with_indices"
    fractional_max_pool.__doc__ = f"""The largest entries of windows at random places, other ones for each channel. Source: Graham 2014.

    Shapes: (N, C, {LETTERS[n]}) or (C, {LETTERS[n]}). Give output_size, or output_ratio in (0, 1). return_indices: also where they stood.

    >>> {function}({COUNTED[n]}, 2, output_size=2).shape
    torch.Size({[1, *(2,) * n]})
    """
    with_indices.__doc__ = f"`{function}`, with the places of the entries: (values, indices)."
    return fractional_max_pool, with_indices


def _fractional_index(x: Any, samples: Any, size: Any, kernel: Any) -> Any:
    """The place of the largest entry in each window. samples: for each axis, a number in [0, 1) for each channel."""
    n = len(size)
    positions: Any = 0
    for a, (m, o, k) in enumerate(zip(x.shape[-n:], size, kernel)):
        u = samples[a][..., None].astype(x.dtype)
        step = np.asarray((m - k) / (o - 1) if o > 1 else 0, x.dtype)
        start = ((np.arange(o) + u) * step).astype(np.int64) - (u * step).astype(np.int64)
        start[..., -1:] = m - k
        index = start[..., None] + np.arange(k)
        own = [1] * (2 * n)
        own[a], own[n + a] = o, k
        positions = positions * m + index.reshape(*index.shape[:-2], *own)
    lead = x.shape[:-n]
    positions = positions.reshape(*lead, math.prod(size), math.prod(kernel))
    flat = np.take_along_axis(x.reshape(*lead, 1, math.prod(x.shape[-n:])), positions, axis=-1)
    best = np.argmax(flat, axis=-1)[..., None]
    return np.take_along_axis(positions, best, axis=-1).reshape(*lead, *size)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)
