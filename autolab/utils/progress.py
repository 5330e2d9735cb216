"""What a learner has done: attempts at quiz questions and exercises, in one small file on their own machine. No account, no network.

The file is `progress.json` in the folder named by AUTOLAB_HOME, else in `~/.autolab`. AUTOLAB_HOME=off keeps nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from autolab.utils import lessons


def place() -> Path | None:
    """The file; None if nothing is kept."""
    home = os.environ.get("AUTOLAB_HOME")
    if home == "off":
        return None
    return (Path(home) if home else Path.home() / ".autolab") / "progress.json"


def read() -> dict[str, Any]:
    """Everything kept: {"quiz": {"04: 1": {"attempts": 2, "right": true, "last": "12", "when": 1700000000}}, "exercise": {...}}.

    A file that cannot be read counts as empty, and is put aside as progress.broken.json when something new is kept.
    """
    file = place()
    if file is None or not file.exists():
        return {}
    try:
        kept = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def remember(kind: str, name: str, right: bool, last: str = "") -> dict[str, Any]:
    """Note one attempt; the entry as it is now. Where the file cannot be written, nothing is kept and nothing fails.

    kind: "quiz" or "exercise"; name: which one; right: whether this attempt was; last: a few words about it.
    """
    everything = read()
    entry: dict[str, Any] = everything.setdefault(kind, {}).setdefault(name, {"attempts": 0, "right": False})
    entry["attempts"] += 1
    entry["right"] = bool(entry["right"] or right)
    entry["last"], entry["when"] = last[:500], int(time.time())
    file = place()
    if file is not None:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.exists() and len(everything) == 1 and not _readable(file):
                file.replace(file.with_name("progress.broken.json"))
            fresh = file.with_name(f"progress.{os.getpid()}.json")
            fresh.write_text(json.dumps(everything, indent=1), "utf-8")
            fresh.replace(file)  # at once: two notebooks may write
    return entry


def _readable(file: Path) -> bool:
    try:
        json.loads(file.read_text("utf-8"))
    except ValueError:
        return False
    return True


# -- the view of it ----------------------------------------------------------------------------


class Standing(NamedTuple):
    """How far a learner is in one lesson: questions of its quiz, and predictions; asked, tried and right."""

    number: str
    title: str
    questions: int
    right: int
    predictions: int
    predicted: int
    foreseen: int

    @property
    def done(self) -> bool:
        """Is every question of the quiz answered rightly?"""
        return self.questions > 0 and self.right == self.questions


def standings() -> list[Standing]:
    """One `Standing` for each lesson."""
    quiz = read().get("quiz", {})
    answered: dict[str, set[str]] = {}
    for name, entry in quiz.items():
        if entry.get("right"):
            answered.setdefault(name[:2], set()).add(name)
    found = []
    for lesson in lessons.listed():
        made = [quiz[name] for p in lesson.predictions if (name := f"predict: {p}: 1") in quiz]
        right = min(len(answered.get(lesson.number, ())), lesson.questions)
        foreseen = sum(entry["attempts"] == 1 and entry["right"] for entry in made)
        found.append(Standing(lesson.number, lesson.title, lesson.questions, right, len(lesson.predictions), len(made), foreseen))
    return found


def exercises() -> dict[str, bool]:
    """Exercise -> whether it has passed, for those that have been tried."""
    return {name: bool(entry["right"]) for name, entry in read().get("exercise", {}).items()}


def summary(rows: list[Standing]) -> str:
    """All lessons in one sentence."""
    right, questions = sum(r.right for r in rows), sum(r.questions for r in rows)
    return f"{sum(r.done for r in rows)} of {len(rows)} lessons done: {right} of {questions} quiz questions answered rightly."


def text(rows: list[Standing]) -> str:
    """The view as plain text, 80 columns."""
    lines = [summary(rows), ""]
    for r in rows:
        bar = "■" * r.right + "□" * (r.questions - r.right)
        guesses = f"{r.foreseen} of {r.predicted} foreseen" if r.predicted else ""
        lines.append(f"{r.number}  {r.title:24}  {bar:8}  {r.right} of {r.questions}  {'done' if r.done else '':4}  {guesses}".rstrip())
    lines += [f"exercise {name}: {'passed' if passed else 'tried'}" for name, passed in exercises().items()]
    return "\n".join(lines)
