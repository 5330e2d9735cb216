"""Convolutions as products of matrices: `columns` lays out what all taps see, as many samples at a time as stay in the cache."""

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from autolab.fast.kernel import kernel
from autolab.fast.kernels.nn import by_channel
from autolab.rules import conv as rows
from autolab.rules.conv import inner, places, reach

ENTRIES = 2**18  # of the columns at a time: what does not fit into the cache is not laid out all at once
LONG = 16  # entries in a row of the result: from here on what a tap sees are long runs in each sample, too
FEW_ROWS = 32  # of a matrix of weights: up to here laying out the columns takes longer than some products more
# A kernel of few weights is multiplied in pieces of so many products: for these OpenBLAS does not lay the matrices out anew first, which
# takes longer than the product of a thin one.
FEW_WEIGHTS, PRODUCTS = 2**10, 10**6


def padded(x: Any, padding: Any) -> Any:
    """x with zeros around its last axes."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    out = np.zeros((*x.shape[:lead], *(n + 2 * p for n, p in zip(x.shape[lead:], padding))), x.dtype)
    out[inner(padding, x.shape[lead:])] = x
    return out


def samples_last(x: Any) -> Any:
    """(N, ...) -> (..., N), a copy: then what a tap sees are few long runs in memory, and not many short ones."""
    return np.ascontiguousarray(np.moveaxis(x, 0, -1))


def windows(x: Any, first: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    """A view of x, whose spatial axes start at `first`: in their place one axis of taps for each, then one of the places that they see."""
    end = first + len(kernel)
    out = [places(m, k, s, 0, d) for m, k, s, d in zip(x.shape[first:end], kernel, stride, dilation)]
    steps = x.strides[first:end]
    return as_strided(
        x, (*x.shape[:first], *kernel, *out, *x.shape[end:]),
        (*x.strides[:first], *(t * d for t, d in zip(steps, dilation)), *(t * s for t, s in zip(steps, stride)), *x.strides[end:]),
        writeable=False,
    )  # fmt: skip


def columns(x: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    """What the taps see, for x (C, *S, N): (C * taps, places * N), a copy unless each tap sees everything."""
    seen = np.ascontiguousarray(windows(x, 1, kernel, stride, dilation))
    return seen.reshape(x.shape[0] * math.prod(kernel), math.prod(seen.shape[1 + len(kernel) :]))


def columns_of_each(x: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    """The same for x (N, C, *S), sample by sample: (N, C * taps, places)."""
    seen = np.ascontiguousarray(windows(x, 2, kernel, stride, dilation))
    return seen.reshape(*x.shape[:1], x.shape[1] * math.prod(kernel), math.prod(seen.shape[2 + len(kernel) :]))


def rows_of_columns(x: Any, kernel: Any, dilation: Any) -> Any:
    """The same for a stride of 1, and as wide as x (N, C, *S) is: what a tap sees is then one run of memory in each channel.

    Between the rows of places come some that reach over the end of a row, and mean nothing: (N, C * taps, fewer than places).
    """
    x = np.ascontiguousarray(x)
    steps = x.strides[2:]
    last = [m - 1 - d * (k - 1) for m, k, d in zip(x.shape[2:], kernel, dilation)]  # the place that comes last
    run = sum(a * b for a, b in zip(last, steps)) // x.itemsize + 1
    seen = as_strided(
        x, (*x.shape[:2], *kernel, run), (*x.strides[:2], *(t * d for t, d in zip(steps, dilation)), x.itemsize), writeable=False
    )  # fmt: skip
    return np.ascontiguousarray(seen).reshape(x.shape[0], x.shape[1] * math.prod(kernel), run)


def places_in_a_row(g: Any) -> Any:
    """(N, O, *L) -> (N, O, places)."""
    return g.reshape(*g.shape[:2], math.prod(g.shape[2:]))


def by_group(matrix: Any, groups: Any) -> Any:
    """A matrix for each group, stacked, if there are several."""
    *lead, rows, width = matrix.shape
    return matrix if groups == 1 else matrix.reshape(*lead, groups, rows // groups, width)


def pieces(weights: Any, length: Any) -> Any:
    """Slices of the columns, to be multiplied one after the other."""
    step = PRODUCTS // max(weights, 1) if weights <= FEW_WEIGHTS else length
    return [slice(a, a + step) for a in range(0, length, step)]


def times(w: Any, seen: Any) -> Any:
    """w @ seen, for matrices or stacks of them."""
    some = pieces(w.size, seen.shape[-1])
    if len(some) == 1:
        return np.matmul(w, seen)
    out = np.empty((*w.shape[:-1], seen.shape[-1]), np.result_type(w, seen))
    for k in some:
        np.matmul(w, seen[..., k], out=out[..., k])
    return out


def against(g: Any, seen: Any) -> Any:
    """g @ seen.mT, the larger matrix first: BLAS is faster so."""
    rows, width = g.shape[-2], seen.shape[-2]
    return sum(np.matmul(seen[..., k], g[..., k].mT) for k in pieces(rows * width, seen.shape[-1])).mT


def flat(weight: Any) -> Any:
    """(O, C / groups, *K) -> (O, C / groups * taps)."""
    return weight.reshape(weight.shape[0], math.prod(weight.shape[1:]))


def parts(n: Any, entries_each: Any) -> Any:
    """Slices of so many samples that their columns stay in the cache."""
    step = max(1, ENTRIES // max(entries_each, 1))
    return [slice(a, a + step) for a in range(0, n, step)]


def conv(x: Any, weight: Any, bias: Any, *, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    kernel = weight.shape[2:]
    size = [places(*one) for one in zip(x.shape[2:], kernel, stride, padding, dilation)]
    w = by_group(flat(weight), groups)
    out = np.empty((x.shape[0], weight.shape[0], *size), np.result_type(x, weight))
    for some in parts(x.shape[0], x.shape[1] * math.prod(kernel) * math.prod(size)):
        inside = padded(x[some], padding)
        if size[-1] >= LONG and len(size) == 2 and all(s == 1 for s in stride) and w.shape[-2] <= FEW_ROWS:
            seen = rows_of_columns(inside, kernel, dilation)
            made: Any = np.empty((*out[some].shape[:2], size[0], inside.shape[-1]), out.dtype)
            np.matmul(w, by_group(seen, groups), out=by_group(places_in_a_row(made)[..., : seen.shape[-1]], groups))
            out[some] = made[..., : size[-1]]
        elif size[-1] >= LONG:
            seen = columns_of_each(inside, kernel, stride, dilation)
            np.matmul(w, by_group(seen, groups), out=by_group(places_in_a_row(out[some]), groups))
        else:
            seen, inside = columns(samples_last(inside), kernel, stride, dilation), None
            made = times(w, by_group(seen, groups)).reshape(*out.shape[1:], -1)
            out[some] = np.moveaxis(made, -1, 0)
        inside = seen = made = None  # before the next samples are laid out
    if bias is not None:
        out += bias.reshape(-1, *(1,) * len(size))
    return out


def conv_input(g: Any, weight: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    """Each place of g adds its taps to what they saw. `shape`: the lengths of the result's spatial axes."""
    n, kernel, size = g.shape[0], weight.shape[2:], g.shape[2:]
    channels = weight.shape[1] * groups
    around = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)]
    if channels >= g.shape[1] and all(s == 1 for s in stride) and min(around) >= 0 and not is_depthwise(weight.shape, groups):
        # Each entry of the result sees g through the taps in reverse: then nothing is added up but in the product.
        w = np.swapaxes(weight.reshape(groups, -1, *weight.shape[1:]), 1, 2).reshape(channels, -1, *kernel)
        reverse = np.ascontiguousarray(np.flip(w, tuple(range(2, w.ndim))))
        return conv(g, reverse, None, stride=stride, padding=around, dilation=dilation, groups=groups)
    w = by_group(flat(weight), groups).mT
    out = np.empty((n, channels, *shape), np.result_type(g, weight))
    alone = is_depthwise(weight.shape, groups)
    for some in parts(n, channels * math.prod(size) * (1 if alone else math.prod(kernel))):
        last = samples_last(g[some])
        whole: Any = np.zeros((channels, *(m + 2 * p for m, p in zip(shape, padding)), last.shape[-1]), out.dtype)
        if not alone:
            seen = times(w, by_group(last.reshape(g.shape[1], -1), groups)).reshape(channels, -1, *last.shape[1:])
        for t, part in seen_by_taps(whole, kernel, size, stride, dilation):
            part += channel_beside(w[:, t, 0], last) * last if alone else seen[:, t]
        out[some] = np.moveaxis(whole[(slice(None), *inner(padding, shape)[1:])], -1, 0)
        last = whole = seen = part = None
    return out


def is_depthwise(shape: Any, groups: Any) -> Any:
    """Whether each channel has one kernel to itself: then backward multiplies tap by tap, faster than products of tiny matrices."""
    return groups > 1 and shape[0] == groups and shape[1] == 1


def seen_by_taps(x: Any, kernel: Any, size: Any, stride: Any, dilation: Any) -> Any:
    """For x (C, *S, N) the number of each tap, and a view of what it sees."""
    for t, tap in enumerate(np.ndindex(*kernel)):
        yield t, x[(slice(None), *reach(tap, size, stride, dilation)[1:])]


def channel_beside(w: Any, x: Any) -> Any:
    """A number for each channel, to go beside (C, *S, N)."""
    return w.reshape(-1, *(1,) * (x.ndim - 1))


def conv_weight(g: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    rows, width = g.shape[1], x.shape[1] // groups * math.prod(kernel)
    # A stride may leave entries at the end that no tap sees.
    used = (..., *(slice((m - 1) * s + d * (k - 1) + 1) for m, s, d, k in zip(g.shape[2:], stride, dilation, kernel)))
    out = np.zeros((rows, width) if groups == 1 else (groups, rows // groups, width), np.result_type(g, x))
    alone = is_depthwise((rows, x.shape[1] // groups), groups)
    for some in parts(g.shape[0], x.shape[1] * math.prod(g.shape[2:]) * (1 if alone else math.prod(kernel))):
        inside = padded(x[some], padding)[used]
        if g.shape[-1] >= LONG and not alone:
            seen = by_group(columns_of_each(inside, kernel, stride, dilation), groups)
            own = by_group(places_in_a_row(g[some]), groups)
            out += np.matmul(seen, own.mT).sum(0).mT
            inside = seen = own = None
            continue
        last, inside = samples_last(inside), None
        own = samples_last(g[some])
        if alone:
            for t, part in seen_by_taps(last, kernel, g.shape[2:], stride, dilation):
                out[:, 0, t] += (own * part).reshape(rows, -1).sum(1)
        else:
            seen, last = columns(last, kernel, stride, dilation), None
            out += against(by_group(own.reshape(rows, -1), groups), by_group(seen, groups))
        inside = last = own = seen = None
    return out.reshape(rows, x.shape[1] // groups, *kernel)


# -- patches ---------------------------------------------------------------------------------------------


def unfold(x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """(..., C, *S) -> (..., C * taps, places)."""
    axes = len(kernel)
    lead = x.shape[: -axes - 1]
    x = padded(x.reshape(math.prod(lead), *x.shape[-axes - 1 :]), padding)
    size = [places(m, k, s, 0, d) for m, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    cols = columns(samples_last(x), kernel, stride, dilation).reshape(x.shape[1] * math.prod(kernel), math.prod(size), x.shape[0])
    return np.array(np.moveaxis(cols, -1, 0), order="C").reshape(*lead, *cols.shape[:2])


def fold(g: Any, *, shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    size = [places(*one) for one in zip(shape, kernel, stride, padding, dilation)]
    taps, lead = math.prod(kernel), g.shape[:-2]
    channels = g.shape[-2] // taps
    seen = samples_last(g.reshape(math.prod(lead), channels, taps, *size))
    out = np.zeros((channels, *(m + 2 * p for m, p in zip(shape, padding)), seen.shape[-1]), g.dtype)
    for t, part in seen_by_taps(out, kernel, size, stride, dilation):
        part += seen[:, t]
    inside = out[(slice(None), *inner(padding, shape)[1:])]
    return np.ascontiguousarray(np.moveaxis(inside, -1, 0)).reshape(*lead, channels, *shape)


kernel(rows.conv, conv, bias=lambda g: by_channel(g))
kernel(rows.conv_input, conv_input)
kernel(rows.conv_weight, conv_weight)
kernel(rows.unfold, unfold)
kernel(rows.fold, fold)
