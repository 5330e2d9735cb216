"""A pool whose one window sees all is a mean, and gives its gradient to all alike."""

import numpy as np
import pytest

from autolab.fast.kernels import pool
from autolab.rules import pool as rows

pytestmark = pytest.mark.speed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "kernel", "padding", "size"), [
    ((3, 2, 5, 7), (5, 7), (0, 0), (1, 1)), ((2, 4, 6), (6,), (0,), (1,)), ((4, 6), (6,), (0,), (1,)),
    ((3, 2, 4, 4), (4, 4), (1, 1), (1, 1)), ((3, 2, 4, 4), (2, 4), (0, 0), (2, 1)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("divisor", [None, 3])
def test_one_window_over_all_gives_what_the_formulas_give(shape, kernel, padding, size, divisor, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    settings = dict(kernel=kernel, stride=kernel, padding=padding, size=size, count_padding=True, divisor=divisor)
    out = rows.avg_pool_values(x, **settings)
    np.testing.assert_allclose(pool.avg_pool(x, **settings), out, rtol=1e-5, atol=1e-6)
    back = dict(shape=shape[len(shape) - len(kernel) :], **settings)
    np.testing.assert_array_equal(pool.avg_pool_back(out, **back), rows.avg_pool_back_values(out, **back))
