"""A dropped graph is freed at once, by reference counts alone: the collector is off in every test here."""

import gc
import os
import platform
import subprocess
import sys
import weakref

import numpy as np
import pytest

import autolab as torch

pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


@pytest.fixture(autouse=True, scope="module")
def _collector_off():
    gc.collect()
    gc.freeze()  # what other tests and libraries left is not part of the garbage counted here
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.fixture
def x():
    return torch.tensor(np.linspace(0.1, 1.0, 8), requires_grad=True)


def watch(*things):
    """A function that says which of the things are still alive."""
    names = [type(t).__name__ for t in things]
    references = [weakref.ref(t) for t in things]
    return lambda: [name for name, r in zip(names, references) if r() is not None]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x**3
        ctx.save_for_backward(x, out, x * x)
        return out

    @staticmethod
    def backward(ctx, g):
        _, _, square = ctx.saved_tensors
        return 3 * g * square


MAKE = {
    "a sum": lambda x: x + x,
    "exp, which saves its result": lambda x: x.exp(),
    "a chain": lambda x: (x * x).tanh().sigmoid().sqrt(),
    "a broadcast": lambda x: x * torch.ones(3, 8),
    "a view": lambda x: (x * 2).view(2, 4).t()[1],
    "an output of several": lambda x: (x * 2).split(2)[1],
    "max over a dim": lambda x: (x * 2).reshape(2, 4).max(dim=1)[0],
    "a write in place": lambda x: (x * 2).mul_(3),
    "a write through a view": lambda x: torch.zeros(8, dtype=torch.float64).copy_(x),
    "a custom Function": Cube.apply,
    "softmax": lambda x: x.softmax(0),
    "a stack": lambda x: torch.stack([x, x * 2]),
    "indexing": lambda x: x[torch.tensor([0, 2])],
    "where": lambda x: torch.where(x > 0.5, x, x * 2),
    "a matrix product": lambda x: x.reshape(2, 4) @ x.reshape(4, 2),
    "cross entropy": lambda x: torch.nn.functional.cross_entropy(x.reshape(2, 4), torch.tensor([1, 2])),
    "a linear layer": lambda x: torch.nn.Linear(8, 3, dtype=torch.float64)(x.reshape(1, 8)),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_dropped_graph_is_freed(x, make):
    y = make(x)
    alive = watch(y, y.grad_fn)
    del y
    assert alive() == []


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_dropped_graph_is_freed_after_backward(x, make):
    y = make(x)
    alive = watch(y, y.grad_fn)
    y.sum().backward()
    del y
    assert alive() == []


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_dropped_graph_is_freed_after_a_retained_pass(x, make):
    y = make(x)
    alive = watch(y, y.grad_fn)
    y.sum().backward(retain_graph=True)
    del y
    assert alive() == []


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_dropped_graph_is_freed_after_a_recorded_pass(x, make):
    y = make(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    alive = watch(y, y.grad_fn, g, *([] if g.grad_fn is None else [g.grad_fn]))
    del y, g
    assert alive() == []


def test_saved_arrays_are_freed_with_the_graph(x):
    y = x.exp()
    alive = watch(y.payload)
    del y
    assert alive() == []


def test_saved_arrays_are_freed_by_backward_while_the_graph_still_stands(x):
    z = (x.exp() * x).sum()
    product = z.grad_fn.next_functions[0][0]
    alive = watch(next(saved.value for saved in product.saved_values() if saved.name == "x"))
    assert alive() == ["ndarray"]
    z.backward()
    assert alive() == []


def test_a_graph_with_hooks_is_freed(x):
    y = x.exp()
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.grad_fn.register_prehook(lambda gs: None)
    y.grad_fn.metadata["note"] = 1
    alive = watch(y, y.grad_fn)
    y.sum().backward()
    del y
    assert alive() == []


def test_a_leaf_and_its_accumulator_do_not_keep_each_other_alive():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    alive = watch(x, y.grad_fn.next_functions[0][0])
    del y
    assert alive() == ["Tensor"]
    del x
    assert alive() == []


def test_a_leaf_with_hooks_and_gradient_is_freed():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    (x * 2).sum().backward()
    alive = watch(x, x.grad)
    del x
    assert alive() == []


def test_a_graph_keeps_its_leaves_alive():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).sum()
    alive = watch(x)
    del x
    assert alive() == ["Tensor"]
    del y
    assert alive() == []


def test_an_abandoned_pass_holds_on_to_nothing(x):
    from autolab.engine.backward import steps

    y = x.exp().sum()
    alive = watch(y, y.grad_fn)
    walk = steps([y], [np.ones(())])
    next(walk)
    del walk, y
    assert alive() == []


def test_a_pass_that_failed_holds_on_to_nothing(x):
    y = x.exp()
    y.register_hook(lambda g: 1 / 0)
    alive = watch(y, y.grad_fn)
    with pytest.raises(ZeroDivisionError) as caught:
        y.sum().backward()
    del y, caught
    assert alive() == []


def test_a_thousand_steps_of_training_leave_no_garbage(x):
    import autolab.nn as nn

    model = nn.Sequential(nn.Linear(8, 4, dtype=torch.float64), nn.Tanh(), nn.Linear(4, 1, dtype=torch.float64))
    optimizer = torch.optim.Adam(model.parameters())

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

    train(5)  # code is written in the first of them
    gc.collect()
    train(1000)
    assert gc.collect() == 0


def malloc(setting):
    """What keep_freed_memory says in a process of its own."""
    program = "from autolab.memory import keep_freed_memory; print(keep_freed_memory())"
    environment = {**os.environ, "AUTOLAB_MALLOC": setting}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True).stdout.strip()


def test_the_allocator_can_be_left_alone():
    assert malloc("0") == "False"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_the_allocator_keeps_freed_memory():
    assert malloc("") == "True"
