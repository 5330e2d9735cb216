"""Activations: PyTorch's names and arguments for the rows of autolab.rules that work entry by entry, and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor, new_tensor
from autolab.nn.functional.common import activated, is_floating, not_implemented, warn, written
from autolab.rules import activations as rows
from autolab.rules import elementwise
from autolab.torch_api import pointwise
from autolab.torch_api.dims import INTEGERS, axis_of, refuse
from autolab.torch_api.generator import generator
from autolab.torch_api.pointwise import sigmoid, tanh
from autolab.torch_api.random import rand_like
from autolab.torch_api.sampling import sampled
from autolab.torch_api.softmax import log_softmax as _log_softmax
from autolab.torch_api.softmax import softmax as _softmax

# -- with a kink at 0 ------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0). The gradient at 0 is 0. Any shape; the result is like the input.

    >>> relu(tensor([-2., 0., 1.]))
    tensor([0., 0., 1.])
    """
    return activated(elementwise.relu, input, True) if inplace else elementwise.relu.run(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input, held between 0 and 6. Any shape; the result is like the input.

    >>> relu6(tensor([-2., 0., 1.]))
    tensor([0., 0., 1.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, negative_slope * input elsewhere. Any shape; the result is like the input.

    >>> leaky_relu(tensor([-2., 0., 1.]))
    tensor([-0.0200,  0.0000,  1.0000])
    """
    return activated(elementwise.leaky_relu, input, inplace, {"negative_slope": negative_slope})


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where positive, weight * input elsewhere, with a learned slope for all or one for each channel (dim 1).

    Shapes: input (N, C, ...), weight (), (1,) or (C,). Raises RuntimeError for another number of slopes.

    >>> prelu(tensor([-2., 0., 1.]), tensor(0.25))
    tensor([-0.5000,  0.0000,  1.0000])
    """
    if weight.dtype != input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.title} and {weight.dtype.title}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.ndim == 1 and (weight.shape[0] != 1 or input.ndim > 1):
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.shape[0] not in (1, channels):
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.shape[0]} and channel size = "
                f"{channels}."
            )
        weight = weight.reshape(-1, *(1,) * max(input.ndim - 2, 0))
    elif weight.ndim == 1 and input.ndim == 0:
        weight = weight.reshape(())
    refuse(input, "prelu_cpu", INTEGERS)
    return apply(rows.prelu, (input, weight), {})


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """input where positive; elsewhere times a slope: drawn for each entry from [lower, upper] in training, else their mean.

    Source: Xu et al. 2015. Raises RuntimeError if lower > upper.
    Shapes: any; the result is like the input.

    >>> rrelu(tensor([-2., 0., 1.]))
    tensor([-0.4583,  0.0000,  1.0000])
    """
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, but got {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    if not is_floating(input):
        raise not_implemented("rrelu_with_noise_out_cpu", input)
    noise = lower + (upper - lower) * rand_like(input)
    return written(input, apply(rows.rrelu, (input, noise), {}), inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is larger than the threshold, value elsewhere. Any shape; the result is like the input.

    >>> threshold(tensor([-2., 0., 1.]), 0.5, 9.0)
    tensor([9., 9., 1.])
    """
    return activated(rows.threshold, input, inplace, {"threshold": threshold, "value": value})


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within [-lambd, lambd], input elsewhere. Any shape; the result is like the input.

    >>> hardshrink(tensor([-2., 0., 1.]))
    tensor([-2.,  0.,  1.])
    """
    return activated(rows.hardshrink, input, False, {"lambd": lambd})


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within [-lambd, lambd], elsewhere the input, lambd closer to 0. Raises RuntimeError for a negative lambd.

    Shapes: any; the result is like the input.

    >>> softshrink(tensor([-2., 0., 1.]))
    tensor([-1.5000,  0.0000,  0.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, inf) for input dtype {input.dtype.title}, found {lambd}")
    return activated(rows.softshrink, input, False, {"lambd": lambd})


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input, held between min_val and max_val; the gradient on the bounds is 0. Raises ValueError if they are the wrong way round.

    Shapes: any; the result is like the input.

    >>> hardtanh(tensor([-2., 0., 1.]))
    tensor([-1.,  0.,  1.])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not is_floating(input):
        if input.dtype == dtypes.bool_:
            raise RuntimeError("Bool inputs not supported for hardtanh")
        if input.dtype == dtypes.uint8 and min(min_val, max_val) < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    return activated(rows.hardtanh, input, inplace, {"low": min_val, "high": max_val})


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """(input + 3) / 6, held between 0 and 1. Any shape; the result is like the input.

    >>> hardsigmoid(tensor([-2., 0., 1.]))
    tensor([0.1667, 0.5000, 0.6667])
    """
    return activated(rows.hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input). Source: Howard et al. 2019, MobileNetV3. Any shape; the result is like the input.

    >>> hardswish(tensor([-2., 0., 1.]))
    tensor([-0.3333,  0.0000,  0.6667])
    """
    return activated(rows.hardswish, input, inplace)


# -- smooth, or nearly -----------------------------------------------------------------------------

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, alpha * (exp(input) - 1) elsewhere. Source: Clevert et al. 2015. Any shape; the result is like the input.

    >>> elu(tensor([-2., 0., 1.]))
    tensor([-0.8647,  0.0000,  1.0000])
    """
    return activated(rows.elu, input, inplace, {"alpha": alpha, "scale": 1.0, "rate": 1.0})


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """1.0507 * elu(input, 1.6733): keeps mean 0 and variance 1. Source: Klambauer et al. 2017. Any shape; the result is like the input.

    >>> selu(tensor([-2., 0., 1.]))
    tensor([-1.5202,  0.0000,  1.0507])
    """
    return activated(rows.elu, input, inplace, {"alpha": SELU_ALPHA, "scale": SELU_SCALE, "rate": 1.0})


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, alpha * (exp(input / alpha) - 1) elsewhere. Source: Barron 2017. Any shape; the result is like the input.

    >>> celu(tensor([-2., 0., 1.]))
    tensor([-0.8647,  0.0000,  1.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return activated(rows.elu, input, inplace, {"alpha": alpha, "scale": 1.0, "rate": 1.0 / alpha})


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input * Phi(input), with the normal distribution's Phi, or its tanh approximation. Source: Hendrycks and Gimpel 2016.

    Shapes: any; the result is like the input.

    >>> gelu(tensor([-2., 0., 1.]))
    tensor([-0.0455,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply(rows.gelu if approximate == "none" else rows.gelu_tanh, (input,), {})


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input), also called swish. Source: Elfwing et al. 2017. Any shape; the result is like the input.

    >>> silu(tensor([-2., 0., 1.]))
    tensor([-0.2384,  0.0000,  0.7311])
    """
    return activated(elementwise.silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input)). Source: Misra 2019. Any shape; the result is like the input.

    >>> mish(tensor([-2., 0., 1.]))
    tensor([-0.2525,  0.0000,  0.8651])
    """
    return activated(rows.mish, input, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input > threshold. Any shape; the result is like the input.

    >>> softplus(tensor([-2., 0., 1.]))
    tensor([0.1269, 0.6931, 1.3133])
    """
    return activated(elementwise.softplus, input, False, {"beta": beta, "threshold": threshold})


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), exact where the sigmoid would round to 0. Any shape; the result is like the input.

    >>> logsigmoid(tensor([-2., 0., 1.]))
    tensor([-2.1269, -0.6931, -0.3133])
    """
    return activated(rows.log_sigmoid, input)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|). Any shape; the result is like the input.

    >>> softsign(tensor([-2., 0., 1.]))
    tensor([-0.6667,  0.0000,  0.5000])
    """
    return input / (pointwise.abs(input) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input): close to 0 for small numbers. Any shape; the result is like the input.

    >>> tanhshrink(tensor([-2., 0., 1.]))
    tensor([-1.0360,  0.0000,  0.2384])
    """
    return input - tanh(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), where a and b are the two halves of the input along dim. Source: Dauphin et al. 2016.

    Shapes: any with an even length 2n along dim; n in the result. Raises RuntimeError for an odd length or a 0-d input.

    >>> glu(tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = axis_of(dim, input.ndim)
    assert axis is not None
    n = input.shape[axis]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis % input.ndim} is size {n}")
    if not is_floating(input):
        raise not_implemented("glu_cpu", input)
    a, b = input.split(n // 2, axis)
    return a * sigmoid(b)


# -- probabilities ---------------------------------------------------------------------------------


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) scaled to add up to 1 along dim: probabilities from scores. Any shape; the result is like the input.
    Warns if dim is not given.

    >>> softmax(tensor([0., 0., 1.]), dim=0)
    tensor([0.2119, 0.2119, 0.5761])
    """
    return _softmax(input, _implicit(input, dim, "softmax"), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -input: the smallest score gets the largest probability. Any shape; the result is like the input.

    >>> softmin(tensor([0., 0., 1.]), dim=0)
    tensor([0.4223, 0.4223, 0.1554])
    """
    return _softmax(-input, _implicit(input, dim, "softmin"), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, without losing small probabilities.

    Shapes: any; the result is like the input. Computed as input - logsumexp(input).

    >>> log_softmax(tensor([0., 0., 1.]), dim=0)
    tensor([-1.5514, -1.5514, -0.5514])
    """
    return _log_softmax(input, _implicit(input, dim, "log_softmax"), dtype=dtype)


def _implicit(input: Tensor, dim: int | None, name: str) -> int:
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input.ndim in (0, 1, 3) else 1


@sampled
def _gumbel_like(logits: Any) -> Any:
    """Numbers of Gumbel's distribution."""
    noise = -np.log(generator().standard_exponential(tuple(logits.shape)))
    return new_tensor(dtypes.cast(np.asarray(noise), logits.payload.dtype))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random choice along dim with probabilities softmax(logits), softened so that it has a gradient; tau -> 0 is a sharp choice.

    hard: the result is one-hot, with the gradient of the soft one. Source: Jang, Gu and Poole 2016; Maddison et al. 2016.
    Shapes: any; the result is like the input.

    >>> gumbel_softmax(zeros(2, 3), hard=True).sum(dim=1)  # one choice in each row
    tensor([1., 1.])
    >>> counts = gumbel_softmax(tensor([0.9, 0.1]).log().expand(1000, 2), hard=True).sum(dim=0)
    >>> 850 < counts[0] < 950  # nine in ten
    tensor(True)
    """
    if not is_floating(logits):
        raise not_implemented("softmax_lastdim_kernel_impl", logits)
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    soft = _softmax((logits + _gumbel_like(logits)) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    sharp = index == np.expand_dims(np.arange(soft.shape[dim]), tuple(range(1, -(dim if dim < 0 else dim - soft.ndim))))
    return sharp.to(soft.dtype) - soft.detach() + soft


# -- written into the input ------------------------------------------------------------------------


def relu_(input: Tensor) -> Tensor:
    """`relu`, written into the input."""
    return relu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, written into the input."""
    return leaky_relu(input, negative_slope, inplace=True)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu`, written into the input."""
    return rrelu(input, lower, upper, training, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, written into the input."""
    return activated(rows.threshold, input, True, {"threshold": threshold, "value": value})


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, written into the input."""
    return hardtanh(input, min_val, max_val, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, written into the input."""
    return elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into the input."""
    return selu(input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, written into the input."""
    return celu(input, alpha, inplace=True)
