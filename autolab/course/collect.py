"""From what a learning management system gives to download into `submitted/STUDENT/ASSIGNMENT/`.

A notebook is recognised by its cells, not its name: nbgrader's grade_ids say which assignment it answers. Of several the newest counts.
What lay there before is moved to `replaced/STUDENT/ASSIGNMENT/NUMBER`; nothing outside of the course is written, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import nbformat

from autolab.course.grading.files import BY_NBGRADER, CONFIGURATION, NAME, FilePolicy
from autolab.course.grading.submission import decode, no_notebook, parse

from .downloads import AGAIN, BYTES, Sender, Submitted, first_of, opened, shown, submitted
from .roster import FOLDER, Person, Roster, parse_time
from .scaffold import tools_on_path

LEAST = 0.3  # of a notebook's cells are there where it is recognised
TIME = "timestamp.txt"
NAMED = 5  # files of a student that are left out are named one by one
EVERYBODY = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # errors of a disk, and of no one student


class Source(NamedTuple):
    """A notebook of the course: its assignment, its name, and the ids of its cells."""

    assignment: str
    name: str
    cells: frozenset[str]


@dataclass
class Collected:
    """What was done: students by assignment, and sentences on what needs a person."""

    new: dict[str, list[str]] = field(default_factory=dict)
    replaced: dict[str, list[str]] = field(default_factory=dict)
    unchanged: dict[str, list[str]] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)  # nothing was written for these
    notes: list[str] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)  # what the download says of them, where no roster does

    def counts(self) -> Iterator[str]:
        """A line for each assignment."""
        for assignment in sorted({*self.new, *self.replaced, *self.unchanged}):
            kinds = (("new", self.new), ("replaced", self.replaced), ("unchanged", self.unchanged))
            yield f"{assignment}: " + ", ".join(f"{len(students.get(assignment, ()))} {kind}" for kind, students in kinds)


def collect(root: Path, source: Path, system: str, roster: Roster | None = None, due: Mapping[str, datetime] | None = None) -> Collected:
    """Put what was handed in into a course.

    Parameters
    ----------
    root : Path
        The folder of the course.
    source : Path
        A zip or a folder.
    system : {"canvas", "moodle", "gradescope", "folder"}
        Whose download it is.
    roster : Roster, optional
        Who is in the class: folders get their logins as names, and students who are not in it are reported and not written.
    due : mapping, optional
        The due date of each assignment: Canvas says that a submission is late, but not by how much.

    Raises
    ------
    ValueError
        If `source` is not what the system offers, or beyond the limits.
    """
    result, sources = Collected(), _sources(root)
    with opened(source) as download:
        everything = submitted(download, system)
        people = _by_student(everything, roster, result)
        if not os.access(root, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(root))
        for student, files in sorted(people.items()):
            if roster is None:
                result.people.append(_person(student, files[0].sender, system))
            try:
                _collect_one(root, student, files, sources, result, due or {})
            except OSError as error:
                if error.errno in EVERYBODY:
                    raise
                result.unmatched.append(f"{student}: {shown(str(error.filename))}: {error.strerror}. Mend that, and collect again")
        result.notes += download.said
        result.unmatched += download.failed
    return result


def _person(login: str, sender: Sender, system: str) -> Person:
    """What a download says of a student. Canvas writes a name without spaces, which is none; its number is the student's."""
    email = next((one for one in sender.ids if "@" in one), "")
    return Person(login, "" if system == "canvas" else sender.name, sender.number if system == "canvas" else "", email)


def _sources(root: Path) -> list[Source]:
    found = []
    for path in sorted((root / "source").glob("*/*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        ids = frozenset(i for c in cells if (i := c.metadata.get("nbgrader", {}).get("grade_id")))
        found.append(Source(path.parent.name, path.stem, ids))
    return found


def _by_student(files: Sequence[Submitted], roster: Roster | None, result: Collected) -> dict[str, list[Submitted]]:
    """The files of each student, by the name of their folder; whom the roster does not have is noted."""
    names: dict[Sender, str | None] = {}
    example = {file.sender: file.path for file in reversed(files)}
    times: dict[Sender, datetime | None] = {}
    for sender in dict.fromkeys(file.sender for file in files):
        person = roster.find(sender.number, sender.ids, sender.name) if roster else None
        name = sender.folder if roster is None else person.login if person else None
        times[sender] = parse_time(person.when) if person else None
        if name is None:
            result.unmatched.append(f"{shown(str(sender))} is not in the roster")
        elif not FOLDER.fullmatch(name):
            result.unmatched.append(
                f"{shown(example[sender])}: a student's folder cannot be named {shown(name)!r}. "
                "Rename it, with letters, digits, dots and hyphens, or give a roster that says whose it is (--roster)"
            )
            name = None
        names[sender] = name
    by_folder: dict[str, list[Sender]] = {}
    for sender, name in names.items():
        if name:
            by_folder.setdefault(name.casefold(), []).append(sender)  # some disks do not tell Ada from ada
    for several in by_folder.values():
        if len(several) > 1:
            said = ", ".join(shown(str(s)) for s in several)
            result.unmatched.append(f"{said} cannot be told apart: a roster with the system's numbers can (--roster)")
            names.update(dict.fromkeys(several))
    people: dict[str, list[Submitted]] = {}
    for file in files:
        if name := names[file.sender]:
            people.setdefault(name, []).append(replace(file, when=file.when or times[file.sender]))
    return people


def _collect_one(
    root: Path, student: str, files: list[Submitted], sources: list[Source], result: Collected, due: Mapping[str, datetime]
) -> None:
    notebooks: dict[Source, list[tuple[Submitted, bytes]]] = {}
    beside: dict[str, bytes] = {}
    allowed, left_out, left, said = FilePolicy(), list[str](), BYTES, len(result.unmatched)
    files, more = first_of(files)
    if more:
        result.notes.append(f"{student} handed in {len(files) + more:,} files; {len(files):,} are looked at, notebooks before others")
    for file in files:
        wanted = any(fnmatchcase(file.file, kind) for kind in allowed.kinds) and NAME.fullmatch(file.file)
        if not file.file.lower().endswith(".ipynb"):
            if not wanted or file.file in BY_NBGRADER or any(fnmatchcase(file.file, kind) for kind in CONFIGURATION):
                left_out.append(f"{student}: {shown(file.path)} is left out: {_why(file.file)}")
                continue
        try:
            data = file.read() if left >= 0 else b""
            left -= len(data)
            if left < 0:
                raise ValueError(f"{shown(file.path)} is not read: of one student at most {BYTES >> 20} MB are")
        except ValueError as error:
            (result.unmatched if file.file.lower().endswith(".ipynb") else left_out).append(f"{student}: {error}")
            continue
        if not file.file.lower().endswith(".ipynb"):
            beside[file.file] = data
        elif what := no_notebook(decode(data[:100])):
            result.unmatched.append(f"{student}: {shown(file.path)} is {what} and no notebook. Ask for the notebook, the .ipynb file")
        elif found := _recognised(data, file.file, sources):
            notebooks.setdefault(found, []).append((file, data))
        else:
            result.unmatched.append(f"{student}: {shown(file.path)} is not a notebook of this course: its cells are of none")
    result.notes += left_out[:NAMED]
    if len(left_out) > NAMED:
        result.notes.append(f"{student}: {len(left_out) - NAMED:,} more files are left out")
    if not notebooks and len(result.unmatched) == said:
        result.unmatched.append(f"{student} handed in no notebook")
    for assignment in sorted({s.assignment for s in notebooks}):
        chosen = {s: _newest(student, s, several, result) for s, several in notebooks.items() if s.assignment == assignment}
        content = {f"{s.name}.ipynb": data for s, (_, data) in chosen.items()} | beside
        when = max((f.when for f, _ in chosen.values() if f.when), default=None)
        if when is None and any(f.late for f, _ in chosen.values()):
            when = due[assignment] + timedelta(seconds=1) if assignment in due else None
            if when is None:
                result.notes.append(f"{student}: {assignment} is late; give --due, since Canvas does not say by how much")
        _place(root, student, assignment, content, when, result)


def _why(name: str) -> str:
    if name.lower().endswith((".zip", ".tar", ".gz", ".7z", ".rar")):
        return "an archive is not opened; unpack it, and collect the folder with --from folder"
    return f"no notebook, and none of {', '.join(FilePolicy().kinds)}"


def _recognised(data: bytes, name: str, sources: list[Source]) -> Source | None:
    """Which notebook of the course this is: most of its cells, by their ids; where none can be read, its name."""
    notebook, _ = parse(decode(data), name)
    ids = {i for c in notebook.cells for i in (c.metadata.get("nbgrader", {}).get("grade_id"), c.metadata.get("was")) if isinstance(i, str)}
    stem = AGAIN.sub("", name).removesuffix(".ipynb")
    shares = [(len(s.cells & ids) / max(len(s.cells), 1), s.name == stem, s) for s in sources]
    share, named, best = max(shares, key=lambda entry: entry[:2], default=(0.0, False, None))
    if share >= LEAST or (named and not any(entry[0] for entry in shares)):
        return best
    return None


def _newest(student: str, source: Source, several: list[tuple[Submitted, bytes]], result: Collected) -> tuple[Submitted, bytes]:
    *others, newest = sorted(several, key=lambda entry: entry[0].order)
    if others:
        said = ", ".join(shown(file.path) for file, _ in others)
        result.notes.append(f"{student}: of several {source.name} the newest counts, {shown(newest[0].path)}; not taken: {said}")
    return newest


def _place(root: Path, student: str, assignment: str, content: dict[str, bytes], when: datetime | None, result: Collected) -> None:
    """Write one submission: whole or not at all; what was there is moved aside."""
    target = root / "submitted" / student / assignment
    if link := next((p for p in (root / "submitted", target.parent, target, root / "replaced") if p.is_symlink()), None):
        result.unmatched.append(f"{student}: {link} is a link, which is not followed")
        return
    stamp = f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC\n" if when else None
    before = _plain_files(target)
    old = parse_time(before.get(TIME, b"").decode("utf-8", "replace"))
    if before and all(before.get(name) == data for name, data in content.items()) and (stamp is None or old == parse_time(stamp)):
        result.unchanged.setdefault(assignment, []).append(student)
        return
    if old and when and old > when:
        result.notes.append(f"{student}: {assignment} stays as it is: it was handed in at {old:%Y-%m-%d %H:%M} UTC, which is later")
        result.unchanged.setdefault(assignment, []).append(student)
        return
    earlier = {name: data for name, data in before.items() if name.endswith(".ipynb") and name not in content}
    if earlier:
        result.notes.append(f"{student}: {', '.join(earlier)} of {assignment} is not in this download, and stays as it was")
    with tempfile.TemporaryDirectory(dir=root, prefix=".collect-") as folder:
        fresh = Path(folder, "fresh")
        fresh.mkdir()
        for name, data in (content | earlier | ({TIME: stamp.encode()} if stamp else {})).items():
            (fresh / name).write_bytes(data)
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target):
            aside = root / "replaced" / student / assignment
            aside.mkdir(parents=True, exist_ok=True)
            target.rename(aside / f"{len(list(aside.iterdir())) + 1:03}")
        fresh.rename(target)
    (result.replaced if before else result.new).setdefault(assignment, []).append(student)


def _plain_files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and not p.is_symlink()} if folder.is_dir() else {}


def remember_people(root: Path, people: Sequence[Person], system: str, replace: bool = True) -> None:
    """Tell nbgrader's gradebook names and addresses, and Canvas's numbers: `course export` finds students by them.

    Without `replace` what it knows of a student stays.
    """
    from nbgrader.api import Gradebook

    with tools_on_path(), Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        known = {student.id: student for student in gradebook.students}
        for person in people:
            first, last = person.first_and_last()
            facts = {
                "first_name": first,
                "last_name": last,
                "email": person.email,
                "lms_user_id": person.number if system == "canvas" else "",
            }
            before = None if replace else known.get(person.login)
            new = {key: value for key, value in facts.items() if value and not getattr(before, key, None)}
            if new or replace:
                gradebook.update_or_create_student(person.login, **new)


def due_dates(root: Path) -> dict[str, datetime]:
    """The due dates that nbgrader's gradebook knows."""
    from nbgrader.api import Gradebook

    if not (root / "gradebook.db").is_file():
        return {}
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        return {a.name: a.duedate.replace(tzinfo=UTC) for a in gradebook.assignments if a.duedate}
