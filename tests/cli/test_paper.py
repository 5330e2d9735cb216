"""`autolab print`: a page that is complete without a network, a script or anything to press."""

import json
import re
import sys
from pathlib import Path

import pytest

from autolab.utils import lessons

testing = pytest.importorskip("click.testing")
pytest.importorskip("nbconvert")
pytest.importorskip("latex2mathml")


@pytest.fixture
def run(tmp_path):
    from autolab.cli.group import group

    return lambda *arguments: testing.CliRunner().invoke(group, ["print", *arguments, "--out", str(tmp_path)])


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    from autolab.cli.group import group

    folder = tmp_path_factory.mktemp("paper")
    out = testing.CliRunner().invoke(group, ["print", "4", "--out", str(folder)])
    assert out.exit_code == 0 and "04-inside-backward.html" in out.output
    return (folder / "04-inside-backward.html").read_text("utf-8")


def test_a_printed_lesson_needs_no_network_and_nothing_is_folded(printed):
    assert not re.search(r"<script|<link|@import|src=['\"]http", printed)
    assert printed.count("<details open") == printed.count("<details") > 5


def test_its_formulas_outputs_and_pictures_are_on_the_page(printed):
    assert printed.count("<math") > 80 and "tensor(42.)" in printed and printed.count("data:image/svg") == 6


def test_every_formula_of_every_lesson_can_be_set():
    from autolab.course.grading.mathematics import formula

    tex = re.compile(r"(\$\$?)(.+?)\1", re.S)
    code = re.compile(r"```.*?```|`[^`\n]*`", re.S)
    for lesson in lessons.listed():
        cells = json.loads(lesson.path.read_text("utf-8"))["cells"]
        text = "\n\n".join(code.sub("", "".join(c["source"])) for c in cells if c["cell_type"] == "markdown")
        for mark, one in tex.findall(text):
            assert formula(one, "block" if mark == "$$" else "inline").startswith("<math"), (lesson.number, one)


def test_a_notebook_of_ones_own_is_printed_too(run, tmp_path):
    import nbformat

    v4 = nbformat.v4
    cells = [v4.new_markdown_cell("# Mine: $x^2$"), v4.new_code_cell("1 + 1", outputs=[v4.new_output("stream", text="2 & 3")])]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "mine.ipynb")
    assert run(str(tmp_path / "mine.ipynb")).exit_code == 0
    page = (tmp_path / "mine.html").read_text("utf-8")
    assert "<math" in page and "2 &amp; 3" in page


def test_what_cannot_be_printed_is_said(run, tmp_path):
    (tmp_path / "broken.ipynb").write_text("{")
    for lesson, words in (
        ("99", "there is no lesson 99. Lessons are 00 to"),
        ("no.ipynb", "cannot be read"),
        (str(tmp_path / "broken.ipynb"), "cannot be read"),
    ):
        out = run(lesson)
        assert out.exit_code == 2 and words in out.output.replace("\n", " ")


def test_without_the_library_for_formulas_the_command_says_what_to_install(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    out = run("04")
    assert out.exit_code == 2 and 'pip install "autolab-grad[lab]"' in out.output
    assert not [*Path(tmp_path).glob("*.html")]
