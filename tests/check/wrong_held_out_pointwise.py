"""Held out: wrong rules for operations on each entry of one array or two; no family was written for them."""

from __future__ import annotations

import math

import numpy as np

import autolab
from autolab.autograd import Function
from autolab.rules.special import erf

from .wrong import wrong


# ---------- pointwise, one input
@wrong("acos", "sign")
def acos_no_minus(g, x):
    return g / np.sqrt(1 - x * x)


@wrong("acos", "factor|term|step|power|function")
def acos_no_root(g, x):
    return -g / (1 - x * x)


@wrong("asin", "term sign|function")
class AsinPlus(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.asin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 + x**2).sqrt()


@wrong("atan", "function|step|power")
def atan_root(g, x):
    return g / np.sqrt(1 + x**2)


@wrong("atanh", "term sign|function")
def atanh_plus(g, x):
    return g / (1 + x * x)


@wrong("acosh", "term sign|function")
def acosh_is_asinh(g, x):
    return g / np.sqrt(x * x + 1)


@wrong("asinh", "term sign|function")
def asinh_is_acosh(g, x):
    return g / np.sqrt(np.abs(x * x - 1))


@wrong("sinc", "function|constant|factor")
def sinc_no_pi(g, x):
    return g * (np.cos(x) * x - np.sin(x)) / x**2


@wrong("sinc", "term|term sign")
def sinc_quotient(g, x):
    t = np.pi * x
    return g * np.pi * np.cos(t) / t


@wrong("log10", "constant|function")
def log10_as_log(g, x):
    return g / x


@wrong("log10", "constant|function|factor")
class Log10Times(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log10()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * math.log(10) / x


@wrong("log2", "constant|function|factor")
def log2_log10(g, x):
    return g / (x * math.log(10))


@wrong("log1p", "function|variable|term|step")
def log1p_as_log(g, x):
    return g / x


@wrong("exp2", "constant|factor|function")
def exp2_as_exp(g, out):
    return g * out


@wrong("exp2", "constant|factor|function")
def exp2_divides(g, out):
    return g * out / math.log(2)


@wrong("expm1", "variable|forward|term|function|step")
class Expm1Out(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.expm1()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


@wrong("expm1", "function|term sign|term|step")
def expm1_minus(g, x):
    return g * (np.exp(x) - 1)


@wrong("sqrt", "variable")
def sqrt_input(g, x):
    return g / (2 * x)


@wrong("sqrt", "constant")
class SqrtHalf(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / y


@wrong("sqrt", "division|step|factor")
def sqrt_mult(g, out):
    return g * 0.5 * out


@wrong("rsqrt", "sign")
def rsqrt_sign(g, out):
    return 0.5 * g * out**3


@wrong("rsqrt", "power|number|step")
def rsqrt_power(g, out):
    return -0.5 * g * out**2


@wrong("rsqrt", "constant")
def rsqrt_const(g, x):
    return -g / x**1.5


@wrong("reciprocal", "sign")
class RecipSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (x * x)


@wrong("reciprocal", "power|number|factor|forward")
def recip_first_power(g, x):
    return -g / x


@wrong("reciprocal", "function")
def recip_log(g, x):
    return g * np.log(np.abs(x))


@wrong("tan", "function|term sign")
def tan_is_tanh(g, out):
    return g * (1 - out**2)


@wrong("tan", "power|factor|number")
def tan_no_square(g, x):
    return g / np.cos(x)


@wrong("tan", "division|power")
def tan_cos2(g, x):
    return g * np.cos(x) ** 2


@wrong("sin", "sign")
def sin_neg(g, x):
    return -g * np.cos(x)


@wrong("sin", "function|forward")
def sin_sin(g, x):
    return g * np.sin(x)


@wrong("cos", "sign")
class CosSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return np.cos(x)

    @staticmethod
    def backward(ctx, g):
        return g * np.sin(ctx.x)


@wrong("cos", "function|variable|applied twice")
def cos_of_out(g, out):
    return -g * np.sin(out)


@wrong("sinh", "sign")
def sinh_sign(g, x):
    return -g * np.cosh(x)


@wrong("cosh", "sign")
def cosh_like_cos(g, x):
    return -g * np.sinh(x)


@wrong("cosh", "function")
def cosh_circ(g, x):
    return -g * np.sin(x)


@wrong("erf", "constant|factor")
def erf_no_const(g, x):
    return g * np.exp(-x * x)


@wrong("erf", "constant|factor")
def erf_half_const(g, x):
    return g / math.sqrt(2 * math.pi) * 2 * np.exp(-x * x)


@wrong("erf", "number|factor|step|function|sign|term sign")
def erf_positive(g, x):
    return g * 2 / math.sqrt(math.pi) * np.exp(x * x)


@wrong("logit", "factor|term|function")
def logit_half(g, x):
    return g / x


@wrong("logit", "division|function")
class LogitSigmoid(Function):
    @staticmethod
    def forward(ctx, x, *rest):
        ctx.save_for_backward(x)
        return (x / (1 - x)).log()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * (1 - x)


@wrong("deg2rad", "division|constant|factor")
def deg2rad_inv(g):
    return g * (180 / math.pi)


@wrong("rad2deg", "upstream ignored")
def rad2deg_ones(g, x):
    return np.full_like(x, 180 / math.pi)


@wrong("neg", "upstream only|sign")
def neg_copy(g):
    return g


@wrong("tanh", "variable")
def tanh_x(g, x):
    return g * (1 - x**2)


@wrong("tanh", "power|number|step")
class TanhNoSquare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.tanh()
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g * (1 - ctx.y)


@wrong("tanh", "function|sign|term sign")
def tanh_is_tan(g, out):
    return g * (1 + out * out)


@wrong("tanh", "function|constant|variable|step")
def tanh_sig(g, out):
    return g * out * (1 - out)


@wrong("tanh", "applied twice|variable")
def tanh_twice(g, out):
    return g * (1 - np.tanh(out) ** 2)


@wrong("sigmoid", "variable")
def sigm_x(g, x):
    return g * x * (1 - x)


@wrong("sigmoid", "applied twice|variable")
class SigmoidTwice(Function):
    @staticmethod
    def forward(ctx, x):
        s = 1 / (1 + (-x).exp())
        ctx.save_for_backward(s)
        return s

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = 1 / (1 + (-x).exp())
        return g * s * (1 - s)


@wrong("sigmoid", "sign|term sign|constant")
def sigm_sign(g, out):
    return g * out * (out - 1)


@wrong("sigmoid", "factor|term")
def sigm_missing(g, out):
    return g * (1 - out)


@wrong("sigmoid", "unstable|nan")
def sigm_unstable(g, x):
    return g * np.exp(x) / (1 + np.exp(x)) ** 2


@wrong("silu", "term")
def silu_first(g, x):
    return g / (1 + np.exp(-x))


@wrong("silu", "term|factor")
class SiluSecond(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return g * x * s * (1 - s)


@wrong("silu", "factor|variable|term")
def silu_noX(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * (s + s * (1 - s))


@wrong("softplus", "function|forward|step")
def softplus_d2(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * s * (1 - s)


@wrong("softplus", "function|sign|term sign|step|variable")
def softplus_other(g, x):
    return g / (1 + np.exp(x))


@wrong("softplus", "mask|function")
def softplus_relu(g, x):
    return g * (x > 0)


@wrong("gelu", "term")
def gelu_cdf(g, x):
    return g * 0.5 * (1 + erf(x / np.sqrt(2)))


@wrong("gelu", "term|factor|variable")
def gelu_pdf_no_x(g, x):
    return g * (0.5 * (1 + erf(x / np.sqrt(2))) + np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


@wrong("gelu", "constant|factor|number|step|function")
def gelu_pdf_no_half(g, x):
    return g * (0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-(x**2)) / np.sqrt(2 * np.pi))


@wrong("gelu", "finite differences")
class GeluFD(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return GeluFD.f(x)

    @staticmethod
    def f(x):
        return x * 0.5 * (1 + (x / math.sqrt(2)).erf())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (GeluFD.f(x + 1e-5) - GeluFD.f(x - 1e-5)) / 2e-5


@wrong("relu", "mask from g|mask")
class ReluG(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g * (g > 0)


@wrong("relu", "mask")
def relu_less(g, x):
    return g * (x < 0)


@wrong("relu", "mask|function|forward|variable")
def relu_y(g, out):
    return g * out


@wrong("relu", "mutation")
class ReluWritesG(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g[x < 0] = 0
        return g


@wrong("relu", "upstream only|mask")
def relu_pass(g):
    return g


@wrong("leaky_relu", "sign|mask|term sign")
def leaky_neg(g, x, negative_slope):
    return np.where(x > 0, g, -negative_slope * g)


@wrong("leaky_relu", "setting")
def leaky_fixed(g, x):
    return np.where(x > 0, g, 0.01 * g)


@wrong("leaky_relu", "mask|upstream size|function")
def leaky_plain(g, x):
    return g * (x > 0)


@wrong("leaky_relu", "swapped|mask")
def leaky_swapped(g, x, negative_slope):
    return np.where(x > 0, negative_slope * g, g)


@wrong("abs", "upstream only")
def abs_g(g):
    return g


@wrong("abs", "variable|forward|function|factor|division")
def abs_x(g, x):
    return g * x


@wrong("abs", "mask|function")
def abs_mask(g, x):
    return g * (x > 0)


@wrong("clip", "mask")
def clip_one_side(g, x, high):
    return g * (x < high)


@wrong("clip", "mask|upstream only")
class ClipOr(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.lim = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        lo, hi = ctx.lim
        return g * ((x > lo) | (x < hi)), None, None


@wrong("clip", "mask from g|forward")
def clip_g(g, low, high):
    return np.clip(g, low, high)


@wrong("pow_scalar", "power|number")
def pows_exponent(g, x, exponent):
    return g * exponent * x**exponent


@wrong("pow_scalar", "constant|factor")
class PowS(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x ** (ctx.n - 1), None


@wrong("pow_scalar", "factor|function|step|variable|power")
def pows_exp(g, x, out):
    return g * out * np.log(x)


@wrong("square", "upstream twice|variable|upstream size")
def square_g2(g, x):
    return 2 * g * g * x


@wrong("square", "constant|power|step|number")
def square_cubed(g, x):
    return g * 2 * x**2


# ---------- two inputs
@wrong("mul", "swapped")
def mul_sw(g, x, y):
    return g * x, g * y


@wrong("mul", "not summed|keepdims|flattened")
class MulNoSum(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


@wrong("mul", "keepdims|wrong axis|not summed")
def mul_sum_axis0(g, x, y):
    gx, gy = g * y, g * x
    if gx.shape != x.shape:
        gx = gx.sum(axis=0)
    if gy.shape != y.shape:
        gy = gy.sum(axis=0)
    return gx, gy


@wrong("add", "averaged")
def add_mean(g, x, y):
    def fit(a, s):
        while a.ndim > len(s):
            a = a.mean(0)
        for i, n in enumerate(s):
            if n == 1 and a.shape[i] != 1:
                a = a.mean(i, keepdims=True)
        return a

    return fit(g, x.shape), fit(g, y.shape)


@wrong("add", "one of many|not summed")
def add_first(g, x, y):
    def fit(a, s):
        while a.ndim > len(s):
            a = a[0]
        for i, n in enumerate(s):
            if n == 1 and a.shape[i] != 1:
                a = np.take(a, [0], axis=i)
        return a

    return fit(g, x.shape), fit(g, y.shape)


@wrong("sub", "sign")
class SubPlus(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.xs, ctx.ys = x.shape, y.shape
        return x - y

    @staticmethod
    def backward(ctx, g):
        return SubPlus.fit(g, ctx.xs), SubPlus.fit(g, ctx.ys)

    @staticmethod
    def fit(g, s):
        while g.dim() > len(s):
            g = g.sum(0)
        for i, n in enumerate(s):
            if n == 1:
                g = g.sum(i, keepdim=True)
        return g


@wrong("rsub", "swapped|sign")
def rsub_as_sub(g):
    return g, -g


@wrong("div", "sign")
def div_sign(g, x, y):
    return g / y, g * x / y**2


@wrong("div", "power|number")
def div_pow(g, x, y):
    return g / y, -g * x / y


@wrong("div", "factor|variable|term|division")
def div_no_x(g, x, y):
    return g / y, -g / y**2


@wrong("div", "forward|variable|step|factor|power")
def div_y2(g, y, out):
    return g / y, -g * out


@wrong("div", "swapped")
def div_swapped(g, x, y):
    return -g * x / y**2, g / y


@wrong("pow", "zero|none")
def pow_zero(g, x, y):
    return g * y * x ** (y - 1), np.zeros_like(y)


@wrong("pow", "not summed|factor|function|variable")
def pow_log_y(g, x, y, out):
    return g * y * x ** (y - 1), g * out * np.log(np.abs(y))


@wrong("pow", "factor|term")
def pow_no_log(g, x, y, out):
    return g * y * x ** (y - 1), g * out


@wrong("atan2", "swapped")
def atan2_sw(g, y, x):
    r = x * x + y * y
    return -g * y / r, g * x / r


@wrong("atan2", "sign")
def atan2_sign(g, y, x):
    r = x * x + y * y
    return g * x / r, g * y / r


@wrong("atan2", "factor|power|step|number")
def atan2_root(g, y, x):
    r = np.sqrt(x * x + y * y)
    return g * x / r, -g * y / r


@wrong("hypot", "constant|step|factor|number")
def hypot_half(g, x, y, out):
    return g * x / (2 * out), g * y / (2 * out)


@wrong("hypot", "division|factor")
class HypotNoDiv(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x * x + y * y).sqrt()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g * x).sum_to_size(x.shape), (g * y).sum_to_size(y.shape)


@wrong("logaddexp", "swapped")
def lae_swapped(g, x, y):
    s = 1 / (1 + np.exp(y - x))
    return g * (1 - s), g * s


@wrong("logaddexp", "factor|forward|step|division|function")
def lae_nodiv(g, x, y):
    return g * np.exp(x), g * np.exp(y)


@wrong("logaddexp2", "constant|factor|step|function")
def lae2(g, x, y, out):
    return g * np.exp2(x - out) * math.log(2), g * np.exp2(y - out) * math.log(2)


@wrong("ldexp", "constant|factor|number")
def ldexp_nolog(g, x, y):
    return g * np.exp2(y), g * x * np.exp2(y)


@wrong("xlogy", "factor|variable|division|term")
def xlogy_noX(g, x, y):
    return g * np.log(y), g / y


@wrong("xlogy", "swapped")
def xlogy_sw(g, x, y):
    return g * x / y, g * np.log(y)


@wrong("xlog1py", "variable|function|term|step")
def xlog1py_y(g, x, y):
    return g * np.log1p(y), g * x / y


@wrong("maximum", "mask|swapped")
def maximum_min(g, x, y):
    return g * (x < y), g * (x > y)


@wrong("minimum", "mask|upstream only")
def minimum_both(g, x, y):
    return g, g


@wrong("fmax", "mask|mask from g")
def fmax_g(g, x, y):
    return g * (x > 0), g * (y > 0)


@wrong("copysign", "upstream only|sign|mask")
def copysign_g(g, x, y):
    return g, np.zeros_like(y)


@wrong("fmod", "zero|none|factor|term")
def fmod_zero(g, x, y):
    return g, np.zeros_like(g)


@wrong("remainder", "sign")
def remainder_sign(g, x, y):
    return g, g * np.floor(x / y)


@wrong("lerp", "swapped")
def lerp_sw(g, x, y, weight):
    return g * weight, g * (1 - weight), g * (y - x)


@wrong("lerp", "sign")
def lerp_sign(g, x, y, weight):
    return g * (1 - weight), g * weight, g * (x - y)


@wrong("where", "swapped|mask")
def where_sw(g, condition):
    return None, np.where(condition, 0, g), np.where(condition, g, 0)


@wrong("where", "upstream only|mask")
class WhereAll(Function):
    @staticmethod
    def forward(ctx, c, x, y):
        return autolab.where(c, x, y)

    @staticmethod
    def backward(ctx, g):
        return None, g, g


@wrong("masked_fill", "mask|upstream only")
def mf_pass(g, mask):
    return g, None, (g * mask).sum()


@wrong("masked_fill", "mask|swapped")
def mf_inv(g, mask):
    return g * mask, None, (g * mask).sum()
