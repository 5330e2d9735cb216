"""Submissions go through nbgrader's own commands and come out with the points they deserve."""

import nbformat

from .conftest import NAME, ROOT, cell

SOURCE = nbformat.read(ROOT / "exercises" / "source" / "ps2" / f"{NAME}.ipynb", as_version=4)
GRADED = [c for c in SOURCE.cells if c.metadata.get("nbgrader", {}).get("grade")]
FULL = {c.id: None if c.cell_type == "markdown" else c.metadata.nbgrader.points for c in GRADED}


def test_a_right_submission_gets_all_points_and_waits_for_a_person(course):
    assert course.points("right") == FULL


def test_a_blank_submission_gets_none(course):
    assert course.points("blank") == dict.fromkeys(FULL, 0)


def test_a_rule_that_forgets_to_sum_gets_partial_points(course):
    assert course.points("wrong") == {**FULL, "mul-check": 6.25, "mul-hidden": 1.25}


def test_a_broken_submission_is_graded_on_the_rest(course):
    # the syntax error and the exception cost their own points; the deleted test is put back
    assert course.points("broken") == {**FULL, "fourth_power-check": 0, "fourth_power-hidden": 0, "hinge-check": 1, "hinge-hidden": 0}


def test_a_replaced_check_and_a_killed_process_change_no_other_grade(course):
    # check was replaced, and the cell of the last exercise ends the process: it costs the points of that exercise only
    assert course.points("sly") == {**FULL, "hinge-check": 0, "hinge-hidden": 0, "why-sum": 0}
    assert "This cell was stopped: the process ended" in course.feedback_text("sly")
    assert "cell 'hinge-hidden' was missing, and is put back" in course.feedback_text("sly")


def test_feedback_says_what_is_wrong(course):
    text = course.feedback_text("wrong")
    assert "mul: 6.25 of 10 points" in text
    assert "The gradient for y is not summed over axis 0" in text
    assert "received shape (3, 5), expected shape (5,)" in text
    assert "Hint:" in text


def test_feedback_names_an_exception_and_its_line(course):
    text = course.feedback_text("broken")
    assert "backward raised NameError: name 'x' is not defined" in text
    assert "line 9: return -g * (x < 1)" in text


def test_hidden_tests_are_neither_released_nor_in_feedback(course):
    secret = "rtol=1e-12"
    assert any(secret in c.source for c in course.read("source/ps2").cells)
    assert not any(secret in c.source for c in course.read("release/ps2").cells)
    for student in ("right", "blank", "wrong", "broken", "sly"):
        text = course.feedback_text(student)
        assert "(hidden tests)" in text and "mul-hidden: " in text
        assert secret not in text


def test_the_release_has_no_solutions_but_all_tests(course):
    release = course.read("release/ps2")
    assert "raise NotImplementedError" in cell(release, "mul").source
    assert not any("SOLUTION" in c.source for c in release.cells)
    assert "save_for_backward" not in cell(release, "fourth_power").source
    assert cell(release, "mul-check").source.endswith('check("mul", Mul)')
    assert cell(release, "why-sum").source == "Your answer here."


def test_the_solutions_pass_nbgrader_validate(course):
    assert "Success! Your notebook passes all the tests." in course.nbgrader("validate", "source/ps2/elementwise-rules.ipynb")


def test_a_module_beside_the_notebook_is_there_and_a_link_is_not(course):
    assert course.points("right")["fourth_power-check"] == FULL["fourth_power-check"]  # its cell begins with the import
    assert "link.txt was not taken along: no ordinary file" in course.feedback_text("right")
