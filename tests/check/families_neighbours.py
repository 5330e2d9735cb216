"""Rules that are right near by: series cut short, the derivative of a neighbour, the axis beside, the inverse of a move, half of a triangle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import autolab
import autolab.nn.functional as F
from autolab.rules.special import erf

from .generated import right, wrong

R = np.random.default_rng(5)


def fill() -> None:
    """All of them."""
    for some in (series, neighbours, axes, moves, norms, pools, triangles, solvers):
        some()


# --- series: of the derivative, a_0 + a_1 x + ...
def alternate(n: int, start: float = 1.0) -> list[float]:
    return [start * (-1) ** k for k in range(n)]


def spaced(of: list[float], step: int = 2) -> list[float]:
    """The series in x**step."""
    return [a for c in of for a in [c, *[0.0] * (step - 1)]]


def odd(of: list[float]) -> list[float]:
    return [a for c in of for a in [0.0, c]]


FACT = [1 / math.factorial(k) for k in range(24)]
SERIES = {
    "exp": FACT,
    "sin": spaced([FACT[2 * k] * (-1) ** k for k in range(8)]),
    "cos": odd([-FACT[2 * k + 1] * (-1) ** k for k in range(8)]),
    "sinh": spaced(FACT[::2]),
    "cosh": odd(FACT[1::2]),
    "expm1": FACT,
    "atan": spaced(alternate(8)),
    "log1p": alternate(12),
    "tanh": spaced([1, -1, 2 / 3, -17 / 45, 62 / 315, -1382 / 14175]),
    "tan": spaced([1, 1, 2 / 3, 17 / 45, 62 / 315, 1382 / 14175]),
    "erf": spaced([2 / math.sqrt(math.pi) * (-1) ** k * FACT[k] for k in range(8)]),
    "atanh": spaced([1.0] * 8),
    "asin": spaced([1, 1 / 2, 3 / 8, 5 / 16, 35 / 128, 63 / 256]),
    "acos": spaced([-1, -1 / 2, -3 / 8, -5 / 16, -35 / 128, -63 / 256]),
    "asinh": spaced([1, -1 / 2, 3 / 8, -5 / 16, 35 / 128, -63 / 256]),
    "sigmoid": spaced([1 / 4, -1 / 16, 1 / 96, -17 / 11520]),
    "softplus": [1 / 2, 1 / 4, 0, -1 / 48, 0, 1 / 480],
    "silu": [1 / 2, 1 / 2, 0, -1 / 12, 0, 1 / 80],
    "exp2": [math.log(2) ** (k + 1) * FACT[k] for k in range(12)],
}


def polynomial(coefficients: list[float]) -> Callable:
    return lambda g, x: g * sum(c * x**k for k, c in enumerate(coefficients) if c)


def series() -> None:
    for name, coefficients in SERIES.items():
        places = [k for k, c in enumerate(coefficients) if c]
        for terms in (2, 3, 4):
            cut = coefficients[: places[terms - 1] + 1]
            wrong("series cut", name, name, polynomial(cut), "series|variable" if terms == 2 else "series", ("series",))
            if terms > 2:
                slip = list(cut)
                slip[places[1]] *= 2
                wrong("series, a coefficient doubled", name, name, polynomial(slip), "series", ("series", "coefficient"))
                slip = list(cut)
                slip[places[2]] *= -1
                wrong("series, a sign", name, name, polynomial(slip), "series", ("series",))


# --- the reciprocal of the derivative, a power of it, the derivative of a function with a similar name
DERIVATIVES: dict[str, Callable] = {
    "sin": np.cos, "cos": lambda x: -np.sin(x), "tan": lambda x: 1 / np.cos(x) ** 2,
    "sinh": np.cosh, "cosh": np.sinh, "tanh": lambda x: 1 / np.cosh(x) ** 2,
    "asin": lambda x: 1 / np.sqrt(1 - x * x), "acos": lambda x: -1 / np.sqrt(1 - x * x), "atan": lambda x: 1 / (1 + x * x),
    "asinh": lambda x: 1 / np.sqrt(1 + x * x), "atanh": lambda x: 1 / (1 - x * x), "acosh": lambda x: 1 / np.sqrt(x * x - 1),
    "exp": np.exp, "expm1": np.exp, "exp2": lambda x: math.log(2) * 2**x,
    "log": lambda x: 1 / x, "log1p": lambda x: 1 / (1 + x), "log2": lambda x: 1 / (x * math.log(2)), "log10": lambda x: 1 / (x * math.log(10)),
    "sqrt": lambda x: 0.5 / np.sqrt(x), "rsqrt": lambda x: -0.5 * x**-1.5, "reciprocal": lambda x: -1 / x**2,
    "sigmoid": lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2, "softplus": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x), "logit": lambda x: 1 / (x * (1 - x)),
    "gelu": lambda x: 0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
}  # fmt: skip
PAIRS = [("sin", "cos"), ("tan", "tanh"), ("sinh", "cosh"), ("asin", "acos"), ("asin", "asinh"), ("acos", "acosh"), ("atan", "atanh"),
         ("exp", "exp2"), ("expm1", "exp2"), ("log", "log1p"), ("log2", "log10"), ("sqrt", "rsqrt"), ("rsqrt", "reciprocal"), ("tan", "atan"),
         ("tanh", "atanh"), ("sin", "asin"), ("sinh", "asinh"), ("cosh", "acosh"), ("sigmoid", "softplus"), ("sigmoid", "logit"),
         ("sigmoid", "tanh"), ("erf", "gelu"), ("asin", "atan"), ("asinh", "atan"), ("acosh", "atanh"), ("asin", "atanh")]  # fmt: skip
NEIGHBOUR = "term sign|power|function|division|factor|function of another|other operation"


def neighbours() -> None:
    for name, d in DERIVATIVES.items():
        if name not in ("exp", "expm1"):  # of exp the reciprocal is exp(-x): a sign
            wrong("reciprocal of the derivative", name, name, lambda g, x, d=d: g / d(x), NEIGHBOUR, ("reciprocal", "1 /", "divided"))
        wrong("derivative squared", name, name, lambda g, x, d=d: g * d(x) ** 2, NEIGHBOUR, ("squared",))
        if name not in ("cos", "acos", "rsqrt", "reciprocal", "gelu", "cosh", "sin", "acosh"):
            wrong("root of the derivative", name, name, lambda g, x, d=d: g * np.sqrt(d(x)), NEIGHBOUR, ("root",))
    for one, two in PAIRS:
        for name, other in ((one, two), (two, one)):
            wrong(
                "derivative of a neighbour",
                name,
                name,
                lambda g, x, d=DERIVATIVES[other]: g * _quiet(d, x),
                NEIGHBOUR + "|sign|constant|number|forward|nan|exception",
            )
    wrong("one over", "tan", "tan", lambda g, x: g / np.cos(x), NEIGHBOUR, ())
    wrong("one over", "tanh", "tanh", lambda g, x: g / np.cosh(x), NEIGHBOUR, ())


def _quiet(d, x):
    with np.errstate(all="ignore"):
        return d(x)


# --- another axis of three; the sum over everything
CUBE = R.normal(size=(3, 4, 5))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def axes() -> None:
    words = ("axis", "axes", "whole array")
    for axis in (0, 1, 2):
        for b in {0, 1, 2, None, (0, 1), (1, 2), (0, 2)} - {axis}:

            def soft(g, x, a=axis, b=b):
                y = softmax(x, a)
                return y * (g - (g * y).sum(b, keepdims=True))

            def soft_all(g, x, b=b):
                y = softmax(x, b)
                return y * (g - (g * y).sum(b, keepdims=True))

            def log_soft(g, x, a=axis, b=b):
                return g - softmax(x, a) * g.sum(b, keepdims=True)

            def log_soft_p(g, x, a=axis, b=b):
                return g - softmax(x, b) * g.sum(a, keepdims=True)

            for name, ref, rules in (
                ("softmax", lambda x, a=axis: x.softmax(a), (soft, soft_all)),
                ("log_softmax", lambda x, a=axis: x.log_softmax(a), (log_soft, log_soft_p)),
            ):
                for rule in rules:
                    wrong("another axis of three", name + " function", ref, rule, "axis|wrong axis|size", words, [CUBE])

            def normal(g, x, a=axis, b=b):
                s = 1 / np.sqrt(x.var(a, keepdims=True) + 1e-5)
                y = (x - x.mean(a, keepdims=True)) * s
                return s * (g - g.mean(b, keepdims=True) - y * (g * y).mean(b, keepdims=True))

            def normal_all(g, x, a=axis, b=b):
                s = 1 / np.sqrt(x.var(b, keepdims=True) + 1e-5)
                y = (x - x.mean(b, keepdims=True)) * s
                return s * (g - g.mean(b, keepdims=True) - y * (g * y).mean(b, keepdims=True))

            def unit(g, x, a=axis, b=b):
                n = np.sqrt((x * x).sum(a, keepdims=True))
                y = x / n
                return (g - y * (g * y).sum(b, keepdims=True)) / n

            def unit_all(g, x, a=axis, b=b):
                n = np.sqrt((x * x).sum(b, keepdims=True))
                y = x / n
                return (g - y * (g * y).sum(b, keepdims=True)) / n

            def lse(g, x, b=b, a=axis):
                return np.expand_dims(g, a) * softmax(x, b)

            wrong(
                "another axis of three",
                "standardise function",
                lambda x, a=axis: (x - x.mean(a, keepdim=True)) / (x.var(a, correction=0, keepdim=True) + 1e-5).sqrt(),
                normal,
                "axis|wrong axis|size",
                words,
                [CUBE],
            )
            wrong(
                "another axis of three",
                "standardise function",
                lambda x, a=axis: (x - x.mean(a, keepdim=True)) / (x.var(a, correction=0, keepdim=True) + 1e-5).sqrt(),
                normal_all,
                "axis|wrong axis|size",
                words,
                [CUBE],
            )
            wrong(
                "another axis of three",
                "normalize function",
                lambda x, a=axis: F.normalize(x, dim=a),
                unit,
                "axis|wrong axis|size",
                words,
                [CUBE],
            )
            wrong(
                "another axis of three",
                "unit function",
                lambda x, a=axis: x / (x * x).sum(a, keepdim=True).sqrt(),
                unit_all,
                "axis|wrong axis|size",
                words,
                [CUBE],
            )
            wrong(
                "another axis of three",
                "normalize function",
                lambda x, a=axis: F.normalize(x, dim=a),
                unit_all,
                "axis|wrong axis|size",
                words,
                [CUBE],
            )
            wrong(
                "another axis of three", "logsumexp function", lambda x, a=axis: x.logsumexp(a), lse, "axis|wrong axis|size", words, [CUBE]
            )


# --- what was gathered goes back: the same move again, added to the first places only, through a sorted index
PLACES = R.integers(0, 4, (4, 4))
PLACES[0] = PLACES[1]
ROW = np.array([0, 2, 2, 1])
SQUARE = R.normal(size=(4, 4))
MOVED = ("index", "scatter", "place", "again", "gather")


def moves() -> None:
    kinds = "forward|overwritten|places|not summed|permutation|index"
    some: list[tuple[str, Any, list, Callable, Callable]] = [
        ("take", lambda x, i: x[i], [SQUARE, ROW], lambda g, i: g[i], _back(lambda i: (i,))),
        ("index_select", lambda x, i: x.index_select(1, i), [SQUARE, ROW], lambda g, i: g[:, i], _back(lambda i: (slice(None), i))),
        ("gather", lambda x, i: x.gather(1, i), [SQUARE, PLACES], lambda g, i: np.take_along_axis(g, i, 1), _back(lambda i: (np.arange(4)[:, None], i))),
        ("gather 0", lambda x, i: x.gather(0, i), [SQUARE, PLACES], lambda g, i: np.take_along_axis(g, i, 0), _back(lambda i: (i, np.arange(4)))),
        ("embedding", lambda x, i: F.embedding(i, x), [SQUARE, ROW], lambda g, i: g[i], _back(lambda i: (i,))),
        ("pairs", lambda x, i: x[i, [1, 2, 2, 1]], [SQUARE, ROW], None, _back(lambda i: (i, [1, 2, 2, 1]))),
        ("sorted", lambda x: x.sort(1).values, [SQUARE], lambda g, x: np.take_along_axis(g, x.argsort(1), 1), None),
        ("flat take", lambda x, i: x.reshape(-1)[i], [SQUARE, ROW * 3 + 1], None, _back(lambda i: (i // 4, i % 4))),
    ]  # fmt: skip
    for name, ref, inputs, again, back in some:
        if again:
            wrong("moved again", name + " function", ref, _two(again) if len(inputs) > 1 else again, kinds, MOVED, inputs)
        if back is None:
            continue
        right(name + " function", ref, back(np.add.at), inputs)
        wrong("written, not added", name + " function", ref, back(lambda a, i, g: a.__setitem__(i, g)), kinds, MOVED, inputs)
        wrong("averaged", name + " function", ref, back(_mean_at), "averaged|scale|constant|places", ("average", "mean"), inputs)
        if again:
            wrong(
                "sorted index",
                name + " function",
                ref,
                lambda g, x, i, back=back: back(np.add.at)(g, x, np.sort(i, axis=-1)),
                kinds,
                ("order", *MOVED),
                inputs,
            )
    for name, move in (("take", lambda g, index: g[index % len(g)]), ("embedding", lambda g, index: g[index % len(g)])):
        wrong("moved again", name, name, move, kinds + "|shape", MOVED)
    wrong("moved again", "index_select", "index_select", lambda g, index, axis: np.take(g, index, axis), kinds + "|shape|exception", MOVED)
    wrong(
        "moved again",
        "gather",
        "gather",
        lambda g, index, axis: np.take_along_axis(g, index % g.shape[axis], axis),
        kinds + "|shape",
        MOVED,
    )


def _two(f):
    return lambda g, x, i: f(g, i)


def _back(where) -> Callable:
    def with_add(add):
        def rule(g, x, i):
            total = np.zeros_like(x)
            add(total, where(i), g)
            return total

        return rule

    return with_add


def _mean_at(a, i, g):
    n = np.zeros_like(a)
    np.add.at(a, i, g)
    np.add.at(n, i, 1)
    a /= np.maximum(n, 1)


# --- norms and what is divided by them
WIDE = R.normal(size=(3, 5))
POSITIVE = np.abs(R.normal(size=(3, 5))) + 0.2


def norms() -> None:
    n = lambda x: np.sqrt((x * x).sum())
    rows = lambda x: np.sqrt((x * x).sum(1, keepdims=True))
    cols = lambda x: np.sqrt((x * x).sum(0, keepdims=True))
    for label, ref in (
        ("frobenius", lambda x: x.norm()),
        ("spelled frobenius", lambda x: (x * x).sum().sqrt()),
        ("linalg frobenius", lambda x: autolab.linalg.norm(x)),
    ):
        name = label + " function"
        for family, rule, kinds, words in (
            ("division forgotten", lambda g, x: g * x, "division|factor|step|forward", ("norm", "divi")),
            ("divided by the square", lambda g, x: g * x / n(x) ** 2, "power|division|factor|step", ("norm", "divi", "power")),
            ("multiplied by the norm", lambda g, x: g * x * n(x), "power|division|operation|step", ("norm", "divi", "power")),
            ("rows for the whole", lambda g, x: g * x / rows(x), "axis|wrong axis", ("row", "axis", "axes")),
            ("columns for the whole", lambda g, x: g * x / cols(x), "axis|wrong axis", ("column", "axis", "axes")),
            ("root forgotten", lambda g, x: 2 * g * x, "factor|step|division|power", ("root", "norm", "multiplied by the result")),
            ("another norm", lambda g, x: g * np.sign(x), "function|other operation|setting|elementwise", ("abs", "norm")),
            ("elementwise", lambda g, x: g * x / np.abs(x), "function|axis|elementwise|other operation|setting", ("abs", "norm", "axis")),
        ):
            wrong("norm: " + family, name, ref, rule, kinds, words, [WIDE])
    for axis in (0, 1):
        s = lambda a, axis=axis: a.sum(axis, keepdims=True)
        length = lambda x, s=s: np.sqrt(s(x * x))
        for label, ref in (
            ("normalize", lambda x, a=axis: F.normalize(x, dim=a)),
            ("unit", lambda x, a=axis: x / x.norm(dim=a, keepdim=True)),
        ):
            name = label + " function"
            for family, rule, kinds, words in (
                ("not divided", lambda g, x, s=s, L=length: g - x * s(g * x) / L(x) ** 2, "division|factor|step|power", ("norm", "divi")),
                (
                    "divided twice",
                    lambda g, x, s=s, L=length: (g - x * s(g * x) / L(x) ** 2) / L(x) ** 2,
                    "division|power|factor|step",
                    ("norm", "divi", "power"),
                ),
                ("term lost", lambda g, x, L=length: g / L(x), "term|step", ("constant", "term")),
                ("term sign", lambda g, x, s=s, L=length: (g + x * s(g * x) / L(x) ** 2) / L(x), "term sign", ("sign",)),
                (
                    "term not divided",
                    lambda g, x, s=s, L=length: (g - x * s(g * x)) / L(x),
                    "division|power|factor|step|term",
                    ("norm", "divi", "power"),
                ),
                (
                    "term divided once",
                    lambda g, x, s=s, L=length: (g - x * s(g * x) / L(x)) / L(x),
                    "division|power|factor|step|term",
                    ("norm", "divi", "power"),
                ),
                (
                    "term divided thrice",
                    lambda g, x, s=s, L=length: (g - x * s(g * x) / L(x) ** 3) / L(x),
                    "division|power|factor|step|term",
                    ("norm", "divi", "power"),
                ),
                (
                    "not projected on g",
                    lambda g, x, s=s, L=length: (g - x * s(x) / L(x) ** 2) / L(x),
                    "factor|upstream ignored|term|upstream size|step",
                    ("g",),
                ),
                ("whole array", lambda g, x: (g - x * (g * x).sum() / n(x) ** 2) / n(x), "axis|wrong axis", ("whole", "axis")),
                (
                    "ones for g",
                    lambda g, x, s=s, L=length: g * (1 - x * x / L(x) ** 2) / L(x),
                    "early sum|diagonal only|step",
                    ("diagonal", "elementwise"),
                ),
            ):
                wrong("unit: " + family, name, ref, rule, kinds, words, [WIDE])
            right(name, ref, lambda g, x, s=s, L=length: (g - x * s(g * x) / L(x) ** 2) / L(x), [WIDE])


# --- pooling: the mean given to one, to all undivided, the largest given the mean
IMAGE = R.normal(size=(2, 2, 4, 6))
LINE = R.normal(size=(2, 3, 6))


def spread(g, k: int, weights: np.ndarray) -> np.ndarray:
    out = np.zeros((*g.shape[:-2], g.shape[-2] * k, g.shape[-1] * k))
    for i in range(k):
        for j in range(k):
            out[..., i::k, j::k] = g * weights[i, j]
    return out


def pools() -> None:
    def one(i, j, c=1.0):
        w = np.zeros((2, 2))
        w[i, j] = c
        return w

    weights = {
        "first": one(0, 0), "last": one(1, 1), "second": one(0, 1), "first, a quarter": one(0, 0, 0.25), "not divided": np.ones((2, 2)),
        "by the side": np.ones((2, 2)) / 2, "first row": np.array([[0.5, 0.5], [0, 0]]), "first column": np.array([[0.5, 0], [0.5, 0]]),
        "diagonal": np.eye(2) / 2, "by the square": np.ones((2, 2)) / 16,
    }  # fmt: skip
    kinds = "places|one of many|averaged|constant|size|scale|number|not spread|factor|zero|pieces"
    for family, w in weights.items():
        wrong("avg_pool: " + family, "avg_pool", "avg_pool", lambda g, x, w=w: spread(g, 2, w), kinds, ("entry", "entries", "window"))
        wrong(
            "avg_pool: " + family,
            "avg_pool2d function",
            lambda x: F.avg_pool2d(x, 2),
            lambda g, x, w=w: spread(g, 2, w),
            kinds,
            ("entry", "entries", "window"),
            [IMAGE],
        )
    one_d = {"first": (1, 0), "last": (0, 1), "not divided": (1, 1), "by the square": (0.25, 0.25)}
    for family, w in one_d.items():
        wrong(
            "avg_pool: " + family,
            "avg_pool1d function",
            lambda x: F.avg_pool1d(x, 2),
            lambda g, x, w=w: np.stack([g * w[0], g * w[1]], -1).reshape(x.shape),
            kinds,
            ("entry", "entries", "window"),
            [LINE],
        )
        wrong(
            "avg_pool: " + family,
            "pairs mean function",
            lambda x: x.reshape(2, 3, 3, 2).mean(-1),
            lambda g, x, w=w: np.stack([g * w[0], g * w[1]], -1).reshape(x.shape),
            kinds,
            ("entry", "entries", "window"),
            [LINE],
        )


# --- triangles
def spd(n: int = 4) -> np.ndarray:
    a = R.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


T = lambda a: np.swapaxes(a, -1, -2)


def half(a):
    return np.tril(a) - 0.5 * np.einsum("...ii->...i", a)[..., None] * np.eye(a.shape[-1])


def sym(a):
    return 0.5 * (a + T(a))


TRIANGLE = "term|factor|transposed|order|term sign|mask|places|step|number|constant|symmetric|triangle|product"
TRIANGLE_WORDS = ("triangle", "diagonal", "transpose", "symmetr", "half")


def triangles() -> None:
    def chol(keep=half, left=T, right_=None, end=sym, middle=T):
        def rule(g, a):
            L = np.linalg.cholesky(a)
            i = np.linalg.inv(L)
            return end(left(i) @ keep(middle(L) @ g) @ (right_ or (lambda b: b))(i))

        return rule

    same = lambda a: a
    slips = {
        "diagonal not halved": chol(keep=np.tril), "no triangle": chol(keep=same), "upper triangle": chol(keep=lambda a: T(half(T(a)))),
        "strict triangle": chol(keep=lambda a: np.tril(a, -1)), "halved": chol(keep=lambda a: 0.5 * np.tril(a)),
        "L for L'": chol(middle=same), "inverse left not transposed": chol(left=same), "inverse right transposed": chol(right_=T),
        "both inverses": chol(left=same, right_=T), "one inverse": lambda g, a: sym(half(np.linalg.cholesky(a).T @ g) @ np.linalg.inv(np.linalg.cholesky(a))),
        "twice symmetric": chol(end=lambda a: a + T(a)), "diagonal only": chol(keep=lambda a: a * np.eye(a.shape[-1]) / 2),
        "inverse for transposed": lambda g, a: sym(T(np.linalg.inv(np.linalg.cholesky(a))) @ half(np.linalg.inv(np.linalg.cholesky(a)) @ g) @ np.linalg.inv(np.linalg.cholesky(a))),
        "sign": chol(end=lambda a: -sym(a)), "order": lambda g, a: chol()(T(g), a),
    }  # fmt: skip
    for family, rule in slips.items():
        wrong("cholesky: " + family, "cholesky function", autolab.linalg.cholesky, rule, TRIANGLE, TRIANGLE_WORDS, [spd()])
    right("cholesky function", autolab.linalg.cholesky, chol(), [spd()])

    v = R.normal(size=(4, 2))
    for end, family in ((np.tril, "kept"), (same, "no triangle"), (np.triu, "other triangle"), (lambda a: np.tril(a, -1), "strict")):
        ref = lambda a, b: autolab.linalg.solve_triangular(a, b, upper=False)
        lower = np.tril(R.normal(size=(4, 4))) + 3 * np.eye(4)

        def rule(g, a, b, end=end):
            gb = np.linalg.solve(a.T, g)
            return end(-gb @ np.linalg.solve(a, b).T), gb

        if family == "kept":
            right("solve_triangular function", ref, rule, [lower, v])
        else:
            wrong("triangular solve: " + family, "solve_triangular function", ref, rule, TRIANGLE, TRIANGLE_WORDS, [lower, v])
    for name, ref, keep, other in (("tril", lambda x: x.tril(), np.tril, np.triu), ("triu", lambda x: x.triu(), np.triu, np.tril)):
        for family, rule in (
            ("other triangle", lambda g, x, o=other: o(g)),
            ("strict", lambda g, x, k=keep: k(g, -1 if k is np.tril else 1)),
            ("none", lambda g, x: g),
            ("transposed", lambda g, x, k=keep: k(g).T),
        ):
            wrong(
                "triangle: " + family, name + " function", ref, rule, TRIANGLE + "|mask|upstream only|permutation", TRIANGLE_WORDS, [SQUARE]
            )


# --- inverses, solutions, eigenvalues, determinants
def solvers() -> None:
    a, b, s = R.normal(size=(4, 4)) + 3 * np.eye(4), R.normal(size=(4, 3)), sym(R.normal(size=(4, 4)))
    inv, det = np.linalg.inv, np.linalg.det
    kinds = "transposed|order|term|sign|factor|product|elementwise|step|operation|division|power|constant|symmetric|function|other operation|forward"
    words = ("transpose", "symmetr", "inverse", "determinant", "product", "order")
    logdets = {
        "logdet": lambda x: autolab.linalg.slogdet(x)[1],
        "logdet of det": lambda x: autolab.linalg.det(x).abs().log(),
        "det": lambda x: autolab.linalg.det(x),
    }
    for name, ref in logdets.items():
        scale = det if name == "det" else (lambda x: 1.0)
        for family, rule in {
            "not transposed": lambda g, x, c=scale: g * c(x) * inv(x),
            "elementwise": lambda g, x, c=scale: g * c(x) / x,
            "the matrix": lambda g, x, c=scale: g * c(x) * x,
            "transposed matrix": lambda g, x, c=scale: g * c(x) * x.T,
            "trace": lambda g, x, c=scale: g * c(x) * np.trace(inv(x)) * np.ones_like(x),
            "diagonal": lambda g, x, c=scale: g * c(x) * np.eye(4) * inv(x),
            "sign": lambda g, x, c=scale: -g * c(x) * inv(x).T,
            "the other": lambda g, x, n=name: g * inv(x).T * (1 if n == "det" else det(x)),
            "divided by det": lambda g, x: g * inv(x).T / det(x),
            "diagonal of x": lambda g, x, c=scale: g * c(x) * np.eye(4) / x,
            "symmetric": lambda g, x, c=scale: g * c(x) * (inv(x) + inv(x).T) / 2,
            "identity": lambda g, x, c=scale: g * c(x) * np.eye(4),
        }.items():
            wrong(
                "determinant: " + family,
                name + " function",
                ref,
                rule,
                kinds + "|diagonal only|mask",
                (*words, "diagonal", "elementwise"),
                [a],
            )
    for family, rule in {
        "not transposed": lambda g, x: -inv(x) @ g @ inv(x),
        "left only": lambda g, x: -inv(x).T @ g @ inv(x),
        "right only": lambda g, x: -inv(x) @ g @ inv(x).T,
        "g transposed": lambda g, x: -inv(x).T @ g.T @ inv(x).T,
        "no sign": lambda g, x: inv(x).T @ g @ inv(x).T,
        "one factor": lambda g, x: -inv(x).T @ g,
        "elementwise": lambda g, x: -g / x**2,
        "squared": lambda g, x: -(inv(x) @ inv(x)).T @ g,
        "elementwise inverse": lambda g, x: -g * inv(x) ** 2,
        "symmetric": lambda g, x: -sym(inv(x).T @ g @ inv(x).T),
        "both g": lambda g, x: -inv(x).T @ sym(g) @ inv(x).T,
    }.items():
        wrong("inverse: " + family, "inv function", autolab.linalg.inv, rule, kinds, words, [a])
    x_ = lambda a, b: np.linalg.solve(a, b)
    for family, rule in {
        "a not transposed": lambda g, a, b: (-x_(a, g) @ x_(a, b).T, x_(a, g)),
        "solution not transposed": lambda g, a, b: (-(x_(a.T, g) @ x_(a, b).T).T, x_(a.T, g)),
        "b for x": lambda g, a, b: (-x_(a.T, g) @ b.T, x_(a.T, g)),
        "no sign": lambda g, a, b: (x_(a.T, g) @ x_(a, b).T, x_(a.T, g)),
        "g for gb": lambda g, a, b: (-g @ x_(a, b).T, x_(a.T, g)),
        "symmetric": lambda g, a, b: (-sym(x_(a.T, g) @ x_(a, b).T), x_(a.T, g)),
        "multiplied": lambda g, a, b: (-(a.T @ g) @ x_(a, b).T, a.T @ g),
    }.items():
        wrong("solve: " + family, "solve function", autolab.linalg.solve, rule, kinds, words, [a, b])
    eig = np.linalg.eigh
    for family, rule in {
        "not transposed": lambda g, x: eig(x)[1].T @ np.diag(g) @ eig(x)[1],
        "one side": lambda g, x: eig(x)[1] @ np.diag(g),
        "vectors left out": lambda g, x: np.diag(g),
        "values for g": lambda g, x: eig(x)[1] @ np.diag(g * eig(x)[0]) @ eig(x)[1].T,
        "sign": lambda g, x: -eig(x)[1] @ np.diag(g) @ eig(x)[1].T,
        "reversed": lambda g, x: eig(x)[1] @ np.diag(g[::-1]) @ eig(x)[1].T,
        "doubled": lambda g, x: 2 * eig(x)[1] @ np.diag(g) @ eig(x)[1].T,
    }.items():
        wrong(
            "eigenvalues: " + family,
            "eigvalsh function",
            autolab.linalg.eigvalsh,
            rule,
            kinds + "|flipped|number|permutation|diagonal only",
            (*words, "eigen", "vectors"),
            [s],
        )
    tall = R.normal(size=(5, 3))

    def qr_r(end=lambda m: np.tril(m, -1) + T(np.tril(m, -1)) + np.eye(m.shape[-1]) * m, first=lambda r, g: r @ g.T, solve=T):
        def rule(g, x):
            q, r = np.linalg.qr(x)
            d = np.sign(np.diag(r))
            m = end(first(r, g))
            return (q @ m) @ solve(inv(r)) if True else d

        return rule

    same = lambda m: m
    ref = lambda x: autolab.linalg.qr(x)[1]
    right("qr function", ref, qr_r(end=lambda m: np.tril(m) + T(np.tril(m, -1))), [tall])
    for family, rule in {
        "not symmetrised": qr_r(end=np.tril),
        "no triangle": qr_r(end=same),
        "upper": qr_r(end=lambda m: np.triu(m) + T(np.triu(m, 1))),
        "averaged": qr_r(end=sym),
        "diagonal twice": qr_r(end=lambda m: np.tril(m) + T(np.tril(m))),
        "g not transposed": qr_r(first=lambda r, g: r @ g),
        "r transposed": qr_r(first=lambda r, g: r.T @ g),
        "inverse not transposed": qr_r(solve=same),
        "q g": lambda g, x: np.linalg.qr(x)[0] @ g,
    }.items():
        wrong("qr: " + family, "qr function", ref, rule, TRIANGLE, (*TRIANGLE_WORDS, *words), [tall])
