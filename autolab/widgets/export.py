"""What an instructor takes from an explorable: a picture for slides and print, a strip of its states, an animation."""

import html
import re
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path

from autolab.draw.marks import CHAR, words
from autolab.draw.style import STYLE

FRAMES = 12  # so many of a timeline, evenly spaced
ROW = 1500  # pixels: a strip wider than this goes on below
LINE = 20  # pixels from line to line of a sentence
GAP = 24
SIZE = re.compile(r'width="(\d+)" height="(\d+)"')

# What turns an SVG file into another: the first that is there does it. {svg}, {page}: the file, and an HTML page that holds it.
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
TOOLS = {
    ".png": {
        "rsvg-convert": ["--zoom=2", "--output={out}", "{svg}"],
        "inkscape": ["--export-type=png", "--export-dpi=192", "--export-filename={out}", "{svg}"],
        "chromium": [*BROWSER, "--force-device-scale-factor=2", "--window-size={width},{height}", "--screenshot={out}", "{page}"],
    },
    ".pdf": {
        "rsvg-convert": ["--format=pdf", "--output={out}", "{svg}"],
        "inkscape": ["--export-type=pdf", "--export-filename={out}", "{svg}"],
        "chromium": [*BROWSER, "--no-pdf-header-footer", "--print-to-pdf={out}", "{page}"],
    },
}
ALSO = {"chromium": ("chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>{title}</title>
<style>@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} svg {{ display: block }}</style>{svg}"""


def write(svg: str, path: str | Path, title: str = "") -> Path:
    """Write an SVG text as a file of the kind that its suffix says: .svg, .png or .pdf. Returns the absolute path.

    Raises
    ------
    ValueError
        If the suffix is another one.
    RuntimeError
        If no program is there that makes such a file.
    """
    path = Path(path).absolute()
    if path.suffix == ".svg":
        path.write_text(svg, "utf-8")
        return path
    if path.suffix not in TOOLS:
        raise ValueError(f"{path.name}: an explorable is saved as .html, .svg, .png or .pdf")
    program, arguments = _tool(path.suffix)
    with tempfile.TemporaryDirectory() as folder:
        source, page = Path(folder) / "picture.svg", Path(folder) / "picture.html"
        width, height = SIZE.search(svg).groups()
        source.write_text(svg, "utf-8")
        page.write_text(PAGE.format(title=html.escape(title), width=width, height=height, svg=svg), "utf-8")
        names = {"out": path, "svg": source, "page": page.as_uri(), "width": width, "height": height}
        path.unlink(missing_ok=True)
        done = subprocess.run([program, *(a.format(**names) for a in arguments)], capture_output=True, text=True, timeout=120)
    if done.returncode or not path.exists():
        raise RuntimeError(f"{program} did not write {path.name}: {done.stderr.strip()[-500:]}")
    return path


def _tool(suffix):
    for name, arguments in TOOLS[suffix].items():
        program = next(filter(None, map(shutil.which, (name, *ALSO.get(name, ())))), None)
        if program:
            return program, arguments
    raise RuntimeError(
        f"A {suffix} file needs rsvg-convert (apt install librsvg2-bin), Inkscape or Chromium, and none of them is installed. "
        "Without them, save as .svg: browsers, word processors and LaTeX (the svg package) take it."
    )


def film(stills: list[tuple[str, str]], path: str | Path, title: str, seconds: float | None = None) -> Path:
    """Write (picture, sentence) pairs as a strip, or as an animation that shows each for so many seconds. Returns the absolute path.

    Raises
    ------
    ValueError
        If an animation has another suffix than .svg, or the suffix is unknown.
    """
    if seconds is not None and Path(path).suffix != ".svg":
        raise ValueError(f"{Path(path).name}: an animation is written as .svg; a GIF can be made of it by ffmpeg or a screen recorder")
    return write(strip(stills) if seconds is None else moving(stills, seconds), path, title)


def strip(stills: list[tuple[str, str]]) -> str:
    """Pictures with their sentences side by side, as one SVG text. `stills`: (picture, sentence) pairs."""
    sizes = [tuple(map(int, SIZE.search(svg).groups())) for svg, _ in stills]
    wide = max(w for w, _ in sizes)
    lines = [textwrap.wrap(f"{k}. {said}", int(wide / CHAR)) for k, (_, said) in enumerate(stills, 1)]
    tall = max(h for _, h in sizes) + LINE * max(map(len, lines)) + 12
    across = max(1, ROW // (wide + GAP))
    parts = []
    for k, ((svg, _), (_, height)) in enumerate(zip(stills, sizes)):
        x, y = GAP / 2 + k % across * (wide + GAP), GAP / 2 + k // across * (tall + GAP)
        parts.append(f'<svg x="{x}" y="{y}"{_bare(svg).removeprefix("<svg")}')
        parts += [words(x, y + height + LINE * (i + 1), line) for i, line in enumerate(lines[k])]
    columns, rows = min(across, len(stills)), -(-len(stills) // across)
    return _whole(parts, columns * (wide + GAP), rows * (tall + GAP), "")


def moving(stills: list[tuple[str, str]], seconds: float) -> str:
    """Pictures with their sentences one after the other, for so many seconds each, over and over: an SVG that moves by CSS alone."""
    sizes = [tuple(map(int, SIZE.search(svg).groups())) for svg, _ in stills]
    wide, high = max(w for w, _ in sizes), max(h for _, h in sizes)
    lines = [textwrap.wrap(said, int(wide / CHAR)) for _, said in stills]
    share, whole = 100 / len(stills), seconds * len(stills)
    style = (
        f"@keyframes al-film{{0%{{opacity:1}}{share:.4f}%{{opacity:0}}100%{{opacity:0}}}}"
        f".al-film{{opacity:0;animation:al-film {whole:g}s step-end infinite}}"
        "@media (prefers-reduced-motion:reduce){.al-film{animation:none}.al-film:last-of-type{opacity:1}}"
    )
    parts = [
        f'<g class="al-film" style="animation-delay:{k * seconds:g}s">{_bare(svg)}'
        + "".join(words(8, high + LINE * (i + 1), line) for i, line in enumerate(lines[k])) + "</g>"
        for k, (svg, _) in enumerate(stills)
    ]  # fmt: skip
    return _whole(parts, wide, high + LINE * max(map(len, lines)) + 12, style)


def _bare(svg):
    return re.sub(r"<style>.*?</style>", "", svg, flags=re.S)  # the whole has it once


def _whole(parts, width, height, style):
    width, height = round(width), round(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="al-svg al-plot" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<style>{STYLE}{style}</style><rect class="al-paper" width="{width}" height="{height}"/>{"".join(parts)}</svg>'
    )
