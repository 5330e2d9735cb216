"""Softmax, attention, losses and normalisation: sums by BLAS and einsum, and few arrays made on the way."""

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np

from autolab.engine.node import F32, F64, sum_to
from autolab.fast.blocks import clip
from autolab.fast.kernel import WHOLE, block_kernel, kernel
from autolab.fast.kernels.elementwise import sigmoid
from autolab.fast.sums import ones
from autolab.rules import nn as rows
from autolab.rules.elementwise import log1p_exp, softplus
from autolab.rules.reduce import channel_sums, count

add_reduce: Any = np.add.reduce  # np.sum and np.max without their wrappers
max_reduce: Any = np.maximum.reduce
MANY = 4096  # entries: from here on sums are products of matrices, and small exponents are looked for
FLOATS = F32, F64
CLOSE = 16  # exp of a difference of two such numbers neither vanishes nor overflows
MODERATE = 60  # exp of what lies within -60 and 60, and sums of it, neither vanish nor overflow


# -- sums -----------------------------------------------------------------------------------------------


def sums(x: Any, y: Any, axes: Any) -> Any:
    """The sum of x, or of x * y, over `axes`, which stay as length 1."""
    if type(x) is not np.ndarray or type(y) not in (np.ndarray, type(None)) or -1 not in axes:
        return np.sum(x if y is None else x * y, axis=axes, keepdims=True)
    behind = 1
    while -behind - 1 in axes:
        behind += 1
    shape, n = x.shape[:-behind], math.prod(x.shape[-behind:])
    rows = x.reshape(math.prod(shape), n)
    total = rows.dot(ones(n, x.dtype)) if y is None else np.vecdot(rows, y.reshape(rows.shape))
    total = total.reshape(shape + (1,) * behind)
    return total if behind == len(axes) else add_reduce(total, tuple(a for a in axes if a < -behind), keepdims=True)


def onto(g: Any, y: Any, shape: Any) -> Any:
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


def total(x: Any, axis: Any, y: Any = None) -> Any:
    """The sum of x, or of x * y, along an axis, which stays."""
    if axis == -1 and x.size >= MANY:
        return sums(x, y, (-1,))
    return add_reduce(x if y is None else x * y, axis, None, None, True)


# -- probabilities -----------------------------------------------------------------------------


def top(x: Any, axis: Any) -> Any:
    """The largest along an axis, which stays."""
    return max_reduce(x, axis, None, None, True, -math.inf)


def moderate(x: Any) -> Any:
    """Whether the largest of each row need not be taken off. To see that takes less time than to do it, for a large array."""
    return x.size >= MANY and max_reduce(x, None) <= MODERATE and np.minimum.reduce(x, None) >= -MODERATE


def softmax(x: Any, *, axis: Any) -> Any:
    e = np.exp(x if moderate(x) else x - top(x, axis))
    e /= total(e, axis)
    return e


def log_softmax(x: Any, *, axis: Any) -> Any:
    z = x - top(x, axis)
    z -= np.log(total(np.exp(z), axis))
    return z


def attention(x: Any, mask: Any, *, scale: Any, causal: Any) -> Any:
    x = x * np.asarray(scale, x.dtype)
    if mask is None and moderate(x):
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
def causal_mask(length: Any, source: Any, dtype: Any) -> Any:
    return np.triu(np.full((length, source), -math.inf, dtype), 1)


@lru_cache(maxsize=16)
def causal_part(length: Any, source: Any, dtype: Any) -> Any:
    """1 where a query sees a key, 0 elsewhere."""
    return np.tril(np.ones((length, source), dtype))


def attention_back(g: Any, out: Any, scale: Any) -> Any:
    x = g - sums(g, out, (-1,))
    x *= out
    x *= scale
    return x


kernel(rows.softmax, softmax, fuse=True, x=lambda g, out, axis: out * (g - total(g, axis, out)))
kernel(rows.log_softmax, log_softmax, fuse=True, x=lambda g, out, axis: g - np.exp(out) * total(g, axis))
kernel(
    rows.attention_weights, attention,
    x=lambda g, out, scale: attention_back(g, out, scale), mask=lambda g, out, mask_shape: sum_to(attention_back(g, out, 1), mask_shape),
)  # fmt: skip


# -- attention whose weights are never all there ---------------------------------------------------------

ROOM = 1 << 16  # entries: a block of weights and one of their gradients fit into the cache


def blocks(shape: Any, source: int, causal: bool) -> Any:
    """(samples, heads, first query, behind the last one, keys that these see) of each block of (N, H, L) queries: several samples with
    all their heads, several heads of one sample, or some queries of one head."""
    (samples, heads, length), every = shape, slice(None)
    if heads * length * source <= ROOM:
        together = ROOM // (heads * length * source)
        for first in range(0, samples, together):
            yield slice(first, first + together), every, 0, length, source
        return
    together, rows = max(1, ROOM // (length * source)), max(1, ROOM // source)
    for sample, head in itertools.product(range(samples), range(0, heads, together)):
        for low in range(0, length, rows):
            high = min(low + rows, length)
            ends = min(high, source) if causal and rows < length else source
            yield slice(sample, sample + 1), slice(head, head + together), low, high, ends


def largest_block(shape: Any, source: int) -> int:
    """Entries of the largest of these blocks, or a few more."""
    return min(max(ROOM, source), math.prod(shape) * source)


def exponents(queries: Any, keys: Any, first: int, causal: bool, room: Any) -> Any:
    """exp(queries @ keys.T), or a multiple of it, and the sums of its rows. `first` is the place of the first query."""
    shape = (*queries.shape[:3], keys.shape[2])
    e = np.matmul(queries, keys.swapaxes(2, 3), out=room[: math.prod(shape)].reshape(shape))
    if max_reduce(e, None) <= MODERATE and np.minimum.reduce(e, None) >= -MODERATE:
        np.exp(e, out=e)
        if causal:
            e *= seen(*shape[2:], first, e.dtype)
    else:
        if causal:
            e[..., seen(*shape[2:], first, e.dtype) == 0] = -math.inf
        e -= top(e, -1)
        np.exp(e, out=e)
    return e, e.reshape(-1, shape[3]).dot(ones(shape[3], e.dtype)).reshape(*shape[:3], 1)


@lru_cache(maxsize=64)
def seen(length: int, source: int, first: int, dtype: Any) -> Any:
    """1 where a query sees a key, 0 elsewhere; the first query is in place `first`."""
    return np.tril(np.ones((length, source), dtype), first)


def heads_inside(shape: Any, dtype: Any) -> Any:
    """Memory for (N, H, L, E) in which the heads of a place lie beside each other, as in PyTorch: joining them then takes no copy."""
    samples, heads, length, width = shape
    return np.empty((samples, length, heads, width), dtype).swapaxes(1, 2)


def with_heads(x: Any) -> Any:
    """(..., L, E) -> (N, H, L, E), which is not copied."""
    return x if x.ndim == 4 else x.reshape(-1, 1, *x.shape[-2:])


def whole_attention(*xs: Any, scale: Any, causal: Any) -> Any:
    queries, keys, values = map(with_heads, xs)
    queries = queries * np.asarray(scale, queries.dtype)
    out = heads_inside((*queries.shape[:3], values.shape[3]), values.dtype)
    room = np.empty(largest_block(queries.shape[:3], keys.shape[2]), out.dtype)
    for sample, head, low, high, source in blocks(queries.shape[:3], keys.shape[2], causal):
        e, total = exponents(queries[sample, head, low:high], keys[sample, head, :source], low, causal, room)
        part = np.matmul(e, values[sample, head, :source], out=out[sample, head, low:high])
        part /= total
    return out.reshape(*xs[0].shape[:-1], out.shape[3])


def whole_attention_back(g: Any, xs: Any, out: Any, scale: Any, causal: Any) -> Any:
    queries, keys, values = map(with_heads, xs)
    g, out = with_heads(g), with_heads(out)
    queries = queries * np.asarray(scale, queries.dtype)
    along = np.vecdot(g, out)[..., None]
    to_queries, to_keys, to_values = [heads_inside(x.shape, x.dtype) for x in (queries, keys, values)]
    room, more = np.empty((2, largest_block(queries.shape[:3], keys.shape[2])), out.dtype)
    for sample, head, low, high, source in blocks(queries.shape[:3], keys.shape[2], causal):
        some, looked_at = (sample, head, slice(low, high)), (sample, head, slice(source))
        e, total = exponents(queries[some], keys[looked_at], low, causal, room)
        onto = g[some] / total  # the weights are e / total
        scores = np.matmul(onto, values[looked_at].swapaxes(2, 3), out=more[: e.size].reshape(e.shape))
        scores -= along[some] / total
        scores *= e
        np.matmul(scores, keys[looked_at], out=to_queries[some])
        for found, part, x in ((to_keys, scores, queries[some]), (to_values, e, onto)):
            if high - low == queries.shape[2]:
                np.matmul(part.swapaxes(2, 3), x, out=found[sample, head])
                continue
            if not low:
                found[sample, head] = 0
            found[looked_at] += part.swapaxes(2, 3) @ x
    to_queries *= np.asarray(scale, to_queries.dtype)
    return [found.reshape(x.shape) for found, x in zip((to_queries, to_keys, to_values), xs)]


kernel(rows.attention, whole_attention, xs=whole_attention_back)


# -- losses ------------------------------------------------------------------------------------


def mse(x: Any, y: Any, *, reduction: Any) -> Any:
    d = x - y
    if reduction == "mean" and type(d) is np.ndarray and d.size <= MANY:
        flat = d.ravel()
        return flat.dot(flat) / d.size
    return rows.reduced(d * d, reduction)


def huber(x: Any, y: Any, delta: Any, out: Any) -> Any:
    size = x - y
    np.abs(size, size)
    np.minimum(size, delta, out=out)
    size -= 0.5 * out
    out *= size


def cross_entropy(x: Any, target: Any, *, reduction: Any) -> Any:
    if not is_close_matrix(x):
        z = x - max_reduce(x, -1, None, None, True)
        chosen = z[rows_of(len(z)), target] if z.ndim == 2 else z[target]
        np.exp(z, out=z)
        loss = np.log(add_reduce(z, -1))
        loss -= chosen
        return rows.reduced(loss, reduction)
    z = x - x[rows_of(len(x)), target][:, None]  # so a loss near 0 is the logarithm of a sum near 1
    np.exp(z, out=z)
    loss = z.dot(ones(x.shape[1], x.dtype))
    np.log(loss, out=loss)
    return add_reduce(loss) / len(x) if reduction == "mean" else rows.reduced(loss, reduction)


def is_close_matrix(x: Any) -> Any:
    """Whether this is a matrix in which the largest of each row need not be taken off, which takes longer than exp."""
    return x.ndim == 2 and x.size and x.dtype in FLOATS and max_reduce(x, None) <= CLOSE and np.minimum.reduce(x, None) >= -CLOSE


@lru_cache(maxsize=16)
def rows_of(n: Any) -> Any:
    return np.arange(n)


@lru_cache(maxsize=16)
def starts_of(n: Any, length: Any) -> Any:
    """The places of the first entries of rows that lie one behind the other."""
    return np.arange(n) * length


def cross_entropy_back(g: Any, x: Any, target: Any, *, reduction: Any) -> Any:
    share = rows.share(g, x.shape[:-1], reduction)
    if not is_close_matrix(x):
        p = x - max_reduce(x, -1, None, None, True)
        np.exp(p, out=p)
        p /= add_reduce(p, -1, None, None, True)
        p[(rows_of(len(p)), target) if p.ndim == 2 else target] -= 1
        p *= share if reduction != "none" else g[..., None]
        return p
    p = np.empty(x.shape, x.dtype)
    np.exp(x, out=p)
    factor = p.dot(ones(p.shape[1], p.dtype))
    np.divide(share, factor, out=factor)
    p *= factor[:, None]
    p.reshape(-1)[starts_of(*p.shape) + target] -= share
    return p


def one_weight(pos_weight: Any) -> Any:
    """Whether the positive class weighs as much as the other: the usual case, where fewer terms are left."""
    return not isinstance(pos_weight, np.ndarray) and pos_weight == 1


def bce(x: Any, target: Any, weight: Any, pos_weight: Any, *, reduction: Any) -> Any:
    if not one_weight(pos_weight) or type(x) is not np.ndarray:
        return rows.bce_values(x, target, weight, pos_weight, reduction=reduction)
    loss = log1p_exp(-x) if x.size < MANY else softplus(-x)
    loss += (1 - target) * x
    return rows.reduced(loss if one_weight(weight) else loss * weight, reduction)


def bce_rule(g: Any, x: Any, target: Any, weight: Any, pos_weight: Any, reduction: Any) -> Any:
    if not one_weight(pos_weight) or type(x) is not np.ndarray:
        return rows.bce_rule(g, x, target, weight, pos_weight, reduction)
    slope = np.empty(x.shape, x.dtype)
    sigmoid(x, slope)
    slope -= target
    slope *= rows.share(g, x.shape, reduction)
    return slope if one_weight(weight) else slope * weight


kernel(rows.mse_loss, mse, fuse=True)
kernel(rows.bce_with_logits, bce, x=bce_rule)
block_kernel(
    rows.huber_loss, huber,
    x=lambda g, x, y, delta, out: np.multiply(g, clip(x - y, -delta, delta), out),
    y=lambda g, x, y, delta, out: np.multiply(g, clip(y - x, -delta, delta), out),
)  # fmt: skip
kernel(rows.cross_entropy, cross_entropy)
kernel(rows.cross_entropy_back, cross_entropy_back)


# -- normalisation -------------------------------------------------------------------------------


def centred_over(x: Any, axes: Any, eps: Any) -> Any:
    if type(x) is not np.ndarray or not x.size or axes[0] != -len(axes):
        return rows.centred_over(x, axes, eps)
    n = count(x.shape, axes)
    lines = x.reshape(-1, n)
    mean = lines.dot(ones(n, x.dtype))
    mean /= n
    d = lines - mean[:, None]
    rstd = np.vecdot(d, d)
    rstd /= n
    rstd += eps
    np.sqrt(rstd, rstd)
    np.divide(1, rstd, rstd)
    return d.reshape(x.shape), rstd.reshape(x.shape[: -len(axes)] + (1,) * len(axes))


def in_rows(x: Any, y: Any, weight: Any) -> Any:
    """Whether these are arrays of one dtype, and the weight is one for each of the last places of x."""
    arrays = type(x) is type(y) is type(weight) is np.ndarray
    return arrays and x.size and x.shape[-weight.ndim :] == weight.shape and x.dtype is weight.dtype is y.dtype


def layer_norm(x: Any, weight: Any, bias: Any, *, axes: Any, eps: Any, called: Any = "Layer") -> Any:
    d, rstd = centred_over(x, axes, eps)
    if in_rows(d, rstd, weight) and len(axes) == weight.ndim:
        lines = d.reshape(-1, weight.size)
        lines *= rstd.reshape(-1, 1).dot(weight.reshape(1, -1))  # in half the time of *= rstd and *= weight
    else:
        d = d * rstd * weight
    d += bias
    return d


def layer_norm_rule(g: Any, centre: Any, weight: Any, axes: Any) -> Any:
    d, rstd = centre
    if not in_rows(g, d, weight) or len(axes) != weight.ndim:
        n = count(d.shape, axes)
        g = g * (rstd * weight)
        return g - sums(g, None, axes) / n - d * (sums(g, d, axes) * (rstd * rstd / n))
    n = weight.size
    lines, rstd = d.reshape(-1, n), rstd.reshape(-1, 1)
    out = rstd.dot(weight.reshape(1, n))
    out *= g.reshape(-1, n)
    mean = out.dot(ones(n, g.dtype))
    mean /= n
    slope = np.vecdot(out, lines)[:, None]
    slope *= rstd * rstd
    slope /= n
    terms = lines * slope
    terms += mean[:, None]
    out -= terms
    return out.reshape(g.shape)


def layer_norm_weight_rule(g: Any, centre: Any, weight_shape: Any) -> Any:
    d, rstd = centre
    if (
        type(g) is not np.ndarray
        or not g.size
        or rstd.size * math.prod(weight_shape) != g.size
        or d.shape[-len(weight_shape) :] != weight_shape
    ):
        return sum_to(g * d * rstd, weight_shape)
    return rstd.reshape(-1).dot((g * d).reshape(-1, math.prod(weight_shape))).reshape(weight_shape)


kernel(
    rows.layer_norm, layer_norm, shared={"centre": centred_over}, x=layer_norm_rule, weight=layer_norm_weight_rule,
    bias=lambda g, bias_shape: onto(g, None, bias_shape),
)  # fmt: skip


def by_channel(x: Any, y: Any = None) -> Any:
    """The sum of x (N, C, ...), or of x * y, for each channel."""
    if type(x) is not np.ndarray or type(y) not in (np.ndarray, type(None)):  # one of several results may be in a transform, another not
        return channel_sums(x if y is None else x * y)
    if x.ndim == 2:
        return ones(len(x), x.dtype).dot(x) if y is None else np.einsum("ij,ij->j", x, y)
    lines = x.reshape(x.shape[0] * x.shape[1], math.prod(x.shape[2:]))
    total = lines.dot(ones(lines.shape[1], x.dtype)) if y is None else np.vecdot(lines, y.reshape(lines.shape))
    return total if len(x) == 1 else add_reduce(total.reshape(x.shape[:2]), 0)


def batch_norm(x: Any, weight: Any, bias: Any, *, eps: Any) -> Any:
    n, beside = rows.per_channel(x), rows.beside
    mean = by_channel(x) / n
    d = rows.centred(x, mean)
    var = by_channel(d, d) / n
    d *= beside(weight / np.sqrt(var + eps), x)
    d += beside(bias, x)
    return d, mean, var


def batch_norm_rule(g: Any, d: Any, weight: Any, out_2: Any, eps: Any) -> Any:
    g, g_mean, g_var = g
    n, rstd, beside = rows.per_channel(d), 1 / np.sqrt(out_2 + eps), rows.beside
    scale = weight * rstd
    to_d = (2 * g_var - scale * rstd * rstd * by_channel(g, d)) / n
    to_all = (g_mean - scale * by_channel(g)) / n
    return g * beside(scale, d) + d * beside(to_d, d) + beside(to_all, d)


kernel(
    rows.batch_norm, batch_norm, apart=True, x=batch_norm_rule,
    weight=lambda g, d, out_2, eps: by_channel(g[0], d) / np.sqrt(out_2 + eps),
    bias=lambda g: by_channel(g[0]),
)  # fmt: skip
WHOLE.add(by_channel)


def by_root_mean_square(x: Any, axes: Any, eps: Any) -> Any:
    if type(x) is not np.ndarray:
        return rows.by_root_mean_square(x, axes, eps)
    rstd = 1 / np.sqrt(sums(x, x, axes) / count(x.shape, axes) + eps)
    return x * rstd, rstd


def rms_norm_rule(g: Any, white: Any, weight: Any, axes: Any) -> Any:
    xhat, rstd = white
    g = g * weight
    return (g - xhat * (sums(g, xhat, axes) / count(xhat.shape, axes))) * rstd


kernel(
    rows.rms_norm, lambda x, weight, *, axes, eps: by_root_mean_square(x, axes, eps)[0] * weight,
    shared={"white": by_root_mean_square}, x=rms_norm_rule,
    weight=lambda g, white, weight_shape: onto(g, white[0], weight_shape),
)  # fmt: skip
