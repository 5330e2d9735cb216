"""Modules that multiply by a matrix: Linear and Bilinear, and Identity, which leaves its input as it is."""

from __future__ import annotations

import math
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module, affine
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import empty


class Identity(Module):
    """Returns its input: holds the place of a module. It takes any arguments.

    >>> Identity()(tensor([1., 2.]))
    tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input itself, whatever its shape."""
        return input


class Linear(Module):
    """x @ weight.T + bias. Shapes: weight (out_features, in_features), bias (out_features,).

    Both start uniform within 1 / sqrt(in_features).

    >>> layer = nn.Linear(3, 2)
    >>> layer.weight.shape, layer(ones(5, 3)).shape  # five samples of three features
    (torch.Size([2, 3]), torch.Size([5, 2]))
    """

    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """`functional.linear` of the arguments, with the settings of this module."""
        weight, bias = affine(self)
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear`, under the name that PyTorch prints for the output of attention."""


class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k] for each k. Shapes: x1 (..., in1), x2 (..., in2), weight (out, in1, in2), result (..., out).

    Weight and bias start uniform within 1 / sqrt(in1).

    >>> nn.Bilinear(3, 4, 2)(ones(5, 3), ones(5, 4)).shape
    torch.Size([5, 2])
    """

    bias: Parameter | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        for p in (self.weight, self.bias):
            if p is not None:
                init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """`functional.bilinear` of the arguments, with the settings of this module."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
