"""The ways in which a right gradient can be worked out and replayed: the rule, a formula that is equal to it, its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..run.observation import Observation, close
from .equivalent_formulas import NamedFormula, equivalent_formulas
from .replay import Call, Replay, plain
from .stepwise import RowCall, chains

Change = Callable[[int, Call], Any]


class Way(Protocol):
    """Something that gives the gradient, and asks about its calls."""

    key: Any

    def run(self, o: Observation, x: str, replay: Replay, g: np.ndarray) -> np.ndarray:
        """The gradient for x of this observation, with another g."""
        ...


@dataclass(frozen=True, eq=False)
class Rule:
    """The right rule itself."""

    key: Any = "rule"

    def run(self, o: Observation, x: str, replay: Replay, g: np.ndarray) -> np.ndarray:
        """The rule on arrays that ask."""
        asking = {k: replay.wrap(v) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for k, v in o.names.items()}
        return plain(np.asarray(o.reference.raw(x, replay.wrap(g), asking)))


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula that gives the same."""

    formula: NamedFormula

    @property
    def key(self) -> Any:
        """Two formulas are different ways."""
        return self.formula.text, tuple(self.formula.letters.items())

    def run(self, o: Observation, x: str, replay: Replay, g: np.ndarray) -> np.ndarray:
        """The formula on arrays that ask."""
        asking = {k: replay.wrap(v) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for k, v in o.names.items()}
        return np.broadcast_to(plain(self.formula.evaluate(Named(asking, replay.wrap(g)))), o.want[x].shape)


@dataclass(eq=False)
class Named:
    """As much of an observation as a formula looks at."""

    names: dict[str, Any]
    g: Any


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of forward, run again and followed back: what one of them gives is changed on both ways."""

    number: int

    @property
    def key(self) -> Any:
        """Each decomposition is a way."""
        return "steps", self.number

    def run(self, o: Observation, x: str, replay: Replay, g: np.ndarray) -> np.ndarray:
        """Forward through the rows with what is answered, then back through the same."""
        chain = chains(o, x)[self.number]
        if chain is None:
            raise LookupError("no such steps here")
        values, steps, scales = list(chain.values), [], []
        for step in chain.steps:
            again, scale = self._again(step, values, replay)
            values[step.place] = again.names["out"]
            steps.append(again)
            scales.append(scale)
        arrived: dict[int, Any] = {chain.last: np.broadcast_to(g, values[chain.last].shape)}
        for step, scale in zip(reversed(steps), reversed(scales), strict=True):
            if step.place not in arrived:
                continue
            incoming = scale * arrived[step.place]
            for k, source in enumerate(step.sources):
                if source is not None and step.has_rule(k):
                    value = step.fit(k, step.rule(k, incoming))
                    arrived[source] = arrived[source] + value if source in arrived else value
        return np.asarray(arrived[chain.inputs.index(x)])

    @staticmethod
    def _again(step: RowCall, values: list, replay: Replay) -> tuple[RowCall, float]:
        """One row on changed values, and by which factor its result was changed besides."""
        row = step.row
        if row.variadic:
            raise LookupError("a list of arrays is not followed")
        raw = [old if source is None else values[source] for source, old in zip(step.sources, step.names["raw"], strict=True)]
        settings = {k: step.names[k] for k in row.settings}
        taken = dict(settings)
        call = None
        if "axis" in settings and raw[0].ndim:

            def along(axis: Any, array: Any = raw[0]) -> Any:
                taken["axis"] = axis if axis is None or isinstance(axis, tuple) or not isinstance(settings["axis"], tuple) else (axis,)
                return np.asarray(row.forward(array, *raw[1:], **taken))

            call = Call("along", row.name, raw[0], settings["axis"], along, bool(settings.get("keepdims", True)))
        elif row.name == "div" and step.sources[1] is None and raw[1].ndim == 0 and raw[1] >= 2 and raw[1] == np.round(raw[1]):
            call = Call("divide", "division", raw[0], int(raw[1]), lambda n: raw[0] / n)
        if call is None:
            out, scale = np.asarray(row.forward(*raw, **settings)), 1.0
        else:
            out = plain(np.asarray(replay.answer(call)))
            base = np.asarray(row.forward(*raw, **taken))
            scale = float(np.vdot(base, out) / np.vdot(base, base)) if base.any() else 1.0
            if not close(out, scale * base):
                raise LookupError("another result, of which the derivative is not known")
        replay.work += 4
        names = {**step.names, **taken, "raw": raw, "out": out / scale}
        names |= dict(zip(row.inputs, raw, strict=False)) | {f"{x}_shape": a.shape for x, a in zip(row.inputs, raw, strict=False)}
        return RowCall(row, step.sources, {**names, "out": out / scale}, step.place), scale


def ways(o: Observation, x: str) -> Iterator[Way]:
    """All that are known of this operation, the rule first."""
    reference = o.reference
    if not reference.function:
        yield Rule()
        for formula in equivalent_formulas(reference.name, x, reference.inputs):
            yield Formula(formula)
    for number, chain in enumerate(chains(o, x)):
        if chain is not None:
            yield Steps(number)


def replayed(o: Observation, x: str, way: Way, change: Change | None = None, g: Any = None) -> np.ndarray:
    """The gradient for x with some calls changed."""
    return way.run(o, x, Replay(change), np.asarray(o.g if g is None else g))


def calls_of(o: Observation, x: str, way: Way, g: Any = None) -> list[Call]:
    """What is called on this way, in order; nothing if it does not give the right gradient here. Worked out once."""
    key = "calls", x, way.key, None if g is None else id(g)
    if key not in o.memo:
        replay = Replay()
        try:
            value = way.run(o, x, replay, np.asarray(o.g if g is None else g))
            right = g is not None or close(value, o.want[x])
        except Exception:  # a closed function may do anything with its arguments
            right = False
        o.memo[key] = replay.calls if right else []
        o.memo["work", x, way.key] = replay.work + 8 * len(replay.calls)
        o.memo["kept", key] = g  # so that its id stays taken
    return o.memo[key]


MOST_WORK = 6000  # operations on arrays, each some microseconds


def is_affordable(o: Observation, x: str, way: Way) -> bool:
    """May it be replayed once more for this call? Each time it costs what it costs."""
    spent = o.memo.get(("spent", x), 0) + o.memo["work", x, way.key]
    o.memo["spent", x] = spent
    return spent <= MOST_WORK


def calls_that_count(o: Observation, x: str, way: Way) -> list[int]:
    """Which of the calls the gradient for x depends on: a rule may work out those of other inputs as well, or take off a maximum."""
    if ("count", x, way.key) not in o.memo:
        o.memo["count", x, way.key] = [k for k in range(len(calls_of(o, x, way))) if _counts(o, x, way, k)]
    return o.memo["count", x, way.key]


def _counts(o: Observation, x: str, way: Way, k: int) -> bool:
    def change(at: int, call: Call) -> Any:
        return 1.5 * call.run(call.axis) if at == k and call.kind != "turn" else np.flip(call.run(call.axis)) if at == k else None

    try:
        return not close(replayed(o, x, way, change), o.want[x])
    except Exception:  # of whole numbers, such as an order
        return True


def calls_with_g(o: Observation, x: str, way: Way) -> list[int]:
    """Which of the calls g goes into."""
    if ("with g", x, way.key) not in o.memo:
        pairs = enumerate(zip(calls_of(o, x, way), calls_of(o, x, way, 2 * o.g), strict=False))
        o.memo["with g", x, way.key] = [k for k, (one, two) in pairs if not np.array_equal(one.array, two.array)]
    return o.memo["with g", x, way.key]
