"""Other entries than those of forward, in a step that takes them by an order or an index, or adds to them there.

The other entries receive what comes back, or are among the values where those of forward belong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...run.observation import close
from ..step_names import with_article
from .lookups import ADDS, ARGUMENT, TAKES, Key, LookUp, is_move, lookups_of, steps_after
from .row_call import RowCall
from .stepwise import Chain, ChainSlip, links_to

BACK = {  # what is done with what comes back to such a step
    "own order": "is not brought back from the order of {}: each part stays at the place that it has in the result",
    "first": "gives what comes back to {} to the first entries: forward takes them by their size, and not by their place",
    "counted": "does not use the index in {}: what comes back goes to entries 0, 1, 2 and so on",
    "inverse": "is moved by the order of {}, where the inverse of that order belongs",
    "opposite": "takes the order of {} from the other end, the last for the first",
    "other end": "counts sizes from the other end in {}: the smallest entries get what belongs to the largest, or the other way round",
    "own sizes": "goes by the sizes of the entries that {} takes, and forward takes them in another order",
    "largest": "gives what comes back to {} to the largest entry: forward takes another one",
    "smallest": "gives what comes back to {} to the smallest entry: forward takes another one",
    "at largest": "gives what comes back to {} to the place of the largest, and forward takes that of the smallest",
    "at smallest": "gives what comes back to {} to the place of the smallest, and forward takes that of the largest",
    "after": "gives what comes back to {} to the entry after the one that was taken",
    "before": "gives what comes back to {} to the entry before the one that was taken",
}
GIVES = {  # and with what comes back to one that adds
    "counted": "does not use the index in {}: entries 0, 1, 2 and so on of what comes back are taken",
    "opposite": "takes the index of {} from the other end, the last for the first",
    "after": "takes the entry after the one that it was added to, of what comes back to {}",
    "before": "takes the entry before the one that it was added to, of what comes back to {}",
}
VALUES = {  # what is in the place of the result
    "own order": "{} in its own order",
    "first": "the first entries of {}",
    "counted": "entries 0, 1, 2 and so on of {}",
    "inverse": "{} in the inverse order",
    "opposite": "{} in the opposite order",
    "other end": "the entries of {} at the other end, the smallest for the largest or the other way round,",
    "own sizes": "{} in the order of its sizes",
    "largest": "the largest entry of {}",
    "smallest": "the smallest entry of {}",
    "at largest": "{} at the place of the largest, for that of the smallest,",
    "at smallest": "{} at the place of the smallest, for that of the largest,",
    "after": "the entry of {} after each that was taken",
    "before": "the entry of {} before each that was taken",
    "sum": "the sum of {} along its axis",
    "mean": "the mean of {} along its axis",
}
WHOLE: dict[str, Callable[..., np.ndarray]] = {"sum": np.sum, "mean": np.mean}
At = tuple[int, int, Key]  # a step, which of its look-ups, and what is wrong


def other_entries(chain: Chain, x: str) -> Iterator[ChainSlip]:
    """Other entries, on the way back and among the values, in each such step."""
    depends = chain.reaches(x)
    for i, step in enumerate(chain.steps):
        if (argument := ARGUMENT.get(step.row.name)) is None:
            continue
        name, words = with_article(chain.names[i]), GIVES if step.row.name in ADDS else BACK
        is_on_way = step.sources[argument] in depends and argument in step.passed
        for m, found in enumerate(lookups_of(chain, i)):
            if found.is_order and step.sources[0] == chain.inputs.index(x):
                chain.memo["orders", x, found.place] = True
            for key in (k for k in found.others if is_on_way and not _is_taken_too(chain, i, found, k)):
                for predict in (_moved, _moved_before) if key[0] in words else ():
                    yield ChainSlip(found.family(key), words[key[0]].format(name), partial(predict, x=x, at=(i, m, key)))
                if step.row.name in TAKES:
                    text = f"is right for a forward with {VALUES[key[0]].format(_array(chain, i))} where {_said(chain, found)} belongs"
                    yield ChainSlip(found.family(key), text, partial(_throughout, x=x, at=(i, m, key)))
            if step.row.name in ADDS:
                yield from _with_sums(chain, x, i)
            else:
                yield from _with_values(chain, x, i, m)


def _is_taken_too(chain: Chain, i: int, found: LookUp, key: Key) -> bool:
    """Does another step take the entries beside these, as an interpolation does? Then one of them has the share of the other as well."""
    others = (j for j, step in enumerate(chain.steps) if j != i and step.sources[0] == chain.steps[i].sources[0])
    return key[0] in ("after", "before") and any(
        np.array_equal(found.others[key], other.at[other.axis]) for j in others for other in lookups_of(chain, j)
    )


# ---------- on the way back


def _moved(chain: Chain, x: str, at: At) -> np.ndarray:
    """The gradient for x if what comes back goes to other places, or comes from there."""
    i, found = at[0], _known(chain, at)
    g, places = chain.gradients[found.place], found.places(at[2])
    if chain.steps[i].row.name in ADDS:
        return chain.changed(x, {(i, ADDS[chain.steps[i].row.name]): g[places]})
    return chain.changed(x, {(i, 0): found.added(g, places)})


def _moved_before(chain: Chain, x: str, at: At) -> np.ndarray:
    """That if it is moved first, and then multiplied by the slopes of functions that forward applied to each entry afterwards."""
    found = _known(chain, at)
    if not found.is_order or at[2][0] == "other end":
        raise LookupError("it would be another product")
    if (key := ("functions after", found.place)) not in chain.memo:
        chain.memo[key] = _functions_after(chain, found.place)
    g, slope = chain.memo[key] if chain.memo[key] else _nothing()
    return chain.changed(x, {(at[0], 0): found.added(g, found.places(at[2])) * found.added(slope, found.at)})


def _throughout(chain: Chain, x: str, at: At) -> np.ndarray:
    """The gradient of a forward that takes other entries: they are among the values, and what comes back goes to them."""
    found, values = _known(chain, at), _values_with(chain, at)
    if len(values) == 1:  # nothing is made of them
        _nothing()
    arrived: dict[int, Any] = {chain.last: chain.g}
    for step in reversed(chain.steps):
        if (g := arrived.get(step.place)) is None or step.place in chain.constant:
            continue
        if step.place == found.place:
            parts = [(s, found.added(g, found.places(at[2]))) for s in chain.steps[at[0]].sources[:1] if s is not None]
        else:
            others = {} if step.row.variadic else {y: values[s] for y, s in zip(step.row.inputs, step.sources, strict=False) if s in values}
            others |= {"out": values[step.place]} if step.place in values else {}
            parts = [(s, step.fit(k, step.rule(k, g, **others))) for k, s in enumerate(step.sources) if s is not None and step.has_rule(k)]
        for source, part in parts:
            arrived[source] = arrived[source] + part if source in arrived else part
    return arrived[chain.inputs.index(x)]


def _is_function(step: RowCall) -> bool:
    """Is it a function of each entry by itself?"""
    return step.row.kind == "elementwise" and len([s for s in step.sources if s is not None]) == 1


def _functions_after(chain: Chain, place: int) -> tuple[np.ndarray, np.ndarray] | None:
    """What comes back to a place but for the slopes of the functions of each entry that are next in forward, and these slopes."""
    cuts = [*steps_after(chain, place, is_move)]
    start = cuts[-1][0].place if cuts else place
    functions = [*steps_after(chain, start, _is_function)]
    if not functions:
        return None
    g, value = chain.gradients[functions[-1][0].place], chain.values[place]
    for step, k in reversed(cuts):
        g = step.rule(k, g)
    slope = np.ones_like(value)
    for step, k in functions:  # of all entries, also those that were cut off
        raw, y = list(step.names["raw"]), step.argument(k)
        raw[k] = value
        out = np.asarray(step.row.forward(*raw, **{name: step.names[name] for name in step.row.settings}))
        slope = slope * step.rule(k, np.ones_like(out), **{y: value, f"{y}_shape": value.shape, "out": out})
        value = out
    return (g, slope) if close(g * slope, chain.gradients[place]) else None


def _known(chain: Chain, at: At) -> LookUp:
    found = lookups_of(chain, at[0])
    return found[at[1]] if at[1] < len(found) else _nothing()


def _nothing() -> Any:
    raise LookupError("no entries are chosen here")


# ---------- among the values


def _with_values(chain: Chain, x: str, i: int, m: int) -> Iterator[ChainSlip]:
    """Other entries where those that step i took belong, in the derivative of one of the steps that use them or what was made of them."""
    found = lookups_of(chain, i)[m]
    for key in (*found.others, *((word, 0) for word in WHOLE if not m)):
        at = i, m, key
        for use in _uses(chain, x, _values_with(chain, at)):
            text = f"uses {VALUES[key[0]].format(_array(chain, i))} where {_said(chain, found)} belongs"
            yield ChainSlip("variable", text, partial(_with_value, x=x, at=at, use=use))


def _said(chain: Chain, found: LookUp) -> str:
    """What is taken, in words."""
    return f"the result of {with_article(chain.names[found.place - len(chain.inputs)])}"


def _array(chain: Chain, i: int) -> str:
    """What step i takes entries of."""
    source = chain.steps[i].sources[0]
    return chain.words[source] if source is not None else "its array"


Use = tuple[int, int, str, int]  # a step, its argument, what the rule for that calls a value, and the place of the value


def _uses(chain: Chain, x: str, places: Collection[int]) -> Iterator[Use]:
    """The links to x whose rules use one of these values."""
    for j, k in links_to(chain, x):
        step = chain.steps[j]
        known = {**dict(zip(step.row.inputs, step.sources, strict=False)), "out": step.place}
        for name in () if step.row.variadic else step.row.rules[step.argument(k)].needs:
            if (place := known.get(name)) is not None and place in places:
                yield j, k, name, place


def _values_with(chain: Chain, at: At) -> dict[int, Any]:
    """What step i and those after it give if it takes other entries; worked out once."""
    if ("look-up", at) not in chain.memo:
        found, array = _known(chain, at), chain.steps[at[0]].names["raw"][0]
        if whole := WHOLE.get(at[2][0]):
            value = np.broadcast_to(whole(array, axis=found.axis, keepdims=True), array.shape)[found.at]
        else:
            value = array[found.places(at[2])]
        chain.memo["look-up", at] = chain.values_with(found.place, value)
    return chain.memo["look-up", at]


def _with_value(chain: Chain, x: str, at: At, use: Use) -> np.ndarray:
    return _used(chain, x, use, _values_with(chain, at)[use[-1]])


def _used(chain: Chain, x: str, use: Use, value: np.ndarray) -> np.ndarray:
    """The gradient for x with another value in one use."""
    j, k, name, _ = use
    step = chain.steps[j]
    return chain.changed(x, {(j, k): step.fit(k, step.rule(k, step.incoming, **{name: value}))})


def _with_sums(chain: Chain, x: str, i: int) -> Iterator[ChainSlip]:
    """The sum that an entry went into, where the entry, or what it was made of, belongs."""
    added = chain.steps[i].sources[ADDS[chain.steps[i].row.name]]
    if added is None:
        return
    before = chain.steps[added - len(chain.inputs)].sources if added >= len(chain.inputs) else ()
    for use in _uses(chain, x, {s for s in (added, *before) if s is not None}):
        text = f"uses the sums of {chain.names[i]} where {chain.words[use[-1]]} belongs"
        yield ChainSlip("variable", text, partial(_with_sum, x=x, i=i, use=use))


def _with_sum(chain: Chain, x: str, i: int, use: Use) -> np.ndarray:
    sums = chain.steps[i].names["out"][_known(chain, (i, 0, ("", 0))).at]
    return _used(chain, x, use, sums if sums.shape == chain.values[use[-1]].shape else _nothing())
