"""Writes that the graph is told of, and writes that it is made to bear."""

import numpy as np
import pytest


@pytest.fixture
def graph(lib):
    return lib.autograd.graph


def ones(lib, *shape):
    return lib.ones(*shape, dtype=lib.float64, requires_grad=True)


def test_a_write_that_cannot_be_seen_can_be_told(lib, graph):
    x = lib.ones(2)
    graph.increment_version(x)
    graph.increment_version([x, x])
    assert x._version == 3


def test_a_graph_that_was_told_of_a_write_refuses(lib, graph):
    h = ones(lib, 2) * 1
    loss = (h * h).sum()
    h.detach().numpy()[0] = 5
    graph.increment_version(h)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        loss.backward()


def test_what_was_saved_may_be_written_over(lib, graph):
    with graph.allow_mutation_on_saved_tensors():
        a = ones(lib, 2, 3)
        b = a.clone()
        loss = (b**2).sum()
        b.sin_()
        loss.backward()
    assert (a.grad == 2).all()


def test_a_write_through_a_view_copies_what_was_saved_of_the_base(lib, graph):
    with graph.allow_mutation_on_saved_tensors():
        a = ones(lib, 2, 3)
        b = a.clone()
        row = b[0]
        out = (b * row).sum()
        row.mul_(5)
        b.cos_()
        (out + b.sum()).backward()
    s = np.sin(5) * 5
    np.testing.assert_allclose(a.grad.tolist(), [[3 - s] * 3, [1 - np.sin(1)] * 3])


def test_a_saved_result_may_be_written_over(lib, graph):
    with graph.allow_mutation_on_saved_tensors():
        a = ones(lib, 2)
        b = a.exp()
        total = b.sum()
        b.mul_(3).mul_(2)
        (b.sum() + total).backward()
    np.testing.assert_allclose(a.grad.tolist(), [7 * np.e] * 2)


def test_second_derivatives_use_what_was_saved_too(lib, graph):
    with graph.allow_mutation_on_saved_tensors():
        a = ones(lib, 2)
        b = a.clone()
        out = (b**3).sum()
        b.sin_()
        (first,) = lib.autograd.grad(out, a, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), a)
    assert first.tolist() == [3, 3] and second.tolist() == [6, 6]


def test_a_graph_made_within_is_differentiated_within(lib, graph):
    with graph.allow_mutation_on_saved_tensors():
        loss = (ones(lib, 2) ** 2).sum()
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"):
        loss.backward()


def test_a_graph_made_outside_is_watched_as_ever(lib, graph):
    b = ones(lib, 2) * 1
    loss = (b**2).sum()
    with graph.allow_mutation_on_saved_tensors():
        b.sin_()
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            loss.backward()


def test_what_was_saved_can_be_let_go(lib, graph):
    with graph.allow_mutation_on_saved_tensors() as context:
        loss = (ones(lib, 2) ** 2).sum()
        context.clear()
        with pytest.raises(AssertionError, match="Trying to backward outside"):
            loss.backward()


def test_two_contexts_do_not_nest(lib, graph):
    with graph.allow_mutation_on_saved_tensors(), pytest.raises(RuntimeError, match="contexts cannot be nested"):
        graph.allow_mutation_on_saved_tensors().__enter__()
    assert lib.ones(1).add_(1).item() == 2


@pytest.mark.parametrize("lib", ["autolab"], indirect=True)
def test_only_what_is_written_over_is_copied(lib, graph):
    with graph.allow_mutation_on_saved_tensors() as context:
        a, b = ones(lib, 2) * 1, ones(lib, 2) * 1
        loss = (a * a + b * b).sum()
        a.sin_()
        copied = len(context.cloned)
        loss.backward()
    assert (copied, len(context.cloned)) == (1, 0)  # one copy for both factors of a * a, gone with the graph
