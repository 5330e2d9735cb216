"""Window functions: weights that rise from the ends of a stretch of samples to its middle.

Each takes the number of samples M; `sym=False` leaves out the last of M + 1, for a window that is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor
from autolab.torch_api.creation import finish
from autolab.torch_api.dims import whole

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip


def _window(name: str, M: int, sym: bool, options: dict[str, Any], shape: Callable[[Any, int], Any]) -> Tensor:
    """shape(k, n) at k = 0 ... M - 1 of n samples in all; one sample is 1."""
    if whole(M, f"{name}(): argument 'M'") < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    layout = options.pop("layout", None)
    if layout is not None and "strided" not in str(layout):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = options.pop("dtype", None)
    made = dtypes.default.floating if dtype is None else dtypes.to_numpy(dtype)
    if made not in (np.float32, np.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtypes.of(made)}")
    n = M if sym else M + 1
    values = np.ones(M) if M <= 1 else shape(np.arange(M, dtype=np.float64), n)
    return finish(values.astype(made), options.pop("requires_grad", False), options.pop("device", None))


def _cosines(k: Any, n: int, a: Iterable[float]) -> Any:
    return sum((-1) ** i * ai * np.cos(2 * math.pi * i * k / (n - 1)) for i, ai in enumerate(a))


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """A sum of cosines, sum (-1)**i a[i] cos(2 pi i k / (M - 1)). Shape (M,).

    >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, list | tuple):
        raise TypeError(f"Coefficients must be a list/tuple, but got {type(a).__name__}")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _window("general_cosine", M, sym, options, lambda k, n: _cosines(k, n, weights))


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi k / (M - 1)). Shape (M,).

    >>> torch.signal.windows.general_hamming(5, alpha=0.6)
    tensor([0.2000, 0.6000, 1.0000, 0.6000, 0.2000])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.54 - 0.46 cos(2 pi k / (M - 1)): the first side lobe vanishes. Shape (M,).

    >>> torch.signal.windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.5 - 0.5 cos(2 pi k / (M - 1)): 0 at the ends. Shape (M,).

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Blackman's three cosines, with weights 0.42, 0.5 and 0.08. Shape (M,).

    >>> torch.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Nuttall's four cosines, which fall to 0.0004 at the ends. Shape (M,).

    >>> torch.signal.windows.nuttall(5)
    tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle, 0 at the ends and 1 in the middle. Shape (M,).

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, options, lambda k, n: 1 - np.abs(2 * k / (n - 1) - 1))


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a wave of a sine, sin(pi (k + 1/2) / M). Shape (M,).

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window("cosine", M, sym, options, lambda k, n: np.sin(math.pi * (k + 0.5) / n))


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-|k - center| / tau), center by default in the middle. Shape (M,).

    Raises ValueError for a tau that is not positive, and for a center of a symmetric window.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _window("exponential", M, sym, options, lambda k, n: np.exp(-np.abs(k - ((n - 1) / 2 if center is None else center)) / tau))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-(k - centre)**2 / (2 std**2)), std in samples. Shape (M,). Raises ValueError for a std that is not positive.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", M, sym, options, lambda k, n: np.exp(-(((k - (n - 1) / 2) / std) ** 2) / 2))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """i0(beta sqrt(1 - t**2)) / i0(beta), with t from -1 to 1. Shape (M,). Raises ValueError for a negative beta.

    >>> torch.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, options, lambda k, n: np.i0(beta * np.sqrt(1 - (2 * k / (n - 1) - 1) ** 2)) / np.i0(beta))
