"""The few largest parts of a matrix. The projections are those of Halko, Martinsson and Tropp (2009), algorithms 4.4 and 5.1."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.linalg.checks import matrix, run, square
from autolab.linalg.factors import cholesky, eigh, qr
from autolab.linalg.solving import solve_triangular
from autolab.rules import matrix as rows
from autolab.torch_api import random, reduce, shape
from autolab.torch_api.linalg import matmul


def basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns whose span nearly holds that of A's; each of `niter` rounds brings it nearer."""
    Q = qr(matmul(A, random.randn(A.shape[-1], q, dtype=A.dtype)))[0]
    back = shape.transpose(A, -2, -1)
    for _ in range(niter):
        Q = qr(matmul(A, qr(matmul(back, Q))[0]))[0]
    return Q


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M near U @ diag(S) @ V.mT, of rank q; the random numbers are those of `manual_seed`.

    Shapes: A and M (..., m, n); U (..., m, q); S (..., q); V (..., n, q).
    The projection is that of Halko, Martinsson and Tropp (2009), algorithms 4.4 and 5.1.

    >>> torch.svd_lowrank(tensor([[1.], [2.]]) @ tensor([[2., 1.]]), q=1)[1].round(decimals=4)
    tensor([5.])
    """
    A = matrix(A, "svd_lowrank")
    q = 6 if q is None else q
    A = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    A = shape.transpose(A, -2, -1) if wide else A
    Q = basis(A, q, niter)
    U, S, Vh = run(rows.svd, matmul(shape.transpose(Q, -2, -1), A))
    U, V = matmul(Q, U), shape.transpose(Vh, -2, -1)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """(U, S, V) of the rows of A around their mean (if `center`): the columns of V are the q directions of largest variance.

    Shapes: A (..., m, n); U (..., m, q); S (..., q); V (..., n, q). Raises ValueError for a q outside of [0, min(m, n)].

    >>> torch.pca_lowrank(tensor([[1., 1.], [2., 2.], [3., 3.]]), q=1)[2].abs()
    tensor([[0.7071],
            [0.7071]])
    """
    A = matrix(A, "pca_lowrank")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - reduce.mean(A, -2, True) if center else A, q, niter)


def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None, iK: Tensor | None = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    **ortho: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues E of symmetric matrices, largest (smallest) first, and their eigenvectors U.

    With a positive definite B they solve A @ U = B @ U @ diag(E). k: 1, or as many as X has columns. PyTorch approaches them from the
    start X in `niter` rounds; here all eigenvalues are computed and k are kept, so that X and the settings of the rounds change nothing.
    Raises ValueError for matrices of fewer than 3k rows.

    >>> E, U = torch.lobpcg(torch.diag(torch.tensor([1., 2., 3.])), largest=False)
    >>> E
    tensor([1.])
    """
    A = square(A, "lobpcg")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if A.shape[-1] < 3 * k:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={A.shape[-1]}) is smaller than 3 x the number of requested "
            f"eigenpairs (={k})"
        )
    symmetric = (A + shape.transpose(A, -2, -1)) / 2
    if B is None:
        E, U = eigh(symmetric)
    else:  # with B = L @ L.mT these are the eigenvalues of inv(L) @ A @ inv(L).mT
        L = cholesky(B)
        half = solve_triangular(L, symmetric, upper=False)
        E, U = eigh(solve_triangular(L, shape.transpose(half, -2, -1), upper=False))
        U = solve_triangular(shape.transpose(L, -2, -1), U, upper=True)
    if largest or largest is None:
        E, U = shape.flip(E, -1), shape.flip(U, -1)
    return E[..., :k], U[..., :k]
