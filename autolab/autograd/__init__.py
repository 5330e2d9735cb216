"""Differentiation as PyTorch offers it: backward, grad, custom Functions, gradient modes, hooks on graphs and gradcheck."""

import sys as _sys

from autolab.autograd import anomaly_mode, function, fused, grad_mode, graph
from autolab.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from autolab.autograd.api import backward, grad
from autolab.autograd.function import Function, FunctionCtx
from autolab.autograd.grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from autolab.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from autolab.autograd.variable import Variable
from autolab.torch_api.lazy import lazy as _lazy

__all__ = [
    "Function", "FunctionCtx", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "function",
    "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


_load = _lazy(
    __name__,
    ["forward_ad", "functional", "profiler", "profiler_util"],
    {"_calculate_shape": ".api", "_profiler_enabled": ".profiler", "kineto_available": ".profiler", "SavedTensor": ".graph"},
)


def __getattr__(name: str) -> object:
    return _sys.modules["autolab"] if name == "torch" else _load(name)  # PyTorch's own module has its package, too
