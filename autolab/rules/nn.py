"""Rows that networks are made of, each worth a rule of its own: for accuracy, for speed, or for what it teaches."""

import math

import numpy as np

from autolab.engine.node import sum_to
from autolab.engine.op import GENERAL, op
from autolab.rules.elementwise import sigmoid
from autolab.rules.index import embedding
from autolab.rules.reduce import put_along_axis


def softmax_values(x, *, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-math.inf))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax_values(x, *, axis):
    z = x - np.max(x, axis=axis, keepdims=True, initial=-math.inf)
    return z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))


# Adding a constant to x changes nothing, so these gradients add up to 0 along the axis.
softmax = op(
    "softmax", softmax_values, GENERAL,
    x=lambda g, out, axis: out * (g - np.sum(g * out, axis=axis, keepdims=True)),
)  # fmt: skip
log_softmax = op(
    "log_softmax", log_softmax_values, GENERAL,
    x=lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True),
)  # fmt: skip


# -- losses ------------------------------------------------------------------------------------


def reduced(loss, reduction):
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)  # np.sum and np.mean, without wrappers that cost more than a small loss
    return total / loss.size if reduction == "mean" else total


def share(g, shape, reduction):
    """The gradient of each entry of a loss before it was reduced."""
    return g / math.prod(shape) if reduction == "mean" else g


mse_loss = op(
    "mse_loss", lambda x, y, *, reduction: reduced((x - y) * (x - y), reduction), GENERAL,
    x=lambda g, x, y, reduction: share(2 * g, x.shape, reduction) * (x - y),
    y=lambda g, x, y, reduction: share(2 * g, x.shape, reduction) * (y - x),
)  # fmt: skip


def class_weights(target, weight, ignore_index):
    """The class of each target and its weight; an ignored target has weight 0, and class 0 stands in for it."""
    used = target != ignore_index
    classes = np.where(used, target, 0)
    return classes, np.where(used, embedding(weight, classes), 0)


def nll_values(x, target, weight, *, reduction, ignore_index):
    classes, w = class_weights(target, weight, ignore_index)
    chosen = np.take_along_axis(x, np.expand_dims(classes, -1), axis=-1)[..., 0]
    loss = np.where(target != ignore_index, -chosen * w, 0)
    return np.sum(loss) / np.sum(w) if reduction == "mean" else reduced(loss, reduction)


def nll_rule(g, x_shape, target, weight, reduction, ignore_index):
    classes, w = class_weights(target, weight, ignore_index)
    share = -g * (np.where(target != ignore_index, w / np.sum(w), 0) if reduction == "mean" else w)
    return put_along_axis(np.expand_dims(share, -1), np.expand_dims(classes, -1), shape=x_shape, axis=-1)


# x: (..., C) log-probabilities, target: (...) integers, weight: (C,).
nll_loss = op("nll_loss", nll_values, GENERAL, x=nll_rule)


def bce_values(x, target, weight, pos_weight, *, reduction):
    log_weight = 1 + (pos_weight - 1) * target
    loss = (1 - target) * x + log_weight * (np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0))
    return reduced(loss * weight, reduction)


def bce_rule(g, x, target, weight, pos_weight, reduction):
    slope = (1 + (pos_weight - 1) * target) * sigmoid(x) - pos_weight * target
    return share(g, x.shape, reduction) * (slope * weight)


def bce_target_rule(g, x, target_shape, weight, pos_weight, reduction):
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)
    return share(g, x.shape, reduction) * (((pos_weight - 1) * softplus - x) * weight)


bce_with_logits = op(
    "binary_cross_entropy_with_logits", bce_values, GENERAL, x=bce_rule, target=bce_target_rule,
)  # fmt: skip


# -- normalisation -------------------------------------------------------------------------------


def normalised(x, axes, eps):
    """x with mean 0 and variance 1 over `axes`, and 1 / its standard deviation."""
    d = x - np.mean(x, axis=axes, keepdims=True)
    rstd = 1 / np.sqrt(np.mean(d * d, axis=axes, keepdims=True) + eps)
    return d * rstd, rstd


def layer_norm_rule(g, x, weight, axes, eps):
    xhat, rstd = normalised(x, axes, eps)
    g = g * weight
    # The mean and the variance depend on x too: their two terms make the gradient orthogonal to 1 and to xhat.
    return rstd * (g - np.mean(g, axis=axes, keepdims=True) - xhat * np.mean(g * xhat, axis=axes, keepdims=True))


layer_norm = op(
    "layer_norm", lambda x, weight, bias, *, axes, eps: normalised(x, axes, eps)[0] * weight + bias, GENERAL,
    node="NativeLayerNormBackward0",
    x=layer_norm_rule,
    weight=lambda g, x, weight_shape, axes, eps: sum_to(g * normalised(x, axes, eps)[0], weight_shape),
    bias=lambda g, bias_shape: sum_to(g, bias_shape),
)  # fmt: skip
