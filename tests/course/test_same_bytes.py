"""Two students who hand in the same bytes get the same grade, which is worked out once."""

from dataclasses import replace

import pytest

from autolab.course.grading import worker
from autolab.course.grading.worker import Job, grade

from .test_hostile import FORM, FULL, LIMITS, isolated, submitted

ENDS = "import os\nos._exit(0)"


@pytest.fixture
def graded(monkeypatch):
    """The students whose notebooks were run."""
    found, run = [], worker._grade
    monkeypatch.setattr(worker, "_grade", lambda job, sandbox: found.append(job.student) or run(job, sandbox))
    worker._GRADED.clear()
    yield found
    worker._GRADED.clear()


def job(student, answer=None, seed=11):
    return Job(student, "ps", "n", submitted(answer), (), FORM, seed, LIMITS)


@isolated
def test_the_same_bytes_of_another_student_are_not_run_again(graded):
    ada, bob = grade(job("ada")), grade(job("bob"))
    assert graded == ["ada"]
    assert (ada.student, bob.student, bob.scores) == ("ada", "bob", FULL)
    assert replace(bob, student="ada", occupied=ada.occupied) == ada


@isolated
def test_what_a_student_is_asked_for_again_is_run_again(graded):
    for student in ("ada", "ada", "bob"):
        grade(job(student))
    assert graded == ["ada", "ada"]


@isolated
@pytest.mark.parametrize("other", [{"seed": 12}, {"answer": "def backward(g, x):\n    return g"}])
def test_another_answer_or_seed_is_run(graded, other):
    grade(job("ada"))
    grade(job("bob", **other))
    assert graded == ["ada", "bob"]


@isolated
def test_what_was_stopped_is_run_again(graded):
    for student in ("ada", "bob"):
        assert any("was stopped" in note for note in grade(job(student, ENDS)).notes)
    assert graded == ["ada", "bob"]


@isolated
def test_only_so_many_are_remembered(graded, monkeypatch):
    monkeypatch.setattr(worker, "REMEMBERED", 1)
    for student, seed in (("ada", 1), ("bob", 2), ("eve", 1)):
        grade(job(student, seed=seed))
    assert graded == ["ada", "bob", "eve"]
