"""`autolab exercises`: a problem set in this folder, and how to open it."""

import json

import pytest

import autolab as torch

testing = pytest.importorskip("click.testing")
NOTEBOOK = "ps2/elementwise-rules.ipynb"


@pytest.fixture
def run(tmp_path, monkeypatch):
    from autolab.cli.group import group

    monkeypatch.chdir(tmp_path)
    for name in ("URL", "ROOT"):
        monkeypatch.delenv(f"JUPYTER_SERVER_{name}", raising=False)
    return lambda *arguments: testing.CliRunner().invoke(group, ["exercises", *arguments])


def test_a_set_is_put_here_and_the_command_that_opens_it_is_printed(run, tmp_path):
    assert f"Open it: jupyter lab {NOTEBOOK}" in run("ps2").output
    assert (tmp_path / NOTEBOOK).is_file()


def test_in_the_terminal_of_jupyterlab_its_place_and_its_address_are_printed(run, tmp_path, monkeypatch):
    (tmp_path / "lessons").mkdir()
    monkeypatch.setenv("JUPYTER_SERVER_URL", "http://localhost:8888/")
    monkeypatch.setenv("JUPYTER_SERVER_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path / "lessons")
    out = run("ps2").output
    assert f"Open lessons/{NOTEBOOK} in the file browser, or http://localhost:8888/lab/tree/lessons/{NOTEBOOK}" in out


def test_the_columns_of_the_list_stand_below_each_other_in_80_characters():
    lines = repr(torch.exercises()).splitlines()
    starts = {line.index(", ".join(s.lessons), 10 + len(s.topic)) for line, s in zip(lines, torch.exercises(), strict=True)}
    assert len(starts) == 1 and max(map(len, lines)) <= 80


def test_all_are_listed_with_topic_lessons_and_hours(run):
    out = run().output
    assert all(f"ps{n}" in out for n in range(1, 15)) and "04, 07" in out and "2.5 h" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_programs_get_json(run):
    assert json.loads(run("--json").output)[1] == {
        "name": "ps2",
        "topic": "a dozen elementwise rules",
        "lessons": ["04", "07"],
        "hours": 2.5,
    }
    assert json.loads(run("ps2", "--json").output)[0]["copied"] == ["elementwise-rules.ipynb"]


@pytest.mark.parametrize(
    ("arguments", "said"), [(["ps22"], "Did you mean 'ps2'?"), (["ps2", "--folder", "file"], "Cannot write to file/ps2")]
)
def test_what_cannot_be_done_is_said_with_exit_status_2(run, tmp_path, arguments, said):
    (tmp_path / "file").touch()
    out = run(*arguments)
    assert out.exit_code == 2 and said in out.output
