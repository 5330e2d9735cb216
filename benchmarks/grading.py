"""A class of simulated students, graded: seconds a submission, memory, and whether every grade is as expected.

    python -m benchmarks.grading 1000 --jobs 2           # beside plain `nbgrader autograde` on a few of them
    python -m benchmarks.grading 400 --jobs 2 --rounds 3 # two processes beside one, in turns
    python -m benchmarks.grading 200 --dask              # and on a scheduler and two workers
    python -m benchmarks.grading 200 --scheduler tcp://localhost:8786

Right, wrong, blank, broken and hostile submissions are mixed; what each kind deserves is known before.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from autolab.autograd import Function
from autolab.check import check
from autolab.course.grading import settings
from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.grading.scheduler import Course, grade_course
from autolab.course.grading.worker import _sandbox
from autolab.course.scaffold import nbgrader, new_course

FORGETS_TO_SUM = """
class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x
"""
TESTS = ("mul-check", "mul-hidden")
KINDS: dict[str, tuple[int, tuple[str, ...] | None]] = {  # of a hundred students, and the tests that they do not pass; None: any
    "right": (50, ()),
    "wrong": (20, TESTS),
    "blank": (12, None),
    "damaged": (6, ()),
    "truncated": (4, None),
    "exits": (5, TESTS),
    "forges": (2, TESTS),
    "loops": (1, TESTS),
}
ANSWERS = {
    "wrong": FORGETS_TO_SUM,
    "exits": "import os\nos._exit(0)",
    "forges": "import autolab.check\nautolab.check.check = lambda *a, **k: 99.0\nclass Mul: pass",
    "loops": "while True: pass",
}


def submission(kind: str, source: dict, release: dict, student: str) -> str:
    """The text of one notebook. Every student's answers differ by a comment, as no two answers are spelled alike."""
    if kind == "blank":
        return json.dumps(release)
    if kind == "truncated":
        return json.dumps(source)[:300]
    notebook = json.loads(json.dumps(release))
    answers = {c["metadata"]["nbgrader"]["grade_id"]: c for c in source["cells"] if "nbgrader" in c["metadata"]}
    for cell in notebook["cells"]:
        facts = cell["metadata"].get("nbgrader", {})
        if facts.get("solution") and not facts.get("grade"):
            cell["source"] = answers[facts["grade_id"]]["source"]
            if facts["grade_id"] == "mul" and kind in ANSWERS:
                cell["source"] = ANSWERS[kind]
            if cell["cell_type"] == "code":
                cell["source"] = f"{''.join(cell['source'])}\n# {student}"
    if kind == "damaged":  # tests deleted, points changed, metadata lost
        tests = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("points")]
        notebook["cells"].remove(tests[0])
        tests[1]["metadata"]["nbgrader"]["points"] = 1000
        tests[2]["metadata"].clear()
        notebook["cells"][-1]["metadata"] = {"nbgrader": {"grade_id": "mul-check", "grade": True, "points": 99}}
    return json.dumps(notebook)


def expected(kind: str, full: dict[str, float]) -> dict[str, float]:
    """What each cell is worth to this kind of student."""
    lost = KINDS[kind][1]
    if lost is None:
        return dict.fromkeys(full, 0.0)
    return {name: deserved(kind, of) if name in lost else of for name, of in full.items()}


@cache
def deserved(kind: str, points: float) -> float:
    """What the checker gives to a wrong answer in this process. The others do not come to an answer."""
    if kind != "wrong":
        return 0.0
    names: dict[str, Any] = {"Function": Function}
    exec(ANSWERS[kind], names)
    return check("mul", names["Mul"]).worth(points).points


def main() -> None:
    """Make the class, grade it, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("students", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scheduler")
    parser.add_argument("--dask", action="store_true", help="grade again on a scheduler and as many workers, each a process")
    parser.add_argument("--rounds", type=int, default=0, help="grade the class again so often with one process and with --jobs, in turns")
    parser.add_argument("--plain", type=int, default=0, help="also grade this many with nbgrader's own autograde")
    parser.add_argument("--folder", type=Path, help="keep the course here; go on with one that was interrupted")
    options = parser.parse_args()
    root = options.folder or Path(tempfile.mkdtemp(prefix="class-"))
    course_root = root / "course"
    new = not course_root.exists()
    if new:
        new_course(course_root, ("ps2",))
        nbgrader(course_root, "generate_assignment", "ps2")
    name = "elementwise-rules"
    source, release = (json.loads((course_root / f / "ps2" / f"{name}.ipynb").read_text()) for f in ("source", "release"))
    bag = [kind for kind, (share, _) in KINDS.items() for _ in range(share)]
    order = random.Random(0)
    if options.students < 100:  # a small class has one of each kind first
        bag = [*KINDS, *order.choices(bag, k=100)]
    kinds = {f"s{i:05d}": bag[i % 100] for i in range(options.students)}
    for student, kind in kinds.items() if new else ():
        folder = course_root / "submitted" / student / "ps2"
        folder.mkdir(parents=True)
        (folder / f"{name}.ipynb").write_text(submission(kind, source, release, student))

    def progress(done: int, of: int, last: object) -> None:
        if done % 100 == 0:
            print(f"  {done} of {of}", file=sys.stderr, flush=True)

    adopt()
    before = cpu()
    run = grade_course(Course(course_root), "ps2", jobs=options.jobs, scheduler=options.scheduler, progress=progress)
    each = run.seconds / max(run.graded, 1)
    _sandbox(settings.box(course_root), settings.limits(course_root), os.getpid()).close()  # its CPU is counted when it has ended
    spent = cpu() - before
    memory = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    wrong = []
    with CourseGradebook(Course(course_root).database, "ps2") as gradebook:
        full = {c.name: c.points for form in gradebook.forms().values() for c in form if c.grade and not c.solution}
        reports = {r["student"]: r for r in gradebook.reports()}
        rows = len(gradebook.totals())
    for student, kind in kinds.items():
        got = {k: v for k, v in reports[student]["scores"].items() if k in full} if student in reports else {}
        want = expected(kind, full)
        if {k: round(v, 3) for k, v in got.items()} != {k: round(v, 3) for k, v in want.items()}:
            wrong.append((student, kind, {k: (got.get(k), v) for k, v in want.items() if got.get(k) != v}))
    print(f"{run.graded} graded in {run.seconds:.1f} s, {each:.3f} s each, {options.jobs} processes, box {run.box}")
    if not options.scheduler:
        print(f"CPU of all processes: {spent:.1f} s, {spent / max(run.graded, 1):.3f} s each")
    print(f"memory: {memory[0]:.0f} MB the writer, {memory[1]:.0f} MB the largest other; efficiency {run.efficiency:.2f}")
    slowest = sorted(reports.values(), key=lambda r: -r["seconds"])[: len(reports) // 20]
    theirs, all_seconds = (sum(r["seconds"] for r in rows) for rows in (slowest, reports.values()))
    print(f"the slowest twentieth, which loops or waits, took {theirs:.0f} of {all_seconds:.0f} s")
    print(f"{rows} rows in the gradebook, {len(wrong)} not as expected, {sum(r['times'] > 1 for r in reports.values())} graded twice")
    for line in wrong[:5]:
        print("  ", *line)
    if options.rounds:
        in_turns(course_root, options.jobs, options.rounds)
    if options.dask:
        cluster(course_root, options.jobs, run.seconds)
    if options.plain:
        right = [s for s, kind in kinds.items() if kind == "right"][: options.plain]  # plain ends with status 1 at a damaged one
        plain(course_root, root / "plain", right, each)
    if not options.folder:
        shutil.rmtree(root)
    sys.exit(bool(wrong) or rows != options.students)


def adopt() -> None:
    """Become the parent of every process below whose own parent ends first, as bubblewrap does, so that its CPU is counted here."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def cpu() -> float:
    """Seconds of CPU that this process and all those that it started and that have ended have had."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


AGAIN = """
import sys
from pathlib import Path
from autolab.course.grading.scheduler import Course, grade_course

run = grade_course(Course(Path(sys.argv[1])), "ps2", jobs=int(sys.argv[2]), regrade=True)
print(run.seconds, run.graded)
"""


def in_turns(course: Path, jobs: int, rounds: int) -> None:
    """The class again with one process and with several, in turns: what else the machine does meets both."""
    walls: dict[int, list[float]] = {1: [], jobs: []}
    for turn in range(rounds):
        for several in (1, jobs) if turn % 2 == 0 else (jobs, 1):
            before = cpu()
            done = subprocess.run([sys.executable, "-c", AGAIN, course, str(several)], stdout=subprocess.PIPE, text=True, check=True)
            seconds, graded = map(float, done.stdout.split())
            walls[several].append(seconds)
            spent = (cpu() - before) / graded  # with the imports, and with the sandbox, which ends with its process
            load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
            print(f"  {several} at once: {seconds:.1f} s, {seconds / graded:.3f} s each; CPU {spent:.3f} s each; {load}", flush=True)
    ratios = sorted(one / several for one, several in zip(walls[1], walls[jobs], strict=True))
    print(f"{jobs} at once are {ratios[len(ratios) // 2]:.2f} times as fast as one (median of {rounds})")


def cluster(course: Path, jobs: int, local: float) -> None:
    """The same class again on dask: what it takes beside as many processes of our own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": course}
    processes = [subprocess.Popen(command, **quiet) for command in (start, *[worker] * jobs)]
    try:
        from distributed import Client

        with Client(address, timeout=60) as client:
            client.wait_for_workers(jobs, timeout=120)
        run = grade_course(Course(course), "ps2", scheduler=address, regrade=True)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    print(
        f"cluster of {jobs} workers: {run.graded} in {run.seconds:.1f} s, {local / run.seconds:.2f} of the speed of as many processes, "
        f"efficiency {run.efficiency:.2f}"
    )


def plain(course: Path, other: Path, students: list[str], each: float) -> None:
    """The same with nbgrader's own preprocessors, which run the tests in the student's process."""
    shutil.copytree(course / "source", other / "source")
    config = "from pathlib import Path\nc = get_config()\nc.CourseDirectory.root = str(Path(__file__).resolve().parent)\n"
    (other / "nbgrader_config.py").write_text(config)
    nbgrader(other, "generate_assignment", "ps2")
    for student in students:
        shutil.copytree(course / "submitted" / student, other / "submitted" / student)
    start, before = time.monotonic(), cpu()
    nbgrader(other, "autograde", "ps2")
    nbgrader(other, "generate_feedback", "ps2")
    graded = len(list((other / "feedback").glob("*/ps2/*.html")))
    seconds, spent = (time.monotonic() - start) / graded, (cpu() - before) / graded
    print(f"plain nbgrader, {graded} right ones: {seconds:.2f} s each, {spent:.2f} s of CPU; {seconds / each:.1f} times as long")


if __name__ == "__main__":
    main()
