"""Rows that networks are made of, each worth a rule of its own: for accuracy, or for what it teaches."""

import math

import numpy as np

from autolab.engine.node import sum_to
from autolab.engine.op import ELEMENTWISE, GENERAL, HOLOMORPHIC, op
from autolab.rules.elementwise import sigmoid, softplus
from autolab.rules.index import embedding
from autolab.rules.reduce import channel_sums, mean, merge_samples, put_along_axis

# -- probabilities -----------------------------------------------------------------------------


def softmax_values(x, *, axis):
    """exp(x) / sum(exp(x)); the largest is taken off first, so that exp cannot overflow."""
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
softmax_back = softmax.rules["x"].function
log_softmax = op(
    "log_softmax", log_softmax_values, GENERAL,
    x=lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True),
)  # fmt: skip


def attention_values(x, mask, *, scale, causal):
    """softmax(x * scale + mask) over the last axis; of bools, the mask says what counts. Nothing counts: zeros.

    causal: query i sees keys 0 to i.
    """
    x = x * np.asarray(scale, x.dtype)
    if causal:
        x = x + np.triu(np.full(x.shape[-2:], -math.inf, x.dtype), 1)
    if mask is not None:
        x = np.where(mask, x, -math.inf) if mask.dtype == bool else x + mask
    top = np.max(x, axis=-1, keepdims=True, initial=-math.inf)
    e = np.exp(x - np.where(np.isinf(top), 0, top))
    total = np.sum(e, axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def attention_batch(x, mask, batched, size, row, settings):
    most = max(z.ndim - own for z, own in zip((x, mask), batched) if z is not None)
    x, mask = (z if not own else np.reshape(z, (size, *(1,) * (most + 1 - z.ndim), *z.shape[1:])) for z, own in zip((x, mask), batched))
    return row(x if batched[0] else np.broadcast_to(x, (size, *x.shape)), mask, **settings)


attention_weights = op(
    "attention_weights", attention_values, GENERAL, node="SafeSoftmaxBackward0", batch=attention_batch,
    x=lambda g, out, scale: softmax_back(g * scale, out, -1),
    mask=lambda g, out, mask_shape: sum_to(softmax_back(g, out, -1), mask_shape),
)  # fmt: skip


def attended(queries, keys, values, *, scale, causal):
    return attention_weights(queries @ keys.mT, None, scale=scale, causal=causal) @ values


def attention_rule(g, xs, out, scale, causal):
    """The weights are not kept but found again: there is one for each pair of a query and a key."""
    queries, keys, values = xs
    weights = attention_weights(queries @ keys.mT, None, scale=scale, causal=causal)
    g_scores = weights * (g @ values.mT - np.sum(g * out, axis=-1, keepdims=True)) * scale
    return [g_scores @ keys, g_scores.mT @ queries, weights.mT @ g]


# Of queries (..., L, E), keys (..., S, E) and values (..., S, V), with the same numbers in front.
attention = op(
    "attention", lambda *xs, scale, causal: attended(*xs, scale=scale, causal=causal), GENERAL,
    node="ScaledDotProductFlashAttentionForCpuBackward0", batch=lambda xs, scale, causal: attended(*xs, scale=scale, causal=causal),
    xs=attention_rule,
)  # fmt: skip


# -- losses ------------------------------------------------------------------------------------


def reduced(loss, reduction):
    if reduction == "none":
        return loss
    return loss.sum() / loss.size if reduction == "mean" else loss.sum()


def share(g, shape, reduction):
    """The gradient of each entry of a loss before it was reduced."""
    return g / math.prod(shape) if reduction == "mean" else g


mse_loss = op(
    "mse_loss", lambda x, y, *, reduction: reduced((x - y) * (x - y), reduction), GENERAL,
    x=lambda g, x, y, reduction: share(2 * g, x.shape, reduction) * (x - y),
    y=lambda g, x, y, reduction: share(2 * g, x.shape, reduction) * (y - x),
)  # fmt: skip


def huber_values(x, y, delta):
    """With c the smaller of |x - y| and delta: c**2 / 2 nearby, delta * (|x - y| - delta / 2) far out."""
    size = np.abs(x - y)
    c = np.minimum(size, delta)
    return c * (size - 0.5 * c)


def huber_slope(x, y, delta):
    """x - y, held between -delta and delta; flat at the bounds."""
    d = x - y
    return np.where(np.abs(d) < delta, d, delta * np.sign(d))


huber_loss = op(
    "huber_loss", lambda x, y, *, delta: huber_values(x, y, delta), ELEMENTWISE,
    x=lambda g, x, y, delta: g * huber_slope(x, y, delta), y=lambda g, x, y, delta: -g * huber_slope(x, y, delta),
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
    chosen = np.take_along_axis(log_softmax(x, axis=-1), np.expand_dims(target, -1), axis=-1)
    return reduced(-chosen[..., 0], reduction)


def cross_entropy_back_values(g, x, target, *, reduction):
    """(softmax(x) - one_hot(target)) times the gradient of each row's loss."""
    return cross_entropy_slope(x, target) * share_of_rows(g, x, reduction)


def share_of_rows(g, x, reduction):
    return np.expand_dims(g, -1) if reduction == "none" else share(g, x.shape[:-1], reduction)


def cross_entropy_slope(x, target):
    p = softmax(x, axis=-1)
    return np.where(np.expand_dims(target, -1) == np.arange(x.shape[-1]), p - 1, p)


def cross_entropy_curve(u, g, x, reduction):
    """The one-hot part does not change with x."""
    g = share_of_rows(g, x, reduction)
    return softmax_back(u * g, softmax(x, axis=-1), -1)


def cross_entropy_weigh(u, x, target, reduction):
    each = np.sum(u * cross_entropy_slope(x, target), axis=-1)
    return each if reduction == "none" else np.mean(each) if reduction == "mean" else np.sum(each)


def cross_entropy_batch(x, target, size, reduction):
    if x.ndim == 2:  # one row for each sample
        return cross_entropy(x, target, reduction="none")
    loss = np.reshape(cross_entropy(merge_samples(x), merge_samples(target), reduction="none"), (size, x.shape[1]))
    return loss if reduction == "none" else np.mean(loss, axis=-1) if reduction == "mean" else np.sum(loss, axis=-1)


def cross_entropy_back_batch(g, x, target, size, reduction):
    if x.ndim == 2:
        return cross_entropy_back(g, x, target, reduction="none")
    if reduction != "none":
        g = np.reshape(share(g, (x.shape[1],), reduction), (size, 1))
        g = g if x.shape[1] == 1 else np.broadcast_to(g, (size, x.shape[1]))
    return np.reshape(cross_entropy_back(merge_samples(g), merge_samples(x), merge_samples(target), reduction="none"), x.shape)


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
    loss = (1 - target) * x + log_weight * softplus(-x)
    return reduced(loss * weight, reduction)


def bce_rule(g, x, target, weight, pos_weight, reduction):
    slope = (1 + (pos_weight - 1) * target) * sigmoid(x) - pos_weight * target
    return share(g, x.shape, reduction) * (slope * weight)


def bce_target_rule(g, x, target_shape, weight, pos_weight, reduction):
    return share(g, x.shape, reduction) * (((pos_weight - 1) * softplus(-x) - x) * weight)


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
    d = x - mean(x, axis=axes, keepdims=True)
    return d, 1 / np.sqrt(mean(d * d, axis=axes, keepdims=True) + eps)


def layer_norm_values(x, weight, bias, *, axes, eps, called="Layer"):
    d, rstd = centred_over(x, axes, eps)
    return d * rstd * weight + bias


def layer_norm_rule(g, centre, weight, axes):
    """The mean and the variance depend on x too: their two terms make the gradient orthogonal to 1 and to d."""
    d, rstd = centre
    g = g * (rstd * weight)
    return g - mean(g, axis=axes, keepdims=True) - d * (rstd * rstd * mean(g * d, axis=axes, keepdims=True))


layer_norm = op(
    "layer_norm", layer_norm_values, GENERAL,
    node=lambda x, weight, bias, *, called="Layer", **_: f"Native{called}NormBackward0",
    shared={"centre": centred_over},
    x=layer_norm_rule,
    weight=lambda g, centre, weight_shape: sum_to(g * centre[0] * centre[1], weight_shape),
    bias=lambda g, bias_shape: sum_to(g, bias_shape),
)  # fmt: skip


def beside(v, x):
    """A number for each channel, to go beside x (N, C, ...)."""
    return v if x.ndim == 2 else np.reshape(v, (-1, *(1,) * (x.ndim - 2)))


def per_channel(x):
    return math.prod(x.shape) // x.shape[1]


def centred(x, out_1):
    return x - beside(out_1, x)


def batch_norm_values(x, weight, bias, *, eps):
    """The result, and the mean and variance of each channel."""
    mean = channel_sums(x) / per_channel(x)
    d = centred(x, mean)
    var = channel_sums(d * d) / per_channel(x)
    return d * beside(weight / np.sqrt(var + eps), x) + beside(bias, x), mean, var


def batch_norm_rule(g, d, weight, out_2, eps):
    """Through x itself, the mean and the variance; and from the mean and the variance as results."""
    g, g_mean, g_var = g
    n, rstd = per_channel(d), 1 / np.sqrt(out_2 + eps)
    scale = weight * rstd
    to_d = (2 * g_var - scale * rstd * rstd * channel_sums(g * d)) / n
    return g * beside(scale, d) + d * beside(to_d, d) + beside((g_mean - scale * channel_sums(g)) / n, d)


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
    weight=lambda g, d, out_2, eps: channel_sums(g[0] * d) / np.sqrt(out_2 + eps),
    bias=lambda g: channel_sums(g[0]),
)  # fmt: skip


def rms_norm_batch(x, weight, axes, eps, batched, size):
    x = x if batched[0] else np.broadcast_to(x, (size, *x.shape))
    weight = np.reshape(weight, (size, *(1,) * (x.ndim - weight.ndim), *weight.shape[1:])) if batched[1] else weight
    return rms_norm(x, weight, axes=axes, eps=eps)


def by_root_mean_square(x, axes, eps):
    """x divided by its root mean square over `axes`, and 1 / that."""
    rstd = 1 / np.sqrt(mean(x * x, axis=axes, keepdims=True) + eps)
    return x * rstd, rstd


def rms_norm_rule(g, white, weight, axes):
    xhat, rstd = white
    g = g * weight
    return (g - xhat * mean(g * xhat, axis=axes, keepdims=True)) * rstd


rms_norm = op(
    "rms_norm", lambda x, weight, *, axes, eps: by_root_mean_square(x, axes, eps)[0] * weight, GENERAL,
    node="FusedRmsNormBackward0", batch=rms_norm_batch, complex=HOLOMORPHIC, shared={"white": by_root_mean_square},
    x=rms_norm_rule,
    weight=lambda g, white, weight_shape: sum_to(g * white[0], weight_shape),
)  # fmt: skip
