"""What was handed in beside a notebook, data and modules, on its way into the sandbox: as much as the course allows.

Nothing here follows a symbolic link, looks into a folder of a folder, or reads more than its limits.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

NAME = re.compile(r"\w[\w .-]{0,99}")  # no path, nothing hidden
BY_NBGRADER = ("timestamp.txt", "submission_secret.txt")  # nbgrader's
LOOKED_AT = 1000  # entries of a folder


@dataclass(frozen=True)
class FilePolicy:
    """Which files may go into the sandbox: kinds as patterns of names, how many, and how many bytes in all."""

    kinds: tuple[str, ...] = ("*.csv", "*.tsv", "*.txt", "*.json", "*.npy", "*.npz", "*.py")
    count: int = 20
    size: int = 8 << 20

    def __str__(self) -> str:
        return f"{', '.join(self.kinds)}, at most {self.count} and {self.size / (1 << 20):g} MB in all"


def companion_files(folder: Path, allowed: FilePolicy) -> tuple[dict[str, bytes], list[str]]:
    """The files of a submission that are taken along, and what is said of those that ought to be and are not."""
    files: dict[str, bytes] = {}
    notes: list[str] = []
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return files, notes
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in itertools.islice(entries, LOOKED_AT))
        left = allowed.size
        for name in names:
            wanted = NAME.fullmatch(name) and any(fnmatchcase(name, kind) for kind in allowed.kinds)
            if not wanted or name in BY_NBGRADER or name.endswith(".ipynb"):
                continue
            data = _read(place, name, left) if len(files) < allowed.count else None
            if data is None:
                notes.append(f"{name} was not taken along: no ordinary file (a link is not followed), or more than {allowed}")
                continue
            files[name] = data
            left -= len(data)
    except OSError:
        notes.append("the folder could not be read to its end; the files beside the notebook may be incomplete")
    finally:
        os.close(place)
    return files, notes[:10]


# Files that set up a program which may be started in the folder: nbgrader, Jupyter, IPython, pytest, Python, a shell, an editor.
CONFIGURATION = (
    "nbgrader_config.*", "gradebook.db", "jupyter*_config.*", "jupyter_config.d", ".jupyter", "ipython*_config.*", ".ipython",
    "conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py", "*.pth",
    ".bashrc", ".bash_profile", ".profile", ".zshrc", ".envrc", ".vscode", "pyvenv.cfg",
)  # fmt: skip


def odd_files(folder: Path, released: Path | None = None) -> list[str]:
    """What lies in a submission and belongs into none: links, pipes and devices, and files that set up a program. For who grades.

    A file that is as it was handed out, in the folder `released`, belongs there.
    """
    said: list[str] = []
    waiting, left = [""], LOOKED_AT
    while waiting and left > 0 and len(said) < 10:
        within = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder / within) as entries:
            for entry in sorted(itertools.islice(entries, left), key=lambda entry: entry.name):
                left -= 1
                path = os.path.join(within, entry.name)
                if (kind := _oddity(entry)) and not (released and _is_same(entry, released / path)):
                    said.append(f"{ascii(path)[:200]} is {kind}")
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
    return said[:10]


def _oddity(entry: os.DirEntry) -> str:
    if entry.is_symlink():
        return f"a link to {ascii(os.readlink(entry.path))[:200]}, which is not followed"
    if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
        return "a pipe, a socket or a device, which is not read"
    name = entry.name.lower()
    return "a file that sets up a program, which is not used" if any(fnmatchcase(name, kind) for kind in CONFIGURATION) else ""


def _is_same(entry: os.DirEntry, released: Path) -> bool:
    """Is it a file with the text of the one that was handed out?"""
    with contextlib.suppress(OSError):
        if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size == released.stat().st_size:
            return Path(entry.path).read_bytes() == released.read_bytes()
    return False


def _read(place: int, name: str, most: int) -> bytes | None:
    """A file of an open folder; None if it is none, or too long."""
    with contextlib.suppress(OSError):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        try:  # os.fdopen leaves the descriptor of a folder open, and a submission may hold a thousand folders
            facts = os.fstat(descriptor)
            if stat.S_ISREG(facts.st_mode) and facts.st_size <= most:
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    data = file.read(most + 1)  # it may have grown
                return data if len(data) <= most else None
        finally:
            os.close(descriptor)
    return None
