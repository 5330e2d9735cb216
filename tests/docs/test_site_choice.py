"""What a course's site holds: the lessons that were chosen, its own problem sets, and no solution."""

import os
import shutil

import pytest
from click.testing import CliRunner

from autolab.cli import course_site
from autolab.cli.course import course
from docs.make import choice

EXERCISES = choice.ROOT / "exercises"


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"]})


@pytest.fixture
def release(tmp_path):
    for folder, source in {"release": "handout", "source": "source"}.items():
        shutil.copytree(EXERCISES / source / "ps2", tmp_path / folder / "ps2")
    return tmp_path / "release"


def test_a_course_chooses_lessons_and_brings_its_problem_sets(environment, release):
    choice.choose("Optimization", "00 04", release)
    assert choice.title() == "Optimization"
    assert [path.stem[:2] for path in choice.lessons()] == ["00", "04"]
    assert list(choice.problem_sets().values()) == [release / "ps2" / "elementwise-rules.ipynb"]


def test_without_a_choice_a_site_holds_everything(environment):
    assert len(choice.lessons()) > 16
    assert len(choice.problem_sets()) == 10


def test_a_lesson_that_does_not_exist_is_refused(environment):
    with pytest.raises(LookupError, match="no lesson '77'"):
        choice.choose(lessons="00 77")


def test_a_release_with_a_solution_is_refused(environment, release):
    shutil.copy(release.with_name("source") / "ps2" / "elementwise-rules.ipynb", release / "ps2")
    with pytest.raises(LookupError, match="has the solution of square"):
        choice.choose(release=release)


def test_a_solution_without_its_marks_is_refused_too(environment, release):
    path = release / "ps2" / "elementwise-rules.ipynb"
    text = (release.with_name("source") / "ps2" / path.name).read_text("utf-8")
    path.write_text(text.replace("### BEGIN SOLUTION", "#").replace("### END SOLUTION", "#"), "utf-8")
    with pytest.raises(LookupError, match="has the solution of .*square"):
        choice.choose(release=release)


def test_what_students_get_has_no_solution():
    for path in sorted((EXERCISES / "handout").glob("*/*.ipynb")):
        assert choice.solutions(path, EXERCISES / "source" / path.relative_to(EXERCISES / "handout")) == []


def test_without_the_repository_it_is_said_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(course_site, "CHECKOUT", tmp_path)
    said = CliRunner().invoke(course, ["site", str(tmp_path / "pages"), "--title", "Optimization"])
    assert said.exit_code == 2
    assert "clone it" in said.output
