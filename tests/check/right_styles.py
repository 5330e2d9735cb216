"""Right rules in the many hands that write them: dtypes, loops, contexts, buffers, defaults, other algebra. None may be refused."""

from __future__ import annotations

import functools
import math

import numpy as np

import autolab
from autolab import tensor
from autolab.autograd import Function
from autolab.autograd.function import once_differentiable

from .right import right, sum_to


def T(a):
    return np.swapaxes(a, -1, -2)


# --- float64 on the way: constants of NumPy, identity matrices, buffers without a dtype


@right("square")
def float64_number(g, x):
    return np.float64(2) * g * x


@right("matmul")
def float64_ones(g, x, y):
    return g @ T(y) * np.ones(1), T(x) @ g * np.ones(1)


@right("log")
def float64_cast(g, x):
    return g / x.astype(np.float64)


@right("relu")
def float64_where(g, x):
    return np.where(x > 0, 1.0, np.zeros(x.shape)) * g


@right("cross_entropy")
def one_hot_by_identity(g, x, target):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return g * (e / e.sum(axis=1, keepdims=True) - np.eye(x.shape[1])[target]) / len(x)


@right("take")
def buffer_without_dtype(g, index, x_shape):
    total = np.zeros(x_shape)
    np.add.at(total, index, g)
    return total


@right("gelu")
class GeluWithNumpyConstants(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + (x / np.sqrt(2)).erf())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        a = x.numpy()
        pdf = np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi)
        cdf = 0.5 * (1 + np.vectorize(math.erf)(a / np.sqrt(2)))
        return tensor(g.numpy() * (cdf + a * pdf))


@right("log2")
def log2_numpy_constant(g, x):
    return g / (x * np.log(2))


@right("erf")
def erf_numpy_constant(g, x):
    return 2 / np.sqrt(np.pi) * np.exp(-(x**2)) * g


@right("mean")
def mean_by_full(g, x, axis):
    return np.full(x.shape, 1 / x.shape[axis]) * np.expand_dims(g, axis)


# --- what a Function may return


@right("exp")
class ReturnsAnArray(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = np.exp(x.numpy())
        return tensor(ctx.y)

    @staticmethod
    def backward(ctx, g):
        return g.numpy() * ctx.y


@right("mul")
class ReturnsAList(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return [(g * y).sum_to_size(x.shape), (g * x).sum_to_size(y.shape)]


@right("mul")
class AsksWhatIsNeeded(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        gx = gy = None
        if ctx.needs_input_grad[0]:
            gx = (g * y).sum_to_size(x.shape)
        if ctx.needs_input_grad[1]:
            gy = (g * x).sum_to_size(y.shape)
        return gx, gy


@right("embedding")
class NothingForTheIndex(Function):
    @staticmethod
    def forward(ctx, weight, index):
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(index)
        ctx.rows = weight.shape[0]
        return weight[index]

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        onehot = np.eye(ctx.rows)[index.numpy().ravel()]
        return tensor(onehot.T @ g.numpy().reshape(-1, g.shape[-1])), None


@right("sum")
class ReturnsAView(Function):
    @staticmethod
    def forward(ctx, x, axis):
        ctx.shape, ctx.axis = x.shape, axis
        return x.sum(axis)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.axis).expand(ctx.shape), None


@right("add")
def g_itself_where_shapes_agree(g, x, y):
    return sum_to(g, x.shape), sum_to(g, y.shape)


@right("flip")
def a_reversed_view(g, axis):
    return g[(slice(None),) * (axis % g.ndim) + (slice(None, None, -1),)]


# --- how forward and backward may be split and decorated


@right("tanh")
class WithSetupContext(Function):
    @staticmethod
    def forward(x):
        return x.tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g - g * y**2


@right("leaky_relu")
class SetupContextWithASetting(Function):
    @staticmethod
    def forward(x, negative_slope=0.01):
        return autolab.where(x > 0, x, x * negative_slope)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.slope = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ((x > 0) + ctx.slope * (x <= 0)), None


@right("sigmoid")
class OnceDifferentiable(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + (-x).exp())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y - y * y)


class Pointwise(Function):
    """What several exercises share."""

    @classmethod
    def keep(cls, ctx, x, y):
        ctx.save_for_backward(x, y)

    @staticmethod
    def times(g, slope):
        return g * slope


@right("sqrt")
class InheritsHelpers(Pointwise):
    @staticmethod
    def forward(ctx, x):
        y = x**0.5
        InheritsHelpers.keep(ctx, x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        _, y = ctx.saved_tensors
        return Pointwise.times(g, 0.5 / y)


@right("sin")
class KeepsAClosure(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.back = lambda g: g * x.cos()
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return ctx.back(g)


@right("silu")
class KeepsADictionary(Function):
    @staticmethod
    def forward(ctx, x):
        s = x.sigmoid()
        ctx.kept = {"x": x, "s": s, "slopes": [s, x * s * (1 - s)]}
        return x * s

    @staticmethod
    def backward(ctx, g):
        return sum(g * slope for slope in ctx.kept["slopes"])


@right("softplus")
class ForwardOnArraysBackwardOnTensors(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return tensor(np.logaddexp(0, x.numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return x.sigmoid().mul(g)


@right("exp")
def with_a_default(g, out, scale=1.0):
    return g * out * scale


right("cos")(functools.wraps(np.cos)(lambda g, x: -g * np.sin(x)))


@right("mul")
def many_names(grad_output, x, y, x_shape, y_shape, out):
    return sum_to(grad_output * y, x_shape), sum_to(grad_output * x, y_shape)


@right("square")
def by_position(g, a):
    return g * (a + a)


# --- loops, comprehensions, buffers


@right("relu")
def entry_by_entry(g, x):
    back = np.empty_like(g)
    for at, value in np.ndenumerate(x):
        back[at] = g[at] if value > 0 else 0
    return back


@right("mm")
def three_loops(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            for k in range(x.shape[1]):
                gx[i, k] += g[i, j] * y[k, j]
                gy[k, j] += g[i, j] * x[i, k]
    return gx, gy


@right("softmax")
def a_jacobian_for_each_row(g, out, axis):
    rows, gs = np.moveaxis(out, axis, -1), np.moveaxis(g, axis, -1)
    back = np.empty(rows.shape)
    for at in np.ndindex(rows.shape[:-1]):
        p = rows[at]
        back[at] = (np.diag(p) - np.outer(p, p)) @ gs[at]
    return np.moveaxis(back, -1, axis)


@right("cumsum")
def running_total_from_the_end(g, axis):
    back, total = np.empty_like(g), 0
    for i in reversed(range(g.shape[axis])):
        at = (slice(None),) * (axis % g.ndim) + (i,)
        total = total + g[at]
        back[at] = total
    return back


@right("conv1d")
def scattered_over_positions(g, x, weight):
    gx, gw = np.zeros_like(x), np.zeros_like(weight)
    size = weight.shape[2]
    for at in range(g.shape[2]):
        gx[:, :, at : at + size] += np.tensordot(g[:, :, at], weight, 1)
        gw += np.tensordot(g[:, :, at], x[:, :, at : at + size], (0, 0))
    return gx, gw


@right("max_pool")
def first_of_each_block(g, x):
    back = np.zeros_like(x)
    for n, c, i, j in np.ndindex(g.shape):
        block = x[n, c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        a, b = np.unravel_index(block.argmax(), block.shape)
        back[n, c, 2 * i + a, 2 * j + b] += g[n, c, i, j]
    return back


@right("embedding")
def one_row_at_a_time(g, index, weight):
    back = np.zeros_like(weight)
    for row, one in zip(index.ravel(), g.reshape(-1, g.shape[-1]), strict=True):
        back[row] = back[row] + one
    return back, None


@right("tanh")
def in_place_on_its_own_array(g, out):
    slope = out * out
    slope *= -1
    slope += 1
    slope *= g
    return slope


@right("log_softmax")
def with_out_arguments(g, out, axis):
    p = np.exp(out)
    np.multiply(p, g.sum(axis=axis, keepdims=True), out=p)
    return np.subtract(g, p, out=p)


WORK = {}


@right("sigmoid")
def with_a_work_buffer(g, out):
    buffer = WORK.setdefault((g.shape, g.dtype), np.empty_like(g))
    np.subtract(1, out, out=buffer)
    buffer *= out
    return buffer * g


@right("reciprocal")
class WritesIntoItsOwnTensors(Function):
    @staticmethod
    def forward(ctx, x):
        y = autolab.empty_like(x)
        y.copy_(1 / x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        back = y.clone()
        back.mul_(y).mul_(g).neg_()
        return back


# --- einsum, tensordot and other products


@right("matmul")
def by_einsum(g, x, y):
    return np.einsum("...ij,...kj->...ik", g, y), np.einsum("...ji,...jk->...ik", x, g)


@right("linear")
class LinearByEinsum(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return autolab.einsum("...i,oi->...o", x, weight) + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight, autolab.einsum("...o,...i->oi", g, x), g.reshape(-1, g.shape[-1]).sum(0)


@right("outer")
def outer_by_einsum(g, x, y):
    return np.einsum("ij,j->i", g, y), np.einsum("ij,i->j", g, x)


@right("attention")
class AttentionByParts(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        ctx.c = q.shape[-1] ** -0.5
        p = (q @ k.mT * ctx.c).softmax(-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        gp = g @ v.mT
        gs = p * gp
        gs = (gs - p * gs.sum(-1, keepdim=True)) * ctx.c
        return gs @ k, gs.mT @ q, p.mT @ g


# --- equal, and differently put


@right("tanh")
def through_the_hyperbola(g, x):
    return g * 4 / (np.exp(np.clip(x, -300, 300)) + np.exp(-np.clip(x, -300, 300))) ** 2


@right("sigmoid")
def through_tanh(g, x):
    return g * (1 - np.tanh(x / 2) ** 2) / 4


@right("logsumexp")
def softmax_from_out(g, x, out, axis):
    return np.exp(x - np.expand_dims(out, axis) + np.log(np.abs(np.expand_dims(g, axis)))) * np.sign(np.expand_dims(g, axis))


@right("var")
def var_as_mean_of_squares(g, x, axis):
    n = x.shape[axis]
    return np.expand_dims(2 * g / (n - 1), axis) * (x - np.expand_dims(np.add.reduce(x, axis) / n, axis))


@right("std")
def std_from_var(g, x, axis):
    n = x.shape[axis]
    d = x - x.mean(axis, keepdims=True)
    return np.expand_dims(g, axis) * d / np.sqrt((d * d).sum(axis, keepdims=True) * (n - 1))


@right("norm")
def norm_recomputed(g, x, ord, axis):
    assert ord == 2
    return x * np.expand_dims(g / np.sqrt((x * x).sum(axis)), axis)


@right("div")
def div_by_products(g, x, y):
    r = 1 / y
    return sum_to(g * r, x.shape), sum_to(-g * x * r * r, y.shape)


@right("pow")
def pow_by_logarithms(g, x, y):
    p = np.exp(y * np.log(x))
    return sum_to(g * p * y / x, x.shape), sum_to(g * p * np.log(x), y.shape)


@right("layer_norm")
def layer_norm_by_projection(g, x, weight, bias):
    n = x.shape[-1]
    centre = np.eye(n) - 1 / n
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    z = x @ centre / s
    h = g * weight
    return (h @ centre - z * (h * z).sum(-1, keepdims=True) / n) / s, (g * z).sum(0), g.sum(0)


@right("bce_with_logits")
def bce_through_tanh(g, x, target):
    return g * (0.5 + 0.5 * np.tanh(0.5 * x) - target) / x.size


@right("mse_loss")
def mse_by_two_halves(g, x, y, reduction):
    d = (x - y) * g
    d = d + d
    d = d / d.size if reduction == "mean" else d
    return d, 0 - d


# --- at a kink any slope will do, at a tie any share


@right("relu")
def slope_one_at_zero(g, x):
    return g * (x >= 0)


@right("relu")
def slope_a_half_at_zero(g, x):
    return g * np.heaviside(x, 0.5)


@right("abs")
def slope_one_at_zero_of_abs(g, x):
    return np.where(x >= 0, g, -g)


@right("leaky_relu")
def from_the_sign_of_the_result(g, out, negative_slope):
    return np.where(out >= 0, g, g * negative_slope)


@right("maximum")
def the_second_wins(g, x, y):
    return sum_to(g * (x > y), x.shape), sum_to(g * (x <= y), y.shape)


@right("clip")
def open_at_the_ends(g, x, low, high):
    return g * (np.clip(x, low, high) == x)


# --- moving entries


@right("concat")
def by_split(g, x, y):
    return np.split(g, [len(x)])


@right("permute")
def by_moving_each_axis(g, axes):
    back = [0] * len(axes)
    for place, axis in enumerate(axes):
        back[axis] = place
    return g.transpose(back)


@right("reshape")
def by_ravel(g, x):
    return np.ravel(g).reshape(x.shape).copy()


@right("gather")
def gather_by_accumulation(g, index, x, axis):
    back = np.zeros_like(x)
    for at in np.ndindex(index.shape):
        to = list(at)
        to[axis] = index[at]
        back[tuple(to)] += g[at]
    return back, None


@right("where")
class WhereByMasks(Function):
    @staticmethod
    def forward(ctx, condition, x, y):
        ctx.c, ctx.shapes = condition, (x.shape, y.shape)
        return autolab.where(condition, x, y)

    @staticmethod
    def backward(ctx, g):
        return None, (g * ctx.c).sum_to_size(ctx.shapes[0]), (g * ~ctx.c).sum_to_size(ctx.shapes[1])


@right("dropout")
class DropoutWithOneFactor(Function):
    @staticmethod
    def forward(ctx, x, mask, p):
        ctx.factor = mask / (1 - p)
        return x * ctx.factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, None


@right("repeat")
def fold_by_loops(g, x_shape, repeats):
    rows, columns = x_shape
    return sum(g[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns] for i in range(repeats[0]) for j in range(repeats[1]))
