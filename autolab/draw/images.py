"""Images and matrices in a row: digits, learned filters, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab.draw.cells import FAINT
from autolab.draw.chart import scale_legend
from autolab.draw.figure import WIDE, figure, numbers, omitted, table
from autolab.draw.marks import CHAR, short, words
from autolab.draw.svg import Picture

STEPS = 16  # shades of a colour
MOST = 40_000  # pixels in all
GAP = 12
MARKED = 16  # pixels of a cell that has room for the mark of what is below zero


def images(
    batch: Any, titles: Sequence[object] | None = None, *, columns: int = 8, scale: float | None = None, title: str = "",
    rows: Sequence[object] | None = None, across: Sequence[object] | None = None,
) -> Picture:  # fmt: skip
    """Draw images or matrices side by side, all on one scale.

    What is never below zero is grey, from the paper (0) to black ink. Otherwise blue is above zero and orange below, in shades
    up to the largest number; where there is room, what is below zero has a mark in its corner too.

    Parameters
    ----------
    batch : array_like
        Shapes: (n, h, w); (n, 1, h, w); or (h, w), a single one.
    titles : sequence, optional
        What is above each image, such as its label.
    columns : int
        How many are side by side, at most.
    scale : float, optional
        The number of the full colour; by default the largest of all. What is larger is drawn in the full colour.
    title : str
        A line above the picture.
    rows, across : sequence, optional
        Short words for the rows and the columns of every image, such as the letters of a text.

    Returns
    -------
    Picture
        A str of SVG that Jupyter shows as a picture; `.text` has the lowest, the mean and the highest number of each image, and the
        numbers themselves of a single small one.

    Raises
    ------
    TypeError
        If the values are no real numbers.
    ValueError
        If the shape is none of these, or if there are more than 40,000 pixels.

    Examples
    --------
    >>> print(images([[[0., 1.], [2., 0.]], [[0., 0.], [0., -1.]]], titles=["a", "b"]).text)
    2 images of 2 x 2, from -1 to 2: blue is above zero, orange below
       lowest   mean  highest
    a       0   0.75        2
    b      -1  -0.25        0
    """
    array = _as_batch(numbers(batch))
    n, h, w = array.shape
    told = [str(t) for t in titles] if titles is not None else [""] * n
    for name, given, size in (("titles", titles, n), ("rows", rows, h), ("across", across, w)):
        if given is not None and len(given) != size:
            raise ValueError(f"{name} has {len(given)} entries, and there are {size} to name: the images have shape {[n, h, w]}")
    finite = array[np.isfinite(array)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    signed, full = low < 0, scale or max(abs(low), abs(high)) or 1.0

    left = GAP + (8 + CHAR * max(len(str(r)) for r in rows) if rows is not None else 0)
    above = 22 * bool(titles is not None) + 20 * (across is not None)
    beside = GAP + (left - GAP) * (rows is not None)
    columns = max(1, min(columns, n))
    words_wide = max((CHAR * len(t) for t in told), default=0)
    smallest = max(CHAR * max(len(str(c)) for c in across) + 3 if across is not None else 1, 16 if rows is not None else 1)
    while columns > 1 and (max(smallest * w, words_wide) + beside) * columns + GAP > WIDE:
        columns -= 1
    cell = max(smallest, min((WIDE - GAP) / columns - beside, 360 if n == 1 else 110 if n > 4 else 150) / max(w, h), 1)
    cell = min(math.floor(cell), 36)
    pitch = max(cell * w, words_wide) + beside, cell * h + above + GAP
    head = 30 * bool(title) + 4
    corners = [(left + k % columns * pitch[0], head + above + k // columns * pitch[1]) for k in range(n)]
    height = head + math.ceil(n / columns) * pitch[1] + 34

    parts = [words(8, 22, title, "head")] if title else []
    for (x, y), name in zip(corners, told):
        parts += [words(x + cell * w / 2, y - 7 - 20 * (across is not None), name, "", "middle")] if name else []
        parts += [words(x + cell * (j + 0.5), y - 5, c, "note", "middle") for j, c in enumerate(across or ())]
        parts += [words(x - 5, y + cell * (i + 0.5) + 5, r, "note", "end") for i, r in enumerate(rows or ())]
    parts += [_pixels(array, corners, cell, full, signed), _frames(corners, cell * w, cell * h)]
    parts.append(scale_legend(GAP, height - 32, -full, full) if signed else _grey_legend(GAP, height - 32, full))
    what, text = _said(array, told if titles is not None else None, low, high, signed)
    notes = [note for note in [omitted(array, "")] if note]
    width = max(left + columns * pitch[0], 320 if signed else 260, 16 + 10 * len(title))
    return figure(parts, (width, height), (f"{title}: " if title else "") + what, "\n".join([*([title] if title else []), text, *notes]))


def _as_batch(array):
    if array.ndim == 4 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or not array.size:
        raise ValueError(
            f"images have shape (n, h, w), (n, 1, h, w) or (h, w), and this is {list(array.shape)}. "
            "Of several channels take one, images[:, 0], or draw all of them as images of their own: images.flatten(0, 1)."
        )
    if array.size > MOST:
        raise ValueError(
            f"{list(array.shape)} is {array.size} pixels, more than {MOST} are too many to draw; take some of them: images[:16]"
        )
    return array


def _pixels(array, corners, cell, full, signed):
    """All images in one scaled group: a path for each shade, with a stroke for each run of equal pixels."""
    share = np.nan_to_num(np.clip(array / full, -1, 1))
    level = np.rint(share * STEPS).astype(int)
    if signed:
        level = np.where((level == 0) & (share != 0), np.sign(share), level).astype(int)  # the smallest is seen not to be zero
    paths: dict[int, list[str]] = {}
    for image, (x, y) in zip(level, corners):
        pens: dict[int, tuple[int, int]] = {}  # where the path of each shade has ended in this image
        for i, row in enumerate(image):
            edges = [0, *(np.flatnonzero(np.diff(row)) + 1), len(row)]
            for a, b in zip(map(int, edges), map(int, edges[1:])):
                if k := int(row[a]):
                    move = f"M{x / cell + a:.6g} {y / cell + i + 0.5:.6g}"
                    if k in pens:
                        move = f"m{a - pens[k][0]} {i - pens[k][1]}".replace(" -", "-")
                    paths.setdefault(k, []).append(f"{move}h{b - a}")
                    pens[k] = b, i
    out = ""
    for k, runs in sorted(paths.items()):
        kind = "low" if k < 0 else "high" if signed else "ink"
        opacity = FAINT + (1 - FAINT) * abs(k) / STEPS if signed else k / STEPS
        out += f'<path d="{"".join(runs)}" class="al-i-{kind}" stroke-opacity="{opacity:.2f}"/>'
    group = f'<g class="al-pixels" transform="scale({cell})">{out}</g>'
    signs = "".join(
        f"M{x + j * cell:g} {y + i * cell + cell - 4:g}v4h4z"
        for image, (x, y) in zip(level, corners)
        for i, j in zip(*np.nonzero(image < 0))
        if cell >= MARKED
    )
    missing = "".join(
        f"M{x + j * cell:g} {y + i * cell:g}l{cell} {cell}m0 {-cell}l{-cell} {cell}"
        for image, (x, y) in zip(array, corners)
        for i, j in zip(*np.nonzero(~np.isfinite(image)))
    )
    group += f'<path d="{signs}" class="al-heat-sign"/>' if signs else ""
    return group + (f'<path d="{missing}" class="al-heat-edge"/>' if missing else "")


def _frames(corners, width, height):
    path = "".join(f"M{x:g} {y:g}h{width}v{height}h{-width}z" for x, y in corners)
    return f'<path d="{path}" class="al-heat-edge"/>'


def _grey_legend(x, y, full):
    out = words(x, y + 17, "0", "note")
    for k in range(9):
        at = f'x="{x + 15 + 12 * k:g}" y="{y + 4:g}" width="12" height="16"'
        out += f'<rect {at} class="al-s-ink" fill-opacity="{k / 8:.2f}"/><rect {at} class="al-heat-edge"/>'
    return out + words(x + 129, y + 17, short(full, 3), "note")


def _said(array, told, low, high, signed):
    n, h, w = array.shape
    what = f"{n} images of {h} x {w}" if n > 1 else f"an image of {h} x {w}"
    what += f", from {short(low, 3)} to {short(high, 3)}: " + ("blue is above zero, orange below" if signed else "0 is the paper")
    if n == 1 and array.size <= 100:
        rows = [[short(v, 3) for v in row] for row in array[0]]
        return what, "\n".join([what, *(told or ()), table([["", *row] for row in rows])])
    rows = [["", "lowest", "mean", "highest"]]
    for name, image in zip(told or map(str, range(n)), array):
        finite = image[np.isfinite(image)]
        rows.append([name, *(short(v, 3) for v in ((finite.min(), finite.mean(), finite.max()) if finite.size else [math.nan] * 3))])
    return what, "\n".join([what, table(rows)])
