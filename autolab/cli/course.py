"""`autolab course`: everything around a class, from a new course to the marks."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from autolab.cli.course_questions import questions
from autolab.cli.course_site import site
from autolab.cli.dates import When
from autolab.course.quick_nbgrader import import_jsonschema

FOLDER = click.option("--course", "root", type=click.Path(path_type=Path), default=".", show_default=True, help="The course's folder.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
BOX = click.option(
    "--box", "mode", type=click.Choice(["bubblewrap", "docker", "podman", "limits"]),
    help="How to isolate student code; the best that works if not given.",
)  # fmt: skip
SPEC = click.option(
    "--spec", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="For your own operation: a file that defines SPEC."
)
NO_NBGRADER = 'This command needs nbgrader, which is not installed: pip install "autolab-grad[course]"'

NOT_GRADED = "nobody's {0} is graded yet: run `autolab course grade {0}` first"


WAITING = {
    "unread": "have answers that nobody has read yet, counted as 0",
    "changed": "have changed an answer since a person gave it points; until it is read again, these points count, as in Formgrader",
}


def _tell_of_regrade(root: Path, assignment: str) -> None:
    from autolab.course.grading.unfinished import state

    if said := state(root, assignment):
        click.echo(said, err=True)


def _tell_of_changes(root: Path, assignment: str, gradebook: Any) -> list[str]:
    """Say whose points come from other tests or points than today's; these students."""
    from autolab.course.grading.changes import outdated
    from autolab.course.report import outdated_sentence

    graded_with = gradebook.forms_graded_with()
    if found := outdated(root, assignment, gradebook.forms(), graded_with):
        click.echo(outdated_sentence(assignment, found, len({student for student, _ in graded_with})), err=True)
    return found


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + " ..." * (len(names) > 10)


class CommandError(click.ClickException):
    """Could not run: exit status 2."""

    exit_code = 2


def course_command(function: Callable) -> Callable:
    """Errors of a course are sentences, and exit status 2."""

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        import_jsonschema()
        try:
            return function(*arguments, **keywords)
        except ModuleNotFoundError as error:
            raise CommandError(
                NO_NBGRADER if (error.name or "").startswith(("nbgrader", "nbformat", "nbconvert")) else str(error)
            ) from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)) from error
        except (LookupError, ValueError, RuntimeError) as error:
            raise CommandError(str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)) from error

    return run


def compare_version(course: Path) -> None:
    """Say so if the course was made with another version of autolab, or has the configuration of an earlier one."""
    from autolab.course.grading import settings
    from autolab.course.problem_sets import installed_folder
    from autolab.utils import pin

    package = "autolab-grad-instructor" if installed_folder() else "autolab-grad"  # it asks for autolab-grad of its own version
    for said in filter(None, (pin.difference(pin.course_version(course), "this course", package), settings.not_set(course))):
        click.echo(said, err=True)


@click.group()
def course() -> None:
    """A course: new, add, due, variant, check, collect, grade, report, similar, export, questions, site.

    From nothing to marks:

    \b
        autolab course new mycourse
        cd mycourse
        autolab course check ps2          # each exercise, proven
        autolab course due ps2 2027-03-01 # moved; --student for one
        autolab course collect submissions.zip --from canvas
        autolab course grade ps2 --jobs 2
        autolab course report ps2
        autolab course similar ps2        # to read, no verdict
        autolab course export ps2 --for canvas > ps2.csv
    """


@course.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("sets", nargs=-1)
@click.option("--weeks", type=click.Choice(["8", "12"]), help="Its problem sets and a schedule; SETS come besides.")
@click.option("--start", type=When(), metavar="DAY", help="With --weeks: the first day, such as 2027-02-01, for dates.")
@click.option("--release/--no-release", default=True, help="Also make the students' notebooks (a few seconds a set).")
@JSON
@course_command
def new(folder: Path, sets: tuple[str, ...], weeks: str | None, start: datetime | None, release: bool, as_json: bool) -> None:
    """Start a course in FOLDER with the problem sets SETS, or all of them.

    Afterwards FOLDER holds source/ (with solutions), text/ (what you edit), release/ (what students get) and
    nbgrader_config.py: every nbgrader command works in it. With --weeks it has schedule.md as well: what to read, hand out and
    collect in which week; and teaching/ has a page to prepare each: what to show and ask, which mistake to expect, minutes. SETS are then
    what comes besides, such as the capstone. With --start the gradebook has the due dates of what is released.

    \b
        autolab course new mycourse ps2 ps3
        autolab course new mycourse --weeks 12 --start 2027-02-01 capstone
    """
    if start and not weeks:
        raise CommandError("--start is the first day of a schedule: say --weeks 8 or --weeks 12 as well")
    from autolab.course import schedule

    planned = schedule.sets_of(int(weeks)) if weeks else ()
    if twice := " ".join(name for name in sets if name in planned):
        raise CommandError(f"--weeks {weeks} has {twice} already: leave {twice} out, or leave --weeks out")
    from autolab.course.problem_sets import problem_sets

    problem_sets()  # says what to install before it is found that nbgrader is missing too
    from autolab.course.scaffold import add_teaching, nbgrader, new_course, set_due_dates

    made = new_course(folder, (*planned, *sets))
    if weeks:
        (folder / schedule.FILE).write_text(schedule.schedule(int(weeks), start.date() if start else None, sets), "utf-8")
        add_teaching(folder, int(weeks))
    for name in made if release else ():
        click.echo(f"{name}: making what students get", err=True)
        nbgrader(folder, "generate_assignment", name)
    due = schedule.due_dates(int(weeks), start.date()) if weeks and start and release else {}
    if due:
        set_due_dates(folder, due)
    if as_json:
        click.echo(json.dumps({"folder": str(folder), "sets": made, "released": release}))
        return
    click.echo(
        f"{folder}: {', '.join(made)}" + f"; the weeks are in {schedule.FILE}, and a page to prepare each in teaching/" * bool(weeks)
    )
    if due:
        click.echo("Due in the gradebook: 23:59 of the schedule's days, by this machine's clock; `autolab course due` changes that.")
    click.echo(f"Next: cd {folder} && autolab course check {made[0]}")


@course.command()
@click.argument("assignment")
@click.argument("name")
@SPEC
@click.option("--points", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True, help="What the exercise is worth.")
@FOLDER
@JSON
@course_command
def add(assignment: str, name: str, spec: Path | None, points: float, root: Path, as_json: bool) -> None:
    """Add an exercise on the operation NAME to ASSIGNMENT, as a notebook of its own.

    NAME is a row of the table (`autolab rules`), an operation that a problem set builds from rows (square, gelu, concat, take,
    permute, dropout, conv1d, conv2d, max_pool, avg_pool, attention ...), or your own with --spec FILE:

    \b
        from autolab.check import Spec
        from autolab.engine.op import ELEMENTWISE, Op
        import numpy as np
        SPEC = Spec("softsign", Op(
            "softsign", lambda x: x / (1 + np.abs(x)), ELEMENTWISE,
            x=lambda g, x: g / (1 + np.abs(x)) ** 2))

    Its rules must be the derivative of its forward, which is proven. Students see the check without the rules; the hidden test has
    all of it.
    """
    from autolab.course.grading.scheduler import Course
    from autolab.course.scaffold import add_exercise

    Course(root)
    text = add_exercise(root, assignment, name, spec, points)
    click.echo(
        json.dumps({"text": str(text)})
        if as_json
        else f"{text}: write the question{'' if spec else ' and the solution'}, build with `python -m autolab.course.notebook {root}`, "
        f"then `autolab course check {assignment}`, then `nbgrader generate_assignment {assignment} --force` for the release"
    )


@course.command()
@click.argument("assignments", nargs=-1)
@FOLDER
@BOX
@JSON
@course_command
def check(assignments: tuple[str, ...], root: Path, mode: str | None, as_json: bool) -> None:
    """Prove every exercise of ASSIGNMENTS, or of all.

    Rules of a spec must be the derivative of its forward. The solution must get all points and the blank release none;
    wrong rules, made from the right one by one slip of the pen, must be caught, and so must the wrong answers of students that
    are kept in wrong/SET.md; the reference written as plain functions must pass; the release must hide what it must. A few
    seconds for each notebook.
    Exit status 1 if something does not hold; it is named with its file and cell.

    \b
        autolab course check ps2
        autolab course check --json | jq '.[].problems'
    """
    from autolab.course.grading.sandbox import best_mode
    from autolab.course.grading.scheduler import Course
    from autolab.course.grading.selftest import selftest

    compare_version(Course(root).root)
    mode = mode or best_mode()  # the answers are the instructor's own, and run without isolation where there is none
    chosen = assignments or tuple(sorted((p.name for p in (root / "source").iterdir() if p.is_dir()), key=lambda name: (len(name), name)))
    paths = [p for a in chosen for p in sorted((root / "source" / a).glob("*.ipynb"))]
    if not paths:
        raise LookupError(f"no notebooks in {', '.join(str(root / 'source' / a) for a in chosen)}")
    reports = []
    for path in paths:
        reports.append(result := selftest(path, mode))
        if as_json:
            continue
        click.echo(f"{path}: {result.points:g} points, {'holds' if not result.problems else 'does not hold'}")
        for e in result.exercises:
            total = e["caught"] + len(e["missed"])
            click.echo(f"  {e['name']:<18} {e['caught']} of {total} wrong rules caught, {e['named']} named")
        if result.wrong:
            click.echo("  {caught} of {of} wrong answers caught, {named} named".format(**result.wrong))
        for problem in result.problems:
            click.echo(f"  PROBLEM {problem}")
    if as_json:
        click.echo(json.dumps([p.to_dict() for p in reports], indent=2))
    if any(p.problems for p in reports):
        sys.exit(1)


@course.command()
@click.argument("problem_set")
@click.option("--year", metavar="TEXT", help="Draws other exercises for another year; part of the assignment's name.")
@click.option("--name", default="", help="What the assignment is called, if not SET-YEAR.")
@click.option(
    "--per-student",
    "students",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file with the students' logins: each gets exercises of their own.",
)
@click.option("--prove", is_flag=True, help="Draw nothing: prove every entry of the bank of this problem set.")
@FOLDER
@JSON
@course_command
def variant(problem_set: str, year: str | None, name: str, students: Path | None, prove: bool, root: Path, as_json: bool) -> None:
    """Draw other exercises of the same kind and difficulty for PROBLEM_SET, as an assignment of its own.

    Each is an entry of bank/PROBLEM_SET.toml. The draw depends on the year, the student and the key of the course in
    variants/key, and is the same each time; it is written down in variants/ASSIGNMENT/drawn.csv.

    \b
        autolab course variant ps2 --year 2027
        autolab course variant ps2 --year 2027 --per-student roster.csv
        autolab course variant ps2 --prove          # after an entry was added
    """
    from autolab.course.grading.scheduler import Course
    from autolab.course.variants.bank import read_bank
    from autolab.course.variants.draw import roster
    from autolab.course.variants.make import make_variant, problem_text
    from autolab.course.variants.proof import proofs

    folder = Course(root).root
    if prove:
        found = []
        for proof in proofs(read_bank(folder, problem_set), problem_text(folder, problem_set).read_text("utf-8")):
            found.append(proof)
            if not as_json:
                click.echo(f"  {proof.name:<22} {proof.caught} of {proof.of} wrong rules caught, {proof.named} named")
                for problem in proof.problems:
                    click.echo(f"  PROBLEM {problem}")
        if as_json:
            click.echo(json.dumps([vars(proof) for proof in found], indent=2))
        sys.exit(any(proof.problems for proof in found))
    if not year:
        raise CommandError("say for which year: `autolab course variant " + problem_set + " --year 2027`")
    made = make_variant(folder, problem_set, year, name, roster(students) if students else ())
    if as_json:
        shown = {"assignment": made.assignment, "text": str(made.text), "variants": made.chosen, "students": made.students}
        click.echo(json.dumps(shown))
        return
    click.echo(f"{made.assignment}: {', '.join(made.chosen.values())}")
    if made.releases:
        click.echo(f"{len(made.students)} students have exercises of their own: hand out {made.releases}/STUDENT/")
    click.echo(f"Next: autolab course check {made.assignment}")


@course.command()
@click.argument("assignment")
@FOLDER
@click.option("--jobs", "-j", type=click.IntRange(min=1), default=1, show_default=True, help="Processes on this machine.")
@click.option("--scheduler", metavar="ADDRESS", help="Grade on a dask.distributed cluster, such as tcp://host:8786.")
@click.option("--seed", type=int, help="Draw all inputs from this seed instead of a fresh one.")
@click.option("--regrade", is_flag=True, help="Grade what is graded again, with the seed it was graded with.")
@BOX
@JSON
@course_command
def grade(
    assignment: str, root: Path, jobs: int, scheduler: str | None, seed: int | None, regrade: bool, mode: str | None, as_json: bool
) -> None:
    """Grade what was handed in for ASSIGNMENT: submitted/STUDENT/ASSIGNMENT/*.ipynb.

    Points go into nbgrader's gradebook.db, graded notebooks into autograded/, pages for students into feedback/. What is
    graded already and unchanged is left alone, so after an interruption the same command goes on where it was.

    \b
        autolab course grade ps2 --jobs 2
        autolab course grade ps2 --regrade                 # after a test was changed
        autolab course grade ps2 --scheduler tcp://host:8786
    """
    from tqdm import tqdm

    from autolab.course.grading import settings
    from autolab.course.grading.changes import unreleased
    from autolab.course.grading.gradebook import CourseGradebook
    from autolab.course.grading.sandbox import NOT_ISOLATED, isolation
    from autolab.course.grading.scheduler import Course, GradingInterrupted, grade_course
    from autolab.course.grading.stage import Stage
    from autolab.course.roster import unknown
    from autolab.course.scaffold import nbgrader
    from autolab.course.variants.own import without_exercises

    place = Course(root)
    compare_version(place.root)
    mode = mode or settings.box(place.root) or (None if scheduler else isolation())
    if mode == "limits":
        click.echo(NOT_ISOLATED, err=True)
    source = place.root / "source" / assignment
    known: set[str] = set()
    if place.database.exists():
        with CourseGradebook(place.database, assignment) as gradebook:
            known = gradebook.notebook_names()
            said = unreleased(place.root, assignment, gradebook.forms()) if known else []
        if Stage(place.root, assignment).in_use():
            said.insert(0, f"a regrade of {assignment} was interrupted: this run goes on with it")
        for line in said:
            click.echo(line, err=True)
    for path in sorted(source.glob("*.ipynb")) if known else ():
        if path.stem not in known:
            click.echo(
                f"{path} was never released and is not graded: `nbgrader generate_assignment {assignment} --force` adds it as long as "
                "nothing is graded; afterwards it has to be an assignment of its own",
                err=True,
            )
    if not known:
        if not source.is_dir():
            raise LookupError(f"{place.root} has no assignment {assignment!r}: there is no folder source/{assignment}")
        nbgrader(place.root, "generate_assignment", assignment, "--force")

    class Bar(tqdm):
        monitor_interval = 0  # no thread that watches it: where there is one, processes are not forked, and each takes seconds to start

    with Bar(total=None, unit="notebook", file=sys.stderr, disable=as_json or not sys.stderr.isatty()) as bar:

        def progress(done: int, of: int, last: Any) -> None:
            bar.total = of
            bar.update(done - bar.n)

        try:
            run = grade_course(place, assignment, jobs=jobs, scheduler=scheduler, seed=seed, regrade=regrade, mode=mode, progress=progress)
        except GradingInterrupted as error:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending
            bar.close()
            click.echo(str(error), err=True)
            sys.exit(130)
    alone = without_exercises(place.root, assignment, place.students(assignment))
    with CourseGradebook(place.database, assignment) as gradebook:
        nameless, unread = unknown(gradebook.people(), place.students(assignment)), gradebook.unread()
    if as_json:
        click.echo(json.dumps({**vars(run), "without_exercises": alone, "not_in_roster": nameless, "unread": unread}))
        return
    if not run.graded + run.skipped + run.resumed:
        raise LookupError(f"nobody handed in {assignment}: there is no folder {place.root / 'submitted'}/STUDENT/{assignment}")
    each = f", {run.seconds / run.graded:.2f} s each" if run.graded else ""
    click.echo(f"{assignment}: {run.graded} graded in {run.seconds:.1f} s{each}; {run.skipped} unchanged. Box: {run.box or 'not needed'}.")
    if run.resumed:
        click.echo(f"  {run.resumed} more were graded again before the regrade was interrupted; all have their new grades now.")
    if run.outdated:
        click.echo(f"  {run.outdated} of the unchanged were graded with other tests, points or rubrics, or another version of autolab: "
                   f"`autolab course grade {assignment} --regrade` grades all with those of today.")  # fmt: skip
    if run.late_changed:
        click.echo(f"  Other times of handing in or late penalties than before: {len(run.late_changed)} ({_some(run.late_changed)}).")
    if alone:
        click.echo(f"  Graded by the exercises of the class, since none of their own were drawn for them: {len(alone)} ({_some(alone)}). "
                   "Add them to the roster, draw again with the same `autolab course variant`, hand out, and grade.")  # fmt: skip
    if nameless:
        click.echo(f"  In no roster that was collected with: {len(nameless)} ({_some(nameless)}). Is the name of the folder a login?")
    if run.pages:
        click.echo(f"  {run.pages} feedback pages written.")
    if unread:
        click.echo(f"  With written answers that wait for a person, in JupyterLab's menu nbgrader, Formgrader: {len(unread)} "
                   f"({_some(unread)}). The same command then writes their points and comments into the pages.")  # fmt: skip
    for line in run.stopped[:10]:
        click.echo(f"  stopped: {line}")


@course.command()
@click.argument("assignment")
@FOLDER
@click.option("--out", type=click.Path(path_type=Path), help="The file to write; report-ASSIGNMENT.html if not given.")
@JSON
@course_command
def report(assignment: str, root: Path, out: Path | None, as_json: bool) -> None:
    """Write one page about a graded class.

    Distribution, difficulty and discrimination of each part, commonest mistakes with an answer of the class, without its author; a line
    for each student: points, late, unread, repaired, worth a look; what each row of the rubrics earned.

    \b
        autolab course report ps2 --out week3.html
        autolab course report ps2 --json | jq .hardest
    """
    from autolab.course.grading import settings
    from autolab.course.grading.gradebook import CourseGradebook
    from autolab.course.grading.marks import marks
    from autolab.course.grading.scheduler import Course
    from autolab.course.mistakes import add_code
    from autolab.course.report import page, rubric_rows, summary
    from autolab.course.rubric import rubrics

    place = Course(root)
    _tell_of_regrade(place.root, assignment)
    with CourseGradebook(place.database, assignment) as gradebook:
        gradebook.refresh_lateness({}, settings.penalty(place.root))
        reports, lines = gradebook.reports(), gradebook.class_list()
        before = _tell_of_changes(place.root, assignment, gradebook)
        written = rubric_rows(rubrics(place.root, assignment), marks(gradebook.db, assignment).values())
        data = summary(reports, gradebook.totals(), gradebook.points(), lines, before, written)
    if not data["students"]:
        raise LookupError(NOT_GRADED.format(assignment))
    add_code(data["diagnoses"], reports, lines, place.root / "autograded")
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    out = out or place.root / f"report-{assignment}.html"
    out.write_text(page(assignment, data), "utf-8")
    click.echo(f"{out}: {data['students']} students, mean {data['mean']:.1f} of {data['of']:g}")


@course.command()
@click.argument("assignment")
@FOLDER
@click.option(
    "--with",
    "earlier",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of another course, such as last year's; may be given several times.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file to write; similar-ASSIGNMENT.html if not given.")
@JSON
@course_command
def similar(assignment: str, root: Path, earlier: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Write one page with what two submissions share, or one and a solution: the course's, or the one that autolab came with.

    Code is compared as syntax trees: names, layout, comments, imports, the order of a sum and statements without effect do not count.
    Nor does what was released or what many have. It is not a verdict: a person reads.

    \b
        autolab course similar ps2
        autolab course similar ps2 --with ../course-2025 --json
    """
    from autolab.course.grading.scheduler import Course
    from autolab.course.similar import compare, page

    place = Course(root)
    for other in earlier:
        Course(other)
    data = compare(place.root, assignment, earlier)
    for note in data["notes"]:
        click.echo(note, err=True)
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    out = out or place.root / f"similar-{assignment}.html"
    out.write_text(page(assignment, data), "utf-8")
    count = len(data["pairs"])
    click.echo(f"{out}: {count} pair{'s' * (count != 1)} of {data['submissions']} submissions to look at")


@course.command()
@click.argument("assignment")
@FOLDER
@click.option("--for", "system", type=click.Choice(["canvas", "moodle", "gradescope"]), default="canvas", show_default=True)
@click.option("--column", metavar="NAME", help="What the assignment is called there, if not ASSIGNMENT.")
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What the system exported: one column is filled, and the rest stays as it is.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file to write, in UTF-8 as Excel, too, reads it; printed if not given.")
@JSON
@course_command
def export(assignment: str, root: Path, system: str, column: str | None, into: Path | None, out: Path | None, as_json: bool) -> None:
    """Print the marks of ASSIGNMENT as CSV for a learning management system.

    With points given by hand, and nbgrader's late penalties. Names and Canvas's own IDs are those that nbgrader knows
    (`nbgrader db student add`); students are found by their login, which their folder is named after. A student who handed nothing in
    has no row, and nothing is overwritten.

    \b
        autolab course export ps2 --for moodle --out ps2.csv
        autolab course export ps2 --column "Problem set 2 (4711)" --out ps2.csv
        autolab course export ps2 --into gradebook.csv --out upload.csv
    """
    from autolab.course.grading import settings
    from autolab.course.grading.gradebook import CourseGradebook
    from autolab.course.grading.scheduler import Course
    from autolab.course.lms import fill, table

    place = Course(root)
    _tell_of_regrade(place.root, assignment)
    with CourseGradebook(place.database, assignment) as gradebook:
        gradebook.refresh_lateness({}, settings.penalty(place.root))
        totals, of, people = gradebook.totals(), sum(gradebook.points().values()), gradebook.people()
        lines = gradebook.class_list() if totals else []
        before = _tell_of_changes(place.root, assignment, gradebook)
    if not totals:
        raise LookupError(NOT_GRADED.format(assignment))
    waiting = {"unread": [s.student for s in lines if s.unread], "changed": [s.student for s in lines if s.changed]}
    for kind, names in waiting.items():
        if names:
            said = f"{_some(names)}. Formgrader's Manual Grading shows them."
            click.echo(f"{len(names)} of {len(totals)} students {WAITING[kind]}: {said}", err=True)
    if into is not None:
        filled, notes = fill(into.read_bytes(), system, assignment, totals, of, people, column or "")
        for note in notes:
            click.echo(note, err=True)
        click.echo(filled, nl=False) if out is None else out.write_bytes(filled)
        return
    if as_json:
        content = json.dumps({"of": of, "totals": totals, **waiting, "outdated": before}) + "\n"
    else:
        known = {one.login for one in people if one.name}
        if system != "moodle" and (nameless := sorted(totals.keys() - known)):
            said = f"{len(nameless)} of {len(totals)} students have no name in the gradebook, and none in the table: {_some(nameless)}. "
            click.echo(f"{said}`autolab course collect` with --roster, or `nbgrader db student add`, tells it names.", err=True)
        content = table(column or assignment, totals, of, system, people)
    if out is None:
        click.echo(content, nl=False)
    else:  # without a mark at its beginning Excel takes umlauts for something else; Canvas and Moodle pass over it
        out.write_bytes(content.encode("utf-8" if as_json else "utf-8-sig"))


course.add_command(questions)
course.add_command(site)
