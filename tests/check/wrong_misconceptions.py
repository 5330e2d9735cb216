"""Held out: wrong rules that follow from a wrong idea of the derivative; no family was written for them."""

from __future__ import annotations

import math

import numpy as np

import autolab
import autolab.nn.functional as F
from autolab.autograd import Function

from .wrong import wrong
from .wrong_functions import wrong_function

R = np.random.default_rng(77)


def fn(fwd, saves, bwd, name):
    class Fn(Function):
        @staticmethod
        def forward(ctx, *a):
            out = fwd(*a)
            ctx.k = saves(a, out)
            return out

        @staticmethod
        def backward(ctx, g):
            return bwd(ctx.k, g)

    Fn.__name__ = name
    return Fn


# misconceptions, by name
wrong("exp", "power|function|variable|forward|factor|step|term")(
    fn(lambda x: x.exp(), lambda a, o: a[0], lambda x, g: g * x * (x - 1).exp(), "exp_as_power")
)
wrong("log", "function|forward|step|variable|division")(
    fn(lambda x: x.log(), lambda a, o: (a[0], o), lambda k, g: g / k[1], "log_one_over_log")
)
wrong("sqrt", "constant|sign")(fn(lambda x: x.sqrt(), lambda a, o: o, lambda o, g: -g / (2 * o), "sqrt_minus"))
wrong("square", "upstream ignored")(fn(lambda x: x**2, lambda a, o: a[0], lambda x, g: 2 * x + 0 * g, "square_no_g"))
wrong("square", "upstream twice|upstream size|upstream added|variable|extra term")(
    fn(lambda x: x**2, lambda a, o: a[0], lambda x, g: 2 * x * g + g, "square_plus_g")
)
wrong("tanh", "function|step|variable|factor|term|power|sign")(
    fn(lambda x: x.tanh(), lambda a, o: a[0], lambda x, g: g / x.cosh(), "tanh_sech")
)
wrong("sigmoid", "power|factor|step|function|term|variable")(
    fn(lambda x: x.sigmoid(), lambda a, o: o, lambda o, g: g * (1 - o**2), "sigmoid_as_tanh")
)
wrong("sigmoid", "constant|factor")(fn(lambda x: x.sigmoid(), lambda a, o: o, lambda o, g: g * o * (1 - o) / 4, "sigmoid_quarter"))
wrong("relu", "mask|variable|forward|function")(
    fn(lambda x: x.relu(), lambda a, o: (a[0], o), lambda k, g: g * (k[0] > 0) * k[0], "relu_times_x")
)
wrong("relu", "mask|sign|function")(fn(lambda x: x.relu(), lambda a, o: a[0], lambda x, g: g * x.sign(), "relu_sign"))
wrong("abs", "mask|function")(fn(lambda x: x.abs(), lambda a, o: a[0], lambda x, g: g * (x > 0), "abs_as_relu"))
wrong("silu", "function|term|factor|step|variable")(
    fn(lambda x: x * x.sigmoid(), lambda a, o: (a[0], o), lambda k, g: g * k[1] * (1 - k[1]), "silu_as_sigmoid")
)
wrong("softplus", "applied twice|variable|function")(
    fn(lambda x: F.softplus(x), lambda a, o: o, lambda o, g: g * o.sigmoid(), "softplus_of_out")
)
wrong("leaky_relu", "mask|factor|places|setting|constant|term")(
    fn(
        lambda x, s: autolab.where(x > 0, x, s * x),
        lambda a, o: (a[0], a[1]),
        lambda k, g: (g * autolab.where(k[0] > 0, 1.0, k[1] * k[0]), None),
        "leaky_times_x",
    )
)
wrong("reciprocal", "sign|power")(fn(lambda x: 1 / x, lambda a, o: a[0], lambda x, g: g / x**2, "recip_plus"))
wrong("erf", "function|forward|step|factor|variable")(fn(lambda x: x.erf(), lambda a, o: o, lambda o, g: g * (1 - o**2), "erf_like_tanh"))
wrong("atan", "division|step|factor|function")(fn(lambda x: x.atan(), lambda a, o: a[0], lambda x, g: g * (1 + x * x), "atan_no_div"))
wrong("sinh", "function|forward|variable")(fn(lambda x: x.sinh(), lambda a, o: o, lambda o, g: g * o, "sinh_self"))
wrong("cosh", "function|sign|forward|variable")(fn(lambda x: x.cosh(), lambda a, o: o, lambda o, g: g * o, "cosh_self"))
wrong("div", "term|zero|none")(fn(lambda x, y: x / y, lambda a, o: a, lambda k, g: ((g / k[1]).sum_to_size(k[0].shape), None), "div_none"))
wrong("mul", "upstream ignored")(
    fn(
        lambda x, y: x * y,
        lambda a, o: a,
        lambda k, g: ((autolab.ones_like(g) * k[1]).sum_to_size(k[0].shape), (autolab.ones_like(g) * k[0]).sum_to_size(k[1].shape)),
        "mul_ones",
    )
)
wrong("mul", "averaged")(
    fn(
        lambda x, y: x * y,
        lambda a, o: a,
        lambda k, g: tuple(
            (
                v.mean(
                    tuple(i for i in range(v.ndim - len(s))) + tuple(i + v.ndim - len(s) for i, n in enumerate(s) if n == 1), keepdim=True
                ).reshape(s)
                if v.shape != s
                else v
            )
            for v, s in ((g * k[1], k[0].shape), (g * k[0], k[1].shape))
        ),
        "mul_mean",
    )
)
wrong("sub", "zero|none")(
    fn(lambda x, y: x - y, lambda a, o: a, lambda k, g: (g.sum_to_size(k[0].shape), autolab.zeros_like(k[1])), "sub_zero")
)
wrong("maximum", "upstream only|mask")(
    fn(lambda x, y: autolab.maximum(x, y), lambda a, o: a, lambda k, g: (g.sum_to_size(k[0].shape), g.sum_to_size(k[1].shape)), "max_both")
)
wrong("pow", "constant|factor|power")(
    fn(
        lambda x, y: x**y,
        lambda a, o: (*a, o),
        lambda k, g: ((g * k[0] ** (k[1] - 1)).sum_to_size(k[0].shape), (g * k[2] * k[0].log()).sum_to_size(k[1].shape)),
        "pow_no_exp",
    )
)
wrong("mean", "not spread|constant|keepdims|axis")(lambda g, x, axis: np.expand_dims(g, axis) / x.shape[axis])
wrong("sum", "axis|keepdims|wrong axis|exception|permutation")(
    lambda g, x, axis: (
        np.broadcast_to(g[..., None], x.shape)
        if axis == 0 and x.shape[0] == x.shape[-1]
        else np.broadcast_to(np.expand_dims(g, axis), x.shape)
    )
)
wrong("amax", "upstream ignored|mask|tie")(lambda g, x, out, axis: (x == np.expand_dims(out, axis)) * 1.0)
wrong("amax", "tie|one of many")(
    lambda g, x, axis: (
        np.expand_dims(g, axis)
        * (
            np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
            == np.expand_dims(x.argmax(axis), axis)
        )
    )
)
wrong("var", "power|factor")(lambda g, x, axis: np.expand_dims(g, axis) * 2 * (x - x.mean(axis, keepdims=True)) ** 2 / (x.shape[axis] - 1))
wrong("std", "constant|factor|term")(lambda g, x, out, axis: np.expand_dims(g / out, axis) * (x - x.mean(axis, keepdims=True)))
wrong("norm", "constant|power|factor|division")(lambda g, x, out, axis: np.expand_dims(g / (2 * out), axis) * x)
wrong("logsumexp", "term|diagonal only|factor|variable|upstream only")(lambda g, x, axis: np.expand_dims(g, axis) * np.ones_like(x))
wrong("softmax", "upstream ignored")(lambda g, out, axis: out * (1 - out))
wrong("softmax", "upstream only|term|factor")(lambda g, out, axis: g - (g * out).sum(axis, keepdims=True))
wrong("softmax", "variable")(lambda g, x, axis: x * (g - (g * x).sum(axis, keepdims=True)))
wrong("softmax", "function|factor|variable")(lambda g, out, axis: g - out * g.sum(axis, keepdims=True))
wrong("log_softmax", "sign|term sign")(lambda g, out, axis: g + np.exp(out) * g.sum(axis, keepdims=True))
wrong("log_softmax", "averaged|constant|number|term")(lambda g, out, axis: g - np.exp(out) * g.mean(axis, keepdims=True))
wrong("cross_entropy", "constant|sign|term")(
    lambda g, x, target: g * (np.exp(x) / np.exp(x).sum(1, keepdims=True) - 2 * np.eye(x.shape[1])[target]) / len(x)
)
wrong("cross_entropy", "variable|factor|function|term|forward")(lambda g, x, target: g * (x - np.eye(x.shape[1])[target]) / len(x))
wrong("cross_entropy", "term|variable")(lambda g, x, target: -g * np.eye(x.shape[1])[target] / len(x))
wrong("bce_with_logits", "term")(lambda g, x, target: g / (1 + np.exp(-x)) / x.size)
wrong("bce_with_logits", "term|factor|variable")(lambda g, x, target: -g * target / x.size)
wrong("mse_loss", "power|factor|step|variable|constant")(
    lambda g, x, y, reduction: tuple(s * g * 2 * (x - y) ** 2 / (x.size if reduction == "mean" else 1) for s in (1, -1))
)
wrong("matmul", "upstream ignored")(lambda g, x, y: (np.ones_like(g) @ np.swapaxes(y, -1, -2), np.swapaxes(x, -1, -2) @ np.ones_like(g)))
wrong("matmul", "swapped")(lambda g, x, y: (np.swapaxes(x, -1, -2) @ g, g @ np.swapaxes(y, -1, -2)))
wrong("linear", "zero|none|not summed|upstream ignored")(
    lambda g, x, weight: (g @ weight, np.tensordot(g, x, (tuple(range(g.ndim - 1)),) * 2), np.ones(weight.shape[0]))
)
wrong("mm", "transposed")(lambda g, x, y: ((y @ g.T), x.T @ g))
wrong("mm", "transposed")(lambda g, x, y: (g @ y.T, g.T @ x))
wrong("mv", "factor|not spread")(lambda g, x, y: (g[:, None] * np.ones_like(x), x.T @ g))
wrong("dot", "zero|none")(lambda g, x, y: (g * y, None))
wrong("bmm", "2-D only|not summed|wrong axis|averaged|one of many")(
    lambda g, x, y: (g @ np.swapaxes(y, -1, -2), np.broadcast_to((np.swapaxes(x, -1, -2) @ g).sum(0), y.shape).copy())
)
wrong("layer_norm", "term")(
    lambda g, x, weight: (
        g * weight * (x.var(-1, keepdims=True) + 1e-5) ** -0.5,
        (g * (x - x.mean(-1, keepdims=True)) * (x.var(-1, keepdims=True) + 1e-5) ** -0.5).sum(0),
        g.sum(0),
    )
)
wrong("layer_norm", "not summed|averaged|constant")(
    lambda g, x, weight: (
        (lambda n, s, h: (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True)) / s)(
            (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), np.sqrt(x.var(-1, keepdims=True) + 1e-5), g * weight
        ),
        (g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)).mean(0),
        g.mean(0),
    )
)
wrong("rms_norm", "term|factor")(
    lambda g, x, weight: (
        g * weight / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5),
        (g * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)).sum(0),
    )
)
wrong("batch_norm", "constant|number|term")(
    lambda g, x, weight: (
        (lambda n, s, h: (h - h.mean(0) - n * (h * n).sum(0) / (len(x) - 1)) / s)(
            (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), np.sqrt(x.var(0) + 1e-5), g * weight
        ),
        (g * (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)).sum(0),
        g.sum(0),
    )
)


def sm(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def T(a):
    return np.swapaxes(a, -1, -2)


def attn(g, q, k, v, c=None, vv=True, kt=True):
    c = 1 / math.sqrt(q.shape[-1])
    p = sm(q @ T(k) * c)
    return p, c


wrong("attention", "transposed|exception|order|swapped")(
    lambda g, q, k, v: (
        lambda p, c: (lambda ds: (ds @ k, T(ds) @ q, p @ g if p.shape[-1] == g.shape[-2] else T(p) @ g))(
            p * (g @ T(v) - ((g @ T(v)) * p).sum(-1, keepdims=True)) * c
        )
    )(*attn(g, q, k, v))
)
wrong("attention", "constant|factor")(
    lambda g, q, k, v: (
        lambda p, c: (lambda ds: (ds @ k, T(ds) @ q, T(p) @ g))(p * (g @ T(v) - ((g @ T(v)) * p).sum(-1, keepdims=True)) * c * c)
    )(*attn(g, q, k, v))
)
wrong("dropout", "mask|upstream only|factor")(lambda g, mask, p: (g / (1 - p), None))
wrong("embedding", "one of many|overwritten|not summed")(
    lambda g, index, weight: (
        (lambda r: ([r.__setitem__(i, v) for i, v in zip(index.ravel()[::-1], g.reshape(-1, g.shape[-1])[::-1])], r)[1])(
            np.zeros_like(weight)
        ),
        None,
    )
)
wrong("conv1d", "flipped|transposed|order|swapped")(
    lambda g, x, weight: (
        np.einsum(
            "nolk,ock->ncl",
            np.lib.stride_tricks.sliding_window_view(np.pad(g, ((0, 0), (0, 0), (weight.shape[2] - 1,) * 2)), weight.shape[2], 2),
            weight[:, :, ::-1],
        ),
        np.einsum("nclk,nol->ock", np.lib.stride_tricks.sliding_window_view(x, weight.shape[2], 2), g)[:, :, ::-1],
    )
)
wrong("max_pool", "tie|averaged|not spread|mask|constant|term")(lambda g, x: np.repeat(np.repeat(g, 2, 2), 2, 3) / 4)
wrong("avg_pool", "upstream ignored")(lambda g, x: np.full_like(x, 0.25))
wrong("cumsum", "flipped|upstream only|applied twice|forward|places")(lambda g, axis: np.cumsum(g, axis))
wrong("permute", "permutation")(lambda g, axes: g.transpose(axes))
wrong("clip", "mask|places")(lambda g, x, low, high: g * ((x < low) | (x > high)))
wrong("round_through", "zero")(lambda g: 0 * g)
wrong("gather", "overwritten")(lambda g, index, x, axis: ((lambda r: (np.put_along_axis(r, index, g, axis), r)[1])(np.zeros_like(x)), None))
wrong("concat", "flipped|permutation")(lambda g, x, y: (g[: len(x)][::-1], g[len(x) :][::-1]))
wrong("lerp", "zero|none|term")(lambda g, x, y, weight: (g * (1 - weight), g * weight, None))
wrong("hypot", "variable|swapped")(lambda g, x, y, out: (g * y / out, g * x / out))
wrong("xlogy", "sign")(lambda g, x, y: (g * np.log(y), -g * x / y))
wrong("logcumsumexp", "upstream only|diagonal only|term|factor")(lambda g, x, out, axis: g * np.exp(x - out))

# composites
x = R.normal(size=(4, 6))
y = R.normal(size=(4, 6))
w = R.normal(size=(6, 3))
b = R.normal(size=3)
h = R.normal(size=(4, 3))
u = R.normal(size=(3, 3))
xp = np.abs(x) + 0.4
yp = np.abs(y) + 0.3
t = R.normal(size=(4, 3))
sigm = lambda a: 1 / (1 + np.exp(-a))
cell = lambda x, h, w, u: (x @ w + h @ u).tanh()
wrong_function(cell, [x, h, w, u], "power|variable")(
    lambda g, x, h, w, u, out: ((g * (1 - out)) @ w.T, (g * (1 - out)) @ u.T, x.T @ (g * (1 - out)), h.T @ (g * (1 - out)))
)
wrong_function(cell, [x, h, w, u], "factor")(
    lambda g, x, h, w, u, out: ((g * (1 - out**2)) @ w.T, (g * (1 - out**2)) @ u.T, x.T @ (g * (1 - out**2)), h.T @ g)
)
wrong_function(cell, [x, h, w, u], "transposed")(
    lambda g, x, h, w, u, out: ((g * (1 - out**2)) @ w.T, (g * (1 - out**2)) @ u, x.T @ (g * (1 - out**2)), h.T @ (g * (1 - out**2)))
)
gate = lambda x, h, z: (1 - z) * x + z * h
gx, gh, gz = R.normal(size=(3, 5)), R.normal(size=(3, 5)), R.uniform(0.1, 0.9, (3, 5))
wrong_function(gate, [gx, gh, gz], "swapped")(lambda g, x, h, z: (g * z, g * (1 - z), g * (h - x)))
wrong_function(gate, [gx, gh, gz], "sign|term sign")(lambda g, x, h, z: (g * (1 - z), g * z, g * (x - h)))
wrong_function(gate, [gx, gh, gz], "term")(lambda g, x, h, z: (g * (1 - z), g * z, g * h))
ridge = lambda x, w, y: ((x @ w - y) ** 2).mean() + 0.5 * (w * w).sum()
wrong_function(ridge, [x, w, t], "term")(lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r, -r))(2 * g * (x @ w - y) / y.size))
wrong_function(ridge, [x, w, t], "constant|term")(
    lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r + 2 * g * w, -r))(2 * g * (x @ w - y) / y.size)
)
wrong_function(ridge, [x, w, t], "constant")(lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r + g * w, -r))(2 * g * (x @ w - y) / len(y)))
wrong_function(ridge, [x, w, t], "sign")(lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r + g * w, r))(2 * g * (x @ w - y) / y.size))
logreg = lambda x, w, y: -(y * (x @ w).sigmoid().log() + (1 - y) * (1 - (x @ w).sigmoid()).log()).mean()
yt = (R.random((4, 3)) > 0.5) * 0.8 + 0.1
wrong_function(logreg, [x, w, yt], "factor|variable")(
    lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r, -g * (x @ w) / y.size))(g * (x @ w - y) / y.size)
)
wrong_function(logreg, [x, w, yt], "sign")(
    lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r, -g * (x @ w) / y.size))(g * (y - sigm(x @ w)) / y.size)
)
wrong_function(logreg, [x, w, yt], "constant")(
    lambda g, x, w, y: (lambda r: (r @ w.T, x.T @ r, -g * (x @ w) / y.size))(g * (sigm(x @ w) - y) / len(y))
)
smr = lambda x, w: (x @ w).softmax(-1)
wrong_function(smr, [x, w], "not summed|diagonal only|term")(lambda g, x, w, out: (lambda r: (r @ w.T, x.T @ r))(g * out * (1 - out)))
wrong_function(smr, [x, w], "term|factor")(lambda g, x, w, out: (lambda r: (r @ w.T, x.T @ r))(g * out))
wrong_function(smr, [x, w], "axis|wrong axis")(lambda g, x, w, out: (lambda r: (r @ w.T, x.T @ r))(out * (g - (g * out).sum(0))))
quad = lambda x, u: (x @ u * x).sum(-1)
qx = R.normal(size=(4, 3))
wrong_function(quad, [qx, u], "term|constant")(lambda g, x, a: (g[:, None] * (x @ a), x.T @ (g[:, None] * x)))
wrong_function(quad, [qx, u], "constant|term|transposed")(lambda g, x, a: (2 * g[:, None] * (x @ a), x.T @ (g[:, None] * x)))
dist = lambda x, y: ((x - y) ** 2).sum(-1).sqrt()
wrong_function(dist, [x, y], "constant")(
    lambda g, x, y, out: (2 * g[:, None] * (x - y) / out[:, None], -2 * g[:, None] * (x - y) / out[:, None])
)
wrong_function(dist, [x, y], "factor|division")(lambda g, x, y, out: (g[:, None] * (x - y), -g[:, None] * (x - y)))
wrong_function(dist, [x, y], "sign")(lambda g, x, y, out: (g[:, None] * (x - y) / out[:, None], g[:, None] * (x - y) / out[:, None]))
gn = lambda x, w, b: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * w + b
w6 = R.normal(size=6)
b6 = R.normal(size=6)
nz = lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, ddof=1, keepdims=True)
wrong_function(gn, [x, w6, b6], "term")(lambda g, x, w, b: (g * w / x.std(-1, ddof=1, keepdims=True), (g * nz(x)).sum(0), g.sum(0)))
wrong_function(gn, [x, w6, b6], "not summed")(
    lambda g, x, w, b: (
        (lambda s, n, k: (k - k.mean(-1, keepdims=True) - n * (k * n).sum(-1, keepdims=True) / 5) / s)(
            x.std(-1, ddof=1, keepdims=True), nz(x), g * w
        ),
        g * nz(x),
        g,
    )
)
wrong_function(gn, [x, w6, b6], "variable")(
    lambda g, x, w, b: (
        (lambda s, n, k: (k - k.mean(-1, keepdims=True) - n * (k * n).sum(-1, keepdims=True) / 5) / s)(
            x.std(-1, ddof=1, keepdims=True), nz(x), g * w
        ),
        (g * x).sum(0),
        g.sum(0),
    )
)
temp = lambda x, y: (x / y).exp()
cy = np.abs(R.normal(size=(4, 1))) + 0.5
wrong_function(temp, [x, cy], "factor|division")(lambda g, x, y, out: (g * out, (-g * out * x / y**2).sum(1, keepdims=True)))
wrong_function(temp, [x, cy], "sign")(lambda g, x, y, out: (g * out / y, (g * out * x / y**2).sum(1, keepdims=True)))
wrong_function(temp, [x, cy], "not summed")(lambda g, x, y, out: (g * out / y, -g * out * x / y**2))
wrong_function(temp, [x, cy], "power|factor|number|division")(lambda g, x, y, out: (g * out / y, (-g * out * x / y).sum(1, keepdims=True)))
poly = lambda x: 3 * x**3 - 2 * x**2 + x
wrong_function(poly, [x], "term")(lambda g, x: g * (9 * x**2 - 4 * x))
wrong_function(poly, [x], "term sign|sign")(lambda g, x: g * (9 * x**2 + 4 * x + 1))
wrong_function(poly, [x], "factor|constant|number")(lambda g, x: g * (3 * x**2 - 4 * x + 1))
wrong_function(poly, [x], "power|number|step|factor")(lambda g, x: g * (9 * x**2 - 2 * x + 1))
wrong_function(poly, [x], "forward|function|upstream only")(lambda g, x, out: g * out)
hinge = lambda x, y: (1 - x * y).relu().mean()
wrong_function(hinge, [x, np.sign(y)], "mask|term|factor")(lambda g, x, y: (-g * y / x.size, -g * x / x.size))
wrong_function(hinge, [x, np.sign(y)], "constant")(lambda g, x, y: (-g * y * (x * y < 1) / len(x), -g * x * (x * y < 1) / len(x)))
wrong_function(hinge, [x, np.sign(y)], "sign")(lambda g, x, y: (g * y * (x * y < 1) / x.size, g * x * (x * y < 1) / x.size))
wrong_function(hinge, [x, np.sign(y)], "mask")(lambda g, x, y: (-g * y * (x * y > 1) / x.size, -g * x * (x * y > 1) / x.size))
state = {}


def stateful(g, x):
    state["n"] = state.get("n", 0) + g * 3 * x**2
    return state["n"]


wrong_function(lambda x: x**3, [x], "second call|state|mutation")(stateful)


def writes_g(g, x):
    g *= 3 * x**2
    return g


wrong_function(lambda x: x**3, [x], "mutation")(writes_g)
wrong_function(lambda x: x**3, [x], "finite differences|precision")(lambda g, x: g * ((x + 1e-6) ** 3 - (x - 1e-6) ** 3) / 2e-6)
wrong_function(lambda x: x**3, [x], "exception")(lambda g, x: g * 3 * x @ x)
wrong_function(lambda x, y: x * y, [x, y], "count")(lambda g, x, y: (g * y,))
