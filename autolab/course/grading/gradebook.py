"""nbgrader's gradebook, written by one process, many submissions in one transaction.

Beside nbgrader's tables stands `autolab_grading`, one row a graded notebook: what was handed in (a digest), the seed, and
what the report needs. It is written in the same transaction as the grades, so after a kill a submission is either graded
and recorded, or neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import text

from .submission import FormCell, form_of
from .worker import Done

TABLE = """
CREATE TABLE IF NOT EXISTS autolab_grading (
    assignment TEXT NOT NULL, notebook TEXT NOT NULL, student TEXT NOT NULL, digest TEXT NOT NULL, seed INTEGER NOT NULL,
    report TEXT NOT NULL, times INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (assignment, notebook, student))
"""
RUNS = "CREATE TABLE IF NOT EXISTS autolab_run (assignment TEXT PRIMARY KEY, seed INTEGER NOT NULL, finished INTEGER NOT NULL)"
RECORD = """
INSERT INTO autolab_grading VALUES (:assignment, :notebook, :student, :digest, :seed, :report, 1)
ON CONFLICT (assignment, notebook, student) DO UPDATE SET digest = :digest, seed = :seed, report = :report, times = times + 1
"""


class CourseGradebook:
    """The gradebook of a course, for one assignment."""

    def __init__(self, path: Path, assignment: str, course: str = "autolab"):
        self.assignment = assignment
        self.gradebook = Gradebook(f"sqlite:///{path}", course)
        self.db = self.gradebook.db
        for statement in (TABLE, RUNS):
            self.db.execute(text(statement))
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
            raise LookupError(
                f"the gradebook does not know {self.assignment!r}: run `nbgrader generate_assignment {self.assignment}` first"
            ) from None
        return {n.name: tuple(form_of(n)) for n in assignment.notebooks}

    def known(self) -> set[str]:
        """The names of the notebooks that were generated."""
        try:
            return {n.name for n in self.gradebook.find_assignment(self.assignment).notebooks}
        except MissingEntry:
            return set()

    def points(self) -> dict[str, float]:
        """What each cell is worth."""
        return {c.name: c.points for form in self.forms().values() for c in form if c.grade or c.task}

    def totals(self) -> dict[str, float]:
        """The points of each student, with those given by hand, minus the penalty for being late."""
        self.forms()
        totals = {}
        for s in self.gradebook.assignment_submissions(self.assignment):
            late = sum(n.late_submission_penalty or 0.0 for n in s.notebooks)
            totals[s.student_id] = max(0.0, s.score - late)
        return totals

    def graded(self) -> dict[tuple[str, str], tuple[str, int]]:
        """(student, notebook) -> (digest, seed) of everything that is graded."""
        rows = self.db.execute(
            text("SELECT student, notebook, digest, seed FROM autolab_grading WHERE assignment = :a"),
            {"a": self.assignment},
        )
        return {(student, notebook): (digest, seed) for student, notebook, digest, seed in rows}

    def reports(self) -> list[dict[str, Any]]:
        """What the report needs of everything that is graded."""
        rows = self.db.execute(
            text("SELECT report, times FROM autolab_grading WHERE assignment = :a ORDER BY student, notebook"),
            {"a": self.assignment},
        )
        return [{**json.loads(report), "times": times} for report, times in rows]

    def start(self, seed: int) -> int:
        """The seed of this run: that of a run that was cut short, or this one."""
        row = self.db.execute(
            text("SELECT seed, finished FROM autolab_run WHERE assignment = :a"), {"a": self.assignment}
        ).first()
        if row and not row[1]:
            return int(row[0])
        self.db.execute(
            text("INSERT OR REPLACE INTO autolab_run VALUES (:a, :s, 0)"), {"a": self.assignment, "s": seed}
        )
        self.db.commit()
        return seed

    def finish(self) -> None:
        """Everything was graded."""
        self.db.execute(text("UPDATE autolab_run SET finished = 1 WHERE assignment = :a"), {"a": self.assignment})
        self.db.commit()

    def write(self, batch: Iterable[Done], timestamps: dict[str, str | None], penalty: Any = None) -> None:
        """Save all of these, or none."""
        batch = list(batch)
        students = {d.student for d in batch}
        db, assignment = self.db, self.gradebook.find_assignment(self.assignment)
        notebooks = {n.name: n for n in assignment.notebooks}
        known = {s.id for s in db.query(Student.id).filter(Student.id.in_(students))}
        try:
            with db.no_autoflush:
                for student in sorted(students - known):
                    db.add(Student(id=student))
                db.flush()
                found = db.query(SubmittedAssignment).filter(
                    SubmittedAssignment.assignment_id == assignment.id, SubmittedAssignment.student_id.in_(students)
                )
                submissions = {s.student_id: s for s in found}
                for student in sorted(students):
                    if student not in submissions:
                        submissions[student] = self._submission(assignment, student)
                    if when := timestamps.get(student):
                        submissions[student].timestamp = utils.parse_utc(when)
                db.flush()
                for done in batch:
                    self._save(submissions[done.student], notebooks[done.notebook], done)
                db.flush()
                if penalty is not None:
                    for student in students:
                        self._late(submissions[student], penalty)
            for done in batch:
                row = {k: getattr(done, k) for k in ("assignment", "notebook", "student", "digest", "seed")}
                db.execute(text(RECORD), {**row, "report": json.dumps(done.to_dict())})
            db.commit()
        except BaseException:
            db.rollback()
            raise

    def _submission(self, assignment: Assignment, student: str) -> SubmittedAssignment:
        submission = SubmittedAssignment(assignment_id=assignment.id, student_id=student)
        for notebook in assignment.notebooks:
            submitted = SubmittedNotebook(notebook_id=notebook.id)
            submission.notebooks.append(submitted)
            submitted.grades = [Grade(cell_id=c.id) for c in (*notebook.grade_cells, *notebook.task_cells)]
            submitted.comments = [Comment(cell_id=c.id) for c in (*notebook.solution_cells, *notebook.task_cells)]
        self.db.add(submission)
        return submission

    def _save(self, submission: SubmittedAssignment, notebook: Any, done: Done) -> None:
        submitted = next(n for n in submission.notebooks if n.notebook_id == notebook.id)
        names = {c.id: c.name for c in (*notebook.grade_cells, *notebook.task_cells, *notebook.solution_cells)}
        for grade in submitted.grades:
            grade.auto_score = done.scores.get(names[grade.cell_id], 0.0)
            grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None
        for comment in submitted.comments:
            comment.auto_comment = "No response." if names[comment.cell_id] in done.unanswered else None

    def _late(self, submission: SubmittedAssignment, penalty: Any) -> None:
        for notebook in submission.notebooks:
            late = submission.total_seconds_late
            notebook.late_submission_penalty = (
                penalty(submission.student_id, notebook.score, late) if late > 0 else None
            )
