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

FRAMES = 12  # so many of a timeline, evenly spaced, in a strip
ANIMATED = 30  # and in an animation
GLIDE = 0.4  # seconds, for what is elsewhere in the next picture; and this share of a picture's time at most
ROW = 1500  # pixels: a strip wider than this goes on below
LINE = 20  # pixels from line to line of a sentence
GAP = 24
SECONDS = 2  # for which a picture of a GIF is seen, unless the call says how long
ONE_SHOT = 8000  # pixels: pictures of a GIF are drawn below each other, so many of a file at most
# What has a key in the explorables (draw/touch.py), and where its first element is.
KEYED = re.compile(
    r'<g (?=data-key="([^"]*)"[^>]*>(?:<g transform="translate\(|<(?:rect|text) x="|<circle cx="|<path d="M)'
    r'([-\d.]+)(?:" c?y="|[ ,])([-\d.]+))'
)
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
        If there are no pairs, `seconds` is not above 0, an animation has another suffix than .svg or .gif, or the suffix is unknown.
    ImportError
        If a GIF is asked for and Pillow is not installed.
    """
    name, suffix = Path(path).name, Path(path).suffix
    if not stills:
        raise ValueError(f"{name}: a film needs one state at least, and `states` is empty")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{name}: seconds is {seconds}, expected a number above 0")
    if suffix == ".gif":
        return _gif(stills, Path(path).absolute(), title, seconds or SECONDS)
    if seconds is not None and suffix != ".svg":
        raise ValueError(f"{name}: an animation is written as .svg or .gif; without `seconds`, the states are a strip")
    return write(strip(stills) if seconds is None else moving(stills, seconds), path, title)


def strip(stills: list[tuple[str, str]]) -> str:
    """Pictures with their sentences side by side, as one SVG text. `stills`: (picture, sentence) pairs."""
    sizes = [tuple(map(int, SIZE.search(svg).groups())) for svg, _ in stills]
    wide = max(w for w, _ in sizes)
    lines = [textwrap.wrap(f"{k}. {said}", int(wide / CHAR)) for k, (_, said) in enumerate(stills, 1)]
    across = max(1, ROW // (wide + GAP))
    parts, below = [], GAP / 2
    for first in range(0, len(stills), across):
        row = range(first, min(first + across, len(stills)))
        for k in row:
            (svg, _), (_, height) = stills[k], sizes[k]
            x = GAP / 2 + k % across * (wide + GAP)
            parts.append(f'<svg x="{x}" y="{below}"{_bare(svg).removeprefix("<svg")}')
            parts += [words(x, below + height + LINE * (i + 1), line) for i, line in enumerate(lines[k])]
        below += max(sizes[k][1] + LINE * len(lines[k]) for k in row) + 12 + GAP
    return _whole(parts, min(across, len(stills)) * (wide + GAP), below - GAP / 2, "")


def moving(stills: list[tuple[str, str]], seconds: float) -> str:
    """Pictures with their sentences one after the other, for so many seconds each, over and over: an SVG that moves by CSS alone.

    What has the same key in two pictures glides from its place in the first. A viewer that moves nothing shows the last picture.
    """
    slides, wide, tall = _slides(stills)
    slides = [slides[0], *map(_gliding, slides, slides[1:])]
    share, whole = 100 / len(stills), seconds * len(stills)
    glide = share * min(GLIDE, GLIDE / seconds)
    style = (
        f"@keyframes al-film{{0%{{opacity:1}}{share:.4f}%{{opacity:0}}100%{{opacity:0}}}}"
        f"@keyframes al-glide{{0%{{transform:translate(var(--x),var(--y))}}{glide:.4f}%{{transform:none}}100%{{transform:none}}}}"
        ".al-film:not(:last-of-type){opacity:0}"
        f"@media (prefers-reduced-motion:no-preference){{.al-film{{animation:al-film {whole:g}s step-end infinite var(--at)}}"
        f"[style^=--x]{{animation:al-glide {whole:g}s ease-in-out infinite var(--at)}}}}"
    )
    # As if it had begun one round ago: so a picture that is not yet due is hidden.
    parts = [f'<g class="al-film" style="--at:{k * seconds - whole:g}s">{slide}</g>' for k, slide in enumerate(slides)]
    return _whole(parts, wide, tall, style)


def _gliding(before, slide):
    """A picture in which what has moved since the one before is told how far."""
    was = {name: at for name, at, _ in _keyed(before)}
    out, end = [], 0
    for name, (x, y), start in _keyed(slide):
        dx, dy = (old - new for old, new in zip(was.get(name, (x, y)), (x, y)))
        if abs(dx) + abs(dy) > 0.5:
            out += [slide[end:start], f'style="--x:{dx:g}px;--y:{dy:g}px" ']
            end = start
    return "".join([*out, slide[end:]])


def _keyed(slide):
    """Key, place and index in the text of each part that has a key; two with the same key are told apart by their order."""
    names = set()
    for found in KEYED.finditer(slide):
        name = found[1]
        while name in names:
            name += "+"
        names.add(name)
        yield name, (float(found[2]), float(found[3])), found.end()


def _slides(stills):
    """Each picture with its sentence below it, in boxes of one size: what is in the boxes, their width and height."""
    sizes = [tuple(map(int, SIZE.search(svg).groups())) for svg, _ in stills]
    wide, high = max(w for w, _ in sizes), max(h for _, h in sizes)
    lines = [textwrap.wrap(said, int((wide - 16) / CHAR)) for _, said in stills]
    slides = [
        _bare(svg) + "".join(words(8, high + LINE * (i + 1), line) for i, line in enumerate(told)) for (svg, _), told in zip(stills, lines)
    ]
    return slides, wide, high + LINE * max(map(len, lines)) + 12


def _gif(stills, path, title, seconds):
    """Write an animation in pixels. One run of a program draws many pictures, below each other, and Pillow cuts them apart."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            f'{path.name}: a GIF needs Pillow, which is not installed: pip install "autolab-grad[lab]". An animation as .svg needs nothing.'
        ) from None
    slides, wide, tall = _slides(stills)
    at_once = max(1, ONE_SHOT // tall)
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(0, len(slides), at_once):
            some = slides[k : k + at_once]
            column = [f'<svg y="{i * tall}" width="{wide}" height="{tall}">{slide}</svg>' for i, slide in enumerate(some)]
            with Image.open(write(_whole(column, wide, tall * len(some), ""), Path(folder) / "column.png", title)) as drawn:
                drawn = drawn.convert("RGB")
            pixels = _in_256_colours(drawn)
            high = pixels.height / len(some)
            pictures += [pixels.crop((0, round(i * high), pixels.width, round(i * high) + int(high))) for i in range(len(some))]
    told = "\n".join([title, *(said for _, said in stills)])  # for those who open the file as text: a GIF has no other words
    pictures[0].save(
        path, save_all=True, append_images=pictures[1:], duration=round(1000 * seconds), loop=0, disposal=1, comment=told.encode()
    )
    return path


def _in_256_colours(drawn):
    """A picture with a palette. Each colour is the commonest of those that it is for, and not their mean, so plain areas keep theirs."""
    from PIL import Image

    plain = {"dither": Image.Dither.NONE}  # dithering makes plain areas noisy and the file large
    few = drawn.resize((drawn.width // 3, drawn.height // 3), Image.Resampling.NEAREST)  # a ninth of the pixels: eight times as fast
    palette = few.quantize(256, kmeans=1, **plain)
    colours = [colour for _, colour in sorted(few.getcolors(few.width * few.height))]
    each = Image.new("RGB", (len(colours), 1))
    each.putdata(colours)
    table = palette.getpalette()
    for k, colour in zip(each.quantize(palette=palette, **plain).tobytes(), colours):  # the commonest is the last to come
        table[3 * k : 3 * k + 3] = colour
    pixels = drawn.quantize(palette=palette, **plain)
    pixels.putpalette(table)
    return pixels


def _bare(svg):
    return re.sub(r"<style>.*?</style>", "", svg, flags=re.S)  # the whole has it once


def _whole(parts, width, height, style):
    width, height = round(width), round(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="al-svg al-plot" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<style>{STYLE}{style}</style><rect class="al-paper" width="{width}" height="{height}"/>{"".join(parts)}</svg>'
    )
