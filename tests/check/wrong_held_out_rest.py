"""Held out: wrong rules for what the other sets leave out; no family was written for them."""

from __future__ import annotations

import math

import numpy as np

import autolab as torch
from autolab.autograd import Function

from .wrong import wrong
from .wrong_functions import wrong_function

R = np.random.default_rng(123)


def unb(g, s):
    while g.ndim > len(s):
        g = g.sum(0)
    for i, n in enumerate(s):
        if n == 1 and g.shape[i] != 1:
            g = g.sum(i, keepdims=True)
    return g


@wrong("exp", "applied twice|variable")
class E1(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return x.exp() * g


@wrong("log", "upstream added|operation|extra term")
def lg(g, x):
    return g + 1 / x


@wrong("sqrt", "constant|factor|power|number")
def sq(g, x):
    return g * 2 * np.sqrt(x) ** -1


@wrong("square", "constant")
def s3(g, x):
    return 3 * g * x


@wrong("reciprocal", "function|factor|variable|power|sign|forward|term")
def rc(g, x, out):
    return -g * out


@wrong("tanh", "sign|term sign")
def th(g, out):
    return g * (out**2 - 1)


@wrong("sigmoid", "upstream ignored")
def sg2(g, out):
    return out * (1 - out)


@wrong("relu", "upstream collapsed|upstream ignored")
def rl(g, x):
    return (x > 0) * g.mean()


@wrong("leaky_relu", "division")
def lk(g, x, negative_slope):
    return np.where(x > 0, g, g / negative_slope)


@wrong("abs", "mask from g|sign|upstream size|variable")
def ab(g, x):
    return np.abs(g)


@wrong("sin", "constant|sign|function")
def si(g, x):
    return g * np.cos(2 * x)


@wrong("cos", "upstream ignored")
def co(g, x):
    return -np.sin(x)


@wrong("tan", "factor|power|division|function|term")
def ta(g, out):
    return g * out**2


@wrong("log1p", "sign|term sign|term|function")
def l1(g, x):
    return g / (1 - x)


@wrong("expm1", "term|extra term|sign|term sign|number|function|step")
def ex(g, out):
    return g * (out - 1)


@wrong("softplus", "function|factor|term|step|forward|applied twice|variable|term sign")
def sp(g, x):
    return g * (1 - 1 / (1 + np.exp(-x)))


@wrong("gelu", "function|step|variable|factor|term|constant|number")
def ge(g, x):
    return g * (1 / (1 + np.exp(-1.702 * x)))


@wrong("silu", "sign|term sign")
def sl(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * (s - x * s * (1 - s))


@wrong("clip", "mask|places|number|constant|kink")
def cl(g, x, low, high):
    return g * ((x > low) & (x < high + 1))


@wrong("mul", "extra term|operation|term|upstream added|variable|swapped")
def mu(g, x, y):
    return unb(g * (x + y), x.shape), unb(g * (x + y), y.shape)


@wrong("mul", "one of many")
def mu2(g, x, y):
    def f(a, s):
        while a.ndim > len(s):
            a = a[0]
        for i, n in enumerate(s):
            if n == 1:
                a = a.take([0], i)
        return a

    return f(g * y, x.shape), f(g * x, y.shape)


@wrong("div", "upstream ignored")
def dv(g, x, y):
    return unb(np.broadcast_to(1 / y, g.shape), x.shape), unb(-x / y**2, y.shape)


@wrong("div", "constant")
def dv2(g, x, y):
    return unb(g / y, x.shape), unb(-2 * g * x / y**2, y.shape)


@wrong("pow", "swapped")
def pw(g, x, y, out):
    return unb(g * out * np.log(x), x.shape), unb(g * y * x ** (y - 1), y.shape)


@wrong("sum", "averaged|constant")
class SM(Function):
    @staticmethod
    def forward(ctx, x, axis):
        ctx.s = x.shape
        ctx.a = axis
        return x.sum(axis)

    @staticmethod
    def backward(ctx, g):
        out = torch.zeros(ctx.s, dtype=g.dtype)
        n = ctx.s[ctx.a]
        return out + g.unsqueeze(ctx.a) / n, None


@wrong("mean", "upstream ignored")
def mn(g, x, axis):
    return np.ones_like(x) / x.shape[axis]


@wrong("mean", "constant")
def mn2(g, x, axis):
    return np.ones_like(x) * np.expand_dims(g, axis) / (x.shape[axis] - 1)


@wrong("var", "sign|term sign")
def va(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x.mean(axis, keepdims=True) - x) / (x.shape[axis] - 1)


@wrong("var", "term|extra term|term sign|sign")
def va2(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x + x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("amax", "mask|sign|places|function")
def am(g, x, out, axis):
    return np.expand_dims(g, axis) * (x != np.expand_dims(out, axis))


@wrong("prod", "term|factor|variable|division|power")
def pr(g, x, out, axis):
    return np.expand_dims(g, axis) * np.expand_dims(out, axis) / x**2


@wrong("softmax", "axis|wrong axis")
def so(g, out, axis):
    return out * (g - (g * out).sum(1 - axis % 2, keepdims=True))


@wrong("softmax", "keepdims|axis|wrong axis|exception|flattened")
def so2(g, out, axis):
    return out * (g - (g * out).sum(axis))


@wrong("log_softmax", "variable|function")
def ls(g, x, axis):
    return g - np.exp(x) * g.sum(axis, keepdims=True)


@wrong("logsumexp", "variable|applied twice|factor|function|term|forward")
def le(g, x, out, axis):
    return np.expand_dims(g * out, axis) * np.exp(x)


@wrong("cross_entropy", "constant|averaged")
def ce(g, x, target):
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    p[range(len(x)), target] -= 1
    return g * p / x.shape[1]


@wrong("cross_entropy", "sign|term sign")
def ce2(g, x, target):
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    p[range(len(x)), target] += 1
    return g * p / len(x)


@wrong("mse_loss", "upstream ignored")
def ms(g, x, y, reduction):
    r = 2 * (x - y) / (x.size if reduction == "mean" else 1)
    return r, -r


@wrong("mm", "not summed|elementwise|diagonal only|one of many|factor|exception|unknown")
def m1(g, x, y):
    return np.outer(g[:, 0], y[:, 0]), np.outer(x[0], g[0])


@wrong("mm", "one of many|term|overwritten|places")
def m2(g, x, y):
    gx = np.zeros_like(x)
    gy = np.zeros_like(y)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                gx[i, k] = g[i, j] * y[k, j]
                gy[k, j] += g[i, j] * x[i, k]
    return gx, gy


@wrong("linear", "constant|averaged")
def li(g, x, weight):
    f = g.reshape(-1, g.shape[-1])
    r = x.reshape(-1, x.shape[-1])
    return g @ weight, f.T @ r / len(r), f.sum(0)


@wrong("linear", "wrong axis|exception|one of many|keepdims")
def li2(g, x, weight):
    f = g.reshape(-1, g.shape[-1])
    r = x.reshape(-1, x.shape[-1])
    return g @ weight, f.T @ r, f[0]


@wrong("embedding", "overwritten|one of many")
def em(g, index, weight):
    r = np.zeros_like(weight)
    for i in range(len(weight)):
        m = index == i
        if m.any():
            r[i] = g[m][0]
    return r, None


@wrong("conv1d", "places|off by one|one of many|term|mask|permutation|exception")
def cv(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    K = weight.shape[2]
    n = g.shape[2]
    for k in range(K):
        gx[:, :, k : k + n] += np.einsum("nol,oc->ncl", g, weight[:, :, k])
        gw[:, :, k] = np.einsum("nol,ncl->oc", g, x[:, :, :n])
    return gx, gw


@wrong("conv2d", "flipped|transposed|permutation|swapped|variable")
def c2(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    h, w = g.shape[2:]
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            gx[:, :, i : i + h, j : j + w] += np.einsum("nohw,oc->nchw", g, weight[:, :, -1 - i, -1 - j])
            gw[:, :, i, j] = np.einsum("nohw,nchw->oc", g, x[:, :, i : i + h, j : j + w])
    return gx, gw


@wrong("layer_norm", "constant|number|factor|power|term")
def ln(g, x, weight):
    m = x.mean(-1, keepdims=True)
    s = np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5)
    z = (x - m) / s
    h = g * weight
    return (
        (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True)) / s,
        (g * (x - m) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)).sum(0),
        g.sum(0),
    )


@wrong("layer_norm", "swapped")
def ln2(g, x, weight):
    m = x.mean(-1, keepdims=True)
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    z = (x - m) / s
    h = g * weight
    return (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True)) / s, g.sum(0), (g * z).sum(0)


@wrong("attention", "term|none|zero")
def at(g, q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    gp = g @ np.swapaxes(v, -1, -2)
    ds = p * (gp - (gp * p).sum(-1, keepdims=True)) / math.sqrt(q.shape[-1])
    return ds @ k, np.zeros_like(k), np.swapaxes(p, -1, -2) @ g


@wrong("attention", "constant|factor|number|axis")
def at2(g, q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    gp = g @ np.swapaxes(v, -1, -2)
    ds = p * (gp - (gp * p).sum(-1, keepdims=True)) / math.sqrt(k.shape[-2])
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g


@wrong("permute", "permutation|transposed")
def pe(g, axes):
    return np.transpose(g)


@wrong("take", "one of many|overwritten")
def tk(g, index, x_shape):
    r = np.zeros(x_shape)
    flat = index.ravel()
    gf = g.reshape(-1, *x_shape[1:])
    seen = set()
    for i, v in zip(flat, gf):
        if i not in seen:
            r[i] = v
            seen.add(i)
    return r


@wrong("cumsum", "off by one|places|mask|term|not spread|one of many|diagonal only|extra term")
def cs(g, axis):
    f = np.flip(np.cumsum(np.flip(g, axis), axis), axis)
    return f - g


@wrong("concat", "pieces|permutation|places|swapped")
def cc(g, x, y):
    return g[-len(x) :], g[: len(y)]


@wrong("dropout", "factor|constant|mask|variable|setting")
def dr(g, mask, p):
    return g * mask * (1 - p), None


@wrong("where", "swapped|mask")
def wh(g, condition, x, y):
    return None, g * (~condition), g * condition


x = R.normal(size=(4, 5))
w = R.normal(size=(5, 3))
b = R.normal(size=3)
y = R.normal(size=(4, 5))
xp = np.abs(x) + 0.5
wrong_function(lambda x: x * x.tanh(), [x], "term")(lambda g, x: g * np.tanh(x))
wrong_function(lambda x: x * x.tanh(), [x], "factor|variable|term")(lambda g, x: g * (np.tanh(x) + 1 - np.tanh(x) ** 2))
wrong_function(lambda x: x * x.tanh(), [x], "sign|term sign")(lambda g, x: g * (np.tanh(x) - x * (1 - np.tanh(x) ** 2)))
wrong_function(lambda x: (x * x + 1).log(), [x], "factor")(lambda g, x: g / (x * x + 1))
wrong_function(lambda x: (x * x + 1).log(), [x], "constant")(lambda g, x: g * x / (x * x + 1))
wrong_function(lambda x: (x * x + 1).log(), [x], "division|factor")(lambda g, x: g * 2 * x * (x * x + 1))
wrong_function(lambda x: (x * x + 1).sqrt(), [x], "constant")(lambda g, x, out: g * 2 * x / out)
wrong_function(lambda x: (x * x + 1).sqrt(), [x], "factor")(lambda g, x, out: g / (2 * out))
wrong_function(lambda x: (x * x + 1).sqrt(), [x], "variable|power|factor")(lambda g, x, out: g * x / out**2)
wrong_function(lambda x: x.sin() * x.exp(), [x], "term")(lambda g, x: g * np.cos(x) * np.exp(x))
wrong_function(lambda x: x.sin() * x.exp(), [x], "term sign|sign")(lambda g, x: g * np.exp(x) * (np.sin(x) - np.cos(x)))
wrong_function(lambda x: x.sin() * x.exp(), [x], "operation|factor|function|term")(lambda g, x: g * np.cos(x) * np.exp(x) * 1.0 + 0 * x)
mlp = lambda x, w, b: (x @ w + b).relu().sum(-1)
wrong_function(mlp, [x, w, b], "mask|factor")(lambda g, x, w, b: (lambda r: (r @ w.T, x.T @ r, r.sum(0)))(g[:, None] * np.ones((4, 3))))
wrong_function(mlp, [x, w, b], "not spread|upstream ignored|exception")(
    lambda g, x, w, b: (lambda r: (r @ w.T, x.T @ r, r.sum(0)))(1.0 * (x @ w + b > 0))
)
wrong_function(mlp, [x, w, b], "transposed|exception")(
    lambda g, x, w, b: (lambda r: (r @ w.T, r.T @ x, r.sum(0)))(g[:, None] * (x @ w + b > 0))
)
wrong_function(mlp, [x, w, b], "averaged")(lambda g, x, w, b: (lambda r: (r @ w.T, x.T @ r, r.mean(0)))(g[:, None] * (x @ w + b > 0)))
wrong_function(lambda x, y: (x * y).sum(-1), [x, y], "swapped")(lambda g, x, y: (g[:, None] * x, g[:, None] * y))
wrong_function(lambda x, y: (x * y).sum(-1), [x, y], "upstream ignored")(lambda g, x, y: (y, x))
wrong_function(lambda x, y: ((x - y) ** 2).mean(), [x, y], "constant")(lambda g, x, y: (g * (x - y) / x.size, -g * (x - y) / x.size))
wrong_function(lambda x, y: ((x - y) ** 2).mean(), [x, y], "constant")(lambda g, x, y: (2 * g * (x - y), -2 * g * (x - y)))
wrong_function(lambda x, y: ((x - y) ** 2).mean(), [x, y], "sign")(lambda g, x, y: (2 * g * (y - x) / x.size, 2 * g * (x - y) / x.size))
wrong_function(lambda x: x / x.sum(-1, keepdim=True), [xp], "term")(lambda g, x: g / x.sum(-1, keepdims=True))
wrong_function(lambda x: x / x.sum(-1, keepdim=True), [xp], "term sign|sign")(
    lambda g, x: g / x.sum(-1, keepdims=True) + (g * x).sum(-1, keepdims=True) / x.sum(-1, keepdims=True) ** 2
)
wrong_function(lambda x: x / x.sum(-1, keepdim=True), [xp], "power|number|factor")(
    lambda g, x: g / x.sum(-1, keepdims=True) - (g * x).sum(-1, keepdims=True) / x.sum(-1, keepdims=True)
)
wrong_function(lambda x: x / x.sum(-1, keepdim=True), [xp], "not summed|diagonal only|term")(
    lambda g, x: g / x.sum(-1, keepdims=True) - (g * x) / x.sum(-1, keepdims=True) ** 2
)
wrong_function(lambda x: x / x.norm(dim=-1, keepdim=True), [x], "term")(lambda g, x: g / np.linalg.norm(x, axis=-1, keepdims=True))
wrong_function(lambda x, w: (x @ w).softmax(-1).log().sum(-1), [x, w], "not summed|factor|term")(
    lambda g, x, w: (lambda p: (lambda r: (r @ w.T, x.T @ r))(g[:, None] * (1 - p)))(np.exp(x @ w) / np.exp(x @ w).sum(-1, keepdims=True))
)
