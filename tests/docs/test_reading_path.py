"""The eight stops from lesson 1's engine to the package's: each names things that are in its file, and in the lesson."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reading-path.md").read_text()
LESSON = (ROOT / "notebooks" / "01-engine-in-60-lines.ipynb").read_text()
STOPS = re.findall(r"^\| (\d) \| (.+?) \| \[(\w+\.py)\]\(\.\./(.+?)\) \| (.+) \|$", PAGE, re.M)


def names(text):
    return [name for name in re.findall(r"`([\w.]+)`", text) if not name.endswith(".py")]


def test_there_are_eight_stops_and_each_file_knows_its_number():
    assert [number for number, *_ in STOPS] == list("12345678")
    for number, _, name, path, _ in STOPS:
        assert path.endswith(f"engine/{name}")
        assert (ROOT / path).read_text().startswith(f'"""{number}. ')


@pytest.mark.parametrize(("number", "before", "name", "path", "now"), STOPS)
def test_what_a_stop_names_is_there(number, before, name, path, now):
    source = (ROOT / path).read_text()
    assert all(re.search(rf"\b{part}\b", source) for found in names(now) for part in found.split("."))
    assert all(found.split(".")[-1] in LESSON for found in names(before))


def test_a_module_of_the_engine_is_a_stop_or_lies_beside_the_path():
    files = {path.name for path in (ROOT / "autolab" / "engine").glob("*.py")} - {"__init__.py"}
    assert files == set(re.findall(r"\(\.\./autolab/engine/(\w+\.py)\)", PAGE))
