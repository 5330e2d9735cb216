"""Formgrader's page of a submission: mathematics without a network, and text that stays text."""

import nbformat
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import PyFileConfigLoader

from autolab.course.rubric import add_rubrics

from .conftest import ROOT

ANSWER = {"grade_id": "why", "solution": True, "grade": True, "task": False, "points": 4}
RESOURCES = {"base_url": "", "index": 0, "total": 1, "notebook_path": "x", "submission_id": "1", "notebook_id": "n"}
RUBRIC = {"why": "| points | for |\n|---|---|\n| 3 | the sum |\n| 1 | a reason |\n\n**4 points.** All.\n\n**0 points.** None."}


def answer_page(text, rubric=(), **more):
    """The page of a submission of one written answer."""
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT / "exercises")).load_config()
    config.HTMLExporter.update(template_name="formgrade", extra_template_basedirs=[handlers.template_path])  # as Formgrader does
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text, metadata={"nbgrader": ANSWER}, **more)])
    add_rubrics(notebook, dict(rubric))
    return HTMLExporter(config=config).from_notebook_node(notebook, resources=dict(RESOURCES))[0]


def test_formulas_are_set_and_nothing_is_asked_of_another_host():
    page = answer_page("$$y_i = \\frac{x_i}{2}$$")
    assert "<mfrac>" in page and "formgrader/gradebook" in page
    assert not [line for line in page.splitlines() if "src=" in line and "://" in line]


def test_what_a_student_wrote_is_text():
    assert "&lt;script&gt;alert(1)" in answer_page("<script>alert(1)</script>")


def test_the_rows_of_a_rubric_belong_to_its_answer_and_no_student_makes_such_rows():
    assert 'data-answer="why"' in answer_page("Mine.", RUBRIC)
    assert "data-answer" not in answer_page("| 9 | for me |", id="rubric-why")
