"""The results of a regrade, kept beside the gradebook until the whole class has one. Then they replace the old ones, all at once."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from .changes import form_digest
from .pages import write
from .unfinished import FOLDER, SEED, SWAP
from .worker import Job, JobResult


class Stage:
    """The folder regrade/ASSIGNMENT of a course. It exists while a regrade is not finished."""

    def __init__(self, root: Path, assignment: str):
        self.folder = root / FOLDER / assignment

    def begin(self, seed: int | None) -> None:
        """Start a regrade with this seed, or go on with one that was interrupted and had the same."""
        if not self.in_use() or self.seed != seed:
            shutil.rmtree(self.folder, ignore_errors=True)  # results of another seed, or what a kill left of a regrade that was finished
        write(self.folder / SEED, json.dumps(seed))

    def in_use(self) -> bool:
        """Is a regrade not finished?"""
        return (self.folder / SEED).is_file()

    def swap(self) -> None:
        """From here to `drop` the new grades replace the old ones. A kill in between loses nothing: the next run does it again."""
        write(self.folder / SWAP, "")

    @property
    def seed(self) -> int | None:
        """The seed of the regrade; None if each submission keeps its own."""
        seed: int | None = json.loads((self.folder / SEED).read_text("utf-8"))
        return seed

    def keep(self, batch: Iterable[JobResult]) -> None:
        """Write down what came out."""
        for done in batch:
            write(self._path(done.student, done.notebook), json.dumps(vars(done)))

    def result(self, job: Job) -> JobResult | None:
        """What came out of this job; None if it is not graded again yet, or what was handed in, a test or a point has changed since."""
        with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
            done = JobResult(**json.loads(self._path(job.student, job.notebook).read_text("utf-8")))
            if (done.digest, done.form) == (job.digest, form_digest(job.form, job.rubric)):
                return done
        return None

    def drop(self) -> None:
        """End it: nothing is left of the folder."""
        (self.folder / SEED).unlink()  # first: what a kill leaves of the rest is not a regrade
        shutil.rmtree(self.folder)
        with contextlib.suppress(OSError):  # another assignment is graded again too
            self.folder.parent.rmdir()

    def _path(self, student: str, notebook: str) -> Path:
        return self.folder / "results" / student / f"{notebook}.json"
