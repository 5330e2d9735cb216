"""What has changed since a class was graded: tests, points and rubrics, and the version of autolab."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import nbformat

from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source
from autolab.course.rubric import rubrics
from autolab.course.variants.own import own_form
from autolab.version import __version__

from .submission import Form, FormCell


def form_digest(form: Form, rubric: Iterable[tuple[str, str]] = ()) -> str:
    """Tells whether two gradings ask the same: locked cells, points, rubrics and the version that judges."""
    asked = [(c.name, c.source if c.locked else "", c.grade, c.solution, c.task, c.points) for c in form]
    marked = sorted(rubric)
    return hashlib.sha256(repr((__version__, asked, *marked)).encode()).hexdigest()[:16]


def outdated(root: Path, assignment: str, forms: Mapping[str, Sequence[FormCell]], graded_with: Mapping[tuple[str, str], str]) -> list[str]:
    """The students with a notebook that was graded with other tests, points or rubrics than today's, or another version of autolab."""
    rubric, found = rubrics(root, assignment).items(), set[str]()
    for (student, notebook), digest in graded_with.items():
        try:
            form = own_form(root, assignment, student, notebook, forms[notebook])
        except LookupError:  # the notebook is no longer released, or the student's source is gone: there is nothing to compare with
            continue
        except ValueError:  # it has other points than the class
            found.add(student)
            continue
        if form_digest(tuple(form), rubric) != digest:
            found.add(student)
    return sorted(found)


def unreleased(root: Path, assignment: str, forms: Mapping[str, Iterable[FormCell]]) -> list[str]:
    """What was edited and does not reach the grading yet, a sentence each with the command that brings it there."""
    said = []
    for name, form in forms.items():
        source, text = root / "source" / assignment / f"{name}.ipynb", root / "text" / assignment / f"{name}.md"
        try:
            notebook = nbformat.read(source, as_version=4)
            if text.is_file() and _cells(from_markdown(text.read_text("utf-8"), str(text))) != _cells(notebook):
                said.append(f"{text} differs from {source}: `python -m autolab.course.notebook {root}` builds the notebook")
            now = form_of_source(notebook)
        except Exception as error:
            said.append(f"{source} cannot be compared with what was released: {error}")
            continue
        if form_digest(now) != form_digest(tuple(form)):
            said.append(f"{source} has changed since its release: run `nbgrader generate_assignment {assignment} --force`, then --regrade")
    return said


def _cells(notebook: nbformat.NotebookNode) -> list[tuple[str, object]]:
    return [(cell.source, cell.metadata.get("nbgrader")) for cell in notebook.cells]
