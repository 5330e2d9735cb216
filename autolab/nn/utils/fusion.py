"""A normalisation with fixed statistics is linear, so it can be made part of the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from autolab.engine.tensor import Tensor
from autolab.nn.parameter import Parameter
from autolab.torch_api.creation import ones_like, zeros_like

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of a convolution that does the normalisation, too.

    Shapes: conv_w (out, in, k...) or, with transpose, (in, out, k...); all others, and the bias, (out,).

    >>> mean, var = tensor([1.]), tensor([4.])
    >>> weight, bias = fuse_conv_bn_weights(tensor([[[6.]]]), None, mean, var, 0.0, None, None)
    >>> weight.data, bias.data  # (6 x - 1) / 2
    (tensor([[[3.]]]), tensor([-0.5000]))
    """
    scale = (ones_like(bn_rm) if bn_w is None else bn_w) * (bn_rv + bn_eps).rsqrt()
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    shift = (zeros_like(bn_rm) if conv_b is None else conv_b) - bn_rm
    bias = shift * scale + (zeros_like(bn_rm) if bn_b is None else bn_b)
    w_grad, b_grad = conv_w.requires_grad, conv_w.requires_grad if conv_b is None else conv_b.requires_grad
    return Parameter((conv_w * scale.reshape(shape)).detach(), w_grad), Parameter(bias.detach(), b_grad)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear layer that does the normalisation, too.

    Shapes: linear_w (out, in); all others, and the bias, (out,).

    >>> mean, var = tensor([1.]), tensor([4.])
    >>> weight, bias = fuse_linear_bn_weights(tensor([[6.]]), None, mean, var, 0.0, tensor([1.]), tensor([0.]))
    >>> weight.data, bias.data  # (6 x - 1) / 2
    (tensor([[3.]]), tensor([-0.5000]))
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer: Any, bn: Any, transpose: bool = False) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(layer)
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """One convolution instead of a convolution and a BatchNorm, both in eval mode. Raises AssertionError for training mode.

    >>> conv, bn = torch.nn.Conv2d(3, 8, 3).eval(), torch.nn.BatchNorm2d(8).eval()
    >>> x = torch.randn(1, 3, 5, 5)
    >>> torch.allclose(fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True
    """
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """One linear layer instead of a linear layer and a BatchNorm, both in eval mode. Raises AssertionError for training mode.

    >>> linear, bn = torch.nn.Linear(3, 8).eval(), torch.nn.BatchNorm1d(8).eval()
    >>> x = torch.randn(5, 3)
    >>> torch.allclose(fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)
    True
    """
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused(linear, bn)
