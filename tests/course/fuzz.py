"""Grade submissions made by chance, beside honest ones:  python -m tests.course.fuzz --minutes 10 --seed 1

A round is a class: a dozen mutants and three honest students. Whatever the mutants are, each has a row and a page, none gets more
points than there are or takes longer than its limit, and the honest ones get what they get alone. `--only N` makes round N again.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.grading.sandbox import Limits
from autolab.course.grading.scheduler import Course, grade_course
from autolab.course.notebook import build
from autolab.course.scaffold import nbgrader

from .hostile import TEXT, WRONG
from .mutations import generator, mutant
from .test_hostile import FULL, submitted

LIMITS = Limits(cell=1.5, busy=0.7, total=8.0)
SLACK = 12.0  # seconds: of a busy machine, for starting sandboxes again and for what the judge does with answers
MUTANTS = 12
HONEST = {"ada": None, "bob": WRONG, "zoe": None}


def new_course(root: Path) -> Course:
    """A course with one assignment of two exercises."""
    (root / "text" / "ps").mkdir(parents=True)
    (root / "text" / "ps" / "n.md").write_text(TEXT)
    build(root)
    shutil.copy(Path(__file__).resolve().parents[2] / "exercises" / "nbgrader_config.py", root)
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    nbgrader(root, "generate_assignment", "ps")
    return Course(root)


def scores(course: Course) -> dict[str, dict]:
    """What the gradebook knows of each student."""
    with CourseGradebook(course.database, "ps") as gradebook:
        totals = gradebook.totals()
        return {r["student"]: {**r, "total": totals[r["student"]]} for r in gradebook.reports()}


def play(course: Course, seed: int, number: int, honest: dict[str, dict]) -> list[str]:
    """One round; what went wrong in it, with the student."""
    shutil.rmtree(course.root / "submitted", ignore_errors=True)
    for name, answer in HONEST.items():
        (course.root / "submitted" / name / "ps").mkdir(parents=True)
        (course.root / "submitted" / name / "ps" / "n.ipynb").write_text(submitted(answer))
    rng, right = generator(seed, number), submitted(None)
    untouched = [f"m{i:02}" for i in range(MUTANTS) if mutant(rng, right, course.root / "submitted" / f"m{i:02}" / "ps")]
    for folder in ("autograded", "feedback"):
        shutil.rmtree(course.root / folder, ignore_errors=True)
    before = descriptors()
    try:
        grade_course(course, "ps", seed=number, regrade=True, limits=LIMITS)
    except Exception:
        return [f"the grader raised: {traceback.format_exc()}"]
    found, wrong = scores(course), []
    if (left := descriptors() - before) > 9:  # those of a sandbox, and of the gradebook
        wrong.append(f"{left} descriptors are left open")
    for name in (*HONEST, *(f"m{i:02}" for i in range(MUTANTS))):
        page = course.root / "feedback" / name / "ps" / "n.html"
        if name not in found or not page.is_file():
            wrong.append(f"{name} has no row or no page")
            continue
        report, text = found[name], page.read_text("utf-8")
        if report["scores"].keys() != FULL.keys() or any(not 0 <= s <= FULL[k] for k, s in report["scores"].items()):
            wrong.append(f"{name}: {report['scores']}")
        if report["seconds"] > LIMITS.total + SLACK:
            wrong.append(f"{name} took {report['seconds']:.1f} s: {report['notes']}")
        if "<script" in text or "HIDDEN-CASE-4711" in text:
            wrong.append(f"{name}: the page holds what it must not")
        if name in HONEST and honest and report["scores"] != honest[name]["scores"]:
            wrong.append(f"{name}, who is honest: {report['scores']}, alone {honest[name]['scores']}")
        late = any("seconds of this notebook" in note for note in report["notes"])
        if name in untouched and not late and any(report["scores"][k] < FULL[k] for k in ("exp-check", "exp-hidden")):
            wrong.append(f"{name} lost points of the exercise that is right: {report['scores']} {report['notes']}")
    return wrong


def descriptors() -> int:
    """How many this process has open, where the system tells."""
    return len(os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else 0


def alone(course: Course) -> dict[str, dict]:
    """What the honest get without the others; on a busy machine a first sandbox may have no time for them, so they are graded again."""
    for name, answer in HONEST.items():
        (course.root / "submitted" / name / "ps").mkdir(parents=True)
        (course.root / "submitted" / name / "ps" / "n.ipynb").write_text(submitted(answer))
    for _ in range(3):
        grade_course(course, "ps", seed=1, regrade=True, limits=LIMITS)
        found = scores(course)
        if all(found[name]["scores"] == FULL for name, answer in HONEST.items() if answer is None):
            return found
    raise SystemExit(f"this machine is too busy: right answers got {found} within {LIMITS}")


def main() -> int:
    """Run rounds until the time is over; exit status 1 if anything went wrong."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=5.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", type=int, help="This round alone, and its folder is kept.")
    chosen = options.parse_args()
    root = Path(tempfile.mkdtemp(prefix="fuzz-"))
    course, end, failures, rounds = new_course(root), time.monotonic() + 60 * chosen.minutes, 0, 0
    honest = alone(course)
    while (chosen.only is None and time.monotonic() < end) or (chosen.only is not None and not rounds):
        number = chosen.only if chosen.only is not None else rounds
        for said in play(course, chosen.seed, number, honest):
            failures += 1
            print(f"round {number}: {said}", flush=True)
        rounds += 1
    print(f"{rounds} rounds of {MUTANTS} mutants, {failures} failures" + (f"; see {root}" if chosen.only is not None else ""))
    if chosen.only is None:
        shutil.rmtree(root)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
