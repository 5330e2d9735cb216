"""What some rows compute, step by step in the memory of the result, for large arrays of float32 and float64.

A formula in the table makes an array for each of its steps. Here it is the same formula, on a block that stays in the cache, and with
sums of parts in place of `np.where`, which waits for every entry whose turn cannot be foreseen. The last argument is written, last of all
if it may be the gradient that came in.
"""

import math

import numpy as np

from autolab.fast.large import MANY, STEPS
from autolab.rules import elementwise as rows
from autolab.rules import reduce
from autolab.rules.blocks import clip, horner, in_blocks

# log(1 + u) = 2 artanh(s) for s = u / (2 + u): s times these powers of s**2, for s**2 up to 1/9. They are those of the series, 2, 2/3, 2/5
# ..., Abramowitz and Stegun 4.1.28, the last ones fitted so that five terms are good to 4e-9.
ARTANH = [np.float32(c) for c in (2, 0.66666314, 0.4002491, 0.27960604, 0.28178326)]


def log1p_into(u, out):
    """log(1 + u) for u between 0 and 1, small ones without loss."""
    if u.dtype != np.float32:
        np.log1p(u, out)
        return
    s = u + 2
    np.divide(u, s, s)
    square = s * s
    horner(ARTANH, square, out)
    out *= s


def log1p_exp_into(x, out):
    """log(1 + exp(-|x|)): what softplus adds to max(x, 0)."""
    u = np.abs(x)
    np.negative(u, u)
    np.exp(u, u)
    log1p_into(u, out)


def log1p_exp(x):
    """log(1 + exp(-|x|)); of Tensors too."""
    if type(x) is np.ndarray and x.size > MANY:
        return in_blocks(log1p_exp_values, x, into=log1p_exp_into)
    return log1p_exp_values(x)


def log1p_exp_values(x):
    return np.log1p(np.exp(-np.abs(x)))


def logaddexp(x, y, out):
    """The larger of the two, and log(1 + exp(-|x - y|)); of equal infinities just that."""
    apart = x - y
    broken = apart != apart
    if broken.any():
        apart[broken] = np.where(x[broken] == y[broken], 0, np.nan)
    log1p_exp_into(apart, out)
    out += np.maximum(x, y)


def relu(x, out):
    clip(x, 0, math.inf, out)


def relu_rule(g, value, out):
    """g times 1 or 0, bit by bit."""
    bits = rows.BITS[out.dtype.itemsize]
    np.multiply(g.view(bits), value > 0, out.view(bits))


def leaky_relu(x, slope, out):
    """max(x, 0) + slope * min(x, 0)"""
    if 0 < slope <= 1:
        np.multiply(x, slope, out)
        np.maximum(x, out, out=out)
        return
    clip(x, -math.inf, 0, out)
    out *= slope
    out += clip(x, 0, math.inf)


def leaky_relu_rule(g, x, slope, out):
    """g * (slope + (1 - slope) * (1 or 0))"""
    factor = np.multiply(x > 0, x.dtype.type(1 - slope))
    factor += slope
    np.multiply(g, factor, out)


def sigmoid(x, out):
    np.negative(x, out)
    np.exp(out, out)
    out += 1
    np.divide(1, out, out)


def silu(x, out):
    np.negative(x, out)
    np.exp(out, out)
    out += 1
    np.divide(x, out, out)


def silu_rule(g, x, out):
    """g * s * (1 + x * (1 - s)), with s = sigmoid(x)"""
    s = np.empty(x.shape, x.dtype)
    sigmoid(x, s)
    slope = 1 - s
    slope *= x
    slope += 1
    slope *= s
    np.multiply(g, slope, out)


def softplus(x, beta, threshold, out):
    z = x if beta == 1 else x * beta
    log1p_exp_into(z, out)
    out += clip(z, 0, math.inf)
    if beta != 1:
        out /= beta
    straight = z > threshold
    if straight.any():
        np.copyto(out, x, where=straight)


def softplus_rule(g, x, beta, threshold, out):
    """g / (1 + exp(-z)), with z = x * beta"""
    z = x if beta == 1 else x * beta
    below = -z
    np.exp(below, below)
    below += 1
    straight = z > threshold
    if straight.any():
        np.copyto(below, 1, where=straight)
    np.divide(g, below, out)


def power(x, exponent, out):
    """x**2 and x**3 by multiplication, as PyTorch does."""
    if exponent not in (2, 3):
        out[...] = x**exponent
        return
    np.multiply(x, x, out)
    if exponent == 3:
        out *= x


def power_rule(g, x, exponent, out):
    slope = np.zeros(x.shape, x.dtype)
    if exponent != 0:
        power(x, exponent - 1, slope)
        slope *= exponent
    np.multiply(g, slope, out)


def threshold(x, threshold, value, out):
    """The bits of x or of the value, each times 1 or 0."""
    if x.dtype.kind != "f":
        out[...] = np.where(x <= threshold, x.dtype.type(value), x)
        return
    bits, below = rows.BITS[out.dtype.itemsize], x <= threshold
    np.multiply(x.view(bits), ~below, out.view(bits))
    out.view(bits)[...] += below * x.dtype.type(value).view(bits)


def hardsigmoid(x, out):
    np.add(x, 3, out)
    clip(out, 0, 6, out)
    out /= 6


def hardsigmoid_rule(g, x, out):
    inside = x > -3
    inside &= x < 3
    np.divide(g, 6, out)
    bits = rows.BITS[out.dtype.itemsize]
    np.multiply(out.view(bits), inside, out.view(bits))


def hardswish(x, out):
    np.add(x, 3, out)
    clip(out, 0, 6, out)
    out *= x
    out /= 6


def hardswish_rule(g, x, out):
    """g times x / 3 + 0.5 within the bounds, 0 on the left, 1 on the right."""
    left, right = x > -3, x < 3
    slope = x / 3
    slope += 0.5
    slope = rows.keep_values(slope, left & right)
    slope += ~right
    np.multiply(g, slope, out)


def hardtanh_rule(g, x, low, high, out):
    inside = x > low
    inside &= x < high
    bits = rows.BITS[out.dtype.itemsize]
    np.multiply(g.view(bits), inside, out.view(bits))


def elu(x, alpha, scale, rate, out):
    """scale * max(x, 0) + scale * alpha * (exp(z) - 1), with z = rate * min(x, 0).

    In float32 by exp(z) - 1 = 2 t / (1 - t), t = tanh(z / 2): NumPy's tanh is three times as fast as its expm1, and loses nothing here.
    """
    z = clip(x, -math.inf, 0)
    if x.dtype == np.float32:
        z *= 0.5 * rate
        np.tanh(z, z)
        np.subtract(1, z, out)
        np.divide(z, out, out)
        out *= 2 * alpha * scale
    else:
        z *= rate
        np.expm1(z, out)
        out *= alpha * scale
    right = clip(x, 0, math.inf)
    if scale != 1:
        right *= scale
    out += right


def elu_rule(g, x, alpha, scale, rate, out):
    slope = clip(x, -math.inf, 0)
    slope *= rate
    np.exp(slope, slope)
    slope *= alpha * scale * rate
    slope += np.multiply(x > 0, x.dtype.type(scale - alpha * scale * rate))
    np.multiply(g, slope, out)


def log_sigmoid(x, out):
    log1p_exp_into(x, out)
    np.subtract(clip(x, -math.inf, 0), out, out)


def log_sigmoid_rule(g, x, out):
    below = np.exp(x)
    below += 1
    np.divide(g, below, out)


def mish(x, out):
    """x * tanh(softplus(x)) = x * n / (n + 2), with n = e * (e + 2) and e = exp(x)"""
    e = np.exp(clip(x, -math.inf, LEVEL))
    n = e + 2
    n *= e
    np.add(n, 2, out)
    np.divide(n, out, out)
    out *= x


LEVEL = 20  # from here on mish(x) is x, to the last digit of float64


def mish_rule(g, x, out):
    """g * (t + x * (1 - t) * (1 + t) * e / (1 + e)), with t = n / (n + 2), 1 - t = 2 / (n + 2)"""
    z = clip(x, -math.inf, LEVEL)
    e = np.exp(z)
    n = e + 2
    n *= e
    below = n + 2
    t = np.divide(n, below, n)
    z *= t + 1
    z *= e
    e += 1
    e *= below
    z /= e
    z *= 2
    t += z
    np.multiply(g, t, out)


# -- sums ----------------------------------------------------------------------------------------

ONES = np.ones(256, np.float32)
LONG = 1 << 16  # entries: from here on a sum by products is the faster one


def total(x, axis, keepdims):
    """The sum of all entries, as products of rows with ones, at twice the speed of np.add. The rows are short, and what they give is
    added in float64, so rounding costs less than in a sum by halves."""
    if x.dtype != np.float32 or x.size < LONG or not (axis is None or len(axis) == x.ndim):
        return reduce.add_up(x, axis, keepdims)
    flat = x.reshape(-1)
    whole = flat.size - flat.size % ONES.size
    found = np.add.reduce(flat[:whole].reshape(-1, ONES.size) @ ONES, dtype=np.float64) + np.add.reduce(flat[whole:])
    return np.full((1,) * x.ndim, found, np.float32) if keepdims else np.float32(found)


def norm(x, ord, axis, keepdims):
    """The root of the sum of squares, likewise."""
    if ord != 2 or x.dtype != np.float32 or x.size < LONG or not (axis is None or len(axis) == x.ndim):
        return reduce.norm_values(x, ord=ord, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    whole = flat.size - flat.size % ONES.size
    lines, rest = flat[:whole].reshape(-1, ONES.size), flat[whole:]
    found = math.sqrt(np.add.reduce(np.vecdot(lines, lines), dtype=np.float64) + rest.dot(rest))
    return np.full((1,) * x.ndim, found, np.float32) if keepdims else np.float32(found)


def prod(x, axis, keepdims):
    """The product of all entries, of columns first: side by side they take a third of the time."""
    if x.dtype.kind != "f" or x.size < LONG or axis is not None:
        return reduce.prod_values(x, axis=axis, keepdims=keepdims)
    flat = x.reshape(-1)
    whole = flat.size - flat.size % LINE
    found = np.multiply.reduce(np.multiply.reduce(flat[:whole].reshape(-1, LINE), 0)) * np.multiply.reduce(flat[whole:])
    return np.full((1,) * x.ndim, found, x.dtype) if keepdims else found


LINE = 1024


def mean(x, axis, keepdims):
    return total(x, axis, keepdims) / reduce.count(x.shape, axis)


def written_out(row, forward, rule=None):
    STEPS[row.forward] = forward
    if rule is not None:
        STEPS[row.rules["x"].function] = rule


written_out(rows.relu, relu, relu_rule)
written_out(rows.leaky_relu, leaky_relu, leaky_relu_rule)
written_out(rows.sigmoid, sigmoid)
written_out(rows.silu, silu, silu_rule)
written_out(rows.softplus, softplus, softplus_rule)
written_out(rows.pow_scalar, power, power_rule)
written_out(reduce.sum, total)
written_out(reduce.mean, mean)
written_out(reduce.norm, norm)
written_out(reduce.prod, prod)
