"""Graphs as deep and as wide as they come: nothing recurses."""

import gc
import sys
import weakref

import autolab as torch

DEEP = 200_000  # a C stack of 8 MB has 40 bytes for each: any recursion would end in it


def test_a_chain_of_two_hundred_thousand_nodes_builds_runs_backward_and_is_freed():
    x, c = torch.tensor(1.0, requires_grad=True), torch.tensor(1e-7)
    gc.disable()
    try:
        y = x
        for _ in range(DEEP):
            y = y + c
        y.backward()
        alive = weakref.ref(y.grad_fn)
        del y
        assert alive() is None
    finally:
        gc.enable()
    assert x.grad.item() == 1.0


def test_deep_custom_functions_do_not_recurse():
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20 * sys.getrecursionlimit()):
        y = Add.apply(y)
    y.backward()
    assert x.grad.item() == 1.0


def test_a_deep_graph_of_several_outputs_is_freed_without_recursion():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(20 * sys.getrecursionlimit()):
        a, b = y.unbind()
        y = torch.stack([b, a])
    y.sum().backward()
    del y, a, b
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_deep_chain_can_be_differentiated_twice():
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y, n = x, 5 * sys.getrecursionlimit()
    for _ in range(n):
        y = y * 1.0001
    (g,) = torch.autograd.grad(y * y, x, create_graph=True)
    (second,) = torch.autograd.grad(g, x)
    assert abs(second.item() / (2 * 1.0001 ** (2 * n)) - 1) < 1e-9


def test_one_tensor_may_be_used_a_hundred_thousand_times():
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    n = 100_000
    torch.stack([x] * n).sum().backward()
    assert x.grad.item() == n
