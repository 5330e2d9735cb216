"""Numbers for curves: a function sampled such that its jumps stay jumps, and the level lines of a surface."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

BISECTIONS = 40
SMALL = 0.02  # a difference between neighbours below this share of the span is not a jump


def sample(f: Callable[[float], Sequence[float]], low: float, high: float, count: int = 161) -> tuple[np.ndarray, np.ndarray, list]:
    """Values of f between two ends, and where f jumps.

    `f` returns a tuple of numbers, such as value and gradient. Returns the places (n,), the values (n, k), with a row of nan inside
    each jump so that no line is drawn across it, and the jumps as (column, place, value before, value there, value behind).

    >>> places, values, jumps = sample(lambda x: (round(x),), 0, 1)
    >>> [(column, round(place, 6), before, behind) for column, place, before, _, behind in jumps]
    [(0, 0.5, 0.0, 1.0)]
    """
    places = np.linspace(low, high, count)
    values = np.array([f(x) for x in places], float).reshape(count, -1)
    finite = np.where(np.isfinite(values), values, np.nan)
    with np.errstate(all="ignore"):
        spans = [np.ptp(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in finite.T]
        steps = np.abs(np.diff(values, axis=0))
    new_places, new_values, jumps = [], [], []
    for i, column in np.argwhere(steps > SMALL * np.array(spans)):
        found = _jump(lambda x, k=column: f(x)[k], places[i], places[i + 1])
        if found is None:
            continue
        before, behind = found
        new_places += [before, (before + behind) / 2, behind]
        new_values += [f(before), [np.nan] * values.shape[1], f(behind)]
        at = float(round((before + behind) / 2, 6))
        jumps.append((int(column), at, float(f(before)[column]), float(f(at)[column]), float(f(behind)[column])))
    if jumps:
        places, values = np.concatenate([places, new_places]), np.concatenate([values, np.array(new_values, float)])
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
    return places, values, jumps


def heights(values: np.ndarray) -> np.ndarray:
    """The values that a vertical axis is to hold: all of them, or without the tips of a pole, next to which nothing else is seen.

    >>> x = np.linspace(-1, 1, 200)
    >>> float((1 / x).max()) > 190, float(heights(1 / x).max()) < 60, float(heights(x).max())
    (True, True, 1.0)
    """
    flat = np.ravel(values)
    flat = flat[np.isfinite(flat)]
    if flat.size < 20:
        return flat
    low, high = np.percentile(flat, [3, 97])
    reach = 0.5 * (high - low)
    has_pole = flat.size < np.size(values) or np.ptp(flat) > 8 * (high - low) > 0
    return flat[(flat >= low - reach) & (flat <= high + reach)] if has_pole else flat


def _jump(f, low, high):
    """The two places around a jump, as close as the numbers allow; None where the function is continuous."""
    a, b = f(low), f(high)
    whole = abs(b - a)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        c = f(middle)
        if abs(c - a) >= abs(b - c):
            high, b = middle, c
        else:
            low, a = middle, c
        if not abs(b - a) > 0.6 * whole:
            return None
    return low, high


def contours(x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float) -> list[list[tuple[float, float]]]:
    """The lines along which a surface has a level (marching squares), as lists of points; a closed line ends where it begins.

    Shapes: x (m,), y (n,) ascending or descending; values (n, m).

    >>> grid = np.linspace(-2, 2, 41)
    >>> (circle,) = contours(grid, grid, grid[None] ** 2 + grid[:, None] ** 2, 1.0)
    >>> circle[0] == circle[-1], bool(np.allclose(np.hypot(*np.array(circle).T), 1, atol=0.01))
    (True, True)
    """
    above = values > level
    at = {}  # an edge of the grid -> where the level crosses it
    rows, columns = values.shape
    with np.errstate(all="ignore"):
        for i, j in np.argwhere(above[:, :-1] != above[:, 1:]):
            t = (level - values[i, j]) / (values[i, j + 1] - values[i, j])
            at["h", i, j] = float(x[j] + t * (x[j + 1] - x[j])), float(y[i])
        for i, j in np.argwhere(above[:-1] != above[1:]):
            t = (level - values[i, j]) / (values[i + 1, j] - values[i, j])
            at["v", i, j] = float(x[j]), float(y[i] + t * (y[i + 1] - y[i]))
    joined: dict = {edge: [] for edge in at}
    cells = {cell for kind, i, j in at for cell in [(i, j), (i - 1, j) if kind == "h" else (i, j - 1)]}
    for i, j in cells:
        if not (0 <= i < rows - 1 and 0 <= j < columns - 1):
            continue
        crossed = [edge for edge in (("h", i, j), ("v", i, j + 1), ("h", i + 1, j), ("v", i, j)) if edge in at]
        if len(crossed) == 4 and above[i, j] != (values[i : i + 2, j : j + 2].mean() > level):  # a saddle: which corners belong together
            crossed = [crossed[3], *crossed[:3]]
        for a, b in zip(crossed[::2], crossed[1::2]):
            joined[a].append(b)
            joined[b].append(a)
    return [[at[edge] for edge in line] for line in _lines(joined)]


def simplified(points: Sequence[tuple[float, float]], tolerance: float) -> list[tuple[float, float]]:
    """A line with as few of its points as tell it within a tolerance (Douglas and Peucker).

    >>> simplified([(0, 0), (1, 0.01), (2, 0), (3, 1)], 0.1)
    [(0, 0), (2, 0), (3, 1)]
    """
    line, kept, open_ = np.asarray(points, float), {0, len(points) - 1}, [(0, len(points) - 1)]
    while open_:
        a, b = open_.pop()
        if b - a < 2:
            continue
        along, from_a = line[b] - line[a], line[a + 1 : b] - line[a]
        size = float(np.hypot(*along))
        away = np.abs(along[0] * from_a[:, 1] - along[1] * from_a[:, 0]) / size if size else np.hypot(*from_a.T)
        k = int(away.argmax())
        if away[k] > tolerance:
            kept.add(a + 1 + k)
            open_ += [(a, a + 1 + k), (a + 1 + k, b)]
    return [points[k] for k in sorted(kept)]


def _lines(joined: dict) -> Iterable[list]:
    """The edges in the order of each line: open ones from end to end, then closed ones."""
    seen: set = set()
    for start in [*(e for e, others in joined.items() if len(others) == 1), *joined]:
        if start in seen:
            continue
        line, here = [], start
        while here is not None:
            seen.add(here)
            line.append(here)
            here = next((other for other in joined[here] if other not in seen), None)
        if len(line) > 2 and start in joined[line[-1]]:
            line.append(start)
        if len(line) > 1:
            yield line
