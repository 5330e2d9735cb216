"""How a result gets its node: the edges to what it was computed from, and the values that the rules will ask for."""

from __future__ import annotations

import itertools
from typing import Any

from autolab.dtypes import INEXACT
from autolab.engine.modes import modes
from autolab.engine.node import edge_of, next_number
from autolab.engine.tensor import Op, Tensor


def record(
    op: Op, args: Any, raw: list[Any], settings: dict[str, Any], results: tuple[Tensor, ...], level: int = 0, numbers: str = ""
) -> None:
    """Give the results a node, if an input of this level needs a gradient that a rule can give."""
    edges: list[Any] = []
    mask, bit = 0, 1
    for a in args:
        edge = edge_of(a) if isinstance(a, Tensor) and a.level == level and op.mask & bit else None
        edges.append(edge)
        if edge is not None:
            mask |= bit
        bit += bit
    if not mask:
        return
    name = op.node_name if op.namer is None else op.namer(*raw, **settings)
    node: Any = object.__new__(op.node_class(mask, name, numbers))
    node.edges = tuple(edges)
    node.hooks = None
    node.seq = next_number()
    if op.settings:
        node.settings = settings
    if op.broadcasts:
        node.input_meta = changed_inputs(args, raw, results[0])
    node.saved = tuple(itertools.chain(*[slot.take(args, raw, settings, results) for slot in node.plan.slots]))
    if op.outputs != 1:
        node.outputs = len(results)
        node.outputs_like = tuple((r.payload.shape, r.payload.dtype) for r in results)
    for k, result in enumerate(results):
        if result.payload.dtype in INEXACT:
            result.edge = (node, k) if k else node
    if modes.watch is not None:
        modes.watch(node, results)
    if modes.anomaly is not None:
        modes.anomaly.remember(node)


def changed_inputs(args: Any, raw: list[Any], result: Tensor) -> Any:
    """(shape, dtype) of each input as it came, if broadcasting or promotion changed any of those that get a gradient."""
    shape, dtype = result.payload.shape, result.payload.dtype
    own = [a.payload if isinstance(a, Tensor) else r for a, r in zip(args, raw)]
    like = [(o.shape, o.dtype) if hasattr(o, "dtype") else None for o in own]
    if all(one is None or one == (shape, dtype) for one in like):
        return None
    return tuple(like)
