"""Complex numbers: which rows take them, and the rows that only they need.

The gradient of a real loss by a complex z = x + iy is dL/dx + i dL/dy, the direction in which the loss grows fastest, as in PyTorch.
Of a function that has a complex derivative it follows from the rule that real numbers have, by two conjugates that the node adds
(`engine.node.conjugates`); those rows are named here, and no formula is stated twice. The rules below are of functions without one,
such as |z|: they say what the gradient is, and `jvp` what becomes of a tangent.
"""

import numpy as np

from autolab.dtypes import complex_of, real_of
from autolab.engine.node import cast_gradient
from autolab.engine.op import ADJOINT, ELEMENTWISE, GENERAL, HOLOMORPHIC, LINEAR, op
from autolab.engine.tensor import TABLE
from autolab.rules import elementwise, reduce
from autolab.rules.elementwise import is_number, keep, or_one

E, L = ELEMENTWISE, LINEAR

# -- rows whose rules hold for complex numbers ---------------------------------------------------------

WITH_A_DERIVATIVE = """
add sub rsub mul div neg reciprocal pow_scalar addcmul addcdiv lerp
exp expm1 exp2 log log1p log2 log10 sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh atanh sigmoid sinc silu
ldexp where masked_fill sum mean prod cumsum cumprod logsumexp
mm bmm mv vm dot matmul outer outer_sum linear addmm einsum
place add_at index index_put gather scatter scatter_add index_select index_add embedding embedding_back put_along_axis
flip roll repeat cat stack diagonal_scatter tril triu as_strided_back as_strided_scatter unfold_back put
""".split()
WITHOUT_GRADIENT = "eq ne zeros_like isnan isinf isfinite logical_and logical_or logical_xor logical_not all any".split()


def takes_complex(*names):
    """Let rows take complex numbers by the rules that they have."""
    for name in names:
        TABLE[name].complex = HOLOMORPHIC


takes_complex(*WITH_A_DERIVATIVE, *WITHOUT_GRADIENT)


# PyTorch's words where it refuses with more than the name of a kernel.
REFUSALS = {
    "sign": "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    **{name: f"{name} is not supported for complex inputs" for name in ("floor", "ceil", "trunc")},
    **dict.fromkeys(("relu", "clamp", "clamp_min", "clamp_max"), "clamp is not supported for complex types"),
    **{name: f"{name} not implemented for complex tensors." for name in ("maximum", "minimum")},
    "sort": " Sort does not support complex dtypes on CPU",
    "topk": " topk does not support complex dtypes on CPU",
    "nansum": "nansum on CPU does not support complex inputs",
}
for name, words in REFUSALS.items():
    TABLE[name].refusal = words


def instead_of(row, other):
    """Let another row run in the place of one where a number is complex."""
    row.complex_row = other
    return other


# -- parts ---------------------------------------------------------------------------------------------


def joined(x, y):
    """The complex numbers with these real and imaginary parts."""
    out = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), complex_of(np.result_type(x, y)))
    out.real, out.imag = x, y
    return out[()]


def pairs(x):
    """The numbers of an array as pairs of real ones, in the same memory."""
    return x[..., None].view(real_of(x.dtype))


def numbers_of_pairs(x):
    """The complex numbers that pairs stand for: in the same memory where each pair lies together."""
    together = x.strides[-1] == x.itemsize and all(s % (2 * x.itemsize) == 0 for s in x.strides[:-1])
    return (x if together else np.array(x, order="C")).view(complex_of(x.dtype))[..., 0]


complex_ = op("complex", joined, E, complex=ADJOINT, x=lambda g: np.real(g), y=lambda g: np.imag(g), jvp=lambda dx, dy: complex_(dx, dy))
polar = op(
    "polar", lambda x, y: joined(x * np.cos(y), x * np.sin(y)), E, complex=ADJOINT,
    x=lambda g, y: np.real(g) * np.cos(y) + np.imag(g) * np.sin(y), y=lambda g, out: np.imag(g * np.conj(out)),
    jvp=lambda dx, dy, y, out: polar(dx, y) + 1j * out * dy,
)  # fmt: skip
view_as_real = op("view_as_real", pairs, L, view=True, complex=ADJOINT, x=lambda g: view_as_complex(g))
view_as_complex = op("view_as_complex", numbers_of_pairs, L, view=True, complex=ADJOINT, x=lambda g: view_as_real(g))
# The parts as new tensors. Those that look into a complex one (z.real) are parts of view_as_real.
real = op("real", lambda x: np.array(x.real)[()], L, numpy=np.real, complex=ADJOINT, x=lambda g: g + 0j)
imag = op("imag", lambda x: np.array(x.imag)[()], L, numpy=np.imag, complex=ADJOINT, x=lambda g: g * 1j)
conj = op("conj", lambda x: np.conj(x), L, numpy=np.conj, complex=ADJOINT, x=lambda g: np.conj(g))
conj_physical = op("conj_physical", lambda x: np.conj(x), L, complex=ADJOINT, x=lambda g: np.conj(g))
# To a complex dtype, from any.
to_complex = op(
    "to_complex", lambda x, *, dtype, source: x.astype(dtype), E, node="ToCopyBackward0", promote="", complex=ADJOINT,
    x=lambda g, source: cast_gradient(g, source),
)  # fmt: skip


# -- rows in the place of others -------------------------------------------------------------------------

# np.sign(z) is z / |z|, and 0 at 0.
abs_ = instead_of(elementwise.abs, op(
    "abs_complex", lambda x: np.abs(x), E, node="AbsBackward0", complex=ADJOINT, x=lambda g, x: g * np.sign(x),
    jvp=lambda dx, x: np.real(np.conj(np.sign(x)) * dx),
))  # fmt: skip
sgn = op(
    "sgn_complex", lambda x: np.sign(x), E, node="SgnBackward0", complex=ADJOINT,
    x=lambda g, x, out: keep((g - np.real(np.conj(out) * g) * out) / or_one(np.abs(x)), x != 0),
)  # fmt: skip
instead_of(TABLE["sgn"], sgn)
acosh = instead_of(TABLE["acosh"], op(  # sqrt(x * x - 1) would have the wrong sign in the left half of the plane
    "acosh_complex", lambda x: np.arccosh(x), E, node="AcoshBackward0", complex=HOLOMORPHIC,
    x=lambda g, x: g / (np.sqrt(x - 1) * np.sqrt(x + 1)),
))  # fmt: skip
angle = instead_of(TABLE["angle"], op(
    "angle_complex", lambda x: np.angle(x), E, node="AngleBackward0", complex=ADJOINT,
    x=lambda g, x: keep(1j * g * (np.sign(x) / or_one(np.abs(x))), x != 0),
    jvp=lambda dx, x: keep(np.imag(np.conj(np.sign(x)) * dx) / or_one(np.abs(x)), x != 0),
))  # fmt: skip
pow_ = instead_of(TABLE["pow"], op(
    "pow_complex", lambda x, y: x**y, E, complex=HOLOMORPHIC,
    node=lambda x, y: "PowBackward2" if is_number(x) else "PowBackward1", number={"PowBackward2": "x"},
    x=lambda g, x, y: np.where(y == 0, 0, g * (y * x ** np.where(y == 0, 1, y - 1))),
    y=lambda g, x, out: g * (out * np.log(np.where(x == 0, 1, x))),
))  # fmt: skip


def logaddexp_values(x, y):
    """The one whose exponential is larger, and what the other adds to it."""
    first = x.real >= y.real
    larger = np.where(first, x, y)
    return larger + np.log1p(np.exp(np.where(first, y, x) - larger))


logaddexp = instead_of(TABLE["logaddexp"], op(
    "logaddexp_complex", logaddexp_values, E, node="LogaddexpBackward0", complex=HOLOMORPHIC,
    x=lambda g, x, out: g * np.exp(x - out), y=lambda g, y, out: g * np.exp(y - out),
))  # fmt: skip


def logcumsumexp_values(x, *, axis):
    out = np.array(np.moveaxis(x, axis, 0))
    for i in range(1, len(out)):
        out[i] = logaddexp_values(out[i - 1], out[i])
    return np.moveaxis(out, 0, axis)


logcumsumexp = instead_of(reduce.logcumsumexp, op(
    "logcumsumexp_complex", logcumsumexp_values, GENERAL, node="LogcumsumexpBackward0", complex=HOLOMORPHIC, batch=reduce.call_row,
    x=reduce.logcumsumexp.rules["x"].function,
))  # fmt: skip


def squares(x):
    """|z|^2, as real numbers."""
    return x.real * x.real + x.imag * x.imag


def norm_values(x, *, ord=2, axis=None, keepdims=False):
    if ord == 2:
        return np.sqrt(np.sum(squares(x), axis=axis, keepdims=keepdims))
    return reduce.norm_values(np.abs(x), ord=ord, axis=axis, keepdims=keepdims)


def var_values(x, *, axis=None, correction=1, keepdims=False):
    return np.sum(squares(reduce.deviation(x, axis)), axis=axis, keepdims=keepdims) / reduce.freedom(x.shape, axis, correction)


def std_values(x, *, axis=None, correction=1, keepdims=False):
    return np.sqrt(var_values(x, axis=axis, correction=correction, keepdims=keepdims))


# The rules of these are the same as those of real numbers: g is real, and what it is multiplied with points the way that x does.
norm = instead_of(reduce.norm, op(
    "norm_complex", norm_values, GENERAL, node="LinalgVectorNormBackward0", complex=ADJOINT, x=reduce.norm.rules["x"].function,
))  # fmt: skip
var = instead_of(reduce.var, op("var_complex", var_values, GENERAL, node="VarBackward0", complex=ADJOINT, x=reduce.var.rules["x"].function))
std = instead_of(reduce.std, op("std_complex", std_values, GENERAL, node="StdBackward0", complex=ADJOINT, x=reduce.std.rules["x"].function))


def beside_mean(values):
    """What goes with the mean, which is linear: the two results of one node."""
    return lambda x, *, axis=None, correction=1, keepdims=False: (
        values(x, axis=axis, correction=correction, keepdims=keepdims), reduce.mean(x, axis=axis, keepdims=keepdims),
    )  # fmt: skip


var_mean, std_mean = (
    instead_of(row, op(f"{row.name}_complex", beside_mean(values), GENERAL, node=row.node_name, outputs=2, complex=ADJOINT,
                       x=row.rules["x"].function))
    for row, values in ((reduce.var_mean, var_values), (reduce.std_mean, std_values))
)  # fmt: skip
