"""Starting values for parameters, written in place."""

from __future__ import annotations

import math
from typing import Any

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor


def _written(method: str, tensor: Tensor, *args: float) -> Tensor:
    with recording(False):
        return getattr(tensor, method)(*args)  # type: ignore[no-any-return]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    return _written("uniform_", tensor, a, b)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal."""
    return _written("normal_", tensor, mean, std)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return _written("fill_", tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def fans(tensor: Tensor) -> tuple[int, int]:
    """(inputs, outputs) of one unit: the shape is (out, in, ...). Raises ValueError below two dims."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance through a nonlinearity."""
    slope = 0.01 if param is None else param
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "leaky_relu": math.sqrt(2 / (1 + slope**2)), "selu": 0.75}
    plain = ("linear", "sigmoid", "conv1d", "conv2d", "conv3d")
    if nonlinearity not in gains and nonlinearity not in plain:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains.get(nonlinearity, 1.0)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform, with the variance that keeps activations (fan_in) or gradients (fan_out) in scale. Source: He et al. 2015."""
    fan = fans(tensor)[0 if mode == "fan_in" else 1]
    bound = math.sqrt(3) * calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """`kaiming_uniform_` with the normal distribution."""
    fan = fans(tensor)[0 if mode == "fan_in" else 1]
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, a compromise between both directions. Source: Glorot and Bengio 2010."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """`xavier_uniform_` with the normal distribution."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))))
