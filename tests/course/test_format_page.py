"""What docs/problem-set-format.md and docs/students.md show is what the code reads and what students get."""

import re
import textwrap
from pathlib import Path

import pytest

from autolab.course.notebook import ROLES, from_markdown
from autolab.course.rubric import SECTION, problems
from autolab.course.scaffold import add_exercise
from autolab.course.solutions import WRONG, read, solve

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "problem-set-format.md").read_text("utf-8")
SETUP = "```python locked setup\nimport autolab as torch\nfrom autolab.autograd import Function\nfrom autolab.check import check\n```\n"


@pytest.fixture(scope="module")
def shown():
    """The indented examples: facts, an exercise, a spec, a wrong answer, a rubric."""
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", PAGE, re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") + "\n" for block in blocks if block.strip()]


def test_the_facts_and_the_exercise_make_a_notebook_whose_solution_passes(shown):
    facts, exercise, *_ = shown
    notebook = from_markdown(f"{facts}\n{SETUP}\n{exercise}")
    assert notebook.metadata["problem_set"]["hours"] == 2
    assert [report.points for report in solve(notebook).values()] == [8, 2]


def test_the_spec_is_proven_and_its_solution_passes(shown, tmp_path):
    (tmp_path / "cholesky.py").write_text(shown[2])
    add_exercise(tmp_path, "extra1", "cholesky_factor", tmp_path / "cholesky.py")
    notebook = read(tmp_path / "source" / "extra1" / "cholesky-factor.ipynb")
    assert [report.points for report in solve(notebook).values()] == [8, 2]


def test_the_wrong_answer_loses_points_and_is_named_as_its_fence_says(shown):
    _, exercise, _, wrong, _ = shown
    ((answer, family, source),) = WRONG.findall(wrong)
    report = solve(from_markdown(SETUP + exercise), {answer: source})["exp-check"]
    assert not report.passed and family in {d.family for d in report.diagnoses}


def test_the_rubric_adds_up(shown):
    _, name, text = SECTION.split(shown[4])
    assert (name, problems(text, 4.0)) == ("why-sum", [])


def test_every_kind_of_cell_is_on_the_page():
    assert set(re.findall(r"``` ?(?:python|markdown) (\w+) ID", PAGE)) == set(ROLES)


def test_students_are_told_the_name_of_each_file():
    page = (ROOT / "docs" / "students.md").read_text("utf-8")
    files = {path.parent.name: path.name for path in (ROOT / "exercises" / "handout").glob("ps*/*.ipynb")}
    assert dict(re.findall(r"^\| (ps\d+) \| `(\S+)` \|$", page, re.MULTILINE)) == files
