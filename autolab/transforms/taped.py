"""Reverse mode inside transforms: each operation leaves a node as on level 0, with tensors of the levels below in place of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autolab.dtypes import COMPLEX
from autolab.engine.apply import apply, complex_rules, row_for, top_transform
from autolab.engine.backward import run_quietly
from autolab.engine.inplace import adopt_saved_result
from autolab.engine.modes import modes, recording
from autolab.engine.node import edge_of
from autolab.engine.record import record
from autolab.engine.tensor import TABLE, Tensor, new_tensor
from autolab.transforms.level import Level, Settings, TransformTensor, ViewPath, outputs_of, zeros

if TYPE_CHECKING:
    from autolab.engine.op import Op


class Taped(TransformTensor):
    """A value with a place on its level's tape: an `edge` as on level 0, to nodes that hold tensors of the levels below."""

    __slots__ = ()


class Tape(Level):
    """Reverse mode: each operation leaves a node, just as on level 0."""

    box = Taped
    records = True
    batch: Any = None  # the vmap right below it, if there is one

    def input(self, value: Any) -> Taped:
        """A leaf of this tape."""
        box: Taped = self.put(value)
        box.wants_grad = True
        box.ensure_extra()
        return box

    def __enter__(self) -> Any:
        below = modes.levels[-1] if modes.levels else None
        self.batch = below if below is not None and below.batches else None
        return super().__enter__()

    def apply(self, op: Op, args: Any, settings: Settings) -> Any:
        if op.complex_row is not None:
            op = row_for(op, args)
        if not self.watched:
            written = None if self.batch is None else op.mapped
            t = None if written is None else written(self, self.batch, *args, settings)
            if t is not None:
                return t
            written = op.taped
            if written is not None:
                return written(self, *args, settings)
        return super().apply(op, args, settings)

    def lower(self, op: Op, settings: Settings, *values: Any) -> Any:
        """What the row gives on the levels below."""
        if self.outside or not modes.grad:
            home = top_transform(values)
            return apply(op, values, settings) if home is None else home.apply(op, values, settings)
        with self.below():
            return apply(op, values, settings)

    def run(self, op: Op, args: Any, values: list[Any], settings: Settings) -> tuple[Any, ...]:
        results = tuple([self.put(out) for out in outputs_of(op, self.lower(op, settings, *values))])
        if modes.grad:
            dtype = results[0].payload.dtype
            record(op, args, values, settings, results, self.number, complex_rules(op, dtype) if dtype in COMPLEX else "")
        return results

    def below(self) -> Any:
        """Whether the levels below record: as outside of the transform, and not within a no_grad."""
        return recording(self.outside and modes.grad)

    def before_write(self, target: Any, source: Any) -> None:
        base = None if target.view_info is None else target.view_info.base
        for box, what in ((target, "a"), (base, "a view of a")):
            if modes.grad and box is not None and box.wants_grad and box.edge is None:
                raise RuntimeError(
                    f"{what} leaf Variable that requires grad is being used in an in-place operation. Here it is what the transform "
                    "differentiates: write to a clone() of it."
                )

    def rewritten(self, target: Any, source: Any) -> None:
        if source.edge is not None:
            adopt_saved_result(source, target)
        if not modes.grad:
            return
        look = target.view_info
        if look is None:
            target.edge = source.edge
        elif source.edge is not None or look.base.edge is not None:
            look.base.edge = TABLE["put"](look.base, source, look=look).edge
            look.seen = look.base.version[0]
            target.edge = look.through(look.base).edge if source.edge is None else source.edge

    def refresh_box(self, box: Any, look: ViewPath) -> None:
        with recording(True):
            box.edge = look.through(look.base).edge

    def pull(self, outputs: Any, gradients: Any, inputs: Any, retain_graph: bool = False) -> list[Any]:
        """The gradients of the inputs: the one backward pass, over this tape, on tensors of the levels below."""
        roots = [(out, g) for out, g in zip(outputs, gradients) if self.owns(out) and edge_of(out) is not None]
        starts, gs = [out for out, _ in roots], [g for _, g in roots]
        captured: dict[Any, Any] = {}
        run_quietly(starts, gs, retain_graph=retain_graph, accumulate=False, captured=captured)
        gradients = [captured.get(box.extra.accumulator()) for box in inputs]
        return [zeros(box.value) if g is None else as_tensor(g) for g, box in zip(gradients, inputs)]


def as_tensor(g: Any) -> Tensor:
    return g if isinstance(g, Tensor) else new_tensor(g)
