"""Marks in the columns of a learning management system: a new table, or one column of a file that the system exported.

In that file every other byte stays: quotes, line ends, the mark at its beginning, and the lines of students without a mark.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .roster import Person, Roster, person, separator

HEADS = {
    "canvas": lambda name: ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", name],
    "moodle": lambda name: ["username", name, f"{name} percent"],  # a new column in Moodle has a maximum of 100
    "gradescope": lambda _: GRADESCOPE.split(","),
}
GRADESCOPE = (
    "First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,Submission Time,Lateness (H:M:S),"
    "View Count,Submission Count"
)
COLUMN = {"moodle": "Grade", "gradescope": "Total Score"}  # in a grading worksheet, and in the scores of one assignment
MAXIMUM = ("maximum grade", "max points")
LOCKED = ("EX", "N/A")  # Canvas: excused, and not assigned to this student


class Cell(NamedTuple):
    """Where the text of a cell begins and ends, and what it says."""

    start: int
    end: int
    value: str
    quoted: bool


def fill(
    data: bytes, system: str, assignment: str, marks: Mapping[str, float], of: float, people: Sequence[Person] = (), column: str = ""
) -> tuple[bytes, list[str]]:
    """A CSV that a system exported with the marks in one column; and sentences on what is not in it, or was left.

    Parameters
    ----------
    marks : mapping
        The points of each student, by login.
    of : float
        The points that can be had.
    people : sequence of Person
        What is known of the students; a row is found by login, e-mail address, Canvas's ID, or a name that only one has.
    column : str
        What the column is called, if not `assignment`.

    Raises
    ------
    LookupError
        If there is no such column, or several.
    ValueError
        If the file is no CSV that can be written as it was.
    """
    text, encoding = _decoded(data)
    table = list(cells(text, separator(text)))
    head = [cell.value.strip() for cell in table[0]] if table else []
    at = _column(head, system, column or assignment)
    known = Roster([*people, *(Person(s) for s in marks if s not in {p.login for p in people})])
    notes, new, done = list[str](), dict[Cell, str](), set[str]()
    comma = any(re.fullmatch(r"-?\d+,\d+", row[i].value) for row in table[1:] for i in _numbers(head, at) if i < len(row))
    maxima = set()
    for row in table[1:]:
        facts = {name: cell.value for name, cell in zip(head, row, strict=False)}
        if at >= len(row):
            continue
        if row[0].value.strip() == "Points Possible":
            maxima.add(_number(row[at].value))
            continue
        found = person(facts)
        student = found and known.find(found.number if system == "canvas" else "", (*found.ids, found.login), found.name)
        if not student or student.login not in marks:
            continue
        if student.login in done:
            raise ValueError(f"two rows are of {student.login!r}; nothing is written")
        done.add(student.login)
        maxima |= {_number(facts[name]) for name in facts if name.casefold() in MAXIMUM}
        if row[at].value.strip() in LOCKED or facts.get("Grade can be changed", "Yes").strip() == "No":
            notes.append(f"{student.login} is left as it is: the file says {row[at].value.strip() or 'that it cannot be changed'}")
            continue
        number = f"{round(marks[student.login], 2):g}"
        new[row[at]] = number.replace(".", ",") if comma else number
    if missing := sorted(marks.keys() - done):
        notes.append(f"{len(missing)} with marks are not in the file: {', '.join(missing[:10])}{' ...' if len(missing) > 10 else ''}")
    if wrong := sorted(m for m in maxima if m is not None and m != of):
        notes.append(f"the file's maximum is {wrong[0]:g}, and {assignment} has {of:g} points; they are written as they are")
    return _written(text, new, separator(text)).encode(encoding), notes


def _decoded(data: bytes) -> tuple[str, str]:
    """The text and how to get the same bytes back."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError("the file is in UTF-16; export it again as CSV in UTF-8")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def cells(text: str, mark: str) -> Iterator[list[Cell]]:
    """The rows of a CSV, with the place of each cell. Raises ValueError for a quote that does not end.

    >>> [[cell.value for cell in row] for row in cells('a,"b, c"\\r\\n1,\\r\\n', ",")]
    [['a', 'b, c'], ['1', '']]
    """
    quoted, plain = re.compile(r'"((?:[^"]|"")*)"'), re.compile(rf"[^{re.escape(mark)}\r\n]*")
    at, row = 1 if text.startswith("\ufeff") else 0, list[Cell]()
    while at < len(text) or row:
        if match := quoted.match(text, at):
            end = plain.match(text, match.end()).end()  # type: ignore[union-attr]  # it matches nothing as well
            row.append(Cell(at, end, match[1].replace('""', '"') + text[match.end() : end], True))
        elif text.startswith('"', at):
            raise ValueError(f"line {text.count(chr(10), 0, at) + 1} of the file has a quote that does not end")
        else:
            end = plain.match(text, at).end()  # type: ignore[union-attr]
            row.append(Cell(at, end, text[at:end], False))
        at = end
        if text.startswith(mark, at):
            at += 1
            continue
        at += 2 if text.startswith("\r\n", at) else 1
        yield row
        row = []


def _column(head: Sequence[str], system: str, name: str) -> int:
    form = re.compile(rf"(?:[^:]+: *)?{re.escape(name)}(?: \([^()]*\))?", re.IGNORECASE)  # `Assignment: ps2 (Real)`, `ps2 (4711)`
    found = [i for i, said in enumerate(head) if said == name] or [i for i, said in enumerate(head) if form.fullmatch(said)]
    found = found or [i for i, said in enumerate(head) if said == COLUMN.get(system)]
    if len(found) != 1:
        many = f"{len(found)} columns are called" if found else "no column is called"
        raise LookupError(f"{many} {name!r}; name one with --column. The file has: {', '.join(head)[:500] or 'nothing'}")
    return found[0]


def _numbers(head: Sequence[str], at: int) -> list[int]:
    return [at, *(i for i, name in enumerate(head) if name.casefold() in MAXIMUM)]


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _written(text: str, new: Mapping[Cell, str], mark: str) -> str:
    parts, at = [], 0
    for cell, value in sorted(new.items()):
        quoted = cell.quoted or mark in value
        parts += [text[at : cell.start], f'"{value}"' if quoted else value]
        at = cell.end
    return "".join([*parts, text[at:]])


def table(assignment: str, totals: Mapping[str, float], of: float, system: str, people: Sequence[Person] = ()) -> str:
    """A new CSV for "canvas", "moodle" or "gradescope" with the points of each student; `people` says what is known of them."""
    known, out = {p.login: p for p in people}, io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(HEADS[system](assignment))
    if system == "canvas":
        write(["    Points Possible", "", "", "", "", f"{of:g}"])
    for student, score in sorted(totals.items()):
        one = known.get(student, Person(student))
        if system == "canvas":  # it wants a name or a number beside the login
            write([*map(inert, (one.name or student, one.number, "", student)), "", f"{score:g}"])
        elif system == "moodle":
            write([inert(student), f"{score:g}", f"{100 * score / of if of else 0.0:g}"])
        else:
            write([*map(inert, (*one.first_and_last(), student, one.email)), "", f"{score:g}", f"{of:g}", "Graded", *5 * [""]])
    return out.getvalue()


def inert(text: str) -> str:
    """Text that a spreadsheet does not run as a formula."""
    return f"'{text}" if text.startswith(tuple("=+-@\t\r")) else text
