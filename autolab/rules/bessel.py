"""Bessel functions of orders 0 and 1, and Airy's. Loaded when first used.

No tables of fitted coefficients: near 0 the integrals that define them, by the trapezoidal rule, which for a periodic function (or one
that dies away at both ends) is exact to the last digits; far out the asymptotic series (Abramowitz and Stegun 9.2.5, 9.7.1, 10.4.59).
"""

import functools
import math

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules.elementwise import or_one
from autolab.rules.error_functions import in_double

E = ELEMENTWISE
FAR = 25  # from here on the asymptotic series hold all digits
EULER_GAMMA = 0.57721566490153286061


def hankel_terms(order, x, sign):
    """The terms of the asymptotic series in 1/x, with the sign of each step, until they are below rounding."""
    term = np.ones_like(x)
    for k in range(1, 40):
        yield term
        term = term * (sign * (4 * order * order - (2 * k - 1) ** 2) / (8 * k)) / x


# -- modified: i0, i1 from their power series, all terms positive; k0, k1 from their integral -----------------


def scaled_i(order):
    """The forward function of a modified Bessel function of this order, times exp(-|x|), so that it cannot overflow."""

    @in_double
    def forward(x):
        size = np.abs(x)
        near, far = np.minimum(size, FAR), np.maximum(size, FAR)
        y, total = near * near / 4, 0.0
        for k in range(60, -1, -1):
            total = total * y + 1 / (math.factorial(k) * math.factorial(k + order))
        close = np.exp(-near) * total * (near / 2) ** order
        out = np.where(size < FAR, close, sum(hankel_terms(order, far, -1)) / np.sqrt(2 * math.pi * far))
        return np.where(np.isnan(x), x, np.where(x < 0, -out, out) if order else out)

    return forward


def scaled_k(order):
    """exp(x) K(x): the integral of exp(-x (cosh(t) - 1)) cosh(order t) over positive t."""

    @in_double
    def forward(x):
        near, far = np.clip(x, 1e-8, FAR), np.maximum(x, FAR)
        close = 0.5
        for t in np.arange(1 / 8, 26, 1 / 8).tolist():
            close = close + np.exp(-near * (math.cosh(t) - 1)) * math.cosh(order * t)
        close = np.where(x < 1e-8, (1 / x if order else -np.log(x / 2) - EULER_GAMMA) * (1 + x), close / 8)
        out = np.where(x < FAR, close, sum(hankel_terms(order, far, 1)) * np.sqrt(math.pi / (2 * far)))
        return np.where(np.isnan(x) | (x < 0), np.nan, np.where(x == 0, np.inf, out))

    return forward


i0e_values, i1e_values, k0e_values, k1e_values = scaled_i(0), scaled_i(1), scaled_k(0), scaled_k(1)


def grown(scaled):
    return in_double(lambda x: scaled(x) * np.exp(np.abs(x)))


def shrunk(scaled):
    return in_double(lambda x: scaled(x) * np.exp(-np.abs(x)))


i0_values, i1_values, k0_values, k1_values = grown(i0e_values), grown(i1e_values), shrunk(k0e_values), shrunk(k1e_values)


# -- oscillating: j and y ------------------------------------------------------------------------------


@functools.cache
def nodes():
    """(sine, weight for J0, weight for the sum in Y0) at the angles of the trapezoidal rule over half a turn.

    Y0 = 2/pi ((log(x/2) + gamma) J0 - 2 sum over k of (-1)**k J_2k / k), and each J_2k is an integral over the same angles.
    """
    n = 96
    angle = np.arange(n) * (math.pi / n)
    sums = sum((-1) ** k * np.cos(2 * k * angle) / k for k in range(1, n // 2))
    return list(zip(np.sin(angle).tolist(), [1 / n] * n, (sums / n).tolist()))


def near_zero(x, which):
    """The integrals of cos(x sin t) and sin(x sin t) sin t, plain (J0, J1) or weighted for Y0 and Y1."""
    even, odd = np.zeros_like(x), np.zeros_like(x)
    for s, *weights in nodes():
        even, odd = even + weights[which] * np.cos(x * s), odd + weights[which] * s * np.sin(x * s)
    return even, odd


def wave(order, x, second):
    """Far out: amplitude times a cosine (J) or sine (Y), corrected by the series in 1/x."""
    phase = x - (2 * order + 1) * math.pi / 4
    p, q = np.zeros_like(x), np.zeros_like(x)
    for k, term in enumerate(hankel_terms(order, x, 1)):
        sign = (1, 1, -1, -1)[k % 4]
        if k % 2:
            q = q + sign * term
        else:
            p = p + sign * term
    a, b = (np.sin(phase), np.cos(phase)) if second else (np.cos(phase), -np.sin(phase))
    return np.sqrt(2 / (math.pi * x)) * (p * a + q * b)


def first_kind(order):
    @in_double
    def forward(x):
        size = np.abs(x)
        out = np.where(size < FAR, near_zero(np.minimum(size, FAR), 0)[order], wave(order, np.maximum(size, FAR), False))
        out = np.where(np.isinf(x), 0, out)
        return np.where(np.isnan(x), x, np.where(x < 0, -out, out) if order else out)

    return forward


def second_kind(order):
    @in_double
    def forward(x):
        near = np.clip(x, 1e-300, FAR)
        log = np.log(near / 2) + EULER_GAMMA
        j0, j1 = near_zero(near, 0)
        sum0, sum1 = near_zero(near, 1)
        close = 2 / math.pi * (log * j1 - 1 / near * j0 - 2 * sum1 if order else log * j0 - 2 * sum0)
        out = np.where(x < FAR, close, wave(order, np.maximum(x, FAR), True))
        return np.where(np.isinf(x), 0, np.where(x == 0, -np.inf, np.where(x < 0, np.nan, out)))

    return forward


j0_values, j1_values, y0_values, y1_values = first_kind(0), first_kind(1), second_kind(0), second_kind(1)


@in_double
def spherical_j0_values(x):
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(x) / or_one(x)))


# -- Airy ------------------------------------------------------------------------------------------


AIRY_STEP, AIRY_END = 0.5, 10


@functools.cache
def airy_series():
    """Row k: the coefficient of t**k in Ai(centre + t), for centres from 0 down: y'' = x y, from each centre to the next."""
    value = 3 ** (-2 / 3) / math.gamma(2 / 3)
    slope = -(3 ** (-1 / 3)) / math.gamma(1 / 3)
    table = []
    for n in range(int(AIRY_END / AIRY_STEP) + 1):
        a, c = -n * AIRY_STEP, [value, slope]
        for k in range(28):
            c.append((a * c[k] + (c[k - 1] if k else 0)) / ((k + 1) * (k + 2)))
        table.append(c)
        value = sum(ck * (-AIRY_STEP) ** k for k, ck in enumerate(c))
        slope = sum(k * ck * (-AIRY_STEP) ** (k - 1) for k, ck in enumerate(c) if k)
    return np.array(table).T


@functools.cache
def airy_coefficients():
    """Of the asymptotic series in 1/z, z = 2/3 |x|**1.5."""
    found = [1.0]
    for k in range(24):
        found.append(found[-1] * (6 * k + 5) * (6 * k + 3) * (6 * k + 1) / (216 * (k + 1) * (2 * k + 1)))
    return found


@in_double
def airy_ai_values(x):
    """To the right an integral that dies away, in the middle Taylor's series, to the left waves."""
    right = np.clip(x, 0.25, AIRY_END)
    z = 2 / 3 * right**1.5
    k = 0.5
    for t in np.arange(1 / 8, 8, 1 / 8).tolist():
        k = k + np.exp(-z * (math.cosh(t) - 1)) * math.cosh(t / 3)
    decaying = np.exp(-z) * k / 8 * np.sqrt(right / 3) / math.pi
    far = np.maximum(x, AIRY_END)
    z = 2 / 3 * far**1.5
    tail = np.exp(-z) / (2 * math.sqrt(math.pi) * far**0.25) * sum((-1) ** k * c / z**k for k, c in enumerate(airy_coefficients()))
    middle = np.clip(np.nan_to_num(x), -AIRY_END, 0.5)
    n = np.clip(np.round(-middle / AIRY_STEP), 0, AIRY_END / AIRY_STEP).astype(np.intp)
    t, series = middle + n * AIRY_STEP, 0.0
    for row in airy_series()[::-1]:
        series = series * t + row[n]
    left = np.minimum(x, -AIRY_END)
    z = 2 / 3 * (-left) ** 1.5
    p, q = (sum((-1) ** (k // 2) * c / z**k for k, c in enumerate(airy_coefficients()) if k % 2 == odd) for odd in (0, 1))
    waves = (np.sin(z + math.pi / 4) * p - np.cos(z + math.pi / 4) * q) / (math.sqrt(math.pi) * (-left) ** 0.25)
    return np.where(np.isnan(x), x, np.where(x > AIRY_END, tail, np.where(x > 0.5, decaying, np.where(x < -AIRY_END, waves, series))))


i0 = op("i0", lambda x: i0_values(x), E, promote="float", numpy=np.i0, x=lambda g, x: g * i1(x))
i0e = op("i0e", lambda x: i0e_values(x), E, promote="float", node="SpecialI0EBackward0",
         x=lambda g, x, out: g * (i1e(x) - np.sign(x) * out))  # fmt: skip
i1 = op("i1", lambda x: i1_values(x), E, promote="float", node="SpecialI1Backward0",
        x=lambda g, x, out: g * np.where(x == 0, 0.5, i0(x) - out / or_one(x)))  # fmt: skip
i1e = op("i1e", lambda x: i1e_values(x), E, promote="float", node="SpecialI1EBackward0",
         x=lambda g, x, out: g * np.where(np.abs(x) < 1e-15, 0.5 - np.abs(x), i0e(x) - out * (np.sign(x) + 1 / or_one(x))))  # fmt: skip
# PyTorch has no derivatives of the following, nor have they here.
airy_ai = op("airy_ai", lambda x: airy_ai_values(x), E, promote="float")
bessel_j0 = op("bessel_j0", lambda x: j0_values(x), E, promote="float")
bessel_j1 = op("bessel_j1", lambda x: j1_values(x), E, promote="float")
bessel_y0 = op("bessel_y0", lambda x: y0_values(x), E, promote="float")
bessel_y1 = op("bessel_y1", lambda x: y1_values(x), E, promote="float")
modified_bessel_i0 = op("modified_bessel_i0", lambda x: i0_values(x), E, promote="float")
modified_bessel_i1 = op("modified_bessel_i1", lambda x: i1_values(x), E, promote="float")
modified_bessel_k0 = op("modified_bessel_k0", lambda x: k0_values(x), E, promote="float")
modified_bessel_k1 = op("modified_bessel_k1", lambda x: k1_values(x), E, promote="float")
scaled_modified_bessel_k0 = op("scaled_modified_bessel_k0", lambda x: k0e_values(x), E, promote="float")
scaled_modified_bessel_k1 = op("scaled_modified_bessel_k1", lambda x: k1e_values(x), E, promote="float")
spherical_bessel_j0 = op("spherical_bessel_j0", lambda x: spherical_j0_values(x), E, promote="float")
