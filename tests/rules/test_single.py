"""Special functions, remainders and orders of large arrays go another way than those of small ones; they must arrive at the same place."""

import numpy as np
import pytest

import autolab
from autolab.fast.kernel import KERNELS
from autolab.fast.kernels import load_kernels
from autolab.rules import error_functions, index, order

FUNCTIONS = {
    "erf": autolab.erf, "erfc": autolab.erfc, "erfinv": autolab.erfinv, "lgamma": autolab.lgamma, "digamma": autolab.digamma,
    "trigamma": lambda x: autolab.polygamma(1, x),
}  # fmt: skip
ENDS = [0, -0.0, 1, -1, 2, -2, 0.5, 1e-30, -1e-30, 1e-40, np.inf, -np.inf, np.nan, 1e30, -1e30, 3e38, 171, -170.5, 1e5, 10.1, -10.1]


def kernel_of(row):
    load_kernels(row)
    return KERNELS[row.forward].function


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(-1,), (2, -1)])
def test_float32_is_float64_rounded(name, shape, rng):
    near_one = np.nextafter(np.float32([1, -1, 1, 2, 2]), np.float32([0, 0, 2, 1, 3]))  # where erfinv is steep, and lgamma 0
    parts = rng.uniform(-5, 12, 9000), rng.standard_normal(9000), 10 ** rng.uniform(-38, 38, 9000), rng.uniform(-1, 1, 9000)
    x = np.concatenate([*parts, ENDS, near_one]).astype(np.float32).reshape(shape)
    with np.errstate(all="ignore"):
        right = FUNCTIONS[name](autolab.tensor(x, dtype=autolab.float64)).numpy()
        found = FUNCTIONS[name](autolab.tensor(x)).numpy()
        rounded = right.astype(np.float32)
    assert found.dtype == np.float32 and found.shape == x.shape
    far = ~np.isfinite(rounded)
    np.testing.assert_array_equal(found[far], rounded[far])
    assert (np.abs(found[~far] - right[~far]) <= 0.9 * np.spacing(np.abs(rounded[~far]))).all()


def test_erfc_of_what_is_large_is_zero():
    assert error_functions.erfc_values(np.array([30.0, 62671.047, 13580.161, 1e300])).tolist() == [0, 0, 0, 0]


def hypot(x, y):
    """Rounded once: the C library's own for float32 may be one off, as a browser's is."""
    return np.hypot(x.astype(np.float64), y).astype(np.float32)


QUOTIENTS = {"fmod": np.fmod, "remainder": np.remainder, "hypot": hypot}


def ours(name, x, y):
    return getattr(autolab, name)(autolab.tensor(x), y if type(y) is int else autolab.tensor(y)).numpy()


def pairs(rng):
    """Quotients of all sizes, whole ones, those one step beside whole ones, and broken ones."""
    y = (10 ** rng.uniform(-3, 3, 40_000) * rng.choice([-1, 1], 40_000)).astype(np.float32)
    x = (10 ** rng.uniform(-4, 4, 40_000) * rng.choice([-1, 1], 40_000)).astype(np.float32)
    whole = y * np.round(rng.uniform(-999, 999, 40_000)).astype(np.float32)
    beside = np.nextafter(whole, np.float32(rng.choice([-np.inf, np.inf])))
    huge = x * np.float32(1e9)
    broken, by = x.copy(), y.copy()
    broken[[3, 5]], by[[3, 39_000, 7]] = [np.inf, np.nan], [2, 0, np.inf]
    return [(x, y), (np.round(x), np.round(y) / 4 + np.float32(0.25)), (whole, y), (beside, y), (huge, y), (broken, by)]


@pytest.mark.parametrize("name", QUOTIENTS)
def test_what_is_left_over_is_numpys_bit_by_bit(name, rng):
    numpys = QUOTIENTS[name]
    with np.errstate(all="ignore"):
        for x, y in pairs(rng):
            found, right = ours(name, x, y), numpys(x, y)
            same = found.view(np.int32) == right.view(np.int32)
            assert (same | (np.isnan(found) & np.isnan(right))).all()
            if name != "hypot":
                np.testing.assert_array_equal(ours(name, x, 3), numpys(x, np.float32(3)))


@pytest.mark.speed  # NumPy's own are one off where they are large
def test_quotients_are_rounded_down_from_the_exact_one(rng):
    for x, y in pairs(rng)[:4]:
        x, y = x[y != 0], y[y != 0]
        exact = x.astype(np.float64) / y
        near = np.abs(exact) < 1 << 24
        found, right = ours("floor_divide", x, y), np.floor(exact)
        np.testing.assert_array_equal(found[near], right[near])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logaddexp_of_many(dtype, rng):
    x, y = (rng.standard_normal((2, 9000)) * 30).astype(dtype)
    x[:6], y[:6] = [np.inf, -np.inf, np.inf, -np.inf, np.nan, 3], [np.inf, -np.inf, -np.inf, 5, 5, np.nan]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ours("logaddexp", x, y), np.logaddexp(x, y), rtol=3e-7 if dtype is np.float32 else 1e-15, atol=3e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("different", [5, 30, 10**6], ids="{} numbers".format)
def test_parted_rows_give_what_sorted_ones_do(dtype, different, rng):
    x = rng.integers(0, different, (7, 200, 3)).astype(dtype)
    if dtype is np.float32:
        x[x == x[0, 0, 0]] = np.nan
    calls = [(order.topk, {"k": k, "axis": -2, "largest": largest}) for k in (1, 5, 20) for largest in (0, 1)]
    calls += [(order.kthvalue, {"k": k, "axis": -2}) for k in (1, 9, 200)]
    calls += [(order.median_along, {"axis": -2, "keepdims": keep}) for keep in (True, False)]
    for row, settings in calls:
        for found, right in zip(kernel_of(row)(x, **settings), row.forward(x, **settings)):
            np.testing.assert_array_equal(found, right)


def test_rows_added_one_by_one(rng, torch):
    x = rng.standard_normal((5, 6, 300))
    for axis in (-3, -2, -1):
        places, shape = rng.integers(0, x.shape[axis], 9), list(x.shape)
        shape[axis] = 9
        src = rng.standard_normal(shape)
        found = kernel_of(index.index_add)(x, places, src, axis=axis)
        right = torch.tensor(x).index_add(axis, torch.tensor(places), torch.tensor(src)).numpy()
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)
