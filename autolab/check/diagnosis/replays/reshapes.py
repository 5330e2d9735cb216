"""Another forward: the gradient of a computation that differs from forward in one row, and is right for that.

Forward cuts its array into parts by a reshape, takes one entry of several, or goes along an axis, and the rule does so with another
shape, entry or axis; or it knows nothing of a step that takes something off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...run.observation import Observation, close
from ..diagnosis import Mistake
from ..quiet import quiet
from ..replay import Unnoted
from .stepwise import row_in_words
from .traces import RowRun, Trace

RESHAPES = ("reshape", "view", "unflatten")
MOST = 24  # others that are tried for a row
Changed = Mapping[int, Mapping[str, Any]]  # for some rows, by number, settings that differ


@quiet
def find_reshape(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Of a function on tensors: the row in the middle with which it gives what came back, if it is another one."""
    first = wrong[0]
    if not first.reference.function or first.reference.elementwise:
        return None
    try:
        trace = Trace(first.reference.function, dict(zip(first.reference.inputs, first.inputs, strict=True)), first.settings)
    except Exception:  # it does not run on rows alone
        return None
    for number, run in enumerate(trace.rows):
        for _, (family, text, settings) in zip(range(MOST), _others(trace, number, run), strict=False):
            if all(_gives(trace, {number: settings}, o, x) for o in wrong):
                return Mistake(family, text, len(wrong) > 1 and family == "axis", parts=("setting", "size") * (family == "axis"))
    for right, text, changed in _other_axes(trace):
        if all(_gives(trace, changed, o, x) or _gives(trace, changed, o, x, right) for o in wrong):
            return Mistake("axis", text, parts=("setting",))
    return None


def _other_axes(trace: Trace) -> Iterator[tuple[int, str, Changed]]:
    """Each axis that is named, in one row or in all that name it, a sentence, and another axis in its place."""
    named: dict[Any, list[int]] = {}
    for number, run in enumerate(trace.rows):
        axis = run.settings.get("axis")
        if isinstance(axis, int) or (isinstance(axis, tuple) and len(axis) == 1):
            named.setdefault(axis, []).append(number)
    for axis, numbers in named.items():
        for some in [[k] for k in numbers] + [numbers] * (len(numbers) > 1):
            words = " and the ".join(dict.fromkeys(row_in_words(trace.rows[k].row.name) for k in some))
            for other in range(-3, 2):
                settings = {"axis": (other,) if isinstance(axis, tuple) else other}
                verb = "goes" if len(some) == 1 else "go"
                right = axis[0] if isinstance(axis, tuple) else axis
                yield right, f"is what belongs to another axis: the {words} in it {verb} along axis {other}", dict.fromkeys(some, settings)


def _others(trace: Trace, number: int, run: RowRun) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """A kind of mistake, a sentence, and the settings of the row; SKIPPED leaves the row out."""
    shape = run.settings.get("shape")
    if run.row.name in RESHAPES and isinstance(shape, tuple) and len(shape) > 1 and -1 not in shape:
        for other in _shapes(shape):
            text = f"works on parts of another shape: forward cuts its array into {shape}, and this is right for {other}"
            yield "axis", text, {"shape": other}
    key = run.settings.get("key")
    if run.row.name == "select" and isinstance(key, tuple):
        at = [k for k, part in enumerate(key) if type(part) is int]
        for place in at if len(at) == 1 else ():
            for index in (0, -1, key[place] + 1, key[place] - 1):
                if index != key[place]:
                    text = f"belongs to another entry than forward takes: it is right for number {index} of them"
                    yield "places", text, {"key": (*key[:place], index, *key[place + 1 :])}
    if run.row.name in ("sub", "add", "div") and _is_of_others(trace, number, run):
        what = {"sub": "takes off", "add": "adds", "div": "divides by"}[run.row.name]
        yield "term", f"is right for a computation that never {what} {_taken_off(trace, run)}", SKIPPED


SKIPPED: Mapping[str, Any] = {"skipped": True}


def _is_of_others(trace: Trace, number: int, run: RowRun) -> bool:
    """Is the second argument made on the way, and of fewer axes or entries, such as a mean?"""
    return len(run.sources) == 2 and all(isinstance(s, int) for s in run.sources) and run.sources[1] >= trace.inputs


def _taken_off(trace: Trace, run: RowRun) -> str:
    made = next((r for r in trace.rows if run.sources[1] in r.places), None)
    return f"the result of {row_in_words(made.row.name)}" if made else "another value"


def _shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes of as many axes and entries: two neighbours exchanged, or one larger and the next one smaller."""
    for k in range(len(shape) - 2, -1, -1):
        a, b = shape[k : k + 2]
        for n in dict.fromkeys((b, *(n for n in range(1, a * b + 1) if a * b % n == 0))):
            if n != a:
                yield (*shape[:k], n, a * b // n, *shape[k + 2 :])


def _gives(trace: Trace, changed: Changed, o: Observation, x: str, removed: int | None = None) -> bool:
    """`removed`: the axis along which g is laid beside the derivative, which is that of the other computation."""
    tape = Unnoted()
    try:
        inputs = [tape.leaf(np.asarray(a)) for a in o.inputs]
        g = o.g if removed is None else np.ones_like(o.g)
        value = np.asarray(trace.gradient(tape, inputs, o.reference.inputs.index(x), tape.leaf(g), changed))
        return close(value if removed is None else value * np.expand_dims(o.g, removed), o.got[x])
    except Exception:  # it does not fit what comes after it
        return False
