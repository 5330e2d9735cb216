"""A power series in the place of a derivative, of numbers or of a matrix: right near 0, and wrong far away."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import chebyshev

from ...run.observation import TOLERANCE, Observation, close, error_of, number, observe
from ..diagnosis import Mistake
from ..quiet import quiet
from .known_functions import known_function
from .other_operations import other_operation

HIGHEST = 12  # power
NEAR = 0.2  # times the numbers of a call: what is left of a long series is as good as all of it
SMALL = 0.4  # numbers around 0 where the right series is found
KNOWN = 24  # power up to which it is found
FEWEST = 2  # terms that have to be right


@quiet
def find_series(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """Is the derivative a polynomial whose first terms are those of the right one's series, or of forward's?"""
    o = wrong[0]
    if not o.reference.elementwise or len(o.reference.inputs) != 1 or any(np.shape(p.got[x]) != np.shape(p.names[x]) for p in wrong):
        return None
    at = np.concatenate([np.ravel(p.names[x]) for p in wrong])
    slope = np.concatenate([np.ravel(p.got[x] / p.g) for p in wrong])
    yours = _polynomial(at, slope)
    if yours is None:
        return None
    near = SMALL * np.cos(np.pi * (np.arange(40) + 0.5) / 40)
    try:
        names = o.reference.environment((near,), o.settings)
        derivative = _coefficients(near, o.reference.gradient(x, np.ones_like(near), names), KNOWN)
        forward = _coefficients(near, names["out"], KNOWN)
    except Exception:  # the operation takes no numbers around 0
        return None
    for right, whose in ((derivative, "the derivative"), (forward, "forward, and not of its derivative")):
        if right is not None and (text := _compared(yours, right, x, whose)):
            return Mistake("series", text, len(wrong) > 1 and "cut" in text)
    return None


@quiet
def find_near_zero(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """A long series: so near 0 that its end does not show, it is the derivative of another function."""
    o = wrong[0]
    if not o.reference.elementwise or len(o.reference.inputs) != 1 or o.ask is None or o.got[x].shape != o.want[x].shape:
        return None
    near = NEAR * np.asarray(o.names[x])
    answers = o.ask([o.g], (near,))
    try:
        names = o.reference.environment((near,), o.settings)
        seen = observe(o.reference, names, o.g, [answers[0][x]] if answers else None, o.settings)
    except Exception:  # the operation takes no numbers around 0
        return None
    got = seen.got[x]
    if got is None or got.shape != o.want[x].shape or not np.all(np.isfinite(got)) or error_of(seen, x) <= TOLERANCE:
        return None
    slopes = got / o.g
    if np.ptp(slopes) <= 1e-6 * np.abs(slopes).max():  # of all functions that are not flat at 0 this is true
        return None
    if close(got, o.g * seen.out):
        found: Mistake | None = Mistake("forward", "is g times the result of forward, where g times the derivative belongs")
    else:
        found = other_operation([seen], x) or known_function([seen], x)
    if not found:
        return None
    return Mistake(found.family, f"{found.text.replace('is ', 'is, near 0, ', 1)}, and elsewhere not even that{LIKE_A_SERIES}")


LIKE_A_SERIES = ", as a series that was cut"


def _polynomial(at: np.ndarray, slope: np.ndarray) -> np.ndarray | None:
    """Its coefficients, if some polynomial goes through all points; with fewer coefficients than there are points."""
    if not np.all(np.isfinite(slope)):
        return None
    several = len(set(np.ravel(at).tolist()))
    for degree in range(2, min(HIGHEST, several - 4) + 1):
        if (found := _coefficients(at, slope, degree)) is not None:
            return found
    return None


def _coefficients(at: np.ndarray, values: np.ndarray, degree: int) -> np.ndarray | None:
    """Those of the powers of x, or None if no polynomial of this degree goes through the points."""
    low, high = float(at.min()), float(at.max())
    if not high > low or not np.all(np.isfinite(values)):
        return None
    fit = chebyshev.Chebyshev.fit(at, values, degree, domain=[low, high])
    if np.abs(fit(at) - values).max() > 1e-8 * np.abs(values).max(initial=0.0):
        return None
    return fit.convert(kind=np.polynomial.Polynomial).coef


def _compared(yours: np.ndarray, right: np.ndarray, x: str, whose: str) -> str:
    """In words: where the series ends, or which of its coefficients is another; nothing if it is another polynomial."""
    degree = len(yours) - 1
    if np.abs(right[degree + 1 :]).max(initial=0.0) <= 1e-6 * np.abs(right).max():  # a polynomial too, of which nothing is cut
        return ""
    right = right[: degree + 1]
    size = np.abs(right).max()
    same = np.abs(yours - right) <= 2e-3 * np.abs(right) + 1e-6 * size  # the right ones are those of a fit
    terms = np.flatnonzero(np.abs(right) > 1e-6 * size)
    agreeing = int(np.sum(same[terms]))
    what = f"is a polynomial in {x} of degree {degree}: the series of {whose}"
    if same.all() and len(terms) >= FEWEST:
        return f"{what}, cut after {len(terms)} terms. Near 0 it is almost right, far away it is not"
    off = np.flatnonzero(~same)
    if agreeing < FEWEST or len(off) > 1 or off[0] not in terms:
        return ""
    k, ratio = int(off[0]), yours[off[0]] / right[off[0]]
    power = {0: "the constant", 1: f"the coefficient of {x}"}.get(k, f"the coefficient of {x}**{k}")
    how = "is missing" if np.isclose(ratio, 0, atol=1e-6) else "has the wrong sign" if np.isclose(ratio, -1, rtol=1e-4) else ""
    return (
        f"{what}, in which {power} " + (how or f"is {number(float(np.round(ratio, 4)))} times the right one") + "; besides, it ends there"
    )


# ---------- series of a matrix

SERIES_OF_MATRICES: dict[str, Callable[[int], float]] = {
    "the exponential of {}": lambda n: 1 / math.factorial(n),
    "the inverse of 1 - {}": lambda n: 1.0,
}
MOST_POWERS = 60  # until the series of forward stands still
LONGEST_SERIES = 12  # terms of one that is cut
LARGEST_MATRIX = 16


@quiet
def find_matrix_series(wrong: Sequence[Observation], x: str) -> Mistake | None:
    """The gradient of a matrix function whose power series was cut after some terms."""
    for o in wrong:
        shape = np.shape(o.names[x])
        if o.reference.elementwise or len(shape) != 2 or shape[0] != shape[1] or not shape == o.out.shape == o.got[x].shape:
            return None
        if not 1 < shape[0] <= LARGEST_MATRIX:
            return None
    for said, coefficient in SERIES_OF_MATRICES.items():
        if not all(_is_sum(o, x, coefficient) for o in wrong):
            continue
        for terms in range(2, LONGEST_SERIES):
            if all(o.gave(x, _gradient_of_series(o, x, coefficient, terms)) for o in wrong):
                text = f"is that of a series cut after {terms} terms: forward is {said.format(x)}, all of it"
                return Mistake("series", text, len(wrong) > 1)
    return None


def _is_sum(o: Observation, x: str, coefficient: Callable[[int], float]) -> bool:
    a = np.asarray(o.names[x])
    power = np.eye(len(a))
    total = coefficient(0) * power
    for n in range(1, MOST_POWERS):
        power = power @ a
        total = total + coefficient(n) * power
    return close(total, o.out)


def _gradient_of_series(o: Observation, x: str, coefficient: Callable[[int], float], terms: int) -> np.ndarray:
    """Of the sum of c_n A^n, n below `terms`: c_n times the sum of A'^i g A'^(n-1-i)."""
    a = np.asarray(o.names[x]).T
    powers = [np.linalg.matrix_power(a, n) for n in range(terms)]
    value = np.zeros_like(a)
    for n in range(1, terms):
        value = value + coefficient(n) * sum(powers[i] @ o.g @ powers[n - 1 - i] for i in range(n))
    return value
