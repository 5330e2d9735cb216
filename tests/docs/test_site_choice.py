"""What a course's site holds: the lessons that were chosen, its own problem sets, and no solution."""

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from autolab.cli import course_site
from autolab.cli.course import course
from docs.make import choice

nbformat = pytest.importorskip("nbformat")
lite, site = map(pytest.importorskip, ("docs.make.lite", "docs.make.site"))

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
    assert len(choice.problem_sets()) > 8


@pytest.mark.parametrize("link", ["../docs/rules.md", "../docs/decisions/README.md", "../autolab/engine/node.py"])
def test_a_courses_site_leads_to_the_project_for_guide_and_code(environment, release, link):
    site.documents.cache_clear()
    choice.choose(release=release)
    assert site.target(link, Path("notebooks")) == f"{site.CODE}/{link.removeprefix('../')}"
    assert site.target("00-start-here.ipynb", Path("notebooks")) == "00-start-here.ipynb"
    site.documents.cache_clear()


def test_a_courses_site_has_guide_and_code_if_it_asks_for_them(environment, release):
    choice.choose(release=release, reference=True)
    assert choice.has_reference() and site.target("../docs/rules.md", Path("notebooks")) == "../docs/rules.md"


def test_a_notebook_that_names_a_kernel_of_its_author_or_none_starts_without_a_question(environment, release, tmp_path):
    kernel = {"name": "conda-env-me", "display_name": "Mine", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(metadata={"kernelspec": kernel}), release / "ps2" / "elementwise-rules.ipynb")
    choice.choose(lessons="00", release=release)
    lite.contents(tmp_path)
    copy = nbformat.read(tmp_path / "exercises/handout/ps2/elementwise-rules.ipynb", as_version=4)
    assert (copy.metadata.kernelspec.name, copy.metadata.language_info.name) == ("python3", "python")


def test_the_module_of_a_problem_set_lies_beside_its_notebook(environment, release, tmp_path):
    for folder, place in {"handout": release, "source": release.with_name("source")}.items():
        shutil.copytree(EXERCISES / folder / "capstone", place / "capstone")
    choice.choose(lessons="00", release=release)
    lite.contents(tmp_path)
    assert (tmp_path / "exercises/handout/capstone/my_engine.py").is_file()


def test_a_lesson_that_does_not_exist_is_refused(environment):
    with pytest.raises(LookupError, match="no lesson '77'"):
        choice.choose(lessons="00 77")


def test_a_release_with_a_solution_is_refused(environment, release):
    shutil.copy(release.with_name("source") / "ps2" / "elementwise-rules.ipynb", release / "ps2")
    with pytest.raises(LookupError, match="has the solution of fourth_power"):
        choice.choose(release=release)


def test_a_solution_without_its_marks_is_refused_too(environment, release):
    path = release / "ps2" / "elementwise-rules.ipynb"
    text = (release.with_name("source") / "ps2" / path.name).read_text("utf-8")
    path.write_text(text.replace("### BEGIN SOLUTION", "#").replace("### END SOLUTION", "#"), "utf-8")
    with pytest.raises(LookupError, match="has the solution of .*fourth_power"):
        choice.choose(release=release)


def test_what_students_get_has_no_solution():
    for path in sorted((EXERCISES / "handout").glob("*/*.ipynb")):
        assert choice.solutions(path, EXERCISES / "source" / path.relative_to(EXERCISES / "handout")) == []


def test_without_the_repository_it_is_said_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(course_site, "CHECKOUT", tmp_path)
    said = CliRunner().invoke(course, ["site", str(tmp_path / "pages"), "--title", "Optimization"])
    assert said.exit_code == 2
    assert "clone it" in said.output
