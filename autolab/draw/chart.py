"""Curves, bars, number lines and matrices as SVG text, for the explorables; with what marks.py, heat.py and touch.py draw.

A picture is a list of parts, so that the parts that many frames share (axes, a curve) are sent once. What differs in colour
differs in dash or in shape too: the kinds "a", "b", "c" are solid, dashed and dotted lines with circles, squares and triangles;
"grad" is a gradient, as in every other picture here.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from autolab.draw.heat import distribution, heat, scale_legend, scale_width
from autolab.draw.marks import CHAR, HEAD, Pair, arrow, mark, rectangle, short, words
from autolab.draw.touch import at_rest, draggable, drop, flight, handle, hit, keyed, number_handle, pressable, pull_handle

__all__ = [
    "CHAR", "HEAD", "KINDS", "Axes", "arrow", "at_rest", "cells", "distribution", "draggable", "drop", "flight", "handle", "heat",
    "hit", "keyed", "legend", "mark", "number_handle", "outline", "picture", "pressable", "pull_handle", "rectangle", "regions",
    "scale_legend", "scale_width", "short", "span", "ticks", "words",
]  # fmt: skip

KINDS = "a", "b", "c", "grad"
Texts = Sequence[Sequence[str]]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two ends.

    >>> ticks(-3, 3), ticks(0, 0.9)
    ([-2.0, 0.0, 2.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    if not high > low:
        return [float(low)]
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(m * size for m in (1, 2, 5, 10) if m * size >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]


def span(*values: ArrayLike, margin: float = 0.08) -> tuple[float, float]:
    """The range that holds all finite values, with some air; wide enough never to be empty.

    >>> span([0, 10])
    (-0.8, 10.8)
    """
    flat = np.concatenate([np.ravel(np.asarray(v, float)) for v in values])
    flat = flat[np.isfinite(flat)]
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(low)):
        low, high = low - 1, high + 1
    air = margin * (high - low)
    return low - air, high + air


def cells(
    x: float, y: float, rows: Texts, kinds: str | Texts | None = None, size: Pair = (60, 30), title: str = "", note: str = ""
) -> tuple[str, float, float]:
    """A matrix, cell by cell: `rows` of texts, `kinds` the same shape (or one word). Returns the part and its width and height."""
    width, height = size
    out = [words(x, y - 8, title, "head")] if title else []
    if note:
        out.append(words(x + (len(title) + 1) * HEAD * bool(title), y - 8, note, "note"))
    for i, row in enumerate(rows):
        for j, text in enumerate(row):
            kind = kinds if isinstance(kinds, str) else kinds[i][j] if kinds else "op"
            out.append(rectangle(x + j * width, y + i * height, width - 3, height - 3, kind))
            out.append(
                words(x + j * width + width / 2 - 1.5, y + i * height + height / 2 + 4, text, "grad" if kind == "grad" else "", "middle")
            )
    return "".join(out), max(map(len, rows), default=0) * width, len(rows) * height


class Axes:
    """A frame with numbers, and what is drawn in it. `log` takes the logarithm of the horizontal axis, "y" of the vertical one."""

    def __init__(
        self, xlim: ArrayLike, ylim: ArrayLike, place: Pair = (0, 0), size: Pair = (440, 250), labels: tuple[str, str] = ("", ""),
        title: str = "", log: str = "",
    ):  # fmt: skip
        self.left, self.top = place[0] + 62, place[1] + (30 if title else 12)
        self.width, self.height = size[0] - 80, size[1] - (30 if title else 12) - (44 if labels[0] else 26)
        self.log, self.labels, self.title = log, labels, title
        self.xlim, self.ylim = self._scale(xlim, "x"), self._scale(ylim, "y")

    def _scale(self, values, axis):
        return np.log10(np.asarray(values, float)) if axis in self.log else np.asarray(values, float)

    def x(self, value: float) -> float:
        """Where a number is, in pixels from the left."""
        low, high = self.xlim
        return self.left + self.width * (float(self._scale(value, "x")) - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a number is, in pixels from the top."""
        low, high = self.ylim
        return self.top + self.height * (high - float(self._scale(value, "y"))) / (high - low)

    def _marks(self, lim, axis, count):
        low, high = lim
        if axis in self.log:
            step = max(1, math.ceil((high - low) / count))
            return [10.0**k for k in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1, step)]
        return ticks(low, high, count)

    def frame(self) -> str:
        """The box, its numbers and its labels."""
        right, bottom = self.left + self.width, self.top + self.height
        out = [f'<rect x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}" class="al-axes"/>']
        for value in self._marks(self.xlim, "x", max(3, min(6, int(self.width // 68)))):
            out.append(f'<path d="M{self.x(value):.1f} {self.top}V{bottom + 4}" class="al-grid"/>')
            out.append(words(self.x(value), bottom + 19, short(value, 3), "note", "middle"))
        for value in self._marks(self.ylim, "y", max(2, min(5, int(self.height // 30)))):
            out.append(f'<path d="M{self.left - 4} {self.y(value):.1f}H{right}" class="al-grid"/>')
            out.append(words(self.left - 7, self.y(value) + 5, short(value, 3), "note", "end"))
        if self.labels[0]:
            out.append(words(right, bottom + 38, self.labels[0], "note", "end"))
        if self.labels[1]:
            out.append(words(self.left + 6, self.top + 17, self.labels[1], "note"))
        if self.title:
            out.append(words(self.left, self.top - 9, self.title, "head"))
        return "".join(out)

    def line(self, xs: Iterable[float], ys: Iterable[float], kind: str = "a") -> str:
        """A curve; it is interrupted where a value is not finite, and cut at the frame."""
        pen, path = False, []
        for x, y in zip(xs, ys):
            ok = np.isfinite(y) and ("y" not in self.log or y > 0)
            if ok:
                at = min(max(self.y(y), self.top - 2), self.top + self.height + 2)
                path.append(f"{'L' if pen else 'M'}{self.x(x):.1f} {at:.1f}")
            pen = ok
        return f'<path d="{"".join(path)}" class="al-l al-l-{kind}"/>' if path else ""

    def straight(self, x: float, y: float, slope: float, kind: str = "grad") -> str:
        """The line through a point with a slope, from edge to edge of the frame."""
        if not (np.isfinite(y) and np.isfinite(slope)):
            return ""
        (low, high), ends = self.ylim, []
        for end in self.xlim:
            if slope and not low <= y + slope * (end - x) <= high:
                edge = low if (slope * (end - x) < 0) else high
                end = x + (edge - y) / slope
            ends.append(end)
        return self.line(ends, [y + slope * (end - x) for end in ends], kind)

    def point(self, x: float, y: float, kind: str = "a", label: str = "", slope: float = 0.0) -> str:
        """A mark with the shape of its kind, and a label that a line of that slope misses; nothing outside of the frame."""
        if not (np.isfinite(x) and np.isfinite(y)):
            return ""
        px, py = self.x(x), self.y(y)
        if not (self.top - 3 <= py <= self.top + self.height + 3 and self.left - 3 <= px <= self.left + self.width + 3):
            return ""
        room = 9 + CHAR * len(label)
        right = px + room > self.left + self.width + 12 and px - room > self.left - 40  # beside the frame is its margin
        below = slope and (slope > 0) != right
        told = words(px + (-9 if right else 9), py + (21 if below else -8), label, "", "end" if right else "start") if label else ""
        return mark(px, py, kind) + told

    def bars(self, lows: Iterable[float], highs: Iterable[float], values: Iterable[float], kind: str = "a") -> str:
        """A histogram; bars that count nothing are left out."""
        floor = self.top + self.height
        out = ""
        for low, high, value in zip(lows, highs, values):
            if value > 0:
                x0, x1, y = self.x(low), self.x(high), self.y(value)
                size = f'width="{max(x1 - x0 - 1, 1):.1f}" height="{floor - y:.1f}"'
                out += f'<rect x="{x0:.1f}" y="{y:.1f}" {size} class="al-cell al-k-{kind}"/>'
        return out

    def upright(self, x: float, label: str = "", kind: str = "b", at: float = 14) -> str:
        """A vertical line across the frame, with words beside it."""
        px = self.x(x)
        right = px > self.left + 0.6 * self.width
        told = words(px + (-5 if right else 5), self.top + at, label, "note", "end" if right else "start") if label else ""
        return f'<path d="M{px:.1f} {self.top}V{self.top + self.height}" class="al-l al-l-{kind}"/>{told}'


def legend(x: float, y: float, names: Iterable[tuple[str, str]]) -> str:
    """`names`: (kind, text) pairs, side by side."""
    out = ""
    for kind, text in names:
        out += f'<path d="M{x} {y}h26" class="al-l al-l-{kind}"/>{mark(x + 13, y, kind, 4)}{words(x + 32, y + 5, text)}'
        x += 46 + CHAR * len(text)
    return out


def regions(axes: Axes, grid: np.ndarray, kinds: Sequence[str]) -> str:
    """A grid of small integers over the frame as areas: `kinds[k]` is how k is filled. Row 0 is at the top."""
    rows, columns = grid.shape
    scale = f"scale({axes.width / columns:.4f} {axes.height / rows:.4f})"
    areas = [f'<path d="{outline(grid == k)}" class="al-r al-r-{kind}"/>' for k, kind in enumerate(kinds) if (grid == k).any()]
    return f'<g transform="translate({axes.left} {axes.top})"><g transform="{scale}">{"".join(areas)}</g></g>'


def outline(cells: np.ndarray) -> str:
    """The borders of the cells of a grid that are True, as a path in which a cell has the size 1.

    >>> outline(np.array([[True, True, False], [True, False, False]]))
    'M0 0h2v1h-1v1h-1z'
    """
    padded = np.pad(np.asarray(cells, bool), 1)
    inside = padded[1:-1, 1:-1]
    onward: dict[tuple[int, int], list[tuple[int, int]]] = {}  # from a corner to the next, with the cell on the right
    for way, beside, (x0, y0) in (
        ((1, 0), padded[:-2, 1:-1], (0, 0)),
        ((0, 1), padded[1:-1, 2:], (1, 0)),
        ((-1, 0), padded[2:, 1:-1], (1, 1)),
        ((0, -1), padded[1:-1, :-2], (0, 1)),
    ):
        for y, x in np.argwhere(inside & ~beside).tolist():
            onward.setdefault((x + x0, y + y0), []).append(way)
    path = []
    while onward:
        start = at = next(iter(onward))
        path.append(f"M{at[0]} {at[1]}")
        was, length = (0, 0), 0
        while at in onward:
            ways = onward[at]
            way = ways.pop(ways.index(was) if was in ways else 0)
            if not ways:
                del onward[at]
            if way != was and length:
                path.append(_run(was, length))
                length = 0
            at, was, length = (at[0] + way[0], at[1] + way[1]), way, length + 1
            if at == start:
                break
        path.append("z")
    return "".join(path)


def _run(way, length):
    return f"h{way[0] * length}" if way[0] else f"v{way[1] * length}"


def picture(parts: Iterable[str], width: int, height: int, label: str, style: str = "") -> str:
    """The whole as one SVG element; with a style of its own it is to stand alone, and brings its ground for its words."""
    inside = f'<style>{style}</style><rect class="al-paper" width="{width}" height="{height}" rx="8"/>' if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="al-svg al-plot" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(label)}">{inside}{"".join(parts)}</svg>'
    )
