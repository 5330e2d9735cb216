"""The sandboxes of several processes are forks of one, which has imported everything; each does without it where it is gone."""

import os
import signal
from contextlib import closing

import pytest

from autolab.course.grading import worker
from autolab.course.grading.sandbox import Limits, Sandbox, WorkerSandbox, best_mode

LIMITS = Limits(cell=4.0)
pytestmark = pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")
ENGINE = "import autolab\nx = autolab.tensor([3.0], requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad.tolist())"


@pytest.fixture(params=["bubblewrap", "limits"])
def first(request):
    with Sandbox(request.param, LIMITS) as sandbox:
        sandbox.start()
        yield sandbox


def said(sandbox):
    with closing(sandbox.open()) as session:
        return session.ask("run", ENGINE, "a")["text"]


def test_a_fork_starts_no_process_of_its_own_and_takes_derivatives(first):
    with WorkerSandbox(first) as fork:
        assert said(fork) == "[6.0]\n"
        assert fork.process is None


def test_a_fork_has_its_own_fork_without_derivatives(first):
    with WorkerSandbox(first) as fork:
        assert said(fork.without_derivatives) == ""
        assert said(fork) == "[6.0]\n"


def test_sessions_of_two_forks_have_folders_of_their_own(first):
    with WorkerSandbox(first) as one, WorkerSandbox(first) as other:
        other.numbers, other.number = iter([7]), 0
        one.numbers = iter([7])
        sessions = [box.open({"a.txt": name}) for box, name in ((one, b"one"), (other, b"other"))]
        assert [session.ask("run", "print(open('a.txt').read())", "a")["text"] for session in sessions] == ["one\n", "other\n"]
        for session in sessions:
            session.close()


def test_where_the_first_server_is_gone_a_process_starts_its_own(first):
    with WorkerSandbox(first) as fork:
        os.killpg(first.process.pid, signal.SIGKILL)
        first.process.wait()
        first.control.settimeout(20)
        assert first.control.recv(1) == b""  # bubblewrap's end is the server's, but a moment later
        assert said(fork) == "[6.0]\n"
        assert fork.process is not None


def test_a_process_takes_the_first_sandbox_only_for_what_that_may_use(first, monkeypatch):
    monkeypatch.setattr(worker, "_FIRST", [])
    worker.begin(first)
    find = worker._sandbox.__wrapped__
    assert isinstance(find(first.mode, LIMITS, 0), WorkerSandbox)
    assert type(find(first.mode, Limits(cell=1.0), 0)) is Sandbox
    worker.begin(None)
    assert type(find(first.mode, LIMITS, 0)) is Sandbox
