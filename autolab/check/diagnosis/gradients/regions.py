"""Functions made of pieces: where a rule leaves the right derivative, and what it does there.

The rule is called on many numbers at once, close together, and so is the right one. Both are curves; where they part are intervals, of
the input or of something simple that is made from the inputs. What is said of an interval is seen there, and at its ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...run.observation import Observation, number
from ..budget import affordable, lines_for_each
from ..diagnosis import Mistake
from ..quiet import quiet

POINTS = 1500
CURVES = 100  # what it counts for to ask both rules about them: see `budget.py`
MOST_LINES = 30_000  # of Python, that one of them may run more for so many numbers than for a few
MOST_INTERVALS = 2
MOST_PIECES = 4  # in which the gradient is another multiple of the right one
FEWEST = 12  # points in an interval
SEEN = 1e-6  # how far off, of the largest slope, the gradient is soon after a piece begins; what a series leaves out begins with less


@dataclass(frozen=True)
class Curve:
    """At many points: a coordinate in increasing order, the derivative that came back (with g) and the right one, and g."""

    words: str
    at: np.ndarray
    got: np.ndarray
    want: np.ndarray
    g: np.ndarray
    low: float
    high: float
    of_each: bool = True  # does each point have a result and a g of its own, and not a share in one sum?

    @property
    def wrong(self) -> np.ndarray:
        """Where the two differ."""
        return ~np.isclose(self.got, self.want, rtol=1e-8, atol=1e-10)

    def intervals(self) -> list[tuple[int, int]]:
        """From which point to which (not included) they differ."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.wrong.astype(np.int8), [0]])))
        return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]

    def begins(self, a: int, b: int) -> bool:
        """Does the mistake begin at the ends of this interval, and not only grow beyond what rounding hides?"""
        off, size = np.abs(self.got - self.want), np.abs(self.want).max()
        inside = [off[a : a + FEWEST]] * (a > 0) + [off[b - FEWEST : b]] * (b < len(self.at))
        return all(part.max() > SEEN * size for part in inside)


@quiet
def find_regions(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Right but for one interval, or two, in what a formula may ask for; which, and what is there. Or wrong by a number in each."""
    found = _regions(wrong, x) if _is_entry_by_entry(wrong[0], x) else None
    others = [o for o in wrong if o.settings != wrong[0].settings]
    if not found or not others or not NUMBER.search(found.text):
        return found
    again = _regions([o for o in others if o.settings == others[0].settings], x)
    return replace(found, text=_in_settings(found.text, again.text if again else "", wrong[0].settings, others[0].settings))


def _is_entry_by_entry(o: Observation, x: str) -> bool:
    """Does each entry of g come to its own place alone? Where g is turned round, a place says nothing of its input."""
    got = o.got[x]
    if o.ask is None or not o.reference.elementwise or got.shape != o.g.shape or o.g.size < 2:
        return True
    other = np.array(o.g)
    other.flat[0] *= 1.5
    answers = o.ask([other])
    return not answers or answers[0][x] is None or np.array_equal(answers[0][x].flat[1:], got.flat[1:], equal_nan=True)


NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\.?\w)")
TIMES = re.compile(r"it is \S+ times the right one")
OF_A_SETTING: dict[str, Callable[[float], float]] = {
    "{}": lambda s: s, "1 - {}": lambda s: 1 - s, "{} / (1 - {})": lambda s: s / (1 - s), "(1 - {}) / {}": lambda s: (1 - s) / s,
    "1 / {}": lambda s: 1 / s, "1 / (1 - {})": lambda s: 1 / (1 - s), "2 * {}": lambda s: 2 * s, "{} / 2": lambda s: s / 2,
    "{}**2": lambda s: s * s, "1 / {}**2": lambda s: 1 / (s * s), "1 + {}": lambda s: 1 + s, "1 / (1 + {})": lambda s: 1 / (1 + s),
    "1 / (2 * {})": lambda s: 0.5 / s, "{} - 1": lambda s: s - 1,
}  # fmt: skip


def _in_settings(text: str, other: str, settings: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """The sentence with a setting in the place of each number that is another one in calls with another setting."""
    if text == other:
        return text
    known = [name for name, value in settings.items() if isinstance(value, float) and isinstance(others.get(name), float)]
    parts = NUMBER.split(text)
    if parts != NUMBER.split(other):
        return f"{text} (with {', '.join(f'{name}={value!r}' for name, value in settings.items())})"
    said = [_of_settings(float(a), float(b), known, settings, others) or a if a != b else a
            for a, b in zip(NUMBER.findall(text), NUMBER.findall(other), strict=True)]  # fmt: skip
    whole = "".join(part + number for part, number in zip(parts, [*said, ""], strict=True))
    if all(a == b or s != a for s, a, b in zip(said, NUMBER.findall(text), NUMBER.findall(other), strict=True)):
        return whole
    return TIMES.sub("it is another multiple of the right one", whole)


def _of_settings(a: float, b: float, known: Sequence[str], settings: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """The expression of one setting that is the one number in these calls and the other in those."""
    for name in known:
        for words, f in OF_A_SETTING.items():
            for sign in (1, -1):
                s, t = (sign * f(float(some[name])) for some in (settings, others))
                if np.isclose(a, s, rtol=1e-3) and np.isclose(b, t, rtol=1e-3):
                    said = words.format(name, name)
                    return said if sign == 1 else f"-({said})" if " " in said else f"-{said}"
    return ""


def _regions(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The same for the settings of the first of these calls."""
    o = wrong[0]
    if o.ask is None or any(np.shape(p.got[x]) != p.want[x].shape for p in wrong):
        return None
    if o.reference.elementwise and any(p.want[x].shape != p.out.shape for p in wrong):
        return None
    if not o.reference.elementwise and (o.out.ndim or any(np.shape(a) != o.want[x].shape for a in o.inputs)):
        return None
    in_pieces = ""
    sure = len(wrong) > 1 and o.reference.elementwise
    for curve in _curves(wrong, x):
        found = curve.intervals()
        some = 0 < len(found) <= MOST_INTERVALS and curve.wrong.mean() <= 0.9
        if some and all(b - a >= FEWEST and curve.begins(a, b) for a, b in found):
            if all(_what(curve, a, b) for a, b in found) or not (pieces := in_pieces or _multiples(curve)):
                pieces = _said(curve, found)
            moved = all(_moved(curve, a, b) for a, b in found)  # a number in a condition, and all else right
            return Mistake("number" if moved else "places", pieces, sure)
        in_pieces = in_pieces or _multiples(curve)
    return Mistake("places", in_pieces, sure) if in_pieces else None


def _multiples(curve: Curve) -> str:
    """Another multiple of the right one in each of a few intervals."""
    known = (curve.want != 0) | (curve.got != 0)
    if not curve.want[known].all():
        return ""
    ratio = np.divide(curve.got, curve.want, out=np.ones_like(curve.got), where=known)
    edges = [0, *(np.flatnonzero(np.abs(np.diff(ratio)) > 1e-6 * np.abs(ratio).max()) + 1).tolist(), len(ratio)]
    pieces = list(pairwise(edges))
    if not 1 < len(pieces) <= MOST_PIECES or any(b - a < FEWEST or np.ptp(ratio[a:b]) > 1e-8 * np.abs(ratio).max() for a, b in pieces):
        return ""
    said = [f"where {_interval(curve, a, b)}, {_times(float(ratio[a]))}" for a, b in pieces]
    return f"is another multiple of the right one in each piece: {'; '.join(said)}"


def _times(ratio: float) -> str:
    """In words."""
    if np.isclose(ratio, 1, rtol=1e-8):
        return "it is right"
    return (
        "it has the wrong sign"
        if np.isclose(ratio, -1, rtol=1e-8)
        else f"it is {number(ratio)} times the right one"
        if ratio
        else "it is 0"
    )


def _is_of_each(o: Observation, x: str, g: np.ndarray, inputs: list[np.ndarray]) -> bool:
    """Of a sum or mean: does the derivative at each place depend on the numbers there alone?"""
    # Of a few: a matrix that is made of many takes long.
    step = POINTS // FEWEST
    half = FEWEST // 2
    few = [a[::step] for a in inputs]
    others = [np.concatenate([a[:half], b[half:]]) for a, b in zip(few, (a[1::step] for a in inputs), strict=True)]
    right, changed = (o.reference.gradient(x, g, o.reference.environment(some, o.settings)) for some in (few, others))
    return right.shape == few[0].shape and bool(np.array_equal(changed[:half], right[:half]))


def _is_affordable(o: Observation, x: str, g: np.ndarray, inputs: list[np.ndarray]) -> bool:
    """May both rules be asked about so many numbers? A loop over pairs of them would run for minutes, and the engine keeps each step."""

    def right(part: slice) -> None:
        o.reference.gradient(x, g[part] if g.ndim else g, o.reference.environment([a[part] for a in inputs], o.settings))

    def yours(part: slice) -> None:
        if o.ask:
            o.ask([g[part] if g.ndim else g], tuple(a[part] for a in inputs))

    if not affordable(o, CURVES):
        return False
    if (key := ("lines for each", x)) not in o.about_right:
        o.about_right[key] = lines_for_each(right, FEWEST)
    return o.about_right[key] * POINTS <= MOST_LINES and lines_for_each(yours, FEWEST) * POINTS <= MOST_LINES


def _curves(wrong: Sequence[Observation], x: str) -> Iterator[Curve]:
    """The two derivatives along x, and along what is made of two inputs, as far as the numbers of all wrong calls go."""
    o = wrong[0]
    names = [y for y in o.reference.inputs if np.asarray(o.names[y]).dtype.kind == "f"]
    if len(names) < len(o.reference.inputs):
        return
    rng = np.random.default_rng(8)
    inputs = []
    for y in names:
        low, high = min(np.min(p.names[y]) for p in wrong), max(np.max(p.names[y]) for p in wrong)
        inputs.append(np.sort(rng.uniform(low, high, POINTS)) if len(names) == 1 else rng.uniform(low, high, POINTS))
    each = o.reference.elementwise
    g = rng.uniform(0.5, 2, POINTS) * rng.choice([-1.0, 1.0], POINTS) if each else np.asarray(rng.uniform(0.5, 2))
    try:
        if not each and not _is_of_each(o, x, g, inputs):
            return
        if not _is_affordable(o, x, g, inputs):
            return
        known = o.reference.environment(inputs, o.settings)
        want = np.broadcast_to(o.reference.gradient(x, g, known), (POINTS,))
    except Exception:  # the operation takes no such inputs
        return
    answers = o.ask([g], tuple(inputs)) if o.ask else None
    if answers is None or answers[0][x] is None or answers[0][x].shape != (POINTS,):
        return
    got = np.asarray(answers[0][x], float)
    for words, value in _coordinates(names, inputs, known["out"]):
        order = np.argsort(value)
        at = value[order]
        yield Curve(words, at, got[order], want[order], np.broadcast_to(g, (POINTS,))[order], float(at[0]), float(at[-1]), each)


def _coordinates(names: list[str], inputs: list[np.ndarray], out: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield from zip(names, inputs, strict=True)
    if len(names) == 1:
        yield f"|{names[0]}|", np.abs(inputs[0])
    pairs: list[tuple[str, Callable[..., Any]]] = [
        ("{} - {}", np.subtract),
        ("|{} - {}|", lambda a, b: np.abs(a - b)),
        ("{} * {}", np.multiply),
    ]
    pairs.append(("{} + {}", np.add))
    for words, f in pairs if len(names) == 2 else ():
        yield words.format(*names), f(*inputs)
    if out.shape == inputs[0].shape:
        yield "the result", out


def _said(curve: Curve, found: list[tuple[int, int]]) -> str:
    """Which intervals, and what is in them."""
    where = " and where ".join(_interval(curve, a, b) for a, b in found)
    text = f"is wrong where {where}, and right elsewhere"
    what = [_what(curve, a, b) for a, b in found]
    if what[0] and all(w == what[0] for w in what):
        text += f": there {what[0]}"
    elif any(what):
        text += ": " + "; ".join(f"where {_interval(curve, a, b)}, {w}" for (a, b), w in zip(found, what, strict=True) if w)
    moved = [_moved(curve, a, b) for a, b in found]
    if all(moved):
        text += f". {'; '.join(m for m in moved if m)}"
    return text


def _interval(curve: Curve, a: int, b: int) -> str:
    """In words; an end that is that of the numbers tried is not an end."""
    low, high = _end(curve, a), _end(curve, b)
    if a == 0:
        return f"{curve.words} is below {high}"
    if b == len(curve.at):
        return f"{curve.words} is above {low}"
    return f"{curve.words} is between {low} and {high}"


def _end(curve: Curve, k: int) -> str:
    """Where it begins or ends, with as many digits as are known."""
    k = min(max(k, 1), len(curve.at) - 1)
    low, high = curve.at[k - 1], curve.at[k]
    for digits in range(4):
        value = round((low + high) / 2, digits)
        if low <= value <= high:
            return number(value + 0.0)
    return f"about {(low + high) / 2:.3f}"


def _what(curve: Curve, a: int, b: int) -> str:
    """What appears in an interval, if that is simple."""
    got, want, g = curve.got[a:b], curve.want[a:b], curve.g[a:b]
    slope = got / g
    if not got.any():
        return "it is 0"
    if np.all(want) and np.ptp(got / want) < 1e-8 * np.abs(got / want).max():
        return _times(float((got / want)[0]))
    if curve.of_each and np.ptp(slope) < 1e-8 * np.abs(slope).max():
        return "it is g" if np.isclose(slope[0], 1) else f"it is {number(float(slope[0]))} times g, the same everywhere"
    if not want.any():
        return "it should be 0, and is not"
    return ""


def _moved(curve: Curve, a: int, b: int) -> str:
    """Where forward changes its formula and where the rule does, if an interval lies between the two."""
    rule, forward = curve.got / curve.g, curve.want / curve.g
    for changes in (_jumps, _bends):  # the slope of a huber does not jump where its formula changes
        if 0 < a and b < len(curve.at):
            (rule_a, forward_a), (rule_b, forward_b) = ([changes(curve.at, slope, k) for slope in (rule, forward)] for k in (a, b))
            for here, at, belongs in (((rule_a, forward_b, forward_a, rule_b), a, b), ((rule_b, forward_a, forward_b, rule_a), b, a)):
                if here == (True, True, False, False):
                    return f"Forward changes its formula at {curve.words} = {_end(curve, belongs)}, the rule at {_end(curve, at)}"
    return ""


def _jumps(at: np.ndarray, slope: np.ndarray, k: int) -> bool:
    """Does a curve jump between two neighbours, more than it changes around?"""
    if not 2 < k < len(slope) - 2:
        return False
    steps = np.abs(np.diff(slope) / np.diff(at))  # the points are drawn, and some are far apart
    around = np.concatenate([steps[max(k - 12, 0) : k - 1], steps[k : k + 11]])
    return bool(steps[k - 1] > 8 * np.median(around) + 1e-9)


def _bends(at: np.ndarray, slope: np.ndarray, k: int) -> bool:
    """Does it jump there, or is its own slope another on either side?"""
    if not FEWEST <= k <= len(slope) - FEWEST:
        return False
    before, after = ((slope[i : i + 6] - slope[i - 6 : i]) / (at[i : i + 6] - at[i - 6 : i]) for i in (k - 6, k + 6))
    turn = abs(np.median(after) - np.median(before))
    return bool(turn > 4 * (np.ptp(before) + np.ptp(after)) + 1e-6 * np.abs(slope).max()) or _jumps(at, slope, k)
