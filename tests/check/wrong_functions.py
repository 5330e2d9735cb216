"""Wrong rules for functions that are in no table: `diagnose` follows them step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import autolab
import autolab.nn.functional as F
from autolab.autograd import Function

WRONG_FUNCTIONS: list[WrongFunction] = []
R = np.random.default_rng(11)


class WrongFunction(NamedTuple):
    """A wrong rule, the function it is to differentiate, and where."""

    reference: Callable
    inputs: list
    family: str
    rule: Any
    settings: dict


def wrong_function(reference, inputs, family, **settings):
    def keep(rule):
        WRONG_FUNCTIONS.append(WrongFunction(reference, inputs, family, rule, settings))
        return rule

    return keep


x = R.normal(size=(3, 5))
y = R.normal(size=(3, 5))
w = R.normal(size=(5, 4))
b = R.normal(size=(4,))
xp = np.abs(x) + 0.3
yp = np.abs(y) + 0.4
v = R.normal(size=(5,))
col = R.normal(size=(3, 1))

softsign = lambda x: x / (1 + x.abs())


@wrong_function(softsign, [x], "term")
def ss1(g, x):
    return g / (1 + np.abs(x))


@wrong_function(softsign, [x], "term sign|sign")
def ss2(g, x):
    return g * (1 / (1 + np.abs(x)) + np.abs(x) / (1 + np.abs(x)) ** 2)


@wrong_function(softsign, [x], "term|function|step")
def ss3(g, x):
    return -g * np.abs(x) / (1 + np.abs(x)) ** 2


@wrong_function(softsign, [x], "upstream ignored")
def ss4(g, x):
    return 1 / (1 + np.abs(x)) ** 2


layer = lambda x, w, b: (x @ w + b).tanh()


@wrong_function(layer, [x, w, b], "factor")
def l1(g, x, w, b):
    return g @ w.T, x.T @ g, g.sum(0)


@wrong_function(layer, [x, w, b], "variable")
class L2(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        z = x @ w + b
        ctx.save_for_backward(x, w, z)
        return z.tanh()

    @staticmethod
    def backward(ctx, g):
        x, w, z = ctx.saved_tensors
        g = g * (1 - z * z)
        return g @ w.T, x.T @ g, g.sum(0)


@wrong_function(layer, [x, w, b], "averaged|constant")
def l3(g, x, w, out):
    g = g * (1 - out**2)
    return g @ w.T, x.T @ g, g.mean(0)


@wrong_function(layer, [x, w, b], "not summed")
def l4(g, x, w, out):
    g = g * (1 - out**2)
    return g @ w.T, x.T @ g, g


@wrong_function(layer, [x, w, b], "factor|upstream only")
def l5(g, x, w, out):
    dz = g * (1 - out**2)
    return dz @ w.T, x.T @ dz, g.sum(0)


@wrong_function(layer, [x, w, b], "swapped|order")
def l6(g, x, w, out):
    dz = g * (1 - out**2)
    return x.T @ dz, dz @ w.T, dz.sum(0)


@wrong_function(layer, [x, w, b], "keepdims|flattened")
def l7(g, x, w, out):
    dz = g * (1 - out**2)
    return dz @ w.T, x.T @ dz, dz.sum(0, keepdims=True)


elu = lambda x: autolab.where(x > 0, x, x.exp() - 1)


@wrong_function(elu, [x], "mask")
def e1(g, x):
    return np.where(x < 0, g, g * np.exp(x))


@wrong_function(elu, [x], "forward|term|variable|step")
def e2(g, x):
    return np.where(x > 0, g, g * (np.exp(x) - 1))


@wrong_function(elu, [x], "mask|function|factor|upstream only")
def e3(g, x):
    return np.where(x > 0, g, 0)


swish_b = lambda x, y: x * (y * x).sigmoid()


@wrong_function(swish_b, [x, y], "factor|variable|term")
def sb1(g, x, y):
    s = 1 / (1 + np.exp(-x * y))
    return g * (s + x * s * (1 - s)), g * x * x * s * (1 - s)


@wrong_function(swish_b, [x, y], "factor|power|variable|number")
def sb2(g, x, y):
    s = 1 / (1 + np.exp(-x * y))
    return g * (s + x * y * s * (1 - s)), g * x * s * (1 - s)


@wrong_function(swish_b, [x, y], "zero|none")
def sb3(g, x, y):
    s = 1 / (1 + np.exp(-x * y))
    return g * (s + x * y * s * (1 - s)), np.zeros_like(y)


gauss = lambda x: (-x * x / 2).exp()


@wrong_function(gauss, [x], "factor|term")
def g1(g, out):
    return g * out


@wrong_function(gauss, [x], "sign")
def g2(g, x, out):
    return g * x * out


@wrong_function(gauss, [x], "constant")
def g3(g, x, out):
    return -2 * g * x * out


wmean = lambda x, y: (x * y).sum(-1) / y.sum(-1)


@wrong_function(wmean, [xp, yp], "term")
def wm1(g, x, y):
    s = y.sum(-1, keepdims=True)
    g = g[:, None]
    return g * y / s, g * x / s


@wrong_function(wmean, [xp, yp], "factor|division")
def wm2(g, x, y, out):
    g = g[:, None]
    return g * y, g * (x - out[:, None])


@wrong_function(wmean, [xp, yp], "term sign|sign")
def wm3(g, x, y, out):
    s = y.sum(-1, keepdims=True)
    g = g[:, None]
    return g * y / s, g * (x + out[:, None]) / s


@wrong_function(wmean, [xp, yp], "swapped")
def wm4(g, x, y, out):
    s = y.sum(-1, keepdims=True)
    g = g[:, None]
    return g * (x - out[:, None]) / s, g * y / s


huber = lambda x, y: F.huber_loss(x, y)


@wrong_function(huber, [x * 2, y], "constant")
def h1(g, x, y):
    e = x - y
    r = g * np.where(np.abs(e) < 1, e, np.sign(e)) / len(x)
    return r, -r


@wrong_function(huber, [x * 2, y], "mask|term|function|places")
def h2(g, x, y):
    r = g * (x - y) / x.size
    return r, -r


@wrong_function(huber, [x * 2, y], "sign")
def h3(g, x, y):
    e = x - y
    r = g * np.where(np.abs(e) < 1, e, np.sign(e)) / x.size
    return r, r


cos = lambda x, y: (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))


@wrong_function(cos, [x, y], "term")
def c1(g, x, y):
    n = np.linalg.norm(x, axis=-1, keepdims=True) * np.linalg.norm(y, axis=-1, keepdims=True)
    return g[:, None] * y / n, g[:, None] * x / n


@wrong_function(cos, [x, y], "term sign|sign")
def c2(g, x, y, out):
    nx = np.linalg.norm(x, axis=-1, keepdims=True)
    ny = np.linalg.norm(y, axis=-1, keepdims=True)
    o = out[:, None]
    return g[:, None] * (y / (nx * ny) + o * x / nx**2), g[:, None] * (x / (nx * ny) + o * y / ny**2)


mlp = lambda x, w, v: (x @ w).relu() @ v
v4 = R.normal(size=(4,))


@wrong_function(mlp, [x, w, v4], "mask|factor")
def m1(g, x, w, v):
    h = np.maximum(x @ w, 0)
    dh = np.outer(g, v)
    return dh @ w.T, x.T @ dh, h.T @ g


@wrong_function(mlp, [x, w, v4], "mask from g|mask")
def m2(g, x, w, v):
    h = np.maximum(x @ w, 0)
    dh = np.outer(g, v)
    dh = dh * (dh > 0)
    return dh @ w.T, x.T @ dh, h.T @ g


@wrong_function(mlp, [x, w, v4], "variable")
def m3(g, x, w, v):
    z = x @ w
    dh = np.outer(g, v) * (z > 0)
    return dh @ w.T, x.T @ dh, z.T @ g


@wrong_function(mlp, [x, w, v4], "upstream ignored|factor")
def m4(g, x, w, v):
    z = x @ w
    dh = np.outer(np.ones_like(g), v) * (z > 0)
    return dh @ w.T, x.T @ dh, np.maximum(z, 0).T @ g


std = lambda x: (x - x.mean(0)) / x.std(0)


@wrong_function(std, [x], "term")
def s1(g, x):
    return g / x.std(0, ddof=1)


@wrong_function(std, [x], "term")
def s2(g, x):
    return (g - g.mean(0)) / x.std(0, ddof=1)


cube = lambda x: x**3


@wrong_function(cube, [x], "constant")
def q1(g, x):
    return g * x**2


@wrong_function(cube, [x], "power|number")
def q2(g, x):
    return 3 * g * x**3


@wrong_function(cube, [x], "constant")
def q3(g, x):
    return 2 * g * x**2


@wrong_function(cube, [x], "upstream only|upstream added")
def q4(g, x):
    return g + 3 * x**2


@wrong_function(cube, [x], "mutation")
def q5(g, x):
    x *= x
    return 3 * g * x


@wrong_function(cube, [x], "upstream collapsed")
def q6(g, x):
    return g.sum() * 3 * x**2


sinx2 = lambda x: (x * x).sin()


@wrong_function(sinx2, [x], "factor")
def t1(g, x):
    return g * np.cos(x * x)


@wrong_function(sinx2, [x], "variable|function")
def t2(g, x):
    return g * 2 * x * np.cos(x)


@wrong_function(sinx2, [x], "sign")
def t3(g, x):
    return -g * 2 * x * np.cos(x * x)


@wrong_function(sinx2, [x], "constant")
def t4(g, x):
    return g * x * np.cos(x * x)


@wrong_function(sinx2, [x], "function|forward")
def t5(g, x):
    return g * 2 * x * np.sin(x * x)


xexp = lambda x: x * x.exp()


@wrong_function(xexp, [x], "term")
def u1(g, x):
    return g * np.exp(x)


@wrong_function(xexp, [x], "term")
def u2(g, x):
    return g * x * np.exp(x)


@wrong_function(xexp, [x], "term sign|sign")
def u3(g, x):
    return g * np.exp(x) * (1 - x)


bil = lambda x, y, w: x @ w @ y.T
w55 = R.normal(size=(5, 5))


@wrong_function(bil, [x, y[:2], w55], "transposed|order")
def b1(g, x, y, w):
    return g @ y @ w, g.T @ x @ w, x.T @ g @ y


@wrong_function(bil, [x, y[:2], w55], "transposed")
def b2(g, x, y, w):
    return g @ y @ w.T, g.T @ x @ w, (x.T @ g @ y).T


addcol = lambda x, y: x * y


@wrong_function(addcol, [x, col], "keepdims|flattened|shape")
def k1(g, x, y):
    return g * y, (g * x).sum(1)


@wrong_function(addcol, [x, col], "wrong axis|exception")
def k2(g, x, y):
    return g * y, (g * x).sum(0, keepdims=True)


@wrong_function(addcol, [x, col], "averaged")
def k3(g, x, y):
    return g * y, (g * x).mean(1, keepdims=True)


@wrong_function(addcol, [x, col], "wrong axis|not summed|averaged|one of many|not spread")
def k4(g, x, y):
    return g * y, np.full_like(y, (g * x).sum())


@wrong_function(addcol, [x, col], "not summed")
def k5(g, x, y):
    return g * y, g * x


ent = lambda x: -(x * x.log()).sum(-1)


@wrong_function(ent, [xp], "term")
def n1(g, x):
    return -g[:, None] * np.log(x)


@wrong_function(ent, [xp], "sign")
def n2(g, x):
    return g[:, None] * (np.log(x) + 1)


@wrong_function(ent, [xp], "term sign|sign")
def n3(g, x):
    return -g[:, None] * (np.log(x) - 1)


mish = lambda x: x * F.softplus(x).tanh()


@wrong_function(mish, [x], "term")
def mi1(g, x):
    return g * np.tanh(np.log1p(np.exp(x)))


@wrong_function(mish, [x], "factor")
def mi2(g, x):
    t = np.tanh(np.log1p(np.exp(x)))
    return g * (t + x * (1 - t * t))


kl = lambda x, y: (y * (y.log() - x.log())).sum()


@wrong_function(kl, [xp, yp], "term")
def kl1(g, x, y):
    return -g * y / x, g * (np.log(y) - np.log(x))


@wrong_function(kl, [xp, yp], "sign")
def kl2(g, x, y):
    return g * y / x, g * (np.log(y) - np.log(x) + 1)


glu = lambda x: x[:, :2] * x[:, 2:4].sigmoid()
x4 = R.normal(size=(3, 4))


@wrong_function(glu, [x4], "pieces|swapped|permutation|places")
def gl1(g, x):
    a, b = x[:, :2], x[:, 2:]
    s = 1 / (1 + np.exp(-b))
    return np.concatenate([g * a * s * (1 - s), g * s], 1)


@wrong_function(glu, [x4], "factor")
def gl2(g, x):
    a, b = x[:, :2], x[:, 2:]
    s = 1 / (1 + np.exp(-b))
    return np.concatenate([g * s, g * a * s], 1)


@wrong_function(glu, [x4], "factor|variable")
def gl3(g, x):
    _a, b = x[:, :2], x[:, 2:]
    s = 1 / (1 + np.exp(-b))
    return np.concatenate([g * s, g * s * (1 - s)], 1)


tall = R.normal(size=(5, 3))
q_of = lambda a: autolab.linalg.qr(a)[0]
r_of = lambda a: autolab.linalg.qr(a)[1]


def with_image(m):
    return m + np.tril(m, -1).T


@wrong_function(q_of, [tall], "term")
def q_while_r_stays(g, a):
    return g @ np.linalg.inv(np.linalg.qr(a)[1]).T


@wrong_function(q_of, [tall], "term|triangle")
def q_triangle_alone(g, a):
    q, r = np.linalg.qr(a)
    return (g - q @ np.tril(g.T @ q)) @ np.linalg.inv(r).T


@wrong_function(q_of, [tall], "transposed")
def q_by_r_inverse(g, a):
    q, r = np.linalg.qr(a)
    return (g - q @ with_image(np.tril(g.T @ q))) @ np.linalg.inv(r)


@wrong_function(q_of, [tall], "mask|function|triangle")
def q_other_triangle(g, a):
    q, r = np.linalg.qr(a)
    return (g - q @ with_image(np.triu(g.T @ q))) @ np.linalg.inv(r).T


@wrong_function(r_of, [tall], "term")
def r_while_q_stays(g, a):
    return np.linalg.qr(a)[0] @ np.triu(g)


@wrong_function(r_of, [tall], "mask|triangle")
def r_diagonal_twice(g, a):
    q, r = np.linalg.qr(a)
    m = np.tril(r @ g.T)
    return q @ (m + m.T) @ np.linalg.inv(r).T


@wrong_function(r_of, [tall], "transposed")
def r_g_not_transposed(g, a):
    q, r = np.linalg.qr(a)
    return q @ with_image(np.tril(r @ g)) @ np.linalg.inv(r).T
