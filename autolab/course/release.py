"""What students get of a source notebook, and what the gradebook knows of it: nbgrader's own steps, without its database."""

from __future__ import annotations

import copy

from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearOutput, ClearSolutions, ComputeChecksums, LockCells
from traitlets.config import Config

from autolab.course.grading.submission import FormCell

MARKERS = ("SOLUTION", "HIDDEN TESTS", "MARK SCHEME")
STUB = Config()  # as exercises/nbgrader_config.py says
STUB.ClearSolutions.code_stub = {"python": "# your code here\nraise NotImplementedError"}
STUB.ClearSolutions.text_stub = "Your answer here."
# nbgrader's own computes the checksums twice: what it keeps in the gradebook has the hidden tests
STEPS = (LockCells, ClearSolutions, ClearOutput, ClearHiddenTests, ClearMarkScheme, ComputeChecksums)


def unbalanced(source: str) -> str:
    r"""What is wrong with the markers of a cell, which cut a solution or a hidden test out of the release; "" if they match.

    >>> unbalanced("### BEGIN SOLUTION\nreturn x")
    '### BEGIN SOLUTION in line 1 has no ### END SOLUTION below it'
    """
    for kind in MARKERS:
        begun = 0
        for number, line in enumerate(source.split("\n"), 1):
            if f"BEGIN {kind}" in line:
                if begun:
                    return f"### BEGIN {kind} in line {number} is inside the one that begins in line {begun}; write ### END {kind} first"
                begun = number
            elif f"END {kind}" in line:
                if not begun:
                    return f"### END {kind} in line {number} has no ### BEGIN {kind} above it"
                begun = 0
        if begun:
            return f"### BEGIN {kind} in line {begun} has no ### END {kind} below it"
    return ""


def marker_problems(source: NotebookNode) -> list[str]:
    """The cells of a source notebook whose markers do not match, a sentence each."""
    return [f"cell {cell.metadata.get('nbgrader', {}).get('grade_id') or cell.get('id', '')}: {said}"
            for cell in source.cells if (said := unbalanced(cell.source))]  # fmt: skip


def release_of(source: NotebookNode) -> NotebookNode:
    """The notebook that students get, as `nbgrader generate_assignment` makes it."""
    notebook = copy.deepcopy(source)
    for step in STEPS:
        notebook, _ = step(config=STUB).preprocess(notebook, {})
    return notebook


def form_of_source(source: NotebookNode) -> tuple[FormCell, ...]:
    """What nbgrader's gradebook would know of a source notebook."""
    cleared, _ = ClearSolutions(config=STUB).preprocess(copy.deepcopy(source), {})
    return tuple(
        FormCell(facts.grade_id, cell.cell_type, cell.source, utils.is_locked(cell), bool(facts.get("grade")),
                 bool(facts.get("solution")), bool(facts.get("task")), float(facts.get("points", 0)),
                 utils.compute_checksum(cell))
        for cell in cleared.cells if (facts := cell.metadata.get("nbgrader"))
    )  # fmt: skip
