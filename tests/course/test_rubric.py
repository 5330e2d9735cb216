"""Written answers are marked by criteria with samples, which the person who marks and the student see, and nobody before."""

from pathlib import Path

import nbformat
import pytest

from autolab.course.grading.sandbox import Limits
from autolab.course.grading.selftest import selftest
from autolab.course.grading.worker import Job, grade
from autolab.course.release import form_of_source
from autolab.course.rubric import Row, add_rubrics, criteria, earned_rows, problems, rubrics, with_earned

from .pages import feedback_of, page_of

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
SETS = sorted(p.name for p in (EXERCISES / "source").iterdir())
GOOD = "| points | for |\n|---|---|\n| 2 | this |\n| 1 | `that` |\n\n**3 points.** All.\n\n**1 point.** *(That.)*\n"
ROWS = [Row(2.0, "this"), Row(1.0, "that")]


def written(problem_set):
    (path,) = (EXERCISES / "source" / problem_set).glob("*.ipynb")
    return {c.name: c.points for c in form_of_source(nbformat.read(path, as_version=4)) if c.grade and c.solution}


@pytest.mark.parametrize("problem_set", SETS)
def test_every_written_answer_has_criteria_for_all_points_and_samples(problem_set):
    found, wanted = rubrics(EXERCISES, problem_set), written(problem_set)
    assert found.keys() == wanted.keys() and wanted
    assert [said for name, text in found.items() for said in problems(text, wanted[name])] == []


@pytest.mark.parametrize("problem_set", SETS)
def test_no_rubric_is_in_what_students_get(problem_set):
    (path,) = (EXERCISES / "handout" / problem_set).glob("*.ipynb")
    sentences = [line for text in rubrics(EXERCISES, problem_set).values() for line in text.splitlines() if len(line) > 60]
    assert sentences and not [line for line in sentences if line[2:40] in path.read_text("utf-8")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("| 2 |", "| 1 |"), "add up to 2 points, and the answer is worth 3"),
        (("**3 points.**", "**2 points.**"), "a sample answer with 3 points and one with fewer"),
        (("**1 point.**", "**4 points.**"), "more than 3"),
    ],
)
def test_a_rubric_that_does_not_add_up_is_said(change, said):
    assert problems(GOOD, 3.0) == []
    assert said in "; ".join(problems(GOOD.replace(*change), 3.0))


def test_feedback_and_the_notebook_for_formgrader_show_it_below_the_answer():
    source = nbformat.read(next((EXERCISES / "source" / "ps1").glob("*.ipynb")), as_version=4)
    source.cells = [c for c in source.cells if c.cell_type == "markdown"]
    form = [c for c in form_of_source(source) if c.cell_type == "markdown"]
    done = grade(
        Job("ada", "ps1", "n", nbformat.writes(source), (), tuple(form), 1, Limits(), rubric=tuple(rubrics(EXERCISES, "ps1").items()))
    )
    names = [c.id for c in nbformat.reads(done.autograded, as_version=4).cells]
    assert names[names.index("why-add") + 1] == "rubric-why-add"
    assert "How this answer is marked" in feedback_of(done) and "<td>a value that is used more than once" in feedback_of(done)


def test_a_course_without_rubrics_is_a_course(tmp_path):
    assert rubrics(tmp_path, "ps1") == {}


def test_selftest_names_an_answer_without_one(tmp_path):
    (tmp_path / "rubric").mkdir()
    (tmp_path / "rubric" / "ps1.md").write_text(f"## other\n\n{GOOD}")
    (tmp_path / "source" / "ps1").mkdir(parents=True)
    source = nbformat.read(next((EXERCISES / "source" / "ps1").glob("*.ipynb")), as_version=4)
    source.cells = [c for c in source.cells if c.cell_type == "markdown"]
    nbformat.write(source, tmp_path / "source" / "ps1" / "n.ipynb")
    assert any("rubric/ps1.md has no section for it" in said for said in selftest(tmp_path / "source" / "ps1" / "n.ipynb").problems)


def test_nbgraders_own_commands_show_it_to_whoever_marks_and_to_the_student(course):
    shown = [c.source for c in course.read("autograded/right/ps2").cells if c.id == "rubric-why-sum"]
    assert len(shown) == 1 and "the average" in shown[0]
    assert "How this answer is marked" in course.feedback_text("right")
    assert "How this answer is marked" not in str(course.read("release/ps2"))


def test_the_rows_of_every_rubric_are_read_and_can_be_shown_with_what_they_earned():
    for text in (text for name in SETS for text in rubrics(EXERCISES, name).values()):
        rows = criteria(text)
        shown = with_earned(text, [0.0] * len(rows))
        assert rows and shown.count("| 0 of ") == len(rows) and "| earned | for |" in shown


@pytest.mark.parametrize(
    ("comment", "points", "earned"),
    [
        ("Rows: 2 0\nAlmost.", 2.0, [2.0, 0.0]),
        ("Almost.\nrows: 1.5, 0.5", 2.0, [1.5, 0.5]),
        ("Rows: 2 0", 1.0, None),  # the points were changed after it
        ("Rows: 0 2", 2.0, None),  # more than the row has
        ("Rows: 2", 2.0, None),
        ("Rows: 1 1 0", 2.0, None),
        ("Rows: 1..5 0", 1.5, None),
        ("Almost.", 2.0, None),
        ("", 3.0, [2.0, 1.0]),
        ("", 0.0, [0.0, 0.0]),
        ("Rows: 2 0", None, None),
    ],
)
def test_what_rows_earned_is_read_from_the_comment_and_has_to_add_up_to_the_points(comment, points, earned):
    assert earned_rows(comment, ROWS, points) == earned


def marked(points, comment):
    facts = {"grade_id": "why", "solution": True, "grade": True, "points": 3}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Mine.", metadata={"nbgrader": facts})])
    add_rubrics(notebook, {"why": GOOD})
    return page_of(notebook, {"why": points}, {"why": "Why"}, {"why": comment})


def test_feedback_says_what_each_row_earned_beside_the_samples():
    top, below = marked(2.0, "Rows: 2 0\nAlmost.").split("Your answers")
    assert "Not earned: <code>that</code> (0 of 1)." in top and "Almost." in top and "Rows" not in top
    assert "<td>2 of 2</td>" in below and "<td>0 of 1</td>" in below and "1 point." in below


def test_feedback_without_rows_has_the_rubric_as_it_is():
    top, below = marked(2.0, "Almost.").split("Your answers")
    assert "Not earned" not in top and "<td>2</td>" in below
