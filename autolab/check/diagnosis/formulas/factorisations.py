"""Functions on tensors that give a factor of a matrix: their gradients as formulas, in which people slip.

A factorisation has several results, and no chain of rows leads through it. But what a function gives says which factor it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from ...run.observation import Observation, close
from ..family import Family
from ..shapes import count
from .equivalent_formulas import NamedFormula

Entry = tuple[str, Mapping[str, str]]  # a formula, and what its letters stand for

# In each, x is the matrix, whatever the function calls it. What is kept of m is a triangle and its mirror image, with the
# diagonal once (Seeger et al. 2017, "Auto-differentiating linear algebra").
BOTH = "m + mT(np.tril(m, -1))"
FACTORS: dict[str, Entry] = {
    "Q": ("(g + out @ both) @ mT(inv)", {"inv": "np.linalg.inv(mT(out) @ x)", "m": "np.tril(-mT(g) @ out)", "both": BOTH}),
    "R": ("q @ both @ mT(inv)", {"inv": "np.linalg.inv(out)", "q": "x @ inv", "m": "np.tril(out @ mT(g))", "both": BOTH}),
}
SEPARATE = "takes {} for a constant: both factors change with the matrix"
TWICE = "counts the diagonal of the triangle twice: the mirror image that is added has none"
NO_IMAGE = "has the triangle alone: its mirror image, without the diagonal, is missing"
LEFT = "multiplies by the inverse of R from the left: its transpose belongs on the right"


def _with(name: str, changed: str = "", **letters: str) -> Entry:
    text, right = FACTORS[name]
    return changed or text, {**right, **letters}


MISTAKEN: dict[str, list[tuple[str, str, Entry]]] = {
    "Q": [("term", SEPARATE.format("R"), _with("Q", "g @ mT(inv)"))],
    "R": [("term", SEPARATE.format("Q"), _with("R", f"q @ {g}")) for g in ("g", "np.triu(g)")],
}
for _name, _changed in (("Q", "inv @ (g + out @ both)"), ("R", "inv @ (q @ both)")):
    MISTAKEN[_name] += [("mask", TWICE, _with(_name, both="m + mT(m)")), ("term", NO_IMAGE, _with(_name, both="m")),
                        ("order", LEFT, _with(_name, _changed))]  # fmt: skip


def factor_formulas(o: Observation, x: str) -> list[NamedFormula]:
    """The gradient as a formula, if the function gives a factor of the matrix x, or x scaled in a usual way along some axes."""
    return [*(_named(FACTORS[name], x) for name in _factor(o, x)), *(_named(entry, x) for entry in _normalised(o, x))]


def _normalised(o: Observation, x: str) -> list[Entry]:
    if ("normalised", x) not in o.about_right:
        a = np.asarray(o.names[x])
        found = [_normal(_axes(o, axes), eps, less) for axes, eps, less in _axes_of_normal(a, o.out)]
        with np.errstate(all="ignore"):
            o.about_right["normalised", x] = found or [*_scaled(a, o), *_cross_entropy(o, x)]
    return o.about_right["normalised", x]


def _axes(o: Observation, axes: tuple[int, ...]) -> str:
    """How a formula says which axes: as the setting that names them, if there is one, for calls have several."""
    axis, ndim = o.names.get("axis"), o.out.ndim
    named = (axis,) if isinstance(axis, int) else axis
    return "axis" if isinstance(named, tuple) and sorted(a % ndim for a in named) == sorted(axes) else str(axes)


def _scaled(a: np.ndarray, o: Observation) -> Iterator[Entry]:
    """The result is x by its norm, or by the root of its mean square, or its softmax or the logarithm of that, along some axes."""
    out = o.out
    if a.dtype.kind != "f" or a.shape != out.shape or not 1 < a.ndim <= 4 or np.any(a == 0):
        return
    for axes in (c for n in range(1, a.ndim + 1) for c in combinations(range(a.ndim), n)):
        along, known = "axes, keepdims=True", {"axes": _axes(o, axes)}
        size = a / out
        if close(size, np.broadcast_to(size.max(axes, keepdims=True), a.shape)):
            for reduce in ("sum", "mean"):
                total = getattr(a * a, reduce)(axes, keepdims=True)
                eps = float((size * size).flat[0] - total.flat[0])
                eps = next((known for known in SMALL if abs(eps - known) < 1e-10), -1.0)
                if eps >= 0 and close(a / np.sqrt(total + eps), out):
                    letters = {**known, "size": f"np.sqrt((x * x).{reduce}({along}) + {eps})", "unit": "x / size"}
                    yield f"(g - unit * (g * unit).{reduce}({along})) / size", letters
        letters = {**known, "e": f"np.exp(x - x.max({along}))", "p": f"e / e.sum({along})"}
        if np.all(out > 0) and close(out.sum(axes), np.ones_like(out.sum(axes))):
            if close(np.exp(a) / np.exp(a).sum(axes, keepdims=True), out):
                yield f"p * (g - (g * p).sum({along}))", letters
        elif np.all(out < 0) and close(a - np.log(np.exp(a).sum(axes, keepdims=True)), out):
            yield f"g - p * g.sum({along})", letters


def _cross_entropy(o: Observation, x: str) -> Iterator[Entry]:
    """The negative logarithms of the softmax at the classes that another input names, for each row, or their mean or sum."""
    a = np.asarray(o.names[x])
    for target in o.reference.inputs:
        t = np.asarray(o.names[target])
        if (
            a.dtype.kind != "f"
            or a.ndim != 2
            or t.dtype.kind not in "iu"
            or t.shape != a.shape[:1]
            or not np.all((t >= 0) & (t < a.shape[1]))
        ):
            continue
        rows = np.log(np.exp(a).sum(1)) - a[np.arange(len(a)), t]
        letters = {"e": "np.exp(x)", "p": "e / e.sum(-1, keepdims=True)", "onehot": f"np.eye(x.shape[-1])[{target}]"}
        for value, text in ((rows, "g[:, None] * (p - onehot)"), (rows.sum(), "g * (p - onehot)"), (rows.mean(), "g * (p - onehot) / n")):
            if np.shape(value) == o.out.shape and close(np.asarray(value), o.out):
                yield text, {**letters, "n": "len(x)"}


def _normal(axes: str, eps: float, less: int) -> Entry:
    """The gradient of (x - mean) / sqrt(var + eps); `less`: 1 if the variance is divided by n - 1."""
    along, known = "axes, keepdims=True", {"axes": axes}
    if less:
        letters = {**known, "rstd": f"1 / np.sqrt(x.var({along}, ddof=1) + {eps})", "z": f"(x - x.mean({along})) * rstd"}
        return f"rstd * (g - g.mean({along}) - z * (g * z).sum({along}) / (n - 1))", {"n": "(x.size // x.sum(axes).size)", **letters}
    letters = {**known, "rstd": f"1 / np.sqrt(x.var({along}) + {eps})", "z": f"(x - x.mean({along})) * rstd"}
    return f"rstd * (g - g.mean({along}) - z * (g * z).mean({along}))", letters


SMALL = (0.0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-3)


def _axes_of_normal(a: np.ndarray, out: np.ndarray) -> Iterator[tuple[tuple[int, ...], float, int]]:
    """Along which axes, with which small number under the root, and with n or n - 1, the result is x with mean 0 and variance 1."""
    if a.dtype.kind != "f" or a.shape != out.shape or not 0 < a.ndim <= 4:
        return
    for axes in (c for n in range(1, a.ndim + 1) for c in combinations(range(a.ndim), n)):
        if np.abs(out.mean(axes)).max() > 1e-9 or count(a.shape, axes) < 2:
            continue
        centred = a - a.mean(axes, keepdims=True)
        at = np.unravel_index(np.argmax(np.abs(centred)), a.shape)
        for less in (0, 1):
            variance = a.var(axes, keepdims=True, ddof=less)
            eps = float((centred[at] / out[at]) ** 2 - np.broadcast_to(variance, a.shape)[at]) if out[at] else -1.0
            eps = next((known for known in SMALL if abs(eps - known) < 1e-10), -1.0)
            if eps >= 0 and close(centred / np.sqrt(variance + eps), out):
                yield axes, eps, less


def mistaken_factors(o: Observation, x: str) -> Iterator[Family]:
    """What people take for the gradient of such a function."""
    for name in _factor(o, x):
        for family, text, entry in MISTAKEN[name]:
            formula = _named(entry, x)
            yield Family(family, text, lambda o, x, f=formula: f.evaluate(o), complete=True)


def _factor(o: Observation, x: str) -> tuple[str, ...]:
    if ("factor", x) not in o.about_right:
        o.about_right["factor", x] = _which(np.asarray(o.names[x]), o.out)
    return o.about_right["factor", x]


def _which(matrix: np.ndarray, out: np.ndarray) -> tuple[str, ...]:
    if matrix.ndim < 2 or out.ndim != matrix.ndim or matrix.dtype.kind != "f":
        return ()
    try:
        return tuple(name for name, factor in zip("QR", np.linalg.qr(matrix), strict=True) if close(out, factor))
    except np.linalg.LinAlgError:
        return ()


def _named(entry: Entry, x: str) -> NamedFormula:
    """The entry with this name for the matrix."""
    text, letters = entry
    return NamedFormula((_of(text, x), {letter: _of(what, x) for letter, what in letters.items()}), (x,))


def _of(text: str, x: str) -> str:
    return re.sub(r"\bx\b", x, text)
