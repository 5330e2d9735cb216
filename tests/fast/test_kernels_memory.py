"""Kernels do not lay out at once what a step never needs at once."""

import tracemalloc

import pytest

import autolab as torch

pytestmark = pytest.mark.speed


def test_columns_of_a_convolution_are_laid_out_for_a_few_samples_at_a_time():
    x, weight = torch.rand(32, 16, 32, 32, requires_grad=True), torch.rand(16, 16, 3, 3, requires_grad=True)
    tracemalloc.start()
    torch.conv2d(x, weight, padding=1).sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * x.nbytes  # the columns of all samples are 9 times as large as x
