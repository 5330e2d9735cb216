"""`autolab course due`: dates are moved, and one student has more time, in the gradebook and in the page of the weeks."""

import json
import shutil
from datetime import date

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autolab.cli.group import group
from autolab.course.scaffold import set_due_dates
from autolab.course.schedule import schedule

START = date(2027, 2, 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A course whose gradebook has two assignments, one with a date and a graded submission."""
    root = tmp_path_factory.mktemp("course")
    set_due_dates(root, {"ps2": date(2027, 2, 28)})
    (root / "schedule.md").write_text(schedule(12, START), "utf-8")
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook, gradebook.db.no_autoflush:
        gradebook.add_assignment("extra")
        gradebook.add_student("ada")
        gradebook.add_submission("ps2", "ada")
    return root


@pytest.fixture
def root(made, tmp_path):
    return shutil.copytree(made, tmp_path / "course")


def due(root, *words, code=0):
    done = CliRunner().invoke(group, ["course", "due", *words, "--course", str(root)])
    assert done.exit_code == code, done.output
    return done.output


def test_dates_are_listed(root):
    assert due(root) == "ps2        2027-02-28 23:59\nextra      no date\n"


def test_a_date_is_moved_in_the_gradebook_and_in_the_schedule(root):
    assert "ps2        2027-03-02 23:59" in due(root, "ps2", "2027-03-02")
    assert "| ps2: a dozen elementwise rules | 2027-03-02 |" in (root / "schedule.md").read_text("utf-8")
    assert (root / "schedule.md").read_text("utf-8").replace("03-02 |", "02-28 |") == schedule(12, START)


def test_an_assignment_without_a_date_gets_one_with_a_time(root):
    assert due(root, "extra", "2027-03-02 18:00") == "extra      2027-03-02 18:00\n"


def test_one_student_has_more_time_and_keeps_that_day_when_the_date_moves(root):
    assert "2027-03-05 23:59 for ada" in due(root, "ps2", "2027-03-05", "--student", "ada")
    assert due(root, "ps2", "2027-03-02").splitlines()[1:] == ["ps2        2027-03-02 23:59", "           2027-03-05 23:59 for ada"]
    assert json.loads(due(root, "--json"))[0]["students"] == {"ada": "2027-03-05 23:59"}


def test_nobody_has_less_time_than_all_others(root):
    due(root, "ps2", "2027-03-05", "--student", "ada")
    assert "for ada" not in due(root, "ps2", "2027-03-09")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ps9", "2027-03-02"], "does not know 'ps9'; it knows extra, ps2"),
        (["ps2", "2.3.2027"], "is not a day of the calendar; write it like 2027-02-01"),
        (["ps2", "2027-02-30"], "is not a day of the calendar"),
        (["ps2", "2027-02-01", "--student", "ada"], "is before ps2 is due for all, 2027-02-28 23:59"),
        (["ps2", "2027-03-02", "--student", "eve"], "nothing of 'eve' is graded for ps2"),
        (["extra", "2027-03-02", "--student", "ada"], "extra has no due date"),
        (["ps2", "--student", "ada"], "say until when"),
    ],
)
def test_what_cannot_be_done_changes_nothing(root, words, said):
    before = due(root, "--json")
    assert said in due(root, *words, code=2)
    assert due(root, "--json") == before


def test_no_gradebook_is_made_outside_of_a_course(tmp_path):
    assert "run this in the folder of a course" in due(tmp_path, code=2)
    assert not list(tmp_path.iterdir())
