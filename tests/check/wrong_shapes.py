"""Wrong rules for reductions and for operations that only move entries."""

from __future__ import annotations

import numpy as np

from autolab import cat
from autolab.autograd import Function

from .wrong import wrong

# --- reductions


@wrong("sum", "axis|wrong axis|permutation")
def sum_puts_the_axis_first(g, x, axis):
    return np.broadcast_to(np.expand_dims(g, 0), x.shape) if x.shape[0] == x.shape[axis] else np.broadcast_to(
        np.expand_dims(g, 0).reshape((1,) + g.shape), (x.shape[axis],) + g.shape).reshape(x.shape)  # fmt: skip


@wrong("sum", "constant")
class SumAverages(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim, ctx.shape = dim, x.shape
        return x.sum(dim)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.dim).expand(ctx.shape) / ctx.shape[ctx.dim], None


@wrong("mean", "constant")
class MeanForgetsN(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim, ctx.shape = dim, x.shape
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.dim).expand(ctx.shape), None


@wrong("mean", "constant|division")
def mean_multiplies(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) * x.shape[axis]


@wrong("mean", "constant")
def mean_other_axis(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x) / len(g)


@wrong("var", "constant")
class VarBiased(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.var(dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        n = x.shape[ctx.dim]
        return g.unsqueeze(ctx.dim) * 2 * (x - x.mean(ctx.dim, keepdim=True)) / n, None


@wrong("var", "term")
def var_forgets_the_mean(g, x, axis):
    return np.expand_dims(g, axis) * 2 * x / (x.shape[axis] - 1)


@wrong("var", "constant")
def var_forgets_the_two(g, x, axis):
    return np.expand_dims(g, axis) * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("var", "variable|term|axis|step")
def var_of_the_whole_mean(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x - x.mean()) / (x.shape[axis] - 1)


@wrong("std", "factor|division|function")
def std_is_var(g, x, axis):
    return np.expand_dims(g, axis) * 2 * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)


@wrong("std", "constant")
def std_with_n(g, x, out, axis):
    return np.expand_dims(g / out, axis) * (x - x.mean(axis, keepdims=True)) / x.shape[axis]


@wrong("amax", "tie")
class MaxFirstOnly(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x.argmax(dim, keepdim=True))
        ctx.dim, ctx.shape = dim, x.shape
        return x.amax(dim)

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return g.new_zeros(ctx.shape).scatter(ctx.dim, index, g.unsqueeze(ctx.dim)), None


@wrong("amax", "tie")
def max_full_share_for_each(g, x, axis):
    top = x.max(axis, keepdims=True)
    return np.expand_dims(g, axis) * (x == top)


@wrong("amax", "mask|not spread|keepdims|upstream only")
def max_spreads_to_all(g, x, axis):
    return np.expand_dims(g, axis) * np.ones_like(x)


@wrong("amax", "mask|function")
def min_instead(g, x, axis):
    low = x == x.min(axis, keepdims=True)
    return np.expand_dims(g, axis) * low / low.sum(axis, keepdims=True)


@wrong("amax", "axis|mask|places")
def max_of_everything(g, x, axis):
    top = x == x.max()
    return np.expand_dims(g, axis) * top / top.sum()


@wrong("prod", "factor")
def prod_keeps_all_factors(g, x, out, axis):
    return np.expand_dims(g * out, axis) * np.ones_like(x)


@wrong("prod", "factor|division")
def prod_multiplies(g, x, out, axis):
    return np.expand_dims(g * out, axis) * x


@wrong("logsumexp", "function|not spread|term|upstream only|step|factor")
class LogSumExpPasses(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim, ctx.shape = dim, x.shape
        return x.logsumexp(dim)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.dim).expand(ctx.shape), None


@wrong("logsumexp", "factor|unnormalised|step|term")
def logsumexp_not_normalised(g, x, axis):
    return np.expand_dims(g, axis) * np.exp(x)


@wrong("logsumexp", "unstable")
def logsumexp_overflows(g, x, axis):
    e = np.exp(x)
    return np.expand_dims(g, axis) * e / e.sum(axis, keepdims=True)


@wrong("logsumexp", "axis")
def logsumexp_last_axis(g, x, axis):
    e = np.exp(x - x.max())
    return np.expand_dims(g, axis) * e / e.sum(-1, keepdims=True)


@wrong("norm", "constant")
def norm_with_a_two(g, x, out, axis):
    return np.expand_dims(g / out, axis) * 2 * x


@wrong("norm", "factor|division")
def norm_forgets_to_divide(g, x, axis):
    return np.expand_dims(g, axis) * x


@wrong("cumsum", "diagonal only|upstream only")
class CumsumPasses(Function):
    @staticmethod
    def forward(ctx, x, dim):
        return x.cumsum(dim)

    @staticmethod
    def backward(ctx, g):
        return g, None


@wrong("cumsum", "forward|flipped|function")
def cumsum_forwards(g, axis):
    return np.cumsum(g, axis)


@wrong("cumsum", "axis")
def cumsum_last(g, axis):
    return np.flip(np.cumsum(np.flip(g, -1), -1), -1)


@wrong("softmax", "upstream ignored|zero")
def softmax_no_g(g, out, axis):
    return out - out * out.sum(axis, keepdims=True)


@wrong("softmax", "term|factor")
def softmax_sum_without_p(g, out, axis):
    return out * (g - g.sum(axis, keepdims=True))


@wrong("softmax", "factor|term")
class SoftmaxOuterForgotten(Function):
    @staticmethod
    def forward(ctx, x, dim):
        out = x.softmax(dim)
        ctx.save_for_backward(out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g - (g * out).sum(ctx.dim, keepdim=True), None


@wrong("softmax", "term sign")
def softmax_plus(g, out, axis):
    return out * (g + (g * out).sum(axis, keepdims=True))


@wrong("softmax", "averaged|function")
def softmax_mean(g, out, axis):
    return out * (g - (g * out).mean(axis, keepdims=True))


@wrong("softmax", "axis|keepdims")
def softmax_sums_everything(g, out, axis):
    return out * (g - (g * out).sum())


@wrong("log_softmax", "term|upstream only")
class LogSoftmaxPasses(Function):
    @staticmethod
    def forward(ctx, x, dim):
        return x.log_softmax(dim)

    @staticmethod
    def backward(ctx, g):
        return g, None


@wrong("log_softmax", "variable|step|function")
def log_softmax_with_log_probabilities(g, out, axis):
    return g - out * g.sum(axis, keepdims=True)


@wrong("log_softmax", "factor|diagonal only|term")
def log_softmax_elementwise(g, out, axis):
    return g * (1 - np.exp(out))


@wrong("log_softmax", "function|variable|softmax")
def log_softmax_like_softmax(g, out, axis):
    p = np.exp(out)
    return p * (g - (g * p).sum(axis, keepdims=True))


# --- moving entries


@wrong("reshape", "flattened|shape")
def reshape_not_back(g, x):
    return g


@wrong("reshape", "order|permutation|moved")
def reshape_in_columns(g, x):
    return g.reshape(x.shape, order="F")


@wrong("permute", "permutation")
class PermuteAgain(Function):
    @staticmethod
    def forward(ctx, x, axes):
        ctx.axes = axes
        return x.permute(axes)

    @staticmethod
    def backward(ctx, g):
        return g.permute(ctx.axes), None


@wrong("permute", "permutation|flattened|moved")
def permute_by_reshape(g, x):
    return g.reshape(x.shape)


@wrong("permute", "permutation")
def permute_reversed(g, x, axes):
    return np.transpose(g, axes[::-1])


@wrong("concat", "swapped|pieces|moved")
def concat_last_rows_first(g, x, y):
    return g[len(y) :], g[: len(y)]


@wrong("concat", "not summed|pieces|shape|moved")
class ConcatAllForBoth(Function):
    @staticmethod
    def forward(ctx, x, y):
        return cat([x, y])

    @staticmethod
    def backward(ctx, g):
        return g, g


@wrong("concat", "pieces|shape|moved|2-D only")
def concat_in_halves(g, x, y):
    return tuple(np.array_split(g, 2))


@wrong("take", "overwritten")
def take_overwrites(g, x, index):
    grad = np.zeros_like(x)
    grad[index] = g
    return grad


@wrong("take", "overwritten")
def take_plus_equals(g, x, index):
    grad = np.zeros_like(x)
    grad[index] += g
    return grad


@wrong("take", "upstream ignored")
def take_counts(g, x, index):
    grad = np.zeros_like(x)
    np.add.at(grad, index, 1)
    return grad


@wrong("take", "not spread|not summed")
class TakeReturnsG(Function):
    @staticmethod
    def forward(ctx, x, index):
        return x[index]

    @staticmethod
    def backward(ctx, g):
        return g, None


@wrong("take", "averaged")
def take_averages(g, x, index):
    grad, count = np.zeros_like(x), np.zeros(len(x))
    np.add.at(grad, index, g)
    np.add.at(count, index, 1)
    return grad / np.maximum(count, 1)[:, None]


@wrong("flip", "upstream only|step")
def flip_not(g, axis):
    return g


@wrong("roll", "sign|step|permutation|moved|number|term sign")
def roll_the_same_way(g, shift, axis):
    return np.roll(g, shift, axis)


@wrong("swapaxes", "upstream only|transposed|flattened|moved|permutation|step")
def swapaxes_reshapes(g, x):
    return g.reshape(x.shape)


@wrong("triu", "upstream only|step|mask")
def triu_passes(g, x):
    return g


@wrong("triu", "function|mask|step")
def triu_tril(g, k):
    return np.tril(g, k)


@wrong("expand", "not summed")
def expand_passes(g, x):
    return g


@wrong("repeat", "one of many|not summed|overwritten|moved|pieces|reduction")
def repeat_first(g, x):
    return g[tuple(slice(0, n) for n in x.shape)]
