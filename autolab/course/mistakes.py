"""The commonest mistakes of a class, each with an answer that makes it and does not say whose it is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat

from autolab.course.grading.class_list import StudentLine

BLANK = "blank"  # the kind of what is not written yet: listed last, for half a class of blanks would leave no room for mistakes
MOST, TRIED, LINES = 20, 8, 14  # kinds of mistakes; answers that are looked at for each; lines of code that are shown


def commonest(reports: Sequence[dict[str, Any]], lines: Iterable[StudentLine] = ()) -> list[dict[str, Any]]:
    """Exercise, kind of mistake, how many students made it, and a sentence of one of their reports that names none of them."""
    names = known_names(reports, lines)
    seen = {(r["student"], d["exercise"], d["family"], d["text"]) for r in reports for d in r["diagnoses"]}
    counts = Counter((exercise, family) for _, exercise, family in {(s, e, f) for s, e, f, _ in seen})
    texts: dict[tuple[str, str], str] = {}
    for _, exercise, family, text in sorted(seen, reverse=True):
        if not names.search(text):
            texts[exercise, family] = text
    return [
        {"exercise": e, "family": f, "students": n, "example": texts.get((e, f), "")}
        for (e, f), n in sorted(counts.items(), key=lambda item: (item[0][1] == BLANK, -item[1], item[0]))[:MOST]
    ]


def add_code(mistakes: list[dict[str, Any]], reports: Sequence[dict[str, Any]], lines: Iterable[StudentLine], autograded: Path) -> None:
    """Put into each mistake the shortest of some answers that make it, without comments, docstrings and other text."""
    names = known_names(reports, lines)
    for mistake in mistakes:
        found = (answer for place in _places(mistake, reports) if (answer := _answer(autograded, *place)) and not names.search(answer))
        mistake["code"] = _cut(min(found, key=len, default=""))


def known_names(reports: Sequence[dict[str, Any]], lines: Iterable[StudentLine]) -> re.Pattern[str]:
    """Finds what the class is called: logins, first and last names."""
    logins = {report["student"] for report in reports} | {line.student for line in lines}
    parts = {part for line in lines for name in line.names for part in name.split()}
    words = sorted(re.escape(name) for name in logins | parts if len(name) > 1)
    return re.compile(rf"(?<![^\W_])({'|'.join(words)})(?![^\W_])" if words else r"(?!)", re.IGNORECASE)


def _places(mistake: dict[str, Any], reports: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Where this mistake was made: assignment, notebook, student, and the cell of the test."""
    left = TRIED
    for report in reports:
        for d in report["diagnoses"]:
            if left and (d["exercise"], d["family"]) == (mistake["exercise"], mistake["family"]):
                left -= 1
                yield report["assignment"], report["notebook"], report["student"], d["cell"]
                break


def _answer(autograded: Path, assignment: str, notebook: str, student: str, test: str) -> str:
    """The answer above a test, as far as it is Python; empty if there is none."""
    try:
        cells = nbformat.read(autograded / student / assignment / f"{notebook}.ipynb", as_version=4).cells
    except Exception:  # moved away, or written by another program
        return ""
    answer = ""
    for cell in cells:
        facts = cell.metadata.get("nbgrader", {})
        if facts.get("grade_id") == test:
            break
        if facts.get("solution") and not facts.get("grade") and cell.cell_type == "code":
            answer = cell.source
    return bare(answer)


def bare(source: str) -> str:
    """Code without what its author says in it: comments, docstrings, and other text.

    >>> print(bare('def f(g):  # by Ada\\n    "Mine."\\n    return g * float("2")'))
    def f(g):
        return g * float('...')
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        for _, body in ast.iter_fields(node):
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                kept = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
                body[:] = kept or [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            node.value = "..."
        elif isinstance(node, ast.JoinedStr):
            node.values = [ast.Constant("...")]
    return ast.unparse(tree)


def _cut(code: str) -> str:
    lines = code.splitlines()
    return "\n".join(lines if len(lines) <= LINES else [*lines[:LINES], "..."])
