"""One line a student, from the gradebook: points of each cell, lateness, and which answers a person has not read as they are now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import Assignment, BaseCell, Grade, Notebook, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select


@dataclass
class StudentLine:
    """What the gradebook holds of one student's submission."""

    student: str
    names: tuple[str, ...] = ()  # under which the gradebook knows them, besides
    seconds_late: float = 0.0  # after the due date, with the student's extension; 0 if one of them is not known
    penalty: float = 0.0  # points
    scores: dict[str, float] = field(default_factory=dict)  # of each cell that is read, by its name as `cell_names` has it
    unread: list[str] = field(default_factory=list)  # cells that wait for a person, and count 0
    changed: list[str] = field(default_factory=list)  # cells with points by hand, for an earlier version of the answer


def cell_names(cells: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What each graded cell (notebook, cell) of an assignment is called: by its notebook too, if several have a cell of its name.

    >>> cell_names([("a", "mul"), ("a", "why"), ("b", "why")])
    {('a', 'mul'): 'mul', ('a', 'why'): 'a: why', ('b', 'why'): 'b: why'}
    """
    times = Counter(cell for _, cell in cells)
    return {(notebook, cell): cell if times[cell] == 1 else f"{notebook}: {cell}" for notebook, cell in cells}


def class_list(db: Any, assignment: str) -> list[StudentLine]:
    """The students of an assignment, by name."""
    sa, sn, a, s = SubmittedAssignment.__table__, SubmittedNotebook.__table__, Assignment.__table__, Student.__table__
    g, b, n = Grade.__table__, BaseCell.__table__, Notebook.__table__
    submitted = sa.join(a, sa.c.assignment_id == a.c.id)
    lines: dict[str, StudentLine] = {}
    columns = (s.c.id, s.c.first_name, s.c.last_name, sa.c.timestamp, a.c.duedate, sa.c.extension)
    people = select(*columns).select_from(submitted.join(s, sa.c.student_id == s.c.id)).where(a.c.name == assignment).order_by(s.c.id)
    for student, first, last, handed_in, due, extension in db.execute(people):
        late = (handed_in - due - (extension or due - due)).total_seconds() if handed_in and due else 0.0
        lines[student] = StudentLine(student, tuple(filter(None, (first, last))), max(0.0, late))
    notebooks = submitted.join(sn, sn.c.assignment_id == sa.c.id).join(n, sn.c.notebook_id == n.c.id)
    rows = select(sa.c.student_id, sn.c.late_submission_penalty).select_from(notebooks).where(a.c.name == assignment)
    for student, penalty in db.execute(rows):
        lines[student].penalty += penalty or 0.0
    graded = select(n.c.name, b.c.name).select_from(b.join(n, b.c.notebook_id == n.c.id).join(a, n.c.assignment_id == a.c.id))
    graded = graded.where(a.c.name == assignment, b.c.type.in_(("GradeCell", "TaskCell")))
    names = cell_names([(notebook, cell) for notebook, cell in db.execute(graded)])
    cells = notebooks.join(g, g.c.notebook_id == sn.c.id).join(b, g.c.cell_id == b.c.id)
    rows = select(sa.c.student_id, n.c.name, b.c.name, g.c.auto_score, g.c.manual_score, g.c.extra_credit, g.c.needs_manual_grade)
    rows = rows.select_from(cells).where(a.c.name == assignment).order_by(n.c.name, b.c.name)
    for student, notebook, cell, auto, by_hand, extra, waits in db.execute(rows):
        score, name = auto if by_hand is None else by_hand, names[notebook, cell]
        if score is None:
            lines[student].unread.append(name)
        elif by_hand is not None and waits:
            lines[student].changed.append(name)
        else:
            lines[student].scores[name] = score + (extra or 0.0)
    return list(lines.values())
