"""Activations as modules: the function of the same name, with the settings it keeps."""

from __future__ import annotations

from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn.module import Module


class InPlace(Module):
    """An activation that may write into its input: the same numbers, and one array less."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Only what is not usual."""
        return "inplace=True" if self.inplace else ""


class ReLU(InPlace):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        """`functional.relu`."""
        return F.relu(input, self.inplace)


class SiLU(InPlace):
    """x * sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """`functional.silu`."""
        return F.silu(input, self.inplace)


class LeakyReLU(InPlace):
    """x where positive, negative_slope * x elsewhere."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """`functional.leaky_relu`."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The slope."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """`torch.tanh`."""
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        """`torch.sigmoid`."""
        return F.sigmoid(input)


class GELU(Module):
    """x * Phi(x), with the distribution function of the normal distribution, or its tanh approximation."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """`functional.gelu`."""
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        """Which of the two."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """`functional.softplus`."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Both settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """exp(x), scaled to add up to 1 along dim."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """`functional.softmax`."""
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The dim."""
        return f"dim={self.dim}"
