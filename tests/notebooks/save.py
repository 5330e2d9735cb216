"""Run a lesson and save it as it is committed: `python tests/notebooks/save.py notebooks/04-inside-backward.ipynb`.

The outputs are part of the lesson, and what a reader sees where there is no kernel. What belongs to one run only is
dropped: timestamps, the scripts of explorables (their still form is kept), and the version of the Python that happened to run it.
"""

import os
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

OUTPUT = re.compile(r"<div data-autolab>(.*)<script data-key=.*</script></div>", re.S)
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# A folded output, as JupyterLab and Notebook 7 write it; running the cell opens it.
FOLDED = {"collapsed": True, "jupyter": {"outputs_hidden": True}}
# In place of a folded output they show the first line of the first one, which is often the answer. This one has no line.
NO_LINE = {"output_type": "display_data", "data": {}, "metadata": {}}


def run(path):
    """The lesson, run from top to bottom by a fresh kernel in an empty folder, as one finds it who begins."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": folder}},
            record_timing=False, coalesce_streams=True,
        )  # fmt: skip
        return client.execute()


def without_scripts(data):
    """Keep the still form of an explorable: its picture, or the HTML of a quiz."""
    output = OUTPUT.fullmatch(data.get("text/html", ""))
    if output and "image/svg+xml" in data:
        del data["text/html"]
    elif output:
        data["text/html"] = output[1]


def after_predictions(notebook):
    """The cells that show what a prediction asks for: each the first after it that shows anything."""
    showing = [cell for cell in notebook.cells if cell.get("outputs", [NO_LINE]) not in ([], [NO_LINE])]
    return [cell for asking, cell in zip(showing, showing[1:]) if asking.source.startswith("predict(")]


def tidy(notebook):
    """Drop what belongs to one run, and fold what answers a prediction."""
    notebook.metadata = nbformat.from_dict(METADATA)
    answers = {cell.id for cell in after_predictions(notebook)}
    for cell in notebook.cells:
        kept = {key: cell.metadata[key] for key in ("tags",) if cell.metadata.get(key)}
        cell.metadata = nbformat.from_dict(kept | (FOLDED if cell.id in answers else {}))
        if cell.id in answers:
            cell.outputs = [nbformat.from_dict(NO_LINE), *(output for output in cell.outputs if output != NO_LINE)]
        for output in cell.get("outputs", ()):
            if "data" in output:
                without_scripts(output.data)
                if cell.source.startswith("torch.exercises("):
                    output.data.pop("text/html", None)  # its links lead to files that are there once the cell has run
    return notebook


if __name__ == "__main__":
    os.environ["AUTOLAB_HOME"] = "off"  # how often somebody has tried is not part of a lesson
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sums in one order; and on a busy machine threads that wait take ten times as long
    for path in sys.argv[1:]:
        nbformat.write(tidy(run(path)), path)
        print("saved", path)
