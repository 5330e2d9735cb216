"""Explorables of the graph itself: build one, cut it, write into what it saved, compare two."""

import re

import numpy as np

import autolab as torch
from autolab.draw import plot
from autolab.draw.svg import value_line
from autolab.trace import Trace, graph, record, watch
from autolab.trace import compare as compare_traces
from autolab.trace.values import number
from autolab.widgets.functions import function_name, graph_pieces
from autolab.widgets.panel import Frame, Panel, StateMachine, choice, timeline

# -- 2: graph builder ------------------------------------------------------------------------------

UNARY = {"square": lambda h: h**2, "exp": torch.exp, "sin": torch.sin, "relu": torch.relu}
BINARY = {"+": lambda h, v: h + v, "×": lambda h, v: h * v}
BACK = "backward()"


def graph_builder(functions=None, **leaves):
    """Build a graph one operation at a time, and see node, value and `grad_fn`; then run backward through it. Every press can be undone.

    Parameters
    ----------
    functions : dict, optional
        Name -> function of one tensor: what can be applied to the last result. By default square, exp, sin and relu.
    **leaves : float
        The leaves, each of which can be added and multiplied; x = 2 and w = 3 if none is given. The first one is the start.

    Returns
    -------
    StateMachine

    Examples
    --------
    >>> builder = graph_builder(x=2.0, w=3.0).press("× w").press("square")
    >>> builder.sentence
    'square made a node: PowBackward0, value 36. Its next_functions: MulBackward0.'
    >>> builder.press("backward()").sentence
    'backward() has run: x.grad is 36, w.grad is 24.'
    """
    unary = UNARY if functions is None else functions
    values = {name: float(v) for name, v in (leaves or {"x": 2.0, "w": 3.0}).items()}
    first = next(iter(values))
    moves = [*(f"{sign} {name}" for sign in BINARY for name in values), *unary]

    def run(state):
        tensors = {n: torch.tensor(v, requires_grad=True) for n, v in values.items()}
        h = tensors[first]
        with watch(), np.errstate(all="ignore"):
            for word in state:
                if word in unary:
                    h = unary[word](h)
                elif word != BACK:
                    sign, name = word.split(" ", 1)
                    h = BINARY[sign](h, tensors[name])
        return h, tensors

    def show(state):
        h, tensors = run(state)
        if not state:
            box = [
                plot.rectangle(30, 40, 150, 60, "leaf"),
                plot.words(50, 66, first, "head"),
                plot.words(50, 86, f"= {number(values[first])}"),
            ]
            return Frame(f"Only a leaf: {first} = {number(values[first])}. Its grad_fn is None. Add an operation.", box,
                         [[first, number(values[first]), "None, a leaf", "not yet"]])  # fmt: skip
        done = state[-1] == BACK
        trace = record(h, names=tensors) if done else graph(h, names=tensors)
        received = {s.node: s.incoming[0].text for s in trace.steps if s.incoming[0]}
        missing = "none" if done else "not yet"
        rows = [
            [n.display_name, value_line(n).removeprefix("= "), "None, a leaf" if n.kind == "leaf" else n.name, received.get(n.id, missing)]
            for n in trace.nodes[::-1]
        ]
        if done:
            grads = [f"{n.label}.grad is {received[n.id]}" for n in trace.nodes if n.kind == "leaf" and n.id in received]
            said = f"{BACK} has run: {', '.join(grads)}."
        else:
            root = trace.node(trace.root)
            sources = [trace.node(e.source) for e in trace.edges if e.target == root.id]
            into = ", ".join(f"AccumulateGrad of {n.label}" if n.kind == "leaf" else n.display_name for n in sources)
            said = f"{state[-1]} made a node: {root.name}, value {number(h.item())}. Its next_functions: {into}."
        pieces, width, height = graph_pieces(trace)
        scale = min(1, 960 / width, 460 / height)
        return Frame(said, [f'<g transform="scale({scale:.3f})">', *pieces, "</g>"], rows)

    def actions(state):
        return [] if BACK in state else moves + ([BACK] if state else [])

    def act(state, action):
        after = (*state, action)
        run(after)  # says at once what cannot be done
        return after

    return StateMachine("Graph builder", (), act, show, actions, ["Node", "Value", "grad_fn", "Gradient"], (960, 460))


# -- 6: scissors -----------------------------------------------------------------------------------

CUTS = {
    "nothing": ["a = x * w", "b = a + 1", "c = b ** 2"],
    "detach()": ["a = (x * w).detach()", "b = a + 1", "c = b ** 2"],
    "detach() and w again": ["a = (x * w).detach()", "b = a * w", "c = b ** 2"],
    "no_grad": ["with torch.no_grad():", "    a = x * w", "b = a + 1", "c = b ** 2"],
    "no_grad and w again": ["with torch.no_grad():", "    a = x * w", "b = a * w", "c = b ** 2"],
    "inference_mode": ["with torch.inference_mode():", "    a = x * w", "b = a + 1", "c = b ** 2"],
    "inference_mode and w again": ["with torch.inference_mode():", "    a = x * w", "b = a * w", "c = b ** 2"],
    "x.requires_grad_(False)": ["x.requires_grad_(False)", "a = x * w", "b = a + 1", "c = b ** 2"],
}
ENDS = {
    "backward once": ["c.backward()"],
    "backward twice": ["c.backward()", "c.backward()"],
    "twice, retain_graph": ["c.backward(retain_graph=True)", "c.backward()"],
    "autograd.grad": ["g = torch.autograd.grad(c, w)"],
}


def scissors(x=2.0, w=3.0):
    """x and w to a to b to c: cut the tape in one of several ways, run backward, and see who gets a gradient and what raises.

    Parameters
    ----------
    x, w : float
        The leaves.

    Returns
    -------
    Panel
        The code shown is the code that was run; a message is the engine's own.

    Examples
    --------
    >>> panel = scissors(2.0, 3.0)
    >>> panel.sentence
    'Cut with nothing, backward once: x.grad is 42, w.grad is 28.'
    >>> panel.move(end="backward twice").sentence
    'Cut with nothing, backward twice raises RuntimeError: Trying to backward through the graph a second time'
    """

    def make(cut, end):
        names = {"torch": torch, "x": torch.tensor(float(x), requires_grad=True), "w": torch.tensor(float(w), requires_grad=True)}
        blocks = [*_blocks(CUTS[cut]), *_blocks(ENDS[end])]
        listing, error, ran = [], "", []
        for block in blocks:
            if error:
                listing += ["   " + line for line in block]
                continue
            try:
                exec("\n".join(block), names)
                ran += block
                listing += ["   " + line for line in block]
            except RuntimeError as raised:
                error = f"{type(raised).__name__}: {raised}"
                listing += [">> " + line for line in block]
        leaves = {n: names[n] for n in "xw"}
        grads = {n: "None" if t.grad is None else number(t.grad.item()) for n, t in leaves.items()}
        rows = [
            [n, *_about(names.get(n)), grads.get(n, "not kept: no leaf" if n in names and names[n].requires_grad else "none")]
            for n in "xwabc"
        ]
        said = f"Cut with {cut}, {end}"
        if error:
            kind, _, message = error.partition(": ")
            said += f" raises {kind}: {re.split(r'[.:;] | [(]', message)[0].rstrip('.')}"
        else:
            given = f"; g is ({names['g'][0].item():g},)" if "g" in names else ""
            said += f": x.grad is {grads['x']}, w.grad is {grads['w']}{given}."
        code = "\n".join(listing) + (f"\n\n{error}" if error else "")
        return Frame(said, _tape(names, rows), rows, code)

    return Panel("Scissors", [choice("cut", list(CUTS), label="Cut with"), choice("end", list(ENDS), label="Then")], make,
                 ["Tensor", "Value", "requires_grad", "grad_fn", ".grad"], (860, 190))  # fmt: skip


def _blocks(lines):
    """Lines as statements: what is indented belongs to the line before."""
    starts = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    return [lines[i:j] for i, j in zip(starts, [*starts[1:], None])]


def _about(t):
    if t is None:
        return ["not reached", "", ""]
    return [number(t.item()), str(t.requires_grad), "None" if t.grad_fn is None else t.grad_fn.name()]


def _tape(names, rows):
    places = {"x": (20, 20), "w": (20, 110), "a": (240, 65), "b": (450, 65), "c": (660, 65)}
    parts = []
    by_name = {r[0]: r for r in rows}
    for source, target in (("x", "a"), ("w", "a"), ("a", "b"), ("b", "c")):
        recorded = by_name[target][2] == "True" and by_name[source][2] == "True"
        (x0, y0), (x1, y1) = places[source], places[target]
        parts.append(plot.arrow(x0 + 165, y0 + 30, x1 - 4, y1 + 30, "grad" if recorded else "line"))
        if not recorded:
            right, down = {"x": (12, 18), "w": (12, 46)}.get(source, (0, 24))  # beside the arrow, never on it
            parts.append(plot.words((x0 + 165 + x1) / 2 + right, (y0 + y1) / 2 + down, "cut", "grad", "middle"))
    for name, (px, py) in places.items():
        _, value, needs, made_by, grad = by_name[name]
        kind = "leaf" if name in "xw" else "op" if needs == "True" else "empty"
        parts += [plot.rectangle(px, py, 165, 60, kind), plot.words(px + 10, py + 19, f"{name} = {value}", "head"),
                  plot.words(px + 10, py + 36, made_by if made_by != "None" else "no grad_fn", "note")]  # fmt: skip
        if name in "xw":
            parts.append(plot.words(px + 10, py + 53, f".grad {grad}", "grad"))
    return parts


# -- 18: version counter ---------------------------------------------------------------------------

WRITES = {
    "a.add_(1)": "a.add_(1)", "v.mul_(2)": "v.mul_(2)", "a = a + 1": "a = a + 1", "a.detach().add_(1)": "a.detach().add_(1)",
    "with no_grad: x.add_(1)": "with torch.no_grad(): x.add_(1)", "x.add_(1)": "x.add_(1)", "y.backward()": "y.backward()",
}  # fmt: skip


def version_counter(f=torch.exp, values=(0.0, 1.0)):
    """A tensor, a view of it and what the graph saved: write in place, and see whose version moves and who notices.

    The code is `a = x * 2; v = a[:1]; y = f(a).sum()`. Memory that is shared has one counter; the graph remembers the version at
    which it saved a tensor, and compares when backward asks for it.

    Parameters
    ----------
    f : function
        Of `a`. A rule that saves its result (exp) does not mind a write to its input; one that saves its input (square) does.
    values : tuple
        What x holds.

    Returns
    -------
    StateMachine

    Examples
    --------
    >>> counter = version_counter(lambda a: a**2).press("v.mul_(2)")
    >>> counter.sentence
    'v.mul_(2): version of x 0, a 1, v 1. a and v share memory and counter.'
    >>> "modified by an inplace operation" in counter.press("y.backward()").sentence
    True
    """

    def run(state):
        x = torch.tensor([float(v) for v in values], requires_grad=True)
        names = {"torch": torch, "f": f, "x": x}
        exec("a = x * 2\nv = a[:1]\ny = f(a).sum()", names)
        error = ""
        for action in state:
            error = ""
            try:
                exec(WRITES[action], names)
            except RuntimeError as raised:
                error = f"{type(raised).__name__}: {raised}"
        return names, error

    def show(state):
        names, error = run(state)
        shared = np.shares_memory(names["a"].detach().numpy(), names["v"].detach().numpy())
        versions = {n: names[n]._version for n in "xav"}
        saved = {}
        for node in graph(names["y"], names={n: names[n] for n in "xav"}).nodes:
            for one in node.saved:
                if one.bytes:
                    saved.setdefault(node.name, []).append(f"{one.name} {one.text}")
        grad = names["x"].grad
        said = f"{state[-1] if state else 'Ready'}: version of x {versions['x']}, a {versions['a']}, v {versions['v']}."
        said += " a and v share memory and counter." if shared else " a is another tensor now; v looks into the old one."
        if grad is not None:
            said += f" x.grad is {[round(g, 4) for g in grad.tolist()]}."
        if error:
            said = f"{state[-1]} raises {error}"
        parts = []
        for k, n in enumerate("xav"):
            top = 30 + 62 * k
            t = names[n]
            parts += [
                plot.words(20, top + 22, n, "head"),
                *(plot.rectangle(60 + 90 * i, top, 84, 34, "leaf" if n == "x" else "op") for i in range(t.numel())),
            ]
            parts += [plot.words(102 + 90 * i, top + 21, number(value, 4), "", "middle") for i, value in enumerate(t.tolist())]
            parts.append(plot.words(80 + 90 * t.numel(), top + 21, f"version {versions[n]}", "grad" if versions[n] else "note"))
        if shared:
            parts += [plot.arrow(102, 154, 102, 130, "b"), plot.words(112, 146, "the same memory", "note")]
        parts.append(plot.words(470, 44, "the graph of y keeps", "head"))
        lines = [f"{node}: {', '.join(what)}" for node, what in saved.items()] or [
            "nothing any more: backward() freed it, or it was overwritten"
        ]
        parts += [plot.words(470, 68 + 22 * i, line[:52], "note") for i, line in enumerate(lines)]
        rows = [[n, str([round(v, 4) for v in names[n].tolist()]), str(versions[n])] for n in "xav"]
        rows += [[f"saved by {node}", ", ".join(what), ""] for node, what in saved.items()]
        code = "\n".join(
            ["a = x * 2", "v = a[:1]", f"y = {function_name(f)}(a).sum()", *(WRITES[s] for s in state), *(["", error] if error else [])]
        )
        return Frame(said, parts, rows, code, error=bool(error))

    def actions(state):
        return [] if len(state) > 6 else list(WRITES)

    columns = ["Tensor", "Values", "Version"]
    return StateMachine("Version counter", (), lambda s, a: (*s, a), show, actions, columns, (860, 225), breaks=[455])


# -- 16: two worlds --------------------------------------------------------------------------------


def compare(f, g, /, **inputs):
    """The same code with one line changed: two traces side by side, moment by moment, and the first at which they part.

    Parameters
    ----------
    f, g : function, Tensor or Trace
        Two functions that take the inputs and return a loss; or two losses; or two traces.
    **inputs : float or Tensor
        For functions. Each gets leaves of its own with these values, so that neither disturbs the other.

    Returns
    -------
    Panel
        The timeline goes through the values forward, then the steps of the backward pass.

    Raises
    ------
    TypeError
        If one is neither a function, a Tensor nor a Trace.
    RuntimeError
        If a loss has no graph, or is not a single number.

    Examples
    --------
    >>> panel = compare(lambda x: (3 * x) ** 2, lambda x: (3 * x) ** 3, x=2.0)
    >>> panel.comparison.sentence
    'Forward 3: PowBackward0 made 36 in one run and 216 in the other.'
    >>> compare(lambda x: x * 2, lambda x: x * 2, x=1.0).comparison.equal
    True
    """
    state = torch.get_rng_state()
    traces, names = [], []
    for h in (f, g):
        torch.set_rng_state(state)
        traces.append(_trace_of(h, inputs))
        names.append(function_name(h) if callable(h) and not isinstance(h, torch.Tensor | Trace) else "")
    names = names if all(names) and names[0] != names[1] else ["first", "second"]
    found = compare_traces(*traces)
    made = [t.in_order_of_creation() for t in traces]
    forward, back = max(map(len, made)), max(len(t.steps) for t in traces)
    differ = {d.index + (forward if d.where == "backward" else 0): d for d in found.differences}
    parted = min(differ, default=None)
    scale, direction, places, tall = max(_arrange(traces, *way) for way in (("right", 920, 300, (0, 1)), ("down", 450, 560, (1, 0))))

    def moment(k, m):
        """The node of run k at moment m, and what happens there."""
        if m <= forward:
            node = made[k][m - 1] if m <= len(made[k]) else None
            return node, "" if node is None else f"{node.display_name} = {'?' if node.value is None else node.value.text}"
        if m - forward > len(traces[k].steps):
            return None, ""
        step = traces[k].steps[m - forward - 1]
        return traces[k].node(step.node), step.sentence

    def make(step):
        picture, rows = [], []
        for k, (trace, name) in enumerate(zip(traces, names)):
            known = {n.id for n in made[k][:step]}
            pieces, _, _ = graph_pieces(trace, min(max(0, step - forward), len(trace.steps)), direction)
            now = moment(k, step)[0] if step else None
            bad = [(found.first.a, found.first.b)[k]] if parted and step >= parted else []
            across, down = places[k]
            picture += [plot.words(across, down, name, "head"), f'<g transform="translate({across} {down + 6}) scale({scale:.3f})">']
            picture += [_mark(p, known, now and now.id, bad) for p in pieces] + ["</g>"]
        for m in range(1, forward + back + 1):
            texts = [moment(k, m)[1] or "ended" for k in (0, 1)] if m <= step else ["not yet", "not yet"]
            rows.append([str(m), *texts, _verdict(m, step, parted, differ, texts)])
        here = [moment(k, step)[1].rstrip(".") for k in (0, 1)] if step else []
        if not step:
            said = f"Ready. {forward + back} moments: values forward, then the backward pass."
        elif step == parted:
            said = f"Moment {step}: here they part. {found.first.sentence}"
        elif here[0] == here[1]:
            said = f"Moment {step}: both alike. {here[0]}."
        else:
            said = f"Moment {step}: {names[0]}: {here[0] or 'has ended'}. {names[1]}: {here[1] or 'has ended'}."
        if parted and step > parted:
            said += f" The first difference was at moment {parted}."
        if step == forward + back and found.equal:
            said += " The two runs are the same, bit for bit."
        return Frame(said, picture, rows)

    panel = Panel(f"Two worlds: {names[0]} and {names[1]}", [timeline(forward + back, label="Moment")], make,
                  ["Moment", names[0], names[1], "Compared"], (940, tall))  # fmt: skip
    panel.comparison = found
    return panel


def _arrange(traces, direction, width, height, beside):
    """Two graphs drawn in a direction, beside or below each other: at what scale, where each begins, how tall it is."""
    sizes = [graph_pieces(trace, 0, direction)[1:] for trace in traces]
    scale = min(1.0, *(width / w for w, _ in sizes), *(height / h for _, h in sizes))
    tall = round(max(h for _, h in sizes) * scale) + 40
    places = [(10 + k * beside[0] * 470, 20 + k * beside[1] * tall) for k in (0, 1)]
    return scale, direction, places, tall * (1 + beside[1])


def _verdict(m, step, parted, differ, texts):
    if m > step:
        return ""
    if m == parted:
        return "first difference"
    return "differs" if m in differ or texts[0] != texts[1] else "same"


def _trace_of(h, inputs):
    if isinstance(h, Trace):
        return h
    if isinstance(h, torch.Tensor):
        return record(h)
    if not callable(h):
        raise TypeError(f"compare takes two functions, two losses or two traces, and got {type(h).__name__}: compare(f, g, x=2.0)")
    leaves = {name: _leaf(value) for name, value in inputs.items()}
    with watch():
        loss = h(**leaves)
    return record(loss, names=leaves)


def _leaf(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return torch.tensor(float(value), requires_grad=True)


def _mark(piece, known, now, bad):
    node = re.search(r'data-node="(\w+)"', piece)
    if not node:
        return piece
    if node[1] not in known:
        piece = re.sub(r"(<text class=\"al-value\"[^>]*>)[^<]*", r"\1not yet", piece)
    piece = re.sub(r"<title>.*?</title>", "", piece)
    if node[1] in bad:
        # a second outline in dashes and a word: not by colour alone
        box = re.search(r'<rect class="al-box" x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"', piece)
        if box:
            x, y, w, h = map(float, box.groups())
            ring = f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="{w + 10:.1f}" height="{h + 10:.1f}" rx="8" class="al-l al-l-c"/>'
            piece = piece.removesuffix("</g>") + ring + plot.words(x + w, y + h + 18, "differs", "head", "end") + "</g>"
    return piece.replace('class="al-node', 'class="al-node al-now', 1) if node[1] == now else piece


__all__ = ["compare", "graph_builder", "scissors", "version_counter"]
