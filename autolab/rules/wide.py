"""Quotients of large arrays of float32, and what is left over, by way of float64; NumPy takes ten times as long, entry by entry.

float64 is so much finer that no quotient of two numbers of float32 below EXACT is rounded onto a whole number or over it, and what is
left after whole multiples is exact. Larger quotients, infinite ones and nan are NumPy's, a block at a time.
"""

import numpy as np

from autolab.rules.blocks import in_blocks

EXACT = 1 << 28
MANY = 1 << 12  # entries: from here on it is worth it


def wider(formula, into):
    """formula(x, y), or by into(x, y, out) for large arrays of float32; of Tensors too."""

    def forward(x, y):
        if type(x) is np.ndarray and x.dtype == np.float32 and x.size > MANY:
            with np.errstate(all="ignore"):
                return in_blocks(formula, x, y, into=into)
        return formula(x, y)

    return forward


def as_wide(y):
    return y.astype(np.float64) if type(y) is np.ndarray else np.float64(np.float32(y))


def over_whole(formula, whole, finish):
    """into(x, y, out) for a formula of whole multiples: finish(x, y, n, out), with n = whole(x / y)."""

    def into(x, y, out):
        a, b = x.astype(np.float64), as_wide(y)
        n = a / b
        if np.abs(n).max() < EXACT:
            finish(a, b, whole(n, n), out)
        else:
            formula(x, y, out)

    return wider(formula, into)


def signed_as_x(x, y, n, out):
    n *= y
    np.subtract(x, n, n)
    np.copysign(n, x, out, casting="same_kind")


def signed_as_y(x, y, n, out):
    n *= y
    np.subtract(x, n, n)
    np.copysign(n, y, out, casting="same_kind")


def itself(x, y, n, out):
    out[...] = n


fmod = over_whole(np.fmod, np.trunc, signed_as_x)
remainder = over_whole(np.remainder, np.floor, signed_as_y)
floor_divide = over_whole(np.floor_divide, np.floor, itself)


def hypot_into(x, y, out):
    """The squares are exact and finite."""
    a, b = x.astype(np.float64), as_wide(y)
    a *= a
    a += b * b
    np.sqrt(a, a)
    if np.isfinite(a).all():
        out[...] = a
    else:
        np.hypot(x, y, out)


hypot = wider(np.hypot, hypot_into)
