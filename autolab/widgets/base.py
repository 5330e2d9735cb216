"""What every explorable shares: the one ES module, its style, the output that draws itself, the page that works from disk.

An output in a notebook is HTML: a still picture, and a script that draws the explorable over it from data that was saved with
it. So a notebook that is opened again needs no kernel to show its explorables, and a viewer that runs no script has the
picture. When Python keeps a model for the output (it has the same `key`), the two are joined; see static/page.mjs.
"""

import base64
import hashlib
import html
import os
import re
import sys
import uuid
from pathlib import Path

import anywidget
import traitlets

from autolab.draw.style import STYLE, variables
from autolab.widgets.export import ANIMATED, FRAMES, film, write
from autolab.widgets.packing import compress, is_table, table, to_json

STATIC = Path(__file__).parent / "static"
# One module for the browser, in files by view. They share their names, so no file needs to import another; no view needs another view.
VIEWS = "stepper", "explorer", "quiz", "panel", "builder"
SOURCES = {name: (STATIC / f"{name}.mjs").read_text("utf-8") for name in ("elements", "page", "graph", "motion", "touch", *VIEWS, "entry")}
FILES = {view: name for name in VIEWS for view in re.findall(r"^VIEWS\.(\w+) =", SOURCES[name], re.M)}


def module(*views):
    """The module with some of its views. Every notebook carries it, so it travels without its comments and its indentation."""
    source = "\n".join(text for name, text in SOURCES.items() if name not in VIEWS or name in views)
    code = re.sub(r"[ \t]+// [^\"'`\n]*$", "", source, flags=re.M)  # what follows a line's code; a string would end in a quote
    code = "\n".join(line for line in map(str.strip, code.splitlines()) if line and not line.startswith("//"))
    return f'const VERSION = "{hashlib.sha256(code.encode()).hexdigest()[:12]}";\n{code}'


MODULE = module(*VIEWS)
VERSION = MODULE.split('"')[1]

# Light unless the notebook says it is dark; a page of its own asks the system.
CSS = "\n".join([
    f".al-root{{{variables('light')}}}",
    f"[data-jp-theme-light=false] .al-root,.vscode-dark .al-root,html[theme=dark] .al-root{{{variables('dark')}}}",
    f"@media (prefers-color-scheme:dark){{.al-page .al-root{{{variables('dark')}}}}}",
    "[data-jp-theme-light] .al-root{--al-paper:var(--jp-layout-color0)}",
    STYLE,
    *((STATIC / f"{name}.css").read_text("utf-8") for name in ("autolab", "graphs")),
])  # fmt: skip

WITHOUT_PYTHON = {"playing": False, "running": None, "ask": None}
# For pages of the site, which bring the module themselves, and where no Python answers later (docs/make/site.py).
# It names the folder for data that are too long to go in a page.
SITE = os.environ.get("AUTOLAB_SITE")
LONG = 50_000  # characters
COMPRESSION = 4  # 12 % longer than with gzip's own 6, in half the time: for an output, which is waited for
SMALLEST = 9  # for a page, which is sent to others

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
html {{ color-scheme: light dark; font-family: system-ui, sans-serif; }}
body {{ margin: 24px; }}
h1 {{ font-size: 22px; }}
</style>
</head>
<body class="al-page">
<main>
<h1>{title}</h1>
<div data-autolab></div>
<noscript>{picture}<pre>{text}</pre></noscript>
</main>
<script type="module">
const place = document.querySelector("[data-autolab]");
if (globalThis.DecompressionStream) {{
const told = await new Response(new Blob([Uint8Array.from(atob("{told}"), (c) => c.charCodeAt(0))])
.stream().pipeThrough(new DecompressionStream("gzip"))).json();
const {{ mount }} = await import(URL.createObjectURL(new Blob([told.module], {{ type: "text/javascript" }})));
mount(place, "", {{ ...told, answers: {answers} }});
}} else place.innerHTML = `<p>{old}</p>${{document.querySelector("noscript").textContent}}`;
</script>
</body>
</html>
"""
OLD = "This browser cannot unpack the explorable: Chrome and Edge can from version 80, Safari from 16.4, Firefox from 113. Its picture:"

# The module and its style travel in one output of a notebook only; the others wait until it has loaded them.
OUTPUT = """<div data-autolab>{still}<script data-key="{key}">
(async (script) => {{
const told = await new Response(new Blob([Uint8Array.from(atob("{told}"), (c) => c.charCodeAt(0))])
.stream().pipeThrough(new DecompressionStream("gzip"))).json();
const slot = (((globalThis[Symbol.for("autolab")] ??= {{}}).modules ??= {{}})[told.version] ??= {{}});
slot.loaded ??= new Promise((done) => {{ slot.done = done; }});
if (told.module) slot.done(import(URL.createObjectURL(new Blob([told.module], {{ type: "text/javascript" }}))));
(await slot.loaded).mount(script.parentElement, script.dataset.key, told);
}})(document.currentScript);
</script></div>"""

# On the site one script draws all explorables of a page, each when it comes near (docs/site/site.mjs).
PLACE = """<div data-autolab>{still}<script type="application/json"{source}>{told}</script></div>"""


def shell():
    """IPython's shell, if this runs in one."""
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


class Carrier:
    """Which cell's outputs carry the module: the first that shows an explorable, and again whenever that cell is run."""

    cell = None

    @classmethod
    def is_here(cls):
        """Whether what is shown now has to carry it. Outside of a notebook each output does."""
        running = shell()
        if running is None:
            return True
        told = running.get_parent().get("metadata", {}) if hasattr(running, "get_parent") else {}
        cell = told.get("cellId") or running.user_ns.get("In", [""])[-1]
        if cls.cell is None or cls.cell in told.get("deletedCells", ()):
            cls.cell = cell
        return cls.cell == cell


def starts_with_a_view():
    """Whether this front end (VS Code, Colab) loads what joins models to Python only when it is shown a view of one."""
    running = shell()
    in_code = "VSCODE_PID" in os.environ or (running is not None and "__vsc_ipynb_file__" in running.user_ns)
    return in_code or "google.colab" in sys.modules


def _safe(text):
    return text.replace("<", "\\u003c")  # or a name could end the script


class Explorable(anywidget.AnyWidget):
    """A widget over the shared module: `view` says which of its views draws it."""

    _esm = MODULE
    _css = CSS

    view = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    key = traitlets.Unicode(help="by which an output in the page finds this widget").tag(sync=True)

    def __init__(self, **traits):
        key = uuid.uuid4().hex
        super().__init__(key=key, model_id=key, **traits)

    def picture(self):
        """The widget as SVG text, as it stands now."""
        raise NotImplementedError

    def text(self):
        """The widget as plain text, as it stands now."""
        raise NotImplementedError

    def printed(self):
        """The picture where nothing can be moved: in print, and in a viewer that runs no script."""
        return self.picture()

    def still(self):
        """What a viewer that runs no script shows, as HTML: the picture as an image, which no viewer takes out."""
        image = base64.b64encode(self.printed().encode()).decode()
        return f'<img alt="{html.escape(self.title)}" src="data:image/svg+xml;base64,{image}">'

    def state(self):
        """The traits as they are now, for an output in a notebook; what only Python can do is left out."""
        own = [name for name in self.trait_names(sync=True) if not name.startswith("_")]
        state = {name: getattr(self, name) for name in own if name not in ("key", "layout", "tabbable", "tooltip")}
        return {**state, **{name: value for name, value in WITHOUT_PYTHON.items() if name in state}}

    def offline(self):
        """The traits for a page without a kernel, with as many positions as possible computed in advance."""
        return self.state()

    def answers(self):
        """What Python would do for the page without a kernel: trait -> each of its values -> {other trait: what it becomes}."""
        return {}

    def place(self, folder):
        """The HTML of a place in a page of the site; what is long is in a file of the folder."""
        told, source = _safe(to_json({"data": self.offline(), "answers": self.answers()})), ""
        if len(told) > LONG:
            name = f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.json"
            (folder / name).write_text(told, "utf-8")
            told, source = "", f' data-source="{name}"'
        return PLACE.format(still=self.still(), source=source, told=told)

    def save_html(self, path):
        """Write one HTML file that works from disk, with every button and slider, without a kernel or a network.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path
            The file, absolute.
        """
        traits = self.offline()
        tables = {name: table(value) for name, value in traits.items() if is_table(value)}
        data = {name: value for name, value in traits.items() if name not in tables}
        told = {"module": module(FILES[self.view]), "css": CSS, "tables": tables, "data": data}
        answers = {
            trait: {v: compress(to_json(become), COMPRESSION) for v, become in known.items()} for trait, known in self.answers().items()
        }
        page = PAGE.format(
            title=html.escape(self.title), told=compress(to_json(told), SMALLEST), answers=_safe(to_json(answers)), old=OLD,
            picture=self.printed(), text=html.escape(self.text()),
        )  # fmt: skip
        path = Path(path).absolute()
        path.write_text(page, encoding="utf-8")
        return path

    def save(self, path):
        """Write the explorable as it is now: a page that works from disk (.html), or its picture (.svg, .png, .pdf).

        A picture of steps that have not been taken is of the last one, as in print.

        Parameters
        ----------
        path : str or Path
            The suffix says what is written. A .png or .pdf needs rsvg-convert, Inkscape or Chromium.

        Returns
        -------
        Path
            The file, absolute.

        Raises
        ------
        ValueError
            If the suffix is none of these.
        RuntimeError
            If no program is there that makes such a file.
        """
        return self.save_html(path) if Path(path).suffix in (".html", ".htm") else write(self.printed(), path, self.title)

    def __repr__(self):
        return self.text()

    def output(self):
        """The HTML of an output in a notebook."""
        if SITE:
            return self.place(Path(SITE))
        told = {"version": VERSION, "data": self.state()}
        if Carrier.is_here():
            told |= {"module": MODULE, "css": CSS}
        return OUTPUT.format(still=self.still(), key=self.key, told=compress(to_json(told), COMPRESSION))

    def _repr_mimebundle_(self, **kwargs):
        bundle, metadata = super()._repr_mimebundle_(**kwargs) if starts_with_a_view() else ({}, {})
        return {**bundle, "text/html": self.output(), "image/svg+xml": self.printed(), "text/plain": self.text()}, metadata


class Filmed(Explorable):
    """An explorable with states that make a film: `_stills(states, most)` gives their pictures, each with its sentence."""

    def film(self, path, states=None, seconds=None):
        """Write several states as a strip of pictures with their sentences, or as an animation.

        Parameters
        ----------
        path : str or Path
            .svg, .png or .pdf; an animation is an .svg, which browsers and slides made of HTML play, or a .gif, which every
            program plays. A .png, .pdf or .gif needs rsvg-convert, Inkscape or Chromium, a .gif Pillow besides.
        states : list, optional
            What is in each picture: positions of controls as for `move`, `[{"x": -1}, {"x": 1}]`, or of a stepper the steps, `[0, 3, 7]`.
            By default the steps, twelve at most, in an animation thirty; without steps the positions that have been visited, up to the
            present one; where nothing has been moved, and in `explore` and `live`, the way of the first slider, or a few actions.
        seconds : float, optional
            How long each picture is seen. Without it a strip is written, or a GIF with two seconds for each.

        Returns
        -------
        Path
            The file, absolute.

        Raises
        ------
        ValueError
            If an animation has another suffix than .svg or .gif, the suffix is unknown, `states` is empty or `seconds` not above 0.
        ImportError
            If Pillow is not installed, for a .gif.
        RuntimeError
            If no program is there that makes such a file.
        """
        most = FRAMES if seconds is None and Path(path).suffix != ".gif" else ANIMATED
        return film(self._stills(states, most), path, self.title, seconds)


def spaced(last, most=FRAMES):
    """At most so many of the numbers 0 to `last`, evenly spaced, with both ends."""
    return sorted({round(k * last / (most - 1)) for k in range(most)})


class Undoable(Filmed):
    """An explorable that is at a state, `at`, and remembers the states before it."""

    past = traitlets.List(help="earlier states, for undo").tag(sync=True)

    def undo(self):
        """Take the last change back. Returns the widget."""
        if self.past:
            before, self.past = self.past[-1], self.past[:-1]
            self.at = before
        return self
