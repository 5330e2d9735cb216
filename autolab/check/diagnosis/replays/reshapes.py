"""Another forward: the gradient of a computation that differs from forward in one row, and is right for that.

Forward cuts its array into parts by a reshape, takes one entry of several, or goes along an axis, and the rule does so with another
shape, entry or axis; or it knows nothing of a step that takes something off.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autolab.rules import TABLE

from ...run.observation import Observation, close
from ..budget import ROW, UNLIKELY, affordable
from ..diagnosis import Mistake
from ..quiet import quiet
from ..replay import Unnoted
from ..step_names import with_article
from .traces import RowRun, Trace

RESHAPES = ("reshape", "view", "unflatten")
MOST = 24  # others that are tried for a row
Changed = Mapping[int, Mapping[str, Any]]  # for some rows, by number, settings that differ


@quiet
def find_reshape(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Of a function on tensors: the row in the middle with which it gives what came back, if it is another one."""
    trace = trace_of(wrong[0])
    if trace is None or wrong[0].reference.elementwise:
        return None
    work = ROW * len(trace.rows)
    for text, changed in _never_taken_off(trace):
        if affordable(wrong[0], work, UNLIKELY) and _fit(wrong, x, gives := partial(_gives_with, changed=changed)):
            return _kept(wrong, Mistake("term", text, len(wrong) > 1), gives)
    for number, run in enumerate(trace.rows):
        for _, (family, text, settings) in zip(range(MOST), _others(trace, number, run), strict=False):
            if affordable(wrong[0], work, UNLIKELY) and _fit(wrong, x, gives := partial(_gives_with, changed={number: settings})):
                sure, parts = len(wrong) > 1 and family == "axis", ("setting", "size") * (family == "axis")
                return _kept(wrong, Mistake(family, text, sure, parts=parts), gives)
    for right, text, changed in _other_axes(trace):
        if affordable(wrong[0], 2 * work, UNLIKELY) and all(
            _gives(trace_of(o), changed, o, x) or _gives(trace_of(o), changed, o, x, right) for o in wrong
        ):
            return Mistake("axis", text, parts=("setting",))
    return find_other_forward(wrong, x)


Gives = Callable[[Observation, str], bool]


def _fit(wrong: Sequence[Observation], x: str, gives: Gives) -> bool:
    return all(gives(o, x) for o in wrong)


def _gives_with(o: Observation, x: str, changed: Changed) -> bool:
    return _gives(trace_of(o), changed, o, x)


def _kept(wrong: Sequence[Observation], found: Mistake, gives: Gives) -> Mistake:
    """What explains one input is tried first for the others, for which less is left to spend."""
    wrong[0].memo["other forward"] = found, gives
    return found


@quiet
def find_same_forward(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The other computation that explains the gradient for another input, if it explains this one as well."""
    found, gives = wrong[0].memo.get("other forward", (None, None))
    return found if found and _fit(wrong, x, gives) else None


def trace_of(o: Observation) -> Trace | None:
    """The rows that forward runs through in a call, if it runs on rows alone: of a function, or of an operation with rules of its own."""
    reference = o.reference
    if "trace" not in o.about_right:
        forward = reference.function or (
            reference.row.forward if reference.row and TABLE.get(reference.name) is not reference.row else None
        )
        o.about_right["trace"] = None
        with contextlib.suppress(Exception):
            inputs = dict(zip(reference.inputs, o.inputs, strict=True))
            o.about_right["trace"] = forward and Trace(forward, inputs, reference.call_settings(o.settings))
    return o.about_right["trace"]


def _other_axes(trace: Trace) -> Iterator[tuple[int, str, Changed]]:
    """Each axis that is named, in one row or in all that name it, a sentence, and another axis in its place."""
    named: dict[Any, list[int]] = {}
    for number, run in enumerate(trace.rows):
        axis = run.settings.get("axis")
        if isinstance(axis, int) or (isinstance(axis, tuple) and len(axis) == 1):
            named.setdefault(axis, []).append(number)
    for axis, numbers in named.items():
        for some in [[k] for k in numbers] + [numbers] * (len(numbers) > 1):
            words = " and ".join(dict.fromkeys(with_article(trace.names[k]) for k in some))
            for other in range(-3, 2):
                settings = {"axis": (other,) if isinstance(axis, tuple) else other}
                verb = "goes" if len(some) == 1 else "go"
                right = axis[0] if isinstance(axis, tuple) else axis
                yield right, f"is what belongs to another axis: {words} in it {verb} along axis {other}", dict.fromkeys(some, settings)


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
    if run.row.name in WITHOUT and _is_of_others(trace, number, run):
        yield "term", f"is right for a computation that never {WITHOUT[run.row.name]} {_taken_off(trace, run)}", SKIPPED
    if run.row.name in BY_CONSTANT and isinstance(run.sources[0], int) and not isinstance(run.sources[1], int):
        text = f"is right for a computation that never {BY_CONSTANT[run.row.name]}: it leaves out {with_article(trace.names[number])}"
        yield "constant", text, SKIPPED
    if run.row.name in ORDERS:  # of as many entries as there are; else what comes after it does not fit
        words = with_article(trace.names[number])
        yield (
            "permutation",
            f"is right for a computation that leaves its entries in the order in which they stand: without {words}",
            SKIPPED,
        )


WITHOUT = {"sub": "takes off", "add": "adds", "div": "divides by"}
BY_CONSTANT = {"mul": "multiplies by this constant", "div": "divides by this constant"}
ORDERS = ("sort", "gather", "index")
SKIPPED: Mapping[str, Any] = {"skipped": True}


def _is_of_others(trace: Trace, number: int, run: RowRun) -> bool:
    """Is the second argument made on the way, and of fewer axes or entries, such as a mean?"""
    return len(run.sources) == 2 and all(isinstance(s, int) for s in run.sources) and run.sources[1] >= trace.inputs


def _taken_off(trace: Trace, run: RowRun, of_all: bool = False) -> str:
    made = next((k for k, r in enumerate(trace.rows) if run.sources[1] in r.places), None)
    if made is None:
        return "another value"
    return f"the result of {trace.names.words[made] if of_all else trace.names[made]}"


def _never_taken_off(trace: Trace) -> Iterator[tuple[str, Changed]]:
    """All the means that are taken off, or all the sums that something is divided by, of several inputs at once."""
    alike: dict[tuple[str, str], list[int]] = {}
    for number, run in enumerate(trace.rows):
        if run.row.name in WITHOUT and _is_of_others(trace, number, run):
            alike.setdefault((run.row.name, _taken_off(trace, run, of_all=True)), []).append(number)
    for (name, what), numbers in alike.items():
        if len(numbers) > 1:
            yield f"is right for a computation that never {WITHOUT[name]} {what}, at no step", dict.fromkeys(numbers, SKIPPED)


# What a row is taken for: the mistake, the row, what is in its place, and what both are called.
TAKEN_FOR = [
    ("function", "pow_scalar", "abs", "the absolute value", "a power"), ("function", "abs", "square", "the square", "the absolute value"),
    ("function", "square", "abs", "the absolute value", "the square"), ("function", "sin", "cos", "cos", "sin"),
    ("function", "cos", "sin", "sin", "cos"), ("function", "sqrt", "", "no root", "the root"),
    ("function", "tanh", "sigmoid", "sigmoid", "tanh"), ("function", "sigmoid", "tanh", "tanh", "sigmoid"),
]  # fmt: skip
MOST_FORWARDS = 40


def find_other_forward(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The gradient of a computation with another function in it: a root that forward does not take, an absolute value for a square."""
    trace = trace_of(wrong[0])
    if trace is None or wrong[0].reference.elementwise:
        return None
    for _, (family, text, change) in zip(range(MOST_FORWARDS), _other_forwards(trace), strict=False):
        if affordable(wrong[0], ROW * len(trace.rows), UNLIKELY) and _fit(wrong, x, gives := partial(_gives_after, change=change)):
            return _kept(wrong, Mistake(family, text, len(wrong) > 1), gives)
    return None


Change = Callable[[Trace], Trace | None]


def _gives_after(o: Observation, x: str, change: Change) -> bool:
    other = trace_of(o)
    return other is not None and _gives(change(other), {}, o, x)


def _other_forwards(trace: Trace) -> Iterator[tuple[str, str, Change]]:
    names = [run.row.name for run in trace.rows]
    if "sin" in names and "cos" in names:
        exchange = {"sin": "cos", "cos": "sin"}
        yield "function", "has sin and cos exchanged", lambda t: _with_rows(t, [_as(r, exchange.get(r.row.name, "")) for r in t.rows])
    for number, name in enumerate(names):
        for family, right, other, said, what in TAKEN_FOR:
            if right == name and other:
                text = f"is right for a computation with {said} where forward has {what}"
                yield family, text, partial(_taken_for, number=number, other=other)
            elif right == name:
                yield family, f"is right for a computation with {said} where forward has {what}", partial(_without, number=number)
    for number, run in enumerate(trace.rows):
        if any(_is_triangle(source) for source in run.sources):
            text = "is right for the other triangle of a mask: what forward lets through is cut off, and the other way round"
            yield "mask", text, partial(_other_triangle, number=number)
    for number, name in enumerate(names):
        if name in ("abs", "square", "pow_scalar") and "sum" in names[number + 1 :]:
            at = names.index("sum", number + 1)
            if name == "abs":
                text = "is right for the root of the sum of squares where forward has the sum of absolute values"
                yield "function", text, partial(_rooted, number=at, squared=number)
            yield (
                "function",
                "is right for a computation that takes the root of the sum, which forward does not",
                partial(_rooted, number=at),
            )
    for number, run in enumerate(trace.rows):
        if run.row.name in ("mean", "sum", "max", "amax") and isinstance(run.settings.get("axis"), tuple):
            for axis in (0, 1, -1, None):
                words = "over everything" if axis is None else f"along axis {axis}"
                text = f"is what belongs to another axis: {with_article(trace.names[number])} in it goes {words}, and is a constant there"
                yield "axis", text, partial(_constant, number=number, axis=None if axis is None else (axis,))


def _as(run: RowRun, other: str) -> RowRun:
    return replace(run, row=TABLE[other]) if other else run


def _with_rows(trace: Trace, rows: list[RowRun]) -> Trace:
    other = copy.copy(trace)
    other.rows = rows
    vars(other).pop("names", None)
    return other


def _changed_row(trace: Trace, number: int, *rows: RowRun) -> Trace | None:
    return _with_rows(trace, [*trace.rows[:number], *rows, *trace.rows[number + 1 :]]) if number < len(trace.rows) else None


def _taken_for(trace: Trace, number: int, other: str) -> Trace | None:
    run = trace.rows[number]
    if other == "square":
        return _changed_row(trace, number, replace(run, row=TABLE["pow_scalar"], settings={"exponent": 2}))
    return _changed_row(trace, number, replace(run, row=TABLE[other], settings={}))


def _without(trace: Trace, number: int) -> Trace | None:
    run = trace.rows[number]
    return _changed_row(trace, number, replace(run, row=TABLE["pow_scalar"], settings={"exponent": 1}))


def _rooted(trace: Trace, number: int, squared: int | None = None) -> Trace | None:
    """With a root after a row; and perhaps squares in the place of another row."""
    other = _taken_for(trace, squared, "square") if squared is not None else trace
    if other is None or number >= len(other.rows):
        return None
    run = other.rows[number]
    root = replace(run, row=TABLE["sqrt"], sources=[trace.count], settings={})
    found = _changed_row(other, number, replace(run, places=[trace.count]), root)
    if found:
        found.count = trace.count + 1
    return found


def _is_triangle(source: Any) -> bool:
    """Is it a constant matrix with 0, or False, on one side of its diagonal alone?"""
    a = np.asarray(source)
    return a.ndim == 2 and a.shape[0] == a.shape[1] > 1 and bool(np.triu(a, 1).any()) != bool(np.tril(a, -1).any())


def _other_triangle(trace: Trace, number: int) -> Trace | None:
    run = trace.rows[number]
    return _changed_row(trace, number, replace(run, sources=[s.T if _is_triangle(s) else s for s in run.sources]))


def _constant(trace: Trace, number: int, axis: Any) -> Trace | None:
    """With another axis in a row, through which nothing goes back."""
    run = trace.rows[number]
    row = copy.copy(run.row)
    row.rules = {}
    return _changed_row(trace, number, replace(run, row=row, settings={**run.settings, "axis": axis}))


def _shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes of as many axes and entries: two neighbours exchanged, or one larger and the next one smaller."""
    for k in range(len(shape) - 2, -1, -1):
        a, b = shape[k : k + 2]
        for n in dict.fromkeys((b, *(n for n in range(1, a * b + 1) if a * b % n == 0))):
            if n != a:
                yield (*shape[:k], n, a * b // n, *shape[k + 2 :])


def _gives(trace: Trace | None, changed: Changed, o: Observation, x: str, removed: int | None = None) -> bool:
    """`removed`: the axis along which g is laid beside the derivative, which is that of the other computation."""
    if trace is None:
        return False
    tape = Unnoted()
    try:
        inputs = [tape.leaf(np.asarray(a)) for a in o.inputs]
        g = o.g if removed is None else np.ones_like(o.g)
        value = np.asarray(trace.gradient(tape, inputs, o.reference.inputs.index(x), tape.leaf(g), changed))
        return close(value if removed is None else value * np.expand_dims(o.g, removed), o.got[x])
    except Exception:  # it does not fit what comes after it
        return False
