"""A few classes of submissions made by chance; `python -m tests.course.fuzz` makes as many as there is time for."""

import pytest

from autolab.course.grading.sandbox import best_mode

from .fuzz import alone, new_course, play

pytestmark = pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    course = new_course(tmp_path_factory.mktemp("fuzz"))
    return course, alone(course)


@pytest.mark.parametrize("number", range(3))
def test_whatever_is_handed_in_has_a_row_and_harms_nobody(classroom, number):
    course, honest = classroom
    assert play(course, 0, number, honest) == []
