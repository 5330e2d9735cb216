"""Heat maps whose cells can be pressed, for the explorables of softmax, attention and convolution."""

from __future__ import annotations

import re
from html import escape

import numpy as np

from autolab.draw import chart
from autolab.trace.values import number

GAP = 6
TILE = 238  # pixels: a part of the picture that a small screen shows in full


def brief(value: float) -> str:
    """A number in five characters. "0" is exactly zero, "0.00" is a small number of either sign.

    >>> brief(0.0), brief(-0.001), brief(-2.5), brief(-31.25), brief(1234567.0)
    ('0', '0.00', '-2.50', '-31.2', '1e6')
    """
    value = float(value)
    if not np.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e4:
        return str(int(value))
    texts = (f"{value:z.{digits}f}" for digits in (2, 1, 0))
    return next((t for t in texts if len(t) <= 5), f"{value:.0e}".replace("e+0", "e").replace("e+", "e"))


def factor(value: float, digits: int = 3) -> str:
    """A number as a factor or a term: in brackets if it is below zero."""
    return f"({number(value, digits)})" if value < 0 else number(value, digits)


def heat_map(x, y, array, name, size, scale, control="", stops=None, known=None, masked=None):
    """A matrix as a list of parts: coloured cells. If some are not yet known, each cell is a part that frames share.

    Parameters
    ----------
    x, y : float
        The left upper corner, in pixels.
    array : ndarray
        A matrix.
    name : str
        The name of its entries, for a screen reader and for what is pointed at.
    size : (float, float)
        Of a cell, in pixels.
    scale : float
        The number of the full colour.
    control : str
        The control that pressing a cell sets, to the entry of `stops` in the place of the cell; without one no cell can be pressed.
    stops : list of lists, optional
    known : matrix of bool, optional
        Cells that are shown; the others are empty.
    masked : matrix of bool, optional
        Cells that are crossed out.
    """
    array = np.atleast_2d(np.asarray(array, float))
    out = []
    for i, row in enumerate(array):
        for j, value in enumerate(row):
            place = x + j * size[0], y + i * size[1]
            at = f"[{j}]" if len(array) == 1 else f"[{i}, {j}]"
            if masked is not None and masked[i][j]:
                inside, told = _crossed(*place, *size), f"{name}{at} is masked"
            elif known is None or known[i][j]:
                said = dict.fromkeys((brief(value), number(value, 3))) if control else [number(value, 3)]
                inside, told = _coloured(*place, *size, value, scale), f"{name}{at} = {', '.join(said)}"
            else:
                inside, told = chart.rectangle(*place, size[0] - 2, size[1] - 2, "empty"), f"{name}{at}, not yet known"
            if control:
                part = chart.pressable(inside, set=(control, stops[i][j]), label=told)
                part = re.sub('data-key="[^"]*"', f'data-key="{name}{i},{j}"', part, count=1)  # two cells may set the same stop
                out.append(part.replace('class="al-press"', 'class="al-press al-heat-cell"', 1))
            else:
                out.append(f'<g class="al-heat-cell" role="img" aria-label="{escape(told)}">{inside}</g>')
    out = ["".join(out)] if known is None else out
    group = f'class="al-tensor" role="group" aria-label="{escape(name)}" data-columns="{array.shape[1]}"'
    about = group if known is None else "" if control else 'aria-hidden="true"'  # single cells are not a tensor to walk through
    return [f'<g text-anchor="middle" {about}>{part}</g>' for part in out]


def _coloured(x, y, width, height, value, scale):
    # Paths and whole pixels: half of the text that `chart.heat` needs, and a page of several hundred states stays small.
    box, share = _box(x, y, width, height), min(abs(value) / scale, 1.0) if scale else 0.0
    fill = f'<path d="{box}" class="al-heat-{"low" if value < 0 else "high"}" fill-opacity="{share:.2g}"/>' if share > 0.004 else ""
    sign = f'<path d="M{x:g} {y + height - 8:g}v6h6z" class="al-heat-sign"/>' if value < 0 else ""
    said = f'<text x="{x + width // 2 - 1:g}" y="{y + height // 2 + 4:g}">{brief(value)}</text>'
    return f'{fill}{sign}<path d="{box}" class="al-heat-edge"/>{said}'


def _crossed(x, y, width, height):
    cross = f'<path d="M{x + 5:g} {y + 5:g}l{width - 12:g} {height - 12:g}" class="al-l al-l-line"/>'
    return f'<path d="{_box(x, y, width, height)}" class="al-heat-edge"/>{cross}'


def _box(x, y, width, height):
    return f"M{x:g} {y:g}h{width - 2:g}v{height - 2:g}h{2 - width:g}z"


def middle(x, y, i, j, size):
    """The middle of a cell of a matrix, in pixels."""
    return x + (j + 0.5) * size[0] - 1, y + (i + 0.5) * size[1] - 1


__all__ = ["GAP", "TILE", "brief", "factor", "heat_map", "middle"]
