"""The page a student gets back: what each exercise earned and why, with everything else folded; never the text of a hidden test.

Its numbers are those of the gradebook. `autolab course grade` and `nbgrader generate_feedback` make the same page.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from nbformat import NotebookNode

from autolab.check.api.report import MIMETYPE
from autolab.course.preprocessors import HIDDEN, hides
from autolab.course.rubric import criteria, earned_rows, with_earned, words

from .marks import CellMarks, Marks
from .mathematics import markdown

LONG = 50_000  # characters of a notebook; what follows is not set as Markdown, which takes a while where somebody means it to
# Students and the people who grade open this page: should anything in it be taken for a script or a link to one, it is not followed.
NOTHING_RUNS = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
STYLE = """
body{font:16px/1.45 system-ui,sans-serif;max-width:56rem;margin:1.5rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.2rem}details h1,details h2{font-size:1.1rem}p{margin:.4rem 0}
pre{background:#f4f4f4;padding:.6rem .8rem;overflow-x:auto;font-size:14px}
.out{overflow-x:auto}.out pre{background:none;border-left:3px solid #ccc}.error pre{border-left-color:#b00}
.facts{color:#555}.points{font-weight:bold;border-top:1px solid #ccc;padding-top:.4rem}
.wide{overflow-x:auto}table{border-collapse:collapse}td,th{padding:.25rem 1rem .25rem 0;text-align:left;vertical-align:top}
.marks{width:100%}.marks th{font-weight:normal;min-width:8rem}.marks tbody th{width:34%}.marks .n{white-space:nowrap}
.marks tr{border-top:1px solid #ddd}.marks p:first-child{margin-top:0}
.autolab-report td,.autolab-report th{min-width:4rem}
details{border-top:1px solid #ccc;padding:.3rem 0}summary{cursor:pointer}details[open]>summary{font-weight:bold}
a{color:inherit}blockquote{margin:.3rem 0;padding-left:.7rem;border-left:3px solid #2a6f97}blockquote p{white-space:pre-line}
img{max-width:100%}p,li,blockquote,pre,summary,td{overflow-wrap:break-word}math[display=block]{margin:.4rem 0}
@media (prefers-color-scheme:dark){body{color:#eee;background:#181818}pre{background:#242424}.facts{color:#bbb}
.marks tr,details{border-color:#444}}
@media (max-width:600px){.marks :is(tr,td,th){display:block;padding:0}.marks tbody tr{padding:.3rem 0}.marks tbody th{width:auto}
.marks thead{display:none}}
"""


NO_RESPONSE = "No response."  # nbgrader's comment on an answer that is as it was released


class Section(NamedTuple):
    """An exercise on the page: its title and its cells."""

    title: str
    cells: list[NotebookNode]


def headings(source: NotebookNode) -> dict[str, str]:
    """The heading that each cell with a name is under, in a source notebook; its name where there is none."""
    found, above = {}, ""
    for cell in source.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name:
            found[name] = above or name
        elif cell.cell_type == "markdown" and (heads := HEADING.findall(cell.source)):
            above = re.sub(r"\s*\(\d+(\.\d+)? points?\)\s*$", "", heads[-1]).strip()
    return found


HEADING = re.compile(r"^##? +(.+?) *#*$", re.MULTILINE)


def page(notebook: NotebookNode, marks: Marks, titles: Mapping[str, str]) -> str:
    """The feedback on one graded notebook: `marks` is what the gradebook holds, `titles` the headings of its source."""
    facts = notebook.metadata.get("autolab", {})
    answers = "answer is" if marks.unread == 1 else "answers are"
    waiting = f"; {marks.unread} {answers} still to be read by a person" if marks.unread else ""
    title = html.escape(f"{marks.assignment}: {marks.notebook}")
    notes = [c for c in notebook.cells if c.get("id") == "grading-notes"]
    cells = [c for c in notebook.cells if c.get("id") != "grading-notes"]
    rows, folded, room = [], [], itertools.accumulate(len(c.source) for c in cells)
    for number, section in enumerate(_sections(cells, titles)):
        graded = [(c, marks.cells[name]) for c in section.cells if (name := _name(c)) in marks.cells]
        points = _points([m for _, m in graded])
        shown = [(c, _cell(c, marks, next(room) < LONG)) for c in section.cells]
        body = "\n".join(_fold_question(shown)) if graded else "\n".join(text for _, text in shown)
        answered = any(c.metadata.get("nbgrader", {}).get("solution") for c in section.cells)
        said = f": {points}" if graded else ": no points" if answered else ""
        # a browser opens what is folded around the place that a link leads to
        folded.append(f"<details><summary>{html.escape(section.title)}{said}</summary><div id='part-{number}'>{body}</div></details>")
        if graded:
            rows.append(f"<tr><th scope='row'><a href='#part-{number}'>{html.escape(section.title)}</a></th><td class='n'>{points}</td>"
                        f"<td>{''.join(_reasons(section.cells, marks))}</td></tr>")  # fmt: skip
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><meta name='autolab-marks' content='{marks.digest}'>"
        f"{NOTHING_RUNS}<style>{STYLE}</style></head><body>"
        f"<h1>{title}: {marks.points:g} of {marks.of:g} points{waiting}</h1>"
        f"{_facts(marks, facts)}{''.join(markdown(c.source) for c in notes)}"
        f"<table class='marks'><thead><tr><th scope='col'>exercise</th><th scope='col'>points</th><th scope='col'>why</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>\n<h2>Your answers</h2>\n{chr(10).join(folded)}\n</body></html>\n"
    )


def _fold_question(shown: Sequence[tuple[NotebookNode, str]]) -> Iterator[str]:
    """The cells of an exercise; what is before the answer, which the student has, is folded once more."""
    at = next((i for i, (cell, _) in enumerate(shown) if _name(cell)), 0)
    if at:
        yield f"<details><summary>The question</summary>{chr(10).join(text for _, text in shown[:at])}</details>"
    yield from (text for _, text in shown[at:])


def _facts(marks: Marks, facts: Mapping[str, Any]) -> str:
    """Whose work it is, when it came and what that costs, and with what it was graded."""
    who = f"{marks.name} ({marks.student})" if marks.name else marks.student
    when = f"handed in {marks.handed_in:%Y-%m-%d %H:%M} UTC" if marks.handed_in else "handed in at a time that is not known"
    if marks.seconds_late:
        when += f", {_duration(marks.seconds_late)} late"
    made = [
        *([f"graded on {facts['graded']}"] if facts.get("graded") else []),
        *([f"with autolab {facts['version']}"] if facts.get("version") else []),
        *([f"seed {facts['seed']}"] if "seed" in facts else []),
    ]
    lines = [f"<p class='facts'>{html.escape(who)}; {when}; {html.escape(', '.join(map(str, made)))}.</p>"]
    if marks.penalty:
        lines.append(
            f"<p><b>Late: {marks.penalty:g} of your {marks.before_penalty:g} points are taken away</b>, which leaves {marks.points:g}.</p>"
        )
    if marks.whole:
        lines.append(f"<p>All of {html.escape(marks.assignment)}: {marks.whole[0]:g} of {marks.whole[1]:g} points.</p>")
    return "".join(lines)


def _duration(seconds: float) -> str:
    days, hours, minutes = int(seconds // 86400), int(seconds // 3600 % 24), int(seconds // 60 % 60)
    words = [f"{n} {unit}{'s' * (n != 1)}" for n, unit in ((days, "day"), (hours, "hour"), (minutes, "minute")) if n]
    return " ".join(words[:2]) or "less than a minute"


def _points(several: Sequence[CellMarks]) -> str:
    waits = " so far" if any(m.points is None for m in several) else ""
    return f"{sum(m.points or 0.0 for m in several):g} of {sum(m.of for m in several):g}{waits}"


def _name(cell: NotebookNode) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def _sections(cells: Sequence[NotebookNode], titles: Mapping[str, str]) -> Iterator[Section]:
    """The notebook in parts, one for each heading of the source; what a student put between stays where it is."""
    loose: list[NotebookNode] = []
    current = Section("", [])
    for cell in cells:
        name = _name(cell)
        if cell.get("id", "").startswith("rubric-") or (name and titles.get(name, name) == current.title):
            current.cells.extend([*loose, cell])
            loose = []
        elif name:
            title = titles.get(name, name)
            at = next((i for i, c in enumerate(loose) if c.cell_type == "markdown" and title in c.source), 0)
            current.cells.extend(loose[:at])
            if current.cells:
                yield current if current.title else Section("Before the exercises", current.cells)
            current, loose = Section(title, [*loose[at:], cell]), []
        else:
            loose.append(cell)
    current.cells.extend(loose)
    if current.cells:
        yield current if current.title else Section("Your notebook", current.cells)


def _report(cell: NotebookNode) -> dict[str, Any]:
    """The report of a visible check; empty if there is none."""
    if hides(cell):
        return {}
    return next((o.data[MIMETYPE] for o in cell.get("outputs", ()) if MIMETYPE in o.get("data", {})), {})


def _reasons(cells: Sequence[NotebookNode], marks: Marks) -> Iterator[str]:
    """In a paragraph each: why points are missing, and what a person wrote."""
    lost = {
        name: m for c in cells if (m := marks.cells.get(name := _name(c))) and m.points is not None and m.points < m.of and not m.by_hand
    }
    blank = [name for c in cells if marks.comments.get(name := _name(c)) == NO_RESPONSE]
    said = [f"<blockquote>{markdown(text)}</blockquote>" for c in cells
            if (name := _name(c)) not in blank and (text := words(marks.comments.get(name, "")))]  # fmt: skip
    said += [markdown(rows) for c in cells if (rows := _rows_lost(c, marks))]
    if any((m := marks.cells.get(_name(c))) and m.points is None for c in cells):
        said.append("<p>A person reads this answer; its points are still missing.</p>")
    if any((m := marks.cells.get(_name(c))) and m.again for c in cells):
        said.append("<p>A person looks at these points once more.</p>")
    if blank and lost:
        several = sum(bool(c.metadata.get("nbgrader", {}).get("solution")) for c in cells) > 1
        which = f" to {html.escape(', '.join(blank))}" if several else ""
        said.append(f"<p>There is no answer{which}.</p>")
    elif own := next((error for c in cells if lost and not _is_test(c) and (error := _error(c))), ""):
        said.append(f"<p>{own}</p>")
    named = len({name for c in cells if (name := _report(c).get("exercise"))}) > 1  # which of the answers is meant
    reasons = [_reason(c, named) or ("" if said else _error(c)) for c in cells if _name(c) in lost and not hides(c)]
    said += [f"<p>{reason}</p>" for reason in reasons if reason and not (blank and "not written yet" in reason)]
    if not said and (hidden := [lost[name] for c in cells if (name := _name(c)) in lost and hides(c)]):
        said.append(f"<p>The visible checks are not all: hidden tests gave {_points(hidden)}.</p>")
    yield from dict.fromkeys(said)


def _rows_earned(cell: NotebookNode, marks: Marks) -> list[float] | None:
    """What each row of a rubric earned; None for any other cell, and where that is not known."""
    name = cell.get("id", "").removeprefix("rubric-")
    if name == cell.get("id", "") or name not in marks.cells:
        return None
    return earned_rows(marks.comments.get(name, ""), criteria(cell.source), marks.cells[name].points)


def _rows_lost(cell: NotebookNode, marks: Marks) -> str:
    """The rows of a rubric that did not earn all of their points, if some did."""
    earned = _rows_earned(cell, marks)
    if not earned or not any(earned):
        return ""
    lost = [f"{row.text} ({n:g} of {row.of:g})" for n, row in zip(earned, criteria(cell.source), strict=True) if n < row.of]
    return f"Not earned: {'; '.join(lost)}." if lost else ""


def _reason(cell: NotebookNode, named: bool = False) -> str:
    """The likeliest cause that a check found, and its hint; else the error. With the name of the exercise, if asked for."""
    report = _report(cell)
    of = f"{_text(str(report.get('exercise', '')))}: " if named else ""
    for found in report.get("diagnoses", [])[:1]:
        return f"{of}{_text(str(found.get('text', '')))}. Hint: {_text(str(found.get('hint', '')))}"
    for verdict in report.get("verdicts", []):
        if verdict.get("passed") is False:
            return _text(f"{report.get('exercise', '')}, {verdict.get('name', '')}: {verdict.get('reason', '')}")
    return ""


def _is_test(cell: NotebookNode) -> bool:
    facts = cell.metadata.get("nbgrader", {})
    return bool(facts.get("grade") and not facts.get("solution"))


def _error(cell: NotebookNode) -> str:
    """The error that a cell ended in."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            if output.ename == "NotImplementedError" and not output.evalue:
                return "A part of this is not written yet: its cell ends in <code>raise NotImplementedError</code>."
            said = output.evalue if output.ename in ("Stopped", "NoVerdict", "RemoteError") else f"{output.ename}: {output.evalue}"
            return _text(said if len(said) < 300 else f"{said[:300]} ...")
    return ""


def _cell(cell: NotebookNode, marks: Marks, short: bool = True) -> str:
    name = _name(cell)
    mark = marks.cells.get(name)
    head = ""
    if mark is not None:
        score = "to be read" if mark.points is None else f"{mark.points:g}"
        head = f"<p class='points' id='{html.escape(name)}'>{html.escape(name)}: {score} of {mark.of:g} points</p>"
    if cell.cell_type != "code":
        earned = _rows_earned(cell, marks)
        text = cell.source if earned is None else with_earned(cell.source, earned)
        return head + (markdown(text, cell.get("attachments")) if short else f"<pre>{html.escape(text)}</pre>")
    if hides(cell):
        return f"{head}<pre>{html.escape(HIDDEN.sub('# (hidden tests)', cell.source))}</pre>"
    judged = mark is not None and not cell.metadata.nbgrader.get("solution")
    return f"{head}<pre>{_text(cell.source)}</pre>" + "".join(_output(o, judged) for o in cell.outputs)


CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")  # colours and other orders to a terminal


@lru_cache(512)  # most of a page is the same for the whole class
def _text(text: str) -> str:
    return html.escape(_printable(text))


@lru_cache(512)
def _printable(text: str) -> str:
    return CONTROL.sub("", text)


def _output(output: NotebookNode, judged: bool) -> str:
    if output.output_type == "error":
        return f"<div class='out error'><pre>{_text(chr(10).join(output.traceback))}</pre></div>"
    if output.output_type == "stream":
        return f"<div class='out'><pre>{_text(output.text)}</pre></div>"
    if judged and "text/html" in output.data:  # the judge's own; what a student's cell shows is text
        return f"<div class='out'>{_printable(output.data['text/html'])}</div>"
    return f"<div class='out'><pre>{_text(output.data.get('text/plain', ''))}</pre></div>"
