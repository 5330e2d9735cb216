"""Backward passes by hand, with every way to get one of their lines wrong, and pairs of these."""

from __future__ import annotations

import itertools
from collections.abc import Callable

CHANGES = {
    "assigned": "overwritten", "root": "root", "upstream": "upstream ignored", "added": "term", "unvisited": "visited", "forwards": "order",
    "depth first": "order", "recursive": "visited", "leaf reset": "overwritten", "data": "variable", "first parent": "missing",
    "averaged": "averaged", "doubled": "twice", "kept": "overwritten",
}  # fmt: skip


def order_of(root, wrong: frozenset[str]) -> list:
    """The nodes, root first."""
    order, seen = [], set()

    def visit(node):
        if id(node) in seen and "unvisited" not in wrong:
            return
        seen.add(id(node))
        for parent in node.parents:
            visit(parent)
        order.append(node)

    def first_seen(node):
        if id(node) in seen:
            return
        seen.add(id(node))
        order.append(node)
        for parent in node.parents:
            first_seen(parent)

    if "depth first" in wrong:
        first_seen(root)
        return order
    visit(root)
    return order if "forwards" in wrong else order[::-1]


def value_backward(wrong: frozenset[str]) -> Callable:
    """The backward of problem set 1, with these lines wrong."""

    def send(node, parent, local):
        g = 1.0 if "upstream" in wrong else node.grad
        value = g + local if "added" in wrong else g * (node.data if "data" in wrong else local)
        if "averaged" in wrong:
            value /= len(node.parents)
        if "doubled" in wrong:
            value *= 2
        if "assigned" in wrong or ("leaf reset" in wrong and not parent.parents):
            parent.grad = value
        elif "kept" in wrong:
            parent.grad = parent.grad or value
        else:
            parent.grad += value

    def walk(node):
        for parent, local in zip(node.parents, node.local, strict=True):
            send(node, parent, local)
            walk(parent)

    def backward(root):
        order = order_of(root, wrong)
        for node in order:
            if node.parents:
                node.grad = 0.0
        root.grad = 0.0 if "root" in wrong else 1.0
        if "recursive" in wrong:
            walk(root)
            return
        for node in order:
            for parent, local in list(zip(node.parents, node.local, strict=True))[: 1 if "first parent" in wrong else None]:
                send(node, parent, local)

    return backward


def engines() -> list[tuple[tuple[str, ...], Callable]]:
    """Each change alone, and each pair."""
    some = [(a,) for a in CHANGES] + list(itertools.combinations(CHANGES, 2))
    return [(names, value_backward(frozenset(names))) for names in some]
