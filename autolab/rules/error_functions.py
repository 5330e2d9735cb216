"""The error function's relatives: what is left of it far out, scaled, inverted, as probabilities. Loaded when first used.

erfcx(x) = exp(x*x) erfc(x) neither vanishes nor overflows for positive x; the others follow from it. It is its Taylor series about
the nearest of many centres, and far out the asymptotic series (Abramowitz and Stegun, 7.1.23).
"""

import functools
import math

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules.elementwise import TWO_OVER_SQRT_PI, erf, normal_density

E = ELEMENTWISE
SQRT_PI, SQRT_2 = math.sqrt(math.pi), math.sqrt(2)
FAR, STEP = 12, 64  # the series about centres 1/64 apart serve up to 12


def in_double(function):
    """Compute in float64, give back the dtype that came."""

    @functools.wraps(function)
    def forward(*args):
        with np.errstate(all="ignore"):
            return np.asarray(function(*[np.asarray(a, np.float64) for a in args])).astype(np.result_type(*args))[()]

    return forward


@functools.cache
def erfcx_series():
    """Row k: the coefficient of t**k in erfcx(centre + t). From w' = 2x w - 2/sqrt(pi): (k+1) c_(k+1) = 2 a c_k + 2 c_(k-1)."""
    a = np.arange(FAR * STEP + 1) / STEP  # their squares are exact
    rows = [np.array([math.erfc(v) * math.exp(v * v) for v in a.tolist()])]
    rows.append(2 * a * rows[0] - TWO_OVER_SQRT_PI)
    for k in range(1, 9):
        rows.append((2 * a * rows[-1] + 2 * rows[-2]) / (k + 1))
    return rows


def erfcx_right(x):
    """erfcx where x is not negative."""
    near = np.minimum(np.nan_to_num(x, nan=0.0), FAR)
    k = (near * STEP + 0.5).astype(np.intp)
    t, rows = near - k / STEP, erfcx_series()
    out = rows[-1][k]
    for row in rows[-2::-1]:
        out = out * t + row[k]
    y = 1 / (2 * np.maximum(x, FAR) ** 2)
    far = np.ones_like(x)
    for n in range(14, 0, -1):
        far = 1 - (2 * n - 1) * y * far
    return np.where(np.isnan(x), x, np.where(x < FAR, out, far / (np.maximum(x, FAR) * SQRT_PI)))


def exp_of_square(x, sign):
    """exp(sign * x * x): x as a short number, whose square is exact, and the rest. Beyond 40 it is 0 or inf."""
    x = np.clip(x, -40, 40)
    short = np.round(x * 16) / 16
    rest = (x - short) * (x + short)
    return np.exp(sign * short * short) * np.exp(sign * rest)


@in_double
def erfcx_values(x):
    return np.where(x < 0, 2 * exp_of_square(np.minimum(x, 0), 1), 0) + np.where(x < 0, -1, 1) * erfcx_right(np.abs(x))


@in_double
def erfc_values(x):
    right = exp_of_square(np.clip(x, 0, 30), -1) * erfcx_right(np.maximum(x, 0))
    return np.where(x < 0.5, 1 - erf(x), right)


def inverse_erfc(q):
    """Where erfc is q, for 0 < q <= 1/2: Newton's steps for log erfc, whose slope is -2 / (sqrt(pi) erfcx)."""
    log_q = np.log(q)
    guess = -log_q - 0.5 * np.log(np.maximum(-math.pi * log_q, 1))
    z = np.sqrt(np.maximum(guess, 0.1))
    for _ in range(6):
        w = erfcx_right(z)
        z = z + (np.log(w) - z * z - log_q) * w * (SQRT_PI / 2)
    return z


def inverse_erf(a):
    """Where erf is a, for |a| <= 1/2: Halley's steps."""
    z = a * (SQRT_PI / 2) * (1 + a * a * (math.pi / 12 + a * a * (7 * math.pi**2 / 480)))
    for _ in range(3):
        f = (erf(z) - a) / (TWO_OVER_SQRT_PI * np.exp(-z * z))
        z = z - f / (1 + z * f)
    return z


@in_double
def erfinv_values(x):
    size = np.abs(x)
    central = inverse_erf(np.where(size <= 0.5, x, 0))
    tail = np.copysign(inverse_erfc(np.where((size > 0.5) & (size < 1), 1 - size, 0.5)), x)
    return np.where(size <= 0.5, central, np.where(size < 1, tail, np.where(size == 1, np.copysign(np.inf, x), np.nan)))


@in_double
def ndtri_values(p):
    """Of the nearer tail, so that no probability is subtracted from 1 that need not be."""
    q = 2 * np.minimum(p, 1 - p)
    tail = inverse_erfc(np.where((q > 0) & (q <= 0.5), q, 0.5))
    central = inverse_erf(np.where(q > 0.5, np.abs(2 * p - 1), 0))
    out = np.copysign(np.where(q > 0.5, central, tail), p - 0.5) * SQRT_2
    return np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.where((p > 0) & (p < 1), out, np.nan)))


@in_double
def log_ndtr_values(x):
    left = np.log(erfcx_right(np.maximum(-x, 1) / SQRT_2) / 2) - np.minimum(x, -1) ** 2 / 2
    return np.where(x < -1, left, np.log1p(-erfc_values(np.maximum(x, -1) / SQRT_2) / 2))


@in_double
def entr_values(x):
    return np.where(x > 0, -x * np.log(np.where(x > 0, x, 1)), np.where(x == 0, 0, np.where(np.isnan(x), x, -np.inf)))


erfc = op("erfc", lambda x: erfc_values(x), E, promote="float", x=lambda g, x: g * (-TWO_OVER_SQRT_PI * np.exp(-x * x)))
erfcx = op("erfcx", lambda x: erfcx_values(x), E, promote="float", node="SpecialErfcxBackward0",
           x=lambda g, x, out: g * (2 * x * out - TWO_OVER_SQRT_PI))  # fmt: skip
erfinv = op("erfinv", lambda x: erfinv_values(x), E, promote="float", x=lambda g, out: g * (SQRT_PI / 2 * np.exp(out * out)))
ndtr = op("ndtr", lambda x: erfc(-x / SQRT_2) / 2, E, promote="float", node="SpecialNdtrBackward0",
          x=lambda g, x: g * normal_density(x))  # fmt: skip
ndtri = op("ndtri", lambda x: ndtri_values(x), E, promote="float", node="SpecialNdtriBackward0",
           x=lambda g, out: g * (math.sqrt(2 * math.pi) * np.exp(0.5 * out * out)))  # fmt: skip
log_ndtr = op("log_ndtr", lambda x: log_ndtr_values(x), E, promote="float", node="SpecialLogNdtrBackward0",
              x=lambda g, x: g * (math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))))  # fmt: skip
# -x log(x): 0 at 0, -inf below.
entr = op("entr", lambda x: entr_values(x), E, promote="float", node="SpecialEntrBackward0",
          x=lambda g, x: g * np.where(x < 0, np.nan, -np.log(x) - 1))  # fmt: skip
