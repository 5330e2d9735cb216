"""Source notebooks of a course from Markdown that a person writes.

A text may begin with what `autolab.exercises()` says of its problem set, the one place where these facts are written:

    ---
    topic: a dozen elementwise rules
    lessons: 04, 07
    hours: 2
    ---

Everything outside a fence is text. The words after the language of a fence say what the cell is for:

    ```python                      code that anyone may change
    ```python locked setup         code that is overwritten when graded
    ```python answer mul           an answer; what lies between ### BEGIN SOLUTION and ### END SOLUTION is cut out
    ```python check mul-check 10   a locked test worth 10 points; ### BEGIN HIDDEN TESTS hides the rest of it
    ```check exp Exp 8 2           two locked cells for one exercise: `check("exp", Exp)` worth 8 points, and worth 2
                                   the same on hidden numbers, below the comment that is in the fence
    ```check exp Exp               the same call for an optional challenge, without points
    ```spec cube cube_back 8 2     two locked cells for an operation of one's own, whose SPEC is in the fence: a check worth
                                   8 points, in which the rules of the spec are left out, and a hidden one worth 2 with all of it
    ```markdown written why 4      an explanation, graded by hand; the text is the model answer

Run All goes on past an answer that is not written yet: all cells but locked preparations have the tag raises-exception,
which says so to JupyterLab.

`python -m autolab.course.notebook exercises` builds every text/SET/NAME.md into source/SET/NAME.ipynb, and prints how well
each exercise tells right from wrong. In a course with a folder handout/, what students get is made there as well. A module
text/SET/NAME.py that students complete gets there without its solutions, and so does a pyproject.toml as it is.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autolab.course.own_spec import without_rules
from autolab.course.release import marker_problems, release_of
from autolab.course.solutions import blank_module, modules, scores
from autolab.utils.pin import course_version

FENCE = re.compile(r"^```(python|markdown|check|spec)([^\n`]*)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
FACTS = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
ROLES = {
    "locked": {"locked": True},
    "answer": {"solution": True},
    "check": {"grade": True, "locked": True},
    "written": {"grade": True, "solution": True},
}
IMPORT = "from autolab.check import check\n\n"  # again: an answer may have put something else under this name
HIDDEN = "# The hidden test is the same check on other numbers."
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def from_markdown(text: str, where: str = "<text>") -> nbformat.NotebookNode:
    """The notebook that a Markdown text describes.

    Raises ValueError, with the line or the cell, for a fence or a fact that says something else than the lists above, an id used
    twice, or a marker without its other half.
    """
    metadata = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    if head := FACTS.match(text):
        metadata["problem_set"] = _facts(head[1], where)
        text = "\n" * head[0].count("\n") + text[head.end() :]  # an error names the line of the file
    cells = list(_cells(text, where))
    for cell in cells:
        facts = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and not (facts.get("locked") and not facts.get("grade")):
            cell.metadata["tags"] = ["raises-exception"]
    ids = [c.id for c in cells]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise ValueError(f"{where}: the id {twice[0]!r} is used {ids.count(twice[0])} times; each cell needs its own")
    notebook = new_notebook(cells=cells, metadata=metadata, nbformat_minor=5)
    if problems := marker_problems(notebook):
        raise ValueError(f"{where}, {problems[0]}")
    return notebook


def _facts(head: str, where: str) -> dict[str, Any]:
    given = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
    try:
        topic, lessons, hours = (given.pop(key) for key in ("topic", "lessons", "hours"))
        facts = {"topic": topic, "lessons": [word.strip() for word in lessons.split(",")], "hours": float(hours)}
    except (KeyError, ValueError):
        raise ValueError(f"{where}: between the lines of --- write `topic: words`, `lessons: 04, 07` and `hours: 2`") from None
    if given:
        raise ValueError(f"{where}: {next(iter(given))!r} is not a fact of a problem set: write topic, lessons and hours")
    return facts


def _cells(text: str, where: str) -> Iterator[nbformat.NotebookNode]:
    end = count = 0
    for fence in FENCE.finditer(text):
        if prose := text[end : fence.start()].strip():
            yield new_markdown_cell(prose, id=f"text-{(count := count + 1)}")
        language, words, source = fence[1], fence[2].split(), fence[3].rstrip("\n")
        end = fence.end()
        line = text.count("\n", 0, fence.start()) + 1
        if language in ("check", "spec"):
            yield from {"check": _check, "spec": _spec}[language](words, source, f"{where}, line {line}")
            continue
        new = new_code_cell if language == "python" else new_markdown_cell
        if not words:
            yield new(source, id=f"cell-{(count := count + 1)}")
            continue
        metadata = _metadata(words, f"{where}, line {line}")
        yield new(source, id=metadata["grade_id"], metadata={"nbgrader": metadata})
    if prose := text[end:].strip():
        yield new_markdown_cell(prose, id=f"text-{count + 1}")


def _check(words: list[str], comment: str, where: str) -> Iterator[nbformat.NotebookNode]:
    match words:
        case [name, answer]:
            yield new_code_cell(f'check("{name}", {answer})', id=f"{name}-try")
        case [name, answer, points, hidden]:
            seed = zlib.crc32(name.encode()) % 1000
            calls = {
                "check": f'{IMPORT}check("{name}", {answer}, points={points})',
                "hidden": f"{comment or HIDDEN}\n### BEGIN HIDDEN TESTS\n"
                f'{IMPORT}check("{name}", {answer}, seed={seed}, points={hidden})\n### END HIDDEN TESTS',
            }
            yield from _graded(name, calls, (points, hidden), where)
        case _:
            raise ValueError(f"{where}: write ```check EXERCISE ANSWER, or ```check EXERCISE ANSWER POINTS HIDDEN_POINTS")


def _spec(words: list[str], code: str, where: str) -> Iterator[nbformat.NotebookNode]:
    if len(words) != 4:
        raise ValueError(f"{where}: write ```spec EXERCISE ANSWER POINTS HIDDEN_POINTS, and in it what defines SPEC")
    name, answer, points, hidden = words
    try:
        shown = without_rules(code)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None
    seed = zlib.crc32(name.encode()) % 1000
    calls = {
        "check": f"{shown}\n{IMPORT}check(SPEC, {answer}, points={points})",
        "hidden": f"{HIDDEN}\n### BEGIN HIDDEN TESTS\n{code.strip()}\n"
        f"{IMPORT}check(SPEC, {answer}, seed={seed}, points={hidden})\n### END HIDDEN TESTS",
    }
    yield from _graded(name, calls, (points, hidden), where)


def _graded(name: str, calls: dict[str, str], points: tuple[str, str], where: str) -> Iterator[nbformat.NotebookNode]:
    """The visible check and the hidden one, each with its points."""
    for (part, source), worth in zip(calls.items(), points, strict=True):
        metadata = _metadata(["check", f"{name}-{part}", worth], where)
        yield new_code_cell(source, id=f"{name}-{part}", metadata={"nbgrader": metadata})


def _metadata(words: list[str], where: str) -> dict[str, Any]:
    role, *rest = words
    wanted = 2 if ROLES.get(role, {}).get("grade") else 1
    if role not in ROLES or len(rest) != wanted:
        said = " ".join(words)
        raise ValueError(
            f"{where}: {said!r} is not a kind of cell; write `locked ID`, `answer ID`, `check ID POINTS` or `written ID POINTS`"
        )
    nothing = {"grade": False, "locked": False, "solution": False, "task": False}
    metadata = {**nothing, **ROLES[role], "grade_id": rest[0], "schema_version": 3}
    if wanted == 2:
        metadata["points"] = float(rest[1])
    return metadata


def build(course: Path) -> list[Path]:
    """Write the source notebooks of a course, and what students get if it has a folder handout/; return those that changed."""
    changed, version = [], course_version(course)
    for text in sorted((course / "text").glob("*/*.md")):
        notebook = from_markdown(text.read_text("utf-8"), str(text))
        if version:
            notebook.metadata["autolab"] = {"version": version}
        made = {"source": notebook, **({"handout": release_of(notebook)} if (course / "handout").is_dir() else {})}
        for folder, content in made.items():
            target = course / folder / text.parent.name / f"{text.stem}.ipynb"
            new = nbformat.writes(content) + "\n"
            if not target.exists() or target.read_text("utf-8") != new:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(new, "utf-8")
                changed.append(target)
    for folder in sorted((course / "text").iterdir()):
        for name, text in modules(course, folder.name).items() if folder.is_dir() else ():
            for kind in ("source", *(["handout"] if (course / "handout").is_dir() else [])):
                target, new = course / kind / folder.name / name, blank_module(text) if name.endswith(".py") else text
                if not target.exists() or target.read_text("utf-8") != new:
                    target.write_text(new, "utf-8")
                    changed.append(target)
    return changed


if __name__ == "__main__":
    course = Path(sys.argv[1] if len(sys.argv) > 1 else "exercises")
    try:
        built = build(course)
    except ValueError as error:
        sys.exit(f"{error}. Nothing was built")
    for path in built:
        print(path)
        for line in scores(course, path) if path.suffix == ".ipynb" and not path.is_relative_to(course / "handout") else ():
            print("  " + line.replace("\n", "\n  "))
