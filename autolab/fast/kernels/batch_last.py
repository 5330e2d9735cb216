"""Convolutions and sums of arrays that lie in memory as (H, C, W, N), which is how a compiled program keeps images between layers.

What a tap sees from a row of the result is then one run of memory for all places and samples, and the rows of a kernel lie one after
the other. So nothing is laid out: for each tap of a row of the kernel there is a product for each row of the result, of the weights of a
column of taps and a view of x, and these products are added. Where rows are at an edge, they see fewer rows of x.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from autolab.fast.kernels import pool
from autolab.fast.kernels.conv import overlap, remainders
from autolab.fast.sums import ones
from autolab.rules.conv import places

# Where the processor has AVX-512, OpenBLAS multiplies smaller matrices than these without laying them out anew, in half the time.
# With more weights than that, such a product would be one of a few places.
PRODUCTS, WEIGHTS = 10**6, 2**16
ENTRIES = 2**17  # of a product that is added to others while it stays in the cache
FEW = 12  # channels times rows of the kernel: up to here the taps of a row are laid out as channels, for a sum would take longer
ORDER, BACK = (2, 1, 3, 0), (3, 1, 0, 2)  # (N, C, H, W) -> (H, C, W, N), and back


def pieces(weights: Any, length: Any) -> Any:
    """Slices of the places, to be multiplied one after the other."""
    step = max(PRODUCTS // max(weights, 1) // 8 * 8, 8) if weights <= WEIGHTS else max(length, 1)
    return [slice(a, a + step) for a in range(0, length, step)]


def batch_last(x: Any) -> Any:
    """(N, C, H, W) -> (H, C, W, N), in order."""
    return np.ascontiguousarray(x.transpose(ORDER))


def suits(x: Any, weight: Any, groups: Any, dilation: Any) -> bool:
    """Whether these functions are right, and quick, for such a convolution."""
    few = weight.size <= WEIGHTS * max(weight.shape[3:], default=1)
    known = x.ndim == weight.ndim == 4 and x.dtype == weight.dtype and x.dtype.kind == "f" and groups == 1
    return known and few and bool(x.size and weight.size) and (dilation[0] == 1 or weight.shape[2] == 1)


@lru_cache(256)
def bands(count: int, first: int, step: int, taps: int, length: int) -> list[tuple[int, int, int, int, int]]:
    """Rows of the result from `start` to `stop`, which taps `low` to `high` of a column see, the first of them from row `top` on."""
    made: list[tuple[int, int, int, int, int]] = []
    for y in range(count):
        top = first + y * step
        low, high = max(0, -top), min(taps, length - top)
        if made and made[-1][2:4] == (low, high):
            made[-1] = (made[-1][0], y + 1, *made[-1][2:])
        else:
            made.append((y, y + 1, low, high, top + low))
    return made


def seen(x: Any, top: int, step: int, taps: int, count: int, start: int, length: int) -> Any:
    """What the taps of a column see from `count` rows: (count, taps * C, places * N), a view of x."""
    one = x.itemsize  # not x.strides: those of an axis of length 1 may be anything
    place, channel, row = (one * math.prod(x.shape[k:]) for k in (3, 2, 1))
    shape = count, taps * x.shape[1], length * x.shape[3]
    return np.ndarray(shape, x.dtype, x, top * row + start * place, (row * step, channel, one))


def thinned(x: Any, columns: Any) -> Any:
    """For each column of taps an image and where in its rows the tap begins: x, or every n-th place of it, which several columns share."""
    shared: dict[int, Any] = {}
    made = []
    for _, b in columns:
        step = b.step or 1
        if step == 1:
            made.append((x, b.start))
            continue
        rest = b.start % step
        if rest not in shared:
            shared[rest] = np.ascontiguousarray(x[:, :, rest::step])
        made.append((shared[rest], b.start // step))
    return made


def correlate(x: Any, w: Any, out: Any, step: int, first: int, columns: Any, bias: Any = None) -> None:
    """out[y, :, a] = sum over the columns of taps k and (a, b) of w[k] times what they see of x[first + y * step ..., :, b].

    w: (columns, O, taps, C). columns: for each one the places of the result and the places of x that it sees there.
    """
    count, wide, n, taps = out.shape[0], out.shape[2], out.shape[3], w.shape[2]
    whole = next((k for k, (a, _) in enumerate(columns) if (a.start, a.stop, a.step or 1) == (0, wide, 1)), None)
    order = sorted(range(len(columns)), key=lambda k: k != whole)
    inputs = thinned(x, columns)
    lines = max(1, ENTRIES // max(1, math.prod(out.shape[1:])))
    memory = np.empty(min(lines, count) * math.prod(out.shape[1:]), out.dtype)
    for start, stop, low, high, top in bands(count, first, step, taps, x.shape[0]):
        for y in range(start, stop, lines):
            some = out[y : min(y + lines, stop)]
            if whole is None or low >= high:
                some[...] = 0
            for k in order if low < high else ():
                a = columns[k][0]
                length = len(range(*a.indices(wide)))
                if not length:
                    continue
                image, at = inputs[k]
                view = seen(image, top + (y - start) * step, step, high - low, len(some), at, length)
                weights = w[k, :, low:high].reshape(w.shape[1], -1)
                made = some if k == whole else memory[: len(some) * w.shape[1] * length * n]
                made = made.reshape(len(some), w.shape[1], length * n)
                for part in pieces(weights.size, length * n):
                    np.matmul(weights, view[..., part], out=made[..., part])
                if k != whole:
                    target = some[:, :, a]
                    np.add(target, made.reshape(target.shape), target)
            if bias is not None:
                some += bias.reshape(-1, 1, 1)


def columns_of(count: int, stride: int, padding: int, dilation: int, size: int, length: int) -> Any:
    """For each tap of a row the places that see something by it, and what they see."""
    return [overlap(k * dilation - padding, stride, size, length) for k in range(count)]


def beside(x: Any, columns: Any, size: int) -> Any:
    """The taps of a row as channels (H, taps * C, places, N), where that is little."""
    made = np.zeros((x.shape[0], len(columns), x.shape[1], size, x.shape[3]), x.dtype)
    for k, (a, b) in enumerate(columns):
        made[:, k, :, a] = x[:, :, b]
    return made.reshape(x.shape[0], -1, size, x.shape[3])


def conv(x: Any, weight: Any, bias: Any, *, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    x, (rows, wide) = np.ascontiguousarray(x), weight.shape[2:]
    size = [places(*one) for one in zip(x.shape[::2], weight.shape[2:], stride, padding, dilation)]
    out = np.empty((size[0], weight.shape[0], size[1], x.shape[3]), x.dtype)
    columns = columns_of(wide, stride[1], padding[1], dilation[1], size[1], x.shape[2])
    if wide > 1 and x.shape[1] * rows <= FEW:
        x, columns = beside(x, columns, size[1]), [(slice(0, size[1]), slice(0, size[1]))]
        w = weight.transpose(0, 2, 3, 1).reshape(1, len(weight), rows, -1)
    else:
        w = np.ascontiguousarray(weight.transpose(3, 0, 2, 1))
    correlate(x, w, out, stride[0], -padding[0], columns, bias)
    return out


def conv_input(g: Any, weight: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    g = np.ascontiguousarray(g)
    out = np.empty((shape[0], weight.shape[1], shape[1], g.shape[3]), g.dtype)
    columns = [(b, a) for a, b in columns_of(weight.shape[3], stride[1], padding[1], dilation[1], g.shape[2], shape[1])]
    for (some,), (taps,), (first,), _ in remainders(weight.shape[2:3], stride[:1], padding[:1], dilation[:1], shape[:1]):
        w = np.ascontiguousarray(weight[:, :, taps].transpose(3, 1, 2, 0))
        correlate(g, w, out[some], 1, first, columns)
    return out


def conv_weight(g: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    x, channels, rows, (size, wide, length, n) = np.ascontiguousarray(x), x.shape[1], kernel[0], g.shape
    columns = columns_of(kernel[1], stride[1], padding[1], dilation[1], length, x.shape[2])
    few = kernel[1] > 1 and channels * rows <= FEW
    if few:
        x, columns = beside(x, columns, length), [(slice(0, length), slice(0, length))]
    g = np.ascontiguousarray(g.reshape(size, wide, length * n).swapaxes(1, 2))
    total = np.zeros((len(columns), rows, x.shape[1], wide), g.dtype)
    for k, ((a, _), (part, at)) in enumerate(zip(columns, thinned(x, columns))):
        long = a.stop - a.start if a.stop else 0
        for start, stop, low, high, top in bands(size, -padding[0], stride[0], rows, x.shape[0]):
            if long and low < high:
                view, right = seen(part, top, stride[0], high - low, stop - start, at, long), g[start:stop, a.start * n : a.stop * n]
                for p in pieces(view.shape[1] * wide, long * n):
                    total[k, low:high] += np.matmul(view[..., p], right[:, p]).sum(0).reshape(high - low, x.shape[1], wide)
    if few:
        return np.ascontiguousarray(total.reshape(rows, kernel[1], channels, wide).transpose(3, 2, 0, 1))
    return np.ascontiguousarray(total.transpose(3, 2, 1, 0))


def by_channel(x: Any, y: Any = None) -> Any:
    """The sum of x (H, C, W, N), or of x * y, for each channel."""
    lines = x.reshape(x.shape[0] * x.shape[1], -1)
    total = lines.dot(ones(lines.shape[1], x.dtype)) if y is None else np.vecdot(lines, y.reshape(lines.shape))
    return np.add.reduce(total.reshape(x.shape[:2]), 0)


def max_pool(x: Any, **settings: Any) -> Any:
    return batch_last(pool.max_pool(x.transpose(BACK), **settings))


def max_pool_back(g: Any, x: Any, top: Any, **settings: Any) -> Any:
    return batch_last(pool.max_pool_back(*[a.transpose(BACK) for a in (g, x, top)], **settings))
