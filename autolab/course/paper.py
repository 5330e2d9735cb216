"""A notebook as one page that reads well on paper: formulas without a script, pictures as wide as the page, nothing folded, no network."""

from __future__ import annotations

import copy
import html
import re
from typing import Any

from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode

from autolab.course.grading.mathematics import trusted

NOTHING_RUNS = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
STYLE = """
@page{margin:16mm}
body{font:16px/1.45 system-ui,sans-serif;max-width:46rem;margin:1.5rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.7rem}h2{font-size:1.3rem;margin-top:1.6rem}h1,h2,h3,.input{break-after:avoid}
pre,code{font:13px/1.4 ui-monospace,monospace}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0}
.input pre{background:#f4f4f4;padding:.5rem .7rem}.output_area pre{padding-left:.7rem}
.prompt,.anchor-link{display:none}
img,svg{max-width:100%;height:auto}img,svg,table,.input pre{break-inside:avoid}
table{border-collapse:collapse;margin:.5rem 0}
td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top;border-top:1px solid #ccc}
blockquote{margin:.6rem 0;padding-left:.8rem;border-left:3px solid #2a6f97}
details{margin:0 0 1rem 1rem;padding-left:.8rem;border-left:2px solid #ddd;font-size:.9rem}details p{margin:.2rem 0}
a{color:inherit}math[display=block]{margin:.6rem 0;overflow-x:auto}
"""


class Page(HTMLExporter):
    """nbconvert's HTML of the cells, with formulas as MathML."""

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        return trusted(source)


def page(notebook: NotebookNode, title: str) -> str:
    """The whole page. What is folded on a screen is open: paper has nothing to press."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if "outputs" in cell:  # an output without data holds the place of the line that a folded one shows
            cell.outputs = [output for output in cell.outputs if output.get("data", True)]
    body, resources = Page(template_name="basic").from_notebook_node(notebook)
    body = re.sub(r"<details(?! open)", "<details open", body)
    colours = "\n".join(resources["inlining"]["css"])
    head = f"<meta charset='utf-8'>{NOTHING_RUNS}<title>{html.escape(title)}</title><style>{colours}{STYLE}</style>"
    return f"<!DOCTYPE html>\n<html lang='en'><head>{head}</head><body>{body}</body></html>\n"
