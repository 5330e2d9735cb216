"""What every explorable shares: the one ES module, its style, the static picture, the page that works from disk."""

import base64
import gzip
import html
import json
import re
from pathlib import Path

import anywidget
import traitlets

from autolab.draw.style import STYLE, variables

STATIC = Path(__file__).parent / "static"
# One module for the browser, in files by view. They share their names, so no file needs to import another.
VIEWS = "stepper", "explorer", "quiz", "panel"
SOURCE = "\n".join((STATIC / f"{name}.mjs").read_text("utf-8") for name in ("elements", "graph", *VIEWS, "entry"))
# Every widget of a notebook carries it, so it travels without its comments and its indentation.
MODULE = re.sub(r"[ \t]+// [^\"'`\n]*$", "", SOURCE, flags=re.M)  # what follows a line's code; a string would end in a quote
MODULE = "\n".join(line for line in map(str.strip, MODULE.splitlines()) if line and not line.startswith("//"))

# Light unless the notebook says it is dark; a page of its own asks the system.
CSS = "\n".join([
    f".al-root{{{variables('light')}}}",
    f"[data-jp-theme-light=false] .al-root,.vscode-dark .al-root,html[theme=dark] .al-root{{{variables('dark')}}}",
    f"@media (prefers-color-scheme:dark){{.al-page .al-root{{{variables('dark')}}}}}",
    "[data-jp-theme-light] .al-root{--al-paper:var(--jp-layout-color0)}",
    STYLE,
    (STATIC / "autolab.css").read_text("utf-8"),
])  # fmt: skip

PACKED = 100_000  # characters from which on a page carries the value of a trait compressed
PACKING = 4  # 12 % longer than with gzip's own 6, in half the time

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
{css}
</style>
</head>
<body class="al-page">
<main>
<h1>{title}</h1>
<div data-autolab></div>
<noscript>{picture}<pre>{text}</pre></noscript>
</main>
<script type="module">
{module}
// What a notebook would be: a model that holds the traits and tells who listens.
const data = {data};
const packed = {packed}; // traits that are long
const answers = {answers}; // trait -> each of its values -> the traits that Python would set then
const unpack = (text) => new Response(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))])
  .stream().pipeThrough(new DecompressionStream("gzip"))).json();
for (const [key, value] of Object.entries(packed)) data[key] = await unpack(value);
const listeners = {{}};
const model = {{
  get: (key) => data[key],
  set(key, value) {{
    if (data[key] === value) return;
    data[key] = value;
    (listeners["change:" + key] || []).forEach((f) => f());
  }},
  on(event, f) {{ (listeners[event] ||= []).push(f); }},
  off(event, f) {{ listeners[event] = (listeners[event] || []).filter((g) => g !== f); }},
  save_changes() {{}},
}};
for (const [trait, known] of Object.entries(answers)) {{
  model.on("change:" + trait, async () => {{
    const asked = data[trait], told = await unpack(known[asked]);
    if (data[trait] === asked) Object.entries(told).forEach(([key, value]) => model.set(key, value));
  }});
}}
render({{ model, el: document.querySelector("[data-autolab]") }});
</script>
</body>
</html>
"""


def _json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _safe(text):
    return text.replace("<", "\\u003c")  # or a name could end the script


def _packed(text):
    return base64.b64encode(gzip.compress(text.encode(), PACKING, mtime=0)).decode()


class Explorable(anywidget.AnyWidget):
    """A widget over the shared module: `view` says which of its views draws it."""

    _esm = MODULE
    _css = CSS

    view = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)

    def picture(self):
        """The widget as SVG text, as it stands now."""
        raise NotImplementedError

    def text(self):
        """The widget as plain text, as it stands now."""
        raise NotImplementedError

    def offline(self):
        """The traits that the page without a kernel needs."""
        own = [name for name in self.trait_names(sync=True) if not name.startswith("_")]
        return {name: getattr(self, name) for name in own if name not in ("layout", "tabbable", "tooltip")}

    def answers(self):
        """What Python would do for the page without a kernel: trait -> each of its values -> {other trait: what it becomes}."""
        return {}

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
        traits = {name: _json(value) for name, value in self.offline().items()}
        long = {name: _packed(text) for name, text in traits.items() if len(text) > PACKED}
        short = ",".join(f'"{name}":{_safe(text)}' for name, text in traits.items() if name not in long)
        answers = {
            trait: {value: _packed(_json(told)) for value, told in known.items()} for trait, known in self.answers().items()
        }
        page = PAGE.format(
            title=html.escape(self.title), css=CSS, module=MODULE, data=f"{{{short}}}", packed=_json(long), answers=_safe(_json(answers)),
            picture=self.picture(), text=html.escape(self.text()),
        )  # fmt: skip
        path = Path(path).absolute()
        path.write_text(page, encoding="utf-8")
        return path

    def __repr__(self):
        return self.text()

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        # A notebook saved without widget state, printed, or shown by a static viewer still has its picture.
        return {**data, "image/svg+xml": self.picture(), "text/plain": self.text()}, metadata
