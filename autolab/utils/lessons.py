"""The lessons as files: where they are, what each one asks, and a copy of them to work in."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from autolab.utils import copies, wording

PACKAGE = Path(__file__).parents[1]
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
    return Lesson(
        path.name[:2],
        title.group(1).replace("`", "") if title else path.stem[3:],
        path,
        sum(len(value.elts) - 1 for value in quizzes),  # the first one is its title
        tuple(prompt for value in asking if (prompt := _prompt(value))),
    )


def _source(cell: Any) -> str:
    return "".join(cell["source"])


def _written(number: str) -> dict[str, ast.AST]:
    """The predictions and the quiz of a lesson, as they are written; read without Jupyter, and without running the file."""
    file = PACKAGE / "questions" / f"lesson{number}.py"
    found: dict[str, ast.AST] = {}
    for line in ast.parse(file.read_text("utf-8")).body if file.exists() else []:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            found[line.targets[0].id] = line.value
        elif isinstance(line, ast.FunctionDef):
            found[line.name] = line
    return found


def _prompt(asking: ast.AST | None) -> str:
    """What a prediction asks; of one with drawn numbers (`autolab.questions.drawn`), with those of the lesson, its defaults."""
    names: dict[str, Any] = {}
    if isinstance(asking, ast.FunctionDef):
        names = vars(wording) | {p.arg: _value(default, {}) for p, default in zip(asking.args.args, asking.args.defaults)}
        last = asking.body[-1]
        asking = last.value if isinstance(last, ast.Return) else None
    return str(_value(asking.args[0], names)) if isinstance(asking, ast.Call) else ""


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "a question", "eval"), names)


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
