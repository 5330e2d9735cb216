"""Every problem set: its solutions earn all points, blanks none, wrong answers are caught and mostly named."""

import re
from functools import cache
from pathlib import Path

import pytest

from autolab.check import BEHAVIOURS, Report, check
from autolab.check.behaviour.broken_programs import BROKEN
from autolab.course.solutions import CALL, blank, exercises, read, solve, wrong_answers

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
SETS = sorted((path.name for path in (EXERCISES / "text").glob("ps*")), key=lambda name: int(name[2:]))
FIRST_PART = SETS[:8]
REPAIRS = {exercise.name for exercise in BROKEN}
PROMISE = re.compile(r"It should print `([^`]+)`")

NEGATED = """

class {name}({name}):
    _right = staticmethod({name}.backward)

    @staticmethod
    def backward(ctx, g):
        found = {name}._right(ctx, g)
        found = found if isinstance(found, tuple) else (found,)
        return tuple(None if a is None else -a for a in found)
"""


@cache
def notebook(problem_set):
    (path,) = (EXERCISES / "source" / problem_set).glob("*.ipynb")
    return read(path)


@cache
def solved(problem_set):
    return solve(notebook(problem_set))


def graded(problem_set):
    return [c for c in notebook(problem_set).cells if c.metadata.get("nbgrader", {}).get("grade")]


def failed(results):
    return {r.exercise: r for r in results.values() if isinstance(r, Report) and not r.passed}


@pytest.mark.parametrize("problem_set", SETS)
def test_the_solutions_earn_all_points(problem_set):
    found = solved(problem_set)
    assert not [v for v in found.values() if isinstance(v, Exception)]
    assert not failed(found)
    for cell in graded(problem_set):
        if cell.cell_type == "code" and isinstance(found.get(cell.id), Report):
            assert found[cell.id].points == cell.metadata.nbgrader.points


@pytest.mark.parametrize("problem_set", ["ps6", "ps7", "ps8", "ps11", "ps12", "ps13", "ps14", "ps15", "ps16", "ps17"])
def test_the_solutions_are_right_whatever_is_drawn(problem_set):
    names = {}
    for cell in notebook(problem_set).cells:
        if "### BEGIN SOLUTION" in cell.source or cell.id == "setup":
            exec(cell.source, names)
    calls = [CALL.search(c.source) for c in notebook(problem_set).cells if c.cell_type == "code"]
    for exercise, name in {call.groups() for call in calls if call}:
        for seed in range(40):
            report = check(exercise, names[name], seed=seed)
            assert report.passed, (seed, str(report))


@pytest.mark.parametrize("problem_set", SETS)
def test_a_blank_earns_nothing(problem_set):
    found = solve(notebook(problem_set), blank(notebook(problem_set)))
    for cell in graded(problem_set):
        if cell.cell_type == "code":
            result = found[cell.id]
            assert isinstance(result, Exception) or result.points == 0, cell.id


@pytest.mark.parametrize("problem_set", SETS)
def test_what_a_text_promises_is_printed(problem_set):
    cells = notebook(problem_set).cells
    for text, cell in zip(cells, cells[1:], strict=False):
        if text.cell_type == "markdown" and (promise := PROMISE.search(text.source)):
            assert repr(solved(problem_set)[cell.id]).replace("-0.", "0.").replace(" ", "") == promise[1].replace(" ", "")


@cache
def tried(problem_set):
    """Each wrong answer with the reports that it fails."""
    book = notebook(problem_set)
    return [(w, failed(solve(book, {w.answer: w.source}))) for w in wrong_answers(EXERCISES, problem_set)]


@pytest.mark.parametrize("problem_set", SETS)
def test_every_wrong_answer_is_caught_and_costs_points(problem_set):
    for wrong, reports in tried(problem_set):
        assert reports, f"{wrong.answer}: {wrong.family}"
        assert all(r.diagnoses and (r.points < r.max_points) for r in reports.values())


def test_a_gradient_without_what_comes_in_is_not_called_a_piece_left_out():
    (report,) = [r["fuse"] for w, r in tried("ps17") if w.family == "upstream ignored"]
    assert "The gradient that comes in is ignored" in str(report)
    assert "is left out" not in str(report)


def test_a_forgotten_epsilon_is_not_called_a_difference_quotient():
    (report,) = [r["channel_norm"] for w, r in tried("ps5") if w.family == "wrong result"]
    assert "Forward is nearly right" in str(report) and "the small ones" in str(report)
    assert "quotient" not in str(report)


@pytest.mark.parametrize("problem_set", SETS)
def test_most_wrong_answers_are_named(problem_set):
    unnamed = [w for w, reports in tried(problem_set) if w.family not in families(reports)]
    assert len(unnamed) <= 0.25 * len(tried(problem_set)), unnamed


@pytest.mark.parametrize("problem_set", FIRST_PART)
def test_a_program_that_is_not_repaired_earns_nothing(problem_set):
    """Neither the program as it is shown nor a repair that only hides its symptom."""
    (exercise,) = REPAIRS & set(exercises(notebook(problem_set)))
    points = [reports[exercise].points for w, reports in tried(problem_set) if w.answer in ("fit", "train", "learn")]
    assert len(points) >= 3 and not any(points)


@pytest.mark.parametrize("problem_set", FIRST_PART)
def test_the_program_to_repair_is_one_of_the_wrong_answers(problem_set):
    (shown,) = [c.source for c in notebook(problem_set).cells if "_broken(" in c.source]
    program = shown.replace("_broken", "").rpartition("\n\n\n")[0].partition("\n\n\nx = ")[0].partition("\n\n\none = ")[0]
    assert any(w.source.strip().startswith(program[: program.index("return")]) for w, _ in tried(problem_set))


@pytest.mark.parametrize("problem_set", FIRST_PART)
def test_a_set_ends_with_an_open_question(problem_set):
    text = "\n".join(c.source for c in notebook(problem_set).cells if c.cell_type == "markdown")
    assert re.search(r"^## An open question \(no points\)\n\n.*\?", text, re.MULTILINE)


@pytest.mark.parametrize("problem_set", SETS)
def test_every_exercise_on_the_engine_has_a_wrong_answer_that_it_catches(problem_set):
    caught = {name for _, reports in tried(problem_set) for name in reports}
    assert {name for name in exercises(notebook(problem_set)) if name in BEHAVIOURS} <= caught


def families(reports):
    return {d.family for r in reports.values() for d in r.diagnoses}


@pytest.mark.parametrize("problem_set", ["ps2", "ps3", "ps4", "ps5", "ps9"])
def test_a_rule_with_the_wrong_sign_is_caught_and_named_in_every_exercise(problem_set):
    book = notebook(problem_set)
    classes = {call[1]: call[2] for c in book.cells if c.cell_type == "code" and (call := CALL.search(c.source))}
    answers = {
        cell.id: cell.source + NEGATED.format(name=name)
        for cell in book.cells for name in classes.values()
        if "### BEGIN SOLUTION" in cell.source and f"class {name}(" in cell.source
    }  # fmt: skip
    reports = failed(solve(book, answers))
    for exercise in (e for e in classes if e not in BEHAVIOURS and e != "sin"):  # sin is the example
        assert "sign" in [d.family for d in reports[exercise].diagnoses], exercise


@pytest.mark.parametrize("problem_set", SETS)
def test_a_problem_set_has_its_parts(problem_set):
    text = "\n".join(c.source for c in notebook(problem_set).cells if c.cell_type == "markdown")
    count = len(re.findall(r"^## Exercise \d+:", text, re.MULTILINE))
    assert count >= 5
    assert text.count("by hand.**") >= count
    assert "## If you like:" in text and re.search(r"[Ll]esson \d\d", text)
    (written,) = [c for c in graded(problem_set) if c.cell_type == "markdown"]
    assert written.metadata.nbgrader.points == (6 if problem_set in FIRST_PART else 4)
    assert sum(c.metadata.nbgrader.points for c in graded(problem_set) if c.id.endswith("-hidden")) > 0


@pytest.mark.parametrize("problem_set", SETS)
def test_the_points_in_a_heading_are_those_of_its_cells(problem_set):
    said = found = 0
    for cell in notebook(problem_set).cells:
        for points in re.findall(r"^## .*\((\d+) points\)", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else ():
            assert found == said
            said, found = int(points), 0
        found += cell.metadata.get("nbgrader", {}).get("points", 0)
    assert found == said


@pytest.mark.parametrize("problem_set", SETS)
def test_each_exercise_says_its_minutes_its_level_and_what_it_trains(problem_set):
    (path,) = (EXERCISES / "text" / problem_set).glob("*.md")
    text = path.read_text("utf-8")
    rows = re.findall(r"^\| (\d+|in words|on paper) \| (\d+) \| ([123]) \| (\S.*\S) \|$", text, re.MULTILINE)
    last = "on paper" if problem_set in FIRST_PART else "in words"
    assert [row[0] for row in rows] == [*re.findall(r"^## Exercise (\d+):", text, re.MULTILINE), last]
    assert sum(int(row[1]) for row in rows) == 60 * float(re.search(r"^hours: (.*)$", text, re.MULTILINE)[1])
    assert len({row[3] for row in rows}) == len(rows)


@pytest.mark.parametrize("problem_set", SETS)
def test_a_problem_set_becomes_harder(problem_set):
    (path,) = (EXERCISES / "text" / problem_set).glob("*.md")
    levels = [int(level) for level in re.findall(r"^\| \d+ \| \d+ \| ([123]) \|", path.read_text("utf-8"), re.MULTILINE)]
    half = len(levels) // 2
    assert {1, 2, 3} == set(levels)
    assert sum(levels[:half]) / half <= sum(levels[-half:]) / half
