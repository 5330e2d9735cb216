"""`autolab course due`: when assignments are due, for all or for one student."""

from __future__ import annotations

import json
from datetime import datetime, time
from pathlib import Path

import click

from autolab.cli.course import FOLDER, JSON, course_command
from autolab.cli.dates import When


@click.command()
@click.argument("assignment", required=False, default="")
@click.argument("when", required=False, type=When(time=True), metavar="[WHEN]")
@click.option("--student", metavar="LOGIN", help="More time for this student alone.")
@FOLDER
@JSON
@course_command
def due(assignment: str, when: datetime | None, student: str | None, root: Path, as_json: bool) -> None:
    """List when assignments are due, or make ASSIGNMENT due at WHEN.

    A day without a time ends at 23:59. The gradebook has the date, and schedule.md if it lists the assignment; times are those of this
    machine's clock. What is late is counted anew by the next grade, report or export.

    \b
        autolab course due
        autolab course due ps4 2027-03-09
        autolab course due ps4 "2027-03-09 18:00"
        autolab course due ps4 2027-03-12 --student ada
    """
    from autolab.course import deadlines
    from autolab.course.schedule import FILE

    if student and not when:
        raise click.UsageError("--student is for more time: say until when, such as 2027-03-12.")
    if when:
        when = datetime.combine(when, time(23, 59, 59)) if when.time() == time() else when
        if student:
            deadlines.extend(root, assignment, student, when)
        elif deadlines.move(root, assignment, when):
            click.echo(f"{FILE} has this day too.", err=True)
    found = deadlines.due_list(root, assignment)
    if as_json:
        said = [{**one._asdict(), "when": _said(one.when), "students": {s: _said(t) for s, t in one.students.items()}} for one in found]
        click.echo(json.dumps(said))
        return
    for one in found:
        click.echo(f"{one.assignment:10} {_said(one.when) or 'no date'}")
        for name, until in one.students.items():
            click.echo(f"{'':10} {_said(until)} for {name}")


def _said(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M}" if when else ""
