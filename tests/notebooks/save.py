"""Run a lesson and save it as it is to be committed: `python tests/notebooks/save.py notebooks/04-inside-backward.ipynb`.

The outputs are part of the lesson, and what a reader sees where there is no kernel. What belongs to one run only is
dropped: timestamps, the state of widgets (a static viewer shows a blank for it, and the picture without it), and the
version of the Python that happened to run it.
"""

import os
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def run(path):
    """The lesson, run from top to bottom by a fresh kernel in an empty folder, as one finds it who begins."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": folder}},
            record_timing=False, coalesce_streams=True,
        )  # fmt: skip
        return client.execute()


def tidy(notebook):
    """Drop what belongs to one run."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        kept = {key: cell.metadata[key] for key in ("tags",) if cell.metadata.get(key)}
        cell.metadata = nbformat.from_dict(kept)
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data.pop(WIDGET, None)
                if cell.source.startswith("torch.exercises("):
                    output.data.pop("text/html", None)  # its links lead to files that are there once the cell has run
    return notebook


if __name__ == "__main__":
    os.environ["AUTOLAB_HOME"] = "off"  # how often somebody has tried is not part of a lesson
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sums in one order; and on a busy machine threads that wait take ten times as long
    for path in sys.argv[1:]:
        nbformat.write(tidy(run(path)), path)
        print("saved", path)
