"""The steps that make plain `nbgrader autograde` safe; `exercises/nbgrader_config.py` puts them in."""

from __future__ import annotations

import atexit
import sys
from functools import cache
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum, Float, Int, List, Unicode

from autolab.course.rubric import add_rubrics, rubrics
from autolab.course.variants.own import own_form

from . import submission
from .files import FilePolicy, companion_files, odd_files
from .grade import NotebookGrader, add_notes, fresh_seed, graded_with
from .sandbox import COMMANDS, NOT_ISOLATED, Limits, Sandbox, isolation


class SubmissionReader(NotebookExporter):
    """Reads what was handed in, however broken, and follows no link. Refuses before it begins where student code is not isolated."""

    def __init__(self, **keywords: Any):
        super().__init__(**keywords)
        try:
            isolation(self.config.RunInBox.get("box") or None)
        except RuntimeError as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from None

    def from_filename(self, filename: str, resources: dict | None = None, **kw: Any) -> tuple[NotebookNode, dict]:
        """As nbconvert's, but it does not raise."""
        notebook, notes = submission.read(filename)
        resources = dict(resources or {})
        resources["autolab_notes"] = notes
        return self.from_notebook_node(notebook, resources, **kw)


class Repair(NbGraderPreprocessor):
    """Put back what was released: cells, text, points, order."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Repair the notebook and note in its metadata what was wrong."""
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            form = submission.form_of(gradebook.find_notebook(names["notebook"], names["assignment"]))
        root = Path(CourseDirectory(config=self.config).root)
        form = list(own_form(root, names["assignment"], names["student"], names["notebook"], form))
        for claim in submission.raised_points(nb, form):
            self.log.warning("%s: %s", names["student"], claim)
        notes = resources.get("autolab_notes", []) + submission.repair(nb, form)
        if notes:
            self.log.warning("%s: %s", names["student"], "; ".join(notes))
        NOTES[names["student"], names["assignment"], names["notebook"]] = notes
        return nb, resources


# nbgrader writes the repaired notebook and reads it again before it runs; nobody's file carries the notes.
NOTES: dict[tuple[str, str, str], list[str]] = {}


class RunInBox(NbGraderPreprocessor):
    """Run student code in the sandbox, and judge it outside."""

    box = Enum(
        ("", *COMMANDS), "", help="How to isolate student code; the best that works if empty, and nothing is graded if none does but limits"
    ).tag(config=True)
    seed = Int(-1, help="Draw the inputs of all checks from this seed; -1: a fresh one, which is recorded").tag(config=True)
    cell_seconds = Float(Limits.cell, help="Seconds for one cell or call").tag(config=True)
    busy_seconds = Float(Limits.busy, help="Seconds of computing in these, after which it is taken for a loop").tag(config=True)
    total_seconds = Float(Limits.total, help="Seconds for one notebook").tag(config=True)
    files = List(Unicode(), list(FilePolicy.kinds), help="Files beside a notebook that its cells can read").tag(config=True)
    files_count = Int(FilePolicy.count, help="At most so many of them").tag(config=True)
    files_bytes = Int(FilePolicy.size, help="Their bytes in all; the box has room for 16 MB").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Run the cells, and fill in the outputs of all of them."""
        names = resources["nbgrader"]
        sandbox = _sandbox(self.box or None, self.cell_seconds, self.busy_seconds, self.total_seconds)
        allowed = FilePolicy(tuple(self.files), self.files_count, self.files_bytes)
        # from where it was handed in: nbgrader has followed links when it made its copy
        course = CourseDirectory(config=self.config)
        folder = Path(course.format_path(course.submitted_directory, names["student"], names["assignment"]))
        files, left = companion_files(folder, allowed)
        for odd in odd_files(folder, Path(course.format_path(course.source_directory, ".", names["assignment"]))):
            self.log.warning("%s: %s", names["student"], odd)
        graded = NotebookGrader(sandbox, fresh_seed() if self.seed < 0 else self.seed, files, allowed).grade(nb)
        submission.disarm(nb)
        add_rubrics(nb, rubrics(Path(course.root), names["assignment"]))
        add_notes(nb, NOTES.pop((names["student"], names["assignment"], names["notebook"]), []) + left + graded.notes)
        nb.metadata["autolab"] = graded_with(graded.seed, sandbox)
        self.log.info("graded with seed %d in a box of %s", graded.seed, sandbox.mode)
        return nb, resources


@cache
def _sandbox(mode: str | None, cell: float, busy: float, total: float) -> Sandbox:
    sandbox = Sandbox(mode, limits=Limits(cell=cell, busy=busy, total=total))
    if sandbox.mode == "limits":
        print(NOT_ISOLATED, file=sys.stderr)
    atexit.register(sandbox.close)
    return sandbox
