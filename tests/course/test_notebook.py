"""Source notebooks are what their texts say."""

import re
from pathlib import Path

import nbformat
import pytest

from autolab.check import SPECS, Reference, judge
from autolab.check.api.score import RowCandidate
from autolab.course.notebook import build, from_markdown

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
TEXTS = sorted(EXERCISES.glob("text/*/*.md"))


def test_prose_and_code_alternate():
    notebook = from_markdown("# Title\n\nprose\n\n```python\n1 + 1\n```\n\nmore\n")
    assert [(c.cell_type, c.source) for c in notebook.cells] == [("markdown", "# Title\n\nprose"), ("code", "1 + 1"), ("markdown", "more")]


@pytest.mark.parametrize(
    ("fence", "expected"),
    [
        ("python answer mul", {"solution": True, "grade": False, "locked": False}),
        ("python check mul-check 2.5", {"solution": False, "grade": True, "locked": True, "points": 2.5}),
        ("python locked setup", {"solution": False, "grade": False, "locked": True}),
        ("markdown written why 4", {"solution": True, "grade": True, "locked": False, "points": 4.0}),
    ],
)
def test_a_fence_says_what_its_cell_is_for(fence, expected):
    (cell,) = from_markdown(f"```{fence}\ntext\n```\n").cells
    assert expected.items() <= cell.metadata.nbgrader.items()
    assert cell.metadata.nbgrader.grade_id == fence.split()[2]


@pytest.mark.parametrize("fence", ["python reply mul", "python check mul-check", "python answer mul 3"])
def test_a_mistyped_fence_is_refused_with_its_line(fence):
    with pytest.raises(ValueError, match=r"ps1.md, line 3: .* is not a kind of cell; write `locked ID`"):
        from_markdown(f"prose\n\n```{fence}\n1\n```\n", "ps1.md")


def test_two_cells_cannot_share_an_id():
    with pytest.raises(ValueError, match="'a' is used 2 times"):
        from_markdown("```python answer a\n```\n```python answer a\n```\n")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("### BEGIN SOLUTION\nx = 1", "### BEGIN SOLUTION in line 1 has no ### END SOLUTION below it"),
        ("x = 1\n### END SOLUTION", "### END SOLUTION in line 2 has no ### BEGIN SOLUTION above it"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION", "in line 2 is inside the one that begins in line 1"),
        ("### BEGIN HIDDEN TESTS\nx = 1", "### BEGIN HIDDEN TESTS in line 1 has no ### END HIDDEN TESTS below it"),
    ],
)
def test_a_marker_without_its_other_half_is_named_with_its_cell_and_line(lines, said):
    with pytest.raises(ValueError, match="ps1.md, cell mul: .*" + said):
        from_markdown(f"```python answer mul\n{lines}\n```\n", "ps1.md")


def test_building_again_changes_nothing(tmp_path):
    (tmp_path / "text" / "ps1").mkdir(parents=True)
    (tmp_path / "text" / "ps1" / "a.md").write_text("```python\n1\n```\n")
    assert len(build(tmp_path)) == 1
    assert build(tmp_path) == []


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_source_notebook_is_built_from_its_text(text):
    source = EXERCISES / "source" / text.parent.name / f"{text.stem}.ipynb"
    built = nbformat.writes(from_markdown(text.read_text("utf-8"))) + "\n"
    assert source.read_text("utf-8") == built, "run: python -m autolab.course.notebook exercises"


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_cell_is_worth_what_its_check_gives(text):
    for cell in from_markdown(text.read_text("utf-8")).cells:
        if call := re.search(r'^check\("(\w+)", \w+\)$', cell.source, re.MULTILINE):
            if "nbgrader" in cell.metadata:
                spec = SPECS[call[1]]
                reference = Reference.of(spec)
                assert judge(spec, reference, RowCandidate(reference)).max_points == cell.metadata.nbgrader.points
                assert cell.source.startswith("from autolab.check import check\n")
