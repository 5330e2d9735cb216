"""Activations, entry by entry. At a kink the choice stands beside the row, and it is PyTorch's."""

import math

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules import refuse, steps
from autolab.rules.blocks import clip, horner, in_blocks
from autolab.rules.elementwise import erf, keep, keep_at, keep_values, sigmoid, straight_at
from autolab.rules.special import erf as erf_values

E = ELEMENTWISE
SQRT_HALF, SQRT_HALF_PI = math.sqrt(0.5), math.sqrt(0.5 / math.pi)


def small(x):
    """What is at most 0, or nan: exp of it cannot overflow."""
    return keep(x, ~(x > 0))


# elu(x) = scale * (x where x > 0, alpha * (exp(x * rate) - 1) elsewhere): elu, selu and celu. At 0: the exponential's side.
elu = op(
    "elu", lambda x, *, alpha, scale, rate: np.where(x > 0, x * scale, np.expm1(small(x) * rate) * (alpha * scale))[()], E,
    refuse=refuse.integers("elu_cpu"),
    x=lambda g, x, alpha, scale, rate: g * np.where(x > 0, scale, np.exp(small(x) * rate) * (alpha * scale * rate)),
)  # fmt: skip
# Flat outside of the bounds, and on them.
hardtanh = op(
    "hardtanh", lambda x, *, low, high: np.clip(x, low, high), E, refuse=refuse.bools("hardtanh_cpu"),
    x=lambda g, x, low, high: keep_at(g, (x > low) & (x < high), x, of="Hardtanh"),
)  # fmt: skip
hardsigmoid = op(
    "hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, E, refuse=refuse.integers("hardsigmoid_cpu"),
    x=lambda g, x: keep_at(g / 6, (x > -3) & (x < 3), x, of="Hardsigmoid"),
)  # fmt: skip
# On the bounds, where it has kinks: 0 at -3, 1 at 3.
hardswish = op(
    "hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, E, refuse=refuse.integers("hardswish_cpu"),
    x=lambda g, x: np.where(x < 3, keep(g * (x / 3 + 0.5), x > -3), g),
)  # fmt: skip
hardshrink = op(
    "hardshrink", lambda x, *, lambd: keep_values(x, ~((x >= -lambd) & (x <= lambd))), E, refuse=refuse.integers("hardshrink_cpu"),
    x=lambda g, x, lambd: keep_at(g, ~((x >= -lambd) & (x <= lambd)), x, of="Hardshrink"),
)  # fmt: skip
softshrink = op(
    "softshrink", lambda x, *, lambd: in_blocks(lambda x: x - np.clip(x, -lambd, lambd), x), E,
    refuse=refuse.integers("softshrink_cpu"),
    x=lambda g, x, lambd: keep_at(g, ~((x >= -lambd) & (x <= lambd)), x, of="Softshrink"),
)  # fmt: skip
threshold = op(
    "threshold", lambda x, *, threshold, value: np.where(x <= threshold, np.asarray(value, x.dtype), x)[()], E,
    refuse=refuse.bools("threshold_cpu"),
    x=lambda g, x, threshold: keep_at(g, ~(x <= threshold), x),
)  # fmt: skip
# log(sigmoid(x)), without the small sigmoid that would round to 0.
log_sigmoid = op(
    "log_sigmoid", lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))), E, refuse=refuse.integers("log_sigmoid_cpu"),
    x=lambda g, x: g * sigmoid(-x),
)  # fmt: skip


# -- gelu ------------------------------------------------------------------------------------------


def gelu_values(x):
    return x * (0.5 * (1 + erf_values(x * SQRT_HALF)))


def gelu_rule(g, x):
    return g * (0.5 * (1 + erf(x * SQRT_HALF)) + x * (np.exp(-0.5 * x * x) * SQRT_HALF_PI))


# log(Phi(-x) / Phi(x)) is nearly a cubic and bends gently: x P(x**2) / Q(x**2) with these, of the lowest degrees that give Phi to
# 2e-9. A rational Chebyshev approximation, as in W. J. Cody, Math. Comp. 23 (1969), but fitted to |x| < 6, for float32.
P = [np.float32(c) for c in (-39564.555, -4904.6675, -373.03763, -9.4995241)]
Q = [np.float32(c) for c in (24793.408, 1944.4576, 146.36139, 1)]
FAR = np.float32(15)  # 1 / Phi(-15) is inf in float32


def one_over_phi_into(x, out):
    """1 / Phi(x) = 1 + Phi(-x) / Phi(x), for float32."""
    near = clip(x, -FAR, FAR)
    square = near * near
    horner(P, square, out)
    out *= near
    horner(Q, square, near)
    out /= near
    with np.errstate(over="ignore"):
        np.exp(out, out)
    out += 1


def gelu_into(x, out):
    """What gelu_values computes, step by step in one place; likewise the rule's."""
    if x.dtype != np.float32:
        out[...] = gelu_values(x)
        return
    one_over_phi_into(x, out)
    np.divide(x, out, out)


def gelu_rule_into(g, x, out):
    if x.dtype != np.float32:
        out[...] = gelu_rule(g, x)
        return
    one_over_phi_into(x, out)
    np.divide(1, out, out)
    slope = x * x
    slope *= -0.5
    np.exp(slope, slope)
    slope *= SQRT_HALF_PI
    slope *= x
    out += slope
    out *= g


# With 0.5 * (1 + tanh(u)) = sigmoid(2 u), one exponential is all that the approximation needs; 2 u = x * (A + B * x**2).
A, B = 2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715


def gelu_tanh_values(x):
    return x / (1 + np.exp(x * (-A - B * (x * x))))


def gelu_tanh_rule(g, x):
    square = x * x
    s = 1 / (1 + np.exp(x * (-A - B * square)))
    return g * (s * (1 + x * (1 - s) * (A + 3 * B * square)))


def one_and_exp(x, out):
    """1 + exp(-x * (A + B * x**2))"""
    np.multiply(x, x, out)
    out *= -B
    out -= A
    out *= x
    np.exp(out, out)
    out += 1


def gelu_tanh_into(x, out):
    """What gelu_tanh_values computes, step by step in one place; likewise the rule's."""
    one_and_exp(x, out)
    np.divide(x, out, out)


def gelu_tanh_rule_into(g, x, out):
    s = np.empty(x.shape, x.dtype)
    one_and_exp(x, s)
    np.divide(1, s, s)
    np.multiply(x, x, out)
    out *= 3 * B
    out += A
    out *= x
    out *= 1 - s
    out += 1
    out *= s
    out *= g


gelu = op(
    "gelu",
    lambda x: in_blocks(gelu_values, x, into=gelu_into),
    E,
    refuse=refuse.integers("GeluKernelImpl"),
    x=lambda g, x: in_blocks(gelu_rule, g, x, into=gelu_rule_into),
)
gelu_tanh = op(
    "gelu_tanh", lambda x: in_blocks(gelu_tanh_values, x, into=gelu_tanh_into), E, node="GeluBackward0",
    refuse=refuse.integers("GeluKernelImpl"),
    x=lambda g, x: in_blocks(gelu_tanh_rule, g, x, into=gelu_tanh_rule_into),
)  # fmt: skip


# -- smooth, with a logarithm in it --------------------------------------------------------------------


def softplus_of(x):
    return steps.log1p_exp(x) + np.maximum(x, 0)


def mish_rule(g, x):
    t = np.tanh(softplus_of(x))
    return g * (t + x * (1 - t * t) * sigmoid(x))


mish = op("mish", lambda x: x * np.tanh(softplus_of(x)), E, refuse=refuse.integers("mish_cpu"), x=mish_rule)
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

steps.written_out(threshold, steps.threshold)
steps.written_out(hardtanh, lambda x, low, high, out: clip(x, low, high, out), steps.hardtanh_rule)
steps.written_out(hardsigmoid, steps.hardsigmoid, steps.hardsigmoid_rule)
steps.written_out(hardswish, steps.hardswish, steps.hardswish_rule)
steps.written_out(elu, steps.elu, steps.elu_rule)
steps.written_out(log_sigmoid, steps.log_sigmoid, steps.log_sigmoid_rule)
steps.written_out(mish, steps.mish, steps.mish_rule)
