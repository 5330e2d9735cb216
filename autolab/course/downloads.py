"""What a learning management system gives to download: which file is whose, and when it came.

    canvas      lovelaceada_LATE_123_456_elementwise-rules-1.ipynb       name, late, number of the student and of the file
    moodle      Ada Lovelace_123_assignsubmission_file/...               name, number in this assignment; older ones end with _
                Ada Lovelace_123_assignsubmission_file_n.ipynb           without folders
    gradescope  assignment_1_export/submission_456/...                   submission_metadata.yml says whose, and when
    folder      ada/...                                                  a folder for each student, perhaps with timestamp.txt

Nothing is unpacked: names are read as text, and files into memory, up to limits. Links are left out.
Limits are those of one student, as far as a download can tell: what one hands in must not cost another.
"""

from __future__ import annotations

import bz2
import contextlib
import copy
import itertools
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from autolab.course.grading.submission import LONGEST

from .roster import compact, parse_time

MOST = 500_000  # files of a download
MOST_OF_ONE, BYTES = 1000, 128 << 20  # files of a student that are looked at; bytes of them that are read
DICTIONARY = 64 << 20  # bytes that an entry packed by LZMA may have in use
PIECE = 1 << 16  # bytes of an archive that are read at a time
CANVAS = re.compile(r"(?P<name>.*?)_(?P<late>LATE_)?(?P<number>\d+)_(?P<at>\d{1,18})_(?P<file>.+)", re.DOTALL)
ANONYMOUS = re.compile(r"(?:LATE_)?anon_\w+?_\d+_.+", re.DOTALL)
MOODLE = re.compile(r"(?P<name>.*?)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)", re.DOTALL)
LEADING = re.compile(r"\A(?:\.?/+)+")  # of an absolute path, or of ./
NOISE = re.compile(r"(?:^|/)(?:__MACOSX/|\.ipynb_checkpoints/|\.DS_Store$|\._|Thumbs\.db$|desktop\.ini$)")
AGAIN = re.compile(r"(?: ?\((\d{1,9})\)|-(\d{1,2}))(?=\.\w+$)")  # `n (1).ipynb` of a browser, `n-1.ipynb` of Canvas


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
    """The files of an archive or a folder, and sentences: on what is left out, and on what ought to have been read and cannot be."""

    files: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


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
        raise ValueError(f"{source} holds {len(entries):,} files; more than {MOST:,} are not read")
    for entry in entries:
        path = LEADING.sub("", entry.filename.replace("\\", "/"))
        if entry.is_dir() or NOISE.search(path):
            continue
        if stat.S_ISLNK(entry.external_attr >> 16):
            download.said.append(f"{shown(path)} is a link, which is not followed")
        else:
            download.files[path] = lambda e=entry, p=path: _checked(p, _unzipped(archive, e, p))
    return download


def _checked(path: str, data: bytes) -> bytes:
    """The bytes of a file. Raises ValueError for what is too long."""
    if len(data) > LONGEST:
        raise ValueError(
            f"{shown(path)} has more than {LONGEST >> 20} MB, and is not read"
            + ": without its outputs it is smaller" * path.endswith(".ipynb")
        )
    return data


def _unzipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str) -> bytes:
    """The first LONGEST + 1 bytes of an entry. Raises ValueError, in a sentence, where it cannot be unpacked."""
    if entry.flag_bits & 1:
        raise ValueError(f"{shown(path)} is encrypted: unpack the zip with its password, and collect the folder (--from folder)")
    try:
        if entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with archive.open(entry) as file:
                return file.read(LONGEST + 1)
        return _in_pieces(archive, entry)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise ValueError(f"{shown(path)} cannot be unpacked: {error}. Download it again, or ask for it") from None


def _in_pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """What `file.read(LONGEST + 1)` gives for bzip2 and LZMA, which zipfile would unpack as a whole: gigabytes from a few kB."""
    packed = copy.copy(entry)  # the same bytes, taken for a file that is not packed
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, entry.compress_size
    del packed.CRC
    most, data = min(entry.file_size, LONGEST + 1), bytearray()
    with archive.open(packed) as file:
        unpack: bz2.BZ2Decompressor | lzma.LZMADecompressor
        if entry.compress_type == zipfile.ZIP_BZIP2:
            unpack, piece = bz2.BZ2Decompressor(), file.read(PIECE)
        elif entry.compress_type == zipfile.ZIP_LZMA:
            length = int.from_bytes(file.read(4)[2:], "little")  # behind two bytes of a version
            unpack = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=DICTIONARY)
            piece = file.read(length) + b"\xff" * 8 + file.read(PIECE)  # in this format the length comes here: not known
        else:
            raise NotImplementedError(f"it is packed in a way that is not read (method {entry.compress_type})")
        while len(data) < most and not unpack.eof:
            data += unpack.decompress(piece, min(PIECE, most - len(data)))
            piece = file.read(PIECE) if unpack.needs_input else b""
            if unpack.needs_input and not piece:
                break
    if len(data) <= LONGEST and (len(data) < entry.file_size or zlib.crc32(data) != entry.CRC):
        raise zipfile.BadZipFile("it is damaged")
    return bytes(data)


def _folder(source: Path) -> Download:
    download, count = Download(), itertools.count(1)

    def unread(error: OSError) -> None:
        path = os.path.relpath(error.filename, source) if error.filename else str(source)
        download.failed.append(f"{shown(path)} cannot be read: {error.strerror}. Make it readable for you, and collect again")

    for place, folders, names in os.walk(source, onerror=unread):
        folders.sort()
        for name in sorted(names + [f for f in folders if (Path(place) / f).is_symlink()]):
            file = Path(place) / name
            path = file.relative_to(source).as_posix()
            if NOISE.search(path):
                continue
            if next(count) > MOST:
                raise ValueError(f"{source} holds more than {MOST:,} files, which are not read")
            try:
                plain = stat.S_ISREG(file.lstat().st_mode)
            except OSError as error:
                unread(error)
                continue
            if not plain:
                download.said.append(f"{shown(path)} is a link or no plain file, and is not read")
            else:
                download.files[path] = lambda f=file, p=path: _checked(p, _read(f, p))
    return download


def _read(file: Path, path: str) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as opened_file:
            return opened_file.read(LONGEST + 1)
    except OSError as error:
        raise ValueError(f"{shown(path)} cannot be read: {error.strerror}") from None


def shown(path: str) -> str:
    """A path of a download, to be printed: a name may hold what a terminal obeys."""
    return path[:200] if path.isprintable() else ascii(path)[:200]


def submitted(download: Download, system: str) -> list[Submitted]:
    """The files of a download with their senders; the others are said in `download.said`. Raises ValueError if it is none of `system`."""
    if not download.files and not download.failed:
        raise ValueError("there are no files in it: download it again, and look into it before you collect")
    found = list(SYSTEMS[system](download))
    if not found and not download.failed:
        raise ValueError(f"nothing in it is named as {system} names what students hand in; {FORM[system]}")
    return found


def first_of(files: Sequence[Submitted]) -> tuple[list[Submitted], int]:
    """The files of a student that are looked at, notebooks first, and how many are not: a folder of packages may lie beside them."""
    chosen = sorted(files, key=lambda file: not file.file.lower().endswith(".ipynb"))
    return chosen[:MOST_OF_ONE], len(chosen[MOST_OF_ONE:])


def _canvas(download: Download) -> Iterator[Submitted]:
    tops = {top if slash else "" for top, slash, _ in (path.partition("/") for path in download.files)}
    if len(tops) == 1 and CANVAS.fullmatch(top := tops.pop()):  # one student, or a class in a folder that somebody named so
        raise ValueError(
            f"everything in it lies in the folder {shown(top)}, which is named as Canvas names what one student hands in. "
            "Rename that folder, and collect again"
        )
    for path, read in download.files.items():
        *folders, name = path.split("/")
        # the first part that says whose it is: what is behind it a student may have named after another
        if match := next(filter(None, map(CANVAS.fullmatch, (*folders, name))), None):
            sender = Sender(f"{match['name']}-{match['number']}", match["name"], match["number"])
            file = name if match.string != name else match["file"]
            yield Submitted(sender, file, path, (int(match["at"]), *_again(name)), bool(match["late"]), None, read)
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
            sid, email, name = (str(one.get(key) or "").strip().encode("utf-8", "replace").decode() for key in (":sid", ":email", ":name"))
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
        place, time = path.rpartition("/")[0], None
        try:
            time = parse_time(download.files.pop(path)()[:100].decode("utf-8", "replace"))
            said = "" if time else f"{shown(path)} holds no time such as 2026-11-21 18:00:00 UTC"
        except ValueError as error:
            said = str(error)
        if said:
            download.said.append(f"{said}: what lies beside it is collected without a time. Write one into it, and collect again")
        times[place] = time
    for path, read in download.files.items():
        student, slash, file = path.partition("/")
        if slash and student:
            # the outermost: one that is deeper inside a student may have handed in
            when = next((times[place] for place in _places(path) if place in times), None)
            order = (when or datetime.min.replace(tzinfo=UTC), *_again(file))
            yield Submitted(Sender(student, ids=(student,)), file.rpartition("/")[2], path, order, False, when, read)
        else:
            download.said.append(f"{shown(path)} is in no student's folder")


def _places(path: str) -> Iterator[str]:
    """The folders that a file is in, from the outermost.

    >>> list(_places("ada/ps1/n.ipynb"))
    ['ada', 'ada/ps1']
    """
    return itertools.accumulate(path.split("/")[:-1], "{}/{}".format)


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
