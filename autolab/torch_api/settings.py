"""What programs set and ask about the machine, and a few constants. Where there is one way only, settings are taken and change nothing."""

from __future__ import annotations

import math
import os
from typing import Any

from autolab import dtypes
from autolab.torch_api.device import CPU, device, require_cpu
from autolab.torch_api.public import public

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi


class _Name:
    """A choice that has a name and means nothing here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


@public()
class layout(_Name):
    """How the entries of a tensor are stored: `strided`, always.

    >>> zeros(2).layout
    torch.strided
    """


strided = layout("strided")


@public()
class memory_format(_Name):
    """In which order the entries of a tensor lie in memory: `contiguous_format`, `preserve_format`, `channels_last` and `channels_last_3d`.

    Named in calls, and taken; results lie as NumPy lays them.

    >>> torch.contiguous_format
    torch.contiguous_format
    """


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")

_set: dict[str, Any] = {"threads": None, "interop": 1, "precision": "highest", "deterministic": True}


@public()
def get_num_threads() -> int:
    """How many threads were asked for, by default as many as there are processors. NumPy's BLAS decides for itself.

    >>> torch.get_num_threads() >= 1
    True
    """
    return int(_set["threads"] or os.cpu_count() or 1)


@public()
def set_num_threads(num: int) -> None:
    """Taken and remembered. For NumPy, set OMP_NUM_THREADS before it is loaded. Raises RuntimeError for less than 1.

    >>> before = get_num_threads()
    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(before)
    """
    _positive(num, "set_num_threads")
    _set["threads"] = num


@public()
def get_num_interop_threads() -> int:
    """How many threads were asked for; operations run one after another.

    >>> get_num_interop_threads()
    1
    """
    return int(_set["interop"])


@public()
def set_num_interop_threads(num: int) -> None:
    """Taken and remembered; operations run one after another. Raises RuntimeError for less than 1.

    >>> set_num_interop_threads(0)
    Traceback (most recent call last):
        ...
    RuntimeError: set_num_interop_threads expects a positive integer, and got 0
    """
    _positive(num, "set_num_interop_threads")
    _set["interop"] = num


def _positive(num: Any, name: str) -> None:
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"{name} expects a positive integer, and got {num}")


@public()
def get_float32_matmul_precision() -> str:
    """What was set; products are always as exact as float32 is.

    >>> get_float32_matmul_precision() in ("highest", "high", "medium")
    True
    """
    return str(_set["precision"])


@public()
def _assert(condition: Any, message: str) -> None:
    """`assert` as a function, as libraries of models call it."""
    assert condition, message


@public()
def set_float32_matmul_precision(precision: str) -> None:
    """Taken and remembered: "highest", "high" or "medium". Raises RuntimeError for anything else.

    >>> set_float32_matmul_precision("high")
    >>> get_float32_matmul_precision()
    'high'
    >>> set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"invalid float32 matmul precision: {precision!r}; it is 'highest', 'high' or 'medium'")
    _set["precision"] = precision


@public()
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Taken: the same operations on the same numbers give the same result in any case.

    >>> use_deterministic_algorithms(True)
    """


@public()
def are_deterministic_algorithms_enabled() -> bool:
    """True: there are no others.

    >>> are_deterministic_algorithms_enabled()
    True
    """
    return True


@public()
def set_warn_always(mode: bool) -> None:
    """Taken and remembered: how often a warning is shown, Python's own filters say.

    >>> set_warn_always(True)
    >>> is_warn_always_enabled()
    True
    >>> set_warn_always(False)
    """
    _set["warn always"] = bool(mode)


@public()
def is_warn_always_enabled() -> bool:
    """What set_warn_always said last; False at first.

    >>> is_warn_always_enabled()
    False
    """
    return bool(_set.get("warn always"))


@public()
def set_flush_denormal(mode: bool) -> bool:
    """False: NumPy keeps denormal numbers.

    >>> set_flush_denormal(True)
    False
    """
    return False


@public()
def get_default_device() -> device:
    """The device on which tensors are made: the CPU.

    >>> get_default_device()
    device(type='cpu')
    """
    return CPU


@public()
def set_default_device(device: Any) -> None:
    """Taken for "cpu" and None. Raises PyTorch's error for other places.

    >>> set_default_device("cuda")
    Traceback (most recent call last):
        ...
    AssertionError: Torch not compiled with CUDA enabled: autolab computes on the CPU. Use device='cpu'.
    """
    if device is not None:
        require_cpu(device)


@public()
def set_default_tensor_type(t: Any) -> None:
    """Choose the default dtype by a type's name: "torch.DoubleTensor". Raises TypeError for what is not a floating type.

    >>> set_default_tensor_type("torch.DoubleTensor")
    >>> tensor(0.1).dtype
    torch.float64
    >>> set_default_tensor_type("torch.FloatTensor")
    """
    name = t if isinstance(t, str) else f"torch.{getattr(t, '__name__', t)}"
    found = {f"torch.{d.title}Tensor": d for d in dtypes.ALL if d.is_floating_point}.get(name)
    if found is None:
        raise TypeError(f"only floating-point types are supported as the default type, and got {name}")
    dtypes.default.floating = found.numpy
