"""The capstone: its reference earns all points, a blank none, every wrong engine is caught and named, and it is graded in the box."""

import gc
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import autolab as torch
from autolab.check import BEHAVIOURS, Report
from autolab.check.api.judge_behaviour import judge_behaviour
from autolab.check.behaviour.scenes import LocalPlayer
from autolab.course.grading.files import odd_files
from autolab.course.grading.sandbox import Limits
from autolab.course.grading.worker import Job, grade
from autolab.course.release import form_of_source, release_of
from autolab.course.solutions import WRONG, blank, blank_module, modules, read, solve, with_answer

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
MODULE = "my_engine.py"
FILES = modules(EXERCISES, "capstone")
SECTIONS = re.split(r"^## (\w+)$", (EXERCISES / "wrong" / "capstone.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
WRONGS = [(name, family.strip(), text) for name, part in zip(SECTIONS[::2], SECTIONS[1::2]) for _, family, text in WRONG.findall(part)]
MILESTONES = [name for name in BEHAVIOURS if name.startswith("capstone_")]


@pytest.fixture(scope="module", autouse=True)
def light_collections():
    """What was loaded before is not looked at by every gc.collect of a scene."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@cache
def notebook():
    return read(EXERCISES / "source" / "capstone" / "capstone.ipynb")


def engine(extra=""):
    made = ModuleType("my_engine")
    exec(compile(f"{FILES[MODULE]}\n\n{extra}", MODULE, "exec"), made.__dict__)
    return made


def verdict(name, candidate, seed=3):
    return judge_behaviour(BEHAVIOURS[name], LocalPlayer(BEHAVIOURS[name], candidate, busy=True), seed=seed)


@pytest.mark.parametrize("name", MILESTONES)
def test_the_reference_is_right_whatever_is_drawn(name):
    for seed in range(1 if name == "capstone_budget" else 3):
        report = verdict(name, engine(), seed)
        assert report.passed, str(report)


@pytest.mark.parametrize("number", range(len(WRONGS)), ids=lambda i: f"{WRONGS[i][0][9:]}-{i}-{WRONGS[i][1].replace(' ', '-')}")
def test_a_wrong_engine_loses_points_and_is_told_why(number):
    name, family, text = WRONGS[number]
    report = verdict(name, engine(text))
    assert report.points < report.max_points
    assert family in {d.family for d in report.diagnoses}


def test_every_milestone_has_five_wrong_engines():
    assert {name: sum(w[0] == name for w in WRONGS) >= 5 for name in MILESTONES} == dict.fromkeys(MILESTONES, True)


def test_the_notebook_with_the_reference_earns_all_points_and_prints_what_it_promises():
    found = solve(notebook(), None, FILES)
    assert [v for v in found.values() if isinstance(v, Exception)] == []
    cells, reports = notebook().cells, {name: v for name, v in found.items() if isinstance(v, Report)}
    points = {c.id: c.metadata.nbgrader.points for c in cells if c.cell_type == "code" and c.metadata.get("nbgrader", {}).get("grade")}
    assert {name: r.points for name, r in reports.items()} == points
    promised = [(m[1], found[code.id]) for text, code in zip(cells, cells[1:]) if (m := re.search(r"should print `([^`]+)`", text.source))]
    assert len(promised) == 6 and [str(value) for _, value in promised] == [text for text, _ in promised]
    assert "my_engine" not in sys.modules or not Path(sys.modules["my_engine"].__file__).exists()


def test_a_blank_earns_nothing():
    files = {name: blank_module(text) if name.endswith(".py") else text for name, text in FILES.items()}
    reports = [v for v in solve(notebook(), blank(notebook()), files).values() if isinstance(v, Report)]
    assert len(reports) == 17 and {r.points for r in reports} == {0.0}
    assert {d.family for r in reports for d in r.diagnoses} == {"blank"}


def test_headings_and_hours_are_those_of_cells_and_table():
    said = {}
    for cell in notebook().cells:
        for points in re.findall(r"^## .*\((\d+) points\)", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else ():
            said[cell.id] = [int(points), 0]
        if said:
            said[list(said)[-1]][1] += cell.metadata.get("nbgrader", {}).get("points", 0)
    assert all(a == b for a, b in said.values()) and sum(a for a, _ in said.values()) == 100
    text = (EXERCISES / "text" / "capstone" / "capstone.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+|in words) \| (\d+) \| [123] \|", text, re.MULTILINE)
    assert [row[0] for row in rows] == [*map(str, range(1, 10)), "in words"]
    (listed,) = [s for s in torch.exercises() if s.name == "capstone"]
    assert sum(int(row[1]) for row in rows) == 60 * listed.hours


@pytest.mark.parametrize("folder", ["source", "handout"])
def test_what_students_complete_is_the_reference_without_its_solutions(folder):
    for name, text in FILES.items():
        released = (EXERCISES / folder / "capstone" / name).read_text("utf-8")
        assert released == (blank_module(text) if name.endswith(".py") else text)
        assert not re.search("### (BEGIN|END)", released)


def test_an_untouched_module_can_be_imported_and_keeps_every_name_of_the_contract():
    names = {}
    exec(blank_module(FILES[MODULE]), names)
    public = {
        name for name, value in vars(engine()).items() if not name.startswith("_") and getattr(value, "__module__", "") == "my_engine"
    }
    assert public <= set(names) and len(public) > 12


def test_it_is_put_where_one_works_and_work_is_left_as_it_is(tmp_path):
    torch.exercises("capstone", folder=tmp_path)
    assert {p.name for p in (tmp_path / "capstone").iterdir() if not p.name.startswith(".")} == {"capstone.ipynb", MODULE, "pyproject.toml"}
    (tmp_path / "capstone" / MODULE).write_text("mine")
    torch.exercises("capstone", folder=tmp_path)
    assert (tmp_path / "capstone" / MODULE).read_text() == "mine"


@pytest.mark.parametrize(("name", "cut", "said"), [
    ("capstone_scalars", "Value.tanh", "a.tanh() is not written yet"), ("capstone_tensors", "Tensor.__matmul__", "x @ m is not written yet"),
])  # fmt: skip
def test_the_first_operation_that_is_not_written_is_named(name, cut, said):
    report = verdict(name, engine(f"def _blank(*arguments):\n    raise NotImplementedError\n\n\n{cut} = _blank"))
    assert report.diagnoses[0].text == said and 0 < report.points < report.max_points


# -- graded


def graded(module):
    import nbformat

    text, form = nbformat.writes(release_of(notebook())), form_of_source(notebook())
    files = () if module is None else ((MODULE, module.encode()),)
    return grade(Job("ada", "capstone", "capstone", text, (), form, 7, Limits(), None, files))


def test_the_reference_handed_in_earns_all_that_is_not_read_by_a_person():
    done = graded(FILES[MODULE])
    points = {c.name: c.points for c in form_of_source(notebook()) if c.grade and not c.solution}
    assert {name: score for name, score in done.scores.items() if name in points} == points
    assert done.notes == []


def test_a_mistake_costs_its_milestone_and_what_is_not_written_its_own():
    half = FILES[MODULE].partition("# Milestone 4")[0] + "#" + blank_module(FILES[MODULE]).partition("# Milestone 4")[2]
    done = graded(with_answer({MODULE: half}, MODULE, "def _unbroadcast(g, shape):\n    return g\n")[MODULE])
    assert done.scores["capstone_scalars-check"] == 8 and 0 < done.scores["capstone_tensors-check"] < 13
    assert "not summed" in {d["family"] for d in done.diagnoses} and done.scores["capstone_fused-check"] == 0


def test_a_module_that_was_not_handed_in_is_named():
    done = graded(None)
    assert not any(done.scores.values()) and "there is no my_engine.py" in done.diagnoses[0]["text"]


def test_a_file_as_it_was_handed_out_is_no_odd_one(tmp_path):
    (tmp_path / "pyproject.toml").write_text(FILES["pyproject.toml"])
    assert odd_files(tmp_path, EXERCISES / "source" / "capstone") == [] != odd_files(tmp_path)
    (tmp_path / "pyproject.toml").write_text(FILES["pyproject.toml"].replace("0.1", "0.2"))
    assert odd_files(tmp_path, EXERCISES / "source" / "capstone") != []
