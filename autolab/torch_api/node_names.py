"""PyTorch's names for nodes that a row alone does not decide."""

from __future__ import annotations

from typing import Any


def rename_node(edge: Any, name: str) -> None:
    """PyTorch counts in-place forms as functions of their own: TBackward1 is t_, where TBackward0 is t."""
    if edge is not None and edge[0].op is not None:
        node = edge[0]
        node.__class__ = node.op.node_class(sum(1 << i for i, e in enumerate(node.edges) if e is not None), name, node.numbers)
