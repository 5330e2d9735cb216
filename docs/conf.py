"""How Sphinx makes the site out of the folder that `python -m docs.make.site` fills."""

import html
import re

from docutils import nodes

import autolab
from docs.make.choice import address, title
from docs.make.site import SOURCE

project, author, copyright = "autolab", "autolab developers", "autolab developers"
release = autolab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "docs.site.mathml"]

# Lessons come with their outputs. Explorables are HTML that draws itself.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_code_prompt_hide = "Hide the answer"
nb_code_prompt_show = "Show the answer"
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

html_theme = "furo"
html_title = title()
html_baseurl = address()  # previews of links need whole addresses
html_static_path = [str(SOURCE / "_static")]
html_favicon = "site/favicon.svg"
html_css_files = ["autolab.css"]
html_js_files = ["old.js", ("autolab.mjs", {"type": "module"})]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": False}
copybutton_exclude = ".linenos, .gp, .go"
pygments_style, pygments_dark_style = "default", "github-dark"
exclude_patterns = ["_build", "_static"]
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure", "myst.header", "ref.python"]

default_role = "code"
autodoc_member_order = "bysource"
napoleon_numpy_docstring, napoleon_google_docstring = True, False

STARTS_MARKUP = re.compile(r"(?<!`)([*|]|_(?=\W|$))(?!`)")


def as_plain_text(app, what, name, obj, options, lines):
    """Docstrings are plain text with `code`, examples, and indented programs: what reStructuredText reads as markup is escaped."""
    for i in range(len(lines) - 1, 1, -1):
        above = next((line for line in reversed(lines[: i - 1]) if line), "")
        if (
            lines[i][:4].isspace()
            and not lines[i - 1]
            and not above.startswith((" ", ":", ".."))
            and not lines[i].strip().startswith(">>>")
        ):
            lines[i:i] = ["::", ""]
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`[^`]*`)", line)
            lines[i] = "".join(part if part.startswith("`") else STARTS_MARKUP.sub(r"\\\1", part) for part in parts)


def describe(app, name, template, context, doctree):
    """What search engines and previews of links show of a page: its title, its first sentences, a picture."""
    if doctree is None:
        return
    found, text = re.search(r'<meta content="([^"]*)" name="description"', context["metatags"]), ""
    for paragraph in doctree.findall(nodes.paragraph):
        if len(text) < 60:
            text = f"{text} {paragraph.astext()}".strip()
    text = " ".join(text.split()) or f"{context['title']}: autolab, automatic differentiation to read, step through and write"
    short = text if len(text) <= 200 else text[:200].rpartition(" ")[0] + " …"
    about = found[1] if found else html.escape(short)
    tags = {
        "og:title": html.escape(re.sub("<[^>]*>", "", context["title"])), "og:description": about,
        "og:type": "website", "og:site_name": title(),
    }  # fmt: skip
    if html_baseurl:
        tags |= {"og:url": f"{html_baseurl}{name}.html", "og:image": f"{html_baseurl}_static/preview.png"}
    context["metatags"] += "" if found else f'\n<meta name="description" content="{about}">'
    context["metatags"] += "".join(f'\n<meta property="{key}" content="{value}">' for key, value in tags.items())


def setup(app):
    app.connect("html-page-context", describe)
    app.connect("autodoc-process-docstring", as_plain_text, priority=900)  # after napoleon
