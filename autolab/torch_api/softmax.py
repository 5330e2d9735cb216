"""Scores made into probabilities."""

from __future__ import annotations

from typing import Any

from autolab.engine.apply import apply
from autolab.engine.tensor import Tensor
from autolab.rules import nn
from autolab.torch_api.dims import axis_of, require_floats, require_tensor
from autolab.torch_api.pointwise import to
from autolab.torch_api.public import public


@public(method=True, out=True)
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """exp(input) scaled to add up to 1 along dim.

    >>> softmax(tensor([0., 0., 0.]), 0)
    tensor([0.3333, 0.3333, 0.3333])
    """
    input = require_tensor(input, "softmax") if dtype is None else to(input, dtype)
    require_floats(input, "softmax_lastdim_kernel_impl")
    return apply(nn.softmax, (input,), {"axis": axis_of(dim, input.ndim)})


@public(method=True, out=True)
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, without losing small probabilities.

    Shapes: the result has the input's.

    >>> log_softmax(tensor([0., 1000.]), 0)
    tensor([-1000.,     0.])
    """
    input = require_tensor(input, "log_softmax") if dtype is None else to(input, dtype)
    require_floats(input, "log_softmax_lastdim_kernel_impl")
    return apply(nn.log_softmax, (input,), {"axis": axis_of(dim, input.ndim)})
