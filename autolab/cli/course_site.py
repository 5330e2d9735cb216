"""`autolab course site`: lessons and a course's problem sets as static pages, which also run in the browser."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

CHECKOUT = Path(__file__).parents[2]
NO_CHECKOUT = (
    "The site is made from the files of the repository, which are not part of an installed package: clone it, "
    'run `pip install -e ".[site]"` there, and give this command again'
)


@click.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--course", "root", type=click.Path(path_type=Path), default=".", show_default=True, help="The course's folder.")
@click.option("--title", required=True, help="What the site is called.")
@click.option("--address", help="Where it will be served, for previews of links: https://example.edu/optimization/.")
@click.option("--lessons", help='The lessons that are in it, as "00 04 gallery"; all if not given.')
@click.option("--reference", is_flag=True, help="Also the guide, the API and the code of autolab, which takes minutes more.")
def site(output: Path, root: Path, title: str, address: str | None, lessons: str | None, reference: bool) -> None:
    """Make a site of lessons and of what is in the course's folder release/, in OUTPUT.

    OUTPUT must not exist. Any host of static files can serve it. It takes a minute or two, and a clone of autolab's repository.

    \b
        autolab course site pages --title "Optimization, spring" --lessons "00 03 04"
    """
    output = output.absolute()
    if output.exists():
        raise click.UsageError(f"{output} exists already.")
    if not (CHECKOUT / "docs" / "make" / "site.py").exists():
        raise click.UsageError(NO_CHECKOUT)
    if importlib.util.find_spec("sphinx") is None:
        raise click.UsageError('This command needs what builds the site: pip install "autolab-grad[site]"')
    command = [sys.executable, "-m", "docs.make.site", "--title", title, "--release", str((root / "release").resolve())]
    for name, value in {"--lessons": lessons, "--address": address}.items():
        command += [name, value] if value else []
    command += ["--reference"] * reference
    with tempfile.TemporaryDirectory() as folder:  # the clone's own site stays
        environment = {**os.environ, "AUTOLAB_SITE_BUILD": folder}
        done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise click.UsageError(done.stderr.strip().rpartition("error: ")[2])
        click.echo("".join(line for line in done.stdout.splitlines(True) if line.startswith("Left out")), nl=False)
        shutil.move(Path(folder, "html"), output)
    click.echo(f"{output}: open index.html through a web server, as `python -m http.server -d {output.name}` is one")
