"""nbgrader's exchange: collecting without following links, and without ending at what one student laid there.

A submission lies in a folder of its student, who may put a link there to what only the instructor can read: nbgrader would
copy that, and feedback would show it to the student. A pipe, a folder a thousand folders deep, or too many bytes would end the
collection for everybody. `exercises/nbgrader_config.py` puts this in its place.
"""

from __future__ import annotations

import glob
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback

from .unfinished import warn

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # by these it finds whose feedback a page is
DEEP, MANY = 20, 5000  # folders in folders; files and folders of a submission


class CollectWithoutLinks(ExchangeCollect):
    """Copies the plain files of what is handed in, as many as nbgrader's limits allow."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """As nbgrader's, from a copy that holds plain files alone. Never raises because of what lies there."""
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain")
            for what in copy_plain(src, plain, 1000 * self.coursedir.max_dir_size):
                self.log.warning("%s: %s", src, what)
            super().do_copy(plain, dest, log)


class ReleaseWhatCameThroughExchange(ExchangeReleaseFeedback):
    """Gives back the pages of those who handed in through the exchange; nbgrader's ends at the first who did otherwise."""

    def copy_files(self) -> None:
        """As nbgrader's, without those by whom the exchange left no secret beside the submission."""
        warn(self.log, self.coursedir.root, [self.coursedir.assignment_id])
        before = self.coursedir.student_id_exclude
        folders = {Path(page).parent for page in glob.glob(os.path.join(self.src_path, "*.html"))}
        others = sorted(f.parent.name for f in folders if not all((f / name).is_file() for name in (TIMESTAMP, SECRET)))
        if others:
            self.log.warning("not handed in through the exchange, so give these their pages in another way: %s", ", ".join(others))
        self.coursedir.student_id_exclude = ",".join(filter(None, (before, *others)))
        try:
            super().copy_files()
        finally:
            self.coursedir.student_id_exclude = before


@dataclass
class _Left:
    """What may still be copied, and what was not."""

    size: int
    count: int
    said: list[str] = field(default_factory=list)

    def out(self, path: str, why: str) -> None:
        if len(self.said) < 10:
            self.said.append(f"{ascii(path)[:200]} {why}")


def copy_plain(source: str, target: str, size: int) -> list[str]:
    """Copy the plain files of a folder, up to `size` bytes; what was left out and why. Nobody may lay a link in the way meanwhile."""
    os.mkdir(target)
    left = _Left(size, MANY)
    try:
        place = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return ["the folder is a link or none, which is not followed"]
    _copy_folder(place, target, "", DEEP, left)
    return left.said


def _copy_folder(place: int, target: str, within: str, depth: int, left: _Left) -> None:
    """Copy what lies in an open folder, and close it."""
    try:
        for name in _names(place, left, within):
            path, mode = os.path.join(within, name), os.lstat(name, dir_fd=place).st_mode
            if stat.S_ISDIR(mode):
                if depth == 0:
                    left.out(path, f"lies more than {DEEP} folders deep")
                    continue
                os.mkdir(os.path.join(target, name))
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
                _copy_folder(inner, os.path.join(target, name), path, depth - 1, left)
            elif stat.S_ISREG(mode):
                _copy_file(place, name, os.path.join(target, name), path, left)
            else:
                left.out(path, "is a link, which is not followed" if stat.S_ISLNK(mode) else "is not a plain file")
    except OSError as error:
        left.out(within or ".", f"could not be read to its end: {error.strerror}")
    finally:
        os.close(place)


def _names(place: int, left: _Left, within: str) -> Iterator[str]:
    with os.scandir(place) as entries:
        for entry in entries:
            left.count -= 1
            if left.count < 0:
                left.out(within or ".", f"holds more than {MANY} files in all")
                return
            yield entry.name


def _copy_file(place: int, name: str, target: str, path: str, left: _Left) -> None:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > left.size:
            left.out(path, "is beyond the bytes that CourseDirectory.max_dir_size allows")
            return
        left.size -= facts.st_size
        with open(target, "xb") as copy:
            copy.write(file.read(facts.st_size))  # and no more, should it grow meanwhile
