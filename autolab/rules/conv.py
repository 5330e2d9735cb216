"""Convolutions in any number of dims: three rows, each the gradient of the others.

x (N, C, *S), weight (O, C / groups, *K), g and result (N, O, *L). A tap is one place of the kernel: what it sees from all places is one
strided slice of x, and a convolution is a sum over the taps. `<g, conv(x, w)>` is linear in each of the
three: its gradient in x is `conv_input(g, w)`, in w `conv_weight(g, x)`, and those have the other two as theirs.
"""

import math

import numpy as np

from autolab.engine.op import BILINEAR, GENERAL, HOLOMORPHIC, LINEAR, op
from autolab.rules.reduce import channel_sums, merge_samples


def places(n, k, stride, padding, dilation):
    """How many places the kernel takes along one axis."""
    return (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1


def padded(x, padding):
    """x with zeros around its last axes."""
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding])


def inner(padding, shape):
    """The key of what is not padding."""
    return (..., *(slice(p, p + n) for p, n in zip(padding, shape)))


def reach(tap, size, stride, dilation):
    """The key of the entries that one tap sees from all places."""
    return (..., *(slice(a * d, a * d + (m - 1) * s + 1, s) for a, d, m, s in zip(tap, dilation, size, stride)))


def by_group(z, axis, groups):
    """Channels as (groups, channels of each)."""
    return z.reshape(*z.shape[:axis], groups, z.shape[axis] // groups, *z.shape[axis + 1 :])


def conv_values(x, weight, bias, *, stride, padding, dilation, groups):
    """Each tap adds its weights times what it sees."""
    kernel = weight.shape[2:]
    size = [places(*one) for one in zip(x.shape[2:], kernel, stride, padding, dilation)]
    x, weight = by_group(padded(x, padding), 1, groups), by_group(weight, 0, groups)
    out = sum(
        np.einsum("goc,ngc...->ngo...", weight[(..., *tap)], x[reach(tap, size, stride, dilation)])
        for tap in np.ndindex(*kernel)
    )  # fmt: skip
    out = out.reshape(x.shape[0], weight.shape[0] * weight.shape[1], *size)
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(size))


def conv_input_values(g, weight, *, shape, stride, padding, dilation, groups):
    """Each place of g adds its taps to what they saw. `shape`: the lengths of the result's spatial axes."""
    size, weight, g = g.shape[2:], by_group(weight, 0, groups), by_group(g, 1, groups)
    out = np.zeros((len(g), groups, weight.shape[2], *(m + 2 * p for m, p in zip(shape, padding))), np.result_type(g, weight))
    for tap in np.ndindex(*weight.shape[3:]):
        out[reach(tap, size, stride, dilation)] += np.einsum("goc,ngo...->ngc...", weight[(..., *tap)], g)
    return out[inner(padding, shape)].reshape(len(g), groups * weight.shape[2], *shape)


def conv_weight_values(g, x, *, kernel, stride, padding, dilation, groups):
    """Each weight gets the products of what its tap saw and the gradients of the places that it saw it from."""
    size, x, g = g.shape[2:], by_group(padded(x, padding), 1, groups), by_group(g, 1, groups)
    out = np.empty((groups, g.shape[2], x.shape[2], *kernel), np.result_type(g, x))
    flat = lambda z: z.reshape(*z.shape[:3], math.prod(size))
    for tap in np.ndindex(*kernel):
        out[(..., *tap)] = np.einsum("ngop,ngcp->goc", flat(g), flat(x[reach(tap, size, stride, dilation)]))
    return out.reshape(-1, *out.shape[2:])


# -- a batch of them: samples of x are more of them; samples of the weight are groups more ---------------


def split_samples(z, size):
    return np.reshape(z, (size, z.shape[0] // size, *z.shape[1:]))


def into_channels(z):
    """(B, N, C, ...) -> (N, B * C, ...)."""
    z = np.swapaxes(z, -z.ndim, 1 - z.ndim)
    return np.reshape(z, (z.shape[0], z.shape[1] * z.shape[2], *z.shape[3:]))


def out_of_channels(z, size):
    z = np.reshape(z, (z.shape[0], size, z.shape[1] // size, *z.shape[2:]))
    return np.swapaxes(z, -z.ndim, 1 - z.ndim)


def all_leading(values, batched, size):
    return [v if own or v is None else np.broadcast_to(v, (size, *v.shape)) for v, own in zip(values, batched)]


def conv_batch(x, weight, bias, batched, size, row, settings):
    if batched == (True, False, False):
        return split_samples(row(merge_samples(x), weight, bias, **settings), size)
    x, weight, bias = all_leading((x, weight, bias), batched, size)
    bias = bias if bias is None else np.reshape(bias, (-1,))
    return out_of_channels(row(into_channels(x), merge_samples(weight), bias, **settings | {"groups": size * settings["groups"]}), size)


def conv_input_batch(g, weight, batched, size, row, settings):
    if batched == (True, False):
        return split_samples(row(merge_samples(g), weight, **settings), size)
    g, weight = all_leading((g, weight), batched, size)
    return out_of_channels(row(into_channels(g), merge_samples(weight), **settings | {"groups": size * settings["groups"]}), size)


def conv_weight_batch(g, x, row, size, settings):
    return split_samples(row(into_channels(g), into_channels(x), **settings | {"groups": size * settings["groups"]}), size)


# -- the rows ------------------------------------------------------------------------------------------


def to_input(g, weight, x_shape, stride, padding, dilation, groups):
    return conv_input(g, weight, shape=x_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def to_weight(g, x, weight_shape, stride, padding, dilation, groups):
    return conv_weight(g, x, kernel=weight_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def again(x, weight, stride, padding, dilation, groups):
    return conv(x, weight, None, stride=stride, padding=padding, dilation=dilation, groups=groups)


def cropped(out, shape):
    """Without the places that a result longer than need be (output_padding) has at its end."""
    return out if out.shape == shape else out[(..., *(slice(n) for n in shape[2:]))]


conv = op(
    "conv", conv_values, GENERAL, complex=HOLOMORPHIC, node="ConvolutionBackward0", batch=conv_batch,
    x=to_input, weight=to_weight, bias=lambda g: channel_sums(g),
)  # fmt: skip
conv_input = op(
    "conv_input", conv_input_values, BILINEAR, complex=HOLOMORPHIC, node="ConvolutionBackward0", batch=conv_input_batch,
    g=lambda u, g_shape, weight, stride, padding, dilation, groups:
        cropped(again(u, weight, stride, padding, dilation, groups), g_shape),
    weight=lambda u, g, weight_shape, stride, padding, dilation, groups:
        to_weight(g, u, weight_shape, stride, padding, dilation, groups),
)  # fmt: skip
conv_weight = op(
    "conv_weight", conv_weight_values, BILINEAR, complex=HOLOMORPHIC, node="ConvolutionBackwardBackward0", batch=conv_weight_batch,
    g=lambda u, g_shape, x, stride, padding, dilation, groups: cropped(again(x, u, stride, padding, dilation, groups), g_shape),
    x=lambda u, g, x_shape, stride, padding, dilation, groups: to_input(g, u, x_shape, stride, padding, dilation, groups),
)  # fmt: skip


# -- patches ---------------------------------------------------------------------------------------------


def unfold_values(x, *, kernel, stride, padding, dilation):
    """(..., C, *S) -> (..., C * taps, places)."""
    axes = len(kernel)
    size = [places(*one) for one in zip(x.shape[-axes:], kernel, stride, padding, dilation)]
    x, lead = padded(x, padding), x.shape[: -axes - 1]
    seen = np.stack([x[reach(tap, size, stride, dilation)] for tap in np.ndindex(*kernel)], axis=-axes - 1)
    return seen.reshape(*lead, x.shape[-axes - 1] * math.prod(kernel), math.prod(size))


def fold_values(g, *, shape, kernel, stride, padding, dilation):
    """(..., C * taps, places) -> (..., C, *S): each place adds its taps to what they saw."""
    size = [places(*one) for one in zip(shape, kernel, stride, padding, dilation)]
    g = g.reshape(*g.shape[:-2], g.shape[-2] // math.prod(kernel), *kernel, *size)
    out = np.zeros((*g.shape[: -2 * len(kernel)], *(m + 2 * p for m, p in zip(shape, padding))), g.dtype)
    for tap in np.ndindex(*kernel):
        out[reach(tap, size, stride, dilation)] += g[(..., *tap, *(slice(None),) * len(size))]
    return np.copy(out[inner(padding, shape)], order="C")


unfold = op(
    "im2col", unfold_values, LINEAR, complex=HOLOMORPHIC, node="Im2ColBackward0",
    x=lambda g, x_shape, kernel, stride, padding, dilation:
        fold(g, shape=x_shape[-len(kernel):], kernel=kernel, stride=stride, padding=padding, dilation=dilation),
)  # fmt: skip
fold = op(
    "col2im", fold_values, LINEAR, complex=HOLOMORPHIC, node="Col2ImBackward0",
    g=lambda u, kernel, stride, padding, dilation: unfold(u, kernel=kernel, stride=stride, padding=padding, dilation=dilation),
)  # fmt: skip
