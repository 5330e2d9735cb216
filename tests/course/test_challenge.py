"""An answer that counts no points is judged outside of the sandbox like any other, and says that it counts none."""

import nbformat
import pytest

from autolab.course.grading.feedback import headings, page
from autolab.course.grading.marks import Marks
from autolab.course.grading.second_opinion import SecondOpinion
from autolab.course.grading.worker import Job, grade
from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source

from .test_hostile import LIMITS

SETUP = "# Set\n\n```python locked setup\nimport numpy as np\n\nfrom autolab.check import check\n```\n\n## If you like\n\n"
RULE = SETUP + '```python answer double\ndef double(g, x):\n    return {}\n```\n\n```python\ncheck("square", {})\n```\n'
ORDER = SETUP + (
    "```python answer order\ndef order(root):\n    todo, seen = [root], {{id(root): root}}\n    while todo:\n"
    "        for parent in todo.pop().parents:\n            if id(parent) not in seen:\n                seen[id(parent)] = parent\n"
    "                todo.append(parent)\n    return sorted(seen.values(), key=lambda node: {}node.number)\n```\n\n"
    "```check backward_order order\n```\n"
)


def graded(text, last=""):
    notebook = from_markdown(text)
    if last:
        notebook.cells.append(nbformat.v4.new_code_cell(last))
    job = Job("ada", "ps", "n", nbformat.writes(notebook), (), form_of_source(notebook), 7, LIMITS)
    return nbformat.reads(grade(job).autograded, as_version=4)


def shown(text, last=""):
    (output,) = graded(text, last).cells[-1].outputs
    return output.data["text/plain"]


@pytest.mark.parametrize(("rule", "right"), [("2 * g * x", "7 of 7"), ("g * x", "6 of 7")])
def test_a_rule_without_points_is_told_how_many_of_its_properties_are_right(rule, right):
    assert shown(RULE.format(rule, "double")).startswith(f"square (no points): {right} properties are right\n")


@pytest.mark.parametrize(("sign", "right"), [("-", "6 of 6"), ("", "2 of 6")])
def test_an_exercise_whose_expected_results_are_not_in_the_sandbox_is_judged_too(sign, right):
    assert shown(ORDER.format(sign)).startswith(f"backward_order (no points): {right} properties are right\n")


def test_a_name_of_the_judge_is_nothing_that_a_student_can_have_called(monkeypatch):
    monkeypatch.setattr("builtins.tripwire", lambda *_: pytest.fail("the judge called what a student named"), raising=False)
    (output,) = graded(RULE.format("g", "tripwire")).cells[-1].outputs
    assert output.ename == "NameError"


def test_a_check_of_ones_own_that_runs_in_the_sandbox_counts_no_points_either():
    said = shown(RULE.format("2 * g * x", "double"), 'check("square", double, seed=3)')
    assert said.startswith("square (no points): 7 of 7 properties are right")


FORGED = "check = lambda *_: 'all right'\n"


def test_a_check_that_a_cell_ends_in_is_judged_outside_too():
    rule = "def double(g, x):\n    return {}\n\n\ncheck('square', double)\n"
    for right, said in (("2 * g * x", "7 of 7"), ("g * x", "6 of 7")):
        assert shown(SETUP, FORGED + rule.format(right)).startswith(f"square (no points): {said} properties are right\n")


def test_what_a_cell_prints_before_its_check_is_shown_and_an_expression_is_not():
    cell = graded(SETUP, "double = lambda g, x: 2 * g * x\nprint('before')\ndouble(1, 2)\ncheck('square', double)").cells[-1]
    text, report = cell.outputs
    assert text.text == "before\n"
    assert report.data["text/plain"].startswith("square (no points): 7 of 7")
    assert cell.source.endswith("\ncheck('square', double)")


@pytest.mark.parametrize(
    ("cell", "error", "printed"),
    [
        ("print(1)\n1 / 0\ncheck('square', print)", "ZeroDivisionError", True),
        ("print(1)\ncheck('square', nothing)", "NameError", True),
        ("print(1)\nf = (\ncheck('square', print)", "SyntaxError", False),
        ("print(1)\ncheck('no_exercise', print)", "KeyError", True),
    ],
)
def test_a_cell_that_does_not_come_to_its_check_shows_why(cell, error, printed):
    outputs = graded(SETUP, cell).cells[-1].outputs
    assert [o.ename for o in outputs if o.output_type == "error"] == [error]
    assert ("1\n" in [o.text for o in outputs if o.output_type == "stream"]) is printed


def test_a_text_that_ends_in_a_check_is_no_check():
    assert not graded(SETUP, 'text = """\ncheck("square", print)"""').cells[-1].outputs


def test_a_cell_with_a_magic_runs_as_a_whole():
    assert shown(SETUP, f"%matplotlib inline\n{FORGED}check('square', check)") == "'all right'"


def test_the_page_says_that_there_are_no_points():
    source = from_markdown(RULE.format("2 * g * x", "double"))
    assert "<summary>If you like: no points</summary>" in page(source, Marks("ada", "", "ps", "n"), headings(source))


def test_an_answer_without_points_is_not_asked_twice(monkeypatch):
    monkeypatch.setattr(SecondOpinion, "put", lambda *_: pytest.fail("it was asked where the engine takes no derivatives"))
    rule = "2 * g * x + 0 * len(str(getattr(x, 'shape', '')))"
    assert shown(RULE.format(rule, "double")).startswith("square (no points): 7 of 7")
