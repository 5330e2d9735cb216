"""Orthogonal polynomials, each by its recurrence. No gradient, as in PyTorch. Loaded when first used."""

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules.error_functions import in_double

# name: (p_1 from x, factor of p_k from k and x, factor of p_(k-1) from k)
FAMILIES = {
    "chebyshev_polynomial_t": (lambda x: x, lambda k, x: 2 * x, lambda k: 1),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda k, x: 2 * x, lambda k: 1),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda k, x: 2 * x, lambda k: 1),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda k, x: 2 * x, lambda k: 1),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x: 2 * x, lambda k: 2 * k),
    "hermite_polynomial_he": (lambda x: x, lambda k, x: x, lambda k: k),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda k, x: (2 * k + 1 - x) / (k + 1), lambda k: k / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda k, x: (2 * k + 1) * x / (k + 1), lambda k: k / (k + 1)),
}


def polynomial(first, factor, back, shifted):
    """The polynomial of degree n at x; 0 for a negative degree. A shifted one lives on [0, 1]."""

    @in_double
    def forward(x, n):
        x, n = np.broadcast_arrays(2 * x - 1 if shifted else x, np.trunc(n))
        before, now = np.ones(x.shape), first(x)
        out = np.where(n < 0, 0, np.where(n == 0, before, now))
        for k in range(1, int(np.max(n, initial=0))):
            before, now = now, factor(k, x) * now - back(k) * before
            out = np.where(n == k + 1, now, out)
        return out

    return forward


def row(name, values):
    return op(name, lambda x, n: values(x, n), ELEMENTWISE, promote="float")


ROWS = {name: row(name, polynomial(*recurrence, False)) for name, recurrence in FAMILIES.items()}
ROWS |= {
    f"shifted_{name}": row(f"shifted_{name}", polynomial(*recurrence, True)) for name, recurrence in FAMILIES.items() if "chebyshev" in name
}
globals().update(ROWS)
