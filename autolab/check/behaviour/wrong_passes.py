"""Backward passes with one line wrong, for the small nodes of problem sets 1 and 6: what a mistake gives is found by making it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from .scenes import WrongWay

# name: family, sentence, hint
MISTAKES = {
    "assigned": (
        "overwritten",
        "A later contribution overwrites an earlier one: a gradient is assigned (=) where it has to be added (+=)",
        "A value that is used twice has two contributions to its gradient; what does the chain rule do with them?",
    ),
    "leaf assigned": (
        "overwritten",
        "A leaf keeps only the last contribution to its gradient: it is assigned (=) and not added (+=)",
        "What is in .grad of an input when the second contribution comes?",
    ),
    "first kept": (
        "overwritten",
        "Only the first contribution to a gradient counts: what comes later is not added",
        "A value that is used twice has two contributions to its gradient; what does the chain rule do with them?",
    ),
    "no root": (
        "root",
        "The gradient of the root is 0 when the walk begins, and so is all that is sent back",
        "How much does the root change when the root changes by 0.01?",
    ),
    "root value": (
        "root",
        "The gradient of the root begins with its value, and should with 1",
        "How much does the root change when the root changes by 0.01?",
    ),
    "all ones": (
        "root",
        "The gradient of every node is set to 1 when its turn comes, and not that of the root alone",
        "What has arrived at a node when its turn comes?",
    ),
    "nothing sent": (
        "missing",
        "No node but the root receives a gradient",
        "In the line that adds: whose gradient grows, and whose gradient does it grow by?",
    ),
    "value sent": (
        "variable",
        "A node sends its value times the local derivative, where its gradient belongs",
        "The chain rule multiplies two derivatives. Is the number of a node one?",
    ),
    "no upstream": (
        "upstream ignored",
        "Parents receive the local derivative alone; the gradient of the node is not multiplied in",
        "The chain rule has two factors.",
    ),
    "g of root": (
        "upstream",
        "Each node passes on the gradient of the root, and not what has arrived at itself",
        "What does the rule of a node in the middle need to know?",
    ),
    "added": (
        "term",
        "The gradient of a node and the local derivative are added; the chain rule multiplies them",
        "The chain rule has two factors.",
    ),
    "value": (
        "variable",
        "The gradient of a node is multiplied by its value, and not by the local derivative",
        "By which number does each parent move the node?",
    ),
    "parent value": (
        "variable",
        "The gradient of a node is multiplied by the value of the parent, and not by the local derivative",
        "By which number does each parent move the node?",
    ),
    "first local": (
        "variable",
        "Each parent receives the gradient times the first local derivative, whichever parent it is",
        "Each parent has a local derivative of its own, at the same place.",
    ),
    "averaged": (
        "averaged",
        "What a node sends back is divided by the number of its parents",
        "Each parent receives its whole share: contributions are not averaged.",
    ),
    "doubled": (
        "twice",
        "What a node sends back is counted twice",
        "How often is each contribution added?",
    ),
    "first parent": (
        "missing",
        "Only the first parent of a node receives a gradient",
        "How many parents has a product?",
    ),
    "repeated": (
        "visited",
        "A node that is used twice is walked through twice, and sends its gradient on twice",
        "Remember which nodes you have been to.",
    ),
    "recursive": (
        "visited",
        "A node sends its gradient on each time something arrives, and so sends on again what it sent before",
        "Wait until all of a node's gradient has arrived.",
    ),
    "forwards": (
        "order",
        "Nothing gets past the parents of the root: the walk runs from the inputs to the root, or ends after the root",
        "Which node sends first, and which one next?",
    ),
    "first seen": (
        "order",
        "A node sends its gradient on before all of it has arrived: the order is that in which the walk first meets the nodes",
        "Which nodes have to be done before this one?",
    ),
    "last part": (
        "overwritten",
        "Of two parts for one parent only one arrives: the second takes the place of the first",
        "A value may be both factors of a product; each place has a part of its own.",
    ),
    "in place": (
        "mutation",
        "A sum is made in place (+=), in an array that another node has received as well",
        "Add with a + b, which makes a new array.",
    ),
    "emptied": (
        "overwritten",
        "A second call replaces the gradient of a leaf instead of adding to it",
        "Who empties .grad, and when?",
    ),
    "leaf root": (
        "root",
        "A leaf that is the root itself receives nothing",
        "A leaf has no rule; what arrives, stays.",
    ),
    "moved back": (
        "order",
        "A node waits for all that arrives, and the nodes behind it do not: they send on too early",
        "A node that has to wait makes those behind it wait as well.",
    ),
    "kept inside": (
        "accumulation",
        "The gradients inside the graph are not emptied before a second backward, and are counted again",
        "Which gradients belong to this call only?",
    ),
}  # fmt: skip


def walk_order(root: Any, wrong: Sequence[str]) -> list:
    """The nodes in the order in which they send their gradients."""
    order: list = []
    seen: set[int] = set()
    stack: list[tuple[Any, Any]] = []

    def enter(node):
        if id(node) in seen and "repeated" not in wrong:
            return
        seen.add(id(node))
        stack.append((node, iter(node.parents)))
        if "first seen" in wrong:
            order.append(node)

    if "moved back" in wrong:  # breadth first, and to the end of the list when it is met again
        order.append(root)
        for node in order:
            for parent in node.parents:
                if parent in order and order.index(parent) > order.index(node):
                    order.remove(parent)
                if parent not in order:
                    order.append(parent)
        return order
    enter(root)
    while stack:
        node, parents = stack[-1]
        parent = next(parents, None)
        if parent is not None:
            enter(parent)
            continue
        stack.pop()
        if "first seen" not in wrong:
            order.append(node)
    return order if {"forwards", "first seen"} & set(wrong) else order[::-1]


def scalar_backward(*wrong: str) -> Callable:
    """The backward of problem set 1 with these mistakes."""

    def send(node, parent, local):
        g = 1.0 if "no upstream" in wrong else node.data if "value sent" in wrong else node.grad
        value = (
            g + local if "added" in wrong else g * (node.data if "value" in wrong else parent.data if "parent value" in wrong else local)
        )
        value = value / len(node.parents) if "averaged" in wrong else 2 * value if "doubled" in wrong else value
        if "assigned" in wrong or ("leaf assigned" in wrong and not parent.parents):
            parent.grad = value
        elif "first kept" not in wrong or not parent.grad:
            parent.grad += value

    def pass_on(node):
        if "nothing sent" in wrong:
            return
        if "all ones" in wrong:
            node.grad = 1.0
        slopes = node.local[:1] * len(node.parents) if "first local" in wrong else node.local
        pairs = list(zip(node.parents, slopes, strict=True))[: 1 if "first parent" in wrong else None]
        for parent, local in dict(pairs).items() if "last part" in wrong else pairs:
            send(node, parent, local)
            if "recursive" in wrong:
                pass_on(parent)

    def backward(root):
        order = walk_order(root, wrong)
        for node in order:
            if node.parents and "kept inside" not in wrong:
                node.grad = 0.0
        root.grad = 0.0 if "no root" in wrong else root.data if "root value" in wrong else 1.0
        for node in [root] if "recursive" in wrong else order:
            pass_on(node)

    return backward


SCALAR_MISTAKES = ("assigned", "leaf assigned", "first kept", "no root", "no upstream", "added", "value", "parent value",
                   "first local", "averaged", "doubled", "first parent", "repeated", "recursive", "forwards", "first seen",
                   "last part")  # fmt: skip
ALONE = ("root value", "all ones", "nothing sent", "value sent")  # not looked for beside another one
ARRAY_MISTAKES = ("assigned", "leaf assigned", "first kept", "no upstream", "g of root", "averaged", "doubled", "first parent", "repeated",
                  "recursive", "forwards", "first seen", "last part", "in place", "emptied", "leaf root", "moved back",
                  "kept inside")  # fmt: skip


def array_backward(*wrong: str) -> Callable:
    """`run_backward` of problem set 6 with these mistakes: the gradients that wait are kept by node, those of leaves in .grad."""

    def backward(root, g):
        waiting: dict[int, Any] = {}
        emptied: set[int] = set()

        def arrive(parent, value):
            leaf = not parent.parents
            earlier = getattr(parent, "arrived", None) if "kept inside" in wrong and parent is not root else None
            before = parent.grad if leaf else waiting.get(id(parent), earlier)
            if leaf and "emptied" in wrong and id(parent) not in emptied:
                before = None
                emptied.add(id(parent))
            if before is None or "assigned" in wrong or (leaf and "leaf assigned" in wrong):
                after = value if "in place" in wrong else np.array(value)
            elif "in place" in wrong:
                after = before
                after += value
            else:
                after = before if "first kept" in wrong else before + value
            if leaf:
                parent.grad = after
            else:
                waiting[id(parent)] = parent.arrived = after

        def pass_on(node):
            if not node.parents or id(node) not in waiting:
                return
            sent = node.rule(np.ones_like(g) if "no upstream" in wrong else g if "g of root" in wrong else waiting[id(node)])
            pairs = list(zip(node.parents, sent, strict=True))[: 1 if "first parent" in wrong else None]
            for parent, value in dict(pairs).items() if "last part" in wrong else pairs:
                value = value / len(node.parents) if "averaged" in wrong else 2 * value if "doubled" in wrong else value
                arrive(parent, value)
                if "recursive" in wrong:
                    pass_on(parent)

        if root.parents or "leaf root" not in wrong:
            arrive(root, g)
        for node in [root] if "recursive" in wrong else walk_order(root, wrong):
            pass_on(node)

    return backward


def _ways(make: Callable, names: Sequence[str], alone: Sequence[str] = ()) -> tuple[WrongWay, ...]:
    """Each mistake alone, and then each two of them, without those that come alone."""
    single = [WrongWay(*MISTAKES[name], make(name)) for name in (*names, *alone)]
    double = []
    for one, other in combinations(names, 2):
        (family, text, hint), (_, besides, _) = MISTAKES[one], MISTAKES[other]
        double.append(WrongWay(family, f"{text}. Besides: {besides[:1].lower()}{besides[1:]}", hint, make(one, other), several=True))
    return (*single, *double)


SCALAR_PASSES = _ways(scalar_backward, SCALAR_MISTAKES, ALONE)
ARRAY_PASSES = _ways(array_backward, ARRAY_MISTAKES)


def none_for_g(root: Any, g: Any) -> None:
    """A backward pass with hooks, in which the None that a hook returns takes the place of g."""
    waiting = {id(root): g}
    for node in walk_order(root, ()):
        arrived = waiting.pop(id(node), None)
        if not node.parents:
            node.grad = arrived if node.grad is None else node.grad + arrived
            continue
        for hook in node.hooks:
            arrived = hook(arrived)
        for parent, value in zip(node.parents, node.rule(arrived), strict=True):
            waiting[id(parent)] = waiting[id(parent)] + value if id(parent) in waiting else value


HOOK_PASSES = (
    WrongWay(
        "none",
        "What a hook returns takes the place of g even where it is None; None means: unchanged",
        "What does a function return that has no return statement, and what should become of g then?",
        none_for_g,
    ),
)
