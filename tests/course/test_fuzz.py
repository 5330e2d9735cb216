"""A few classes of submissions made by chance; `python -m tests.course.fuzz` makes as many as there is time for."""

from random import Random

import pytest

from autolab.course.grading.sandbox import best_mode

from .fuzz import alone, new_course, play
from .mutations import pasted

pytestmark = pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    course = new_course(tmp_path_factory.mktemp("fuzz"))
    return course, alone(course)


@pytest.mark.parametrize("number", range(3))
def test_whatever_is_handed_in_has_a_row_and_harms_nobody(classroom, number):
    course, honest = classroom
    assert play(course, 0, number, honest) == []


def test_pictures_are_pasted_into_cells_of_any_source():
    for source in (None, 4.5, 10**30, {}, ["a", 1], "a"):
        cells = [{"cell_type": "markdown", "source": source}]
        pasted(Random(1), {"cells": cells})
        assert "attachment:" in cells[0]["source"]
