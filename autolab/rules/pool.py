"""Pooling: one number out of each window. Windows run over the last axes; any axes may be before them.

`size` says how many windows there are along each axis (they may reach over the edge). A *tap* is one place in a window: all windows'
entries at that place are one strided slice, so a pool of 2 x 2 is the maximum of four slices.
"""

import math

import numpy as np

from autolab.engine.op import GENERAL, LINEAR, op
from autolab.rules.conv import inner, reach
from autolab.rules.elementwise import straight_at
from autolab.rules.reduce import call_row


def lowest(dtype):
    """What no entry is below."""
    return -math.inf if dtype.kind not in "iub" else np.iinfo(dtype).min


def framed(x, kernel, stride, padding, dilation, size, fill):
    """x as all windows see it: with `fill` around its last axes where they reach over the edge."""
    lead = x.ndim - len(kernel)
    over = [(m - 1) * s + d * (k - 1) + 1 - n - p for p, m, s, d, k, n in zip(padding, size, stride, dilation, kernel, x.shape[lead:])]
    return np.pad(x, [(0, 0)] * lead + [(p, max(b, 0)) for p, b in zip(padding, over)], constant_values=fill)


def taps(kernel, size, stride, dilation):
    return [reach(tap, size, stride, dilation) for tap in np.ndindex(*kernel)]


# -- the largest -----------------------------------------------------------------------------------------


def max_pool_values(x, *, kernel, stride, padding, dilation, size):
    x = framed(x, kernel, stride, padding, dilation, size, lowest(x.dtype))
    return np.max([x[tap] for tap in taps(kernel, size, stride, dilation)], axis=0)


def winners(x, top, kernel, stride, padding, dilation, size):
    """For each tap: its slice, and the windows whose result it is. Among equals the first."""
    x = framed(x, kernel, stride, padding, dilation, size, lowest(x.dtype))
    left = np.ones(top.shape, bool)
    for tap in taps(kernel, size, stride, dilation):
        hit = left & (x[tap] == top)
        left = left & ~hit
        yield tap, hit


def max_pool_back_values(g, x, top, *, kernel, stride, padding, dilation, size):
    """The gradient of each window, where its largest entry, `top`, stands."""
    back = framed(np.zeros(x.shape, g.dtype), kernel, stride, padding, dilation, size, 0)
    for tap, hit in winners(x, top, kernel, stride, padding, dilation, size):
        back[tap] += g * hit
    return np.ascontiguousarray(back[inner(padding, x.shape[x.ndim - len(kernel) :])])


def max_pool_pick_values(u, x, top, *, kernel, stride, padding, dilation, size):
    """The entries of u where the largest of x stand."""
    u = framed(u, kernel, stride, padding, dilation, size, 0)
    picked = np.zeros(top.shape, u.dtype)
    for tap, hit in winners(x, top, kernel, stride, padding, dilation, size):
        picked = np.where(hit, u[tap], picked)
    return picked


max_pool = op(
    "max_pool", max_pool_values, GENERAL, batch=call_row,
    node=lambda x, *, kernel, **_: f"MaxPool{max(len(kernel), 2)}DWithIndicesBackward0",
    # Found again, not kept: a relu may stand after a pool and write into its result.
    x=lambda g, x, kernel, stride, padding, dilation, size:
        straight_at(max_pool_back(g, x, max_pool(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, size=size),
                                  kernel=kernel, stride=stride, padding=padding, dilation=dilation, size=size),
                    x, of="MaxPool2DWithIndices"),
)  # fmt: skip
max_pool_back = op(
    "max_pool_back", max_pool_back_values, LINEAR,
    g=lambda u, x, top, kernel, stride, padding, dilation, size:
        max_pool_pick(u, x, top, kernel=kernel, stride=stride, padding=padding, dilation=dilation, size=size),
)  # fmt: skip
max_pool_pick = op(
    "max_pool_pick", max_pool_pick_values, LINEAR,
    u=lambda g, x, top, kernel, stride, padding, dilation, size:
        max_pool_back(g, x, top, kernel=kernel, stride=stride, padding=padding, dilation=dilation, size=size),
)  # fmt: skip


def window_argmax_values(x, *, windows):
    """Where the largest entry of each window stands, counted over the last axes. windows: for each axis, (windows, places) indices."""
    axes = len(windows)
    shape = x.shape[-axes:]
    positions = np.zeros((1,) * (2 * axes), np.int64)
    for a, (index, n) in enumerate(zip(windows, shape)):
        own = [1] * (2 * axes)
        own[a], own[axes + a] = index.shape
        positions = positions * n + index.reshape(own)
    count = positions.shape[:axes]
    positions = positions.reshape(math.prod(count), -1)
    flat = x.reshape(*x.shape[:-axes], -1)
    best = np.argmax(flat[..., positions], axis=-1)
    return positions[np.arange(len(positions)), best].reshape(*x.shape[:-axes], *count)


window_argmax = op("window_argmax", window_argmax_values, GENERAL, batch=call_row)


# -- the mean --------------------------------------------------------------------------------------------


def divisors(shape, kernel, stride, padding, size, count_padding, divisor):
    """What the sum of each window is divided by: a number for all, or an array."""
    if divisor is not None:
        return divisor
    total = np.ones(())
    for a, (n, k, s, p, m) in enumerate(zip(shape, kernel, stride, padding, size)):
        start = np.arange(m) * s - p
        stop = np.minimum(start + k, n + p)
        counted = stop - start if count_padding else np.minimum(stop, n) - np.maximum(start, 0)
        total = total[..., None] * counted.reshape((1,) * a + (m,))
    return total if total.size and total.min() != total.max() else float(total.flat[0]) if total.size else 1.0


def divided(sums, divisor):
    if sums.dtype.kind in "iu":
        return np.trunc(sums / divisor).astype(sums.dtype)
    return sums / np.asarray(divisor, sums.dtype)


def avg_pool_values(x, *, kernel, stride, padding, size, count_padding, divisor):
    divisor = divisors(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, size, count_padding, divisor)
    one = (1,) * len(kernel)
    x = framed(x, kernel, stride, padding, one, size, 0)
    return divided(sum(x[tap] for tap in taps(kernel, size, stride, one)), divisor)


def avg_pool_back_values(g, *, shape, kernel, stride, padding, size, count_padding, divisor):
    one = (1,) * len(kernel)
    g = divided(g, divisors(shape, kernel, stride, padding, size, count_padding, divisor))
    back = framed(np.zeros((*g.shape[: g.ndim - len(kernel)], *shape), g.dtype), kernel, stride, padding, one, size, 0)
    for tap in taps(kernel, size, stride, one):
        back[tap] += g
    return np.ascontiguousarray(back[inner(padding, shape)])


def avg_pool_rule(g, x_shape, kernel, stride, padding, size, count_padding, divisor):
    return avg_pool_back(
        g, shape=x_shape[len(x_shape) - len(kernel) :], kernel=kernel, stride=stride, padding=padding, size=size,
        count_padding=count_padding, divisor=divisor,
    )  # fmt: skip


avg_pool = op(
    "avg_pool", avg_pool_values, LINEAR, node=lambda x, *, kernel, **_: f"AvgPool{max(len(kernel), 2)}DBackward0", x=avg_pool_rule
)
avg_pool_back = op(
    "avg_pool_back", avg_pool_back_values, LINEAR,
    g=lambda u, kernel, stride, padding, size, count_padding, divisor: avg_pool(
        u, kernel=kernel, stride=stride, padding=padding, size=size, count_padding=count_padding, divisor=divisor
    ),
)  # fmt: skip
