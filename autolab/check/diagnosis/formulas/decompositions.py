"""Operations spelled out in simpler ones, as on paper: who differentiates them step by step can slip at any step.

Functions on tensors; `stepwise.py` follows them. One that does not give the right gradient for the inputs at hand is passed
over, and a test asks that each does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

LN2, LN10 = math.log(2), math.log(10)


def softmax(x, axis):
    """e / sum of e."""
    e = x.exp()
    return e / e.sum(axis, keepdim=True)


def squares(x, axis, correction=1):
    """Variance as the sum of squares about the mean."""
    centred = x - x.mean(axis, keepdim=True)
    return (centred * centred).sum(axis) / (x.shape[axis] - correction)


def normed(x, axis):
    """Mean 0, variance 1, with both taken from x."""
    return (x - x.mean(axis, keepdim=True)) / (x.var(axis, correction=0, keepdim=True) + 1e-5).sqrt()


def cross_entropy(x, target):
    """Minus the logarithm of the probability of the right class."""
    logs = x - x.exp().sum(1, keepdim=True).log()
    return -logs[range(len(x)), target].mean()


def binary_cross_entropy(x, target):
    """The two logarithms, weighted."""
    p = 1 / (1 + (-x).exp())
    return -(target * p.log() + (1 - target) * (1 - p).log()).mean()


def attention(q, k, v):
    """Weights from scores, and the weighted sum."""
    return softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


def mse_loss(x, y, reduction="mean"):
    """The mean, or sum, of the squared differences."""
    squared = (x - y) ** 2
    return squared.mean() if reduction == "mean" else squared.sum()


DECOMPOSITIONS: dict[str, list[Callable]] = {
    "addcdiv": [lambda x, a, b, value=1: x + value * (a / b)],
    "addcmul": [lambda x, a, b, value=1: x + value * (a * b)],
    "attention": [attention],
    "batch_norm": [lambda x, weight, bias: normed(x, 0) * weight + bias],
    "bce_with_logits": [binary_cross_entropy],
    "binary_cross_entropy": [lambda x, target: -(target * x.log() + (1 - target) * (1 - x).log())],
    "cosh": [lambda x: (x.exp() + (-x).exp()) / 2],
    "cross_entropy": [cross_entropy],
    "div": [lambda x, y: x * y**-1],
    "dot": [lambda x, y: (x * y).sum()],
    "dropout": [lambda x, mask, p: x * mask / (1 - p)],
    "erfc": [lambda x: 1 - x.erf()],
    "exp2": [lambda x: (x * LN2).exp()],
    "expm1": [lambda x: x.exp() - 1],
    "gelu": [lambda x: x * (0.5 * (1 + (x / math.sqrt(2)).erf()))],
    "gelu_tanh": [lambda x: 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())],
    "hypot": [lambda x, y: (x * x + y * y).sqrt()],
    "layer_norm": [lambda x, weight, bias: normed(x, -1) * weight + bias],
    "ldexp": [lambda x, y: x * y.exp2()],
    "lerp": [lambda x, y, weight: x + weight * (y - x), lambda x, y, weight: (1 - weight) * x + weight * y],
    "linear": [lambda x, weight, bias: x @ weight.mT + bias],
    "log10": [lambda x: x.log() / LN10],
    "log1p": [lambda x: (1 + x).log()],
    "log2": [lambda x: x.log() / LN2],
    "log_softmax": [lambda x, axis: x - x.exp().sum(axis, keepdim=True).log(), lambda x, axis: softmax(x, axis).log()],
    "log_sigmoid": [lambda x: -(1 + (-x).exp()).log(), lambda x: x - (1 + x.exp()).log()],
    "logaddexp": [lambda x, y: (x.exp() + y.exp()).log()],
    "logaddexp2": [lambda x, y: (x.exp2() + y.exp2()).log2()],
    "logcumsumexp": [lambda x, axis: x.exp().cumsum(axis).log()],
    "logit": [lambda x: (x / (1 - x)).log(), lambda x: x.log() - (1 - x).log()],
    "logsumexp": [lambda x, axis: x.exp().sum(axis).log()],
    "mean": [lambda x, axis: x.sum(axis) / x.shape[axis]],
    "mish": [lambda x: x * (1 + x.exp()).log().tanh()],
    "mse_loss": [mse_loss],
    "norm": [lambda x, ord, axis: (x * x).sum(axis).sqrt()],
    "outer": [lambda x, y: x[:, None] * y],
    "pow": [lambda x, y: (y * x.log()).exp()],
    "reciprocal": [lambda x: x**-1],
    "rms_norm": [lambda x, weight: x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt() * weight],
    "rsqrt": [lambda x: 1 / x.sqrt()],
    "sigmoid": [lambda x: 1 / (1 + (-x).exp()), lambda x: x.exp() / (1 + x.exp())],
    "silu": [lambda x: x * x.sigmoid(), lambda x: x / (1 + (-x).exp())],
    "sinc": [lambda x: (math.pi * x).sin() / (math.pi * x)],
    "sinh": [lambda x: (x.exp() - (-x).exp()) / 2],
    "softmax": [softmax],
    "softplus": [lambda x: (1 + x.exp()).log()],
    "std": [lambda x, axis: squares(x, axis).sqrt()],
    "tan": [lambda x: x.sin() / x.cos()],
    "tanh": [lambda x: x.sinh() / x.cosh()],
    "var": [squares],
    "xlog1py": [lambda x, y: x * (1 + y).log()],
    "xlogy": [lambda x, y: x * y.log()],
}
