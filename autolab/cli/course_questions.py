"""`autolab course questions`: what the lessons ask, for a quiz elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.command()
@click.argument("lessons", nargs=-1)
@click.option("--for", "system", type=click.Choice(["moodle", "qti", "cells"]), help="What to write; a list to read if not given.")
@click.option("--kind", "kinds", multiple=True, help="Only these: choice, several, number, shape, order. May be given several times.")
@click.option("--predictions", is_flag=True, help="Also what lessons ask before a cell is run. Read these first: they are about its lines.")
@click.option(
    "--draw",
    type=click.IntRange(1, 50),
    help="So many of each question with numbers instead, predictions included, numbers drawn, answers by the engine.",
)
@click.option("--seed", default=0, show_default=True, help="Other numbers for each seed; with --draw.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A file to write to; what is there is replaced.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON, with right answers and explanations.")
def questions(
    lessons: tuple[str, ...],
    system: str | None,
    kinds: tuple[str, ...],
    predictions: bool,
    draw: int | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """List or export the questions of LESSONS, or of all: with the right answers and what is said about each wrong one.

    moodle: a file for *Question bank > Import*, each lesson a category. qti: a content package of QTI 2.1, a zip, for other systems.
    cells: text for a problem set of yours, graded with the rest.

    These questions are public, and so are their answers: good for practice, not for an examination. --draw makes others, with new
    numbers for each seed: for Moodle a category each, from which a quiz takes a random one.

    \b
        autolab course questions 04 05
        autolab course questions 04 05 --for moodle --out week-3.xml
        autolab course questions 04 --for cells >> text/mine/mine.md
        autolab course questions 04 05 --draw 20 --seed 2027 --for moodle --out numbers.xml
    """
    from autolab.course import question_export as export

    if system == "cells" and (kinds or predictions):
        raise click.UsageError("--for cells writes the quizzes of lessons as they are: leave out --kind and --predictions.")
    if draw and predictions:
        raise click.UsageError("--draw makes questions of its own: leave out --predictions.")
    if system and as_json:
        raise click.UsageError("--json is for the list: leave out --for.")
    try:
        lessons = tuple(number.zfill(2) for number in lessons)
        found = export.items(lessons, kinds or export.KINDS, predictions, draw or 0, seed)
    except (LookupError, ValueError) as error:
        raise click.UsageError(str(error.args[0])) from None
    if not found:
        raise click.UsageError("No question of these lessons is of this kind.")
    if system == "cells":
        data = export.cells(lessons or export.lessons(), draw or 0, seed).encode()
    elif system:
        data = export.moodle(found) if system == "moodle" else export.qti(found)
    elif as_json:
        data = (json.dumps([{"title": item.title, "tags": item.tags, **item.question} for item in found], indent=1) + "\n").encode()
    else:
        data = "".join(f"{item.title:20} {item.question['kind']:8} {item.question['prompt']}\n" for item in found).encode()
    if out:
        try:
            out.write_bytes(data)
        except OSError as error:
            raise click.UsageError(f"{out}: {error.strerror}") from None
        click.echo(f"{out}: {len(found)} questions", err=True)
    elif system == "qti" and sys.stdout.isatty():
        raise click.UsageError("A package is a zip: say where to with --out questions.zip.")
    else:
        click.echo(data, nl=False)
