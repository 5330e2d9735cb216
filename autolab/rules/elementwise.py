"""Rows that work entry by entry. The engine sums the axes that broadcasting stretched, so no row here mentions them.

Where a function has a kink, the choice is beside the row. `math` constants keep float32: under NumPy 2
`float32 * np.log(2)` is float64.
"""

import math

import numpy as np

from autolab.engine.op import ELEMENTWISE, op
from autolab.rules import input_checks
from autolab.rules.special import erf as erf_values

E = ELEMENTWISE
TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
SQRT_HALF_PI = math.sqrt(0.5 / math.pi)


# -- what rules are made of ------------------------------------------------------------------------


def is_number(x):
    """Whether an operand is a Python number; np.float64, a 0-d result, is a float too, but no Python number."""
    return type(x) in (int, float, bool, complex)


def or_one(x):
    """x with 1 in place of 0: the divisor for a branch that is not taken."""
    return np.where(x == 0, 1, x)


# -- arithmetic ------------------------------------------------------------------------------

add = op("add", lambda x, y: x + y, E, numpy=np.add, x=lambda g: g, y=lambda g: g)
sub = op("sub", lambda x, y: x - y, E, numpy=np.subtract, check=input_checks.bools_to_subtract, x=lambda g: g, y=lambda g: -g)
rsub = op(
    "rsub", lambda x, y: y - x, E, node="RsubBackward1", number={"RsubBackward1": "y"}, check=input_checks.bools_to_subtract,
    x=lambda g: -g, y=lambda g: g,
)  # fmt: skip
mul = op("mul", lambda x, y: x * y, E, numpy=np.multiply, x=lambda g, y: g * y, y=lambda g, x: g * x)
div = op("div", lambda x, y: x / y, E, numpy=np.divide, promote="float", x=lambda g, y: g / y, y=lambda g, x, y: -g * (x / y) / y)
neg = op("neg", lambda x: -x, E, numpy=np.negative, check=input_checks.bools_to_negate, x=lambda g: -g)
reciprocal = op("reciprocal", lambda x: 1 / x, E, numpy=np.reciprocal, promote="float", x=lambda g, out: -g * out * out)


# The exponent is a setting, so a branch on it is not a branch on values.
pow_scalar = op(
    "pow_scalar", lambda x, *, exponent: x**exponent, E, node="PowBackward0",
    x=lambda g, x, exponent: g * (exponent * x ** (exponent - 1)) if exponent != 0 else np.zeros_like(g),
)  # fmt: skip


def log_of_base(x, y):
    """log(x); 0 where x is 0 and y is not negative, for there x**y does not change with y."""
    return np.log(np.where((x == 0) & (y >= 0), 1, x + np.zeros_like(y)))


def power(x, y):
    """x**y; of integers to negative powers what is left of 1 / x**-y without its fraction, as in PyTorch."""
    if y.dtype.kind != "i" or not np.any(y < 0):
        return x**y
    return np.where((y < 0) & (np.abs(x) != 1), 0, x ** np.abs(y))[()]


pow = op(
    "pow", power, E, numpy=np.power, check=input_checks.bools("pow"),
    node=lambda x, y: "PowBackward2" if is_number(x) else "PowBackward1", number={"PowBackward2": "x"},
    x=lambda g, x, y: np.where(y == 0, 0, g * (y * x ** np.where(y == 0, 1, y - 1))),
    y=lambda g, x, y, out: g * (out * log_of_base(x, y)),
)  # fmt: skip
float_floor = op("floor", lambda x: np.floor(x), E, numpy=np.floor, check=input_checks.bools("floor_vml_cpu"), x=lambda g: np.zeros_like(g))
ceil = op("ceil", lambda x: np.ceil(x), E, numpy=np.ceil, check=input_checks.bools("ceil_vml_cpu"), x=lambda g: np.zeros_like(g))
round = op(
    "round", lambda x, *, decimals=0: np.round(x, decimals), E, numpy=np.round, x=lambda g: np.zeros_like(g),
    node=lambda x, *, decimals=0: f"RoundBackward{1 if decimals else 0}",
)  # fmt: skip
trunc = op("trunc", lambda x: np.trunc(x), E, numpy=np.trunc, check=input_checks.bools("trunc_vml_cpu"), x=lambda g: np.zeros_like(g))
floor_divide = op(
    "floor_divide", lambda x, y: np.floor_divide(x, y), E, numpy=np.floor_divide, node="DivBackward2",
    check=input_checks.whole_division_by_zero("div_floor_cpu"),
    x=lambda g: np.zeros_like(g), y=lambda g: np.zeros_like(g),
)  # fmt: skip
trunc_divide = op(
    "trunc_divide", lambda x, y: quotient_towards_zero(x, y), E, node="DivBackward2",
    check=input_checks.whole_division_by_zero("div_trunc_cpu"),
    x=lambda g: np.zeros_like(g), y=lambda g: np.zeros_like(g),
)  # fmt: skip


def quotient_towards_zero(x, y):
    """Rounded down, a negative quotient of integers that is not whole is one too small."""
    if np.result_type(x, y).kind not in "iu":
        return np.trunc(x / y)
    quotient = x // y
    return quotient + ((quotient < 0) & (quotient * y != x))


remainder = op(
    "remainder", lambda x, y: np.remainder(x, y), E, numpy=np.remainder, check=input_checks.whole_division_by_zero("remainder_cpu"),
    node=lambda x, y: f"RemainderBackward{0 if is_number(y) else 1}", number={"RemainderBackward0": "y"},
    x=lambda g: g, y=lambda g, x, y: -g * floor_divide(x, y),
)  # fmt: skip


# -- exponentials and logarithms -----------------------------------------------------------------

exp = op("exp", lambda x: np.exp(x), E, numpy=np.exp, promote="float", x=lambda g, out: g * out)
expm1 = op("expm1", lambda x: np.expm1(x), E, numpy=np.expm1, promote="float", x=lambda g, out: g * (out + 1))
log = op("log", lambda x: np.log(x), E, numpy=np.log, promote="float", x=lambda g, x: g / x)
log1p = op("log1p", lambda x: np.log1p(x), E, node="Log1PBackward0", numpy=np.log1p, promote="float", x=lambda g, x: g / (x + 1))
sqrt = op("sqrt", lambda x: np.sqrt(x), E, numpy=np.sqrt, promote="float", x=lambda g, out: g / (2 * out))
rsqrt = op("rsqrt", lambda x: 1 / np.sqrt(x), E, promote="float", x=lambda g, out: -0.5 * g * out * out * out)


# -- trigonometry ----------------------------------------------------------------------------

sin = op("sin", lambda x: np.sin(x), E, numpy=np.sin, promote="float", x=lambda g, x: g * np.cos(x))
cos = op("cos", lambda x: np.cos(x), E, numpy=np.cos, promote="float", x=lambda g, x: -g * np.sin(x))
tan = op("tan", lambda x: np.tan(x), E, numpy=np.tan, promote="float", x=lambda g, out: g * (1 + out * out))
tanh = op("tanh", lambda x: np.tanh(x), E, numpy=np.tanh, promote="float", x=lambda g, out: g * (1 - out * out))


# -- activations -----------------------------------------------------------------------------

sigmoid = op("sigmoid", lambda x: 1 / (1 + np.exp(-x)), E, promote="float", x=lambda g, out: g * ((1 - out) * out))


def log1p_exp(x):
    """log(1 + exp(x)), by an exponential that cannot overflow."""
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


# At 0 the gradient of relu is 0; leaky_relu takes the negative slope there.
relu = op("relu", lambda x: np.maximum(x, 0), E, check=input_checks.bools_to_relu, x=lambda g, out: keep_at(g, out > 0, out))
leaky_relu = op(
    "leaky_relu", lambda x, *, negative_slope: np.where(x > 0, x, x * negative_slope)[()], E,
    check=input_checks.integers("leaky_relu_cpu"),
    x=lambda g, x, negative_slope: straight_at(np.where(x > 0, g, g * negative_slope), x, of="LeakyRelu"),
)  # fmt: skip
silu = op(
    "silu", lambda x: x / (1 + np.exp(-x)), E, check=input_checks.integers("silu_cpu"),
    x=lambda g, x: g * (sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
)  # fmt: skip
softplus = op(
    "softplus", lambda x, *, beta=1, threshold=math.inf: np.where(x * beta > threshold, x, log1p_exp(x * beta) / beta)[()], E,
    check=input_checks.integers("softplus_cpu"),
    x=lambda g, x, beta, threshold: np.where(x * beta > threshold, g, g * sigmoid(x * beta)),
)  # fmt: skip
erf = op("erf", lambda x: erf_values(x), E, promote="float", x=lambda g, x: g * (TWO_OVER_SQRT_PI * np.exp(-x * x)))


def normal_density(x):
    """The density of the normal distribution: exp(-x**2 / 2) / sqrt(2 pi)."""
    return np.exp(-0.5 * x * x) * SQRT_HALF_PI


# -- absolute values, choices ------------------------------------------------------------------

# At 0 the gradient of abs is sign(0) = 0.
abs = op("abs", lambda x: np.abs(x), E, numpy=np.absolute, check=input_checks.bools("abs_cpu"), x=lambda g, x: g * np.sign(x))
sign = op("sign", lambda x: np.sign(x), E, x=lambda g: np.zeros_like(g))
# A tie gives each side half of the gradient; beside a nan both get all of it.
maximum = op(
    "maximum", lambda x, y: np.maximum(x, y), E, numpy=np.maximum,
    x=lambda g, x, y: np.where(x == y, g / 2, np.where(x < y, 0, g)),
    y=lambda g, x, y: np.where(x == y, g / 2, np.where(y < x, 0, g)),
)  # fmt: skip
minimum = op(
    "minimum", lambda x, y: np.minimum(x, y), E, numpy=np.minimum,
    x=lambda g, x, y: np.where(x == y, g / 2, np.where(x > y, 0, g)),
    y=lambda g, x, y: np.where(x == y, g / 2, np.where(y > x, 0, g)),
)  # fmt: skip


# g where the condition holds, 0 elsewhere, whatever g is there.
keep = op(
    "keep", lambda g, condition: np.where(condition, g, 0)[()], E, node="WhereBackward0", promote="",
    g=lambda u, condition: keep(u, condition),
)  # fmt: skip
# The same as the gradient of a function of x with flat or straight pieces: it can be differentiated by x again, which gives zeros.
keep_at = op(
    "keep_at", lambda g, condition, x, *, of="Threshold": keep(g, condition), E, promote="",
    node=lambda g, condition, x, *, of="Threshold": f"{of}BackwardBackward0",
    g=lambda u, condition: keep(u, condition), x=lambda u: np.zeros_like(u),
)  # fmt: skip
# And for a gradient that is more than kept or not.
straight_at = op(
    "straight_at", lambda g, x, *, of: g, E, promote="", node=lambda g, x, *, of: f"{of}BackwardBackward0",
    g=lambda u: u, x=lambda u: np.zeros_like(u),
)  # fmt: skip


def between(x, low, high):
    """Where x lies within the bounds, ends included; a bound of None is not a bound."""
    if high is None:
        return x >= low
    return x <= high if low is None else (x >= low) & (x <= high)


clamp = op(
    "clamp", lambda x, *, min=None, max=None: np.clip(x, min, max), E,
    node="ClampBackward1",
    x=lambda g, x, min, max: keep(g, between(x, min, max)),
)  # fmt: skip
where = op(
    "where", lambda condition, x, y: np.where(condition, x, y)[()], E, numpy=np.where, together=("x", "y"),
    x=lambda g, condition: keep(g, condition), y=lambda g, condition: keep(g, ~condition),
)  # fmt: skip
masked_fill = op(
    "masked_fill", lambda x, mask, value: np.where(mask, value, x)[()], E, together=("x", "value"),
    node=lambda x, mask, value: f"MaskedFillBackward{0 if is_number(value) else 1}", number={"MaskedFillBackward0": "value"},
    x=lambda g, mask: keep(g, ~mask), value=lambda g, mask: keep(g, mask),
)  # fmt: skip


# -- copies ------------------------------------------------------------------------------------

zeros_like = op("zeros_like", lambda x: np.zeros_like(x)[()], E, numpy=np.zeros_like)
clone = op(
    "clone", lambda x, *, order="K": np.array(x, order=order)[()], E, numpy=np.copy, promote="", x=lambda g: g, jvp=lambda dx: np.copy(dx)
)
to = op("to", lambda x, *, dtype, source: x.astype(dtype), E, node="ToCopyBackward0", promote="", x=lambda g, source: g.astype(source))
# What copy_ and fill_ mean: the old values are gone, and so is their gradient.
copy = op("copy", lambda x, y: np.broadcast_to(y, x.shape).astype(x.dtype)[()], E, node="CopyBackwards", promote="",
          x=lambda g: np.zeros_like(g), y=lambda g: g)  # fmt: skip
fill = op("fill", lambda x, y: np.full(x.shape, y, x.dtype)[()], E, promote="", x=lambda g: np.zeros_like(g), y=lambda g: g,
          node=lambda x, y: f"FillBackward{2 if is_number(y) else 3}",
          number={"FillBackward2": "y", "ZeroBackward0": "y"})  # fmt: skip


# -- comparisons: no gradient --------------------------------------------------------------------

eq = op("eq", lambda x, y: x == y, E, numpy=np.equal)
ne = op("ne", lambda x, y: x != y, E, numpy=np.not_equal)
lt = op("lt", lambda x, y: x < y, E, numpy=np.less)
le = op("le", lambda x, y: x <= y, E, numpy=np.less_equal)
gt = op("gt", lambda x, y: x > y, E, numpy=np.greater)
ge = op("ge", lambda x, y: x >= y, E, numpy=np.greater_equal)
bitwise_and = op("bitwise_and", lambda x, y: x & y, E, numpy=np.bitwise_and)
bitwise_or = op("bitwise_or", lambda x, y: x | y, E, numpy=np.bitwise_or)
bitwise_xor = op("bitwise_xor", lambda x, y: x ^ y, E, numpy=np.bitwise_xor)
bitwise_not = op("bitwise_not", lambda x: ~x, E, numpy=np.invert)
logical_and = op("logical_and", lambda x, y: np.logical_and(x, y), E, numpy=np.logical_and)
logical_or = op("logical_or", lambda x, y: np.logical_or(x, y), E, numpy=np.logical_or)
logical_not = op("logical_not", lambda x: np.logical_not(x), E, numpy=np.logical_not)
isnan = op("isnan", lambda x: np.isnan(x), E, numpy=np.isnan)
isinf = op("isinf", lambda x: np.isinf(x), E, numpy=np.isinf)
isfinite = op("isfinite", lambda x: np.isfinite(x), E, numpy=np.isfinite)
