"""Held out: wrong rules for reductions, softmax, losses and moved entries; no family was written for them."""

from __future__ import annotations

import numpy as np

import autolab
from autolab import tensor
from autolab.autograd import Function

from .wrong import wrong


def T(a):
    return np.swapaxes(a, -1, -2)


# ---------- reductions
@wrong("sum", "upstream ignored")
def sum_ones(g, x):
    return np.ones_like(x)


@wrong("sum", "wrong axis|axis|exception")
def sum_no_expand(g, x, axis):
    return g + np.zeros_like(x)


@wrong("sum", "not spread|keepdims|shape|one of many|wrong shape|flattened")
def sum_g(g, x, axis):
    return np.expand_dims(g, axis)


@wrong("sum", "constant")
def sum_div(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) / x.shape[axis]


@wrong("mean", "constant")
def mean_size(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) / x.size


@wrong("mean", "constant|axis")
class MeanBatch(Function):
    @staticmethod
    def forward(ctx, x, axis):
        ctx.shape, ctx.axis = x.shape, axis
        return x.mean(axis)

    @staticmethod
    def backward(ctx, g):
        n = ctx.shape[0]
        return g.unsqueeze(ctx.axis).expand(ctx.shape) / n, None


@wrong("mean", "upstream collapsed")
def mean_gmean(g, x, axis):
    return np.ones_like(x) * g.mean() / x.shape[axis]


@wrong("var", "constant")
def var_biased(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x - x.mean(axis, keepdims=True)) / x.shape[axis]


@wrong("var", "constant")
def var_no2(g, x, axis):
    return np.expand_dims(g, axis) * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("var", "term")
class VarNoMean(Function):
    @staticmethod
    def forward(ctx, x, axis):
        ctx.save_for_backward(x)
        ctx.axis = axis
        return x.var(axis)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        n = x.shape[ctx.axis]
        return g.unsqueeze(ctx.axis) * 2 * x / (n - 1), None


@wrong("var", "axis|wrong axis|variable")
def var_global_mean(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x - x.mean()) / (x.shape[axis] - 1)


@wrong("std", "constant")
def std_biased(g, x, axis):
    s = np.expand_dims(x.std(axis, ddof=1), axis)
    return np.expand_dims(g, axis) * (x - x.mean(axis, keepdims=True)) / (s * x.shape[axis])


@wrong("std", "function|step|constant|factor|power|division")
def std_as_var(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("norm", "factor|division|step")
def norm_nodiv(g, x, axis):
    return np.expand_dims(g, axis) * x


@wrong("norm", "constant")
def norm_two(g, x, out, axis):
    return 2 * np.expand_dims(g, axis) * x / np.expand_dims(out, axis)


@wrong("norm", "power|number|step")
def norm_sq(g, x, out, axis):
    return np.expand_dims(g, axis) * x / np.expand_dims(out, axis) ** 2


@wrong("norm", "axis|wrong axis")
def norm_all(g, x, axis):
    return np.expand_dims(g, axis) * x / np.sqrt((x**2).sum())


@wrong("prod", "factor|forward|division|step|variable")
def prod_nodiv(g, x, out, axis):
    return np.expand_dims(g * out, axis) * np.ones_like(x)


@wrong("prod", "division|factor|step")
def prod_times(g, x, out, axis):
    return np.expand_dims(g * out, axis) * x


@wrong("amax", "tie")
def amax_all(g, x, axis):
    m = x.max(axis, keepdims=True)
    return np.expand_dims(g, axis) * (x == m)


@wrong("amax", "upstream ignored")
def amax_mask(g, x, axis):
    m = (x == x.max(axis, keepdims=True)).astype(float)
    return m / m.sum(axis, keepdims=True)


@wrong("amin", "mask|function|places")
def amin_max(g, x, axis):
    return np.expand_dims(g, axis) * (x == x.max(axis, keepdims=True))


@wrong("amax", "axis|mask|places")
def amax_global(g, x, axis):
    return np.expand_dims(g, axis) * (x == x.max())


@wrong("cumsum", "flipped|not spread|axis|applied twice|upstream only|places|function|forward")
def cumsum_fwd(g, axis):
    return np.cumsum(g, axis)


@wrong("cumsum", "upstream only|diagonal only|not spread")
def cumsum_pass(g):
    return g


@wrong("cumsum", "axis|wrong axis|flipped")
def cumsum_axis0(g, axis):
    return np.flip(np.cumsum(np.flip(g, 0), 0), 0)


@wrong("cumsum", "flipped|places|step|permutation")
def cumsum_half_flip(g, axis):
    return np.cumsum(np.flip(g, axis), axis)


@wrong("logsumexp", "function|division|step|factor|forward")
def lse_exp(g, x, axis):
    return np.expand_dims(g, axis) * np.exp(x)


@wrong("logsumexp", "unstable|nan")
def lse_unst(g, x, axis):
    e = np.exp(x)
    return np.expand_dims(g, axis) * e / e.sum(axis, keepdims=True)


@wrong("logsumexp", "axis|wrong axis")
class LseAll(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.logsumexp(dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = (x - x.max()).exp()
        return g.unsqueeze(ctx.dim) * e / e.sum(), None


# ---------- softmax and co
@wrong("softmax", "diagonal only|term")
def sm_diag(g, out):
    return g * out * (1 - out)


@wrong("softmax", "term|diagonal only|sign")
def sm_no_minus(g, out, axis):
    return g * out


@wrong("softmax", "term sign|sign")
def sm_plus(g, out, axis):
    return out * (g + (g * out).sum(axis, keepdims=True))


@wrong("softmax", "axis|wrong axis")
class SmAll(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = x.softmax(dim)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum()), None


@wrong("softmax", "factor|variable|term")
def sm_sum_g(g, out, axis):
    return out * (g - g.sum(axis, keepdims=True))


@wrong("softmax", "averaged|constant|number")
def sm_mean(g, out, axis):
    return out * (g - (g * out).mean(axis, keepdims=True))


@wrong("softmax", "axis|wrong axis|parameter")
def sm_last(g, out):
    return out * (g - (g * out).sum(-1, keepdims=True))


@wrong("softmax", "factor")
def sm_no_outer(g, out, axis):
    return g - (g * out).sum(axis, keepdims=True)


@wrong("log_softmax", "term|upstream only")
def lsm_pass(g):
    return g


@wrong("log_softmax", "diagonal only|term|factor")
def lsm_nosum(g, out):
    return g - np.exp(out) * g


@wrong("log_softmax", "variable|applied twice|function")
def lsm_out(g, out, axis):
    return g - out * g.sum(axis, keepdims=True)


@wrong("log_softmax", "axis|wrong axis")
def lsm_axis(g, out):
    return g - np.exp(out) * g.sum(0, keepdims=True)


@wrong("log_softmax", "function|term|variable")
def lsm_is_softmax(g, out, axis):
    p = np.exp(out)
    return p * (g - (g * p).sum(axis, keepdims=True))


@wrong("cross_entropy", "term")
class CeNoHot(Function):
    @staticmethod
    def forward(ctx, x, t):
        ctx.save_for_backward(x, t)
        return -x.log_softmax(1)[range(len(x)), t].mean()

    @staticmethod
    def backward(ctx, g):
        x, _t = ctx.saved_tensors
        return g * x.softmax(1) / len(x), None


@wrong("cross_entropy", "constant")
class CeNoN(Function):
    @staticmethod
    def forward(ctx, x, t):
        ctx.save_for_backward(x, t)
        return -x.log_softmax(1)[range(len(x)), t].mean()

    @staticmethod
    def backward(ctx, g):
        x, t = ctx.saved_tensors
        p = x.softmax(1).detach().numpy().copy()
        p[range(len(p)), t.numpy()] -= 1
        return g * tensor(p), None


@wrong("cross_entropy", "constant")
def ce_nc(g, x, target):
    e = np.exp(x - x.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    p[np.arange(len(x)), target] -= 1
    return g * p / x.size


@wrong("cross_entropy", "sign")
def ce_sign(g, x, target):
    e = np.exp(x - x.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    h = np.zeros_like(x)
    h[np.arange(len(x)), target] = 1
    return g * (h - p) / len(x)


@wrong("cross_entropy", "upstream ignored")
def ce_nog(g, x, target):
    e = np.exp(x - x.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    p[np.arange(len(x)), target] -= 1
    return p / len(x)


@wrong("cross_entropy", "variable|places|step|axis|term|mask")
def ce_slice(g, x, target):
    e = np.exp(x - x.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    p[:, target] -= 1
    return g * p / len(x)


@wrong("cross_entropy", "axis|wrong axis")
def ce_axis0(g, x, target):
    e = np.exp(x - x.max(0, keepdims=True))
    p = e / e.sum(0, keepdims=True)
    p[np.arange(len(x)), target] -= 1
    return g * p / len(x)


@wrong("bce_with_logits", "factor|division|variable|step|function")
def bce_prob(g, x, target):
    p = 1 / (1 + np.exp(-x))
    return g * (p - target) / (p * (1 - p)) / x.size


@wrong("bce_with_logits", "constant")
def bce_len(g, x, target):
    return g * (1 / (1 + np.exp(-x)) - target) / len(x)


@wrong("bce_with_logits", "sign")
def bce_sign(g, x, target):
    return g * (target - 1 / (1 + np.exp(-x))) / x.size


@wrong("bce_with_logits", "function|variable")
def bce_x(g, x, target):
    return g * (x - target) / x.size


@wrong("mse_loss", "constant")
class Mse2(Function):
    @staticmethod
    def forward(ctx, x, t, reduction):
        ctx.save_for_backward(x, t)
        ctx.r = reduction
        d = (x - t) ** 2
        return d.mean() if reduction == "mean" else d.sum()

    @staticmethod
    def backward(ctx, g):
        x, t = ctx.saved_tensors
        d = g * (x - t) / (x.numel() if ctx.r == "mean" else 1)
        return d, -d, None


@wrong("mse_loss", "sign")
def mse_same(g, x, y, reduction):
    d = 2 * g * (x - y) / (x.size if reduction == "mean" else 1)
    return d, d


@wrong("mse_loss", "constant|parameter")
def mse_mean_always(g, x, y):
    d = 2 * g * (x - y) / x.size
    return d, -d


@wrong("mse_loss", "constant|parameter")
def mse_rows(g, x, y, reduction):
    d = 2 * g * (x - y) / (len(x) if reduction == "mean" else 1)
    return d, -d


# ---------- shapes and indexing
@wrong("take", "overwritten")
def take_over(g, index, x_shape):
    r = np.zeros(x_shape)
    r[index] = g
    return r


@wrong("take", "overwritten")
def take_buffered(g, index, x_shape):
    r = np.zeros(x_shape)
    r[index] += g
    return r


@wrong("embedding", "overwritten")
class EmbOver(Function):
    @staticmethod
    def forward(ctx, w, i):
        ctx.save_for_backward(i)
        ctx.shape = w.shape
        return w[i]

    @staticmethod
    def backward(ctx, g):
        (i,) = ctx.saved_tensors
        r = autolab.zeros(ctx.shape, dtype=g.dtype)
        r[i] = g
        return r, None


@wrong("embedding", "averaged|constant")
def emb_avg(g, index, weight_shape):
    s = weight_shape
    r = np.zeros(s)
    np.add.at(r, index, g)
    c = np.bincount(index.ravel(), minlength=s[0])[:, None]
    return r / np.maximum(c, 1), None


@wrong("index_select", "overwritten")
def is_over(g, index, x_shape, axis):
    r = np.zeros(x_shape)
    if axis == 0:
        r[index] = g
    else:
        r[:, index] = g
    return r, None


@wrong("gather", "overwritten")
def gather_over(g, index, x_shape, axis):
    r = np.zeros(x_shape)
    np.put_along_axis(r, index, g, axis)
    return r, None


@wrong("permute", "permutation")
def perm_same(g, axes):
    return np.transpose(g, axes)


@wrong("permute", "permutation|flattened")
def perm_reshape(g, x_shape):
    return g.reshape(x_shape)


@wrong("transpose", "permutation|flattened|transposed")
def tr_rev(g, x_shape, axes):
    r = np.transpose(g)
    return r if r.shape == x_shape else r.reshape(x_shape)


@wrong("swapaxes", "transposed|permutation|exception|flattened")
def sw_none(g):
    return g


@wrong("reshape", "flattened|keepdims|upstream only|shape")
def rs_g(g):
    return g


@wrong("reshape", "permutation|transposed|places")
def rs_F(g, x_shape):
    return g.reshape(x_shape, order="F")


@wrong("concat", "pieces|swapped")
def cc_sw(g, x, y):
    return g[len(y) :] if len(x) == len(y) else g[-len(x) :], g[: len(y)]


@wrong("concat", "off by one|pieces|places")
def cc_off(g, x, y):
    n = len(x)
    return g[:n], np.concatenate([g[n - 1 : -1]])


@wrong("flip", "upstream only|permutation|flipped")
def flip_none(g):
    return g


@wrong("flip", "axis|wrong axis|permutation")
def flip_all(g):
    return g[::-1, ::-1]


@wrong("roll", "sign|permutation|flipped|places|applied twice|forward")
def roll_same(g, shift, axis):
    return np.roll(g, shift, axis)


@wrong("tril", "upstream only|mask")
def tril_pass(g):
    return g


@wrong("tril", "flipped|transposed|mask|function|places")
def tril_u(g, k):
    return np.triu(g, k)


@wrong("triu", "setting|mask")
def triu_k0(g):
    return np.triu(g, 2)


@wrong("expand", "not summed")
def ex_none(g, shape):
    return g


@wrong("expand", "averaged")
def ex_mean(g, x_shape):
    while g.ndim > len(x_shape):
        g = g.mean(0)
    for i, n in enumerate(x_shape):
        if n == 1:
            g = g.mean(i, keepdims=True)
    return g


@wrong("repeat", "one of many|not summed")
def rp_first(g, x_shape):
    return g[: x_shape[0], : x_shape[1]]


@wrong("repeat", "wrong axis|permutation|places|step")
def rp_reshape(g, x_shape, repeats):
    a, b = x_shape
    p, q = repeats
    return g.reshape(a, p, b, q).sum((1, 3))


@wrong("expand_dims", "keepdims|flattened|shape")
def ed(g):
    return g


@wrong("diagonal", "setting|permutation")
def dg0(g, x_shape, offset):
    r = np.zeros(x_shape)
    i = np.arange(len(g))
    r[i, i] = g
    return r


@wrong("diagonal", "not spread|mask|places|keepdims")
def dg_bcast(g, x_shape):
    return np.resize(g, x_shape) * np.ones(x_shape)


@wrong("logcumsumexp", "function|factor|division|flipped|step")
def lcse(g, x, out, axis):
    return np.cumsum(g * np.exp(x - out), axis)


@wrong("cumprod", "forward|factor|flipped|step|diagonal only|term")
def cp(g, x, out, axis):
    return g * out / x
