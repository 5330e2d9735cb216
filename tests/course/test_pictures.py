"""A photo that a student pasted into a written answer: the people who grade see it, and so does the student."""

import json

import nbformat
import pytest
from nbformat import NotebookNode

from autolab.course.grading.feedback import page
from autolab.course.grading.marks import CellMarks, Marks
from autolab.course.grading.mathematics import markdown
from autolab.course.grading.pictures import pictures
from autolab.course.grading.submission import disarm, parse

from .test_formgrader import answer_page

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PHOTO = {"my photo.png": {"image/png": PNG}}
TEXT = "see ![page](attachment:my%20photo.png)"
SHOWN = f'src="data:image/png;base64,{PNG}"'
NO_PICTURES = ({"a.png": {"image/svg+xml": PNG}}, {"a.png": {"image/png": '"><script>'}}, {"a.png": PNG}, {"b.png": {"image/png": PNG}}, 7)


def handed_in(text=TEXT, attachments=PHOTO, **more):
    """The notebook of a student, as it is read and shown."""
    cell = {"cell_type": "markdown", "id": "why", "source": text, "attachments": attachments, "metadata": {"nbgrader": {"grade_id": "why"}}}
    notebook, _ = parse(json.dumps({"cells": [cell | more], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}), "n.ipynb")
    disarm(notebook)
    return notebook


def test_a_pasted_photo_is_handed_in_with_its_answer():
    notebook = handed_in()
    nbformat.validate(notebook)
    assert (notebook.cells[0].source, notebook.cells[0].attachments) == (TEXT, PHOTO)


def test_the_people_who_grade_see_it():
    assert SHOWN in answer_page(handed_in().cells[0].source, attachments=PHOTO)


def test_the_student_sees_it():
    text = page(handed_in(), Marks("ada", "Ada", "ps2", "n", cells={"why": CellMarks(1.0, 4.0)}), {"why": "On paper"})
    assert SHOWN in text and "img-src data:" in text


def test_of_a_file_that_was_cut_off_the_photo_is_kept():
    whole = json.dumps({"cells": [{"cell_type": "markdown", "source": TEXT, "attachments": PHOTO}]})
    assert parse(whole[:-2], "n.ipynb")[0].cells[0].attachments == PHOTO


@pytest.mark.parametrize("attachments", NO_PICTURES)
def test_what_is_no_picture_of_the_cell_is_shown_as_it_was_written(attachments):
    cell = handed_in("![x](attachment:a.png)", attachments).cells[0]
    made = markdown(cell.source, cell.get("attachments"))
    assert "<img" not in made and "<script" not in made and "(attachment:a.png)" in made


def test_a_picture_that_is_missing_stops_no_page():
    assert markdown("![x](attachment:a.png)", PHOTO) == "<p>![x](attachment:a.png)</p>\n"


def test_lines_of_a_long_picture_are_joined():
    assert pictures({"a.png": {"image/png": [PNG[:40] + "\n", PNG[40:]]}}) == NotebookNode({"a.png": {"image/png": PNG}})
