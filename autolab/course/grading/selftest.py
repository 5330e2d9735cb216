"""Does a problem set grade rightly? Its own solution, its blank release and wrong rules are graded before a class is."""

from __future__ import annotations

import ast
import contextlib
import copy
import linecache
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader import utils

from autolab import formula
from autolab.check import SPECS, Reference, Spec, judge, prove
from autolab.check.api.score import RowCandidate, mutation_score
from autolab.course.own_spec import defined, only_in_tests, shows
from autolab.course.release import form_of_source, marker_problems, release_of
from autolab.course.rubric import problems, rubrics
from autolab.course.solutions import blank_module, label_problems, modules, with_answer, wrong_answers

from .sandbox import Limits
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


def selftest(path: Path, mode: str | None = None) -> SelftestReport:
    """Grade a source notebook's solution, its blank release and the wrong answers kept for it, and judge mutants of its exercises.

    Raises ValueError if the file is not a notebook.
    """
    try:
        source = nbformat.read(path, as_version=4)
    except Exception as error:
        raise ValueError(f"{path} is not a notebook: {error}") from None
    if wrong_markers := marker_problems(source):
        return SelftestReport(str(path), problems=[f"{path}, {said}" for said in wrong_markers])
    report = SelftestReport(str(path), sum(c.points for c in form_of_source(source) if c.grade))
    judged, unpaid = with_checks_judged(source)
    form = form_of_source(judged)
    tests = {c.name: c for c in form if c.grade and not c.solution}
    course, problem_set = path.parents[2], path.parent.name
    files = {name: text for name, text in modules(course, problem_set).items() if name.endswith(".py")}
    if path == min(path.parent.glob("*.ipynb")):
        report.problems += label_problems(course, problem_set, {*_answers(path.parent), *files})
    specs = _exercises(path, [c for c in judged.cells if _id(c) in tests], report)
    report.problems += _proofs(path, specs) + _unreachable(path, source)
    if report.problems:  # what follows would only show what comes of it
        return report
    release = release_of(judged)

    def scores(notebook: NotebookNode, files: dict[str, str]) -> tuple[dict[str, float | None], list[dict[str, str]]]:
        text, handed_in = nbformat.writes(notebook), tuple((name, module.encode()) for name, module in files.items())
        done = grade(Job("selftest", "selftest", path.stem, text, (), form, 7, Limits(), mode, handed_in))
        return done.scores, done.diagnoses

    solved, found = scores(judged, files)
    blank, _ = scores(release, {name: blank_module(text) for name, text in files.items()})
    for name, cell in tests.items():
        if solved[name] != cell.points:
            why = "; ".join(d["text"] for d in found if d["cell"] == name) or "see the cell"
            said = "does not pass the check" if name in unpaid else f"gets {solved[name]:g} of {cell.points:g} points"
            report.problems.append(f"{path}, cell {name}: the solution {said} ({why})")
        if blank[name] and name not in unpaid:
            report.problems.append(f"{path}, cell {name}: a blank answer gets {blank[name]:g} points")
        elif blank[name] == cell.points:
            report.problems.append(f"{path}, cell {name}: a blank answer passes the check")
    report.problems += _leaks(path, source, release_of(source), specs)
    for spec in specs:
        reference = Reference.of(spec)
        if not reference.formulas:  # the visible check of a spec has no rules to change
            continue
        first_order = replace(spec, second=False)  # plain functions cannot be differentiated again: all of them would be refused
        score, alternative = mutation_score(first_order), judge(first_order, reference, RowCandidate(reference))
        entry = {"name": spec.name, "caught": score.caught, "named": score.named, "missed": list(score.missed)}
        report.exercises.append({**entry, "alternative": alternative.passed})
        report.problems += [f"{path}, exercise {spec.name}: this wrong rule passes: {formula}" for formula in score.missed]
        if not alternative.passed:
            report.problems.append(f"{path}, exercise {spec.name}: the row of the table, called as plain functions, does not pass")
    said = rubrics(course, problem_set)
    for cell in (c for c in form if c.grade and c.solution and said):
        wrongs = problems(said[cell.name], cell.points) if cell.name in said else [f"rubric/{problem_set}.md has no section for it"]
        report.problems += [f"{path}, cell {cell.name}: {text}" for text in wrongs]
    wrong = [w for w in wrong_answers(course, problem_set) if w.answer in files or any(_id(c) == w.answer for c in source.cells)]
    caught = named = 0
    for w in wrong:
        notebook = copy.deepcopy(judged)
        for cell in notebook.cells:
            cell.source = w.source if _id(cell) == w.answer else cell.source
        got, found = scores(notebook, with_answer(files, w.answer, w.source))
        if any((got[name] or 0.0) < cell.points for name, cell in tests.items()):
            caught += 1
            named += any(d["family"] == w.family for d in found)
        else:
            report.problems.append(f"{path}, cell {w.answer}: the wrong answer {w.family!r} of wrong/ passes every check")
    if wrong:
        report.wrong = {"caught": caught, "named": named, "of": len(wrong)}
    return report


def with_checks_judged(source: NotebookNode) -> tuple[NotebookNode, set[str]]:
    """The notebook in which each check of an answer is worth a point if it has none, and the names of these cells.

    A challenge has a check without points; whether an answer to it is right, its report says.
    """
    notebook, unpaid = copy.deepcopy(source), set()
    answers = {name for cell in source.cells if utils.is_solution(cell) and cell.cell_type == "code" for name in _defined(cell.source)}
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code" or facts.get("solution") or facts.get("points") or not answers.intersection(_checked(cell.source)):
            continue
        name = facts.get("grade_id") or cell.id
        cell.metadata["nbgrader"] = NotebookNode(
            grade=True, locked=True, solution=False, task=False, points=1.0, grade_id=name, schema_version=3
        )
        unpaid.add(name)
    return notebook, unpaid


def _checked(source: str) -> list[str]:
    """What a cell that ends in a check has judged."""
    with contextlib.suppress(SyntaxError):
        match ast.parse(source).body:
            case [*_, ast.Expr(ast.Call(ast.Name("check"), [_, ast.Name(answer), *_]))]:
                return [answer]
            case [*_, ast.Expr(ast.Call(ast.Name("check"), [_, ast.Tuple(answers), *_]))]:
                return [a.id for a in answers if isinstance(a, ast.Name)]
    return []


def _defined(source: str) -> list[str]:
    with contextlib.suppress(SyntaxError):
        return defined(source)
    return []


def _answers(folder: Path) -> set[str]:
    """The answers of all notebooks of a problem set."""
    notebooks = [nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))]
    return {_id(cell) for notebook in notebooks for cell in notebook.cells if utils.is_solution(cell)}


def _proofs(path: Path, specs: list[Spec]) -> list[str]:
    """What is wrong with the rules of specs that the tests define themselves; those of autolab are proven by its own tests."""
    said = (f"{path}, exercise {spec.name}: {text}" for spec in specs if SPECS.get(spec.name) is not spec for text in prove(spec))
    return list(dict.fromkeys(said))  # what students see of a spec may lack the same as the whole


def _unreachable(path: Path, source: NotebookNode) -> list[str]:
    """Answers that use what only a test defines, which runs apart from them."""
    code = [c for c in source.cells if c.cell_type == "code"]
    tests = {_id(c): c.source for c in code if utils.is_grade(c) and not utils.is_solution(c)}
    visible = [c.source for c in code if _id(c) not in tests]
    return [
        f"{path}, cell {_id(c)}: the solution uses {name!r}, which only the test {test} defines. Tests run apart from answers: "
        "define it in the answer or in a locked cell"
        for c in code if utils.is_solution(c)
        for test, text in tests.items() for name in only_in_tests(c.source, visible, [text])
    ]  # fmt: skip


def _id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _exercises(path: Path, tests: list[NotebookNode], report: SelftestReport) -> list[Spec]:
    """What the tests of a notebook check by rule: by its name, or a Spec that the test defines itself."""
    found = {name: SPECS[name] for cell in tests for name in CALL.findall(cell.source) if name in SPECS}
    own = []
    for cell in tests:
        for variable in SPEC_CALL.findall(cell.source):
            names: dict[str, Any] = {"__name__": "spec"}
            file = f"<{path}, cell {_id(cell)}>"  # slips are made from the text of a rule, which is looked up here
            linecache.cache[file] = (len(cell.source), None, cell.source.splitlines(keepends=True), file)
            formula.forget()  # the cell of this name may have been another
            try:
                *before, _ = ast.parse(cell.source).body
                exec(compile(ast.Module(before, []), file, "exec"), names)
            except Exception as error:
                report.problems.append(f"{path}, cell {_id(cell)}: the test does not run: {type(error).__name__}: {error}")
            if isinstance(spec := names.get(variable), Spec):
                own.append(spec)
    return [*found.values(), *own]


def _leaks(path: Path, source: NotebookNode, release: NotebookNode, specs: list[Spec]) -> list[str]:
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
    found = [spec for spec in specs if SPECS.get(spec.name) is not spec and not spec.surrogate]  # the question gives a surrogate's rule
    own = {(spec.name, x): formula for spec in found for x, formula in Reference.of(spec).formulas.items()}
    for cell in release.cells:
        shown = [key for key, formula in own.items() if cell.cell_type == "code" and formula != "g" and shows(cell.source, formula)]
        problems += [f"{path}, cell {cell.id}: the release shows the rule of {name} for {x}" for name, x in shown]
    return problems
