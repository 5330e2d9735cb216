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


def test_the_page_says_that_there_are_no_points():
    source = from_markdown(RULE.format("2 * g * x", "double"))
    assert "<summary>If you like: no points</summary>" in page(source, Marks("ada", "", "ps", "n"), headings(source))


def test_an_answer_without_points_is_not_asked_twice(monkeypatch):
    monkeypatch.setattr(SecondOpinion, "put", lambda *_: pytest.fail("it was asked where the engine takes no derivatives"))
    rule = "2 * g * x + 0 * len(str(getattr(x, 'shape', '')))"
    assert shown(RULE.format(rule, "double")).startswith("square (no points): 7 of 7")
