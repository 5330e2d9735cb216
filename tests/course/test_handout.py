"""What students get of a problem set: made from its source, without solutions, and run to its end before a word is written."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

import autolab as torch
from autolab.course.grading.sandbox import Limits
from autolab.course.grading.worker import Job, grade
from autolab.course.notebook import from_markdown
from autolab.course.release import form_of_source, release_of
from autolab.course.solutions import read

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
SETS = sorted((path.name for path in (EXERCISES / "text").glob("ps*")), key=lambda name: int(name[2:]))
HOURS = {1.5: "an hour and a half", 2: "two hours", 2.5: "two and a half hours", 3: "three hours", 3.5: "three and a half hours"}


def only(folder, problem_set):
    (path,) = (EXERCISES / folder / problem_set).glob("*.*")
    return path


@cache
def executed(problem_set):
    """The handout after Run All, which stops at the first error that is not expected."""
    from nbclient import NotebookClient

    notebook = read(only("handout", problem_set))
    return NotebookClient(notebook, timeout=120, kernel_name="python3").execute()


def graded(problem_set, notebook):
    text = nbformat.writes(notebook)
    form = form_of_source(read(only("source", problem_set)))
    return grade(Job("ada", problem_set, "n", text, (), form, 7, Limits(), "limits"))


@pytest.mark.parametrize("problem_set", SETS)
def test_the_handout_is_what_the_source_releases(problem_set):
    made = nbformat.writes(release_of(read(only("source", problem_set)))) + "\n"
    assert only("handout", problem_set).read_text("utf-8") == made


def test_the_handout_is_what_nbgrader_makes(course):
    assert course.read("release/ps2") == read(only("handout", "ps2"))


@pytest.mark.parametrize("problem_set", SETS)
def test_the_handout_has_no_solution_and_no_hidden_test(problem_set):
    source, handout = ("\n".join(c.source for c in read(only(folder, problem_set)).cells) for folder in ("source", "handout"))
    hidden = re.findall(r"### BEGIN \w.*?\n(.*?)\n\s*### END", source, re.DOTALL)
    assert len(hidden) > 8 and not re.search("### (BEGIN|END)", handout)
    assert [part for part in hidden if part in handout and part.strip() != "return g"] == []  # which the text says as well


@pytest.mark.parametrize("problem_set", SETS)
def test_run_all_goes_through_to_the_end_with_nothing_written(problem_set):
    code = [cell for cell in executed(problem_set).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)


@pytest.mark.parametrize("problem_set", SETS)
def test_what_was_run_with_nothing_written_is_graded_with_no_points(problem_set):
    done = graded(problem_set, executed(problem_set))
    assert set(done.scores.values()) == {0.0} and done.notes == []


@pytest.mark.parametrize("problem_set", SETS)
def test_the_handout_with_its_answers_written_gets_all_points(problem_set):
    notebook, source = read(only("handout", problem_set)), read(only("source", problem_set))
    for cell, solved in zip(notebook.cells, source.cells, strict=True):
        cell.source = solved.source if solved.metadata.get("nbgrader", {}).get("solution") else cell.source
    points = {c.metadata.nbgrader.grade_id: c.metadata.nbgrader.points for c in source.cells if c.metadata.get("nbgrader", {}).get("grade")}
    assert {name: score for name, score in graded(problem_set, notebook).scores.items() if score not in (points[name], None)} == {}


# -- facts of a problem set, written in one place


@pytest.mark.parametrize("problem_set", SETS)
def test_the_hours_that_a_text_plans_are_those_of_its_head(problem_set):
    (listed,) = [s for s in torch.exercises() if s.name == problem_set]
    text = only("text", problem_set).read_text("utf-8")
    assert f"Plan {HOURS[listed.hours]}" in text
    assert f"{listed.topic}; " in listed.summary() and all(re.search(rf"[Ll]esson {n}", text) for n in listed.lessons[:1])


def test_the_table_in_the_readme_says_what_the_texts_say():
    rows = [f"| {s.name} | {s.topic} | {', '.join(s.lessons)} | {s.hours:g} |" for s in torch.exercises()]
    assert re.findall(r"^\| (?:ps\d+|capstone) .*$", (EXERCISES / "README.md").read_text("utf-8"), re.MULTILINE) == rows


@pytest.mark.parametrize(("head", "said"), [
    ("topic: rules\nlessons: 04", "write `topic: words`"), ("topic: rules\nlessons: 04\nhours: two", "`hours: 2`"),
    ("topic: rules\nlessons: 04\nhours: 2\nweeks: 1", "'weeks' is not a fact"),
])  # fmt: skip
def test_a_head_that_says_something_else_is_refused(head, said):
    with pytest.raises(ValueError, match=said):
        from_markdown(f"---\n{head}\n---\n\ntext\n")


def test_an_error_below_a_head_names_the_line_of_the_file():
    with pytest.raises(ValueError, match="line 7"):
        from_markdown("---\ntopic: rules\nlessons: 04\nhours: 2\n---\n\n```python nothing\n```\n")
