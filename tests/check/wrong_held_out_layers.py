"""Held out: wrong rules for products and layers; no family was written for them."""

from __future__ import annotations

import math

import numpy as np

from autolab import tensor
from autolab.autograd import Function

from .wrong import wrong


def T(a):
    return np.swapaxes(a, -1, -2)


# ---------- linear algebra
@wrong("matmul", "2-D only|transposed|exception")
def mm_T(g, x, y):
    return g @ y.T, x.T @ g


@wrong("matmul", "order|transposed")
class MmOrder(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.mT, g.mT @ x


@wrong("mm", "swapped")
def mm_swapped(g, x, y):
    return x.T @ g, g @ y.T


@wrong("mm", "elementwise|variable|exception")
def mm_elem(g, x, y):
    return g * y, g * x


@wrong("mm", "upstream ignored|exception")
def mm_nog(g, x, y):
    return np.ones_like(g) @ y.T, x.T @ np.ones_like(g)


@wrong("mm", "zero|none")
def mm_none(g, x, y):
    return g @ y.T, None


@wrong("mv", "transposed|exception|order")
def mv_nt(g, x, y):
    return np.outer(g, y), x @ g


@wrong("mv", "order|transposed")
def mv_outer(g, x, y):
    return np.outer(y, g), x.T @ g


@wrong("mv", "flattened|not spread|elementwise|keepdims")
def mv_elem(g, x, y):
    return g * y if g.shape == y.shape else g, x.T @ g


@wrong("dot", "swapped")
def dot_sw(g, x, y):
    return g * x, g * y


@wrong("dot", "upstream ignored")
def dot_nog(g, x, y):
    return y, x


@wrong("bmm", "one of many|averaged|2-D only|wrong axis")
class BmmSummed(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.mT, (x.mT @ g).mean(0, keepdim=True).expand(y.shape)


@wrong("linear", "transposed|exception|order")
def lin_wT(g, x, weight, bias):
    return g @ weight.T, g.T @ x, g.sum(0)


@wrong("linear", "not summed|upstream only|keepdims|wrong axis")
def lin_bias(g, x, weight):
    gw = np.tensordot(g, x, (tuple(range(g.ndim - 1)),) * 2)
    return g @ weight, gw, g


@wrong("linear", "averaged|constant")
def lin_bias_mean(g, x, weight):
    gw = np.tensordot(g, x, (tuple(range(g.ndim - 1)),) * 2)
    return g @ weight, gw, g.mean(tuple(range(g.ndim - 1)))


@wrong("linear", "2-D only|exception|wrong axis|not summed")
class Lin2d(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.T + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, g.mT @ x, g.sum(0)


@wrong("linear", "constant|averaged")
def lin_batch(g, x, weight):
    gw = np.tensordot(g, x, (tuple(range(g.ndim - 1)),) * 2) / len(x)
    return g @ weight, gw, g.sum(tuple(range(g.ndim - 1)))


@wrong("outer", "transposed|order|swapped|exception")
def outer_sw(g, x, y):
    return g.T @ y if g.shape[0] == len(y) else g @ y, g @ x if g.shape[1] == len(x) else g.T @ x


@wrong("outer", "not summed|flattened|keepdims|elementwise")
def outer_elem(g, x, y):
    return (g * y), (g * x[:, None])


# ---------- layers
def norm_(x, ax):
    return (x - x.mean(ax, keepdims=True)) / np.sqrt(x.var(ax, keepdims=True) + 1e-5)


@wrong("layer_norm", "term")
def ln_const_stats(g, x, weight):
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return g * weight / s, (g * norm_(x, -1)).sum(0), g.sum(0)


@wrong("layer_norm", "term")
def ln_no_var(g, x, weight):
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    h = g * weight
    return (h - h.mean(-1, keepdims=True)) / s, (g * norm_(x, -1)).sum(0), g.sum(0)


@wrong("layer_norm", "factor|term|variable")
def ln_no_weight(g, x, weight):
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    n = norm_(x, -1)
    return (g - g.mean(-1, keepdims=True) - n * (g * n).mean(-1, keepdims=True)) / s, (g * n).sum(0), g.sum(0)


@wrong("layer_norm", "variable")
def ln_weight_x(g, x, weight):
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    n = norm_(x, -1)
    h = g * weight
    return (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True)) / s, (g * x).sum(0), g.sum(0)


@wrong("layer_norm", "axis|wrong axis")
def ln_axis0(g, x, weight):
    s = np.sqrt(x.var(0, keepdims=True) + 1e-5)
    n = norm_(x, 0)
    h = g * weight
    m = norm_(x, -1)
    return (h - h.mean(0, keepdims=True) - n * (h * n).mean(0, keepdims=True)) / s, (g * m).sum(0), g.sum(0)


@wrong("layer_norm", "power|factor|number|step")
def ln_var_not_std(g, x, weight):
    v = x.var(-1, keepdims=True) + 1e-5
    n = norm_(x, -1)
    h = g * weight
    return (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True)) / v, (g * n).sum(0), g.sum(0)


@wrong("batch_norm", "axis|wrong axis")
def bn_rows(g, x, weight):
    n = norm_(x, -1)
    h = g * weight
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    m = norm_(x, 0)
    return (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True)) / s, (g * m).sum(0), g.sum(0)


@wrong("batch_norm", "term")
def bn_eval(g, x, weight):
    s = np.sqrt(x.var(0) + 1e-5)
    return g * weight / s, (g * norm_(x, 0)).sum(0), g.sum(0)


@wrong("batch_norm", "term|constant")
def bn_sum(g, x, weight):
    n = norm_(x, 0)
    h = g * weight
    s = np.sqrt(x.var(0, keepdims=True) + 1e-5)
    return (h - h.sum(0) - n * (h * n).sum(0)) / s, (g * n).sum(0), g.sum(0)


@wrong("rms_norm", "term")
def rms_const(g, x, weight):
    r = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return g * weight / r, (g * x / r).sum(0)


@wrong("rms_norm", "term sign|sign")
def rms_plus(g, x, weight):
    r = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    h = g * weight
    n = x / r
    return (h + n * (h * n).mean(-1, keepdims=True)) / r, (g * n).sum(0)


@wrong("rms_norm", "not summed|keepdims")
def rms_w(g, x, weight):
    r = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    h = g * weight
    n = x / r
    return (h - n * (h * n).mean(-1, keepdims=True)) / r, g * n


def att(q, k, v):
    s = q @ T(k) / math.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@wrong("attention", "constant|factor")
def att_noscale(g, q, k, v):
    p = att(q, k, v)
    dp = g @ T(v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    return ds @ k, T(ds) @ q, T(p) @ g


@wrong("attention", "term|diagonal only")
def att_nosm(g, q, k, v):
    p = att(q, k, v)
    dp = g @ T(v)
    ds = p * dp / math.sqrt(q.shape[-1])
    return ds @ k, T(ds) @ q, T(p) @ g


@wrong("attention", "swapped|exception|order")
def att_sw(g, q, k, v):
    p = att(q, k, v)
    dp = g @ T(v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / math.sqrt(q.shape[-1])
    return T(ds) @ q, ds @ k, T(p) @ g


@wrong("attention", "axis|wrong axis")
def att_axis(g, q, k, v):
    p = att(q, k, v)
    dp = g @ T(v)
    ds = p * (dp - (dp * p).sum(-2, keepdims=True)) / math.sqrt(q.shape[-1])
    return ds @ k, T(ds) @ q, T(p) @ g


@wrong("dropout", "factor|constant")
def dr_noscale(g, mask, p):
    return g * mask, None


@wrong("dropout", "constant|factor|number")
def dr_p(g, mask, p):
    return g * mask / p, None


@wrong("dropout", "second call")
class DropNew(Function):
    rng = np.random.default_rng(3)

    @staticmethod
    def forward(ctx, x, mask, p):
        ctx.p, ctx.shape = p, x.shape
        return x * mask / (1 - p)

    @staticmethod
    def backward(ctx, g):
        m = (DropNew.rng.random(ctx.shape) > ctx.p).astype(float)
        return g * tensor(m) / (1 - ctx.p), None, None


@wrong("conv1d", "flipped")
def c1_noflip(g, x, weight):
    K = weight.shape[2]
    gp = np.pad(g, ((0, 0), (0, 0), (K - 1, K - 1)))
    w = np.lib.stride_tricks.sliding_window_view
    gx = np.einsum("nolk,ock->ncl", w(gp, K, axis=2), weight)
    gw = np.einsum("nclk,nol->ock", w(x, K, axis=2), g)
    return gx, gw


@wrong("conv1d", "overwritten")
def c1_over(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K = weight.shape[2]
    for l in range(g.shape[2]):
        gx[:, :, l : l + K] = np.einsum("no,ock->nck", g[:, :, l], weight)
        gw += np.einsum("no,nck->ock", g[:, :, l], x[:, :, l : l + K])
    return gx, gw


@wrong("conv1d", "averaged|constant")
def c1_avg(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K = weight.shape[2]
    for l in range(g.shape[2]):
        gx[:, :, l : l + K] += np.einsum("no,ock->nck", g[:, :, l], weight)
        gw += np.einsum("no,nck->ock", g[:, :, l], x[:, :, l : l + K]) / len(x)
    return gx, gw


@wrong("conv1d", "one of many")
def c1_firstbatch(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K = weight.shape[2]
    for l in range(g.shape[2]):
        gx[:, :, l : l + K] += np.einsum("no,ock->nck", g[:, :, l], weight)
        gw += np.einsum("o,ck->ock", g[0, :, l], x[0, :, l : l + K])
    return gx, gw


@wrong("conv1d", "off by one|places|one of many|term|pieces")
def c1_range(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K = weight.shape[2]
    for l in range(g.shape[2] - 1):
        gx[:, :, l : l + K] += np.einsum("no,ock->nck", g[:, :, l], weight)
        gw += np.einsum("no,nck->ock", g[:, :, l], x[:, :, l : l + K])
    return gx, gw


@wrong("conv2d", "overwritten")
def c2_over(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K, M = weight.shape[2:]
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            gx[:, :, i : i + K, j : j + M] = np.einsum("no,ockm->nckm", g[:, :, i, j], weight)
            gw += np.einsum("no,nckm->ockm", g[:, :, i, j], x[:, :, i : i + K, j : j + M])
    return gx, gw


@wrong("conv2d", "overwritten|one of many")
def c2_wover(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K, M = weight.shape[2:]
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            gx[:, :, i : i + K, j : j + M] += np.einsum("no,ockm->nckm", g[:, :, i, j], weight)
            gw = np.einsum("no,nckm->ockm", g[:, :, i, j], x[:, :, i : i + K, j : j + M])
    return gx, gw


@wrong("max_pool", "averaged|mask|term|not spread|function|places")
def mp_avg(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3) / 4


@wrong("max_pool", "mask|upstream only|not spread|places")
def mp_all(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3)


@wrong("max_pool", "upstream ignored")
def mp_nog(g, x, out):
    return (x == np.repeat(np.repeat(out, 2, 2), 2, 3)).astype(float)


@wrong("max_pool", "places|one of many|tie|mask|permutation")
def mp_topleft(g, x):
    r = np.zeros_like(x)
    r[:, :, ::2, ::2] = g
    return r


@wrong("avg_pool", "constant")
def ap_half(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3) / 2


@wrong("avg_pool", "constant")
def ap_none(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3)


@wrong("avg_pool", "permutation|places|axis")
def ap_tile(g, x):
    return np.tile(g, (1, 1, 2, 2)) / 4
