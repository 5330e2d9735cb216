"""The courses of eight and twelve weeks, as the pages docs/syllabus-8.md and docs/syllabus-12.md have them: which week has what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from autolab.utils import lessons
from autolab.utils.exercises import listed

FILE = "schedule.md"


class Week(NamedTuple):
    """What a week has: the lessons to read before class, the problem set that is worked on ("" for none), whether it is due."""

    lessons: tuple[str, ...]
    problem_set: str = ""
    due: bool = True


SCHEDULES = {
    8: (
        Week(("00", "01", "02", "03"), "ps1"),
        Week(("04", "07"), "ps2"),
        Week(("05", "06"), "ps3"),
        Week(("12",), "ps4"),
        Week(("16", "17"), "ps5"),
        Week(("08", "14"), "ps6"),
        Week(("10", "11"), "ps7"),
        Week(("09", "13", "15"), "ps8"),
    ),
    12: (
        Week(("00", "01"), "ps1", due=False),
        Week(("02", "03"), "ps1"),
        Week(("04",), "ps2", due=False),
        Week(("07",), "ps2"),
        Week(("05", "06"), "ps3"),
        Week(("12",), "ps4"),
        Week(("08", "14"), "ps6", due=False),
        Week(("10",), "ps6"),
        Week(("11",), "ps7"),
        Week(("16",), "ps5"),
        Week(("17",)),
        Week(("09", "13", "15"), "ps8"),
    ),
}


def sets_of(weeks: int) -> tuple[str, ...]:
    """The problem sets of a course of so many weeks.

    >>> sets_of(12)
    ('ps1', 'ps2', 'ps3', 'ps4', 'ps5', 'ps6', 'ps7', 'ps8')
    """
    return tuple(sorted({week.problem_set for week in SCHEDULES[weeks]} - {""}))


def due_dates(weeks: int, start: date) -> dict[str, date]:
    """The day until which each problem set is handed in: the last of the week in which it ends.

    >>> due_dates(12, date(2027, 2, 1))["ps2"]
    datetime.date(2027, 2, 28)
    """
    plan = enumerate(SCHEDULES[weeks])
    return {week.problem_set: start + timedelta(weeks=n, days=6) for n, week in plan if week.problem_set and week.due}


def schedule(weeks: int, start: date | None = None, besides: Sequence[str] = ()) -> str:
    """The page for a class, in Markdown: what to read, what is handed out, what is due; with dates if the first day is said.

    A problem set is handed out in the week in which it is begun, and due on the last day of the week in which it ends. Sets that
    come `besides`, such as the capstone, are in no week: their dates are the teacher's.

    >>> print(schedule(8, date(2027, 2, 1)).splitlines()[4])
    | 1 | 2027-02-01 | 00, 01, 02, 03 | ps1 | ps1: the chain rule and a scalar engine, in pieces | 2027-02-07 |
    """
    topics = {s.name: s.topic for s in listed()}
    titles = {lesson.number: lesson.title for lesson in lessons.listed()}
    head = ["week", *["begins"] * bool(start), "lessons, read before class", "handed out", "due", *["by the end of"] * bool(start)]
    rows, begun, last_days = [], set(), due_dates(weeks, start) if start else {}
    for number, week in enumerate(SCHEDULES[weeks]):
        first = start + timedelta(weeks=number) if start else None
        handed_out = week.problem_set if week.problem_set not in begun else ""
        due = week.problem_set if week.due else ""
        begun.add(week.problem_set)
        row = [str(number + 1), *([first.isoformat()] if first else []), ", ".join(week.lessons), handed_out]
        row += [f"{due}: {topics[due]}" if due else "", *([last_days[due].isoformat() if due else ""] if first else [])]
        rows.append(row)
    table = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    table.insert(1, "|---" * len(head) + "|")
    read = sorted({number for week in SCHEDULES[weeks] for number in week.lessons})
    more = ["Besides the weeks:", "", *(f"- {name}: {topics[name]}" for name in besides), ""] if besides else []
    return "\n".join([f"# {weeks} weeks", "", *table, "", *more, "Lessons:", "", *(f"- {number}: {titles[number]}" for number in read), ""])
