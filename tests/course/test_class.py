"""A class is graded in many processes and written by one; nothing is graded twice, and nothing is lost."""

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from autolab.cli.group import group
from autolab.course.grading import scheduler
from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.grading.scheduler import Course, GradingRun, Place, grade_course
from autolab.course.notebook import build
from autolab.course.scaffold import nbgrader
from autolab.course.variants import own

from .hostile import TEXT, WRONG
from .test_hostile import FULL, LIMITS, submitted

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
KINDS = {"right": None, "wrong": WRONG, "exit": "import os\nos._exit(0)"}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("class")
    (root / "text" / "ps").mkdir(parents=True)
    (root / "text" / "ps" / "n.md").write_text(TEXT)
    build(root)
    config = (ROOT / "exercises" / "nbgrader_config.py").read_text()
    (root / "nbgrader_config.py").write_text(
        config + 'c.AssignLatePenalties.plugin_class = "Never"\nc.LateSubmissionPlugin.penalty_method = "zero"\n'
    )
    os.environ["PYTHONPATH"] = str(ROOT)
    nbgrader(root, "generate_assignment", "ps")
    for i in range(9):
        folder = root / "submitted" / f"s{i}" / "ps"
        folder.mkdir(parents=True)
        if i == 8:
            continue  # an empty folder
        (folder / "n.ipynb").write_text(submitted(list(KINDS.values())[i % 3]))
    return Course(root)


def totals(course):
    with CourseGradebook(course.database, "ps") as gradebook:
        return gradebook.totals()


def reports(course):
    with CourseGradebook(course.database, "ps") as gradebook:
        return {r["student"]: {k: v for k, v in r.items() if k not in ("seconds", "times")} for r in gradebook.reports()}


def times(course):
    with CourseGradebook(course.database, "ps") as gradebook:
        return {r["student"]: r["times"] for r in gradebook.reports()}


def pages(course):
    return {p.relative_to(course.root): p.read_text() for f in ("autograded", "feedback") for p in sorted((course.root / f).rglob("n.*"))}


SLOWLY = """
import sys, time
from pathlib import Path
from autolab.course.grading import scheduler
from autolab.course.grading.scheduler import Course, grade_course
from autolab.course.grading.sandbox import Limits
scheduler.BATCH = 1
if __name__ == "__main__":
    grade_course(Course(Path(sys.argv[1])), "ps", limits=Limits(cell=1.5, total=20.0), progress=lambda *a: time.sleep(0.3))
"""


@pytest.fixture(scope="module")
def graded(course):
    """Graded by a run that was killed, and a second one."""
    process = subprocess.Popen([sys.executable, "-c", SLOWLY, str(course.root)], env=ENV, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(times(course)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = len(times(course))
    run = grade_course(course, "ps", jobs=2, limits=LIMITS)
    return course, before, run


def test_after_a_kill_nothing_is_lost_and_nothing_graded_twice(graded):
    course, before, run = graded
    assert 3 <= before < 9
    assert (run.graded, run.skipped) == (9 - before, before)
    assert times(course) == dict.fromkeys((f"s{i}" for i in range(9)), 1)
    assert len({r["seed"] for r in reports(course).values()}) == 2  # who hands in between may have seen what was drawn


def test_everybody_has_the_row_that_they_deserve(graded):
    course, *_ = graded
    got = totals(course)
    assert all(got[f"s{i}"] == sum(FULL.values()) for i in (0, 3, 6))
    assert all(got[f"s{i}"] == 12.75 for i in (1, 4, 7))
    assert all(got[f"s{i}"] == 10.0 for i in (2, 5))
    assert got["s8"] == 0.0
    assert reports(course)["s8"]["notes"] == ["n.ipynb was not handed in"]


def test_a_regrade_is_the_same_bit_for_bit(graded):
    course, *_ = graded
    before = reports(course), pages(course)
    run = grade_course(course, "ps", regrade=True, limits=LIMITS)
    assert (run.graded, run.skipped) == (9, 0)
    assert (reports(course), pages(course)) == before


def test_what_is_graded_is_left_alone_until_it_changes(graded):
    course, *_ = graded
    assert grade_course(course, "ps", limits=LIMITS).graded == 0
    place = course.root / "submitted" / "s8" / "ps" / "n.ipynb"
    place.write_text(submitted(None))
    (place.parent / "timestamp.txt").write_text("2020-01-01 00:00:00 UTC")
    assert grade_course(course, "ps", limits=LIMITS).graded == 1
    assert totals(course)["s8"] == 20.0
    place.unlink()
    grade_course(course, "ps", limits=LIMITS)
    assert totals(course)["s8"] == 0.0


PRINTS = """
def fingerprint(x, g):
    return round(float(x.numpy().sum()), 9), round(float(g.numpy().sum()), 9)

seen = {seen}

class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        key = fingerprint(x, g)
        if seen is not None and key not in seen: raise ValueError("never seen")
        raise ValueError("SEEN" + str(key)) if seen is None else ValueError("again")
"""


def test_who_has_seen_what_was_drawn_and_hands_in_again_is_drawn_other_numbers(graded):
    course, *_ = graded
    place = course.root / "submitted" / "s1" / "ps" / "n.ipynb"
    text, before = place.read_text(), {student: r["seed"] for student, r in reports(course).items()}
    shown = []
    for seen in (None, "REMEMBERED"):
        place.write_text(submitted(PRINTS.replace("{seen}", repr(seen and set(shown)))))
        grade_course(course, "ps", regrade=True, limits=LIMITS)
        said = reports(course)["s1"]
        shown += [(float(a), float(b)) for a, b in re.findall(r"SEEN\(([-\d.e]+), ([-\d.e]+)\)", json.dumps(said["diagnoses"]))]
        assert said["seed"] != before["s1"]
        before["s1"] = said["seed"]
    assert shown and "never seen" in json.dumps(said["diagnoses"]) and "again" not in json.dumps(said["diagnoses"])
    assert {student: r["seed"] for student, r in reports(course).items()} == before  # of all others the numbers are the same
    place.write_text(text)
    grade_course(course, "ps", limits=LIMITS)


def test_numbers_that_a_page_has_shown_are_not_drawn_for_what_is_new_whatever_seed_is_given(graded):
    course, *_ = graded
    place, shown = course.root / "submitted" / "s1" / "ps" / "n.ipynb", reports(course)["s0"]["seed"]
    text = place.read_text()
    place.write_text(submitted(None))
    assert grade_course(course, "ps", seed=shown, limits=LIMITS).graded == 1
    assert reports(course)["s1"]["seed"] != shown
    place.write_text(text)
    grade_course(course, "ps", limits=LIMITS)


def test_points_given_by_hand_survive_a_regrade(graded):
    course, *_ = graded
    with CourseGradebook(course.database, "ps") as gradebook:
        grade = gradebook.gradebook.find_grade("square-check", "n", "ps", "s1")
        grade.manual_score = 7.0
        gradebook.db.commit()
    grade_course(course, "ps", regrade=True, limits=LIMITS)
    with CourseGradebook(course.database, "ps") as gradebook:
        grade = gradebook.gradebook.find_grade("square-check", "n", "ps", "s1")
        assert (grade.score, grade.auto_score, grade.needs_manual_grade) == (7.0, 2.75, False)  # nobody has to look again
        grade.manual_score = None
        gradebook.db.commit()


def test_a_cluster_gives_the_same_grades(graded):
    pytest.importorskip("distributed")
    course, *_ = graded
    before = reports(course)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address, quiet = f"tcp://127.0.0.1:{port}", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENV}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes = [subprocess.Popen(command, cwd=course.root, **quiet) for command in (dask, worker, worker)]
    try:
        run = grade_course(course, "ps", scheduler=address, regrade=True, limits=LIMITS)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    assert run.graded == 9
    assert reports(course) == before


def autolab(course, *words, code=0):
    """What a command prints; in this process, because to import nbgrader takes seconds."""
    done = CliRunner().invoke(group, ["course", *words, "--course", str(course.root)], prog_name="autolab")
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def test_the_report_is_one_page_about_the_class(graded):
    course, *_ = graded
    autolab(course, "report", "ps")
    page = (course.root / "report-ps.html").read_text()
    for phrase in ("9 students", "square-check", "Commonest mistakes", "reaches for the system", "was stopped: the process ended"):
        assert phrase in page
    assert "<script" not in page
    data = json.loads(autolab(course, "report", "ps", "--json"))
    assert data["hardest"][0]["cell"] in ("square-check", "square-hidden")


@pytest.mark.parametrize(("system", "column"), [("canvas", "SIS Login ID"), ("moodle", "username")])
def test_marks_go_to_a_learning_management_system(graded, system, column):
    course, *_ = graded
    rows = list(csv.DictReader(io.StringIO(autolab(course, "export", "ps", "--for", system))))
    assert {r[column]: float(r["ps"]) for r in rows if r[column]} == totals(course)


def test_marks_in_a_file_are_what_a_spreadsheet_reads_too(graded, tmp_path):
    course, *_ = graded
    with CourseGradebook(course.database, "ps") as gradebook:
        gradebook.gradebook.update_or_create_student("s0", first_name='Jörg "J"', last_name="Müller", lms_user_id="17")
    printed = autolab(course, "export", "ps", "--column", "Übung 2 (4711)")
    autolab(course, "export", "ps", "--column", "Übung 2 (4711)", "--out", str(tmp_path / "ps.csv"))
    data = (tmp_path / "ps.csv").read_bytes()
    assert data == b"\xef\xbb\xbf" + printed.encode()
    rows = list(csv.reader(io.StringIO(printed)))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Übung 2 (4711)"]
    assert rows[1][0].strip() == "Points Possible" and {len(row) for row in rows} == {6}
    assert rows[2] == ['Müller, Jörg "J"', "17", "", "s0", "", "20"]


def test_a_gradebook_that_canvas_exported_comes_back_with_its_column_filled(graded, tmp_path):
    course, *_ = graded
    text = "\ufeffStudent,ID,SIS Login ID,Section,ps (47)\r\n    Points Possible,,,,{0}\r\n" + "".join(
        f'"{s}, X",,{s},"A, B",{{1[{s}]}}\r\n' for s in sorted(totals(course))
    )
    of = json.loads(autolab(course, "export", "ps", "--json"))["of"]
    (tmp_path / "in.csv").write_bytes(text.format(f"{of:g}", dict.fromkeys(totals(course), "")).encode())
    autolab(course, "export", "ps", "--into", str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.csv"))
    marks = {student: f"{round(score, 2):g}" for student, score in totals(course).items()}
    assert (tmp_path / "out.csv").read_bytes() == text.format(f"{of:g}", marks).encode()


def test_who_exports_is_told_of_answers_that_nobody_has_read(graded):
    course, *_ = graded
    command = [sys.executable, "-m", "autolab.cli", "course", "export", "ps", "--json", "--course", str(course.root)]
    said = subprocess.run(command, env=ENV, capture_output=True, text=True, check=True).stderr
    assert "plugin_class is not used" in said and "nobody has read" not in said
    with CourseGradebook(course.database, "ps") as gradebook:
        grade = gradebook.gradebook.find_grade("square-check", "n", "ps", "s1")
        before, grade.auto_score = grade.auto_score, None
        gradebook.db.commit()
        said = subprocess.run(command, env=ENV, capture_output=True, text=True, check=True)
        graded = subprocess.run([*command[:4], "grade", "ps", *command[7:]], env=ENV, capture_output=True, text=True, check=True).stdout
        gradebook.db.refresh(grade)
        grade.auto_score = before
        gradebook.db.commit()
    assert "1 of 9 students have answers that nobody has read yet, counted as 0: s1. " in said.stderr
    assert json.loads(said.stdout)["unread"] == ["s1"]
    assert "wait for a person, in JupyterLab's menu nbgrader, Formgrader: 1 (s1)." in graded


def test_who_is_in_no_roster_or_has_no_exercises_is_named(graded, monkeypatch):
    course, *_ = graded
    monkeypatch.setattr(scheduler, "grade_course", lambda *_, **__: GradingRun(skipped=1))
    monkeypatch.setattr(own, "without_exercises", lambda *_: ["s3"])
    with CourseGradebook(course.database, "ps") as gradebook:
        gradebook.gradebook.update_or_create_student("s0", last_name="Müller")
    said = autolab(course, "grade", "ps")
    assert "none of their own were drawn for them: 1 (s3)" in said and "In no roster that was collected with: 8 (s1, s2, s3" in said
    words = ["course", "export", "ps", "--for", "gradescope", "--course", str(course.root)]
    assert "8 of 9 students have no name in the gradebook, and none in the table: s1" in CliRunner().invoke(group, words).stderr


def test_commands_that_cannot_run_say_why(graded, tmp_path):
    course, *_ = graded
    (course.root / "source" / "ps7").mkdir()
    (course.root / "source" / "ps7" / "n.ipynb").write_bytes((course.root / "source" / "ps" / "n.ipynb").read_bytes())
    assert "nobody handed in ps7: there is no folder" in autolab(course, "grade", "ps7", code=2)
    assert "0 is not in the range x>=1" in autolab(course, "grade", "ps", "--jobs", "0", code=2)
    assert f"{tmp_path / 'no' / 'x.html'}: No such file" in autolab(
        course, "report", "ps", "--out", str(tmp_path / "no" / "x.html"), code=2
    )
    for words in (["check"], ["add", "ps9", "tanh"]):
        assert f"{tmp_path} is not a course" in autolab(SimpleNamespace(root=tmp_path), *words, code=2)
    assert "has no assignment 'ps9'" in autolab(course, "grade", "ps9", code=2)
    assert "does not know 'ps9'" in autolab(course, "report", "ps9", code=2)
    assert "no row 'sofsign' in the table" in autolab(course, "add", "ps", "sofsign", code=2)


def test_the_command_starts_no_thread_so_its_processes_are_forked_and_import_nothing(graded, monkeypatch):
    course, threads, before = graded[0], [], threading.active_count()
    monkeypatch.setattr(scheduler, "grade_course", lambda *_, **__: threads.append(threading.active_count()) or GradingRun(skipped=1))
    autolab(course, "grade", "ps", "--jobs", "2")
    assert threads == [before]


def what_an_interrupt_does(place):
    return Place(place.student, str(signal.getsignal(signal.SIGINT)))


def test_an_interrupt_is_left_to_the_process_that_says_how_many_are_saved(monkeypatch):
    monkeypatch.setattr(scheduler, "grade", what_an_interrupt_does)
    (done,) = scheduler._map([Place("ada", "n")], lambda place: place, 2, None, GradingRun())
    assert done.notebook == str(signal.SIG_IGN)
