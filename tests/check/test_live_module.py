"""A learner's module beside the notebook: read again when it was saved, and nobody else's engine."""

import sys

import pytest

from autolab.check import BEHAVIOURS, LiveModule, check


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("tiny_engine", "helper"):
        sys.modules.pop(name, None)


def said(name, candidate):
    return check(name, candidate).diagnoses[0].text


def test_a_saved_change_counts_at_once_even_within_the_same_second(here):
    engine = LiveModule("tiny_engine")
    for n in (1, 2, 3):
        (here / "tiny_engine.py").write_text(f"N = {n}")
        assert n == engine.N


def test_a_saved_change_of_a_module_that_it_imports_counts_too(here):
    (here / "tiny_engine.py").write_text("from helper import N")
    engine = LiveModule("tiny_engine")
    for n in (1, 2):
        (here / "helper.py").write_text(f"N = {n}")
        assert n == engine.N


def test_a_module_with_an_error_is_read_again_when_it_is_mended(here):
    (here / "tiny_engine.py").write_text("N = (1")
    engine = LiveModule("tiny_engine")
    with pytest.raises(SyntaxError):
        _ = engine.N
    (here / "tiny_engine.py").write_text("N = 1 ")
    assert engine.N == 1


def test_an_error_names_the_line_as_it_was_saved_last(here):
    engine = LiveModule("tiny_engine")
    for line in ("first", "second"):
        (here / "tiny_engine.py").write_text(f"class Value:\n    def __init__(self, data):\n        self.data = {line}")
        assert f"self.data = {line}" in said("capstone_scalars", engine)


def test_a_module_that_is_not_there_is_named(here):
    assert "there is no tiny_engine.py beside this notebook" in said("capstone_scalars", LiveModule("tiny_engine"))


@pytest.mark.parametrize(("line", "name"), [
    ("import autolab", "autolab"), ("from torch import Tensor", "torch"), ("import autolab.nn as nn", "autolab"),
    ("def f():\n    import importlib", "importlib"), ("import helper", "jax"),
])  # fmt: skip
def test_another_engine_is_refused_also_by_way_of_a_helper(here, line, name):
    (here / "tiny_engine.py").write_text(line)
    (here / "helper.py").write_text("import jax")
    assert f"imports {name}; this engine is your own" in said("capstone_scalars", LiveModule("tiny_engine"))


def test_numpy_and_what_comes_with_python_are_welcome(here):
    (here / "tiny_engine.py").write_text("import math, numpy as np")
    assert LiveModule("tiny_engine").math.pi > 3


def test_an_engine_that_is_no_module_is_refused():
    from autolab.check.behaviour.autolab_engine import AUTOLAB

    assert "engine is a SimpleNamespace, expected a module" in said("capstone_scalars", AUTOLAB)


def test_every_milestone_refuses_autolab_itself():
    from autolab.check.behaviour import autolab_engine

    earned = {name: check(name, autolab_engine).points for name in BEHAVIOURS if name.startswith("capstone_")}
    assert len(earned) == 9 and set(earned.values()) == {0.0}


def test_a_line_that_raises_comes_with_the_one_that_called_it(here):
    (here / "tiny_engine.py").write_text("def halved(x):\n    return x / 0\n\n\ndef trace(x):\n    return halved(3 * x)\n")
    text = said("trace_table", LiveModule("tiny_engine").trace)
    assert text.endswith("(your line 2: return x / 0, called by line 6: `return halved(3 * x)`)")
