"""Where a notebook of the site can be run: in the browser itself, on Binder, on Colab; and the problem sets as pages."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import nbformat

from docs.make import choice, lite

PROJECT = "autolab-grad/autolab"
BINDER = f"https://mybinder.org/v2/gh/{PROJECT}/main?urlpath=lab/tree/"
COLAB = f"https://colab.research.google.com/github/{PROJECT}/blob/main/"


def offered() -> bool:
    """Whether the site that is being built has its lite part."""
    return os.environ.get("AUTOLAB_LITE") != "off"


def links(path: Path) -> str:
    """Where to run a notebook, for its page. path: within the repository."""
    root, name = "../" * len(path.parent.parts), path.as_posix()
    here = f'<a class="run-here" href="{lite.address(name, root)}">Run it here</a>'
    binder, colab = f'<a href="{BINDER}{quote(name)}">Binder</a>', f'<a href="{COLAB}{quote(name)}">Colab</a>'
    needs = f'<a href="{root}run.html">What this needs</a>'
    elsewhere = [] if choice.own() and path in choice.problem_sets() else [binder, colab]  # those have the repository's notebooks
    return f'<p class="run">{" ".join([here, *elsewhere, needs] if offered() else elsewhere)}</p>'


def with_links(notebook, path: Path):
    """A notebook with the links below its title."""
    title, _, text = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{links(path)}\n{text}"
    return notebook


def problem_set_pages(source: Path, resolved) -> list[str]:
    """The problem sets as pages, without solutions, to be worked on where their links lead; their names for the table of contents."""
    names = []
    for inside, path in choice.problem_sets().items():
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = resolved(cell.source, inside.parent)
        (source / inside).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(with_links(notebook, inside), source / inside)
        names.append(inside.with_suffix("").as_posix())
    return names
