"""Activations, entry by entry. At a kink the choice is beside the row, and it is PyTorch's."""

import math

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules import input_checks
from autolab.rules.elementwise import between, erf, keep, keep_at, log1p_exp, normal_density, sigmoid, softplus, straight_at

E = ELEMENTWISE
SQRT_HALF = math.sqrt(0.5)


def negative_part(x):
    """x below 0, else 0, of which exp cannot overflow; flat at 0, where the second derivative is 0."""
    return keep(x, ~(x >= 0))


# elu(x) = scale * (x where x > 0, alpha * (exp(x * rate) - 1) elsewhere): elu, selu and celu. At 0: the exponential's side.
elu = op(
    "elu", lambda x, *, alpha, scale, rate: np.where(x > 0, x * scale, np.expm1(negative_part(x) * rate) * (alpha * scale))[()], E,
    check=input_checks.integers("elu_cpu"),
    x=lambda g, x, alpha, scale, rate: g * np.where(x > 0, scale, np.exp(negative_part(x) * rate) * (alpha * scale * rate)),
)  # fmt: skip
# Flat outside of the bounds, and on them.
hardtanh = op(
    "hardtanh", lambda x, *, low, high: np.clip(x, low, high), E, check=input_checks.bools("hardtanh_cpu"),
    x=lambda g, x, low, high: keep_at(g, (x > low) & (x < high), x, of="Hardtanh"),
)  # fmt: skip
hardsigmoid = op(
    "hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, E, check=input_checks.integers("hardsigmoid_cpu"),
    x=lambda g, x: keep_at(g / 6, (x > -3) & (x < 3), x, of="Hardsigmoid"),
)  # fmt: skip
# On the bounds, where it has kinks: 0 at -3, 1 at 3.
hardswish = op(
    "hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, E, check=input_checks.integers("hardswish_cpu"),
    x=lambda g, x: np.where(x < 3, keep(g * (x / 3 + 0.5), x > -3), g),
)  # fmt: skip
hardshrink = op(
    "hardshrink", lambda x, *, lambd: keep(x, ~between(x, -lambd, lambd)), E, check=input_checks.integers("hardshrink_cpu"),
    x=lambda g, x, lambd: keep_at(g, ~between(x, -lambd, lambd), x, of="Hardshrink"),
)  # fmt: skip
softshrink = op(
    "softshrink", lambda x, *, lambd: x - np.clip(x, -lambd, lambd), E, check=input_checks.integers("softshrink_cpu"),
    x=lambda g, x, lambd: keep_at(g, ~between(x, -lambd, lambd), x, of="Softshrink"),
)  # fmt: skip
threshold = op(
    "threshold", lambda x, *, threshold, value: np.where(x <= threshold, np.asarray(value, x.dtype), x)[()], E,
    check=input_checks.bools("threshold_cpu"),
    x=lambda g, x, threshold: keep_at(g, ~(x <= threshold), x),
)  # fmt: skip
# log(sigmoid(x)), without the small sigmoid that would round to 0.
log_sigmoid = op(
    "log_sigmoid", lambda x: -log1p_exp(-x), E, check=input_checks.integers("log_sigmoid_cpu"),
    x=lambda g, x: g * sigmoid(-x),
)  # fmt: skip


# -- gelu ------------------------------------------------------------------------------------------


def normal_cdf(x):
    """How much of the normal distribution lies below x."""
    return 0.5 * (1 + erf(x * SQRT_HALF))


gelu = op(
    "gelu", lambda x: x * normal_cdf(x), E, check=input_checks.integers("GeluKernelImpl"),
    x=lambda g, x: g * (normal_cdf(x) + x * normal_density(x)),
)  # fmt: skip

# With 0.5 * (1 + tanh(u)) = sigmoid(2 u), one exponential is all that the approximation needs; 2 u = x * (A + B * x**2).
A, B = 2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715


def gelu_tanh_rule(g, x):
    s = sigmoid(x * (A + B * (x * x)))
    return g * (s * (1 + x * (1 - s) * (A + 3 * B * (x * x))))


gelu_tanh = op(
    "gelu_tanh", lambda x: x * sigmoid(x * (A + B * (x * x))), E, node="GeluBackward0", check=input_checks.integers("GeluKernelImpl"),
    x=gelu_tanh_rule,
)  # fmt: skip


# -- smooth, with a logarithm in it --------------------------------------------------------------------


def mish_rule(g, x):
    t = np.tanh(softplus(x))
    return g * (t + x * (1 - t * t) * sigmoid(x))


mish = op("mish", lambda x: x * np.tanh(log1p_exp(x)), E, check=input_checks.integers("mish_cpu"), x=mish_rule)
# At 0: the slope.
prelu = op(
    "prelu", lambda x, slope: np.where(x > 0, x, x * slope)[()], E, node="PreluKernelBackward0",
    x=lambda g, x, slope: straight_at(np.where(x > 0, g, g * slope), x, of="PreluKernel"), slope=lambda g, x: g * keep(x, ~(x > 0)),
)  # fmt: skip
# A slope of its own for each entry that is not positive; at 0 too.
rrelu = op(
    "rrelu", lambda x, slope: np.where(x > 0, x, x * slope)[()], E, node="RreluWithNoiseBackward0",
    x=lambda g, x, slope: straight_at(np.where(x > 0, g, g * slope), x, of="RreluWithNoise"),
)  # fmt: skip
