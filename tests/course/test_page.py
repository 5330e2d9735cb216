"""The page that a student gets back."""

import copy
import json
import sys
from datetime import datetime

import nbformat
import pytest

from autolab.check import check
from autolab.check.api.report import MIMETYPE
from autolab.course.grading.feedback import headings, page
from autolab.course.grading.grade import NotebookGrader, verdict_outputs
from autolab.course.grading.judge import CellOutcome
from autolab.course.grading.marks import CellMarks, Marks
from autolab.course.grading.mathematics import formula, markdown
from autolab.course.grading.pages import titles
from autolab.course.grading.paths import hide_paths
from autolab.course.grading.protocol import Broken, too_long
from autolab.course.grading.sandbox import Limits
from autolab.course.notebook import from_markdown

from .conftest import ROOT, cell

NAME = "elementwise-rules"


@pytest.fixture(scope="module")
def source():
    return nbformat.read(ROOT / "exercises" / "source" / "ps2" / f"{NAME}.ipynb", as_version=4)


@pytest.fixture
def marks(source):
    graded = [c.metadata.nbgrader for c in source.cells if c.metadata.get("nbgrader", {}).get("grade")]
    return Marks("ada", "Ada Lovelace", "ps2", NAME, cells={g.grade_id: CellMarks(g.points, g.points) for g in graded})


def made(source, marks):
    return page(source, marks, headings(source))


def test_it_says_whose_it_is_and_how_it_was_graded(source, marks):
    marks.handed_in, source.metadata["autolab"] = datetime(2026, 11, 21, 18), {"seed": 7, "version": "1.2", "graded": "2026-11-23"}
    assert "Ada Lovelace (ada); handed in 2026-11-21 18:00 UTC; graded on 2026-11-23, with autolab 1.2, seed 7." in made(source, marks)


def test_its_points_are_those_of_the_gradebook_whatever_the_notebook_holds(source, marks):
    marks.cells["mul-check"] = CellMarks(3.5, 10.0, by_hand=True)
    text = made(source, marks)
    assert "ps2: elementwise-rules: 89.5 of 96 points" in text and "Exercise 2: the product, with broadcasting: 5.5 of 12" in text


def test_it_says_what_being_late_costs(source, marks):
    marks.due, marks.handed_in, marks.penalty = datetime(2026, 11, 20, 15), datetime(2026, 11, 21, 18), 20.0
    text = made(source, marks)
    assert "ps2: elementwise-rules: 76 of 96 points" in text and "1 day 3 hours late" in text
    assert "Late: 20 of your 96 points are taken away" in text


def test_comments_and_what_is_not_read_yet_stand_above_what_is_folded(source, marks):
    marks.comments["why-sum"], marks.cells["why-sum"] = "Why not <b>the mean</b>?", CellMarks(None, 6.0)
    top, _ = made(source, marks).split("Your answers")
    assert "Why not &lt;b&gt;the mean&lt;/b&gt;?" in top and "90 of 96 points; 1 answer is still to be read by a person" in top


def test_formulas_in_a_comment_are_set_as_formgrader_promises(source, marks):
    marks.comments["why-sum"] = "A mean takes $\\frac13$ of it.\nSay *why*."
    text = made(source, marks)
    assert "<mfrac>" in text and "Say <em>why</em>." in text


def test_points_by_hand_that_a_person_looks_at_again_are_called_so(source, marks):
    marks.cells["why-sum"] = CellMarks(6.0, 6.0, by_hand=True, again=True)
    text = made(source, marks)
    assert "96 of 96 points; 1 answer is still" in text and "A person looks at these points once more." in text


def test_an_answer_that_is_none_is_said_once(source, marks):
    marks.comments |= {"exp": "No response.", "log": "No response."}
    marks.cells |= {name: CellMarks(0.0, m.of) for name, m in marks.cells.items() if name.startswith(("exp-", "log-"))}
    assert made(source, marks).count("There is no answer to exp, log.") == 1


def test_exercises_are_called_as_in_the_source_that_the_student_is_graded_by(tmp_path):
    for folder, title in (("source/ps", "A parabola"), ("variants/ps/source/ada", "A cube")):
        (tmp_path / folder).mkdir(parents=True)
        nbformat.write(from_markdown(f"## {title}\n\n```python answer square\nx\n```\n"), tmp_path / folder / "n.ipynb")
    assert [titles(tmp_path, "ps", "n", student) for student in ("ada", "bob")] == [{"square": "A cube"}, {"square": "A parabola"}]


def test_only_a_table_is_unfolded(source, marks):
    text = made(source, marks)
    assert "<details open" not in text and "class Square" not in text.split("Your answers")[0]
    assert text.count("<summary>The question</summary>") == text.count("<th scope='row'>") == 12


def test_where_an_exercise_has_two_answers_a_mistake_says_of_which(source, marks):
    source = copy.deepcopy(source)
    for name in ("exp", "log"):
        report = check(name, lambda g, x: 2 * g / x)
        cell(source, f"{name}-check").outputs = [nbformat.v4.new_output("display_data", {MIMETYPE: report.to_dict()})]
        marks.cells[f"{name}-check"] = marks.cells[f"{name}-check"]._replace(points=0)
    table = made(source, marks).partition("Your answers")[0]
    assert "<p>exp: The gradient" in table and "<p>log: The gradient" in table


def test_an_answer_that_only_raises_is_called_not_written(source, marks):
    source = copy.deepcopy(source)
    answer = cell(source, "exp")
    answer.outputs = [nbformat.v4.new_output("error", ename="NotImplementedError", evalue="", traceback=[])]
    marks.cells["exp-check"] = marks.cells["exp-check"]._replace(points=0)
    text = made(source, marks)
    assert "A part of this is not written yet" in text and "NotImplementedError:" not in text


def test_a_cell_that_was_stopped_is_named_as_its_author_knows_it(source):
    grader = NotebookGrader(type("Box", (), {"limits": Limits()})(), 1)
    for broken, said in ((too_long(), "2 seconds to compute"), (Broken("the process ended"), "restart your kernel")):
        grader.ask = lambda *_, broken=broken: (_ for _ in ()).throw(broken)
        result = type("Result", (), {"notes": [], "suspicious": []})()
        grader._student(nbformat.from_dict(dict(cell(source, "fourth_power"))), "cell 6", result)
        assert result.notes[0].startswith("the answer 'fourth_power' was stopped: ") and said in result.notes[0]


def test_formulas_are_set_without_a_script_or_a_mark_beside_headings():
    text = markdown("## Head\n\n$a < b$ and $$\\frac{x}{2}$$")
    assert "<mo>&lt;</mo>" in text and "<mfrac><mrow><mi>x</mi></mrow><mrow><mn>2</mn></mrow></mfrac>" in text and "<h2>Head</h2>" in text


@pytest.mark.parametrize(
    "tex", ["\\href{javascript:a}{b}", "\\text{<img src=x>}", "\\style{color:red}{x}", "{" * 500, "\\frac{", "x" * 5000]
)
def test_a_formula_can_be_anything_and_brings_in_nothing(tex):
    text = formula(tex, "inline")
    assert not [word for word in ("<img", "href=", "style=", "<script") if word in text]


def test_a_formula_that_cannot_be_set_is_shown_as_it_was_written(monkeypatch):
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    assert formula("a<b+c", "inline") == "<code>$a&lt;b+c$</code>"


def test_no_folder_of_the_machine_that_grades_is_shown():
    where = f'  File "{ROOT}/autolab/engine/op.py", line 3\n  File "{sys.prefix}/lib/x.py"\n"{ROOT}2/a"'
    shown = nbformat.v4.new_code_cell("", outputs=[
        nbformat.v4.new_output("error", ename="E", evalue=where, traceback=[where]),
        nbformat.v4.new_output("display_data", {"text/plain": where, "text/html": where, "application/json": {"at": [where]}}),
    ])  # fmt: skip
    hide_paths(shown)
    assert str(ROOT) + "/" not in str(shown) and sys.prefix not in str(shown)
    assert shown.outputs[0].evalue.startswith('  File "autolab/engine/op.py", line 3') and f"{ROOT}2/a" in str(shown)


def test_a_verdict_names_no_folder_of_the_machine():
    folder = f"{ROOT}/autolab"

    def rule(g, x):
        raise ValueError(f"{folder}/rules.py is not mine")

    outputs = verdict_outputs("check('square', Square)", 8.0, CellOutcome(report=check("square", rule)))
    assert "rules.py is not mine" in json.dumps(outputs) and folder not in json.dumps(outputs)
