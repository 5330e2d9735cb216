"""Differentiation as PyTorch offers it: backward, grad, custom Functions, gradient modes, hooks on graphs and gradcheck."""

import importlib as _importlib

from autolab.autograd import (
    anomaly_mode,
    function,
    function_in_grad,
    function_in_jvp,
    function_in_vmap,
    functional,
    fused,
    grad_mode,
    graph,
)
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

__all__ = [
    "Function", "FunctionCtx", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "function",
    "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


LATER = {"_calculate_shape": "api", "_profiler_enabled": "profiler", "kineto_available": "profiler", "SavedTensor": "graph"}


def __getattr__(name: str) -> object:
    if name in ("forward_ad", "profiler", "profiler_util"):  # loaded when first used
        return _importlib.import_module(f"autolab.autograd.{name}")
    if name == "torch":  # as PyTorch's own module has it
        return _importlib.import_module("autolab")
    if name in LATER:
        return getattr(_importlib.import_module(f"autolab.autograd.{LATER[name]}"), name)
    raise AttributeError(f"module 'autolab.autograd' has no attribute '{name}'")
