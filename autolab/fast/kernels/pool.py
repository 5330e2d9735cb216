"""Pools in the memory of their results."""

from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.rules import pool as rows
from autolab.rules.conv import inner
from autolab.rules.pool import lowest, taps


def framed(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any, fill: Any) -> Any:
    """x as all windows see it: with `fill` around its last axes where they reach over the edge."""
    lead = x.ndim - len(kernel)
    before = [(p, (m - 1) * s + d * (k - 1) + 1 - n - p) for p, m, s, d, k, n in
              zip(padding, size, stride, dilation, kernel, x.shape[lead:])]  # fmt: skip
    if not any(a > 0 or b > 0 for a, b in before):
        return x
    shape = (*x.shape[:lead], *(n + a + max(b, 0) for n, (a, b) in zip(x.shape[lead:], before)))
    out = np.full_like(x, fill, shape=shape)
    out[inner(padding, x.shape[lead:])] = x
    return out


def max_pool(x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any) -> Any:
    """Along one axis after the other, the last one last: before it whole rows are compared, which lie one behind the other."""
    out = x = framed(x, kernel, stride, padding, dilation, size, lowest(x.dtype))
    for axis, *window in zip(range(x.ndim - len(kernel), x.ndim), kernel, stride, size, dilation):
        first, *others = along(axis, *window)
        if others:
            x, out = out, np.maximum(out[first], out[others[0]])
            for tap in others[1:]:
                np.maximum(out, x[tap], out=out)
        else:
            out = out[first]
    return out.copy() if out.base is not None or out is x else out


def winners(x: Any, top: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any) -> Any:
    """For each tap: its slice, and the windows whose result it is. Among equals the first."""
    x = framed(x, kernel, stride, padding, dilation, size, lowest(x.dtype))
    left = np.ones_like(top, bool)
    for tap in taps(kernel, size, stride, dilation):
        hit = x[tap] == top
        hit &= left
        left ^= hit
        yield tap, hit


def max_pool_back(g: Any, x: Any, top: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any) -> Any:
    """The gradient of each window, where its largest entry, `top`, stands."""
    lead = x.ndim - len(kernel)
    seen = framed(np.broadcast_to(np.zeros((), g.dtype), x.shape), kernel, stride, padding, dilation, size, 0)
    apart = all(s >= d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel))
    whole = apart and all(k == s and m * s == n for k, s, m, n in zip(kernel, stride, size, seen.shape[lead:]))
    back = (np.empty_like if whole else np.zeros_like)(x, g.dtype, shape=seen.shape)  # in the order of x in memory
    for tap, hit in winners(x, top, kernel, stride, padding, dilation, size):
        if apart:
            np.multiply(g, hit, out=back[tap])
        else:
            back[tap] += g * hit
    return back if back.shape == x.shape else np.ascontiguousarray(back[inner(padding, x.shape[lead:])])


def along(axis: Any, kernel: Any, stride: Any, size: Any, dilation: Any = 1) -> Any:
    """What each place in a window along one axis sees."""
    return [(slice(None),) * axis + (slice(a, a + (size - 1) * stride + 1, stride),) for a in range(0, kernel * dilation, dilation)]


def avg_pool(x: Any, *, kernel: Any, stride: Any, padding: Any, size: Any, count_padding: Any, divisor: Any) -> Any:
    lead, one = x.ndim - len(kernel), (1,) * len(kernel)
    divisor = rows.divisors(x.shape[lead:], kernel, stride, padding, size, count_padding, divisor)
    x = framed(x, kernel, stride, padding, one, size, 0)
    for axis, *window in zip(range(lead, x.ndim), kernel, stride, size):  # sums of sums: 8 + 8 additions for a window of 8 x 8
        first, *others = along(axis, *window)
        out = x[first].copy()
        for tap in others:
            out += x[tap]
        x = out
    return rows.divided(x, divisor)


def avg_pool_back(g: Any, *, shape: Any, kernel: Any, stride: Any, padding: Any, size: Any, count_padding: Any, divisor: Any) -> Any:
    lead = g.ndim - len(kernel)
    g = rows.divided(g, rows.divisors(shape, kernel, stride, padding, size, count_padding, divisor))
    for axis, n, p, k, s, m in zip(range(lead, g.ndim), shape, padding, kernel, stride, size):
        back = np.zeros((*g.shape[:axis], max(n + p, (m - 1) * s + k), *g.shape[axis + 1 :]), g.dtype)
        for tap in along(axis, k, s, m):
            back[tap] += g
        g = back
    return np.ascontiguousarray(g[inner(padding, shape)])


kernel(rows.max_pool, max_pool)
kernel(rows.max_pool_back, max_pool_back)
kernel(rows.avg_pool, avg_pool)
kernel(rows.avg_pool_back, avg_pool_back)
