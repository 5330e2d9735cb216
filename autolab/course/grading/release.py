"""The step of `nbgrader generate_assignment` that refuses what would end with the release deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException

from autolab.course.release import marker_problems

FIXED = (
    "{assignment} is graded already, and nbgrader adds no cell to a graded assignment and takes none away: {what}. "
    "Nothing was changed; release/{assignment} is as it was. "
    "Texts, tests and points of existing cells may change: then run `autolab course grade {assignment} --regrade`. "
    "A new question needs an assignment of its own. To start {assignment} again, copy gradebook.db, then run "
    "`nbgrader db assignment remove {assignment} --force`, which deletes all its grades, with points and comments given by hand"
)


class ReleaseWriter(NotebookExporter):
    """Looks before nbgrader removes the old release whether it can make the new one."""

    def __init__(self, **keywords: Any):
        super().__init__(**keywords)
        sources = [Path(path) for several in getattr(self.parent, "assignments", {}).values() for path in several]
        for path in sources:
            if problems := marker_problems(nbformat.read(path, as_version=4)):
                self._refuse(f"{path}, {problems[0]}. Nothing was released")
        course = getattr(self.parent, "coursedir", None)
        if course is None or getattr(self.parent, "no_database", False):
            return
        if what := changed_cells(course.db_url, course.assignment_id, sources, course.notebook_id == "*"):
            self._refuse(FIXED.format(assignment=course.assignment_id, what="; ".join(what)))

    def _refuse(self, message: str) -> None:
        self.log.error("%s", message)
        raise NbGraderException(message)


def changed_cells(database: str, assignment: str, sources: list[Path], all_of_it: bool) -> list[str]:
    """Which notebooks and cells of a graded assignment are new or gone; nothing if it is not graded."""
    with Gradebook(database) as gradebook:
        try:
            known = gradebook.find_assignment(assignment)
        except MissingEntry:
            return []
        if not known.submissions:
            return []
        before = {n.name: {c.name for c in (*n.grade_cells, *n.solution_cells, *n.task_cells, *n.source_cells)} for n in known.notebooks}
    now = {path.stem: _names(path) for path in sources}
    said = [f"the notebook {name} is new" for name in sorted(set(now) - set(before))]
    said += [f"the notebook {name} is gone" for name in sorted(set(before) - set(now)) if all_of_it]
    for name in sorted(set(now) & set(before)):
        said += [f"the cell {cell!r} of {name} is new" for cell in sorted(now[name] - before[name])]
        said += [f"the cell {cell!r} of {name} is gone" for cell in sorted(before[name] - now[name])]
    return said


def _names(path: Path) -> set[str]:
    """The cells that nbgrader keeps."""
    cells = nbformat.read(path, as_version=4).cells
    kept = (utils.is_grade, utils.is_solution, utils.is_locked, utils.is_task)
    return {cell.metadata.nbgrader.grade_id for cell in cells if any(is_kept(cell) for is_kept in kept)}
