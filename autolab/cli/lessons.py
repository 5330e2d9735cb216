"""`autolab lessons` and `autolab progress`: a copy of the lessons to work in, and how far one is."""

from __future__ import annotations

import json
from pathlib import Path

import click

from autolab.utils import lessons as files
from autolab.utils import pin
from autolab.utils import progress as kept

SENTENCES = {  # of what was done to files
    "copied": "copied",
    "updated": "brought up to date (you had not touched them)",
    "beside": "put beside yours (the lesson is newer than your copy, and you have worked in it)",
    "kept": "left as they are",
}


@click.command()
@click.argument("folder", type=click.Path(file_okay=False), metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lessons(folder: str, as_json: bool) -> None:
    """Copy the lessons into DIR, to work in.

    Run it again after an update: new lessons are added, and what you have changed is never overwritten.
    """
    try:
        done = files.copy(folder)
    except OSError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        click.echo(json.dumps(done, indent=2))
        return
    for what, sentence in SENTENCES.items():
        if done[what]:
            click.echo(f"{len(done[what])} {sentence}")
        if what in ("updated", "beside"):
            click.echo("".join(f"  {name}\n" for name in done[what]), nl=False)
    click.echo(f"Begin: jupyter lab {click.format_filename(folder)}/00-start-here.ipynb")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def progress(as_json: bool) -> None:
    """Show which lessons and quizzes are done.

    It is read from a file on this machine; AUTOLAB_HOME names its folder, and AUTOLAB_HOME=off keeps nothing.
    """
    try:
        rows = kept.standings()
    except FileNotFoundError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        shown = {"lessons": [{**r._asdict(), "done": r.done} for r in rows], "exercises": kept.exercises()}
        click.echo(json.dumps(shown, indent=2))
        return
    click.echo(kept.text(rows))
    for said in pin.notebooks_that_differ(Path.cwd()):
        click.echo(said, err=True)
    if not kept.read():
        click.echo(f"\nNothing is kept so far. Answers will be, in {kept.place() or 'no file (AUTOLAB_HOME=off)'}.")
