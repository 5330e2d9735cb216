"""Where the CPU of a graded submission goes: the start of a session, its cells, its checks, the judge, the gradebook, the pages.

    python -m benchmarks.grading 200 --folder graded   # makes the class, and keeps it
    python -m benchmarks.grading_parts graded          # grades it again with one process, and says

The sandbox's server is started with clocks in it, and they count in memory that it shares with its sessions, which are killed where
they wait. What no clock of a session sees is its rest: what was interrupted, and the end of its memory.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from autolab.course.grading import grade, judge, sandbox, scheduler, submission, worker

from .grading import adopt, cpu

# The clock is that of the thread: where a limit on CPU is set, Linux moves that of the process once in a tick only.
SERVER = """
import mmap, os, signal, socket, sys, time
from functools import partial
from autolab.course.grading import handlers, sandbox_server as server

KINDS = ("fork", "namespaces and mounts", "cells", "checks", "messages", "rest")
AT = {"run": 2, "run_through": 2, "rules": 3, "second": 3, "forward": 3, "backward": 3, "call": 3, "play": 3, "plays": 3}
now, clocks, totals = time.thread_time, *(memoryview(mmap.mmap(-1, 64)).cast("d") for _ in range(2))

def timed(function, k, *arguments):
    start = now()
    try:
        return function(*arguments)
    finally:
        clocks[k] += now() - start

def session(function, *arguments):
    clocks[:] = memoryview(bytes(64)).cast("d")
    clocks[0] = now()
    function(*arguments)

def answer(function, *arguments):
    clocks[1] = now() - clocks[0]
    function(*arguments)

class Clocked(handlers.Handlers):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        for name, k in AT.items():
            self.handlers[name] = partial(timed, self.handlers[name], k)
        for name in ("_receive", "_encode", "_send"):
            setattr(self, name, partial(timed, getattr(self, name), 4))

def kill(pid):
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except OSError:
            pass
    used = os.wait4(pid, 0)[2]
    clocks[5] = used.ru_utime + used.ru_stime - sum(clocks[:5])
    for k in range(6):
        totals[k] += clocks[k]

def serve(function, *arguments):
    try:
        function(*arguments)
    finally:
        totals[6] += time.process_time()

handlers.Handlers, server._kill = Clocked, kill
for name, wrapper in {"_session": session, "_answer": answer, "serve": serve}.items():
    setattr(server, name, partial(wrapper, getattr(server, name)))
control = socket.socket(fileno=int(sys.argv[1]))
server.serve(control, server._warm_shell())
time.sleep(0.5)  # for the server without derivatives, which ends with this one
for name, seconds in zip((*(f"session: {kind}" for kind in KINDS), "servers"), totals):
    print(name, seconds, file=sys.stderr)
"""
CLOCKS = (  # of the judge: where, what, and what it is called
    (scheduler.Course, "job", "files and digest"), (submission, "parse", "parse"), (submission, "raised_points", "repair"),
    (submission, "repair", "repair"), (sandbox.Sandbox, "start", "start of the sandbox"), (sandbox.Sandbox, "open", "open a session"),
    (sandbox.Session, "close", "end a session"), (sandbox.Session, "ask", "ask"), (sandbox.Session, "put", "ask for checks"),
    (judge.Judge, "run", "tests"), (judge.Judge, "_needs_engine", "whose derivative"), (judge, "judge", "verdicts"),
    (grade.NotebookGrader, "_student", "student's cells"), (grade, "verdict_outputs", "outputs of tests"), (grade, "hide_paths", "paths"),
    (submission, "disarm", "write the notebook"), (worker, "as_text", "write the notebook"), (scheduler, "grade", "the rest of a job"),
    (scheduler, "save_graded", "write files"), (scheduler, "save_pages", "pages"), (scheduler.CourseGradebook, "write", "gradebook"),
)  # fmt: skip


class Clocks:
    """CPU seconds by name, each without what it calls that is counted by itself."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.inside = Counter[str](), Counter[str](), [0.0]

    def count(self, owner: Any, name: str, label: str) -> None:
        """Count a function under a label from now on."""
        function = getattr(owner, name)

        def timed(*arguments: Any, **keywords: Any) -> Any:
            start = time.process_time()
            self.inside.append(0.0)
            try:
                return function(*arguments, **keywords)
            finally:
                spent = time.process_time() - start
                self.seconds[label] += spent - self.inside.pop()
                self.calls[label] += 1
                self.inside[-1] += spent

        setattr(owner, name, timed)


def main() -> None:
    """Grade a class again, and print what each part took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="what `python -m benchmarks.grading 200 --folder FOLDER` has kept, or the course in it")
    folder = parser.parse_args().folder
    root = folder / "course" if (folder / "course").is_dir() else folder
    if not (root / "gradebook.db").is_file():
        parser.error(f"{folder} holds no graded class: make one with `python -m benchmarks.grading 200 --folder {folder}`")
    adopt()
    clocks, sandboxes = Clocks(), list[sandbox.Sandbox]()
    for place in CLOCKS:
        clocks.count(*place)
    with tempfile.TemporaryFile("w+") as said:
        plain, popen = sandbox.Sandbox.__init__, subprocess.Popen

        def begin(one: sandbox.Sandbox, *arguments: Any, **keywords: Any) -> None:
            plain(one, *arguments, **keywords)
            sandboxes.append(one)

        sandbox.Sandbox.__init__ = begin
        sandbox._server = lambda descriptor: [sys.executable, "-P", "-c", SERVER, str(descriptor)]
        sandbox.subprocess.Popen = lambda *a, **k: popen(*a, **{**k, "stderr": said} if "pass_fds" in k else k)
        before, own = cpu(), time.process_time()
        run = scheduler.grade_course(scheduler.Course(root), "ps2", jobs=1, regrade=True)
        own = time.process_time() - own
        for one in sandboxes:
            one.close()
        total, n = cpu() - before, run.graded
        print(f"{n} graded; CPU {1e3 * total / n:.1f} ms each, of which the judge {1e3 * own / n:.1f}")
        for label, seconds in clocks.seconds.most_common():
            print(f"  {label:34s}{1e3 * seconds / n:7.2f} ms {clocks.calls[label] / n:7.2f} times")
        print(f"  {'what else the judge does':34s}{1e3 * (own - sum(clocks.seconds.values())) / n:7.2f} ms")
        said.seek(0)
        for name, found in re.findall(r"(?m)^(.*) ([\d.e-]+)$", said.read()):
            print(f"  {name:34s}{1e3 * float(found) / n:7.2f} ms")


if __name__ == "__main__":
    main()
