"""`autolab print`: a lesson as a page for the printer."""

from __future__ import annotations

from pathlib import Path

import click

from autolab.utils import lessons

MISSING = 'printing needs {name}, which is not installed: pip install "autolab-grad[lab]"'


@click.command(name="print")
@click.argument("lesson", metavar="LESSON")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path(), metavar="DIR", help="Where to write it.")
def paper(lesson: str, out: Path) -> None:
    """Write LESSON as a page that a browser can print.

    LESSON is a lesson's number, such as 04, or a notebook, such as a lesson that you
    have worked in: its outputs are printed as they are saved. The page is one file that
    needs no network. Answers are unfolded.
    """
    path = _path(lesson)
    try:
        import latex2mathml.converter  # noqa: F401  # without it formulas would be shown as they are written
        import nbformat

        from autolab.course.paper import page
    except ModuleNotFoundError as error:
        raise click.UsageError(MISSING.format(name=(error.name or "").partition(".")[0])) from error
    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise click.UsageError(f"{path} cannot be read as a notebook: {error}") from error
    target = out / f"{path.stem}.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        target.write_text(page(notebook, path.stem), "utf-8")
    except OSError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"Wrote {click.format_filename(target)}")
    click.echo("Open it in a browser, and print it or save it as PDF from there.")


def _path(lesson: str) -> Path:
    """The notebook: a file, or the lesson of a number."""
    if (file := Path(lesson)).suffix == ".ipynb":
        return file
    listed = lessons.listed()
    for one in listed:
        if lesson.isdecimal() and int(lesson) == int(one.number):
            return one.path
    raise click.UsageError(f"there is no lesson {lesson}. Lessons are {listed[0].number} to {listed[-1].number}; or name an .ipynb file.")
