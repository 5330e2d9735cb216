"""The tensor of a trace small enough for a node or for a line of a graph: a block of coloured cells, or a histogram of a large one.

Blue is above zero, orange below, in the scale of the whole picture; what is below zero has a mark too, and stands left of a line in
a histogram. Complex numbers have the colour of their magnitude. A large tensor of a trace of version 2 is shown by the means of its blocks.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from autolab.draw.placement import short as _n
from autolab.trace.model import Trace
from autolab.trace.values import BINS, TraceValue, histogram, number, sizes

ROOM = 58, 46  # pixels for the cells of a value, and as many beside them for its gradient
PILL = 60, 18  # and on a line
SCALE = 65  # pixels of the colour scale
LARGEST = 15  # pixels of a cell
FAINT = 0.15  # the colour of the smallest number: it is seen not to be zero


def grid_of(value: TraceValue | None) -> np.ndarray | None:
    """The numbers of a tensor as rows, leading axes below each other; None for a single number, or where there is nothing to see."""
    if value is None or not value.shape or not math.prod(value.shape):
        return None
    if value.complete:
        return sizes(value.data).reshape(-1, value.shape[-1])
    if value.heat is None or value.low is None or value.high is None:
        return None
    low, step = value.low, (value.high - value.low) / 9
    return np.array([[math.nan if d == "x" else low + step * int(d) for d in row] for row in value.heat])


def counts_of(value: TraceValue | None, room: tuple[int, int] = ROOM) -> list[int]:
    """The histogram of a tensor that has too many numbers for cells in this room; none if it has cells, or nothing finite."""
    if value is None or (value.complete and has_cells(value, room)):
        return []
    if value.counts is not None:
        return value.counts
    grid = grid_of(value) if value.complete else None
    if grid is None or not np.isfinite(grid).any():
        return []
    finite = grid[np.isfinite(grid)]
    return histogram(finite, float(finite.min()), float(finite.max()))


def ends_of(value: TraceValue) -> tuple[float, float]:
    """The smallest and the largest finite number of a tensor."""
    if value.low is not None and value.high is not None:
        return value.low, value.high
    grid = sizes(value.data)
    finite = grid[np.isfinite(grid)]
    return float(finite.min()), float(finite.max())


def scales(trace: Trace) -> tuple[float, float]:
    """The largest number among the values of a trace, and among its gradients, as far as they have cells."""
    values = [node.value for node in trace.nodes]
    gradients = [v for step in trace.steps for v in step.incoming]
    return max(map(_largest, values), default=0.0), max(map(_largest, gradients), default=0.0)


def _largest(value: TraceValue | None) -> float:
    grid = grid_of(value) if has_cells(value) or has_cells(value, PILL) else None
    return 0.0 if grid is None else float(np.abs(grid[np.isfinite(grid)]).max(initial=0.0))


def has_cells(value: TraceValue | None, room: tuple[int, int] = ROOM) -> bool:
    """Whether a tensor has so few rows and columns that its cells are seen."""
    grid = grid_of(value)
    return grid is not None and min(room[0] / grid.shape[1], room[1] / grid.shape[0]) >= 2


def is_seen(value: TraceValue | None, room: tuple[int, int] = ROOM) -> bool:
    """Whether `block` shows something of a tensor in this room."""
    return has_cells(value, room) or bool(counts_of(value, room))


def block(value: TraceValue, x: float, y: float, full: float, name: str, room: tuple[int, int] = ROOM) -> tuple[str, float, float]:
    """The cells or the histogram of a tensor with the left upper corner at (x, y), and the width and height.

    Each cell says its number when it is pointed at, each bar how many numbers it counts, and which.
    """
    if counts := counts_of(value, room):
        return _histogram(counts, ends_of(value), x, y, name, room), *map(float, room)
    grid = grid_of(value)
    if grid is None:
        return "", 0.0, 0.0
    rows, columns = grid.shape
    w, h = min(LARGEST, room[0] / columns), min(LARGEST, room[1] / rows)
    out = [f'<g class="al-block"><rect class="al-paper" x="{_n(x)}" y="{_n(y)}" width="{_n(w * columns)}" height="{_n(h * rows)}"/>']
    indices = list(np.ndindex(*value.shape)) if value.complete else None
    written = np.ravel(value.data) if value.complete else grid.ravel()
    for k, one in enumerate(grid.ravel()):
        i, j = divmod(k, columns)
        at = f'x="{_n(x + j * w)}" y="{_n(y + i * h)}" width="{_n(w)}" height="{_n(h)}"'
        share = FAINT + (1 - FAINT) * min(abs(one) / full, 1.0) if full and one and one == one else 0.0
        told = f"<title>{escape(f'{name}{list(indices[k])} = {_told(written[k])}')}</title>" if indices else ""
        out.append(f'<rect class="al-heat-{"low" if one < 0 else "high"}" fill-opacity="{share:.2f}" {at}>{told}</rect>')
        if one < 0 and min(w, h) >= 6:
            out.append(f'<path class="al-heat-sign" d="M{_n(x + j * w)} {_n(y + i * h + h - 5)}v5h5z"/>')
        if one != one:
            out.append(f'<path class="al-heat-edge" d="M{_n(x + j * w)} {_n(y + i * h)}l{_n(w)} {_n(h)}"/>')
    lines = [f"M{_n(x + j * w)} {_n(y)}v{_n(h * rows)}" for j in range(1, columns)] if w >= 5 else []
    lines += [f"M{_n(x)} {_n(y + i * h)}h{_n(w * columns)}" for i in range(1, rows)] if h >= 5 else []
    frame = f"M{_n(x)} {_n(y)}h{_n(w * columns)}v{_n(h * rows)}h{_n(-w * columns)}z"
    return "".join([*out, f'<path class="al-heat-edge" d="{"".join(lines)}{frame}"/></g>']), w * columns, h * rows


def _told(item):
    return number(complex(item)) if isinstance(item, str) and item.endswith("j") else number(float(item))


def _histogram(counts, ends, x, y, name, room):
    (low, high), (width, height) = ends, room
    step, most, edge = width / len(counts), max(counts), np.linspace(low, high, len(counts) + 1)
    thin = step if low < high else width / BINS  # equal numbers are one bar in the middle
    out = [f'<g class="al-block"><rect class="al-paper" x="{_n(x)}" y="{_n(y)}" width="{width}" height="{height}"/>']
    for k, count in enumerate(counts):
        tall = max(count / most * (height - 2), 1.0) if count else 0.0
        here = f"from {number(edge[k], 3)} to {number(edge[k + 1], 3)}" if low < high else number(low)
        told = f"<title>{escape(f'{name}: {count} of {sum(counts)} numbers are {here}')}</title>"
        side = "low" if edge[k] + edge[k + 1] < 0 else "high"
        at = f'x="{_n(x + k * step + (step - thin) / 2)}" y="{_n(y + height - tall)}" width="{_n(thin)}" height="{_n(tall)}"'
        bar = f'<rect class="al-heat-{side}" {at}/>'
        # the whole column can be pointed at, however short its bar
        column = f'<rect class="al-hit" x="{_n(x + k * step)}" y="{_n(y)}" width="{_n(step)}" height="{height}"/>'
        out.append(f"<g>{told}{bar if count else ''}{column}</g>")
    zero = f"M{_n(x + width * -low / (high - low))} {_n(y)}v{height}" if low < 0 < high else ""
    return "".join([*out, f'<path class="al-heat-edge" d="{zero}M{_n(x)} {_n(y)}h{width}v{height}h{-width}z"/></g>'])


def scale(x: float, y: float) -> str:
    """The colour scale for a legend."""
    parts = []
    for k, share in enumerate((-1.0, -0.5, 0.0, 0.5, 1.0)):
        at = f'x="{_n(x + 13 * k)}" y="{_n(y)}" width="13" height="15"'
        sign = f'<path class="al-heat-sign" d="M{_n(x + 13 * k)} {_n(y + 10)}v5h5z"/>' if share < 0 else ""
        parts.append(
            f'<rect class="al-paper" {at}/><rect class="al-heat-{"low" if share < 0 else "high"}" fill-opacity="{abs(share):.2f}" {at}/>'
            f'<rect class="al-heat-edge" {at}/>{sign}'
        )
    return "".join(parts)


def told(full: tuple[float, float]) -> list[str]:
    """What the full colour is of values, and of gradients, where there are any."""
    return [f"{name} to ±{number(most, 3)}" for name, most in zip(("values", "gradients"), full) if most]
