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


def long():
    x = leaf(2.0)
    y = x
    for _ in range(100):
        y = (y * x).tanh() + 1
    return y


def test_a_large_graph_is_drawn_in_groups():
    pytest.importorskip("graphviz")
    y = long()
    source = dot(y).source
    assert source.count("label=") - source.count("edges") <= 60
    assert "box3d" in source
    assert 'label="rounds 1 to' in source
    assert dot(y, limit=None).source.count("TanhBackward0") == 100


def test_a_missing_program_is_a_sentence(monkeypatch, tmp_path):
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", str(tmp_path))
    for draw in lambda made: made.pipe("svg"), lambda made: made.render(tmp_path / "graph", format="pdf"):
        with pytest.raises(RuntimeError, match=r"needs its program `dot`.*apt install graphviz.*draw.svg"):
            draw(dot(leaf(2.0) * 2))
    assert "apt install graphviz" in dot(leaf(2.0) * 2)._repr_mimebundle_()["text/plain"]
