"""Another axis: the whole computation along it, with what forward gives worked out there again, or one step of it.

Nothing is known of the operation but its rule: it is called with another axis, or run again with another axis in its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ...run.observation import Observation
from ..family import Family
from ..replay import Call
from ..shapes import all_axes, axis_name, count, lifted
from .ways import Row, Steps, Way, calls_of, calls_that_count, calls_with_g, is_affordable, ways


def everything(axis: Any, ndim: int) -> Any:
    """No axis: all of them."""
    return None


def _at(k: int) -> Callable:
    return lambda axis, ndim: k if -ndim <= k < ndim else _impossible()


def _one_of_several(k: int) -> Callable:
    return lambda axis, ndim: axis[k] if isinstance(axis, tuple) and len(axis) > 1 else _impossible()


def others(axis: Any, ndim: int) -> Any:
    """All axes but those that are meant."""
    rest = tuple(a for a in range(ndim) if a not in all_axes(axis, ndim))
    return rest[0] if len(rest) == 1 else rest or _impossible()


def following(axis: Any, ndim: int) -> Any:
    """The next axis; of several, those that are left."""
    if isinstance(axis, tuple):
        return others(axis, ndim)
    return (axis + 1) % ndim if isinstance(axis, int) and ndim > 1 else _impossible()


def preceding(axis: Any, ndim: int) -> Any:
    """The axis before."""
    return (axis - 1) % ndim if isinstance(axis, int) and ndim > 1 else _impossible()


def opposite(axis: Any, ndim: int) -> Any:
    """The last axis for the first, and the first for the last."""
    ends = {0: ndim - 1, ndim - 1: 0}
    return ends[axis % ndim] if isinstance(axis, int) and ndim > 1 and axis % ndim in ends else _impossible()


def _besides(neighbour: Callable) -> Callable:
    """An axis and the one beside it, of three or more."""
    return lambda axis, ndim: (axis, neighbour(axis, ndim)) if isinstance(axis, int) and ndim > 1 else _impossible()


def _and(k: int) -> Callable:
    """The axes that are meant, and one more."""

    def both(axis: Any, ndim: int) -> tuple[int, ...]:
        axes = all_axes(axis, ndim)
        return (k, *axes) if k < ndim and k not in axes and len(axes) > 1 else _impossible()

    return both


def _others_of_several(*these: int) -> Callable:
    """These axes, where several others are meant."""
    return lambda axis, ndim: these if isinstance(axis, tuple) and len(axis) > 1 and ndim > max(these) else _impossible()


def _impossible() -> Any:
    raise LookupError("there is no such axis")


EVERYTHING = "over everything"
# Which axis is taken instead, whatever the right one is in a call.
TARGETS: Mapping[str, Callable] = {
    EVERYTHING: everything,
    "along the last axis": _at(-1),
    "along axis 0": _at(0),
    "along axis 1": _at(1),
    "along axis -2": _at(-2),
    "along the first of the axes alone": _one_of_several(0),
    "along the last of the axes alone": _one_of_several(-1),
    "along the other axes": others,
    "along the next axis": following,
    "along the axis before": preceding,
    "along the axis at the other end": opposite,
    "along the next axis as well": _besides(following),
    "along the axis before as well": _besides(preceding),
    "along axis 0 as well": _and(0),
    "along axis 1 as well": _and(1),
    "along axes 0 and 1": _others_of_several(0, 1),
    "along axes 0 and 2": _others_of_several(0, 2),
    "along axes 1 and 2": _others_of_several(1, 2),
}
# Where several axes are put back, if not where they were: of their number.
ENDS: Mapping[str, Callable[[int], tuple[int, ...]]] = {
    "along the first axes": lambda k: tuple(range(k)),
    "along the last axes": lambda k: tuple(range(-k, 0)),
    "along the first axes and the last": lambda k: (*range(k - 1), -1),
}
WHOLE = "is what belongs to another axis: all is worked out {}, what forward gives there too"
RULE = "is what belongs to another axis: its sums go {}"
LIFTED = "belongs in part to another axis: g is spread {}"
SPREAD = "belongs in part to another axis: the axis that forward removed is put back elsewhere, and so g is spread {}"
RESULT = "belongs in part to another axis: what forward gives is taken {}, and the rest along the right one"
VALUES = "belongs in part to another axis: what is worked out without g goes {}, and the sums over g along the right one"
SUMS = "belongs in part to another axis: the sums over g go {}, and what is worked out without g along the right one"
ONLY = "is what belongs to another axis: the {} in it goes {}"
STEP = "belongs in part to another axis: the {} in it goes {}"


def other_axes(first: Observation, x: str) -> Iterator[Family]:
    """Every way to take another axis that explains the first call: the whole, the rule, forward, one step; simplest first."""
    if first.reference.elementwise:
        return
    if name := axis_name(first):
        right, ndim = first.names[name], first.want[x].ndim
        for text, look in ((WHOLE, _whole), (RULE, _rule), (LIFTED, _lift), (SPREAD, _spread), (RESULT, _result)):
            yield from _that_fit(first, x, text, look, right, ndim)
        if first.g.ndim < ndim:
            targets = {said: partial(_end, at=at) for said, at in ENDS.items()}
            yield from _that_fit(first, x, SPREAD, _spread, right, ndim, targets)
    for way in ways(first, x):
        if isinstance(way, Row) and way.formula is None and "axis" in way.step(first, x).names:
            yield from _that_fit(first, x, RESULT, partial(_row_result, way=way), way.step(first, x).names["axis"], first.want[x].ndim)
        calls, relevant = calls_of(first, x, way), calls_that_count(first, x, way)
        steps = {k: call for k, call in enumerate(calls) if call.kind == "along"}
        groups = [*_groups(first, x, way, steps, [k for k in steps if k in relevant])]
        if isinstance(way, Steps):  # a change costs most there: one step alone is likeliest
            groups.sort(key=lambda group: len(group[1]) > 1)
        for text, some in groups:
            # A sum may be divided by the size of the other axis, and a mean by the size of the right one.
            averages = [a for a in ("sum", "mean") if any(steps[k].name in AVERAGED[a] for k in some)]
            for average in ("", *averages):
                look = partial(_replayed, way=way, some=some, average=average)
                call = steps[some[0]]
                for family in _that_fit(first, x, text, look, call.axis, call.array.ndim, way=way, alone=len(some) == 1):
                    yield _left_out(family, [steps[k] for k in some]) or family


def _left_out(family: Family, calls: Sequence[Call]) -> Family | None:
    """Where what sums up to 1 is added up over everything, nobody took another axis: what the sums give was left out."""
    calls = [call for call in calls if len(all_axes(_plain(call.axis), call.array.ndim)) < call.array.ndim]
    of_all = EVERYTHING in family.text or (family.text.endswith("as well") and all(call.array.ndim == 2 for call in calls))
    if not of_all or not all(call.name in AVERAGED["sum"] and np.allclose(call.array.sum(), 1) for call in calls):
        return None
    of = "the sum" if len(calls) == 1 else "each sum"
    return replace(family, name="factor", text=f"is the right one with 1 in the place of {of} over an axis: what it gives is left out")


def _end(axis: Any, ndim: int, at: Callable) -> tuple[int, ...]:
    return at(len(all_axes(axis, ndim)))


Look = Callable[..., Any]  # of an observation, an input and what takes another axis


def _that_fit(
    first: Observation, x: str, text: str, look: Look, right: Any, ndim: int, targets: Mapping[str, Callable] = TARGETS, way: Any = None,
    alone: bool = False,
) -> Iterator[Family]:  # fmt: skip
    """For each axis that can be taken instead, if what comes of it is what the first call gave."""
    fits: dict[tuple[int, ...], bool] = {all_axes(_plain(right), ndim): False} if alone else {}  # along the right axes nothing is changed
    for said, to in targets.items():
        try:
            axes = all_axes(to(_plain(right), ndim), ndim)
            if axes not in fits:
                fits[axes] = (way is None or is_affordable(first, x, way)) and _gives(first, x, look, said, to)
        except Exception:  # this axis cannot be taken, or not by a function that nobody knows
            continue
        if fits[axes]:
            yield Family("axis", text.replace("{}", said), partial(look, to=to), exact=not isinstance(way, Steps))


def _gives(first: Observation, x: str, look: Look, said: str, to: Callable) -> bool:
    how: Any = look
    if isinstance(look, partial):
        more = {**look.keywords, "way": look.keywords["way"].key}
        how = look.func, *more.values()
    value = first.worked_out(("axes", x, how, said), lambda: look(first, x, to))
    return first.gave(x, _impossible() if value is None else value)


def _groups(
    first: Observation, x: str, way: Way, steps: Mapping[int, Call], counting: Sequence[int]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Calls that people change together: all, those that g goes into or not, each one, two of them."""
    if len(steps) > 1:
        yield RULE, tuple(steps)
    with_g = calls_with_g(first, x, way)
    of_g, alone = tuple(k for k in steps if k in with_g), tuple(k for k in steps if k not in with_g)
    if len(steps) > 2 and of_g and alone:
        yield VALUES, alone
        yield SUMS, of_g
    for k in counting:
        yield (STEP if len(counting) > 1 else ONLY).replace("{}", in_words(steps[k]), 1), (k,)
    for both in combinations(counting, 2) if 2 < len(counting) < FEW else ():
        if both not in (of_g, alone) and any(steps[k].name != "flip" for k in both):  # two that undo each other are none
            words = " and the ".join(dict.fromkeys(in_words(steps[k]) for k in both))
            yield STEP.replace("{} in it goes", f"{words} in it go"), both


FEW = 6
AVERAGED = {"sum": ("sum", "add"), "mean": ("mean",)}


def _plain(axis: Any) -> Any:
    """A number, if it is one axis."""
    if isinstance(axis, (list, tuple)):
        return axis[0] if len(axis) == 1 else tuple(axis)
    return axis


STEPS = {"add": "sum", "maximum": "maximum", "minimum": "minimum", "max": "maximum", "min": "minimum", "var": "variance",
         "std": "standard deviation", "prod": "product", "cumsum": "running sum", "cumprod": "running product",
         "argsort": "order", "argmax": "place of the maximum", "argmin": "place of the minimum", "logaddexp": "running sum",
         "take along": "choice", "division": "division", "flip": "flip", "sort": "order"}  # fmt: skip


def in_words(call: Call) -> str:
    """What a call is called in a sentence."""
    return STEPS.get(call.name, call.name)


def _name(o: Observation) -> str:
    return axis_name(o) or "axis"


def _axis(o: Observation) -> Any:
    return o.names[_name(o)]


def _other(o: Observation, x: str, to: Callable) -> Any:
    """The other axis; LookupError if there is none."""
    return to(_plain(_axis(o)), o.want[x].ndim)


def _names(o: Observation, axis: Any) -> dict[str, Any]:
    """All values as if forward had gone along another axis."""
    settings = {**o.settings, _name(o): axis}
    if "keepdims" in o.names:
        settings["keepdims"] = True
    return o.reference.environment(o.inputs, settings)


def _whole(o: Observation, x: str, to: Callable) -> np.ndarray:
    axis = _other(o, x, to)
    if _all(axis, o, x) == _all(_axis(o), o, x):
        return o.want[x]
    names = _names(o, axis)
    if np.shape(names["out"]) == o.g.shape and "keepdims" not in o.names:  # of an index, or of a square
        return o.reference.gradient(x, o.g, names)
    if o.out.shape == o.want[x].shape:
        return np.reshape(o.reference.gradient(x, np.reshape(o.g, names["out"].shape), names), o.want[x].shape)
    local = o.reference.raw(x, np.ones_like(names["out"]), names)
    return np.asarray(local * lifted(o.g, o.want[x], _axis(o)))


def _all(axis: Any, o: Observation, x: str) -> tuple[int, ...]:
    return tuple(sorted(all_axes(axis, o.want[x].ndim)))


def _lift(o: Observation, x: str, to: Callable) -> np.ndarray:
    if o.out.shape == o.want[x].shape:
        raise LookupError("there is no axis to put back")
    return o.reference.raw(x, o.g, {**o.names, "axis": _other(o, x, to)})


def _spread(o: Observation, x: str, to: Callable) -> np.ndarray:
    """The right local derivative, and g with its axes put back in another place."""
    shape, axis = o.want[x].shape, _axis(o)
    if o.g.ndim == len(shape):
        raise LookupError("no axis was removed")
    axes = all_axes(to(_plain(axis), len(shape)), len(shape))
    if len(axes) != len(shape) - o.g.ndim:
        raise LookupError("another number of axes")
    rest = iter(o.g.shape)
    wide = np.reshape(o.g, tuple(1 if i in axes else next(rest) for i in range(len(shape))))
    local = o.reference.raw(x, np.ones_like(o.g), o.names)
    return np.broadcast_to(wide, shape) * local


def _rule(o: Observation, x: str, to: Callable) -> np.ndarray:
    axis = _other(o, x, to)
    if _all(axis, o, x) == _all(_axis(o), o, x):
        return o.want[x]
    if o.out.shape == o.want[x].shape:
        return o.reference.raw(x, o.g, {**o.names, _name(o): axis})
    if "keepdims" not in o.names:
        raise LookupError("it cannot take g with its axes put back")
    names = {**o.names, _name(o): axis, "keepdims": True, "out": lifted(o.out, o.want[x], _axis(o))}
    return _full(o, x, o.reference.raw(x, lifted(o.g, o.want[x], _axis(o)), names))


def _result(o: Observation, x: str, to: Callable) -> np.ndarray:
    axis = _other(o, x, to)
    if _all(axis, o, x) == _all(_axis(o), o, x):
        return o.want[x]
    if "out" not in o.reference.rules[x][1]:
        raise LookupError("the rule does not ask what forward gave")
    out = _names(o, axis)["out"]
    if o.out.shape == o.want[x].shape:
        return o.reference.raw(x, o.g, {**o.names, "out": out})
    return _full(o, x, o.reference.raw(x, lifted(o.g, o.want[x], _axis(o)), {**o.names, "keepdims": True, "out": out}))


def _row_result(o: Observation, x: str, to: Callable, way: Row) -> np.ndarray:
    """The rule of a row with the result of forward along another axis."""
    step, ndim = way.step(o, x), o.want[x].ndim
    right = step.names["axis"]
    axis = to(_plain(right), ndim)
    if all_axes(axis, ndim) == all_axes(right, ndim):
        return o.want[x]
    settings = {k: step.names[k] for k in step.row.settings} | {
        "axis": (axis,) if isinstance(right, tuple) and isinstance(axis, int) else axis
    }
    if "keepdims" in settings:
        settings["keepdims"] = True
    out = np.asarray(step.row.forward(*step.names["raw"], **settings))
    names = {**o.names, "out": out}
    return _full(o, x, way.gradient(o, x, names, lifted(o.g, o.want[x], right), keepdims=settings.get("keepdims")))


def _full(o: Observation, x: str, value: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value, o.want[x].shape)


def _replayed(o: Observation, x: str, to: Callable, way: Way, some: tuple[int, ...], average: str) -> np.ndarray:
    """The gradient with some of its calls along another axis."""
    if some[-1] >= len(calls_of(o, x, way)):
        raise LookupError("there is no such step here")

    def change(k: int, call: Call) -> Any:
        return _along(call, to, average)

    return way.changed(o, x, some, change)


def _along(call: Call, to: Callable, average: str) -> np.ndarray:
    axis, ndim = to(_plain(call.axis), call.array.ndim), call.array.ndim
    right = np.asarray(call.run(call.axis))
    if all_axes(axis, ndim) == all_axes(call.axis, ndim):
        return right
    result = np.asarray(call.run(axis))
    if average == "sum" and call.name in AVERAGED["sum"]:
        result = result * (count(call.array.shape, call.axis) / count(call.array.shape, axis))
    if average == "mean" and call.name == "mean":
        result = result * (count(call.array.shape, axis) / count(call.array.shape, call.axis))
    if call.keepdims or result.shape == right.shape:
        return result
    if axis is None and result.size == right.size and result.ndim == 1:  # a running sum of all entries, one after another
        return result.reshape(right.shape)
    return np.broadcast_to(result, right.shape) if result.ndim == 0 else _impossible()
