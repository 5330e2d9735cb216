"""The seconds of a notebook hold whatever its cells do, and when a session is opened again."""

import json
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from autolab.course.grading import protocol
from autolab.course.grading.grade import CellRun, NotebookGrader
from autolab.course.grading.sandbox import Limits
from autolab.course.grading.worker import Job, grade

from .test_hostile import FORM, isolated, submitted


class Sandbox:
    """Its sessions count what they run; `dies` ends its process when it runs again, `slow` takes three seconds of a clock of ours."""

    def __init__(self):
        self.sessions, self.limits, self.now = [], Limits(total=10.0), 0.0

    def open(self, files):
        ran = []
        self.sessions.append(ran)

        def ask(what, source, name):
            ran.append(source)
            self.now += 3.0 * (source == "slow")
            if source == "dies":
                raise protocol.Broken("the process ended")

        return SimpleNamespace(ask=ask, close=lambda: None, broken=False, until=None)


def grader(sandbox, *sources):
    made = NotebookGrader(sandbox, 1)
    made.replay = [CellRun(source, source, 0, False) for source in sources]
    return made


def test_without_the_cell_that_dies_everything_runs_again_from_the_beginning():
    sandbox = Sandbox()
    made = grader(sandbox, "a", "dies", "b")
    made._open()
    assert sandbox.sessions == [["a", "dies"], ["a", "b"]]
    assert [cell.source for cell in made.replay] == ["a", "b"]


def test_what_runs_again_is_on_the_same_clock(monkeypatch):
    sandbox = Sandbox()
    monkeypatch.setattr(time, "monotonic", lambda: sandbox.now)
    made = grader(sandbox, *["slow"] * 24)
    made.until = 10.0
    with pytest.raises(protocol.Broken, match="the 10 seconds of this notebook are over"):
        made.ask("run", "x", "x")
    assert sandbox.now <= 12.0


LATER = "import time\nif time.time() > {when}: time.sleep(1.2)"
CRASH = "import os, time\ntime.sleep(max(0, {when} + 0.1 - time.time()))\nos._exit(0)"


@isolated
def test_cells_that_are_slow_only_when_they_run_again_take_no_longer_than_a_notebook_may():
    job = Job("eve", "ps", "n", submitted(None), (), FORM, 11, Limits(cell=1.5, total=4.0))
    grade(job)  # the sandbox is warm
    notebook, when = json.loads(job.text), time.time() + 1.0
    cells = [LATER.format(when=when)] * 24 + [CRASH.format(when=when)]
    notebook["cells"][1:1] = [{"cell_type": "code", "source": source, "metadata": {}} for source in cells]
    done = grade(replace(job, text=json.dumps(notebook)))
    assert done.seconds < 7.0  # it was half a minute
    assert any("the 4 seconds of this notebook are over" in note for note in done.notes)
    assert sum("seconds of this notebook" in note for note in done.notes) == 1
    assert set(done.scores) == {c.name for c in FORM if c.grade}
