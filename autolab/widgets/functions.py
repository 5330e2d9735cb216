"""Explorables of one function: the chain rule, two gradients side by side, values forward and gradients back."""

import re

import numpy as np

import autolab as torch
from autolab.draw import plot
from autolab.draw.plot import Axes, short
from autolab.draw.svg import render, value_line
from autolab.trace import record, watch
from autolab.trace.values import number
from autolab.widgets.panel import Frame, Panel, slider, timeline

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


def square_of_line(x):
    """The function that the lessons begin with."""
    return (3 * x + 2) ** 2


def chain_rule(f=square_of_line, x=(-2, 2)):
    """Slide x along a function: its tangent, the derivative of every operation, and their running product.

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
    'At x = 1 the result is 25. PowBackward0: 10, AddBackward0: 1, MulBackward0: 3; their product, the slope, is 30.'
    """
    stops = _range(x)
    curve = [value_and_gradient(f, s)[0] for s in stops]
    axes = Axes((stops[0], stops[-1]), plot.span(curve), (0, 0), (700, 270), ("x", ""), f"{function_name(f)} and its tangent")
    base = [axes.frame(), axes.line(stops, curve)]

    def make(x):
        leaf = torch.tensor(x, requires_grad=True)
        with np.errstate(all="ignore"), watch():
            y = f(leaf)
            trace = record(y, names={"x": leaf})
            own = _own_derivatives(y)
        slope = trace.steps[-1].grad.after.text if trace.steps and trace.steps[-1].grad else "none"
        value, gradient = value_and_gradient(f, x)
        tangent = [axes.straight(x, value, gradient), axes.point(x, value, "grad", f"slope {short(gradient)}", gradient)]
        rows = []
        for step in trace.steps:
            node = trace.node(step.node)
            value_of = "?" if node.value is None else node.value.text
            derivative = own.get(node.id, "")
            rows.append([node.display_name, value_of, step.incoming[0].text if step.incoming and step.incoming[0] else "", derivative])
        ops = [r for r in rows if r[3]]
        line = len(ops) == len(trace.nodes) - 1 and all("," not in r[3] for r in ops)
        if line:
            product = "; their product, the slope, is " if len(ops) > 1 else "; the slope is "
            said = ", ".join(f"{r[0]}: {r[3]}" for r in ops) + product + slope
        else:
            said = f"Several paths lead to x: along each the derivatives multiply, and the products add to {slope}"
        return Frame(
            f"At x = {number(x)} the result is {trace.node(trace.root).value.text}. {said}.", base + tangent + _chain(rows, 278), rows
        )

    return Panel(
        f"Chain rule of {function_name(f)}", [slider("x", stops, start=stops[0] + 0.75 * (stops[-1] - stops[0]))], make,
        ["Node", "Value", "Running product (received)", "Own derivative"], (720, 436),
    )  # fmt: skip


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
            needed = [s for s, (child, _) in zip(sent, node.next_functions) if child is not None]
            found[f"n{i}"] = ", ".join(number(s.item()) for s in needed)
    return found


def _chain(rows, top):
    """The table as a strip, from the result back to x, as far as it fits."""
    names = ["node", "value", "received", "own derivative"]
    shown = rows[:5]
    parts = [plot.words(10, top + 30 + 30 * i, name, "note") for i, name in enumerate(names)]
    for j, row in enumerate(shown):
        left = 120 + 118 * j
        for i, text in enumerate(row):
            kind = ["op", "op", "grad", "leaf"][i]
            if i == 0 and not row[3]:
                kind = "leaf"
            if text:
                parts.append(plot.rectangle(left, top + 12 + 30 * i, 110, 27, kind))
                parts.append(plot.words(left + 55, top + 30 + 30 * i, text[:15], "grad" if kind == "grad" else "", "middle"))
    if len(rows) > len(shown):
        parts.append(plot.words(120, top + 146, f"and {len(rows) - len(shown)} more nodes in the table", "note"))
    return parts


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


def two_gradients(f=torch.relu, g=StraightThrough, x=(-3, 3)):
    """Two functions side by side: their values forward, and the gradients that their rules give backward.

    Parameters
    ----------
    f, g : function or autograd.Function
        Of one number. A Function class is applied.
    x : tuple
        The range of the slider.

    Returns
    -------
    Panel

    Examples
    --------
    >>> two_gradients(torch.round, StraightThrough).move(x=1.3).sentence
    'At x = 1.3: round gives 1 and gradient 0; StraightThrough gives 1 and gradient 1.'
    """
    stops = _range(x)
    names = [function_name(h) for h in (f, g)]
    pair = [h.apply if isinstance(h, type) and issubclass(h, torch.autograd.Function) else h for h in (f, g)]
    for h in pair:
        if not callable(h):
            raise TypeError(f"two_gradients compares two functions, and got {type(h).__name__}: two_gradients(torch.relu, torch.sigmoid)")
    fine = np.linspace(stops[0], stops[-1], 241)
    curves = [np.array([value_and_gradient(h, s) for s in fine]) for h in pair]
    values, gradients = [[c[:, k] for c in curves] for k in (0, 1)]
    left = Axes((stops[0], stops[-1]), plot.span(*values), (0, 0), (420, 290), ("x", ""), "forward: value")
    right = Axes((stops[0], stops[-1]), plot.span(*gradients, [0, 1]), (430, 0), (420, 290), ("x", ""), "backward: gradient")
    base = [left.frame(), right.frame(), plot.legend(60, 310, list(zip("ab", names)))]
    base += [axes.line(fine, c, kind) for axes, cs in ((left, values), (right, gradients)) for c, kind in zip(cs, "ab")]

    def make(x):
        found = [value_and_gradient(h, x) for h in pair]
        marks = [axes.point(x, found[k][i], kind) for i, axes in enumerate((left, right)) for k, kind in enumerate("ab")]
        both = "; ".join(f"{n} gives {number(v)} and gradient {'none' if d != d else number(d)}" for n, (v, d) in zip(names, found))
        rows = [[n, number(v), "none" if d != d else number(d)] for n, (v, d) in zip(names, found)]
        return Frame(f"At x = {number(x)}: {both}.", base + marks, rows)

    return Panel(f"Two gradients: {names[0]} and {names[1]}", [slider("x", stops, start=stops[0] + 0.7 * (stops[-1] - stops[0]))], make,
                 ["Function", "Value", "Gradient"], (850, 326), breaks=[425])  # fmt: skip


# -- 1: forward and back ---------------------------------------------------------------------------


def forward_and_back(f=square_of_line, /, **inputs):
    """Values forward, one operation at a time, and then gradients back, one node at a time.

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
    'Forward: MulBackward0 computes 3.'
    """
    inputs = inputs or {"x": 1.0}
    leaves = {n: v if isinstance(v, torch.Tensor) else torch.tensor(float(v), requires_grad=True) for n, v in inputs.items()}
    with watch():
        result = f(**leaves)
    trace = record(result, names=leaves)
    ops = [n for n in trace.nodes if n.kind != "leaf"][::-1]
    count = len(ops)
    _, width, height = graph_pieces(trace)

    def hidden(pieces, known):
        for piece in pieces:
            node = re.search(r'data-node="(\w+)"', piece)
            if node and node[1] not in known:
                piece = re.sub(r"(<text class=\"al-value\"[^>]*>)[^<]*", r"\1not yet", piece)
                piece = re.sub(r"<title>.*?</title>", "", piece)
            yield piece

    def make(step):
        forward, back = min(step, count), max(step - count, 0)
        known = {n.id for n in trace.nodes if n.kind == "leaf"} | {n.id for n in ops[:forward]}
        pieces = list(hidden(graph_pieces(trace, back)[0], known))
        if 0 < step <= count:
            node = ops[step - 1]
            pieces = [p.replace('class="al-node', 'class="al-node al-now', 1) if f'data-node="{node.id}"' in p else p for p in pieces]
        received = {s.node: s for s in trace.steps[:back]}
        rows = [
            [
                n.display_name,
                value_line(n).lstrip("= ") if n.id in known else "not yet",
                received[n.id].incoming[0].text if n.id in received and received[n.id].incoming[0] else "not yet",
            ]
            for n in trace.nodes[::-1]
        ]
        return Frame(_sentence(trace, ops, step), pieces, rows)

    title = f"Forward and back through {function_name(f)}"
    return Panel(title, [timeline(count + len(trace.steps))], make, ["Node", "Value", "Gradient"], (width, height))


def _sentence(trace, ops, step):
    if step == 0:
        return "Ready. Values come first, from the inputs on."
    if step <= len(ops):
        node = ops[step - 1]
        value = "a value that no rule asks for" if node.value is None else node.value.phrase
        return f"Forward: {node.display_name} computes {value}."
    return f"Back: {trace.steps[step - len(ops) - 1].sentence}"


__all__ = ["StraightThrough", "chain_rule", "forward_and_back", "two_gradients"]
