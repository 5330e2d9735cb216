"""nbgrader's gradebook, written by one process, many submissions in one transaction.

Beside nbgrader's tables stands `autolab_grading`, one row a graded notebook: what was handed in (a digest), the seed, and
what the report needs. It is written in the same transaction as the grades, so after a kill a submission is either graded
and recorded, or neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from nbgrader import utils
from nbgrader.api import Comment, Grade, Gradebook, MissingEntry, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select, text, update
from sqlalchemy.dialects.sqlite import insert

from autolab.course.roster import Person

from .class_list import StudentLine, cell_names, class_list
from .marks import Penalty, refresh_lateness
from .submission import FormCell, form_of
from .worker import JobResult

TABLE = """
CREATE TABLE IF NOT EXISTS autolab_grading (
    assignment TEXT NOT NULL, notebook TEXT NOT NULL, student TEXT NOT NULL, digest TEXT NOT NULL, seed INTEGER NOT NULL,
    report TEXT NOT NULL, times INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (assignment, notebook, student))
"""
RECORD = """
INSERT INTO autolab_grading VALUES (:assignment, :notebook, :student, :digest, :seed, :report, 1)
ON CONFLICT (assignment, notebook, student) DO UPDATE SET digest = :digest, seed = :seed, report = :report, times = times + 1
"""
GRADED = """
SELECT student, notebook, digest, seed FROM autolab_grading WHERE assignment = :a AND student IN (
    SELECT student_id FROM submitted_assignment JOIN assignment ON assignment.id = assignment_id WHERE assignment.name = :a)
"""
RECORDED = "SELECT report, digest FROM autolab_grading WHERE assignment = :assignment AND notebook = :notebook AND student = :student"
# Points given by hand stand until the answer is another one; then it waits for a person again, as nbgrader has it.
GRADE = """
UPDATE grade SET auto_score = :score,
needs_manual_grade = CASE WHEN manual_score IS NULL THEN :score IS NULL ELSE needs_manual_grade OR :changed END
WHERE notebook_id = :n AND cell_id = :c
"""
COMMENT = "UPDATE comment SET auto_comment = :said WHERE notebook_id = :n AND cell_id = :c"


class CourseGradebook:
    """The gradebook of a course, for one assignment."""

    def __init__(self, path: Path, assignment: str, course: str = "autolab"):
        self.assignment = assignment
        self.gradebook = Gradebook(f"sqlite:///{path}", course)
        self.db = self.gradebook.db
        self.id, self.notebook_cells = "", dict[str, NotebookCells]()
        self.db.execute(text(TABLE))
        self.db.commit()

    def __enter__(self) -> CourseGradebook:
        return self

    def __exit__(self, *_: Any) -> None:
        self.gradebook.close()

    def forms(self) -> dict[str, tuple[FormCell, ...]]:
        """For each notebook its cells. Raises LookupError if the assignment was never generated."""
        try:
            assignment = self.gradebook.find_assignment(self.assignment)
        except MissingEntry:
            known = ", ".join(sorted(one.name for one in self.gradebook.assignments)) or "none yet"
            raise LookupError(
                f"the gradebook does not know {self.assignment!r}; it knows {known}. "
                "`nbgrader generate_assignment NAME` adds what is in source/NAME"
            ) from None
        return {n.name: tuple(form_of(n)) for n in assignment.notebooks}

    def notebook_names(self) -> set[str]:
        """The names of the notebooks that were generated."""
        try:
            return {n.name for n in self.gradebook.find_assignment(self.assignment).notebooks}
        except MissingEntry:
            return set()

    def points(self) -> dict[str, float]:
        """The points that each graded cell is worth, by its name as `cell_names` has it."""
        points = {(notebook, c.name): c.points for notebook, form in self.forms().items() for c in form if c.grade or c.task}
        names = cell_names(points)
        return {names[cell]: of for cell, of in points.items()}

    def totals(self) -> dict[str, float]:
        """The points of each student, with those given by hand, minus the penalty for being late."""
        self.forms()
        totals = {}
        for s in self.gradebook.assignment_submissions(self.assignment):
            late = sum(n.late_submission_penalty or 0.0 for n in s.notebooks)
            totals[s.student_id] = max(0.0, s.score - late)
        return totals

    def unread(self) -> list[str]:
        """The students with an answer that waits for a person, for the first time or because it was changed."""
        return sorted(line.student for line in self.class_list() if line.unread or line.changed)

    def class_list(self) -> list[StudentLine]:
        """One line for each student: points, lateness, answers that wait for a person."""
        return class_list(self.db, self.assignment)

    def people(self) -> list[Person]:
        """Everybody whom nbgrader knows, with what it knows: name, number in the learning management system, address."""
        rows = self.db.query(Student.id, Student.last_name, Student.first_name, Student.lms_user_id, Student.email)
        return [Person(one, ", ".join(filter(None, (last, first))), number or "", email or "") for one, last, first, number, email in rows]

    def digests(self) -> dict[tuple[str, str], tuple[str, int]]:
        """(student, notebook) -> (digest, seed) of everything that is graded, and that nbgrader was not told to forget."""
        rows = self.db.execute(text(GRADED), {"a": self.assignment})
        return {(student, notebook): (digest, seed) for student, notebook, digest, seed in rows}

    def reports(self) -> list[dict[str, Any]]:
        """What the report needs of everything that is graded."""
        rows = self.db.execute(
            text("SELECT report, times FROM autolab_grading WHERE assignment = :a ORDER BY student, notebook"), {"a": self.assignment}
        )
        return [{**json.loads(report), "times": times} for report, times in rows]

    def forms_graded_with(self) -> dict[tuple[str, str], str]:
        """(student, notebook) -> the digest of the tests, rubrics and version that it was graded with."""
        return {(r["student"], r["notebook"]): r.get("form", "") for r in self.reports()}

    def refresh_lateness(self, timestamps: dict[str, str | None], penalty: Penalty | None) -> list[str]:
        """Bring times and penalties up to date with due dates, extensions and points; the students for whom one changed."""
        when = {student: utils.parse_utc(said) if said else None for student, said in timestamps.items()}
        changed = refresh_lateness(self.db, self.assignment, when, penalty)
        self.db.commit()
        return changed

    def write(
        self,
        batch: Iterable[JobResult],
        timestamps: dict[str, str | None],
        penalty: Penalty | None = None,
        before_commit: Callable[[], None] = lambda: None,
    ) -> None:
        """Save the results of a batch in one transaction, with what `before_commit` writes: all of them, or none."""
        batch = list(batch)
        try:
            submitted = self._add_submissions({d.student for d in batch}, timestamps)
            self._save(submitted, batch)
            if penalty is not None:
                refresh_lateness(self.db, self.assignment, {}, penalty, {d.student for d in batch})
            rows = [{k: getattr(d, k) for k in ("assignment", "notebook", "student", "digest", "seed")} for d in batch]
            self.db.execute(text(RECORD), [{**row, "report": json.dumps(d.to_dict())} for row, d in zip(rows, batch, strict=True)])
            before_commit()
            self.db.commit()
        except BaseException:
            self.db.rollback()
            raise

    # Plain statements: a submission has fifty rows, and an object of the mapper for each takes longer than judging it.

    def _add_submissions(self, students: set[str], timestamps: dict[str, str | None]) -> dict[tuple[str, str], str]:
        """(student, notebook) -> the id of nbgrader's row for it; what is not there is made, with nothing graded."""
        db, notebooks = self.db, self._notebooks()
        _add(db, Student, [{"id": student} for student in students])
        _add(db, SubmittedAssignment, [{"assignment_id": self.id, "student_id": student} for student in students])
        table = SubmittedAssignment.__table__
        found = db.execute(select(table.c.id, table.c.student_id).where(table.c.assignment_id == self.id, table.c.student_id.in_(students)))
        whose = dict(found.all())
        for submission, student in whose.items():
            if when := timestamps.get(student):
                db.execute(update(table).where(table.c.id == submission).values(timestamp=utils.parse_utc(when)))
        _add(db, SubmittedNotebook, [{"assignment_id": s, "notebook_id": n.id} for s in whose for n in notebooks.values()])
        table, names = SubmittedNotebook.__table__, {n.id: name for name, n in notebooks.items()}
        found = db.execute(select(table.c.id, table.c.assignment_id, table.c.notebook_id).where(table.c.assignment_id.in_(whose)))
        ids = {(whose[submission], names[notebook]): one for one, submission, notebook in found}
        cells = [(one, notebooks[name]) for (_, name), one in ids.items()]
        _add(db, Grade, [{"notebook_id": one, "cell_id": c, "needs_manual_grade": True} for one, n in cells for c in n.graded])
        _add(db, Comment, [{"notebook_id": one, "cell_id": c} for one, n in cells for c in n.commented])
        return ids

    def _save(self, submitted: dict[tuple[str, str], str], batch: list[JobResult]) -> None:
        grades, comments, notebooks = [], [], self._notebooks()
        for done in batch:
            one, known = submitted[done.student, done.notebook], notebooks[done.notebook]
            before = self._recorded(done)
            same = before.get("digest") == done.digest
            for cell, name in known.graded.items():
                answer = done.answers.get(name)
                changed = not same and (answer is None or before.get("answers", {}).get(name) != answer)
                grades.append({"n": one, "c": cell, "score": done.scores.get(name, 0.0), "changed": changed})
            said = dict.fromkeys(done.unanswered, "No response.")
            comments += [{"n": one, "c": cell, "said": said.get(name)} for cell, name in known.commented.items()]
        for statement, rows in ((GRADE, grades), (COMMENT, comments)):
            if rows:
                self.db.execute(text(statement), rows)

    def _recorded(self, done: JobResult) -> dict[str, Any]:
        """What was recorded when this notebook was last graded; empty if it never was."""
        row = self.db.execute(text(RECORDED), {k: getattr(done, k) for k in ("assignment", "notebook", "student")}).fetchone()
        return {**json.loads(row[0]), "digest": row[1]} if row else {}

    def _notebooks(self) -> dict[str, NotebookCells]:
        """What nbgrader knows of each notebook, read once."""
        if not self.notebook_cells:
            assignment = self.gradebook.find_assignment(self.assignment)
            self.id = assignment.id
            for n in assignment.notebooks:
                graded, commented = (*n.grade_cells, *n.task_cells), (*n.solution_cells, *n.task_cells)
                self.notebook_cells[n.name] = NotebookCells(n.id, {c.id: c.name for c in graded}, {c.id: c.name for c in commented})
        return self.notebook_cells


class NotebookCells(NamedTuple):
    """A notebook of nbgrader's: its id, and the names of its cells by their ids."""

    id: str
    graded: dict[str, str]
    commented: dict[str, str]


def _add(db: Any, kind: Any, rows: list[dict[str, Any]]) -> None:
    """Insert what is not there yet."""
    if rows:
        db.execute(insert(kind.__table__).on_conflict_do_nothing(), rows)
