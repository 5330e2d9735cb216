"""Explorables of one function: the chain rule, two gradients side by side, values forward and gradients back."""

import functools
import math
import re
from typing import NamedTuple

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, short
from autolab.draw.curves import heights, sample
from autolab.draw.svg import render, value_line
from autolab.trace import Trace, record, watch
from autolab.trace.values import number
from autolab.widgets.panel import Frame, Panel, choice, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers

STOPS = 61
NODE = re.compile(r'(?=<g class="al-(?:node|edge|leaf|op|custom|out))')


def function_name(f):
    """What to call a function in a title; the apply of a Function is called as its class."""
    f = f.__self__ if getattr(f, "__name__", "") == "apply" and isinstance(getattr(f, "__self__", None), type) else f
    return getattr(f, "__name__", type(f).__name__).replace("<lambda>", "f")


def value_and_gradient(f, x):
    """Value and gradient of a function at a number, by `backward()`; nan for a gradient that does not come."""
    leaf = torch.tensor(float(x), requires_grad=True)
    with np.errstate(all="ignore"):
        y = f(leaf)
        if not isinstance(y, torch.Tensor):
            raise TypeError(f"{function_name(f)} returned {type(y).__name__}; it must return a Tensor computed from its argument")
        if y.numel() != 1:
            raise RuntimeError(f"{function_name(f)} of a single number has shape {list(y.shape)}; it must be a single number, too")
        if not y.requires_grad:
            return y.item(), float("nan")
        y.backward()
    return y.item(), float("nan") if leaf.grad is None else leaf.grad.item()


def _range(x):
    if not (isinstance(x, tuple) and len(x) == 2 and x[0] < x[1]):
        raise ValueError(f"x is the range of the slider, a pair (low, high) with low < high, and got {x!r}")
    return np.round(np.linspace(*map(float, x), STOPS), 9)


def graph_pieces(trace, step="end", direction="auto"):
    """The picture of a graph in pieces, that frames share; with its width and height."""
    svg = render(trace, step, direction=direction, room=8)
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    return NODE.split(svg[svg.index('<rect class="al-paper"') : -len("</svg>")]), width, height


# -- 3: chain rule ---------------------------------------------------------------------------------

TILE, SMALL_TILE, HIGH = 276, 138, 306  # widths of the large and the small pictures, and the height of all
MOST_TILES = 8
REACH, DRAG = 6, 0.5  # stops of an input to either side, and how far they are apart
PHONE = 360  # a graph of at most so many pixels goes down the page, which a phone shows in full


def square_of_line(x):
    """The function that the lessons begin with."""
    return (3 * x + 2) ** 2


@of_real_numbers
def chain_rule(f=square_of_line, x=(-2, 2)):
    """Drag x along a function: each operation has its own curve and slope, and the slopes multiply.

    Parameters
    ----------
    f : function
        Of one number: takes a tensor and returns one. Any graph will do; where paths meet, gradients add.
    x : tuple
        The range of the slider.

    Returns
    -------
    Panel

    Raises
    ------
    TypeError, RuntimeError
        If `f` does not return a single number that depends on x.

    Examples
    --------
    >>> chain_rule(lambda x: (3 * x + 2) ** 2).move(x=1).sentence
    'At x = 1 the result is 25. xʸ (PowBackward0): 10, + (AddBackward0): 1, × (MulBackward0): 3; their product, the slope, is 30.'
    """
    stops = _range(x)
    places, values, _ = sample(lambda at: (value_and_gradient(f, at)[0],), stops[0], stops[-1])
    axes = Axes((stops[0], stops[-1]), chart.span(heights(values)), (0, 0), (TILE, HIGH - 20), ("x", ""), function_name(f))
    base = [axes.frame(), axes.line(places, values[:, 0])]
    runs = {float(at): _run(f, at) for at in stops}
    tiles = {structure: _tiles(structure, list(runs.values())) for structure in dict.fromkeys(run.trace.structure for run in runs.values())}

    def make(x):
        run = runs[x]
        trace, own = run.trace, run.own
        slope = trace.steps[-1].grad.after.text if trace.steps and trace.steps[-1].grad else "none"
        value, gradient = value_and_gradient(f, x)
        picture = [*base, axes.straight(x, value, gradient), axes.point(x, value, "a")]
        picture.append(chart.words(axes.left + 6, axes.top + 18, f"slope {short(gradient)}", "grad"))
        picture.append(_handle(axes, x, value, "x", f"x on the curve of {function_name(f)}"))
        picture += [part for tile in tiles[trace.structure] for part in tile(run)]
        rows = []
        for step in trace.steps:
            node = trace.node(step.node)
            value_of = "?" if node.value is None else node.value.text
            rows.append([node.display_name, value_of, step.incoming[0].text if step.incoming and step.incoming[0] else "",
                         ", ".join(map(number, own.get(node.id, [])))])  # fmt: skip
        ops = [r for r in rows if r[3]]
        line = len(ops) == len(trace.nodes) - 1 and all("," not in r[3] for r in ops)
        if line:
            product = "; their product, the slope, is " if len(ops) > 1 else "; the slope is "
            said = ", ".join(f"{r[0]}: {r[3]}" for r in ops) + product + slope
        else:
            said = f"Several paths lead to x: along each the derivatives multiply, and the products add to {slope}"
        return Frame(f"At x = {number(x)} the result is {trace.node(trace.root).value.text}. {said}.", picture, rows)

    count = max(len(made) for made in tiles.values())
    breaks = [TILE + SMALL_TILE * k for k in range(count)]
    return Panel(
        f"Chain rule of {function_name(f)}", [slider("x", stops, start=stops[0] + 0.75 * (stops[-1] - stops[0]))], make,
        ["Node", "Value", "Running product (received)", "Own derivative"], (TILE + SMALL_TILE * count, HIGH), breaks=breaks,
        tracks={"x": [axes.x(at) for at in stops]},
    )  # fmt: skip


def _handle(axes, x, y, control, label):
    """The handle of a point, on the edge of the frame where the point is outside of it."""
    at = axes.y(y) if np.isfinite(y) else axes.top + axes.height
    return chart.handle(axes.x(x), min(max(at, axes.top), axes.top + axes.height), along_x=control, label=label)


class _Run(NamedTuple):
    trace: Trace
    own: dict  # node id -> its own derivatives, one for each input


def _run(f, x):
    leaf = torch.tensor(float(x), requires_grad=True)
    with np.errstate(all="ignore"), watch():
        y = f(leaf)
        return _Run(record(y, names={"x": leaf}), _own_derivatives(y))


def _own_derivatives(y):
    """Node id -> what each node makes of a gradient of 1: its own derivative, one for each input."""
    found, order, stack = {}, {}, [y.grad_fn]
    while stack:
        node = stack.pop()
        if node in order or not node.next_functions:
            continue
        order[node] = None
        stack.extend(child for child, _ in node.next_functions if child is not None)
    with torch.no_grad():
        for i, node in enumerate(sorted(order, key=lambda n: -n._sequence_nr() if hasattr(n, "_sequence_nr") else -n.seq)):
            sent = node(torch.tensor(1.0))
            sent = sent if isinstance(sent, tuple) else (sent,)
            found[f"n{i}"] = [s.item() for s, (child, _) in zip(sent, node.next_functions) if child is not None]
    return found


def _tiles(structure, runs):
    """For each operation, from x on, a function of a run that draws it: what comes out against what goes in, and the slope."""
    runs = [run for run in runs if run.trace.structure == structure]
    trace = runs[0].trace
    nodes = [node for node in trace.nodes[::-1] if node.kind != "leaf"]
    tiles = [_tile(node, runs, TILE + SMALL_TILE * k) for k, node in enumerate(nodes[:MOST_TILES])]
    if len(nodes) > MOST_TILES:
        told = [chart.words(TILE + SMALL_TILE * MOST_TILES + 8, HIGH / 2 + 20 * k, t, "note") for k, t in enumerate(
            [f"{len(nodes) - MOST_TILES} more nodes", "in the table"])]  # fmt: skip
        tiles.append(lambda run: told)
    return tiles


def _tile(node, runs, left):
    moving = _moving(runs[0].trace)
    edges = [edge for edge in runs[0].trace.edges if edge.target == node.id]
    inputs = {edge.source for edge in edges if edge.source in moving}
    alone = len(inputs) == 1  # else it is not a function of one number, and is drawn against x
    source = next(iter(inputs)) if alone else next(iter(moving), node.id)
    ins = [_value(run, source) for run in runs]
    outs = [_value(run, node.id) for run in runs]
    curve = _unbroken(ins, outs, [_slope(run, node, edges, moving) for run in runs] if alone else None)
    box = SmallAxes(chart.span(heights(ins)), chart.span(heights(outs)), left + 6, 52, SMALL_TILE - 16, 108)
    head, name = truncated(node.symbol or node.op or node.name, 13), truncated(node.name)
    base = chart.words(left + 6, 20, head, "head") + chart.words(left + 6, 40, name, "name") + box.frame() + box.line(*curve)

    def draw(run):
        own, step = run.own.get(node.id, []), next((s for s in run.trace.steps if s.node == node.id), None)
        at = _value(run, source), _value(run, node.id)
        received = step.incoming[0].data if step and step.incoming and step.incoming[0] else None
        own = [d for d, edge in zip(own, edges) if edge.source in moving]
        slope = _slope(run, node, edges, moving) if alone and own else None
        lines = [(_fitted(at), "")] + [(f"slope {short(d, 3)}", "") for d in ([slope] if slope is not None else own[:3])]
        if received is not None:
            lines.append((f"g = {short(received, 3)}", "grad"))
            if slope is not None:
                lines.append((f"sends {short(float(received) * slope, 3)}", "grad"))
        told = [chart.words(left + 6, 184 + 24 * k, text, kind) for k, (text, kind) in enumerate(lines)]
        return [base, box.straight(*at, slope) if slope is not None else "", box.point(*at, "a"), *told]

    return draw


def _slope(run, node, edges, moving):
    return sum(d for d, edge in zip(run.own.get(node.id, []), edges) if edge.source in moving)


def _unbroken(ins, outs, slopes):
    """The points of a curve in order, interrupted where it jumps: where no slope leads from a point to the next.

    Without slopes, the differences on both sides tell.
    """
    order = np.argsort(ins, kind="stable")
    steps = np.abs(np.diff(np.array(outs)[order]))
    beside = np.maximum(np.append(0, steps[:-1]), np.append(steps[1:], 0))
    x, y = ([float(ins[order[0]])], [float(outs[order[0]])])
    for k, (a, b) in enumerate(zip(order, order[1:])):
        expected = max(abs(slopes[a]), abs(slopes[b])) * abs(ins[b] - ins[a]) if slopes else beside[k]
        if steps[k] > 4 * expected + 1e-5 * abs(outs[b]):
            x.append(x[-1])
            y.append(float("nan"))
        x.append(float(ins[b]))
        y.append(float(outs[b]))
    return x, y


def _fitted(pair, room=15):
    """What goes in and what comes out, with as many digits as there is room for."""
    return next(
        (t for t in (" → ".join(short(v, digits) for v in pair) for digits in (4, 3, 2, 1)) if len(t) <= room), f"→ {short(pair[1], 3)}"
    )


def _moving(trace):
    """The ids of x and of what depends on it, in the order of computing."""
    found = {node.id: None for node in trace.nodes if node.kind == "leaf" and node.label == "x"}
    for node in trace.nodes[::-1]:
        if any(edge.target == node.id and edge.source in found for edge in trace.edges):
            found[node.id] = None
    return found


def _value(run, id):
    value = run.trace.node(id).value
    return float("nan") if value is None or value.data is None or value.shape else float(value.data)


def truncated(name, room=15):
    """A name that fits a small picture."""
    return name if len(name) <= room else name[: room - 1] + "…"


class SmallAxes(Axes):
    """A frame without numbers."""

    def __init__(self, xlim, ylim, left, top, width, height):
        super().__init__(xlim, ylim)
        self.left, self.top, self.width, self.height = left, top, width, height

    def frame(self):
        """The box alone."""
        return f'<rect x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}" class="al-axes"/>'


# -- 7: two gradients ------------------------------------------------------------------------------


class StraightThrough(torch.autograd.Function):
    """Rounds forward; backward it pretends to have done nothing (Bengio, Leonard and Courville 2013, section 4)."""

    @staticmethod
    def forward(ctx, x):
        """Round to the nearest integer."""
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        """Hand the gradient on as it is."""
        return grad


MENU = torch.relu, StraightThrough, torch.round, torch.sigmoid, torch.abs


@of_real_numbers
def two_gradients(f=torch.relu, g=StraightThrough, x=(-3, 3), menu=MENU):
    """Two functions side by side: their values forward, and the gradients that their rules give backward.

    Where a function or its gradient jumps, the line is interrupted and a dot shows the value at the jump. At the point, a short line has
    the slope that the rule gives: where that is not the slope of the curve, as in a straight-through estimator, it is said.

    Parameters
    ----------
    f, g : function or autograd.Function
        Of one number. A Function class is applied.
    x : tuple
        The range of the slider.
    menu : sequence of functions
        What can be chosen in their place; five in all, with f and g.

    Returns
    -------
    Panel

    Examples
    --------
    >>> two_gradients(torch.round, StraightThrough).move(x=1.3).sentence
    'At x = 1.3: round gives 1 and gradient 0; StraightThrough gives 1 and gradient 1, though its curve has slope 0 there.'
    """
    stops = _range(x)
    for h in (f, g):
        if not callable(h):
            raise TypeError(f"two_gradients compares two functions, and got {type(h).__name__}: two_gradients(torch.relu, torch.sigmoid)")
    names = [function_name(h) for h in (f, g)]
    if names[0] == names[1] and f is not g:
        names = [f"{name} {k}" for name, k in zip(names, "12")]
    functions = dict(zip(names, (f, g)))
    for h in menu:
        if len(functions) < 5:
            functions.setdefault(function_name(h), h)
    functions = {n: h.apply if isinstance(h, type) and issubclass(h, torch.autograd.Function) else h for n, h in functions.items()}
    both = functools.cache(lambda name, x: value_and_gradient(functions[name], x))
    curve = functools.cache(lambda name: sample(lambda at: value_and_gradient(functions[name], at), stops[0], stops[-1]))

    @functools.cache
    def scene(pair):
        drawn, pictures = [curve(name) for name in pair], []
        for k, title in enumerate(("forward: value", "backward: gradient")):
            limits = chart.span(*(heights(values[:, k]) for _, values, _ in drawn), *([[0, 1]] if k else []))
            axes = Axes((stops[0], stops[-1]), limits, (TILE * k, 0), (TILE, 270), ("x", ""), title)
            lines = [axes.line(places, values[:, k], kind) for (places, values, _), kind in zip(drawn, "ab")]
            dots = [
                axes.point(at, there, kind) for (_, _, jumps), kind in zip(drawn, "ab") for column, at, _, there, _ in jumps if column == k
            ]
            pictures.append((axes, [axes.frame() + "".join(lines + dots)]))
        key = "".join(chart.legend(20, 290 + 24 * k, [("ab"[k], name[:24])]) for k, name in enumerate(pair))
        key += chart.legend(20, 338, [("grad", "slope from the rule")])
        return pictures, key

    def make(x, f, g):
        pair = f, g
        (pictures, key), found = scene(pair), [both(name, x) for name in pair]
        picture = [key]
        for i, (axes, base) in enumerate(pictures):
            picture += (
                base
                + [_rule_line(axes, x, *one) for one in found if not i]
                + [axes.point(x, found[k][i], kind) for k, kind in enumerate("ab")]
            )
        picture.append(_handle(pictures[0][0], x, found[0][0], "x", f"x of {f}"))
        rows, told = [], []
        for name, (value, gradient) in zip(pair, found):
            left, right = curve_slopes(lambda at, name=name: both(name, at)[0], x, step)
            rows.append([name, number(value + 0.0), "none" if gradient != gradient else number(gradient + 0.0), _slope_text(left, right)])
            told.append(f"{name} gives {rows[-1][1]} and gradient {rows[-1][2]}")
            if "none" not in rows[-1][3] and not rule_fits(gradient, left, right):
                told[-1] += f", though its curve has slope {rows[-1][3]} there"
        return Frame(f"At x = {number(x)}: {'; '.join(told)}.", picture, rows)

    step = (stops[-1] - stops[0]) / 1024
    for name in names:
        curve(name)  # what cannot be drawn is said at once
    where = slider("x", stops, start=stops[0] + 0.7 * (stops[-1] - stops[0]))
    menus = [choice("f", functions, 0, "solid line"), choice("g", functions, min(1, len(set(names)) - 1), "dashed line")]
    axes = scene(tuple(names))[0][0][0]
    return Panel(
        f"Two gradients: {names[0]} and {names[1]}", [where, *menus], make, ["Function", "Value", "Gradient", "Slope of the curve"],
        (2 * TILE, 354),
        breaks=[TILE], tracks={"x": [axes.x(at) for at in stops]},
    )  # fmt: skip


def curve_slopes(f, x, step):
    """The slopes of the curve of f to the left and to the right of x, by finite differences."""
    low, here, high = (f(at) for at in (x - step, x, x + step))
    return (here - low) / step, (high - here) / step


def rule_fits(gradient, left, right):
    """Whether a gradient is between the slopes of the curve on both sides of a point, to 2 %; nan fits."""
    room = 0.02 * max(abs(left), abs(right), 0.1)
    return not (gradient < min(left, right) - room or gradient > max(left, right) + room)


def _slope_text(left, right):
    texts = [short(round(slope, 3) + 0.0, 2) for slope in (left, right)]
    if not (math.isfinite(left) and math.isfinite(right)):
        return "none"
    if abs(left - right) <= 0.05 * max(abs(left), abs(right), 0.1):
        return short(round((left + right) / 2, 3) + 0.0, 2)
    return " and ".join(texts) if max(abs(left), abs(right)) < 100 else "none: it jumps"


def _rule_line(axes, x, value, gradient):
    """A short line through the point with the slope that the rule gives."""
    if not (math.isfinite(value) and math.isfinite(gradient)):
        return ""
    steep = math.hypot(1, gradient * (axes.y(1) - axes.y(0)) / (axes.x(1) - axes.x(0)))
    half = 42 / (axes.x(1) - axes.x(0)) / steep  # 42 pixels to either side
    ends = [x - half, x + half]
    low, high = axes.ylim
    if gradient:
        reach = sorted((edge - value) / gradient + x for edge in (low, high))
        ends = [max(ends[0], reach[0]), min(ends[1], reach[1])]
    ends = [max(ends[0], axes.xlim[0]), min(ends[1], axes.xlim[1])]
    return axes.line(ends, [value + gradient * (end - x) for end in ends], "grad")


# -- 1: forward and back ---------------------------------------------------------------------------


@of_real_numbers
def forward_and_back(f=square_of_line, /, **inputs):
    """Values forward, one operation at a time, and then gradients back, one node at a time.

    The first input that is a number can be dragged, in its leaf.

    Parameters
    ----------
    f : function
        Takes the inputs by keyword and returns a single number.
    **inputs : float or Tensor
        Numbers become leaves that require grad. Without any, x is 1.

    Returns
    -------
    Panel

    Raises
    ------
    RuntimeError
        If the result is not a single number, or depends on no input that requires grad.

    Examples
    --------
    >>> panel = forward_and_back(lambda x: (3 * x + 2) ** 2, x=1.0)
    >>> panel.step().sentence
    'Forward: × (MulBackward0) computes 3.'
    """
    inputs = inputs or {"x": 1.0}
    dragged = next((n for n, v in inputs.items() if not isinstance(v, torch.Tensor)), None)

    def run(value):
        here = inputs if dragged is None else {**inputs, dragged: value}
        leaves = {n: v if isinstance(v, torch.Tensor) else torch.tensor(float(v), requires_grad=True) for n, v in here.items()}
        with watch():
            result = f(**leaves)
        return record(result, names=leaves)

    start = None if dragged is None else float(inputs[dragged])
    known_runs = {start: run(start)}
    first = known_runs[start]
    count = len([n for n in first.nodes if n.kind != "leaf"])
    direction = next((d for d in ("down", "narrow") if graph_pieces(first, direction=d)[1] <= PHONE), "auto")
    pieces, width, height = graph_pieces(first, direction=direction)
    boxes = _boxes(pieces)
    leaf = next((n.id for n in first.nodes if n.kind == "leaf" and n.label == dragged), None)

    def hidden(pieces, known):
        for piece in pieces:
            node = re.search(r'data-node="(\w+)"', piece)
            if node and node[1] not in known:
                piece = re.sub(r"(<text class=\"al-value\"[^>]*>)[^<]*", r"\1not yet", piece)
                piece = re.sub(r"<title>.*?</title>", "", piece)
            yield piece

    def make(step, value=start):
        trace = known_runs.get(value) or known_runs.setdefault(value, run(value))
        if trace.structure != first.structure:
            raise ValueError(f"the function runs other operations here; forward_and_back(f, {dragged}={number(value)}) shows them")
        ops = [n for n in trace.nodes if n.kind != "leaf"][::-1]
        step = int(step)
        forward, back = min(step, count), max(step - count, 0)
        known = {n.id for n in trace.nodes if n.kind == "leaf"} | {n.id for n in ops[:forward]}
        pieces = list(hidden(graph_pieces(trace, back, direction)[0], known))
        if 0 < step <= count:
            node = ops[step - 1]
            pieces = [p.replace('class="al-node', 'class="al-node al-now', 1) if f'data-node="{node.id}"' in p else p for p in pieces]
        if leaf is not None:
            k = next(k for k, piece in enumerate(pieces) if f'data-node="{leaf}"' in piece)
            left, base = map(float, re.search(r'class="al-value"[^>]* x="([\d.]+)" y="([\d.]+)"', pieces[k]).groups())
            pieces[k] = re.sub(r"(al-value[^>]*>)[^<]*", r"\1", pieces[k], count=1)
            x, y, w, _ = boxes[leaf]
            held = x + w - 46, y + 38
            told = chart.words(left - held[0], base - held[1], f"= {number(value)}")
            pieces.append(chart.number_handle(*held, number(value, 4), "value", dragged, resting=told))
        received = {s.node: s for s in trace.steps[:back]}
        rows = [
            [
                n.display_name,
                value_line(n).lstrip("= ") if n.id in known else "not yet",
                received[n.id].incoming[0].text if n.id in received and received[n.id].incoming[0] else "not yet",
            ]
            for n in trace.nodes[::-1]
        ]
        flights, here = [], None
        if 0 < step <= count:
            here = ops[step - 1].id
            values = ((trace.node(e.source).value, e.source, here) for e in trace.edges if e.target == here)
            flights = [_flight(value, boxes, start, end, "value") for value, start, end in values if value is not None]
        elif back:
            here = trace.steps[back - 1].node
            sources = {e.id: e.source for e in trace.edges}
            sent = ((one.value, here, sources[one.edge]) for one in trace.steps[back - 1].outgoing)
            flights = [_flight(value, boxes, start, end, "grad") for value, start, end in sent if value is not None]
        return Frame(_sentence(trace, ops, step), pieces, rows, flights=flights, focus=boxes.get(here))

    title = f"Forward and back through {function_name(f)}"
    controls = [timeline(count + len(first.steps))]
    if leaf is not None:
        controls.append(slider("value", [start + k * DRAG for k in range(-REACH, REACH + 1)], start=start, label=dragged))
    return Panel(title, controls, make, ["Node", "Value", "Gradient"], (width, height))


def _boxes(pieces):
    """Node id -> (left, top, width, height) of its box."""
    found = {}
    for piece in pieces:
        node = re.search(r'class="al-node[^>]*data-node="(\w+)"', piece)
        box = node and re.search(r'class="al-box" x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" height="([-\d.]+)"', piece)
        corners = node and not box and re.search(r'class="al-box" d="M([^Z]*)Z', piece)
        if box:
            found[node[1]] = tuple(map(float, box.groups()))
        elif corners:
            xs, ys = zip(*(map(float, corner.split()) for corner in corners[1].split("L")))
            found[node[1]] = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    return found


def _flight(value, boxes, start, end, kind):
    """A number that travels from one box to another, from border to border."""
    (x0, y0, w0, h0), (x1, y1, w1, h1) = boxes[start], boxes[end]
    across = (x1 - x0 - w0, (x0 + w0, x1)) if x1 > x0 else (x0 - x1 - w1, (x0, x1 + w1))
    if across[0] > 0:  # side by side
        return chart.flight(value.label, (across[1][0], y0 + h0 / 2), (across[1][1], y1 + h1 / 2), kind)
    ends = (y0 + h0, y1) if y1 > y0 else (y0, y1 + h1)
    return chart.flight(value.label, (x0 + w0 / 2, ends[0]), (x1 + w1 / 2, ends[1]), kind)


def _sentence(trace, ops, step):
    if step == 0:
        return "Ready. Values come first, from the inputs on."
    if step <= len(ops):
        node = ops[step - 1]
        value = "a value that no rule asks for" if node.value is None else node.value.phrase
        return f"Forward: {node.display_name} computes {value}."
    return f"Back: {trace.steps[step - len(ops) - 1].sentence}"


__all__ = ["StraightThrough", "chain_rule", "forward_and_back", "two_gradients"]
