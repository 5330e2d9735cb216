"""A browser's clock may stand still for a tenth of a second. What divides by a difference of times still gives a number."""

import itertools
import json
import math
import re
import time
from pathlib import Path

import pytest

import autolab as torch
from autolab.widgets import forward_against_reverse, fusion, memory_against_depth
from autolab.widgets.costs import shortest_time

LESSONS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture
def coarse(monkeypatch):
    """perf_counter moves by 0.1 s at every fifth look."""
    looks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(looks) // 5 * 0.1)


def test_a_time_is_never_zero(coarse):
    assert 0 < shortest_time(lambda: None) <= 0.1


@pytest.mark.parametrize(
    "panel",
    [
        lambda: memory_against_depth(depths=(2, 4), segments=(0, 2)).move(depth=4, segments=2),
        lambda: forward_against_reverse(sizes=(2, 3)),
        lambda: fusion(x=torch.ones(100_000)).move(step=99),
    ],
)
def test_explorables_of_costs_tell_times(coarse, panel):
    times = re.findall(r"([\d.e-]+|inf|nan) (?:ms|µs)\b", panel().sentence)
    assert len(times) == 2 and all(float(t) > 0 and math.isfinite(float(t)) for t in times)


def test_the_clock_of_lesson_15(coarse):
    cells = json.loads((LESSONS / "15-compile.ipynb").read_text("utf-8"))["cells"]
    source = next("".join(cell["source"]) for cell in cells if "def clock" in "".join(cell["source"]))
    names = {"time": time}
    exec(source.partition("\n\n\n")[0], names)
    one, other = names["clock"](lambda: None, lambda: None)
    assert one > 0 and other > 0
