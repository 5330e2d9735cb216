"""The two Jacobians side by side, as SVG and as text: a row for each result, a column for each entry of the input."""

from __future__ import annotations

import html

import numpy as np

from ..diagnosis.gradients.jacobian_rows import Jacobians

LARGEST = 40  # rows or columns; beyond that a cell is too small to see
CELL, GAP, TOP = 11, 36, 22


def fits(rows: int, columns: int) -> bool:
    """Can a Jacobian of this size be drawn?"""
    return 0 < rows <= LARGEST and 0 < columns <= LARGEST


def summary(pair: Jacobians) -> str:
    """One sentence: the size, and how many derivatives differ, are missing, or are too many."""
    differ, yours, right = ~pair.same, ~pair.zero, pair.needed
    counts = [(int((differ & right & ~yours).sum()), "missing"), (int((differ & yours & ~right).sum()), "too many")]
    more = "".join(f", {n} {word}" for n, word in counts if n)
    rows, columns = pair.right.shape
    return f"d result / d {pair.x}, {rows} by {columns}: {int(differ.sum())} of {differ.size} derivatives differ{more}"


def svg(pair: Jacobians) -> str:
    """Both matrices: filled where a derivative is not 0, outlined where yours differs from the right one.

    Blue is positive and orange negative, the darker the larger; a minus sign appears in what is negative.
    """
    rows, columns = pair.right.shape
    width, height = 2 * columns * CELL + GAP, rows * CELL + TOP + 4
    scale = max(np.abs(pair.right).max(initial=0.0), np.abs(np.where(np.isfinite(pair.yours), pair.yours, 0)).max(initial=0.0)) or 1.0
    parts = []
    for k, (title, matrix) in enumerate((("yours", pair.yours), ("right", pair.right))):
        left = k * (columns * CELL + GAP)
        parts.append(f"<text x='{left}' y='14' font-size='12' fill='currentColor'>{title}</text>")
        size = f"width='{columns * CELL}' height='{rows * CELL}'"
        parts.append(f"<rect x='{left}' y='{TOP}' {size} fill='none' stroke='currentColor' stroke-opacity='.35'/>")
        parts += [_cell(left, i, j, value, scale) for (i, j), value in np.ndenumerate(matrix) if value]
    for i, j in np.argwhere(~pair.same):
        parts.append(
            f"<rect x='{j * CELL + 1}' y='{TOP + i * CELL + 1}' width='{CELL - 2}' height='{CELL - 2}' fill='none' stroke='currentColor'/>"
        )
    words = html.escape(summary(pair))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label='{words}' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}'><title>{words}</title>{''.join(parts)}</svg>"
    )


def _cell(left: int, i: int, j: int, value: float, scale: float) -> str:
    x, y = left + j * CELL, TOP + i * CELL
    if not np.isfinite(value):
        return f"<text x='{x + 2}' y='{y + 9}' font-size='9' fill='currentColor'>?</text>"
    strength = 0.25 + 0.75 * min(abs(value) / scale, 1.0)
    fill = "#0072b2" if value > 0 else "#d55e00"
    box = f"<rect x='{x + 1}' y='{y + 1}' width='{CELL - 2}' height='{CELL - 2}' fill='{fill}' fill-opacity='{strength:.2f}'/>"
    middle = y + CELL / 2
    return box if value > 0 else f"{box}<path d='M{x + 3} {middle}h{CELL - 6}' stroke='#fff' stroke-width='1.2'/>"


def text(pair: Jacobians) -> str:
    """The same for a terminal: + and - where a derivative is not 0, . where it is; marked with ! where yours differs."""
    differ = ~pair.same
    lines = [summary(pair), f"  {'yours':{2 * pair.right.shape[1] + 2}}right"]
    for i in range(len(pair.right)):
        yours = "".join(f"{_sign(v, pair)}{'!' if differ[i, j] else ' '}" for j, v in enumerate(pair.yours[i]))
        lines.append(f"  {yours}  {' '.join(_sign(v, pair) for v in pair.right[i])}")
    return "\n".join(lines)


def _sign(value: float, pair: Jacobians) -> str:
    if not np.isfinite(value):
        return "?"
    return "." if pair.is_zero(value) else "+" if value > 0 else "-"
