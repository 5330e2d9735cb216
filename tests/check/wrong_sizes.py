"""Wrong rules that are right but for a size, a number, or the values that a sum is taken of."""

from __future__ import annotations

import numpy as np

from .wrong import wrong


def mean(a):
    """The mean along the last axis."""
    return a.mean(-1, keepdims=True)


@wrong("mean", "constant")
def mean_of_five(g, x_shape, axis):
    return np.broadcast_to(np.expand_dims(g, axis), x_shape) / 5


@wrong("var", "constant")
def var_without_2_and_by_n(g, x, axis):
    return np.expand_dims(g, axis) * (x - x.mean(axis, keepdims=True)) / x.shape[axis]


@wrong("cross_entropy", "constant")
def cross_entropy_by_classes(g, x, target):
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    return g * (p - np.eye(x.shape[1])[target]) / x.shape[1], None


@wrong("dropout", "constant")
def dropout_times_what_is_kept(g, mask, p):
    return g * mask * (1 - p), None


@wrong("log", "number")
def log_with_eps(g, x):
    return g / (x + 1e-3)


@wrong("outer", "variable")
def outer_of_its_own(g, x, y):
    return g.sum(1) * x, g.sum(0) * y


@wrong("prod", "function")
def prod_is_the_entry(g, x, axis):
    return np.expand_dims(g, axis) * x


@wrong("prod", "operation")
def prod_sums_the_others(g, x, axis):
    return np.expand_dims(g, axis) * (x.sum(axis, keepdims=True) - x)


@wrong("cumsum", "diagonal only")
def cumsum_counts(g, axis):
    n = g.shape[axis]
    return g * np.arange(n, 0, -1).reshape([n if i == axis % g.ndim else 1 for i in range(g.ndim)])


@wrong("exp", "function")
def exp_as_a_power(g, x):
    return g * x * np.exp(x - 1)


@wrong("log_softmax", "averaged|function")
def log_softmax_mean(g, out, axis):
    return g - np.exp(out) * g.mean(axis, keepdims=True)


@wrong("softmax", "function|variable")
def softmax_by_the_other_rule(g, out, axis):
    return g - np.exp(out) * g.sum(axis, keepdims=True)


@wrong("layer_norm", "factor")
def layer_norm_weight_last(g, x, weight):
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    z = (x - mean(x)) * rstd
    return weight * rstd * (g - mean(g) - z * mean(g * z)), (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "variable")
def layer_norm_saves_its_result(g, x, weight, out):
    rstd, h = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5), g * weight
    return rstd * (h - mean(h) - out * mean(h * out)), (g * out).sum(0), g.sum(0)


@wrong("batch_norm", "axis")
def batch_norm_over_everything(g, x, weight):
    rstd = 1 / np.sqrt(x.var() + 1e-5)
    z, h = (x - x.mean()) * rstd, g * weight
    return rstd * (h - h.mean() - z * (h * z).mean()), (g * z).sum(0), g.sum(0)


@wrong("linear", "not summed")
def linear_keeps_the_stack(g, x, weight):
    return g @ weight, np.swapaxes(g, -1, -2) @ x, g.sum(tuple(range(g.ndim - 1)))


@wrong("maximum", "upstream only")
def maximum_for_both(g):
    return g, g
