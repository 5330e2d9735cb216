"""The problem sets as students get them: which there are, and a copy of one to work in."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from autolab.utils import copies

PACKAGE = Path(__file__).parents[1]
RECORD = ".autolab-exercises.json"
BUTTON = "display:inline-block;padding:.3em .8em;border-radius:4px;background:#1f5fa8;color:#fff;text-decoration:none;font-weight:600"
SAID = {
    "copied": "{0} is new here.",
    "updated": "{0} was here, not begun, and is up to date now.",
    "kept": "{0} was here already: yours, left as it is.",
    "beside": "Yours is left as it is; {0} is a newer release of it.",
}


class ProblemSet(NamedTuple):
    """A problem set: "ps2", what it is about, the lessons before it, the hours that it takes, its notebooks."""

    name: str
    topic: str
    lessons: tuple[str, ...]
    hours: float
    notebooks: tuple[Path, ...]

    def summary(self) -> str:
        """What it is about, in one line."""
        hours = f"{self.hours:g} hour{'s' * (self.hours != 1)}"
        *others, last = self.lessons
        lessons = f"lessons {', '.join(others)} and {last}" if others else f"lesson {last}"
        return f"{self.topic}; {hours}, after {lessons}"


class Copy(NamedTuple):
    """A problem set in a folder to work in; in a notebook, a card with a button that opens it."""

    set: ProblemSet
    folder: Path
    done: dict[str, list[str]]

    def sentences(self) -> list[str]:
        """What was done, a sentence a file."""
        return [said.format(name) for what, said in SAID.items() for name in self.done[what]]

    def notebooks(self) -> list[Path]:
        """What there is to open: the copies, and newer releases beside them."""
        return [
            self.folder / name
            for name in [*(p.name for p in self.set.notebooks), *(n for n in self.done["beside"] if n.endswith(".ipynb"))]
        ]

    def __repr__(self) -> str:
        lines = [f"{self.set.name}: {self.set.summary()}", *self.sentences()]
        return "\n".join([*lines, *(f"Open {_relative(path)}" for path in self.notebooks())])

    def _repr_html_(self) -> str:
        def button(path: Path) -> str:
            # a link from the notebook's own folder, which JupyterLab, Notebook 7 and VS Code open as a notebook
            return f'<a href="{html.escape(quote(_relative(path)))}" style="{BUTTON}">Open {html.escape(path.name)}</a>'

        buttons = " ".join(map(button, self.notebooks()))
        return (
            f"<div><p><strong>{self.set.name}</strong>: {html.escape(self.set.summary())}</p>"
            f"<p>{buttons}</p><p>{html.escape(' '.join(self.sentences()))}</p></div>"
        )


class Copies(tuple[Any, ...]):
    """What was put where: one `Copy` for each problem set."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(item._repr_html_() for item in self)


class Listing(tuple[Any, ...]):
    """All problem sets: one `ProblemSet` each."""

    __slots__ = ()

    def __repr__(self) -> str:
        wide = max((len(s.topic) for s in self), default=0)
        return "\n".join(f"{s.name:8}  {s.topic:{wide}}  {', '.join(s.lessons):14}  {s.hours:g} h" for s in self)

    def _repr_html_(self) -> str:
        head = "<tr><th>set</th><th>about</th><th>lessons</th><th>hours</th></tr>"
        rows = (
            f"<tr><td>{s.name}</td><td>{html.escape(s.topic)}</td><td>{', '.join(s.lessons)}</td><td>{s.hours:g}</td></tr>" for s in self
        )
        return f'<table>{head}{"".join(rows)}</table><p><code>torch.exercises("ps1")</code> puts one where you work.</p>'


def exercises(*names: str, folder: str | Path = ".") -> Copies | Listing:
    """Put problem sets where you work, each in a folder of its own, with links to open them; without a name, list them.

    What you have begun is never overwritten: a newer release is put beside yours.

    Parameters
    ----------
    *names : str
        Problem sets, such as "ps2".
    folder : str or Path
        Where to put them; the current folder, which in a notebook is the notebook's own.

    Raises
    ------
    LookupError
        If there is no such problem set.
    OSError
        If the folder cannot be written to, with what to do about it.

    Examples
    --------
    >>> import autolab as torch
    >>> torch.exercises()[1].topic
    'a dozen elementwise rules'
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.exercises("ps2", folder=folder)
    ps2: a dozen elementwise rules; 2.5 hours, after lessons 04 and 07
    elementwise-rules.ipynb is new here.
    Open .../elementwise-rules.ipynb
    """
    known = {s.name: s for s in listed()}
    for name in names:
        if name not in known:
            near = [other for other in known if other.removeprefix("ps") in str(name)]
            raise LookupError(
                f"There is no problem set {name!r}. {f'Did you mean {near[0]!r}? ' if near else ''}There are {', '.join(known)}."
            )
    if not names:
        return Listing(known.values())
    return Copies(_copy(known[name], Path(folder).expanduser() / name) for name in dict.fromkeys(names))


def listed() -> list[ProblemSet]:
    """All problem sets, in their order. Raises FileNotFoundError if they are not installed."""
    return [_described(path) for path in sorted(_handout().iterdir(), key=lambda p: (len(p.name), p.name)) if path.is_dir()]


def _handout() -> Path:
    """Where the problem sets are, without solutions: within the installed package, or in a clone of the repository."""
    for place in (PACKAGE / "handout", PACKAGE.parent / "exercises" / "handout"):
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"The problem sets are not installed: there is no {PACKAGE / 'handout'}. Install autolab-grad again, from a wheel."
    )


def _described(folder: Path) -> ProblemSet:
    notebooks = tuple(sorted(folder.glob("*.ipynb")))
    facts = json.loads(notebooks[0].read_text("utf-8"))["metadata"]["problem_set"]
    return ProblemSet(folder.name, facts["topic"], tuple(facts["lessons"]), facts["hours"], notebooks)


def _copy(chosen: ProblemSet, target: Path) -> Copy:
    folder = chosen.notebooks[0].parent
    files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix in (".ipynb", ".py", ".toml")}
    return Copy(chosen, target, copies.copy(files, target, RECORD))


def _relative(path: Path) -> str:
    """The path from the current folder, with slashes; whole where there is none, as from one drive to another."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return path.as_posix()
