"""Rows that make fewer numbers out of many. `axis` is None or a tuple of negative axes."""

import math

import numpy as np

from autolab.dtypes import as_places
from autolab.engine.op import GENERAL, LINEAR, op
from autolab.rules.elementwise import keep, or_one


def restore(a, shape, axis, keepdims):
    """Give a reduced array its axes back, as length 1, so that it broadcasts against what was reduced."""
    return a if keepdims or not shape or axis is None else np.reshape(a, with_ones(shape, axis))


def with_ones(shape, axis):
    """The shape with length 1 in place of the axes that are reduced."""
    lengths = list(shape)
    for i in (axis,) if isinstance(axis, int) else axis:
        lengths[i] = 1
    return tuple(lengths)


def spread(g, x_shape, axis, keepdims):
    """The gradient of a sum: every entry gets the gradient of the sum it went into."""
    g = restore(g, x_shape, axis, keepdims)
    return np.broadcast_to(g, x_shape)


def count(shape, axis):
    """How many entries are reduced into one."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in ((axis,) if isinstance(axis, int) else axis)) if shape else 1


def merge_samples(x):
    """The samples of a batch and their rows as one axis: (N, M, ...) as (N * M, ...)."""
    return np.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def channel_sums(x):
    """The sum of x (N, C, ...) for each channel."""
    return np.sum(x, axis=(-x.ndim, *range(2 - x.ndim, 0)))


def by_axis(name):
    """PyTorch numbers its nodes: 0 for the whole tensor, 1 along dims."""
    return lambda x, *, axis=None, **_: f"{name}Backward{0 if axis is None else 1}"


sum = op(
    "sum", lambda x, *, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims), LINEAR,
    numpy=np.sum, node=by_axis("Sum"), x=spread,
)  # fmt: skip
mean = op(
    "mean", lambda x, *, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims) / count(x.shape, axis), LINEAR,
    numpy=np.mean, node=by_axis("Mean"),
    x=lambda g, x_shape, axis, keepdims: spread(g / count(x_shape, axis), x_shape, axis, keepdims),
)  # fmt: skip


def deviation(x, axis):
    return x - np.mean(x, axis=axis, keepdims=True)


def freedom(shape, axis, correction):
    """Degrees of freedom. With none left the variance is 0/0, or inf, as it should be."""
    return max(count(shape, axis) - correction, 0)


def var_values(x, *, axis=None, correction=1, keepdims=False):
    d = deviation(x, axis)
    return np.sum(d * d, axis=axis, keepdims=keepdims) / freedom(x.shape, axis, correction)


var = op(
    "var", var_values, GENERAL,
    x=lambda g, x, axis, correction, keepdims: restore(2 * g, x.shape, axis, keepdims)
    * deviation(x, axis) / freedom(x.shape, axis, correction),
)  # fmt: skip
# Where all entries are equal the root has no slope; the gradient there is 0.
std = op(
    "std", lambda x, *, axis=None, correction=1, keepdims=False: np.sqrt(
        var_values(x, axis=axis, correction=correction, keepdims=keepdims)),
    GENERAL,
    x=lambda g, x, out, axis, correction, keepdims: restore(keep(g / or_one(out), out != 0), x.shape, axis, keepdims)
    * deviation(x, axis) / freedom(x.shape, axis, correction),
)  # fmt: skip


def beside_mean(values):
    """What goes with the mean: the two results of one node."""
    return lambda x, *, axis=None, correction=1, keepdims=False: (
        values(x, axis=axis, correction=correction, keepdims=keepdims), mean(x, axis=axis, keepdims=keepdims),
    )  # fmt: skip


def of_mean(g, x_shape, axis, keepdims):
    return restore(g, x_shape, axis, keepdims) / count(x_shape, axis)


var_mean = op(
    "var_mean", beside_mean(var_values), GENERAL, outputs=2,
    x=lambda g, x, axis, correction, keepdims: restore(2 * g[0], x.shape, axis, keepdims)
    * deviation(x, axis) / freedom(x.shape, axis, correction) + of_mean(g[1], x.shape, axis, keepdims),
)  # fmt: skip
std_mean = op(
    "std_mean", beside_mean(std.forward), GENERAL, outputs=2,
    x=lambda g, x, out_0, axis, correction, keepdims: restore(keep(g[0] / or_one(out_0), out_0 != 0), x.shape, axis, keepdims)
    * deviation(x, axis) / freedom(x.shape, axis, correction) + of_mean(g[1], x.shape, axis, keepdims),
)  # fmt: skip


def norm_values(x, *, ord=2, axis=None, keepdims=False):
    if ord == 2:
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    size = np.abs(x)
    if math.isinf(ord):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis=axis, keepdims=keepdims).astype(x.dtype)
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def norm_rule(g, x, out, ord, axis, keepdims):
    """At 0, where the norm has a kink, the gradient is 0."""
    g, out = restore(g, x.shape, axis, keepdims), restore(out, x.shape, axis, keepdims)
    if ord == 0:
        return np.zeros_like(x)
    if ord == 2:
        return g * keep(x / or_one(out), out != 0)
    if math.isinf(ord):
        return np.sign(x) * among_ties(g, np.abs(x) == out, axis)
    return g * (np.sign(x) * (or_one(np.abs(x)) / or_one(out)) ** (ord - 1))


norm = op("norm", norm_values, GENERAL, node="LinalgVectorNormBackward0", x=norm_rule)


# -- extremes ------------------------------------------------------------------------------------


def among_ties(g, winners, axis):
    """Ties: each entry that reaches the extreme gets an equal share of the gradient. `g` has its axes back."""
    winners = winners.astype(g.dtype)
    return winners * (g / np.sum(winners, axis=axis, keepdims=True))


def extreme_rule(g, x, out, axis, keepdims):
    return among_ties(restore(g, x.shape, axis, keepdims), x == restore(out, x.shape, axis, keepdims), axis)


def place_back(g, index, x_shape, axis, keepdims):
    """Put each gradient where the chosen entry stood; the others get 0. `index` names one entry along the axis."""
    if not keepdims and x_shape:
        g, index = np.expand_dims(g, axis), np.expand_dims(index, axis)
    return put_along_axis(g, index, shape=x_shape, axis=axis)


def put_along_axis_values(g, index, *, shape, axis):
    out = np.zeros(shape, g.dtype)
    if not shape:
        return out + np.reshape(g, ())
    np.put_along_axis(out, index, g, axis)
    return out


put_along_axis = op("put_along_axis", put_along_axis_values, LINEAR, g=lambda g, index, axis: np.take_along_axis(g, index, axis=axis))


def extreme_along(extreme, find):
    """Forward of max and min along one axis: the values, and where they stand (the first one, if there are several)."""

    def forward(x, *, axis, keepdims=False):
        if x.ndim == 0:
            return np.copy(x), np.int64(0)
        return extreme.reduce(x, axis, keepdims=keepdims), as_places(find(x, axis=axis, keepdims=keepdims))

    return forward


def extreme_along_rule(g, x_shape, out_1, axis, keepdims):
    return place_back(g[0], out_1, x_shape, axis, keepdims)


max_along = op("max_along", extreme_along(np.maximum, np.argmax), GENERAL, node="MaxBackward0", outputs=2, x=extreme_along_rule)
min_along = op("min_along", extreme_along(np.minimum, np.argmin), GENERAL, node="MinBackward0", outputs=2, x=extreme_along_rule)
# The extreme of the whole tensor may be nan; then every nan reaches it.
max_of_all = op("max", lambda x: np.max(x), GENERAL, node="MaxBackward1", x=lambda g, x, out: among_ties(g, (x == out) | np.isnan(x), None))
min_of_all = op("min", lambda x: np.min(x), GENERAL, node="MinBackward1", x=lambda g, x, out: among_ties(g, (x == out) | np.isnan(x), None))
amax = op("amax", lambda x, *, axis=None, keepdims=False: np.max(x, axis=axis, keepdims=keepdims), GENERAL, numpy=np.max, x=extreme_rule)
amin = op("amin", lambda x, *, axis=None, keepdims=False: np.min(x, axis=axis, keepdims=keepdims), GENERAL, numpy=np.min, x=extreme_rule)
argmax = op("argmax", lambda x, *, axis=None, keepdims=False: as_places(np.argmax(x, axis=axis, keepdims=keepdims)), numpy=np.argmax)
argmin = op("argmin", lambda x, *, axis=None, keepdims=False: as_places(np.argmin(x, axis=axis, keepdims=keepdims)), numpy=np.argmin)
all = op("all", lambda x, *, axis=None, keepdims=False: np.all(x, axis=axis, keepdims=keepdims), numpy=np.all)
any = op("any", lambda x, *, axis=None, keepdims=False: np.any(x, axis=axis, keepdims=keepdims), numpy=np.any)


# -- products, running sums, logarithms of sums --------------------------------------------------------


def others(x):
    """For each entry along the last axis the product of all the others. No division, so it is right at zeros.

    Pair the entries up: what is missing from a product is the partner, times the products of all other pairs.
    """
    n = x.shape[-1]
    if n < 2:
        return np.ones(x.shape, x.dtype)
    first, second = x[..., : n - n % 2 : 2], x[..., 1::2]
    pairs = first * second
    rest = others(pairs if n % 2 == 0 else np.concatenate([pairs, x[..., -1:]], -1))
    both = rest[..., : n // 2]
    woven = np.reshape(np.stack([both * second, both * first], -1), (*x.shape[:-1], n - n % 2))
    return woven if n % 2 == 0 else np.concatenate([woven, rest[..., -1:]], -1)


def prod_rule(g, x, axis, keepdims):
    if axis is None:
        return np.reshape(g * others(np.reshape(x, (-1,))), x.shape)
    if not x.shape:
        return g
    one = axis if isinstance(axis, int) else axis[0]
    return np.moveaxis(others(np.moveaxis(x, one, -1)), -1, one) * restore(g, x.shape, axis, keepdims)


def prod_values(x, *, axis=None, keepdims=False):
    return np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


prod = op("prod", prod_values, GENERAL, numpy=np.prod, node=by_axis("Prod"), x=prod_rule)
cumsum = op(
    "cumsum", lambda x, *, axis: np.cumsum(x, axis=axis).astype(x.dtype) if x.ndim else np.copy(x), LINEAR, numpy=np.cumsum,
    x=lambda g, axis: np.flip(np.cumsum(np.flip(g, axis), axis), axis) if g.ndim else g,
)  # fmt: skip


def logsumexp_values(x, *, axis, keepdims=False):
    top = np.max(np.real(x), axis=axis, keepdims=True, initial=-math.inf)
    top = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return out if keepdims else np.squeeze(out, axis)[()]


logsumexp = op(
    "logsumexp", logsumexp_values, GENERAL,
    x=lambda g, x, out, axis, keepdims: restore(g, x.shape, axis, keepdims)
    * np.exp(x - restore(out, x.shape, axis, keepdims)),
)  # fmt: skip


# -- running products and logarithms, along one negative axis ------------------------------------------


def call_row(x, row, settings):
    """How vmap runs a row whose axes are counted from the end: one axis more in front, for the samples, changes nothing."""
    return row(x, **settings)


def shifted(a, by):
    """a[i + by] along the last axis, 0 where there is none."""
    return np.concatenate([a[..., by:], np.zeros_like(a[..., :by])], -1)


def running_back(g, factor):
    """r[i] = g[i] + factor[i] r[i + 1] along the last axis, by steps that double."""
    r, step = g, 1
    while step < g.shape[-1]:
        r = r + factor * shifted(r, step)
        factor = factor * shifted(factor, step)
        step = 2 * step
    return r


def cumprod_rule(g, x, out, axis):
    """No division, so it is right at zeros: the product of what comes before, times what the factors behind make of g."""
    g, x, out = (np.moveaxis(a, axis, -1) for a in (g, x, out))
    before = np.concatenate([np.zeros_like(out[..., :1]) + 1, out[..., :-1]], -1)
    return np.moveaxis(before * running_back(g, shifted(x, 1)), -1, axis)


cumprod = op("cumprod", lambda x, *, axis: np.cumprod(x, axis=axis).astype(x.dtype), numpy=np.cumprod, batch=call_row, x=cumprod_rule)


def logcumsumexp_rule(g, x, out, axis):
    """The sum of g[j] exp(x[i] - out[j]) from j = i on, taken from one step to the next: no exponent is above 0."""
    g, x, out = (np.moveaxis(a, axis, -1) for a in (g, x, out))
    later = np.concatenate([out[..., 1:], out[..., -1:]], -1)
    step = np.exp(np.where(out == later, 0, out - later))
    return np.moveaxis(np.exp(x - out) * running_back(g, step), -1, axis)


logcumsumexp = op("logcumsumexp", lambda x, *, axis: np.logaddexp.accumulate(x, axis), batch=call_row, x=logcumsumexp_rule)
nansum = op(
    "nansum", lambda x, *, axis=None, keepdims=False: np.sum(np.where(np.isnan(x), 0, x), axis=axis, keepdims=keepdims),
    x=lambda g, x, axis, keepdims: keep(spread(g, x.shape, axis, keepdims), ~np.isnan(x)),
    batch=lambda x, axis, keepdims: nansum(x, axis=tuple(range(1 - x.ndim, 0)) if axis is None else axis, keepdims=keepdims),
)  # fmt: skip
