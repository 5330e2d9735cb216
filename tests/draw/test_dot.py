"""The graph for Graphviz. Its program need not be there: only the source is made."""

import sys

import pytest

import autolab as torch
from autolab.draw import dot
from autolab.trace import record


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def test_nodes_and_edges_of_the_source():
    pytest.importorskip("graphviz")
    x = leaf(2.0)
    source = dot(3 * x + 1).source
    assert "MulBackward0\\n6" in source
    assert "n2 -> n1" in source
    assert "rankdir=LR" in source


def test_gradients_stand_on_the_edges_of_a_recorded_pass():
    pytest.importorskip("graphviz")
    x = leaf(2.0)
    assert 'label="grad 3"' in dot(record(3 * x + 1)).source


def test_a_name_with_quotes_and_backslashes_is_text():
    pytest.importorskip("graphviz")
    x = leaf(2.0)
    assert r"a\\n\"b" in dot(record(3 * x, names={'a\\n"b': x})).source


def test_direction_is_checked():
    pytest.importorskip("graphviz")
    with pytest.raises(ValueError, match='"right" or "down"'):
        dot(leaf(2.0) * 2, direction="LR")


def test_a_missing_package_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match=r'pip install "autolab-grad\[lab\]"'):
        dot(leaf(2.0) * 2)
