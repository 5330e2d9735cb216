"""Mean 0 and variance 1 within a sample."""

from __future__ import annotations

import numbers
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module, affine
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import empty


class _Scaled(Module):
    """A weight that starts at 1 and a bias that starts at 0, where they are wanted."""

    weight: Parameter | None
    bias: Parameter | None

    def _learn(self, shape: Any, weight: bool, bias: bool | None, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            if wanted is not None:
                self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)  # type: ignore[arg-type]


class LayerNorm(_Scaled):
    """Mean 0 and variance 1 over the last dims, then a learned scale and shift. Source: Ba, Kiros and Hinton 2016.

    Shapes: input (..., *normalized_shape), weight and bias normalized_shape; the result is like the input.

    >>> LayerNorm(2)(tensor([[1., 3.], [10., 30.]]))  # each sample alone
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._learn(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """`functional.layer_norm` of the arguments, with the settings of this module."""
        return F.layer_norm(input, self.normalized_shape, *affine(self), self.eps)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(_Scaled):
    """The input divided by its root mean square over the last dims, then a learned scale. Source: Zhang and Sennrich 2019.

    Shapes: input (..., *normalized_shape), weight normalized_shape; the result is like the input.

    >>> RMSNorm(2)(tensor([3., 4.])).detach()  # divided by sqrt((9 + 16) / 2)
    tensor([0.8485, 1.1314])
    """

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._learn(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """`functional.rms_norm` of the arguments, with the settings of this module."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Scaled):
    """Mean 0 and variance 1 over each group of channels of a sample. Shapes: (N, C, ...). Source: Wu and He 2018.

    >>> GroupNorm(2, 4)(tensor([[1., 3., 10., 30.]])).detach()  # two groups of two channels
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None, dtype: Any = None,
        *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_groups <= 0:
            raise ValueError(f"num_groups must be a positive integer, got {num_groups}")
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._learn(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """`functional.group_norm` of the arguments, with the settings of this module."""
        return F.group_norm(input, self.num_groups, *affine(self), self.eps)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """The input divided by a power of the mean square over `size` neighbouring channels. Source: Krizhevsky et al. 2012.

    Shapes: (N, C, ...); the result is like the input.

    >>> LocalResponseNorm(3, alpha=1.0, beta=1.0, k=0.0)(tensor([[[1.], [2.], [2.]]]))  # in the middle 2 / ((1 + 4 + 4) / 3)
    tensor([[[0.6000],
             [0.6667],
             [0.7500]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """`functional.local_response_norm` of the arguments, with the settings of this module."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them between the parentheses."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm`, under the name that it had in Torch 7. Source: Krizhevsky et al. 2012."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
