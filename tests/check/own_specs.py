"""Exercises as an instructor writes them: a forward alone, with larger arrays, many inputs, scans and convolutions; and slips in their rules.

No rule is told (`derivative_of_forward`): the check takes the derivative of forward by itself. The right rules here are only what the slips
are put into (mutations.py); each slip is the first of its seed that gives other numbers.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

from autolab.check import Spec, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

from .mutations import mutate

SLIPS = 6  # for each exercise


class Own(NamedTuple):
    """An exercise without a rule, and the right rule."""

    spec: Spec
    rule: Callable


OWN: list[Own] = []


def own(*shapes: tuple, settings: tuple = ({},), kind: str = GENERAL, forward: Callable, **more: Any) -> Callable:
    def keep(rule: Callable) -> Callable:
        name = rule.__name__
        parameters = inspect.signature(forward).parameters.values()
        inputs = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        op = Op(f"{name}_of_mine", forward, kind, **dict.fromkeys(inputs, derivative_of_forward))
        OWN.append(Own(Spec(name, op, shapes=shapes, settings=settings, **more), rule))
        return rule

    return keep


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gated_forward(x, u, v, w, b):
    return (np.tanh(x @ u + b) * sigmoid(x @ v)) @ w


@own(((6, 5), (5, 4), (5, 4), (4, 3), (4,)), ((4, 4), (4, 4), (4, 4), (4, 4), (4,)), forward=gated_forward)
def gated(g, x, u, v, w, b):
    h, s = np.tanh(x @ u + b), sigmoid(x @ v)
    d = g @ w.T
    dh = d * s * (1 - h * h)
    ds = d * h * s * (1 - s)
    return dh @ u.T + ds @ v.T, x.T @ dh, x.T @ ds, (h * s).T @ g, dh.sum(0)


def lstm_cell_forward(x, h, c, wi, wf, wo):
    z = np.concatenate([x, h], -1)
    return sigmoid(z @ wo) * np.tanh(sigmoid(z @ wf) * c + sigmoid(z @ wi) * np.tanh(x))


@own(((3, 4), (3, 4), (3, 4), (8, 4), (8, 4), (8, 4)), ((2, 3), (2, 3), (2, 3), (6, 3), (6, 3), (6, 3)), forward=lstm_cell_forward)
def lstm_cell(g, x, h, c, wi, wf, wo):
    z, n = np.concatenate([x, h], -1), x.shape[-1]
    i, f, o, a = sigmoid(z @ wi), sigmoid(z @ wf), sigmoid(z @ wo), np.tanh(x)
    t = np.tanh(f * c + i * a)
    dc = g * o * (1 - t * t)
    di, df, do = dc * a * i * (1 - i), dc * c * f * (1 - f), g * t * o * (1 - o)
    dz = di @ wi.T + df @ wf.T + do @ wo.T
    return dz[:, :n] + dc * i * (1 - a * a), dz[:, n:], dc * f, z.T @ di, z.T @ df, z.T @ do


def smoothed_forward(x, *, decay):
    out, last = [], np.zeros_like(x[..., 0])
    for k in range(x.shape[-1]):
        last = decay * last + (1 - decay) * x[..., k]
        out.append(last)
    return np.stack(out, -1)


@own(((6, 12),), ((3, 9),), settings=({"decay": 0.8}, {"decay": 0.35}), forward=smoothed_forward)
def smoothed(g, decay):
    dx, back = np.zeros_like(g), np.zeros_like(g[..., 0])
    for k in reversed(range(g.shape[-1])):
        back = g[..., k] + decay * back
        dx[..., k] = (1 - decay) * back
    return dx


def recurrent_forward(x, w, u):
    h, out = np.zeros((x.shape[0], u.shape[0])), []
    for k in range(x.shape[1]):
        h = np.tanh(x[:, k] @ w + h @ u)
        out.append(h)
    return np.stack(out, 1)


@own(((2, 6, 3), (3, 4), (4, 4)), ((3, 5, 3), (3, 3), (3, 3)), forward=recurrent_forward)
def recurrent(g, x, w, u):
    out = recurrent_forward(x, w, u)
    dx, dw, du, dh = np.zeros_like(x), np.zeros_like(w), np.zeros_like(u), np.zeros_like(g[:, 0])
    for k in reversed(range(x.shape[1])):
        da = (g[:, k] + dh) * (1 - out[:, k] ** 2)
        dx[:, k] = da @ w.T
        dw += x[:, k].T @ da
        if k > 0:
            du += out[:, k - 1].T @ da
        dh = da @ u.T
    return dx, dw, du


def linear_scan_forward(a, b):
    out, last = [], np.zeros_like(a[..., 0])
    for k in range(a.shape[-1]):
        last = a[..., k] * last + b[..., k]
        out.append(last)
    return np.stack(out, -1)


@own(((4, 9), (4, 9)), ((3, 6), (3, 6)), domain={"a": (-0.95, 0.95)}, forward=linear_scan_forward)
def linear_scan(g, a, b):
    out = linear_scan_forward(a, b)
    da, db, back = np.zeros_like(a), np.zeros_like(b), np.zeros_like(g[..., 0])
    for k in reversed(range(g.shape[-1])):
        back = g[..., k] + back
        db[..., k] = back
        if k > 0:
            da[..., k] = back * out[..., k - 1]
        back = back * a[..., k]
    return da, db


def conv_forward(x, weight):
    n = weight.shape[-1]
    return sum(np.einsum("nct,oc->not", x[:, :, k : x.shape[-1] - n + 1 + k], weight[:, :, k]) for k in range(n))


@own(((3, 3, 14), (4, 3, 3)), ((2, 2, 9), (2, 2, 4)), forward=conv_forward)
def conv(g, x, weight):
    dx, dw, m = np.zeros_like(x), np.zeros_like(weight), g.shape[-1]
    for k in range(weight.shape[-1]):
        dx[:, :, k : k + m] += np.einsum("not,oc->nct", g, weight[:, :, k])
        dw[:, :, k] = np.einsum("not,nct->oc", g, x[:, :, k : k + m])
    return dx, dw


def conv_image_forward(x, weight, bias):
    a, b = weight.shape[-2:]
    h, w = x.shape[-2] - a + 1, x.shape[-1] - b + 1
    out = bias[:, None, None] + np.zeros((len(x), len(weight), h, w))
    for i in range(a):
        for j in range(b):
            out = out + np.einsum("nchw,oc->nohw", x[:, :, i : i + h, j : j + w], weight[:, :, i, j])
    return out


@own(((2, 2, 6, 7), (3, 2, 3, 3), (3,)), ((2, 2, 5, 5), (2, 2, 2, 2), (2,)), forward=conv_image_forward)
def conv_image(g, x, weight, bias):
    dx, dw = np.zeros_like(x), np.zeros_like(weight)
    h, w = g.shape[-2:]
    for i in range(weight.shape[-2]):
        for j in range(weight.shape[-1]):
            dx[:, :, i : i + h, j : j + w] += np.einsum("nohw,oc->nchw", g, weight[:, :, i, j])
            dw[:, :, i, j] = np.einsum("nohw,nchw->oc", g, x[:, :, i : i + h, j : j + w])
    return dx, dw, g.sum((0, 2, 3))


def depthwise_forward(x, weight, *, stride):
    n = weight.shape[-1]
    m = (x.shape[-1] - n) // stride + 1
    return sum(x[:, :, k : k + stride * (m - 1) + 1 : stride] * weight[:, k, None] for k in range(n))


@own(((3, 4, 12), (4, 3)), ((2, 3, 10), (3, 2)), settings=({"stride": 2}, {"stride": 1}), forward=depthwise_forward)
def depthwise(g, x, weight, stride):
    dx, dw, m = np.zeros_like(x), np.zeros_like(weight), g.shape[-1]
    for k in range(weight.shape[-1]):
        at = slice(k, k + stride * (m - 1) + 1, stride)
        dx[:, :, at] += g * weight[:, k, None]
        dw[:, k] = (g * x[:, :, at]).sum((0, 2))
    return dx, dw


def attended_forward(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@own(((2, 6, 4), (2, 7, 4), (2, 7, 3)), ((2, 4, 4), (2, 4, 4), (2, 4, 4)), forward=attended_forward)
def attended(g, q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    dp = g @ np.swapaxes(v, -1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g


def distances_forward(x, y):
    return np.sqrt(((x[:, None] - y) ** 2).sum(-1))


@own(((9, 4), (8, 4)), ((5, 5), (5, 5)), forward=distances_forward)
def distances(g, x, y):
    d = x[:, None] - y
    each = (g / np.sqrt((d * d).sum(-1)))[..., None] * d
    return each.sum(1), -each.sum(0)


def normed_forward(x, weight, bias):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * weight + bias


@own(((8, 16), (16,), (16,)), ((5, 5), (5,), (5,)), forward=normed_forward)
def normed(g, x, weight, bias):
    d = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    z, h = d * r, g * weight
    dx = r * (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True))
    return dx, (g * z).sum(0), g.sum(0)


def softmax_forward(x, *, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@own(((16, 16),), ((9, 12),), settings=({"axis": -1}, {"axis": 0}), forward=softmax_forward)
def shares(g, out, axis):
    return out * (g - (g * out).sum(axis, keepdims=True))


def swish_forward(x):
    return x / (1 + np.exp(-x))


@own(((16, 12),), ((9, 9),), kind=ELEMENTWISE, forward=swish_forward)
def swish(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * (s + x * s * (1 - s))


def mixed_forward(a, b, c, d):
    return a * np.exp(-b * b) + np.sin(c) * d


@own(*(((n, m),) * 4 for n, m in ((6, 8), (4, 4))), kind=ELEMENTWISE, forward=mixed_forward)
def mixed(g, a, b, c, d):
    e = np.exp(-b * b)
    return g * e, -2 * g * a * b * e, g * np.cos(c) * d, g * np.sin(c)


def solved_forward(a, b):
    return np.linalg.solve(a + 7 * np.eye(len(a)), b)


@own(((6, 6), (6, 3)), ((4, 4), (4, 4)), forward=solved_forward)
def solved(g, a, b):
    m = a + 7 * np.eye(len(a))
    db = np.linalg.solve(m.T, g)
    return -db @ np.linalg.solve(m, b).T, db


def spectrum_forward(x):
    z = np.fft.rfft(x)
    return z.real**2 + z.imag**2


@own(((4, 16),), ((3, 9),), forward=spectrum_forward)
def spectrum(g, x):
    n = x.shape[-1]
    w = np.exp(-2j * np.pi * np.outer(np.arange(g.shape[-1]), np.arange(n)) / n)
    return 2 * ((g * (x @ w.T)) @ np.conj(w)).real


def slips(each: Own, most: int = SLIPS) -> Iterator[tuple[str, Callable]]:
    """Wrong rules: what the slip is, and the rule."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(each.rule)))
    tree.body[0].decorator_list = []
    inputs, settings = drawn(each.spec)
    known = {**inputs, **settings, "out": each.spec.row.forward(*inputs.values(), **settings)}
    g = np.random.default_rng(1).normal(size=np.shape(known["out"]))
    right, found = answer(each.rule, g, known), set()
    for seed in range(20 * most):
        if len(found) == most:
            return
        mutant = mutate(tree, Random(seed))
        if mutant is None or mutant.source in found:
            continue
        names = dict(each.rule.__globals__)
        exec(compile(mutant.source, "<slip>", "exec"), names)
        rule = names[each.rule.__name__]
        wrong = answer(rule, g, known)
        if wrong is not None and [a.shape for a in wrong] == [a.shape for a in right] and not all(map(np.allclose, wrong, right)):
            found.add(mutant.source)
            yield mutant.kind, rule


def drawn(spec: Spec) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    rng = np.random.default_rng(0)
    low, high = -2.0, 2.0
    return (
        {x: rng.uniform(*spec.domain.get(x, (low, high)), shape) for x, shape in zip(spec.row.inputs, spec.shapes[0], strict=True)},
        dict(spec.settings[0]),
    )


def answer(rule: Callable, g: np.ndarray, known: dict[str, Any]) -> tuple | None:
    """What a rule gives; None if it raises, or gives what is no gradient, which is found at once."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            given = {
                n: np.copy(known[n]) if isinstance(known[n], np.ndarray) else known[n] for n in list(inspect.signature(rule).parameters)[1:]
            }
            got = rule(g.copy(), **given)
        got = got if isinstance(got, tuple) else (got,)
        arrays = tuple(np.asarray(a, float) for a in got)
        return arrays if all(np.isfinite(a).all() for a in arrays) else None
    except Exception:
        return None
