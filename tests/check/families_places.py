"""Wrong rules by families crossed with operations: layers, moves, windows, series, stretched inputs.

python -m tests.check.families_places [-v] [--only WORDS]
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autolab.check import Spec, check
from autolab.check.run.inputs import BINARY
from autolab.check.run.reference import sum_to
from autolab.engine.op import ELEMENTWISE, GENERAL, LINEAR, Op

from .families_axes import AXES, SIZES, SUMS, Always, Asked, Plan, Sized, Summed, count, sumk


class Entry(NamedTuple):
    """A wrong rule, the kind of mistake that it makes, and the families that name it."""

    name: str
    which: str
    families: set[str]
    spec: Spec
    rule: Callable
    held_out: bool


# --- layers: several inputs, no axis among the settings


def normed_back(plan, g, x, axis, n, eps=1e-5):
    """The gradient of (x - mean) / sqrt(var + eps) along an axis; `n` entries go into each."""
    a, b = plan.axis("mean and deviation", axis, x), plan.axis("the sums", axis, x)
    d = x - x.mean(a, keepdims=True)
    r = 1 / np.sqrt(sumk(d * d, a) / plan.size("the variance", d.size // d.sum(a, keepdims=True).size, x, axis) + eps)
    z = d * r
    n = count(x, b) if b != axis and n != x.size else n
    m1 = sumk(g, b) / plan.size("the mean of g", n, x, axis)
    m2 = plan.sum("the mean of g z", g, z, b) / plan.size("the mean of g z", n, x, axis)
    return r * (g - m1 - z * m2), z


def normed(x, axis, eps=1e-5):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def layer_norm_back(plan, g, x, weight, bias):
    dx, z = normed_back(plan, g * weight, x, -1, x.shape[-1])
    return dx, plan.sum("the weight", g, z, tuple(range(x.ndim - 1))).reshape(weight.shape), g.sum(tuple(range(x.ndim - 1)))


def batch_norm_back(plan, g, x, weight, bias):
    dx, z = normed_back(plan, g * weight, x, 0, x.shape[0])
    return dx, plan.sum("the weight", g, z, 0).reshape(weight.shape), g.sum(0)


def image_norm_back(plan, g, x, weight, bias):
    dx, z = normed_back(plan, g * weight[:, None, None], x, (0, 2, 3), x.size // x.shape[1])
    return dx, plan.sum("the weight", g, z, (0, 2, 3)).reshape(weight.shape), g.sum((0, 2, 3))


def instance_norm_back(plan, g, x):
    return normed_back(plan, g, x, (-2, -1), x.shape[-1] * x.shape[-2])[0]


def group_norm_back(plan, g, x):
    n = len(x)
    rows, gs = x.reshape(n, 2, -1), g.reshape(n, 2, -1)
    return normed_back(plan, gs, rows, -1, rows.shape[-1])[0].reshape(x.shape)


def rms_norm_back(plan, g, x, weight):
    h, n = g * weight, x.shape[-1]
    a, b = plan.axis("the root", -1, x), plan.axis("the sum", -1, x)
    r = 1 / np.sqrt((x * x).mean(a, keepdims=True) + 1e-5)
    z = x * r
    dx = r * (h - z * plan.sum("the mean", h, z, b) / plan.size("the mean", n, x, -1))
    return dx, plan.sum("the weight", g, z, tuple(range(x.ndim - 1))).reshape(weight.shape)


def l2_loss_back(plan, g, x, y):
    n = plan.size("the mean", x.size, x, None)
    return 2 * g * (x - y) / n, -2 * g * (x - y) / n


def cosine_back(plan, g, x, y):
    a = plan.axis("the norms", -1, x)
    nx, ny = np.sqrt(sumk(x * x, a)), np.sqrt(sumk(y * y, a))
    c, g = sumk(x * y, -1) / nx / ny, g[..., None]
    return g * (y / nx / ny - c * x / nx**2), g * (x / nx / ny - c * y / ny**2)


def weight_norm_back(plan, g, v, scale):
    a = plan.axis("the norm", -1, v)
    n = np.sqrt(sumk(v * v, a))
    u = v / n
    return scale[:, None] / n * (g - u * plan.sum("the sum", g, u, -1)), plan.sum("the scale", g, u, -1)[:, 0]


class Layer(NamedTuple):
    forward: Callable
    back: Callable
    shapes: tuple
    kind: str = GENERAL


LAYERS = {
    "layer_norm": Layer(lambda x, weight, bias: normed(x, -1) * weight + bias, layer_norm_back, (((3, 5), (5,), (5,)), ((4, 4), (4,), (4,)))),
    "batch_norm": Layer(lambda x, weight, bias: normed(x, 0) * weight + bias, batch_norm_back, (((6, 5), (5,), (5,)), ((4, 4), (4,), (4,)))),
    "image_norm": Layer(lambda x, weight, bias: normed(x, (0, 2, 3)) * weight[:, None, None] + bias[:, None, None], image_norm_back,
                        (((2, 3, 2, 4), (3,), (3,)), ((3, 3, 3, 3), (3,), (3,)))),
    "instance_norm": Layer(lambda x: normed(x, (-2, -1)), instance_norm_back, (((2, 3, 2, 4),), ((2, 3, 3, 3),))),
    "group_norm": Layer(lambda x: normed(x.reshape(*x.shape[:1], 2, -1), -1).reshape(x.shape), group_norm_back, (((2, 4, 3),), ((3, 2, 4),))),
    "rms_norm": Layer(lambda x, weight: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight, rms_norm_back,
                      (((3, 5), (5,)), ((4, 4), (4,)))),
    "l2_loss": Layer(lambda x, y: ((x - y) ** 2).mean(), l2_loss_back, (((3, 5), (3, 5)), ((4, 4), (4, 4)))),
    "cosine": Layer(lambda x, y: (normal(x) * normal(y)).sum(-1), cosine_back, (((3, 5), (3, 5)), ((4, 4), (4, 4)))),
    "weight_norm": Layer(lambda v, scale: normal(v) * scale[:, None], weight_norm_back, (((3, 5), (3,)), ((4, 4), (4,)))),
}  # fmt: skip


def normal(x):
    return x / np.sqrt(sumk(x * x, -1))


def named(back: Callable, plan: Plan, names: tuple[str, ...]) -> Callable:
    """The rule as a plain function that takes its inputs by name."""
    scope: dict[str, Any] = {"back": back, "plan": plan}
    exec(f"def rule(g, {', '.join(names)}):\n    return back(plan, g, {', '.join(names)})", scope)
    return scope["rule"]


def layers() -> Iterator[Entry]:
    for i, (name, layer) in enumerate(LAYERS.items()):
        names = Op(name, layer.forward, GENERAL).inputs
        rules = {}
        for at, x in enumerate(names):
            scope: dict[str, Any] = {"back": layer.back, "plan": Plan(), "at": at, "one": len(names) == 1}
            exec(f"def rule(g, {', '.join(names)}):\n    r = back(plan, g, {', '.join(names)})\n    return r if one else r[at]", scope)
            rules[x] = scope["rule"]
        closed = Spec(name, Op(f"{name}_of_mine", layer.forward, GENERAL, **rules), shapes=layer.shapes)
        asked, rng = Asked(), np.random.default_rng(0)
        arrays = [rng.normal(size=s) for s in layer.shapes[0]]
        layer.back(asked, np.ones_like(layer.forward(*arrays)), *arrays)
        specs = [closed] + [Spec(name, shapes=layer.shapes)] * (name in ("layer_norm", "batch_norm", "rms_norm"))
        for spec in specs:
            more = {"spec": spec, "held_out": i % 2 == 1}
            for place in [*asked.places["axis"], "everywhere"]:
                for said, to in AXES.items():
                    yield Entry(
                        name, f"axis, {place}: {said}", {"axis", "wrong axis"}, rule=named(layer.back, Always(place, to), names), **more
                    )
            for place in asked.places["size"]:
                for said, size in SIZES.items():
                    yield Entry(name, f"size, {place}: {said}", {"constant", "size", "number", "averaged", "factor"},
                                rule=named(layer.back, Sized(place, size), names), **more)  # fmt: skip
            for place in asked.places["sum"]:
                for said, how in SUMS.items():
                    yield Entry(name, f"sum, {place}: {said}", {"upstream collapsed", "averaged", "factor", "variable", "zero", "constant", "term", "power"},
                                rule=named(layer.back, Summed(place, how), names), **more)  # fmt: skip


# --- stretched inputs: g summed too early, or over other axes

ELEMENT: dict[str, tuple[Callable, Callable, Callable]] = {
    "mul": (lambda x, y: x * y, lambda x, y: y, lambda x, y: x),
    "div": (lambda x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / y**2),
    "hypot": (np.hypot, lambda x, y: x / np.hypot(x, y), lambda x, y: y / np.hypot(x, y)),
    "arctan2": (np.arctan2, lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)),
    "squared_difference": (lambda x, y: (x - y) ** 2, lambda x, y: 2 * (x - y), lambda x, y: 2 * (y - x)),
    "sin_product": (lambda x, y: np.sin(x * y), lambda x, y: y * np.cos(x * y), lambda x, y: x * np.cos(x * y)),
    "logaddexp": (np.logaddexp, lambda x, y: 1 / (1 + np.exp(y - x)), lambda x, y: 1 / (1 + np.exp(x - y))),
    "add": (np.add, lambda x, y: 1.0, lambda x, y: 1.0),
}  # fmt: skip


def fit(a, shape):
    return sum_to(np.asarray(a), shape)


UNBROADCAST: dict[str, tuple[Callable, set[str]]] = {
    "g summed before": (lambda g, d, s: fit(fit(g, s) * d, s), {"upstream collapsed", "not summed", "wrong axis", "variable"}),
    "g summed before, not after": (lambda g, d, s: fit(g, s) * d, {"upstream collapsed", "not summed", "wrong axis", "exception"}),
    "both summed": (lambda g, d, s: fit(g, s) * fit(d, s), {"upstream collapsed", "not summed", "wrong axis", "variable"}),
    "the other averaged": (lambda g, d, s: fit(g, s) * fit(d, s) * np.prod(s) / d.size, {"upstream collapsed", "averaged", "variable"}),
    "leading axes only": (lambda g, d, s: (g * d).sum(tuple(range(g.ndim - len(s)))), {"not summed", "wrong axis", "keepdims"}),
    "averaged": (lambda g, d, s: fit(g * d, s) * np.prod(s) / g.size, {"averaged"}),
    "the first": (lambda g, d, s: first(g * d, s), {"one of many"}),
    "reshaped": (lambda g, d, s: (g * d).sum(-1).reshape(s) if g.ndim == 2 and len(s) == 1 and g.shape[0] == s[0] else fit(g * d, s),
                 {"wrong axis", "axis", "exception"}),
    "largest": (lambda g, d, s: largest(g * d, s), {"one of many"}),
}  # fmt: skip


def first(a, shape):
    extra = a.ndim - len(shape)
    a = a[(0,) * extra]
    return a[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]


def largest(a, shape):
    a = a.max(tuple(range(a.ndim - len(shape))))
    return a.max(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def elementwise(name: str, f: Callable, dx: Callable, dy: Callable) -> Op:
    return Op(f"{name}_of_mine", lambda x, y: f(x, y), ELEMENTWISE, x=lambda g, x, y: g * dx(x, y), y=lambda g, x, y: g * dy(x, y))


def stretched() -> Iterator[Entry]:
    for i, (name, (forward, dx, dy)) in enumerate(ELEMENT.items()):
        spec = Spec(name, elementwise(name, forward, dx, dy), shapes=BINARY)
        for which, (way, families) in UNBROADCAST.items():

            def rule(g, x, y, dx=dx, dy=dy, way=way):
                one, other = (np.broadcast_to(d(x, y), g.shape) for d in (dx, dy))
                return way(g, one, x.shape), way(g, other, y.shape)

            if name == "add" and which in ("g summed before", "both summed", "the other averaged"):
                continue
            yield Entry(name, f"stretched, {which}", families, spec, rule, i % 2 == 1)


# --- what only moves entries


def rope(x, angle):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1)


def shuffle(x):
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


def unshuffle(g):
    n, c, h, w = g.shape
    return g.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


def heads(x):
    return x.reshape(*x.shape[:2], 2, -1).swapaxes(1, 2)


MOVED = {
    "permutation",
    "transposed",
    "flipped",
    "moved",
    "reshape",
    "order",
    "sign",
    "upstream only",
    "not spread",
    "forward",
    "axis",
    "setting",
}
MOVED |= {"term sign", "diagonal only"}
MOVES: dict[str, tuple[Spec, dict[str, Callable]]] = {
    "roll": (Spec("roll", Op("roll_of_mine", lambda x, *, shift, axis: np.roll(x, shift, axis), LINEAR,
                             x=lambda g, shift, axis: np.roll(g, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis)),
                  settings=({"shift": (1, 2), "axis": (0, 1)}, {"shift": (2, -1), "axis": (0, 1)}), shapes=(((4, 5),), ((5, 5),))), {
        "the same way": lambda g, shift, axis: np.roll(g, shift, axis),
        "one half of it": lambda g, shift, axis: np.roll(g, (-shift[0], shift[1]), axis),
        "the other half": lambda g, shift, axis: np.roll(g, (shift[0], -shift[1]), axis),
        "the first only": lambda g, shift, axis: np.roll(g, -shift[0], axis[0]),
        "the second only": lambda g, shift, axis: np.roll(g, -shift[1], axis[1]),
        "not at all": lambda g, shift, axis: g,
        "flattened": lambda g, shift, axis: np.roll(g, -sum(shift)),
        "axes exchanged": lambda g, shift, axis: np.roll(g, tuple(-s for s in shift), axis[::-1]),
        "off by one": lambda g, shift, axis: np.roll(g, (-shift[0] + 1, -shift[1]), axis),
    }),
    "roll1": (Spec("roll", settings=({"shift": 1, "axis": 0}, {"shift": 2, "axis": -1}), shapes=(((4, 5),), ((5, 3),))), {
        "the same way": lambda g, shift, axis: np.roll(g, shift, axis),
        "off by one": lambda g, shift, axis: np.roll(g, 1 - shift, axis),
        "flattened": lambda g, shift, axis: np.roll(g, -shift),
        "other axis": lambda g, shift, axis: np.roll(g, -shift, 1 - axis % 2),
        "always one": lambda g, shift, axis: np.roll(g, -1, axis),
    }),
    "rot90": (Spec("rot90", Op("rot90", lambda x, *, k: np.rot90(x, k, (-2, -1)), LINEAR, x=lambda g, k: np.rot90(g, -k, (-2, -1))),
                   settings=({"k": 1}, {"k": 3}, {"k": 2}), shapes=(((3, 5),), ((4, 4),), ((2, 3, 4),))), {
        "the same way": lambda g, k: np.rot90(g, k, (-2, -1)),
        "half": lambda g, k: np.rot90(g, 2, (-2, -1)) if k == 2 else np.swapaxes(g, -1, -2),
        "first axes": lambda g, k: np.rot90(g, -k),
        "reshape": lambda g, x: g.reshape(x.shape),
        "flip only": lambda g, x, k: np.flip(np.swapaxes(g, -1, -2) if k % 2 else g, -1),
        "once": lambda g, k: np.rot90(g, -1, (-2, -1)),
    }),
    "fftshift": (Spec("fftshift", Op("fftshift", lambda x: np.fft.fftshift(x), LINEAR, x=lambda g: np.fft.ifftshift(g)),
                      shapes=(((5, 3),), ((4, 5),), ((3, 3),))), {
        "the same way": lambda g: np.fft.fftshift(g),
        "one axis": lambda g: np.fft.ifftshift(g, 0),
        "half by half": lambda g: np.fft.fftshift(np.fft.ifftshift(g, 0), 1),
        "not at all": lambda g: g,
    }),
    "rope": (Spec("rope", Op("rope", lambda x, *, angle: rope(x, angle), LINEAR, x=lambda g, angle: rope(g, -angle)),
                  settings=({"angle": 0.7}, {"angle": -1.3}), shapes=(((3, 6),), ((4, 4),), ((2, 3, 4),))), {
        "the same way": lambda g, angle: rope(g, angle),
        "not at all": lambda g, angle: g,
        "halves exchanged": lambda g, angle: np.concatenate(np.split(rope(g, -angle), 2, -1)[::-1], -1),
        "one half": lambda g, angle: np.concatenate([rope(g, -angle)[..., : g.shape[-1] // 2], rope(g, angle)[..., g.shape[-1] // 2 :]], -1),
        "cosines only": lambda g, angle: g * np.cos(angle),
    }),
    "shuffle": (Spec("shuffle", Op("shuffle", shuffle, LINEAR, x=unshuffle), shapes=(((2, 4, 2, 3),), ((2, 8, 2, 2),), ((2, 4, 3, 3),))), {
        "reshape": lambda g, x: g.reshape(x.shape),
        "other order": lambda g, x: g.reshape(len(x), x.shape[1] // 4, x.shape[2], 2, x.shape[3], 2).transpose(0, 1, 5, 3, 2, 4).reshape(x.shape),
    }),
    "heads": (Spec("heads", Op("heads", heads, LINEAR, x=lambda g: g.swapaxes(1, 2).reshape(g.shape[0], g.shape[2], -1)),
                   shapes=(((2, 3, 4),), ((2, 2, 4),), ((3, 2, 6),))), {
        "reshape": lambda g, x: g.reshape(x.shape),
        "heads again": lambda g, x: g.swapaxes(2, 3).reshape(x.shape),
        "transposed back": lambda g, x: g.swapaxes(1, 3).reshape(x.shape),
    }),
    "moveaxis": (Spec("moveaxis", settings=({"source": 0, "destination": -1}, {"source": 1, "destination": 0}), shapes=(((2, 3, 4),), ((3, 3, 3),))), {
        "the same way": lambda g, x, source, destination: np.moveaxis(g, source, destination),
        "reshape": lambda g, x: g.reshape(x.shape),
        "swapped": lambda g, x, source, destination: np.swapaxes(g, source, destination),
    }),
    "swapaxes": (Spec("swapaxes", settings=({"axis1": -1, "axis2": -2},), shapes=(((3, 5),), ((4, 4),), ((2, 3, 4),))), {
        "reshape": lambda g, x: g.reshape(x.shape),
        "not at all": lambda g: g,
    }),
    "flip": (Spec("flip", Op("flip_of_mine", lambda x, *, axis: np.flip(x, axis), LINEAR, x=lambda g, axis: np.flip(g, axis)),
                  settings=({"axis": (0, 1)}, {"axis": 0}, {"axis": None}), shapes=(((3, 5),), ((4, 4),))), {
        "not at all": lambda g: g,
        "last": lambda g: np.flip(g, -1),
        "everything": lambda g: np.flip(g),
        "first of several": lambda g, axis: np.flip(g, axis[0] if isinstance(axis, tuple) else axis),
        "transposed": lambda g, x, axis: np.flip(g, axis).T.reshape(x.shape),
    }),
    "matmul": (Spec("matmul", shapes=(((3, 4), (4, 5)), ((4, 4), (4, 4)), ((2, 3, 4), (2, 4, 5)))), {
        "reshape y": lambda g, x, y: (g @ y.reshape(*y.shape[:-2], *y.shape[:-3:-1]), np.swapaxes(x, -1, -2) @ g),
        "reshape x": lambda g, x, y: (g @ np.swapaxes(y, -1, -2), x.reshape(*x.shape[:-2], *x.shape[:-3:-1]) @ g),
    }),
    "linear": (Spec("linear", shapes=(((3, 4), (5, 4), (5,)), ((4, 4), (4, 4), (4,)))), {
        "reshape g": lambda g, x, weight: (g @ weight, g.reshape(g.shape[::-1]) @ x, g.sum(0)),
        "reshape x": lambda g, x, weight: (g @ weight, (x.reshape(x.shape[::-1]) @ g).T, g.sum(0)),
    }),
}  # fmt: skip


def moves() -> Iterator[Entry]:
    for i, (name, (spec, wrong)) in enumerate(MOVES.items()):
        for which, rule in wrong.items():
            yield Entry(name, f"moved, {which}", MOVED, spec, rule, i % 2 == 1)


# --- windows and scans with settings, series, counts


def windows_of(n, size, step):
    return [slice(i, i + size) for i in range(0, n - size + 1, step)]


def pool(x, size, step):
    return np.stack([x[..., w].mean(-1) for w in windows_of(x.shape[-1], size, step)], -1)


def pool_back(g, x, size, step, by=None):
    total = np.zeros_like(x)
    for k, w in enumerate(windows_of(x.shape[-1], size, step)):
        if k < g.shape[-1]:
            total[..., w] += g[..., k : k + 1] / (by or size)
    return total


def scan(x, decay):
    out = np.zeros_like(x)
    total = 0
    for i in range(x.shape[-1]):
        total = decay * total + x[..., i]
        out[..., i] = total
    return out


def scan_back(g, decay):
    return scan(g[..., ::-1], decay)[..., ::-1]


def cums(x, reverse, exclusive):
    x = x[..., ::-1] if reverse else x
    out = x.cumsum(-1) - (x if exclusive else 0)
    return out[..., ::-1] if reverse else out


def series(x, terms):
    return sum(x**k / math.factorial(k) for k in range(terms))


def slope(x, terms):
    return sum(x ** (k - 1) / math.factorial(k - 1) for k in range(1, terms))


def polynomial(x, c):
    return sum(c[k] * x**k for k in range(len(c)))


def segment_mean(x, index):
    return np.stack([x[index == k].mean(0) if np.any(index == k) else 0 * x[0] for k in range(3)])


def counted(rng, shapes, settings):
    return rng.uniform(0.2, 2.7, shapes[0]), np.concatenate([[0, 1, 2], rng.integers(0, 3, shapes[0][0] - 3)])


def interpolate(x):
    out = np.zeros((*x.shape[:-1], 2 * x.shape[-1] - 1))
    out[..., ::2], out[..., 1::2] = x, (x[..., 1:] + x[..., :-1]) / 2
    return out


def interpolate_back(g, inner=0.5):
    gx = g[..., ::2].copy()
    gx[..., 1:] += inner * g[..., 1::2]
    gx[..., :-1] += inner * g[..., 1::2]
    return gx


SET = {"setting", "constant", "term", "places", "one of many", "mask", "averaged", "flipped", "forward", "number", "factor", "size"}
OTHERS: dict[str, tuple[Spec, dict[str, tuple[Callable, set[str]]]]] = {
    "mean_pool": (Spec("mean_pool", Op("mean_pool", lambda x, *, size, step: pool(x, size, step), LINEAR,
                                       x=lambda g, x, size, step: pool_back(g, x, size, step)),
                       settings=({"size": 3, "step": 2}, {"size": 2, "step": 1}), shapes=(((2, 7),), ((3, 5),))), {
        "step ignored": (lambda g, x, size, step: pool_back(g, x, size, 1), {"setting"}),
        "size for step": (lambda g, x, size, step: pool_back(g, x, size, size), {"setting"}),
        "step for size": (lambda g, x, size, step: pool_back(g, x, step, step), {"setting"}),
        "size 2": (lambda g, x, size, step: pool_back(g, x, 2, step), {"setting"}),
        "divided by step": (lambda g, x, size, step: pool_back(g, x, size, step, by=step), {"constant", "setting"}),
        "divided by size - 1": (lambda g, x, size, step: pool_back(g, x, size, step, by=size - 1 + 1e-300), {"constant"}),
    }),
    "decay": (Spec("decay", Op("decay", lambda x, *, decay: scan(x, decay), LINEAR, x=lambda g, decay: scan_back(g, decay)),
                   settings=({"decay": 0.8}, {"decay": 0.3}), shapes=(((3, 5),), ((4, 4),))), {
        "ignored": (lambda g, decay: scan_back(g, 1.0), {"setting"}),
        "forwards": (lambda g, decay: scan(g, decay), {"flipped", "forward"}),
        "squared": (lambda g, decay: scan_back(g, decay**2), {"setting", "factor", "power"}),
        "one step": (lambda g, decay: g + decay * np.concatenate([g[..., 1:], 0 * g[..., :1]], -1), {"term"}),
        "complement": (lambda g, decay: scan_back(g, 1 - decay), {"setting"}),
    }),
    "scan": (Spec("scan", Op("scan", lambda x, *, reverse, exclusive: cums(x, reverse, exclusive), LINEAR,
                             x=lambda g, reverse, exclusive: cums(g, not reverse, exclusive)),
                  settings=({"reverse": False, "exclusive": True}, {"reverse": True, "exclusive": False}), shapes=(((3, 5),), ((4, 4),))), {
        "exclusive ignored": (lambda g, reverse: cums(g, not reverse, False), {"setting"}),
        "reverse ignored": (lambda g, exclusive: cums(g, True, exclusive), {"setting"}),
        "always exclusive": (lambda g, reverse: cums(g, not reverse, True), {"setting"}),
        "the same way": (lambda g, reverse, exclusive: cums(g, reverse, exclusive), {"setting", "flipped", "forward"}),
    }),
    "series": (Spec("series", Op("series", lambda x, *, terms: series(x, terms), ELEMENTWISE, x=lambda g, x, terms: g * slope(x, terms)),
                    settings=({"terms": 5}, {"terms": 4})), {
        "one too few": (lambda g, x, terms: g * slope(x, terms - 1), {"term", "setting"}),
        "one too many": (lambda g, x, terms: g * slope(x, terms + 1), {"term", "setting", "extra term"}),
        "two too few": (lambda g, x, terms: g * slope(x, terms - 2), {"term", "setting"}),
        "always four": (lambda g, x: g * slope(x, 4), {"setting", "term"}),
        "the first only": (lambda g, x: g * slope(x, 3), {"setting", "term"}),
        "the function itself": (lambda g, x, terms: g * series(x, terms), {"forward", "term", "setting", "extra term", "factor"}),
    }),
    "polynomial": (Spec("polynomial", Op("polynomial", lambda x: 1 + 2 * x + 0.5 * x**2 - 0.7 * x**3 + 0.2 * x**4, ELEMENTWISE,
                                         x=lambda g, x: g * (2 + x - 2.1 * x**2 + 0.8 * x**3))), {
        "last term missing": (lambda g, x: g * (2 + x - 2.1 * x**2), {"term", "extra term"}),
        "two terms missing": (lambda g, x: g * (2 + x), {"term", "extra term"}),
        "first terms missing": (lambda g, x: g * (-2.1 * x**2 + 0.8 * x**3), {"term", "extra term"}),
        "a factor": (lambda g, x: g * (2 + x - 0.7 * x**2 + 0.8 * x**3), {"term", "number", "extra term", "constant"}),
    }),
    "segment_mean": (Spec("segment_mean", Op("segment_mean", segment_mean, GENERAL, x=lambda g, index: g[index] / np.bincount(index, minlength=3)[index][:, None]),
                          shapes=(((7, 3), (7,)), ((6, 4), (6,))), make=counted), {
        "not divided": (lambda g, x, index: g[index], {"constant", "factor", "averaged", "size", "function", "number"}),
        "by all": (lambda g, x, index: g[index] / len(index), {"constant", "size", "factor", "number"}),
        "by the segments": (lambda g, x, index: g[index] / 3, {"constant", "size", "factor", "number"}),
        "by counts less one": (lambda g, x, index: g[index] / np.maximum(np.bincount(index, minlength=3)[index] - 1, 1)[:, None], {"constant", "factor", "size", "number"}),
    }),
    "interpolate": (Spec("interpolate", Op("interpolate", interpolate, LINEAR, x=lambda g: interpolate_back(g)), shapes=(((3, 5),), ((4, 4),))), {
        "weights of 1": (lambda g: interpolate_back(g, 1.0), {"factor", "number", "constant"}),
        "weights of a quarter": (lambda g: interpolate_back(g, 0.25), {"factor", "number", "constant"}),
        "no neighbours": (lambda g: g[..., ::2], {"one of many", "term", "places"}),
    }),
}  # fmt: skip


def others() -> Iterator[Entry]:
    for i, (name, (spec, wrong)) in enumerate(OTHERS.items()):
        for which, (rule, families) in wrong.items():
            yield Entry(name, f"other, {which}", families, spec, rule, i % 2 == 1)


def made() -> Iterator[Entry]:
    yield from layers()
    yield from stretched()
    yield from moves()
    yield from others()


def changes(entry: Entry) -> bool:
    """Is it wrong at all? By the numbers of the right rule."""
    rng, spec = np.random.default_rng(5), entry.spec
    from autolab.check.run.cases import cases
    from autolab.check.run.reference import Reference
    from autolab.check.run.specs import row

    reference = Reference.of(spec.row or row(spec.name))
    raised = calls = 0
    import inspect

    wants = list(inspect.signature(entry.rule).parameters)[1:]
    wants = [w for w in wants if w not in ("dx", "dy", "way")]
    for case in cases(spec, reference, rng):
        if case.purpose not in ("value", "broadcast"):
            continue
        names, g = reference.environment(case.inputs, case.settings), case.upstream[0]
        calls += 1
        try:
            got = entry.rule(g, *(names[w] for w in wants))
            got = got if isinstance(got, tuple) else (got,)
            for x, a in zip(reference.differentiable(), got, strict=False):
                want = reference.gradient(x, g, names)
                if np.shape(a) != want.shape or not np.allclose(a, want, rtol=1e-7, atol=1e-10):
                    return True
        except Exception:
            raised += 1
    return 0 < raised < calls


def run(verbose: bool = False, only: str = "", every: int = 1) -> dict[tuple, list[int]]:
    os.environ["AUTOLAB_HOME"] = "off"
    counts: dict[tuple, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    times = []
    for i, e in enumerate(made()):
        if i % every or (only and only not in f"{e.name} {e.which}") or not changes(e):
            continue
        start = time.process_time()
        report = check(e.spec, e.rule)
        times.append(1e3 * (time.process_time() - start))
        if verbose and times[-1] > 100:
            print(f"{times[-1]:.0f} ms: {e.name}{'' if e.spec.row else ' (table)'} | {e.which}")
        found = report.diagnoses
        known = {f for d in found if d.certainty != "unknown" for f in (d.family, *d.alternatives)}
        ok, false = bool(known & e.families), bool(found and found[0].certainty == "certain" and found[0].family not in e.families)
        for key in (("all",), ("kind", e.which.partition(",")[0]), ("half", "held out" if e.held_out else "seen"), ("op", e.name)):
            counts[key] = [n + m for n, m in zip(counts[key], (1, not report.passed, ok, false), strict=True)]
        if verbose and (not ok or false or report.passed):
            said = f"{found[0].family} ({found[0].certainty}): {found[0].text[:150]}" if found else "nothing"
            print(f"{e.name}{'' if e.spec.row else ' (table)'} | {e.which}: {'FALSE ' if false else ''}{said}")
        elif verbose and only:
            print(f"   ok {e.name} | {e.which}: {found[0].certainty} {found[0].family} {found[0].text[:110]}")
    for key, (n, caught, ok, false) in sorted(counts.items()):
        print(f"{' '.join(key):28}{n:6} caught {caught:6} named {100 * ok / n:6.1f} %  certain and false {false}")
    print(f"median {np.median(times):.1f} ms, 99 % {np.percentile(times, 99):.1f} ms, most {max(times):.1f} ms")
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    run(args.verbose, args.only, args.every)
