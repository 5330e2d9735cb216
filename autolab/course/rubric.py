"""How a written answer is marked: criteria with points, and sample answers at each level.

`rubric/SET.md` of a course has a section `## CELL` for each written answer: a table whose first column is the points of a criterion,
and below it answers as students write them, each beginning with its points, `**2 points.**`. A marker sees it below the answer
in Formgrader, and the student in the feedback; it is in no release.
"""

from __future__ import annotations

import re
from pathlib import Path

from nbformat import NotebookNode

SECTION = re.compile(r"^## (\S+)[ \t]*\n", re.MULTILINE)
CRITERION = re.compile(r"^\|[ \t]*(\d+(?:\.\d+)?)[ \t]*\|", re.MULTILINE)
SAMPLE = re.compile(r"^\*\*(\d+(?:\.\d+)?) points?\.\*\*", re.MULTILINE)


def rubrics(course: Path, assignment: str) -> dict[str, str]:
    """The rubric of each written answer of an assignment, by its cell; empty if the course has none."""
    path = course / "rubric" / f"{assignment}.md"
    if not path.is_file():
        return {}
    _, *parts = SECTION.split(path.read_text("utf-8"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def problems(rubric: str, points: float) -> list[str]:
    """What is wrong with a rubric for an answer that is worth so many points."""
    criteria, samples = ([float(n) for n in kind.findall(rubric)] for kind in (CRITERION, SAMPLE))
    found = []
    if sum(criteria) != points:
        found.append(f"the criteria of its rubric add up to {sum(criteria):g} points, and the answer is worth {points:g}")
    if points not in samples or not any(n < points for n in samples):
        found.append(f"its rubric needs a sample answer with {points:g} points and one with fewer")
    if any(n > points for n in samples):
        found.append(f"its rubric has a sample answer with more than {points:g} points")
    return found


def markdown_cell(text: str, name: str) -> NotebookNode:
    """A cell as nbformat makes it, without the validation, which takes longer than the page that it is on."""
    return NotebookNode(id=name, cell_type="markdown", source=text, metadata=NotebookNode())


def add_rubrics(notebook: NotebookNode, rubric: dict[str, str]) -> None:
    """Put each rubric below its answer, in place."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in rubric:
            text = f"**How this answer is marked**\n\n{rubric[name]}"
            cells.append(markdown_cell(text, f"rubric-{name}"[:64]))
    notebook.cells = cells
