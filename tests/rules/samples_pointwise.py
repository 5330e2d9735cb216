"""Samples for the rows of rules/calculus.py and rules/arithmetic.py."""

import numpy as np

from .samples import BINARY, POSITIVE, UNARY, Sample, integers, naturals, normal, positive, row, weights


def inside(rng, shape):
    """Within (-1, 1)."""
    return rng.uniform(-0.9, 0.9, shape)


def probability(rng, shape):
    return rng.uniform(0.1, 0.9, shape)


def above_one(rng, shape):
    return positive(rng, shape) + 1


def with_nan(rng, shape):
    return np.where(rng.random(shape) < 0.4, np.nan, rng.standard_normal(shape))


TERNARY = "34 34 34; 34 4 31; 213 41 .; . . .; 03 13 3"
SAMPLES = [
    *(Sample(name, lambda T, x, name=name: getattr(T, name)(x), UNARY)
      for name in "angle asinh atan cosh deg2rad exp2 frac rad2deg sinc sinh".split()),
    Sample("sgn", lambda T, x: x.sgn(), "34; 03"),
    *(Sample(name, lambda T, x, name=name: getattr(T, name)(x), UNARY, (inside,)) for name in "acos asin atanh".split()),
    *(Sample(name, lambda T, x, name=name: getattr(T, name)(x), UNARY, POSITIVE) for name in "log2 log10".split()),
    Sample("acosh", lambda T, x: x.acosh(), UNARY, (above_one,)),
    Sample("logit", lambda T, x: x.logit(), UNARY, (probability,)),
    Sample("logit", lambda T, x: x.logit(0.2), UNARY, (probability,)),
    Sample("signbit", lambda T, x: T.signbit(x), UNARY),
    Sample("nan_to_num", lambda T, x: x.nan_to_num(0.5), UNARY),
    Sample("frexp", lambda T, x: T.frexp(x)[0], UNARY),
    *(Sample(name, lambda T, x, y, name=name: getattr(T, name)(x, y), BINARY)
      for name in "atan2 copysign fmax fmin hypot logaddexp logaddexp2".split()),
    Sample("ldexp", lambda T, x, y: T.ldexp(x, y), BINARY),
    Sample("fmod", lambda T, x, y: T.fmod(x, y), BINARY, (normal, positive)),
    Sample("fmod", lambda T, x: T.fmod(x, 0.7), UNARY),
    Sample("copysign", lambda T, x: T.copysign(x, -1), UNARY),
    *(Sample(name, lambda T, x, y, name=name: getattr(T, name)(x, y), BINARY, POSITIVE) for name in ["xlogy"]),
    Sample("xlog1py", lambda T, x, y: T.special.xlog1py(x, y), BINARY, POSITIVE, ours=row("xlog1py")),
    Sample("heaviside", lambda T, x, y: T.heaviside(x, y), BINARY, (weights, weights)),
    Sample("nextafter", lambda T, x, y: T.nextafter(x, y), BINARY),
    *(Sample(name, lambda T, x, y, name=name: getattr(T, name)(x, y), BINARY, (integers, naturals))
      for name in "gcd lcm logical_xor bitwise_left_shift bitwise_right_shift".split()),
    Sample("clamp_min", lambda T, x, y: T.clamp_min(x, y), "34 34; 34 4; . .; 03 13"),
    Sample("clamp_max", lambda T, x, y: T.clamp_max(x, y), "34 34; 34 4; . .; 03 13"),
    Sample("lerp", lambda T, x, y, w: T.lerp(x, y, w), TERNARY, (normal, normal, probability)),
    Sample("lerp", lambda T, x, y: T.lerp(x, y, 0.7), BINARY),
    Sample("addcmul", lambda T, x, a, b: T.addcmul(x, a, b, value=0.5), TERNARY),
    Sample("addcdiv", lambda T, x, a, b: T.addcdiv(x, a, b, value=0.5), TERNARY, (normal, normal, positive)),
]  # fmt: skip
