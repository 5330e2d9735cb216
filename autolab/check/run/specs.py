"""The exercises on operations: a row of the table, and what the table does not know about it.

A row that is not listed here can be checked as well: its kind says which inputs it needs.
"""

from __future__ import annotations

import difflib
import importlib
import math
import pkgutil
from collections.abc import Iterable

import numpy as np

import autolab.rules
from autolab.engine.op import ELEMENTWISE, LINEAR, Op
from autolab.rules import TABLE

from .exercises import EXERCISES, KEPT
from .exercises_expectations import EXPECTATIONS
from .exercises_implicit import IMPLICIT
from .exercises_machines import MACHINES
from .exercises_matrices import MATRICES
from .inputs import LARGE, ROW_PAIRS, ROWS, draw
from .spec import Kink, Spec

POSITIVE = (0.1, 3.0)
INNER = (-0.9, 0.9)
ALONG = ({"axis": 0}, {"axis": -1})
ALONG_SEVERAL = ({"axis": None}, {"axis": (0, -1)})
OTHER_SPREADS = (KEPT, {"axis": -1, "correction": 0})


def _with_places(rng, shapes, settings):
    """Numbers, and an index along an axis that repeats some places."""
    return draw(rng, shapes[0]), rng.integers(0, shapes[0][settings["axis"]] - 1, shapes[1])


def _with_diagonal(rng, shapes, settings):
    """Square matrices far from singular ones, and other arrays as they are drawn."""
    first, *rest = (draw(rng, shape) for shape in shapes)
    return first + 7 * np.eye(first.shape[-1]), *rest


def _with_holes(rng, shapes, settings):
    """Numbers, where to fill, and with what."""
    return draw(rng, shapes[0]), rng.random(shapes[1]) > 0.6, draw(rng, ())


def _with_an_axis_of_one(rng, shapes, settings):
    """An array with an axis of size 1 where squeeze looks for it."""
    return (np.expand_dims(draw(rng, shapes[0]), settings["axis"]),)


# PyTorch's function: `selu` and `celu` are the same row with other settings.
_ELU = Op(
    "elu",
    lambda x, *, alpha, scale=1.0, rate=1.0: np.where(x > 0, scale * x, alpha * scale * np.expm1(rate * np.minimum(x, 0))),
    ELEMENTWISE,
    x=lambda g, x, alpha, scale, rate: g * np.where(x > 0, scale, alpha * scale * rate * np.exp(rate * np.minimum(x, 0))),
)

# What people call an exercise that appears here under another name.
ALIASES = {
    "avg_pool2d": "avg_pool", "binary_cross_entropy_with_logits": "bce_with_logits", "cat": "concat", "concatenate": "concat",
    "index": "take", "max_pool2d": "max_pool", "scaled_dot_product_attention": "attention", "swish": "silu", "unsqueeze": "expand_dims",
    "subtract": "sub", "multiply": "mul", "divide": "div", "leakyrelu": "leaky_relu", "ste": "round_through",
}  # fmt: skip

SPECS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec("square", Op("square", lambda x: x * x, ELEMENTWISE, x=lambda g, x: 2 * g * x), scaled=1e6),
        Spec("mul", scaled=1e6, hints={
            "not summed": "If one entry of the smaller input took part in several products, how many contributions "
                          "does its gradient have?"}),
        Spec("relu", scaled=1e6, kink=Kink("x", 0.0, slopes=(0.0, 1.0), convention=0.0)),
        Spec("add", scaled=1e6),
        Spec("sub", scaled=1e6),
        Spec("div"),
        Spec("abs", kink=Kink("x", 0.0, slopes=(-1.0, 1.0), convention=0.0)),
        Spec("exp"),
        Spec("log", domain={"x": POSITIVE}),
        Spec("sqrt", domain={"x": POSITIVE}),
        Spec("rsqrt", domain={"x": POSITIVE}),
        Spec("pow", domain={"x": POSITIVE}),
        Spec("tanh", extreme={"x": LARGE}),
        Spec("sigmoid", extreme={"x": LARGE}),
        Spec("sum", settings=ALONG, shapes=(((3, 5),), ((4, 4),), ((2, 3, 4),)), besides=(*ALONG_SEVERAL, KEPT), scaled=1e6),
        Spec("mean", settings=ALONG, shapes=(((3, 5),), ((4, 4),), ((2, 3, 4),)), besides=(*ALONG_SEVERAL, KEPT), scaled=1e6),
        Spec("softmax", settings=({"axis": -1}, {"axis": 0}), extreme={"x": LARGE}),
        Spec("log_softmax", settings=({"axis": -1}, {"axis": 0}), extreme={"x": LARGE}),
        Spec("matmul", shapes=(((3, 4), (4, 5)), ((4, 4), (4, 4)), ((2, 3, 4), (2, 4, 5))), scaled=1e6),
        Spec("mm", shapes=(((3, 4), (4, 5)), ((4, 4), (4, 4))), scaled=1e6),
        Spec("bmm", shapes=(((2, 3, 4), (2, 4, 5)), ((3, 4, 4), (3, 4, 4))), scaled=1e6),
        Spec("mv", shapes=(((3, 5), (5,)), ((4, 4), (4,))), scaled=1e6),
        Spec("dot", shapes=(((5,), (5,)), ((4,), (4,))), scaled=1e6),
        Spec("linear", shapes=(((3, 4), (5, 4), (5,)), ((4, 4), (4, 4), (4,)), ((2, 3, 4), (5, 4), (5,))), scaled=1e6),
        Spec("leaky_relu", settings=({"negative_slope": 0.15}, {"negative_slope": 0.35}),
             kink=Kink("x", 0.0, slopes=(0.15, 1.0), convention=0.15)),
        Spec("clamp", settings=({"min": -0.5, "max": 1.5}, {"min": -1.6, "max": 0.6})),
        *(Spec(name, settings=({}, {"value": -1.7})) for name in ("addcmul", "addcdiv")),
        Spec("cumsum", settings=({"axis": -1}, {"axis": 0}), scaled=1e6),
        Spec("logsumexp", settings=({"axis": -1}, {"axis": 0}), besides=(KEPT,), extreme={"x": LARGE}),
        Spec("mse_loss", settings=({"reduction": "mean"}, {"reduction": "sum"}), shapes=ROW_PAIRS, scaled=1e6),
        Spec("log1p", domain={"x": POSITIVE}),
        Spec("log2", domain={"x": POSITIVE}),
        Spec("log10", domain={"x": POSITIVE}),
        Spec("asin", domain={"x": INNER}),
        Spec("acos", domain={"x": INNER}),
        Spec("atanh", domain={"x": INNER}),
        Spec("acosh", domain={"x": (1.0, 3.0)}),
        Spec("logit", domain={"x": (0.0, 1.0)}),
        Spec("binary_cross_entropy", domain={"x": (0.0, 1.0), "target": (0.0, 1.0)}),
        Spec("xlogy", domain={"y": POSITIVE}),
        Spec("xlog1py", domain={"y": POSITIVE}),
        Spec("pow_scalar", settings=({"exponent": 3.0}, {"exponent": -2.0}), domain={"x": POSITIVE}),
        Spec("silu", extreme={"x": LARGE}),
        Spec("logaddexp", extreme={"x": LARGE}),
        Spec("std", settings=ALONG, besides=OTHER_SPREADS, shapes=ROWS),
        Spec("prod", settings=ALONG, besides=(KEPT,), shapes=ROWS),
        Spec("norm", settings=({"ord": 2, "axis": 0}, {"ord": 2, "axis": -1}), besides=({"ord": 3, "axis": -1}, {"ord": 2, **KEPT}),
             shapes=ROWS),
        Spec("amin", settings=ALONG, besides=(KEPT,), shapes=ROWS),
        Spec("cumprod", settings=ALONG, shapes=ROWS),
        Spec("flip", settings=ALONG, shapes=ROWS, scaled=1e6),
        Spec("roll", Op("roll", lambda x, *, shift, axis: np.roll(x, shift, axis), LINEAR,
                        x=lambda g, shift, axis: np.roll(g, -shift, axis)),
             settings=({"shift": 1, "axis": 0}, {"shift": 2, "axis": -1}), shapes=(((4, 5),), ((5, 3),), ((2, 3, 4),)), scaled=1e6),
        Spec("tril", settings=({"k": 0}, {"k": 1}), shapes=(((4, 5),), ((4, 4),), ((2, 4, 3),)), scaled=1e6),
        Spec("triu", settings=({"k": 0}, {"k": 1}), shapes=(((4, 5),), ((4, 4),), ((2, 4, 3),)), scaled=1e6),
        Spec("transpose", settings=({"axes": (1, 2, 0)}, {"axes": (2, 0, 1)}), shapes=(((2, 3, 4),), ((3, 3, 3),)), scaled=1e6),
        Spec("swapaxes", settings=({"axis1": -1, "axis2": -2},), besides=({"axis1": 0, "axis2": -1},),
             shapes=(((3, 5),), ((4, 4),), ((2, 3, 4),)), scaled=1e6),
        Spec("expand", settings=({"shape": (4, 3, 5)},), shapes=(((3, 5),), ((3, 1),), ((5,),)), scaled=1e6),
        Spec("repeat", settings=({"repeats": (2, 3)},), besides=({"repeats": (3, 2)},), shapes=(((3, 5),), ((4, 4),)), scaled=1e6),
        Spec("expand_dims", settings=({"axis": -2}, {"axis": -3}), shapes=(((3, 5),), ((4, 4),)), scaled=1e6),
        Spec("squeeze", settings=({"axis": 1},), besides=({"axis": 0},), shapes=(((3, 5),), ((4, 4),)),
             make=_with_an_axis_of_one, scaled=1e6),
        Spec("diagonal", settings=({"offset": 0}, {"offset": 1}), shapes=(((4, 5),), ((4, 4),)), scaled=1e6),
        Spec("gather", settings=({"axis": 0}, {"axis": 1}), shapes=(((4, 3), (3, 3)), ((4, 4), (4, 4))), make=_with_places),
        Spec("index_select", settings=({"axis": 0}, {"axis": 1}), shapes=(((4, 5), (6,)), ((4, 4), (4,))), make=_with_places),
        Spec("masked_fill", shapes=(((3, 5), (3, 5), ()), ((4, 4), (4, 4), ())), make=_with_holes),
        Spec("logcumsumexp", settings=ALONG, shapes=ROWS),
        Spec("elu", _ELU, settings=({"alpha": 1.3}, {"alpha": 0.6}), besides=({"alpha": 1.3, "scale": 1.7}, {"alpha": 1.3, "rate": 0.6})),
        *(Spec(name, domain={"x": (-8.0, 8.0)}) for name in ("hardswish", "hardsigmoid")),  # pieces that end at 3
        Spec("hardtanh", settings=({"low": -1.55, "high": 0.6}, {"low": -0.45, "high": 1.55})),
        Spec("hardshrink", settings=({"lambd": 0.6}, {"lambd": 1.4})),
        Spec("softshrink", settings=({"lambd": 0.6}, {"lambd": 1.4})),
        Spec("inv", shapes=(((3, 3),), ((4, 4),), ((2, 3, 3),)), make=_with_diagonal),
        Spec("det", shapes=(((3, 3),), ((4, 4),), ((2, 3, 3),)), make=_with_diagonal),
        Spec("solve", shapes=(((3, 3), (3, 2)), ((4, 4), (4, 4))), make=_with_diagonal),
        *EXERCISES,
        *IMPLICIT,
        *MATRICES,
        *EXPECTATIONS,
        *MACHINES,
    )
}  # fmt: skip


def spec_for(name: str) -> Spec:
    """The exercise with this name, or the plain one for a row that has none."""
    return SPECS.get(name) or SPECS.get(ALIASES.get(name, "")) or Spec(name)


def edges(spec: Spec, x: str) -> tuple[float, float]:
    """Between which numbers an operation is defined: those of its domain.

    The domains of the exercises here say what is drawn. Their operations are defined up to the next whole number, or everywhere.

    >>> edges(Spec("log", domain={"x": (0.1, 3.0)}), "x"), edges(Spec("angle", domain={"t": (0.1, 3.9)}), "t")
    ((0, inf), (0.1, 3.9))
    """
    low, high = spec.domain.get(x, (-np.inf, np.inf))
    if spec.domain != getattr(SPECS.get(spec.name), "domain", None):
        return low, high
    return math.floor(low) if low >= -1 else -np.inf, math.ceil(high) if high <= 1 else np.inf


def told_domain(spec: Spec) -> dict[str, tuple[float, float]]:
    """The domains that nothing may leave. Not those of the exercises here; not where the exercise itself says what to try outside."""
    if spec.make or spec.scaled or spec.domain == getattr(SPECS.get(spec.name), "domain", None):
        return {}
    return {x: limits for x, limits in spec.domain.items() if x not in spec.extreme}


def load_rows() -> None:
    """Some files of the table are loaded with the functions that use them; here an operation is known by its name alone."""
    for module in pkgutil.iter_modules(autolab.rules.__path__):
        importlib.import_module(f"autolab.rules.{module.name}")


def row(name: str, more_names: Iterable[str] = ()) -> Op:
    """The row of the table with this name, or of the exercise; a KeyError names those that look like it."""
    if (found := spec_for(name).row or TABLE.get(name)) is not None:
        return found
    load_rows()
    if name in TABLE:
        return TABLE[name]
    near = difflib.get_close_matches(str(name).lower(), {*TABLE, *SPECS, *ALIASES, *more_names}, 3, 0.5)
    meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise KeyError(f"no operation called {name!r} in the table of rules.{meant} `autolab rules` lists them all.")
