"""Orthogonal polynomials, each by its recurrence. No gradient, as in PyTorch. Loaded when first used."""

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules.error_functions import in_double


def polynomial(name, first, factor, back=lambda k: 1, shifted=False):
    """The row of p_n(x), 0 for a negative degree n: p_1 from x, the factor of p_k from k and x, and that of p_(k-1) from k.

    A shifted one lives on [0, 1].
    """

    @in_double
    def values(x, n):
        x, n = np.broadcast_arrays(2 * x - 1 if shifted else x, np.trunc(n))
        before, now = np.ones(x.shape), first(x)
        out = np.where(n < 0, 0, np.where(n == 0, before, now))
        for k in range(1, int(np.max(n, initial=0))):
            before, now = now, factor(k, x) * now - back(k) * before
            out = np.where(n == k + 1, now, out)
        return out

    return op(name, lambda x, n: values(x, n), ELEMENTWISE, promote="float")


def chebyshev(kind, first, shifted=False):
    return polynomial(f"{'shifted_' if shifted else ''}chebyshev_polynomial_{kind}", first, lambda k, x: 2 * x, shifted=shifted)


chebyshev_polynomial_t = chebyshev("t", lambda x: x)
chebyshev_polynomial_u = chebyshev("u", lambda x: 2 * x)
chebyshev_polynomial_v = chebyshev("v", lambda x: 2 * x - 1)
chebyshev_polynomial_w = chebyshev("w", lambda x: 2 * x + 1)
shifted_chebyshev_polynomial_t = chebyshev("t", lambda x: x, shifted=True)
shifted_chebyshev_polynomial_u = chebyshev("u", lambda x: 2 * x, shifted=True)
shifted_chebyshev_polynomial_v = chebyshev("v", lambda x: 2 * x - 1, shifted=True)
shifted_chebyshev_polynomial_w = chebyshev("w", lambda x: 2 * x + 1, shifted=True)
hermite_polynomial_h = polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x: 2 * x, lambda k: 2 * k)
hermite_polynomial_he = polynomial("hermite_polynomial_he", lambda x: x, lambda k, x: x, lambda k: k)
laguerre_polynomial_l = polynomial("laguerre_polynomial_l", lambda x: 1 - x, lambda k, x: (2 * k + 1 - x) / (k + 1), lambda k: k / (k + 1))
legendre_polynomial_p = polynomial("legendre_polynomial_p", lambda x: x, lambda k, x: (2 * k + 1) * x / (k + 1), lambda k: k / (k + 1))
