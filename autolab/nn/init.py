"""Starting values for parameters, written in place. Each function returns the tensor it was given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.modes import recording
from autolab.engine.tensor import Tensor, new_tensor
from autolab.torch_api.random import randperm

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_", "sparse_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def _written(method: str, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    with recording(False):
        return getattr(tensor, method)(*args, **kwargs)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Draw every entry uniformly from [a, b), in place. Returns the tensor.

    >>> t = uniform_(torch.empty(1000), -1.0, 1.0)
    >>> -1 <= t.min() and t.max() < 1 and abs(t.mean()) < 0.1
    tensor(True)
    """
    return _written("uniform_", tensor, a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Draw every entry from a normal distribution with this mean and standard deviation, in place. Returns the tensor.

    >>> t = normal_(torch.empty(10000), mean=5.0, std=2.0)
    >>> abs(t.mean() - 5) < 0.1, abs(t.std() - 2) < 0.1
    (tensor(True), tensor(True))
    """
    return _written("normal_", tensor, mean, std, generator=generator)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None) -> Tensor:
    """Normal, drawn again outside [a, b].

    Where most draws would be outside: the inverse of the distribution function, of uniform numbers between its values at both ends.

    >>> trunc_normal_(torch.empty(1000), std=1.0, a=-2.0, b=2.0).abs().max() <= 2
    tensor(True)
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.", stacklevel=2
        )
    low, high = (math.erf((end - mean) / std / math.sqrt(2)) for end in (a, b))
    with recording(False):
        if high - low > 1:  # half of the draws or more are inside
            tensor.normal_(mean, std, generator=generator)
            while (outside := (tensor < a) | (tensor > b)).any():
                again = tensor[outside]
                tensor[outside] = again.normal_(mean, std, generator=generator)
            return tensor
        tensor.uniform_(low, high, generator=generator).erfinv_()
        return tensor.mul_(std * math.sqrt(2)).add_(mean).clamp_(min=a, max=b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Write one number into every entry, in place. Returns the tensor.

    >>> constant_(zeros(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return _written("fill_", tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Write 0 into every entry, in place. Returns the tensor.

    >>> zeros_(ones(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Write 1 into every entry, in place. Returns the tensor.

    >>> ones_(zeros(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal of a matrix, 0 elsewhere: a linear layer that changes nothing.

    Shapes: (n, m). Raises ValueError for others.

    >>> eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """1 in the middle of the kernel that leads from each channel to itself: a convolution that changes nothing.

    Shapes: (out, in, k...) of three to five dims; groups: each part of the outputs begins anew. Raises ValueError for others.

    >>> kernel = dirac_(torch.empty(1, 1, 3))
    >>> kernel, nn.functional.conv1d(tensor([[1., 2., 3.]]), kernel, padding=1)
    (tensor([[[0., 1., 0.]]]), tensor([[1., 2., 3.]]))
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tuple(tensor.shape))
    out = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for g in range(groups):
        for d in range(min(out, tensor.shape[1])):
            values[(g * out + d, d, *middle)] = 1
    return _filled(tensor, values)


def _filled(tensor: Tensor, values: Any) -> Tensor:
    return _written("copy_", tensor, new_tensor(values.astype(tensor.payload.dtype)))


# -- by the number of inputs and outputs ----------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(inputs, outputs) of one unit: the shape is (out, in, ...). Raises ValueError below two dims."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


fans = _calculate_fan_in_and_fan_out


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[0 if mode == "fan_in" else 1]


_PLAIN = "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid".split()


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance through a nonlinearity. param: the slope of leaky_relu.

    Raises ValueError for a nonlinearity that it does not know.

    >>> calculate_gain("relu")  # sqrt(2): half of the entries become 0
    1.4142135623730951
    """
    if nonlinearity in _PLAIN:
        return 1
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, int | float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Tensor:
    """Uniform, with the variance that keeps activations (fan_in) or gradients (fan_out) in scale. Source: He et al. 2015.

    Shapes: (out, in, ...). The variance is gain**2 / fan, the gain that of the nonlinearity (`calculate_gain`).

    >>> weight = kaiming_uniform_(torch.empty(200, 100), nonlinearity="relu")
    >>> abs(weight.var() - 2 / 100) < 0.001
    tensor(True)
    """
    if _empty(tensor):
        return tensor
    bound = math.sqrt(3) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Tensor:
    """Normal, with the variance of `kaiming_uniform_`: gain**2 / fan. Source: He et al. 2015.

    >>> weight = kaiming_normal_(torch.empty(200, 100), mode="fan_out", nonlinearity="relu")
    >>> abs(weight.var() - 2 / 200) < 0.001
    tensor(True)
    """
    if _empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform, with the variance gain**2 * 2 / (fan_in + fan_out), a compromise between both directions.

    Shapes: (out, in, ...). Source: Glorot and Bengio 2010.

    >>> weight = xavier_uniform_(torch.empty(200, 100))
    >>> abs(weight.var() - 2 / 300) < 0.001
    tensor(True)
    """
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal, with the variance of `xavier_uniform_`: gain**2 * 2 / (fan_in + fan_out). Source: Glorot and Bengio 2010.

    >>> weight = xavier_normal_(torch.empty(200, 100))
    >>> abs(weight.var() - 2 / 300) < 0.001
    tensor(True)
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows (or columns, if there are fewer) that are orthogonal and of length `gain`. Source: Saxe, McClelland and Ganguli 2013.

    Shapes: (n, ...), taken as a matrix of n rows. Raises ValueError below two dims.

    >>> weight = orthogonal_(torch.empty(2, 5))
    >>> torch.allclose(weight @ weight.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in tensor.shape:
        return tensor
    rows, cols = tensor.shape[0], math.prod(tensor.shape[1:])
    drawn = normal_(new_tensor(np.empty((max(rows, cols), min(rows, cols)))), generator=generator)
    q, r = np.linalg.qr(drawn.payload)
    q = q * np.sign(np.diag(r))  # uniform over all such matrices. Source: Mezzadri 2006
    return _filled(tensor, gain * (q.T if rows < cols else q).reshape(tuple(tensor.shape)))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal, with that part of each column of a matrix set to zero. Source: Martens 2010.

    Shapes: (n, m). sparsity: which part. Raises ValueError for other than two dims.

    >>> weight = sparse_(torch.empty(10, 4), sparsity=0.9)
    >>> weight.count_nonzero(dim=0)  # one of ten is left in each column
    tensor([1, 1, 1, 1])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0.0, std, generator)
    with recording(False):
        for col in range(cols):
            tensor[randperm(rows, generator=generator)[:zeros], col] = 0
    return tensor


# -- the names without an underscore, which PyTorch keeps for old programs -----------------------------


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = function.__name__

    def old(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    old.__name__, old.__doc__ = name[:-1], f"`{name}`, under the name that it had."
    return old


constant, dirac, eye, kaiming_normal, kaiming_uniform, normal, orthogonal, sparse, uniform, xavier_normal, xavier_uniform = (
    _deprecated(f)
    for f in (
        constant_, dirac_, eye_, kaiming_normal_, kaiming_uniform_, normal_, orthogonal_, sparse_, uniform_,
        xavier_normal_, xavier_uniform_,
    )
)  # fmt: skip
