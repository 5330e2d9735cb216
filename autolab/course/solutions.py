"""Source notebooks, solved in this process: with their own solutions, blank, or with a wrong answer in one place.

`wrong/SET.md` holds wrong answers as students would write them, each in a fence that names the answer it replaces and
the family of the mistake; they stay with the instructors. An answer may also be a module beside the notebook, whose text with
solutions is in text/SET: a fence that names it holds what is put at the end of it, where a definition replaces an earlier one.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import linecache
import re
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from autolab.check import BEHAVIOURS, Report
from autolab.check.api.points import CREDIT
from autolab.check.api.score import mutation_score
from autolab.check.diagnosis.hints import HINTS

SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION$", re.DOTALL | re.MULTILINE)
STUB = r"\1# your code here\n\1raise NotImplementedError"
WRONG = re.compile(r"^```python (\S+) ([^\n]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```([^\n]*)\n.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)
CALL = re.compile(r'^check\("(\w+)", (\w+)', re.MULTILINE)


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer: which cell it is in, the family of its mistake, and its source."""

    answer: str
    family: str
    source: str


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook of the course."""
    return nbformat.read(path, as_version=4)


def blank(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Every answer cell as a student finds it."""
    return {cell.id: SOLUTION.sub(STUB, cell.source) for cell in notebook.cells if "### BEGIN SOLUTION" in cell.source}


def modules(course: Path, problem_set: str) -> dict[str, str]:
    """The files that students complete, or get whole, beside their notebook: name -> text, with solutions."""
    folder = course / "text" / problem_set
    return {p.name: p.read_text("utf-8") for p in sorted(folder.glob("*.*")) if p.suffix in (".py", ".toml")}


def blank_module(text: str) -> str:
    """A module as a student finds it. Solutions outside of functions are helpers: nothing stays of them, so that it can be imported.

    >>> print(blank_module("def f():\\n    ### BEGIN SOLUTION\\n    return 1\\n    ### END SOLUTION"))
    def f():
        # your code here
        raise NotImplementedError
    """
    text = re.sub(r"^### BEGIN SOLUTION\n.*?^### END SOLUTION\n+", "\n", text, flags=re.DOTALL | re.MULTILINE)
    return SOLUTION.sub(STUB, text)


def with_answer(files: Mapping[str, str], answer: str, source: str) -> dict[str, str]:
    """The files with a wrong answer at the end of the module that it names; unchanged if it names none."""
    return {name: f"{text}\n\n{source}" if name == answer else text for name, text in files.items()}


@contextlib.contextmanager
def beside(files: Mapping[str, str]) -> Iterator[None]:
    """A folder with these files is the current one in this block."""
    if not files:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, "utf-8")
        with contextlib.chdir(folder):
            yield


def solve(
    notebook: nbformat.NotebookNode, answers: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run the code of a notebook, with other sources in the cells named and files beside it; what each cell ended in: a value or an error.

    >>> notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("check = len\\ncheck('four')", id="a-check")])
    >>> solve(notebook)
    {'a-check': 4}
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = {}
    with beside(files or {}):
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            try:
                value = _run((answers or {}).get(cell.id, cell.source), cell.id, namespace)
            except Exception as error:
                value = error
            if value is not None:
                found[cell.id] = value
    return found


def _run(source: str, name: str, namespace: dict[str, Any]) -> Any:
    file = f"<answer {name} {zlib.crc32(source.encode()):08x}>"  # formulas are read from their file, once: no two sources in one
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, file, "exec"), namespace)
        return eval(compile(ast.Expression(last.value), file, "eval"), namespace) if last else None


def wrong_answers(course: Path, problem_set: str) -> list[WrongAnswer]:
    """The wrong answers that are kept for a problem set."""
    path = course / "wrong" / f"{problem_set}.md"
    text = path.read_text("utf-8") if path.exists() else ""
    return [WrongAnswer(answer, family.strip(), source) for answer, family, source in WRONG.findall(text)]


def families() -> set[str]:
    """Every kind of mistake that a report may name."""
    slips = [slip for behaviour in BEHAVIOURS.values() for scene in behaviour.scenes for slip in scene.slips]
    ways = [way for behaviour in BEHAVIOURS.values() for way in behaviour.wrong_ways]
    return {"behaviour", *HINTS, *CREDIT, *(mistake.family for mistake in (*slips, *ways))}


def label_problems(course: Path, problem_set: str, answers: Collection[str]) -> list[str]:
    """What is wrong with the fences of wrong/SET.md: they name an answer of the set's notebooks, and a kind of mistake."""
    path, found = course / "wrong" / f"{problem_set}.md", []
    text = path.read_text("utf-8") if path.exists() else ""
    for fence in FENCE.finditer(text):
        where = f"{path}, line {text.count(chr(10), 0, fence.start()) + 1}"
        language, _, label = fence[1].partition(" ")
        answer, _, family = label.strip().partition(" ")
        if language != "python" or not family.strip():
            found.append(
                f"{where}: {'```' + fence[1]!r} is not a wrong answer: write ```python ANSWER KIND, such as ```python mul not summed"
            )
        elif answer not in answers:
            found.append(f"{where}: no answer {answer!r} in {problem_set}{_nearest(answer, answers)}")
        elif family.strip() not in (known := families()):
            nearest = _nearest(family.strip(), known)
            found.append(f"{where}: no kind of mistake is called {family.strip()!r}{nearest} Write unknown where the checker has no name")
    marks = len(re.findall(r"^```", text, re.MULTILINE))
    if marks % 2 or marks != 2 * len(FENCE.findall(text)):
        found.append(f"{path}: a fence is not closed: each wrong answer ends with a line of three backquotes")
    return found


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), 1, 0.4)
    return f". Did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(known))}."


def exercises(notebook: nbformat.NotebookNode) -> list[str]:
    """The exercises that a notebook checks, in order."""
    called = (CALL.search(cell.source) for cell in notebook.cells if cell.id.endswith(("-check", "-try")))
    return list(dict.fromkeys(call[1] for call in called if call))


def scores(course: Path, path: Path) -> Iterator[str]:
    """One line for each exercise of a source notebook: how many wrong answers it catches, and how many it names."""
    notebook = read(path)
    wrong, files = wrong_answers(course, path.parent.name), modules(course, path.parent.name)
    for name in exercises(notebook):
        if name not in BEHAVIOURS:
            yield str(mutation_score(name))
    caught, named, passes = 0, 0, []
    for w in wrong:
        found = solve(notebook, {w.answer: w.source}, with_answer(files, w.answer, w.source))
        reports = [r for r in found.values() if isinstance(r, Report) and not r.passed]
        caught += bool(reports)
        named += any(d.family == w.family for r in reports for d in r.diagnoses)
        passes += [] if reports else [f"\n  passes: {w.answer}: {w.family}"]
    if wrong:
        yield f"{path.stem}: {caught} of {len(wrong)} wrong answers caught, {named} named" + "".join(passes)
