"""What a derivative has too much or too little, as a product of known values: the inputs, the result, what forward works out on the way.

Where each entry of the gradient is its own g times something, that something is compared with the right one: as a ratio, as a
difference: is one of the two a product of a few known values? No formula is asked, so it does not matter how the rule was
simplified on paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from ...run.inputs import draw
from ...run.observation import Observation, close, number
from ..diagnosis import Mistake
from ..formulas.mutants import value_in_words
from ..quiet import quiet
from ..replays.chains import chains
from .known_functions import is_simple

MORE_CALLS = 5  # on other numbers, so that a sum of products cannot fit by chance
MOST_LETTERS = 16
FEWEST = 16  # numbers
LONGEST = 3  # letters in a product


class Letter(NamedTuple):
    """A value that is known, perhaps as a divisor."""

    name: str
    inverse: bool = False

    def __str__(self) -> str:
        return value_in_words(self.name)


Word = tuple[Letter, ...]


@quiet
def find_terms(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Which product of known values is in the derivative too often, or is missing, in all these calls."""
    calls = _calls(wrong, x)
    if not calls:
        return None
    letters = _letters(calls, x)
    yours, right = (np.concatenate([np.ravel(call[side]) for call in calls]) for side in ("yours", "right"))
    if yours.size < FEWEST or not letters or not np.any(right):
        return None
    words = list(_words(letters))
    return _ratio(words, yours, right) or _difference(words, yours, right)


# ---------- the numbers


def _calls(wrong: Sequence[Observation], x: str) -> list[dict[str, np.ndarray]]:
    """The values of each call beside x, with the learner's derivative and the right one; empty if an entry hears more than its own g."""
    seen = list({id(o.out): o for o in reversed(wrong)}.values())[-3:]
    o = min(seen, key=lambda o: o.out.size)
    if o.ask is None or not _is_local(o, x):
        return []
    more = [other for other in (_elsewhere(o, x, k) for k in range(MORE_CALLS if len(seen) < 3 else 1)) if other]
    calls = [_values(o, x) for o in (*seen, *more)]
    return calls if all(calls) else []


def _lifted(value: np.ndarray, o: Observation, x: str) -> np.ndarray | None:
    """A value beside each entry of x: with the axis that was reduced put back, or stretched."""
    value, shape = np.asarray(value), o.want[x].shape
    if value.ndim == len(shape) - 1 and value.ndim and value.shape == o.g.shape:
        axis = _axis(o, x)
        value = value if axis is None else np.expand_dims(value, axis)
    try:
        return np.broadcast_to(np.asarray(value, float), shape)
    except (ValueError, TypeError):
        return None


def _axis(o: Observation, x: str) -> int | None:
    """Which axis of x the result does not have: the one along which the right gradient is 0 where g is 0."""
    if ("removed", x) not in o.about_right:
        found = None
        for axis in range(o.want[x].ndim):
            if o.want[x].shape[:axis] + o.want[x].shape[axis + 1 :] == o.g.shape:
                g = o.g.copy()
                g.flat[0] = 0
                changed = o.reference.gradient(x, g, o.names)
                index = np.expand_dims(np.arange(g.size).reshape(g.shape) == 0, axis)
                if np.all(np.isclose(changed, o.want[x]) | np.broadcast_to(index, changed.shape)):
                    found = axis
                    break
        o.about_right["removed", x] = found
    return o.about_right["removed", x]


def _is_local(o: Observation, x: str) -> bool:
    """Does each entry take its own g and no other, in the right one and in the learner's?"""
    g = draw(np.random.default_rng(9), o.g.shape)
    one, other = _lifted(o.g, o, x), _lifted(g, o, x)
    answer = o.ask([g]) if o.ask else None
    if one is None or other is None or not answer or np.shape(answer[0][x]) != np.shape(o.got[x]) or o.got[x].shape != o.want[x].shape:
        return False
    return close(answer[0][x] / other, o.got[x] / one) and close(o.reference.gradient(x, g, o.names) / other, o.want[x] / one)


def _elsewhere(o: Observation, x: str, k: int) -> Observation | None:
    """The rule called on other numbers near by."""
    rng = np.random.default_rng(20 + k)
    inputs = [a * rng.uniform(0.85, 1.15, np.shape(a)) if np.asarray(a).dtype.kind == "f" else a for a in o.inputs]
    try:
        names = o.reference.environment(inputs, o.settings)
        want = {y: o.reference.gradient(y, o.g, names) for y in o.reference.differentiable()}
        (got,) = o.ask([o.g], inputs) if o.ask else (None,)
        if got is None or np.shape(got[x]) != want[x].shape:
            return None
        return Observation(o.reference, names, o.g, got, want, settings=o.settings)
    except Exception:  # numbers that this operation does not take
        return None


def _values(o: Observation, x: str) -> dict[str, np.ndarray]:
    """What is known of a call, by name, beside each entry of x."""
    g = _lifted(o.g, o, x)
    if g is None or not np.all(g) or np.shape(o.got[x]) != o.want[x].shape:
        return {}
    found = {"yours": o.got[x] / g, "right": o.want[x] / g}
    for name in (*o.reference.inputs, "out"):
        _keep(found, name, o.names[name], o, x)
    for k, chain in enumerate(chains(o, x)):
        if chain is None:
            continue
        for place, value in enumerate(chain.values[len(chain.inputs) :], len(chain.inputs)):
            if place != chain.last:
                _keep(found, f"{chain.words[place]}|{k}|{place}", value, o, x)
        for i, step in enumerate(chain.steps):
            for j, source in enumerate(step.sources):
                if source is None and np.size(step.names["raw"][j]) > 1:
                    _keep(found, f"a constant of forward|{k}|{i}|{j}", step.names["raw"][j], o, x)
    return found


def _keep(found: dict[str, np.ndarray], name: str, value: np.ndarray, o: Observation, x: str) -> None:
    value = np.asarray(value)
    beside = _lifted(value, o, x) if value.dtype.kind == "f" else None
    if beside is not None and np.all(np.isfinite(beside)):
        found[name] = beside


def _letters(calls: Sequence[Mapping[str, np.ndarray]], x: str) -> dict[Letter, np.ndarray]:
    """The values that all calls know, each once, and their inverses."""
    found: dict[Letter, np.ndarray] = {}
    for name in calls[0]:
        if name in ("yours", "right") or not all(name in call for call in calls) or len(found) >= 2 * MOST_LETTERS:
            continue
        column = np.concatenate([np.ravel(call[name]) for call in calls])
        if np.all(column) and np.ptp(column) > 0 and not any(_same(column, other) for other in found.values()):
            found[Letter(name)] = column
            found[Letter(name, inverse=True)] = 1 / column
    return found


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    ratio = a / b
    return bool(np.ptp(ratio) <= 1e-9 * np.abs(ratio[0]))


def _words(letters: Mapping[Letter, np.ndarray]) -> Iterator[tuple[Word, np.ndarray]]:
    """Products of some letters, the short ones first; none with its own inverse."""
    size = len(next(iter(letters.values())))
    yield (), np.ones(size)
    known: dict[Word, np.ndarray] = {(letter,): value for letter, value in letters.items()}
    for length in range(1, LONGEST + 1):
        for word in combinations_with_replacement(letters, length):
            if length == LONGEST and len(letters) > MOST_LETTERS:
                return
            if any(Letter(a.name, not a.inverse) in word for a in word):
                continue
            if word not in known:
                known[word] = known[word[:-1]] * letters[word[-1]]
            yield word, known[word]


# ---------- what is said


def _said(word: Word) -> str:
    """A product in words: what is in it, and what divides it."""
    above = [str(a).partition("|")[0] for a in word if not a.inverse]
    below = [str(a).partition("|")[0] for a in word if a.inverse]
    text = " times ".join(above) or "1"
    return text + (f", divided by {' and by '.join(below)}" if below else "")


def _level(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of which columns is the target a multiple?"""
    with np.errstate(all="ignore"):
        ratio = target / columns
    return np.flatnonzero(np.ptp(ratio, axis=-1) <= 1e-9 * np.abs(ratio).max(axis=-1))


def _ratio(words: Sequence[tuple[Word, np.ndarray]], yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    if not np.all(yours) or not np.all(right):
        return None
    for k in _level(np.stack([column for _, column in words]), yours / right):
        word, column = words[k]
        c = float(yours[0] / right[0] / column[0])
        if word and is_simple(c):
            return Mistake("factor", f"is the right one times {_said(word)}{_number(c)}")
    return None


def _number(c: float) -> str:
    return "" if np.isclose(c, 1) else f"; besides, it is multiplied by {number(c)}"


def _difference(words: Sequence[tuple[Word, np.ndarray]], yours: np.ndarray, right: np.ndarray) -> Mistake | None:
    off = yours - right
    columns = np.stack([column for _, column in words])
    for k in _level(columns, off):
        word, column = words[k]
        c = float(off[0] / column[0])
        if not is_simple(c):
            continue
        times = "" if np.isclose(abs(c), 1) else f"{number(abs(c))} times "
        how = "plus" if c > 0 else "minus"
        text = f"is the right one {how} g times {times}{_said(word)}: that term is missing, is one too many, or has another sign or number"
        return Mistake("term", text, parts=("extra term", "term sign"))
    return None
