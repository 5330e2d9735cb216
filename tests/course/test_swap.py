"""A process that is killed while the grades of a regrade replace the old ones loses nothing, and mixes no points."""

import multiprocessing
import os
import signal

import pytest

from autolab.course.grading import gradebook, pages, scheduler, stage
from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.grading.scheduler import grade_course

from .test_hostile import LIMITS
from .test_one_truth import autolab, course, page  # noqa: F401

PLACES = {
    "before the notebooks": (scheduler, "save_graded"),
    "between two notebooks": (pages, "write", 2),
    "in the gradebook": (gradebook, "refresh_lateness"),
    "after the gradebook": (stage.Stage, "drop"),
    "while the folder is removed": (stage.shutil, "rmtree"),
    "before the pages": (scheduler, "save_pages"),
}


def regrade_and_die(course, seed, module, name, time=1):  # noqa: F811
    """In a process of its own: regrade, and be killed at the `time`-th call of a function once the new grades go in."""
    swap, function, calls = stage.Stage.swap, getattr(module, name), []

    def deadly(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == time:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **keywords)

    def armed(self):
        swap(self)
        setattr(module, name, deadly)

    stage.Stage.swap = armed
    grade_course(course, "ps", regrade=True, seed=seed, limits=LIMITS)


def seeds(course):  # noqa: F811
    with CourseGradebook(course.database, "ps") as book:
        return {report["seed"] for report in book.reports()}


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_in_the_swap_leaves_all_points_old_or_all_new_and_the_next_run_finishes(course, place):  # noqa: F811
    seed = 100 + list(PLACES).index(place)
    process = multiprocessing.get_context("fork").Process(target=regrade_and_die, args=(course, seed, *PLACES[place]))
    before = seeds(course)
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    assert seeds(course) in (before, {seed})
    said = autolab(course, "export", "ps").stderr
    assert ("stopped while its grades replaced the old ones. Nothing is lost" in said) == stage.Stage(course.root, "ps").in_use()
    done = autolab(course, "grade", "ps")
    assert done.stdout.startswith("ps: 0 graded"), done.output
    assert seeds(course) == {seed} and all(f"seed {seed}." in page(course, student) for student in ("ada", "bob", "eve"))
    assert "regrade" not in autolab(course, "export", "ps").stderr


def test_what_a_kill_left_of_a_regrade_that_was_finished_is_not_taken_for_a_new_one(course):  # noqa: F811
    job = next(course.jobs("ps", {"n": ()}, 1, LIMITS, None))
    left = stage.Stage(course.root, "ps")
    left.begin(None)
    left.keep([done := scheduler.JobResult(job.student, "ps", "n", job.digest, 1, form=stage.form_digest(job.form, job.rubric))])
    assert left.result(job) == done
    (left.folder / "seed.json").unlink()
    left.begin(None)
    assert left.result(job) is None
    left.drop()
