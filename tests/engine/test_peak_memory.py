"""What a backward pass holds at its highest: saved values are let go of as soon as they have been used. Bytes are counted, not pages."""

import tracemalloc

import numpy as np
import pytest

import autolab as torch
from autolab.engine.backward import run, steps

SIZE, DEPTH = 1 << 17, 8


def every_step(roots, gradients):
    for _ in steps(roots, gradients):
        pass


def peak(call):
    """Arrays of SIZE float32 that a call needs beyond what there was, and that it leaves."""
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    call()
    after, highest = tracemalloc.get_traced_memory()
    return (highest - before) / (4 * SIZE), (after - before) / (4 * SIZE)


@pytest.fixture
def counting():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("walk", [run, every_step])
def test_saved_values_are_freed_while_the_pass_goes_on(counting, walk):
    x = torch.rand(SIZE, requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y.sin().exp()
    seed = np.ones(SIZE, np.float32)
    highest, left = peak(lambda: walk([y], [seed]))
    # sin keeps its input, and exp its result, which is the next sin's input; y itself and the gradient of x stay
    assert highest < 3.2
    assert left < 2.1 - DEPTH


def test_a_graph_that_is_kept_keeps_its_saved_values(counting):
    x = torch.rand(SIZE, requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y.sin().exp()
    highest, left = peak(lambda: run([y], [np.ones(SIZE, np.float32)], retain_graph=True))
    assert 0.9 < left < highest
