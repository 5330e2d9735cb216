"""Explanations by known functions: the gradient is the right one times some function of the values, or another derivative."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...run.observation import Observation, number
from ..budget import affordable
from ..diagnosis import Mistake
from ..quiet import quiet
from .scaling import POWERS, number_of_forward

ALL_FUNCTIONS = 700  # what it counts for to try them all: see `budget.py`
FEWEST = 12  # numbers that have to fit before a function is named

Function = Callable[[Any], Any]

FUNCTIONS: dict[str, Function] = {
    "{}": lambda a: a,
    "1 + {}": lambda a: 1 + a, "1 - {}": lambda a: 1 - a,
    "1 + {}**2": lambda a: 1 + a * a, "1 - {}**2": lambda a: 1 - a * a,
    "exp({})": np.exp, "log({})": lambda a: np.log(np.abs(a)), "log(1 + {})": lambda a: np.log(np.abs(1 + a)),
    "sin({})": np.sin, "cos({})": np.cos, "tan({})": np.tan, "sinh({})": np.sinh, "cosh({})": np.cosh, "tanh({})": np.tanh,
    "exp(-{}**2)": lambda a: np.exp(-a * a), "exp({}) - 1": np.expm1,
    "1 + exp({})": lambda a: 1 + np.exp(a), "sigmoid({})": lambda a: 1 / (1 + np.exp(-a)), "2**{}": np.exp2,
    "{} / (1 + {})": lambda a: a / (1 + a),
    "sin(2 {})": lambda a: np.sin(2 * a), "cos(2 {})": lambda a: np.cos(2 * a), "exp(2 {})": lambda a: np.exp(2 * a),
    "exp(-{})": lambda a: np.exp(-a), "sigmoid({}) * (1 - sigmoid({}))": lambda a: np.exp(-a) / (1 + np.exp(-a)) ** 2,
}  # fmt: skip
ONE_AND_FUNCTIONS: dict[str, Function] = {"": np.ones_like, **FUNCTIONS}
DERIVATIVES: dict[str, Function] = {
    "exp": np.exp, "log": lambda a: 1 / a, "sin": np.cos, "cos": lambda a: -np.sin(a), "tan": lambda a: 1 / np.cos(a) ** 2,
    "sinh": np.cosh, "cosh": np.sinh, "tanh": lambda a: 1 / np.cosh(a) ** 2, "sigmoid": lambda a: np.exp(-a) / (1 + np.exp(-a)) ** 2,
    "sqrt": lambda a: 0.5 / np.sqrt(np.abs(a)), "1 / x": lambda a: -1 / a**2, "x**2": lambda a: 2 * a, "x**3": lambda a: 3 * a * a,
    "asin": lambda a: 1 / np.sqrt(1 - a * a), "atan": lambda a: 1 / (1 + a * a), "asinh": lambda a: 1 / np.sqrt(1 + a * a),
    "acosh": lambda a: 1 / np.sqrt(np.abs(a * a - 1)), "atanh": lambda a: 1 / (1 - a * a), "abs": np.sign,
    "relu": lambda a: (a > 0).astype(float), "softplus": lambda a: 1 / (1 + np.exp(-a)), "exp(-x)": lambda a: -np.exp(-a),
    "sin(x) / x": lambda a: (a * np.cos(a) - np.sin(a)) / a**2, "log(1 + x)": lambda a: 1 / (1 + a),
    "x exp(x)": lambda a: (1 + a) * np.exp(a), "x log(x)": lambda a: np.log(np.abs(a)) + 1, "1 / x**2": lambda a: -2 / a**3,
    "1 / sqrt(x)": lambda a: -0.5 * np.abs(a) ** -1.5, "x / (1 + |x|)": lambda a: 1 / (1 + np.abs(a)) ** 2,
}  # fmt: skip


@quiet
def known_function(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first of these that fits every call."""
    usable = [o for o in wrong if np.shape(o.got[x]) == o.want[x].shape and np.size(o.names[x]) == o.want[x].size]
    if len(usable) < len(wrong) or sum(o.want[x].size for o in usable) < FEWEST:
        return None
    if any(not np.all(np.isfinite(o.got[x])) or not np.all(o.got[x]) or not np.all(o.want[x]) for o in usable):
        return None
    return (_another(usable, x) or _times(usable, x)) if affordable(usable[0], ALL_FUNCTIONS) else None


ONE_NUMBER: dict[str, Function] = {"mean": np.mean, "sum": np.sum, "largest entry": np.max, "smallest entry": np.min, "median": np.median}


@quiet
def one_for_all(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """g times one number in each call, where every entry has a derivative of its own."""
    first = wrong[0]
    if not first.reference.elementwise or any(not o.got[x].shape == o.g.shape == o.want[x].shape or not np.all(o.g) for o in wrong):
        return None
    slopes = [(np.ravel(o.got[x] / o.g), np.ravel(o.want[x] / o.g)) for o in wrong]
    if not all(np.isfinite(yours).all() for yours, _ in slopes) or not any(yours.size > 1 for yours, _ in slopes):
        return None
    if any(np.ptp(yours) > 1e-9 * np.abs(yours).max() or np.ptp(right) < 1e-6 for yours, right in slopes if yours.size > 1):
        return None
    for said, one in ONE_NUMBER.items():
        if all(_is_right_for_one(o, x, one) for o in wrong):
            text = f"has one number for all entries: it is what would be right if each entry of {x} were the {said} of {x}"
            return Mistake("upstream collapsed", text, len(wrong) > 1, hint="one number")
    text = "is g times one number in each call: the local derivative is another number for each entry"
    return Mistake("upstream collapsed", text, len(wrong) > 1, hint="one number")


def _is_right_for_one(o: Observation, x: str, one: Function) -> bool:
    value = np.asarray(o.names[x], float)
    same = [np.full_like(value, one(value)) if y == x else o.names[y] for y in o.reference.inputs]
    return o.gave(x, o.reference.gradient(x, o.g, o.reference.environment(same, o.settings)))


def _along(value: np.ndarray, o: Observation, x: str) -> np.ndarray:
    """What has the shape of the result beside x: with the axis that forward removed put back."""
    shape, axis = o.want[x].shape, o.names.get("axis")
    if np.size(value) == 1:
        return np.full(shape, float(np.ravel(value)[0]))
    if np.shape(value) != shape and isinstance(axis, int) and np.ndim(value) == len(shape) - 1:
        value = np.expand_dims(value, axis)
    fits = np.ndim(value) == len(shape) and all(n in (1, m) for n, m in zip(np.shape(value), shape, strict=True))
    return np.broadcast_to(np.asarray(value, float), shape) if fits else np.full(shape, np.nan)


DERIVATIVE_OF = "has the derivative of {} in it, taken at {}"
TIMES = "is g times {}, where g times the derivative belongs"


def _another(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """g times a well-known function, or times a well-known derivative, of the input or the result."""
    local = [o.got[x] / _along(o.g, o, x) for o in wrong]
    if not all(np.all(np.isfinite(r)) for r in local):
        return None
    elementwise = all(o.reference.elementwise for o in wrong)
    for name in (x, "out"):
        said = "the result of forward" if name == "out" else name
        values = [_along(o.names[name], o, x) for o in wrong]
        for functions, words in ((DERIVATIVES, DERIVATIVE_OF), (FUNCTIONS, TIMES)):
            for function, f in functions.items():
                if function == ("{}" if elementwise else "x**2"):  # a factor, and not a function
                    continue
                c = _constant([r / f(value) for r, value in zip(local, values, strict=True)])
                mean = c is not None and np.size(wrong[0].g) == 1 and is_simple(c * wrong[0].want[x].size)
                if c is None or not (mean or is_simple(c)):
                    continue
                c = c * wrong[0].want[x].size if mean else c
                text = words.format(function, said) if functions is DERIVATIVES else words.format(function.replace("{}", said))
                return Mistake("function", text + ("" if math.isclose(c, 1) else f"; besides, it is multiplied by {number(c)}"))
    return None


@quiet
def other_terms(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The right one, and g times a well-known function besides."""
    if any(np.shape(o.got[x]) != o.want[x].shape for o in wrong) or sum(o.want[x].size for o in wrong) < FEWEST:
        return None
    rest = [(o.got[x] - o.want[x]) / _along(o.g, o, x) for o in wrong]
    names = [n for n in (*wrong[0].reference.inputs, "out") if n in wrong[0].names and wrong[0].names[n].dtype.kind == "f"]
    for name in names:
        values = [_along(o.names[name], o, x) for o in wrong]
        for words, f in ONE_AND_FUNCTIONS.items():
            c = _constant([r / f(value) for r, value in zip(rest, values, strict=True)])
            if c is None or not is_simple(c):
                continue
            said = words.replace("{}", "the result of forward" if name == "out" else name)
            what = " times ".join(filter(None, ["" if math.isclose(abs(c), 1) else number(abs(c)), "g", said]))
            return Mistake("extra term", f"is the right one {'plus' if c > 0 else 'minus'} {what}: a term too many, or one too few")
    return None


def _times(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The right one times a power of one function of the values, or times one and divided by another."""
    ratio = [o.got[x] / o.want[x] for o in wrong]
    names = [n for n in (*wrong[0].reference.inputs, "out") if all(np.shape(o.names[n]) == o.want[x].shape for o in wrong)]
    atoms: dict[str, np.ndarray] = {}
    for name in names:
        for template, f in FUNCTIONS.items():
            with np.errstate(all="ignore"):
                atoms[template.replace("{}", name)] = np.concatenate([np.ravel(f(np.asarray(o.names[name], float))) for o in wrong])
    kept = {k: v for k, v in atoms.items() if np.all(np.isfinite(v)) and np.all(v) and np.ptp(np.abs(v)) > 1e-9}
    if not kept:
        return None
    words, logs = list(kept), np.log(np.abs(np.stack(list(kept.values()))))
    signs = np.sign(np.stack(list(kept.values())))
    target = np.log(np.abs(np.concatenate([np.ravel(r) for r in ratio])))
    sign = np.sign(np.concatenate([np.ravel(r) for r in ratio]))
    starts = np.cumsum([0, *(r.size for r in ratio)])[:-1]
    for power, said in POWERS.items():
        for i in np.flatnonzero(_level(target - power * logs, starts)):
            both = sign * (signs[i] if power % 2 == 1 else 1)
            if _one_sign(both):
                minus = "" if both[0] > 0 else ", and has the wrong sign"
                times = _number(target - power * logs[i], wrong[0])
                return Mistake("factor", f"is the right one {said.format(_bracket(words[i]))}{times}{minus}")
    # What is one number throughout differs by 0 from place to place; most pairs fail at the first step, on which all are compared.
    longest = int(np.argmax([r.size for r in ratio]))
    few = slice(starts[longest], starts[longest] + min(ratio[longest].size, FEWEST // 2))
    steps, wanted = np.diff(logs[:, few]), np.diff(target[few])
    if not wanted.size:  # numbers alone: all pairs are near
        steps, wanted = np.zeros((len(logs), 1)), np.zeros(1)
    for (p, q), said in PAIRS.items():
        near = np.argwhere(np.abs((wanted[0] - p * steps[:, None, 0]) - q * steps[None, :, 0]) < 1e-8)
        off = np.abs(wanted - p * steps[near[:, 0]] - q * steps[near[:, 1]]).max(axis=-1)
        for i, j in near[off < 1e-8]:
            both = sign * (signs[i] if p % 2 == 1 else 1) * (signs[j] if q % 2 == 1 else 1)
            if i != j and (p != q or i < j) and _one_sign(both) and _level(target - p * logs[i] - q * logs[j], starts):
                family = "factor" if p == q else "function"
                minus = "" if both[0] > 0 else "; and it has the wrong sign"
                of_exponential = OF_EXPONENTIAL if p == q == 1 and words[j] == f"log({words[i]})" else ""
                return Mistake(family, f"{said.format(_bracket(words[i]), _bracket(words[j]))}{of_exponential}{minus}")
    return None


PAIRS = {(1, -1): "is the right one times {} and divided by {}: one of them is where the other belongs",
         (-1, 1): "is the right one divided by {} and times {}: one of them is where the other belongs",
         (-0.5, 0.5): "has the root of {} where that of {} belongs, as a divisor", (2, -1): "has the square of {} where {} belongs",
         (1, 1): "is the right one times {} and {}",
         (-1, -1): "is the right one divided by {} and {}",
         (2, 2): "is the right one times the squares of {} and {}",
         (-2, -2): "is the right one divided by the squares of {} and {}"}  # fmt: skip


OF_EXPONENTIAL = ": as in the rule of an exponential, which has the log of its base, where that of a power belongs"


def _level(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Is each row one number in each call? `starts`: where the numbers of each call begin."""
    spread = np.maximum.reduceat(values, starts, axis=-1) - np.minimum.reduceat(values, starts, axis=-1)
    return np.asarray((spread < 1e-8).all(axis=-1))


def _number(logs: np.ndarray, o: Observation) -> str:
    c = math.exp(float(logs[0])) if np.ptp(logs) < 1e-8 else 1.0
    origin = number_of_forward(c, o)
    return "" if math.isclose(c, 1, rel_tol=1e-8) else f", times {number(c)}" + (f" ({origin})" if origin else "")


def _bracket(words: str) -> str:
    return f"({words})" if " " in words and "(" not in words.split(" ")[0] else words


def _constant(ratios: list[np.ndarray]) -> float | None:
    every = np.concatenate([np.ravel(r) for r in ratios])
    if not np.all(np.isfinite(every)) or np.ptp(every) > 1e-9 * np.abs(every).max():
        return None
    return float(every[0])


def is_simple(c: float) -> bool:
    """A number that people forget or put in: a small fraction, pi, ln 2 and such."""
    known = (math.pi, math.log(2), math.log(10), math.sqrt(2), math.sqrt(math.pi), math.sqrt(2 * math.pi))
    bases = [1.0, *known, *(1 / k for k in known)]
    return any(math.isclose(abs(c) * d, n * b, rel_tol=1e-9) for b in bases for n in (1, 2, 3) for d in (1, 2, 3))


def _one_sign(signs: np.ndarray) -> bool:
    return bool(np.all(signs == signs.flat[0]))
