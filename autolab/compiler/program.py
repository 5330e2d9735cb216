"""4. From the trace to a program: forward rows, the rules backward, and effects, as one list of steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autolab.compiler.lower import Lowering, Method, Step, Value, values_in
from autolab.compiler.trace import Backward, Check, Effect, Gradients, Operation, Ref, Tracer, Write
from autolab.dtypes import COMPLEX
from autolab.engine.apply import promote_operands, unusual_dtype
from autolab.engine.tensor import Tensor


class CannotCompile(Exception):
    """Says why a function is left to eager mode."""


class Load(NamedTuple):
    """Read the numbers of a tensor from outside, or of a gradient."""

    value: Value


class Accumulate(NamedTuple):
    """leaf.grad += value, as a backward pass does it."""

    leaf: str  # how the program speaks of it
    value: Value


class Again(NamedTuple):
    """Do an effect again."""

    effect: Effect
    place: str = ""  # of the tensor that it is about


class Within(NamedTuple):
    """Give up on this call unless all numbers are in [low, high)."""

    value: Value
    low: Any
    high: Any


class Store(NamedTuple):
    """Write a value into a tensor from outside. `before`: what the program read from there, which must not be used any more."""

    place: str
    value: Value
    before: Value | None


class Refuse(NamedTuple):
    """Raise if a row does not take these operands."""

    function: Any
    args: tuple[Any, ...]


class Recorded(NamedTuple):
    """An operation with its values, for the way back. `own`: (shape, dtype) of each argument as it came."""

    operation: Operation
    raws: list[Any]
    own: list[Any]
    outs: tuple[Any, ...]


class Builder:
    """Lowers the events of a trace, in order."""

    def __init__(self, tracer: Tracer, places: list[str], keeps: Any, lowering: type[Lowering]) -> None:
        self.tracer, self.to = tracer, lowering(keeps)
        self.values: dict[int, Value] = {}
        self.loaded: set[int] = set()  # values that an effect may change
        self.records: list[Recorded] = []
        self.names: dict[str, Any] = {}  # objects that the program speaks of
        self.spent: set[int] = set()  # tensors whose graph a backward pass inside has used up
        self.places = {id(tracer.tensors[n]): place for n, place in zip(tracer.inputs, places)}
        for n, place in zip(tracer.inputs, places):
            self.values[n] = self.to.new(tracer.tensors[n].payload, source=f"{place}.payload")
            self.to.steps.append(Load(self.values[n]))
        for event in tracer.events:
            if isinstance(event, Operation):
                self.operation(event)
            elif isinstance(event, Backward):
                self.backward(event)
            elif isinstance(event, Gradients):
                self.returned(event)
            elif isinstance(event, Check):
                self.to.steps.append(Within(self.value(event.tensor), event.low, event.high))
            elif isinstance(event, Write):
                value, before = self.to.usual(self.value(event.result)), self.values.pop(event.tensor, None)
                self.loaded.discard(event.tensor)
                self.to.forget_sources()
                self.to.steps.append(Store(self.name(tracer.tensors[event.tensor]), value, before))
            else:
                self.to.steps.append(Again(event, "" if event.tensor is None else self.name(event.tensor)))
                if event.writes:
                    self.forget()
        self.refuse_other_names()

    def refuse_other_names(self) -> None:
        """Give up where numbers are used that were read from a tensor before a write: a view shows the new ones, a copy the old."""
        gone: set[Value] = set()
        for step in self.to.steps:
            if any(v.root in gone for v in read_by(step)):
                raise CannotCompile("a tensor is written to in place, and read under another name")
            if isinstance(step, Store) and step.before is not None:
                gone.add(step.before.root)

    def name(self, thing: Any) -> str:
        """How the program speaks of an object: an argument is another one at each call."""
        if id(thing) in self.places:
            return self.places[id(thing)]
        for name, other in self.names.items():
            if other is thing:
                return name
        name = f"o{len(self.names)}"
        self.names[name] = thing
        return name

    def forget(self) -> None:
        """An effect may have changed what was read from outside: read it again when it is next used."""
        for n in self.loaded:
            self.values.pop(n, None)
        self.loaded.clear()
        self.to.known.clear()

    def value(self, n: int) -> Value:
        """The value of a tensor by its number."""
        found = self.values.get(n)
        if found is not None:
            return found
        t = self.tracer.tensors[n]
        if n in self.tracer.constants:
            found = self.to.constant(t.payload)
        else:
            leaf = self.tracer.gradients.get(n)
            place = f"{self.name(leaf)}._grad.payload" if leaf is not None else f"{self.name(t)}.payload"
            found = self.to.new(t.payload, source=place)
            self.to.steps.append(Load(found))
            self.loaded.add(n)
        self.values[n] = found
        return found

    # -- forward -----------------------------------------------------------------------------------

    def operation(self, event: Operation) -> None:
        op, event = event.op, event._replace(settings=self.referred(event.settings))
        raws: list[Any] = [self.value(a) if isinstance(a, Ref) else a for a in event.args]
        if any(isinstance(a, np.ndarray) and a.ndim for a in raws) or arrays_in(event.settings):
            raise CannotCompile(f"{op.name} is called with an array that is not a tensor of the trace (an index, perhaps)")
        own = [(r.sample.shape, r.sample.dtype) if isinstance(r, Value) else None for r in raws]
        plain = [r.sample if isinstance(r, Value) else r for r in raws]
        if any(self.tracer.tensors[n].payload.dtype in COMPLEX for n in event.results) or any(
            getattr(r, "dtype", None) in COMPLEX for r in plain
        ):
            raise CannotCompile("complex numbers are computed with in eager mode only")
        if unusual_dtype(op, plain) is not None:
            raise CannotCompile("16-bit floats are computed with in eager mode only")
        if op.promote:
            raws = [self.promoted(r, to) for r, to in zip(raws, promote_operands(op, plain))]
        if op.check is not None and all(not hasattr(r, "dtype") or r.dtype.kind in "iu" for r in plain):
            self.to.steps.append(Refuse(op.check, tuple(raws)))  # a whole number divided by 0
        settings = {**op.settings, **event.settings}
        if op.variadic:
            out = self.to.emit(op.compute, tuple(raws), settings)
        else:
            out = self.to.row(op, {**dict(zip(op.inputs, raws)), **settings})
        outs = tuple(out) if event.several else (out,)
        if not all(isinstance(o, Value) for o in outs):
            raise CannotCompile(f"{op.name} gives something that is not an array")
        for n, o in zip(event.results, outs):
            t = self.tracer.tensors[n]
            if np.shape(o.sample) != t.payload.shape or o.sample.dtype != t.payload.dtype:
                raise CannotCompile(f"{op.name} taken apart gives another shape or dtype")
            self.values[n] = o
        if any(event.needs):
            self.records.append(Recorded(event, raws, own, outs))

    def promoted(self, raw: Any, to: Any) -> Any:
        """An operand in the dtype that promotion gives it."""
        if isinstance(raw, Value):
            return raw if raw.sample.dtype == to.dtype else self.to.emit(Method("astype"), (raw, to.dtype), {}, True)
        return raw if not hasattr(to, "dtype") else self.to.constant(to)

    def referred(self, setting: Any) -> Any:
        """A setting with the values of the tensors that it speaks of."""
        if isinstance(setting, dict):
            return {name: self.referred(item) for name, item in setting.items()}
        if type(setting) is tuple:
            return tuple(map(self.referred, setting))
        if not isinstance(setting, Ref):
            return setting
        found = self.value(setting)
        if found.sample.dtype == bool:
            raise CannotCompile("how many numbers a mask picks may be another at each call")
        return found

    # -- backward ----------------------------------------------------------------------------------

    def backward(self, event: Backward) -> None:
        found = self.gradients({event.root: self.ones(event.root)})
        if event.freed:
            self.spent.update(found)
        for leaf in event.leaves:
            g = found.get(self.tracer.numbers.get(id(leaf), -1))
            if g is not None:
                self.to.steps.append(Accumulate(self.name(leaf), self.to.usual(g)))
        for n in [n for n in self.loaded if n in self.tracer.gradients]:
            self.loaded.discard(n)
            self.values.pop(n, None)
            self.to.known.clear()

    def ones(self, n: int) -> Value:
        return self.to.constant(np.ones_like(self.value(n).sample)[()])

    def returned(self, event: Gradients) -> None:
        """The gradients that `grad` hands to the function."""
        pending: dict[int, Any] = {}
        for n, given in event.roots:
            g = self.ones(n) if given is None else self.value(given)
            pending[n] = g if n not in pending else self.to.emit(np.add, (pending[n], g))
        found = self.gradients(pending)
        if event.freed:
            self.spent.update(found)
        for n, result in zip(event.wanted, event.results):
            if n not in found:
                raise CannotCompile("a gradient is asked for that goes through something outside")
            self.values[result] = found[n]

    def gradients(self, pending: dict[int, Any]) -> dict[int, Any]:
        """The gradients of all tensors, by number, from those in `pending`: rules in reverse order."""
        pending = dict(pending)
        for record in reversed(self.records):
            event = record.operation
            gs = [pending.get(n) for n in event.results]
            if all(g is None for g in gs):
                continue
            zeros = (self.to.constant(np.zeros_like(o.sample)) for o in record.outs)
            filled = tuple(z if g is None else g for g, z in zip(gs, zeros))
            for a, needs, g in zip(event.args, event.needs, self.of_arguments(record, filled if event.several else filled[0])):
                if needs and g is not None:
                    pending[a] = g if a not in pending else self.to.emit(np.add, (pending[a], g))
        return pending

    def below(self, n: int) -> set[int]:
        """The tensors that a gradient of tensor `n` leads to, by number."""
        reached = {n}
        for record in reversed(self.records):
            event = record.operation
            if not reached.isdisjoint(event.results):
                reached.update(a for a, needs in zip(event.args, event.needs) if needs)
        return reached

    def of_arguments(self, record: Recorded, g: Any) -> list[Any]:
        """What the rules of one operation give for its arguments."""
        event, op = record.operation, record.operation.op
        found: list[Any] = [None] * len(event.args)
        settings = {**op.settings, **event.settings}
        if op.variadic:
            rule = next(iter(op.rules.values()))
            given = [self.asked_for(record, need, settings) for need in rule.needs]
            out = self.to.emit(rule.compute, (g, *given))
            found = [gi if needs else None for gi, needs in zip(out if isinstance(out, tuple) else (out,), event.needs)]
        else:
            # A weight before x: what its rule needs on the way is gone when the gradient of x is made, which is there for longer.
            for i, name in reversed(list(enumerate(op.inputs))):
                if event.needs[i] and name in op.rules:
                    rule = op.rules[name]
                    env = {rule.incoming: g, **rule.defaults, **{need: self.asked_for(record, need, settings) for need in rule.needs}}
                    found[i] = self.to.rule(op, rule, env)
        if op.kind == "elementwise" and len(event.args) > 1:
            shape, dtype = record.outs[0].sample.shape, record.outs[0].sample.dtype
            for i, own in enumerate(record.own):
                if found[i] is not None and own is not None and own != (shape, dtype):
                    found[i] = self.to.fit(found[i], own)
        return [gi if gi is None or isinstance(gi, Value) else self.to.constant(np.asarray(gi)[()]) for gi in found]

    def asked_for(self, record: Recorded, need: str, settings: dict[str, Any]) -> Any:
        """What a rule's parameter stands for."""
        op = record.operation.op
        if need == "out" or need.startswith("out_"):
            return record.outs[int(need[4:] or 0)]
        if need in op.settings:
            return settings[need]
        if need in op.shared:
            function, asks = op.shared[need]
            return self.to.formula(function, {ask: self.asked_for(record, ask, settings) for ask in asks}, False)
        if need in op.inputs:
            return list(record.raws) if op.variadic else record.raws[op.inputs.index(need)]
        which = [np.shape(r.sample) if isinstance(r, Value) else np.shape(r) for r in record.raws]
        return tuple(which) if op.variadic else which[op.inputs.index(need.removesuffix("_shape"))]


def read_by(step: Any) -> list[Value]:
    """The values that a step reads."""
    if isinstance(step, Step):
        return step.values()
    if isinstance(step, Refuse):
        return values_in(step.args)
    return [step.value] if isinstance(step, Accumulate | Within | Store) else []


def arrays_in(nest: Any) -> bool:
    """Whether an array or a tensor hides among settings."""
    if isinstance(nest, dict):
        return any(map(arrays_in, nest.values()))
    if isinstance(nest, tuple | list):
        return any(map(arrays_in, nest))
    return (isinstance(nest, np.ndarray) and nest.ndim > 0) or isinstance(nest, Tensor)
