"""5. In what order, and why once: the backward pass.

A node is created after everything it points to, so reverse creation order is a topological order: nodes are sorted by creation
number, and each fires exactly once, when its whole incoming gradient is there. No recursion: a chain of a million nodes is a long
list. An accumulator has no place in that order (it outlives graphs); it fires as soon as the last edge into it has delivered.

`steps` is the one engine. `.backward()` runs it dry; the stepping widget and the profiler walk the very same generator. It is plain
Python: a breakpoint in a rule, a hook or a Function's backward stops there, in the thread that called `.backward()`.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from numpy import ndarray

from autolab.engine.hooks import after, arrive, before
from autolab.engine.modes import modes
from autolab.engine.node import AccumulateGrad, Edge, Node, added, edge_of, is_sole_owner
from autolab.engine.tensor import Tensor

Step = tuple[Node, tuple[Any, ...], Any]
next_pass = itertools.count().__next__
by_number = attrgetter("seq")
LARGE = 1 << 16  # entries: from here on gradients are written over those that nobody else holds
MOST_WITHIN_EACH_OTHER = 60  # backward passes that rules and hooks start; each takes about ten frames of Python's stack


def steps(
    roots: list[Any],
    gradients: list[Any],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    inputs: list[Edge] | None = None,
    accumulate: bool = True,
    captured: dict[Edge, Any] | None = None,
    quiet: bool = False,
) -> Iterator[Step]:
    """Walk backward from `roots`; yield (node, incoming, outgoing) for each node, once it has fired (nothing if `quiet`).

    roots: Tensors (or edges); gradients: for each root the raw array of its gradient (a Tensor if `create_graph`).
    inputs: compute only what these edges need. Their gradients are put into `captured`, and nowhere else unless `accumulate`; without
    `inputs` those of all leaves.
    incoming: one gradient, or None, for each output of the node; outgoing: one, or None, for each of its edges.
    """
    starts: list[Edge] = [edge_of(r) if isinstance(r, Tensor) else r for r in roots]  # type: ignore[misc]
    pending: dict[Any, Any] = {}  # gradients on their way, by node (first output) or by edge (further outputs)
    sums: set[Any] = set()  # those of them that are arrays made here, by adding: more can be added in place
    number, node = next_pass(), None  # noqa: F841  for `running`
    order, waiting = schedule(starts)
    wanted: dict[Node, list[Edge]] = {}
    for target in inputs or ():
        wanted.setdefault(target[0], []).append(target)
    needed: set[Node] = set()
    partly = bool(wanted) and not (waiting and waiting.keys() <= wanted.keys())  # else all leaves are wanted: everything leads to one
    if partly:
        needed = paths_to(wanted, order)
        top = starts[0][0] if len(starts) == 1 else None  # as in PyTorch, hooks on the one root run in any case
        order = [node for node in order if node in needed or node in wanted or (node is top and node.hooks is not None)]
        goal = needed.union(wanted)
    elif wanted:
        needed = set(order)
    if accumulate and wanted:
        needed.update(wanted)
    asked = captured if wanted or not accumulate else None
    for start, g in zip(starts, gradients):
        pending[start] = pending[start] + g if start in pending else g
    for leaf in [leaf for leaf, count in waiting.items() if not count] if 0 in waiting.values() else ():  # a root that is itself a leaf
        if inputs is None or leaf in wanted:
            node = leaf
            yield leaf, (leaf.accumulate(pending.pop(leaf), asked, accumulate, create_graph),), ()
        elif len(starts) == 1:
            leaf.accumulate(pending.pop(leaf), None, False, create_graph)  # its hooks run

    take, usual, free = pending.pop, modes.anomaly is None, not retain_graph
    plain = usual and (not wanted or all(type(target) is AccumulateGrad for target in wanted))
    in_place = quiet and not create_graph
    watched = partly or not quiet
    ready: tuple[Any, ...] = ()
    for node in order:
        g = take(node, None)
        if node.outputs != 1:
            g = (g, *[take((node, k), None) for k in range(1, node.outputs)])
        if node.hooks is None and (plain or (usual and node not in wanted)):
            if type(g) is ndarray and g.size >= LARGE and in_place:
                outgoing = gi = None  # let go of them, and count before g is on its way to another function
                mine = is_sole_owner(g)
                outgoing = node.vjp_in_place(g, mine)
                if free:
                    node.release()
            else:
                outgoing = node.run(g, create_graph, free)
        else:
            g, outgoing = run_with_hooks(node, g, wanted, needed, captured, create_graph)
            if outgoing is None:
                continue
            if free:
                node.release()
        edges = node.edges
        if watched:
            if partly:
                edges = tuple([edge if (edge[0] if type(edge) is tuple else edge) in goal else None for edge in edges])
                outgoing = [None if edge is None else gi for edge, gi in zip(edges, outgoing)]
            if not quiet:
                yield node, (g if node.outputs != 1 else (g,)), outgoing
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
                elif type(gi) is not ndarray:
                    pending[edge] = pending[edge] + gi
                else:
                    there = take(edge)
                    if in_place and gi.size >= LARGE:
                        mine, other = is_sole_owner(there), is_sole_owner(gi, 1)  # `outgoing` holds gi too
                        pending[edge] = added(there, gi, mine, other)
                    else:
                        pending[edge] = there + gi
                    there = None
                    sums.add(edge)
            if edge in waiting:  # an accumulator
                left = waiting[edge] = waiting[edge] - 1
                if not left:
                    ready += (edge,)
        if ready:
            g = gi = outgoing = None  # let go: an accumulator may keep an array that nobody else holds
            for node in ready:
                if inputs is None or node in wanted:
                    g = node.accumulate(take(node, None), asked, accumulate, create_graph)
                    if not quiet:
                        yield node, (g,), ()
                    g = None
            ready = ()


def run(roots: list[Any], gradients: list[Any], **options: Any) -> None:
    """The whole backward pass. The rules are recorded themselves if `create_graph`, and not otherwise."""
    own = modes.__dict__  # of this thread; to ask a thread-local for each of them takes longer
    if own["passes"] >= MOST_WITHIN_EACH_OTHER:
        elsewhere(lambda: run(roots, gradients, **options))
        return
    if own["tracer"] is not None:
        modes.tracer.backward(roots, gradients, options, lambda: run(roots, gradients, **options))
        return
    afterwards: list[Callable[[], Any]] = []
    walk = steps(roots, gradients, quiet=own["profiler"] is None, **options)
    if own["profiler"] is not None:
        walk = modes.profiler.walk(walk)
    recorded, hooks = own["grad"], len(own["saved_hooks"])
    own["passes"] += 1
    modes.record(options.get("create_graph", False))
    try:
        deque(walk, maxlen=0)  # runs it dry without holding on to anything
        modes.record(recorded)
        while afterwards:
            afterwards.pop(0)()
    finally:
        own["passes"] -= 1
        if own["grad"] != recorded:  # an error, or a hook that left it changed
            modes.record(recorded)
        if len(own["saved_hooks"]) > hooks:  # what was entered during the pass, and not left, ends with it
            del modes.saved_hooks[hooks:]
            modes.settle()


def elsewhere(work: Callable[[], None]) -> None:
    """Do it in another thread, which has a stack of its own, while this one waits: it takes over all that this one is doing."""
    state, errors = {**vars(modes), "passes": 0}, []

    def take_over() -> None:
        vars(modes).update(state)
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=take_over)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def running(function: Callable[..., Any] = steps) -> dict[str, Any] | None:
    """What the innermost pass of this thread is doing: the variables of `steps` (or `run`), which Python's stack already holds.

    `number` tells passes apart, `node` is the one that fires. None outside of a pass.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else frame.f_locals


def schedule(starts: list[Edge]) -> tuple[list[Node], dict[Any, int]]:
    """The nodes below some edges, latest first, and for each accumulator how many edges lead into it."""
    order: list[Any] = []
    seen: set[Any] = {None}
    waiting: dict[Any, int] = {}
    found, remember = order.append, seen.add
    for start in starts:
        root: Any = start[0] if type(start) is tuple else start
        if type(root) is AccumulateGrad:
            waiting[root] = 0
        elif root not in seen:
            remember(root)
            found(root)
    for node in order:  # it grows meanwhile
        for edge in node.edges:
            if edge in waiting:
                waiting[edge] += 1
            elif edge not in seen:
                kind = type(edge)
                if kind is AccumulateGrad:
                    waiting[edge] = 1
                elif kind is not tuple:
                    remember(edge)
                    found(edge)
                elif edge[0] not in seen:
                    remember(edge[0])
                    found(edge[0])
    order.sort(key=by_number, reverse=True)
    return topological_order(order) if Node.renumbered else order, waiting


def topological_order(nodes: list[Node]) -> list[Node]:
    """The nodes so that each comes after all that lead to it: the highest number first among those that could be next.

    Only needed where somebody gave nodes numbers of their own, which say no more what was made before what.
    """
    import heapq

    left: dict[Any, int] = {}
    for node in nodes:
        for edge in node.edges:
            if edge is not None:
                left[edge[0]] = left.get(edge[0], 0) + 1
    ready = [(-node.seq, k, node) for k, node in enumerate(nodes) if node not in left]
    found: list[Node] = []
    while ready:
        node = heapq.heappop(ready)[2]
        found.append(node)
        for edge in node.edges:
            if edge is not None:
                left[edge[0]] -= 1
                if not left[edge[0]] and type(edge[0]) is not AccumulateGrad:
                    heapq.heappush(ready, (-edge[0].seq, len(found), edge[0]))
    return found


def paths_to(targets: Any, order: list[Node]) -> set[Node]:
    """The nodes from which a target can be reached: the only ones worth running when `inputs` are named."""
    found: set[Node] = set()
    for node in reversed(order):
        for edge in node.edges:
            child = edge[0] if type(edge) is tuple else edge
            if child in found or child in targets:
                found.add(node)
                break
    return found


def run_with_hooks(node: Node, g: Any, wanted: Any, needed: Any, captured: Any, create_graph: bool) -> tuple[Any, Any]:
    """Let a node fire that has hooks, in a pass for named `inputs`, or in anomaly mode. (g, None) if nothing needs it to fire.

    As in PyTorch, a gradient that `grad` is asked for is the one after the tensor's hooks, but before them if the pass goes on.
    """
    goes_on = not wanted or node in needed
    arrived = g
    if node.hooks is not None:
        g = arrive(node, g, create_graph)
    for target in wanted.get(node, ()):
        captured[target] = (arrived if goes_on else g)[target[1]] if node.outputs != 1 else arrived if goes_on else g
    if not goes_on:
        return g, None
    if node.hooks is not None:
        g = before(node, g, create_graph)
    outgoing = node.run(g, create_graph) if modes.anomaly is None else modes.anomaly.vjp(node, g, create_graph)
    if node.hooks is None:
        return g, outgoing
    if wanted and node.sparing:
        leads = [e is not None and (e[0] in needed or e[0] in wanted) for e in node.edges]
        all_or_nothing = node.op is not None and node.op.variadic and any(leads)
        outgoing = tuple(gi if on or all_or_nothing else None for gi, on in zip(outgoing, leads))
    return g, after(node, g, outgoing, create_graph)
