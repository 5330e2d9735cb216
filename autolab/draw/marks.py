"""Words, rectangles, arrows and marks as SVG text. `chart` has these names as well."""

import math
from html import escape

CHAR = 8.5  # pixels that a letter takes, at 14 px in the widest of the fonts asked for
HEAD = 9.7  # in a title
Pair = tuple[float, float]


def short(x: float, digits: int = 4) -> str:
    """A number for an axis or a cell: 0.5, -3, 1e-05, nan.

    >>> short(0.5), short(-3.0), short(1e-5)
    ('0.5', '-3', '1e-05')
    """
    x = float(x)
    return str(int(x)) if x.is_integer() and abs(x) < 1e5 else f"{x:.{digits}g}"


def words(x: float, y: float, text: object, kind: str = "", anchor: str = "start") -> str:
    """A line of text; `kind` is "head", "note", "value", "grad", "saved", "freed" or plain."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="al-t {f"al-{kind}" if kind else ""}">{escape(str(text))}</text>'


def rectangle(x: float, y: float, width: float, height: float, kind: str = "op") -> str:
    """A rectangle in the style of a node: "leaf", "op", "out", "custom", "grad", "saved", "freed" or "empty"."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" class="al-cell al-k-{kind}"/>'


def arrow(x0: float, y0: float, x1: float, y1: float, kind: str = "line") -> str:
    """A straight line with a tip at its end."""
    angle = math.atan2(y1 - y0, x1 - x0)
    tip = [(x1 - 8 * math.cos(angle + turn), y1 - 8 * math.sin(angle + turn)) for turn in (-0.45, 0.45)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*tip, (x1, y1)])
    return (
        f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="al-l al-l-{kind}"/>'
        f'<polygon points="{points}" class="al-m-{kind}"/>'
    )


def mark(x: float, y: float, kind: str, r: float = 5) -> str:
    """A circle, square, triangle or diamond."""
    if kind == "a":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="al-m-a"/>'
    # from its middle on: of many in a page only the middle differs, which packs well
    tall = r + 1.5
    shape = {
        "b": f"m{-r:g} {-r:g}h{2 * r:g}v{2 * r:g}h{-2 * r:g}", "c": f"m0 {-r - 1:g}l{r + 1:g} {2 * r + 1:g}h{-2 * r - 2:g}",
    }.get(kind, f"m0 {-tall:g}l{tall:g} {tall:g}l{-tall:g} {tall:g}l{-tall:g} {-tall:g}")  # fmt: skip
    return f'<path d="M{x:.1f} {y:.1f}{shape}z" class="al-m-{kind}"/>'
