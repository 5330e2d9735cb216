"""Explorable: edges of a small graph to cut, and what a backward pass does then."""

import re

import autolab as torch
from autolab.draw import chart
from autolab.trace import graph, record, watch
from autolab.trace.values import narrow, number
from autolab.widgets.panel import Frame, Panel, choice
from autolab.widgets.real_numbers import of_real_numbers

RECORDING = {
    "is recorded": [], "runs under no_grad": ["with torch.no_grad():"], "runs under inference_mode": ["with torch.inference_mode():"],
    "is recorded, x needs no gradient": ["x.requires_grad_(False)"],
}  # fmt: skip
SECOND = ["a + 1", "a * w"]
ENDS = {
    "backward once": ["c.backward()"],
    "backward twice": ["c.backward()", "c.backward()"],
    "backward twice, retain_graph": ["c.backward(retain_graph=True)", "c.backward()"],
    "autograd.grad": ["g = torch.autograd.grad(c, w)"],
}
# each edge: from, to, where its line begins and ends, where its scissors are, where its gradient is written
EDGES = {
    "xa": ("x", "a", (56, 70), (56, 118), (56, 92), (76, 99)),
    "wa": ("w", "a", (186, 70), (152, 155), (186, 114), (194, 92)),
    "ab": ("a", "b", (56, 196), (56, 244), (56, 218), (76, 225)),
    "wb": ("w", "b", (236, 70), (152, 281), (236, 218), (244, 92)),
    "bc": ("b", "c", (56, 322), (56, 370), (56, 344), (76, 351)),
}
BOXES = {"x": (8, 8, 140, 62), "w": (156, 8, 120, 62), "a": (8, 120, 140, 76), "b": (8, 246, 140, 76), "c": (8, 372, 140, 76)}
SIZE = 288, 456
BLADES = "M-6 -5L5 3M-6 5L5 -3M-9.5 -5a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0M-9.5 5a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0"


@of_real_numbers
def scissors(x=2.0, w=3.0):
    """x and w to a to b to c: cut edges of the graph, run backward, and see which leaf gets a gradient and what raises.

    Every edge can be pressed. A cut is a `detach()` where the value is used. An edge is drawn as recorded only if the graph of
    the run has it.

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
    'Nothing is cut. After c.backward(), x.grad is 42 and w.grad is 28.'
    >>> panel.move(xa="cut").sentence
    'Cut: x to a. After c.backward(), x.grad is None and w.grad is 28.'
    >>> panel.reset().move(end="backward twice").sentence
    'Nothing is cut. The second c.backward() raises RuntimeError: Trying to backward through the graph a second time'
    """

    def make(recording, second, end, **cut):
        cuts = {edge for edge, state in cut.items() if state == "cut" and (edge != "wb" or second == "a * w")}
        names = {"torch": torch, "x": torch.tensor(float(x), requires_grad=True), "w": torch.tensor(float(w), requires_grad=True)}
        blocks = _program(recording, second, cuts)
        with watch():
            code, error, _ = _run(blocks, names)
        recorded, sent, kept = _recorded(names), {}, _kept(names)
        passes = 0
        if not error:
            sent = _sent(names, only_w=end == "autograd.grad")
            ending, error, passes = _run([[line] for line in ENDS[end]], names)
            code += ending
        else:
            code += ["   " + line for line in ENDS[end]]
        after = _kept(names) if "c" in names else {}
        shown = {"cuts": cuts, "recorded": recorded, "sent": sent if passes else {}, "kept": kept, "after": after, "second": second}
        rows = [[n, *_about(names.get(n)), _grad(names, n)] for n in "xwabc"]
        said = _sentence(recording, end, cuts, names, error, passes)
        return Frame(said, list(_picture(names, shown)), rows, "\n".join(code) + (f"\n\n{error}" if error else ""), error=bool(error))

    controls = [
        choice("recording", list(RECORDING), label="a = x * w"), choice("second", SECOND, label="b ="),
        choice("end", list(ENDS), label="Then"),
        *({"kind": "press", "name": edge, "label": f"{a} to {b}", "stops": ["joined", "cut"], "texts": [], "start": 0}
          for edge, (a, b, *_) in EDGES.items()),
    ]  # fmt: skip
    return Panel("Scissors", controls, make, ["Tensor", "Value", "requires_grad", "grad_fn", ".grad"], SIZE)


def _program(recording, second, cuts):
    """The statements of a run; a cut edge is a detach() where the value is used."""
    x, w, a, again, b = [source + ".detach()" * (edge in cuts) for edge, (source, *_) in EDGES.items()]
    before = RECORDING[recording]
    first = f"a = {x} * {w}"
    blocks = [[*before, f"    {first}"]] if before and before[0].endswith(":") else [*([line] for line in before), [first]]
    return [*blocks, [f"b = {a} + 1" if second == "a + 1" else f"b = {a} * {again}"], [f"c = {b} ** 2"]]


def _run(blocks, names):
    """Run statements up to one that raises. Returns the lines, that one marked, the message, and how many ran."""
    listing, error, ran = [], "", 0
    for block in blocks:
        if not error:
            try:
                exec("\n".join(block), names)
                ran += 1
            except RuntimeError as raised:
                error = f"{type(raised).__name__}: {raised}"
                listing += [">> " + line for line in block]
                continue
        listing += ["   " + line for line in block]
    return listing, error, ran


def _recorded(names):
    """The edges that the graph of this run has: (from, to), as the nodes themselves say."""
    made_by = {id(names[n].grad_fn): n for n in "abc" if n in names and names[n].grad_fn is not None}
    found = set()
    for n in "abc":
        node = names[n].grad_fn if n in names else None
        for source, _ in node.next_functions if node is not None else ():
            leaf = next((n for n in "xw" if getattr(source, "variable", None) is names[n]), None)
            if source is not None:
                found.add((leaf or made_by.get(id(source)), n))
    return found


def _kept(names):
    """Name of a result -> what its node keeps."""
    found = {}
    for n in "abc":
        if n in names and names[n].grad_fn is not None:
            saved = {"its result" if one.name == "out" else one.name for one in graph(names[n]).nodes[0].saved if one.bytes}
            found[n] = " and ".join(sorted(saved))
    return found


def _sent(names, only_w):
    """What one backward pass sends along each edge; for w alone only what is on a way to w."""
    if not names["c"].requires_grad:
        return {}
    trace = record(names["c"], names={n: names[n] for n in "xwabc"})
    found = {}
    for step in trace.steps:
        for one in step.outgoing:
            edge = trace.edge(one.edge)
            pair = trace.node(edge.source).label, trace.node(edge.target).label
            if one.value is not None and not (only_w and pair[0] == "x"):
                found[pair] = found.get(pair, 0.0) + float(one.value.data)
    return found


def _about(t):
    if t is None:
        return ["not reached", "", ""]
    return [number(t.item()), str(t.requires_grad), "None" if t.grad_fn is None else t.grad_fn.name()]


def _grad(names, n):
    t = names.get(n)
    if n in "xw":
        return "None" if t.grad is None else number(t.grad.item())
    return "not kept: not a leaf" if t is not None and t.requires_grad else "none"


def _sentence(recording, end, cuts, names, error, passes):
    said = "Cut: " + ", ".join(f"{EDGES[e][0]} to {EDGES[e][1]}" for e in EDGES if e in cuts) if cuts else "Nothing is cut"
    said += "." if recording == "is recorded" else f"; a = x * w {recording}."
    lines = ENDS[end]
    if error:
        kind, _, message = error.partition(": ")
        what = "The second c.backward()" if passes else lines[0] if "c" in names else "The forward pass"
        return f"{said} {what} raises {kind}: {re.split(r'[.:;] | [(]', message)[0].rstrip('.')}"
    if "g" in names:
        return f"{said} torch.autograd.grad(c, w) returns {number(names['g'][0].item())} for w, and writes no .grad."
    times = "" if len(lines) == 1 else " twice"
    return f"{said} After c.backward(){times}, x.grad is {_grad(names, 'x')} and w.grad is {_grad(names, 'w')}."


def _picture(names, shown):
    for edge, (source, target, start, end, sign, place) in EDGES.items():
        if edge == "wb" and shown["second"] != "a * w":
            continue
        cut, recorded, sent = edge in shown["cuts"], (source, target) in shown["recorded"], shown["sent"].get((source, target))
        kind = "al-edge al-on" if sent is not None else "al-edge" if recorded else "al-edge al-lost"
        what = f"Edge from {source} to {target}: {'cut, press to join it' if cut else 'press to cut it'}"
        parts = [f'<g class="{kind}">{_line(start, end)}</g>', f'<g transform="translate({sign[0]} {sign[1]})"><circle r="13" '
                 f'class="al-cell al-k-{"grad" if cut else "op"}"/><path d="{BLADES}" class="al-blades"/></g>']  # fmt: skip
        yield chart.pressable(
            parts, set=(edge, "joined" if cut else "cut"), label=what if recorded or cut else f"{what}. It is not recorded"
        )
        told = narrow(sent, 5) if sent is not None else "cut" if cut else "" if recorded else "lost" if source == "w" else "unrecorded"
        yield chart.words(*place, told, "grad" if sent is not None else "note")
    for n, (x, y, w, h) in BOXES.items():
        value, needs, made_by = _about(names.get(n))
        leaf = n in "xw"
        kind = "leaf" if leaf else "empty" if needs != "True" else "out" if n == "c" else "op"
        yield chart.rectangle(x, y, w, h, kind)
        yield chart.words(x + 10, y + 22, f"{n} = {value}" if n in names else f"{n} not reached", "head")
        if leaf:
            told = f".grad {_grad(names, n)}" if needs == "True" else "needs none"
            yield chart.words(x + 10, y + 46, told, "note" if names[n].grad is None else "grad")
            continue
        sign = {"a": "×", "b": "+" if shown["second"] == "a + 1" else "×", "c": "x²"}[n]
        yield chart.words(x + 10, y + 44, f"{sign} {made_by if made_by != 'None' else 'no grad_fn'}", "note")
        before, after = shown["kept"].get(n, ""), shown["after"].get(n, "")
        if before:
            yield chart.words(x + 10, y + 65, f"keeps {before}" if after else "freed", "saved" if after else "freed")


def _line(start, end):
    """Straight down, or down and to the left, with a tip for the value and one for the gradient."""
    (x0, y0), (x1, y1) = start, end
    path, tip = (f"M{x0} {y0}V{y1}", "l-4 -8h8z") if x0 == x1 else (f"M{x0} {y0}V{y1}H{x1}", "l8 -4v8z")
    return (
        f'{chart.hit(path)}<path class="al-line" d="{path}"/><path class="al-tip" d="M{x1} {y1}{tip}"/>'
        f'<path class="al-back" d="M{x0} {y0}l-4 8h8z"/>'
    )


__all__ = ["scissors"]
