"""The explorable of `create_graph=True`: the gradient is computed by nodes as well, and they can be differentiated again."""

import math
import re
from functools import cache
from typing import NamedTuple

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, rectangle, words
from autolab.draw.layout import LayoutBox, layout
from autolab.draw.placement import PHONE
from autolab.trace import graph, watch
from autolab.trace.values import narrow, number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers

FUNCTIONS = {"x ** 3": lambda x: x**3, "x * sin(x)": lambda x: x * torch.sin(x), "tanh(x)": torch.tanh}
STOPS, REACH = 7, 1.5  # stops of x, and how far they go to either side
STEPS = 3  # in which the nodes of a further graph come
MOST = 40  # nodes of all three graphs that a picture has room for
BOX, TALL = (86, 46), 68  # pixels of a node, and the height of one that is a result
GAP, SIDE, LEFT, TOP = 26, 6, 6, 14
PLOT = 296, 300
NAMES = "y", "dy/dx", "d²y/dx²"
KINDS = "leaf", "grad", "custom"  # of the nodes of each graph
CURVES = "a", "grad", "c"
WITH, WITHOUT = "create_graph=True", "create_graph=False"


class Node(NamedTuple):
    """A node: what it does, its value, which graph it belongs to (x: 0), where its inputs are among the nodes."""

    sign: str
    value: float
    graph: int
    inputs: tuple


class Graphs(NamedTuple):
    """The three graphs: nodes in the order in which they were made, x first; how many there are after each; the three results.

    `roots`: where the results are among the nodes; None for a result that is a constant and has no graph.
    """

    nodes: list
    counts: tuple
    results: tuple
    roots: tuple


class Places(NamedTuple):
    """Centres and heights of the nodes; the lines into each node as SVG; the size of all."""

    centres: list
    heights: list
    lines: list
    size: tuple


@of_real_numbers
def gradient_graph(f=None, x=1.5):
    """The graph of the gradient: with `create_graph=True` the backward pass adds nodes, and the gradient can be differentiated again.

    Parameters
    ----------
    f : function or dict, optional
        Of one number, which can be differentiated twice; or several by name, for a menu. By default three functions.
    x : float
        Where it starts; x slides from 1.5 below to 1.5 above.

    Returns
    -------
    Panel
        The nodes are those of the engine, in the order in which `torch.autograd.grad` made them.

    Raises
    ------
    TypeError, RuntimeError
        If a result is not a single number that depends on x, or its gradient does not depend on x and has no graph.
    ValueError
        If the three graphs have more than 40 nodes: a picture has no room for them.

    Examples
    --------
    >>> panel = gradient_graph(lambda x: x**3, x=2.0).move(step=3)
    >>> panel.sentence
    'dy/dx = 12 has a graph of its own, 3 nodes: it can be differentiated again.'
    >>> panel.move(create_graph="create_graph=False", step=4).sentence[:58]
    'The second grad raises RuntimeError: element 0 of tensors '
    """
    functions = FUNCTIONS if f is None else f if isinstance(f, dict) else {function_name(f): f}
    stops = [round(float(v), 9) for v in np.linspace(x - REACH, x + REACH, STOPS)]
    known = cache(lambda name, at: _graphs(functions[name], name, at))
    starts = {name: known(name, float(x)) for name in functions}
    places = {name: _places(graphs) for name, graphs in starts.items()}
    parts_of = [max(1, min(STEPS, *(g.counts[k] - g.counts[k - 1] for g in starts.values()))) for k in (1, 2)]
    left = max(300, *(place.size[0] for place in places.values()))
    height = max(PLOT[1] + 110, *(place.size[1] for place in places.values()))
    curves = {name: _curves(f, name, stops, left) for name, f in functions.items()}

    def make(function, create_graph, x, step):
        graphs, place, on, step = known(function, x), places[function], create_graph == WITH, int(step)
        shown = [_count(graphs, s, parts_of) for s in (max(step - 1, 0), step)]
        if not on:
            shown = [min(n, graphs.counts[1]) for n in shown]
        lost = not on and step >= parts_of[0]  # the graphs of y and of its gradient
        error = _refusal(functions[function], x) if not on and step > parts_of[0] else ""
        finished = 1 + (step >= parts_of[0]) + (on and step == sum(parts_of))
        axes, lines = curves[function]
        parts = _draw(graphs, place, shown[1], on, lost) + [axes.frame(), *lines[:finished]]
        parts += [axes.point(x, value, kind) for value, kind in zip(graphs.results[:finished], CURVES)]
        parts += _legend(left)
        flights = [chart.flight(narrow(graphs.nodes[i].value, 4), place.centres[i], place.centres[k])
                   for k in range(*shown) if on for i in graphs.nodes[k].inputs]  # fmt: skip
        rows = [[str(k), node.sign, number(node.value, 5), NAMES[node.graph - 1] if k else "", ", ".join(map(str, node.inputs))]
                for k, node in enumerate(graphs.nodes[: shown[1]])]  # fmt: skip
        across, along = place.centres[min(shown[1], len(graphs.nodes)) - 1]
        said = _sentence(graphs, on, step, parts_of, shown, error)
        return Frame(said, parts, rows, _code(function, on, step, parts_of, error), flights=flights,
                     focus=(across - 80, along - 60, 160, 120), error=bool(error))  # fmt: skip

    controls = [
        choice("function", list(functions), label="y ="), choice("create_graph", [WITH, WITHOUT], label="grad with"),
        slider("x", stops, start=float(x)), timeline(sum(parts_of)),
    ]  # fmt: skip
    return Panel(
        "The graph of the gradient", controls, make, ["Node", "Operation", "Value", "Graph of", "From nodes"], (left + PLOT[0], height),
        breaks=[left],
    )  # fmt: skip


def _run(f, name, x):
    """x, y, dy/dx and its derivative, as `torch.autograd.grad` gives them with `create_graph=True`."""
    leaf = torch.tensor(float(x), dtype=torch.float64, requires_grad=True)
    y = f(leaf)
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"{name} returned {type(y).__name__}; it must return a Tensor computed from its argument")
    if y.dim() or y.grad_fn is None:
        raise RuntimeError(f"the result of {name} has shape {list(y.shape)}; it must be a single number that depends on x")
    (g,) = torch.autograd.grad(y, leaf, create_graph=True)
    if g.grad_fn is None:
        raise RuntimeError(f"the gradient of {name} is the constant {number(g.item())}, which has no graph; take a function that is curved")
    (h,) = torch.autograd.grad(g, leaf, create_graph=True)
    return leaf, y, g, h


def _graphs(f, name, x):
    with watch(), np.errstate(all="ignore"):
        leaf, *results = _run(f, name, x)
        recorded = [t for t in results if t.requires_grad]
        traces = [graph(torch.stack(recorded[: k + 1]), names={"x": leaf}) for k in range(len(recorded))]
    counts = [len(trace.nodes) - 1 for trace in traces]
    if counts[-1] > MOST:
        raise ValueError(f"the graphs of {name} and its two derivatives have {counts[-1]} nodes; the picture has room for {MOST}")
    trace = traces[-1]
    made = [node for node in reversed(trace.nodes) if node.id != trace.root]
    made.sort(key=lambda node: node.kind != "leaf")  # x first, and the operations in the order in which they were made
    index, nodes = {node.id: k for k, node in enumerate(made)}, []
    for k, node in enumerate(made):
        edges = [e for e in trace.edges if e.target == node.id]
        which = 0 if not k else 1 + sum(k >= count for count in counts[:-1])
        inputs, value = tuple(index[e.source] for e in edges), float(node.value.data)
        sign = _sign(node, {e.input for e in edges}, value, [nodes[i].value for i in inputs]) if k else "x"
        nodes.append(Node(sign, value, which, inputs))
    roots = [index[e.source] for e in trace.edges if e.target == trace.root]
    missing = 3 - len(counts)
    return Graphs(nodes, (*counts, *counts[-1:] * missing), tuple(t.item() for t in results), (*roots, *[None] * missing))


def _sign(node, computed, value, inputs):
    """What a node does, with the number that is not a node: "× 3", "** 2", "cos"."""
    if node.op == "rsub":
        return f"{narrow(value + inputs[0], 5)} −"
    numbers = [float(item.value.data) for item in node.saved if item.value is not None and item.name not in (*computed, "out")]
    numbers = numbers or [float(item.text) for item in node.saved if item.name in ("y", "exponent") and item.name not in computed]
    sign = "**" if node.op in ("pow", "pow_scalar") else node.symbol if len(node.symbol) == 1 and node.op != "neg" else node.op
    return " ".join([sign or node.name, *(narrow(n, 5) for n in numbers[:1])])


def _count(graphs, step, parts_of):
    """How many nodes there are after a step: those of a further graph come in a few parts."""
    first, second, third = graphs.counts
    one, two = min(step, parts_of[0]), max(step - parts_of[0], 0)
    return first + math.ceil((second - first) * one / parts_of[0]) + math.ceil((third - second) * two / parts_of[1])


def _places(graphs):
    """Where nodes and lines stand: layers by `autolab.draw`, from x downward, from the left on."""
    nodes = graphs.nodes
    edges = [(i, k) for k, node in enumerate(nodes) for i in node.inputs]
    boxes = [LayoutBox(TALL if k in graphs.roots or not k else BOX[1], BOX[0]) for k in range(len(nodes))]
    # from the results back, so the layers are counted from x
    made = layout(boxes, [(k, i) for i, k in edges], GAP, 20, SIDE, PHONE - 3 * LEFT)

    def place(points):
        return [(round(LEFT + across), round(TOP + made.along - along)) for along, across in reversed(points)]

    def line(points, kind, tip):
        way = "L".join(f"{x} {y}" for x, y in (points[:-1] if tip else points))
        path = f'<path d="M{way}" class="al-l al-l-{kind}"/>' if "L" in way else ""
        return path + (chart.arrow(*points[-2], *points[-1], kind) if tip else "")

    kinds = ["b" if nodes[k].graph > max(nodes[i].graph, 1) else "line" for i, k in edges]
    through, lines = {u for _, users in made.trunks for u in users}, [""] * len(nodes)
    for u, way in enumerate(made.routes):
        lines[edges[u][1]] += line(place(way), kinds[u], u not in through)
    tipped = set()
    for points, users in made.trunks:  # the piece that is next to its node comes first
        k = edges[users[0]][1]
        lines[k] += line(place(points), kinds[users[0]], k not in tipped)
        tipped.add(k)
    return Places([*reversed(place(made.centres))], [box.along for box in boxes], lines, (made.across + 2 * LEFT, made.along + 2 * TOP))


def _draw(graphs, place, shown, on, lost):
    """The nodes that there are, and the lines into them; of a gradient without a graph its nodes while they run, then its number."""
    first, nodes, parts = graphs.counts[0], graphs.nodes, []
    kept = [k for k in range(shown) if k < first or on]
    running = [k for k in range(first, shown) if not on and (not lost or k == graphs.roots[1])]
    for k in kept + running:
        node, (x, y), tall = nodes[k], place.centres[k], place.heights[k]
        kind = "freed" if lost and 0 < k < first else "leaf" if not k else "empty" if k in running else KINDS[node.graph - 1]
        top = y - tall / 2 + 18
        box = place.lines[k] * (k in kept) + chart.rectangle(x - BOX[0] / 2, y - tall / 2, BOX[0], tall, kind)
        if not k:
            parts += [box + words(x, top, "x", "head", "middle"), chart.number_handle(x, top + 24, narrow(node.value, 5), "x", "x")]
            continue
        box += words(x, top, "no grad_fn" if lost and k in running else node.sign, "", "middle")
        if k in graphs.roots:
            box += words(x, top + 42, NAMES[graphs.roots.index(k)], "head", "middle")
        parts += [box, words(x, top + 20, narrow(node.value, 6), "value", "middle")]
    return parts


def _legend(left):
    parts, y = [], PLOT[1] + 14
    for kind, curve, name in zip(KINDS, CURVES, NAMES):
        parts += [rectangle(left + 14, y - 9, 22, 16, kind), chart.legend(left + 46, y, [(curve, f"{name} and its graph")])]
        y += 24
    return [*parts, f'<path d="M{left + 14} {y}h58" class="al-l al-l-b"/>', words(left + 78, y + 5, "value of another graph")]


def _curves(f, name, stops, left):
    """Axes and the curves of y and of its two derivatives, each by the engine."""
    with np.errstate(all="ignore"):
        xs = np.linspace(stops[0], stops[-1], 37)
        ys = np.array([[t.item() for t in _run(f, name, at)[1:]] for at in xs])
    axes = Axes((xs[0], xs[-1]), chart.span(ys), (left, 0), PLOT, ("x", ""))
    return axes, [axes.line(xs, ys[:, k], kind) for k, kind in enumerate(CURVES)]


def _refusal(f, x):
    """What the second `grad` says when the first one has recorded nothing."""
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(f(leaf), leaf)
    try:
        torch.autograd.grad(g, leaf)
    except RuntimeError as error:
        return f"RuntimeError: {error}"
    raise AssertionError("a gradient without a graph was differentiated")


def _code(function, on, step, parts_of, error):
    lines = [f"y = {function}"]
    lines += [f"g, = torch.autograd.grad(y, x, create_graph={on})"] * (step > 0)
    lines += [f"h, = torch.autograd.grad(g, x, create_graph={on})"] * (step > parts_of[0])
    return "\n".join(lines) + (f"\n\n{error}" if error else "")


def _sentence(graphs, on, step, parts_of, shown, error):
    first, second, third = graphs.counts
    y, g, h = map(number, graphs.results)
    made = ", ".join(f"{node.sign} = {number(node.value, 4)}" for node in graphs.nodes[slice(*shown)])
    if error:
        return "The second grad raises " + re.split(r"[.](?: |\n)", error)[0].rstrip(".") + ". With create_graph=True it has one."
    if not step:
        return f"y = {y}, and its graph has {first} nodes, x with them. The gradient is computed, too: does it have a graph of its own?"
    if step < parts_of[0]:
        return f"The backward pass runs: {made}. " + ("Its operations are recorded, as a second graph." if on else "Nothing is recorded.")
    if step == parts_of[0] and not on:
        return f"dy/dx = {g} is a number without a graph: its grad_fn is None. The graph of y has been freed."
    if step == parts_of[0]:
        return f"dy/dx = {g} has a graph of its own, {second - first} nodes: it can be differentiated again."
    if step < sum(parts_of):
        return f"The gradient of the gradient: its backward pass adds {made}, as a third graph."
    if third == second:
        return f"d²y/dx² = {h}, a constant: it does not depend on x, and nothing was recorded for it."
    return f"d²y/dx² = {h}: {third - second} more nodes. A gradient is a value like any other, so each can be differentiated again."


__all__ = ["gradient_graph"]
