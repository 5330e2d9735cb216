"""Kernels do not lay out at once what a step never needs at once."""

import tracemalloc

import numpy as np
import pytest

import autolab as torch
from autolab.fast.kernels.elementwise import keep

pytestmark = pytest.mark.speed


def peak(call):
    """The most bytes that are asked for during a call, beyond what there was before."""
    tracemalloc.start()
    call()
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest


def test_columns_of_a_convolution_are_laid_out_for_a_few_samples_at_a_time():
    x, weight = torch.rand(32, 16, 32, 32, requires_grad=True), torch.rand(16, 16, 3, 3, requires_grad=True)
    assert (
        peak(lambda: torch.conv2d(x, weight, padding=1).sum().backward()) < 5 * x.nbytes
    )  # the columns of all samples are 9 times as large as x


def test_attention_takes_no_more_room_than_its_weights():
    q = torch.rand(2, 4, 16, 64, requires_grad=True)
    attention = torch.nn.functional.scaled_dot_product_attention
    attention(q, q, q).sum().backward()  # what is loaded and kept by a first call
    assert peak(lambda: attention(q, q, q).sum().backward()) < 12 * q.nbytes


def test_what_a_condition_keeps_is_made_in_one_array():
    g = np.ones(10_000, np.float32)
    assert peak(lambda: keep(g, g > 0)) < 1.5 * g.nbytes
