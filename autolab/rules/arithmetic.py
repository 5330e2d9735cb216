"""Rows of arithmetic beyond the four operations, entry by entry: remainders, signs, choices, interpolation, bits."""

import numpy as np

from autolab.engine.op import ELEMENTWISE, GENERAL, op
from autolab.rules import input_checks
from autolab.rules.elementwise import is_number, keep, or_one

E = ELEMENTWISE


# -- remainders, signs -------------------------------------------------------------------------

fmod = op(
    "fmod", lambda x, y: np.fmod(x, y), E, numpy=np.fmod, check=input_checks.whole_division_by_zero("fmod_cpu"),
    node=lambda x, y: f"FmodBackward{0 if is_number(y) else 1}", number={"FmodBackward0": "y"},
    x=lambda g: g, y=lambda g, x, y: -g * np.trunc(x / y),
)  # fmt: skip
frac = op("frac", lambda x: x - np.trunc(x), E, check=input_checks.integers("frac_cpu"), x=lambda g: g)
copysign = op(
    "copysign", lambda x, y: np.copysign(x, y), E, numpy=np.copysign, promote="float",
    node=lambda x, y: f"CopysignBackward{1 if is_number(y) else 0}", number={"CopysignBackward1": "y"},
    x=lambda g, x, out: g * np.where(x == 0, 0, out / or_one(x)), y=lambda g: np.zeros_like(g),
)  # fmt: skip
sgn = op("sgn", lambda x: np.sign(x), E, numpy=np.sign, x=lambda g: np.zeros_like(g))
signbit = op("signbit", lambda x: np.signbit(x) if x.dtype.kind not in "ub" else np.zeros(x.shape, bool)[()], E)
# The angle of a real number in the complex plane: 0, pi, or nan.
angle = op(
    "angle", lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)).astype(x.dtype)[()], E, promote="float",
    x=lambda g: np.zeros_like(g),
)  # fmt: skip
# A number is mantissa * 2**exponent, with a mantissa from 0.5 up to 1.
frexp = op(
    "frexp", lambda x: np.frexp(x), GENERAL, outputs=2, check=input_checks.integers("frexp"), batch=lambda x: frexp(x),
    x=lambda g, out_1: g[0] / np.exp2(out_1.astype(g[0].dtype)),
)  # fmt: skip
# In the dtype that came: the next float16 is not the next float32. One step beside x, whatever x is, except at y itself.
nextafter = op("nextafter", lambda x, y: np.nextafter(x, y), E, promote="", x=lambda g, x, y: keep(g, x != y), y=lambda g: np.zeros_like(g))
gcd = op("gcd", lambda x, y: np.gcd(x, y), E, check=input_checks.all_but_whole("gcd_cpu"))
lcm = op("lcm", lambda x, y: np.lcm(x, y), E, check=input_checks.all_but_whole("lcm_cpu"))


# -- choices -----------------------------------------------------------------------------------

# Where one is nan the other is taken. A tie goes to the first, as in PyTorch (maximum shares it).
fmax = op(
    "fmax", lambda x, y: np.fmax(x, y), E, numpy=np.fmax,
    x=lambda g, x, y: keep(g, (x >= y) | np.isnan(y)), y=lambda g, x, y: keep(g, ~((x >= y) | np.isnan(y))),
)  # fmt: skip
fmin = op(
    "fmin", lambda x, y: np.fmin(x, y), E, numpy=np.fmin,
    x=lambda g, x, y: keep(g, (x <= y) | np.isnan(y)), y=lambda g, x, y: keep(g, ~((x <= y) | np.isnan(y))),
)  # fmt: skip
# 0 below 0, 1 above, y at 0.
heaviside = op("heaviside", lambda x, y: np.where(x == 0, y, np.where(x < 0, 0, np.where(np.isnan(x), x, 1))).astype(x.dtype)[()], E)


def limits_of(dtype):
    if dtype.isbuiltin == 1:
        return np.finfo(dtype)
    from ml_dtypes import finfo  # of bfloat16, which NumPy does not have

    return finfo(dtype)


def without_nan(x, *, nan, posinf, neginf):
    if x.dtype.kind in "iub":
        return x
    limits = limits_of(x.dtype)
    top, low = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)
    return np.where(np.isnan(x), nan, np.where(x == np.inf, top, np.where(x == -np.inf, low, x))).astype(x.dtype)[()]


nan_to_num = op("nan_to_num", without_nan, E, promote="", x=lambda g, x: keep(g, np.isfinite(x)))
# A bound that is a tensor gets the gradient where it is reached from outside; at equality the input has it.
clamp_min = op(
    "clamp_min", lambda x, y: np.maximum(x, y), E, node="ClampMinBackward1",
    x=lambda g, x, y: keep(g, x >= y), y=lambda g, x, y: keep(g, x < y),
)  # fmt: skip
clamp_max = op(
    "clamp_max", lambda x, y: np.minimum(x, y), E, node="ClampMaxBackward1",
    x=lambda g, x, y: keep(g, x <= y), y=lambda g, x, y: keep(g, x > y),
)  # fmt: skip


# -- several operations in one ---------------------------------------------------------------------


def lerp_values(x, y, weight):
    return np.where(np.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight)).astype(x.dtype)[()]


# From the nearer end, so that weight 1 gives exactly y.
lerp = op(
    "lerp", lerp_values, E, node=lambda x, y, weight: f"LerpBackward{0 if is_number(weight) else 1}", number={"LerpBackward0": "weight"},
    x=lambda g, weight: g * (1 - weight), y=lambda g, weight: g * weight, weight=lambda g, x, y: g * (y - x),
)  # fmt: skip
addcmul = op(
    "addcmul", lambda x, a, b, *, value=1: x + value * (a * b), E, check=input_checks.bools("addcmul_cpu_out"),
    x=lambda g: g, a=lambda g, b, value: g * (b * value), b=lambda g, a, value: g * (a * value),
)  # fmt: skip
addcdiv = op(
    "addcdiv", lambda x, a, b, *, value=1: x + value * (a / b), E, check=input_checks.whole_quotients,
    x=lambda g: g, a=lambda g, b, value: g * value / b, b=lambda g, a, b, value: -g * (value * a / (b * b)),
)  # fmt: skip


# -- bits: no gradient -------------------------------------------------------------------------------

logical_xor = op("logical_xor", lambda x, y: np.logical_xor(x, y), E, numpy=np.logical_xor)
bitwise_left_shift = op("bitwise_left_shift", lambda x, y: np.left_shift(x, y), E, check=input_checks.all_but_whole("lshift_cpu"))
bitwise_right_shift = op("bitwise_right_shift", lambda x, y: np.right_shift(x, y), E, check=input_checks.all_but_whole("rshift_cpu"))
