"""Wrong rules of the families that a first meeting did not name, on operations that had few rules."""

from __future__ import annotations

import math

import numpy as np

from autolab.rules.special import erf

from .wrong import wrong


def unbroadcast(g, shape):
    g = g.sum(tuple(range(g.ndim - len(shape))))
    return g.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True) if shape else g


# ---------- the two gradients exchanged
@wrong("div", "swapped")
def div_exchanged(g, x, y):
    return unbroadcast(-g * x / y**2, y.shape), unbroadcast(g / y, x.shape)


@wrong("pow", "swapped")
def pow_exchanged(g, x, y, out):
    return unbroadcast(g * out * np.log(x), y.shape), unbroadcast(g * y * x ** (y - 1), x.shape)


@wrong("xlogy", "swapped")
def xlogy_exchanged(g, x, y):
    return unbroadcast(g * x / y, y.shape), unbroadcast(g * np.log(y), x.shape)


@wrong("sub", "swapped|sign")
def sub_exchanged(g, x, y):
    return unbroadcast(-g, y.shape), unbroadcast(g, x.shape)


@wrong("outer", "swapped|shape|exception|order")
def outer_exchanged(g, x, y):
    return x @ g, g @ y


# ---------- the whole array where an axis belongs
@wrong("amin", "axis|mask|places")
def amin_of_everything(g, x, axis):
    return np.expand_dims(g, axis) * (x == x.min())


@wrong("amax", "axis|mask|places")
def amax_of_everything_shared(g, x, axis):
    m = x == x.max()
    return np.expand_dims(g, axis) * m / m.sum()


@wrong("softmax", "axis|wrong axis")
def softmax_first_axis(g, out, axis):
    return out * (g - (g * out).sum(0, keepdims=True))


@wrong("logsumexp", "axis|function")
def logsumexp_of_everything(g, x, axis):
    e = np.exp(x - x.max())
    return np.expand_dims(g, axis) * e / e.sum()


@wrong("log_softmax", "axis|wrong axis")
def log_softmax_sum_of_everything(g, out, axis):
    return g - np.exp(out) * g.sum()


@wrong("std", "axis|function|term")
def std_mean_of_everything(g, x, out, axis):
    n = x.shape[axis]
    return np.expand_dims(g / out, axis) * (x - x.mean()) / (n - 1)


@wrong("norm", "axis|function|variable")
def norm_of_everything(g, x, axis):
    return np.expand_dims(g, axis) * x / np.sqrt((x * x).sum())


@wrong("var", "axis|function|term")
def var_mean_of_everything(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x - x.mean()) / (x.shape[axis] - 1)


# ---------- the derivative of something else
@wrong("gelu", "function")
def gelu_by_tanh(g, x):
    c = math.sqrt(2 / math.pi)
    t = np.tanh(c * (x + 0.044715 * x**3))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))


@wrong("gelu", "term|function|factor")
def gelu_density_alone(g, x):
    return g * x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@wrong("gelu", "constant|term|function|number|factor")
def gelu_without_root_of_two(g, x):
    return g * (0.5 * (1 + erf(x)) + x * np.exp(-x * x) / math.sqrt(math.pi))


@wrong("softplus", "function|variable|applied twice")
def softplus_is_tanh(g, x):
    return g * np.tanh(x)


@wrong("mse_loss", "function|sign")
def mse_absolute(g, x, y, reduction):
    n = x.size if reduction == "mean" else 1
    return g * np.sign(x - y) / n, -g * np.sign(x - y) / n


@wrong("mse_loss", "function|sign")
def mse_size_of_difference(g, x, y, reduction):
    n = x.size if reduction == "mean" else 1
    return 2 * g * np.abs(x - y) / n, 2 * g * np.abs(x - y) / n


@wrong("logsumexp", "function|mask|tie|variable")
def logsumexp_to_the_largest(g, x, axis):
    return np.expand_dims(g, axis) * (x == x.max(axis, keepdims=True))


@wrong("norm", "function|factor")
def norm_by_sign(g, x, axis):
    return np.expand_dims(g, axis) * np.sign(x)


@wrong("cumprod", "diagonal only")
def cumprod_as_product(g, x, out, axis):
    return g * out / x


# ---------- what depends on the target
@wrong("cross_entropy", "step|function|term|factor")
def ce_by_probability(g, x, target):
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    return -g / p / len(x), None


@wrong("cross_entropy", "step|function|term|factor")
def ce_by_probability_of_target(g, x, target):
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    return -g * np.eye(x.shape[1])[target] / p / len(x), None


@wrong("cross_entropy", "places|term|diagonal only|mask")
def ce_target_alone(g, x, target):
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    rows = np.arange(len(x))
    grad = np.zeros_like(x)
    grad[rows, target] = (p[rows, target] - 1) * g / len(x)
    return grad, None


@wrong("cross_entropy", "places|axis|term")
def ce_columns(g, x, target):
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    p[:, target] -= 1.0
    return g * p / x.shape[0], None


@wrong("bce_with_logits", "factor|power|function")
def bce_sigmoid_twice(g, x, target):
    s = 1 / (1 + np.exp(-x))
    return g * (s - target) * s * (1 - s) / x.size, None


@wrong("binary_cross_entropy", "factor|function|operation")
def bce_as_if_logits(g, x, target):
    return unbroadcast(g * (x - target), x.shape), unbroadcast(g * np.log((1 - x) / x), target.shape)


# ---------- stacks of matrices
@wrong("bmm", "wrong axis|not summed|axis|overwritten")
def bmm_adds_the_stack(g, x, y):
    return g @ y.sum(0).T, np.swapaxes(x, 1, 2) @ g


@wrong("bmm", "wrong axis|one of many|places")
def bmm_first_matrix(g, x, y):
    return g @ y[0].T, np.swapaxes(x, 1, 2) @ g


@wrong("matmul", "wrong axis|one of many|places")
def matmul_first_matrix(g, x, y):
    first = x[0] if x.ndim > 2 else x
    return g @ np.swapaxes(y, -1, -2), first.T @ g


@wrong("matmul", "wrong axis|not summed")
def matmul_adds_g(g, x, y):
    total = g.sum(0) if g.ndim > 2 else g
    return g @ np.swapaxes(y, -1, -2), np.swapaxes(x, -1, -2) @ total


# ---------- missing terms
@wrong("layer_norm", "term")
def layer_norm_forgets_the_mean(g, x, weight):
    m = x.mean(-1, keepdims=True)
    r = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    z, h = (x - m) * r, g * weight
    return r * (h - z * (h * z).mean(-1, keepdims=True)), (g * z).sum(0), g.sum(0)


@wrong("batch_norm", "term")
def batch_norm_frozen(g, x, weight):
    r = 1 / np.sqrt(x.var(0) + 1e-5)
    z = (x - x.mean(0)) * r
    return g * weight * r, (g * z).sum(0), g.sum(0)


@wrong("log1p", "term|number")
def log1p_is_log(g, x):
    return g / x


@wrong("rsqrt", "power|number")
def rsqrt_minus_half(g, x):
    return -g / (2 * np.sqrt(x))


@wrong("reciprocal", "power|factor|variable")
def reciprocal_one_power(g, x):
    return -g / x


# ---------- the way that forward went
@wrong("cumsum", "flipped|forward")
def cumsum_again(g, axis):
    return np.cumsum(g, axis)


@wrong("roll", "flipped|forward|permutation|sign|term sign|pieces|places")
def roll_again(g, shift, axis):
    return np.roll(g, shift, axis)


@wrong("mul", "operation")
def mul_by_the_sum(g, x, y):
    return unbroadcast(g * (x + y), x.shape), unbroadcast(g * (x + y), y.shape)


# ---------- what stays from call to call, and what depends on the dtype
SLOPES: dict[str, np.ndarray] = {}


@wrong("exp", "state")
def exp_remembers(g, x):
    SLOPES.setdefault("exp", np.exp(x))
    return g * SLOPES["exp"]


@wrong("sin", "state")
def sin_remembers_each_shape(g, x):
    return g * SLOPES.setdefault(f"sin {x.shape}", np.cos(x))


@wrong("square", "dtype")
def square_of_whole_numbers(g, x):
    return 2 * g * (x if x.dtype == np.float64 else x.astype(int))


@wrong("exp", "dtype")
def exp_for_double_only(g, out):
    return g * out if out.dtype == np.float64 else g


# ---------- another small number
@wrong("rms_norm", "number")
def rms_norm_without_eps(g, x, weight):
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True))
    z, h = x * r, g * weight
    return r * (h - z * (h * z).mean(-1, keepdims=True)), (g * z).sum(0)


@wrong("layer_norm", "number")
def layer_norm_with_another_eps(g, x, weight):
    r = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    z, h = (x - x.mean(-1, keepdims=True)) * r, g * weight
    return r * (h - h.mean(-1, keepdims=True) - z * (h * z).mean(-1, keepdims=True)), (g * z).sum(0), g.sum(0)


# ---------- sums over what goes on
@wrong("cumprod", "factor")
def cumprod_factor_outside(g, x, out, axis):
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis) * out / x


@wrong("logcumsumexp", "factor")
def logcumsumexp_factor_outside(g, x, out, axis):
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis) * np.exp(x - out)


@wrong("logsumexp", "factor|division|unstable")
def logsumexp_not_divided(g, x, axis):
    return np.expand_dims(g, axis) * np.exp(x - x.max(axis, keepdims=True))


@wrong("prod", "division|operation")
def prod_upside_down(g, x, out, axis):
    return np.expand_dims(g / out, axis) * x


@wrong("prod", "operation|term")
def prod_takes_away(g, x, out, axis):
    return np.expand_dims(g, axis) * (np.expand_dims(out, axis) - x)


# ---------- an index of another array
@wrong("amax", "axis|places|one of many")
def amax_index_of_all_along_the_axis(g, x, axis):
    out = np.zeros_like(x)
    np.put_along_axis(out, np.full_like(np.expand_dims(g, axis), x.argmax() % x.shape[axis], int), np.expand_dims(g, axis), axis)
    return out


@wrong("amax", "places|flattened")
def amax_index_along_the_axis_of_all(g, x, axis):
    out = np.zeros_like(x)
    np.put(out, x.argmax(axis), g)
    return out


# ---------- sums of g alone
@wrong("softmax", "upstream collapsed")
def softmax_sum_of_g_times_mean(g, out, axis):
    return out * (g - g.sum(axis, keepdims=True) * out.mean(axis, keepdims=True))


@wrong("rms_norm", "upstream collapsed")
def rms_norm_mean_of_g_times_sum(g, x, weight):
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    z, h = x * r, g * weight
    return r * (h - z * h.mean(-1, keepdims=True) * z.sum(-1, keepdims=True)), (g * z).sum(0)


# ---------- a setting that is used at its default only, or a bound that is written in
@wrong("addcmul", "factor|setting")
def addcmul_without_its_setting(g, x, a, b):
    return unbroadcast(g, x.shape), unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape)


@wrong("addcdiv", "factor|setting")
def addcdiv_without_its_setting(g, x, a, b):
    return unbroadcast(g, x.shape), unbroadcast(g / b, a.shape), unbroadcast(-g * a / b**2, b.shape)


@wrong("huber", "places|number")
def huber_with_its_bend_at_one(g, x, delta):
    return np.where(np.abs(x) <= 1, g * x, g * delta * np.sign(x))


@wrong("clip", "number")
def clip_at_one(g, x, low, high):
    return g * ((x >= -1) & (x <= 1))


@wrong("hardtanh", "number")
def hardtanh_at_one(g, x, low, high):
    return g * ((x > -1) & (x < 1))
