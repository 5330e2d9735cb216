"""Functions made of pieces, with each kink in another place, and each piece wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from autolab.check import Spec
from autolab.engine.op import ELEMENTWISE, Op

from .generated import right, wrong


@dataclass(frozen=True)
class Pieces:
    """Where each piece ends, and of each its function and its slope."""

    ends: tuple[float, ...]
    values: tuple
    slopes: tuple

    def of(self, functions, x):
        return np.select(
            [x < e for e in (*self.ends, -99)], [f(x) + 0 * x for f in (*functions[:-1], functions[-1])], functions[-1](x) + 0 * x
        )


ZERO, ONE, X = (lambda x: 0.0), (lambda x: 1.0), (lambda x: x)
FUNCTIONS = {
    "hardtanh": Pieces((-1.0, 1.0), (lambda x: -1.0, X, ONE), (ZERO, ONE, ZERO)),
    "relu6": Pieces((0.0, 2.0), (ZERO, X, lambda x: 2.0), (ZERO, ONE, ZERO)),
    "elu": Pieces((0.0,), (lambda x: np.exp(np.minimum(x, 9)) - 1, X), (lambda x: np.exp(np.minimum(x, 9)), ONE)),
    "huber": Pieces((-1.0, 1.0), (lambda x: -x - 0.5, lambda x: x * x / 2, lambda x: x - 0.5), (lambda x: -1.0, X, ONE)),
    "softshrink": Pieces((-0.5, 0.5), (lambda x: x + 0.5, ZERO, lambda x: x - 0.5), (ONE, ZERO, ONE)),
    "hardshrink": Pieces((-0.5, 0.5), (X, ZERO, X), (ONE, ZERO, ONE)),
    "hardsigmoid": Pieces((-2.0, 2.0), (ZERO, lambda x: x / 4 + 0.5, ONE), (ZERO, lambda x: 0.25, ZERO)),
    "hardswish": Pieces((-2.0, 2.0), (ZERO, lambda x: x * (x + 2) / 4, X), (ZERO, lambda x: x / 2 + 0.5, ONE)),
    "threshold": Pieces((0.7,), (lambda x: 0.1, X), (ZERO, ONE)),
    "squared_relu": Pieces((0.0,), (ZERO, lambda x: x * x), (ZERO, lambda x: 2 * x)),
    "tent": Pieces((0.0, 1.0, 2.0), (ZERO, X, lambda x: 2 - x, ZERO), (ZERO, ONE, lambda x: -1.0, ZERO)),
    "spline": Pieces((-1.0, 1.0), (lambda x: 3 * x + 2, lambda x: x**3, lambda x: 3 * x - 2), (lambda x: 3.0, lambda x: 3 * x * x, lambda x: 3.0)),
    "selu": Pieces((0.0,), (lambda x: 1.7581 * (np.exp(np.minimum(x, 9)) - 1), lambda x: 1.0507 * x), (lambda x: 1.7581 * np.exp(np.minimum(x, 9)), lambda x: 1.0507)),
    "staircase": Pieces((-1.0, 0.0, 1.0), (lambda x: 0.5 * x - 0.5, X, lambda x: 2 * x, lambda x: 3 * x - 1),
                        (lambda x: 0.5, ONE, lambda x: 2.0, lambda x: 3.0)),
    "log_tail": Pieces((1.0,), (X, lambda x: 1 + np.log(np.maximum(x, 0.1))), (ONE, lambda x: 1 / np.maximum(x, 0.1))),
    "sine_ends": Pieces((-1.5, 1.5), (lambda x: -np.sin(1.5), np.sin, lambda x: np.sin(1.5)), (ZERO, np.cos, ZERO)),
}  # fmt: skip

SIGN = "places|region|mask|sign"


def changes(p: Pieces):
    for k, end in enumerate(p.ends):
        for by in (-0.4, 0.35):
            ends = (*p.ends[:k], end + by, *p.ends[k + 1 :])
            if all(a < b for a, b in pairwise(ends)):
                yield "kink moved", "region|places|number|mask|kink", replace(p, ends=ends)
        yield (
            "kink left out",
            "region|places|mask|term|upstream only",
            Pieces((*p.ends[:k], *p.ends[k + 1 :]), (), (*p.slopes[:k], *p.slopes[k + 1 :])),
        )
        yield (
            "kink left out (other side)",
            "region|places|mask|term|upstream only",
            Pieces((*p.ends[:k], *p.ends[k + 1 :]), (), (*p.slopes[: k + 1], *p.slopes[k + 2 :])),
        )
    for k, slope in enumerate(p.slopes):

        def put(f, k=k):
            return replace(p, slopes=(*p.slopes[:k], f, *p.slopes[k + 1 :]))

        for c in (2, 0.5, 1.3):
            yield "number in a piece", "region|places|number|constant", put(lambda x, slope=slope, c=c: c * slope(x))
        yield "sign in a piece", "region|places|term sign", put(lambda x, slope=slope: -slope(x))
        yield "zero in a piece", "region|places|mask|term", put(ZERO)
        yield "g in a piece", "region|places|mask|term|upstream only|factor|step", put(ONE)
        yield "value in a piece", "region|places|forward|variable|function|mask|factor", put(p.values[k])
    if len(p.slopes) == 2:
        yield "exchanged", "mask|region|places", replace(p, slopes=p.slopes[::-1])


def make(name, p):
    made = {"p": p, "np": np}
    exec("forward = lambda x: p.of(p.values, x)\ndef back(g, x): return g * p.of(p.slopes, x)", made)
    spec = Spec(name, Op(name, made["forward"], ELEMENTWISE, x=made["back"]))
    x = np.linspace(-2.9, 2.9, 101)
    right(name, spec, lambda g, x: g * p.of(p.slopes, x))
    for family, kinds, q in changes(p):
        if np.allclose(q.of(q.slopes, x), p.of(p.slopes, x)):
            continue
        slope, of = q.of(q.slopes, x), p.of(p.slopes, x)
        simple = any(np.allclose(slope, c * of) for c in (0, -1, 0.5, 2, 4)) or np.allclose(slope, 1)
        kinds += "|zero|sign|upstream only|constant" if simple else "|function|number"  # relu6 without its upper end is relu
        wrong(f"pieces: {family}", name, spec, lambda g, x, q=q: g * q.of(q.slopes, x), kinds)


def fill() -> None:
    """Every change of every function."""
    for name, pieces in FUNCTIONS.items():
        make(name, pieces)
