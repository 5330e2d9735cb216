"""Every cell of every lesson in Pyodide under Node, in the shell that JupyterLite's kernel has: none raises, and each prints what is saved."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest

from tests.notebooks.tolerance import tolerance

pytestmark = [
    pytest.mark.skipif(sys.platform != "emscripten", reason="it runs in Pyodide (`make wasm`); here `make notebooks` runs every lesson"),
    pytest.mark.filterwarnings("default"),
]
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PROMPT = re.compile(r"^Out\[\d+\]: ?", re.MULTILINE)
PLACE = re.compile(r"0x[0-9a-f]+|<ipython-input-[^>]*>|/\S*ipykernel_\S*")  # addresses, and what the file of a cell is called
ON_A_COMPUTER = {("23", "train-run"), ("23", "train-compare")}  # cells that start processes, and say in a browser that it has one
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    import autolab

    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()
    autolab.set_default_dtype(autolab.float32)  # lesson 19 leaves float64, in a process that other lessons share here


def saved(cell):
    """The words of a cell that are in the notebook."""
    printed = ["".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream" and o["name"] == "stdout"]
    shown = ["".join(o["data"].get("text/plain", "")) for o in cell["outputs"] if o["output_type"] == "execute_result"]
    return PLACE.sub("", "".join(printed + shown)).split()


def run(shell, cell):
    """The words of a cell that is run now."""
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        done = shell.run_cell("".join(cell["source"]), store_history=True)
    done.raise_error()
    return PLACE.sub("", PROMPT.sub("", captured.stdout)).split()


def same(printed, saved, relative):
    """The same words, and the same numbers but for the last digits: exp and sin are those of another library of mathematics."""
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(saved), strict=False)
    return NUMBER.sub("", printed) == NUMBER.sub("", saved) and all(
        math.isclose(float(a), float(b), rel_tol=relative, abs_tol=1e-6) for a, b in pairs
    )


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem.partition("-")[0])
def test_lesson(path, shell, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lesson = path.stem.partition("-")[0]
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        printed = run(shell, cell)
        tags = cell["metadata"].get("tags", ())
        if (lesson, cell["id"]) in ON_A_COMPUTER:
            assert "computer" in printed
        elif "nbval-ignore-output" not in tags:
            alike = same(" ".join(printed), " ".join(saved(cell)), tolerance(tags) or 1e-3)
            assert printed == saved(cell) or alike, "".join(cell["source"])
