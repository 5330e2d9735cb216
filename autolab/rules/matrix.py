"""Rows for whole matrices: inverses, determinants, factorizations. The last two axes are a matrix, all others a stack of them.

Where a formula has a source it is Giles (2008), "Collected matrix derivative results for forward and reverse mode".
"""

import math

import numpy as np

from autolab.engine.node import sum_to
from autolab.engine.op import GENERAL, op
from autolab.rules import lapack
from autolab.rules.reduce import call_row


class LinAlgError(RuntimeError):
    """A matrix that cannot be inverted, factored or solved with; the message says which and why.

    >>> torch.linalg.inv(torch.zeros(2, 2))
    Traceback (most recent call last):
        ...
    autolab.rules.matrix.LinAlgError: linalg.inv: The diagonal element 1 is zero, the inversion could ...
    """


def of_two_stacks(a, b, row, settings):
    most = max(a.ndim, b.ndim)
    a, b = (np.reshape(z, (z.shape[0], *(1,) * (most - z.ndim), *z.shape[1:])) for z in (a, b))
    return row(a, b, **settings)


def first_singular(x):
    """Where in a stack the first singular matrix stands, in words (none for a single matrix), and which pivot of it is zero."""
    for i, one in enumerate(x.reshape(-1, *x.shape[-2:])):
        pivots = np.diagonal(lu_values(one[order_of(pivots_of(one), rows=len(one))]))
        if not pivots.all():
            return "" if x.ndim == 2 else f"(Batch element {i}): ", int(np.argmin(pivots != 0)) + 1
    return "", x.shape[-1]


# -- inverses ------------------------------------------------------------------------------------


def inv_values(x, *, check=True):
    try:
        return lapack.inv(x)
    except np.linalg.LinAlgError:
        if check:
            where, k = first_singular(x)
            raise LinAlgError(
                f"linalg.inv: {where}The diagonal element {k} is zero, the inversion could not be completed because the input matrix "
                "is singular."
            ) from None
        return each(lambda one: inv_values(one) if np.linalg.det(one) else np.full_like(one, np.inf), x)


def each(function, x):
    """A function of one matrix, on a stack of them."""
    return np.stack([function(one) for one in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)


inv = op(
    "inv", inv_values, GENERAL, numpy=np.linalg.inv, node="LinalgInvExBackward0", batch=call_row, x=lambda g, out: -(out.mT @ g @ out.mT)
)


def solve_values(a, b):
    try:
        return lapack.solve(a, b)
    except np.linalg.LinAlgError:
        where, _ = first_singular(a)
        raise LinAlgError(f"torch.linalg.solve: {where}The solver failed because the input matrix is singular.") from None


solve = op(
    "solve", solve_values, GENERAL, node="LinalgSolveExBackward0", batch=of_two_stacks,
    a=lambda g, a, out, a_shape: sum_to(-(solve(a.mT, g) @ out.mT), a_shape),
    b=lambda g, a, b_shape: sum_to(solve(a.mT, g), b_shape),
)  # fmt: skip


def triangle_of(a, upper, unit):
    """The triangle that counts, with ones on the diagonal if `unit`."""
    k = 1 if unit else 0
    return np.triu(a, k) if upper else np.tril(a, -k)


def solve_triangular_values(a, b, *, upper, unit=False):
    t = triangle_of(a, upper, unit)
    if unit:
        t = t + np.eye(a.shape[-1], dtype=a.dtype)
    try:
        return lapack.solve(t, b)
    except np.linalg.LinAlgError:  # a zero on the diagonal: inf and nan, as in PyTorch
        shape = np.broadcast_shapes(t.shape[:-2], b.shape[:-2])
        out = np.array(np.broadcast_to(b, (*shape, *b.shape[-2:])))
        n = a.shape[-1]
        for i in range(n - 1, -1, -1) if upper else range(n):
            out[..., i, :] /= t[..., i, i, None]
            rest = slice(0, i) if upper else slice(i + 1, n)
            out[..., rest, :] -= t[..., rest, i, None] * out[..., None, i, :]
        return out


solve_triangular = op(
    "solve_triangular", solve_triangular_values, GENERAL, node="LinalgSolveTriangularBackward0", batch=of_two_stacks,
    a=lambda g, a, out, a_shape, upper, unit: sum_to(
        triangle_of(-(solve_triangular(a.mT, g, upper=not upper, unit=unit) @ out.mT), upper, unit), a_shape),
    b=lambda g, a, b_shape, upper, unit: sum_to(solve_triangular(a.mT, g, upper=not upper, unit=unit), b_shape),
)  # fmt: skip


def pinv_rule(g, x, out):
    """Golub and Pereyra (1973), in the order of factors that keeps the products small."""
    if x.shape[-2] <= x.shape[-1]:
        k = g.mT @ out
        kp = k @ out.mT
        return -(out @ k).mT + kp - (x @ out) @ kp + (out.mT @ out) @ (g.mT - k @ x)
    k = out @ g.mT
    pk = out.mT @ k
    return -(k @ out).mT + (g.mT - x @ k) @ out @ out.mT + pk - (pk @ out) @ x


def pinv_values(x, *, atol=0.0, rtol=None, hermitian=False):
    """atol, rtol: numbers, or arrays with one for each matrix of the stack."""
    if 0 in x.shape:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if rtol is None else rtol
    if hermitian:
        w, v = np.linalg.eigh(x)
        sizes, left, right = np.abs(w), v, v
    else:
        u, w, vh = np.linalg.svd(x, full_matrices=False)
        sizes, left, right = w, vh.mT.conj(), u
    least = np.maximum(np.asarray(atol), np.asarray(rtol) * sizes.max(-1))
    kept = sizes > least[..., None]
    turned = np.where(kept, 1 / np.where(kept, w, 1), 0).astype(w.dtype)
    return (left * turned[..., None, :]) @ right.mT.conj()


pinv = op("pinv", pinv_values, GENERAL, node="LinalgPinvBackward0", batch=call_row, x=pinv_rule)


# -- determinants --------------------------------------------------------------------------------


def cofactor_values(x):
    """The gradient of det: of each entry, the determinant of what is left without its row and column. Singular matrices have it, too."""
    if not x.shape[-1]:
        return np.zeros_like(x)
    d = np.linalg.det(x)
    if np.all(d != 0):
        return d[..., None, None] * np.linalg.inv(x).mT
    u, s, vh = np.linalg.svd(x)
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(s.shape[-1])], -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return sign[..., None, None] * (np.conj(u) * others[..., None, :]) @ np.conj(vh)


def cofactor_rule(g, x, out):
    turned = inv(x, check=False).mT
    return np.sum(g * out, axis=(-2, -1), keepdims=True) * turned - out @ g.mT @ turned


cofactor = op("cofactor", cofactor_values, GENERAL, batch=call_row, x=cofactor_rule)
det = op(
    "det", lambda x: lapack.det(x), GENERAL, numpy=np.linalg.det, node="LinalgDetBackward0", batch=call_row,
    x=lambda g, x: g[..., None, None] * cofactor(x),
)  # fmt: skip
slogdet = op(
    "slogdet", lambda x: lapack.slogdet(x), GENERAL, node="LinalgSlogdetBackward0", outputs=2,
    batch=call_row,
    x=lambda g, x: g[1][..., None, None] * inv(x, check=False).mT,
)  # fmt: skip


# -- factorizations ------------------------------------------------------------------------------


def cholesky_values(x):
    try:
        return lapack.cholesky(x)
    except np.linalg.LinAlgError:
        stack = x.reshape(-1, *x.shape[-2:])
        which, minor = next((i, k) for i, one in enumerate(stack) if (k := not_positive(one)))
        batch = "" if x.ndim == 2 else f"(Batch element {which}): "
        raise LinAlgError(
            f"linalg.cholesky: {batch}The factorization could not be completed because the input is not positive-definite (the "
            f"leading minor of order {minor} is not positive-definite)."
        ) from None


def not_positive(x):
    """The order of the first leading minor that is not positive-definite; 0 if there is none."""
    for k in range(1, x.shape[-1] + 1):
        try:
            lapack.cholesky(x[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return 0


def cholesky_rule(g, out):
    inner = np.tril(out.mT @ g)
    both = (inner + np.tril(inner, -1).mT) * 0.5
    return solve(out.mT, solve(out.mT, both).mT).mT


cholesky = op("cholesky", cholesky_values, GENERAL, node="LinalgCholeskyExBackward0", batch=call_row, x=cholesky_rule)


def gaps(values, inner):
    """values[j] - values[i], as a divisor of `inner`: equal values give inf, but nothing where there is nothing to divide."""
    gap = values[..., None, :] - values[..., :, None]
    return np.where(np.logical_and(gap == 0, inner == 0), 1, gap)


def eigh_rule(g, out_0, out_1):
    """Symmetric, as x is: eigenvectors can only rotate, and a symmetric part of `inner` would have nothing to act on."""
    inner = out_1.mT @ g[1]
    off = (inner - inner.mT) * 0.5
    return out_1 @ (off / gaps(out_0, off) + g[0][..., None] * np.eye(off.shape[-1], dtype=off.dtype)) @ out_1.mT


eigh = op(
    "eigh", lambda x, *, lower=True: tuple(np.linalg.eigh(x if lower else x.mT)), GENERAL, node="LinalgEighBackward0",
    outputs=2, batch=call_row,
    x=eigh_rule,
)  # fmt: skip


def svd_rule(g, out_0, out_1, out_2):
    s, n = out_1, out_1.shape[-1]
    u, v = out_0[..., :n], out_2[..., :n, :].mT
    gu, gv = g[0][..., :n], g[2][..., :n, :].mT
    eye = np.eye(n, dtype=s.dtype)
    left, right = u.mT @ gu, v.mT @ gv
    left, right = left - left.mT, right - right.mT
    squares = s * s
    inner = (left / gaps(squares, left)) * s[..., None, :] + s[..., :, None] * (right / gaps(squares, right)) + g[1][..., None] * eye
    out = u @ inner @ v.mT
    if u.shape[-2] > n:  # what gu has outside of the space of u
        out = out + ((gu - u @ (u.mT @ gu)) / s[..., None, :]) @ v.mT
    if v.shape[-2] > n:
        out = out + u @ ((gv - v @ (v.mT @ gv)) / s[..., None, :]).mT
    return out


svd = op(
    "svd", lambda x, *, full_matrices=False: tuple(np.linalg.svd(x, full_matrices)), GENERAL, node="LinalgSvdBackward0",
    outputs=3, batch=call_row,
    x=svd_rule,
)  # fmt: skip


def check_qr(out_0, out_1, mode):
    """Raise for factors that cannot be differentiated."""
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced')."
        )
    if out_0.shape[-1] != out_1.shape[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")


def qr_rule(g, out_0, out_1, mode):
    check_qr(out_0, out_1, mode)
    inner = np.tril(out_1 @ g[1].mT - g[0].mT @ out_0)
    both = inner + np.tril(inner, -1).mT
    return solve(out_1, (g[0] + out_0 @ both).mT).mT


def qr_values(x, *, mode="reduced"):
    if mode == "r":
        return np.zeros(0, x.dtype), np.linalg.qr(x, "r")
    return tuple(np.linalg.qr(x, mode))


def qr_of_samples(x, mode, size):
    q, r = qr(x, mode=mode)
    return (np.zeros((size, 0), x.dtype) if mode == "r" else q), r


qr = op("qr", qr_values, GENERAL, node="LinalgQrBackward0", outputs=2, batch=qr_of_samples, x=qr_rule)


def lu_values(x):
    """Both triangles in one matrix, without exchanging rows: (Golub and Van Loan, algorithm 3.2.1)."""
    out = np.array(x)
    for k in range(min(out.shape[-2:])):
        pivot = out[..., k, k, None]
        out[..., k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        out[..., k + 1 :, k + 1 :] -= out[..., k + 1 :, k, None] * out[..., None, k, k + 1 :]
    return out


def pivots_of(x):
    """Which row goes to place k in step k, the one with the largest entry in column k; counted from 1 (as LAPACK does)."""
    out = np.array(x)
    lead = tuple(np.indices(out.shape[:-2]))
    pivots = np.empty((*out.shape[:-2], min(out.shape[-2:])), np.int32)
    for k in range(pivots.shape[-1]):
        column = out[..., k:, k]
        best = (np.abs(column.real) + np.abs(column.imag)).argmax(-1) + k  # LAPACK's measure of complex numbers
        pivots[..., k] = best + 1
        out[(*lead, k)], out[(*lead, best)] = out[(*lead, best)].copy(), out[(*lead, k)].copy()
        pivot = out[..., k, k, None]
        factor = out[..., k + 1 :, k] / np.where(pivot == 0, 1, pivot)
        out[..., k + 1 :, k + 1 :] -= factor[..., None] * out[..., None, k, k + 1 :]
    return pivots


def order_of(pivots, *, rows):
    """The order of rows that the exchanges make, one after the other."""
    swaps = pivots.astype(np.int64) - 1
    order = np.broadcast_to(np.arange(rows), (*swaps.shape[:-1], rows)).copy()
    lead = tuple(np.indices(swaps.shape[:-1]))
    for k in range(swaps.shape[-1]):
        other = swaps[..., k]
        order[(*lead, k)], order[(*lead, other)] = order[(*lead, other)].copy(), order[(*lead, k)].copy()
    return order


lu_pivots = op("lu_pivots", pivots_of, GENERAL, batch=call_row)
lu_order = op("lu_order", order_of, GENERAL, batch=lambda pivots, rows: lu_order(pivots, rows=rows))


def lu_rule(g, out):
    """For square matrices: inner = tril(L' gL, -1) + triu(gU U'), between the inverses of L' and U'."""
    low, up = np.tril(g, -1), np.triu(g)
    eye = np.eye(out.shape[-1], dtype=out.dtype)
    inner = np.tril((np.tril(out, -1) + eye).mT @ low, -1) + np.triu(up @ np.triu(out).mT)
    right = solve_triangular(out, inner.mT, upper=True).mT
    return solve_triangular(out.mT, right, upper=True, unit=True)


lu = op("lu", lu_values, GENERAL, node="LinalgLuFactorExBackward0", batch=call_row, x=lu_rule)


# -- functions of matrices -----------------------------------------------------------------------

PADE = [math.comb(13, k) * math.factorial(26 - k) for k in range(14)]  # of the quotient of polynomials for exp, times 26!/13!


def matrix_exp_values(x):
    """Scaled until it is small, by a quotient of polynomials, then squared as often: Higham (2005), "The scaling and squaring method"."""
    if 0 in x.shape:
        return np.array(x)
    size = np.abs(x).sum(-2).max() if x.size else 0.0
    squarings = max(0, math.ceil(math.log2(size / 5.37))) if np.isfinite(size) and size > 0 else 0
    a = x.astype(np.result_type(x, np.float64)) / 2.0**squarings
    a2 = a @ a
    eye = np.eye(a.shape[-1])
    even, odd, power = 0, 0, eye
    for k in range(7):
        even = even + PADE[2 * k] / PADE[0] * power
        odd = odd + PADE[2 * k + 1] / PADE[0] * power
        power = power @ a2
    odd = a @ odd
    out = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        out = out @ out
    return out.astype(x.dtype)


def matrix_exp_rule(g, x):
    """The upper right block of exp([[x', g], [0, x']]): Al-Mohy and Higham (2009)."""
    n = x.shape[-1]
    upper = np.concatenate([x.mT, g], axis=-1)
    lower = np.concatenate([np.zeros(x.shape, x.dtype), x.mT], axis=-1)
    return matrix_exp(np.concatenate([upper, lower], axis=-2))[..., :n, n:]


matrix_exp = op("matrix_exp", matrix_exp_values, GENERAL, node="LinalgMatrixExpBackward0", batch=call_row, x=matrix_exp_rule)


# -- distances -----------------------------------------------------------------------------------


def distances_values(a, b, *, by_products):
    """Between each row of a and each of b; by_products from |x|^2 + |y|^2 - 2 xy, which needs no array of all differences."""
    if not by_products:
        return np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], axis=-1)
    squares = np.sum(a * a, -1)[..., None] + np.sum(b * b, -1)[..., None, :] - 2 * (a @ b.mT)
    return np.sqrt(np.maximum(squares, 0))


def away(weights, x, y):
    """The sum over rows of y of weight * (x - y)."""
    return np.sum(weights, axis=-1, keepdims=True) * x - weights @ y


def per_length(g, out):
    """g / out, and 0 where two rows are the same."""
    return np.where(out == 0, 0, g / np.where(out == 0, 1, out))


distances = op(
    "distances", distances_values, GENERAL, node="CdistBackward0", batch=of_two_stacks,
    a=lambda g, a, b, out, a_shape: sum_to(away(per_length(g, out), a, b), a_shape),
    b=lambda g, a, b, out, b_shape: sum_to(away(per_length(g, out).mT, b, a), b_shape),
)  # fmt: skip
