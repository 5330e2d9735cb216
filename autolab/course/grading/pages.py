"""The files of a graded submission: autograded/ and feedback/, with what nbgrader's exchange lays beside a submission.

A page is made from the graded notebook and the gradebook, by `autolab course grade` and by `nbgrader generate_feedback` alike.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from . import feedback, settings, submission
from .exchange import SECRET, TIMESTAMP
from .marks import Marks, marks, refresh_lateness
from .unfinished import warn
from .worker import JobResult


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, "utf-8")
    part.replace(path)


def save_graded(root: Path, batch: Iterable[JobResult]) -> None:
    """Write the graded notebooks."""
    for done in batch:
        write(root / "autograded" / done.student / done.assignment / f"{done.notebook}.ipynb", done.autograded)


def carry(root: Path, assignment: str, student: str, when: str | None) -> None:
    """Copy what the exchange laid beside a submission to where `nbgrader release_feedback` looks for it; `when` it was handed in."""
    secret, _ = submission.read_text(root / "submitted" / student / assignment / SECRET)
    for name, text in ((TIMESTAMP, when), (SECRET, secret)):
        for folder in ("autograded", "feedback") if text and len(text) < 1000 else ():
            path = root / folder / student / assignment / name
            if not path.is_file() or path.read_text("utf-8") != text:
                write(path, str(text))


def save_pages(root: Path, db: Any, assignment: str, students: Iterable[str] | None = None) -> int:
    """Write the feedback of an assignment where it is missing or shows other marks than the gradebook; how many pages that were."""
    written = 0
    for (student, notebook), found in marks(db, assignment, students).items():
        graded = root / "autograded" / student / assignment / f"{notebook}.ipynb"
        path = root / "feedback" / student / assignment / f"{notebook}.html"
        if not graded.is_file() or _is_current(path, graded, found):
            continue
        write(path, feedback.page(_read(graded), found, titles(root, assignment, notebook, student)))
        written += 1
    return written


def _is_current(path: Path, graded: Path, found: Marks) -> bool:
    with contextlib.suppress(OSError):
        if path.stat().st_mtime_ns >= graded.stat().st_mtime_ns:
            with path.open(encoding="utf-8", errors="replace") as file:
                return f"content='{found.digest}'" in file.read(2000)
    return False


def _read(path: Path) -> NotebookNode:
    # nbformat's own reader validates, and copies each dict: that takes longer than making the page
    notebook = NotebookNode(json.loads(path.read_text("utf-8")))
    cells = notebook["cells"] = [NotebookNode(cell) for cell in notebook["cells"]]
    for cell in cells:
        cell.update(source=_whole(cell["source"]), metadata=NotebookNode(cell["metadata"]))
        if not cell.get("outputs"):
            continue
        cell["outputs"] = [NotebookNode(output) for output in cell["outputs"]]
        for output in cell["outputs"]:
            for holder, keys in ((output, ("text",)), (output.get("data", {}), ("text/plain", "text/html"))):
                for key in keys:
                    if key in holder:
                        holder[key] = _whole(holder[key])
    return notebook


def _whole(text: str | list[str]) -> str:
    """A text that a notebook holds as one or as its lines. To join what is one already takes longer than making the page of it."""
    return text if isinstance(text, str) else "".join(text)


def titles(root: Path, assignment: str, notebook: str, student: str) -> dict[str, str]:
    """What the exercises of a notebook are called, from the student's own source or that of the class; nothing if neither is there."""
    places = root / "variants" / assignment / "source" / student, root / "source" / assignment
    path = next((p for place in places if (p := place / f"{notebook}.ipynb").is_file()), None)
    return _titles(path, path.stat().st_mtime_ns) if path else {}


@lru_cache(64)
def _titles(path: Path, changed: int) -> dict[str, str]:
    with contextlib.suppress(Exception):  # what is not a notebook has no headings
        return feedback.headings(_read(path))
    return {}


class FeedbackPage(Exporter):
    """What `nbgrader generate_feedback` writes: the same page as `autolab course grade`."""

    file_extension = ".html"

    def __init__(self, **keywords: Any):
        super().__init__(**keywords)
        if course := getattr(self.parent, "coursedir", None):  # once for the class
            warn(self.log, course.root, [course.assignment_id])

    def from_filename(self, filename: str, resources: dict | None = None, **_: Any) -> tuple[str, dict]:  # type: ignore[override]
        """The page of a graded notebook."""
        resources = {**(resources or {}), "output_extension": self.file_extension}
        names = resources["nbgrader"]
        course = Path(filename).resolve().parents[3]  # autograded/STUDENT/ASSIGNMENT/NOTEBOOK
        with Gradebook(names["db_url"]) as gradebook:
            refresh_lateness(gradebook.db, names["assignment"], {}, settings.penalty(course), [names["student"]])
            gradebook.db.commit()
            found = marks(gradebook.db, names["assignment"], [names["student"]])[names["student"], names["notebook"]]
        called = titles(course, names["assignment"], names["notebook"], names["student"])
        return feedback.page(_read(Path(filename)), found, called), resources
