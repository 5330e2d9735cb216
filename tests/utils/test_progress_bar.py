"""How far a loop is, with tqdm and without."""

import itertools

import pytest

from autolab.utils import progress_bar as file
from autolab.utils.progress_bar import progress_bar


def without_tqdm(monkeypatch):
    """A machine without tqdm, whose clock moves two seconds each time that one looks."""
    monkeypatch.setattr(file, "find_spec", lambda name: None)
    monkeypatch.setattr(file.time, "monotonic", itertools.count(0, 2).__next__)


def test_it_gives_every_item_once(capsys):
    assert list(progress_bar([3, 1, 2])) == [3, 1, 2]


def test_without_tqdm_it_gives_every_item_once_too(monkeypatch, capsys):
    without_tqdm(monkeypatch)
    assert list(progress_bar([3, 1, 2])) == [3, 1, 2]


def test_tqdm_writes_to_standard_output(capsys):
    pytest.importorskip("tqdm")
    list(progress_bar(range(4), "training"))
    out, err = capsys.readouterr()
    assert "training" in out and "4/4" in out and err == ""


def test_without_tqdm_a_line_says_how_many_seconds_are_left(monkeypatch, capsys):
    without_tqdm(monkeypatch)
    list(progress_bar(range(4), "training"))
    lines = [line.strip() for line in capsys.readouterr().out.split("\r")]
    assert lines == ["", *(f"training: {n} of 4, {8 - 2 * n} s left" for n in (1, 2, 3, 4))]
