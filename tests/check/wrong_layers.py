"""Wrong rules for matrix products, layers, losses and norms."""

from __future__ import annotations

import numpy as np

from autolab import tensor
from autolab.autograd import Function

from .wrong import wrong


def T(a):
    return np.swapaxes(a, -1, -2)


# --- products


@wrong("matmul", "swapped|variable|order|transposed")
def matmul_swapped(g, x, y):
    return T(x) @ g, g @ T(y)


@wrong("matmul", "swapped")
def matmul_swapped_and_fitted(g, x, y):
    a, b = T(x) @ g, g @ T(y)
    return a.reshape(x.shape) if a.size == x.size else a, b


@wrong("matmul", "variable|elementwise")
def matmul_like_mul(g, x, y):
    return g * y, g * x


@wrong("mm", "transposed")
class MmForgetsOneTranspose(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.t(), x @ g


@wrong("mm", "transposed")
def mm_result_transposed(g, x, y):
    return y @ g.T, g.T @ x


@wrong("mm", "upstream ignored")
def mm_with_ones(g, x, y):
    one = np.ones_like(g)
    return one @ y.T, x.T @ one


@wrong("bmm", "transposed|2-D only|exception")
def bmm_reverses_all_axes(g, x, y):
    return g @ y.T, x.T @ g


@wrong("bmm", "not summed|shape|batch|wrong axis")
def bmm_sums_the_batch(g, x, y):
    return np.einsum("bik,bjk->ij", g, y), np.einsum("bki,bkj->ij", x, g)


@wrong("mv", "transposed|order|swapped|variable")
def mv_outer_the_other_way(g, x, y):
    return np.outer(y, g), x.T @ g


@wrong("mv", "transposed")
def mv_no_transpose(g, x, y):
    return np.outer(g, y), x @ g


@wrong("dot", "swapped|variable")
class DotOwn(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x.dot(y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x, g * y


@wrong("outer", "transposed|swapped|variable")
def outer_without_transpose(g, x, y):
    return g @ y, g @ x


@wrong("linear", "transposed")
def linear_weight_transposed(g, x, weight, bias):
    axes = tuple(range(x.ndim - 1))
    gw = np.tensordot(x, g, (axes, axes))
    return g @ weight, gw, g.reshape(-1, g.shape[-1]).sum(0)


@wrong("linear", "not summed|upstream only")
class LinearBiasNotSummed(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        return g @ weight, flat.t() @ rows, g


@wrong("linear", "averaged|constant")
def linear_bias_averaged(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g @ weight, flat.T @ rows, flat.mean(0)


@wrong("linear", "wrong axis|axis")
def linear_bias_other_axis(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g @ weight, flat.T @ rows, flat.sum(1)


@wrong("linear", "2-D only")
def linear_flat_only(g, x, weight, bias):
    return g @ weight, g.T @ x, g.sum(0)


@wrong("linear", "constant|averaged")
def linear_divides_by_the_batch(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g @ weight, flat.T @ rows / len(rows), flat.sum(0)


@wrong("linear", "none")
def linear_no_bias_gradient(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g @ weight, flat.T @ rows, None


# --- layers


@wrong("embedding", "overwritten")
class EmbeddingAssigns(Function):
    @staticmethod
    def forward(ctx, weight, index):
        ctx.save_for_backward(index)
        ctx.rows = weight.shape
        return weight[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        grad = g.new_zeros(ctx.rows)
        grad[index] = g
        return grad, None


@wrong("embedding", "overwritten")
def embedding_loop_assigns(g, weight, index):
    grad = np.zeros_like(weight)
    for place in np.ndindex(index.shape):
        grad[index[place]] = g[place]
    return grad


@wrong("dropout", "constant|factor")
def dropout_forgets_the_scale(g, x, mask, p):
    return g * mask


@wrong("dropout", "constant|number")
def dropout_divides_by_p(g, x, mask, p):
    return g * mask / p


@wrong("dropout", "upstream only|factor|mask")
def dropout_no_mask(g, x, mask, p):
    return g / (1 - p)


@wrong("dropout", "mask|variable|places")
def dropout_masks_where_zero(g, x, mask, p):
    return g * (1 - mask) / (1 - p)


@wrong("conv1d", "flipped|step|order")
def conv1d_not_flipped(g, x, weight):
    k = weight.shape[-1]
    wide = np.pad(g, ((0, 0), (0, 0), (k - 1, k - 1)))
    gx = np.zeros_like(x)
    gw = np.zeros_like(weight)
    for i in range(x.shape[-1]):
        gx[:, :, i] = np.einsum("nok,ock->nc", wide[:, :, i : i + k], weight)
    for i in range(g.shape[-1]):
        gw += np.einsum("nck,no->ock", x[:, :, i : i + k], g[:, :, i])
    return gx, gw


@wrong("conv1d", "overwritten|term")
def conv1d_assigns(g, x, weight):
    k = weight.shape[-1]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[-1]):
        gx[:, :, i : i + k] = np.einsum("no,ock->nck", g[:, :, i], weight)
        gw += np.einsum("nck,no->ock", x[:, :, i : i + k], g[:, :, i])
    return gx, gw


@wrong("conv1d", "overwritten|term")
def conv1d_weight_assigns(g, x, weight):
    k = weight.shape[-1]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[-1]):
        gx[:, :, i : i + k] += np.einsum("no,ock->nck", g[:, :, i], weight)
        gw = np.einsum("nck,no->ock", x[:, :, i : i + k], g[:, :, i])
    return gx, gw


@wrong("conv2d", "averaged|constant")
def conv2d_weight_averaged(g, x, weight):
    kh, kw = weight.shape[2:]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            gx[:, :, i : i + kh, j : j + kw] += np.einsum("no,ockl->nckl", g[:, :, i, j], weight)
            gw += np.einsum("nckl,no->ockl", x[:, :, i : i + kh, j : j + kw], g[:, :, i, j])
    return gx, gw / len(x)


@wrong("conv2d", "flipped")
def conv2d_weight_flipped(g, x, weight):
    kh, kw = weight.shape[2:]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            gx[:, :, i : i + kh, j : j + kw] += np.einsum("no,ockl->nckl", g[:, :, i, j], weight)
            gw += np.einsum("nckl,no->ockl", x[:, :, i : i + kh, j : j + kw], g[:, :, i, j])
    return gx, gw[:, :, ::-1, ::-1]


@wrong("max_pool", "mask|not spread|term|tie|function")
def max_pool_spreads(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3)


@wrong("max_pool", "constant|function|averaged|mask")
def max_pool_averages(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3) / 4


@wrong("avg_pool", "constant")
def avg_pool_no_quarter(g, x):
    return np.repeat(np.repeat(g, 2, 2), 2, 3)


@wrong("avg_pool", "permutation|mask|one of many")
def avg_pool_tiles(g, x):
    return np.tile(g, (1, 1, 2, 2)) / 4


@wrong("avg_pool", "one of many|places|term|not spread")
def avg_pool_corner_only(g, x):
    grad = np.zeros_like(x)
    grad[:, :, ::2, ::2] = g / 4
    return grad


# --- losses


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@wrong("cross_entropy", "term")
class CrossEntropyNoOneHot(Function):
    @staticmethod
    def forward(ctx, x, target):
        ctx.save_for_backward(x.softmax(-1), target)
        return -x.log_softmax(-1)[list(range(len(x))), target].mean()

    @staticmethod
    def backward(ctx, g):
        p, _ = ctx.saved_tensors
        return g * p / len(p), None


@wrong("cross_entropy", "constant")
def cross_entropy_not_averaged(g, x, target):
    p = softmax(x)
    p[np.arange(len(x)), target] -= 1
    return g * p


@wrong("cross_entropy", "constant")
def cross_entropy_over_all(g, x, target):
    p = softmax(x)
    p[np.arange(len(x)), target] -= 1
    return g * p / x.size


@wrong("cross_entropy", "sign")
def cross_entropy_negative(g, x, target):
    return g * (np.eye(x.shape[1])[target] - softmax(x)) / len(x)


@wrong("cross_entropy", "upstream ignored")
def cross_entropy_without_g(g, x, target):
    return (softmax(x) - np.eye(x.shape[1])[target]) / len(x)


@wrong("cross_entropy", "variable|step|function")
def cross_entropy_logits(g, x, target):
    return g * (x - np.eye(x.shape[1])[target]) / len(x)


@wrong("cross_entropy", "term")
def cross_entropy_target_only(g, x, target):
    return -g * np.eye(x.shape[1])[target] / len(x)


@wrong("bce_with_logits", "variable|step|function")
def bce_uses_logits(g, x, target):
    return g * (x - target) / x.size, None


@wrong("bce_with_logits", "constant")
def bce_sum(g, x, target):
    return g * (1 / (1 + np.exp(-x)) - target), None


@wrong("bce_with_logits", "unstable")
def bce_overflows(g, x, target):
    e = np.exp(x)
    return g * (e / (1 + e) - target) / x.size, None


@wrong("bce_with_logits", "term")
def bce_no_target(g, x, target):
    return g / (1 + np.exp(-x)) / x.size, None


@wrong("mse_loss", "constant")
class MseNoTwo(Function):
    @staticmethod
    def forward(ctx, x, y, reduction):
        ctx.save_for_backward(x, y)
        ctx.n = x.numel() if reduction == "mean" else 1
        return ((x - y) ** 2).sum() / ctx.n

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        d = g * (x - y) / ctx.n
        return d, -d, None


@wrong("mse_loss", "sign")
def mse_same_sign(g, x, y, reduction):
    d = 2 * g * (x - y) / (x.size if reduction == "mean" else 1)
    return d, d


@wrong("mse_loss", "constant")
def mse_batch_only(g, x, y, reduction):
    d = 2 * g * (x - y) / (len(x) if reduction == "mean" else 1)
    return d, -d


@wrong("mse_loss", "constant")
def mse_always_sum(g, x, y):
    d = 2 * g * (x - y)
    return d, -d


# --- norms


def parts(x, axis=-1):
    centred = x - x.mean(axis, keepdims=True)
    rstd = 1 / np.sqrt(x.var(axis, keepdims=True) + 1e-5)
    return centred * rstd, rstd


@wrong("layer_norm", "term")
def layer_norm_rstd_only(g, x, weight, bias):
    z, rstd = parts(x)
    return g * weight * rstd, (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "term")
def layer_norm_no_variance_term(g, x, weight, bias):
    z, rstd = parts(x)
    gz = g * weight
    return rstd * (gz - gz.mean(-1, keepdims=True)), (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "term")
class LayerNormNoMeanTerm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        rstd = 1 / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        z = (x - x.mean(-1, keepdim=True)) * rstd
        ctx.save_for_backward(z, rstd, weight)
        return z * weight + bias

    @staticmethod
    def backward(ctx, g):
        z, rstd, weight = ctx.saved_tensors
        gz = g * weight
        return rstd * (gz - z * (gz * z).mean(-1, keepdim=True)), (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "factor")
def layer_norm_forgets_weight(g, x, weight, bias):
    z, rstd = parts(x)
    gx = rstd * (g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True))
    return gx, (g * z).sum(0), g.sum(0)


@wrong("layer_norm", "not summed")
def layer_norm_bias_not_summed(g, x, weight, bias):
    z, rstd = parts(x)
    gz = g * weight
    gx = rstd * (gz - gz.mean(-1, keepdims=True) - z * (gz * z).mean(-1, keepdims=True))
    return gx, g * z, g


@wrong("layer_norm", "variable")
def layer_norm_weight_gets_x(g, x, weight, bias):
    z, rstd = parts(x)
    gz = g * weight
    gx = rstd * (gz - gz.mean(-1, keepdims=True) - z * (gz * z).mean(-1, keepdims=True))
    return gx, (g * x).sum(0), g.sum(0)


@wrong("batch_norm", "axis")
def batch_norm_over_features(g, x, weight, bias):
    z, rstd = parts(x, 0)
    gz = g * weight
    gx = rstd * (gz - gz.mean(1, keepdims=True) - z * (gz * z).mean(1, keepdims=True))
    return gx, (g * z).sum(0), g.sum(0)


@wrong("batch_norm", "function|averaged|constant|term|number")
def batch_norm_sums_for_means(g, x, weight, bias):
    z, rstd = parts(x, 0)
    gz = g * weight
    gx = rstd * (gz - gz.sum(0) - z * (gz * z).sum(0))
    return gx, (g * z).sum(0), g.sum(0)


@wrong("batch_norm", "term")
def batch_norm_running(g, x, weight, bias):
    z, rstd = parts(x, 0)
    return g * weight * rstd, (g * z).sum(0), g.sum(0)


@wrong("rms_norm", "term")
def rms_norm_no_second_term(g, x, weight):
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return g * weight * r, (g * x * r).sum(0)


@wrong("rms_norm", "extra term|term")
def rms_norm_like_layer_norm(g, x, weight):
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    z, gz = x * r, g * weight
    return r * (gz - gz.mean(-1, keepdims=True) - z * (gz * z).mean(-1, keepdims=True)), (g * z).sum(0)


@wrong("attention", "term|diagonal only|factor|not summed")
def attention_softmax_elementwise(g, q, k, v):
    s = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ T(k) * s)
    gs = g @ T(v) * p * (1 - p)
    return gs @ k * s, T(gs) @ q * s, T(p) @ g


@wrong("attention", "constant|factor")
def attention_forgets_the_scale(g, q, k, v):
    s = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ T(k) * s)
    gp = g @ T(v)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True))
    return gs @ k, T(gs) @ q, T(p) @ g


@wrong("attention", "transposed")
def attention_value_not_transposed(g, q, k, v):
    s = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ T(k) * s)
    gp = g @ T(v)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True))
    return gs @ k * s, T(gs) @ q * s, p @ g


@wrong("attention", "variable|swapped")
def attention_swaps_q_and_k(g, q, k, v):
    s = 1 / np.sqrt(q.shape[-1])
    p = softmax(q @ T(k) * s)
    gp = g @ T(v)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True))
    return T(gs) @ q * s, gs @ k * s, T(p) @ g


@wrong("softmax", "state")
class SoftmaxKeepsItOutside(Function):
    kept = None

    @staticmethod
    def forward(ctx, x, dim):
        SoftmaxKeepsItOutside.kept = x.softmax(dim)
        ctx.dim = dim
        return SoftmaxKeepsItOutside.kept

    @staticmethod
    def backward(ctx, g):
        out = SoftmaxKeepsItOutside.kept
        return out * (g - (g * out).sum(ctx.dim, keepdim=True)), None


@wrong("linear", "mutation")
def linear_scales_the_weight(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    weight *= 1.0001
    return g @ (weight / 1.0001), flat.T @ rows, flat.sum(0)


@wrong("relu", "engine called")
class ReluByTheEngine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.relu()

    @staticmethod
    def backward(ctx, g):
        from autolab.autograd import enable_grad, grad

        with enable_grad():
            x = tensor(ctx.saved_tensors[0].numpy(), requires_grad=True)
            return grad(x.relu(), x, g)
