import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tour():
    return re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)


def test_the_tour_is_twenty_lines(tour):
    assert len([line for line in tour.splitlines() if line.strip()]) <= 20


def test_the_tour_prints_what_it_says(tour):
    said = re.findall(r"^print.*?# (.*)$", tour, re.M)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tour, "README.md", "exec"), {"__name__": "tour"})
    assert printed.getvalue().splitlines() == said
