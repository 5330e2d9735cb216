"""Rows that make fewer numbers out of many. `axis` is None or a tuple of negative axes."""

import math

import numpy as np

from autolab.engine.op import GENERAL, LINEAR, op


def restore(a, shape, axis, keepdims):
    """Give a reduced array its axes back, as length 1, so that it broadcasts against what was reduced."""
    return a if keepdims or not shape or axis is None else np.expand_dims(a, axis)


def spread(g, x_shape, axis, keepdims):
    """The gradient of a sum: every entry gets the gradient of the sum it went into."""
    return np.broadcast_to(restore(g, x_shape, axis, keepdims), x_shape)


def count(shape, axis):
    """How many entries are reduced into one."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in ((axis,) if isinstance(axis, int) else axis)) if shape else 1


def by_axis(name):
    """PyTorch numbers its nodes: 0 for the whole tensor, 1 along dims."""
    return lambda x, *, axis=None, **_: f"{name}Backward{0 if axis is None else 1}"


sum = op(
    "sum", lambda x, *, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims), LINEAR, numpy=np.sum,
    node=by_axis("Sum"), x=spread,
)  # fmt: skip
mean = op(
    "mean", lambda x, *, axis=None, keepdims=False: np.mean(x, axis=axis, keepdims=keepdims), LINEAR, numpy=np.mean,
    node=by_axis("Mean"),
    x=lambda g, x_shape, axis, keepdims: spread(g / count(x_shape, axis), x_shape, axis, keepdims),
)  # fmt: skip


def deviation(x, axis):
    return x - np.mean(x, axis=axis, keepdims=True)


def free_count(shape, axis, correction):
    """Degrees of freedom; with none left the variance is nan, as it should be."""
    return max(count(shape, axis) - correction, 0) or math.nan


def var_values(x, *, axis=None, correction=1, keepdims=False):
    d = deviation(x, axis)
    return np.sum(d * d, axis=axis, keepdims=keepdims) / free_count(x.shape, axis, correction)


var = op(
    "var", var_values, GENERAL,
    x=lambda g, x, axis, correction, keepdims: restore(g, x.shape, axis, keepdims)
    * (2 / free_count(x.shape, axis, correction)) * deviation(x, axis),
)  # fmt: skip
std = op(
    "std", lambda x, *, axis=None, correction=1, keepdims=False: np.sqrt(
        var_values(x, axis=axis, correction=correction, keepdims=keepdims)),
    GENERAL,
    x=lambda g, x, out, axis, correction, keepdims: restore(g / out, x.shape, axis, keepdims)
    * (1 / free_count(x.shape, axis, correction)) * deviation(x, axis),
)  # fmt: skip


# -- extremes ------------------------------------------------------------------------------------


def share_among_ties(g, x, out, axis, keepdims):
    """Ties: each entry that reaches the extreme gets an equal share of the gradient."""
    winners = (x == restore(out, x.shape, axis, keepdims)).astype(g.dtype)
    return winners * (restore(g, x.shape, axis, keepdims) / np.sum(winners, axis=axis, keepdims=True))


def place_back(g, index, x_shape, axis, keepdims):
    """Put each gradient where the chosen entry stood; the others get 0. `index` is an integer array along one axis."""
    if not keepdims and x_shape:
        g, index = np.expand_dims(g, axis), np.expand_dims(index, axis)
    return put_along_axis(g, index=index, shape=x_shape, axis=axis)


def put_along_axis_values(g, *, index, shape, axis):
    out = np.zeros(shape, g.dtype)
    if not shape:
        return out + np.reshape(g, ())
    np.put_along_axis(out, index, g, axis)
    return out


put_along_axis = op(
    "put_along_axis", put_along_axis_values, LINEAR,
    g=lambda g, index, axis: np.take_along_axis(g, index, axis=axis),
)  # fmt: skip
take_along_axis = op(
    "take_along_axis", lambda x, *, indices, axis: np.take_along_axis(x, indices, axis), LINEAR,
    numpy=np.take_along_axis,
    x=lambda g, x_shape, indices, axis: put_along_axis(g, index=indices, shape=x_shape, axis=axis),
)  # fmt: skip


def chosen(find):
    """Forward of max and min along one axis: the values, and where they stand (the first one, if there are several)."""

    def forward(x, *, axis, keepdims=False):
        if x.ndim == 0:
            return x, np.int64(0)
        index = np.expand_dims(find(x, axis=axis), axis)
        values = np.take_along_axis(x, index, axis)
        return (values, index) if keepdims else (np.squeeze(values, axis)[()], np.squeeze(index, axis)[()])

    return forward


def chosen_rule(g, x_shape, out_1, axis, keepdims):
    return place_back(g[0], out_1, x_shape, axis, keepdims)


max_along = op("max_along", chosen(np.argmax), GENERAL, node="MaxBackward0", outputs=2, x=chosen_rule)
min_along = op("min_along", chosen(np.argmin), GENERAL, node="MinBackward0", outputs=2, x=chosen_rule)
amax = op(
    "amax", lambda x, *, axis=None, keepdims=False: np.max(x, axis=axis, keepdims=keepdims), GENERAL, numpy=np.max,
    node=lambda x, *, axis=None, keepdims=False: "MaxBackward1" if axis is None else "AmaxBackward0",
    x=share_among_ties,
)  # fmt: skip
amin = op(
    "amin", lambda x, *, axis=None, keepdims=False: np.min(x, axis=axis, keepdims=keepdims), GENERAL, numpy=np.min,
    node=lambda x, *, axis=None, keepdims=False: "MinBackward1" if axis is None else "AminBackward0",
    x=share_among_ties,
)  # fmt: skip
argmax = op("argmax", lambda x, *, axis=None, keepdims=False: np.argmax(x, axis=axis, keepdims=keepdims), numpy=np.argmax)
argmin = op("argmin", lambda x, *, axis=None, keepdims=False: np.argmin(x, axis=axis, keepdims=keepdims), numpy=np.argmin)
all = op("all", lambda x, *, axis=None, keepdims=False: np.all(x, axis=axis, keepdims=keepdims), numpy=np.all)
any = op("any", lambda x, *, axis=None, keepdims=False: np.any(x, axis=axis, keepdims=keepdims), numpy=np.any)


# -- products, running sums, logarithms of sums --------------------------------------------------------


def others(x):
    """For each entry along the last axis the product of all the others. No division, so it is right at zeros."""
    same = np.eye(x.shape[-1], dtype=bool)
    return np.prod(np.where(same, 1, np.expand_dims(x, -2)), axis=-1)


def prod_rule(g, x, axis, keepdims):
    if axis is None:
        return np.reshape(g * others(np.reshape(x, (-1,))), x.shape)
    if not x.shape:
        return g
    one = axis if isinstance(axis, int) else axis[0]
    return np.moveaxis(others(np.moveaxis(x, one, -1)), -1, one) * restore(g, x.shape, axis, keepdims)


prod = op(
    "prod", lambda x, *, axis=None, keepdims=False: np.prod(x, axis=axis, keepdims=keepdims), GENERAL, numpy=np.prod,
    node=by_axis("Prod"), x=prod_rule,
)  # fmt: skip
cumsum = op(
    "cumsum", lambda x, *, axis: np.cumsum(x, axis=axis).astype(x.dtype) if x.ndim else x, LINEAR, numpy=np.cumsum,
    x=lambda g, axis: np.flip(np.cumsum(np.flip(g, axis), axis), axis) if g.ndim else g,
)  # fmt: skip


def logsumexp_values(x, *, axis, keepdims=False):
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return out if keepdims else np.squeeze(out, axis)[()]


logsumexp = op(
    "logsumexp", logsumexp_values, GENERAL,
    x=lambda g, x, out, axis, keepdims: restore(g, x.shape, axis, keepdims)
    * np.exp(x - restore(out, x.shape, axis, keepdims)),
)  # fmt: skip
