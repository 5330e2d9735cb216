"""A function that is applied a number of times, entry by entry: which of its steps are differentiated, and at which state.

The chain rule multiplies the slopes of all steps, each at the state before it. What forward gives for 1, 2, 3, ... steps says both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..quiet import quiet

MOST = 12  # steps
Slopes = list[np.ndarray]  # of all steps up to number k together, from k = 0 to one more than forward takes

SLIPS: list[tuple[str, str, Callable[[Slopes, int], np.ndarray]]] = [
    ("term", "differentiates the last of the {n} alone, and takes what the others give for a constant", lambda j, n: j[n] / j[n - 1]),
    ("term", "differentiates the first of the {n} alone", lambda j, n: j[1]),
    ("places", "takes the slope of every one of the {n} at {x}, where each belongs to the state before it", lambda j, n: j[1] ** n),
    ("places", "takes the slope of every one of the {n} at the state after it, where that before it belongs", lambda j, n: j[n + 1] / j[1]),
    ("places", "takes the slope of every one of the {n} at the state before the last one", lambda j, n: (j[n] / j[n - 1]) ** n),
    ("places", "takes the slope of every one of the {n} at the result", lambda j, n: (j[n + 1] / j[n]) ** n),
    ("term", "leaves out the first of the {n}", lambda j, n: j[n] / j[1]),
    ("term", "leaves out the last of the {n}", lambda j, n: j[n - 1]),
]  # fmt: skip


@quiet
def find_iteration(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The first slip that explains all these calls, for a setting that says how many times."""
    counts = [name for name, n in wrong[0].settings.items() if isinstance(n, int) and not isinstance(n, bool)]
    for name in counts:
        every = [_slopes(o, x, name) for o in wrong]
        if any(slopes is None for slopes in every):
            continue
        for family, text, slope in SLIPS:
            with np.errstate(all="ignore"):
                if all(o.gave(x, o.g * slope(s, o.settings[name])) for o, s in zip(wrong, every, strict=True) if s):
                    return Mistake(family, text.format(n=f"rounds that {name} counts", x=x), len(wrong) > 1)
    return None


def _slopes(o: Observation, x: str, name: str) -> Slopes | None:
    """Of 0, 1, 2, ... steps; None if forward is no such function."""
    if (key := ("iterations", x, name)) not in o.about_right:
        try:
            o.about_right[key] = _found(o, x, name)
        except Exception:  # forward takes no such number, or gives no numbers for it
            o.about_right[key] = None
    return o.about_right[key]


def _found(o: Observation, x: str, name: str) -> Slopes | None:
    n = o.settings[name]
    if list(o.reference.differentiable()) != [x] or not o.out.shape == o.g.shape == o.got[x].shape == o.want[x].shape or not 0 < n <= MOST:
        return None
    at = [{**o.settings, name: k} for k in (1, n + 1)]
    once, more = (o.reference.environment(o.inputs, settings)["out"] for settings in at)
    again = o.reference.environment([once if y == x else o.names[y] for y in o.reference.inputs], o.settings)["out"]
    if once.shape != o.out.shape or not close(again, more):
        return None
    ones = np.ones_like(o.g)
    found = [ones]
    for k in range(1, n + 2):
        settings = {**o.settings, name: k}
        found.append(np.asarray(o.reference.gradient(x, ones, o.reference.environment(o.inputs, settings))))
    return found if close(o.g * found[n], o.want[x]) else None
