"""The shortcut of `apply`, and of `OpNode.run`, for rows that cut a tensor into pieces: `split`, `chunk`, `unbind`.

Each piece is a view, and all have one node. What is done is what `apply_general` and `record` do, in the same order; whatever is not usual
goes back to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from autolab.engine.apply import apply_general
from autolab.engine.inplace import SEVERAL, View
from autolab.engine.modes import Untracked, modes, slow_threads
from autolab.engine.node import F32, F64, MultiOpNode, edge_of, next_number
from autolab.engine.op import NO_SETTINGS, Op, Plan
from autolab.engine.tensor import Tensor, blank


def cuts(op: Op) -> bool:
    """Whether a row cuts its one input into views, and its rule asks for settings only."""
    one = len(op.inputs) == len(op.rules) == 1 and op.outputs == -1 and not op.variadic and op.view
    usual = op.check is None and op.namer is None and not op.promote and not op.holds
    return one and usual and all(set(rule.needs) <= set(op.settings) for rule in op.rules.values())


def compile_pieces(op: Op) -> Callable[..., Any]:
    """`op.run` of a row that cuts."""
    node_class: Any = op.node_class(1, op.node_name)
    kept = [(slot.name, op.settings[slot.name]) for slot in op.plan(1).slots]
    new = object.__new__

    def run(x: Any, settings: dict[str, Any] = NO_SETTINGS) -> Any:
        raw: Any = x.payload if isinstance(x, Tensor) else None
        unusual = (slow_threads and not modes.usual) or type(raw) is not ndarray or type(x.version) is Untracked
        if unusual or not (raw.dtype is F32 or raw.dtype is F64):
            return apply_general(op, (x,), settings)
        window = x.view_info
        base, memory, made = (x, raw, SEVERAL) if window is None else (window.base, window.memory, window.made or SEVERAL)
        edge, version, pieces = edge_of(x), x.version, op.compute(raw, **settings)
        place = node = None
        if edge is not None:
            place = node = new(node_class)
            node.edges, node.hooks, node.seq, node.settings = (edge,), None, next_number(), settings
            node.saved = tuple([settings.get(name, default) for name, default in kept])
            node.outputs = len(pieces)
            node.outputs_like = tuple([(piece.shape, piece.dtype) for piece in pieces])
        results = []
        for piece in pieces:
            t = blank()
            t.payload, t.edge, t.version, t.view_info = piece, place, version, View(base, memory, made)
            t.extra = t._grad = None
            t.wants_grad = False
            results.append(t)
            if node is not None:
                place = (node, len(results))
        return tuple(results)

    return run


def compile_joined(op: Op, plan: Plan) -> Callable[..., Any]:
    """`run` of the nodes of a row that cuts: the rule, where each piece has a gradient."""
    ((_, rule, _),) = plan.rules

    def run(node: Any, g: Any, create_graph: bool, free: bool = False) -> Any:
        if create_graph or type(g) is not tuple:
            return MultiOpNode.run(node, g, create_graph, free)
        for one in g:
            if type(one) is not ndarray:
                return MultiOpNode.run(node, g, create_graph, free)
        return [rule.compute(g, *node.saved)]

    return run
