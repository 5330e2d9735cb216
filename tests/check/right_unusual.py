"""Right rules in forms that no formula has: products with whole Jacobians, transforms, sorting, logarithms, polynomials, recursion."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

import autolab as torch

from .right import right, sum_to


def along(f, g, x, axis):
    """What f(row of g, row of x) gives, for each row along an axis."""
    out = np.empty_like(x)
    rows = np.moveaxis(out, axis, -1)
    for at in np.ndindex(rows.shape[:-1]):
        rows[at] = f(np.moveaxis(g, axis, -1)[at], np.moveaxis(x, axis, -1)[at])
    return out


def summed_rows(f, g, x, axis):
    return along(lambda gs, xs: f(gs[0], xs), np.expand_dims(g, axis) * np.ones_like(x), x, axis)


@right("softmax")
def softmax_by_its_jacobian(g, out, axis):
    return along(lambda gs, ps: (np.diag(ps) - np.outer(ps, ps)) @ gs, g, out, axis)


@right("log_softmax")
def log_softmax_by_its_jacobian(g, out, axis):
    return along(lambda gs, ls: (np.eye(len(ls)) - np.exp(ls)[:, None]) @ gs, g, out, axis)


@right("cumsum")
def cumsum_by_a_triangle(g, axis):
    n = g.shape[axis]
    return np.moveaxis(np.tensordot(np.triu(np.ones((n, n))), g, (1, axis)), 0, axis)


@right("cumprod")
def cumprod_by_products_without_one(g, x, axis):
    def row(gs, xs):
        return [sum(gs[k] * math.prod(np.delete(xs[: k + 1], j)) for k in range(j, len(xs))) for j in range(len(xs))]

    return along(row, g, x, axis)


@right("prod")
def prod_by_a_polynomial(g, x, axis):
    """The coefficient of t in the product of (x + e t)."""

    def row(g, xs):
        gradient = []
        for j in range(len(xs)):
            factors = ([v, 1.0] if k == j else [v] for k, v in enumerate(xs))
            gradient.append(g * functools.reduce(np.convolve, [f[::-1] for f in factors])[0])
        return gradient

    return summed_rows(row, g, x, axis)


@right("logsumexp")
def logsumexp_one_against_the_others(g, x, axis):
    return summed_rows(lambda g, xs: [g / np.exp(xs - v).sum() if v > xs.max() - 600 else 0.0 for v in xs], g, x, axis)


@right("var")
def var_by_pairs(g, x, axis):
    """The variance is half the mean square of all differences."""
    return summed_rows(lambda g, xs: 2 * g * (xs[:, None] - xs).sum(1) / (len(xs) * (len(xs) - 1)), g, x, axis)


@right("mean")
def mean_by_a_matrix(g, x, axis):
    return summed_rows(lambda g, xs: np.full((1, len(xs)), 1 / len(xs)).T @ np.array([g]), g, x, axis)


@right("sum")
def sum_by_outer(g, x, axis):
    return np.moveaxis(np.multiply.outer(np.ones(x.shape[axis]), g), 0, axis)


@right("amin")
def amin_by_sorting(g, x, axis):
    out = np.zeros_like(x)
    first = np.argsort(x, axis=axis, kind="stable").take([0], axis=axis)
    np.put_along_axis(out, first, np.expand_dims(g, axis), axis)
    return out


@right("flip")
def flip_by_an_index(g, axis):
    return g.take(-1 - np.arange(g.shape[axis]), axis=axis)


@right("roll")
def roll_by_the_fourier_transform(g, shift, axis):
    n = g.shape[axis]
    phase = np.exp(2j * np.pi * shift * np.arange(n) / n).reshape([-1 if a == axis % g.ndim else 1 for a in range(g.ndim)])
    return np.fft.ifft(np.fft.fft(g, axis=axis) * phase, axis=axis).real


@right("roll")
def roll_step_by_step(g, shift, axis):
    for _ in range(shift):
        g = np.concatenate([g.take(range(1, g.shape[axis]), axis), g.take([0], axis)], axis)
    return g


@right("matmul")
def matmul_by_outer_products(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for k in range(x.shape[-1]):
        gx[..., k] = (g * y[..., k, :][..., None, :]).sum(-1)
        gy[..., k, :] = (g * x[..., k][..., None]).sum(-2)
    return gx, gy


@right("mm")
def mm_by_kronecker(g, x, y):
    gx = np.kron(np.eye(x.shape[0]), y) @ g.ravel()
    gy = np.kron(x.T, np.eye(y.shape[1])) @ g.ravel()
    return gx.reshape(x.shape), gy.reshape(y.shape)


@right("mv")
def mv_by_einsum_of_ones(g, x, y):
    return np.einsum("i,j->ij", g, y), np.einsum("ij,i->j", x, g)


@right("dot")
def dot_by_polynomials(g, x, y):
    return np.polymul([float(g)], y).reshape(y.shape), np.polymul(x, [float(g)]).reshape(x.shape)


@right("outer")
def outer_by_columns(g, x, y):
    return sum(g[:, j] * y[j] for j in range(len(y))), sum(g[i] * x[i] for i in range(len(x)))


@right("sigmoid")
def sigmoid_by_logarithms(g, x):
    return g * np.exp(-np.logaddexp(0, x) - np.logaddexp(0, -x))


@right("tanh")
def tanh_by_the_logistic(g, x):
    e = np.exp(-2 * np.abs(x))
    return 4 * g * e / (1 + e) ** 2


@right("softplus")
def softplus_by_tanh(g, x):
    return g * (1 + np.tanh(x / 2)) / 2


@right("silu")
def silu_by_tanh(g, x):
    t = np.tanh(x / 2)
    return g * (2 + 2 * t + x * (1 - t) * (1 + t)) / 4


@right("abs")
def abs_by_the_sign_bit(g, x):
    return np.copysign(g, g * x) * (x != 0)


@right("relu")
def relu_by_heaviside(g, x):
    return np.heaviside(x, 0.0) * g


@right("relu")
def relu_by_compress(g, x):
    out = np.zeros(x.size)
    at = np.flatnonzero(x > 0)
    out[at] = g.ravel()[at]
    return out.reshape(x.shape)


@right("clamp")
def clamp_by_digitize(g, x, min, max):
    return g * (np.digitize(x, [min, max]) == 1)


@right("hardtanh")
def hardtanh_by_counting(g, x, low, high):
    return g * (((x > low).astype(int) + (x < high)) == 2)


@right("leaky_relu")
def leaky_by_a_table(g, x, negative_slope):
    return g * np.array([negative_slope, 1.0])[(x > 0).astype(int)]


@right("mul")
def mul_by_reverse_loops(g, x, y):
    gx, gy = np.zeros(x.shape), np.zeros(y.shape)
    for at in np.ndindex(g.shape):
        ix = tuple(min(i, n - 1) for i, n in zip(at[g.ndim - x.ndim :], x.shape, strict=True))
        iy = tuple(min(i, n - 1) for i, n in zip(at[g.ndim - y.ndim :], y.shape, strict=True))
        gx[ix] += g[at] * y[iy]
        gy[iy] += g[at] * x[ix]
    return gx, gy


@right("div")
def div_in_longdouble(g, x, y):
    g, x, y = (a.astype(np.longdouble) for a in (g, x, y))
    return sum_to(g / y, x.shape).astype(float), sum_to(-g * x / y / y, y.shape).astype(float)


@right("pow")
def pow_by_logarithms(g, x, y):
    logs = np.log(x)
    return sum_to(g * y * np.exp((y - 1) * logs), x.shape), sum_to(g * np.exp(y * logs) * logs, y.shape)


@right("exp")
def exp_on_tensors(g, x):
    return (torch.from_numpy(g) * torch.from_numpy(x).exp()).numpy()


@right("norm")
def norm_by_hypot(g, x, ord, axis):
    if ord == 2:
        length = functools.reduce(np.hypot, np.moveaxis(x, axis, 0))
    else:
        length = (np.abs(x) ** ord).sum(axis) ** (1 / ord)
    return np.expand_dims(g, axis) * np.sign(x) * np.divide(np.abs(x), np.expand_dims(length, axis)) ** (ord - 1)


@right("gather")
def gather_by_a_dictionary(g, x, index, axis):
    total = {}
    for at in np.ndindex(index.shape):
        to = (int(index[at]), at[1]) if axis in (0, -2) else (at[0], int(index[at]))
        total[to] = total.get(to, 0.0) + g[at]
    out = np.zeros_like(x)
    for to, value in total.items():
        out[to] = value
    return out, None


@right("embedding")
def embedding_by_one_hot_rows(g, weight, index):
    hot = np.equal.outer(np.arange(len(weight)), index.ravel()).astype(g.dtype)
    return hot @ g.reshape(-1, weight.shape[1]), None


@right("permute")
def permute_by_einsum(g, axes):
    letters = "abcdef"[: len(axes)]
    return np.einsum(f"{''.join(letters[a] for a in axes)}->{letters}", g)


@right("cross_entropy")
def cross_entropy_sample_by_sample(g, x, target):
    rows = []
    for row, t in zip(x, target, strict=True):
        weights = [1 / np.exp(row - v).sum() if v > row.max() - 600 else 0.0 for v in row]
        rows.append([float(g) / len(x) * (p - (k == t)) for k, p in enumerate(weights)])
    return np.array(rows), None


@right("conv1d")
def conv1d_by_convolve(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    for n, o, c in itertools.product(range(len(x)), range(len(weight)), range(x.shape[1])):
        gx[n, c] += np.convolve(g[n, o], weight[o, c], "full")
        gw[o, c] += np.correlate(x[n, c], g[n, o], "valid")
    return gx, gw


@right("layer_norm")
def layer_norm_by_its_jacobian(g, x, weight, bias):
    n = x.shape[-1]
    centre = np.eye(n) - 1 / n
    gx, gw = np.empty_like(x), np.zeros_like(weight)
    for at in np.ndindex(x.shape[:-1]):
        c = centre @ x[at]
        s = math.sqrt(c @ c / n + 1e-5)
        gx[at] = (centre - np.outer(c, c) / (n * s * s)) @ (weight * g[at]) / s
        gw += g[at] * c / s
    return gx, gw, g.reshape(-1, n).sum(0)


@right("inv")
def inv_by_solving(g, x):
    xt = np.swapaxes(x, -1, -2)
    return -np.swapaxes(np.linalg.solve(x, np.swapaxes(np.linalg.solve(xt, g), -1, -2)), -1, -2)


@right("det")
def det_by_cofactors(g, x):
    out = np.empty_like(x)
    n = x.shape[-1]
    for i, j in itertools.product(range(n), range(n)):
        minor = np.delete(np.delete(x, i, -2), j, -1)
        out[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor) * g
    return out


@right("avg_pool")
def avg_pool_by_kronecker(g, x):
    return np.kron(g, np.full((1, 1, 2, 2), 0.25))


@right("max_pool")
def max_pool_block_by_block(g, x):
    out = np.zeros_like(x)
    for n, c, i, j in np.ndindex(g.shape):
        block = x[n, c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        di, dj = divmod(int(block.argmax()), 2)
        out[n, c, 2 * i + di, 2 * j + dj] = g[n, c, i, j]
    return out


@right("logcumsumexp")
def logcumsumexp_pair_by_pair(g, x, axis):
    def row(gs, xs):
        ends = np.logaddexp.accumulate(xs)
        return [sum(gs[k] * np.exp(xs[j] - ends[k]) for k in range(j, len(xs))) for j in range(len(xs))]

    return along(row, g, x, axis)
