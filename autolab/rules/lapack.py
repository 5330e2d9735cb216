"""The functions of LAPACK that can fail, as NumPy has them: each raises np.linalg.LinAlgError for a matrix that has no result.

In a browser the processor does not say that a calculation was invalid, and NumPy returns nan instead; there the result is looked at.
"""

import functools
import sys

import numpy as np


def has_nan(a):
    """Whether nan is among the numbers; an array that counts its operations, as in lesson 21, does not count this one."""
    return np.isnan(np.asarray(a)).any()


def raises_for_nan(function):
    """The function, raising LinAlgError if its result has a nan and its arguments have none."""

    @functools.wraps(function)
    def checked(*matrices):
        result = function(*matrices)
        if has_nan(result) and not any(map(has_nan, matrices)):
            raise np.linalg.LinAlgError(f"{function.__name__}: there is no result for this matrix")
        return result

    return checked


def cholesky(x):
    """NumPy's; but a NaN pivot, which some of its LAPACKs pass over, is refused: it stays on the diagonal."""
    out = np.linalg.cholesky(x)
    if np.isnan(out.view(np.ndarray).diagonal(0, -2, -1)).any():  # a look, which the count of operations leaves out
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def whole_nan(x):
    """The matrices, those with a nan all nan: pivoting passes over a single one, and may then find a zero."""
    return np.where(np.isnan(x).any((-2, -1), keepdims=True), np.asarray(np.nan, x.dtype), x)


def passes_nan_on(function):
    """The function, for which a matrix with a nan is not singular."""

    @functools.wraps(function)
    def checked(x, *more):
        try:
            return function(x, *more)
        except np.linalg.LinAlgError:
            if not has_nan(x):
                raise
            return function(whole_nan(x), *more)

    return checked


def det(x):
    """NumPy's; nan of a matrix with a nan."""
    out = np.linalg.det(x)
    return out if np.asarray(out).all() or not has_nan(x) else np.linalg.det(whole_nan(x))


def slogdet(x):
    """NumPy's; (sign, nan) of a matrix with a nan."""
    sign, logabsdet = np.linalg.slogdet(x)
    return (sign, logabsdet) if np.asarray(sign).all() or not has_nan(x) else tuple(np.linalg.slogdet(whole_nan(x)))


inv, solve = np.linalg.inv, np.linalg.solve
if sys.platform == "emscripten":
    inv, solve = map(raises_for_nan, (inv, solve))
inv, solve = map(passes_nan_on, (inv, solve))
