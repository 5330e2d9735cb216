"""An answer that was changed after a person gave it points waits for a person again."""

import json
import shutil
from datetime import timedelta

import pytest
from click.testing import CliRunner

from autolab.cli.group import group
from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.grading.worker import JobResult
from autolab.course.report import page, summary
from autolab.course.scaffold import tools_on_path


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """One notebook with a test and an essay, due on the first of May."""
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    with tools_on_path(), CourseGradebook(path, "ps") as opened:
        opened.gradebook.add_assignment("ps", duedate="2026-05-01 00:00:00 UTC")
        opened.gradebook.add_notebook("n", "ps")
        for cell, points, kind in (("sum", 2, "code"), ("why", 4, "markdown")):
            opened.gradebook.add_grade_cell(cell, "n", "ps", max_score=points, cell_type=kind)
            opened.gradebook.add_source_cell(cell, "n", "ps", cell_type=kind, source="")
        opened.gradebook.add_solution_cell("why", "n", "ps")
    return path


@pytest.fixture
def gradebook(tmp_path, empty):
    (tmp_path / "source").mkdir()
    shutil.copy(empty, tmp_path / "gradebook.db")
    with CourseGradebook(tmp_path / "gradebook.db", "ps") as opened:
        yield opened


def hand_in(gradebook, essay, digest, student="ada", score=2.0, when=None):
    """Grade what a student handed in; the essay waits for a person."""
    scores, answers = {"sum": score, "why": None}, {"why": essay}
    gradebook.write([JobResult(student, "ps", "n", digest, 1, scores=scores, answers=answers, box="b")], {student: when})


def by_hand(gradebook, points, cell="why", student="ada"):
    """As Formgrader saves it."""
    grade = gradebook.gradebook.find_grade(cell, "n", "ps", student)
    grade.manual_score, grade.needs_manual_grade = points, False
    gradebook.db.commit()


def line(gradebook):
    (found,) = gradebook.class_list()
    return found


def test_a_new_essay_waits_and_counts_nothing(gradebook):
    hand_in(gradebook, "first", "a")
    assert (line(gradebook).unread, line(gradebook).changed, gradebook.totals()) == (["why"], [], {"ada": 2.0})
    by_hand(gradebook, 3)
    assert (gradebook.unread(), gradebook.totals()) == ([], {"ada": 5.0})


@pytest.mark.parametrize(("essay", "digest", "changed"), [("second", "b", ["why"]), ("first", "b", []), ("first", "a", [])])
def test_only_a_changed_essay_waits_again(gradebook, essay, digest, changed):
    hand_in(gradebook, "first", "a")
    by_hand(gradebook, 3)
    hand_in(gradebook, essay, digest)
    assert line(gradebook).changed == changed
    assert gradebook.gradebook.find_grade("why", "n", "ps", "ada").needs_manual_grade == bool(changed)
    hand_in(gradebook, essay, digest)  # a regrade does not make it read
    assert line(gradebook).changed == changed


def test_read_again_it_waits_no_more(gradebook):
    hand_in(gradebook, "first", "a")
    by_hand(gradebook, 3)
    hand_in(gradebook, "second", "b")
    by_hand(gradebook, 4)
    assert (gradebook.unread(), line(gradebook).scores) == ([], {"sum": 2.0, "why": 4.0})


def test_points_by_hand_on_a_test_are_looked_at_again_when_the_submission_changes(gradebook):
    hand_in(gradebook, "first", "a")
    by_hand(gradebook, 1, "sum")
    hand_in(gradebook, "first", "a")
    assert line(gradebook).changed == []
    hand_in(gradebook, "first", "b")
    assert line(gradebook).changed == ["sum"]


def test_who_exports_is_told_that_old_points_count(gradebook, tmp_path):
    hand_in(gradebook, "first", "a")
    by_hand(gradebook, 3)
    hand_in(gradebook, "second", "b")
    said = CliRunner().invoke(group, ["course", "export", "ps", "--json", "--course", str(tmp_path)])
    assert "1 of 1 students have changed an answer since a person gave it points; until it is read again, these points count" in said.stderr
    told = json.loads(said.stdout)
    assert (told["of"], told["totals"], told["unread"], told["changed"]) == (6.0, {"ada": 5.0}, [], ["ada"])


def test_the_report_has_lateness_and_what_is_unread_from_the_gradebook(gradebook):
    hand_in(gradebook, "first", "a", when="2026-05-02 06:00:00 UTC")
    hand_in(gradebook, "first", "a", "eve", when="2026-05-01 06:00:00 UTC")
    gradebook.gradebook.find_submission("ps", "eve").extension = timedelta(hours=6)
    gradebook.db.commit()
    data = summary(gradebook.reports(), gradebook.totals(), gradebook.points(), gradebook.class_list())
    assert [(s["student"], s["seconds_late"], s["unread"]) for s in data["class"]] == [("ada", 108000.0, ["why"]), ("eve", 0.0, ["why"])]
    assert "<td>1.25 d</td><td>why</td>" in page("ps", data)


def test_a_written_answer_is_among_the_parts_once_it_is_read(gradebook):
    hand_in(gradebook, "first", "a")
    parts = [[row["cell"] for row in _summary(gradebook)["hardest"]]]
    by_hand(gradebook, 1)
    parts.append([row["cell"] for row in _summary(gradebook)["hardest"]])
    assert parts == [["sum"], ["why", "sum"]]


def _summary(gradebook):
    return summary(gradebook.reports(), gradebook.totals(), gradebook.points(), gradebook.class_list())


def test_cells_of_two_notebooks_that_have_one_name_count_each(gradebook):
    book = gradebook.gradebook
    book.add_notebook("m", "ps")
    book.add_grade_cell("sum", "m", "ps", max_score=3, cell_type="code")
    book.add_source_cell("sum", "m", "ps", cell_type="code", source="")
    assert gradebook.points() == {"n: sum": 2.0, "why": 4.0, "m: sum": 3.0}
    hand_in(gradebook, "first", "a", score=1.0)
    gradebook.write([JobResult("ada", "ps", "m", "b", 1, scores={"sum": 3.0}, box="b")], {})
    assert line(gradebook).scores == {"m: sum": 3.0, "n: sum": 1.0}
    assert {row["cell"]: row["mean"] for row in _summary(gradebook)["hardest"]} == {"n: sum": 1.0, "m: sum": 3.0}
    assert _summary(gradebook)["of"] == 9.0
