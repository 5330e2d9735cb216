"""The file that is a student's notebook, also where it has another name, and what is said of the others that lie there.

Nothing here runs anything, follows a symbolic link, or chooses between two notebooks: a person does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from .files import BY_NBGRADER, NAME
from .submission import Form, read_text

LEAST = 0.3  # of a notebook's cells are there where it is recognised, as for `autolab course collect`
LOOKED_AT = 1000  # entries of a folder
IDS = re.compile(r'"(?:grade_id|id)"\s*:\s*"([^"\\]+)"')


def read_notebook(folder: Path, name: str, form: Form, known: Collection[str]) -> tuple[str | None, list[str]]:
    """The text of a notebook that was handed in, or None, and notes on it for the student.

    Where there is no file `name.ipynb`, the only other that has most of its cells is taken. `known` are the names of all notebooks of
    the assignment.
    """
    text, notes = read_text(folder / f"{name}.ipynb")
    others = sorted(_others(folder, known))
    shown = ", ".join(ascii(path)[:80] for path in others[:3])
    if text is not None:
        return text, [*notes, f"beside it there is {shown}, which is not graded"] if others else notes
    if os.path.lexists(folder / f"{name}.ipynb"):
        return None, notes
    fits = [(path, found) for path in others[:10] if (found := read_text(folder / path)[0]) is not None and _fits(found, form)]
    if len(fits) == 1:
        return fits[0][1], [*notes, f"{ascii(fits[0][0])[:80]} has its cells, and is graded instead"]
    if others:
        return None, [*notes, f"instead there is {shown}: a notebook keeps the name it was handed out with"]
    strays = ", ".join(sorted(_strays(folder))[:3])
    return None, [*notes, f"instead there is {strays}, which is not a notebook"] if strays else notes


def _fits(text: str, form: Form) -> bool:
    return len({cell.name for cell in form} & set(IDS.findall(text))) >= LEAST * len(form)


def _others(folder: Path, known: Collection[str]) -> Iterator[str]:
    """Notebooks under other names, as `n (1).ipynb`, `n_solved.ipynb`, `N.IPYNB`, or in a folder, as an archive unpacks them."""
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from (f"{entry.name}/{inner.name}" for inner in _entries(entry.path) if _is_notebook(inner))
        elif _is_notebook(entry) and entry.name.removesuffix(".ipynb") not in known:
            yield entry.name


def _strays(folder: Path) -> Iterator[str]:
    return (e.name for e in _entries(folder) if NAME.fullmatch(e.name) and e.name not in BY_NBGRADER and e.is_file(follow_symlinks=False))


def _is_notebook(entry: os.DirEntry) -> bool:
    return entry.name.lower().endswith(".ipynb") and not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)


def _entries(folder: str | Path) -> list[os.DirEntry]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return list(itertools.islice(entries, LOOKED_AT))
    return []
