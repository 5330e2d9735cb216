"""What students get of a source notebook: nbgrader's own steps, without its database."""

from __future__ import annotations

import copy

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearOutput, ClearSolutions, ComputeChecksums, LockCells
from traitlets.config import Config

STUB = Config()  # as exercises/nbgrader_config.py says
STUB.ClearSolutions.code_stub = {"python": "# your code here\nraise NotImplementedError"}
STUB.ClearSolutions.text_stub = "Your answer here."
# nbgrader's own computes the checksums twice: what it keeps in the gradebook has the hidden tests
STEPS = (LockCells, ClearSolutions, ClearOutput, ClearHiddenTests, ClearMarkScheme, ComputeChecksums)


def release_of(source: NotebookNode) -> NotebookNode:
    """The notebook that students get, as `nbgrader generate_assignment` makes it."""
    notebook = copy.deepcopy(source)
    for step in STEPS:
        notebook, _ = step(config=STUB).preprocess(notebook, {})
    return notebook
