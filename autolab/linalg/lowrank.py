"""Factors of a matrix that is nearly of low rank, from random projections: Halko, Martinsson and Tropp (2009), algorithms 4.4 and 5.1."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.linalg.checks import matrix, run
from autolab.linalg.factors import qr
from autolab.rules import matrix as rows
from autolab.surface import random, reduce, shape
from autolab.surface.linalg import matmul


def basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns whose span nearly holds that of A's; each of `niter` rounds brings it nearer."""
    Q = qr(matmul(A, random.randn(A.shape[-1], q, dtype=A.dtype)))[0]
    back = shape.transpose(A, -2, -1)
    for _ in range(niter):
        Q = qr(matmul(A, qr(matmul(back, Q))[0]))[0]
    return Q  # type: ignore[no-any-return]


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M near U @ diag(S) @ V.mT, of rank q; the random numbers are those of `manual_seed`."""
    A = matrix(A, "svd_lowrank")
    q = 6 if q is None else q
    A = A if M is None else A - M  # type: ignore[operator]
    wide = A.shape[-2] < A.shape[-1]
    A = shape.transpose(A, -2, -1) if wide else A
    Q = basis(A, q, niter)
    U, S, Vh = run(rows.svd, matmul(shape.transpose(Q, -2, -1), A))
    U, V = matmul(Q, U), shape.transpose(Vh, -2, -1)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """(U, S, V) of the rows of A around their mean (if `center`): the columns of V are the q directions of largest variance.

    Raises ValueError for a q outside of [0, min(m, n)].
    """
    A = matrix(A, "pca_lowrank")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - reduce.mean(A, -2, True) if center else A, q, niter)  # type: ignore[operator]
