"""The lessons as files: where they are, what each one asks, and a copy of them to work in."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from autolab.utils import copies

PACKAGE = Path(__file__).parents[1]
KINDS = {"choice", "several", "number", "shape", "order"}
ASKED = re.compile(r"(?:predict|quiz)\(\*?asks\.(\w+)\)")  # a cell that shows what autolab/questions has for it
ABOVE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")  # a link to a file of the repository, outside the folder of the lessons
RECORD = ".autolab-lessons.json"


class Lesson(NamedTuple):
    """A lesson: "05", "Accumulation", its file, how many questions its quiz has, and the predictions it asks for."""

    number: str
    title: str
    path: Path
    questions: int
    predictions: tuple[str, ...]


def folder() -> Path:
    """Where the lessons are: within the installed package, or beside it in a clone of the repository.

    Raises
    ------
    FileNotFoundError
        If they are in neither place.
    """
    for place in (PACKAGE / "notebooks", PACKAGE.parent / "notebooks"):
        if (place / "00-start-here.ipynb").exists():
            return place
    missing = PACKAGE / "notebooks"
    raise FileNotFoundError(f"The lessons are not installed: there is no {missing}. Install autolab-grad again, from a wheel.")


def listed() -> list[Lesson]:
    """All lessons, in the order of their numbers."""
    return [_described(path) for path in sorted(folder().glob("[0-9][0-9]-*.ipynb"))]


def _described(path: Path) -> Lesson:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    title = re.search(r"# \d\d · (.+)", _source(cells[0]))
    written = _written(path.name[:2])
    asking = [written.get(found[1]) for c in cells if c["cell_type"] == "code" and (found := ASKED.fullmatch(_source(c)))]
    quizzes = [value for value in asking if isinstance(value, ast.Tuple)]
    first = [value.args[0] for value in asking if isinstance(value, ast.Call)]
    return Lesson(
        path.name[:2],
        title.group(1).replace("`", "") if title else path.stem[3:],
        path,
        sum(_name(part) in KINDS for value in quizzes for part in value.elts),
        tuple(str(prompt.value) for prompt in first if isinstance(prompt, ast.Constant)),
    )


def _source(cell: Any) -> str:
    return "".join(cell["source"])


def _written(number: str) -> dict[str, ast.expr]:
    """The predictions and the quiz of a lesson, as they are written; read without Jupyter, and without running anything."""
    file = PACKAGE / "questions" / f"lesson{number}.py"
    lines = ast.parse(file.read_text("utf-8")).body if file.exists() else []
    return {line.targets[0].id: line.value for line in lines if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)}


def _name(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


# -- a copy to work in --------------------------------------------------------------------------


def copy(target: str | Path) -> dict[str, list[str]]:
    """Copy the lessons into a folder to work in, as `copies.copy` does: what a learner has changed is never written to."""
    files = [folder() / "README.md", *sorted(folder().glob("*.ipynb"))]
    return copies.copy({path.name: _fresh(path) for path in files}, target, RECORD)


def _fresh(path: Path) -> bytes:
    """A file as a learner gets it: links to files that are not in their folder become their words."""
    if path.suffix != ".ipynb":
        return ABOVE.sub(r"\1", path.read_text("utf-8").partition("\n## For authors")[0]).encode()
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = ABOVE.sub(r"\1", _source(cell)).splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
