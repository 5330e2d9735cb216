"""A trace as SVG text: its boxes, its lines and its legend."""

from __future__ import annotations

import os
from bisect import bisect
from xml.sax.saxutils import escape, quoteattr

from autolab.draw import cells as tensors
from autolab.draw.collapse import LIMIT, NEVER, WHOLE, CollapsedView, EdgeLine, Groups, steps_of
from autolab.draw.marks import CHAR
from autolab.draw.placement import HEIGHT, MARGIN, PHONE, ROOM, name_in, pad_of, place, sign_of, symbol_width, tip, truncate
from autolab.draw.placement import short as _n
from autolab.draw.style import ALONE
from autolab.draw.text import text
from autolab.engine.tensor import Tensor
from autolab.trace.model import Trace, TraceNode, TraceStep
from autolab.trace.record import graph

NARROW = 340  # pixels: what a phone shows of a legend


def svg(
    loss: Tensor | Trace, step: int | str = "end", direction: str = "auto", legend: bool = True, open: str | None = None,
    limit: int | None = LIMIT,
) -> Picture:  # fmt: skip
    """Draw a graph: leaves, operations and the output, with values, and with gradients if they are known.

    A graph of more than `limit` nodes is drawn in groups: modules, rounds of a loop, stretches of operations.

    Parameters
    ----------
    loss : Tensor or Trace
        A result of recorded operations, of any shape (nothing is computed, so there are no gradients); or a trace from
        `autolab.trace.record`.
    step : int or "end"
        For a trace with steps: how many of them have been taken.
    direction : {"auto", "right", "down", "narrow"}
        Which way the data flows. "auto" takes "right" unless that is wider than a page. "narrow" is "down" for a phone, with
        boxes that stand closer together.
    legend : bool
        Whether to explain the shapes under the picture.
    open : str, optional
        Which group to show the inside of, by its name in the picture (`model.0`).
    limit : int or None
        How many boxes to draw at most. None draws every node.

    Returns
    -------
    Picture
        A str of SVG that Jupyter shows as a picture; no element has an id, so copies do not disturb each other.

    Raises
    ------
    RuntimeError
        If nothing was recorded for the tensor.
    ValueError
        If `step`, `direction` or `open` is none of the above.

    Examples
    --------
    >>> import autolab as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> svg((3 * x + 1) ** 2)[:4]
    '<svg'
    """
    trace = loss if isinstance(loss, Trace) else graph(loss)
    view = view_of(trace, open, limit)
    return Picture(render(trace, step, direction=direction, legend=legend, style=ALONE, view=view), text(trace))


def view_of(trace: Trace, open: str | None = None, limit: int | None = LIMIT) -> CollapsedView:
    """What a picture of a trace shows: every node, or groups where they are more than `limit`; `open` names the one to look into."""
    if limit is None or (open is None and len(trace.nodes) <= limit):
        return _full_view(trace)
    groups = Groups(trace, limit)
    return groups.view(groups.start if open is None else _find_group(groups, open))


def _find_group(groups, name):
    found = [group.id for group in groups.by_id.values() if group.name == name or group.id == name != WHOLE]
    if not found:
        names = ", ".join(group.name for group in list(groups.by_id.values())[1:13]) or "none: it is small"
        raise ValueError(f"open is {name!r}, which is not a group of this graph; its groups are {names}")
    return found[0]


class Picture(str):
    """SVG text that a notebook shows as a picture, and as a tree of text where it shows no SVG (until it is trusted).

    >>> x = torch.ones(1, requires_grad=True)
    >>> picture = svg(x * 2)
    >>> type(picture).__name__, picture[:4]
    ('Picture', '<svg')
    >>> print(picture.text)
    × (MulBackward0)  float32 [1]
    └─ x (AccumulateGrad)  float32 [1]
    """

    __slots__ = ("text",)

    def __new__(cls, svg, text):
        picture = super().__new__(cls, svg)
        picture.text = text
        return picture

    def __repr__(self):
        return self.text

    def _repr_svg_(self):
        return str(self)

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.text)

    def save(self, path: str | os.PathLike) -> None:
        """Write the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


def render(
    trace: Trace, step: int | str = "end", direction: str = "auto", legend: bool = True, style: str | None = None,
    room: int | None = None, view: CollapsedView | None = None, cells: bool = False,
) -> str:  # fmt: skip
    """The SVG text of a trace, or of what `view` shows of it.

    `room` keeps each gradient's frame that many characters wide, for changing numbers; `cells` shows tensors as coloured cells.
    """
    taken = _position(trace, step)
    view = view or _full_view(trace)
    blocks = _Blocks(trace) if cells else None
    placement = place(view, direction, bool(trace.steps), tuple(map(blocks.extra, view.nodes)) if blocks else ())
    called = {node.id: node.display_name for node in view.nodes}
    names = {node.id: getattr(node, "title", node.display_name) for node in view.nodes}

    def state(at):
        return "" if at is None or at > taken else " al-on al-now" if at == taken < len(trace.steps) else " al-on"

    firsts = [NEVER if edge.at is None else edge.at for edge in view.edges]
    parts = []
    for path, users in placement.trunks:
        # lights up with the first gradient that comes along it
        first = min(map(firsts.__getitem__, users))
        at = None if first == NEVER else first
        parts.append(f'<g class="al-edge{state(at)}"{_step_attribute(at)}><path class="al-line" d="{path}"/></g>')
    for edge, drawn in zip(view.edges, placement.lines):
        about = f"{called[edge.source]} is {edge.input} of {names[edge.target]}"
        if edge.count > 1:
            about = f"{edge.count} edges from {called[edge.source]} into {names[edge.target]}"
        value = _edge_value(trace, edge) if edge.count == 1 else None
        parts.append(_edge(edge, about, drawn, placement.right, state(edge.at), value, room, blocks, 4 if direction == "narrow" else 10))
    for node, centre, size, narrow in zip(view.nodes, placement.centres, placement.sizes, placement.narrow):
        firings = view.firings[node.id]
        at = firings[0] if firings else None
        if node.kind == "group":
            now = " al-now" if at is not None and at <= taken <= firings[-1] and taken < len(trace.steps) else ""
            on = "" if at is None or at > taken else f" al-on{now}"
            told = f"{bisect(firings, taken)} of {len(firings)} fired" if firings else ""
            parts.append(_group(node, node.id == view.root, centre, size, placement.line, at, on, told, narrow))
        else:
            parts.append(_node(view.root, node, centre, size, placement.line, at, state(at), at and trace.steps[at - 1], blocks, narrow))
    width, height = placement.width, placement.height
    if legend:
        key, key_width, key_height = _legend(
            view, bool(trace.steps), height, _legend_room(direction, width, room or (cells and not style)), blocks
        )
        width, height = max(width, key_width), height + key_height
        parts.append(key)
    return _frame(trace, taken, parts, width, height, style)


def _legend_room(direction, width, phone):
    return PHONE if direction == "narrow" else NARROW if phone else max(width, NARROW)


def _frame(trace, taken, parts, width, height, style):
    width, height = round(width), round(height)
    title = f"Graph of {_caption(trace.node(trace.root))}"
    leaves = next((i for i, node in enumerate(reversed(trace.nodes)) if node.kind != "leaf"), len(trace.nodes))  # they stand last
    told = f"Operations: {len(trace.nodes) - leaves}. Leaves: {leaves}."
    if style:  # a picture by itself tells the steps; a widget has its sentences
        told = " ".join([told, *[s.sentence for s in trace.steps[: min(taken, 40)]]])
        told += f" {taken - 40} more steps." if taken > 40 else ""
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="al-svg" role="img" aria-label={quoteattr(title)} '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(title)}</title><desc>{escape(told)}</desc>",
        f"<style>{style}</style>" if style else "",
        f'<rect class="al-paper" width="{width}" height="{height}" rx="8"/>',
        *parts,
        "</svg>",
    ])  # fmt: skip


def _position(trace, step):
    if step == "end":
        return len(trace.steps)
    if not isinstance(step, int) or not 0 <= step <= len(trace.steps):
        raise ValueError(f'step is {step!r}; this trace has steps 0 to {len(trace.steps)}, or "end"')
    return step


def _full_view(trace):
    fires = steps_of(trace)
    lines = [EdgeLine(e.id, e.source, e.target, e.input, 1, fires.get(e.target)) for e in trace.edges]
    ids = [node.id for node in trace.nodes]
    return CollapsedView(trace.root, trace.nodes, lines, {id: [id] for id in ids}, {id: [fires[id]] if id in fires else [] for id in ids})


def _edge_value(trace, edge):
    return None if edge.at is None else next((sent.value for sent in trace.steps[edge.at - 1].outgoing if sent.edge == edge.id), None)


def _step_attribute(at):
    return "" if at is None else f' data-at="{at}"'


# -- boxes -----------------------------------------------------------------------------------------


def _group(node, root, centre, size, line, at, state, told, narrow):
    (x, y), (w, h) = centre, size
    left, top = x - w / 2, y - h / 2
    base, kind, pad = top + (h - line) / 2, "out" if root else "group", pad_of(node, narrow)
    many = f"{node.size} nodes"
    holds = f' data-holds="{" ".join(node.members)}"' if "-" in node.id else ""
    return "".join([
        f'<g class="al-node al-{kind} al-closed{state}" data-node="{node.id}"{_step_attribute(at)}{holds}><title>'
        f"{escape(f'{node.name}, {many}, closed')}</title>",
        # a pile of boxes, and a plus in its corner
        *[_rect("al-box", left + d, top + d, w - 6, h - 6, 5) for d in (6, 3, 0)],
        f'<path class="al-plus" d="M{_n(left + w - 26)} {_n(base + 14)}h12m-6 -6v12"/>',
        f'<text class="al-head" x="{_n(left + pad)}" y="{_n(base + 21)}">{escape(name_in(node, narrow))}</text>',
        f'<text class="al-value" x="{_n(left + pad)}" y="{_n(base + 41)}">{many}</text>',
        "" if line < HEIGHT else f'<text class="al-grad" data-grad="{node.id}" x="{_n(left + pad)}" y="{_n(base + 60)}">{told}</text>',
        "</g>",
    ])  # fmt: skip


def _node(root, node, centre, size, line, at, state, step, blocks, narrow):
    (x, y), (w, h) = centre, size
    left, top = x - w / 2, y - h / 2
    root = node.id == root
    kind = "leaf" if node.kind == "leaf" else "out" if root else node.kind
    pad = pad_of(node, narrow)
    base = top + (h - line - (blocks.extra(node) if blocks else 0)) / 2
    return "".join([
        f'<g class="al-node al-{kind}{state}" data-node="{node.id}"{_step_attribute(at)}><title>{escape(title_of(node))}</title>',
        _outline(node, root, left, top, w, h, narrow),
        _heading(node, left + pad, base + 22, narrow),
        f'<text class="al-value" data-value="{node.id}" x="{_n(left + pad)}" y="{_n(base + 43)}">',
        f"{escape(value_line(node))}</text>",
        "" if line < HEIGHT else f'<text class="al-grad" data-grad="{node.id}" x="{_n(left + pad)}" y="{_n(base + 63)}">'
        f"{escape(grad_line(node, step))}</text>",
        blocks.of_node(node, step, left + pad, base + line - 2) if blocks else "",
        _hook(left + w, top) if step is not None and step.hooks else "",
        "</g>",
    ])  # fmt: skip


class _Blocks:
    """The cells of the tensors of one picture, in its two scales: values and gradients."""

    def __init__(self, trace):
        self.full = tensors.scales(trace)
        received = {step.node: step.incoming[0] for step in trace.steps if step.incoming}
        self.shown = {
            node.id: [(v, k) for k, v in enumerate((node.value, received.get(node.id))) if tensors.is_seen(v)] for node in trace.nodes
        }

    def extra(self, node):
        """How much taller a box is for its cells."""
        shown = self.shown.get(node.id)
        return 8 + max(tensors.block(v, 0, 0, self.full[k], "")[2] for v, k in shown) if shown else 0.0

    def of_node(self, node, step, x, y):
        out = ""
        for value, k in self.shown.get(node.id, ()):
            name = f"gradient of {node.display_name}" if k else node.display_name
            drawn = tensors.block(value, x + 68 * k, y, self.full[k], name)[0]
            out += f'<g class="al-grad">{drawn}</g>' if k else drawn
        return out


def _hook(right, top):
    # on the rim of a node whose hooks run, seen once they have
    return f'<g class="al-pill">{_rect("", right - 52, top - 11, 46, 22, 11)}<text x="{_n(right - 29)}" y="{_n(top + 5)}">hook</text></g>'


def _outline(node, root, left, top, w, h, narrow):
    if node.kind == "custom":
        c = 12
        corners = [(c, 0), (w - c, 0), (w, c), (w, h - c), (w - c, h), (c, h), (0, h - c), (0, c)]
        box = f'<path class="al-box" d="M{"L".join(f"{_n(left + a)} {_n(top + b)}" for a, b in corners)}Z"/>'
    else:
        radius = min(h / 2, 16 if narrow else 26) if node.kind == "leaf" else 5
        box = _rect("al-box", left, top, w, h, radius)
    return box + (_rect("al-rim", left + 3.5, top + 3.5, w - 7, h - 7, 3) if root else "")


def _heading(node, x, y, narrow):
    if node.kind == "leaf":
        return f'<text class="al-head" x="{_n(x)}" y="{_n(y)}">{escape(name_in(node, narrow))}</text>'
    space = symbol_width(node, narrow)
    head = f'<text class="al-head" x="{_n(x)}" y="{_n(y)}">{escape(sign_of(node))}</text>' if space else ""
    return f'{head}<text class="al-name" x="{_n(x + space)}" y="{_n(y)}">{escape(name_in(node, narrow))}</text>'


def value_line(node: TraceNode) -> str:
    """The line of a box that shows the value: "a = 3"."""
    if node.value is None:
        if node.outputs > 1:
            return truncate(node.label or f"{node.outputs} results", ROOM)
        return truncate(f"{node.label} not kept".lstrip(), ROOM)
    label = node.label if node.kind != "leaf" else ""
    if len(label) > 6:
        label = label[:5] + "…"
    return f"{label} = {_fit(node.value, ROOM - len(label) - 3)}".lstrip()


def grad_line(node: TraceNode, step: TraceStep | None) -> str:
    """The line of a box that shows the gradient: "grad 10", and for a leaf what `.grad` becomes."""
    if step is None:
        return ""
    if node.kind == "leaf":
        return f".grad {_fit(step.grad.after, ROOM - 6)}"
    received = [v for v in step.incoming if v is not None]
    if len(step.incoming) > 1:
        return f"{len(received)} of {len(step.incoming)} grads"
    return f"grad {_fit(received[0], ROOM - 5)}" if received else "grad none"


def title_of(node: TraceNode) -> str:
    """What a node is, in one line, without its gradient."""
    what = node.title if node.kind != "leaf" else f"leaf {node.label}"
    if node.label and node.kind != "leaf":
        what = f"{node.label}, made by {node.title}"
    if node.forward:
        what += f": {node.forward}"
    if node.value is not None:
        return f"{what} = {node.value.text}, {node.value.dtype}"
    shape = "" if node.shape is None else f", {node.dtype} {list(node.shape)}"
    return f"{what}{shape}, not kept" if node.outputs == 1 else f"{what}{shape}"


def _fit(value, room):
    return value.text if value.complete and len(value.text) <= room else value.label


def _caption(node):
    return f"{node.label} ({node.name})" if node.label else node.title


# -- lines -----------------------------------------------------------------------------------------


def _edge(edge, about, drawn, right, state, value, room, blocks, air):
    path, forth, back, (x, y) = drawn
    pill = "" if value is None and not room else _pill(edge, x, y, right, value, room, blocks, air)
    return (
        f'<g class="al-edge{state}" data-edge="{edge.id}" data-from="{edge.source}" data-to="{edge.target}"{_step_attribute(edge.at)}>'
        f'<title>{escape(about)}</title><path class="al-line" d="{path}"/>'
        f'<path class="al-tip" d="{forth}"/><path class="al-back" d="{back}"/>{pill}</g>'
    )


def _pill(edge, x, y, right, value, room, blocks, air):
    if blocks and not room and _is_seen_on_a_line(value):
        _, w, h = tensors.block(value, 0, 0, 1.0, "", tensors.PILL)
        cx, cy = (x - 14 - w / 2, y) if right else (x, y - 21)
        inside = tensors.block(value, cx - w / 2, cy - h / 2, blocks.full[1], f"sent to {edge.input}", tensors.PILL)[0]
        return f'<g class="al-pill">{_rect("", cx - w / 2 - 5, cy - 11, w + 10, 22, 6)}{inside}</g>'
    label = "" if value is None else value.label
    w = max(len(label), room or 1) * CHAR + air
    cx, cy = (x - 9 - w / 2, y) if right else (x, y - 21)
    return (
        f'<g class="al-pill">{_rect("", cx - w / 2, cy - 11, w, 22, 11)}'
        f'<text data-sent="{edge.id}" x="{_n(cx)}" y="{_n(cy + 5)}">{escape(label)}</text></g>'
    )


def _is_seen_on_a_line(value):
    few = tensors.has_cells(value, tensors.PILL) and tensors.grid_of(value).shape[0] <= 4
    return few or bool(tensors.counts_of(value, tensors.PILL))


def _legend(view, steps, y, room, blocks=None):
    """What the shapes and colours say, below the picture, in lines of at most `room` pixels: the part, its width and its height."""
    kinds = {n.kind for n in view.nodes if n.id != view.root}
    shown = [("leaf", "leaf"), ("op", "operation"), ("custom", "custom Function"), ("group", "several nodes")]
    entries = [(28, kind, name) for kind, name in [*[s for s in shown if s[0] in kinds], ("out", "output")]]
    entries += [(28, "gradient", "gradient")] if steps else []
    entries += [
        (0 if k else tensors.SCALE + 8, "" if k else "scale", name) for k, name in enumerate(tensors.told(blocks.full) if blocks else [])
    ]
    x, wide, lines, parts = MARGIN, 0.0, 1, []
    for left, kind, name in entries:
        width = left + len(name) * CHAR
        if x > MARGIN and x + width + MARGIN > room:
            x, lines = MARGIN, lines + 1
        at = y + 28 * (lines - 1)
        parts.append(_sign(kind, x, at, f'<text class="al-note" x="{_n(x + left)}" y="{_n(at + 15)}">{name}</text>'))
        x += width + 18
        wide = max(wide, x)
    return _rect("al-key", 4, y - 3, wide - 8, 28 * lines - 2, 5) + "".join(parts), wide, 28 * lines + 2


def _sign(kind, x, y, told):
    """A sign of the legend, with its words."""
    if kind in ("", "scale"):
        return (tensors.scale(x, y + 2) if kind else "") + told
    if kind == "gradient":
        line = f'<path class="al-line" d="M{_n(x)} {_n(y + 10)}h22"/><path class="al-back" d="{tip(x, y + 10, -1, 0)}"/>'
        return f'<g class="al-edge al-on">{line}{told}</g>'
    inside = _rect("al-box", x, y + 3, 22, 14, 7 if kind == "leaf" else 2)
    inside += _rect("al-rim", x + 3, y + 6, 16, 8, 1) if kind == "out" else ""
    inside += f'<path class="al-plus" d="M{_n(x + 7)} {_n(y + 10)}h8m-4 -4v8"/>' if kind == "group" else ""
    return f'<g class="al-{kind}">{inside}{told}</g>'


def _rect(name, x, y, w, h, radius):
    css = f'class="{name}" ' if name else ""
    return f'<rect {css}x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(radius)}"/>'
