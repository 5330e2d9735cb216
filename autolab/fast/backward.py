"""The backward pass that nobody watches: what `steps` of `autolab.engine.backward` does, in a loop that is written for speed.

It runs nodes without hooks directly, and looks at named `inputs` only where a part of the graph is left out. Gradients of large arrays
are written over: into the memory of the gradient that came in, or of one of two that are added, if nobody else holds that. The products
that a weight gets which is used many times are computed together (stacked.py): there alone a sum has another order.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from autolab.engine.backward import LOOPS, next_pass, run_node, schedule, select
from autolab.engine.modes import modes
from autolab.engine.node import AccumulateGrad, Edge, Node
from autolab.engine.node import edge_of as edge_of_tensor
from autolab.engine.op import ADJOINT
from autolab.engine.tensor import Tensor
from autolab.fast.codegen import NAMES
from autolab.fast.first_calls import is_counted, loaded_with_first_call
from autolab.fast.kernel import LARGE
from autolab.fast.stacked import FEW, compute_products, may_write, runs_code_of_users, stacked_products

compile_in_place = loaded_with_first_call("autolab.fast.large", "compile_in_place")
compile_step = loaded_with_first_call("autolab.fast.step", "compile_step")

by_number = attrgetter("seq")


def run_pass(
    roots: list[Any], gradients: list[Any], *, retain_graph: bool = False, create_graph: bool = False,
    inputs: list[Edge] | None = None, accumulate: bool = True, captured: dict[Edge, Any] | None = None,
) -> None:  # fmt: skip
    """All steps of a pass; the arguments are those of `steps`."""
    starts: list[Any] = [edge_of_tensor(r) if isinstance(r, Tensor) else r for r in roots]
    pending: dict[Any, Any] = {}  # gradients on their way, by node (first output) or by edge (further outputs)
    sums: set[Any] = set()  # those of them that are arrays made here, by adding: more can be added in place
    number, node = next_pass(), None  # noqa: F841  both also for `running`
    order, waiting = schedule_by_number(starts)
    wanted: dict[Any, Any] = {}
    needed: set[Any] = set()
    goal = None
    if inputs:
        if waiting and all(type(target) is AccumulateGrad for target in inputs) and waiting.keys() <= set(inputs):
            wanted = {leaf: [leaf] for leaf in inputs}  # all leaves: everything leads to one
            needed = {*order, *inputs} if accumulate else set(order)
        else:
            wanted, needed, goal = select(inputs, starts, order, accumulate)
    asked = captured if wanted or not accumulate else None
    for start, g in zip(starts, gradients):
        pending[start] = pending[start] + g if start in pending else g
    take = pending.pop
    for leaf in [leaf for leaf, count in waiting.items() if not count] if 0 in waiting.values() else ():  # a root that is itself a leaf
        if inputs is None or leaf in wanted:
            node = leaf
            leaf.accumulate(take(leaf), asked, accumulate, create_graph)
        elif len(starts) == 1:
            leaf.accumulate(take(leaf), None, False, create_graph)  # its hooks run

    usual, free = modes.anomaly is None, not retain_graph
    plain = usual and (not wanted or all(type(target) is AccumulateGrad for target in wanted))
    in_place = not create_graph
    direct = plain and in_place and goal is None
    products = stacked_products(waiting) if direct and len(order) >= FEW else {}  # what waits to be multiplied
    ready: list[Any] = []
    for node in order:
        step = None
        if direct:
            try:
                step = STEPS[type(node)]
            except KeyError:
                step = step_of(type(node), at_once=bool(products))  # products are summed in the same order in all passes
        if step is None or not step(node, pending, sums, waiting, ready, products, free):
            if products and runs_code_of_users(node):
                compute_products(products)
            g = take(node, None)
            if node.outputs != 1:
                g = (g, *[take((node, k), None) for k in range(1, node.outputs)])
            if node.hooks is None and (plain or (usual and node not in wanted)):
                if type(g) is ndarray and g.size >= LARGE and in_place:
                    over = is_sole_owner(g)
                    in_memory = in_place_of(node)
                    outgoing = node.run(g, False) if in_memory is None else in_memory(node, g, over)
                    if free:
                        node.release()
                else:
                    outgoing = node.run(g, create_graph, free)
            else:
                g, outgoing = run_node(node, g, wanted, needed, captured, create_graph)
                if outgoing is None:
                    continue
                if free:
                    node.release()
            edges = node.edges
            if goal is not None:
                edges = tuple([edge if (edge[0] if type(edge) is tuple else edge) in goal else None for edge in edges])
            k = -1
            for edge in edges:  # counted by hand: on a pair of two, zip takes longer than all the rest
                k += 1
                if edge is None:
                    continue
                gi = outgoing[k]
                if gi is not None:
                    if edge not in pending:
                        pending[edge] = gi
                    elif edge in sums:
                        pending[edge] += gi
                    elif type(gi) is ndarray and in_place:
                        add_arrays(pending, sums, edge, gi, 2)  # `outgoing` holds gi too
                    else:
                        pending[edge] = pending[edge] + gi
                if edge in waiting:  # an accumulator
                    left = waiting[edge] = waiting[edge] - 1
                    if not left:
                        ready.append(edge)
            g = gi = outgoing = None  # let go: what comes next may keep, or write over, an array that nobody else holds
        if ready:
            for node in ready:
                if inputs is None or node in wanted:
                    g = take(node, None)
                    if products and (node in products or may_write(node)):
                        compute_products(products)
                        total = products.pop(node).total if node in products else None
                        g, total = g if total is None else total if g is None else total + g, None
                    owned = asked is None and is_sole_owner(g)
                    node.accumulate(g, asked, accumulate, create_graph, owned)
                    g = None
            ready.clear()


def schedule_by_number(starts: list[Any]) -> tuple[list[Node], dict[Any, int]]:
    """The same as `schedule`: where nodes have the numbers they were made with, the order of creation reversed is the order to run in."""
    if Node.renumbered:
        return schedule(starts)
    order: list[Any] = []
    seen: set[Any] = {None}
    waiting: dict[Any, int] = {}
    append, remember = order.append, seen.add
    for start in starts:
        root: Any = start[0] if type(start) is tuple else start
        if type(root) is AccumulateGrad:
            remember(root)
            waiting[root] = 0
        elif root not in seen:
            remember(root)
            append(root)
    for node in order:  # it grows meanwhile
        for edge in node.edges:
            if edge in seen:
                if edge in waiting:
                    waiting[edge] += 1
            else:
                kind = type(edge)
                if kind is AccumulateGrad:
                    remember(edge)
                    waiting[edge] = 1
                elif kind is not tuple:
                    remember(edge)
                    append(edge)
                elif edge[0] not in seen:
                    remember(edge[0])
                    append(edge[0])
    order.sort(key=by_number, reverse=True)
    return order, waiting


LOOPS.add(run_pass.__code__)
STEPS: dict[type[Node], Callable[..., bool] | None] = {}
IN_PLACE: dict[type[Node], Callable[..., Any] | None] = {}


def step_of(cls: type[Node], at_once: bool = False) -> Callable[..., bool] | None:
    """`step` of a class of nodes; None where `run` is not written for a row, or only later and not `at_once`."""
    run: Any = vars(cls).get("run")
    if is_counted(run):
        if not at_once:
            return None
        run.write()
    STEPS[cls] = compile_step(cls)
    return STEPS[cls]


def in_place_of(node: Any) -> Callable[..., Any] | None:
    """`compile_in_place` for the class of a node; None if its rules do not work entry by entry."""
    cls = type(node)
    if cls not in IN_PLACE:
        entrywise = node.op is not None and not node.numbers and node.op.complex != ADJOINT
        IN_PLACE[cls] = compile_in_place(node.op, node.plan) if entrywise else None
    return IN_PLACE[cls]


def is_sole_owner(g: Any, others: int = 0) -> bool:
    """Whether an array may be written over: the only references are a name of the caller's and so many others that it knows of."""
    return type(g) is ndarray and getrefcount(g) <= OWN_REFS + others and g.base is None and g.flags.writeable


def _count_references() -> int:
    """References to an array that has one name, counted the way `is_sole_owner` counts."""

    def is_sole_owner(g: Any, others: int = 0) -> int:
        return getrefcount(g)

    g = np.zeros(1)
    return is_sole_owner(g)


OWN_REFS = _count_references()


def add_arrays(pending: dict[Any, Any], sums: set[Any], edge: Any, gi: Any, others: int) -> None:
    """Add an array to the gradient that waits at an edge, in the memory of one of them if it is large and nobody else holds it.

    others: how many references to gi the caller has.
    """
    there = pending.pop(edge)
    if gi.size >= LARGE:
        first, second = is_sole_owner(there), is_sole_owner(gi, others)
        pending[edge] = add_over(there, gi, first, second)
    else:
        pending[edge] = there + gi
    sums.add(edge)


def add_over(a: Any, b: Any, over_a: bool, over_b: bool) -> Any:
    """a + b, in the memory of one of them if that may be written over."""
    over = a if over_a else b if over_b else None
    if over is None or a.shape != b.shape or a.dtype != b.dtype:
        return a + b
    return np.add(a, b, out=over)


NAMES["add_arrays"] = add_arrays
