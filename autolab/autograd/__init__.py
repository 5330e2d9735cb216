"""Differentiation as PyTorch offers it: backward, grad, custom Functions, gradient modes, hooks on graphs and gradcheck."""

import sys as _sys

from autolab.autograd import grad_mode, node_names
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
from autolab.engine.tensor import Tensor as _Tensor
from autolab.torch_api.lazy import LazyMethod as _LazyMethod
from autolab.torch_api.lazy import lazy as _lazy

__all__ = [
    "Function", "FunctionCtx", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "function",
    "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


_NAMES = {
    "Function": ".function", "FunctionCtx": ".function", "SavedTensor": ".graph", "Variable": ".variable",
    "_calculate_shape": ".api", "_profiler_enabled": ".profiler", "backward": ".api", "detect_anomaly": ".anomaly_mode", "grad": ".api",
    "kineto_available": ".profiler", "set_detect_anomaly": ".anomaly_mode",
}  # fmt: skip
_MODULES = "anomaly_mode api forward_ad function functional graph profiler profiler_util variable".split()
_load = _lazy(__name__, _MODULES, _NAMES)

_Tensor.backward = _LazyMethod("backward", lambda: _load("api").tensor_backward)  # type: ignore[assignment, method-assign]


def __getattr__(name: str) -> object:
    return _sys.modules["autolab"] if name == "torch" else _load(name)  # PyTorch's own module has its package, too


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
