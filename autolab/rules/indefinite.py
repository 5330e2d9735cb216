"""Symmetric matrices that are not positive-definite: A = P L D L' P', D with blocks of one or two. Loaded when first used.

Bunch and Kaufman (1977), as LAPACK keeps it (sytf2, hetf2, lower): D and the rows below it in one triangle. A pivot counts from 1 the row
that a row was exchanged with; for a block of two both are negative. Nobody has written down a derivative.
"""

import math

import numpy as np

from autolab.engine.op import GENERAL, HOLOMORPHIC, op
from autolab.rules.conv import all_leading
from autolab.rules.input_checks import derivative
from autolab.rules.reduce import call_row

ALPHA = (1 + math.sqrt(17)) / 8  # which makes the growth of two steps with one equal to that of one step with two


def size_of(x):
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def adjoint(x, hermitian):
    return x.conj() if hermitian else x


def choose(a, k, hermitian):
    """Which row comes in the place of row k or k + 1, and how large the block is; None if the column is zero."""
    n, own = len(a), size_of(a[k, k].real if hermitian else a[k, k])
    below = size_of(a[k + 1 :, k])
    largest = below.max(initial=0)
    if max(own, largest) == 0 or np.isnan(own):
        return None
    if own >= ALPHA * largest:
        return k, 1
    far = k + 1 + int(below.argmax())
    row = max(size_of(a[far, k:far]).max(), size_of(a[far + 1 : n, far]).max(initial=0))
    if own >= ALPHA * largest * (largest / row):
        return k, 1
    return (far, 1) if size_of(a[far, far].real if hermitian else a[far, far]) >= ALPHA * row else (far, 2)


def exchange(a, k, one, other, hermitian):
    """Rows and columns `one` and `other` of what is left, in the lower triangle; `one` is k, or k + 1 in a block of two."""
    a[other + 1 :, [one, other]] = a[other + 1 :, [other, one]]
    between = a[one + 1 : other, one].copy()
    a[one + 1 : other, one], a[other, one + 1 : other] = adjoint(a[other, one + 1 : other], hermitian), adjoint(between, hermitian)
    a[one, one], a[other, other] = a[other, other], a[one, one]
    a[other, one] = adjoint(a[other, one], hermitian)
    if one > k:
        a[one, k], a[other, k] = a[other, k], a[one, k]


def block(a, k, hermitian):
    return np.array([[a[k, k], adjoint(a[k + 1, k], hermitian)], [a[k + 1, k], a[k + 1, k + 1]]])


def factor(a, hermitian):
    """The triangle of one matrix in its place, the pivots, and the place of the first block that is zero (0: none)."""
    n, info, k = len(a), 0, 0
    pivots = np.zeros(n, np.int32)
    if hermitian and np.iscomplexobj(a):
        np.fill_diagonal(a, np.diagonal(a).real)
    while k < n:
        chosen = choose(a, k, hermitian)
        info = k + 1 if chosen is None and not info else info
        other, step = chosen or (k, 1)
        last = k + step - 1
        if other != last:
            exchange(a, k, last, other, hermitian)
        left, rest = a[last + 1 :, k : last + 1], slice(last + 1, n)
        if chosen is not None:
            scaled = left / a[k, k] if step == 1 else left @ np.linalg.inv(block(a, k, hermitian))
            a[rest, rest] -= scaled @ adjoint(left, hermitian).T
            a[rest, k : last + 1] = scaled
        pivots[k : last + 1] = other + 1 if step == 1 else -other - 1
        k = k + step
    return np.tril(a), pivots, info


def ldl_values(x, *, hermitian):
    lead, n = x.shape[:-2], x.shape[-1]
    out = [factor(one.copy(), hermitian) for one in x.reshape(-1, n, n)] if x.size else []
    LD, pivots, info = zip(*out) if out else ((), (), ())
    whole = lambda parts, *shape: np.array(parts, np.int32).reshape((*lead, *shape))
    return np.array(LD, x.dtype).reshape(x.shape), whole(pivots, n), whole(info if out else np.zeros(lead))[()]


def solve_one(a, pivots, x, hermitian):
    """b in x becomes the solution: down the triangle, through the blocks, and up again."""
    n, blocks, k = len(a), [], 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        last, other = k + step - 1, abs(int(pivots[k])) - 1
        x[[last, other]] = x[[other, last]]
        x[last + 1 :] -= a[last + 1 :, k : last + 1] @ x[k : last + 1]
        x[k : last + 1] = x[k] / a[k, k] if step == 1 else np.linalg.solve(block(a, k, hermitian), x[k : last + 1])
        blocks.append((k, last, other))
        k = k + step
    for k, last, other in reversed(blocks):
        x[k : last + 1] -= adjoint(a[last + 1 :, k : last + 1], hermitian).T @ x[last + 1 :]
        x[[last, other]] = x[[other, last]]
    return x


def ldl_solve_values(LD, pivots, b, *, hermitian):
    lead, n = np.broadcast_shapes(LD.shape[:-2], b.shape[:-2]), LD.shape[-1]
    if not (n and b.size):
        return np.zeros((*lead, *b.shape[-2:]), b.dtype)
    stacks = [np.broadcast_to(t, (*lead, *t.shape[-d:])).reshape(-1, *t.shape[-d:]) for t, d in ((LD, 2), (pivots, 1), (b, 2))]
    out = [solve_one(a, p, x.copy(), hermitian) for a, p, x in zip(*stacks)]
    return np.array(out, b.dtype).reshape((*lead, *b.shape[-2:]))


def solve_batch(LD, pivots, b, batched, size, row, settings):
    """The samples first, then as many other axes as the one with most of them has."""
    LD, pivots, b = all_leading((LD, pivots, b), batched, size)
    most = max(LD.ndim, b.ndim)
    padded = lambda t, own: np.reshape(t, (t.shape[0], *(1,) * (most - own), *t.shape[1:]))
    return row(padded(LD, LD.ndim), padded(pivots, LD.ndim), padded(b, b.ndim), **settings)


ldl = op(
    "ldl_factor", ldl_values, GENERAL, complex=HOLOMORPHIC, outputs=3, node="NotImplemented", batch=call_row,
    x=lambda g: derivative("linalg_ldl_factor_ex"),
)  # fmt: skip
ldl_solve = op(
    "ldl_solve", ldl_solve_values, GENERAL, complex=HOLOMORPHIC, node="NotImplemented", batch=solve_batch,
    LD=lambda g: derivative("linalg_ldl_solve"), b=lambda g: derivative("linalg_ldl_solve"),
)  # fmt: skip
