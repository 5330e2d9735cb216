"""The rule of the function of a number, used on a matrix: entry by entry, or with a matrix in the place of each number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ...run.observation import Observation, close, number
from ..diagnosis import Mistake
from ..quiet import quiet
from .known_functions import is_simple

SIGNS = {1.0: "", -1.0: "minus "}
POWERS = (1, -1, 2, -2, 3, -3)
ENTRIES = "is {c}g times {v}, entry by entry: that is the rule for a function of a number, and here all entries meet in matrix products"
MATRICES = "is {c}{v}: that is the rule for a function of a number, and matrices do not commute, so g stands between factors"


@quiet
def find_scalar_rule(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first such rule that fits all calls."""
    first = wrong[0]
    if first.reference.elementwise or not all(_is_square(o, x) for o in wrong):
        return None
    for said, rule in _rules(x):
        ratio = [_ratio(o.got[x], rule(o)) for o in wrong]
        c = ratio[0]
        if c and is_simple(c) and all(np.isclose(r, c, rtol=1e-9) for r in ratio):
            return Mistake("function", said.replace("{c}", SIGNS.get(round(c, 9), f"{number(c)} times ")), len(wrong) > 1)
    return None


def _is_square(o: Observation, x: str) -> bool:
    """A square matrix or a stack of them, and a result of its shape of which each entry depends on others than its own."""
    shape = o.want[x].shape
    if not (len(shape) > 1 and shape[-1] == shape[-2] > 1 and o.got[x].shape == o.g.shape == shape):
        return False
    g = np.zeros(shape)
    g[..., 0, -1] = 1  # one place reaches more than one row and column
    reached = (o.reference.gradient(x, g, o.names) != 0).reshape(-1, *shape[-2:]).any(axis=0)
    return bool(reached.any(axis=0).sum() > 1 and reached.any(axis=1).sum() > 1)


def _rules(x: str) -> Iterator[tuple[str, Callable[[Observation], np.ndarray]]]:
    for name, word in ((x, x), ("out", "the result of forward")):
        for power in POWERS:
            of = {1: word, -1: f"the inverse of {word}"}.get(power, f"{word} to the power {power}")
            of_entries = word if power == 1 else f"{word} to the power {power}"
            yield ENTRIES.replace("{v}", of_entries), partial(_by_entry, name=name, power=power)
            for turned, also in ((False, ""), (True, ", transposed,")):
                matrix = partial(_power, name=name, power=power, turned=turned)
                yield MATRICES.replace("{v}", f"{of}{also} times g"), partial(_before_g, matrix=matrix)
                yield MATRICES.replace("{v}", f"g times {of}{also}"), partial(_after_g, matrix=matrix)


def _by_entry(o: Observation, name: str, power: int) -> np.ndarray:
    return np.asarray(o.g * np.asarray(o.names[name], float) ** power)


def _before_g(o: Observation, matrix: Callable[[Observation], np.ndarray]) -> np.ndarray:
    return np.asarray(matrix(o) @ o.g)


def _after_g(o: Observation, matrix: Callable[[Observation], np.ndarray]) -> np.ndarray:
    return np.asarray(o.g @ matrix(o))


def _power(o: Observation, name: str, power: int, turned: bool) -> np.ndarray:
    matrix = np.linalg.matrix_power(np.asarray(o.names[name], float), power)
    return matrix.mT if turned else matrix


def _ratio(got: np.ndarray, value: np.ndarray) -> float:
    """How many times the value it is; 0 if it is no multiple of it."""
    if not value.any() or not np.all(np.isfinite(value)):
        return 0.0
    c = float(np.vdot(value, got) / np.vdot(value, value))
    return c if c and close(got, c * value) else 0.0
