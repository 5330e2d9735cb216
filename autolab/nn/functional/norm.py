"""Normalisation: mean 0 and variance 1, over one set of dims or another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab.engine.apply import apply
from autolab.engine.modes import modes, recording
from autolab.engine.tensor import Tensor
from autolab.nn.functional.common import not_implemented
from autolab.nn.functional.padding import constant
from autolab.nn.functional.pool import avg_pool1d
from autolab.rules import nn as rows
from autolab.torch_api import pointwise, reduce
from autolab.torch_api.dims import INTEGERS, refuse, require_tensor
from autolab.torch_api.layout import returns_fresh_memory


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 over the last dims (normalized_shape), then times weight plus bias (of that shape).

    Shapes: input (..., *normalized_shape); the result is like the input. Raises RuntimeError if they do not fit.
    Source: Ba, Kiros and Hinton 2016, Layer Normalization.

    >>> layer_norm(tensor([[1., 3.], [10., 30.]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    shape = _normalized(require_tensor(input, "layer_norm"), normalized_shape, weight, bias)
    if input.payload.dtype.kind in "iub":
        raise not_implemented("LayerNormKernelImpl", input)
    return _normalised(input, tuple(range(-len(shape), 0)), weight, bias, eps)


def _normalized(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None) -> tuple[int, ...]:
    """normalized_shape, checked against the input and against weight and bias."""
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                           "normalized_shape = []")  # fmt: skip
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and normalized_shape = "
                f"{list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    return shape


def _normalised(input: Tensor, axes: tuple[int, ...], weight: Any, bias: Any, eps: float, node: str = "Layer") -> Any:
    """The row, with 1 and 0 for a weight and bias that are not there."""
    w: Any = np.ones((), input.payload.dtype)[()] if weight is None else weight
    b: Any = np.zeros((), input.payload.dtype)[()] if bias is None else bias
    return apply(rows.layer_norm, (input, w, b), {"axes": axes, "eps": eps} | ({} if node == "Layer" else {"called": node}))


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """The input divided by its root mean square over the last dims, times weight. Source: Zhang and Sennrich 2019.

    eps: added to the mean square; by default the spacing of floats at 1.
    Shapes: input (..., *normalized_shape), weight normalized_shape; the result is like the input.

    >>> rms_norm(tensor([3., 4.]), (2,))  # divided by sqrt((9 + 16) / 2)
    tensor([0.8485, 1.1314])
    """
    shape = _normalized(input, normalized_shape, weight)
    refuse(input, "rms_norm", INTEGERS)
    if eps is None:
        eps = _spacing(input)
    w: Any = np.ones((), input.payload.dtype)[()] if weight is None else weight
    return apply(rows.rms_norm, (input, w), {"axes": tuple(range(-len(shape), 0)), "eps": eps})


def _spacing(t: Tensor) -> float:
    return 2.0**-52 if t.dtype.name in ("float64", "complex128") else 2.0**-23  # 16-bit floats are computed with in float32


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """The input divided by its p-norm along dim, or by eps where that is larger. Any shape; the result is like the input.

    >>> normalize(tensor([[3., 4.], [0., 0.]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    if modes.autocast is not None:
        (input,) = modes.autocast.cast("normalize", (input,))
    size = pointwise.clamp(reduce.norm(input, p, dim, keepdim=True), min=eps)
    return input / size


# -- by channel ------------------------------------------------------------------------------------


def _channels(t: Any, ndim: int) -> Any:
    """A number for each channel, to go beside (N, C, ...)."""
    return t if t is None else t.reshape(-1, *(1,) * (ndim - 2))


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 for each channel over the batch and all places, then times weight plus bias (of shape (C,)).

    Shapes: input (N, C, ...). In training the statistics are the batch's, and the running ones move towards them by `momentum` (the
    running variance is the unbiased one); otherwise the running ones are used. Source: Ioffe and Szegedy 2015.

    >>> batch_norm(tensor([[1., 10.], [3., 30.]]), None, None, training=True)  # each channel over the batch
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    if input.ndim < 2 and not math.prod(input.shape):
        return input * 1
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm(): expected an input of at least 2 dims (N, C, ...), but got {list(input.shape)}")
    channels, count = input.shape[1], math.prod(input.shape) // max(input.shape[1], 1)
    if eps <= 0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    if training and count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not count:
        return input * 1
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and math.prod(t.shape) != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {math.prod(t.shape)}")
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        refuse(input, "batch_norm", INTEGERS)
        w, b = _channels(weight, input.ndim), _channels(bias, input.ndim)
        mean, scale = _channels(running_mean, input.ndim), pointwise.rsqrt(_channels(running_var, input.ndim) + eps)
        out = (input - mean) * (scale if w is None else scale * w)
        return out if b is None else out + b
    if input.payload.dtype.kind in "iub":
        raise not_implemented("batch_norm", input)
    w, b = (np.full(channels, usual, input.payload.dtype) if t is None else t for t, usual in ((weight, 1), (bias, 0)))
    out, mean, var = apply(rows.batch_norm, (input, w, b), {"eps": eps})
    if running_mean is not None and running_var is not None:
        _follow(running_mean, running_var, mean, var, momentum, count)
    return out


def _follow(running_mean: Tensor, running_var: Tensor, mean: Any, var: Any, momentum: float, count: int) -> None:
    """Move the running statistics towards those of the batch."""
    var = var.detach() * (count / max(count - 1, 1))
    for running, now in ((running_mean, mean.detach()), (running_var, var)):
        if now.shape != running.shape:  # one for each sample of instance_norm
            now = now.mean(0)
        if unseen() and not running.level + now.level:  # by NumPy, in a tenth of the time
            r = running.writable_array()
            r *= 1 - momentum
            r += momentum * now.payload
            running.version[0] += 1
        else:
            with recording(False):
                running.mul_(1 - momentum).add_(now.to(running.dtype) * momentum)


def unseen() -> bool:
    """Whether nobody looks on when an array is written to: no transform, trace, profile or checkpoint."""
    return modes.fast and not modes.levels and modes.before_write is None


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 for each channel of each sample over its places. Shapes: input (N, C, ...). Source: Ulyanov et al. 2016.

    >>> instance_norm(tensor([[[1., 3.], [10., 30.]]]))  # each channel alone
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    count = math.prod(input.shape[2:])
    if use_input_stats and count <= 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats=False")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    axes = tuple(range(2 - input.ndim, 0))
    if running_mean is not None and running_var is not None:
        mean, var = input.detach().mean(axes), input.detach().var(axes, correction=0)
        _follow(running_mean, running_var, mean, var, momentum, count)
    return _normalised(input, axes, _channels(weight, input.ndim), _channels(bias, input.ndim), eps, "Batch")


@returns_fresh_memory
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Mean 0 and variance 1 over each group of channels of each sample. Shapes: (N, C, ...), weight and bias (C,).

    Source: Wu and He 2018.

    >>> group_norm(tensor([[1., 3., 10., 30.]]), num_groups=2)  # channels 0 and 1, then 2 and 3
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if modes.autocast is not None:
        (input,) = modes.autocast.cast("group_norm", (input,))
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, channels = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and "
            f"num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(t.shape)} and "
                f"input of shape {list(input.shape)}"
            )
    grouped = input.reshape(n, num_groups, math.prod(input.shape[1:]) // num_groups)
    out = _normalised(grouped, (-1,), None, None, eps, "Group").reshape(*input.shape)
    if weight is not None:
        out = out * _channels(weight, input.ndim)
    return out if bias is None else out + _channels(bias, input.ndim)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """input / (k + alpha * mean of input**2 over `size` neighbouring channels)**beta. Source: Krizhevsky et al. 2012.

    Shapes: (N, C, ...); the result is like the input. Raises ValueError below three dims.

    >>> local_response_norm(tensor([[[1.], [2.], [2.]]]), size=3, alpha=1., beta=1., k=0.)  # 2 / ((1 + 4 + 4) / 3) in the middle
    tensor([[[0.6000],
             [0.6667],
             [0.7500]]])
    """
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)")
    if input.shape[1] == 0 or 0 in input.shape:
        return input
    square = (input * input).movedim(1, -1)
    lead = tuple(square.shape)
    padded = constant(square.reshape(1, -1, lead[-1]), [size // 2, (size - 1) // 2], 0)
    mean = avg_pool1d(padded, size, 1).reshape(*lead).movedim(-1, 1)
    return input / (mean * alpha + k) ** beta
