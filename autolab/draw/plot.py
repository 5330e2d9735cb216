"""Lines, points and histograms of numbers: loss curves, functions, activations. Images are in images.py."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from autolab.draw.chart import Axes, span, ticks
from autolab.draw.figure import WIDE, figure, named, numbers, omitted, table
from autolab.draw.marks import CHAR, HEAD, mark, short, words
from autolab.draw.svg import Picture

KINDS = "abcdef"  # as many lines as can be told apart, by dash and mark too
FEW = 25  # points of a line that have a mark each
MARKED = 6  # marks on a longer line
BUCKET = 4  # pixels: of the points of a long line in each, the highest and the lowest are drawn
COLUMNS = 5  # of numbers in the text


class Series(NamedTuple):
    """A line, or points, as drawn."""

    name: str
    kind: str
    xs: np.ndarray  # finite numbers only; a line is interrupted where ys is nan
    ys: np.ndarray
    is_line: bool
    omitted: str


class PlotAxes(Axes):
    """Axes that have three numbers or more: on a logarithmic scale those between the powers of ten, where these are few."""

    def _marks(self, lim, axis, count):
        if axis in self.log and lim[1] - lim[0] < 2.5:
            if lim[1] - lim[0] < 0.7:
                return ticks(10 ** lim[0], 10 ** lim[1], count)
            powers = range(math.floor(lim[0]), math.ceil(lim[1]) + 1)
            return [m * 10.0**k for k in powers for m in (1, 2, 5) if lim[0] <= math.log10(m * 10.0**k) <= lim[1]]
        few = super()._marks(lim, axis, count)
        return few if len(few) > 2 or axis in self.log else super()._marks(lim, axis, count + 2)


def plot(
    lines: Any = None, *, points: Any = None, x: str = "", y: str = "", title: str = "", log: bool | str = False,
    xlim: tuple[float, float] | None = None, ylim: tuple[float, float] | None = None, size: tuple[int, int] = (WIDE, 320),
) -> Picture:  # fmt: skip
    """Draw lines and points, as a picture that is also text.

    Parameters
    ----------
    lines, points : dict, tuple or array_like
        What is drawn: `ys`, which are counted from 0, or a tuple `(xs, ys)`; or several of these by name, at most six in all.
        Tensors, arrays and lists are taken. nan and infinity are left out, and the text says so.
    x, y : str
        What the axes show.
    title : str
        A line above the picture.
    log : bool or {"x", "y", "xy"}
        Which axes are logarithmic. True is the vertical one. What is not positive is left out there.
    xlim, ylim : (float, float), optional
        The ends of an axis. By default all points have room.
    size : (int, int)
        Of the picture, in pixels.

    Returns
    -------
    Picture
        A str of SVG that Jupyter shows as a picture. `.text` says the same in words and numbers: each line at a few places,
        with its lowest and highest value. `.save(path)` writes a file. Of a long line the lowest and the highest point in every
        four pixels are drawn.

    Raises
    ------
    TypeError
        If the values are no real numbers.
    ValueError
        If xs and ys are not equally many, if they have more than one dimension, or if nothing is left to draw.

    Examples
    --------
    >>> print(plot({"train": [2.3, 1.2, 0.7, 0.5], "held out": [2.3, 1.4, 1.0, 0.9]}, x="epoch", y="loss").text)
    loss against epoch
    epoch       0    1    2    3  lowest  highest
    train     2.3  1.2  0.7  0.5     0.5      2.3
    held out  2.3  1.4    1  0.9     0.9      2.3
    """
    logs = {False: "", True: "y"}.get(log, log) if isinstance(log, bool) else str(log)
    if set(logs) - {"x", "y"}:
        raise ValueError(f'log is {log!r}; it is True (the vertical axis), "x", "y" or "xy"')
    drawn = _all_series(lines, points, logs)
    xlim = xlim or _limits([s.xs for s in drawn], "x" in logs, 0.0 if lines is not None and points is None else 0.04)
    ylim = ylim or _limits([s.ys for s in drawn], "y" in logs, 0.06)
    legend, rows = _legend(drawn, y, size[0])
    head = 26 * bool(title)
    axes = PlotAxes(xlim, ylim, (0, head + 24 * rows), (size[0], size[1] - head - 24 * rows), (x, ""), log=logs)
    parts = [words(8, 22, title, "head")] if title else []
    parts += [words(8, head + 20, y, "note")] if y else []
    parts += [f'<g transform="translate(0 {head})">{legend}</g>'] if legend else []
    parts += [axes.frame(), *(_draw(axes, s, k, len(drawn)) for k, s in enumerate(drawn))]
    return figure(parts, size, *_said(drawn, x, y, title, logs))


def _all_series(lines, points, logs):
    found = []
    for values, is_line in ((lines, True), (points, False)):
        for name, one in named(values).items() if values is not None else ():
            found.append((name, one, is_line))
    if not found:
        raise ValueError("there is nothing to draw. Give values: plot(losses), plot({name: ys}) or plot(points=(xs, ys)).")
    if len(found) > len(KINDS):
        raise ValueError(f"{len(found)} lines cannot be told apart in one picture; draw at most {len(KINDS)}, or several pictures")
    return [_series(name, one, kind, is_line, logs) for kind, (name, one, is_line) in zip(KINDS, found)]


def _series(name, values, kind, is_line, logs):
    xs, ys = values if isinstance(values, tuple) and len(values) == 2 and np.ndim(_plain(values[1])) else (None, values)
    ys = numbers(ys, name)
    xs = np.arange(len(ys), dtype=float) if xs is None and ys.ndim == 1 else numbers(xs if xs is not None else [], name)
    called = f"{name!r}: " if name else ""
    if ys.ndim != 1 or xs.shape != ys.shape:
        shapes = f"xs have shape {list(xs.shape)}, ys {list(ys.shape)}" if ys.ndim == 1 else f"the values have shape {list(ys.shape)}"
        raise ValueError(f"{called}{shapes}. A line is one row of numbers, with as many xs as ys; name several: {{name: ys}}.")
    good = np.isfinite(xs) & np.isfinite(ys)
    positive = np.ones_like(good)
    for axis, along in (("x", xs), ("y", ys)):
        if axis in logs:
            positive &= ~(good & (along <= 0))
    low = int((~positive).sum())
    said = omitted(np.where(np.isfinite(xs), ys, xs), name, f"{low} not positive, on a logarithmic axis" if low else "")
    good &= positive
    if not good.any():
        raise ValueError(f"{called}nothing is left to draw of {len(ys)} values ({said or 'there are none'})")
    keep = np.isfinite(xs) & (positive if "x" in logs else True)
    return Series(name, kind, xs[keep], np.where(good, ys, np.nan)[keep], is_line, said)


def _plain(value):
    return numbers(value) if hasattr(value, "detach") else value


def _limits(arrays, logarithmic, margin):
    if not logarithmic:
        return span(*arrays, margin=margin)
    return tuple(10.0**end for end in span(*(np.log10(a) for a in arrays), margin=margin))


def _legend(drawn, y, width):
    """A sample of each line with its name, in rows beside the name of the vertical axis."""
    drawn = [s for s in drawn if s.name]
    if not drawn:
        return "", int(bool(y))
    start = max(62.0, 20 + CHAR * len(y))
    at, row, out = start, 0, ""
    for s in drawn:
        room = 46 + CHAR * len(s.name)
        if at > start and at + room > width:
            at, row = start, row + 1
        height = 24 * row + 15
        sample = f'<path d="M{at:g} {height}h26" class="al-l al-l-{s.kind}"/>' if s.is_line else ""
        out += f"{sample}{_mark(at + 13, height, s.kind)}{words(at + 32, height + 5, s.name)}"
        at += room
    return out, row + 1


def _mark(x, y, kind):
    if kind in "abcd":
        return mark(x, y, kind, 4)
    arms = "h8m-4 -4v8" if kind == "e" else "m0 -4l8 8m0 -8l-8 8"
    return f'<path d="M{x - 4:.1f} {y:.1f}{arms}" class="al-l al-l-{kind}" style="stroke-dasharray:none"/>'


def _draw(axes, s, k, count):
    """A line with marks that tell it from the others, or points."""
    shown = np.isfinite(s.ys)
    px, py = (np.full(s.xs.shape, np.nan) for _ in range(2))
    px[shown], py[shown] = [axes.x(v) for v in s.xs[shown]], [axes.y(v) for v in s.ys[shown]]
    inside = (px > axes.left - 1) & (px < axes.left + axes.width + 1)
    visible = inside & (py > axes.top - 1) & (py < axes.top + axes.height + 1)
    at = np.flatnonzero(visible)
    if not s.is_line:
        spots = {(round(px[i]), round(py[i])): i for i in at}.values()  # of points on the same pixel one is drawn
        return "".join(_mark(px[i], py[i], s.kind) for i in spots)
    py = np.where(inside, np.clip(py, axes.top - 2, axes.top + axes.height + 2), np.nan)
    if len(at) > FEW:
        at = _places(at, k, count)
    return _path(px, py, s.kind) + "".join(_mark(px[i], py[i], s.kind) for i in at)


def _places(at, k, count):
    """A few places along a long line, other ones for each of several lines."""
    if count == 1:
        return at[:0]
    return at[((np.arange(MARKED) + (k + 0.5) / count) * len(at) / MARKED).astype(int)]


def _path(px, py, kind):
    shown = np.isfinite(py)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], shown.astype(int), [0]])))
    path = ""
    for start, end in zip(edges[::2], edges[1::2]):
        keep = thinned(px[start:end], py[start:end]) + start
        tenths = np.rint(10 * np.stack([px[keep], py[keep]], 1)).astype(int)
        (x0, y0), moves = tenths[0], np.diff(tenths, axis=0)
        path += f"M{_n(x0)} {_n(y0)}" + "l" * bool(len(moves)) + " ".join(f"{_n(dx)} {_n(dy)}" for dx, dy in moves)
    return f'<path d="{path.replace(" -", "-")}" class="al-l al-l-{kind}"/>'


def _n(tenths):
    return f"{tenths / 10:g}"


def thinned(px: np.ndarray, py: np.ndarray, step: float = BUCKET) -> np.ndarray:
    """Which points of a long line are drawn: its ends, and the highest and the lowest in each `step` pixels.

    >>> thinned(np.linspace(0, 8, 9), np.array([0, 1, 9, 2, 0, -5, 1, 2, 3.0]))
    array([0, 2, 5, 7, 8])
    """
    if (np.diff(px) < 0).any():  # a path that turns back: points on the same pixel as the one before
        spots = np.rint(np.stack([px, py], 1))
        moved = np.concatenate([[True], (np.diff(spots, axis=0) != 0).any(1)])
        moved[-1] = True
        return np.flatnonzero(moved)
    buckets = np.floor((px - px[0]) / step)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(buckets)) + 1, [len(px)]])
    if len(px) <= 2 * (len(starts) - 1):
        return np.arange(len(px))
    keep = {0, len(px) - 1}
    for a, b in zip(starts, starts[1:]):
        keep |= {a + int(py[a:b].argmin()), a + int(py[a:b].argmax())}
    return np.array(sorted(keep))


def _said(drawn, x, y, title, logs):
    """What a picture shows: a line for its label, and a text with numbers."""
    what = f"{y or 'values'} against {x or 'index'}"
    axes = {"x": x or "the horizontal axis", "y": y or "the vertical axis"}
    what += f", logarithmic in {' and '.join(axes[a] for a in logs)}" if logs else ""
    called = ", ".join(s.name for s in drawn if s.name)
    label = (f"{title}: " if title else "") + what + (f" ({called})" if called else "")
    blocks, groups = [], {}
    for s in drawn:
        key = s.xs.tobytes() if s.is_line else s.name
        groups.setdefault((s.is_line, key), []).append(s)
    for (is_line, _), group in groups.items():
        blocks.append(_table_of_lines(group, x, y) if is_line else _table_of_points(group[0], x, y))
    notes = [s.omitted for s in drawn if s.omitted]
    return label, "\n".join([*([title] if title else []), what, *blocks, *notes])


def _table_of_lines(group, x, y):
    xs = group[0].xs
    at = np.unique(np.rint(np.linspace(0, len(xs) - 1, min(len(xs), COLUMNS))).astype(int)) if len(xs) > 7 else np.arange(len(xs))
    nothing = 1e-6 * np.ptp(xs) if xs.min() < 0 < xs.max() else 0  # what rounding leaves of 0 in the middle of an axis
    rows = [[x or "index", *(short(0 if abs(v) < nothing else v, 3) for v in xs[at]), "lowest", "highest"]]
    for s in group:
        name = s.name or y or "value"
        rows.append(
            [name, *(short(v, 3) if np.isfinite(v) else "-" for v in s.ys[at]), short(np.nanmin(s.ys), 3), short(np.nanmax(s.ys), 3)]
        )
    return table(rows)


def _table_of_points(s, x, y):
    shown = np.isfinite(s.ys)
    xs, ys = s.xs[shown], s.ys[shown]
    name = s.name or "points"
    if len(xs) <= 7:
        rows = [[f"{name}: {x or 'x'}", *(short(v, 3) for v in xs)], [y or "y", *(short(v, 3) for v in ys)]]
        return table(rows)
    rows = [[f"{len(xs)} {'points' if name == 'points' else f'points, {name}'}", "lowest", "mean", "highest"]]
    rows += [[of or axis, *(short(v, 3) for v in (a.min(), a.mean(), a.max()))] for axis, of, a in (("x", x, xs), ("y", y, ys))]
    return table(rows)


def histogram(
    values: Any, bins: int = 40, *, x: str = "", title: str = "", log: bool = False, share: bool = True,
    xlim: tuple[float, float] | None = None, columns: int = 3,
) -> Picture:  # fmt: skip
    """Draw how the numbers of tensors are distributed, one small histogram each.

    Parameters
    ----------
    values : dict or array_like
        A tensor of any shape, or several by name. nan and infinity are left out, and the text says so.
    bins : int
        Into how many intervals the horizontal axis is cut.
    x : str
        What the numbers are.
    title : str
        A line above the picture.
    log : bool
        Whether the counts are on a logarithmic axis.
    share : bool
        Whether all have the same horizontal axis, so that they can be compared.
    xlim : (float, float), optional
        The ends of the horizontal axis; numbers outside are left out, and the text says how many.
    columns : int
        How many stand side by side, at most.

    Returns
    -------
    Picture
        A str of SVG that Jupyter shows as a picture; `.text` has count, mean, standard deviation, lowest, median and highest of each.

    Raises
    ------
    TypeError
        If the values are no real numbers.
    ValueError
        If a tensor has no finite number.

    Examples
    --------
    >>> print(histogram({"layer 1": [1., 2., 3.], "layer 2": [0., 0., 4.]}, bins=4).text)
    2 histograms
             count  mean    std  lowest  median  highest
    layer 1      3     2  0.816       1       2        3
    layer 2      3  1.33   1.89       0       0        4
    """
    arrays = {name: numbers(one, name).ravel() for name, one in named(values).items()}
    notes, shown = [], {}
    for name, array in arrays.items():
        finite = array[np.isfinite(array)]
        inside = finite if xlim is None else finite[(finite >= xlim[0]) & (finite <= xlim[1])]
        outside = f"{len(finite) - len(inside)} outside of the axis" if len(inside) < len(finite) else ""
        notes.append(omitted(array, name, outside))
        if not len(inside):
            raise ValueError(f"{name or 'the tensor'!r} has no number to draw ({notes[-1] or 'it is empty'})")
        shown[name] = inside
    if not shown:
        raise ValueError("there is nothing to draw: values is empty")
    everything = list(shown.values())
    wide = WIDE // min(columns, len(shown))
    tall, head = (200 if len(shown) > 1 else 260), 30 * bool(title)
    parts = [words(8, 22, title, "head")] if title else []
    for k, (name, array) in enumerate(shown.items()):
        place = k % columns * wide, head + k // columns * tall
        ends = xlim or span(*(everything if share else [array]), margin=0)
        counts, edges = np.histogram(array, bins, ends)
        top = (0.5, 2 * counts.max()) if log else (0, 1.08 * counts.max())
        axes = PlotAxes(ends, top, place, (wide, tall), (x, ""), name[: int((wide - 70) / HEAD)] or "count", "y" if log else "")
        parts += [axes.frame(), _skyline(axes, counts, edges)]
    rows = [["", "count", "mean", "std", "lowest", "median", "highest"]]
    for name, a in shown.items():
        stats = a.mean(), a.std(), a.min(), np.median(a), a.max()
        rows.append([name or x or "values", str(len(a)), *(short(v, 3) for v in stats)])
    what = (f"{len(shown)} histograms" if len(shown) > 1 else "histogram") + (f" of {x}" if x else "")
    what += ", counts on a logarithmic axis" if log else ""
    text = "\n".join([*([title] if title else []), what, table(rows), *filter(None, notes)])
    label = (f"{title}: " if title else "") + what + (f" ({', '.join(shown)})" if len(shown) > 1 else "")
    return figure(parts, (WIDE, head + tall * math.ceil(len(shown) / columns)), label, text)


def _skyline(axes, counts, edges):
    """The bars of a histogram as one outline, and a line at zero."""
    floor = axes.top + axes.height
    heights = [axes.y(c) if c else floor for c in counts]
    path = f"M{axes.x(edges[0]):.1f} {floor:.1f}"
    for edge, height in zip(edges[1:], heights):
        path += f"V{height:.1f}H{axes.x(edge):.1f}"
    zero = f'<path d="M{axes.x(0):.1f} {axes.top:.1f}V{floor:.1f}" class="al-l al-l-zero"/>' if edges[0] < 0 < edges[-1] else ""
    return f'<path d="{path}V{floor:.1f}z" class="al-cell al-k-a"/>{zero}'
