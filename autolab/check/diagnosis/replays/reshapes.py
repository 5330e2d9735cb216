"""Another shape in the middle: forward cuts its array into parts by a reshape, and the rule cuts it into others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from .replay import Tape
from .traces import Trace

RESHAPES = ("reshape", "view", "unflatten")
MOST = 24  # shapes that are tried


def find_reshape(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Of a function on tensors: the shape in the middle with which it gives what came back."""
    first = wrong[0]
    if not first.reference.function or first.reference.elementwise:
        return None
    try:
        trace = Trace(first.reference.function, dict(zip(first.reference.inputs, first.inputs, strict=True)), first.settings)
    except Exception:  # it does not run on rows alone
        return None
    for number, run in enumerate(trace.rows):
        shape = run.settings.get("shape") if run.row.name in RESHAPES else None
        if not isinstance(shape, tuple) or len(shape) < 2 or -1 in shape:
            continue
        for _, other in zip(range(MOST), _others(shape), strict=False):
            if all(_gives(trace, number, other, o, x) for o in wrong):
                text = f"works on parts of another shape: forward cuts its array into {shape}, and this is right for {other}"
                return Mistake("axis", text, len(wrong) > 1, parts=("setting", "size"))
    return None


def _others(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes of as many axes and entries: two neighbours exchanged, or one larger and the next one smaller."""
    for k in range(len(shape) - 2, -1, -1):
        a, b = shape[k : k + 2]
        for n in dict.fromkeys((b, *(n for n in range(1, a * b + 1) if a * b % n == 0))):
            if n != a:
                yield (*shape[:k], n, a * b // n, *shape[k + 2 :])


def _gives(trace: Trace, number: int, shape: tuple[int, ...], o: Observation, x: str) -> bool:
    tape = Tape()
    try:
        inputs = [tape.leaf(np.asarray(a)) for a in o.inputs]
        value = trace.gradient(tape, inputs, o.reference.inputs.index(x), tape.leaf(o.g), {number: {"shape": shape}})
        return close(np.asarray(value), o.got[x])
    except Exception:  # it does not fit what comes after it
        return False
