"""Activations as modules: the function of the same name, with the settings it keeps."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.configured import REQUIRED, Configured
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import empty
from autolab.torch_api.lazy import lazy as _lazy

_IN_PLACE = {"inplace": False}

# -- those in every network ------------------------------------------------------------------------


class ReLU(Configured):
    """max(x, 0). The gradient at 0 is 0. Any shape; the result is like the input.

    >>> ReLU()(tensor([-2., 0., 1.]))
    tensor([0., 0., 1.])
    """

    settings = _IN_PLACE

    def forward(self, input: Tensor) -> Tensor:
        """`functional.relu` of the arguments, with the settings of this module."""
        return F.relu(input, self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)): any number becomes one between 0 and 1. Any shape; the result is like the input.

    >>> Sigmoid()(tensor([-2., 0., 1.]))
    tensor([0.1192, 0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """`torch.sigmoid` of the arguments, with the settings of this module."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent: any number becomes one between -1 and 1. Any shape; the result is like the input.

    >>> Tanh()(tensor([-2., 0., 1.]))
    tensor([-0.9640,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """`torch.tanh` of the arguments, with the settings of this module."""
        return F.tanh(input)


class GELU(Configured):
    """x * Phi(x), with the distribution function of the normal distribution, or its tanh approximation. Source: Hendrycks, Gimpel 2016.

    Shapes: any; the result is like the input.

    >>> GELU()(tensor([-2., 0., 1.]))
    tensor([-0.0455,  0.0000,  0.8413])
    """

    settings: ClassVar = {"approximate": "none"}

    def forward(self, input: Tensor) -> Tensor:
        """`functional.gelu` of the arguments, with the settings of this module."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Which of the two."""
        return f"approximate={self.approximate!r}"


# -- the others --------------------------------------------------------------------------------------


class CELU(Configured):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere. Source: Barron 2017. Any shape; the result is like the input.

    >>> CELU()(tensor([-2., 0., 1.]))
    tensor([-0.8647,  0.0000,  1.0000])
    """

    function, settings = "celu", {"alpha": 1.0, **_IN_PLACE}


class ELU(Configured):
    """x where positive, alpha * (exp(x) - 1) elsewhere. Source: Clevert, Unterthiner and Hochreiter 2015.

    Shapes: any; the result is like the input.

    >>> ELU()(tensor([-2., 0., 1.]))
    tensor([-0.8647,  0.0000,  1.0000])
    """

    function, settings = "elu", {"alpha": 1.0, **_IN_PLACE}


class GLU(Configured):
    """The first half along dim, times the sigmoid of the second. Source: Dauphin et al. 2016.

    Shapes: any with an even length 2n along dim; n in the result.

    >>> GLU()(tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """

    function, settings = "glu", {"dim": -1}


class Hardshrink(Configured):
    """x where abs(x) > lambd, 0 elsewhere. Any shape; the result is like the input.

    >>> Hardshrink()(tensor([-2., 0., 1.]))
    tensor([-2.,  0.,  1.])
    """

    function, settings, bare = "hardshrink", {"lambd": 0.5}, True


class Hardsigmoid(Configured):
    """x / 6 + 1 / 2, within 0 and 1. Any shape; the result is like the input.

    >>> Hardsigmoid()(tensor([-2., 0., 1.]))
    tensor([0.1667, 0.5000, 0.6667])
    """

    function, settings = "hardsigmoid", _IN_PLACE

    def extra_repr(self) -> str:
        """The empty text: `repr` shows the class alone."""
        return ""


class Hardswish(Configured):
    """x * hardsigmoid(x). Source: Howard et al. 2019. Any shape; the result is like the input.

    >>> Hardswish()(tensor([-2., 0., 1.]))
    tensor([-0.3333,  0.0000,  0.6667])
    """

    function, settings = "hardswish", _IN_PLACE

    def extra_repr(self) -> str:
        """The empty text: `repr` shows the class alone."""
        return ""


class Hardtanh(Configured):
    """x, within min_val and max_val. Raises AssertionError unless max_val > min_val. Any shape; the result is like the input.

    >>> Hardtanh()(tensor([-2., 0., 1.]))
    tensor([-1.,  0.,  1.])
    """

    function, settings = "hardtanh", {"min_val": -1.0, "max_val": 1.0, **_IN_PLACE}

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        for old, name, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{name}`", FutureWarning, stacklevel=2)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        super().__init__(min_val, max_val, inplace)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh):
    """x, within 0 and 6. Any shape; the result is like the input.

    >>> ReLU6()(tensor([-2., 0., 1.]))
    tensor([0., 0., 1.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Only what is not usual."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Configured):
    """x where positive, negative_slope * x elsewhere. Any shape; the result is like the input.

    >>> LeakyReLU()(tensor([-2., 0., 1.]))
    tensor([-0.0200,  0.0000,  1.0000])
    """

    function, settings = "leaky_relu", {"negative_slope": 0.01, **_IN_PLACE}


class LogSigmoid(Module):
    """log(sigmoid(x)), without loss where that is near 0. Any shape; the result is like the input.

    >>> LogSigmoid()(tensor([-2., 0., 1.]))
    tensor([-2.1269, -0.6931, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        """`functional.logsigmoid` of the arguments, with the settings of this module."""
        return F.logsigmoid(input)


class Mish(Configured):
    """x * tanh(softplus(x)). Source: Misra 2019. Any shape; the result is like the input.

    >>> Mish()(tensor([-2., 0., 1.]))
    tensor([-0.2525,  0.0000,  0.8651])
    """

    function, settings = "mish", _IN_PLACE


class PReLU(Module):
    """x where positive, weight * x elsewhere: one learned slope, or one for each channel. Source: He et al. 2015.

    Shapes: input (N, C, ...), weight (1,) or (C,). It starts at `init`.

    >>> PReLU()(tensor([-2., 0., 1.]))
    tensor([-0.5000,  0.0000,  1.0000], grad_fn=<PreluKernelBackward0>)
    >>> PReLU(8).weight.shape  # a slope for each of 8 channels
    torch.Size([8])
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """`functional.prelu` of the arguments, with the settings of this module."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Configured):
    """x where positive, a slope drawn from [lower, upper] times x elsewhere; their mean in eval mode. Source: Xu et al. 2015.

    Shapes: any; the result is like the input. Raises RuntimeError if lower > upper.

    >>> slopes = RReLU(0.1, 0.3)(-ones(100)).neg()
    >>> bool((slopes >= 0.1).all() and (slopes <= 0.3).all())
    True
    >>> RReLU(0.1, 0.3).eval()(tensor([-1., 1.]))
    tensor([-0.2000,  1.0000])
    """

    settings: ClassVar = {"lower": 1.0 / 8, "upper": 1.0 / 3, **_IN_PLACE}

    def forward(self, input: Tensor) -> Tensor:
        """`functional.rrelu` of the arguments, with the settings of this module."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class SELU(Configured):
    """scale * elu(x, alpha), with the constants that keep mean 0 and variance 1. Source: Klambauer et al. 2017.

    Shapes: any; the result is like the input.

    >>> SELU()(tensor([-2., 0., 1.]))
    tensor([-1.5202,  0.0000,  1.0507])
    """

    function, settings = "selu", _IN_PLACE


class SiLU(Configured):
    """x * sigmoid(x), also called swish. Source: Elfwing et al. 2017. Any shape; the result is like the input.

    >>> SiLU()(tensor([-2., 0., 1.]))
    tensor([-0.2384,  0.0000,  0.7311])
    """

    settings = _IN_PLACE

    def forward(self, input: Tensor) -> Tensor:
        """`functional.silu` of the arguments, with the settings of this module."""
        return F.silu(input, self.inplace)


class Softplus(Configured):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Any shape; the result is like the input.

    >>> Softplus()(tensor([-2., 0., 1.]))
    tensor([0.1269, 0.6931, 1.3133])
    """

    function, settings = "softplus", {"beta": 1.0, "threshold": 20.0}


class Softshrink(Configured):
    """x, moved towards 0 by lambd, and 0 within it. Any shape; the result is like the input.

    >>> Softshrink()(tensor([-2., 0., 1.]))
    tensor([-1.5000,  0.0000,  0.5000])
    """

    function, settings, bare = "softshrink", {"lambd": 0.5}, True


class Softsign(Module):
    """x / (1 + abs(x)). Any shape; the result is like the input.

    >>> Softsign()(tensor([-2., 0., 1.]))
    tensor([-0.6667,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """`functional.softsign` of the arguments, with the settings of this module."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x): close to 0 for small numbers. Any shape; the result is like the input.

    >>> Tanhshrink()(tensor([-2., 0., 1.]))
    tensor([-1.0360,  0.0000,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """`functional.tanhshrink` of the arguments, with the settings of this module."""
        return F.tanhshrink(input)


class Threshold(Configured):
    """x where x > threshold, `value` elsewhere. Any shape; the result is like the input.

    >>> Threshold(0.5, 9.0)(tensor([-2., 0., 1.]))
    tensor([9., 9., 1.])
    """

    function, settings = "threshold", {"threshold": REQUIRED, "value": REQUIRED, **_IN_PLACE}


# -- that add up to 1 --------------------------------------------------------------------------------


class Softmax(Configured):
    """exp(x), scaled to add up to 1 along dim. Any shape; the result is like the input.

    >>> Softmax(dim=0)(tensor([0., 0., 1.]))
    tensor([0.2119, 0.2119, 0.5761])
    """

    function, settings = "softmax", {"dim": None}


class LogSoftmax(Configured):
    """log(softmax(x)), without loss for small probabilities. Any shape; the result is like the input.

    >>> LogSoftmax(dim=0)(tensor([0., 0., 1.]))
    tensor([-1.5514, -1.5514, -0.5514])
    """

    function, settings = "log_softmax", {"dim": None}


class Softmin(Configured):
    """softmax(-x) along dim: the smallest score gets the largest probability. Any shape; the result is like the input.

    >>> Softmin(dim=0)(tensor([0., 0., 1.]))
    tensor([0.4223, 0.4223, 0.1554])
    """

    function, settings = "softmin", {"dim": None}


class Softmax2d(Module):
    """softmax over the channels at each place. Shapes: (N, C, H, W) or (C, H, W).

    >>> Softmax2d()(torch.zeros(1, 4, 2, 2)).sum(dim=1)
    tensor([[[1., 1.],
             [1., 1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Raises ValueError for other dims."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


__getattr__ = _lazy(__name__, names={"MultiheadAttention": "autolab.nn.modules.attention"})  # here in PyTorch
