"""Held out: wrong rules for all operations, written after the checker, to see what it makes of mistakes that it was not made for."""

from __future__ import annotations

import numpy as np

from autolab import zeros
from autolab.autograd import Function

from .wrong import sum_to, wrong
from .wrong_layers import T, parts, softmax


@wrong("hypot", "swapped|variable")
class HypotSwapped(Function):
    @staticmethod
    def forward(ctx, x, y):
        out = (x * x + y * y).sqrt()
        ctx.save_for_backward(x, y, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, y, out = ctx.saved_tensors
        return sum_to(g * y / out, x), sum_to(g * x / out, y)


@wrong("hypot", "division|factor|constant")
def hypot_like_squares(g, x, y):
    return sum_to(2 * g * x, x), sum_to(2 * g * y, y)


@wrong("atan2", "sign|term sign|swapped")
def atan2_signs(g, y, x):
    r = x * x + y * y
    return sum_to(g * x / r, y), sum_to(g * y / r, x)


@wrong("minimum", "mask|swapped")
def minimum_is_maximum(g, x, y):
    return sum_to(g * (x > y), x), sum_to(g * (x <= y), y)


@wrong("expm1", "variable|factor|term|number|function")
def expm1_from_its_result(g, out):
    return g * out


@wrong("exp2", "factor|constant")
def exp2_is_exp(g, out):
    return g * out


@wrong("log2", "constant|factor")
def log2_is_log(g, x):
    return g / x


@wrong("tan", "function|term sign|sign|power")
def tan_minus(g, out):
    return g * (1 - out**2)


@wrong("asin", "sign|function")
def asin_is_acos(g, x):
    return -g / np.sqrt(1 - x**2)


@wrong("atan", "function|power|term sign")
def atan_is_asin(g, x):
    return g / np.sqrt(1 + x**2)


@wrong("sinh", "sign|function")
def sinh_like_sin(g, x):
    return g * np.cos(x)


@wrong("cosh", "sign")
def cosh_like_cos(g, x):
    return -g * np.sinh(x)


@wrong("erf", "constant|factor")
def erf_forgets_its_factor(g, x):
    return g * np.exp(-x * x)


@wrong("logaddexp", "upstream only|factor|mask")
def logaddexp_like_add(g, x, y):
    return sum_to(g, x), sum_to(g, y)


@wrong("amin", "mask|function|sign")
class MinAsMax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.amin(dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x == x.amax(ctx.dim, keepdim=True)).to(g.dtype) * g.unsqueeze(ctx.dim), None


@wrong("cumprod", "forward|function")
def cumprod_of_g(g, axis):
    return np.cumprod(g, axis)


@wrong("cumprod", "upstream only|term|factor|diagonal only")
def cumprod_like_its_result(g, x, out, axis):
    return g * out / x


@wrong("expand_dims", "none|shape|not spread|flattened|not summed|permutation|keepdims")
def expand_dims_keeps_the_axis(g, axis):
    return g


@wrong("squeeze", "not spread|flattened|shape")
def squeeze_is_not_undone(g, x):
    return g


@wrong("diagonal", "not spread|mask|step|permutation")
def diagonal_on_every_row(g, x):
    return np.ones_like(x) * g[0]


@wrong("gather", "overwritten")
class GatherAssigns(Function):
    @staticmethod
    def forward(ctx, x, index, dim):
        ctx.save_for_backward(index)
        ctx.shape, ctx.dim = x.shape, dim
        return x.gather(dim, index)

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return zeros(ctx.shape, dtype=g.dtype).scatter(ctx.dim, index, g), None, None


@wrong("index_select", "overwritten")
def index_select_assigns(g, x, index, axis):
    grad = np.zeros_like(x)
    for i, place in enumerate(index):
        if axis == 0:
            grad[place] = g[i]
        else:
            grad[:, place] = g[:, i]
    return grad


@wrong("masked_fill", "upstream only|mask")
def masked_fill_passes(g, x, mask, value):
    return g, None, (g * mask).sum()


@wrong("masked_fill", "mask")
def masked_fill_the_wrong_way(g, x, mask, value):
    return g * mask, None, (g * mask).sum()


@wrong("matmul", "transposed|order|variable")
class MatMulTransposedResult(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (y @ g.mT), (g.mT @ x)


@wrong("linear", "swapped|order|transposed|exception")
def linear_returns_in_another_order(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return flat.T @ rows, g @ weight, flat.sum(0)


@wrong("linear", "constant|upstream ignored")
def linear_bias_of_ones(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g @ weight, flat.T @ rows, np.ones_like(bias)


@wrong("softmax", "power|variable|step|term|factor")
def softmax_squares_too_much(g, out, axis):
    return out * (g - (g * out * out).sum(axis, keepdims=True))


@wrong("softmax", "forward|variable|applied twice")
class SoftmaxTwice(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.softmax(dim)
        ctx.save_for_backward(out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, g):
        p = ctx.saved_tensors[0].softmax(ctx.dim)
        return p * (g - (g * p).sum(ctx.dim, keepdim=True)), None


@wrong("layer_norm", "constant|number|factor")
def layer_norm_unbiased(g, x, weight, bias):
    n = x.shape[-1]
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5)
    z, h = (x - x.mean(-1, keepdims=True)) * rstd, g * weight
    return rstd * (h - h.mean(-1, keepdims=True) - z * (h * z).sum(-1, keepdims=True) / (n - 1)), (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "factor")
def layer_norm_without_rstd(g, x, weight, bias):
    z, _ = parts(x)
    h = g * weight
    return h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True), (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "factor|swapped|variable")
def layer_norm_weight_forgets_z(g, x, weight, bias):
    z, rstd = parts(x)
    h = g * weight
    gx = rstd * (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True))
    return gx, g.sum(0), g.sum(0)


@wrong("batch_norm", "axis|wrong axis|not summed|exception")
def batch_norm_is_layer_norm(g, x, weight, bias):
    z, rstd = parts(x, 1)
    h = g * weight
    gx = rstd * (h - h.mean(1, keepdims=True) - z * (h * z).mean(1, keepdims=True))
    return gx, (g * z).sum(0), g.sum(0)


@wrong("rms_norm", "power|division")
def rms_norm_divides_twice(g, x, weight):
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    z, h = x * r, g * weight
    return r * r * (h - z * (h * z).mean(-1, keepdims=True)), (g * z).sum(0)


@wrong("cross_entropy", "upstream ignored|constant|sign")
class CrossEntropySubtractsFromTheWrongSide(Function):
    @staticmethod
    def forward(ctx, x, target):
        p = x.softmax(1)
        ctx.save_for_backward(p, target)
        return -p[list(range(len(x))), target].log().mean()

    @staticmethod
    def backward(ctx, g):
        p, target = ctx.saved_tensors
        d = -p
        d[list(range(len(p))), target] += 1
        return g * d / len(p), None


@wrong("cross_entropy", "axis|variable|step")
def cross_entropy_softmax_of_columns(g, x, target):
    e = np.exp(x - x.max())
    return g * (e / e.sum(0) - np.eye(x.shape[1])[target]) / len(x)


@wrong("bce_with_logits", "sign")
def bce_the_other_way(g, x, target):
    return g * (target - 1 / (1 + np.exp(-x))) / x.size


@wrong("bce_with_logits", "constant")
def bce_by_batch(g, x, target):
    return g * (1 / (1 + np.exp(-x)) - target) / len(x)


@wrong("mse_loss", "upstream ignored")
def mse_forgets_g(g, x, y, reduction):
    d = 2 * (x - y) / (x.size if reduction == "mean" else 1)
    return d, -d


@wrong("attention", "term|not summed|diagonal only|upstream only|factor")
def attention_without_softmax_backward(g, q, k, v):
    s = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ T(k) * s)
    gs = p * (g @ T(v))
    return gs @ k * s, T(gs) @ q * s, T(p) @ g


@wrong("conv1d", "not summed|averaged|constant|overwritten")
def conv1d_averages_over_the_batch(g, x, weight):
    k = weight.shape[-1]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[-1]):
        gx[:, :, i : i + k] += np.einsum("no,ock->nck", g[:, :, i], weight)
        gw += np.einsum("nck,no->ock", x[:, :, i : i + k], g[:, :, i])
    return gx, gw / g.shape[0]


@wrong("conv2d", "flipped")
def conv2d_positions_exchanged(g, x, weight):
    kh, kw = weight.shape[2:]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            gx[:, :, i : i + kh, j : j + kw] += np.einsum("no,ockl->nckl", g[:, :, i, j], weight[:, :, ::-1, ::-1])
            gw += np.einsum("nckl,no->ockl", x[:, :, i : i + kh, j : j + kw], g[:, :, i, j])
    return gx, gw


@wrong("max_pool", "one of many|places|mask|upstream only|permutation")
def max_pool_first_corner(g, x):
    grad = np.zeros_like(x)
    grad[:, :, ::2, ::2] = g
    return grad


@wrong("embedding", "averaged")
def embedding_averages(g, weight, index):
    grad, count = np.zeros_like(weight), np.zeros((len(weight), 1), weight.dtype)
    np.add.at(grad, index, g)
    np.add.at(count, index, 1)
    return grad / np.maximum(count, 1), None


@wrong("var", "constant")
def var_divides_by_everything(g, x, axis):
    return 2 * np.expand_dims(g, axis) * (x - x.mean(axis, keepdims=True)) / (x.size - 1)


@wrong("std", "division|power|factor")
def std_multiplies(g, x, out, axis):
    return np.expand_dims(g * out, axis) * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("logsumexp", "division|term|unstable|factor|function")
def logsumexp_uses_the_log(g, x, out, axis):
    return np.expand_dims(g / out, axis) * np.exp(x)


@wrong("prod", "function|factor|upstream only|constant")
def prod_like_sum(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x)


@wrong("norm", "power|division|factor")
def norm_divides_by_the_square(g, x, out, axis):
    return np.expand_dims(g / out**2, axis) * x


@wrong("flip", "axis|flipped|wrong axis|permutation")
def flip_everything(g):
    return np.flip(g)


@wrong("gelu", "sign|term sign")
def gelu_minus(g, x):
    from math import erfc, pi, sqrt

    cdf = np.vectorize(lambda t: 0.5 * erfc(-t / sqrt(2)))(x)
    return g * (cdf - x * np.exp(-x * x / 2) / np.sqrt(2 * pi))


@wrong("clip", "mask|upstream ignored")
def clip_forgets_g(g, x, low, high):
    return ((x > low) & (x < high)).astype(x.dtype)


@wrong("tanh", "dtype|precision")
def tanh_in_half_precision(g, out):
    return (g * (1 - out**2)).astype(np.float16).astype(g.dtype)


@wrong("mul", "upstream ignored")
class MulLocalOnly(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return sum_to(y.expand(g.shape), x), sum_to(x.expand(g.shape), y)


@wrong("mul", "count")
class MulForgetsY(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return sum_to(g * y, x)


@wrong("mul", "none|zero")
def mul_second_is_none(g, x, y):
    return sum_to(g * y, x), None


@wrong("sigmoid", "term|power|factor|variable")
def sigmoid_squared(g, out):
    return g * out * out


@wrong("relu", "mask|places|number")
def relu_lets_everything_above_one(g, x):
    return g * (x > 1)
