"""The same derivatives as people write them: the slips of a learner are slips in one of these.

An entry is a right formula in the names of the rule, perhaps with usual letters for its intermediate results. The row of
the table is one formula; where it calls a helper, or is short because the engine sums and broadcasts, these are the long
ones. One that does not give the right gradient for the inputs at hand is passed over, and a test asks that each does.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from autolab.rules.special import erf

from ...run.exercises import mT, normal_cdf, sigmoid, softmax
from ..shapes import count, lifted
from .expressions import Values, Wrong
from .mutants import Mutant, mutants

Entry = str | tuple[str, Mapping[str, str]]  # a formula, and what its letters stand for, in this order: one may use those before it

ALONG = {"G": "lifted(g, x, axis)", "OUT": "lifted(out, x, axis)", "n": "count(x.shape, axis)", "mean": "x.mean(axis, keepdims=True)"}
SHIFTED = {"e": "np.exp(x - x.max(axis, keepdims=True))"}
NORMED = {"rstd": "1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)", "z": "(x - x.mean(-1, keepdims=True)) * rstd", "h": "g * weight"}
NORMED_0 = {"rstd": "1 / np.sqrt(x.var(0, keepdims=True) + 1e-5)", "z": "(x - x.mean(0, keepdims=True)) * rstd", "h": "g * weight"}
BY_RMS = {"rstd": "1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)", "z": "x * rstd", "h": "g * weight"}
ATTENDED = {"c": "1 / math.sqrt(q.shape[-1])", "p": "softmax(q @ mT(k) * c)", "h": "g @ mT(v)"}
ROWS = {"flat": "g.reshape(-1, g.shape[-1])", "rows": "x.reshape(-1, x.shape[-1])"}
CLASSES = {"e": "np.exp(x)", "p": "e / e.sum(-1, keepdims=True)", "onehot": "np.eye(x.shape[-1])[target]", "n": "len(x)"}
CURVE = {"s": "sigmoid(x)"}
PROJECTED = {"left": "np.eye(x.shape[-2]) - x @ out", "right": "np.eye(x.shape[-1]) - out @ x"}
SIZE = "np.sqrt(({0} * {0}).sum(-1, keepdims=True))"
BELL = {"cdf": "cdf(x)", "pdf": "np.exp(-x * x / 2) / math.sqrt(2 * math.pi)"}

EQUIVALENT_FORMULAS: dict[str, dict[str, list[Entry]]] = {
    "atan": {"x": ["g / (1 + x**2)"]},
    "abs": {"x": ["g * np.sign(x)", "np.where(x > 0, g, -g)"]},
    "amax": {"x": [("G * mask / mask.sum(axis, keepdims=True)", {**ALONG, "mask": "x == x.max(axis, keepdims=True)"}),
                   ("G * (x == x.max(axis, keepdims=True)) / k", {**ALONG, "k": "(x == OUT).sum(axis, keepdims=True)"})]},
    "amin": {"x": [("G * (x == x.min(axis, keepdims=True)) / k", {**ALONG, "k": "(x == OUT).sum(axis, keepdims=True)"})]},
    "attention": {"q": [("(p * (h - (h * p).sum(-1, keepdims=True))) @ k * c", ATTENDED)],
                  "k": [("mT(p * (h - (h * p).sum(-1, keepdims=True))) @ q * c", ATTENDED)],
                  "v": [("mT(p) @ g", ATTENDED)]},
    "batch_norm": {"x": [("rstd * (h - h.mean(0, keepdims=True) - z * (h * z).mean(0, keepdims=True))", NORMED_0)],
                   "weight": [("(g * z).sum(0)", NORMED_0)], "bias": ["g.sum(0)"]},
    "bce_with_logits": {"x": [("g * (s - target) / n", {**CURVE, "n": "x.size"})]},
    "clip": {"x": ["g * ((x >= low) & (x <= high))", "np.where(x < low, 0, np.where(x > high, 0, g))"]},
    "clamp": {"x": ["g * ((x >= min) & (x <= max))"]},
    "cross_entropy": {"x": [("g * (p - onehot) / n", CLASSES)]},
    "cumprod": {"x": ["np.flip(np.cumsum(np.flip(g * out, axis), axis), axis) / x"]},
    "cosine": {y: [("g[..., None] * (other - unit * (unit * other).sum(-1, keepdims=True)) / size",
                    {"size": SIZE.format(y), "unit": f"{y} / size", "other": f"{z} / {SIZE.format(z)}"})] for y, z in ("xy", "yx")},
    "cumsum": {"x": ["np.flip(np.cumsum(np.flip(g, axis), axis), axis)"]},
    "div": {"x": ["g / y"], "y": ["-g * x / y**2", "-g * out / y", "-(g * x) / (y * y)"]},
    "dropout": {"x": ["g * mask / (1 - p)"]},
    "elu": {"x": ["g * np.where(x > 0, 1, out + alpha)"]},
    "exp": {"x": ["g * out", "g * np.exp(x)"]},
    "gelu": {"x": [("g * (cdf + x * pdf)", BELL)]},
    "hypot": {"x": ["g * x / out"], "y": ["g * y / out"]},
    "layer_norm": {"x": [("rstd * (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True))", NORMED)],
                   "weight": [("(g * z).sum(0)", NORMED)], "bias": ["g.sum(0)"]},
    "leaky_relu": {"x": ["np.where(x > 0, g, negative_slope * g)", "g * np.where(x > 0, 1, negative_slope)"]},
    "linear": {"x": ["g @ weight"], "weight": [("flat.T @ rows", ROWS)], "bias": [("flat.sum(0)", ROWS)]},
    "log": {"x": ["g / x"]},
    "logcumsumexp": {"x": ["np.exp(x) * np.flip(np.cumsum(np.flip(g * np.exp(-out), axis), axis), axis)"]},
    "logdet_covariance": {"x": [("2 * g * np.linalg.solve(covariance, x)", {"covariance": "x @ x.T + np.eye(len(x))"})]},
    "log1p": {"x": ["g / (1 + x)"]},
    "log_softmax": {"x": [("g - p * g.sum(axis, keepdims=True)", {"p": "np.exp(out)"}),
                          "g - np.exp(out) * g.sum(axis, keepdims=True)",
                          ("g - e / e.sum(axis, keepdims=True) * g.sum(axis, keepdims=True)", {"e": "np.exp(x)"}),
                          ("g - e / e.sum(axis, keepdims=True) * g.sum(axis, keepdims=True)", SHIFTED)]},
    "logsumexp": {"x": [("G * np.exp(x - OUT)", ALONG), ("G * np.exp(x) / np.exp(OUT)", ALONG),
                        ("G * e / e.sum(axis, keepdims=True)", {**ALONG, "e": "np.exp(x)"}),
                        ("G * e / e.sum(axis, keepdims=True)", {**ALONG, **SHIFTED})]},
    "matmul": {"x": ["g @ mT(y)"], "y": ["mT(x) @ g"]},
    "bmm": {"x": ["g @ mT(y)"], "y": ["mT(x) @ g"]},
    "mm": {"x": ["g @ mT(y)"], "y": ["mT(x) @ g"]},
    "maximum": {"x": ["np.where(x > y, g, 0)"], "y": ["np.where(x > y, 0, g)"]},
    "minimum": {"x": ["np.where(x < y, g, 0)"], "y": ["np.where(x < y, 0, g)"]},
    "mean": {"x": [("G * np.ones_like(x) / n", ALONG)]},
    "mish": {"x": [("g * (tanh + x * (1 - tanh**2) * s)", {"tanh": "np.tanh(np.log1p(np.exp(x)))", **CURVE}),
                   ("g * (np.tanh(softplus) + x * (1 - np.tanh(softplus) ** 2) * s)", {"softplus": "np.log1p(np.exp(x))", **CURVE})]},
    "mse_loss": {"x": [("2 * g * (x - y) / n", {"n": "x.size if reduction == 'mean' else 1"})],
                 "y": [("-2 * g * (x - y) / n", {"n": "x.size if reduction == 'mean' else 1"})]},
    "norm": {"x": [("G * x / OUT", ALONG)]},
    "outer": {"x": ["g @ y"], "y": ["x @ g", "g.T @ x"]},
    "permute": {"x": ["np.transpose(g, np.argsort(axes))"]},
    "transpose": {"x": ["np.transpose(g, np.argsort(axes))"]},
    "pinv": {"x": [("-mT(out) @ g @ mT(out) + left @ mT(g) @ out @ mT(out) + mT(out) @ out @ mT(g) @ right", PROJECTED)]},
    "pow": {"x": ["g * y * x ** (y - 1)"], "y": ["g * out * np.log(x)", "g * x**y * np.log(x)"]},
    "pow_scalar": {"x": ["g * exponent * x ** (exponent - 1)"]},
    "prod": {"x": [("G * OUT / x", ALONG)]},
    "reciprocal": {"x": ["-g / x**2", "-g * out**2"]},
    "relu": {"x": ["np.where(x > 0, g, 0)"]},
    "rms_norm": {"x": [("rstd * (h - z * (h * z).mean(-1, keepdims=True))", BY_RMS)], "weight": [("(g * z).sum(0)", BY_RMS)]},
    "rsqrt": {"x": ["-0.5 * g * x**-1.5", "-g * out**3 / 2"]},
    "sigmoid": {"x": ["g * out * (1 - out)", "g * np.exp(-x) / (1 + np.exp(-x)) ** 2"]},
    "silu": {"x": [("g * (s + x * s * (1 - s))", CURVE),
                   ("g * s * (1 + x * (1 - s))", CURVE), ("g * (out + s * (1 - out))", CURVE)]},
    "sinc": {"x": ["g * (np.pi * x * np.cos(np.pi * x) - np.sin(np.pi * x)) / (np.pi * x**2)",
                   "g * (np.cos(np.pi * x) - out) / x"]},
    "softmax": {"x": ["out * (g - (g * out).sum(axis, keepdims=True))", "g * out - out * (g * out).sum(axis, keepdims=True)",
                      ("p * (g - (g * p).sum(axis, keepdims=True))", {**SHIFTED, "p": "e / e.sum(axis, keepdims=True)"})]},
    "softplus": {"x": ["g * sigmoid(x)", "g * np.exp(x) / (1 + np.exp(x))"]},
    "sqrt": {"x": ["g / (2 * out)", "0.5 * g * x**-0.5"]},
    "square": {"x": ["2 * g * x"]},
    "std": {"x": [("G * (x - mean) / OUT / (n - 1)", ALONG)]},
    "sum": {"x": [("G * np.ones_like(x)", ALONG)]},
    "tan": {"x": ["g * (1 + out**2)", "g * (1 + np.tan(x) ** 2)", "g / np.cos(x) ** 2"]},
    "tanh": {"x": ["g * (1 - out**2)", "g * (1 - np.tanh(x) ** 2)", "g / np.cosh(x) ** 2"]},
    "var": {"x": [("2 * G * (x - mean) / (n - 1)", ALONG), ("2 * G * (x - x.mean(axis, keepdims=True)) / (n - 1)", ALONG)]},
    "spread": {"x": [("g * (np.outer(last, last) - np.outer(first, first))",
                      {"v": "np.linalg.eigh((x + x.T) / 2)[1]", "first": "v[:, 0]", "last": "v[:, -1]"})]},
    "weight_norm": {"v": [("s * (g - unit * (g * unit).sum(-1, keepdims=True)) / size", {"size": SIZE.format("v"), "unit": "v / size"})],
                    "s": [("(g * unit).sum(-1, keepdims=True)", {"size": SIZE.format("v"), "unit": "v / size"})]},
    "where": {"x": ["np.where(condition, g, 0)"], "y": ["np.where(condition, 0, g)"]},
}  # fmt: skip

KNOWN = {
    "np": np,
    "tanh": np.tanh,
    "math": math,
    "sigmoid": sigmoid,
    "softmax": softmax,
    "cdf": normal_cdf,
    "erf": erf,
    "mT": mT,
    "len": len,
    "count": count,
    "lifted": lifted,
}
PLAIN = ("_axes", "_G", "_OUT", "_flat", "_rows", "_n")  # a slip in these is another shape


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<formula>", "eval")


def _asked(code: CodeType) -> Iterator[str]:
    """The names that a formula asks for, in its comprehensions too."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _asked(part)


@cache
def _private(text: str, letters: tuple[str, ...]) -> str:
    """A formula with an underscore before its letters: an input or a setting of an exercise may be called z, p or n as well.

    >>> _private("p - x.mean()", ("p", "mean"))
    '_p - x.mean()'
    """
    tree = ast.parse(text, mode="eval")
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}  # a function may have the name of a letter
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in letters and id(node) not in called:
            node.id = f"_{node.id}"
    return ast.unparse(tree)


class NamedFormula:
    """A formula in the names of a rule, with its letters worked out once for each call that it is compared with."""

    def __init__(self, entry: Entry, inputs: tuple[str, ...]):
        text, letters = (entry, {}) if isinstance(entry, str) else entry
        self.text = _private(text, tuple(letters))
        self.letters = {f"_{letter}": _private(of, tuple(letters)) for letter, of in letters.items()}
        self.names = (*inputs, "out", "g", *self.letters)
        self.known = KNOWN
        self.values: dict[int, tuple[Any, Values]] = {}  # with what they belong to, so that its id stays taken

    def evaluate(self, o: Any, wrong: Wrong | None = None, letter: str = "") -> np.ndarray:
        """What the formula, or a slip in it or in what one of its letters stands for, gives for an observation."""
        if id(o) not in self.values:
            names = {**self.known, **o.names, "g": o.g}
            for name, text in self.letters.items():
                names[name] = eval(_compiled(text), names)
            self.values[id(o)] = o, Values(names)
        values = self.values[id(o)][1]
        if wrong is None:
            return np.asarray(eval(_compiled(self.text), {**values.names}))
        if not letter:
            return np.asarray(wrong.value(values))
        names, others = {**values.names, letter: wrong.value(values)}, {letter}
        for name in list(self.letters)[list(self.letters).index(letter) + 1 :]:
            if not others.isdisjoint(_asked(_compiled(self.letters[name]))):
                names[name] = eval(_compiled(self.letters[name]), names)
                others.add(name)
        return np.asarray(eval(_compiled(self.text), names))

    def worked_out(self, values: Mapping[str, Any]) -> Any:
        """The formula on these values, whatever arrays they are."""
        known = {**KNOWN, **values}
        for name, text in self.letters.items():
            known[name] = eval(_compiled(text), known)
        return eval(_compiled(self.text), known)

    def mutants(self) -> Iterator[tuple[Mutant, Wrong, str]]:
        """Each slip of the pen, with what it makes of the formula and the letter it is in; first those in the formula itself."""
        for mutant, wrong in mutants(self.text, self.names):
            yield mutant, wrong, ""
        for letter, text in self.letters.items():
            if letter not in PLAIN:
                for mutant, wrong in mutants(text, self.names[: self.names.index(letter)]):
                    yield mutant, wrong, letter


def equivalent_formulas(operation: str, x: str, inputs: tuple[str, ...]) -> list[NamedFormula]:
    """Other formulas for the gradient of one input than the row of the table, if there are any."""
    return [NamedFormula(entry, inputs) for entry in EQUIVALENT_FORMULAS.get(operation, {}).get(x, ())]
