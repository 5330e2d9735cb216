"""Right rules written in loops, einsum, closed forms and words of students; held out with wrong_held_out_fresh.py."""

from __future__ import annotations

import math

import numpy as np

from autolab.autograd import Function

from .right import right, sum_to


@right("sigmoid")
def sigmoid_by_cosh(g, x):
    return g / (4 * np.cosh(x / 2) ** 2)


@right("tanh")
def tanh_by_sech(g, x):
    return g * (1 - np.tanh(x) ** 2)


@right("silu")
def silu_from_out(g, x, out):
    s = 1 / (1 + np.exp(-np.clip(x, -700, 700)))
    return g * (out + s * (1 - out))


@right("gelu")
def gelu_entry_by_entry(g, x):
    result = np.empty_like(x)
    for place, v in np.ndenumerate(x):
        cdf = 0.5 * math.erfc(-v / math.sqrt(2))
        result[place] = cdf + v * math.exp(-v * v / 2) / math.sqrt(2 * math.pi)
    return g * result


@right("leaky_relu")
def leaky_by_maximum(g, x, negative_slope):
    return g * ((x > 0) + negative_slope * (x <= 0))


@right("abs")
def abs_two_masks(g, x):
    return g * (x > 0) - g * (x < 0)


@right("clamp")
def clamp_by_comparison_with_out(g, x, out, min, max):
    return g * (x == out)


@right("logaddexp")
def logaddexp_by_sigmoid(g, x, y):
    w = 0.5 * (1 + np.tanh((x - y) / 2))
    return sum_to(g * w, x.shape), sum_to(g * (1 - w), y.shape)


@right("hypot")
def hypot_by_angle(g, x, y):
    a = np.arctan2(y, x)
    return sum_to(g * np.cos(a), x.shape), sum_to(g * np.sin(a), y.shape)


@right("var")
def var_by_matrix(g, x, axis):
    n = x.shape[axis]
    centre = np.eye(n) - 1 / n
    d = np.moveaxis(np.moveaxis(x, axis, -1) @ centre, -1, axis)
    return np.expand_dims(g, axis) * 2 * d / (n - 1)


@right("softmax")
def softmax_by_full_jacobian(g, out, axis):
    p, h = np.moveaxis(out, axis, -1), np.moveaxis(g, axis, -1)
    j = np.einsum("...i,ij->...ij", p, np.eye(p.shape[-1])) - np.einsum("...i,...j->...ij", p, p)
    return np.moveaxis(np.einsum("...ij,...i->...j", j, h), -1, axis)


@right("log_softmax")
def log_softmax_by_einsum(g, out, axis):
    p, h = np.moveaxis(np.exp(out), axis, -1), np.moveaxis(g, axis, -1)
    return np.moveaxis(h - np.einsum("...i,...j->...j", h, p), -1, axis)


@right("cumsum")
def cumsum_total_minus(g, axis):
    return g.sum(axis, keepdims=True) - np.cumsum(g, axis) + g


@right("cumprod")
def cumprod_by_loops(g, x, axis):
    a, h = np.moveaxis(x, axis, 0), np.moveaxis(g, axis, 0)
    r = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i, len(a)):
            r[i] += h[j] * np.prod(np.delete(a[: j + 1], i, 0), 0)
    return np.moveaxis(r, 0, axis)


@right("prod")
def prod_without_each(g, x, axis):
    a = np.moveaxis(x, axis, 0)
    r = np.stack([np.prod(np.delete(a, i, 0), 0) for i in range(len(a))])
    return np.moveaxis(r * g, 0, axis)


@right("amax")
def amax_shares(g, x, axis):
    m = x == x.max(axis, keepdims=True)
    return np.expand_dims(g, axis) * m / m.sum(axis, keepdims=True)


@right("cross_entropy")
def ce_loop(g, x, target):
    out = np.zeros_like(x)
    for i, row in enumerate(x):
        e = np.exp(row - row.max())
        out[i] = e / e.sum()
        out[i, target[i]] -= 1
    return out * g / len(x), None


@right("bce_with_logits")
def bce_by_tanh(g, x, target):
    return g * (0.5 * (1 + np.tanh(x / 2)) - target) / x.size, g * -x / x.size


@right("matmul")
def matmul_einsum(g, x, y):
    return np.einsum("...ik,...jk->...ij", g, y), np.einsum("...ki,...kj->...ij", x, g)


@right("linear")
def linear_tensordot(g, x, weight, bias):
    axes = tuple(range(g.ndim - 1))
    return np.tensordot(g, weight, 1), np.tensordot(g, x, (axes, axes)), g.sum(axes)


@right("inv")
def inv_by_solves(g, x):
    t = np.swapaxes(x, -1, -2)
    return -np.linalg.solve(t, np.swapaxes(np.linalg.solve(x, np.swapaxes(g, -1, -2)), -1, -2))


@right("gather")
def gather_by_one_hot(g, x, index, axis):
    out = np.zeros_like(x)
    for place, v in np.ndenumerate(g):
        to = list(place)
        to[axis] = index[place]
        out[tuple(to)] += v
    return out, None


@right("embedding")
def embedding_one_hot_matmul(g, weight, index):
    hot = np.eye(len(weight))[index.ravel()]
    return hot.T @ g.reshape(-1, weight.shape[1]), None


@right("permute")
def permute_argsort(g, axes):
    return g.transpose(np.argsort(axes))


@right("tril")
def tril_by_mask(g, k):
    i, j = np.indices(g.shape[-2:])
    return g * (j <= i + k)


@right("diagonal")
def diagonal_by_loop(g, x_shape, offset):
    out = np.zeros(x_shape)
    for i in range(len(g)):
        out[i, i + offset] = g[i]
    return out


@right("avg_pool")
def avg_pool_kron(g, x):
    return np.kron(g, np.full((2, 2), 0.25))


@right("rms_norm")
class RmsNorm(Function):
    @staticmethod
    def forward(ctx, x, weight):
        r = (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        ctx.save_for_backward(x * r, r, weight)
        return x * r * weight

    @staticmethod
    def backward(ctx, g):
        n, r, weight = ctx.saved_tensors
        h = g * weight
        gx = r * (h - n * (h * n).mean(-1, keepdim=True))
        return gx, (g * n).sum(tuple(range(g.ndim - 1)))


@right("layer_norm")
def layer_norm_einsum(g, x, weight, bias):
    n = x.shape[-1]
    d = x - x.mean(-1, keepdims=True)
    s = np.sqrt((d**2).mean(-1, keepdims=True) + 1e-5)
    z, h = d / s, g * weight
    gx = (n * h - h.sum(-1, keepdims=True) - z * np.einsum("...i,...i->...", h, z)[..., None]) / (n * s)
    return gx, (g * z).sum(tuple(range(g.ndim - 1))), g.sum(tuple(range(g.ndim - 1)))


@right("xlogy")
def xlogy_rule(g, x, y):
    return sum_to(g * np.log(y), x.shape), sum_to(g * x / y, y.shape)


@right("addcmul")
def addcmul_with_its_setting(g, x, a, b, value):
    return sum_to(g, x.shape), sum_to(value * g * b, a.shape), sum_to(value * g * a, b.shape)


@right("det")
def det_by_adjugate(g, x, out):
    return (g * out)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2)


@right("solve")
def solve_by_inverse(g, a, out):
    back = np.swapaxes(np.linalg.inv(a), -1, -2) @ g
    return -back @ np.swapaxes(out, -1, -2), back
