"""What a learning management system gives to download: which file is whose, and when it came.

    canvas      lovelaceada_LATE_123_456_elementwise-rules-1.ipynb       name, late, number of the student and of the file
    moodle      Ada Lovelace_123_assignsubmission_file/...               name, number in this assignment; older ones end with _
                Ada Lovelace_123_assignsubmission_file_n.ipynb           without folders
    gradescope  assignment_1_export/submission_456/...                   submission_metadata.yml says whose, and when
    folder      ada/...                                                  a folder for each student, perhaps with timestamp.txt

Nothing is unpacked: names are read as text, and files into memory, up to limits. Links are left out.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from autolab.course.grading.submission import LONGEST

from .roster import compact, parse_time

MOST, BYTES = 20_000, 2 << 30  # files of a download; bytes that are read of it
CANVAS = re.compile(r"(?P<name>.*?)_(?P<late>LATE_)?(?P<number>\d+)_(?P<at>\d+)_(?P<file>.+)", re.DOTALL)
ANONYMOUS = re.compile(r"(?:LATE_)?anon_\w+?_\d+_.+", re.DOTALL)
MOODLE = re.compile(r"(?P<name>.*)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)", re.DOTALL)
NOISE = re.compile(r"(?:^|/)(?:__MACOSX/|\.ipynb_checkpoints/|\.DS_Store$|\._|Thumbs\.db$|desktop\.ini$)")
AGAIN = re.compile(r"(?: ?\((\d+)\)|-(\d{1,2}))(?=\.\w+$)")  # `n (1).ipynb` of a browser, `n-1.ipynb` of Canvas


@dataclass(frozen=True)
class Sender:
    """Who handed something in, as the download says it.

    folder: what their folder is called where no roster names them; it stays the same from one assignment to the next.
    """

    folder: str
    name: str = ""
    number: str = ""
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name or ", ".join(self.ids), f"({self.number})" if self.number else "")))[:200]


@dataclass(frozen=True)
class Submitted:
    """A file that somebody handed in. `order` is larger for a newer one of the same sender."""

    sender: Sender
    file: str
    path: str
    order: tuple[Any, ...]
    late: bool
    when: datetime | None
    read: Callable[[], bytes]


@dataclass
class Download:
    """The files of an archive or a folder, and what is said about those that cannot be read."""

    files: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    left: int = field(default_factory=lambda: BYTES)

    def taken(self, path: str, data: bytes) -> bytes:
        """The bytes of a file, counted. Raises ValueError for what is too long."""
        if len(data) > LONGEST:
            raise ValueError(f"{path} has more than {LONGEST >> 20} MB")
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(f"{path} is beyond {BYTES >> 30} GB, after which a download is not read on")
        return data


@contextlib.contextmanager
def opened(source: Path) -> Iterator[Download]:
    """A zip, or a folder. Raises ValueError for a file that is not a zip, or holds too much."""
    if source.is_dir():
        yield _folder(source)
        return
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ValueError(f"{source} is not a zip that can be read: {error}. Give the zip that the system offers, or a folder") from None
    with archive:
        yield _zip(source, archive)


def _zip(source: Path, archive: zipfile.ZipFile) -> Download:
    download, entries = Download(), archive.infolist()
    if len(entries) > MOST:
        raise ValueError(f"{source} holds {len(entries)} files; more than {MOST} are not read")
    for entry in entries:
        path = entry.filename.replace("\\", "/")
        if entry.is_dir() or NOISE.search(path):
            continue
        if stat.S_ISLNK(entry.external_attr >> 16):
            download.said.append(f"{shown(path)} is a link, which is not followed")
        elif entry.flag_bits & 1:
            download.said.append(f"{shown(path)} is encrypted")
        else:
            download.files[path] = lambda e=entry, p=path: download.taken(p, _unzipped(archive, e, p))
    return download


def _unzipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str) -> bytes:
    try:
        with archive.open(entry) as file:
            return file.read(LONGEST + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"{shown(path)} cannot be unpacked: {error}") from None


def _folder(source: Path) -> Download:
    download, count = Download(), itertools.count(1)
    for place, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names + [f for f in folders if (Path(place) / f).is_symlink()]):
            file = Path(place) / name
            path = file.relative_to(source).as_posix()
            if NOISE.search(path):
                continue
            if next(count) > MOST:
                raise ValueError(f"{source} holds more than {MOST} files, which are not read")
            if not stat.S_ISREG(file.lstat().st_mode):
                download.said.append(f"{shown(path)} is a link or no plain file, and is not read")
            else:
                download.files[path] = lambda f=file, p=path: download.taken(p, _read(f))
    return download


def _read(file: Path) -> bytes:
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as opened_file:
        return opened_file.read(LONGEST + 1)


def shown(path: str) -> str:
    """A path of a download, to be printed: a name may hold what a terminal obeys."""
    return path[:200] if path.isprintable() else ascii(path)[:200]


def submitted(download: Download, system: str) -> list[Submitted]:
    """The files of a download with their senders; the others are said in `download.said`. Raises ValueError if it is none of `system`."""
    found = list(SYSTEMS[system](download))
    if not found:
        raise ValueError(f"nothing in it is named as {system} names what students hand in; {FORM[system]}")
    return found


def _canvas(download: Download) -> Iterator[Submitted]:
    for path, read in download.files.items():
        name = path.rpartition("/")[2]
        if match := CANVAS.fullmatch(name):
            sender = Sender(f"{match['name']}-{match['number']}", match["name"], match["number"])
            yield Submitted(sender, match["file"], path, (int(match["at"]), *_again(name)), bool(match["late"]), None, read)
        elif ANONYMOUS.fullmatch(name):
            download.said.append(f"{shown(path)} is anonymous: turn that off in Canvas, and download again")
        else:
            download.said.append(f"{shown(path)} is not named as Canvas names a submission")


def _moodle(download: Download) -> Iterator[Submitted]:
    for path, read in download.files.items():
        match = next((m for part in PurePosixPath(path).parts if (m := MOODLE.fullmatch(part))), None)
        if match and match["kind"] == "file":
            file = match["file"] or path.rpartition("/")[2]
            # the number is one of this assignment, and another in the next
            sender = Sender(compact(match["name"]), match["name"], match["number"])
            yield Submitted(sender, file, path, _again(file), False, None, read)
        elif not (match and match["kind"] == "onlinetext"):  # Moodle adds onlinetext.html for everybody where it may be typed
            download.said.append(f"{shown(path)} is not in a folder that Moodle names")


def _gradescope(download: Download) -> Iterator[Submitted]:
    import yaml

    path = min((p for p in download.files if p.rpartition("/")[2] == "submission_metadata.yml"), key=len, default=None)
    if path is None:
        return
    try:
        facts = yaml.load(download.files.pop(path)(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    facts = facts if isinstance(facts, dict) else {}
    root = path.removesuffix("submission_metadata.yml")
    for name, read in download.files.items():
        folder, _, file = name.removeprefix(root).partition("/")
        said = facts.get(folder)
        senders = list(_submitters(said))
        if not senders:
            download.said.append(f"{shown(name)}: submission_metadata.yml does not say whose it is")
        when = _utc(said.get(":created_at")) if isinstance(said, dict) else None
        for sender in senders:
            order = (when or datetime.min.replace(tzinfo=UTC), *_again(file))
            yield Submitted(sender, file.rpartition("/")[2], name, order, False, when, read)


def _submitters(said: Any) -> Iterator[Sender]:
    listed = said.get(":submitters") if isinstance(said, dict) else None
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            sid, email, name = (str(one.get(key) or "").strip() for key in (":sid", ":email", ":name"))
            if sid or email or name:
                yield Sender(sid or email or compact(name), name, "", tuple(filter(None, (sid, email))))


def _utc(when: Any) -> datetime | None:
    if isinstance(when, str):
        return parse_time(when)
    if isinstance(when, datetime):  # a reader of YAML gives UTC without saying so
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    return None


def _students(download: Download) -> Iterator[Submitted]:
    times: dict[str, datetime | None] = {}
    for path in [p for p in download.files if p.rpartition("/")[2] == "timestamp.txt"]:
        text = download.files.pop(path)()[:100].decode("utf-8", "replace")
        times[path.rpartition("/")[0]] = parse_time(text)
    for path, read in download.files.items():
        student, slash, file = path.partition("/")
        if slash:
            when = times.get(path.rpartition("/")[0])
            order = (when or datetime.min.replace(tzinfo=UTC), *_again(file))
            yield Submitted(Sender(student, ids=(student,)), file.rpartition("/")[2], path, order, False, when, read)
        else:
            download.said.append(f"{shown(path)} is in no student's folder")


def _again(name: str) -> tuple[int, str]:
    """Where a name has a number, the later copy of a file has the larger one."""
    match = AGAIN.search(name)
    return (int(match[1] or match[2]) if match else 0, name)


SYSTEMS = {"canvas": _canvas, "moodle": _moodle, "gradescope": _gradescope, "folder": _students}
FORM = {
    "canvas": "expected `lovelaceada_123_456_NAME.ipynb` (Download Submissions)",
    "moodle": "expected folders such as `Ada Lovelace_123_assignsubmission_file` (Download all submissions)",
    "gradescope": "expected submission_metadata.yml and folders `submission_123` (Export Submissions)",
    "folder": "expected a folder for each student",
}
