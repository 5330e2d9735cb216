"""Triangular systems by halves, and the gradient of a Cholesky factor, are what their formulas give."""

import numpy as np
import pytest

from autolab.fast.kernels.matrix import cholesky_rule, solve_triangular
from autolab.rules import matrix as rows

pytestmark = pytest.mark.speed


def lower(n, dtype=np.float64):
    return np.linalg.cholesky(np.cov(np.random.default_rng(n).standard_normal((n, 3 * n))) + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("columns", [1, 7])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", [1, 5, 64, 65, 200])
def test_a_triangular_system_is_solved_whatever_its_size(n, upper, columns):
    a = lower(n) + 5 * np.triu(np.ones((n, n)), 1)  # what is on the other side does not count
    a, b = a.T if upper else a, np.random.default_rng(0).standard_normal((n, columns))
    found = solve_triangular(a, b, upper=upper, unit=False)
    np.testing.assert_allclose(found, rows.solve_triangular_values(a, b, upper=upper, unit=False), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [3, 150])
def test_a_zero_on_the_diagonal_gives_what_the_formula_gives(n):
    a, b = lower(n), np.ones((n, 1))
    a[n // 2, n // 2] = 0
    with np.errstate(all="ignore"):
        found, right = (f(a, b, upper=False, unit=False) for f in (solve_triangular, rows.solve_triangular_values))
    np.testing.assert_allclose(found, right)
    assert not np.isfinite(found).all()


@pytest.mark.parametrize("n", [1, 5, 64, 65, 150])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-4), (np.float64, 1e-11)])
def test_the_gradient_of_a_cholesky_factor_is_that_of_the_formula(n, dtype, rtol):
    factor, g = lower(n, dtype), np.random.default_rng(1).standard_normal((n, n)).astype(dtype)
    found, right = (rule(g, factor) for rule in (cholesky_rule, rows.cholesky_rule))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, right, rtol=rtol, atol=rtol * abs(right).max())
