"""The same derivatives as people write them: the slips of a learner are slips in one of these.

A way is a right formula in the names of the rule, with its intermediate results by their usual letters. The row of the
table is one way; where it calls a helper, or is short because the engine sums and broadcasts, these are the long ones.
A way that does not give the right gradient for the inputs at hand is passed over, and a test asks that each does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from .mutants import mutants


class Way:
    """A formula for the gradient of one input, and what its letters stand for, in this order: one may use those before it."""

    __slots__ = ("formula", "letters")

    def __init__(self, formula: str, letters: Mapping[str, str] | None = None):
        self.formula, self.letters = formula, letters or {}


ALONG = {"G": "np.expand_dims(g, axis)", "OUT": "np.expand_dims(out, axis)", "n": "x.shape[axis]", "mean": "x.mean(axis, keepdims=True)"}
NORMED = {"rstd": "1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)", "z": "(x - x.mean(-1, keepdims=True)) * rstd", "h": "g * weight"}
NORMED_0 = {"rstd": "1 / np.sqrt(x.var(0, keepdims=True) + 1e-5)", "z": "(x - x.mean(0, keepdims=True)) * rstd", "h": "g * weight"}
BY_RMS = {"rstd": "1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)", "z": "x * rstd", "h": "g * weight"}
ATTENDED = {"c": "1 / math.sqrt(q.shape[-1])", "p": "softmax(q @ mT(k) * c)", "h": "g @ mT(v)"}
ROWS = {"flat": "g.reshape(-1, g.shape[-1])", "rows": "x.reshape(-1, x.shape[-1])"}
CLASSES = {"e": "np.exp(x)", "p": "e / e.sum(-1, keepdims=True)", "onehot": "np.eye(x.shape[-1])[target]", "n": "len(x)"}
CURVE = {"s": "sigmoid(x)"}
BELL = {"cdf": "cdf(x)", "pdf": "np.exp(-x * x / 2) / math.sqrt(2 * math.pi)"}

WAYS: dict[str, dict[str, list[Way]]] = {
    "atan": {"x": [Way("g / (1 + x**2)")]},
    "abs": {"x": [Way("g * np.sign(x)"), Way("np.where(x > 0, g, -g)")]},
    "amax": {"x": [Way("G * mask / mask.sum(axis, keepdims=True)", {**ALONG, "mask": "x == x.max(axis, keepdims=True)"}),
                   Way("G * (x == x.max(axis, keepdims=True)) / k", {**ALONG, "k": "(x == OUT).sum(axis, keepdims=True)"})]},
    "amin": {"x": [Way("G * (x == x.min(axis, keepdims=True)) / k", {**ALONG, "k": "(x == OUT).sum(axis, keepdims=True)"})]},
    "attention": {"q": [Way("(p * (h - (h * p).sum(-1, keepdims=True))) @ k * c", ATTENDED)],
                  "k": [Way("mT(p * (h - (h * p).sum(-1, keepdims=True))) @ q * c", ATTENDED)],
                  "v": [Way("mT(p) @ g", ATTENDED)]},
    "batch_norm": {"x": [Way("rstd * (h - h.mean(0, keepdims=True) - z * (h * z).mean(0, keepdims=True))", NORMED_0)],
                   "weight": [Way("(g * z).sum(0)", NORMED_0)], "bias": [Way("g.sum(0)")]},
    "bce_with_logits": {"x": [Way("g * (s - target) / n", {**CURVE, "n": "x.size"})]},
    "clip": {"x": [Way("g * ((x >= low) & (x <= high))"), Way("np.where(x < low, 0, np.where(x > high, 0, g))")]},
    "clamp": {"x": [Way("g * ((x >= min) & (x <= max))")]},
    "cross_entropy": {"x": [Way("g * (p - onehot) / n", CLASSES)]},
    "cumsum": {"x": [Way("np.flip(np.cumsum(np.flip(g, axis), axis), axis)"),
                     Way("g.sum(axis, keepdims=True) - np.cumsum(g, axis) + g")]},
    "div": {"x": [Way("g / y")], "y": [Way("-g * x / y**2"), Way("-g * out / y"), Way("-(g * x) / (y * y)")]},
    "dropout": {"x": [Way("g * mask / (1 - p)")]},
    "elu": {"x": [Way("g * np.where(x > 0, 1, out + 1)")]},
    "exp": {"x": [Way("g * out"), Way("g * np.exp(x)")]},
    "gelu": {"x": [Way("g * (cdf + x * pdf)", BELL)]},
    "hypot": {"x": [Way("g * x / out")], "y": [Way("g * y / out")]},
    "layer_norm": {"x": [Way("rstd * (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True))", NORMED)],
                   "weight": [Way("(g * z).sum(0)", NORMED)], "bias": [Way("g.sum(0)")]},
    "leaky_relu": {"x": [Way("np.where(x > 0, g, negative_slope * g)"), Way("g * np.where(x > 0, 1, negative_slope)")]},
    "linear": {"x": [Way("g @ weight")], "weight": [Way("flat.T @ rows", ROWS)], "bias": [Way("flat.sum(0)", ROWS)]},
    "log": {"x": [Way("g / x")]},
    "log1p": {"x": [Way("g / (1 + x)")]},
    "log_softmax": {"x": [Way("g - p * g.sum(axis, keepdims=True)", {"p": "np.exp(out)"}),
                          Way("g - np.exp(out) * g.sum(axis, keepdims=True)"),
                          Way("g - e / e.sum(axis, keepdims=True) * g.sum(axis, keepdims=True)", {"e": "np.exp(x)"})]},
    "logsumexp": {"x": [Way("G * np.exp(x - OUT)", ALONG), Way("G * e / e.sum(axis, keepdims=True)", {**ALONG, "e": "np.exp(x)"})]},
    "matmul": {"x": [Way("g @ mT(y)")], "y": [Way("mT(x) @ g")]},
    "bmm": {"x": [Way("g @ mT(y)")], "y": [Way("mT(x) @ g")]},
    "mm": {"x": [Way("g @ mT(y)")], "y": [Way("mT(x) @ g")]},
    "maximum": {"x": [Way("np.where(x > y, g, 0)")], "y": [Way("np.where(x > y, 0, g)")]},
    "minimum": {"x": [Way("np.where(x < y, g, 0)")], "y": [Way("np.where(x < y, 0, g)")]},
    "mean": {"x": [Way("G * np.ones_like(x) / n", ALONG)]},
    "mse_loss": {"x": [Way("2 * g * (x - y) / n", {"n": "x.size if reduction == 'mean' else 1"})],
                 "y": [Way("-2 * g * (x - y) / n", {"n": "x.size if reduction == 'mean' else 1"})]},
    "norm": {"x": [Way("G * x / OUT", ALONG)]},
    "outer": {"x": [Way("g @ y")], "y": [Way("x @ g"), Way("g.T @ x")]},
    "permute": {"x": [Way("np.transpose(g, np.argsort(axes))")]},
    "transpose": {"x": [Way("np.transpose(g, np.argsort(axes))")]},
    "pow": {"x": [Way("g * y * x ** (y - 1)")], "y": [Way("g * out * np.log(x)"), Way("g * x**y * np.log(x)")]},
    "pow_scalar": {"x": [Way("g * exponent * x ** (exponent - 1)")]},
    "prod": {"x": [Way("G * OUT / x", ALONG)]},
    "reciprocal": {"x": [Way("-g / x**2"), Way("-g * out**2")]},
    "relu": {"x": [Way("np.where(x > 0, g, 0)")]},
    "rms_norm": {"x": [Way("rstd * (h - z * (h * z).mean(-1, keepdims=True))", BY_RMS)], "weight": [Way("(g * z).sum(0)", BY_RMS)]},
    "rsqrt": {"x": [Way("-0.5 * g * x**-1.5"), Way("-g * out**3 / 2")]},
    "sigmoid": {"x": [Way("g * out * (1 - out)"), Way("g * np.exp(-x) / (1 + np.exp(-x)) ** 2")]},
    "silu": {"x": [Way("g * (s + x * s * (1 - s))", CURVE),
                   Way("g * s * (1 + x * (1 - s))", CURVE), Way("g * (out + s * (1 - out))", CURVE)]},
    "softmax": {"x": [Way("out * (g - (g * out).sum(axis, keepdims=True))"), Way("g * out - out * (g * out).sum(axis, keepdims=True)")]},
    "softplus": {"x": [Way("g * sigmoid(x)"), Way("g * np.exp(x) / (1 + np.exp(x))")]},
    "sqrt": {"x": [Way("g / (2 * out)"), Way("0.5 * g * x**-0.5")]},
    "square": {"x": [Way("2 * g * x")]},
    "std": {"x": [Way("G * (x - mean) / OUT / (n - 1)", ALONG)]},
    "sum": {"x": [Way("G * np.ones_like(x)", ALONG)]},
    "tanh": {"x": [Way("g * (1 - out**2)"), Way("g * (1 - np.tanh(x) ** 2)"), Way("g / np.cosh(x) ** 2")]},
    "var": {"x": [Way("2 * G * (x - mean) / (n - 1)", ALONG), Way("2 * G * (x - x.mean(axis, keepdims=True)) / (n - 1)", ALONG)]},
    "where": {"x": [Way("np.where(condition, g, 0)")], "y": [Way("np.where(condition, 0, g)")]},
}  # fmt: skip


def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def softmax(x):
    """Softmax along the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cdf(x):
    """The part of a normal distribution below x."""
    return np.vectorize(lambda t: 0.5 * math.erfc(-t / math.sqrt(2)))(x)


def erf(x):
    """The error function."""
    return np.vectorize(math.erf)(x)


def mT(a):
    """The last two axes exchanged."""
    return np.swapaxes(a, -1, -2)


KNOWN = {"np": np, "tanh": np.tanh, "math": math, "sigmoid": sigmoid, "softmax": softmax, "cdf": cdf, "erf": erf, "mT": mT, "len": len}


@cache
def _compiled(formula: str) -> Any:
    return compile(formula, "<way>", "eval")


class Written:
    """A way with its letters worked out, once for each call that it is compared with."""

    def __init__(self, way: Way, names: tuple[str, ...]):
        self.way, self.names = way, (*names, *way.letters)
        self.values: dict[int, tuple[Any, dict[str, Any]]] = {}  # with what they belong to, so that its id stays taken

    def evaluate(self, o: Any, code: Any = None, letter: str = "") -> np.ndarray:
        """What the formula, or a slip in it or in what one of its letters stands for, gives for an observation."""
        values = self.values.get(id(o), (o, None))[1]
        if values is None or letter:
            values = {**KNOWN, **o.names, "g": o.g}
            for name, formula in self.way.letters.items():
                values[name] = eval(code if name == letter else _compiled(formula), values)
            if not letter:
                self.values[id(o)] = o, values
        return np.asarray(eval(_compiled(self.way.formula) if letter or code is None else code, values))

    def slips(self) -> Iterator[tuple[Any, Any, str]]:
        """Each slip of the pen, with its compiled code and the letter it is in; first those in the formula itself."""
        for mutant, code in mutants(self.way.formula, self.names):
            yield mutant, code, ""
        for letter, formula in self.way.letters.items():
            if letter not in PLAIN:
                for mutant, code in mutants(formula, self.names[: self.names.index(letter)]):
                    yield mutant, code, letter


PLAIN = ("G", "OUT", "flat", "rows", "n")  # a slip in these is another shape


def ways(operation: str, x: str, inputs: tuple[str, ...]) -> list[Written]:
    """The ways to write the rule for one input, if there are any besides the row of the table."""
    return [Written(way, (*inputs, "out", "g")) for way in WAYS.get(operation, {}).get(x, ())]
