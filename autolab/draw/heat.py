"""Tensors to see, as SVG text: cells on one colour scale for small ones, a histogram for large ones.

Blue is above zero, orange below, the paper is zero; what is below zero has a mark in its corner too. `chart` has these names as well.
"""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import ArrayLike

from autolab.draw.cells import FAINT
from autolab.draw.marks import CHAR, Pair, short, words


def heat(
    x: float, y: float, array: ArrayLike, size: Pair | None = None, scale: float | None = None, texts: list | None = None,
    label: str = "tensor",
) -> str:  # fmt: skip
    """A tensor as cells: each is coloured by its number, and says it when it is pointed at or has the focus.

    Parameters
    ----------
    x, y : float
        The left upper corner.
    array : array_like
        Leading dimensions are below each other.
    size : (float, float), optional
        Of a cell. By default wide enough for numbers up to eight columns.
    scale : float, optional
        The number of the full colour; by default the largest in the array.
    texts : list of lists of str, optional
        What the cells show. By default the numbers, where there is room for them.
    label : str
        What a screen reader calls the tensor.
    """
    array = np.asarray(array, float)
    shape, grid = array.shape, array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    width, height = size or ((60, 30) if grid.shape[1] <= 8 else (18, 18))
    if texts is None and width >= 6 * CHAR and height >= 18:
        texts = [[short(v, 3) for v in row] for row in grid]
    full = scale or max(np.abs(grid[np.isfinite(grid)]).max(initial=0.0), 1e-300)
    indices = list(np.ndindex(*shape))
    out = [f'<g class="al-tensor" role="group" aria-label="{escape(label)}, shape {list(shape)}" data-columns="{grid.shape[1]}">']
    for k, value in enumerate(grid.ravel()):
        i, j = divmod(k, grid.shape[1])
        told = f"{label}[{', '.join(map(str, indices[k]))}] = {short(value)}" if shape else f"{label} = {short(value)}"
        text = texts[i][j] if texts is not None else ""
        out.append(_cell(x + j * width, y + i * height, width, height, value, full, text, told))
    return "".join(out) + "</g>"


def _cell(x, y, w, h, value, full, text, told):
    share = FAINT + (1 - FAINT) * min(abs(value) / full, 1.0) if value and value == value else 0.0
    box = f'x="{x:.1f}" y="{y:.1f}" width="{w - 2:.1f}" height="{h - 2:.1f}"'
    fill = f'<rect {box} class="al-heat-{"low" if value < 0 else "high"}" fill-opacity="{share:.2f}"/>' if share else ""
    sign = f'<path d="M{x:.1f} {y + h - 8:.1f}v6h6z" class="al-heat-sign"/>' if value < 0 else ""
    if value != value and not text:
        sign = f'<path d="M{x + 4:.1f} {y + 4:.1f}L{x + w - 6:.1f} {y + h - 6:.1f}" class="al-heat-edge"/>'
    written = words(x + w / 2 - 1, y + h / 2 + 4, text, "", "middle") if text else ""
    return (
        f'<g class="al-heat-cell" tabindex="-1" role="img" aria-label="{escape(told)}"><title>{escape(told)}</title>'
        f'<rect {box} class="al-paper"/>{fill}<rect {box} class="al-heat-edge"/>{sign}{written}</g>'
    )


def scale_legend(x: float, y: float, low: float, high: float, beyond: bool = False) -> str:
    """The colour scale with its ends, 24 pixels high and `scale_width(low, high, beyond)` wide. `beyond`: values may lie outside."""
    full = max(abs(low), abs(high)) or 1.0
    first, last = _ends(low, high, beyond)
    out = words(x, y + 17, first, "note")
    left = x + len(first) * CHAR + 6
    for k, value in enumerate(np.linspace(low, high, 9)):
        out += _swatch(left + 12 * k, y + 4, value / full)
    return out + words(left + 114, y + 17, last, "note")


def scale_width(low: float, high: float, beyond: bool = False) -> float:
    """How many pixels `scale_legend` takes."""
    return 120 + sum(map(len, _ends(low, high, beyond))) * CHAR


def _ends(low, high, beyond):
    return [sign * beyond + short(end, 3) for sign, end in (("≤ ", low), ("≥ ", high))]


def _swatch(x, y, share):
    box = f'x="{x:.1f}" y="{y:.1f}" width="12" height="16"'
    sign = f'<path d="M{x:.1f} {y + 10:.1f}v6h6z" class="al-heat-sign"/>' if share < 0 else ""
    return (
        f'<rect {box} class="al-paper"/><rect {box} class="al-heat-{"low" if share < 0 else "high"}" fill-opacity="{abs(share):.2f}"/>'
        f'<rect {box} class="al-heat-edge"/>{sign}'
    )


def distribution(x: float, y: float, array: ArrayLike, size: Pair = (180, 70), kind: str = "a", bins: int = 24) -> str:
    """A small histogram of a large tensor, with its smallest and largest number below, and a line at zero."""
    flat = np.asarray(array, float).ravel()
    finite = flat[np.isfinite(flat)]
    width, height = size[0], size[1] - 22
    foot = y + height
    if not finite.size:
        return words(x, foot + 16, "nothing finite" if flat.size else "empty", "note")
    low, high = float(finite.min()), float(finite.max())
    counts = np.histogram(finite, bins if high > low else 1)[0]
    step, out = width / len(counts), ""
    for k, count in enumerate(counts):
        if count:
            tall = max(count / counts.max() * height, 1)
            box = f'x="{x + k * step:.1f}" y="{foot - tall:.1f}" width="{max(step - 1, 1):.1f}" height="{tall:.1f}"'
            out += f'<rect {box} class="al-cell al-k-{kind}"/>'
    if low < 0 < high:
        zero = x + width * -low / (high - low)
        out += f'<path d="M{zero:.1f} {y:.1f}V{foot:.1f}" class="al-l al-l-line"/>'
    lost = f", {flat.size - finite.size} not finite" if finite.size < flat.size else ""
    told = f"{flat.size} numbers from {short(low, 3)} to {short(high, 3)}{lost}"
    return (
        f'<g role="img" aria-label="{told}"><title>{told}</title><path d="M{x:.1f} {foot:.1f}h{width:.1f}" class="al-axes"/>{out}'
        f"{words(x, foot + 17, short(low, 3), 'note')}{words(x + width, foot + 17, short(high, 3), 'note', 'end')}</g>"
    )


__all__ = ["distribution", "heat", "scale_legend", "scale_width"]
