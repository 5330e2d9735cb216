"""Wrong rules for operations on each entry, as students write them."""

from __future__ import annotations

import numpy as np

from autolab import where
from autolab.autograd import Function

from .wrong import sum_to, wrong


@wrong("cos", "sign")
class CosWithoutMinus(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.sin()


@wrong("cos", "function")
def cos_stays_cos(g, x):
    return -g * np.cos(x)


@wrong("reciprocal", "sign")
def reciprocal_plus(g, x):
    return g / x**2


@wrong("reciprocal", "power|factor")
class ReciprocalOnePower(Function):
    @staticmethod
    def forward(ctx, x):
        out = 1 / x
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return -g * out


@wrong("log1p", "number|term")
def log1p_is_log(g, x):
    return g / x


@wrong("pow_scalar", "number|power|factor")
def power_stays(g, x, exponent):
    return exponent * g * x**exponent


@wrong("pow_scalar", "factor|constant")
class PowerDoesNotComeDown(Function):
    @staticmethod
    def forward(ctx, x, exponent):
        ctx.save_for_backward(x)
        ctx.exponent = exponent
        return x**exponent

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x ** (ctx.exponent - 1), None


@wrong("pow_scalar", "constant|number")
def derivative_of_a_square(g, x, exponent):
    return 2 * g * x ** (exponent - 1)


@wrong("silu", "term|factor")
def silu_without_the_second_term(g, x):
    return g / (1 + np.exp(-x))


@wrong("silu", "factor|variable|function")
def silu_like_sigmoid(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * s * (1 - s)


@wrong("silu", "term sign")
def silu_minus(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * (s - x * s * (1 - s))


@wrong("gelu", "term")
class GeluCdfOnly(Function):
    @staticmethod
    def forward(ctx, x):
        cdf = 0.5 * (1 + (x / 2**0.5).erf())
        ctx.save_for_backward(x, cdf)
        return x * cdf

    @staticmethod
    def backward(ctx, g):
        _, cdf = ctx.saved_tensors
        return g * cdf


@wrong("gelu", "factor|term")
def gelu_forgets_x(g, x):
    from math import erf, pi

    cdf = np.vectorize(lambda t: 0.5 * (1 + erf(t / 2**0.5)))(x)
    pdf = np.exp(-(x**2) / 2) / np.sqrt(2 * pi)
    return g * (cdf + pdf)


@wrong("softplus", "function|applied twice|variable")
def softplus_tanh(g, x):
    return g * np.tanh(x)


@wrong("clip", "upstream only")
def clip_straight_through(g, x):
    return g


@wrong("clip", "mask")
class ClipOutside(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        outside = (x < ctx.low) | (x > ctx.high)
        return g * outside.to(g.dtype), None, None


@wrong("clip", "mask")
def clip_one_side(g, x, low, high):
    return g * (x <= high)


@wrong("clip", "forward|mask")
def clips_the_gradient(g, x, low, high):
    return np.clip(g, low, high)


@wrong("round_through", "zero")
def true_derivative_of_round(g, x):
    return np.zeros_like(g)


@wrong("round_through", "forward|factor|precision")
def rounds_the_gradient(g, x):
    return np.round(g)


@wrong("maximum", "mask")
def maximum_the_other_way(g, x, y):
    return sum_to(g * (x < y), x), sum_to(g * (y < x), y)


@wrong("maximum", "upstream only|mask")
class MaximumBoth(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x.maximum(y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return sum_to(g, x), sum_to(g, y)


@wrong("where", "swapped|mask")
def where_exchanged(g, condition, x, y):
    return None, np.where(condition, 0, g), np.where(condition, g, 0)


@wrong("where", "upstream only|mask")
class WhereBothGetAll(Function):
    @staticmethod
    def forward(ctx, condition, x, y):
        return where(condition, x, y)

    @staticmethod
    def backward(ctx, g):
        return None, g, g


@wrong("where", "zero|mask")
def where_second_is_zero(g, condition, x, y):
    return None, g * condition, 0 * g


@wrong("leaky_relu", "factor|mask|places|constant")
def leaky_slope_everywhere(g, x, negative_slope):
    return g * negative_slope


@wrong("leaky_relu", "mask|places|setting")
class LeakyIsRelu(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        return where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0), None


@wrong("leaky_relu", "mask|sign|places|term sign")
def leaky_negative(g, x, negative_slope):
    return np.where(x > 0, g, -negative_slope * g)


@wrong("leaky_relu", "mask from g")
def leaky_asks_g(g, x, negative_slope):
    return np.where(g > 0, g, negative_slope * g)


@wrong("abs", "upstream ignored")
def abs_sign_only(g, x):
    return np.sign(x)


@wrong("abs", "forward")
def abs_of_x(g, x):
    return g * np.abs(x)


@wrong("abs", "upstream size")
def abs_of_g(g, x):
    return np.abs(g) * np.sign(x)


@wrong("abs", "upstream only")
def abs_passes(g, x):
    return g


@wrong("add", "not summed")
class AddReturnsG(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g


@wrong("add", "swapped|variable|factor")
def add_like_mul(g, x, y):
    return sum_to(g * y, x), sum_to(g * x, y)


@wrong("add", "one of many|not summed|wrong axis")
def add_takes_first(g, x, y):
    def fit(a, like):
        while a.ndim > like.ndim:
            a = a[0]
        for axis, n in enumerate(like.shape):
            if n == 1:
                a = a.take([0], axis)
        return a

    return fit(g, x), fit(g, y)


@wrong("div", "swapped")
def div_swapped(g, x, y):
    return sum_to(-g * x / y**2, x), sum_to(g / y, y)


@wrong("div", "division")
class DivLikeMul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x / y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return sum_to(g * y, x), sum_to(-g * x / (y * y), y)


@wrong("div", "variable|factor")
def div_forgets_x(g, x, y):
    return sum_to(g / y, x), sum_to(-g / y**2, y)


@wrong("div", "keepdims|wrong axis|not summed")
def div_sums_with_keepdims(g, x, y):
    gx, gy = g / y, -g * x / y**2
    for axis in range(g.ndim - x.ndim):
        gx = gx.sum(axis, keepdims=True)
    for axis in range(g.ndim - y.ndim):
        gy = gy.sum(axis, keepdims=True)
    return gx, gy


@wrong("pow", "factor")
def pow_log_forgotten(g, x, y, out):
    return sum_to(g * y * x ** (y - 1), x), sum_to(g * out, y)


@wrong("pow", "variable|function|factor")
def pow_log_of_exponent(g, x, y, out):
    return sum_to(g * y * x ** (y - 1), x), sum_to(g * out * np.log(np.abs(y)), y)


@wrong("sqrt", "division")
def sqrt_upside_down(g, out):
    return g * out / 2


@wrong("sqrt", "variable")
class SqrtSavedX(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (2 * x)


@wrong("rsqrt", "constant")
def rsqrt_one_half(g, x):
    return -g * x**-1.5


@wrong("sigmoid", "variable|applied twice")
class SigmoidOfX(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / (1 + (-x).exp())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * (1 - x)


@wrong("sigmoid", "applied twice")
def sigmoid_twice(g, out):
    s = 1 / (1 + np.exp(-out))
    return g * s * (1 - s)


@wrong("sigmoid", "unstable")
def sigmoid_overflows(g, x):
    e = np.exp(x)
    return g * e / (1 + e) ** 2


@wrong("sigmoid", "term sign")
def sigmoid_plus(g, out):
    return g * out * (1 + out)


@wrong("tanh", "finite differences")
class TanhForwardDifference(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        h = 1e-7
        return g * ((x + h).tanh() - x.tanh()) / h


@wrong("exp", "mutation")
class ExpInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@wrong("exp", "second call")
def exp_writes_into_its_result(g, out):
    out *= g
    return out


@wrong("exp", "factor|power")
def exp_like_a_power(g, x, out):
    return g * x * out


@wrong("log", "forward")
def log_of_g(g, out):
    return g * out


@wrong("sin", "applied twice|variable|function")
def cos_of_sin(g, out):
    return g * np.cos(out)


@wrong("square", "upstream twice")
def square_g_twice(g, x):
    return 2 * x * g * g


@wrong("square", "places")
def square_skips_the_first_row(g, x):
    grad = np.zeros_like(x)
    for i in range(1, len(x)):
        grad[i] = 2 * x[i] * g[i]
    return grad


@wrong("square", "overwritten|places|one of many")
def square_loop_overwrites(g, x):
    grad = np.zeros_like(x)
    for i in range(len(x)):
        grad[0] = 2 * x[i] * g[i]
    return grad


@wrong("square", "count")
def square_two_results(g, x):
    return 2 * x * g, g


@wrong("square", "type")
def square_returns_text(g, x):
    return "2 * x * g"


@wrong("square", "nan")
def square_by_logarithm(g, x):
    return g * 2 * np.exp(np.log(x))


@wrong("square", "time")
def square_never_ends(g, x):
    i = 0
    while i < 10:
        g = g * 1.0
    return 2 * g * x
