"""Who is in a class, from a CSV: a list of one's own, or what Canvas, Moodle or Gradescope export.

A person is found by login, by the system's number, by e-mail address, or by a name that only one person has.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

LOGIN = ("username", "login", "sis login id", "id number", "sid", "sis user id", "email address", "email")
NUMBER = ("identifier", "id")  # Moodle's "Participant 123"; Canvas's own number
NAME = ("full name", "name", "student")
FIRST, LAST = ("first name", "firstname"), ("last name", "lastname", "surname")
EMAIL = ("email address", "email")
TIME = ("last modified (submission)", "submission time")
FOLDER = re.compile(r"[\w@+][\w@.+ -]{0,98}[\w@+-]|[\w@+]")  # what may be a folder: no path, nothing hidden
TIMES = (
    "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d",
    "%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p",  # Moodle in English
)  # fmt: skip


@dataclass(frozen=True)
class Person:
    """One row: the login, which the folder of the student is named after, and what else the row says."""

    login: str
    name: str = ""
    number: str = ""
    email: str = ""
    when: str = ""
    ids: frozenset[str] = frozenset()

    def first_and_last(self) -> tuple[str, str]:
        """The first name and the last name, as far as they can be told apart."""
        if "," in self.name:
            last, _, first = self.name.partition(",")
        else:
            first, _, last = self.name.rpartition(" ")
        return first.strip(), last.strip()


@dataclass
class Roster:
    """The people of a class, by each way to find them. A name, a number or an address that two people have finds nobody."""

    people: list[Person] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = _unique((p.number, p) for p in self.people)
        self.ids = _unique((i, p) for p in self.people for i in p.ids | {p.login.casefold(), p.email.casefold()})
        self.names = _unique((key, p) for p in self.people for key in name_keys(p.name))

    def find(self, number: str = "", ids: Iterable[str] = (), name: str = "") -> Person | None:
        """Who has this number, one of these logins or addresses, or this name."""
        known = (self.ids.get(i.casefold()) for i in ids if i)
        return self.numbers.get(number) or next(filter(None, known), None) or self.names.get(compact(name))


def unknown(people: Iterable[Person], students: Iterable[str]) -> list[str]:
    """The students of whom neither a name nor an address is known, in a class of which some are known.

    >>> unknown([Person("ada", "Lovelace, Ada"), Person("eve")], ["ada", "eve", "kim"])
    ['eve', 'kim']
    """
    known = {person.login for person in people if person.name or person.email}
    return sorted(set(students) - known) if known & set(students) else []


def _unique(pairs: Iterable[tuple[str, Person]]) -> dict[str, Person]:
    found: dict[str, Person | None] = {}
    for key, person in pairs:
        if key:
            found[key] = person if found.get(key, person) is person else None
    return {key: person for key, person in found.items() if person}


def compact(name: str) -> str:
    """A name as Canvas writes it into a file name: letters and digits, small.

    >>> compact("Lovelace, Ada")
    'lovelaceada'
    """
    return "".join(_words(name))


def name_keys(name: str) -> set[str]:
    """A name compacted from each of its words on: which of them is the last name is not always said."""
    words = _words(name)
    return {"".join(words[i:] + words[:i]) for i in range(len(words))}


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", name).casefold())


def decoded(data: bytes) -> str:
    """The text of a CSV as Excel, Canvas or Moodle save it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def separator(text: str) -> str:
    """What separates the columns: the mark that the first line has most often."""
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def read_roster(path: Path) -> Roster:
    """The people in a CSV. Raises ValueError where no column names them, or two rows are of one login."""
    text = decoded(path.read_bytes())
    people = [p for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=separator(text)) if (p := person(row))]
    if not people:
        raise ValueError(f"{path} names nobody: it needs a column `login` or `email`, or is what Canvas, Moodle or Gradescope export")
    logins = [p.login for p in people]
    if twice := next((name for name in logins if logins.count(name) > 1), None):
        raise ValueError(f"{path} has {logins.count(twice)} rows for {twice!r}; a login is one person's")
    if wrong := next((name for name in logins if not FOLDER.fullmatch(name)), None):
        raise ValueError(f"{path}: {wrong!r} cannot name a folder; use letters, digits, dots, hyphens and @")
    return Roster(people)


def person(row: Mapping[str | None, str | list[str] | None]) -> Person | None:
    """Whom a row of a CSV is about; None for a row of maxima, or one that names nobody."""
    cells = {(key or "").strip().casefold(): value.strip() for key, value in row.items() if isinstance(value, str)}

    def first(columns: Iterable[str]) -> str:
        return next((cells[c] for c in columns if cells.get(c)), "")

    if "student" in cells and not {"id", "sis login id"} & set(cells):  # of a list of one's own, where it is the login
        cells.setdefault("login", cells["student"])
    name = first(NAME)
    if last := first(LAST):
        name = f"{last}, {first(FIRST)}"
    number = re.sub(r"^\D*(?=\d+$)", "", first(NUMBER))
    login = first(LOGIN)
    if not login or name in ("Points Possible", "Student, Test"):
        return None
    ids = frozenset(cells[c].casefold() for c in LOGIN if cells.get(c))
    return Person(login, name, number, first(EMAIL), first(TIME), ids)


def parse_time(text: str) -> datetime | None:
    """A time in UTC, of a system or a person; in the zone of this machine where it does not say which. None if it is none."""
    text = re.sub(r"\s+", " ", text.strip()).replace(" UTC", " +0000")
    for form in TIMES:
        try:
            return datetime.strptime(text, form).astimezone(UTC)
        except (ValueError, OverflowError):  # of the first and the last year
            continue
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
