"""What is done otherwise in a browser, tried here; `make wasm` tries it in Pyodide."""

import weakref

import numpy as np
import pytest

import autolab as torch
from autolab import browser
from autolab.engine import backward
from autolab.engine.node import Node
from autolab.rules.lapack import raises_for_nan

N = 3000


@pytest.fixture
def as_in_a_browser(monkeypatch):
    monkeypatch.setattr(Node, "__del__", browser.free_in_turn, raising=False)
    monkeypatch.setattr(backward, "elsewhere", browser.here)


def test_a_chain_is_freed_one_node_after_the_other(as_in_a_browser, monkeypatch):
    depth, deepest = 0, 0

    def measured(node):
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)
        browser.free_in_turn(node)
        depth -= 1

    monkeypatch.setattr(Node, "__del__", measured, raising=False)
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(N):
        y = y * 1.0
    first = weakref.ref(y.grad_fn)
    y.backward()
    del y
    assert first() is None and deepest == 2 and not browser.waiting
    assert x.grad == 1.0


def test_a_graph_that_others_hold_stays(as_in_a_browser):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    z = (y * y).sin()
    del z
    y.backward()
    assert x.grad == 6.0


def test_passes_within_each_other_need_no_second_thread(as_in_a_browser):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x)
            ctx.n = n
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if ctx.n:
                with torch.enable_grad():
                    z = x.detach().requires_grad_()
                    Again.apply(z, ctx.n - 1).backward()
            return 2 * x * g, None

    x = torch.tensor(2.0, requires_grad=True)
    Again.apply(x, backward.MOST_WITHIN_EACH_OTHER + 5).backward()
    assert x.grad == 4.0


def test_nan_from_numbers_is_an_error_and_nan_from_nan_is_not():
    solve = raises_for_nan(lambda a, b: np.full_like(b, np.nan))
    with pytest.raises(np.linalg.LinAlgError):
        solve(np.eye(2), np.ones((2, 1)))
    assert np.isnan(solve(np.full((2, 2), np.nan), np.ones((2, 1)))).all()


@pytest.mark.parametrize("made", [
    lambda x: x.argmax(), lambda x: x.argmin(1), lambda x: x.argsort(), lambda x: x.sort().indices, lambda x: x.topk(2).indices,
    lambda x: x.max(1).indices, lambda x: x.min(0).indices, lambda x: x.median(1).indices, lambda x: x.mode(1).indices,
    lambda x: x.kthvalue(1).indices, lambda x: x.cummax(1).indices, lambda x: x.nonzero(), lambda x: torch.where(x > 1)[0],
    lambda x: torch.argwhere(x), lambda x: torch.unique(x, return_inverse=True)[1], lambda x: torch.unique(x, return_counts=True)[1],
    lambda x: torch.bincount(x.long().flatten()), lambda x: torch.searchsorted(x[0].sort().values, x[1]), lambda x: (x > 1).sum(),
    lambda x: (x > 1).cumsum(1), lambda x: torch.multinomial(x, 2), lambda x: torch.multinomial(x, 9, True), lambda x: torch.randperm(4),
    lambda x: torch.repeat_interleave(torch.arange(2), torch.tensor([1, 2])), lambda x: torch.nn.functional.max_pool1d(x, 2, return_indices=True)[1],
    lambda x: torch.nn.functional.adaptive_max_pool1d(x, 2, return_indices=True)[1], lambda x: torch.nn.functional.one_hot(x.argmax(1)),
    lambda x: torch.take_along_dim(x, x.argsort(), 1).argsort(), lambda x: torch.distributions.Categorical(x).sample((3,)),
    lambda x: torch.datasets.two_moons(5)[1], lambda x: torch.datasets.digits("test")[1], lambda x: torch.triu_indices(3, 3),
    lambda x: x.to(int), lambda x: x.type(int), lambda x: torch.zeros(2, dtype=int), lambda x: torch.tensor([1], dtype=int),
    lambda x: torch.count_nonzero(x), lambda x: torch.nn.utils.rnn.pack_sequence([x, x[:1]]).batch_sizes,
])  # fmt: skip
def test_what_counts_is_int64(made):
    assert made(torch.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 5.0]])).dtype == torch.int64
