"""A course says which version it was made with, and everybody compares theirs."""

import json
import sys

import nbformat
import pytest
from click.testing import CliRunner

from autolab.check import check
from autolab.cli.group import group
from autolab.course import problem_sets
from autolab.course.notebook import build
from autolab.course.release import release_of
from autolab.course.scaffold import new_course
from autolab.utils import pin
from autolab.version import __version__


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("pinned") / "course"
    new_course(root, ("ps7",))
    return root


@pytest.fixture
def older(tmp_path):
    path = tmp_path / "ps7" / "n.ipynb"
    path.parent.mkdir()
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(metadata={"autolab": {"version": "0.0.1"}})))
    return path


def test_what_students_get_says_which_version_the_course_was_made_with(course):
    (source,) = course.glob("source/ps7/*.ipynb")
    assert pin.course_version(course) == pin.notebook_version(source) == __version__
    assert release_of(nbformat.read(source, 4)).metadata["autolab"] == {"version": __version__}
    assert build(course) == []


def test_a_student_is_told_once_and_graded_as_before(older, monkeypatch, capsys):
    monkeypatch.setenv("JPY_SESSION_NAME", str(older))
    for _ in range(2):
        assert check("sin", lambda g, x: g).points < 10
    said = capsys.readouterr().err
    assert said.count("n.ipynb was made with autolab 0.0.1") == 1 and 'pip install "autolab-grad==0.0.1"' in said


def test_vs_code_is_asked_too(older, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__vsc_ipynb_file__", str(older), raising=False)
    assert pin.running_notebook() == older


def test_progress_names_notebooks_of_another_version(older, monkeypatch):
    monkeypatch.chdir(older.parents[1])
    assert "ps7/n.ipynb was made with autolab 0.0.1" in CliRunner().invoke(group, ["progress"]).output


@pytest.mark.parametrize("words", [["check", "ps9"], ["grade", "ps9"]])
def test_who_checks_or_grades_with_another_version_is_told(tmp_path, words):
    (tmp_path / "source").mkdir()
    (tmp_path / pin.FILE).write_text("0.0.1\n")
    done = CliRunner().invoke(group, ["course", *words, "--course", str(tmp_path)])
    assert "this course was made with autolab 0.0.1" in done.stderr and done.exit_code == 2  # there is no ps9


@pytest.mark.parametrize(("installed", "package"), [(None, "autolab-grad"), ("folder", "autolab-grad-instructor")])
def test_an_instructor_is_told_to_install_what_brings_the_rest(tmp_path, monkeypatch, installed, package):
    monkeypatch.setattr(problem_sets, "installed_folder", lambda: installed)
    (tmp_path / "source").mkdir()
    (tmp_path / pin.FILE).write_text("0.0.1\n")
    done = CliRunner().invoke(group, ["course", "check", "ps9", "--course", str(tmp_path)])
    assert f'pip install "{package}==0.0.1"' in done.stderr


@pytest.mark.parametrize(
    "metadata", [{}, {"autolab": 3}, {"autolab": {}}, {"autolab": {"version": 3}}, {"autolab": {"version": "\x1b[2J"}}]
)
def test_a_notebook_that_says_nothing_is_not_compared(tmp_path, metadata):
    (tmp_path / "n.ipynb").write_text(json.dumps({"metadata": metadata}))
    assert pin.notebook_version(tmp_path / "n.ipynb") is None
    assert pin.notebook_version(tmp_path / "none.ipynb") is None
