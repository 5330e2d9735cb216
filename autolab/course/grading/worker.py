"""One submitted notebook from its bytes to its grades: what runs in each of many processes, here or on a cluster."""

from __future__ import annotations

import atexit
import hashlib
import json
import multiprocessing.util
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from nbgrader import utils

from autolab.course.rubric import add_rubrics

from . import submission
from .changes import form_digest
from .files import FilePolicy
from .grade import NotebookGrader, add_notes, graded_with
from .sandbox import Limits, Sandbox, WorkerSandbox
from .second_opinion import UNKNOWN
from .submission import FormCell


@dataclass(frozen=True)
class Job:
    """A notebook to grade. It carries all that is needed, so that the machine that grades it needs no files."""

    student: str
    assignment: str
    notebook: str
    text: str | None  # what was handed in; None if nothing could be read
    notes: tuple[str, ...]
    form: tuple[FormCell, ...]
    seed: int
    limits: Limits
    mode: str | None = None
    files: tuple[tuple[str, bytes], ...] = ()  # what lay beside it
    allowed: FilePolicy = field(default_factory=FilePolicy)
    odd: tuple[str, ...] = ()  # what is told to who grades
    rubric: tuple[tuple[str, str], ...] = ()  # how written answers are marked, by cell

    @property
    def digest(self) -> str:
        """Tells whether the same was handed in before; `form_digest` tells whether it would be graded in the same way."""
        parts = [f"{self.text}{self.notes}".encode("utf-8", "surrogatepass")]
        for name, data in self.files:  # between them a byte that no text has: a notebook cannot be written that stands for other files
            parts += [b"\xff", name.encode(), b"\xff", hashlib.sha256(data).digest()]
        return hashlib.sha256(b"".join(parts)).hexdigest()[:32]


@dataclass
class JobResult:
    """What came out of a Job, as plain data that a process can send back."""

    student: str
    assignment: str
    notebook: str
    digest: str
    seed: int
    scores: dict[str, float | None] = field(default_factory=dict)  # None: a person has to look
    unanswered: list[str] = field(default_factory=list)
    autograded: str = ""
    notes: list[str] = field(default_factory=list)
    suspicious: list[str] = field(default_factory=list)
    diagnoses: list[dict[str, str]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)  # of each answer that a person reads, a digest
    seconds: float = 0.0
    occupied: float = 0.0  # seconds of the process that graded it, with reading and writing
    box: str = ""
    form: str = ""  # the tests, rubrics and version that it was graded with

    def to_dict(self) -> dict[str, Any]:
        """What is kept in the gradebook: everything but the notebook."""
        return {k: v for k, v in vars(self).items() if k not in ("autograded", "occupied")}


LOCK = threading.Lock()  # a sandbox serves one submission at a time, and `check` is the judge's own meanwhile


def grade(job: Job) -> JobResult:
    """Grade one notebook. Raises nothing because of what a student wrote; a sandbox that does not start is an error."""
    with LOCK:
        sandbox = _sandbox(job.mode, job.limits, os.getpid())
        sandbox.start()
        start = time.monotonic()
        done = _grade_once(job, sandbox)
        done.occupied = time.monotonic() - start
        return done


def grade_batch(jobs: list[Job]) -> list[JobResult]:
    """Grade notebooks one after the other, as one task of a cluster."""
    return [grade(job) for job in jobs]


_GRADED: OrderedDict[Job, JobResult] = OrderedDict()  # by what was handed in, not by who did
REMEMBERED = 50  # of these, about 10 MB
OF_THE_MOMENT = ("stopped", "did not come to an end", "took too long")


def _grade_once(job: Job, sandbox: Sandbox) -> JobResult:
    """The same bytes of two students, as notebooks without an answer are, are graded once; a student's own anew whenever they are asked."""
    bytes_only = replace(job, student="")
    known = _GRADED.pop(bytes_only, None)
    if known is None or known.student == job.student:
        known = _grade(job, sandbox)
    if not _is_of_the_moment(known):
        _GRADED[bytes_only] = known
        if len(_GRADED) > REMEMBERED:
            _GRADED.popitem(last=False)
    return replace(known, student=job.student)


def _is_of_the_moment(done: JobResult) -> bool:
    """May it be otherwise next time, as what ran into a limit on a busy machine?"""
    text = done.autograded.lower()  # five times as fast as a pattern that ignores case
    return any(words in text for words in OF_THE_MOMENT) or any(UNKNOWN in said for said in done.suspicious)


def _grade(job: Job, sandbox: Sandbox) -> JobResult:
    notebook, notes = submission.parse(job.text, f"{job.notebook}.ipynb") if job.text is not None else submission.empty()
    raised = submission.raised_points(notebook, job.form)
    notes = [*job.notes, *notes, *submission.repair(notebook, job.form)]
    graded = NotebookGrader(sandbox, job.seed, dict(job.files), job.allowed).grade(notebook)
    notes += graded.notes
    done = JobResult(job.student, job.assignment, job.notebook, job.digest, job.seed, seconds=graded.seconds, box=sandbox.mode)
    done.notes, done.suspicious, done.diagnoses = notes, [*job.odd, *raised, *graded.suspicious], graded.diagnoses
    done.form = form_digest(job.form, job.rubric)
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader")
        if not facts:
            continue
        if utils.is_grade(cell):
            done.scores[facts.grade_id], _ = utils.determine_grade(cell)
            if utils.is_solution(cell) or utils.is_task(cell):
                read = f"{cell.source}{json.dumps(cell.get('attachments', {}), sort_keys=True)}"
                done.answers[facts.grade_id] = hashlib.sha256(read.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if (utils.is_solution(cell) or utils.is_task(cell)) and facts.checksum == utils.compute_checksum(cell):
            done.unanswered.append(facts.grade_id)
    add_rubrics(notebook, dict(job.rubric))
    add_notes(notebook, notes)
    notebook.metadata["autolab"] = graded_with(job.seed, sandbox)
    submission.disarm(notebook)
    done.autograded = as_text(notebook)
    return done


def as_text(notebook: dict[str, Any]) -> str:
    """The notebook as JSON, a line a cell: indented as nbformat does, it takes Python's slow encoder."""
    lines = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in notebook["cells"])
    rest = json.dumps({k: v for k, v in notebook.items() if k != "cells"}, ensure_ascii=False)
    return f'{{"cells": [\n{lines}\n], {rest[1:]}\n'


_FIRST: list[Sandbox] = []  # of the process that began this one


def begin(first: Sandbox | None) -> None:
    """Where this process can copy a sandbox that has started, it does not start its own."""
    _FIRST[:] = [] if first is None else [first]


@cache
def _sandbox(mode: str | None, limits: Limits, pid: int) -> Sandbox:
    first = next((one for one in _FIRST if (one.mode, one.limits) == (mode or one.mode, limits)), None)
    sandbox = Sandbox(mode, limits) if first is None else WorkerSandbox(first)
    atexit.register(sandbox.close)
    multiprocessing.util.Finalize(sandbox, sandbox.close, exitpriority=10)  # a worker of a pool ends without atexit
    return sandbox
