"""Formgrader's page of a submission: mathematics without a network, and text that stays text."""

import nbformat
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import PyFileConfigLoader

from .conftest import ROOT

ANSWER = {"grade_id": "why", "solution": True, "grade": True, "task": False, "points": 4}
RESOURCES = {"base_url": "", "index": 0, "total": 1, "notebook_path": "x", "submission_id": "1", "notebook_id": "n"}


def answer_page(text):
    """The page of a submission of one written answer."""
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT / "exercises")).load_config()
    config.HTMLExporter.update(template_name="formgrade", extra_template_basedirs=[handlers.template_path])  # as Formgrader does
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text, metadata={"nbgrader": ANSWER})])
    return HTMLExporter(config=config).from_notebook_node(notebook, resources=dict(RESOURCES))[0]


def test_formulas_are_set_and_nothing_is_asked_of_another_host():
    page = answer_page("$$y_i = \\frac{x_i}{2}$$")
    assert "<mfrac>" in page and "formgrader/gradebook" in page
    assert not [line for line in page.splitlines() if "src=" in line and "://" in line]


def test_what_a_student_wrote_is_text():
    assert "&lt;script&gt;alert(1)" in answer_page("<script>alert(1)</script>")
