"""The step of `nbgrader generate_feedback` that hides what is hidden."""

from __future__ import annotations

import re
from functools import lru_cache

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor

HIDDEN = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*$\n?", re.DOTALL | re.MULTILINE)


def hides(cell: NotebookNode) -> bool:
    """Is this a locked test with hidden lines? What a student writes into a cell is not searched for them."""
    facts = cell.metadata.get("nbgrader", {})
    return bool(facts.get("locked") and facts.get("grade") and not facts.get("solution") and _has_hidden(cell.source))


@lru_cache(512)  # every student's notebook has the same tests
def _has_hidden(source: str) -> bool:
    return HIDDEN.search(source) is not None


class HideHiddenTests(NbGraderPreprocessor):
    """Feedback says how many points the hidden tests gave, not what they ask."""

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """Cut the hidden lines and all outputs of such a cell."""
        if cell.cell_type == "code" and hides(cell):
            cell.source = HIDDEN.sub("# (hidden tests)\n", cell.source)
            score, points = (cell.metadata.nbgrader.get(key) for key in ("score", "points"))
            text = f"The hidden tests gave {score or 0:g} of {points or 0:g} points.\n"
            cell.outputs = [new_output("stream", name="stdout", text=text)]
        return cell, resources
