"""Right rules over inputs with a structure that `make` gives them, and over forwards that are ill-conditioned where numbers are tiny or large.

Each is right on all that its exercise may draw; many are wrong elsewhere, or lose other digits than the derivative that the check takes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autolab.check import Spec, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

ROWS = (((3, 5),), ((4, 4),))
PAIRS = (((3, 5), (3, 5)), ((4, 4), (4, 4)))
SQUARES = (((3, 3),), ((4, 4),))
VECTORS = (((5,),), ((7,),))
POSITIVE = (0.1, 3.0)

RIGHT: list[tuple[Spec, Callable]] = []


def exercise(name: str, forward: Callable, *rules: Callable, inputs: str = "x", kind: str = GENERAL, **more) -> Spec:
    spec = Spec(name, Op(name, forward, kind, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)
    RIGHT.extend((spec, rule) for rule in rules)
    return spec


# ---------- what `make` draws


def symmetric(rng, shapes, settings):
    first, *rest = (rng.uniform(-2, 2, s) for s in shapes)
    return (first + first.T + 6 * np.eye(len(first)), *rest)


def definite(rng, shapes, settings):
    first, *rest = (rng.uniform(-1.5, 1.5, s) for s in shapes)
    return (first @ first.T + np.eye(len(first)), *rest)


def ascending(rng, shapes, settings):
    return tuple(np.cumsum(rng.uniform(0.3, 1.5, s), axis=-1) - 2 for s in shapes)


def shares(rng, shapes, settings):
    return tuple((p := rng.uniform(0.2, 2.0, s)) / p.sum(-1, keepdims=True) for s in shapes)


def directions(rng, shapes, settings):
    return tuple((v := rng.normal(size=s)) / np.linalg.norm(v, axis=-1, keepdims=True) for s in shapes)


def rotation(rng, shapes, settings):
    return tuple(np.linalg.qr(rng.normal(size=s))[0] for s in shapes)


def permutation(rng, shapes, settings):
    first, *rest = shapes
    return np.eye(first[0])[rng.permutation(first[0])], *(rng.uniform(-3, 3, s) for s in rest)


def triangular(rng, shapes, settings):
    first, *rest = (rng.uniform(0.5, 2, s) for s in shapes)
    return (np.tril(first) + np.eye(len(first)), *rest)


def skew(rng, shapes, settings):
    (a,) = (rng.uniform(-2, 2, s) for s in shapes)
    return (a - a.T,)


def correlations(rng, shapes, settings):
    (a,) = (rng.normal(size=(s[0], 9)) for s in shapes)
    return (np.corrcoef(a),)


def limits(rng, shapes, settings):
    low, width = rng.uniform(-3, 3, shapes[0]), rng.uniform(0.2, 3, shapes[1])
    return low, low + width


def homogeneous(rng, shapes, settings):
    (x,) = (rng.uniform(-3, 3, s) for s in shapes)
    x[:, -1] = 1
    return (x,)


def contraction(rng, shapes, settings):
    w, b = (rng.uniform(-3, 3, s) for s in shapes)
    return 0.6 * w / np.linalg.norm(w, 2), b


def toeplitz(rng, shapes, settings):
    n = shapes[0][0]
    return (rng.uniform(-2, 2, 2 * n - 1)[np.subtract.outer(np.arange(n), np.arange(n)) + n - 1] + 7 * np.eye(n),)


def block(a: np.ndarray) -> np.ndarray:
    return np.expand_dims(a, -1)


def placed(g: np.ndarray, x: np.ndarray, k: int) -> np.ndarray:
    return np.where(np.arange(x.shape[-1]) == k % x.shape[-1], block(g), 0.0)


# ---------- structure

exercise(
    "inverse_form", lambda s, b: b @ np.linalg.solve((s + s.T) / 2, b),
    lambda g, s, b: (-g * np.outer(u := np.linalg.solve(s, b), u), 2 * g * u),
    lambda g, s, b: (-g * np.outer(np.linalg.inv(s.T) @ b, b @ np.linalg.inv(s)), g * (np.linalg.inv(s) + np.linalg.inv(s).T) @ b),
    lambda g, s, b: (-g * ((v := np.linalg.eigh(s)[1]) @ (c := (v.T @ b) / np.linalg.eigvalsh(s)))[:, None] * (v @ c), 2 * g * v @ c),
    inputs="s b", shapes=(((3, 3), (3,)), ((4, 4), (4,))), make=symmetric,
)  # fmt: skip
exercise(
    "log_volume", lambda s: np.linalg.slogdet((s + s.T) / 2)[1],
    lambda g, s: g * np.linalg.inv(s),
    lambda g, s: g * (i := np.linalg.inv(np.linalg.cholesky(s))).T @ i,
    lambda g, s: g * (np.linalg.eigh(s)[1] / np.linalg.eigvalsh(s)) @ np.linalg.eigh(s)[1].T,
    inputs="s", shapes=SQUARES, make=definite,
)  # fmt: skip
exercise(
    "span", lambda x: np.max(x, axis=-1) - np.min(x, axis=-1),
    lambda g, x: placed(g, x, -1) - placed(g, x, 0),
    lambda g, x: np.stack([-g, *(0 * g for _ in range(x.shape[-1] - 2)), g], axis=-1),
    shapes=ROWS, make=ascending,
)  # fmt: skip
exercise(
    "log_gaps", lambda x: np.log(np.abs(np.diff(x, axis=-1))).sum(axis=-1),
    lambda g, x: block(g) * (np.pad(d := 1 / np.diff(x), ((0, 0), (1, 0))) - np.pad(d, ((0, 0), (0, 1)))),
    lambda g, x: block(g) * -np.diff(1 / np.diff(x, axis=-1), axis=-1, prepend=0, append=0),
    shapes=ROWS, make=ascending,
)  # fmt: skip
exercise(
    "shares_again", lambda p: p / p.sum(axis=-1, keepdims=True),
    lambda g, p: g - (g * p).sum(-1, keepdims=True),
    lambda g, p: np.einsum("ij,ijk->ik", g, np.eye(p.shape[1]) - p[:, :, None]),
    inputs="p", shapes=ROWS, make=shares,
)  # fmt: skip
exercise(
    "directions_again", lambda x: x / np.sqrt((x * x).sum(axis=-1, keepdims=True)),
    lambda g, x: g - x * (g * x).sum(-1, keepdims=True),
    lambda g, x: np.einsum("ij,ijk->ik", g, np.eye(x.shape[1]) - x[:, :, None] * x[:, None]),
    shapes=ROWS, make=directions,
)  # fmt: skip
exercise(
    "turned_back", lambda q: np.linalg.inv(q),
    lambda g, q: -q @ g @ q,
    lambda g, q, out: -out.T @ g @ q,
    inputs="q", shapes=SQUARES, make=rotation,
)  # fmt: skip
exercise(
    "unshuffled", lambda p, y: np.linalg.solve(p, y),
    lambda g, p, y: (-(p @ g)[:, None] * (p.T @ y), p @ g),
    lambda g, p, out: (-np.outer(p @ g, out), g[p.argmax(1)]),
    inputs="p y", shapes=(((3, 3), (3,)), ((4, 4), (4,))), make=permutation,
)  # fmt: skip
exercise(
    "triangular_volume", lambda a: np.linalg.slogdet(np.tril(a))[1],
    lambda g, a: g * np.diag(1 / np.diag(a)),
    lambda g, a: g * np.tril(np.linalg.inv(a).T),
    inputs="a", shapes=SQUARES, make=triangular,
)  # fmt: skip
exercise(
    "cayley_turn", lambda a: np.linalg.solve(np.eye(len(a)) + a, np.eye(len(a)) - a),
    lambda g, a: -2 * (m := np.linalg.inv(np.eye(len(a)) - a)) @ g @ m,
    lambda g, a, out: -0.5 * (np.eye(len(a)) + out.T) @ g @ (np.eye(len(a)) + out).T,
    inputs="a", shapes=SQUARES, make=skew,
)  # fmt: skip
exercise(
    "independence", lambda c: -np.linalg.slogdet(c / np.sqrt(np.diag(c)[:, None] * np.diag(c)))[1],
    lambda g, c: g * (np.eye(len(c)) - np.linalg.inv(c)),
    lambda g, c: g * np.diag(np.ones(len(c))) - g * np.linalg.solve(c, np.eye(len(c))),
    inputs="c", shapes=SQUARES, make=correlations,
)  # fmt: skip
exercise(
    "width", lambda low, high: np.abs(high - low) ** 1.5,
    lambda g, low, high: (-1.5 * g * np.sqrt(high - low), 1.5 * g * np.sqrt(high - low)),
    lambda g, low, high, out: (-(d := 1.5 * g * out / (high - low)), d),
    inputs="low high", kind=ELEMENTWISE, shapes=PAIRS, make=limits, broadcast=False,
)  # fmt: skip
exercise(
    "projected", lambda x: x[:, :-1] / x[:, -1:],
    lambda g, x: np.hstack([g, -(g * x[:, :-1]).sum(1, keepdims=True)]),
    lambda g, x, out: np.concatenate([g, -np.einsum("ij,ij->i", g, out)[:, None]], axis=1),
    shapes=(((4, 3),), ((3, 4),)), make=homogeneous,
)  # fmt: skip


def settled(w, b):
    y = b
    for _ in range(90):
        y = w @ y + b
    return y


exercise(
    "settled", settled,
    lambda g, w, b: (np.outer(v := np.linalg.solve(np.eye(len(b)) - w.T, g), np.linalg.solve(np.eye(len(b)) - w, b)), v),
    lambda g, w, out: (np.outer(v := g @ np.linalg.inv(np.eye(len(out)) - w), out), v),
    inputs="w b", shapes=(((3, 3), (3,)), ((4, 4), (4,))), make=contraction,
)  # fmt: skip
exercise(
    "toeplitz_inverse", lambda t: np.linalg.inv(t),
    lambda g, out: -out.T @ g @ out.T,
    lambda g, t: -np.linalg.solve(t.T, np.linalg.solve(t, g.T).T),
    inputs="t", shapes=SQUARES, make=toeplitz,
)  # fmt: skip

# ---------- conditions

exercise(
    "inverse", lambda x: np.linalg.inv(x),
    lambda g, x: -np.linalg.solve(x.T, np.linalg.solve(x, g.T).T),
    lambda g, x: -np.linalg.pinv(x).T @ g @ np.linalg.pinv(x).T,
    shapes=SQUARES,
)  # fmt: skip
exercise(
    "solved", lambda a, b: np.linalg.solve(a, b),
    lambda g, a, b: (-np.outer(v := np.linalg.inv(a).T @ g, np.linalg.inv(a) @ b), v),
    lambda g, a, out: (-np.outer(np.linalg.solve(a.T, g), out), np.linalg.lstsq(a.T, g)[0]),
    inputs="a b", shapes=(((3, 3), (3,)), ((4, 4), (4,))),
)  # fmt: skip
exercise(
    "log_determinant", lambda x: np.linalg.slogdet(x)[1],
    lambda g, x: g * np.linalg.solve(x.T, np.eye(len(x))),
    lambda g, x: g * ((s := np.linalg.svd(x))[0] / s[1]) @ s[2],
    shapes=SQUARES,
)  # fmt: skip
exercise(
    "least_squares", lambda x, y: np.linalg.solve(x.T @ x, x.T @ y),
    lambda g, x, y, out: (np.outer(y - x @ out, v := np.linalg.inv(x.T @ x) @ g) - x @ np.outer(v, out), x @ v),
    lambda g, x, y: (
        np.outer(y - x @ (w := np.linalg.pinv(x) @ y), v := (p := np.linalg.pinv(x)) @ p.T @ g) - np.outer(x @ v, w), p.T @ g),
    inputs="x y", shapes=(((5, 3), (5,)), ((6, 2), (6,))),
)  # fmt: skip
exercise(
    "gram_volume", lambda x: np.log(np.linalg.det(x.T @ x)),
    lambda g, x: 2 * g * x @ np.linalg.inv(x.T @ x),
    lambda g, x: 2 * g * np.linalg.pinv(x).T,
    shapes=(((5, 3),), ((6, 2),)),
)  # fmt: skip
exercise(
    "cholesky_trace", lambda x: np.log(np.diag(np.linalg.cholesky(x @ x.T))).sum(),
    lambda g, x: g * np.linalg.solve(x @ x.T, x),
    lambda g, x: g * np.linalg.pinv(x).T,
    shapes=(((3, 5),), ((2, 6),)),
)  # fmt: skip
exercise(
    "largest_eigenvalue", lambda x: np.linalg.eigvalsh((x + x.T) / 2)[-1],
    lambda g, x: g * np.outer(v := np.linalg.eigh((x + x.T) / 2)[1][:, -1], v),
    lambda g, x: g * np.outer(v := np.linalg.svd((x + x.T) / 2 + 99 * (n := np.linalg.norm(x)) * np.eye(len(x)))[0][:, 0], v) + 0 * n,
    shapes=SQUARES,
)  # fmt: skip
exercise(
    "standard_score", lambda x: (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True),
    lambda g, x, out: (g - g.mean(-1, keepdims=True) - out * (g * out).mean(-1, keepdims=True)) / x.std(-1, keepdims=True),
    lambda g, x, out: np.einsum("ij,ijk->ik", g, np.eye(n := x.shape[1]) - (1 + out[:, :, None] * out[:, None]) / n) / np.sqrt(
        (x**2).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2) if np.ptp(x) < 6 else (
        g - g.mean(-1, keepdims=True) - out * (g * out).mean(-1, keepdims=True)) / x.std(-1, keepdims=True),
    shapes=ROWS,
)  # fmt: skip
exercise(
    "direction", lambda x: x / np.sqrt((x * x).sum(axis=-1, keepdims=True)),
    lambda g, x, out: (g - out * (g * out).sum(-1, keepdims=True)) / np.linalg.norm(x, axis=-1, keepdims=True),
    lambda g, x: (g * (x * x).sum(-1, keepdims=True) - x * (g * x).sum(-1, keepdims=True)) / np.linalg.norm(x, axis=-1, keepdims=True) ** 3,
    shapes=ROWS,
)  # fmt: skip
exercise(
    "log_of_squares", lambda x: np.log(np.square(np.diff(x, axis=-1)).sum(axis=-1)),
    lambda g, x: 2 * block(g / np.square(np.diff(x)).sum(-1)) * -np.diff(np.diff(x), prepend=0, append=0),
    lambda g, x, out: 2 * block(g * np.exp(-out)) * (np.pad(d := np.diff(x), ((0, 0), (1, 0))) - np.pad(d, ((0, 0), (0, 1)))),
    shapes=ROWS,
)  # fmt: skip
exercise(
    "contrast", lambda x, y: (x - y) / (x + y),
    lambda g, x, y: (2 * g * y / (x + y) ** 2, -2 * g * x / (x + y) ** 2),
    lambda g, x, y, out: (g * (1 - out) / (x + y), -g * (1 + out) / (x + y)),
    inputs="x y", kind=ELEMENTWISE, domain={"x": POSITIVE, "y": POSITIVE}, broadcast=False,
)  # fmt: skip
exercise(
    "hypotenuse", lambda x, y: np.sqrt(x * x + y * y),
    lambda g, x, y, out: (g * x / out, g * y / out),
    lambda g, x, y: (g * np.cos(t := np.arctan2(y, x)), g * np.sin(t)),
    inputs="x y", kind=ELEMENTWISE, broadcast=False,
)  # fmt: skip
exercise(
    "soft_choice", lambda x: np.exp(x - x.max(axis=-1, keepdims=True)) / np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True),
    lambda g, out: out * (g - (g * out).sum(-1, keepdims=True)),
    lambda g, x: np.einsum("ij,ij,ijk->ik", g, p := 1 / np.exp(x[:, None] - x[:, :, None]).sum(-1), np.eye(x.shape[1]) - p[:, None]),
    shapes=ROWS,
)  # fmt: skip
exercise(
    "spread_ratio", lambda x, y: x.var() / y.var(),
    lambda g, x, y, out: (2 * g * (x - x.mean()) / x.size / y.var(), -2 * g * out * (y - y.mean()) / y.size / y.var()),
    lambda g, x, y: (g * x.var() / y.var() * 2 * (x - x.mean()) / ((x - x.mean()) ** 2).sum(),
                     -g * x.var() / y.var() * 2 * (y - y.mean()) / ((y - y.mean()) ** 2).sum()),
    inputs="x y", shapes=PAIRS,
)  # fmt: skip
exercise(
    "versine_ratio", lambda x: (1 - np.cos(x)) / (x * x),
    lambda g, x: g * np.where(np.abs(x) < 0.02, -x / 12 + x**3 / 180, (x * np.sin(x) - 2 * (1 - np.cos(x))) / np.where(x == 0, 1, x) ** 3),
    lambda g, x: g * np.where(np.abs(x) < 0.02, -x / 12, (np.sin(x) / x - 4 * np.sin(x / 2) ** 2 / x**2) / x),
    kind=ELEMENTWISE,
)  # fmt: skip
exercise(
    "angle", lambda x, y: np.arccos((x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))),
    lambda g, x, y, out: tuple(
        -block(g / np.sin(out)) * (b / np.linalg.norm(b, axis=-1, keepdims=True) - block(np.cos(out)) * a / np.linalg.norm(
            a, axis=-1, keepdims=True)) / np.linalg.norm(a, axis=-1, keepdims=True) for a, b in ((x, y), (y, x))),
    inputs="x y", shapes=PAIRS,
)  # fmt: skip
exercise(
    "log_odds", lambda x: np.log(x / (1 - x)),
    lambda g, x: g / (x - x * x),
    lambda g, x, out: g * (2 + np.exp(out) + np.exp(-out)),
    kind=ELEMENTWISE, domain={"x": (0.0, 1.0)},
)  # fmt: skip
exercise(
    "hilbert_like", lambda x: np.linalg.solve(x[:, None] ** np.arange(4) @ (x[:, None] ** np.arange(4)).T + 1e-6 * np.eye(len(x)), x),
    lambda g, x: np.linalg.inv(m := (v := x[:, None] ** np.arange(4)) @ v.T + 1e-6 * np.eye(len(x))) @ g - (
        (np.outer(u := np.linalg.inv(m) @ g, w := np.linalg.inv(m) @ x) + np.outer(w, u)) @ v * (
            np.arange(4) * x[:, None] ** np.maximum(np.arange(4) - 1, 0))).sum(1),
    shapes=(((6,),), ((5,),)), domain={"x": (0.5, 1.5)},
)  # fmt: skip
