"""When assignments are due, for all or for one student: in the gradebook, which counts what is late, and in the page of the weeks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from nbgrader.api import Assignment, Gradebook, MissingEntry

from .schedule import FILE


class Due(NamedTuple):
    """When an assignment is due by the clock of this machine, None if it has no date; and who has until when instead."""

    assignment: str
    when: datetime | None
    students: dict[str, datetime]


def due_list(root: Path, assignment: str = "") -> list[Due]:
    """The dates of a course, or of one assignment. Raises LookupError if the gradebook does not know it."""
    with _gradebook(root) as gradebook:
        chosen = [_find(gradebook, assignment)] if assignment else gradebook.assignments
        return [Due(one.name, _local(one.duedate), _extended(one)) for one in sorted(chosen, key=lambda one: (len(one.name), one.name))]


def move(root: Path, assignment: str, when: datetime) -> bool:
    """Make an assignment due at a time by the clock of this machine; whether the page of the weeks has it too.

    A student with more time keeps the day until which it was given. Raises LookupError if the gradebook does not know the assignment.
    """
    with _gradebook(root) as gradebook:
        found = _find(gradebook, assignment)
        before, until = found.duedate, _utc(when)
        for one in found.submissions if before else ():
            if one.extension:
                one.extension = max(before + one.extension - until, timedelta()) or None
        found.duedate = until
        gradebook.db.commit()
    path = root / FILE
    text = path.read_text("utf-8") if path.is_file() else ""
    if (moved := with_date(text, assignment, f"{when:%Y-%m-%d}")) != text:
        path.write_text(moved, "utf-8")
    return bool(_row(assignment).search(text))


def extend(root: Path, assignment: str, student: str, when: datetime) -> None:
    """Give one student until then. Raises LookupError if nothing of theirs is graded, ValueError if it is before all others' date."""
    with _gradebook(root) as gradebook:
        due = _find(gradebook, assignment).duedate
        if due is None:
            raise ValueError(f"{assignment} has no due date: `autolab course due {assignment} 2027-02-28` gives it one")
        if _utc(when) < due:
            raise ValueError(f"{when:%Y-%m-%d %H:%M} is before {assignment} is due for all, {_local(due):%Y-%m-%d %H:%M}")
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            raise LookupError(
                f"nothing of {student!r} is graded for {assignment}: give more time after `autolab course grade {assignment}`, "
                "which counts what is late anew whenever it runs"
            ) from None
        submission.extension = _utc(when) - due or None
        gradebook.db.commit()


def with_date(schedule: str, assignment: str, day: str) -> str:
    """The page of the weeks with another day in the last column of the row in which an assignment is due.

    >>> with_date("| 4 | ps2 | ps2: rules | 2027-02-28 |", "ps2", "2027-03-02")
    '| 4 | ps2 | ps2: rules | 2027-03-02 |'
    """
    return _row(assignment).sub(lambda row: f"{row[1]}{day} |", schedule)


def _row(assignment: str) -> re.Pattern[str]:
    return re.compile(rf"^(\|.*\| {re.escape(assignment)}: [^|\n]*\| )\d{{4}}-\d\d-\d\d \|", re.MULTILINE)


def _gradebook(root: Path) -> Gradebook:
    path = root / "gradebook.db"
    if not path.is_file():  # nbgrader would make an empty one
        raise LookupError(f"{path.resolve()} is not there: run this in the folder of a course, or name it with --course")
    from .scaffold import tools_on_path

    with tools_on_path():
        return Gradebook(f"sqlite:///{path}")


def _find(gradebook: Gradebook, assignment: str) -> Assignment:
    try:
        return gradebook.find_assignment(assignment)
    except MissingEntry:
        known = ", ".join(sorted(one.name for one in gradebook.assignments)) or "none yet"
        raise LookupError(f"the gradebook does not know {assignment!r}; it knows {known}") from None


def _extended(assignment: Assignment) -> dict[str, datetime]:
    due = assignment.duedate
    found = sorted((one.student_id, one.extension) for one in assignment.submissions if due and one.extension)
    return {student: _local(due + extension) for student, extension in found}


def _utc(when: datetime) -> datetime:
    """A time by the clock of this machine as nbgrader keeps it: in UTC, without saying so."""
    return when.astimezone(UTC).replace(tzinfo=None)


def _local(when: datetime | None) -> datetime | None:
    return when and when.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
