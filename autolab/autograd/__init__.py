"""Differentiation as PyTorch offers it: backward, grad, custom Functions, gradient modes and gradcheck."""

from autolab.autograd.api import backward, grad
from autolab.autograd.function import Function, FunctionCtx
from autolab.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from autolab.engine.modes import enable_grad, no_grad, set_grad_enabled
from autolab.engine.tensor import Tensor as Variable

__all__ = [
    "Function", "FunctionCtx", "GradcheckError", "Variable", "backward", "enable_grad", "grad", "gradcheck", "gradgradcheck",
    "no_grad", "set_grad_enabled",
]  # fmt: skip
