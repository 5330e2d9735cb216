"""Convolutions of the numba backend: the values and gradients of the formula, whatever the settings."""

import itertools

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import source_of
from autolab.rules import conv as rows

pytestmark = pytest.mark.numba
SIZES = [
    (1, 1, (7, 9), 1),
    (2, 3, (11, 9), 9),
    (3, 4, (6, 17), 5),
    (5, 2, (40, 21), 17),
]  # samples, channels, places, channels of the result
SETTINGS = [
    dict(stride=s, padding=p, dilation=d) for s, p, d in itertools.product([(1, 1), (2, 3), (3, 1)], [(0, 0), (2, 1)], [(1, 1), (2, 1), (1, 2)])
]  # fmt: skip


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def close(mine, right):
    assert (mine.shape, mine.dtype) == (right.shape, right.dtype)
    np.testing.assert_allclose(mine, right, rtol=0, atol=2e-5 * max(1, np.abs(right).max()))


def compare(x, weight, bias, settings):
    """The three functions on these inputs, with the formulas of their rows."""
    from autolab.compiler import direct

    settings = settings | {"groups": settings.get("groups", 1)}
    out = rows.conv_values(x, weight, bias, **settings)
    g = np.cos(out)
    close(direct.direct_conv(x, weight, bias, **settings), out)
    shape, kernel = x.shape[2:], weight.shape[2:]
    close(direct.direct_conv_input(g, weight, shape=shape, **settings), rows.conv_input_values(g, weight, shape=shape, **settings))
    close(direct.direct_conv_weight(g, x, kernel=kernel, **settings), rows.conv_weight_values(g, x, kernel=kernel, **settings))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (2, 5)])
def test_direct_convolutions_give_what_the_formulas_give(kernel, settings):
    for n, channels, places, wide in SIZES:
        compare(numbers(n, channels, *places), numbers(wide, channels, *kernel), numbers(wide), settings)


@pytest.mark.parametrize(
    "settings", [dict(stride=(s,), padding=(p,), dilation=(d,)) for s in (1, 2) for p in (0, 3) for d in (1, 3)], ids=str
)
def test_so_do_those_along_one_axis(settings):
    compare(numbers(3, 4, 30), numbers(5, 4, 4), None, settings)


@pytest.mark.parametrize(
    ("dtype", "groups", "axes"), [(np.float64, 1, 2), (np.float32, 2, 2), (np.float32, 1, 3)], ids=["float64", "groups", "3d"]
)
def test_what_is_not_made_directly_is_made_as_before(dtype, groups, axes):
    x, weight = numbers(2, 4, *[6] * axes, dtype=dtype), numbers(4, 4 // groups, *[3] * axes, dtype=dtype)
    compare(x, weight, None, dict(stride=(1,) * axes, padding=(1,) * axes, dilation=(1,) * axes, groups=groups))


def test_arrays_that_do_not_lie_in_order_or_must_not_be_written():
    x, weight = numbers(9, 8, 3, 4).T, numbers(3, 3, 3, 5).T
    x.flags.writeable = False
    compare(x, weight, None, SETTINGS[0])


def test_an_infinity_stays_where_the_taps_saw_it():
    from autolab.compiler import direct

    x, g, settings = numbers(2, 2, 6, 6), numbers(2, 3, 4, 4), SETTINGS[0] | {"groups": 1}
    x[0, 1, 5, 5] = np.inf  # only the last tap of one channel sees it
    with np.errstate(invalid="ignore"):  # whether a product with an infinity warns is each machine's BLAS's own
        mine, right = (f(g, x, kernel=(3, 3), **settings) for f in (direct.direct_conv_weight, rows.conv_weight_values))
    np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(right))
    close(mine[:, 0], right[:, 0])


def test_a_compiled_network_uses_them_on_both_ways():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, stride=2, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 3, 3), torch.nn.ConvTranspose2d(3, 2, 3)
    )
    x = torch.randn(3, 2, 12, 12)

    def step():
        return torch.autograd.grad(net(x).square().sum(), list(net.parameters()))

    fast = torch.compile(step, backend="numba")
    fast()
    for mine, right in zip(fast(), step(), strict=True):
        close(mine.numpy(), right.numpy())
    assert all(f" direct_{name}(" in source_of(fast) for name in ("conv", "conv_input", "to_input", "to_weight"))
