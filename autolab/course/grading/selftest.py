"""Does a problem set grade rightly? Its own solution, its blank release and wrong rules are graded before a class is."""

from __future__ import annotations

import ast
import copy
import linecache
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import ClearSolutions

from autolab.check import SPECS, Reference, Spec, judge
from autolab.check.api.score import RowCandidate, mutation_score
from autolab.course.release import STUB, release_of
from autolab.course.rubric import problems, rubrics
from autolab.course.solutions import wrong_answers

from .sandbox import Limits
from .submission import FormCell
from .worker import Job, grade

CALL = re.compile(r"""\bcheck\(\s*['"](\w+)['"]\s*,""")
SPEC_CALL = re.compile(r"""\bcheck\(\s*([A-Za-z_]\w*)\s*,""")


@dataclass
class SelftestReport:
    """What was found out about one notebook; `problems` name the file and the cell."""

    notebook: str
    points: float = 0.0
    exercises: list[dict[str, Any]] = field(default_factory=list)
    wrong: dict[str, Any] | None = None  # of the wrong answers that are kept in wrong/SET.md: how many are caught and named
    problems: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON."""
        return asdict(self)


def form_of_source(source: NotebookNode) -> tuple[FormCell, ...]:
    """What nbgrader's gradebook would know of a source notebook."""
    cleared, _ = ClearSolutions(config=STUB).preprocess(copy.deepcopy(source), {})
    return tuple(
        FormCell(facts.grade_id, cell.cell_type, cell.source, utils.is_locked(cell), bool(facts.get("grade")),
                 bool(facts.get("solution")), bool(facts.get("task")), float(facts.get("points", 0)),
                 utils.compute_checksum(cell))
        for cell in cleared.cells if (facts := cell.metadata.get("nbgrader"))
    )  # fmt: skip


def selftest(path: Path, mode: str | None = None) -> SelftestReport:
    """Grade a source notebook's solution, its blank release and the wrong answers kept for it, and judge mutants of its exercises.

    Raises ValueError if the file is no notebook.
    """
    try:
        source = nbformat.read(path, as_version=4)
    except Exception as error:
        raise ValueError(f"{path} is no notebook: {error}") from None
    form, report = form_of_source(source), SelftestReport(str(path))
    tests = {c.name: c for c in form if c.grade and not c.solution}
    report.points = sum(c.points for c in form if c.grade)
    release = release_of(source)

    def scores(notebook: NotebookNode) -> tuple[dict[str, float | None], list[dict[str, str]]]:
        text = nbformat.writes(notebook)
        done = grade(Job("selftest", "selftest", path.stem, text, (), form, 7, Limits(), mode))
        return done.scores, done.diagnoses

    solved, found = scores(source)
    blank, _ = scores(release)
    for name, cell in tests.items():
        if solved[name] != cell.points:
            why = "; ".join(d["text"] for d in found if d["cell"] == name) or "see the cell"
            report.problems.append(f"{path}, cell {name}: the solution gets {solved[name]:g} of {cell.points:g} points ({why})")
        if blank[name]:
            report.problems.append(f"{path}, cell {name}: a blank answer gets {blank[name]:g} points")
    report.problems += _leaks(path, source, release)
    for name, spec in _exercises(path, [c for c in source.cells if c.get("id") in tests or _id(c) in tests], report).items():
        spec = replace(spec, second=False)  # plain functions cannot be differentiated again: all of them would be refused
        score, reference = mutation_score(spec), Reference.of(spec)
        alternative = judge(spec, reference, RowCandidate(reference))
        entry = {"name": name, "caught": score.caught, "named": score.named, "missed": list(score.missed)}
        report.exercises.append({**entry, "alternative": alternative.passed})
        report.problems += [f"{path}, exercise {name}: this wrong rule passes: {formula}" for formula in score.missed]
        if not alternative.passed:
            report.problems.append(f"{path}, exercise {name}: the row of the table, called as plain functions, does not pass")
    said = rubrics(path.parents[2], path.parent.name)
    for cell in (c for c in form if c.grade and c.solution and said):
        wrongs = problems(said[cell.name], cell.points) if cell.name in said else [f"rubric/{path.parent.name}.md has no section for it"]
        report.problems += [f"{path}, cell {cell.name}: {text}" for text in wrongs]
    wrong = [w for w in wrong_answers(path.parents[2], path.parent.name) if any(_id(c) == w.answer for c in source.cells)]
    caught = named = 0
    for w in wrong:
        notebook = copy.deepcopy(source)
        next(c for c in notebook.cells if _id(c) == w.answer)["source"] = w.source
        got, found = scores(notebook)
        if any((got[name] or 0.0) < cell.points for name, cell in tests.items()):
            caught += 1
            named += any(d["family"] == w.family for d in found)
        else:
            report.problems.append(f"{path}, cell {w.answer}: the wrong answer {w.family!r} of wrong/ gets all points")
    if wrong:
        report.wrong = {"caught": caught, "named": named, "of": len(wrong)}
    return report


def _id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _exercises(path: Path, tests: list[NotebookNode], report: SelftestReport) -> dict[str, Spec]:
    """What the tests of a notebook check by rule: by its name, or a Spec that the test defines itself."""
    found = {name: SPECS[name] for cell in tests for name in CALL.findall(cell.source) if name in SPECS}
    for cell in tests:
        for variable in SPEC_CALL.findall(cell.source):
            names: dict[str, Any] = {"__name__": "spec"}
            file = f"<{path}, cell {_id(cell)}>"  # slips are made from the text of a rule, which is looked up here
            linecache.cache[file] = (len(cell.source), None, cell.source.splitlines(keepends=True), file)
            try:
                *before, _ = ast.parse(cell.source).body
                exec(compile(ast.Module(before, []), file, "exec"), names)
            except Exception as error:
                report.problems.append(f"{path}, cell {_id(cell)}: the test does not run: {type(error).__name__}: {error}")
            if isinstance(spec := names.get(variable), Spec):
                found[spec.name] = spec
    return found


def _leaks(path: Path, source: NotebookNode, release: NotebookNode) -> list[str]:
    problems = []
    for was, now in zip(source.cells, release.cells, strict=True):
        name = was.metadata.get("nbgrader", {}).get("grade_id", "")
        if re.search(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS)", now.source):
            problems.append(f"{path}, cell {name}: a marker is left in the release")
        if utils.is_solution(was) and not utils.is_grade(was) and was.source == now.source:
            problems.append(f"{path}, cell {name}: the release shows the solution (no ### BEGIN SOLUTION)")
        hidden = re.search(r"BEGIN HIDDEN TESTS\n(.*?)\n[^\n]*END HIDDEN", was.source, re.DOTALL)
        if hidden and hidden[1].strip() and hidden[1] in now.source:
            problems.append(f"{path}, cell {name}: the release shows the hidden test")
    return problems
