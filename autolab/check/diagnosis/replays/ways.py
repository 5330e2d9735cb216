"""The ways in which a right gradient can be worked out and replayed: the rule, a formula that is equal to it, its steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...run.observation import Observation, close
from ..budget import affordable
from ..formulas.equivalent_formulas import NamedFormula, equivalent_formulas
from ..formulas.factorisations import factor_formulas
from ..replay import Call, CannotReplay, Tape
from ..shapes import lifted
from .chains import chains
from .row_call import RowCall

Change = Callable[[int, Call], Any]


class Way(Protocol):
    """Something that gives the gradient and notes its calls; with other answers to them it gives another."""

    @property
    def key(self) -> Any:
        """Two ways have two keys."""
        ...

    def calls(self, o: Observation, x: str, g: np.ndarray) -> tuple[np.ndarray, list[Call]]:
        """The gradient for this g, and what was called."""
        ...

    def changed(self, o: Observation, x: str, some: Sequence[int], change: Change) -> np.ndarray:
        """The gradient if the calls with these numbers give something else: `change` is asked what; None is what they gave."""
        ...

    def work(self, o: Observation, x: str) -> int:
        """About how many operations on arrays a change costs."""
        ...


class Taped:
    """A formula or a function on arrays, noted on a tape."""

    key: Any = "rule"

    def gradient(self, o: Observation, x: str, names: Mapping[str, Any], g: Any) -> Any:
        """The right rule itself, on these values."""
        function, needs = o.reference.rules[x]
        names = o.reference.call_settings(names)
        return function(g, *(names.get(n) for n in needs))

    def tape(self, o: Observation, x: str) -> tuple[Tape, int]:
        """What it does with this observation, and where g is on the tape; made once, and tried on other numbers."""
        if ("tape", x, self.key) not in o.about_right:
            o.about_right["tape", x, self.key] = self._made(o, x)
        return o.about_right["tape", x, self.key]

    def _made(self, o: Observation, x: str) -> tuple[Tape, int]:
        tape, moved = Tape(), {}
        names, other = dict(o.names), dict(o.names)
        for name, value in o.names.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                names[name] = tape.leaf(value)
                other[name] = moved[names[name].node] = np.asarray(value * 1.0625)
        g = tape.leaf(o.g)
        moved[g.node] = np.asarray(o.g * 1.25)
        tape.end(self.gradient(o, x, names, g))
        told = tape.result(tape.again(leaves=moved))
        if not close(told, np.asarray(self.gradient(o, x, other, moved[g.node]))):
            raise CannotReplay("something that it did was not noted")
        return tape, g.node

    def calls(self, o: Observation, x: str, g: np.ndarray) -> tuple[np.ndarray, list[Call]]:
        """The gradient for this g, and what was called."""
        tape, at = self.tape(o, x)
        fresh = {} if g is o.g else tape.again(leaves={at: g})
        return np.broadcast_to(tape.result(fresh), o.want[x].shape), tape.calls(fresh)

    def changed(self, o: Observation, x: str, some: Sequence[int], change: Change) -> np.ndarray:
        """The gradient if these calls give something else."""
        tape, _ = self.tape(o, x)
        return np.broadcast_to(tape.result(tape.changed(some, change)), o.want[x].shape)

    def work(self, o: Observation, x: str) -> int:
        """About how many operations on arrays a change costs."""
        return len(self.tape(o, x)[0].counting)


class Formula(Taped):
    """A formula that gives the same as the rule."""

    def __init__(self, formula: NamedFormula):
        self.formula = formula
        self.key = formula.text, tuple(formula.letters.items())

    def gradient(self, o: Observation, x: str, names: Mapping[str, Any], g: Any) -> Any:
        """The formula on these values."""
        return self.formula.worked_out({**names, "g": g})


class Row(Taped):
    """A function that is one row of the table: its rule, or a formula that is equal to it."""

    def __init__(self, number: int, formula: NamedFormula | None = None):
        self.number, self.formula = number, formula
        self.key = ("row", number, formula.text if formula else "")

    def step(self, o: Observation, x: str) -> RowCall:
        """The row, as it ran."""
        chain = chains(o, x)[self.number]
        if chain is None:
            raise LookupError("no such row here")
        return chain.steps[0]

    def gradient(self, o: Observation, x: str, names: Mapping[str, Any], g: Any, **settings: Any) -> Any:
        """The rule of the row on these values."""
        step, chain = self.step(o, x), chains(o, x)[self.number]
        assert chain is not None
        inputs = {y: names[chain.inputs[s]] for y, s in zip(step.row.inputs, step.sources, strict=False) if s is not None}
        known = {**step.names, **inputs, "out": names["out"]} | settings
        rule = step.row.rules[step.argument(step.sources.index(chain.inputs.index(x)))]
        if self.formula:
            return self.formula.worked_out({**known, "axis": _plain(known.get("axis")), "g": g})
        return rule.function(g, *(step.value(name, known) for name in rule.needs))


def _plain(axis: Any) -> Any:
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of forward, run again and followed back: what one of them gives is changed both forward and backward."""

    number: int
    keep: bool = False  # the axis that a reduction removes is kept, and g has it put back: then it may be another one

    @property
    def key(self) -> Any:
        """Each decomposition is a way."""
        return "steps", self.number, self.keep

    def calls(self, o: Observation, x: str, g: np.ndarray) -> tuple[np.ndarray, list[Call]]:
        """The gradient for this g, and what was called."""
        calls: list[Call] = []
        return self._run(o, x, g, None, lambda k, call: calls.append(call)), calls

    def changed(self, o: Observation, x: str, some: Sequence[int], change: Change) -> np.ndarray:
        """The gradient if these calls give something else, on the way there and on the way back."""
        return self._run(o, x, o.g, some, change)

    def work(self, o: Observation, x: str) -> int:
        """About how many operations on arrays a change costs."""
        chain = chains(o, x)[self.number]
        return 12 * len(chain.steps) if chain else 0

    def _run(self, o: Observation, x: str, g: np.ndarray, some: Sequence[int] | None, change: Change) -> np.ndarray:
        """Forward through the rows with what is answered to some calls, or to all, then back through the same.

        A row that no change reaches stays as it ran, and passes on what it passed on, if the same comes back to it.
        """
        count = itertools.count()
        chain = chains(o, x)[self.number]
        if chain is None:
            raise LookupError("no such steps here")
        values, ran, axes = list(chain.values), list[tuple[RowCall, float]](), []
        others = set[int | None]()  # places that have other values now

        def asked(call: Call) -> Any:
            k = next(count)
            return change(k, call) if some is None or k in some else None

        for step in chain.steps:
            removes = self.keep and step.names.get("keepdims") is False
            if removes:
                axes.append(step.names["axis"])
            if some is not None and not removes and others.isdisjoint(step.sources):
                if not _is_call(step.row, step.sources, step.names["raw"]) or (k := next(count)) not in some:
                    ran.append((step, 1.0))
                    continue
                again, scale = self._again(step, values, partial(change, k))
            else:
                again, scale = self._again(step, values, asked)
            values[step.place] = scale * again.names["out"]
            others.add(step.place)
            ran.append((again, scale))
        if self.keep and len(axes) != 1:
            raise LookupError("not one reduction")
        start = np.broadcast_to(g, values[chain.last].shape)
        if self.keep:
            start = np.ones_like(values[chain.last])
        elif g is o.g and start.shape == chain.g.shape:
            start = chain.g
        arrived: dict[int, Any] = {chain.last: start}
        for step, scale in reversed(ran):
            if step.place not in arrived:
                continue
            same = scale == 1.0 and step.incoming is not None and arrived[step.place] is step.incoming
            incoming = arrived[step.place] if same else scale * arrived[step.place]
            for k, source in enumerate(step.sources):
                if source is not None and step.has_rule(k):
                    value = step.passed[k] if same else step.fit(k, step.rule(k, incoming))
                    arrived[source] = arrived[source] + value if source in arrived else value
        gradient = np.asarray(arrived[chain.inputs.index(x)])
        return gradient * lifted(g, o.want[x], axes[0]) if self.keep else gradient

    def _again(self, step: RowCall, values: list, ask: Callable[[Call], Any]) -> tuple[RowCall, float]:
        """One row on changed values, and by which factor its result was changed besides."""
        row = step.row
        if row.variadic:
            raise LookupError("a list of arrays is not followed")
        raw = [old if source is None else values[source] for source, old in zip(step.sources, step.names["raw"], strict=True)]
        settings = {k: step.names[k] for k in row.settings}
        if self.keep and "keepdims" in settings:
            settings["keepdims"] = True
        taken = dict(settings)
        changed = None
        if _is_call(row, step.sources, raw):

            def along(axis: Any, array: Any = raw[0]) -> Any:
                taken["axis"] = axis if axis is None or isinstance(axis, tuple) or not isinstance(settings["axis"], tuple) else (axis,)
                return np.asarray(row.forward(array, *raw[1:], **taken))

            if "axis" in settings:
                changed = ask(Call("along", row.name, raw[0], settings["axis"], along, bool(settings.get("keepdims", True))))
            else:
                changed = ask(Call("divide", "division", raw[0], int(raw[1]), lambda n: raw[0] / n))
        base, scale = np.asarray(row.forward(*raw, **(settings if changed is None else taken))), 1.0
        if changed is not None:
            out = np.asarray(changed)
            scale = float(np.vdot(base, out) / np.vdot(base, base)) if base.any() else 1.0
            if not close(out, scale * base):
                raise LookupError("another result, of which the derivative is not known")
            base = out / scale
        else:
            taken = settings
        names = {**step.names, **taken, "raw": raw, "out": base}
        names |= dict(zip(row.inputs, raw, strict=False)) | {f"{x}_shape": a.shape for x, a in zip(row.inputs, raw, strict=False)}
        return RowCall(row, step.sources, names, step.place), scale


def _is_call(row: Any, sources: Sequence[int | None], raw: Sequence[np.ndarray]) -> bool:
    """Does a row go along an axis, or divide by a whole number?"""
    if "axis" in row.settings and raw[0].ndim:
        return True
    return bool(row.name == "div" and sources[1] is None and raw[1].ndim == 0 and raw[1] >= 2 and raw[1] == np.round(raw[1]))


def ways(o: Observation, x: str) -> Iterator[Way]:
    """All that are known of this operation, the rule first."""
    reference = o.reference
    if not reference.function:
        yield Taped()
        for formula in equivalent_formulas(reference.name, x, reference.inputs):
            yield Formula(formula)
    else:
        for formula in factor_formulas(o, x):
            yield Formula(formula)
    for number, chain in enumerate(chains(o, x)):
        if chain is not None:
            if reference.function and len(chain.steps) == 1 and not chain.steps[0].row.variadic:
                yield Row(number)
                row = chain.steps[0].row
                argument = chain.steps[0].argument(chain.steps[0].sources.index(chain.inputs.index(x)))
                for formula in equivalent_formulas(row.name, argument, row.inputs):
                    yield Row(number, formula)
            yield Steps(number)
            if reference.function and any(step.names.get("keepdims") is False for step in chain.steps):
                yield Steps(number, keep=True)


def calls_of(o: Observation, x: str, way: Way, g: Any = None) -> list[Call]:
    """What is called on this way, in order; nothing if it does not give the right gradient here. Worked out once for o.g."""
    if g is not None:
        return way.calls(o, x, g)[1]
    if ("calls", x, way.key) not in o.about_right:
        try:
            value, calls = way.calls(o, x, o.g)
        except Exception:  # a closed function may do anything with its arguments
            value, calls = np.zeros(()), []
        o.about_right["calls", x, way.key] = calls if calls and close(value, o.want[x]) else []
    return o.about_right["calls", x, way.key]


MOST_WORK = 4000  # operations on arrays, each some microseconds
BEFORE_AXES = 0.6  # how much of them may be spent before other axes are tried, which are likelier


def is_affordable(o: Observation, x: str, way: Way, share: float = 1.0) -> bool:
    """May one more change be tried on this call? A check takes its time, and a lesson has many.

    `share`: how much of it may be spent then, where something else is tried after it.
    """
    work, spent = way.work(o, x), o.memo.get(("spent", x), 0)
    if spent + work > share * MOST_WORK or not affordable(o, work):
        return False
    o.memo["spent", x] = spent + work
    return True


def calls_that_count(o: Observation, x: str, way: Way) -> list[int]:
    """Which of the calls the gradient for x depends on: not on a maximum that is taken off, nor on what is for another input."""
    if ("count", x, way.key) not in o.about_right:
        o.about_right["count", x, way.key] = [k for k in range(len(calls_of(o, x, way))) if _counts(o, x, way, k)]
    return o.about_right["count", x, way.key]


def _counts(o: Observation, x: str, way: Way, k: int) -> bool:
    def change(at: int, call: Call) -> Any:
        right = np.asarray(call.run(call.axis))
        return np.flip(right) if call.kind == "turn" else right * np.linspace(1.1, 1.9, right.size).reshape(right.shape)

    try:
        return not close(way.changed(o, x, (k,), change), o.want[x])
    except Exception:  # whole numbers, such as an order, or steps that cannot follow such a change
        return True


def calls_with_g(o: Observation, x: str, way: Way) -> list[int]:
    """Which of the calls g goes into."""
    if not calls_of(o, x, way):
        return []
    if ("with g", x, way.key) not in o.about_right:
        pairs = enumerate(zip(calls_of(o, x, way), calls_of(o, x, way, 2 * o.g), strict=False))
        o.about_right["with g", x, way.key] = [k for k, (one, two) in pairs if not np.array_equal(one.array, two.array)]
    return o.about_right["with g", x, way.key]
