"""A class: jobs from the course's folders, graded in many processes, saved by one."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from nbgrader import utils

from autolab.course.rubric import rubrics
from autolab.course.variants.own import foreign_answers, own_form

from . import settings, submission
from .backups import backup
from .changes import form_digest
from .files import companion_files, odd_files
from .grade import fresh_seed
from .gradebook import CourseGradebook
from .interrupts import Interrupts
from .notebook_file import read_notebook
from .pages import carry, save_graded, save_pages
from .sandbox import Limits, Sandbox
from .stage import Stage
from .worker import Job, JobResult, begin, grade, grade_batch

BATCH, PATIENCE = 32, 2.0  # submissions, or seconds, until the gradebook is written
TASK_SIZE = 8  # submissions in one task of a cluster, which costs its scheduler some milliseconds


@dataclass
class GradingRun:
    """What one run of `grade_course` did: counts, seconds, and notes on what was stopped."""

    graded: int = 0
    skipped: int = 0
    seconds: float = 0.0
    seed: int = 0
    box: str = ""
    stopped: list[str] = field(default_factory=list)
    lanes: int = 1
    efficiency: float = 0.0
    resumed: int = 0  # graded again before the regrade was interrupted
    outdated: int = 0  # unchanged, but graded with other tests, points or rubrics, or another version of autolab
    late_changed: list[str] = field(default_factory=list)  # students whose time or penalty is another than before
    pages: int = 0  # feedback pages that were written


class GradingInterrupted(KeyboardInterrupt):
    """A run was interrupted. What it had graded is saved."""

    def __init__(self, saved: int, of: int, regrade: bool):
        if regrade and saved == of:
            rest = "again, and the same command puts these grades in place of the old ones"
        elif regrade:
            rest = f"again and kept; until the same command has graded the other {of - saved}, all have the grade from before the regrade"
        elif saved < of:
            rest = f"and saved; the same command goes on with the other {of - saved}"
        else:
            rest = "and saved; the same command writes the feedback pages that are missing"
        super().__init__(f"interrupted: {saved} of {of} are graded {rest}")
        self.saved, self.of = saved, of


class Place(NamedTuple):
    """A notebook of a student."""

    student: str
    notebook: str


class Course:
    """The folders of an nbgrader course."""

    def __init__(self, root: Path):
        self.root = Path(root).resolve()
        if not (self.root / "source").is_dir():
            raise LookupError(f"{self.root} is not a course: it has no folder source/. Start one with `autolab course new DIR`")

    @property
    def database(self) -> Path:
        """The path of nbgrader's gradebook."""
        return self.root / "gradebook.db"

    def students(self, assignment: str) -> list[str]:
        """Who handed something in: every folder, also an empty one."""
        folder = self.root / "submitted"
        found = [p.name for p in folder.iterdir() if os.path.lexists(p / assignment)] if folder.is_dir() else []
        return sorted(name for name in found if name.isprintable())  # nbgrader's database holds no other names

    def unprintable_folders(self, assignment: str) -> list[str]:
        """Folders whose names no gradebook can hold: a line break, bytes that are not text."""
        folder = self.root / "submitted"
        return [ascii(p.name) for p in folder.iterdir() if not p.name.isprintable()] if folder.is_dir() else []

    def timestamp(self, student: str, assignment: str) -> str | None:
        """When it was handed in, from nbgrader's timestamp.txt."""
        when = self._timestamp_text(student, assignment)
        with contextlib.suppress(Exception):  # what is not a date counts as none, and does not stop the class
            utils.parse_utc(when)
            return when or None
        return None

    def _timestamp_text(self, student: str, assignment: str) -> str:
        text, _ = submission.read_text(self.root / "submitted" / student / assignment / "timestamp.txt")
        return (text or "").strip()[:100]

    def _undated(self, student: str, assignment: str) -> list[str]:
        """That a timestamp is none: the submission counts as handed in on time."""
        if not (text := self._timestamp_text(student, assignment)) or self.timestamp(student, assignment):
            return []
        return [f"timestamp.txt says {ascii(text)[:40]}, which is no time: this counts as handed in on time"]

    def jobs(self, assignment: str, forms: dict, seed: int, limits: Limits, mode: str | None) -> Iterator[Job]:
        """One for each student and notebook."""
        for student in self.students(assignment):
            for notebook in forms:
                yield self.job(student, assignment, notebook, forms, seed, limits, mode)

    def job(self, student: str, assignment: str, notebook: str, forms: dict, seed: int, limits: Limits, mode: str | None) -> Job:
        """What a student handed in for one notebook, as it is now."""
        allowed, folder = settings.file_policy(self.root), self.root / "submitted" / student / assignment
        form = tuple(own_form(self.root, assignment, student, notebook, forms[notebook]))
        files, left, odd = dict[str, bytes](), list[str](), list[str]()
        if folder.is_symlink() or folder.parent.is_symlink():
            text, notes = None, [f"{assignment} is a link, which is not followed"]
        else:
            files, left = companion_files(folder, allowed)
            odd = odd_files(folder, self.root / "source" / assignment)
            text, notes = read_notebook(folder, notebook, form, forms)
            notes = [*notes, *self._undated(student, assignment)]
            foreign = foreign_answers(self.root, assignment, student, text)
            notes, odd = [*notes, *foreign], [*odd, *foreign]
        said, beside, rubric = (*notes, *left), tuple(files.items()), tuple(rubrics(self.root, assignment).items())
        return Job(student, assignment, notebook, text, said, form, seed, limits, mode, beside, allowed, tuple(odd), rubric)


def grade_course(
    course: Course,
    assignment: str,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    seed: int | None = None,
    regrade: bool = False,
    limits: Limits | None = None,
    mode: str | None = None,
    progress: Callable[[int, int, JobResult | None], None] = lambda done, of, last: None,
) -> GradingRun:
    """Grade every submission of an assignment that is not graded yet.

    Parameters
    ----------
    jobs : int
        Processes on this machine.
    scheduler : str, optional
        Address of a dask.distributed scheduler, such as "tcp://host:8786"; its workers grade instead.
    seed : int, optional
        Draws the inputs of all checks; fresh if not given, and for what was handed in after a page with this seed was written.
    regrade : bool
        Also grade what is graded, each with the seed that it was graded with (or with `seed`). What was changed since is
        drawn other numbers: a first submission may have shown the old ones. The new grades replace the old ones when all are there;
        a regrade that was interrupted goes on in the next run, with or without `regrade`.

    Returns
    -------
    GradingRun
        How many were graded and skipped, how long it took, in seconds, and what part of that its processes had something to grade.
    """
    start, limits = time.monotonic(), limits or settings.limits(course.root)
    mode = mode or settings.box(course.root)
    backup(course.database)
    stage = Stage(course.root, assignment)
    if regrade:
        stage.begin(seed)
    if regrade := stage.in_use():
        seed = stage.seed
    with CourseGradebook(course.database, assignment) as gradebook, Interrupts().watched() as interrupts, _old_objects_aside():
        forms, before, with_form = gradebook.forms(), gradebook.digests(), gradebook.forms_graded_with()
        run = GradingRun(seed=fresh_seed() if seed is None else seed)
        seen = {old for _, old in before.values()}  # pages show what they drew
        unseen = fresh_seed() if run.seed in seen else run.seed
        todo, again = list[Place](), list[JobResult]()
        for job in course.jobs(assignment, forms, run.seed, limits, mode):
            place = Place(job.student, job.notebook)
            if regrade and (known := stage.result(job)):
                again.append(known)
            elif regrade or before.get(place, ("", 0))[0] != job.digest:
                todo.append(place)
            else:
                run.skipped += 1
                run.outdated += with_form.get(place) != form_digest(job.form, job.rubric)
        run.resumed = len(again)

        def load(place: Place) -> Job:
            """What lies there now: a class is not held in memory."""
            job = course.job(place.student, assignment, place.notebook, forms, run.seed, limits, mode)
            digest, old = before.get(place, ("", 0))
            if digest == job.digest:
                return replace(job, seed=old if seed is None else seed)
            return replace(job, seed=unseen)  # what is new draws numbers that its author cannot have seen, whatever `seed` says

        def save(batch: list[JobResult]) -> None:
            if regrade:
                stage.keep(batch)
                again.extend(batch)
            else:
                run.pages += _save(course, gradebook, batch, timestamps)

        run.stopped += [
            f"{name} was not graded: a folder of this name cannot be in the gradebook" for name in course.unprintable_folders(assignment)
        ]
        timestamps = {student: course.timestamp(student, assignment) for student in course.students(assignment)}
        batch, last, busy = list[JobResult](), time.monotonic(), 0.0
        progress(0, len(todo), None)
        try:
            for done in _map(todo, load, jobs, scheduler, run, lambda: interrupts.asked, lambda: _started(mode, limits)):
                batch.append(done)
                run.graded, run.box, busy = run.graded + 1, done.box, busy + done.occupied
                run.stopped += [f"{done.student}: {note.split('. ')[0]}" for note in done.notes if "was stopped" in note]
                progress(run.graded, len(todo), done)
                if len(batch) >= BATCH or time.monotonic() - last > PATIENCE:
                    save(batch)
                    batch, last = [], time.monotonic()
            save(batch)
            batch = []
            if run.graded < len(todo) and interrupts.asked:
                raise KeyboardInterrupt
            if regrade:
                stage.swap()
                save_graded(course.root, again)
                gradebook.write(again, timestamps, settings.penalty(course.root))
                stage.drop()
            run.late_changed = gradebook.refresh_lateness(timestamps, settings.penalty(course.root))
            for student, when in timestamps.items():
                carry(course.root, assignment, student, when)
            run.pages += save_pages(course.root, gradebook.db, assignment)  # also what a person has marked since
            gradebook.db.commit()
        except KeyboardInterrupt:
            save(batch)
            saved = run.graded + run.skipped + run.resumed
            raise GradingInterrupted(saved, saved + len(todo) - run.graded, stage.in_use()) from None
    run.seconds = time.monotonic() - start
    run.efficiency = busy / run.seconds / run.lanes if run.seconds else 0.0
    return run


def _save(course: Course, gradebook: CourseGradebook, batch: list[JobResult], timestamps: dict) -> int:
    """Files first: what the gradebook knows as graded has its pages. How many pages were written."""
    if not batch:
        return 0
    save_graded(course.root, batch)
    students, pages = {done.student for done in batch}, 0
    for student in students:
        carry(course.root, gradebook.assignment, student, timestamps.get(student))

    def save() -> None:
        nonlocal pages
        pages = save_pages(course.root, gradebook.db, gradebook.assignment, students)

    gradebook.write(batch, timestamps, settings.penalty(course.root), save)
    return pages


def _map(
    todo: list[Place],
    load: Callable[[Place], Job],
    jobs: int,
    scheduler: str | None,
    run: GradingRun,
    stop: Callable[[], bool] = lambda: False,
    sandbox: Callable[[], Sandbox | None] = lambda: None,
) -> Iterator[JobResult]:
    """The results as they come. Where `stop` says so nothing more is begun, and what is running ends.

    `sandbox` starts the one that processes on this machine copy.
    """
    run.lanes = max(jobs, 1)
    if scheduler:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise RuntimeError('--scheduler needs dask.distributed: pip install "autolab-grad[cluster]"') from None
        with Client(scheduler, timeout=20) as client:
            try:
                client.wait_for_workers(1, timeout=60)
            except TimeoutError:
                raise RuntimeError(f"the scheduler at {scheduler} has no workers: start some with `dask worker {scheduler}`") from None
            run.lanes = sum(client.nthreads().values())
            parts = ([load(place) for place in part] for part in _tasks(todo, run.lanes))
            for several in _all(client.get_executor(pure=False), parts, 3 * run.lanes, grade_batch, stop):
                yield from several
    elif jobs == 1 or not todo:
        yield from (grade(load(place)) for place in itertools.takewhile(lambda _: not stop(), todo))
    else:
        left = todo
        for attempt in range(5):  # a worker that was killed from outside takes the pool with it, and no submission
            context = _context(attempt)
            first = sandbox() if context.get_start_method() == "fork" and left else None
            pool = concurrent.futures.ProcessPoolExecutor(jobs, context, _begin_worker, (first,))
            finished: set[Place] = set()
            try:
                for done in _all(pool, map(load, left), 3 * jobs, grade, stop):
                    finished.add(Place(done.student, done.notebook))
                    yield done
                pool.shutdown()
                return
            except concurrent.futures.process.BrokenProcessPool:
                left = [place for place in left if place not in finished]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                if first:
                    first.close()
        raise RuntimeError(f"the grading processes were killed five times; {len(left)} submissions are left, run the command again")


def _started(mode: str | None, limits: Limits) -> Sandbox:
    sandbox = Sandbox(mode, limits)
    sandbox.start()
    return sandbox


def _begin_worker(first: Sandbox | None) -> None:
    # Ctrl-C reaches all processes of a terminal: the first one stops them, and their tracebacks would bury what it says.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    begin(first)


@contextlib.contextmanager
def _old_objects_aside() -> Iterator[None]:
    """What is loaded stays: otherwise the garbage collector walks all of nbgrader again and again."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _context(attempt: int) -> Any:
    """How the processes start: forked where that is safe, because to import nbgrader takes each of them three seconds."""
    forks = sys.platform == "linux" and threading.active_count() == 1 and attempt == 0
    return multiprocessing.get_context("fork" if forks else "spawn")


def _tasks(todo: list[Place], lanes: int) -> Iterator[list[Place]]:
    """The places in groups, which become smaller so that all lanes end at about the same time."""
    at = 0
    while at < len(todo):
        size = max(1, min(TASK_SIZE, (len(todo) - at) // (4 * lanes)))
        yield todo[at : at + size]
        at += size


def _all(executor: Any, todo: Iterable[Any], ahead: int, function: Callable[[Any], Any], stop: Callable[[], bool]) -> Iterator[Any]:
    """The results as they come; never more than `ahead` are under way, so that memory does not grow with the class."""
    waiting: set[Any] = set()
    for job in itertools.takewhile(lambda _: not stop(), todo):
        waiting.add(executor.submit(function, job))
        if len(waiting) >= ahead:
            ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            yield from (future.result() for future in ready)
    while waiting:
        if stop():
            waiting = {future for future in waiting if not future.cancel()}
        ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
        yield from (future.result() for future in ready)
