"""Rows for the functions of a calculus book, entry by entry: angles, hyperbolas, powers of 2, logarithms.

Where two numbers nearly cancel, the formula is the one that does not lose them; at a point without a slope, the choice is
beside the row.
"""

import math

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules import input_checks
from autolab.rules.elementwise import is_number, or_one

E = ELEMENTWISE
LN2, LN10 = math.log(2), math.log(10)


def unary(name, forward, rule, numpy=(), **details):
    """A function of one number; integers become floats."""
    return op(name, forward, E, numpy=numpy, promote="float", x=rule, **details)


# -- angles ------------------------------------------------------------------------------------

acos = unary("acos", lambda x: np.arccos(x), lambda g, x: -g / np.sqrt(1 - x * x), np.arccos)
asin = unary("asin", lambda x: np.arcsin(x), lambda g, x: g / np.sqrt(1 - x * x), np.arcsin)
atan = unary("atan", lambda x: np.arctan(x), lambda g, x: g / (x * x + 1), np.arctan)
atan2 = op(
    "atan2", lambda y, x: np.arctan2(y, x), E, numpy=np.arctan2, promote="float",
    # At the origin, where every angle is near, the gradient is 0.
    y=lambda g, y, x: g * (x / or_one(y * y + x * x)), x=lambda g, y, x: g * (-y / or_one(y * y + x * x)),
)  # fmt: skip
hypot = op(
    "hypot", lambda x, y: np.hypot(x, y), E, numpy=np.hypot, check=input_checks.whole("hypot_cpu"),
    x=lambda g, x, out: g * (x / out), y=lambda g, y, out: g * (y / out),
)  # fmt: skip


def sinc_rule(g, x):
    """(cos(pi x) - sinc(x)) / x. Near 0, where that is a difference of equal numbers, the first terms of its series."""
    a = x * math.pi
    b = np.where(np.abs(x) < 1e-3, a, 0)
    return g * np.where(np.abs(x) < 1e-3, (b * b / 10 - 1) * b * (math.pi / 3), (a * np.cos(a) - np.sin(a)) / or_one(a * x))


sinc = unary("sinc", lambda x: np.sinc(x), sinc_rule, np.sinc)
deg2rad = unary("deg2rad", lambda x: x * (math.pi / 180), lambda g: g * (math.pi / 180), np.deg2rad, node="Deg2RadBackward0")
rad2deg = unary("rad2deg", lambda x: x * (180 / math.pi), lambda g: g * (180 / math.pi), np.rad2deg, node="Rad2DegBackward0")


# -- hyperbolas --------------------------------------------------------------------------------

cosh = unary("cosh", lambda x: np.cosh(x), lambda g, x: g * np.sinh(x), np.cosh)
sinh = unary("sinh", lambda x: np.sinh(x), lambda g, x: g * np.cosh(x), np.sinh)
acosh = unary("acosh", lambda x: np.arccosh(x), lambda g, x: g / np.sqrt(x * x - 1), np.arccosh)
asinh = unary("asinh", lambda x: np.arcsinh(x), lambda g, x: g / np.sqrt(x * x + 1), np.arcsinh)
atanh = unary("atanh", lambda x: np.arctanh(x), lambda g, x: g / (1 - x * x), np.arctanh)


# -- powers and logarithms -------------------------------------------------------------------------

exp2 = unary("exp2", lambda x: np.exp2(x), lambda g, out: g * (out * LN2), np.exp2)
ldexp = op(
    "ldexp", lambda x, y: x * np.exp2(y), E, promote="float", check=input_checks.bool_exponents,
    x=lambda g, y: g * np.exp2(y), y=lambda g, out: g * (out * LN2),
)  # fmt: skip
log2 = unary("log2", lambda x: np.log2(x), lambda g, x: g / (x * LN2), np.log2)
log10 = unary("log10", lambda x: np.log10(x), lambda g, x: g / (x * LN10), np.log10)


def share(x, y, base):
    """The share of exp(base * x) in exp(base * x) + exp(base * y); half and half for two infinities of one sign.

    Not by the row of sigmoid: its derivative is taken from the result, and that of a share near 1 would lose its digits.
    """
    return 1 / (1 + np.exp(np.where(x == y, 0, y - x) * base))


logaddexp = op(
    "logaddexp", lambda x, y: np.logaddexp(x, y), E, numpy=np.logaddexp, check=input_checks.whole("logaddexp_cpu"),
    x=lambda g, x, y: g * share(x, y, 1), y=lambda g, x, y: g * share(y, x, 1),
)  # fmt: skip
logaddexp2 = op(
    "logaddexp2", lambda x, y: np.logaddexp2(x, y), E, numpy=np.logaddexp2, check=input_checks.whole("logaddexp2_cpu"),
    x=lambda g, x, y: g * share(x, y, LN2), y=lambda g, x, y: g * share(y, x, LN2),
)  # fmt: skip


# The probability and its distance from the ends; outside of [eps, 1 - eps] the function is flat, or, without eps, has no value.
def logit_values(x, *, eps=None):
    p = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(p / (1 - p))


def logit_rule(g, x, eps):
    low, outside = (0, math.nan) if eps is None else (eps, 0)
    return np.where((x < low) | (x > 1 - low), outside, g / (x * (1 - x)))


logit = unary("logit", logit_values, logit_rule)


# x log(y) is 0 where x is 0, whatever the logarithm; nan stays.
def times_log(log):
    return lambda x, y: (x * log(np.where((x == 0) & ~np.isnan(y), 1, y))).astype(np.result_type(x, y))


def one_number(x, y):
    """As PyTorch numbers the nodes of these two: 1 if x is a number, 2 if y is one, 0 for two tensors."""
    return 1 if is_number(x) else 2 if is_number(y) else 0


xlogy = op(
    "xlogy", times_log(np.log), E, promote="float", node=lambda x, y: f"XlogyBackward{one_number(x, y)}",
    number={"XlogyBackward1": "x", "XlogyBackward2": "y"},
    x=lambda g, x, y: g * np.log(np.where((x == 0) & (y <= 0), 1, y + np.zeros_like(x))), y=lambda g, x, y: g * (x / y),
)  # fmt: skip
xlog1py = op(
    "xlog1py", times_log(np.log1p), E, promote="float", node=lambda x, y: f"SpecialXlog1PyBackward{one_number(x, y)}",
    number={"SpecialXlog1PyBackward1": "x", "SpecialXlog1PyBackward2": "y"},
    x=lambda g, x, y: g * np.log1p(np.where((x == 0) & (y <= -1), 0, y + np.zeros_like(x))), y=lambda g, x, y: g * (x / (y + 1)),
)  # fmt: skip
