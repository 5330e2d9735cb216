"""Gradients of large arrays are written over those that came in, as long as nobody else looks at them."""

import numpy as np
import pytest

import autolab
from autolab.engine.backward import steps
from autolab.fast import backward, large

N = backward.LARGE + 5


@pytest.fixture
def leaves(rng):
    return [autolab.tensor(rng.random(N).astype(np.float32) + 0.5, requires_grad=True) for _ in range(2)]


PROGRAMS = {
    "products": lambda x, y: x * y * x,
    "a square": lambda x, y: x * x * y,
    "a number beside": lambda x, y: (2 / x - y) * 0.5,
    "g passed on twice": lambda x, y: (x + y) * (x - y) + x,
    "several steps": lambda x, y: (x * y).tanh() * (y - x).sigmoid(),
    "long rules": lambda x, y: autolab.nn.functional.gelu(x * y) + autolab.nn.functional.silu(y),
    "a mask": lambda x, y: autolab.where(x > y, x, y.relu()) ** 2,
    "a view": lambda x, y: (x * y).reshape(1, -1).exp()[0, 3:] * y[3:],
    "another dtype": lambda x, y: x.double() * y + x.log(),
    "stretched": lambda x, y: x * y[0] + y.sqrt() * x.mean(),
}


def gradients(program, leaves, reduce=lambda z: z.sum(), **options):
    return [g.numpy() for g in autolab.autograd.grad(reduce(program(*leaves)), leaves, **options)]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("reduce", [lambda z: z.sum(), lambda z: (z * z * 0.5).mean()], ids=["sum", "mean of squares"])
def test_they_are_those_of_small_arrays(program, reduce, leaves, monkeypatch):
    for t in leaves:
        t.grad = None
    reduce(program(*leaves)).backward()
    found = gradients(program, leaves, reduce)
    monkeypatch.setattr(backward, "LARGE", 1 << 40)
    expected = gradients(program, leaves, reduce)
    for t, g, right in zip(leaves, found, expected):
        np.testing.assert_allclose(g, right, rtol=2e-6)
        np.testing.assert_array_equal(t.grad.numpy(), g)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_second_pass_over_the_graph_gives_the_same(program, leaves):
    loss = program(*leaves).sum()
    first = autolab.autograd.grad(loss, leaves, retain_graph=True)
    kept = [g.clone() for g in first]
    for a, b, c in zip(autolab.autograd.grad(loss, leaves), kept, first):
        assert autolab.equal(a, b) and autolab.equal(c, b)


def test_what_was_handed_in_stays_as_it_is(leaves):
    x, y = leaves
    g = autolab.ones(N)
    (x * y).exp().tanh().backward(g)
    assert autolab.equal(g, autolab.ones(N))


def test_what_a_hook_keeps_stays_as_it_is(leaves):
    x, y = leaves
    kept, z = [], x * y
    z.register_hook(kept.append)
    w = -z.exp()
    w.register_hook(lambda g: kept.append(g[1:]))  # a view keeps it just as well
    w.backward(autolab.full((N,), 3.0))
    assert autolab.equal(kept[0], autolab.full((N - 1,), 3.0))
    np.testing.assert_allclose(kept[1].numpy(), -3 * np.exp((x * y).detach().numpy()), rtol=1e-5)


def test_a_gradient_retained_or_asked_for_on_the_way_stays_as_it_is(leaves):
    x, y = leaves
    z = x * y
    z.retain_grad()
    z.tanh().log().sum().backward()
    t = np.tanh(z.detach().numpy().astype(float))
    np.testing.assert_allclose(z.grad.numpy(), (1 - t * t) / t, rtol=2e-4)
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy() * y.detach().numpy(), rtol=1e-6)


def test_what_a_function_of_ones_own_keeps_stays_as_it_is(leaves):
    x, y = leaves
    kept = []

    class Twice(autolab.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            kept.append(g)
            back = g * 2
            kept.append(back)
            return back

    Twice.apply((x * y).exp()).sin().sum().backward()
    assert autolab.equal(kept[0] * 2, kept[1])


def test_one_asked_for_on_the_way_stays_as_it_is(leaves):
    x, y = leaves
    z = (x * y).exp()
    of_z, of_x = autolab.autograd.grad(z.tanh().log().sum(), [z, x])
    np.testing.assert_allclose(of_x.numpy(), (of_z * z * y).detach().numpy(), rtol=2e-6)


def test_steps_that_are_shown_stay_as_they_were(leaves):
    x, y = leaves
    loss = (x * y).exp().log().sum()
    shown = [(incoming, [g.copy() for g in incoming]) for _, incoming, _ in steps([loss], [np.float32(1)])]
    for incoming, copies in shown:
        for g, copy in zip(incoming, copies):
            np.testing.assert_array_equal(g, copy)


@pytest.mark.speed
def test_they_are_written_over_where_nobody_looks(leaves, monkeypatch):
    x, over, apply = leaves[0], [], large.apply

    def watched(*args):
        over.append(args[-1] is not None)
        return apply(*args)

    monkeypatch.setattr(large, "apply", watched)
    x.exp().tanh().log().sum().backward()
    assert over == [False, True, True]  # the sum gives one number, in the shape of the array
