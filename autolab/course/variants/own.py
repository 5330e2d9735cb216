"""What a student is graded by who has exercises of their own: what the course recorded, and not what their notebook says."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nbformat.v4 import reads

from autolab.course.grading.submission import FormCell
from autolab.course.release import form_of_source

from .draw import EVERYBODY, record

# What the JSON of a notebook names in a check, and what it defines. The text is read as it is: it may be no notebook.
QUOTED = re.compile(r'(?<=")[^"\\]+(?=\\?")')
DEFINED = re.compile(r"\b(?:class|def)[ \t]+(\w+)|\b(\w+) = ")


class Drawn(NamedTuple):
    """A line of the record: the entry, the name that its check has, and what the answer defines."""

    variant: str
    checked: str
    defines: str


def own_form(root: Path, assignment: str, student: str, notebook: str, form: Sequence[FormCell]) -> Sequence[FormCell]:
    """The cells of the student's own source; `form`, those of the class, where the student has none.

    Raises LookupError if a source that was recorded is gone, ValueError if its cells are not those of the class.
    """
    if student not in _recorded(record(root, assignment)):
        return form
    path = root / "variants" / assignment / "source" / student / f"{notebook}.ipynb"
    if not path.is_file():
        raise LookupError(
            f"{student} has exercises of their own, and {path} is gone: put it back, or run the same `autolab course variant`"
        )
    own = _form(path, path.stat().st_mtime_ns)
    known = {(c.name, c.points) for c in form}
    if {(c.name, c.points) for c in own} != known:
        raise ValueError(f"{path} has not the cells and points of {assignment} in the gradebook; a class has one scale")
    return own


def foreign_answers(root: Path, assignment: str, student: str, text: str | None) -> list[str]:
    """What is said of a student whom no exercises were drawn for, and of answers to those of others, by their check or what they define."""
    path = record(root, assignment)
    drawn = _recorded(path)
    if not drawn or not text:
        return []
    if student not in drawn:
        return [f"no exercises were drawn for {student!r}: what is checked are those of the class, and the notebook may have others"]
    said, somebodys = [], _of_somebody(path, path.stat().st_mtime_ns)
    quoted, defined = set(QUOTED.findall(text)), {a or b for a, b in DEFINED.findall(text)}
    for answer, own in drawn[student].items():
        theirs = set()
        if own.checked not in quoted:
            theirs |= {v.variant for v in somebodys[answer] if v.checked in quoted}
        if own.defines not in defined:
            theirs |= {v.variant for v in somebodys[answer] if v.defines in defined}
        if theirs:
            said.append(f"the answer {answer!r} is to {' and '.join(sorted(theirs))}, the exercise of another student; "
                        f"this student has {own.variant}, and that is what is checked")  # fmt: skip
    return said


def without_exercises(root: Path, assignment: str, students: Iterable[str]) -> list[str]:
    """The students whom no exercises were drawn for, where each of a class has exercises of their own."""
    drawn = _recorded(record(root, assignment))
    return [student for student in students if student not in drawn] if drawn else []


def _recorded(path: Path) -> dict[str, dict[str, Drawn]]:
    """For each student with exercises of their own: what was drawn for each answer."""
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(8)
def _read(path: Path, time: int) -> dict[str, dict[str, Drawn]]:
    drawn: dict[str, dict[str, Drawn]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["student"] != EVERYBODY:
                drawn.setdefault(row["student"], {})[row["answer"]] = Drawn(row["variant"], row["checked"], row["defines"])
    return drawn


@lru_cache(8)
def _of_somebody(path: Path, time: int) -> dict[str, set[Drawn]]:
    """All that was drawn for each answer, for any student."""
    drawn: dict[str, set[Drawn]] = {}
    for chosen in _read(path, time).values():
        for answer, variant in chosen.items():
            drawn.setdefault(answer, set()).add(variant)
    return drawn


@lru_cache(2000)
def _form(path: Path, time: int) -> tuple[FormCell, ...]:
    # The course has written it: nbformat.read would validate each cell, which takes longer than all else that is done to load a student.
    return form_of_source(reads(path.read_text("utf-8")))
