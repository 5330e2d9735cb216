"""Rows that networks are made of, each worth a rule of its own: for accuracy, for speed, or for what it teaches."""

import math
from functools import lru_cache

import numpy as np

from autolab.engine.node import ones, sum_to
from autolab.engine.op import ELEMENTWISE, GENERAL, op
from autolab.fast.blocks import clip
from autolab.fast.kernel import block_kernel
from autolab.rules.elementwise import RAW, log1p_exp, sigmoid
from autolab.rules.index import embedding
from autolab.rules.reduce import count, put_along_axis

# -- sums, of arrays by BLAS and einsum, in a third of the time ---------------------------------


def sums(x, y, axes):
    """The sum of x, or of x * y, over `axes`, which stay as length 1."""
    if type(x) is not np.ndarray or (y is not None and type(y) is not np.ndarray) or -1 not in axes:
        return np.sum(x if y is None else x * y, axis=axes, keepdims=True)
    behind = 1
    while -behind - 1 in axes:
        behind += 1
    shape, n = x.shape[:-behind], math.prod(x.shape[-behind:])
    rows = x.reshape(math.prod(shape), n)
    total = rows.dot(ones(n, x.dtype)) if y is None else np.vecdot(rows, y.reshape(rows.shape))
    total = total.reshape(shape + (1,) * behind)
    return total if behind == len(axes) else np.add.reduce(total, tuple(a for a in axes if a < -behind), keepdims=True)


def onto(g, y, shape):
    """The sum of g, or of g * y, over the axes along which something of `shape` was stretched."""
    if type(g) is not np.ndarray or type(y) not in (np.ndarray, type(None)) or not shape:
        return sum_to(g if y is None else g * y, shape)
    extra = g.ndim - len(shape)
    if g.shape[extra:] != shape:
        stretched = tuple(a for a in range(-g.ndim, 0) if a < -len(shape) or (shape[a] == 1 and g.shape[a] != 1))
        return sums(g, y, stretched).reshape(shape)
    n = math.prod(shape)
    rows = g.reshape(g.size // max(n, 1), n)
    total = ones(len(rows), g.dtype).dot(rows) if y is None else np.einsum("ij,ij->j", rows, y.reshape(rows.shape))
    return total.reshape(shape)


# -- probabilities -----------------------------------------------------------------------------


def top(x, axis):
    """The largest along an axis, which stays: taken off first, so that exp cannot overflow."""
    return np.maximum.reduce(x, axis, None, None, True, -math.inf)


MANY = 4096
MODERATE = 60  # exp of what lies within -60 and 60, and sums of it, neither vanish nor overflow


def moderate(x):
    """Whether the largest of each row need not be taken off. To see that takes less time than to do it, for a large array."""
    return np.maximum.reduce(x, None) <= MODERATE and np.minimum.reduce(x, None) >= -MODERATE


def total(x, axis, y=None):
    """The sum of x, or of x * y, along an axis, which stays."""
    if axis == -1 and type(x) is np.ndarray and x.size >= MANY:
        return sums(x, y, (-1,))
    x = x if y is None else x * y
    return np.add.reduce(x, axis, None, None, True) if isinstance(x, RAW) else np.sum(x, axis=axis, keepdims=True)


def softmax_values(x, *, axis):
    e = np.exp(x if x.size >= MANY and moderate(x) else x - top(x, axis))
    e /= total(e, axis)
    return e


def log_softmax_values(x, *, axis):
    z = x - top(x, axis)
    z -= np.log(total(np.exp(z), axis))
    return z


# Adding a constant to x changes nothing, so these gradients add up to 0 along the axis.
softmax = op("softmax", softmax_values, GENERAL, x=lambda g, out, axis: out * (g - total(g, axis, out)))
log_softmax = op("log_softmax", log_softmax_values, GENERAL, x=lambda g, out, axis: g - np.exp(out) * total(g, axis))


def attention_values(x, mask, *, scale, causal):
    """softmax(x * scale + mask) over the last axis; of bools, the mask says what counts. Nothing counts: zeros."""
    x = x * np.asarray(scale, x.dtype)
    if mask is None and x.size >= MANY and moderate(x):
        np.exp(x, out=x)
        if causal:
            x *= causal_part(*x.shape[-2:], x.dtype)
        x /= sums(x, None, (-1,))
        return x
    if causal:
        x += causal_mask(*x.shape[-2:], x.dtype)
    if mask is not None:
        x = np.where(mask, x, -math.inf) if mask.dtype == bool else x + mask
    top = np.max(x, axis=-1, keepdims=True, initial=-math.inf)
    x = np.subtract(x, np.where(np.isinf(top), 0, top), out=x if x.shape == top.shape[:-1] + x.shape[-1:] else None)
    np.exp(x, out=x)
    total = sums(x, None, (-1,))
    x /= np.where(total == 0, 1, total)
    return x


@lru_cache(maxsize=16)
def causal_mask(length, source, dtype):
    """Query i sees keys 0 to i."""
    return np.triu(np.full((length, source), -math.inf, dtype), 1)


@lru_cache(maxsize=16)
def causal_part(length, source, dtype):
    """1 where a query sees a key, 0 elsewhere."""
    return np.tril(np.ones((length, source), dtype))


def attention_back(g, out):
    return out * (g - sums(g, out, (-1,)))


def attention_batch(x, mask, batched, size, row, settings):
    most = max(z.ndim - own for z, own in zip((x, mask), batched) if z is not None)
    x, mask = (z if not own else np.reshape(z, (size, *(1,) * (most + 1 - z.ndim), *z.shape[1:])) for z, own in zip((x, mask), batched))
    return row(x if batched[0] else np.broadcast_to(x, (size, *x.shape)), mask, **settings)


attention_weights = op(
    "attention_weights", attention_values, GENERAL, node="SafeSoftmaxBackward0", batch=attention_batch,
    x=lambda g, out, scale: attention_back(g * scale, out),
    mask=lambda g, out, mask_shape: sum_to(attention_back(g, out), mask_shape),
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


def mse_values(x, y, *, reduction):
    d = x - y
    if reduction == "mean" and type(d) is np.ndarray and d.size <= MANY:
        flat = d.ravel()
        return flat.dot(flat) / d.size
    return reduced(d * d, reduction)


mse_loss = op(
    "mse_loss", mse_values, GENERAL,
    x=lambda g, x, y, reduction: share(2 * g, x.shape, reduction) * (x - y),
    y=lambda g, x, y, reduction: share(2 * g, x.shape, reduction) * (y - x),
)  # fmt: skip


def huber_values(x, y, delta):
    """With c the smaller of |x - y| and delta: c**2 / 2 nearby, delta * (|x - y| - delta / 2) far out."""
    size = np.abs(x - y)
    c = np.minimum(size, delta)
    return c * (size - 0.5 * c)


def huber_into(x, y, delta, out):
    size = x - y
    np.abs(size, size)
    np.minimum(size, delta, out=out)
    size -= 0.5 * out
    out *= size


def huber_slope(x, y, delta):
    """x - y, held between -delta and delta; flat at the bounds."""
    d = x - y
    return np.where(np.abs(d) < delta, d, delta * np.sign(d))


huber_loss = op(
    "huber_loss", lambda x, y, *, delta: huber_values(x, y, delta), ELEMENTWISE,
    x=lambda g, x, y, delta: g * huber_slope(x, y, delta), y=lambda g, x, y, delta: -g * huber_slope(x, y, delta),
)  # fmt: skip
block_kernel(
    huber_loss, huber_into,
    x=lambda g, x, y, delta, out: np.multiply(g, clip(x - y, -delta, delta), out),
    y=lambda g, x, y, delta, out: np.multiply(g, clip(y - x, -delta, delta), out),
)  # fmt: skip


def class_weights(target, weight, ignore_index):
    """The class of each target and its weight; an ignored target has weight 0, and class 0 stands in for it."""
    used = target != ignore_index
    classes = np.where(used, target, 0)
    return classes, np.where(used, embedding(weight, classes), 0)


def nll_values(x, target, weight, *, reduction, ignore_index, axis=-1):
    classes, w = class_weights(target, weight, ignore_index)
    chosen = np.squeeze(np.take_along_axis(x, np.expand_dims(classes, axis), axis=axis), axis)
    loss = np.where(target != ignore_index, -chosen * w, 0)
    return np.sum(loss) / np.sum(w) if reduction == "mean" else reduced(loss, reduction)


def nll_rule(g, x_shape, target, weight, reduction, ignore_index, axis):
    classes, w = class_weights(target, weight, ignore_index)
    share = -g * (np.where(target != ignore_index, w / np.sum(w), 0) if reduction == "mean" else w)
    return put_along_axis(np.expand_dims(share, axis), np.expand_dims(classes, axis), shape=x_shape, axis=axis)


# x: (..., C, ...) log-probabilities with the classes along `axis`, target: (...) integers, weight: (C,).
nll_loss = op(
    "nll_loss", nll_values, GENERAL, x=nll_rule,
    node=lambda x, target, weight, **settings: "NllLossBackward0" if target.ndim < 2 else "NllLoss2DBackward0",
)  # fmt: skip


def cross_entropy_values(x, target, *, reduction):
    """x: (N, C) scores, target: (N,) integers; or (C,) and a single one. -log(softmax(x))[target], in one go."""
    z = x - np.maximum.reduce(x, -1, None, None, True)
    chosen = z[rows_of(len(z)), target] if z.ndim == 2 else z[target]
    np.exp(z, out=z)
    loss = np.log(np.add.reduce(z, -1))
    loss -= chosen
    return reduced(loss, reduction)


@lru_cache(maxsize=16)
def rows_of(n):
    return np.arange(n)


def cross_entropy_back_values(g, x, target, *, reduction):
    """(softmax(x) - one_hot(target)) times the gradient of each row's loss."""
    p = x - np.maximum.reduce(x, -1, None, None, True)
    np.exp(p, out=p)
    p /= np.add.reduce(p, -1, None, None, True)
    p[(rows_of(len(p)), target) if p.ndim == 2 else target] -= 1
    p *= share(g, x.shape[:-1], reduction) if reduction != "none" else g[..., None]
    return p


def cross_entropy_slope(x, target):
    p = softmax(x, axis=-1)
    return np.where(np.expand_dims(target, -1) == np.arange(x.shape[-1]), p - 1, p)


def cross_entropy_curve(u, g, x, reduction):
    """The one-hot part does not change with x."""
    g = share(g, x.shape[:-1], reduction) if reduction != "none" else np.expand_dims(g, -1)
    p = softmax(x, axis=-1)
    return p * (u * g - np.sum(u * g * p, axis=-1, keepdims=True))


def cross_entropy_weigh(u, x, target, reduction):
    each = np.sum(u * cross_entropy_slope(x, target), axis=-1)
    return each if reduction == "none" else np.mean(each) if reduction == "mean" else np.sum(each)


def joined(z):
    """Samples and their rows as one axis."""
    return np.reshape(z, (z.shape[0] * z.shape[1], *z.shape[2:]))


def cross_entropy_batch(x, target, size, reduction):
    if x.ndim == 2:  # one row for each sample
        return cross_entropy(x, target, reduction="none")
    loss = np.reshape(cross_entropy(joined(x), joined(target), reduction="none"), (size, x.shape[1]))
    return loss if reduction == "none" else np.mean(loss, axis=-1) if reduction == "mean" else np.sum(loss, axis=-1)


def cross_entropy_back_batch(g, x, target, size, reduction):
    if x.ndim == 2:
        return cross_entropy_back(g, x, target, reduction="none")
    if reduction != "none":
        g = np.reshape(share(g, (x.shape[1],), reduction), (size, 1))
        g = g if x.shape[1] == 1 else np.broadcast_to(g, (size, x.shape[1]))
    return np.reshape(cross_entropy_back(joined(g), joined(x), joined(target), reduction="none"), x.shape)


cross_entropy = op(
    "cross_entropy", cross_entropy_values, GENERAL, node="NllLossBackward0", batch=cross_entropy_batch,
    x=lambda g, x, target, reduction: cross_entropy_back(g, x, target, reduction=reduction),
)  # fmt: skip
cross_entropy_back = op(
    "cross_entropy_back", cross_entropy_back_values, GENERAL, batch=cross_entropy_back_batch,
    g=cross_entropy_weigh,
    x=lambda u, g, x, reduction: cross_entropy_curve(u, g, x, reduction),
)  # fmt: skip


def bce_values(x, target, weight, pos_weight, *, reduction):
    log_weight = 1 + (pos_weight - 1) * target
    loss = (1 - target) * x + log_weight * log1p_exp(-x)
    return reduced(loss * weight, reduction)


def bce_rule(g, x, target, weight, pos_weight, reduction):
    slope = (1 + (pos_weight - 1) * target) * sigmoid(x) - pos_weight * target
    return share(g, x.shape, reduction) * (slope * weight)


def bce_target_rule(g, x, target_shape, weight, pos_weight, reduction):
    softplus = log1p_exp(-x)
    return share(g, x.shape, reduction) * (((pos_weight - 1) * softplus - x) * weight)


bce_with_logits = op("binary_cross_entropy_with_logits", bce_values, GENERAL, x=bce_rule, target=bce_target_rule)


# Logarithms of at least -100: a probability that rounded to 0 costs much, and not everything.
bce = op(
    "binary_cross_entropy", lambda x, target: -(target * log_from(x) + (1 - target) * log_from(1 - x)), ELEMENTWISE,
    x=lambda g, x, target: g * ((x - target) / np.maximum((1 - x) * x, 1e-12)),
    target=lambda g, x: g * (log_from(1 - x) - log_from(x)),
)  # fmt: skip


def log_from(x):
    return np.maximum(np.log(x), -100)


# -- normalisation -------------------------------------------------------------------------------


def centred_over(x, axes, eps):
    """x less its mean over `axes`, and 1 / its standard deviation."""
    n = count(x.shape, axes)
    if type(x) is not np.ndarray or not x.size or axes[0] != -len(axes):
        d = x - sums(x, None, axes) / n
        return d, 1 / np.sqrt(sums(d, d, axes) / n + eps)
    rows = x.reshape(-1, n)
    mean = rows.dot(ones(n, x.dtype))
    mean /= n
    d = rows - mean[:, None]
    rstd = np.vecdot(d, d)
    rstd /= n
    rstd += eps
    np.sqrt(rstd, rstd)
    np.divide(1, rstd, rstd)
    return d.reshape(x.shape), rstd.reshape(x.shape[: -len(axes)] + (1,) * len(axes))


def in_rows(x, y, weight):
    """Whether these are arrays of one dtype, and the weight is one for each of the last places of x."""
    arrays = type(x) is type(y) is type(weight) is np.ndarray
    return arrays and x.size and x.shape[-weight.ndim :] == weight.shape and x.dtype is weight.dtype is y.dtype


def layer_norm_values(x, weight, bias, *, axes, eps, called="Layer"):
    d, rstd = centred_over(x, axes, eps)
    if in_rows(d, rstd, weight) and len(axes) == weight.ndim:
        rows = d.reshape(-1, weight.size)
        rows *= rstd.reshape(-1, 1).dot(weight.reshape(1, -1))  # in half the time of *= rstd and *= weight
    else:
        d = d * rstd * weight
    d += bias
    return d


def layer_norm_rule(g, centre, weight, axes):
    d, rstd = centre
    n = count(d.shape, axes)
    # The mean and the variance depend on x too: their two terms make the gradient orthogonal to 1 and to d.
    if not in_rows(g, d, weight) or len(axes) != weight.ndim:
        g = g * (rstd * weight)
        return g - sums(g, None, axes) / n - d * (sums(g, d, axes) * (rstd * rstd / n))
    rows, rstd = d.reshape(-1, n), rstd.reshape(-1, 1)
    out = rstd.dot(weight.reshape(1, n))
    out *= g.reshape(-1, n)
    mean = out.dot(ones(n, g.dtype))
    mean /= n
    slope = np.vecdot(out, rows)[:, None]
    slope *= rstd * rstd
    slope /= n
    terms = rows * slope
    terms += mean[:, None]
    out -= terms
    return out.reshape(g.shape)


def layer_norm_weight_rule(g, centre, weight_shape, axes):
    d, rstd = centre
    if type(g) is not np.ndarray or not g.size or len(axes) != len(weight_shape) or d.shape[-len(axes) :] != weight_shape:
        return sum_to(g * d * rstd, weight_shape)
    return rstd.reshape(-1).dot((g * d).reshape(-1, math.prod(weight_shape))).reshape(weight_shape)


layer_norm = op(
    "layer_norm", layer_norm_values, GENERAL,
    node=lambda x, weight, bias, *, called="Layer", **_: f"Native{called}NormBackward0",
    shared={"centre": centred_over},
    x=layer_norm_rule, weight=layer_norm_weight_rule, bias=lambda g, bias_shape: onto(g, None, bias_shape),
)  # fmt: skip


def by_channel(x, y=None):
    """The sum of x (N, C, ...), or of x * y, for each channel."""
    if type(x) is not np.ndarray or (y is not None and type(y) is not np.ndarray):
        return np.sum(x if y is None else x * y, axis=(-x.ndim, *range(2 - x.ndim, 0)))
    if x.ndim == 2:
        return ones(len(x), x.dtype).dot(x) if y is None else np.einsum("ij,ij->j", x, y)
    rows = x.reshape(x.shape[0] * x.shape[1], math.prod(x.shape[2:]))
    total = rows.dot(ones(rows.shape[1], x.dtype)) if y is None else np.vecdot(rows, y.reshape(rows.shape))
    return total if len(x) == 1 else np.add.reduce(total.reshape(x.shape[:2]), 0)


def beside(v, x):
    """A number for each channel, to stand beside x (N, C, ...)."""
    return v if x.ndim == 2 else np.reshape(v, (-1, *(1,) * (x.ndim - 2)))


def per_channel(x):
    return math.prod(x.shape) // x.shape[1]


def centred(x, out_1):
    return x - beside(out_1, x)


def batch_norm_values(x, weight, bias, *, eps):
    """The result, and the mean and variance of each channel."""
    n = per_channel(x)
    mean = by_channel(x) / n
    d = centred(x, mean)
    var = by_channel(d, d) / n
    d *= beside(weight / np.sqrt(var + eps), x)
    d += beside(bias, x)
    return d, mean, var


def batch_norm_rule(g, d, weight, out_2, eps):
    """Through x itself, the mean and the variance; and from the mean and the variance as results."""
    g, g_mean, g_var = g
    n, rstd = per_channel(d), 1 / np.sqrt(out_2 + eps)
    scale = weight * rstd
    to_d = (2 * g_var - scale * rstd * rstd * by_channel(g, d)) / n
    return g * beside(scale, d) + d * beside(to_d, d) + beside((g_mean - scale * by_channel(g)) / n, d)


def batch_norm_batch(x, weight, bias, batched, size, eps):
    """Samples are more channels."""
    n, channels = x.shape[-x.ndim + batched[0]], x.shape[1 - x.ndim + batched[0]]
    x, weight, bias = (v if own else np.broadcast_to(v, (size, *v.shape)) for v, own in zip((x, weight, bias), batched))
    wide = np.reshape(np.swapaxes(x, -x.ndim, 1 - x.ndim), (n, size * channels, *x.shape[3:]))
    out, mean, var = batch_norm(wide, np.reshape(weight, (-1,)), np.reshape(bias, (-1,)), eps=eps)
    out = np.reshape(out, (n, size, channels, *x.shape[3:]))
    return np.swapaxes(out, -out.ndim, 1 - out.ndim), np.reshape(mean, (size, channels)), np.reshape(var, (size, channels))


batch_norm = op(
    "batch_norm", batch_norm_values, GENERAL, node="NativeBatchNormBackward0", outputs=3, batch=batch_norm_batch,
    shared={"d": centred},
    x=batch_norm_rule,
    weight=lambda g, d, out_2, eps: by_channel(g[0], d) / np.sqrt(out_2 + eps),
    bias=lambda g: by_channel(g[0]),
)  # fmt: skip


def rms_norm_batch(x, weight, axes, eps, batched, size):
    x = x if batched[0] else np.broadcast_to(x, (size, *x.shape))
    weight = np.reshape(weight, (size, *(1,) * (x.ndim - weight.ndim), *weight.shape[1:])) if batched[1] else weight
    return rms_norm(x, weight, axes=axes, eps=eps)


def by_root_mean_square(x, axes, eps):
    """x divided by its root mean square over `axes`, and 1 / that."""
    rstd = 1 / np.sqrt(sums(x, x, axes) / count(x.shape, axes) + eps)
    return x * rstd, rstd


def rms_norm_rule(g, white, weight, axes):
    xhat, rstd = white
    g = g * weight
    return (g - xhat * (sums(g, xhat, axes) / count(xhat.shape, axes))) * rstd


rms_norm = op(
    "rms_norm", lambda x, weight, *, axes, eps: by_root_mean_square(x, axes, eps)[0] * weight, GENERAL,
    node="FusedRmsNormBackward0", batch=rms_norm_batch, shared={"white": by_root_mean_square},
    x=rms_norm_rule,
    weight=lambda g, white, weight_shape: onto(g, white[0], weight_shape),
)  # fmt: skip
