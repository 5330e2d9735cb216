"""What an instructor adds to a course and takes out of it."""

import pytest

from autolab.course.grading.box import Limits
from autolab.course.grading.scheduler import Course, _limits
from autolab.course.new import add_exercise
from autolab.course.report import table


def test_an_exercise_can_be_on_an_operation_that_a_problem_set_builds_from_rows(tmp_path):
    text = add_exercise(tmp_path, "ps9", "gelu").read_text()
    assert 'check("gelu", Gelu)' in text and (tmp_path / "source" / "ps9" / "gelu.ipynb").is_file()


def test_the_settings_of_an_operation_are_arguments_of_forward(tmp_path):
    text = add_exercise(tmp_path, "ps9", "clamp").read_text()
    assert "def forward(ctx, x, min, max):" in text and "backward returns None for min, max" in text


@pytest.mark.parametrize(("name", "said"), [("gelo", "Did you mean gelu"), ("checkpoint", "an exercise on behaviour")])
def test_a_name_without_an_operation_is_refused_with_what_to_do(tmp_path, name, said):
    with pytest.raises(LookupError, match=said):
        add_exercise(tmp_path, "ps9", name)


def test_canvas_finds_a_student_by_login_beside_a_name():
    lines = table("ps2", {"ada": 3.5, "eve": 1.0}, 5.0, "canvas", {"ada": ("Lovelace, Ada", "17")}).splitlines()
    assert lines[2:] == ['"Lovelace, Ada",17,,ada,,3.5', "eve,,,eve,,1"]


def test_both_ways_to_grade_read_the_seconds_from_the_same_place(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\nc.RunInBox.busy_seconds = 7\n")
    assert _limits(Course(tmp_path)) == Limits(busy=7.0)
