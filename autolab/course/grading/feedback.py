"""The page a student gets back: the cells, the reports, the points; never the text of a hidden test.

nbconvert's page with all of Jupyter's style sheets takes longer to make than the grading, so this is a page of our own;
`nbgrader generate_feedback` makes nbconvert's, with the comments of the people who graded by hand.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Mapping
from functools import lru_cache

from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat import NotebookNode

from autolab.course.preprocessors import HIDDEN, hides

LONG = 200_000  # characters of a notebook; what follows is not set as Markdown, which takes a while where somebody means it to
# Students and the people who grade open this page: should anything in it be taken for a script or a link to one, it is not followed.
NOTHING_RUNS = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
pre{background:#f4f4f4;padding:.6rem .8rem;overflow-x:auto;font-size:14px}
.out pre{background:none;border-left:3px solid #ccc}.error pre{border-left-color:#b00}
.points{font-weight:bold;border-top:1px solid #ccc;padding-top:.4rem}
a{color:inherit}body{overflow-wrap:anywhere}.out{overflow-x:auto}
table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left}
@media (prefers-color-scheme:dark){body{color:#eee;background:#181818}pre{background:#242424}}
"""


def page(notebook: NotebookNode, points: Mapping[str, tuple[float | None, float]], title: str) -> str:
    """The feedback on one notebook; `points` gives what each graded cell earned, and of how many."""
    earned = sum(score or 0 for score, _ in points.values())
    possible = sum(of for _, of in points.values())
    waiting = sum(score is None for score, _ in points.values())
    later = f"; {waiting} answers are read by a person" if waiting else ""
    rows = "".join(
        f"<tr><th scope='row'><a href='#{html.escape(name)}'>{html.escape(name)}</a></th><td>{_score_text(score)} of {of:g}</td></tr>"
        for name, (score, of) in points.items()
    )
    room = itertools.accumulate(len(cell.source) for cell in notebook.cells)
    body = "\n".join(_cell(cell, points, so_far < LONG) for cell, so_far in zip(notebook.cells, room, strict=True))
    title = html.escape(title)
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width'>{NOTHING_RUNS}<style>{STYLE}</style></head><body>"
        f"<h1>{title}: {earned:g} of {possible:g} points{later}</h1><table>{rows}</table>\n{body}\n</body></html>\n"
    )


def _score_text(score: float | None) -> str:
    return "to be read" if score is None else f"{score:g}"


def _cell(cell: NotebookNode, points: Mapping[str, tuple[float | None, float]], short: bool = True) -> str:
    name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    score, of = points.get(name, (None, 0.0))
    head = (
        f"<p class='points' id='{html.escape(name)}'>{html.escape(name)}: {_score_text(score)} of {of:g} points</p>"
        if name in points
        else ""
    )
    if cell.cell_type != "code":
        return head + (_markdown(cell.source) if short else f"<pre>{html.escape(cell.source)}</pre>")
    if hides(cell):
        return f"{head}<pre>{html.escape(HIDDEN.sub('# (hidden tests)', cell.source))}</pre>"
    return f"{head}<pre>{_text(cell.source)}</pre>" + "".join(_output(o, name in points) for o in cell.outputs)


CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")  # colours and other orders to a terminal


def _text(text: str) -> str:
    return html.escape(CONTROL.sub("", text))


def _output(output: NotebookNode, judged: bool) -> str:
    if output.output_type == "error":
        return f"<div class='out error'><pre>{_text(chr(10).join(output.traceback))}</pre></div>"
    if output.output_type == "stream":
        return f"<div class='out'><pre>{_text(output.text)}</pre></div>"
    if judged and "text/html" in output.data:  # the judge's own; what a student's cell shows is text
        return f"<div class='out'>{CONTROL.sub('', output.data['text/html'])}</div>"
    return f"<div class='out'><pre>{_text(output.data.get('text/plain', ''))}</pre></div>"


@lru_cache(512)
def _markdown(source: str) -> str:
    # a student's own HTML is text here: this page is also opened by the people who grade
    if len(source) > 20_000:
        return f"<pre>{html.escape(source)}</pre>"
    return markdown2html_mistune(html.escape(source, quote=False))
