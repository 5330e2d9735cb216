"""The version that a course was made with, compared with the one that runs: points are the same where they agree.

`autolab course new` writes it into `autolab-version.txt` of the course, and from there it gets into the metadata of each notebook, where
a student's copy of autolab finds it. A difference is said in a sentence, and nothing is refused.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from autolab.version import __version__

FILE = "autolab-version.txt"
LONGEST = 32 << 20  # bytes of a notebook that is read
_compared: set[Path] = set()


def course_version(course: Path) -> str | None:
    """The version that a course was made with; None if it does not say."""
    try:
        return (course / FILE).read_text("utf-8").strip()[:50] or None
    except (OSError, ValueError):
        return None


def notebook_version(path: Path) -> str | None:
    """The version of the course that a notebook is of; None if it is of none, or cannot be read."""
    try:
        if path.stat().st_size > LONGEST:
            return None
        found = json.loads(path.read_text("utf-8"))["metadata"]["autolab"]["version"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return found[:50] if isinstance(found, str) and found.isprintable() else None


def difference(made_with: str | None, what: str, package: str = "autolab-grad") -> str:
    """A sentence if `what` was made with another version than this one, with the package to install; else nothing.

    >>> difference("0.0.1", "this course")
    'this course was made with autolab 0.0.1, and this is autolab ...: points may differ. pip install "autolab-grad==0.0.1"'
    """
    if made_with in (None, __version__):
        return ""
    return (
        f"{what} was made with autolab {made_with}, and this is autolab {__version__}: points may differ. "
        f'pip install "{package}=={made_with}"'
    )


def running_notebook() -> Path | None:
    """The notebook that this process runs, where Jupyter or VS Code says so."""
    said = os.environ.get("JPY_SESSION_NAME") or vars(sys.modules["__main__"]).get("__vsc_ipynb_file__")
    return Path(said) if isinstance(said, str) and said.endswith(".ipynb") else None


def compare_notebook() -> None:
    """Say once if the notebook that runs is of a course of another version."""
    path = running_notebook()
    if path is not None and path not in _compared:
        _compared.add(path)
        if said := difference(notebook_version(path), path.name):
            print(said, file=sys.stderr)


def notebooks_that_differ(folder: Path) -> Iterator[str]:
    """A sentence for each notebook in a folder, or in one of its folders, that is of a course of another version."""
    for path in sorted([*folder.glob("*.ipynb"), *folder.glob("*/*.ipynb")]):
        if said := difference(notebook_version(path), path.relative_to(folder).as_posix()):
            yield said
