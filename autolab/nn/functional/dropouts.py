"""Dropout: entries, or whole channels, set to zero at random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.common import warn, written
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.generator import generator
from autolab.torch_api.sampling import sampled

# What selu tends to far below 0: the value that alpha_dropout puts in place of what it drops.
ALPHA = 1.6732632423543772848170429916717 * 1.0507009873554804934193349852946


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@sampled
def _kept_like(input: Any, p: float, whole_channels: bool = False) -> Any:
    """1 with probability 1 - p, else 0: for each entry, or for each channel. In the dtype of input."""
    shape = tuple(input.shape)
    if whole_channels:
        shape = shape[:2] + (1,) * (len(shape) - 2)
    return new_tensor(dtypes.cast(np.asarray(generator().random(shape) >= p), input.payload.dtype))


def _dropped(input: Any, p: float, training: bool, inplace: bool, whole_channels: bool = False) -> Any:
    if not training or p == 0:
        return input
    kept = _kept_like(input, p, whole_channels)
    return written(input, input * (kept / (1 - p) if p < 1 else kept * 0.0), inplace)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each entry with probability p and divide the others by 1 - p, so that the mean stays; nothing unless training.

    Shapes: any; the result is like the input. Raises ValueError unless p is in [0, 1]. Source: Srivastava et al. 2014.

    >>> dropout(ones(1000), p=0.5).unique()  # 1 / (1 - p), or nothing
    tensor([0., 2.])
    >>> dropout(ones(6), training=False)
    tensor([1., 1., 1., 1., 1., 1.])
    """
    _check(p)
    return _dropped(require_tensor(input, "dropout"), p, training, inplace)


def _channelwise(n: int, letters: str) -> Any:
    name = f"dropout{n}d"

    def function(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        _check(p)
        if input.ndim not in (n + 1, n + 2):
            warn(
                f"{name}: Received a {input.ndim}-D input to {name}, which is deprecated and will result in an error in a future "
                "release. To "
                f"retain the behavior and silence this warning, please use dropout instead. Note that {name} exists to provide "
                f"channel-wise dropout on inputs with {n} spatial dimensions, a channel dimension, and an optional batch dimension "
                f"(i.e. {n + 1}D or {n + 2}D inputs)."
            )
        if n == 2 and input.ndim == 3:  # as PyTorch has it: the first dim is the batch, with a warning
            warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
                "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
                "interpret the "
                "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please "
                "switch to using dropout1d instead."
            )
        alone = input.ndim == n + 1 and n != 2
        x = input.unsqueeze(0) if alone else input
        out = _dropped(x, p, training, False, whole_channels=True)
        out = out.squeeze(0) if alone else out
        return input if not training or p == 0 else written(input, out, inplace)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Zero whole channels with probability p and divide the others by 1 - p; nothing unless training.

    Shapes: (N, C, {letters}) or (C, {letters}). Source: Tompson et al. 2014.

    >>> sums = {name}(ones(1, 100, {", ".join("2" * n)}))[0].flatten(1).sum(1)
    >>> sorted(set(sums.tolist()))  # of a channel nothing is left, or {2**n} entries of 2
    [0.0, {2.0 ** (n + 1)}]
    """
    return function


dropout1d, dropout2d, dropout3d = _channelwise(1, "L"), _channelwise(2, "H, W"), _channelwise(3, "D, H, W")


def _alpha(input: Any, p: float, training: bool, inplace: bool, whole_channels: bool) -> Any:
    _check(p)
    if not training or p == 0:
        return input
    if p == 1:
        return written(input, input * constant_like(0.0, input), inplace)
    # Scale and shift so that mean 0 and variance 1 stay what they are.
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    kept = _kept_like(input, p, whole_channels)
    return written(input, input * (kept * scale) + ((kept - 1) * (ALPHA * scale) + ALPHA * scale * p), inplace)


def constant_like(value: float, like: Any) -> Any:
    return new_tensor(np.asarray(value, like.payload.dtype)[()])


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Put selu's lowest value in place of entries, with probability p, then scale and shift: mean 0 and variance 1 stay.

    Source: Klambauer et al. 2017.
    Shapes: any; the result is like the input. Raises ValueError unless p is in [0, 1].

    >>> alpha_dropout(zeros(1000), p=0.5, training=True).unique()  # zeros are moved, too
    tensor([-0.7792,  0.7792])
    """
    return _alpha(input, p, training, inplace, False)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Whole channels to SELU's lower end, as `alpha_dropout` does it to entries. Shapes: (N, C, ...).

    >>> out = feature_alpha_dropout(ones(1, 4, 9), p=0.5, training=True)
    >>> [len(channel.unique()) for channel in out[0]]  # one number in all places of a channel
    [1, 1, 1, 1]
    """
    return _alpha(input, p, training, inplace, True)
