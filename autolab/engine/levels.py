"""8. What happens at `x * y` inside a transform of `autolab.func`: levels, and the boxes that belong to them.

A transform opens a *level* and puts its inputs into *boxes* of that level. A box is a Tensor around a `value` of the levels below, with
what its own level adds: a place on a tape, a tangent, or the knowledge that axis 0 of the value runs over a batch. An operation goes to
the highest level among its arguments; that level takes its own boxes off, runs the same operation on the values (the next lower level
sees to those), and puts the results into boxes again. Tensors outside of boxes are of level 0, which does nothing of all this.

The kind of a row says how each level handles it, so that a row with backward rules is complete: see `Push.tangents` and `Batch.run`.
"""

from __future__ import annotations

import inspect
from collections import Counter, deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from autolab.engine.apply import apply, record
from autolab.engine.backward import steps
from autolab.engine.dtypes import FLOATING, result_type
from autolab.engine.inplace import writable_as
from autolab.engine.modes import modes, recording
from autolab.engine.node import edge_of
from autolab.engine.op import BILINEAR, ELEMENTWISE, LINEAR
from autolab.engine.tensor import TABLE, Tensor, fresh

if TYPE_CHECKING:
    from autolab.engine.op import Op

Settings = dict[str, Any]

# How often a Python loop over the samples stood in for a batching rule, by the name of the row.
loops: Counter[str] = Counter()


class Box(Tensor):
    """A tensor inside a transform: a value of the levels below, and what the level `home` adds to it."""

    __slots__ = ("home", "level", "shared", "value")

    home: Level
    value: Any
    shared: bool  # other tensors may look at the same entries

    @property
    def payload(self) -> Any:
        """The numbers, through all levels. Under vmap they are not known one by one: then only shape and dtype."""
        self.home.check_active()
        return self.value.payload

    def numbers(self) -> Any:
        return self.value.numbers()

    def detach(self) -> Tensor:
        """The value without history, on every level."""
        return self.home.lift(self.value.detach())

    def __repr__(self) -> str:
        inner = self.value if self.home.active else "left its transform"
        return f"{type(self).__name__}(level={self.level}, value={inner!r})"


class Level:
    """One transform while it runs. It is opened and closed by `with`."""

    box: type[Box] = Box
    active = False

    def __enter__(self) -> Any:
        self.outside = modes.grad
        modes.levels.append(self)
        self.number, self.active = len(modes.levels), True
        modes.settle()
        return self

    def __exit__(self, *exc: object) -> None:
        self.active = False
        del modes.levels[self.number - 1 :]
        modes.grad = self.outside
        modes.settle()

    def check_active(self) -> None:
        if not self.active:
            raise RuntimeError(
                f"a tensor of level {self.number} was used after the transform that made it had ended. It got out of the function "
                "by another way than `return`: through a global, a list or an attribute. Return it (has_aux=True for extras)."
            )

    def put(self, value: Any) -> Any:
        """A box of this level around a value."""
        box = object.__new__(self.box)
        box.edge = box.window = box.extra = box._grad = None
        box.flag, box.version = False, [0]
        box.home, box.level, box.value, box.shared = self, self.number, value, False
        return box

    def lift(self, value: Any) -> Any:
        """A box around a value that is constant for this level."""
        return self.put(value)

    def take(self, a: Any) -> Any:
        """What is in a box of this level; anything else as it is."""
        return a.value if self.owns(a) else a

    def owns(self, a: Any) -> bool:
        return isinstance(a, Box) and a.home is self

    def apply(self, op: Op, args: Any, settings: Settings) -> Any:
        """Run one row whose highest argument is a box of this level."""
        self.check_active()
        results = self.run(op, args, [self.take(a) for a in args], settings)
        if op.view:
            for t in (args[0], *results):
                if isinstance(t, Box):
                    t.shared = True
        return results[0] if op.outputs == 1 else results

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        raise NotImplementedError


def several(op: Op, outputs: Any) -> tuple[Any, ...]:
    return (outputs,) if op.outputs == 1 else tuple(outputs)


def zeros(like: Any) -> Tensor:
    return fresh(np.zeros(like.payload.shape, like.payload.dtype)[()])


def rewrite(target: Any, result: Tensor) -> Any:
    """What writing in place means inside a transform: the box takes over what the operation computed; no memory is written."""
    if result.level > target.level:
        raise RuntimeError(
            "During a transform (vmap, grad, vjp, jvp, ...), the function provided attempted to call an in-place operation that would "
            f"mutate a captured Tensor: a tensor of level {target.level} cannot take a value of level {result.level}. "
            "Use the out-of-place form, or make the tensor an argument of the function."
        )
    if target.shared:
        raise RuntimeError(
            "inside a transform, an in-place operation on an argument of the function, on a view, or on a tensor that has views is "
            "not supported yet. Use the out-of-place form (`y = y * 2` instead of `y.mul_(2)`, torch.where or torch.cat for parts)."
        )
    if result.dtype != target.dtype:
        writable_as(np.empty(0, result.payload.dtype), target)
        result = result.astype(target.payload.dtype)  # type: ignore[attr-defined]
    source: Any = result if target.home.owns(result) else target.home.lift(result)
    for slot in ("value", "edge", *type(target).__slots__):
        setattr(target, slot, getattr(source, slot))
    return target


# -- reverse mode ------------------------------------------------------------------------------------


class Taped(Box):
    """A value with a place on its level's tape: the edge of a Tensor, with values instead of arrays behind it."""

    __slots__ = ()


class Tape(Level):
    """Reverse mode: each operation leaves a node, just as on level 0."""

    box = Taped

    def __enter__(self) -> Tape:
        super().__enter__()
        modes.grad = True  # a transform does not depend on a no_grad around it, only on one within
        modes.settle()
        return self

    def input(self, value: Any) -> Taped:
        """A leaf of this tape."""
        box: Taped = self.put(value)
        box.flag = box.shared = True
        box.own_extra()
        return box

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        with recording(self.outside):
            outputs = several(op, apply(op, values, settings))
        results = tuple(self.put(out) for out in outputs)
        if modes.grad:
            record(op, args, values, settings, results, self.number)
        return tuple(out if box.edge is None else box for box, out in zip(results, outputs))

    def pull(self, outputs: list[Any], gradients: list[Any], inputs: list[Any], retain_graph: bool = False) -> list[Any]:
        """The gradients of `inputs`: the one backward pass, over this tape. Its values are tensors of the levels below."""
        roots = [(edge_of(out), g) for out, g in zip(outputs, gradients) if self.owns(out) and edge_of(out) is not None]
        edges: list[Any] = [edge_of(box) for box in inputs]
        found: dict[Any, Any] = {}
        walk = steps(
            [edge for edge, _ in roots], [g for _, g in roots],
            retain_graph=retain_graph, inputs=edges, accumulate=False, captured=found,
        )  # fmt: skip
        deque(walk, maxlen=0)
        gs = [found.get(edge) for edge in edges]
        return [zeros(box.value) if g is None else g if isinstance(g, Tensor) else fresh(g) for g, box in zip(gs, inputs)]


# -- forward mode ------------------------------------------------------------------------------------


class Dual(Box):
    """A value with its tangent: how it changes when the inputs move along theirs."""

    __slots__ = ("tangent",)
    tangent: Any


class Push(Level):
    """Forward mode: each operation computes the tangent of its result beside the result."""

    box = Dual

    def input(self, value: Any, tangent: Any) -> Dual:
        box: Dual = self.put(value)
        box.tangent, box.shared = tangent, True
        return box

    def lift(self, value: Any) -> Dual:
        box: Dual = self.put(value)
        box.tangent = zeros(value)
        return box

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        given = [a.tangent if self.owns(a) and rule_of(op, i) is not None else None for i, a in enumerate(args)]
        outputs = several(op, apply(op, values, settings))
        if all(t is None for t in given):
            return outputs
        results = []
        for out, t in zip(outputs, self.tangents(op, values, given, outputs, settings)):
            if t is None or out.payload.dtype not in FLOATING:
                results.append(out)
                continue
            box = self.put(out)
            box.tangent = like(t, out)
            results.append(box)
        return tuple(results)

    def tangents(self, op: Op, values: list[Any], given: list[Any], outputs: tuple[Any, ...], settings: Settings) -> Any:
        """The tangents of the results from those of the arguments (None: does not move), by the kind of the row."""
        names = known(op, values, outputs, settings)
        if op.jvp is not None:
            moving = {f"d{name}": zeros(v) if t is None and isinstance(v, Tensor) else t for name, v, t in zip(op.inputs, values, given)}
            return several(op, call(op.jvp, names | moving))
        if op.kind == LINEAR:  # the operation itself, on the tangents; what does not move has a tangent of zeros
            moved = [v if rule_of(op, i) is None else still(v) if t is None else t for i, (v, t) in enumerate(zip(values, given))]
            return several(op, apply(op, moved, settings))
        if op.kind == BILINEAR:  # op(dx, y) + op(x, dy)
            terms = [apply(op, [*values[:i], t, *values[i + 1 :]], settings) for i, t in enumerate(given) if t is not None]
            return (terms[0] if len(terms) == 1 else terms[0] + terms[1],)
        if op.kind == ELEMENTWISE:  # the Jacobian is diagonal, so the backward formula with the tangent for g is the forward formula
            total = None
            for i, t in enumerate(given):
                if t is not None:
                    rule = rule_of(op, i)
                    term = rule.function(t, *[names[n] for n in rule.needs])
                    total = term if total is None else total + term
            return (total,)
        return transposed(op, given, outputs, names)


def transposed(op: Op, given: list[Any], outputs: tuple[Any, ...], names: Settings) -> list[Any]:
    """Forward mode out of the backward rules: they are linear in g, and the transpose of that linear map is the Jacobian."""
    with Tape() as tape:
        g = [tape.input(zeros(out)) if out.payload.dtype in FLOATING else zeros(out) for out in outputs]
        whole = g[0] if op.outputs == 1 else tuple(g)
        back: dict[int, Any] = {}
        for i, t in enumerate(given):
            if t is not None and i not in back:
                rule = rule_of(op, i)
                made = rule.function(whole, *[names[n] for n in rule.needs])
                back |= dict(enumerate(made)) if op.variadic else {i: made}
    moving = [i for i, t in enumerate(given) if t is not None]
    leaves = [box for box in g if tape.owns(box)]
    found = iter(tape.pull([back[i] for i in moving], [given[i] for i in moving], leaves))
    return [next(found) if tape.owns(box) else None for box in g]


def rule_of(op: Op, i: int) -> Any:
    """The backward rule for the i-th argument; None if it has none."""
    return op.rules.get(op.inputs[0] if op.variadic else op.inputs[i])


def known(op: Op, values: list[Any], outputs: tuple[Any, ...], settings: Settings) -> Settings:
    """All that a rule may ask for, by name."""
    if op.variadic:
        names: Settings = {op.inputs[0]: values, f"{op.inputs[0]}_shape": tuple(np.shape(v) for v in values)}
    else:
        names = dict(zip(op.inputs, values))
        names |= {f"{name}_shape": np.shape(v) for name, v in zip(op.inputs, values)}
    return names | {f"out_{k}": out for k, out in enumerate(outputs)} | {"out": outputs[0]} | op.settings | settings


def call(function: Callable[..., Any], names: Settings) -> Any:
    """Call a function with what it asks for by the names of its parameters."""
    return function(*[names[n] for n in parameters(function)])


@cache
def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def still(v: Any) -> Any:
    return np.zeros(np.shape(v), v.payload.dtype if isinstance(v, Tensor) else np.asarray(v).dtype)


def like(tangent: Any, out: Any) -> Any:
    """A tangent in the shape and dtype of its value: an input that was broadcast or cast moves in the small."""
    if tangent.shape != out.shape:
        tangent = np.broadcast_to(tangent, out.shape)
    return tangent if tangent.dtype == out.dtype else tangent.astype(out.payload.dtype)


# -- batches -----------------------------------------------------------------------------------------


class Face:
    """What can be seen of one sample of a batch from inside vmap: its shape and dtype, but no number."""

    __slots__ = ("dtype", "ndim", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype, self.ndim, self.size = shape, dtype, len(shape), int(np.prod(shape))

    def item(self) -> Any:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor, or asking for its numbers in another way. Inside vmap a tensor "
            "stands for all samples at once. Compute with tensors (torch.where, torch.gather), or do this outside of vmap."
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.item()

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. Inside vmap a tensor stands for "
            "all samples at once, and the condition may hold for some of them only. Compute both sides and choose: torch.where(condition, a, b)."
        )

    __int__ = __index__ = __float__ = item


class Batched(Box):
    """A value whose axis 0 runs over the samples; the box shows the other axes."""

    __slots__ = ()

    @property
    def payload(self) -> Face:
        self.home.check_active()
        inner = self.value.payload
        return Face(inner.shape[1:], inner.dtype)

    @property
    def requires_grad(self) -> bool:
        return self.value.requires_grad  # type: ignore[no-any-return]


AXES = {"axis", "axis1", "axis2", "source", "destination"}


def from_the_end(axis: Any, ndim: int) -> Any:
    """An axis, or several, counted from the end, where an axis more in front changes nothing."""
    if isinstance(axis, int | np.integer):
        return int(axis) if axis < 0 else int(axis) - ndim
    return axis if axis is None else tuple(from_the_end(a, ndim) for a in axis)


class Batch(Level):
    """vmap: each operation runs once, on all samples, with one axis more in front."""

    box = Batched

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness

    def input(self, value: Any) -> Batched:
        box: Batched = self.put(value)
        box.shared = True
        return box

    def lift(self, value: Any) -> Batched:
        return self.put(self.lead(value))  # type: ignore[no-any-return]

    def lead(self, v: Any) -> Any:
        """An argument that is the same for all samples, with the leading axis."""
        return np.broadcast_to(v, (self.size, *v.shape)) if hasattr(v, "shape") else v

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        batched = tuple(self.owns(a) for a in args)
        if op.batch is not None:
            outputs = self.by_rule(op, values, batched, settings)
        elif op.kind == ELEMENTWISE:
            outputs = apply(op, self.aligned(op, args, values, batched), settings)
        elif op.kind in (LINEAR, BILINEAR):  # one axis more in front: settings that count from the end stay as they are
            ndim = max(a.ndim for a, b in zip(args, batched) if b)
            counted = {name: from_the_end(v, ndim) if name in AXES else v for name, v in settings.items()}
            outputs = apply(op, [v if b else self.lead(v) for v, b in zip(values, batched)], counted)
        else:
            outputs = self.loop(op, values, batched, settings)
        return tuple(self.put(out) for out in several(op, outputs))

    def by_rule(self, op: Op, values: list[Any], batched: tuple[bool, ...], settings: Settings) -> Any:
        """A row's own `batch=`: takes values by name, with the leading axis; as they are if it asks for `batched`, which says which."""
        if "batched" not in parameters(op.batch):  # type: ignore[arg-type]
            values = [v if b else self.lead(v) for v, b in zip(values, batched)]
        names: Settings = {op.inputs[0]: values} if op.variadic else dict(zip(op.inputs, values))
        return call(op.batch, op.settings | settings | names | {
            "batched": batched, "size": self.size, "row": op, "settings": op.settings | settings,
        })  # type: ignore[arg-type]

    def aligned(self, op: Op, args: Any, values: list[Any], batched: tuple[bool, ...]) -> list[Any]:
        """Arguments of fewer axes get axes of length 1 behind the leading one, so that they broadcast as they would alone."""
        most = max(getattr(a, "ndim", 0) for a in args)
        out = []
        for a, v, b in zip(args, values, batched):
            if b and a.ndim < most:
                if op.promote and a.ndim == 0:  # a 0-d tensor bows to the others' dtype, and must not count for more as a batch
                    v = v.astype(result_type([args[i] for i in op.together]))
                v = np.reshape(v, (self.size, *(1,) * (most - a.ndim), *a.shape))
            out.append(v)
        return out

    def loop(self, op: Op, values: list[Any], batched: tuple[bool, ...], settings: Settings) -> Any:
        """Sample by sample: slow, and right for every row."""
        loops[op.name] += 1
        if not self.size:
            raise RuntimeError(f"vmap: {op.name} has no batching rule, and with no samples there is nothing to learn its result's shape from.")
        one = TABLE["select"]
        made = []
        for i in range(self.size):
            sample = [one(v, key=(..., i, *(slice(None),) * (v.ndim - 1))) if b else v for v, b in zip(values, batched)]
            made.append(several(op, apply(op, sample, settings)))
        stacked = [TABLE["stack"](*outs, axis=-outs[0].ndim - 1) for outs in zip(*made)]
        return stacked[0] if op.outputs == 1 else stacked
