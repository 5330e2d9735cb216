"""Where the boxes and lines of a picture stand, and how large they are: the layout, in the pixels of the page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from autolab.draw.collapse import CollapsedGroup, CollapsedView
from autolab.draw.layout import LayoutBox, layout, ranks
from autolab.draw.marks import CHAR, HEAD
from autolab.trace.model import TraceNode

ROOM = 15  # characters of a value or a gradient inside a box
SIGN = 12  # characters of an operation's name where it has no sign
NAME = 30  # characters of a name; a longer one is shortened in the picture and whole in its title
HEIGHT = 74  # of a box with three lines; without a backward pass there is no gradient to write
LOW = 54
WIDE = 1000  # a picture wider than this goes from top to bottom instead
PHONE = 308  # of a picture for a phone: two boxes beside each other have room on a screen of 320 pixels
NARROW = 20  # what a box with another beside it has there, beyond its values
MARGIN = 10


@dataclass(slots=True)
class Placement:
    """Boxes and lines in picture coordinates.

    `lines` holds for each edge its last piece and the two tips, as paths, and where it ends; `trunks` the pieces before,
    as paths, and the indices of the edges that use them.
    """

    sizes: list[tuple[float, float]]
    centres: list[tuple[float, float]]
    lines: list[tuple[str, str, str, tuple[float, float]]]
    trunks: list[tuple[str, tuple[int, ...]]]
    width: float
    height: float
    right: bool
    line: float  # height of a box with one edge
    narrow: list[bool]  # boxes that have another beside them on a phone, and so no room for a long name


def place(view: CollapsedView, direction: str, steps: bool, extra: tuple[float, ...] = ()) -> Placement:
    """The Placement of a view; `steps` is whether gradients are written, too. `extra`: how much taller than its words each box is."""
    if direction not in ("auto", "right", "down", "narrow"):
        raise ValueError(f'direction is {direction!r}, expected "auto", "right", "down" or "narrow"')
    index = {node.id: i for i, node in enumerate(view.nodes)}
    edges = tuple((index[e.source], index[e.target]) for e in view.edges)
    inputs = [0] * len(index)
    for _, target in edges:
        inputs[target] += 1
    beside = Counter(layers := ranks(len(index), edges)) if direction == "narrow" else {}
    narrow = tuple(beside[layer] > 1 for layer in layers) if beside else (False,) * len(index)
    names, counts = tuple(map(_width, view.nodes, narrow)), tuple(inputs)
    line, extra = HEIGHT if steps else LOW, extra or (0.0,) * len(names)
    if direction in ("auto", "right"):
        gap = 110 if steps else 56
        # every layer is as deep as its widest box at least, so a long graph need not be laid out to be too wide
        if direction == "right" or _depth(len(index), edges) * (ROOM * CHAR + gap) <= WIDE + gap:
            made = _run(names, counts, edges, True, gap, line, extra)
            if direction == "right" or made.width <= WIDE:
                return made
    return _run(names, counts, edges, False, 54 if steps else 36, line, extra, narrow if beside else ())


def _depth(count, edges):
    return max(ranks(count, edges), default=-1) + 1


@lru_cache(256)  # the groups of a large graph have few shapes: 5,000 nodes of a loop make 470 pictures of 120 layouts
def _run(names, inputs, edges, right, gap, line, extra, narrow=()):
    port = 26 if right else 74 if narrow else 82  # a gradient's frame of eight characters is 78 wide, or 72
    margin = 2 if narrow else MARGIN
    if right:
        sizes = [(w, max(line + more, k * port + 8)) for w, k, more in zip(names, inputs, extra)]
        boxes = [LayoutBox(w, h) for w, h in sizes]
    else:
        sizes = [(max(w, k * port if k > 1 else 0), line + more) for w, k, more in zip(names, inputs, extra)]
        boxes = [LayoutBox(h, w) for w, h in sizes]
    made = layout(boxes, edges, gap, port, **({"side": 6, "within": PHONE - 2 * margin} if narrow else {}))

    def turn(point):
        along, across = point
        return (along + margin, across + margin) if right else (across + margin, along + margin)

    width, height = turn((made.along, made.across))
    trunks = [(curve([turn(p) for p in points], right), users) for points, users in made.trunks]
    centres = [turn(c) for c in made.centres]
    dx, dy = (1, 0) if right else (0, 1)
    stretch = 76 * dx + 34 * dy  # the last one of a line, which is straight: there the gradient is written
    lines = []
    for (source, _), route in zip(edges, made.routes):
        start, (x, y) = map(turn, route)
        path = f"{curve([start, (x - stretch * dx, y - stretch * dy)], right)}L{short(x)} {short(y)}"
        (sx, sy), (w, h) = centres[source], sizes[source]
        lines.append((path, tip(x, y, dx, dy), tip(sx + dx * w / 2, sy + dy * h / 2, -dx, -dy), (x, y)))
    return Placement(sizes, centres, lines, trunks, width + margin, height + margin, right, line, list(narrow or (False,) * len(names)))


def curve(points: Sequence[tuple[float, float]], right: bool) -> str:
    """A path through points: its tangents lie along the layers."""
    (x, y), *rest = points
    out = [f"M{short(x)} {short(y)}"]
    for px, py in rest:
        if right:
            half = (x + px) / 2
            out.append(f"C{short(half)} {short(y)} {short(half)} {short(py)} {short(px)} {short(py)}")
        else:
            half = (y + py) / 2
            out.append(f"C{short(x)} {short(half)} {short(px)} {short(half)} {short(px)} {short(py)}")
        x, y = px, py
    return "".join(out)


def tip(x: float, y: float, dx: float, dy: float) -> str:
    """The path of a triangle whose point is (x, y), seen along (dx, dy)."""
    bx, by = x - 8 * dx, y - 8 * dy
    return f"M{short(x)} {short(y)}L{short(bx - 4 * dy)} {short(by + 4 * dx)}L{short(bx + 4 * dy)} {short(by - 4 * dx)}Z"


@lru_cache(1 << 14)
def short(x: float) -> str:
    """A coordinate to a tenth of a pixel."""
    return f"{x:.1f}".removesuffix(".0")


def _width(node, narrow):
    values, pads = ROOM * CHAR, 2 * pad_of(node, narrow)
    if node.kind == "leaf":
        return max(values, len(name_in(node, narrow)) * HEAD) + pads
    if node.kind == "group":
        return max(values, len(name_in(node, narrow)) * HEAD + 20) + pads + 4
    return values + NARROW if narrow else max(values, symbol_width(node, False) + len(name_in(node, False)) * CHAR) + pads


def pad_of(node: TraceNode | CollapsedGroup, narrow: bool) -> float:
    """Pixels between the rim of a box and its words."""
    if not narrow:
        return 15 if node.kind == "leaf" else 11
    return {"leaf": NARROW / 2, "group": 8}.get(node.kind, 6)


def name_in(node: TraceNode | CollapsedGroup, narrow: bool) -> str:
    """The name of a node as far as its box has room: on a phone a box is as wide as its values."""
    name = node.label if node.kind == "leaf" else node.name
    if not narrow:
        return truncate(name)
    if node.kind in ("leaf", "group"):
        return truncate(name, int((ROOM * CHAR - (20 if node.kind == "group" else 0)) / HEAD))
    room = int((ROOM * CHAR + NARROW - 2 * pad_of(node, True) - symbol_width(node, True)) / CHAR)
    return truncate(name, room) if room > 3 else ""


def symbol_width(node: TraceNode | CollapsedGroup, narrow: bool) -> float:
    """Pixels that the sign of an operation takes in its box."""
    sign = sign_of(node)
    return len(sign) * HEAD + (4 if narrow else 7) if sign else 0


def sign_of(node: TraceNode | CollapsedGroup) -> str:
    """What stands first in the box of an operation: its sign, or how one calls it."""
    return node.symbol or (getattr(node, "op", None) or "")[:SIGN]


def truncate(text: str, room: int = NAME) -> str:
    """Text of at most `room` characters; a longer one ends in an ellipsis."""
    return text if len(text) <= room else text[: room - 1] + "…"
