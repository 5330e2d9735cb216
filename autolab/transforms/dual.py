"""Forward mode: values that carry their tangent along. The kind of a row says how; no rule is stated twice.

elementwise   the backward formula with the tangent in place of g: a diagonal Jacobian is its own transpose
linear        the operation itself, on the tangent
bilinear      op(dx, y) + op(x, dy)
general       the transpose of the backward rule, which is linear in g; or the row's own `jvp=`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.dtypes import COMPLEX, INEXACT
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.node import conjugates, next_number
from autolab.engine.op import BILINEAR, ELEMENTWISE, HOLOMORPHIC, LINEAR
from autolab.engine.tensor import TABLE, Tensor
from autolab.formula import parameters
from autolab.transforms.level import Level, Settings, TransformTensor, outputs_of, zeros
from autolab.transforms.taped import Tape

if TYPE_CHECKING:
    from autolab.engine.op import Op


class Dual(TransformTensor):
    """A value with its tangent: the direction in which it moves when the inputs move along theirs; None if it does not move."""

    __slots__ = ()

    _tangent = TransformTensor.own  # the tangent, as far as is known

    @property
    def tangent(self) -> Any:
        if self.view_info is not None:
            self.view_info.refresh_history(self)
        return self._tangent

    def varies(self) -> bool:
        return self.tangent is not None or super().varies()


class ForwardMode(Level):
    """Forward mode: each operation computes the tangent of its result beside the result."""

    box = Dual
    transform = True

    def __enter__(self) -> ForwardMode:
        self.before, modes.forward = modes.forward, True
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        modes.forward = self.before

    def input(self, value: Any, tangent: Any) -> Dual:
        box: Dual = self.put(value)
        box._tangent = tangent
        return box

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        input_tangents = [a.tangent if self.owns(a) and rule_of(op, i) is not None else None for i, a in enumerate(args)]
        outputs = outputs_of(op, apply(op, values, settings))
        if not modes.forward or all(t is None for t in input_tangents):
            return tuple([self.put(out) for out in outputs])
        try:
            result_tangents = output_tangents(op, values, input_tangents, outputs, settings)
        except NotImplementedError as error:  # from a rule that says so
            raise NotImplementedError(
                f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet: {error}"
            ) from None
        results = tuple([self.make_dual(out, t) for out, t in zip(outputs, result_tangents)])
        self.recorded(results, args)
        return results

    def recorded(self, results: Any, args: Any) -> None:
        """Told of results, and of what they were computed from."""

    def make_dual(self, out: Any, tangent: Any) -> Dual:
        """A result with its tangent, in the result's shape and dtype: it may come from an input that was stretched or cast."""
        box: Dual = self.put(out)
        if tangent is None or out.payload.dtype not in INEXACT:
            return box
        if tangent.shape != out.shape:
            tangent = np.broadcast_to(tangent, out.shape)
        box._tangent = tangent if tangent.dtype == out.dtype else tangent.astype(out.payload.dtype)
        return box

    def rewritten(self, target: Any, source: Any) -> None:
        """The target moves as the source does, and so does the part of the base that it looks at."""
        look, tangent = target.view_info, source.tangent
        if look is not None:
            base = look.base
            if tangent is not None or base.tangent is not None:
                part = zeros(source.value) if tangent is None else tangent
                base._tangent = TABLE["put"](zeros(base.value) if base.tangent is None else base.tangent, part, look=look)
            look.seen = base.version[0]
        target._tangent = tangent

    def refresh_box(self, box: Any, look: Any) -> None:
        whole = look.base.tangent
        box._tangent = None if whole is None else look.through(whole)


def check_tangent(value: Any, tangent: Any) -> None:
    """A tangent has the shape of what moves along it."""
    if tangent.shape != value.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(value.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )


def output_tangents(op: Op, values: list[Any], input_tangents: list[Any], outputs: tuple[Any, ...], settings: Settings) -> Any:
    """The tangents of the results from those of the arguments; None for what does not move."""
    next_number()  # as a node does: the count of nodes tells that derivatives are taken
    names = rule_arguments(op, values, outputs, settings)
    if op.jvp is not None:
        arguments = {f"d{name}": zero_tangent(v) if t is None else t for name, v, t in zip(op.inputs, values, input_tangents)}
        return outputs_of(op, call_by_name(op.jvp, names | arguments))
    if op.kind == LINEAR:
        directions = [
            t if t is not None else zero_tangent(v) if rule_of(op, i) else v for i, (v, t) in enumerate(zip(values, input_tangents))
        ]
        return outputs_of(op, apply(op, directions, settings))
    if op.kind == BILINEAR:
        terms = [apply(op, [*values[:i], t, *values[i + 1 :]], settings) for i, t in enumerate(input_tangents) if t is not None]
        return (terms[0] if len(terms) == 1 else terms[0] + terms[1],)
    if op.kind == ELEMENTWISE:
        total = None
        for i, t in enumerate(input_tangents):
            if t is not None:
                term = rule_of(op, i).function(t, *[names[n] for n in rule_of(op, i).needs])
                total = term if total is None else total + term
        return (total,)
    return transposed(op, input_tangents, outputs, names)


def transposed(op: Op, input_tangents: list[Any], outputs: tuple[Any, ...], names: Settings) -> list[Any]:
    """Forward mode out of backward rules: each is a linear map of g, and the transpose of that map is the Jacobian."""
    with Tape() as tape:
        g = [tape.input(zeros(out)) if out.payload.dtype in INEXACT else zeros(out) for out in outputs]
        pulled: dict[int, Any] = {}
        for i, t in enumerate(input_tangents):
            if t is not None and i not in pulled:
                rule = rule_of(op, i)
                back = rule.function(g[0] if op.outputs == 1 else tuple(g), *[names[n] for n in rule.needs])
                pulled |= enumerate(back) if op.variadic else {i: back}
    active = [i for i, t in enumerate(input_tangents) if t is not None]
    leaves = [box for box in g if tape.owns(box)]
    tangents = [input_tangents[i] for i in active]
    # What a tape gives back of a complex rule is J conj: its gradients are J^H g (see engine.node.conjugates).
    turned = op.complex == HOLOMORPHIC and outputs[0].payload.dtype in COMPLEX
    found = tape.pull([pulled[i] for i in active], conjugates(tangents) if turned else tangents, leaves)
    transposes = iter(conjugates(found) if turned else found)
    return [next(transposes) if tape.owns(box) else None for box in g]


def rule_of(op: Op, i: int) -> Any:
    """The backward rule for the i-th argument; None if it has none."""
    return op.rules.get(op.inputs[0] if op.variadic else op.inputs[i])


def rule_arguments(op: Op, values: list[Any], outputs: tuple[Any, ...], settings: Settings) -> Settings:
    """All that a rule may ask for, by name."""
    shapes = tuple(np.shape(v) for v in values)
    per_input: list[Any] = [(op.inputs[0], values, shapes)] if op.variadic else list(zip(op.inputs, values, shapes))
    names: Settings = {"out": outputs[0]} | {f"out_{k}": out for k, out in enumerate(outputs)}
    for name, value, shape in per_input:
        names |= {name: value, f"{name}_shape": shape}
    names |= op.settings | settings
    return names | {name: function(*[names[n] for n in needs]) for name, (function, needs) in op.shared.items()}


def zero_tangent(v: Any) -> Any:
    """The tangent of what does not move."""
    return zeros(v) if isinstance(v, Tensor) else np.zeros_like(v)


def call_by_name(function: Callable[..., Any], names: Settings) -> Any:
    """Call a function with what it asks for by the names of its parameters."""
    return function(*[names[n] for n in parameters(function)])
