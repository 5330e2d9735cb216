"""Where the boxes and lines of a picture stand, and how large they are: the layout, in the pixels of the page."""

from dataclasses import dataclass
from functools import lru_cache

from autolab.draw.layout import Box, layout, ranks

CHAR = 7.3  # width of a character at 12 px in the widest of the fonts asked for
SMALL = 6.7  # at 11 px
ROOM = 15  # characters of a value or a gradient inside a box
NAME = 30  # characters of a name; a longer one is shortened in the picture and whole in its title
HEIGHT = 64  # of a box with three lines; without a backward pass there is no gradient to write
LOW = 47
WIDE = 1000  # a picture wider than this goes from top to bottom instead
MARGIN = 14


@dataclass(slots=True)
class Plan:
    """Boxes and routes in picture coordinates."""

    sizes: list
    centres: list
    routes: list
    trunks: list
    starts: list
    width: float
    height: float
    right: bool
    line: float  # height of a box with one edge


def plan(view, direction, steps):
    """The Plan of a view; `steps` is whether gradients are written, too."""
    if direction not in ("auto", "right", "down"):
        raise ValueError(f'direction is {direction!r}, expected "auto", "right" or "down"')
    index = {node.id: i for i, node in enumerate(view.nodes)}
    edges = tuple((index[e.source], index[e.target]) for e in view.edges)
    inputs = [0] * len(index)
    for _, target in edges:
        inputs[target] += 1
    names, inputs = tuple(_width(node) for node in view.nodes), tuple(inputs)
    line = HEIGHT if steps else LOW
    if direction != "down":
        gap = 100 if steps else 56
        # every layer is as deep as its widest box at least, so a long graph need not be laid out to be too wide
        if direction == "right" or _depth(len(index), edges) * (ROOM * CHAR + gap) <= WIDE + gap:
            made = _run(names, inputs, edges, True, gap, line)
            if direction == "right" or made.width <= WIDE:
                return made
    return _run(names, inputs, edges, False, 62 if steps else 36, line)


def _depth(count, edges):
    return max(ranks(count, edges), default=-1) + 1


@lru_cache(256)  # the groups of a large graph have few shapes: 5,000 nodes of a loop make 470 pictures of 120 layouts
def _run(names, inputs, edges, right, gap, line):
    port = 24 if right else 78
    if right:
        sizes = [(w, max(line, k * port + 8)) for w, k in zip(names, inputs)]
        boxes = [Box(w, h) for w, h in sizes]
    else:
        sizes = [(max(w, k * port if k > 1 else 0), line) for w, k in zip(names, inputs)]
        boxes = [Box(h, w) for w, h in sizes]
    made = layout(boxes, edges, gap, port)

    def turn(point):
        along, across = point
        return (along + MARGIN, across + MARGIN) if right else (across + MARGIN, along + MARGIN)

    width, height = turn((made.along, made.across))
    routes = [[turn(p) for p in route] for route in made.routes]
    trunks = [([turn(p) for p in points], users) for points, users in made.trunks]
    centres = [turn(c) for c in made.centres]
    starts = []
    for source, _ in edges:
        (x, y), (w, h) = centres[source], sizes[source]
        starts.append((x + w / 2, y) if right else (x, y + h / 2))
    return Plan(sizes, centres, routes, trunks, starts, width + MARGIN, height + MARGIN, right, line)


def _width(node):
    if node.kind == "leaf":
        return max(ROOM * CHAR, len(shortened(node.label)) * 8.6) + 30
    if node.kind == "group":
        return max(ROOM * CHAR, len(shortened(node.name)) * 8.6 + 20) + 26
    return max(ROOM * CHAR, symbol_width(node) + len(shortened(node.name)) * SMALL) + 22


def symbol_width(node):
    return len(node.symbol) * 8.6 + 7 if node.symbol else 0


def shortened(text, room=NAME):
    return text if len(text) <= room else text[: room - 1] + "…"
