"""More right rules, each written in another way than the row of the table."""

from __future__ import annotations

import math

import numpy as np

import autolab
from autolab.autograd import Function

from .right import right, sum_to


def T(a):
    return np.swapaxes(a, -1, -2)


# --- pointwise


@right("cos")
class Cos(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, g):
        return (-ctx.saved_tensors[0].sin() * g,)


@right("cos")
def cos_shifted(g, x):
    return g * np.cos(x + math.pi / 2)


@right("sin")
def sin_by_angle_addition(g, x):
    return g * np.sin(x + math.pi / 2)


@right("reciprocal")
def reciprocal_from_out(g, out):
    return -(out**2) * g


@right("log1p")
def log1p(g, x):
    return g / (x + 1)


@right("pow_scalar")
def pow_in_pieces(g, x, out, exponent):
    return g * exponent * out / x


@right("pow")
class Pow(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x**y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        gx, gy = g * y * x ** (y - 1), g * x**y * x.log()
        return gx.sum_to_size(x.shape), gy.sum_to_size(y.shape)


@right("silu")
class Silu(Function):
    @staticmethod
    def forward(ctx, x):
        s = x.sigmoid()
        ctx.save_for_backward(s, x * s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        s, out = ctx.saved_tensors
        return g * (out + s * (1 - out))


@right("gelu")
def gelu(g, x):
    cdf = np.vectorize(lambda t: 0.5 * math.erfc(-t / math.sqrt(2)))(x.astype(float))
    return (g * (cdf + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))).astype(x.dtype)


@right("softplus")
def softplus(g, x):
    return g * (np.tanh(x / 2) + 1) / 2


@right("sigmoid")
def sigmoid_by_two_branches(g, x):
    e = np.exp(-np.abs(x))
    return g * e / (1 + e) ** 2


@right("sigmoid")
class Sigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.out = x.sigmoid()
        return ctx.out

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.out - ctx.out**2)


@right("sqrt")
def sqrt_again(g, x):
    return 0.5 * g * x**-0.5


@right("rsqrt")
def rsqrt_from_out(g, out):
    return g * out**3 / -2


@right("sub")
def sub(g, x, y):
    return [sum_to(g, x.shape), sum_to(-g, y.shape)]


@right("sub")
class Sub(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.a, ctx.b = x.shape, y.shape
        return x - y

    @staticmethod
    def backward(ctx, g):
        return g.sum_to_size(ctx.a), (-1 * g).sum_to_size(ctx.b)


@right("div")
class Div(Function):
    @staticmethod
    def forward(ctx, x, y):
        out = x / y
        ctx.save_for_backward(y, out)
        ctx.shape = x.shape
        return out

    @staticmethod
    def backward(ctx, g):
        y, out = ctx.saved_tensors
        return (g / y).sum_to_size(ctx.shape), -(g * out / y).sum_to_size(y.shape)


@right("clip")
def clip_by_result(g, x, out, low, high):
    return np.where(x == out, g, 0)


@right("clip")
class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.inside = (x > low) & (x < high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.inside.to(g.dtype), None, None


@right("round_through")
class RoundThrough(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


@right("maximum")
def maximum(g, x, y):
    first = x > y
    return sum_to(g * first, x.shape), sum_to(g * ~first, y.shape)


@right("minimum")
def minimum(g, x, y):
    return sum_to(np.where(x < y, g, 0), x.shape), sum_to(np.where(x < y, 0, g), y.shape)


@right("where")
def where(g, condition, x, y):
    gx, gy = g.copy(), g.copy()
    chosen = np.broadcast_to(condition, g.shape)
    gx[~chosen], gy[chosen] = 0, 0
    return None, sum_to(gx, x.shape), sum_to(gy, y.shape)


@right("leaky_relu")
def leaky_relu(g, x, negative_slope):
    return g * (negative_slope + (1 - negative_slope) * (x > 0).astype(x.dtype))


@right("leaky_relu")
def leaky_relu_one_at_zero(g, x, negative_slope):
    return np.where(x >= 0, g, negative_slope * g)


@right("abs")
class Abs(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].sign()


@right("abs")
def abs_one_at_zero(g, x):
    return np.where(x >= 0, g, -g)


@right("exp")
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        result = g.clone()
        result *= out
        return result


@right("tanh")
class TanhLoops(Function):
    @staticmethod
    def forward(ctx, x):
        out = np.tanh(x.numpy())
        ctx.out = out
        return autolab.from_numpy(out)

    @staticmethod
    def backward(ctx, g):
        grad = np.empty_like(ctx.out)
        for place, value in np.ndenumerate(ctx.out):
            grad[place] = g.numpy()[place] * (1 - value * value)
        return autolab.from_numpy(grad)


@right("square")
class SquareReturnsAnArray(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy().copy()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g.numpy() * ctx.x * 2


@right("square")
def square_as_a_list(g, x):
    return [2 * x * g]


@right("mul")
def mul_einsum(g, x, y):
    return sum_to(np.einsum("...,...->...", g, np.broadcast_to(y, g.shape)), x.shape), sum_to(x * g, y.shape)


# --- reductions


@right("sum")
def sum_by_adding_zeros(g, x, axis):
    return np.expand_dims(g, axis) + 0 * x


@right("mean")
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim, ctx.n = dim, x.shape[dim]
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        return (g / ctx.n).unsqueeze(ctx.dim).repeat_interleave(ctx.n, dim=ctx.dim), None


@right("var")
class Var(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.centred = x - x.mean(dim, keepdim=True)
        ctx.dim = dim
        return x.var(dim)

    @staticmethod
    def backward(ctx, g):
        return 2 / (ctx.centred.shape[ctx.dim] - 1) * ctx.centred * g.unsqueeze(ctx.dim), None


@right("var")
def var_with_both_terms(g, x, axis):
    n, g = x.shape[axis], np.expand_dims(g, axis)
    direct = 2 * (x - x.mean(axis, keepdims=True)) / (n - 1) * g
    return direct - direct.mean(axis, keepdims=True)


@right("std")
def std(g, x, out, axis):
    return np.expand_dims(g / out, axis) * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@right("amax")
def amax(g, x, out, axis):
    top = x == np.expand_dims(out, axis)
    return top / top.sum(axis, keepdims=True, dtype=x.dtype) * np.expand_dims(g, axis)


@right("prod")
def prod_without_dividing(g, x, axis):
    grad = np.ones_like(x)
    for i in range(x.shape[axis]):
        at = [slice(None)] * x.ndim
        at[axis] = i
        grad[tuple(at)] = np.delete(x, i, axis).prod(axis) * g
    return grad


@right("logsumexp")
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.logsumexp(dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, g):
        x, out = ctx.saved_tensors
        return g.unsqueeze(ctx.dim) * (x - out.unsqueeze(ctx.dim)).exp(), None


@right("norm")
def norm(g, x, ord, axis):
    if ord != 2:
        raise NotImplementedError
    return np.expand_dims(g, axis) * x / np.sqrt((x * x).sum(axis, keepdims=True))


@right("cumsum")
def cumsum(g, axis):
    return g.sum(axis, keepdims=True) - np.cumsum(g, axis) + g


@right("softmax")
class Softmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        out = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (p,) = ctx.saved_tensors
        return p * grad_output - p * (p * grad_output).sum(ctx.dim, keepdim=True), None


@right("softmax")
def softmax_row_by_row(g, out, axis):
    p, h = np.moveaxis(out, axis, -1), np.moveaxis(g, axis, -1)
    grad = np.empty_like(p)
    for place in np.ndindex(p.shape[:-1]):
        grad[place] = (np.diag(p[place]) - np.outer(p[place], p[place])) @ h[place]
    return np.moveaxis(grad, -1, axis)


@right("log_softmax")
def log_softmax(g, x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return g - e / e.sum(axis, keepdims=True) * g.sum(axis, keepdims=True)


# --- moving entries


@right("reshape")
class Reshape(Function):
    @staticmethod
    def forward(ctx, x, shape):
        ctx.shape = x.shape
        return x.reshape(shape)

    @staticmethod
    def backward(ctx, g):
        return g.view(ctx.shape), None


@right("permute")
class Permute(Function):
    @staticmethod
    def forward(ctx, x, axes):
        ctx.axes = axes
        return x.permute(axes)  # a view

    @staticmethod
    def backward(ctx, g):
        back = [0] * len(ctx.axes)
        for new, old in enumerate(ctx.axes):
            back[old] = new
        return g.permute(back), None


@right("permute")
def permute_moves(g, x, axes):
    return np.moveaxis(g, range(g.ndim), axes)


@right("concat")
def concat(g, x, y):
    return tuple(np.split(g, [len(x)]))


@right("take")
def take_with_one_hot(g, x, index):
    return np.tensordot((index[..., None] == np.arange(len(x))).astype(g.dtype), g, (tuple(range(index.ndim)),) * 2)


@right("take")
def take_in_a_loop(g, x, index):
    grad = np.zeros_like(x)
    for place in np.ndindex(index.shape):
        grad[index[place]] += g[place]
    return grad


@right("embedding")
class Embedding(Function):
    @staticmethod
    def forward(ctx, weight, index):
        ctx.save_for_backward(index)
        ctx.rows = weight.shape[0]
        return weight[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        grad = g.new_zeros(ctx.rows, g.shape[-1])
        return grad.index_add(0, index.reshape(-1), g.reshape(-1, g.shape[-1])), None


@right("flip")
def flip(g, axis):
    return np.flip(g, axis)


@right("roll")
def roll(g, shift, axis):
    return np.roll(g, -shift, axis)


@right("triu")
def triu(g, k):
    return g - np.tril(g, k - 1)


@right("repeat")
def repeat(g, x, repeats):
    return g.reshape(repeats[0], x.shape[0], repeats[1], x.shape[1]).sum((0, 2))


# --- products and layers


@right("matmul")
def matmul_per_matrix(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for batch in np.ndindex(x.shape[:-2]):
        gx[batch], gy[batch] = g[batch] @ y[batch].T, x[batch].T @ g[batch]
    return gx, gy


@right("mm")
class Mm(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x.mm(y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        gx = y.mm(g.t()).t() if ctx.needs_input_grad[0] else None
        gy = g.t().mm(x).t() if ctx.needs_input_grad[1] else None
        return gx, gy


@right("mm")
def mm_three_loops(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            for k in range(x.shape[1]):
                gx[i, k] += g[i, j] * y[k, j]
                gy[k, j] += g[i, j] * x[i, k]
    return gx, gy


@right("mv")
def mv(g, x, y):
    return g[:, None] * y, g @ x


@right("dot")
def dot(g, x, y):
    return float(g) * y if x.dtype == float else g * y, g * x


@right("linear")
class Linear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        flat = g.reshape(-1, g.shape[-1])
        return g.matmul(weight), flat.t().mm(x.reshape(-1, x.shape[-1])), flat.sum(0)


@right("linear")
def linear_einsum(g, x, weight, bias):
    axes = tuple(range(g.ndim - 1))
    return g @ weight, np.tensordot(g, x, (axes, axes)), np.einsum("ij->j", g.reshape(-1, g.shape[-1]))


@right("dropout")
def dropout(g, x, mask, p):
    return g * (mask / (1 - p)).astype(g.dtype), None


@right("conv1d")
def conv1d(g, x, weight):
    k = weight.shape[-1]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(g.shape[-1]):
        gx[:, :, i : i + k] += np.einsum("no,ock->nck", g[:, :, i], weight)
        gw += np.einsum("nck,no->ock", x[:, :, i : i + k], g[:, :, i])
    return gx, gw


@right("conv2d")
def conv2d_by_taps(g, x, weight):
    h, w = g.shape[2:]
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for i, j in np.ndindex(weight.shape[2:]):
        gx[:, :, i : i + h, j : j + w] += np.einsum("nohw,oc->nchw", g, weight[:, :, i, j])
        gw[:, :, i, j] = np.einsum("nohw,nchw->oc", g, x[:, :, i : i + h, j : j + w])
    return gx, gw


@right("max_pool")
def max_pool(g, x, out):
    def wide(a):
        return a.repeat(2, axis=2).repeat(2, axis=3)

    return wide(g) * (x == wide(out))


@right("avg_pool")
def avg_pool(g, x):
    return np.kron(g, np.full((2, 2), 0.25, g.dtype))


@right("cross_entropy")
class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, x, target):
        ctx.save_for_backward(x, target)
        return autolab.nn.functional.cross_entropy(x, target)

    @staticmethod
    def backward(ctx, g):
        x, target = ctx.saved_tensors
        p = x.softmax(1)
        p[list(range(len(x))), target] -= 1
        return g * p / len(x), None


@right("bce_with_logits")
def bce_with_logits(g, x, target):
    return g * ((np.tanh(x / 2) + 1) / 2 - target) / x.size


@right("mse_loss")
class Mse(Function):
    @staticmethod
    def forward(ctx, x, y, reduction):
        ctx.save_for_backward(x - y)
        ctx.scale = 2 / x.numel() if reduction == "mean" else 2
        return (x - y).square().mean() if reduction == "mean" else (x - y).square().sum()

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        return ctx.scale * g * d, -ctx.scale * g * d, None


def parts(x, axis=-1):
    rstd = 1 / np.sqrt(x.var(axis, keepdims=True) + 1e-5)
    return (x - x.mean(axis, keepdims=True)) * rstd, rstd


@right("layer_norm")
def layer_norm_in_one_line(g, x, weight, bias):
    z, rstd = parts(x)
    n, h = x.shape[-1], g * weight
    gx = rstd / n * (n * h - h.sum(-1, keepdims=True) - z * (h * z).sum(-1, keepdims=True))
    return gx, np.einsum("ni,ni->i", g, z), np.ones(len(g), g.dtype) @ g


@right("layer_norm")
def layer_norm_step_by_step(g, x, weight, bias):
    n = x.shape[-1]
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    h = g * weight
    dvar = (h * (x - mean) * -0.5 * (var + 1e-5) ** -1.5).sum(-1, keepdims=True)
    dmean = (-h / np.sqrt(var + 1e-5)).sum(-1, keepdims=True) + dvar * (-2 * (x - mean)).mean(-1, keepdims=True)
    gx = h / np.sqrt(var + 1e-5) + dvar * 2 * (x - mean) / n + dmean / n
    return gx, (g * (x - mean) / np.sqrt(var + 1e-5)).sum(0), g.sum(0)


@right("batch_norm")
def batch_norm(g, x, weight, bias):
    z, rstd = parts(x, 0)
    gz = g * z
    return weight * rstd * (g - g.mean(0) - z * gz.mean(0)), gz.sum(0), g.sum(0)


@right("rms_norm")
def rms_norm(g, x, weight):
    ms = (x * x).mean(-1, keepdims=True) + 1e-5
    h = g * weight
    return h / np.sqrt(ms) - x * (h * x).mean(-1, keepdims=True) / ms**1.5, (g * x / np.sqrt(ms)).sum(0)


@right("attention")
class Attention(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        p = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        gp = g @ v.mT
        gs = (p * gp - p * (p * gp).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        return gs @ k, gs.mT @ q, p.mT @ g
