"""Convolutions as products of matrices, one for each row of the result.

What the taps in one row of a kernel see is laid out once, beside each other. A row of the result sees a few rows of that, and the next
one almost the same: its matrix is a view of the same memory, a little further on. So a kernel of 3 x 3 makes three copies of what it
sees, and not nine. Rows run along the first of the last axes.
"""

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.fast.kernels.nn import by_channel
from autolab.rules import conv as rows
from autolab.rules.conv import by_group, places

ENTRIES = 2**17  # that are laid out at a time: as many samples as stay in the cache
FOR_WEIGHT = 2**18  # the same, where every piece is added to the sum of those before
# Where the processor has AVX-512, OpenBLAS multiplies smaller matrices than these without laying them out anew, in half the time.
# With more weights than that, such a product would be one of a few places.
PRODUCTS, WEIGHTS = 10**6, 2**16
FEW = 32  # channels times taps: up to here a product with a transposed matrix takes less time than to transpose it
ALL = slice(None)


def overlap(first: Any, step: Any, count: Any, length: Any) -> Any:
    """Of `count` places from `first` on, `step` apart, those within range(length): which they are, and where."""
    low, high = max(0, -(first // step)), min(count, (length - 1 - first) // step + 1)
    return (slice(low, high), slice(first + low * step, first + high * step, step)) if low < high else (slice(0), slice(0))


@lru_cache(256)
def turns(shape: Any, kernel: Any, first: Any, stride: Any, dilation: Any, size: Any) -> Any:
    """How an input of `shape` is laid out: for some rows of the result these, their number, the rows that they see, how far on
    the next one looks, and for each tap of a row of the kernel where it is laid out, and what it sees."""
    step = dilation[0] if kernel[0] > 1 else stride[0]  # from one row that is laid out to the next
    count = step // math.gcd(step, stride[0])  # rows of the result, until one sees the same rows as the first one, but for a few
    apart, made = count * stride[0] // step, []
    for turn in range(count):
        lines = len(range(turn, size[0], count))
        height = max(0, (lines - 1) * apart + kernel[0])
        below, above = overlap(first[0] + turn * stride[0], step, height, shape[0])
        copies = []
        for tap in itertools.product(*map(range, kernel[1:])):
            seen = [overlap(f + k * d, s, m, n) for f, k, d, s, m, n in zip(first[1:], tap, dilation[1:], stride[1:], size[1:], shape[1:])]
            copies.append(((ALL, ALL, ALL, below, *tap, *(a for a, _ in seen)), (ALL, ALL, ALL, above, *(b for _, b in seen))))
        made.append((slice(turn, None, count), lines, height, apart, copies))
    return made


def laid_out(x: Any, kernel: Any, first: Any, stride: Any, dilation: Any, size: Any, groups: Any, entries: Any) -> Any:
    """Some samples, some rows of the result, and what all taps see from there, until that is all of x (N, C, *S).

    Tap k sees from place i, along each axis, first + i * stride + k * dilation; beyond x there are zeros.
    (groups, rows of the kernel, rows of the result, taps of a row * channels, samples * places of a row)
    """
    channels, taps, width, axes = x.shape[1] // groups, math.prod(kernel[1:]), math.prod(size[1:]), len(kernel)
    x = by_group(x, 1, groups)
    for lines, number, height, apart, copies in turns(x.shape[3:], kernel, first, stride, dilation, size):
        count = max(1, min(len(x), entries // max(1, height * groups * channels * taps * width)))
        memory = np.zeros((groups, height, *kernel[1:], channels, count, *size[1:]), x.dtype)
        by_sample = memory.transpose(axes + 2, 0, axes + 1, 1, *range(2, axes + 1), *range(axes + 3, memory.ndim))
        group, row, *_, one = *memory.strides[:2], x.itemsize
        for start in range(0, len(x), count):
            some = x[start : start + count]
            into = by_sample[: len(some)]
            for to, seen in copies:
                into[to] = some[seen]
            shape = groups, kernel[0], number, taps * channels, len(some) * width
            steps = group, row, row * apart, count * width * one, one
            yield slice(start, start + count), lines, np.ndarray(shape, x.dtype, memory, 0, steps)


def pieces(weights: Any, length: Any) -> Any:
    """Slices of the places, to be multiplied one after the other."""
    step = max(PRODUCTS // max(weights, 1) // 8 * 8, 8) if weights <= WEIGHTS else max(length, 1)
    return [slice(a, a + step) for a in range(0, length, step)]


def in_one_row(kernel: Any, channels: Any, weights: Any) -> Any:
    """Whether to lay out what all taps see, as for a result of one row: where that is little, or the product takes much longer."""
    return len(kernel) == 1 or channels == 1 or weights > WEIGHTS


def is_every_place(kernel: Any, first: Any, stride: Any, shape: Any, size: Any) -> Any:
    """Whether one tap sees everything, and nothing has to be laid out."""
    return all(k == s == 1 for k, s in zip(kernel, stride)) and not any(first) and shape == size


def flat(x: Any, groups: Any) -> Any:
    """(N, C, *S) -> (N, groups, C / groups, places)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:]))


def correlate(x: Any, weight: Any, out: Any, *, first: Any, stride: Any, dilation: Any, groups: Any, bias: Any = None) -> None:
    """out[:, o, i] = sum over channels and taps k of weight[o, :, k] * x[:, :, first + i * stride + k * dilation]."""
    kernel, size = weight.shape[2:], out.shape[2:]
    if not weight.size:
        out[...] = 0
        return
    w = np.moveaxis(weight, 1, -1).reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    if is_every_place(kernel, first, stride, x.shape[2:], size) and out.flags.c_contiguous:
        made = np.matmul(w, flat(x, groups), out=flat(out, groups))
        if bias is not None:
            made += bias.reshape(groups, -1, 1)
        return
    if in_one_row(kernel, weight.shape[1], w[0].size):
        x, out = x[:, :, None], out[:, :, None]
        kernel, size, first, stride, dilation = (1, *kernel), (1, *size), (0, *first), (1, *stride), (1, *dilation)
    for some, lines, seen in laid_out(x, kernel, first, stride, dilation, size, groups, max(ENTRIES, w.size)):
        part = by_group(out[some, :, lines], 1, groups)
        seen = seen.swapaxes(1, 2).reshape(groups, part.shape[3], w.shape[2], seen.shape[4])
        made = np.empty((groups, part.shape[3], w.shape[1], seen.shape[3]), out.dtype)
        for k in pieces(w[0].size, seen.shape[3]):
            np.matmul(w[:, None], seen[..., k], out=made[..., k])
        if bias is not None:
            made += bias.reshape(groups, 1, -1, 1)
        made = made.reshape(*made.shape[:3], len(part), *size[1:])
        part[...] = made.transpose(3, 0, 2, 1, *range(4, made.ndim))


def conv(x: Any, weight: Any, bias: Any, *, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    size = [places(*one) for one in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation)]
    out = np.empty((x.shape[0], weight.shape[0], *size), np.result_type(x, weight))
    correlate(x, weight, out, first=tuple([-p for p in padding]), stride=stride, dilation=dilation, groups=groups, bias=bias)
    return out


@lru_cache(256)
def remainders(kernel: Any, stride: Any, padding: Any, dilation: Any, shape: Any) -> Any:
    """For the places of an input that leave one remainder by the stride, along each axis: these, the taps that see them, the last tap
    first, which place of the result sees the first of them by that tap, and how far on is the one that sees it by the tap before."""
    axes = []
    for count, s, p, d, length in zip(kernel, stride, padding, dilation, shape):
        apart, found = s // math.gcd(s, d), []
        for remainder in range(s):
            start, last = (remainder - p) % s, max((k for k in range(count) if d * k % s == remainder), default=-1)
            taps = slice(0) if last < 0 else slice(last, None, -apart)
            found.append((slice(start, length, s), taps, (start + p - d * last) // s, d * apart // s))
        axes.append(found)
    return [tuple(zip(*one)) for one in itertools.product(*axes)]


def conv_input(g: Any, weight: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    """Each entry sees g through the taps in reverse, those of its remainder by the stride."""
    w = by_group(weight, 0, groups).swapaxes(1, 2)
    w = w.reshape(w.shape[0] * w.shape[1], *w.shape[2:])
    out = np.empty((g.shape[0], w.shape[0], *shape), np.result_type(g, weight))
    for some, taps, first, apart in remainders(weight.shape[2:], stride, padding, dilation, shape):
        correlate(g, w[(..., *taps)], out[(..., *some)], first=first, stride=(1,) * len(shape), dilation=apart, groups=groups)
    return out


def conv_weight(g: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    rows, channels, first = g.shape[1] // groups, x.shape[1] // groups, tuple([-p for p in padding])
    shape = (g.shape[1], channels, *kernel)
    if is_every_place(kernel, first, stride, x.shape[2:], g.shape[2:]):
        return np.matmul(flat(g, groups), flat(x, groups).mT).sum(0).reshape(shape)
    if whole := in_one_row(kernel, channels, rows * channels * math.prod(kernel)):
        g, x = g[:, :, None], x[:, :, None]
        kernel, first, stride, dilation = (1, *kernel), (0, *first), (1, *stride), (1, *dilation)
    width = channels * math.prod(kernel[1:])
    total = np.zeros((groups, kernel[0], rows, width), np.result_type(g, x))
    for some, lines, seen in laid_out(x, kernel, first, stride, dilation, g.shape[2:], groups, max(FOR_WEIGHT, total.size)):
        part, (*_, number, _, length) = by_group(g[some, :, lines], 1, groups), seen.shape
        if whole or width < FEW:
            part = np.ascontiguousarray(part.transpose(1, 3, 2, 0, *range(4, part.ndim))).reshape(groups, 1, number, rows, length)
            for k in pieces(width * rows, length):
                total += np.matmul(part[..., k], seen[..., k].mT).sum(2)
        else:
            part = np.ascontiguousarray(part.transpose(1, 3, 0, *range(4, part.ndim), 2)).reshape(groups, 1, number, length, rows)
            for k in pieces(width * rows, length):
                total += np.matmul(seen[..., k], part[..., k, :]).sum(2).mT
    total = total.reshape(groups, kernel[0], rows, *kernel[1:], channels)
    total = total.transpose(0, 2, -1, 1, *range(3, total.ndim - 1))
    return np.ascontiguousarray(total.reshape(shape))


def to_bias(g: Any) -> Any:
    return by_channel(g)


# -- patches ---------------------------------------------------------------------------------------------


@lru_cache(256)
def seen_by_taps(shape: Any, kernel: Any, padding: Any, stride: Any, dilation: Any, size: Any) -> Any:
    """For each tap which entries it sees, and from which places."""
    made = []
    for tap in itertools.product(*map(range, kernel)):
        found = [overlap(k * d - p, s, m, n) for k, d, p, s, m, n in zip(tap, dilation, padding, stride, size, shape)]
        made.append((tap, [b for _, b in found], [a for a, _ in found]))
    return made


def unfold(x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """(..., C, *S) -> (..., C * taps, places)."""
    axes = len(kernel)
    size = tuple([places(*one) for one in zip(x.shape[-axes:], kernel, stride, padding, dilation)])
    out = np.zeros((*x.shape[:-axes], *kernel, *size), x.dtype)
    for tap, seen, at in seen_by_taps(x.shape[-axes:], kernel, padding, stride, dilation, size):
        out[(..., *tap, *at)] = x[(..., *seen)]
    return out.reshape(*x.shape[: -axes - 1], x.shape[-axes - 1] * math.prod(kernel), math.prod(size))


def fold(g: Any, *, shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    size = tuple([places(*one) for one in zip(shape, kernel, stride, padding, dilation)])
    g = g.reshape(*g.shape[:-2], g.shape[-2] // math.prod(kernel), *kernel, *size)
    out = np.zeros((*g.shape[: -2 * len(kernel)], *shape), g.dtype)
    for tap, seen, at in seen_by_taps(shape, kernel, padding, stride, dilation, size):
        out[(..., *seen)] += g[(..., *tap, *at)]
    return out


kernel(rows.conv, conv, bias=to_bias)
kernel(rows.conv_input, conv_input)
kernel(rows.conv_weight, conv_weight)
kernel(rows.unfold, unfold)
kernel(rows.fold, fold)
