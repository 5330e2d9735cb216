"""What `plot`, `histogram` and `images` have in common: numbers in, a picture with a text twin out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from autolab.draw.style import STYLE, paint, variables
from autolab.draw.svg import Picture

WIDE = 640  # pixels: a column of text in a notebook

# Kinds of lines and marks beside those of style.py, which every picture carries, and the steps of an image.
MORE = f"""
.al-l-d{{stroke-dasharray:10 3 2 3;{paint(stroke="group-edge")}}}.al-m-d{{{paint(fill="group-edge")}}}
.al-l-e{{stroke-dasharray:14 4;{paint(stroke="grad-edge")}}}.al-m-e{{{paint(fill="grad-edge")}}}
.al-l-f{{stroke-dasharray:1 3;{paint(stroke="ink")}}}.al-m-f{{{paint(fill="ink")}}}
.al-l-zero{{stroke-width:1;{paint(stroke="line")}}}
.al-pixels{{fill:none;stroke-width:1;shape-rendering:crispEdges}}
.al-i-high{{{paint(stroke="heat-high")}}}.al-i-low{{{paint(stroke="heat-low")}}}.al-i-ink{{{paint(stroke="ink")}}}
.al-s-ink{{stroke:none;{paint(fill="ink")}}}
"""
# The picture is an image of its own (then it is the root, and the system chooses) or part of a page that knows its theme.
DARK = "[data-jp-theme-light=false] .al-figure,.vscode-dark .al-figure,html[theme=dark] .al-figure,body[data-theme=dark] .al-figure"


def numbers(values: Any, name: str = "") -> np.ndarray:
    """A tensor, an array, or a list of numbers or of tensors, as an array of float64; nothing is recorded."""
    if isinstance(values, list | tuple):
        values = [v.detach() if hasattr(v, "detach") else v for v in values]
    if hasattr(values, "detach"):
        values = values.detach()
    of = f" of {name!r}" if name else ""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("they are complex")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the values{of} are not real numbers: {error}. Give a tensor, an array or a list; of complex numbers z.real or z.abs()."
        ) from error


def named(values: Any) -> dict[str, Any]:
    """Several by name, or a single one whose name is empty."""
    return {str(name): one for name, one in values.items()} if isinstance(values, dict) else {"": values}


def omitted(array: np.ndarray, name: str, rest: str = "") -> str:
    """A sentence about the numbers that a picture cannot show; empty if there are none."""
    nan, inf = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    parts = [f"{count} {what}" for count, what in ((nan, "nan"), (inf, "infinite")) if count] + [rest] * bool(rest)
    return f"left out{f' of {name}' if name else ''}: {', '.join(parts)}" if parts else ""


def table(rows: Iterable[Sequence[str]]) -> str:
    """Columns of text: the first to the left, the others to the right."""
    rows = [list(row) for row in rows]
    wide = [max(len(cell) for cell in column) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, wide))).rstrip() for row in rows
    )


def used_style(svg: str) -> str:
    """The rules of the house that a picture needs, for this kind of picture alone, and its colours on dark ground.

    A page may hold many pictures, and a rule of a later one comes after all of an earlier one: so each brings every kind of line.
    """
    classes = {name for names in re.findall(r'class="([^"]*)"', svg) for name in names.split()}
    light = ""
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", STYLE + MORE):
        for selector in selectors.strip().split(","):
            asked = set(re.findall(r"\.(al-[\w-]+)", selector))
            if asked <= classes or ("al-l" in classes and selector.startswith(".al-l-")):
                light += f"{selector if selector.startswith('.al-svg') else f'.al-figure {selector}'}{{{body}}}"
    colours = set(re.findall(r"var\((--al-[\w-]+)", light))
    dark = "".join(f"{one};" for one in variables("dark").split(";") if one.split(":")[0] in colours)
    system = "@media (prefers-color-scheme:dark)"
    return f"{light}{DARK}{{{dark}}}{system}{{.al-figure:root,body[data-theme=auto] .al-figure{{{dark}}}}}"


def figure(parts: Iterable[str], size: tuple[float, float], label: str, text: str) -> Picture:
    """The whole as one picture, which says what it shows: to a screen reader, and as text."""
    width, height = round(size[0]), round(size[1])
    inside = f'<rect class="al-paper" width="{width}" height="{height}" rx="8"/>{"".join(parts)}'
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="al-svg al-figure" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    )
    style = used_style(opening + inside)
    desc = f"<desc>{escape(text)}</desc>"
    return Picture(f'{opening} role="img" aria-label="{escape(label)}">{desc}<style>{style}</style>{inside}</svg>', text)
