"""Explorable: optimizers race down a surface from a start that can be dragged."""

import functools
import inspect
import itertools

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.draw.chart import Axes, short
from autolab.draw.curves import contours, simplified
from autolab.trace.values import number
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, Panel, slider, timeline
from autolab.widgets.real_numbers import of_real_numbers

RATES = 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0
MOMENTA = 0.0, 0.5, 0.8, 0.9, 0.95, 0.99
TILE, HIGH, SIDE = 276, 330, 220
LEVELS, GRID = 9, 121
STARTS = 9  # along each axis
WIDTHS = {"a": 5.5, "b": 3.5, "c": 2}  # lines that run together are all seen


def valley(x, y):
    """A bent valley: steep across, shallow along."""
    return 0.1 * x**2 + 2 * (y - 0.3 * x**2) ** 2


@of_real_numbers
def optimizer_race(f=valley, start=(-2.5, 1.0), x=(-3, 3), y=(-1, 3), steps=40, rates=RATES, optimizers=None, momenta=MOMENTA):
    """SGD, momentum and Adam go down the same surface; drag the start, slide the learning rate and the momentum.

    Thin lines are where each goes in all its steps, thick ones where it has come. Lines are level lines of the loss.

    Parameters
    ----------
    f : function
        The loss, of two numbers (two tensors).
    start : tuple
        Where all begin.
    x, y : tuple
        The part of the plane that is shown.
    steps : int
        How far the race goes.
    rates : tuple of float
        The learning rates of the slider.
    optimizers : dict, optional
        Name -> function of (parameters, lr), or of (parameters, lr, momentum); at most three. By default SGD, SGD with momentum, and Adam.
    momenta : tuple of float
        The momenta of their slider, where an optimizer takes one.

    Returns
    -------
    Panel

    Raises
    ------
    TypeError
        If `f` does not take two numbers and return one.
    ValueError
        For more than three optimizers.

    Examples
    --------
    >>> race = optimizer_race(lambda x, y: x**2 + y**2, start=(1.0, 1.0), steps=4, rates=(0.1,))
    >>> race.move(step=1).sentence
    'Learning rate 0.1, momentum 0.9, step 1: SGD is at loss 1.28, momentum is at loss 1.28, Adam is at loss 1.62.'
    """
    optimizers = optimizers or {
        "SGD": lambda p, lr: torch.optim.SGD(p, lr=lr), "momentum": lambda p, lr, momentum: torch.optim.SGD(p, lr=lr, momentum=momentum),
        "Adam": lambda p, lr: torch.optim.Adam(p, lr=lr),
    }  # fmt: skip
    if len(optimizers) > 3:
        raise ValueError(f"a race has room for three optimizers, and got {len(optimizers)}: {', '.join(optimizers)}")
    _loss_at(f, _parameters_at(start))
    kinds = dict(zip(optimizers, "abc"))
    takes = {name for name, make in optimizers.items() if "momentum" in _arguments(make)}
    axes = Axes(x, y, (0, 0), (TILE, HIGH), ("x", "y"))
    ground, lowest = surface(f, axes)
    base = [axes.frame(), ground]
    legend = [chart.legend(TILE + 12, 60 + 62 * k, [(kind, name[:18])]) for k, (name, kind) in enumerate(kinds.items())]
    legend.append(goal(TILE + 25, 60 + 62 * len(kinds), lowest))

    @functools.cache
    def path(name, x0, y0, rate, momentum):
        more = {"momentum": momentum} if name in takes else {}
        return _descend(f, (x0, y0), lambda p: optimizers[name](p, rate, **more), steps)

    def make(x0, y0, rate, step, momentum=None):
        picture, rows, said = list(base), [], []
        for name, kind in kinds.items():
            went = path(name, x0, y0, rate, momentum if name in takes else None)
            picture.append(f'<g opacity=".45">{_trail(axes, went, kind, 1.5)}</g>')
            picture.append(_trail(axes, went[: step + 1], kind, WIDTHS[kind]))
            at = went[step]
            picture.append(axes.point(at[0], at[1], kind))
            inside = axes.xlim[0] <= at[0] <= axes.xlim[1] and axes.ylim[0] <= at[1] <= axes.ylim[1]
            where = " (it has left every number behind)" if not np.isfinite(at[2]) else "" if inside else " (outside of the picture)"
            said.append(f"{name} is at loss {number(at[2], 3)}{where}")
            rows.append([name, *(number(v, 3) for v in at)])
        picture += [chart.words(TILE + 12, 28, f"loss at step {step}", "head"), *legend]
        picture += [chart.words(TILE + 44, 86 + 62 * k, row[3], "value") for k, row in enumerate(rows)]
        picture.append(chart.handle(axes.x(x0), axes.y(y0), along_x="x0", along_y="y0", label="start of the race"))
        told = "" if momentum is None else f", momentum {short(momentum)}"
        return Frame(f"Learning rate {short(rate)}{told}, step {step}: {', '.join(said)}.", picture, rows)

    places = [_stops(ends, at) for ends, at in ((x, start[0]), (y, start[1]))]
    controls = [slider("x0", places[0], start=start[0], label="start x"), slider("y0", places[1], start=start[1], label="start y")]
    controls.append(slider("rate", rates, start=rates[(len(rates) - 1) // 2], label="learning rate"))
    if takes:
        controls.append(slider("momentum", momenta, start=0.9))
    tracks = {"x0": [axes.x(s) for s in places[0]], "y0": [axes.y(s) for s in places[1]]}
    columns = ["Optimizer", "x", "y", "Loss"]
    return Race(
        f"Optimizer race on {function_name(f)}",
        [*controls, timeline(steps)],
        make,
        columns,
        (TILE + SIDE, HIGH),
        breaks=[TILE],
        tracks=tracks,
    )


class Race(Panel):
    """A panel with more positions than a page can hold: those come first that differ from the start in the fewest controls."""

    def _positions(self):
        start = {name: c["start"] for name, c in self._controls.items()}
        stops = {name: range(len(c["stops"])) for name, c in self._controls.items()}
        last = {**start, "step": stops["step"][-1]}
        pairs = [("x0", "y0"), ("rate", "step"), ("momentum", "step"), ("rate", "momentum")]
        found = {}
        for a, b in (pair for pair in pairs if set(pair) <= set(stops)):
            # both ends of a path stand side by side, which packs well
            for i, j, base in itertools.product(stops[a], stops[b], (start, last)):
                at = {**base, a: i, b: j}
                found[self._key(at)] = at
        return list(found.values())


def _arguments(make):
    try:
        return inspect.signature(make).parameters
    except (TypeError, ValueError):
        return ()


def _stops(ends, start):
    """Places to start from: evenly spaced, and the one that was given."""
    return sorted({*(float(v) for v in np.round(np.linspace(*map(float, ends), STARTS), 6)), float(start)})


def _trail(axes, path, kind, width):
    """A path as a line that ends where it leaves the picture, with an arrow there."""
    points = [(axes.x(x), axes.y(y)) for x, y, _ in path if np.isfinite(x) and np.isfinite(y)]
    low, high = (axes.left, axes.top), (axes.left + axes.width, axes.top + axes.height)
    drawn, tip = [], ""
    for here, there in zip(points, points[1:]):
        a, b = clipped(here, there, low, high)
        if a is None:
            continue
        drawn += [b] if drawn and a == here else [None, a, b]
        if b != there and np.hypot(b[0] - a[0], b[1] - a[1]) > 9:
            tip = chart.arrow(*(b[k] - 9 * (b[k] - a[k]) / np.hypot(b[0] - a[0], b[1] - a[1]) for k in range(2)), *b, kind)
    return f'<path d="{_path(drawn)}" class="al-l al-l-{kind}" style="stroke-width:{width}px"/>{tip}' if drawn else ""


def _path(points, unit=2):
    """Lines from point to point; after None the pen is up. In steps, and to a unit of a pixel, because a page holds a thousand paths."""
    out, at, pen = [], [0.0, 0.0], "l"
    for point in points:
        if point is None:
            pen = "M"
            continue
        place = [round(unit * v) / unit for v in point]
        if pen == "M" or place != at:
            x, y = (f"{round(v - (0 if pen == 'M' else w), 1):g}" for v, w in zip(place, at))
            out.append(f"{pen}{x}{'' if y[0] == '-' else ' '}{y}")
        at, pen = place, "l"
    return "".join(out)


def clipped(a, b, low, high):
    """The part of a line from a to b inside of a box (Liang and Barsky), or two times None."""
    t0, t1 = 0.0, 1.0
    for k in range(2):
        d = b[k] - a[k]
        for p, q in ((-d, a[k] - low[k]), (d, high[k] - a[k])):
            if p == 0 and q < 0:
                return None, None
            if p < 0:
                t0 = max(t0, q / p)
            elif p > 0:
                t1 = min(t1, q / p)
    if t0 > t1:
        return None, None
    ends = [tuple(a[k] + t * (b[k] - a[k]) for k in range(2)) for t in (t0, t1)]
    return (a if t0 == 0 else ends[0]), (b if t1 == 1 else ends[1])


def _descend(f, start, make, steps):
    p = _parameters_at(start)
    optimizer, path = make(p), []
    with np.errstate(all="ignore"):
        for _ in range(steps + 1):
            loss = _loss_at(f, p)
            path.append((p[0].item(), p[1].item(), loss.item()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return path


def _parameters_at(start):
    return [torch.tensor(float(s), dtype=torch.float64, requires_grad=True) for s in start]


def _loss_at(f, p):
    try:
        loss = f(*p)
    except TypeError as error:
        raise TypeError(f"optimizer_race calls f with two numbers, as in lambda x, y: x**2 + y**2; here: {error}") from error
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise TypeError("optimizer_race goes down a surface: f is to return one number that depends on x and y")
    return loss


def _heights(f, across, down):
    """The surface over a grid, as an array (len(down), len(across))."""
    x, y = (torch.tensor([float(v) for v in values], dtype=torch.float64) for values in (across, down))
    with torch.no_grad(), np.errstate(all="ignore"):
        try:
            return f(x.reshape(1, -1), y.reshape(-1, 1)).expand(len(down), len(across)).numpy()
        except (TypeError, RuntimeError, ValueError):  # a function of single numbers
            return np.array([[f(a, b).item() for a in x] for b in y])


def surface(f, axes, levels=LEVELS, tolerance=0.2):
    """Level lines, denser in colour where the loss is small, and the lowest place that is shown; and what that place is."""
    (x0, x1), (y0, y1) = axes.xlim, axes.ylim
    across, down = np.linspace(x0, x1, GRID), np.linspace(y0, y1, GRID)
    values = _heights(f, across, down)
    finite = np.where(np.isfinite(values), values, np.nanmax(np.where(np.isfinite(values), values, np.nan)))
    i, j = np.unravel_index(np.argmin(finite), finite.shape)
    low, high = float(finite[i, j]), float(finite.max())
    parts = []
    for k, share in enumerate(np.geomspace(1e-3, 0.7, levels)):
        lines = contours(across, down, finite, low + share * (high - low))
        drawn = [simplified([(axes.x(a), axes.y(b)) for a, b in line], tolerance) for line in lines]
        path = _path([point for line in drawn for point in (None, *line)], 10)
        if path:
            parts.append(f'<path d="{path}" class="al-l al-l-line" style="stroke-width:1px;stroke-opacity:{0.95 - 0.07 * k:.2f}"/>')
    (px, py), inside = _minimum(f, (across[j], down[i]), (across[1] - across[0], down[1] - down[0]), axes)
    return "".join(parts) + _plus(px, py), "minimum" if inside else "lowest"


def goal(x, y, name):
    """The legend of the lowest place."""
    return _plus(x, y) + chart.words(x + 19, y + 5, name)


def _plus(x, y):
    return f'<path d="M{x - 7:.1f} {y:.1f}h14M{x:.1f} {y - 7:.1f}v14" class="al-plus"/>'


def _minimum(f, near, cell, axes):
    """Where the lowest place around a point of the grid is, by ever finer grids, in pixels; and whether it is inside of the frame."""
    (x, y), (w, h) = near, cell
    for _ in range(8):
        across = np.clip(np.linspace(x - w, x + w, 9), *axes.xlim)
        down = np.clip(np.linspace(y - h, y + h, 9), *axes.ylim)
        values = _heights(f, across, down)
        if not np.isfinite(values).any():
            break
        i, j = np.unravel_index(np.nanargmin(values), values.shape)
        x, y, w, h = float(across[j]), float(down[i]), w / 3, h / 3
    inside = all(low < v < high for v, (low, high) in ((x, axes.xlim), (y, axes.ylim)))
    return (axes.x(x), axes.y(y)), inside


__all__ = ["optimizer_race"]
