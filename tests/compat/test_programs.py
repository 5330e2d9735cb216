"""One program, run by PyTorch and by autolab from the same weights: the same losses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "program.py"
WITH_AUTOLAB = ["-m", "autolab.compat"]
TEXT = "shall i compare thee to a summer's day? thou art more lovely and more temperate: rough winds do shake the darling buds of may, " * 6


def losses(command, folder):
    result = subprocess.run([sys.executable, *command, str(PROGRAM), str(folder)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.oracle
def test_a_language_model_learns_the_same(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    theirs = losses([], tmp_path)  # writes the weights that both start from
    ours = losses(WITH_AUTOLAB, tmp_path)
    for mode, rel in [("float32", 2e-4), ("bfloat16", 1e-2)]:
        assert ours[mode] == pytest.approx(theirs[mode], rel=rel)
        assert ours[mode][-1] < ours[mode][0] - 0.1
