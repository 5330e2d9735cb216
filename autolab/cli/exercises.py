"""`autolab exercises`: a copy of a problem set to work in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

import click

from autolab.utils import exercises as sets


@click.command()
@click.argument("names", nargs=-1, metavar="[SET]...")
@click.option("--folder", type=click.Path(path_type=Path), default=".", help="Where to put them, if not here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def exercises(names: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Put problem sets into this folder, to work in.

    SET is a problem set, such as ps2; without one, all are listed. What you have begun is never overwritten.

    \b
        autolab exercises
        autolab exercises ps2
    """
    try:
        made = sets.exercises(*names, folder=folder)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from error
    except OSError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        click.echo(json.dumps([_facts(item) for item in made], indent=2))
    elif isinstance(made, sets.Listing):
        click.echo(f"{made!r}\n\n`autolab exercises ps1` puts one into this folder.")
    else:
        for copy in made:
            click.echo("\n".join([f"{copy.set.name}: {copy.set.summary()}", *copy.sentences(), *map(_opens, copy.notebooks())]))


def _facts(item: sets.ProblemSet | sets.Copy) -> dict[str, object]:
    if isinstance(item, sets.Copy):
        return {**_facts(item.set), "folder": str(item.folder), **item.done}
    return {"name": item.name, "topic": item.topic, "lessons": item.lessons, "hours": item.hours}


def _opens(notebook: Path) -> str:
    """How to open it: in JupyterLab's own terminal by the server that runs, elsewhere by a new one."""
    url, root = (os.environ.get(f"JUPYTER_SERVER_{what}") for what in ("URL", "ROOT"))
    inside = notebook.resolve()
    if url and root and inside.is_relative_to(Path(root).resolve()):
        place = inside.relative_to(Path(root).resolve()).as_posix()
        # behind a hub the server does not know its address; its file browser is there everywhere
        return f"Open {place} in the file browser, or {url.rstrip('/')}/lab/tree/{quote(place)}"
    return f"Open it: jupyter lab {click.format_filename(notebook)}"
