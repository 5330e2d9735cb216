"""A lesson as a page of the site: run, with explorables that hold all that can be known without a kernel.

python -m docs.make.lesson_page notebooks/04-inside-backward.ipynb TO.ipynb
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from docs.make.run_links import with_links
from docs.make.site import resolved


def run(path: Path):
    """The lesson, run from top to bottom by a fresh kernel in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place, record_timing=False, coalesce_streams=True)
        return client.execute()


def as_page(notebook):
    """Links as the site has them; what answers a prediction is folded, as in the notebook."""
    notebook.metadata.pop("widgets", None)  # half a megabyte that nobody asks for
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = resolved(cell.source, Path("notebooks"))
        elif cell.metadata.get("jupyter", {}).get("outputs_hidden"):
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-output"]
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if cell.source.startswith("torch.exercises("):
                data.pop("text/html", None)  # its links lead to files that are there once the cell has run
            if "text/html" in data and "data-autolab" in data["text/html"]:
                output["data"] = {"text/html": data["text/html"]}
    return notebook


if __name__ == "__main__":
    source, goal = map(Path, sys.argv[1:])
    nbformat.write(with_links(as_page(run(source)), Path("notebooks", source.name)), goal)
