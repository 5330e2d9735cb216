"""How a written answer is marked: criteria with points, and sample answers at each level.

`rubric/SET.md` of a course has a section `## CELL` for each written answer: a table whose first column is the points of a criterion,
and below it answers as students write them, each beginning with its points, `**2 points.**`. A marker sees it below the answer
in Formgrader, and the student in the feedback; it is in no release.

What each row earned is kept where a gradebook keeps words: in a line of the comment on the answer, `Rows: 1 0 0.5`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from nbformat import NotebookNode

SECTION = re.compile(r"^## (\S+)[ \t]*\n", re.MULTILINE)
CRITERION = re.compile(r"^\|[ \t]*(\d+(?:\.\d+)?)[ \t]*\|[ \t]*(.*?)[ \t]*\|[ \t]*$", re.MULTILINE)
HEAD = re.compile(r"^\|[^|\n]*\|[^|\n]*\|[ \t]*\n\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$", re.MULTILINE)
SAMPLE = re.compile(r"^\*\*(\d+(?:\.\d+)?) points?\.\*\*", re.MULTILINE)
ROWS = re.compile(r"^[ \t]*rows?:[ \t]*([\d. ,\t]*\d[\d. ,\t]*)$\n?", re.MULTILINE | re.IGNORECASE)
TITLE = (
    "**How this answer is marked.** A row has all of its points or none, unless it divides them. Formulas, code and words count the same."
)


class Row(NamedTuple):
    """A criterion of a rubric: its points, and what they are for."""

    of: float
    text: str


def criteria(rubric: str) -> list[Row]:
    """The rows of a rubric.

    >>> criteria("| points | for |\\n|---|---|\\n| 2 | the sum |\\n| 1 | a reason |")
    [Row(of=2.0, text='the sum'), Row(of=1.0, text='a reason')]
    """
    return [Row(float(of), text) for of, text in CRITERION.findall(rubric)]


def row_marks(comment: str, rows: list[Row]) -> list[float] | None:
    """What each row earned, from the line of a comment; None if it has no such line, or one that does not fit the rubric.

    >>> row_marks("Rows: 2 0.5\\nGood.", [Row(2.0, "the sum"), Row(1.0, "a reason")])
    [2.0, 0.5]
    """
    if not (line := ROWS.search(comment)):
        return None
    try:
        earned = [float(n) for n in re.split(r"[\s,]+", line[1].strip(" \t,"))]
    except ValueError:
        return None
    fits = len(earned) == len(rows) and all(n <= row.of for n, row in zip(earned, rows, strict=True))
    return earned if fits else None


def earned_rows(comment: str, rows: list[Row], points: float | None) -> list[float] | None:
    """What each row earned of an answer with these points; None if that is not known.

    All points and none leave no choice. A line that adds up to something else than the points is not believed.
    """
    if points is None or not rows:
        return None
    if points == 0 or points == sum(row.of for row in rows):
        return [row.of if points else 0.0 for row in rows]
    earned = row_marks(comment, rows)
    return earned if earned is not None and abs(sum(earned) - points) < 1e-9 else None


def words(comment: str) -> str:
    """A comment without the line of the rows."""
    return ROWS.sub("", comment).strip()


def with_earned(rubric: str, earned: list[float]) -> str:
    """The rubric with what each row earned beside its points."""
    numbers = iter(earned)
    table = CRITERION.sub(lambda row: f"| {next(numbers):g} of {row[1]} | {row[2]} |", rubric)
    return HEAD.sub("| earned | for |\n|---|---|", table, count=1)


def rubrics(course: Path, assignment: str) -> dict[str, str]:
    """The rubric of each written answer of an assignment, by its cell; empty if the course has none."""
    path = course / "rubric" / f"{assignment}.md"
    if not path.is_file():
        return {}
    _, *parts = SECTION.split(path.read_text("utf-8"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def problems(rubric: str, points: float) -> list[str]:
    """What is wrong with a rubric for an answer that is worth so many points."""
    total, samples = sum(row.of for row in criteria(rubric)), [float(n) for n in SAMPLE.findall(rubric)]
    found = []
    if total != points:
        found.append(f"the criteria of its rubric add up to {total:g} points, and the answer is worth {points:g}")
    if points not in samples or not any(n < points for n in samples):
        found.append(f"its rubric needs a sample answer with {points:g} points and one with fewer")
    if any(n > points for n in samples):
        found.append(f"its rubric has a sample answer with more than {points:g} points")
    return found


def markdown_cell(text: str, name: str) -> NotebookNode:
    """A cell as nbformat makes it, without the validation, which takes longer than the page that it is on."""
    return NotebookNode(id=name, cell_type="markdown", source=text, metadata=NotebookNode())


def add_rubrics(notebook: NotebookNode, rubric: dict[str, str]) -> None:
    """Put each rubric below its answer, in place. A cell that a student gave the name of one loses it."""
    cells = []
    for cell in notebook.cells:
        if cell.get("id", "").startswith("rubric-"):
            cell.id = f"own-{cell.id}"[:64]
        cells.append(cell)
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in rubric:
            text = f"{TITLE}\n\n{rubric[name]}"
            cells.append(markdown_cell(text, f"rubric-{name}"[:64]))
    notebook.cells = cells
