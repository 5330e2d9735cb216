"""`autolab course collect`: submissions from a learning management system."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from autolab.cli.course import FOLDER, JSON, course_command


@click.command()
@click.argument("source", type=click.Path(exists=True, path_type=Path), metavar="FILE.zip|FOLDER")
@click.option(
    "--from", "system", type=click.Choice(["canvas", "moodle", "gradescope", "folder"]), required=True, help="Whose download it is."
)
@click.option(
    "--roster",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV of the class: `login,name,email`, or what the system exports.",
)
@click.option("--due", metavar="TIME", help='When it was due, such as "2026-11-21 18:00"; nbgrader\'s due date if not given.')
@FOLDER
@JSON
@course_command
def collect(source: Path, system: str, roster: Path | None, due: str | None, root: Path, as_json: bool) -> None:
    """Put what students handed in into submitted/STUDENT/ASSIGNMENT.

    Notebooks are recognised by their cells, whatever their names; times go into timestamp.txt. A newer submission replaces
    an older one, which is kept in replaced/. Exit status 1 if something could not be matched; it is named.

    \b
        autolab course collect submissions.zip --from canvas --roster gradebook.csv
        autolab course collect ps2.zip --from moodle --roster worksheet.csv
        autolab course collect export.zip --from gradescope
        autolab course collect inbox/ --from folder
    """
    from autolab.course import collect as collecting
    from autolab.course.grading.scheduler import Course
    from autolab.course.roster import parse_time, read_roster

    place, people = Course(root).root, read_roster(roster) if roster else None
    dates = collecting.due_dates(place)
    if due is not None:
        if (moment := parse_time(due)) is None:
            raise ValueError(f"{due!r} is no time such as 2026-11-21 18:00")
        dates = {path.name: moment for path in (place / "source").iterdir()}
    done = collecting.collect(place, source, system, people, dates)
    collecting.remember_people(place, people.people if people else done.people, system, replace=people is not None)
    if as_json:
        click.echo(json.dumps({name: value for name, value in asdict(done).items() if name != "people"}))
    else:
        for line in done.counts():
            click.echo(line)
        for title, lines in (("Not collected", done.unmatched), ("To know", done.notes)):
            for line in [f"{title}:", *(f"  {line}" for line in lines)] if lines else ():
                click.echo(line, err=True)
        seen = {student for kind in (done.new, done.replaced, done.unchanged) for students in kind.values() for student in students}
        missing = sorted({person.login for person in people.people} - seen) if people else []
        if missing:
            click.echo(f"{len(missing)} of the roster handed nothing in: {', '.join(missing[:10])}{' ...' * (len(missing) > 10)}", err=True)
    if done.unmatched:
        sys.exit(1)
