"""The gamma function's family: logarithm, derivatives, Hurwitz's zeta, incomplete integrals. Loaded when first used.

Small arguments are moved up by the recurrence, where Stirling's series and its derivatives are exact to the last digits
(Abramowitz and Stegun 6.1.40, 6.3.18; for zeta the Euler-Maclaurin formula, 23.1.30); negative ones are reflected.
"""

import math
from fractions import Fraction

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules import input_checks
from autolab.rules.elementwise import is_number
from autolab.rules.error_functions import in_double

E = ELEMENTWISE


def bernoulli_numbers(count):
    """B2, B4, ... from sum over k of (n+1 choose k) B_k = 0."""
    found = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        found.append(-sum(math.comb(n + 1, k) * found[k] for k in range(n)) / (n + 1))
    return [float(b) for b in found[2::2]]


BERNOULLI = bernoulli_numbers(12)
HIGH = 10  # from here on eight terms of the series are enough


def stirling(x, coefficients):
    """The sum of coefficients[k] / x**(2k), by Horner's rule."""
    y, total = 1 / (x * x), 0
    for c in coefficients[::-1]:
        total = total * y + c
    return total


def moved_up(x):
    """The first of x, x + 1, ... that is no less than HIGH, and those before it, each with where it counts."""
    passed = []
    for _ in range(HIGH):
        low = x < HIGH
        passed.append((x, low))
        x = np.where(low, x + 1, x)
    return x, passed


def log_gamma_right(x):
    """For x >= 1/2."""
    zero = (x == 1) | (x == 2)
    x, passed = moved_up(x)
    product = np.ones_like(x)
    for entry, low in passed:
        product = product * np.where(low, entry, 1)
    series = stirling(x, [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(BERNOULLI[:9])]) / x
    return np.where(zero, 0, np.where(np.isinf(x), x, (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series - np.log(product)))


@in_double
def lgamma_values(x):
    right = log_gamma_right(np.where(x < 0.5, 1 - x, x))
    reflected = math.log(math.pi) - np.log(np.abs(np.sin(math.pi * (x - np.round(x))))) - right
    return np.where(x < 0.5, np.where((x == np.floor(x)) | np.isinf(x), np.inf, reflected), right)


@in_double
def digamma_values(x):
    y, passed = moved_up(np.where(x < 0, 1 - x, x))
    total = np.zeros_like(x)
    for entry, low in passed:
        total = total - np.where(low, 1 / entry, 0)
    series = stirling(y, [b / (2 * k + 2) for k, b in enumerate(BERNOULLI[:9])]) / (y * y)
    out = np.where(np.isinf(y), y, total + np.log(y) - 0.5 / y - series)
    out = np.where(x < 0, out - math.pi / np.tan(math.pi * (x - np.round(x))), out)
    return np.where(x == 0, -np.copysign(np.inf, x), np.where((x < 0) & (x == np.floor(x)), np.nan, out))


@in_double
def zeta_values(x, q):
    """The sum of (q + k)**-x. Not defined below x = 1, nor for negative q and broken x; infinite at the poles."""
    x, q = np.broadcast_arrays(x, q)
    a, total = q, np.zeros(x.shape)
    for n in range(10_000):
        low = a <= HIGH - 1
        if n > 9 and not low.any():
            break
        counts = low | (n < 10)
        total = total + np.where(counts, a**-x, 0)
        a = np.where(counts, a + 1, a)
    tail = a ** (1 - x) / (x - 1) + 0.5 * a**-x
    factor = x * a ** (-x - 1)
    for k, b in enumerate(BERNOULLI):
        tail = tail + b / math.factorial(2 * k + 2) * factor
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a)
    out = total + np.where(np.isfinite(a), tail, 0)
    pole = (x == 1) | ((q <= 0) & (q == np.floor(q)))
    return np.where(x < 1, np.nan, np.where(pole, np.inf, np.where((q < 0) & (x != np.floor(x)), np.nan, out)))


def polygamma_values(x, *, n):
    if n == 0:
        return digamma_values(x)
    if n == 1:  # reflected, for the sum is long at large negative numbers
        return trigamma_values(x)
    return ((-1) ** (n + 1) * math.factorial(n) * zeta_values(np.asarray(n + 1.0, x.dtype), x)).astype(x.dtype)[()]


@in_double
def trigamma_values(x):
    two = np.asarray(2.0)
    reflected = (math.pi / np.sin(math.pi * (x - np.round(x)))) ** 2 - zeta_values(two, np.where(x < 0.5, 1 - x, 1))
    return np.where(x < 0.5, reflected, zeta_values(two, np.where(x < 0.5, 1, x)))


def lower_series(a, x):
    """x**a exp(-x) / gamma(a + 1) times 1 + x/(a+1) + x**2/((a+1)(a+2)) + ..., for x up to a + 1."""
    term = total = np.ones(x.shape)
    for n in range(1, 4000):
        term = term * x / (a + n)
        total = total + term
        if not np.any(term > 1e-17 * total):
            break
    return np.exp(a * np.log(x) - x - log_gamma_right(a + 1)) * total


def upper_fraction(a, x):
    """Legendre's continued fraction by Lentz's method (Numerical Recipes, 6.2), for x beyond a + 1."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full(x.shape, 1 / tiny), 1 / b
    h = d
    for n in range(1, 4000):
        factor = -n * (n - a)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        h = h * d * c
        if not np.any(np.abs(d * c - 1) > 1e-16):
            break
    return np.exp(a * np.log(x) - x - lgamma_values(a)) * h


def incomplete(lower):
    """The part of the gamma integral below x (or above)."""

    @in_double
    def forward(a, x):
        a, x = np.broadcast_arrays(a, x)
        use_series = x < a + 1
        plain = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        below, above = np.zeros(x.shape), np.ones(x.shape)
        s, f = plain & use_series, plain & ~use_series
        below[s] = lower_series(a[s], x[s])
        above[f] = upper_fraction(a[f], x[f])
        out = np.where(s, below, 1 - above) if lower else np.where(s, 1 - below, above)
        zero, one = (0.0, 1.0) if lower else (1.0, 0.0)
        out = np.where(x == 0, np.where(a > 0, zero, np.where(a == 0, np.nan, out)), out)
        out = np.where((a == 0) & (x > 0), one, out)
        out = np.where(np.isinf(x) & np.isfinite(a), one, np.where(np.isinf(a) & np.isfinite(x), zero, out))
        return np.where((x < 0) | (a < 0) | np.isnan(x + a) | (np.isinf(x) & np.isinf(a)), np.nan, out)

    return forward


lower_part, upper_part = incomplete(True), incomplete(False)
lgamma = op("lgamma", lambda x: lgamma_values(x), E, promote="float", x=lambda g, x: g * digamma(x))
digamma = op("digamma", lambda x: digamma_values(x), E, promote="float", x=lambda g, x: g * polygamma(x, n=1))
polygamma = op("polygamma", lambda x, *, n: polygamma_values(x, n=n), E, promote="float", x=lambda g, x, n: g * polygamma(x, n=n + 1))
zeta = op("zeta", lambda x, q: zeta_values(x, q), E, promote="float",
          node=lambda x, q: f"SpecialZetaBackward{1 if is_number(x) else 2 if is_number(q) else 0}",
          number={"SpecialZetaBackward1": "x", "SpecialZetaBackward2": "q"},
          q=lambda g, x, q: g * (-x * zeta(x + 1, q)))  # fmt: skip
# Nobody has a formula for the derivative with respect to a.
igamma = op("igamma", lambda a, x: lower_part(a, x), E, promote="float", check=input_checks.whole("igamma_cpu"),
            a=lambda g: input_checks.derivative("igamma: input"),
            x=lambda g, a, x: g * np.exp((a - 1) * np.log(x) - x - lgamma(a)))  # fmt: skip
igammac = op("igammac", lambda a, x: upper_part(a, x), E, promote="float", check=input_checks.whole("igammac_cpu"),
             a=lambda g: input_checks.derivative("igammac: input"),
             x=lambda g, a, x: -g * np.exp((a - 1) * np.log(x) - x - lgamma(a)))  # fmt: skip
