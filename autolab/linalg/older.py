"""The older names and forms of the same functions, as they are at the top of the package."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab.engine.tensor import Tensor, new_tensor
from autolab.linalg import factors, norms, solving
from autolab.linalg.checks import matrix, run, square
from autolab.rules import matrix as rows
from autolab.torch_api import shape
from autolab.torch_api.linalg import matmul
from autolab.torch_api.named_results import named
from autolab.torch_api.out import with_out
from autolab.torch_api.sampling import one_by_one

qr_result = named("qr", "Q R", __name__)
svd_result = named("svd", "U S V", __name__)
slogdet_result = named("slogdet", "sign logabsdet", __name__)
geqrf_result = named("geqrf", "a tau", __name__)
triangular_solve_result = named("triangular_solve", "solution cloned_coefficient", __name__)


@with_out
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """`linalg.cholesky` under its older name: L with input = L @ L.mT, or U with input = U.mT @ U if upper."""
    return factors.cholesky(square(input, "cholesky"), upper=upper)


def slogdet(input: Tensor) -> Any:
    """`linalg.slogdet` under its older name: (sign, logabsdet) of square matrices."""
    return slogdet_result(*factors.slogdet(input))


@with_out
def qr(input: Tensor, some: bool = True) -> Any:
    """`linalg.qr` under its older name: mode "reduced" if some, else "complete"."""
    return qr_result(*factors.qr(input, "reduced" if some else "complete"))


@with_out
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V) with input = U @ diag(S) @ V.mT: V, where `linalg.svd` gives its transpose.

    Shapes, with k = min(m, n): input (..., m, n); U (..., m, k); S (..., k); V (..., n, k); square U and V if not some.

    >>> U, S, V = torch.svd(torch.tensor([[0., 2.], [3., 0.]]))
    >>> S
    tensor([3., 2.])
    >>> torch.allclose(U @ torch.diag(S) @ V.mT, torch.tensor([[0., 2.], [3., 0.]]))
    True
    """
    U, S, Vh = run(rows.svd, matrix(input, "linalg.svd"), full_matrices=not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        zeros = [new_tensor(np.zeros((*input.shape[:-2], k, k), input.payload.dtype)) for k in (m, n)]
        return svd_result(zeros[0], S, zeros[1])
    return svd_result(U, S, shape.transpose(Vh, -2, -1))


@with_out
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """`linalg.lu_factor`, without an error for singular matrices: (LU, pivots), and info if get_infos."""
    LU, pivots, info = factors.lu_factor_ex(A, pivot=pivot)
    return (LU, pivots, info) if get_infos else (LU, pivots)


@with_out
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """`linalg.lu_solve` with the arguments in their older order: X with A @ X = b."""
    return solving.lu_solve(LU_data, LU_pivots, b)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` under its older name: singular values below rcond times the largest count as zero."""
    return solving.pinv(input, rcond)


@with_out
def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """(X, A) with A @ X = b for a triangle A, or its transpose; `linalg.solve_triangular` is the newer way.

    Shapes: A (..., n, n); b and X (..., n, k). Raises RuntimeError for a b of fewer than two dims.

    >>> torch.triangular_solve(torch.tensor([[2.], [3.]]), torch.tensor([[2., 0.], [1., 1.]]), upper=False).solution
    tensor([[1.],
            [2.]])
    """
    used = shape.transpose(square(A, "triangular_solve"), -2, -1) if transpose else square(A, "triangular_solve")
    if b.ndim < 2:
        raise RuntimeError(f"torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {b.ndim} dimensions instead")
    X = solving.solve_triangular(used, b, upper=upper != transpose, unitriangular=unitriangular)
    return triangular_solve_result(X, A.clone())


@with_out
@one_by_one
def geqrf(input: Tensor) -> Any:
    """(a, tau): R above the diagonal, and below it the reflections whose product is Q. It has no gradient.

    Shapes: input and a (..., m, n); tau (..., min(m, n)).

    >>> A = torch.tensor([[3., 1.], [4., 2.]])
    >>> a, tau = torch.geqrf(A)
    >>> torch.allclose(torch.linalg.householder_product(a, tau) @ a.triu(), A, atol=1e-5)
    True
    """
    h, tau = np.linalg.qr(np.asarray(matrix(input, "geqrf").numbers()), "raw")
    return geqrf_result(new_tensor(np.ascontiguousarray(h.mT)), new_tensor(tau))


@with_out
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of `other` with the whole Q of the reflections that `geqrf` gives, from the left or the right.

    transpose: with the transpose of Q, conjugated if it is complex.

    Shapes: input (..., m, k); tau (..., k); other and the result (..., m, n), or (..., n, m) if not left.
    Raises RuntimeError for shapes that do not fit.

    >>> A = torch.tensor([[3., 1.], [4., 2.]])
    >>> a, tau = torch.geqrf(A)
    >>> torch.allclose(torch.ormqr(a, tau, a.triu()), A, atol=1e-5)
    True
    """
    for name, t in (("input", input), ("other", other)):
        if t.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    m = other.shape[-2 if left else -1]
    if tau.shape[-1] != min(m, input.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{-2 if left else -1}], input.shape[-1])")
    input = input[..., : tau.shape[-1]]
    missing = m - input.shape[-1]
    zeros = new_tensor(np.zeros((*input.shape[:-1], missing), input.payload.dtype))
    Q = factors.householder_product(shape.cat([input, zeros], -1) if missing else input, tau)
    Q = shape.transpose(Q.conj(), -2, -1) if transpose else Q
    return matmul(Q, other) if left else matmul(other, Q)


det, logdet, lu_unpack, orgqr = factors.det, factors.logdet, with_out(factors.lu_unpack), with_out(factors.householder_product)
inverse, matrix_exp, matrix_power = with_out(solving.inv), norms.matrix_exp, with_out(norms.matrix_power)
cholesky_solve, cholesky_inverse = with_out(solving.cholesky_solve), with_out(solving.cholesky_inverse)
