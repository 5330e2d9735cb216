"""Outputs that are compared with a tolerance: how far numbers may go, and that words may not."""

import subprocess
import sys

import nbformat
import pytest

from .tolerance import Nearly, tolerance


@pytest.mark.parametrize(("tags", "relative"), [
    ([], None), (["engine"], None), (["nbval-tolerance"], 0.02), (["engine", "nbval-tolerance=0.1"], 0.1), (["nbval-tolerance=2"], None),
])  # fmt: skip
def test_a_tag_says_how_much_is_allowed(tags, relative):
    assert tolerance(tags) == relative


@pytest.mark.parametrize(("saved", "computed"), [
    ("96.4 % right", "97.2 % right"), ("loss 1.5e-3, -2", "loss 1.51e-03, -2.01"), ("a   9.99  3", "a  10.01  3"), ("<svg>1", "<svg>200"),
    ("tensor([0.10, nan])", "tensor([0.101, nan])"),
])  # fmt: skip
def test_numbers_within_the_tolerance_are_equal(saved, computed):
    assert Nearly(saved, 0.02) == Nearly(computed, 0.02)
    assert not Nearly(saved, 0.02) != Nearly(computed, 0.02)  # noqa: SIM202


@pytest.mark.parametrize(("saved", "computed"), [
    ("96.4 % right", "94.0 % right"), ("loss 0.5", "loss -0.5"), ("1 2", "1 2 3"), ("5 points", "5 marks"), ("lowest 1", "lowest nan"),
    ("float32", "float64"), ("layer2 1", "layer3 1"), ("1e-5", "1e-4"), ("<svg>", "no picture"),
])  # fmt: skip
def test_other_words_and_numbers_too_far_away_are_not_equal(saved, computed):
    assert Nearly(saved, 0.02) != Nearly(computed, 0.02)


@pytest.mark.parametrize(("tags", "code"), [(["nbval-tolerance"], 0), ([], 1)])
def test_a_cell_is_compared_as_its_tag_says(tmp_path, request, tags, code):
    cell = nbformat.v4.new_code_cell("print('loss', 2.0)", id="loss", metadata={"tags": tags}, execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", text="loss 2.02\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "one.ipynb")
    root = request.config.rootpath
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        root / "pyproject.toml",
        "--rootdir",
        tmp_path,
        "-p",
        "conftest",
        "--nbval",
        tmp_path,
    ]
    done = subprocess.run([*command, "--confcutdir", tmp_path, "-n", "0"], cwd=root, capture_output=True, text=True)
    assert done.returncode == code, done.stdout
