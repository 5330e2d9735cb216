"""Custom Functions inside grad and vjp: a node on a tape.

A Function is applied once more on the values of the levels below, which record it for themselves; its `setup_context` fills a ctx for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.autograd.context import Call, CheckedTensor, CtxTensor, FunctionCtx, FunctionNode, output_tuple
from autolab.autograd.function import Function, apply_at, is_in
from autolab.dtypes import INEXACT
from autolab.engine.modes import modes, recording
from autolab.engine.node import edge_of
from autolab.engine.tensor import Tensor
from autolab.transforms.taped import Tape, as_tensor


class TapeFunctionNode(FunctionNode):
    """The node of a custom Function on a tape. Its gradients are tensors of the levels below, which record them if they want to."""

    __slots__ = ()

    def vjp(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        incoming = g if self.outputs > 1 else (g,)
        if self.call.materialize:
            incoming = [np.zeros(*like)[()] if gi is None and like is not None else gi for gi, like in zip(incoming, self.outputs_like)]
        returned = self.call.function.rule()(self.ctx, *[gi if gi is None else as_tensor(gi) for gi in incoming])
        gs = self.checked_count(returned if isinstance(returned, tuple) else (returned,))
        return tuple([self.checked(i, gi, True) for i, gi in enumerate(gs)])


def node_class(function: type[Function]) -> type[TapeFunctionNode]:
    """A class of nodes for each Function, named as PyTorch names them inside transforms. The Function keeps it."""
    cls = function.__dict__.get("_tape_node_class")
    if cls is None:
        members = {"__slots__": (), "__module__": function.__module__}
        cls = type(f"{function.__name__}GeneratedBackward", (TapeFunctionNode,), members)
        function._tape_node_class = cls  # type: ignore[attr-defined]
    return cls


@apply_at.register
def apply_in_grad(level: Tape, function: type[Function], args: tuple[Any, ...]) -> Any:
    """A Function met by a tape, where it becomes a node."""
    values = [level.take(a) for a in args]
    edges = tuple([edge_of(a) if level.owns(a) else None for a in args])
    call = Call(function, args)
    ctx = FunctionCtx(call, tuple([e is not None for e in edges]))
    outputs = run(function, level, ctx, values)
    outs = output_tuple(outputs)
    written = {id(v): a for a, v in zip(args, values) if level.owns(a) and is_in(v, call.dirty)}
    for box in written.values():
        level.before_write(box, None)
        box.version[0] += 1
    views = {i: box for i, box in written.items() if box.view_info is not None}  # these learn their new history together with their base
    rest = {i: box for i, box in written.items() if i not in views}
    results = [rest[id(out)] if id(out) in rest else level.put(out) if isinstance(out, Tensor) else out for out in outs]
    if modes.grad and any(ctx.needs_input_grad):
        node = node_class(function)(ctx, edges, results)
        for k, (out, result) in enumerate(zip(outs, results)):
            if isinstance(out, Tensor) and out.payload.dtype in INEXACT and not is_in(out, call.non_differentiable):
                result.edge = (node, k) if k else node
        call.saved = [
            CtxTensor("None", None, None) if t is None else CheckedTensor(f"saved_tensors[{i}]", t) for i, t in enumerate(call.to_save)
        ]
        call.to_save = ()
    for k, out in enumerate(outs):
        if id(out) in views:
            level.rewritten(views[id(out)], results[k])
            results[k] = views[id(out)]
    return tuple(results) if isinstance(outputs, tuple | list) else results[0]


def run(function: type[Function], level: Tape, ctx: FunctionCtx, values: list[Any]) -> Any:
    """The outputs, on the levels below, and ctx filled with their tensors."""
    with level.below(), level.lowered():
        outputs = function.apply(*values)
        with recording(False):
            function.setup_context(ctx, tuple(values), outputs)
        return outputs
