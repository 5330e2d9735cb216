"""What an instructor adds to a course and takes out of it."""

import importlib
import json
import re
import sys

import pytest
from click.testing import CliRunner

from autolab.cli.course import course
from autolab.course.collect import due_dates
from autolab.course.grading import settings
from autolab.course.grading.sandbox import Limits
from autolab.course.quick_nbgrader import import_jsonschema
from autolab.course.scaffold import add_exercise, new_course
from autolab.course.schedule import SCHEDULES, schedule, sets_of

from .conftest import ROOT

LINK = re.compile(r"\]\((?!https?://|#)([\w./-]+)[^)\s]*\)")
CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`", re.DOTALL)


def test_an_exercise_can_be_on_an_operation_that_a_problem_set_builds_from_rows(tmp_path):
    text = add_exercise(tmp_path, "ps9", "gelu").read_text()
    assert 'check("gelu", Gelu, points=8)' in text and (tmp_path / "source" / "ps9" / "gelu.ipynb").is_file()


def test_an_exercise_may_be_on_a_row_that_is_loaded_with_its_function(tmp_path):
    assert 'check("log_sigmoid", LogSigmoid, points=8)' in add_exercise(tmp_path, "ps9", "log_sigmoid").read_text()


def test_the_settings_of_an_operation_are_arguments_of_forward(tmp_path):
    text = add_exercise(tmp_path, "ps9", "clamp").read_text()
    assert "def forward(ctx, x, min, max):" in text and "backward returns None for min, max" in text


@pytest.mark.parametrize(("name", "said"), [("gelo", "Did you mean gelu"), ("checkpoint", "an exercise on behaviour")])
def test_a_name_without_an_operation_is_refused_with_what_to_do(tmp_path, name, said):
    with pytest.raises(LookupError, match=said):
        add_exercise(tmp_path, "ps9", name)


def test_both_ways_to_grade_read_the_seconds_from_the_same_place(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\nc.RunInBox.busy_seconds = 7\n")
    assert settings.limits(tmp_path) == Limits(busy=7.0)


@pytest.mark.parametrize(("assignment", "name"), [("ps9", "so ft"), ("../evil", "tanh"), ("ps9/x", "tanh"), ("ps9", "9")])
def test_a_name_that_is_none_leaves_nothing_behind(tmp_path, assignment, name):
    (tmp_path / "course").mkdir()
    with pytest.raises(ValueError, match="names a"):
        add_exercise(tmp_path / "course", assignment, name)
    assert [p.name for p in tmp_path.rglob("*")] == ["course"]


@pytest.mark.parametrize("name", settings.WITHOUT)
def test_a_configuration_of_an_earlier_version_is_said_with_what_it_lacks_and_what_to_do(tmp_path, name):
    (tmp_path / "source").mkdir()
    lines = (ROOT / "exercises" / "nbgrader_config.py").read_text("utf-8").splitlines(True)
    (tmp_path / "nbgrader_config.py").write_text("".join(line for line in lines if not line.startswith(f"c.{name} =")))
    said = CliRunner().invoke(course, ["check", "--course", str(tmp_path)]).stderr
    assert [other for other in settings.WITHOUT if other in said] == [name]
    assert settings.WITHOUT[name] in said and "autolab course new FOLDER --no-release" in said


def test_todays_configuration_lacks_nothing():
    assert settings.not_set(ROOT / "exercises") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_a_new_course_with_its_solutions_can_be_read_by_its_instructor_alone(tmp_path):
    new_course(tmp_path / "mycourse", ("ps2",))
    assert (tmp_path / "mycourse").stat().st_mode & 0o777 == 0o700


def test_jsonschema_is_imported_without_what_takes_long(tmp_path, monkeypatch):
    (tmp_path / "rfc3987_syntax.py").touch()
    (tmp_path / "jsonschema.py").write_text("try:\n    import rfc3987_syntax as slow\nexcept ImportError:\n    slow = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("jsonschema", "rfc3987_syntax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import_jsonschema()
    assert sys.modules.pop("jsonschema").slow is None
    assert importlib.import_module("rfc3987_syntax") and sys.modules.pop("rfc3987_syntax")


@pytest.mark.parametrize("weeks", ["8", "12"])
def test_a_course_of_weeks_has_the_sets_of_its_plan_and_a_schedule(tmp_path, weeks):
    folder = tmp_path / "mycourse"
    done = CliRunner().invoke(course, ["new", str(folder), "--weeks", weeks, "--start", "2027-02-01", "--no-release"])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (folder / "source").iterdir()) == [f"ps{n}" for n in range(1, 9)]
    page = (folder / "schedule.md").read_text("utf-8")
    assert "| 1 | 2027-02-01 | 00, 01" in page and page.count("\n| ") == int(weeks) + 1
    assert sorted(path.name for path in (folder / "teaching").iterdir()) == [f"week-{n:02}.md" for n in range(1, int(weeks) + 1)]


def test_the_days_of_the_schedule_are_the_due_dates_of_the_gradebook(tmp_path, monkeypatch):
    monkeypatch.setattr("autolab.course.scaffold.nbgrader", lambda *_: "")
    done = CliRunner().invoke(course, ["new", str(tmp_path / "mycourse"), "--weeks", "12", "--start", "2027-02-01"])
    assert done.exit_code == 0 and "23:59" in done.output, done.output
    found = {name: due.astimezone().strftime("%Y-%m-%d %H:%M") for name, due in due_dates(tmp_path / "mycourse").items()}
    assert len(found) == 8 and found["ps2"] == "2027-02-28 23:59"


@pytest.mark.parametrize("weeks", SCHEDULES)
def test_a_schedule_hands_each_set_out_and_collects_it_once(weeks):
    rows = [line[1:-1].split(" | ") for line in schedule(weeks).splitlines() if line.startswith("| ")][1:]
    handed_out, due = ([cell.split(":")[0].strip() for cell in column if cell.strip()] for column in list(zip(*rows, strict=True))[2:])
    assert sorted(handed_out) == sorted(due) == list(sets_of(weeks))


def test_the_capstone_comes_besides_the_weeks(tmp_path):
    folder = tmp_path / "mycourse"
    done = CliRunner().invoke(course, ["new", str(folder), "--weeks", "12", "capstone", "--no-release"])
    assert done.exit_code == 0, done.output
    assert (folder / "source/capstone/my_engine.py").is_file() and (folder / "source/ps8").is_dir()
    assert "- capstone: your own engine" in (folder / "schedule.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"), [(["ps2", "--weeks", "8"], "leave ps2 out"), (["--start", "2027-02-01"], "--weeks 8 or --weeks 12")]
)
def test_what_does_not_go_together_is_said(tmp_path, words, said):
    done = CliRunner().invoke(course, ["new", str(tmp_path / "mycourse"), *words])
    assert done.exit_code == 2 and said in done.stderr
    assert list(tmp_path.iterdir()) == []


def dead_links(folder):
    """The links of all pages and notebooks below a folder that lead to no file below it."""
    texts = [(path, path.read_text("utf-8")) for path in folder.rglob("*.md")]
    for path in folder.rglob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts += [(path, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "markdown"]
    links = [(path, link) for path, text in texts for link in LINK.findall(CODE.sub("", text))]
    return [f"{path.relative_to(folder)}: {link}" for path, link in links
            if not (path.parent / link).exists() or folder not in (path.parent / link).resolve().parents]  # fmt: skip


def test_every_link_of_a_new_course_leads_somewhere_in_it(tmp_path):
    folder = tmp_path.resolve() / "mycourse"
    done = CliRunner().invoke(course, ["new", str(folder), "--weeks", "12", "--no-release", *(f"ps{n}" for n in range(9, 18)), "capstone"])
    assert done.exit_code == 0, done.output
    assert dead_links(folder) == []


def test_a_link_out_of_a_course_is_dead(tmp_path):
    folder = tmp_path.resolve() / "mycourse"
    folder.mkdir()
    (tmp_path / "rules.md").touch()
    (folder / "README.md").write_text("[a](../rules.md) [b](README.md) [c](none.md) `[d](../none.md)`")
    assert dead_links(folder) == ["README.md: ../rules.md", "README.md: none.md"]


def test_no_link_of_what_students_get_leads_out_of_it():
    assert [said for path in sorted((ROOT / "exercises" / "handout").iterdir()) for said in dead_links(path)] == []
