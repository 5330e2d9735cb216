"""A call with smaller arrays and smaller settings in which the rule is wrong, too: there a loop has few turns, and much can be tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..run.inputs import draw
from ..run.observation import TOLERANCE, Observation, Question, error_of, observe
from .budget import LEAST, MOST
from .diagnosis import Mistake
from .quiet import quiet
from .replays.settings import POSITIONS

CALLS = 2  # of which an explanation has to be true
THROUGH_A_STEP = ("comes back through", ", in the derivative of ")  # what an explanation says that names a step of forward
# What is true of the numbers of a loop, and says little of what is behind them.
SYMPTOMS = ("and with wrong factors", "in what a step makes of its own g", "but not always the same one", "reaches other entries of",
            "there it is something else", "has the wrong sign at", "seems to have two mistakes")  # fmt: skip
SMALL = (2, 3)  # entries along an axis
ONE = (1, 2, 3)  # the value of a setting


@quiet
def smaller_call(o: Observation, x: str, seed: int = 0) -> Observation | None:
    """The same call with as little as leaves the gradient for x wrong; None if nothing can be taken away."""
    if not isinstance(o.ask, Question):
        return None
    found: Observation | None = None
    for change, numbers in _changes(o):
        for n in numbers:
            if (call := _made(found or o, x, change, n, seed)) is not None:
                found = call
                break
    return found


def explained_in_smaller_calls(wrong: Sequence[Observation], x: str, look: Callable[..., Mistake | None]) -> Mistake | None:
    """The step of forward whose derivative is wrong, where a loop has so few rounds that each step can be asked."""
    first = min(wrong, key=lambda o: o.want[x].size + o.out.size)
    calls = [call for seed in range(CALLS) if (call := smaller_call(first, x, seed))]
    if len(calls) < CALLS:
        return None
    reference = first.reference
    reference.tried = reference.began = min(reference.tried, MOST - LEAST)
    found = look(calls, x)
    if found is None or not any(words in found.text for words in THROUGH_A_STEP):
        return None
    settings = [f"{name}={value!r}" for name, value in calls[0].settings.items()]
    shapes = ", ".join([*(f"{y} {calls[0].shape(y)}" for y in reference.inputs), *settings])
    text = f"{found.text.format(x=x)}. That is seen in a smaller call, with {shapes}"
    return replace(found, text=text, sure=False, predict=None, also=())


Change = Callable[[list[Any], dict[str, Any], int], bool]  # of inputs and settings: is there less than before?


def _changes(o: Observation) -> Iterator[tuple[Change, tuple[int, ...]]]:
    for size in sorted({n for a in o.inputs for n in np.shape(a)}, reverse=True):
        yield partial(_cut, size), SMALL
    for name, value in o.settings.items():
        if type(value) is int and name not in POSITIONS and not _is_settled(o, name):
            yield partial(_lowered, name), ONE


def _is_settled(o: Observation, name: str) -> bool:
    """Does one turn more change nothing? Of what a solver has not solved, a rule for its solution is always wrong."""
    reference = o.reference
    reference.count(reference.weight)
    try:
        out = reference.environment(list(o.inputs), {**o.settings, name: o.settings[name] + 1})["out"]
    except Exception:  # forward takes no such number
        return False
    return out.shape == o.out.shape and bool(np.allclose(out, o.out, rtol=1e-7, atol=1e-9))


def _cut(size: int, inputs: list[Any], settings: dict[str, Any], n: int) -> bool:
    """Every axis of this size is cut to n entries; whole numbers that count along it stay below n."""
    if n >= size or not any(size in np.shape(a) for a in inputs):
        return False
    for k, a in enumerate(inputs):
        array = np.asarray(a)
        cut = array[tuple(slice(n if m == size else m) for m in array.shape)]
        if array.dtype.kind in "iu" and array.size and n <= array.max() < size:
            cut = np.minimum(cut, n - 1)
        inputs[k] = np.ascontiguousarray(cut) if array.ndim else a
    return True


def _lowered(name: str, inputs: list[Any], settings: dict[str, Any], n: int) -> bool:
    before, settings[name] = settings[name], min(settings[name], n)
    return settings[name] < before


def _made(o: Observation, x: str, change: Change, n: int, seed: int) -> Observation | None:
    """The call after one change, if it can be made and the gradient is wrong there."""
    inputs, settings = list(o.inputs), dict(o.settings)
    if not change(inputs, settings, n):
        return None
    try:
        return called(o, x, inputs, settings, seed)
    except Exception:  # forward takes no such numbers
        return None


def called(o: Observation, x: str, inputs: list[Any], settings: Mapping[str, Any], seed: int = 0) -> Observation | None:
    """Another call of the same rule, if the gradient for x is wrong in it."""
    reference, candidate = o.reference, o.ask.candidate  # type: ignore[union-attr]
    if not reference.takes(inputs):
        return None
    names = reference.environment(inputs, settings)
    g = draw(np.random.default_rng([seed, 11]), names["out"].shape)
    if not np.isfinite(names["out"]).all() or not names["out"].size:
        return None
    reference.count(2 * reference.weight)
    answer = candidate.call(inputs, settings, (g,))
    if answer.fault:
        return None
    found = observe(reference, names, g, answer.gradients[0], settings, Question(candidate, reference, inputs, settings))
    got = found.got[x]
    is_wrong = got is not None and bool(np.isfinite(got).all()) and error_of(found, x) > TOLERANCE
    return found if is_wrong and np.isfinite(found.want[x]).all() else None
