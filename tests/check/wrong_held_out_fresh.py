"""Held out: wrong rules that were written before the diagnoses were read again, in loops, einsum and words of students."""

from __future__ import annotations

import math

import numpy as np

import autolab
import autolab.nn.functional as F
from autolab.autograd import Function

from .wrong import sum_to, wrong
from .wrong_functions import wrong_function

R = np.random.default_rng(77)


def sig(x):
    return 1 / (1 + np.exp(-x))


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# --- pointwise


@wrong("sigmoid", "variable|applied twice")
def sigmoid_of_its_output(g, out):
    return g * sig(out) * (1 - sig(out))


@wrong("tanh", "factor|constant|function|power")
def tanh_like_sigmoid(g, out):
    return g * out * (1 - out)


@wrong("silu", "term|factor")
def silu_second_half(g, x):
    s = sig(x)
    return g * x * s * (1 - s)


@wrong("silu", "sign|term sign")
def silu_minus(g, x):
    s = sig(x)
    return g * (s - x * s * (1 - s))


@wrong("softplus", "function|variable|sign|term sign")
def softplus_sigmoid_of_minus_x(g, x):
    return g * sig(-x)


@wrong("gelu", "term|factor")
def gelu_only_the_cdf(g, x):
    return g * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@wrong("gelu", "constant|term|number|power")
def gelu_density_without_root(g, x):
    cdf = 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    return g * (cdf + x * np.exp(-(x**2) / 2) / (2 * math.pi))


@wrong("elu", "factor|constant|term|function|kink|pieces")
def elu_out_without_alpha(g, x, out, alpha, scale, rate):
    return g * np.where(x > 0, 1.0, out)


@wrong("mish", "term|factor")
def mish_tanh_only(g, x):
    return g * np.tanh(np.log1p(np.exp(x)))


@wrong("hardtanh", "mask|flipped|kink|pieces")
def hardtanh_gate_outside(g, x, low, high):
    return g * ((x < low) | (x > high))


@wrong("hardsigmoid", "constant|number")
def hardsigmoid_half(g, x):
    return g * ((x > -3) & (x < 3)) / 3


@wrong("hardswish", "term|function|pieces|constant|number|kink")
def hardswish_without_x(g, x):
    return g * np.where(x < -3, 0, np.where(x > 3, 1, (x + 3) / 6))


@wrong("softshrink", "mask|kink|pieces|number|function")
def softshrink_one_side(g, x, lambd):
    return g * (x > lambd)


@wrong("leaky_relu", "mask|swapped|pieces|kink")
def leaky_reversed(g, x, negative_slope):
    return np.where(x > 0, negative_slope * g, g)


@wrong("clamp", "mask|upstream ignored|kink|pieces|forward")
def clamp_gradient_itself(g, x, min, max):
    return np.clip(g, min, max)


@wrong("log1p", "variable|term|number|function")
def log1p_like_log(g, x):
    return g / x


@wrong("expm1", "sign|number|term|variable")
def expm1_out_minus_one(g, out):
    return g * (out - 1)


@wrong("rsqrt", "power")
def rsqrt_cube_lost(g, out):
    return -0.5 * g * out**2


@wrong("rsqrt", "sign")
def rsqrt_plus(g, x):
    return 0.5 * g * x**-1.5


@wrong("logit", "term sign|sign|function|number")
def logit_plus(g, x):
    return g / (x * (1 + x))


@wrong("atanh", "series")
def atanh_series_3(g, x):
    return g * (1 + x**2 + x**4)


@wrong("atanh", "term sign|function|sign|power")
def atanh_is_atan(g, x):
    return g / (1 + x**2)


@wrong("log1p", "series")
def log1p_series_2(g, x):
    return g * (1 - x + x**2)


@wrong("sin", "series")
def sin_series(g, x):
    return g * (1 - x**2 / 2 + x**4 / 24)


@wrong("erf", "number|constant|factor")
def erf_density(g, x):
    return g * np.exp(-(x**2)) / math.sqrt(math.pi)


@wrong("erf", "power|number|function|variable|constant|factor")
def erf_half_the_square(g, x):
    return g * 2 / math.sqrt(math.pi) * np.exp(-(x**2) / 2)


@wrong("sinc", "number|constant|function|term|factor")
def sinc_without_pi(g, x):
    return g * (np.cos(x) / x - np.sin(x) / x**2)


@wrong("exp2", "variable|function|factor|power")
def exp2_log_of_x(g, x, out):
    return g * out * np.log(np.abs(x))


@wrong("pow_scalar", "power")
def pow_exponent_kept(g, x, exponent):
    return g * exponent * x**exponent


@wrong("pow_scalar", "number|power|term")
def pow_minus_two(g, x, exponent):
    return g * exponent * x ** (exponent - 2)


@wrong("pow", "variable|function|factor|nan")
def pow_log_of_exponent(g, x, y, out):
    return sum_to(g * y * out / x, x), sum_to(g * out * np.log(y + 1), y)


@wrong("abs", "function|kink|variable|factor")
def abs_divided(g, x):
    return g * x


# --- two inputs


@wrong("div", "sign")
def div_plus(g, x, y):
    return sum_to(g / y, x), sum_to(g * x / y**2, y)


@wrong("div", "power")
def div_square_lost(g, x, y):
    return sum_to(g / y, x), sum_to(-g * x / y, y)


@wrong("mul", "not summed|averaged|one of many")
def mul_mean_instead_of_sum(g, x, y):
    def unb(a, like):
        while a.ndim > like.ndim:
            a = a.mean(0)
        for i, n in enumerate(like.shape):
            if n == 1 and a.shape[i] != 1:
                a = a.mean(i, keepdims=True)
        return a

    return unb(g * y, x), unb(g * x, y)


@wrong("sub", "sign")
def sub_both_plus(g, x, y):
    return sum_to(g, x), sum_to(g, y)


@wrong("lerp", "swapped")
def lerp_ends_swapped(g, x, y, weight):
    return sum_to(g * weight, x), sum_to(g * (1 - weight), y), sum_to(g * (y - x), weight)


@wrong("lerp", "sign")
def lerp_weight_sign(g, x, y, weight):
    return sum_to(g * (1 - weight), x), sum_to(g * weight, y), sum_to(g * (x - y), weight)


@wrong("addcmul", "swapped|variable")
def addcmul_both_times_b(g, x, a, b, value):
    return sum_to(g, x), sum_to(g * b, a), sum_to(g * b, b)


@wrong("addcdiv", "power|term")
def addcdiv_square_lost(g, x, a, b, value):
    return sum_to(g, x), sum_to(value * g / b, a), sum_to(-value * g * a / b, b)


@wrong("logaddexp", "variable|swapped")
def logaddexp_swapped(g, x, y, out):
    return sum_to(g * np.exp(y - out), x), sum_to(g * np.exp(x - out), y)


@wrong("xlogy", "term|function|number|extra term")
def xlogy_plus_one(g, x, y):
    return sum_to(g * (np.log(y) + 1), x), sum_to(g * x / y, y)


@wrong("atan2", "swapped")
def atan2_swapped(g, y, x):
    r = x * x + y * y
    return sum_to(-g * y / r, y), sum_to(g * x / r, x)


@wrong("maximum", "upstream twice|tie|constant|mask|upstream only|one of many")
def maximum_both(g, x, y):
    return sum_to(g, x), sum_to(g, y)


@wrong("where", "swapped|mask")
def where_swapped(g, condition, x, y):
    return None, np.where(condition, 0, g), np.where(condition, g, 0)


@wrong("masked_fill", "mask|term|not summed|upstream only")
def masked_fill_lets_all_through(g, x, mask, value):
    return g, None, (g * mask).sum()


@wrong("hypot", "division|factor|power")
def hypot_square_below(g, x, y, out):
    return sum_to(g * x / out**2, x), sum_to(g * y / out**2, y)


# --- reductions


@wrong("mean", "number|size|constant|averaged")
def mean_by_ndim(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) / x.ndim


@wrong("sum", "wrong axis|axis|transposed|keepdims")
def sum_always_last(g, x, axis):
    return np.broadcast_to(g.reshape(x.shape[:-1] + (1,)) if g.size * x.shape[-1] == x.size else g[..., None], x.shape) + 0.0


@wrong("var", "term|forward|number")
def var_raw_moment(g, x, axis):
    return np.expand_dims(g, axis) * 2 * x / (x.shape[axis] - 1)


@wrong("std", "factor|division|function")
def std_like_var(g, x, axis):
    g = np.expand_dims(g, axis)
    return g * 2 * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("std", "number|size|constant")
def std_biased(g, x, axis):
    g = np.expand_dims(g, axis)
    d = x - x.mean(axis, keepdims=True)
    return g * d / (x.shape[axis] * x.std(axis, keepdims=True, ddof=1))


@wrong("norm", "power|factor|division")
def norm_not_divided(g, x, axis):
    return np.expand_dims(g, axis) * x


@wrong("norm", "wrong axis|axis|flattened|size|forward")
def norm_of_everything(g, x, axis):
    return np.expand_dims(g, axis) * x / np.sqrt((x**2).sum())


@wrong("prod", "term|factor|variable|function|division")
def prod_of_all_including(g, x, out, axis):
    return np.expand_dims(g * out, axis) * np.ones_like(x)


@wrong("amax", "tie|constant|averaged|one of many|mask")
def amax_everything_above_mean(g, x, axis):
    return np.expand_dims(g, axis) * (x >= x.mean(axis, keepdims=True))


@wrong("amin", "mask|function|sign|operation|swapped|variable|places")
def amin_uses_max(g, x, axis):
    return np.expand_dims(g, axis) * (x == x.max(axis, keepdims=True))


@wrong("logsumexp", "wrong axis|axis|term|factor|not spread")
def logsumexp_uniform(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) / x.shape[axis]


@wrong("logsumexp", "factor|division|function")
def logsumexp_not_normalised(g, x, axis):
    return np.expand_dims(g, axis) * np.exp(x)


@wrong("cumsum", "flipped")
def cumsum_forward_again(g, axis):
    return np.cumsum(g, axis)


@wrong("cumsum", "places|term|size|extra term|diagonal only|flipped")
def cumsum_exclusive(g, axis):
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis) - g


@wrong("cumprod", "flipped|places|term|triangle")
def cumprod_forward_sum(g, x, out, axis):
    return np.cumsum(g * out, axis) / x


@wrong("logcumsumexp", "places|triangle|flipped|wrong axis|size|forward|operation|function|diagonal only")
def logcumsumexp_whole_softmax(g, x, axis):
    return g * soft(x, axis)


# --- softmax and losses


@wrong("softmax", "diagonal only|elementwise|term")
def softmax_like_sigmoid(g, out):
    return g * out * (1 - out)


@wrong("softmax", "order|early sum|term|factor")
def softmax_g_sum_first(g, out, axis):
    return out * (g - g.sum(axis, keepdims=True))


@wrong("softmax", "sign|term sign")
def softmax_plus(g, out, axis):
    return out * (g + (g * out).sum(axis, keepdims=True))


@wrong("softmax", "wrong axis|axis|flattened")
def softmax_dot_over_rows_only(g, out):
    return out * (g - (g * out).sum(0, keepdims=True))


@wrong("log_softmax", "term|variable|function|applied twice")
def log_softmax_out_for_probability(g, out, axis):
    return g - out * g.sum(axis, keepdims=True)


@wrong("log_softmax", "averaged|factor|constant|size|number|scale")
def log_softmax_mean(g, out, axis):
    return g - np.exp(out) * g.mean(axis, keepdims=True)


@wrong("cross_entropy", "averaged|size|number|constant|scale")
def ce_not_averaged(g, x, target):
    p = soft(x)
    p[np.arange(len(x)), target] -= 1
    return g * p, None


@wrong("cross_entropy", "averaged|size|number|constant|scale")
def ce_divided_by_classes(g, x, target):
    p = soft(x)
    p[np.arange(len(x)), target] -= 1
    return g * p / x.shape[1], None


@wrong("cross_entropy", "sign")
def ce_minus(g, x, target):
    p = -soft(x)
    p[np.arange(len(x)), target] += 1
    return g * p / len(x), None


@wrong("cross_entropy", "number|constant|term|places|setting|factor|series")
def ce_label_smoothing(g, x, target):
    p = soft(x)
    y = np.eye(x.shape[1])[target] * 0.9 + 0.1 / x.shape[1]
    return g * (p - y) / len(x), None


@wrong("bce_with_logits", "function|variable|factor|forward|term")
def bce_logits_as_probabilities(g, x, target):
    return g * (x - target) / x.size, None


@wrong("binary_cross_entropy", "term|factor|division")
def bce_numerator_only(g, x, target):
    return sum_to(g * (x - target), x), sum_to(g * np.log((1 - x) / x), target)


@wrong("mse_loss", "constant|number")
def mse_half(g, x, y, reduction):
    n = np.broadcast(x, y).size if reduction == "mean" else 1
    return sum_to(g * (x - y) / n, x), sum_to(-g * (x - y) / n, y)


@wrong("mse_loss", "setting|size|number|scale|constant")
def mse_always_mean(g, x, y, reduction):
    d = 2 * (x - y) / np.broadcast(x, y).size
    return sum_to(g * d, x), sum_to(-g * d, y)


# --- matrices


@wrong("matmul", "transposed")
def matmul_one_transpose_missing(g, x, y):
    return g @ np.swapaxes(y, -1, -2), x @ g if x.shape[-1] == g.shape[-2] else np.swapaxes(x, -1, -2) @ g


@wrong("matmul", "swapped|order|transposed|permutation")
def matmul_einsum_letters(g, x, y):
    return np.einsum("...ik,...jk->...ij", g, y), np.einsum("...ki,...kj->...ji", x, g).reshape(y.shape)


@wrong("outer", "swapped|transposed|order|exception")
def outer_swapped(g, x, y):
    return y @ g.T, g.T @ x if len(x) != len(y) else x @ g.T


@wrong("mv", "transposed|order|permutation")
def mv_outer_flipped(g, x, y):
    return np.outer(y, g).reshape(x.shape), x.T @ g


@wrong("bmm", "not summed|early sum|averaged|axis|size|one of many|wrong axis")
def bmm_weight_mean_over_batch(g, x, y):
    gy = np.swapaxes(x, 1, 2) @ g
    return g @ np.swapaxes(y, 1, 2), np.broadcast_to(gy.mean(0), y.shape) + 0.0


@wrong("linear", "averaged|size|number|scale|constant")
def linear_bias_mean(g, x, weight, bias):
    rows = g.reshape(-1, g.shape[-1])
    return g @ weight, rows.T @ x.reshape(-1, x.shape[-1]), rows.mean(0)


@wrong("inv", "transposed|order")
def inv_without_transpose(g, out):
    return -out @ g @ out


@wrong("det", "transposed")
def det_not_transposed(g, x, out):
    return np.asarray(g * out)[..., None, None] * np.linalg.inv(x)


@wrong("solve", "sign")
def solve_plus(g, a, b, out):
    gb = np.linalg.solve(np.swapaxes(a, -1, -2), g)
    return gb @ np.swapaxes(out, -1, -2) if out.ndim > 1 else np.outer(gb, out), gb


# --- places


@wrong("gather", "axis|wrong axis|setting|exception")
def gather_along_axis_0(g, x, index, axis):
    out = np.zeros_like(x)
    for i in range(index.shape[0]):
        for j in range(index.shape[1]):
            out[index[i, j] % x.shape[0], j] += g[i, j]
    return out, None


@wrong("gather", "overwritten")
def gather_assigns(g, x, index, axis):
    out = np.zeros_like(x)
    np.put_along_axis(out, index, g, axis)
    return out, None


@wrong("index_select", "overwritten")
def index_select_assigns(g, x, index, axis):
    out = np.zeros_like(x)
    if axis == 0:
        out[index] = g
    else:
        out[:, index] = g
    return out, None


@wrong("embedding", "averaged|count|size|number|scale|factor")
def embedding_divided_by_counts(g, weight, index):
    out = np.zeros_like(weight)
    np.add.at(out, index, g)
    n = np.bincount(index.ravel(), minlength=len(weight))[:, None]
    return out / np.maximum(n, 1), None


@wrong("flip", "flipped|upstream only")
def flip_forgotten(g, axis):
    return g


@wrong("roll", "flipped|permutation|sign|places")
def roll_same_way(g, shift, axis):
    return np.roll(g, shift, axis)


@wrong("tril", "triangle|swapped|flipped|transposed|places|function")
def tril_upper(g, k):
    return np.triu(g, k)


@wrong("tril", "triangle|setting|places")
def tril_without_k(g, k):
    return np.tril(g)


@wrong("permute", "permutation")
def permute_again(g, axes):
    return np.transpose(g, axes)


@wrong("reshape", "transposed|order|permutation")
def reshape_fortran(g, x_shape, shape):
    return g.reshape(x_shape, order="F")


@wrong("diagonal", "places|setting|triangle")
def diagonal_offset_forgotten(g, x_shape, offset):
    out = np.zeros(x_shape)
    for i in range(g.shape[-1]):
        out[..., i, i] = g[..., i]
    return out


@wrong("repeat", "averaged|one of many|not summed|size|scale|number")
def repeat_first_tile(g, x_shape, repeats):
    return g[tuple(slice(0, n) for n in x_shape)]


# --- layers


@wrong("max_pool", "places|tie|flipped|one of many|operation|averaged|axis|permutation")
def max_pool_first_entry(g, x):
    out = np.zeros_like(x)
    out[..., ::2, ::2] = g
    return out


@wrong("avg_pool", "number|constant|scale|size|averaged")
def avg_pool_half(g, x):
    return np.repeat(np.repeat(g, 2, -1), 2, -2) / 2


@wrong("conv1d", "flipped|transposed|swapped|forward")
def conv1d_kernel_not_flipped(g, x, weight):
    k = weight.shape[-1]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[-1]):
        for j in range(k):
            gx[..., i + j] += np.einsum("...o,oc->...c", g[..., i], weight[..., k - 1 - j]) if x.ndim > 1 else g[i] * weight[k - 1 - j]
            gw[..., j] += np.einsum("bo,bc->oc", g[..., i], x[..., i + j]) if x.ndim > 2 else 0
    return gx, gw


@wrong("layer_norm", "term")
def layer_norm_variance_constant(g, x, weight, bias):
    mu, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    s = 1 / np.sqrt(var + 1e-5)
    h = g * weight
    axes = tuple(range(x.ndim - 1))
    return (h - h.mean(-1, keepdims=True)) * s, (g * (x - mu) * s).sum(axes), g.sum(axes)


@wrong("layer_norm", "factor")
def layer_norm_bias_weighted(g, x, weight, bias):
    mu, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    s = 1 / np.sqrt(var + 1e-5)
    n, h = (x - mu) * s, g * weight
    axes = tuple(range(x.ndim - 1))
    return (s * (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True)), (g * n).sum(axes), (g * weight).sum(axes))


@wrong("rms_norm", "sign|term sign")
def rms_norm_plus(g, x, weight):
    eps = 1e-5
    r = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    h = g * weight
    return r * (h + x * r * r * (h * x).mean(-1, keepdims=True)), (g * x * r).sum(tuple(range(x.ndim - 1)))


@wrong("dropout", "factor|division|scale|constant")
def dropout_not_rescaled(g, x, mask, p):
    return g * mask, None


@wrong("concat", "swapped|pieces")
def concat_swapped(g, x, y):
    return g[-len(x) :], g[: len(y)]


class AttentionNoScale(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        p = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        gp = g @ v.transpose(-1, -2)
        gs = p * (gp - (gp * p).sum(-1, keepdim=True))
        return gs @ k, gs.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g


wrong("attention", "factor|division|scale|constant|number|size")(AttentionNoScale)


# --- functions of an instructor, which are in no table

S = (lambda a: a @ a.T + 3 * np.eye(4) + np.diag([0.0, 1.0, 2.5, 5.0]))(R.normal(size=(4, 4)))
A = R.normal(size=(4, 4)) + 3 * np.eye(4)
x = R.normal(size=(3, 5))
y = R.normal(size=(3, 5))
xs = R.uniform(0.1, 0.8, (3, 5))
t = np.eye(5)[[0, 3, 1]]

eigvals = lambda a: autolab.linalg.eigh(a)[0]
q_of = lambda a: autolab.linalg.qr(a)[0]
r_of = lambda a: autolab.linalg.qr(a)[1]
smooth = lambda x: -((0.9 * autolab.tensor(t) + 0.02) * x.log_softmax(-1)).sum(-1).mean()
cosine = lambda x, y: (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))
kl = lambda x, y: (x.softmax(-1) * (x.log_softmax(-1) - y.log_softmax(-1))).sum(-1)
focal = lambda x: -((1 - x) ** 2) * x.log()
huber = lambda x, y: F.huber_loss(x, y)
standardise = lambda x: (x - x.mean(0)) / x.std(0)
swiglu = lambda x, y: F.silu(x) * y


@wrong_function(eigvals, [S], "diagonal only|transposed|order|function|size|not spread|upstream collapsed|step|term|factor")
def eigvals_diagonal(g, a):
    return np.diag(g)


@wrong_function(eigvals, [S], "transposed|order")
def eigvals_vectors_transposed(g, a):
    _, v = np.linalg.eigh(a)
    return v.T @ np.diag(g) @ v


@wrong_function(eigvals, [S], "flipped|order|permutation|wrong axis")
def eigvals_descending(g, a):
    _, v = np.linalg.eigh(a)
    return v @ np.diag(g[::-1]) @ v.T


@wrong_function(r_of, [A], "transposed|term|order|triangle|step|factor")
def qr_r_without_triangle(g, a):
    q, _ = np.linalg.qr(a)
    return q @ g


@wrong_function(q_of, [A], "term|step|factor|order")
def qr_q_by_r_inverse(g, a):
    _, r = np.linalg.qr(a)
    return g @ np.linalg.inv(r).T


@wrong_function(smooth, [x], "term|number|constant|places|factor|setting")
def smoothing_left_out(g, x):
    return g * (soft(x) - t) / len(x)


@wrong_function(smooth, [x], "term|number|constant|places|factor|setting")
def smoothing_uniform_part_left_out(g, x):
    return g * (soft(x) - 0.9 * t) / len(x)


@wrong_function(cosine, [x, y], "term|division|factor")
def cosine_norm_constant(g, x, y):
    n = (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1))[:, None]
    return g[:, None] * y / n, g[:, None] * x / n


@wrong_function(kl, [x, y], "swapped|sign|term sign|order")
def kl_difference_other_way(g, x, y):
    p, q = soft(x), soft(y)
    d = np.log(p) - np.log(q)
    return g[:, None] * p * (d - (p * d).sum(-1, keepdims=True)), g[:, None] * (p - q)


@wrong_function(focal, [xs], "term|factor")
def focal_weight_constant(g, x):
    return -g * (1 - x) ** 2 / x


@wrong_function(focal, [xs], "sign|term sign")
def focal_inner_minus(g, x):
    return g * (-2 * (1 - x) * np.log(x) - (1 - x) ** 2 / x)


@wrong_function(huber, [x, y], "averaged|size|number|scale|constant")
def huber_not_averaged(g, x, y):
    d = np.clip(x - y, -1, 1)
    return g * d, -g * d


@wrong_function(huber, [x, y], "clipped|kink|function|pieces|mask")
def huber_never_clipped(g, x, y):
    return g * (x - y) / x.size, -g * (x - y) / x.size


@wrong_function(standardise, [x], "term")
def standardise_statistics_constant(g, x):
    return g / x.std(0, ddof=1)


@wrong_function(standardise, [x], "wrong axis|axis|size|number")
def standardise_other_axis_count(g, x):
    s = x.std(0, ddof=1)
    n = (x - x.mean(0)) / s
    return (g - g.mean(0) - n * (g * n).mean(0)) / s


@wrong_function(swiglu, [x, y], "factor|term|function|forward")
def swiglu_gate_only_sigmoid(g, x, y):
    return g * y * sig(x), g * x * sig(x)
