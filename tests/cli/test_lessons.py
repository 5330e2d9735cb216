"""`autolab lessons` copies, `autolab progress` counts; both for people and for programs."""

import json

import pytest

from autolab.utils import lessons, progress

testing = pytest.importorskip("click.testing")


@pytest.fixture
def run(tmp_path, monkeypatch):
    from autolab.cli.group import group

    monkeypatch.setenv("AUTOLAB_HOME", str(tmp_path / "home"))
    return lambda *arguments: testing.CliRunner().invoke(group, arguments)


def test_lessons_are_copied_and_the_first_one_is_named(run, tmp_path):
    out = run("lessons", str(tmp_path / "mine"))
    assert out.exit_code == 0 and "copied" in out.output and "00-start-here.ipynb" in out.output
    assert {path.name for path in (tmp_path / "mine").glob("0*.ipynb")} >= {lesson.path.name for lesson in lessons.listed()[:9]}


def test_a_changed_lesson_is_left_as_it_is(run, tmp_path):
    run("lessons", str(tmp_path))
    (tmp_path / "05-accumulation.ipynb").write_text("my work")
    out = run("lessons", str(tmp_path), "--json")
    assert "05-accumulation.ipynb" in json.loads(out.output)["kept"]
    assert (tmp_path / "05-accumulation.ipynb").read_text() == "my work"


def test_a_file_in_the_way_is_a_wrong_call(run, tmp_path):
    (tmp_path / "file").touch()
    assert run("lessons", str(tmp_path / "file")).exit_code == 2


def test_progress_fits_a_page_and_says_where_it_is_kept(run, tmp_path):
    out = run("progress").output
    assert all(len(line) <= 80 for line in out.splitlines() if "/" not in line)
    assert "Nothing is kept so far" in out and str(tmp_path / "home") in out
    progress.remember("quiz", "02 the graph: 1", True)
    assert "■□" in run("progress").output
    assert json.loads(run("progress", "--json").output)["lessons"][2]["right"] == 1
