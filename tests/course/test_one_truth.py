"""What a class is told is what its gradebook holds, and nothing of it is lost."""

import json
import logging
import os
import signal
import sqlite3
from contextlib import closing
from datetime import datetime

import pytest
from click.testing import CliRunner
from nbgrader.apps import ExportApp
from nbgrader.converters import GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import ExchangeReleaseFeedback
from traitlets.config import PyFileConfigLoader

from autolab.cli.group import group
from autolab.course.grading import sandbox, settings
from autolab.course.grading.backups import backup
from autolab.course.grading.exchange import ReleaseWhatCameThroughExchange
from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.grading.pages import FeedbackPage
from autolab.course.grading.preprocessors import SubmissionReader
from autolab.course.grading.scheduler import Course, GradingInterrupted, grade_course
from autolab.course.grading.stage import Stage
from autolab.course.notebook import build
from autolab.course.scaffold import tools_on_path

from .conftest import ROOT
from .hostile import TEXT, WRONG
from .test_hostile import LIMITS, submitted

ESSAY = "\n```markdown written why 4\nYour answer here.\n```\n"
STUDENTS = ("ada", "bob", "eve")


def generate(root):
    """As `nbgrader generate_assignment ps --force`, in this process."""
    config = PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    coursedir = CourseDirectory(config=config, root=str(root), assignment_id="ps")
    with tools_on_path():
        GenerateAssignment(coursedir=coursedir, config=config, force=True).start()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("truth")
    (root / "text" / "ps").mkdir(parents=True)
    (root / "text" / "ps" / "n.md").write_text("# Rules\n" + TEXT + ESSAY)
    build(root)
    config = (ROOT / "exercises" / "nbgrader_config.py").read_text()
    (root / "nbgrader_config.py").write_text(config + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    generate(root)
    for student, answer in zip(STUDENTS, (None, WRONG, None), strict=True):
        (root / "submitted" / student / "ps").mkdir(parents=True)
        (root / "submitted" / student / "ps" / "n.ipynb").write_text(submitted(answer))
        (root / "submitted" / student / "ps" / "timestamp.txt").write_text("2026-11-21 18:00:00 UTC")
        if student != "eve":
            (root / "submitted" / student / "ps" / "submission_secret.txt").write_text(f"secret of {student}")
    course = Course(root)
    grade_course(course, "ps", limits=LIMITS)
    return course


def page(course, student):
    return (course.root / "feedback" / student / "ps" / "n.html").read_text("utf-8")


def autolab(course, *words):
    return CliRunner().invoke(group, ["course", *words, "--course", str(course.root)], prog_name="autolab")


def change(course, statement, *values):
    with closing(sqlite3.connect(course.database)) as db:
        db.execute(statement, values)
        db.commit()


def test_points_and_comments_by_hand_are_on_the_page_and_stay_there(course):
    with CourseGradebook(course.database, "ps") as gradebook:
        gradebook.gradebook.find_grade("square-check", "n", "ps", "bob").manual_score = 7.0
        gradebook.gradebook.find_comment("square", "n", "ps", "bob").manual_comment = "Nearly right."
        gradebook.db.commit()
    assert grade_course(course, "ps", limits=LIMITS).pages == 1  # without grading anybody again
    grade_course(course, "ps", regrade=True, limits=LIMITS)
    of = json.loads(autolab(course, "export", "ps", "--json").stdout)["totals"]
    with CourseGradebook(course.database, "ps") as gradebook:
        assert of["bob"] == gradebook.gradebook.find_submission("ps", "bob").score
    assert f"ps: n: {of['bob']:g} of 24 points" in page(course, "bob") and "Nearly right." in page(course, "bob")


def test_a_due_date_that_changes_is_everywhere_at_once(course):
    with CourseGradebook(course.database, "ps") as gradebook:
        gradebook.gradebook.find_assignment("ps").duedate = datetime(2026, 11, 20)
        gradebook.db.commit()
    done = grade_course(course, "ps", limits=LIMITS)
    assert (done.graded, done.late_changed) == (0, list(STUDENTS))
    assert json.loads(autolab(course, "export", "ps", "--json").stdout)["totals"] == dict.fromkeys(STUDENTS, 0.0)
    assert "ps: n: 0 of 24 points" in page(course, "ada") and "Late: 20 of your 20 points are taken away" in page(course, "ada")
    change(course, "UPDATE assignment SET duedate = NULL")
    assert "penalties than before: 3" in autolab(course, "grade", "ps").output
    assert "ps: n: 20 of 24 points" in page(course, "ada")


def test_nbgrader_makes_the_same_page(course):
    names = {"db_url": f"sqlite:///{course.database}", "student": "ada", "assignment": "ps", "notebook": "n"}
    text, resources = FeedbackPage().from_filename(str(course.root / "autograded" / "ada" / "ps" / "n.ipynb"), {"nbgrader": names})
    assert (text, resources["output_extension"]) == (page(course, "ada"), ".html")


def test_unchanged_does_not_hide_that_tests_have_changed(course):
    text = course.root / "text" / "ps" / "n.md"
    text.write_text(before := text.read_text().replace("check square-hidden 2", "check square-hidden 3"))
    assert "builds the notebook" in autolab(course, "grade", "ps").stderr
    build(course.root)
    assert "has changed since its release" in autolab(course, "grade", "ps").stderr
    generate(course.root)
    said = autolab(course, "grade", "ps").output
    assert "3 of the unchanged were graded with other tests, points or rubrics" in said and "--regrade" in said
    assert "other tests" not in autolab(course, "grade", "ps", "--regrade").output
    assert "square-hidden: 3 of 3 points" in page(course, "ada") and before == text.read_text()


def test_unchanged_does_not_hide_that_a_rubric_has_changed(course):
    (course.root / "rubric").mkdir(exist_ok=True)
    (course.root / "rubric" / "ps.md").write_text("## why\n\n| points | for |\n|---|---|\n| 4 | the chain rule |\n")
    assert "3 of the unchanged were graded with other tests, points or rubrics" in autolab(course, "grade", "ps").output
    assert "other tests" not in autolab(course, "grade", "ps", "--regrade").output


def after_one(done, of, last):
    if done == 1:
        raise KeyboardInterrupt


def numbers(course):
    """Whatever nbgrader's commands, Formgrader and ours read: the rows of all grades, the seeds, and the files."""
    with closing(sqlite3.connect(course.database)) as database:
        rows = [database.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() for table in ("grade", "comment", "autolab_grading")]
    return rows, {p: p.read_text() for folder in ("autograded", "feedback") for p in (course.root / folder).rglob("*.*")}


def test_an_interrupted_regrade_changes_nothing_and_the_next_run_finishes_it(course):
    before = numbers(course)
    with pytest.raises(
        GradingInterrupted, match="interrupted: 1 of 3 are graded again and kept.* the other 2, all have the grade from before"
    ):
        grade_course(course, "ps", regrade=True, seed=7, limits=LIMITS, progress=after_one)
    assert numbers(course) == before
    for words in (("export", "ps"), ("report", "ps")):
        done = autolab(course, *words)
        assert done.exit_code == 0 and "a regrade of ps is not finished: these are the grades from before it" in done.stderr
    said = autolab(course, "grade", "ps")
    assert "a regrade of ps was interrupted" in said.stderr and "ps: 2 graded" in said.stdout and "1 more were graded again" in said.stdout
    with CourseGradebook(course.database, "ps") as gradebook:
        assert {r["seed"] for r in gradebook.reports()} == {7}
    assert not autolab(course, "export", "ps").stderr.count("regrade") and not (course.root / "regrade").exists()


def press_after_one(done, of, last):
    if done == 1:
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_lets_the_submission_be_graded_and_says_how_many_are_saved(course, capfd):
    before = signal.getsignal(signal.SIGINT)
    grade_course(course, "ps", limits=LIMITS)
    with pytest.raises(GradingInterrupted, match="interrupted: 1 of 3 are graded again and kept"):
        grade_course(course, "ps", regrade=True, limits=LIMITS, progress=press_after_one)
    assert signal.getsignal(signal.SIGINT) is before and "Ctrl-C again stops at once" in capfd.readouterr().err
    assert grade_course(course, "ps", limits=LIMITS).resumed == 1


def test_a_regrade_that_goes_on_does_not_keep_what_was_graded_with_other_tests(course):
    with pytest.raises(GradingInterrupted):
        grade_course(course, "ps", regrade=True, limits=LIMITS, progress=after_one)
    text = course.root / "text" / "ps" / "n.md"
    text.write_text((before := text.read_text()).replace("check square-hidden 3", "check square-hidden 2"))
    build(course.root)
    generate(course.root)
    said = [autolab(course, command, "ps") for command in ("export", "report")]
    run = grade_course(course, "ps", regrade=True, limits=LIMITS)
    assert (run.graded, run.resumed) == (3, 0) and before != text.read_text()
    for done in said:
        assert "3 of 3 students were graded with other tests, points or rubrics than today's" in done.stderr
        assert "`autolab course grade ps --regrade`" in done.stderr
    assert "were graded with other tests" not in autolab(course, "export", "ps").stderr


def test_what_nbgrader_was_told_to_forget_is_graded_again(course):
    with CourseGradebook(course.database, "ps") as gradebook:
        gradebook.gradebook.remove_submission("ps", "eve")
    assert grade_course(course, "ps", limits=LIMITS).graded == 1


def test_the_gradebook_is_copied_before_a_run_and_a_few_copies_are_kept(course):
    first = backup(course.database)
    assert backup(course.database) == first  # it is the same
    for number in range(4):
        change(course, "UPDATE student SET first_name = ?", str(number))
        backup(course.database, kept=3)
    copies = sorted((course.root / "backups").iterdir())
    assert len(copies) == 3 and first not in copies
    with closing(sqlite3.connect(copies[0])) as db:
        assert db.execute("SELECT first_name FROM student").fetchone() == ("1",)


def test_a_cell_more_after_grading_leaves_the_release_and_says_what_can_be_done(course):
    text, release = course.root / "text" / "ps" / "n.md", course.root / "release" / "ps" / "n.ipynb"
    before = text.read_text(), release.read_text()
    text.write_text(before[0] + "\n```python check more 1\nassert exp\n```\n")
    build(course.root)
    with pytest.raises(NbGraderException, match="the cell 'more' of n is new.*--regrade.*assignment of its own.*db assignment remove ps"):
        generate(course.root)
    assert release.read_text() == before[1]
    text.write_text(before[0])
    build(course.root)


def test_a_marker_without_its_other_half_leaves_the_release(course):
    source = course.root / "source" / "ps" / "n.ipynb"
    before, release = source.read_text(), (course.root / "release" / "ps" / "n.ipynb").read_text()
    source.write_text(before.replace("### END SOLUTION", "", 1))
    with pytest.raises(NbGraderException, match=r"n.ipynb, cell square: ### BEGIN SOLUTION in line \d+ .*Nothing was released"):
        generate(course.root)
    source.write_text(before)
    assert (course.root / "release" / "ps" / "n.ipynb").read_text() == release


def test_feedback_goes_back_to_those_who_handed_in_through_the_exchange(course, monkeypatch):
    released = []
    monkeypatch.setattr(ExchangeReleaseFeedback, "copy_files", lambda self: released.append(self.coursedir.student_id_exclude))
    release = ReleaseWhatCameThroughExchange(coursedir=CourseDirectory(root=str(course.root)))
    release.src_path = str(course.root / "feedback" / "*" / "ps")
    release.copy_files()
    assert released == ["eve"] and release.coursedir.student_id_exclude == ""
    for folder in ("autograded", "feedback"):
        assert (course.root / folder / "ada" / "ps" / "submission_secret.txt").read_text() == "secret of ada"


@pytest.mark.parametrize("command", ["export", "generate_feedback", "release_feedback"])
def test_nbgraders_own_commands_say_that_a_regrade_is_not_finished(course, monkeypatch, caplog, command):
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(ExchangeReleaseFeedback, "copy_files", lambda self: None)
    config = PyFileConfigLoader("nbgrader_config.py", str(course.root)).load_config()
    coursedir = CourseDirectory(config=config, root=str(course.root), assignment_id="ps")
    release = ExchangeFactory(config=config).ReleaseFeedback(coursedir=coursedir)
    release.src_path = ""
    run = {
        "export": lambda: ExportApp(config=config, coursedir=coursedir, log=logging.getLogger()).start(),
        "generate_feedback": lambda: FeedbackPage(parent=GenerateFeedback(coursedir=coursedir, config=config)),
        "release_feedback": release.copy_files,
    }[command]
    run()
    assert "not finished" not in caplog.text
    Stage(course.root, "ps").begin(None)
    run()
    Stage(course.root, "ps").drop()
    assert caplog.text.count("a regrade of ps is not finished: these are the grades from before it") == 1


def test_without_isolation_nothing_is_graded_unless_that_is_chosen(course, monkeypatch):
    monkeypatch.setattr(sandbox, "best_mode", lambda: "limits")
    monkeypatch.delenv("AUTOLAB_BOX", raising=False)
    done = autolab(course, "grade", "ps", "--regrade")
    assert done.exit_code == 2 and "nothing is graded" in done.stderr and "apt install bubblewrap" in done.stderr
    with pytest.raises(NbGraderException, match="apt install bubblewrap"):
        SubmissionReader()
    monkeypatch.setattr(settings, "box", lambda root: "limits")
    assert "NOT ISOLATED, as you chose" in autolab(course, "grade", "ps").stderr
    assert autolab(course, "grade", "ps", "--box", "limits").exit_code == 0
