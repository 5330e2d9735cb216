"""A check that was made since the student's last cell is not made again: the hidden test gets the verdict of the visible one."""

from dataclasses import replace

import pytest
from nbformat import v4

from autolab.check import SPECS
from autolab.course.grading import judge
from autolab.course.grading.grade import NotebookGrader
from autolab.course.grading.judge import Judge
from autolab.course.grading.sandbox import Limits, Sandbox

from .test_judge import ORDER, session

IMPORT = "from autolab.check import check\n"
CHECK = 'check("square", backward)'
TEST = IMPORT + CHECK
RULE = "def backward(g, x):\n    return 2 * x * g\n"
WRONG = RULE.replace("2", "3")
SLOW = "def backward(g, x):\n    while True: pass\n"


@pytest.fixture
def put(monkeypatch):
    """The questions that checks of rules put to a session."""
    found, prepare = [], judge.SandboxCandidate.prepare
    monkeypatch.setattr(judge.SandboxCandidate, "prepare", lambda self, question: found.append(question) or prepare(self, question))
    return found


def made(tests, code=RULE, **names):
    """The reports of these tests, one after the other, by a judge who knows these names."""
    one = Judge(session("pass", code, busy=0.4 if code == SLOW else 10.0), 3)
    one.names |= names
    return [one.run(test, "<test>").report for test in tests]


@pytest.mark.parametrize("rule", [RULE, WRONG, RULE.replace("* g", ""), RULE.replace("2", "1 / 0")])
def test_the_second_verdict_is_that_of_a_second_check(rule, put):
    two = IMPORT + 'check("square", backward, points=2)'
    (_, second), (fresh,) = made([TEST, two], rule), made([two], rule)
    assert {**second.to_dict(), "seconds": 0} == {**fresh.to_dict(), "seconds": 0}
    assert second.max_points == 2
    assert len(put) == 2


def test_a_scene_is_not_played_twice(monkeypatch):
    times, prepare = [], judge.SandboxPlayer.prepare
    monkeypatch.setattr(judge.SandboxPlayer, "prepare", lambda self, question: times.append(1) or prepare(self, question))
    tests = [IMPORT + f'check("backward_order", order{more})' for more in ("", ", seed=28, points=2")]
    first, second = made(tests, ORDER)
    assert len(times) == 1
    assert first.passed and second.to_dict() == first.worth(2).to_dict()


@pytest.mark.parametrize(
    ("test", "times"),
    [
        (TEST, 1),
        (IMPORT + 'check("square", backward, seed=28, points=2)', 1),
        (f"{IMPORT}report = {CHECK}\nassert report.passed and report.points > 2, report\nreport.points / 2", 1),
        (IMPORT + 'check("square", again)', 2),
        (IMPORT + 'check("exp", backward)', 2),
        (IMPORT + 'check("square", backward, second_order=True)', 2),
        (f"import math\n{TEST}", 2),
        (f"{IMPORT}backward(1.0, 2.0)\n{CHECK}", 2),
        (f"{IMPORT}seen = [1]\nseen[0] = 2\n{CHECK}", 2),
        (f"{IMPORT}for i in range(1): {CHECK}", 2),
    ],
)
def test_the_same_question_is_put_once_and_another_for_itself(test, times, put):
    made([TEST, test], f"{RULE}again = backward\n")
    assert len(put) == times


def test_another_spec_is_another_question(put):
    test, spec = IMPORT + "first = check(A, backward)\nsecond = check(B, backward)\ncheck(C, backward)", SPECS["square"]
    made([test], A=spec, B=spec, C=replace(spec, weights={"x": 2.0}))
    assert len(put) == 2


def test_what_stands_behind_a_check_counts_for_the_next_test(put):
    made([TEST, f"{TEST}\nbackward(1.0, 2.0)", TEST])
    assert len(put) == 3


def test_a_loop_is_asked_again(put):
    made([TEST, TEST], SLOW)
    assert len(put) == 2


@pytest.mark.parametrize(
    "change", ["(2 if len(calls) % 2 else 3) * x * g", "(2 if len(calls) < 4 else 3) * x * g", "2 * x * g * (len(calls) < 9)"]
)
def test_a_rule_that_changes_its_mind_is_caught_by_one_check(change, put):
    first, second = made([TEST, TEST], f"calls = []\ndef backward(g, x):\n    calls.append(1)\n    return {change}\n")
    assert not first.passed and first is second
    assert len(put) == 1


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox("limits", Limits(total=30.0)) as sandbox:
        yield sandbox


def points(sandbox, *cells):
    """The points of the tests in a notebook of these cells; those that check are tests."""
    facts = {"grade": True, "solution": False, "locked": True, "points": 8.0}
    kinds = [{"nbgrader": {**facts, "grade_id": f"test{k}"}} if cell.startswith(IMPORT) else {} for k, cell in enumerate(cells)]
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell, metadata=kind) for cell, kind in zip(cells, kinds, strict=True)])
    NotebookGrader(sandbox, 5).grade(notebook)
    return [float(c.outputs[0].data["text/plain"]) for c in notebook.cells if "nbgrader" in c.metadata]


def test_the_hidden_test_puts_no_question(sandbox, put):
    assert points(sandbox, RULE, TEST, TEST) == [8, 8]
    assert len(put) == 1


@pytest.mark.parametrize("cell", [WRONG, "backward = lambda g, x: 3 * x * g", "exec('def backward(g, x):\\n return x')"])
def test_a_cell_of_the_students_between_two_checks_is_judged(cell, sandbox, put):
    right, wrong = points(sandbox, RULE, TEST, cell, TEST)
    assert right == 8 > wrong
    assert len(put) == 2


def test_a_test_that_runs_the_students_code_counts_as_a_cell(sandbox, put):
    turns = "n = [2]\ndef backward(g, x):\n    return n[0] * x * g\ndef turn():\n    n[0] = 3\n    return 8\n"
    right, _, wrong = points(sandbox, turns, TEST, f"{IMPORT}turn()", TEST)
    assert right == 8 > wrong
    assert len(put) == 2


def test_two_notebooks_share_nothing(sandbox, put):
    wrong, right = points(sandbox, WRONG, TEST, TEST), points(sandbox, RULE, TEST, TEST)
    assert right == [8, 8] and wrong[0] == wrong[1] < 8
    assert len(put) == 2


def test_a_session_that_ended_takes_its_verdicts_along(sandbox, put):
    ends = "import os\ndef stop(g, out):\n    os._exit(0)\n"
    assert points(sandbox, RULE + ends, TEST, f'{IMPORT}end = check("exp", stop)\n{CHECK}') == [8, 8]
    assert len(put) == 3
