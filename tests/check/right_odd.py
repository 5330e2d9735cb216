"""Right rules in odd styles: loops, einsum, float32 inside, masks by multiplication, views, scalars, log space, other orders of summation."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from autolab import tensor
from autolab.autograd import Function

from .right import right, sum_to

# --- masks by multiplication, and guards against what is not a number


@right("relu")
def mask_times_g(g, x):
    return (x > 0) * g


@right("relu")
def by_heaviside(g, x):
    return np.heaviside(x, 0.0) * g


@right("relu")
def by_copysign(g, x):
    return g * 0.5 * (1 + np.copysign(1.0, np.where(x == 0, -1.0, x)))


@right("leaky_relu")
def slope_to_a_power(g, x, negative_slope):
    return g * negative_slope ** (x <= 0)


@right("clamp")
def inside_is_a_product(g, x, min, max):
    return g * ((x - min) * (max - x) >= 0)


@right("hardtanh")
def complement_of_the_outside(g, x, low, high):
    return g - g * np.logical_or(x <= low, x >= high)


@right("elu")
def both_branches_by_minimum(g, x, alpha):
    return g * np.where(x > 0, 1.0, alpha * np.exp(np.minimum(x, 0)))


@right("elu")
def from_the_result(g, out, alpha):
    return g * np.minimum(1.0, out + alpha) if alpha == 1 else g * np.where(out > 0, 1, out + alpha)


@right("silu")
def guarded_by_nan_to_num(g, x):
    with np.errstate(over="ignore"):
        s = np.nan_to_num(1 / (1 + np.exp(-x)))
    return g * np.nan_to_num(s + x * s * (1 - s))


@right("softplus")
def by_the_larger_side(g, x):
    e = np.exp(-np.abs(x))
    return g * np.where(x >= 0, 1, e) / (1 + e)


@right("sigmoid")
def by_a_hyperbolic_cosine(g, x):
    return g / (4 * np.cosh(np.clip(x, -300, 300) / 2) ** 2)


@right("tanh")
def by_a_hyperbolic_secant(g, x):
    return g / np.cosh(np.clip(x, -300, 300)) ** 2


@right("xlogy")
def log_where_x_counts(g, x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(x == 0, np.log(np.where(y > 0, y, 1)), np.log(y))
        return sum_to(g * log, x.shape), sum_to(g * x / y, y.shape)


# --- log space


@right("mul")
def products_in_log_space(g, x, y):
    def signed(a, b):
        with np.errstate(divide="ignore"):
            return np.sign(a) * np.sign(b) * np.exp(np.log(np.abs(a)) + np.log(np.abs(b)))

    return sum_to(signed(g, y), x.shape), sum_to(signed(g, x), y.shape)


@right("softmax")
def softmax_in_log_space(g, x, axis):
    log_p = x - np.logaddexp.reduce(x, axis=axis, keepdims=True)
    p = np.exp(log_p)
    return np.exp(log_p) * g - p * np.sum(p * g, axis=axis, keepdims=True)


@right("logsumexp")
def difference_of_logarithms(g, x, out, axis):
    return np.expand_dims(g, axis) * np.exp(x - np.expand_dims(out, axis))


@right("prod")
def prod_in_log_space(g, x, axis):
    size = np.exp(np.log(np.abs(x)).sum(axis, keepdims=True) - np.log(np.abs(x)))
    sign = np.prod(np.sign(x), axis=axis, keepdims=True) * np.sign(x)
    return np.expand_dims(g, axis) * sign * size


@right("cross_entropy")
def minus_one_in_place_of_a_one_hot(g, x, target):
    p = np.exp(x - np.logaddexp.reduce(x, axis=1)[:, None])
    for i, t in enumerate(target.tolist()):
        p[i, t] -= 1.0
    return p * (g / p.shape[0])


# --- float32 on the way where nothing is lost, and other types


@right("relu")
def mask_of_float32(g, x):
    return g * (x > 0).astype(np.float32)


@right("mean")
def count_of_float32(g, x, axis):
    return np.repeat(np.expand_dims(g, axis), x.shape[axis], axis) / np.float32(x.shape[axis])


@right("take")
def one_hot_of_bytes(g, index, x_shape):
    hot = (np.arange(x_shape[0]) == index.reshape(-1, 1)).astype(np.uint8)
    return np.tensordot(hot, g.reshape(index.size, *x_shape[1:]), (0, 0))


@right("abs")
def difference_of_two_masks(g, x):
    return g * (x > 0).astype(float) - g * (x < 0).astype(float)


@right("square")
def twice_as_a_sum_of_objects(g, x):
    return np.array([gi * xi + xi * gi for gi, xi in zip(g.ravel().tolist(), x.ravel().tolist(), strict=True)]).reshape(x.shape)


@right("exp")
def long_double_inside(g, x):
    return (g.astype(np.longdouble) * np.exp(x.astype(np.longdouble))).astype(g.dtype)


# --- what is returned: views, arrays of no axes, scalars of NumPy, tuples


@right("transpose")
def a_view_of_g(g, axes):
    return g.transpose([axes.index(k) for k in range(len(axes))])


@right("flip")
def a_view_with_a_negative_step(g, axis):
    return g[tuple(slice(None, None, -1) if k == axis % g.ndim else slice(None) for k in range(g.ndim))]


@right("expand_dims")
def a_view_without_the_axis(g, axis):
    return np.take(g, 0, axis)


@right("sum")
def a_view_that_repeats_one_number(g, x, axis):
    return np.broadcast_to(np.expand_dims(g, axis), x.shape)


@right("add")
def g_itself_twice(g, x, y):
    return (g if x.shape == g.shape else sum_to(g, x.shape)), (g if y.shape == g.shape else sum_to(g, y.shape))


@right("reshape")
def the_one_gradient_in_a_tuple(g, x_shape):
    return (g.reshape(x_shape),)


@right("dot")
def a_scalar_of_numpy_times_arrays(g, x, y):
    (number,) = np.ravel(g)
    return number * y, number * x


@right("mse_loss")
def residuals_of_a_list(g, x, y, reduction):
    n = x.size if reduction == "mean" else 1
    r = np.fromiter((2 * (a - b) / n for a, b in zip(x.flat, y.flat, strict=True)), float, x.size).reshape(x.shape)
    return [np.asarray(g) * r, np.asarray(g) * -r]


@right("log")
def fortran_order(g, x):
    return np.asfortranarray(g / x)


@right("sub")
def a_buffer_that_both_share(g, x, y):
    both = np.stack([g, -g])
    return sum_to(both[0], x.shape), sum_to(both[1], y.shape)


# --- in place, on copies


@right("softmax")
def in_place_on_a_copy(g, out, axis):
    total = g.copy()
    total *= out
    total -= out * total.sum(axis, keepdims=True)
    return total


@right("sqrt")
def in_place_on_a_new_array(g, out):
    half = np.full_like(out, 0.5)
    np.divide(half, out, out=half)
    half *= g
    return half


@right("masked_fill")
def copied_and_overwritten(g, x, mask, value):
    kept = np.array(np.broadcast_to(g, np.broadcast_shapes(x.shape, mask.shape)))
    rest = np.array(kept)
    np.copyto(kept, 0, where=np.broadcast_to(mask.astype(bool), kept.shape))
    np.copyto(rest, 0, where=~np.broadcast_to(mask.astype(bool), rest.shape))
    return sum_to(kept, x.shape), None, sum_to(rest, value.shape)


@right("tril")
def a_triangle_by_setting_zeros(g, k):
    kept = g.copy()
    i, j = np.indices(g.shape[-2:])
    kept[..., j > i + k] = 0
    return kept


# --- loops and other orders of summation


@right("matmul")
def one_product_for_each_entry(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for at in np.ndindex(g.shape):
        batch, i, j = at[:-2], at[-2], at[-1]
        xs, ys = (a[(*batch,)] if a.ndim == g.ndim else a for a in (x, y))
        (gx[(*batch,)] if x.ndim == g.ndim else gx)[i] += g[at] * ys[:, j]
        (gy[(*batch,)] if y.ndim == g.ndim else gy)[:, j] += g[at] * xs[i]
    return gx, gy


@right("mm")
def rank_one_at_a_time(g, x, y):
    gx = functools.reduce(np.add, (np.outer(g[:, j], y[:, j]) for j in reversed(range(g.shape[1]))))
    gy = functools.reduce(np.add, (np.outer(x[i], g[i]) for i in reversed(range(g.shape[0]))))
    return gx, gy


@right("bmm")
def einsum_with_ellipsis(g, x, y):
    return np.einsum("...ij,...kj->...ik", g, y), np.einsum("...ki,...kj->...ij", x, g)


@right("outer")
def einsum_in_one_line(g, x, y):
    return np.einsum("ij,j", g, y), np.einsum("ij,i", g, x)


@right("linear")
def bias_by_ones(g, x, weight, bias):
    flat, rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return np.einsum("...o,oi", g, weight), np.einsum("no,ni->oi", flat, rows), np.ones(len(flat)) @ flat


@right("mean")
def exact_count_by_fractions(g, x, axis):
    n = x.shape[axis]
    return np.stack([g / n for _ in range(n)], axis)


@right("cumprod")
def forward_products_by_accumulate(g, x, axis):
    gs, xs = np.moveaxis(g, axis, 0), np.moveaxis(x, axis, 0)
    total = np.zeros_like(xs)
    for j in range(len(xs)):
        ones = [*xs[:j], np.ones_like(xs[j]), *xs[j + 1 :]]
        total[j] = sum(gk * p for k, (gk, p) in enumerate(zip(gs, itertools.accumulate(ones, np.multiply), strict=True)) if k >= j)
    return np.moveaxis(total, 0, axis)


@right("max_pool")
def windows_by_a_dictionary(g, x, out):
    best, gx = {}, np.zeros_like(x)
    stride = x.shape[-1] // out.shape[-1]
    for at in np.ndindex(out.shape):
        *lead, i, j = at
        window = [(*lead, stride * i + a, stride * j + b) for a in range(stride) for b in range(stride)]
        best[at] = max(window, key=lambda p: x[p])
    for at, p in best.items():
        gx[p] += g[at]
    return gx


@right("avg_pool")
def spread_by_a_product_of_kronecker(g, x, out):
    stride = x.shape[-1] // out.shape[-1]
    return np.kron(g, np.full((stride, stride), 1 / stride**2))


@right("norm")
def one_axis_by_hypotenuses(g, x, ord, axis):
    if ord == 2:
        length = functools.reduce(np.hypot, np.moveaxis(x, axis, 0))
        return np.expand_dims(g / length, axis) * x
    length = (np.abs(x) ** ord).sum(axis, keepdims=True) ** (1 / ord)
    return np.expand_dims(g, axis) * np.sign(x) * (np.abs(x) / length) ** (ord - 1)


@right("layer_norm")
def rows_one_by_one(g, x, weight, bias):
    gx, gw, gb = np.zeros_like(x), np.zeros_like(weight), np.zeros_like(bias)
    for at in np.ndindex(x.shape[:-1]):
        row, n = x[at], x.shape[-1]
        c = row - math.fsum(row) / n
        s = math.sqrt(math.fsum(c * c) / n + 1e-5)
        h, z = g[at] * weight, c / s
        gx[at] = (n * h - h.sum() - z * (h @ z)) / (n * s)
        gw, gb = gw + g[at] * z, gb + g[at]
    return gx, gw, gb


# --- recomputed, or through another function


@right("sqrt")
def recomputed_by_newton(g, x):
    r = np.sqrt(x)
    r = (r + x / r) / 2
    return g / (r + r)


@right("rsqrt")
def through_the_root(g, x):
    return -g / (2 * x * np.sqrt(x))


@right("div")
def through_the_reciprocal(g, x, y):
    r = np.reciprocal(y)
    return sum_to(g * r, x.shape), sum_to(np.negative(g) * x * np.square(r), y.shape)


@right("pow")
def powers_by_exp_and_log(g, x, y):
    p = np.exp((y - 1) * np.log(x))
    return sum_to(g * y * p, x.shape), sum_to(g * x * p * np.log(x), y.shape)


@right("log10")
def changed_base_by_log2(g, x):
    return g / x * (np.log2(math.e) / np.log2(10))


@right("gelu")
def density_and_tail(g, x):
    tail = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in np.ravel(x)]).reshape(np.shape(x))
    return g * tail + g * x * np.exp(-0.5 * x**2 - 0.5 * math.log(2 * math.pi))


@right("inv")
def by_two_solutions(g, x):
    t = np.swapaxes(x, -1, -2)
    return -np.linalg.solve(t, np.swapaxes(np.linalg.solve(x, np.swapaxes(g, -1, -2)), -1, -2))


@right("solve")
def by_the_inverse_of_the_transpose(g, a, b):
    inverse = np.linalg.inv(np.swapaxes(a, -1, -2))
    h = inverse @ g
    return -h @ np.swapaxes(np.linalg.inv(a) @ b, -1, -2), h


@right("var")
def by_pairs(g, x, axis, keepdims=False, correction=1):
    n = x.shape[axis]
    away = sum(x - np.roll(x, k, axis) for k in range(n))
    return np.expand_dims(g, axis) * 2 * away / (n * (n - correction))


@right("where")
def by_choose(g, condition, x, y):
    c = condition.astype(int)
    return None, sum_to(np.choose(c, [0 * g, g]), x.shape), sum_to(np.choose(c, [g, 0 * g]), y.shape)


@right("roll")
def by_indices(g, shift, axis):
    return np.take(g, (np.arange(g.shape[axis]) + shift) % g.shape[axis], axis)


@right("gather")
def by_a_loop_over_the_index(g, index, x_shape, axis):
    total = np.zeros(x_shape)
    for at in np.ndindex(index.shape):
        place = list(at)
        place[axis] = index[at]
        total[tuple(place)] += g[at]
    return total


@right("logaddexp")
def shares_of_a_difference(g, x, y):
    d = np.clip(x - y, -700, 700)
    return sum_to(g / (1 + np.exp(-d)), x.shape), sum_to(g / (1 + np.exp(d)), y.shape)


@right("huber")
def clipped_difference(g, x, delta):
    return g * np.minimum(np.maximum(x, -delta), delta)


@right("square")
class KeepsTheDoubleOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.double = x + x
        return x * x

    @staticmethod
    def backward(ctx, *incoming):
        return ctx.double * incoming[0]


@right("mul")
class DecidesByNeedsInputGrad(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        grads = []
        for needed, other, own in zip(ctx.needs_input_grad, ctx.saved_tensors[::-1], ctx.saved_tensors, strict=True):
            value = g * other
            extra = value.ndim - own.ndim
            axes = [*range(extra), *(k + extra for k, n in enumerate(own.shape) if n == 1)]
            grads.append((value.sum(axes, keepdim=True) if axes else value).reshape(own.shape) if needed else None)
        return tuple(grads)


@right("exp")
class ReturnsANewTensorOfNumbers(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.out = np.exp(x.numpy())
        return tensor(ctx.out)

    @staticmethod
    def backward(ctx, g):
        return tensor(g.numpy() * ctx.out)


@right("gumbel_softmax")
def a_jacobian_for_each_row(g, out, tau):
    grad = np.zeros_like(out)
    for n, p in enumerate(out):
        grad[n] = (np.diag(p) - np.outer(p, p)) @ g[n] / tau
    return grad, None


@right("mse_loss")
def every_number_by_itself(g, x, y, reduction):
    grad = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            grad[i, j] = 2 * g * (x[i, j] - y[i, j]) / (x.size if reduction == "mean" else 1)
    return grad, -grad
