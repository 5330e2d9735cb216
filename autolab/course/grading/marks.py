"""What the gradebook holds of a submission, in the form that a page for its student needs.

Points that a person gave, comments, the penalty for being late: all numbers that anybody is shown come from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)  # fmt: skip
from sqlalchemy import func, select, update


class CellMarks(NamedTuple):
    """What one graded cell earned: None if it waits for a person; of how many points; whether a person gave them, and looks again."""

    points: float | None
    of: float
    by_hand: bool = False
    again: bool = False


@dataclass
class Marks:
    """A submitted notebook in the gradebook."""

    student: str
    name: str
    assignment: str
    notebook: str
    handed_in: datetime | None = None  # UTC, as nbgrader keeps it
    due: datetime | None = None  # with the student's extension
    penalty: float = 0.0
    cells: dict[str, CellMarks] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    whole: tuple[float, float] | None = None  # points of the whole assignment, and of how many, if it has more notebooks

    @property
    def before_penalty(self) -> float:
        """The points of all cells."""
        return sum(cell.points or 0.0 for cell in self.cells.values())

    @property
    def points(self) -> float:
        """The points that count."""
        return max(0.0, self.before_penalty - self.penalty)

    @property
    def of(self) -> float:
        """The points of a notebook without a fault."""
        return sum(cell.of for cell in self.cells.values())

    @property
    def unread(self) -> int:
        """How many answers wait for a person, for the first time or again."""
        return sum(cell.points is None or cell.again for cell in self.cells.values())

    @property
    def seconds_late(self) -> float:
        """Seconds from the due date to when it was handed in; 0 if it is in time or one of them is not known."""
        return max(0.0, (self.handed_in - self.due).total_seconds()) if self.handed_in and self.due else 0.0

    @property
    def digest(self) -> str:
        """Tells whether a page shows these marks."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def marks(db: Any, assignment: str, students: Iterable[str] | None = None) -> dict[tuple[str, str], Marks]:
    """(student, notebook) -> the marks of everything that the gradebook knows of an assignment, or of some students of it."""
    sa, sn, g = SubmittedAssignment.__table__, SubmittedNotebook.__table__, Grade.__table__
    a, n, s, b = Assignment.__table__, Notebook.__table__, Student.__table__, BaseCell.__table__
    chosen = [a.c.name == assignment, *([] if students is None else [sa.c.student_id.in_(list(students))])]
    submitted = sn.join(sa, sn.c.assignment_id == sa.c.id).join(a, sa.c.assignment_id == a.c.id).join(n, sn.c.notebook_id == n.c.id)
    found: dict[str, Marks] = {}
    columns = (sn.c.id, sa.c.student_id, s.c.first_name, s.c.last_name, n.c.name, sa.c.timestamp, a.c.duedate, sa.c.extension)
    late = (sn.c.late_submission_penalty,)
    rows = db.execute(select(*columns, *late).select_from(submitted.join(s, sa.c.student_id == s.c.id)).where(*chosen).order_by(n.c.name))
    for one, student, first, last, notebook, handed_in, due, extension, penalty in rows:
        name, when = " ".join(filter(None, (first, last))), due + extension if due and extension else due
        found[one] = Marks(student, name, assignment, notebook, handed_in, when, penalty or 0.0)
    of = func.coalesce(GradeCell.__table__.c.max_score, TaskCell.__table__.c.max_score, 0.0)
    cells = b.outerjoin(GradeCell.__table__, GradeCell.__table__.c.id == b.c.id).outerjoin(
        TaskCell.__table__, TaskCell.__table__.c.id == b.c.id
    )
    graded = submitted.join(g, g.c.notebook_id == sn.c.id).join(cells, g.c.cell_id == b.c.id)
    rows = db.execute(
        select(sn.c.id, b.c.name, g.c.auto_score, g.c.manual_score, g.c.extra_credit, g.c.needs_manual_grade, of)
        .select_from(graded)
        .where(*chosen)
    )
    for one, cell, auto, by_hand, extra, waits, most in rows:
        score = auto if by_hand is None else by_hand
        points = None if score is None else score + (extra or 0.0)
        found[one].cells[cell] = CellMarks(points, most, by_hand is not None, bool(by_hand is not None and waits))
    c = Comment.__table__
    commented = submitted.join(c, c.c.notebook_id == sn.c.id).join(b, c.c.cell_id == b.c.id)
    said = func.coalesce(c.c.manual_comment, c.c.auto_comment)
    for one, cell, comment in db.execute(select(sn.c.id, b.c.name, said).select_from(commented).where(*chosen, said.is_not(None))):
        found[one].comments[cell] = comment
    _add_wholes(found.values())
    return {(m.student, m.notebook): m for m in found.values()}


def _add_wholes(found: Iterable[Marks]) -> None:
    """The points of whole assignments: the sum of all notebooks less all penalties, as nbgrader counts."""
    by_student: dict[str, list[Marks]] = {}
    for one in found:
        by_student.setdefault(one.student, []).append(one)
    for several in by_student.values():
        if len(several) > 1:
            points = sum(m.before_penalty for m in several) - sum(m.penalty for m in several)
            for one in several:
                one.whole = max(0.0, points), sum(m.of for m in several)


Penalty = Callable[[str, float, float], float | None]  # nbgrader's plugin: student, points, seconds late


def refresh_lateness(
    db: Any, assignment: str, timestamps: dict[str, datetime | None], penalty: Penalty | None, students: Iterable[str] | None = None
) -> list[str]:
    """Bring the times of handing in and the penalties up to date, without a commit; the students for whom one of them changed.

    A due date, an extension, a plugin or points given by hand may have changed since a submission was graded.
    """
    changed, notebook, whole = set[str](), SubmittedNotebook.__table__, SubmittedAssignment.__table__
    known = select(whole.c.id, whole.c.student_id, whole.c.timestamp).join(
        Assignment.__table__, whole.c.assignment_id == Assignment.__table__.c.id
    )
    for one, student, before in db.execute(known.where(Assignment.__table__.c.name == assignment)).all():
        when = timestamps.get(student)
        if when is not None and when != before:
            db.execute(update(whole).where(whole.c.id == one).values(timestamp=when))
            changed.add(student)
    ids = {}
    rows = select(notebook.c.id, whole.c.student_id, Notebook.__table__.c.name).join(whole, notebook.c.assignment_id == whole.c.id)
    rows = rows.join(Notebook.__table__, notebook.c.notebook_id == Notebook.__table__.c.id)
    rows = rows.join(Assignment.__table__, whole.c.assignment_id == Assignment.__table__.c.id)
    for one, student, name in db.execute(rows.where(Assignment.__table__.c.name == assignment)):
        ids[student, name] = one
    for place, of in marks(db, assignment, students).items():
        asked = penalty(of.student, of.before_penalty, of.seconds_late) if penalty and of.seconds_late > 0 else None
        due = None if asked is None else min(max(asked, 0.0), of.before_penalty)  # as nbgrader's AssignLatePenalties bounds it
        if (due or 0.0) != of.penalty:
            db.execute(update(notebook).where(notebook.c.id == ids[place]).values(late_submission_penalty=due))
            changed.add(of.student)
    return sorted(changed)
