"""Convolutions as products of matrices, one for each row of the kernel.

What the taps in one row of a kernel see from all places is laid out beside each other. The next row of the kernel sees the same, one line
further on: its matrix is a view of the same memory. So a kernel of 3 x 3 makes three copies of what it sees, and not nine, and three
products, which are added. Rows run along the first of the last axes.
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
PLACES = 32  # from so many on samples are multiplied one by one
ADDED = 0.8  # what adding an entry of a product takes, where laying out one more of what taps see takes 1
# Channels times taps of a row: with fewer than TAPS there is one product for all taps; with fewer than FEW nothing is transposed for it.
TAPS, FEW = 4, 32
ALL = slice(None)


def before(padding: Any) -> Any:
    """Where the first tap of the first place is."""
    return tuple([-p for p in padding])


def overlap(first: Any, step: Any, count: Any, length: Any) -> Any:
    """Of `count` places from `first` on, `step` apart, those within range(length): which they are, and where."""
    low, high = max(0, -(first // step)), min(count, (length - 1 - first) // step + 1)
    return (slice(low, high), slice(first + low * step, first + high * step, step)) if low < high else (slice(0), slice(0))


@lru_cache(256)
def plan(shape: Any, kernel: Any, first: Any, stride: Any, dilation: Any, size: Any) -> Any:
    """How an input of `shape` is laid out: in how many parts, of how many lines; what is copied where; and for each row of the kernel the
    part and the line of it that the first place sees. A part are the lines that leave one remainder by the stride, for those are what the
    places see by one row of the kernel, in order."""
    seen = [divmod(k * dilation[0], stride[0]) for k in range(kernel[0])]
    parts = sorted({part for _, part in seen})
    lines, copies = size[0] + max(line for line, _ in seen), []
    for k, part in enumerate(parts):
        below, above = overlap(first[0] + part, stride[0], lines, shape[0])
        for tap in itertools.product(*map(range, kernel[1:])):
            found = [overlap(f + k * d, s, m, n) for f, k, d, s, m, n in zip(first[1:], tap, dilation[1:], stride[1:], size[1:], shape[1:])]
            copies.append(((ALL, ALL, k, *tap, ALL, below, *(a for a, _ in found)), (ALL, ALL, ALL, above, *(b for _, b in found))))
    return len(parts), lines, copies, [(parts.index(part), line) for line, part in seen]


def laid_out(x: Any, kernel: Any, first: Any, stride: Any, dilation: Any, size: Any, groups: Any, entries: Any) -> Any:
    """Some samples, and for each row of the kernel what its taps see from all places, until that is all of x (N, C, *S).

    Tap k sees from place i, along each axis, first + i * stride + k * dilation; beyond x there are zeros.
    (samples, groups, taps of a row * channels, places); where places are few, the samples lie in each line, and there is one for all.
    """
    channels, axes, width, memory = x.shape[1] // groups, len(kernel), math.prod(size[1:]), None
    columns, x = math.prod(kernel[1:]) * channels, by_group(x, 1, groups)
    parts, lines, copies, seen = plan(x.shape[3:], kernel, first, stride, dilation, size)
    count = max(1, min(len(x), entries // max(1, groups * parts * columns * lines * width)))
    for start in range(0, len(x), count):
        some = x[start : start + count]
        if memory is None or len(some) < count:
            one_by_one, together = ((len(some),), ()) if are_many(size) else ((), (len(some),))
            memory = np.zeros((*one_by_one, groups, parts, *kernel[1:], channels, lines, *together, *size[1:]), x.dtype)
            by_sample = memory if one_by_one else np.moveaxis(memory, axes + 3, 0)
            line = math.prod(together) * width
            rows = memory.reshape(len(memory) if one_by_one else 1, groups, parts, columns, lines * line)
        for to, source in copies:
            by_sample[to] = some[source]
        yield slice(start, start + count), [rows[:, :, part, :, k * line : (k + size[0]) * line] for part, k in seen]


def are_many(size: Any) -> Any:
    """Whether to multiply sample by sample. The result is then where it belongs; but products of few places take longer."""
    return math.prod(size) >= PLACES


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
    rows, channels = weight.shape[0] // groups, weight.shape[1]
    if is_every_place(kernel, first, stride, x.shape[2:], size) and out.flags.c_contiguous:
        made = np.matmul(weight.reshape(groups, rows, channels), flat(x, groups), out=flat(out, groups))
        if bias is not None:
            made += bias.reshape(groups, -1, 1)
        return
    if len(kernel) == 1 or channels * math.prod(kernel[1:]) < ADDED * rows:  # to lay out all taps takes less time than to add
        x, out = x[:, :, None], out[:, :, None]
        kernel, size, first, stride, dilation = (1, *kernel), (1, *size), (0, *first), (1, *stride), (1, *dilation)
    w = weight.reshape(groups, rows, channels, kernel[0], -1).transpose(3, 0, 1, 4, 2).reshape(kernel[0], groups, rows, -1)
    straight = are_many(size) and out.flags.c_contiguous
    for some, seen in laid_out(x, kernel, first, stride, dilation, size, groups, max(ENTRIES, w.size)):
        part = out[some]
        made = np.matmul(w[0], seen[0], out=flat(part, groups) if straight else None)
        for k in range(1, kernel[0]):
            made += np.matmul(w[k], seen[k])
        if bias is not None:
            made += bias.reshape(groups, -1, 1)
        if not are_many(size):
            made = np.moveaxis(made.reshape(*part.shape[1:3], len(part), *size[1:]), 2, 0)
        if not straight:
            part[...] = made.reshape(part.shape)


def conv(x: Any, weight: Any, bias: Any, *, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    size = [places(*one) for one in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation)]
    out = np.empty((x.shape[0], weight.shape[0], *size), np.result_type(x, weight))
    correlate(x, weight, out, first=before(padding), stride=stride, dilation=dilation, groups=groups, bias=bias)
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
    rows, channels, first = g.shape[1] // groups, x.shape[1] // groups, before(padding)
    shape = (g.shape[1], channels, *kernel)
    if is_every_place(kernel, first, stride, x.shape[2:], g.shape[2:]):
        return np.matmul(flat(g, groups), flat(x, groups).mT).sum(0).reshape(shape)
    if len(kernel) == 1 or channels * math.prod(kernel[1:]) < TAPS:
        g, x = g[:, :, None], x[:, :, None]
        kernel, first, stride, dilation = (1, *kernel), (0, *first), (1, *stride), (1, *dilation)
    size, columns = g.shape[2:], channels * math.prod(kernel[1:])
    total = np.zeros((kernel[0], groups, columns, rows), np.result_type(g, x))
    for some, seen in laid_out(x, kernel, first, stride, dilation, size, groups, max(FOR_WEIGHT, total.size)):
        part = flat(g[some], groups) if are_many(size) else np.moveaxis(by_group(g[some], 1, groups), 0, 3).reshape(1, groups, rows, -1)
        part = part.mT if columns < FEW else np.ascontiguousarray(part.mT)
        for k in range(kernel[0]):
            total[k] += np.matmul(seen[k], part).sum(0)
    total = total.reshape(kernel[0], groups, *kernel[1:], channels, rows)
    return np.ascontiguousarray(np.moveaxis(total, (1, -1, -2), (0, 1, 2)).reshape(shape))


def to_bias(g: Any) -> Any:
    return by_channel(g)


# -- patches ---------------------------------------------------------------------------------------------


@lru_cache(256)
def seen_by_taps(shape: Any, kernel: Any, first: Any, stride: Any, dilation: Any, size: Any) -> Any:
    """For each tap which entries it sees, and from which places."""
    made = []
    for tap in itertools.product(*map(range, kernel)):
        found = [overlap(f + k * d, s, m, n) for f, k, d, s, m, n in zip(first, tap, dilation, stride, size, shape)]
        made.append((tap, [b for _, b in found], [a for a, _ in found]))
    return made


def unfold(x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """(..., C, *S) -> (..., C * taps, places)."""
    axes = len(kernel)
    size = tuple([places(*one) for one in zip(x.shape[-axes:], kernel, stride, padding, dilation)])
    out = np.zeros((*x.shape[:-axes], *kernel, *size), x.dtype)
    for tap, seen, at in seen_by_taps(x.shape[-axes:], kernel, before(padding), stride, dilation, size):
        out[(..., *tap, *at)] = x[(..., *seen)]
    return out.reshape(*x.shape[: -axes - 1], x.shape[-axes - 1] * math.prod(kernel), math.prod(size))


def fold(g: Any, *, shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    size = tuple([places(*one) for one in zip(shape, kernel, stride, padding, dilation)])
    g = g.reshape(*g.shape[:-2], g.shape[-2] // math.prod(kernel), *kernel, *size)
    out = np.zeros((*g.shape[: -2 * len(kernel)], *shape), g.dtype)
    for tap, seen, at in seen_by_taps(shape, kernel, before(padding), stride, dilation, size):
        out[(..., *seen)] += g[(..., *tap, *at)]
    return out


kernel(rows.conv, conv, bias=to_bias)
kernel(rows.conv_input, conv_input)
kernel(rows.conv_weight, conv_weight)
kernel(rows.unfold, unfold)
kernel(rows.fold, fold)
