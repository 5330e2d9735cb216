"""5. In what order, and why once: the backward pass.

A node runs once, when its whole incoming gradient is there: when all that lead to it have run. Among the nodes that could be next the
one that was made last goes first. A node is created after everything it points to, so this is the order of creation, reversed. No
recursion: a chain of a million nodes is a long list. An accumulator has no place in that order (it outlives graphs); it runs as soon as
the last edge into it has delivered.

`steps` is the one engine: the stepping widget and the profiler walk it, and `.backward()` runs it dry, or a loop that is equal to it and
faster. It is plain Python: a breakpoint in a rule, a hook or a Function's backward stops there, in the thread that called `.backward()`.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from autolab.engine.hooks import after, arrive, before
from autolab.engine.modes import modes
from autolab.engine.node import AccumulateGrad, Edge, Node, edge_of
from autolab.engine.op import CODEGEN
from autolab.engine.tensor import Tensor

Step = tuple[Node, tuple[Any, ...], Any]
next_pass = itertools.count().__next__
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
) -> Iterator[Step]:
    """Walk backward from `roots`; yield (node, incoming, outgoing) for each node, once it has run.

    roots: Tensors (or edges); gradients: for each root the raw array of its gradient (a Tensor if `create_graph`).
    inputs: compute only what these edges need. Their gradients are put into `captured`, and nowhere else unless `accumulate`; without
    `inputs` those of all leaves.
    incoming: one gradient, or None, for each output of the node; outgoing: one, or None, for each of its edges.
    """
    starts: list[Edge] = [edge_of(root) if isinstance(root, Tensor) else root for root in roots]  # type: ignore[misc]
    order, waiting = schedule(starts)
    wanted, needed, goal = select(inputs, starts, order, accumulate)
    pending: dict[Edge, Any] = {}  # gradients on their way, by the edge they take; one edge of a node is the node itself
    for start, g in zip(starts, gradients):
        pending[start] = pending[start] + g if start in pending else g
    number, node = next_pass(), None  # noqa: F841  for autolab.autograd.running
    queue: deque[Any] = deque([leaf for leaf, edges in waiting.items() if not edges])  # a root that is itself a leaf
    queue.extend(order)
    while queue:
        node = queue.popleft()
        incoming = tuple([pending.pop((node, k) if k else node, None) for k in range(node.outputs)])
        if type(node) is AccumulateGrad:
            if inputs is None or node in wanted:
                g = node.accumulate(incoming[0], captured if wanted or not accumulate else None, accumulate, create_graph)
                yield node, (g,), ()
            elif len(starts) == 1:  # as in PyTorch, hooks on the one root run in any case
                node.accumulate(incoming[0], None, False, create_graph)
            continue
        g, outgoing = run_node(node, incoming if node.outputs != 1 else incoming[0], wanted, needed, captured, create_graph)
        if outgoing is None:
            continue
        if not retain_graph:
            node.release()
        if goal is not None:
            outgoing = [gi if edge is not None and edge[0] in goal else None for edge, gi in zip(node.edges, outgoing)]
        yield node, (g if node.outputs != 1 else (g,)), outgoing
        ready = []
        for edge, gi in zip(node.edges, outgoing):
            if edge is not None and gi is not None:
                pending[edge] = pending[edge] + gi if edge in pending else gi
            if edge in waiting and (goal is None or edge in goal):
                waiting[edge] -= 1
                if not waiting[edge]:
                    ready.append(edge)
        queue.extendleft(reversed(ready))


def select(
    inputs: list[Edge] | None, starts: list[Edge], order: list[Node], accumulate: bool
) -> tuple[dict[Node, list[Edge]], set[Node], set[Node] | None]:
    """What a pass for named `inputs` is about; takes the nodes that need not run out of `order`.

    The named edges, by their nodes; the nodes that have to run for them; the nodes that gradients are sent to (None: all there are).
    """
    wanted: dict[Node, list[Edge]] = {}
    for target in inputs or ():
        wanted.setdefault(target[0], []).append(target)
    if not wanted:
        return wanted, set(), None
    needed = paths_to(wanted, order)
    goal = needed.union(wanted)
    root = starts[0][0] if len(starts) == 1 else None  # as in PyTorch, hooks on the one root run in any case
    order[:] = [node for node in order if node in goal or (node is root and node.hooks is not None)]
    return wanted, goal if accumulate else needed, goal


def run_quietly(roots: list[Any], gradients: list[Any], **options: Any) -> None:
    """All `steps` of a pass that nobody watches; by a loop that is equal to them, and faster, if there is one (autolab.fast.backward)."""
    loop = CODEGEN.get("backward")
    if loop is not None:
        loop(roots, gradients, **options)
    else:
        deque(steps(roots, gradients, **options), maxlen=0)


def run(roots: list[Any], gradients: list[Any], **options: Any) -> None:
    """The whole backward pass. The rules are recorded themselves if `create_graph`, and not otherwise."""
    state = modes.__dict__  # of this thread; to ask a thread-local for each of them takes longer
    if state["passes"] >= MOST_WITHIN_EACH_OTHER:
        elsewhere(lambda: run(roots, gradients, **options))
        return
    if state["tracer"] is not None:
        modes.tracer.backward(roots, gradients, options, lambda: run(roots, gradients, **options))
        return
    afterwards: list[Callable[[], Any]] = []
    recorded, hooks = state["grad"], len(state["saved_hooks"])
    state["passes"] += 1
    modes.record(options.get("create_graph", False))
    try:
        if state["profiler"] is None:
            run_quietly(roots, gradients, **options)
        else:
            deque(modes.profiler.walk(steps(roots, gradients, **options)), maxlen=0)
        modes.record(recorded)
        while afterwards:
            afterwards.pop(0)()
    finally:
        state["passes"] -= 1
        if state["grad"] != recorded:  # an error, or a hook that left it changed
            modes.record(recorded)
        if len(state["saved_hooks"]) > hooks:  # what was entered during the pass, and not left, ends with it
            del modes.saved_hooks[hooks:]
            modes.settle()


def elsewhere(work: Callable[[], None]) -> None:
    """Do it in another thread, which has a stack of its own, while this one waits: it takes over all that this one is doing."""
    from concurrent.futures import ThreadPoolExecutor  # seldom needed, and slow to load

    state = {**vars(modes), "passes": 0}
    with ThreadPoolExecutor(1, initializer=lambda: vars(modes).update(state)) as pool:
        pool.submit(work).result()


LOOPS = {steps.__code__}  # the functions that walk through a pass


def schedule(starts: list[Edge]) -> tuple[list[Node], dict[Any, int]]:
    """The nodes below some edges, in the order in which they run, and for each accumulator how many edges lead into it.

    Each node comes after all that lead to it; among those that could be next, the one that was made last.
    """
    left: dict[Any, int] = dict.fromkeys([start[0] for start in starts], 0)  # the edges that lead to a node and have not been walked
    nodes = list(left)
    for node in nodes:  # it grows meanwhile
        for edge in node.edges:
            if edge is not None:
                if edge[0] not in left:
                    left[edge[0]] = 0
                    nodes.append(edge[0])
                left[edge[0]] += 1
    waiting = {node: count for node, count in left.items() if type(node) is AccumulateGrad}
    turn = itertools.count()  # decides between equal numbers
    ready = [(-node.seq, next(turn), node) for node in nodes if not left[node] and node not in waiting]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        order.append(heapq.heappop(ready)[-1])
        for edge in order[-1].edges:
            if edge is not None:
                left[edge[0]] -= 1
                if not left[edge[0]] and edge[0] not in waiting:
                    heapq.heappush(ready, (-edge[0].seq, next(turn), edge[0]))
    return order, waiting


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


def run_node(node: Node, g: Any, wanted: Any, needed: Any, captured: Any, create_graph: bool) -> tuple[Any, Any]:
    """Run a node with its hooks: what came in, after the hooks, and what goes out; (g, None) if nothing needs it to run.

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
    hooks = node.hooks  # those that are hung on while it runs are its own affair
    outgoing = node.run(g, create_graph) if modes.anomaly is None else modes.anomaly.vjp(node, g, create_graph)
    if hooks is None:
        return g, outgoing
    if wanted and node.sparing:
        leads = [e is not None and (e[0] in needed or e[0] in wanted) for e in node.edges]
        all_or_nothing = node.op is not None and node.op.variadic and any(leads)
        outgoing = tuple(gi if on or all_or_nothing else None for gi, on in zip(outgoing, leads))
    return g, after(node, g, outgoing, create_graph)
