"""Wrong rules by families crossed with operations: other axes, other sizes, sums in the wrong order, lost digits.

Each operation is written once, with its gradient, and asks a plan at each place where it needs an axis, a size, or a sum
over g. A family is a plan that answers one of these questions wrongly; it is applied to every operation and every setting.

python -m tests.check.families_axes [-v]    # how many are named, on the half that is looked at and on the other
"""

from __future__ import annotations

import argparse
import os
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from autolab.check import Spec, check
from autolab.engine.op import GENERAL, Op


class Plan:
    """The right answers to what an operation asks."""

    def axis(self, place: str, axis: Any, x: np.ndarray) -> Any:
        return axis

    def size(self, place: str, n: int, x: np.ndarray, axis: Any) -> float:
        return n

    def sum(self, place: str, g: np.ndarray, v: Any, axis: Any) -> np.ndarray:
        """The sum of g * v, with its axis kept."""
        return (g * v).sum(axis, keepdims=True)

    def lift(self, g: np.ndarray, x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
        if keepdims or np.ndim(g) == x.ndim:
            return g
        return np.reshape(g, tuple(1 if i in axes_of(axis, x.ndim) else n for i, n in enumerate(x.shape)))

    def result(self, gradient: np.ndarray) -> np.ndarray:
        return gradient


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim for a in ((axis,) if isinstance(axis, int) else axis))


def count(x: np.ndarray, axis: Any) -> int:
    return int(np.prod([x.shape[a] for a in axes_of(axis, x.ndim)]))


class Operation(NamedTuple):
    """A forward on (x, axis, keepdims) and its gradient, which asks a plan."""

    forward: Callable
    backward: Callable  # of plan, g, x, axis, with g lifted
    reduces: bool
    domain: tuple[float, float] = (-3.0, 3.0)
    tuples: bool = True  # does it take None and tuples for an axis?


OPERATIONS: dict[str, Operation] = {}


def operation(name: str, forward: Callable, reduces: bool, **more: Any) -> Callable:
    def keep(backward):
        OPERATIONS[name] = Operation(forward, backward, reduces, **more)
        return backward

    return keep


def K(axis):  # noqa: N802
    return {"axis": axis, "keepdims": True}


def sumk(x, axis):
    return x.sum(axis, keepdims=True)


# --- reductions: of x, an axis (a number, several, or None), keepdims


@operation("mean", lambda x, axis, k: x.mean(axis, keepdims=k), True)
def _(plan, g, x, axis):
    return g * np.ones_like(x) / plan.size("the mean", count(x, axis), x, axis)


@operation("var", lambda x, axis, k: x.var(axis, keepdims=k, ddof=1), True)
def _(plan, g, x, axis):
    a = plan.axis("the mean", axis, x)
    return 2 * g * (x - x.mean(a, keepdims=True)) / plan.size("n - 1", count(x, axis) - 1, x, axis)


def std(x, axis, ddof=0):
    return x.std(axis, keepdims=True, ddof=ddof)


@operation("biased_std", lambda x, axis, k: x.std(axis, keepdims=k), True)
def _(plan, g, x, axis):
    a, b = plan.axis("the mean", axis, x), plan.axis("the deviation", axis, x)
    n = plan.size("the variance", count(x, axis), x, axis)
    variance = sumk((x - x.mean(b, keepdims=True)) ** 2, b) / (n if b == axis else count(x, b))
    return g * (x - x.mean(a, keepdims=True)) / np.sqrt(variance) / count(x, axis)


@operation("norm", lambda x, axis, k: np.sqrt((x * x).sum(axis, keepdims=k)), True)
def _(plan, g, x, axis):
    return g * x / np.sqrt(sumk(x * x, plan.axis("the norm", axis, x)))


@operation("root_mean_square", lambda x, axis, k: np.sqrt((x * x).mean(axis, keepdims=k)), True)
def _(plan, g, x, axis):
    a = plan.axis("the root", axis, x)
    n = plan.size("under the root", count(x, a), x, axis)
    return g * x / np.sqrt(sumk(x * x, a) / n) / plan.size("outside", count(x, axis), x, axis)


@operation("logsumexp", lambda x, axis, k: np.log(np.exp(x).sum(axis, keepdims=k)), True)
def _(plan, g, x, axis):
    a, b = plan.axis("the maximum and the sum", axis, x), plan.axis("the sum", axis, x)
    e = np.exp(x - x.max(a, keepdims=True)) if a == axis else np.exp(x)
    return g * e / sumk(e, b if a == axis else a)


@operation("logmeanexp", lambda x, axis, k: np.log(np.exp(x).mean(axis, keepdims=k)), True)
def _(plan, g, x, axis):
    e = np.exp(x)
    return g * e / sumk(e, plan.axis("the sum", axis, x))


@operation("p_norm", lambda x, axis, k: (np.abs(x) ** 3).sum(axis, keepdims=k) ** (1 / 3), True)
def _(plan, g, x, axis):
    return g * x * np.abs(x) / sumk(np.abs(x) ** 3, plan.axis("the norm", axis, x)) ** (2 / 3)


@operation("geometric_mean", lambda x, axis, k: np.exp(np.log(x).mean(axis, keepdims=k)), True, domain=(0.2, 3.0))
def _(plan, g, x, axis):
    a = plan.axis("the mean", axis, x)
    return g * np.exp(np.log(x).mean(a, keepdims=True)) / x / plan.size("n", count(x, axis), x, axis)


@operation("harmonic_mean", lambda x, axis, k: 1 / (1 / x).mean(axis, keepdims=k), True, domain=(0.2, 3.0))
def _(plan, g, x, axis):
    a = plan.axis("the mean", axis, x)
    return g / (1 / x).mean(a, keepdims=True) ** 2 / x**2 / plan.size("n", count(x, axis), x, axis)


@operation("spread_of_cubes", lambda x, axis, k: ((x - x.mean(axis, keepdims=True)) ** 3).mean(axis, keepdims=k), True)
def _(plan, g, x, axis):
    a, b = plan.axis("the mean of x", axis, x), plan.axis("the mean of squares", axis, x)
    d = x - x.mean(a, keepdims=True)
    n = plan.size("the mean of squares", count(x, b), x, axis)
    return 3 * g * (d**2 - sumk(d**2, b) / n) / count(x, axis)


@operation("amax", lambda x, axis, k: x.max(axis, keepdims=k), True)
def _(plan, g, x, axis):
    return g * (x == x.max(plan.axis("the maximum", axis, x), keepdims=True))


@operation("range", lambda x, axis, k: np.ptp(x, axis, keepdims=k), True)
def _(plan, g, x, axis):
    a, b = plan.axis("the maximum", axis, x), plan.axis("the minimum", axis, x)
    return g * ((x == x.max(a, keepdims=True)) * 1.0 - (x == x.min(b, keepdims=True)))


@operation("entropy", lambda x, axis, k: -(x * np.log(x)).sum(axis, keepdims=k) / x.sum(axis, keepdims=k), True, domain=(0.2, 3.0))
def _(plan, g, x, axis):
    a, b = plan.axis("the numerator", axis, x), plan.axis("the denominator", axis, x)
    total, logs = sumk(x, b), sumk(x * np.log(x), a)
    return g * (logs / total**2 - (np.log(x) + 1) / total)


# --- what keeps its shape: of x and an axis


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / sumk(e, axis)


@operation("softmax", lambda x, axis, k: softmax(x, axis), False)
def _(plan, g, x, axis):
    p, b = softmax(x, plan.axis("the probabilities", axis, x)), plan.axis("the sum", axis, x)
    return p * (g - plan.sum("the sum", g, p, b))


@operation("log_softmax", lambda x, axis, k: np.log(softmax(x, axis)), False)
def _(plan, g, x, axis):
    p, b = softmax(x, plan.axis("the probabilities", axis, x)), plan.axis("the sum", axis, x)
    return g - p * sumk(g, b)


@operation("softmin", lambda x, axis, k: softmax(-x, axis), False)
def _(plan, g, x, axis):
    p, b = softmax(-x, plan.axis("the probabilities", axis, x)), plan.axis("the sum", axis, x)
    return p * (plan.sum("the sum", g, p, b) - g)


@operation("normalize", lambda x, axis, k: x / np.sqrt(sumk(x * x, axis)), False)
def _(plan, g, x, axis):
    a, b = plan.axis("the norm", axis, x), plan.axis("the sum", axis, x)
    n = np.sqrt(sumk(x * x, a))
    return g / n - x * plan.sum("the sum", g, x, b) / n**3


@operation("share", lambda x, axis, k: x / sumk(x, axis), False, domain=(0.2, 3.0))
def _(plan, g, x, axis):
    total, b = sumk(x, plan.axis("the total", axis, x)), plan.axis("the sum", axis, x)
    return g / total - plan.sum("the sum", g, x, b) / total**2


@operation("centre", lambda x, axis, k: x - x.mean(axis, keepdims=True), False)
def _(plan, g, x, axis):
    a = plan.axis("the mean", axis, x)
    return g - sumk(g, a) / plan.size("the mean", count(x, a), x, axis)


@operation("standardize", lambda x, axis, k: (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5), False)
def _(plan, g, x, axis):
    a, b = plan.axis("mean and deviation", axis, x), plan.axis("the sums", axis, x)
    d, n = x - x.mean(a, keepdims=True), count(x, b)
    r = 1 / np.sqrt(sumk(d * d, a) / plan.size("the variance", count(x, a), x, axis) + 1e-5)
    z = d * r
    m1, m2 = sumk(g, b) / plan.size("the mean of g", n, x, b), plan.sum("the mean of g z", g, z, b) / plan.size("the mean of g z", n, x, b)
    return r * (g - m1 - z * m2)


@operation("rms_normalize", lambda x, axis, k: x / np.sqrt((x * x).mean(axis, keepdims=True) + 1e-5), False)
def _(plan, g, x, axis):
    a, b = plan.axis("the root", axis, x), plan.axis("the sum", axis, x)
    r = 1 / np.sqrt(sumk(x * x, a) / plan.size("under the root", count(x, a), x, axis) + 1e-5)
    z = x * r
    return r * (g - z * plan.sum("the mean", g, z, b) / plan.size("the mean", count(x, b), x, b))


@operation("cumsum", lambda x, axis, k: x.cumsum(axis), False, tuples=False)
def _(plan, g, x, axis):
    a = plan.axis("the running sum", axis, x)
    return np.flip(np.flip(g, a).cumsum(a), a) if a is not None else g.ravel()[::-1].cumsum()[::-1].reshape(x.shape)


@operation("cumprod", lambda x, axis, k: x.cumprod(axis), False, tuples=False)
def _(plan, g, x, axis):
    a = plan.axis("the running product", axis, x)
    if a is None:
        a, (g, x), shape = 0, (g.ravel(), x.ravel()), x.shape
        return (np.flip(np.flip(g * x.cumprod(a), a).cumsum(a), a) / x).reshape(shape)
    return np.flip(np.flip(g * x.cumprod(a), a).cumsum(a), a) / x


@operation("logcumsumexp", lambda x, axis, k: np.log(np.exp(x).cumsum(axis)), False, tuples=False)
def _(plan, g, x, axis):
    a, b = plan.axis("the running sum", axis, x), plan.axis("the sum of g", axis, x)
    if a is None or b is None:
        raise LookupError("along an axis only")
    e = np.exp(x)
    return e * np.flip(np.flip(g / e.cumsum(a), b).cumsum(b), b)


@operation("sort", lambda x, axis, k: np.sort(x, axis), False, tuples=False)
def _(plan, g, x, axis):
    a = plan.axis("the order", axis, x)
    if a is None:
        out = np.empty(x.size)
        out[x.ravel().argsort()] = g.ravel()
        return out.reshape(x.shape)
    return np.take_along_axis(g, x.argsort(a).argsort(a), a)


@operation("running_mean", lambda x, axis, k: x.cumsum(axis) / counts(x, axis), False, tuples=False)
def _(plan, g, x, axis):
    a, b = plan.axis("the running sum", axis, x), plan.axis("the counts", axis, x)
    if a is None or b is None:
        raise LookupError("along an axis only")
    return np.flip(np.flip(g / counts(x, b), a).cumsum(a), a)


def counts(x, axis):
    return np.arange(1, x.shape[axis] + 1).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


@operation("minmax_scale", lambda x, axis, k: (x - x.min(axis, keepdims=True)) / np.ptp(x, axis, keepdims=True), False)
def _(plan, g, x, axis):
    a, b = plan.axis("the range", axis, x), plan.axis("the sums", axis, x)
    low, high = x.min(a, keepdims=True), x.max(a, keepdims=True)
    r, z = high - low, (x - low) / (high - low)
    return (g - (x == low) * plan.sum("low", g, 1 - z, b) - (x == high) * plan.sum("high", g, z, b)) / r


# --- families


class Always(Plan):
    """Another axis at one place, or everywhere."""

    def __init__(self, place: str, to: Callable):
        self.place, self.to = place, to

    def axis(self, place, axis, x):
        return self.to(axis, x) if self.place in ("everywhere", place) else axis


class Sized(Plan):
    """Another size at one place."""

    def __init__(self, place: str, to: Callable):
        self.place, self.to = place, to

    def size(self, place, n, x, axis):
        return self.to(n, x, axis) if place == self.place else n


class Summed(Plan):
    """g multiplied in after the sum."""

    def __init__(self, place: str, how: Callable):
        self.place, self.how = place, how

    def sum(self, place, g, v, axis):
        return self.how(g, v, axis) if place == self.place else super().sum(place, g, v, axis)


class Lifted(Plan):
    def __init__(self, how: Callable):
        self.how = how

    def lift(self, g, x, axis, keepdims):
        return self.how(g, x, axis, keepdims)


class Finished(Plan):
    def __init__(self, how: Callable):
        self.result = how


def other(axis, x):
    """The axis that is not meant: of two, the other one."""
    if axis is None:
        raise LookupError("all are meant")
    return tuple(a for a in range(x.ndim) if a not in axes_of(axis, x.ndim)) if not isinstance(axis, int) else (axis + 1) % x.ndim


AXES: dict[str, Callable] = {
    "over everything": lambda axis, x: None,
    "last": lambda axis, x: -1,
    "first": lambda axis, x: 0,
    "other": other,
    "first of several": lambda axis, x: axis[0] if isinstance(axis, tuple) else axis,
    "last of several": lambda axis, x: axis[-1] if isinstance(axis, tuple) else axis,
}
SIZES: dict[str, Callable] = {
    "n - 1": lambda n, x, axis: n - 1,
    "n + 1": lambda n, x, axis: n + 1,
    "all entries": lambda n, x, axis: x.size,
    "the first axis": lambda n, x, axis: x.shape[0],
    "the last axis": lambda n, x, axis: x.shape[-1],
    "the other axes": lambda n, x, axis: x.size // count(x, axis),
}
SUMS: dict[str, Callable] = {
    "of both": lambda g, v, axis: sumk(g, axis) * sumk(v * np.ones_like(g), axis),
    "g after": lambda g, v, axis: g * sumk(v * np.ones_like(g), axis),
    "of g alone": lambda g, v, axis: sumk(g, axis) * v,
    "mean": lambda g, v, axis: (g * v).mean(axis, keepdims=True),
}
LIFTS: dict[str, Callable] = {
    "at the end": lambda g, x, axis, k: np.broadcast_to(g[..., None] if not k else g, x.shape),
    "not at all": lambda g, x, axis, k: np.broadcast_to(g, x.shape),
    "summed before": lambda g, x, axis, k: Plan().lift(np.full_like(g, g.sum()), x, axis, k),
}
DIGITS: dict[str, Callable] = {
    "whole numbers": lambda a: a.astype(int),
    "rounded": np.round,
    "two digits": lambda a: np.round(a, 2),
    "clipped to 1": lambda a: np.clip(a, -1, 1),
    "clipped to a bound": lambda a: np.clip(a, -0.37, 0.37),
    "clipped below": lambda a: np.maximum(a, -0.21),
    "bytes": lambda a: a.astype(np.int8),
    "float16": lambda a: a.astype(np.float16).astype(float),
}
EXPECTED = {
    "axis": {"axis", "wrong axis"},
    "size": {"constant", "size", "number", "averaged", "factor"},
    "sum": {"early sum", "averaged", "factor", "variable", "term", "upstream collapsed", "diagonal only", "zero"},
    "lift": {"axis", "keepdims", "upstream collapsed", "wrong axis", "not spread"},
    "digits": {"precision", "clipped", "zero"},
}
# The settings that each wrong rule is tried with: one kind at a time, and mixed.
SETTINGS: dict[str, tuple[dict, ...]] = {
    "int": ({"axis": 0}, {"axis": -1}),
    "middle": ({"axis": 1}, {"axis": 0}),
    "none": ({"axis": None},),
    "tuple": ({"axis": (0, 1)}, {"axis": (0, 2)}),
    "keepdims": ({"axis": 0, "keepdims": True}, {"axis": -1, "keepdims": True}),
    "mixed": ({"axis": None}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": 1}),
}
IN_THE_TABLE = ("mean", "var", "norm", "logsumexp", "amax", "softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp")
SHAPES = (((3, 5),), ((4, 4),), ((2, 3, 4),))
DEEP = (((2, 3, 4),), ((3, 3, 3),), ((2, 5, 3),))


@dataclass(eq=False)
class Made:
    """One wrong rule on one operation with one kind of settings."""

    name: str
    family: str
    kind: str
    plan: Plan
    settings: str
    spec: Spec
    rule: Callable = field(repr=False)
    equal: bool = False  # does it give what the right rule gives?

    @property
    def held_out(self) -> bool:
        return zlib.crc32(self.name.encode()) % 2 == 0


def spec_of(name: str, kind: str, closed: bool = True) -> Spec:
    """The exercise: with a function for its rule that the checker cannot read, or the row of the table."""
    operation = OPERATIONS[name]
    if operation.reduces:

        def forward(x, *, axis=None, keepdims=False):
            return operation.forward(x, axis, keepdims)

        def rule(g, x, axis, keepdims):
            return operation.backward(Plan(), Plan().lift(g, x, axis, keepdims), x, axis)
    else:

        def forward(x, *, axis=None):
            return operation.forward(x, axis, False)

        def rule(g, x, axis):
            return operation.backward(Plan(), g, x, axis)

    deep = kind in ("tuple", "mixed", "middle")
    made = list(SETTINGS[kind])
    if not operation.reduces:
        made = [{"axis": s["axis"]} for s in made]
    row = Op(f"{name}_of_mine", forward, GENERAL, x=rule) if closed else None
    return Spec(name, row, settings=tuple(made), shapes=DEEP if deep else SHAPES, domain={"x": operation.domain})


def wrong_rule(name: str, plan: Plan) -> Callable:
    operation = OPERATIONS[name]
    if operation.reduces:

        def wrong(g, x, axis, keepdims=False):
            return plan.result(operation.backward(plan, plan.lift(g, x, axis, keepdims), x, axis))
    else:

        def wrong(g, x, axis):
            return plan.result(operation.backward(plan, g, x, axis))

    return wrong


class Asked(Plan):
    """Notes what an operation asks."""

    def __init__(self):
        self.places: dict[str, dict[str, None]] = {"axis": {}, "size": {}, "sum": {}}

    def axis(self, place, axis, x):
        self.places["axis"][place] = None
        return axis

    def size(self, place, n, x, axis):
        self.places["size"][place] = None
        return n

    def sum(self, place, g, v, axis):
        self.places["sum"][place] = None
        return super().sum(place, g, v, axis)


def plans(name: str) -> Iterator[tuple[str, str, Plan]]:
    """Every family wherever it can be: family, which, plan."""
    operation, asked = OPERATIONS[name], Asked()
    x = np.random.default_rng(0).uniform(0.3, 2, (3, 4))
    g = Plan().lift(np.asarray(operation.forward(x, 0, False)), x, 0, False)
    operation.backward(asked, g, x, 0)
    places = list(asked.places["axis"])
    for place in [*places, *["everywhere"] * (len(places) > 1)]:
        for said, to in AXES.items():
            yield "axis", f"{place}: {said}", Always(place, to)
    for place in asked.places["size"]:
        for said, to in SIZES.items():
            yield "size", f"{place}: {said}", Sized(place, to)
    for place in asked.places["sum"]:
        for said, how in SUMS.items():
            yield "sum", f"{place}: {said}", Summed(place, how)
    for said, how in LIFTS.items() if operation.reduces else ():
        yield "lift", said, Lifted(how)
    for said, how in DIGITS.items():
        yield "digits", said, Finished(how)


def made() -> Iterator[Made]:
    """Every wrong rule."""
    for name, operation in OPERATIONS.items():
        for family, which, plan in plans(name):
            for kind in SETTINGS:
                if (not operation.tuples and kind in ("none", "tuple", "mixed")) or (not operation.reduces and kind == "keepdims"):
                    continue
                for closed in (True, False)[: 1 + (name in IN_THE_TABLE)]:
                    yield Made(name, family, which, plan, kind, spec_of(name, kind, closed), wrong_rule(name, plan))


def is_right(m: Made) -> bool:
    """Does the plan change nothing with these settings and shapes? Or does it always raise?"""
    rng, right, raised, calls = np.random.default_rng(3), True, 0, 0
    right_one = spec_of(m.name, m.settings).row
    forward, rule = right_one.forward, right_one.rules["x"].function
    for settings in m.spec.settings:
        for (shape,) in m.spec.shapes:
            x = rng.uniform(*m.spec.domain["x"], shape)
            out = np.asarray(forward(x, **settings))
            g = rng.normal(size=out.shape)
            more = {"keepdims": False, **settings} if OPERATIONS[m.name].reduces else settings
            calls += 1
            try:
                got = m.rule(g, x, **more)
                if np.shape(got) != x.shape or not np.all(np.isfinite(got)):
                    raise ValueError
            except Exception:
                raised += 1
                continue
            right &= bool(np.allclose(got, rule(g, x, **more), rtol=1e-9, atol=1e-12))
    return right or raised == calls


def run(verbose: bool = False, only: str = "", half: str = "", every: int = 1) -> dict[str, Any]:
    """Judge all of them: named by family, kind of settings and half."""
    os.environ["AUTOLAB_HOME"] = "off"
    counts_: dict[tuple, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    times, shown = [], []
    for i, m in enumerate(made()):
        if (
            i % every
            or (only and only not in f"{m.name} {m.family} {m.settings} {m.kind} {'closed' if m.spec.row else 'table'}")
            or is_right(m)
        ):
            continue
        if half and m.held_out != (half == "held"):
            continue
        start = time.process_time()
        report = check(m.spec, m.rule)
        times.append(1e3 * (time.process_time() - start))
        found = report.diagnoses
        known = {f for d in found if d.certainty != "unknown" for f in (d.family, *d.alternatives)}
        named = bool(known & EXPECTED[m.family])
        false = bool(found and found[0].certainty == "certain" and found[0].family not in EXPECTED[m.family])
        for key in (
            ("all",),
            ("family", m.family),
            ("settings", m.settings),
            ("half", "held out" if m.held_out else "seen"),
            ("op", m.name),
            ("rule", "closed" if m.spec.row else "of the table"),
        ):
            entry = counts_[key]
            entry[0] += 1
            entry[1] += not report.passed
            entry[2] += named
            entry[3] += false
        if verbose and (not named or false or report.passed):
            said = f"{found[0].family} ({found[0].certainty}): {found[0].text[:150]}" if found else "nothing"
            shown.append(
                f"{m.name}{'' if m.spec.row else ' (table)'} | {m.family} | {m.kind} | {m.settings}: {'FALSE ' if false else ''}{said}"
            )
    if verbose:
        print("\n".join(shown))
    for key, (n, caught, named, false) in sorted(counts_.items()):
        print(f"{' '.join(key):32}{n:6} caught {caught:6} named {100 * named / n:6.1f} %  certain and false {false}")
    if times:
        print(f"median {np.median(times):.1f} ms, 99 % {np.percentile(times, 99):.1f} ms, most {max(times):.1f} ms")
    return counts_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--half", default="", choices=["", "seen", "held"])
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    run(args.verbose, args.only, args.half, args.every)


if __name__ == "__main__":
    main()
