"""Which exercise a class or a student has: drawn by a key of the course, the same each time, and written down."""

from __future__ import annotations

import csv
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from .bank import Bank, Variant

EVERYBODY = ""  # whose row says what the whole class has
COLUMNS = ("student", "answer", "variant", "checked", "defines")
LOGINS = ("id", "student", "student_id", "login", "username", "user", "sis login id", "sid")


def course_key(course: Path) -> str:
    """The key that this course draws with, made when it is first asked for; who has it can tell all draws."""
    path = course / "variants" / "key"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(16) + "\n")
    return path.read_text("utf-8").strip()


def draw(bank: Bank, key: str, year: str, student: str = EVERYBODY) -> dict[str, Variant]:
    """A variant for each place of a problem set, by the id of its answer; no variant twice.

    The pools are shuffled by a keyed hash: the draws of two students have nothing to do with each other, and a new entry in a
    bank changes only the draws in which it comes first.

    Raises LookupError if a pool has fewer entries than places.
    """

    def rank(variant: Variant) -> str:
        words = "\n".join((bank.set, year, student, variant.pool, variant.name))
        return hmac.new(key.encode(), words.encode(), "sha256").hexdigest()

    chosen: dict[str, Variant] = {}
    for slot in bank.slots():
        left = [v for v in sorted(bank.pool(slot.pool), key=rank) if v not in chosen.values()]
        if not left:
            raise LookupError(f"the pool {slot.pool!r} of {bank.set} has fewer entries than places to fill")
        chosen[slot.answer] = left[0]
    return chosen


def roster(path: Path) -> list[str]:
    """The students of a CSV file, by the column that holds their login; each is the name of a folder of submitted/.

    Raises ValueError for a file without such a column, or a name that can be no folder.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    head = [word.strip().lower() for word in rows[0]] if rows else []
    at = next((head.index(name) for name in LOGINS if name in head), 0 if len(head) == 1 else None)
    if at is None:
        raise ValueError(f"{path} has no column {', '.join(map(repr, LOGINS[:-1]))} or {LOGINS[-1]!r}: which one is the login?")
    named = [row[at].strip() for row in (rows[1:] if head[at] in LOGINS else rows) if len(row) > at and row[at].strip()]
    for name in named:
        if not re.fullmatch(r"\w[\w.@+-]*", name):
            raise ValueError(f"{path}: {name!r} cannot be the name of a folder of submitted/")
    return list(dict.fromkeys(named))


def record(course: Path, assignment: str) -> Path:
    """The file that says who has what."""
    return course / "variants" / assignment / "drawn.csv"


def read_record(path: Path) -> dict[str, dict[str, str]]:
    """What was drawn: for each student, the variant of each answer."""
    drawn: dict[str, dict[str, str]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                drawn.setdefault(row["student"], {})[row["answer"]] = row["variant"]
    return drawn


def write_record(path: Path, drawn: Mapping[str, Mapping[str, Variant]]) -> None:
    """Write it down: the class first, then each student."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows(
            (student, answer, v.name, v.checked, v.class_name) for student, chosen in drawn.items() for answer, v in chosen.items()
        )
    part.replace(path)


def recorded(bank: Bank, names: Mapping[str, str]) -> dict[str, Variant]:
    """What was drawn before, from the bank as it is now. Raises LookupError if an entry is gone."""
    gone = [name for name in names.values() if name not in bank.variants]
    if gone:
        raise LookupError(f"{gone[0]!r} was drawn, and is not in the bank of {bank.set} any more: put it back, or draw under another name")
    return {answer: bank.variants[name] for answer, name in names.items()}
