"""Pools in the memory of their results."""

import math
from typing import Any

import numpy as np

from autolab.fast.kernel import kernel
from autolab.fast.sums import ones
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
    out = np.full(shape, fill, x.dtype)
    out[inner(padding, x.shape[lead:])] = x
    return out


def max_pool(x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any) -> Any:
    x = framed(x, kernel, stride, padding, dilation, size, lowest(x.dtype))
    first, *others = taps(kernel, size, stride, dilation)
    if not others:
        return x[first].copy()
    out = np.maximum(x[first], x[others[0]])
    for tap in others[1:]:
        np.maximum(out, x[tap], out=out)
    return out


def winners(x: Any, top: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any) -> Any:
    """For each tap: its slice, and the windows whose result it is. Among equals the first."""
    x = framed(x, kernel, stride, padding, dilation, size, lowest(x.dtype))
    left = np.ones(top.shape, bool)
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
    back = np.empty(seen.shape, g.dtype) if whole else np.zeros(seen.shape, g.dtype)
    for tap, hit in winners(x, top, kernel, stride, padding, dilation, size):
        if apart:
            np.multiply(g, hit, out=back[tap])
        else:
            back[tap] += g * hit
    return back if back.shape == x.shape else np.ascontiguousarray(back[inner(padding, x.shape[lead:])])


def is_one_window(shape: Any, kernel: Any, padding: Any, size: Any) -> bool:
    """Whether one window sees all, and nothing beside it."""
    return tuple(kernel) == tuple(shape) and not any(padding) and all(m == 1 for m in size)


def avg_pool(x: Any, *, kernel: Any, stride: Any, padding: Any, size: Any, count_padding: Any, divisor: Any) -> Any:
    shape, one = x.shape[x.ndim - len(kernel) :], (1,) * len(kernel)
    divisor = rows.divisors(shape, kernel, stride, padding, size, count_padding, divisor)
    if is_one_window(shape, kernel, padding, size) and x.size and x.dtype.kind == "f" and x.flags.c_contiguous:
        n = math.prod(shape)
        return rows.divided(x.reshape(-1, n).dot(ones(n, x.dtype)).reshape(*x.shape[: x.ndim - len(kernel)], *size), divisor)
    x = framed(x, kernel, stride, padding, one, size, 0)
    first, *others = taps(kernel, size, stride, one)
    out = x[first].copy()
    for tap in others:
        out += x[tap]
    return rows.divided(out, divisor)


def avg_pool_back(g: Any, *, shape: Any, kernel: Any, stride: Any, padding: Any, size: Any, count_padding: Any, divisor: Any) -> Any:
    one = (1,) * len(kernel)
    lead = g.shape[: g.ndim - len(kernel)]
    g = rows.divided(g, rows.divisors(shape, kernel, stride, padding, size, count_padding, divisor))
    if is_one_window(shape, kernel, padding, size):
        return np.broadcast_to(g, (*lead, *shape)).copy()
    back = framed(np.broadcast_to(np.zeros((), g.dtype), (*lead, *shape)), kernel, stride, padding, one, size, 0)
    back = np.zeros(back.shape, g.dtype)
    for tap in taps(kernel, size, stride, one):
        back[tap] += g
    return back if back.shape[len(lead) :] == tuple(shape) else np.ascontiguousarray(back[inner(padding, shape)])


kernel(rows.max_pool, max_pool)
kernel(rows.max_pool_back, max_pool_back)
kernel(rows.avg_pool, avg_pool)
kernel(rows.avg_pool_back, avg_pool_back)
