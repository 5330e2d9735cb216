"""A factor that is one number in each call: where it comes from, among sizes, their roots, and numbers that forward works out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np

from ...run.observation import Observation
from ..diagnosis import Mistake
from ..formulas.mutants import value_in_words
from ..quiet import quiet
from ..replays.chains import chains, first_chain
from ..shapes import axis_name, count
from ..step_names import row_in_words

POWERS = {1.0: "times {}", -1.0: "divided by {}", 2.0: "times the square of {}", -2.0: "divided by the square of {}",
          0.5: "times the root of {}", -0.5: "divided by the root of {}"}  # fmt: skip
BESIDES = {1.0: "", 2.0: "; besides, it is 2 times too large", 0.5: "; besides, it is half as large as it should be",
           -1.0: "; besides, it has the wrong sign"}  # fmt: skip
INSTEAD = {1.0: "is the right one times {} and divided by {}: one size is where another belongs",
           0.5: "is the right one times the root of {} and divided by that of {}: one size is where another belongs"}  # fmt: skip


@quiet
def find_call_factor(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The right one times a power of something that is one number in each call, or a quotient of two such numbers."""
    ratios = np.array([_ratio(o, x) for o in wrong])
    if not np.all(np.isfinite(ratios)) or not np.all(ratios) or (np.ptp(ratios) <= 1e-9 * np.abs(ratios).max() and _is_plain(ratios[0])):
        return None
    numbers = _numbers(wrong, x, _of_call)
    if wrong[0].reference.function:  # what it works out on the way takes a run for each call
        numbers |= _numbers(wrong, x, _of_steps)
    sizes = {said: values for said, values in numbers.items() if np.all(values == np.round(values))}
    pairs = list(permutations(sizes, 2)) if np.ptp(ratios) else []
    for others in ({1.0: ""}, BESIDES):  # one size in the place of another before one with a number besides
        for said, values in numbers.items():
            for power, words in POWERS.items():
                for c, besides in others.items():
                    if _same(ratios, c * values**power):
                        return Mistake("factor", f"is the right one {words.format(said)}{besides}", len(wrong) > 2, parts=("constant",))
        for one, other in pairs:
            for power, words in INSTEAD.items():
                for c, besides in others.items():
                    if _same(ratios, c * (sizes[one] / sizes[other]) ** power):
                        return Mistake("constant", f"{words.format(one, other)}{besides}", False, hint="size", parts=("factor",))
    return None


@quiet
def find_last_step(wrong: Sequence[Observation], x: str) -> str:
    """In words, if the factor is what the derivative of the last step of forward takes away; one number goes into that, or a norm is it."""
    name = ""
    for o in wrong:
        chain = first_chain(o, x)
        last = chain.steps[-1] if chain else None
        if last is None or last.place != chain.last or np.size(last.names["out"]) != 1:  # type: ignore[union-attr]
            return ""
        if last.row.name in NORMS:
            name, missing = "the root in the norm", 2 * float(o.out)
        elif len(at := [k for k, source in enumerate(last.sources) if source is not None]) == 1 and np.size(last.names["raw"][at[0]]) == 1:
            name, missing = row_in_words(last.row.name), 1 / float(last.rule(at[0], np.ones(last.names["out"].shape)))
        else:
            return ""
        if not math.isclose(_ratio(o, x), missing, rel_tol=1e-9):
            return ""
    return f"is the right one without the derivative of {name}, which is the last step of forward"


NORMS = ("norm", "vector_norm", "matrix_norm")


def _ratio(o: Observation, x: str) -> float:
    """How many times the right one it is; not a number if it is no multiple of it."""
    got, want = np.asarray(o.got[x]), o.want[x]
    if got.shape != want.shape or not want.any():
        return math.nan
    ratio = float(np.vdot(want, got) / np.vdot(want, want))
    return ratio if np.abs(got - ratio * want).max() <= 1e-9 * np.abs(got).max() else math.nan


def _is_plain(ratio: float) -> bool:
    """Does this number, or one over it, say little, as a size does?"""
    return any(math.isclose(n * ratio, round(n * ratio), rel_tol=1e-9) for n in range(1, 13))


def _same(ratios: np.ndarray, values: np.ndarray) -> bool:
    if abs(ratios.item(0) - values.item(0)) > 2e-9 * abs(values.item(0)):  # most differ from the first on
        return False
    return bool(np.all(np.isfinite(values)) and np.all(np.abs(ratios - values) <= 1e-9 * np.abs(values)))


def _numbers(wrong: Sequence[Observation], x: str, of_call: Callable) -> dict[str, np.ndarray]:
    """What is one number in each of these calls, and not 1 in all."""
    every = [dict(of_call(o, x)) for o in wrong]
    found: dict[str, np.ndarray] = {}
    for said in every[0]:
        if all(said in one for one in every):
            values = np.array([one[said] for one in every], float)
            if np.all(np.isfinite(values)) and np.all(values > 0) and not np.all(values == 1):
                found.setdefault(said, values)
    return found


def _of_call(o: Observation, x: str) -> Iterator[tuple[str, float]]:
    behind = axis_name(o)
    if behind:
        try:
            n = count(o.want[x].shape, o.names[behind])
            yield from (("the number of entries behind each result", n), ("the number of entries behind each result, less 1", n - 1))
        except (IndexError, TypeError):  # an axis of the result
            pass
    for y in o.reference.inputs:
        for i, n in enumerate(o.shape(y)):
            yield f"the size of axis {i} of {y}", n
            yield f"the size of axis {i} of {y}, less 1", n - 1
        for k, said in ((-1, "the last axis"), (-2, "the axis before the last")):
            if len(o.shape(y)) >= -k:
                yield f"the size of {said} of {y}", o.shape(y)[k]
        yield f"the number of entries of {y}", math.prod(o.shape(y))
    if behind and o.want[x].ndim:
        axis = o.names[behind]
        axes, n = (axis,) if isinstance(axis, int) else axis or (0,), o.want[x].ndim  # it may be an axis of the result
        for said, k in (("first", axes[0]), ("last", axes[-1])) if axes and all(-n <= k < n for k in axes) else ():
            yield f"the size of the {said} of the axes", o.want[x].shape[k]
            yield f"the size of the {said} of the axes, less 1", o.want[x].shape[k] - 1
    if not o.out.ndim:
        out = float(o.out)
        yield "the result of forward", abs(out)
        if abs(out) < 50:
            yield "exp(the result of forward)", math.exp(out)
            yield "exp(minus the result of forward)", math.exp(-out)
    for y in o.reference.inputs:
        a = np.asarray(o.names[y])
        if a.dtype.kind == "f":
            yield (y if not a.ndim else f"the sum of the squares of {y}"), float(a) if not a.ndim else float((a * a).sum())


def _of_steps(o: Observation, x: str) -> Iterator[tuple[str, float]]:
    for k, chain in enumerate(chains(o, x)):
        for place, value in enumerate(chain.values if chain else ()):
            if chain and place >= len(chain.inputs) and place != chain.last and np.size(value) == 1:
                said = value_in_words(chain.words[place])
                yield said + (f" (step {place - len(chain.inputs) + 1})" if k == 0 else ""), abs(float(np.ravel(value)[0]))
