"""Whole matrices of complex numbers: which rows take them, and the rows whose factors are made of conjugates.

The rules are those of rules/matrix.py with the conjugate transpose for the transpose, as PyTorch has them. Vectors of a factor may be
turned by a phase, which says nothing; a function that depends on it has no derivative, and the rule says so.
"""

import numpy as np

from autolab.engine.op import ADJOINT, GENERAL, op
from autolab.rules import input_checks, lapack, matrix
from autolab.rules.complex_numbers import instead_of, takes_complex
from autolab.rules.matrix import gaps, inv, solve
from autolab.rules.reduce import call_row

takes_complex("inv", "solve", "solve_triangular", "cofactor", "det", "lu_pivots", "lu", "matrix_exp")


def mH(x):
    """The conjugate transpose."""
    return np.conj(x.mT)


def diagonal(x):
    return np.sum(x * np.eye(x.shape[-1]).astype(np.real(x).dtype), axis=-1)


def on_diagonal(x, like):
    """Matrices with these diagonals."""
    return x[..., None] * np.eye(x.shape[-1], dtype=like.dtype)


# The sign is det / |det|, and moves with the imaginary part of the trace of inv(x) @ dx.
slogdet = instead_of(matrix.slogdet, op(
    "slogdet_complex", lambda x: lapack.slogdet(x), GENERAL, node="LinalgSlogdetBackward0", outputs=2, batch=call_row,
    complex=ADJOINT,
    x=lambda g, x, out_0: (g[1] + 1j * np.imag(np.conj(out_0) * g[0]))[..., None, None] * mH(inv(x, check=False)),
))  # fmt: skip


def cholesky_rule(g, out):
    n = out.shape[-1]
    inner = (mH(out) @ g) * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n)).astype(np.real(out).dtype)
    return mH(solve(mH(out), mH(solve(mH(out), (inner + mH(inner)) * 0.5))))


cholesky = instead_of(matrix.cholesky, op(
    "cholesky_complex", lambda x: matrix.cholesky_values(x), GENERAL, node="LinalgCholeskyExBackward0", batch=call_row, complex=ADJOINT,
    x=cholesky_rule,
))  # fmt: skip


def eigh_rule(g, out_0, out_1):
    inner = mH(out_1) @ g[1]
    input_checks.phases("linalg_eigh_backward", "eigenvectors", np.imag(diagonal(inner)))
    off = inner * (1 - np.eye(inner.shape[-1])).astype(out_0.dtype)
    return out_1 @ (off / gaps(out_0, off) + on_diagonal(g[0], g[0])) @ mH(out_1)


eigh = instead_of(matrix.eigh, op(
    "eigh_complex", lambda x, *, lower=True: tuple(np.linalg.eigh(x if lower else mH(x))), GENERAL, node="LinalgEighBackward0",
    outputs=2, batch=call_row, complex=ADJOINT, x=eigh_rule,
))  # fmt: skip


def svd_rule(g, out_0, out_1, out_2):
    s, n = out_1, out_1.shape[-1]
    u, vh = out_0[..., :n], out_2[..., :n, :]
    gu, gvh = g[0][..., :n], g[2][..., :n, :]
    left, right = mH(u) @ gu, vh @ mH(gvh)
    left, right = left - mH(left), right - mH(right)
    input_checks.phases("svd_backward", "singular vectors", np.imag(diagonal(left) + diagonal(right)))
    squares, off = s * s, (1 - np.eye(n)).astype(s.dtype)
    between = (off * left / gaps(squares, off * left)) * s[..., None, :] + s[..., :, None] * (off * right / gaps(squares, off * right))
    out = u @ (between + on_diagonal(g[1] + diagonal(left) / (2 * s), left)) @ vh
    if u.shape[-2] > n:  # what gu has outside of the space of u
        out = out + ((gu - u @ (mH(u) @ gu)) / s[..., None, :]) @ vh
    if vh.shape[-1] > n:
        out = out + u @ ((gvh - (gvh @ mH(vh)) @ vh) / s[..., :, None])
    return out


svd = instead_of(matrix.svd, op(
    "svd_complex", lambda x, *, full_matrices=False: tuple(np.linalg.svd(x, full_matrices)), GENERAL, node="LinalgSvdBackward0",
    outputs=3, batch=call_row, complex=ADJOINT, x=svd_rule,
))  # fmt: skip


def qr_rule(g, out_0, out_1, mode):
    matrix.check_qr(out_0, out_1, mode)
    inner = np.triu(g[1] @ mH(out_1) - mH(out_0) @ g[0])
    both = inner + mH(np.triu(inner, 1)) - 1j * on_diagonal(np.imag(diagonal(inner)), inner)
    return solve(np.conj(out_1), (g[0] + out_0 @ both).mT).mT


qr = instead_of(matrix.qr, op(
    "qr_complex", lambda x, *, mode="reduced": matrix.qr_values(x, mode=mode), GENERAL,
    node="LinalgQrBackward0", outputs=2, batch=matrix.qr_of_samples, complex=ADJOINT, x=qr_rule,
))  # fmt: skip


def pinv_rule(g, x, out):
    """Golub and Pereyra (1973), in the order of factors that keeps the products small."""
    if x.shape[-2] <= x.shape[-1]:
        k = mH(g) @ out
        kp = k @ mH(out)
        return -mH(out @ k) + kp - (x @ out) @ kp + (mH(out) @ out) @ (mH(g) - k @ x)
    k = out @ mH(g)
    pk = mH(out) @ k
    return -mH(k @ out) + (mH(g) - x @ k) @ out @ mH(out) + pk - (pk @ out) @ x


pinv = instead_of(matrix.pinv, op(
    "pinv_complex", lambda x, *, atol=0.0, rtol=None, hermitian=False: matrix.pinv_values(x, atol=atol, rtol=rtol, hermitian=hermitian),
    GENERAL, node="LinalgPinvBackward0", batch=call_row, complex=ADJOINT, x=pinv_rule,
))  # fmt: skip


# -- eigenvalues of any matrix: complex, even of a real one -----------------------------------------------


def eig_rule(g, out_0, out_1):
    """Boeddeker et al. (2017), "On the computation of complex-valued gradients", for eigenvectors of length 1."""
    inner = mH(out_1) @ g[1]
    input_checks.phases("linalg_eig_backward", "eigenvectors", np.imag(diagonal(inner)))
    inner = inner - mH(out_1) @ (out_1 * np.real(diagonal(inner))[..., None, :])
    off = inner * (1 - np.eye(inner.shape[-1])).astype(np.real(inner).dtype)
    return solve(mH(out_1), (off / gaps(np.conj(out_0), off) + on_diagonal(g[0], g[0])) @ mH(out_1))


eig = op(
    "eig", lambda x: tuple(np.linalg.eig(x)), GENERAL, node="LinalgEigBackward0", outputs=2, batch=call_row, complex=ADJOINT, x=eig_rule
)
