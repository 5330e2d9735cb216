"""Determinants and factorizations of matrices, on rows of autolab.rules.matrix: LU, QR, Cholesky, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.linalg.checks import eye, floats, matrix, run, square, under_autocast, zeros_info
from autolab.linalg.solving import permutation, solve_triangular, unpack
from autolab.rules import complex_matrix as complex_rows
from autolab.rules import matrix as rows
from autolab.torch_api import diagonals, index, pointwise, reduce, shape
from autolab.torch_api.dims import HALVES, refuse, require_tensor
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.linalg import matmul
from autolab.torch_api.named_results import named

slogdet_result = named("linalg_slogdet", "sign logabsdet", __name__)
cholesky_ex_result = named("linalg_cholesky_ex", "L info", __name__)
eig_result = named("linalg_eig", "eigenvalues eigenvectors", __name__)
eigh_result = named("linalg_eigh", "eigenvalues eigenvectors", __name__)
qr_result = named("linalg_qr", "Q R", __name__)
svd_result = named("linalg_svd", "U S Vh", __name__)
lu_result = named("linalg_lu", "P L U", __name__)
lu_factor_result = named("linalg_lu_factor", "LU pivots", __name__)
lu_factor_ex_result = named("linalg_lu_factor_ex", "LU pivots info", __name__)


def det(A: Tensor) -> Tensor:
    """The determinant of square matrices. Its gradient is right for singular ones, too.

    Shapes: A (..., n, n); result (...).

    >>> torch.linalg.det(tensor([[1., 2.], [3., 4.]])).round(decimals=4)
    tensor(-2.)
    """
    return run(rows.det, square(A, "linalg.det"))


def slogdet(A: Tensor) -> Any:
    """(sign, logabsdet) of square matrices: the determinant is sign * exp(logabsdet), without overflow.

    Shapes: A (..., n, n); both results (...).

    >>> sign, logabsdet = torch.linalg.slogdet(-torch.eye(3) * 1e30)
    >>> sign, logabsdet
    (tensor(-1.), tensor(207.2327))
    """
    return slogdet_result(*run(rows.slogdet, square(A, "linalg.slogdet")))


def logdet(A: Tensor) -> Tensor:
    """The logarithm of the determinant: -inf where it is 0, nan where it is negative.

    Shapes: A (..., n, n); result (...).

    >>> torch.logdet(2 * torch.eye(2))
    tensor(1.3863)
    """
    sign, logabsdet = run(rows.slogdet, square(A, "logdet"))
    return logabsdet + (sign if sign.is_complex() else sign.detach()).log()  # that of real numbers does not move


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L with A = L @ L.mH for symmetric (complex: Hermitian) positive-definite matrices; U with A = U.mH @ U if upper.

    Shapes: A and the result (..., n, n). Raises LinAlgError for matrices that are not positive-definite.

    >>> torch.linalg.cholesky(tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    A = square(A, "linalg.cholesky")
    if upper:
        return run(rows.cholesky, A.mH).mH
    return run(rows.cholesky, A)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(L, info) as from `cholesky`, but nothing is raised unless check_errors.

    Shapes: A and L (..., n, n); info (...) int32: 0 if all went well, else the order of the first minor that is not positive-definite.

    >>> torch.linalg.cholesky_ex(tensor([[1., 2.], [2., 1.]])).info
    tensor(2, dtype=torch.int32)
    """
    A = square(A, "linalg.cholesky")
    if check_errors:
        return cholesky_ex_result(cholesky(A, upper=upper), zeros_info(A))
    raw = np.asarray(A.all_numbers())
    lower = raw.mT.conj() if upper else raw
    stack = lower.reshape(-1, *raw.shape[-2:]) if raw.size else ()
    info = np.array([rows.not_positive(one) for one in stack], np.int32)
    if not info.any():
        return cholesky_ex_result(cholesky(A, upper=upper), zeros_info(A))
    info = info.reshape(np.asarray(A.numbers()).shape[:-2])
    bad = new_tensor(np.broadcast_to((info > 0)[..., None, None], raw.shape))
    usable = pointwise.where(bad, eye(raw.shape[-1], A), A)
    return cholesky_ex_result(cholesky(usable, upper=upper), new_tensor(info[()]))


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of symmetric matrices, of which only the lower triangle is read ("U": the upper one).

    Shapes: A (..., n, n); eigenvalues (..., n), ascending; eigenvectors (..., n, n), in columns.
    An eigenvector is known up to its sign; its gradient is infinite where two eigenvalues are equal.
    Raises RuntimeError for another UPLO.

    >>> torch.linalg.eigh(tensor([[2., 1.], [1., 2.]])).eigenvalues.round(decimals=4)
    tensor([1., 3.])
    """
    A = square(A, "linalg.eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return eigh_result(*run(rows.eigh, A, lower=UPLO.upper() == "L"))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, ascending.

    Shapes: A (..., n, n); result (..., n).

    >>> torch.linalg.eigvalsh(tensor([[2., 1.], [1., 2.]])).round(decimals=4)
    tensor([1., 3.])
    """
    return eigh(square(A, "linalg.eigvalsh"), UPLO)[0]


def eig(A: Tensor) -> Any:
    """(eigenvalues, eigenvectors) of any square matrix, as complex numbers: A @ V = V * L, the columns of V of length 1.

    Shapes: A (..., n, n); L (..., n), in no order; V (..., n, n). A gradient through V needs a function that does not depend on its
    phases, or RuntimeError is raised.

    >>> torch.linalg.eig(tensor([[0., 1.], [-1., 0.]])).eigenvalues.imag.abs()
    tensor([1., 1.])
    """
    refuse(under_autocast("linalg.eig", require_tensor(A, "linalg.eig", "A")), "linalg_eig_out_cpu", HALVES)
    A = square(A, "linalg.eig")
    return eig_result(*run(complex_rows.eig, A if A.is_complex() else A.to(A.dtype.to_complex())))


def eigvals(A: Tensor) -> Any:
    """The eigenvalues of any square matrix, as complex numbers, in no order.

    Shapes: A (..., n, n); result (..., n).

    >>> torch.linalg.eigvals(tensor([[2., 0.], [0., 3.]])).real.sort().values
    tensor([2., 3.])
    """
    return eig(square(A, "linalg.eigvals")).eigenvalues


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh) with A = U @ diag(S) @ Vh: orthonormal columns, singular values descending, orthonormal rows.

    Shapes, with k = min(m, n): A (..., m, n); U (..., m, k); S (..., k); Vh (..., k, n). If full_matrices,
    U is (..., m, m), Vh (..., n, n).
    `driver` is taken and ignored.

    >>> torch.linalg.svd(tensor([[0., 2.], [3., 0.]])).S
    tensor([3., 2.])
    """
    return svd_result(*run(rows.svd, matrix(A, "linalg.svd"), full_matrices=full_matrices))


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, descending.

    Shapes: A (..., m, n); result (..., min(m, n)).

    >>> torch.linalg.svdvals(tensor([[0., 2.], [3., 0.]]))
    tensor([3., 2.])
    """
    return run(rows.svd, matrix(A, "linalg.svd"))[1]


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R) with A = Q @ R: orthonormal columns and an upper triangle. mode "complete" makes Q square, "r" gives R alone.

    Shapes, with k = min(m, n): A (..., m, n); Q (..., m, k); R (..., k, n).
    The gradient of "complete" is known for no more rows than columns, that of "r" not at all. Raises RuntimeError for another mode.

    >>> Q, R = torch.linalg.qr(tensor([[3., 1.], [4., 2.]]))
    >>> allclose(Q @ R, tensor([[3., 1.], [4., 2.]]))
    True
    """
    A = matrix(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    m, n = A.shape[-2:]
    if m < n and mode != "r":
        Q, R = run(rows.qr, A[..., :m])
        return qr_result(Q, shape.cat([R, matmul(shape.transpose(Q, -2, -1), A[..., m:])], -1))
    return qr_result(*run(rows.qr, A, mode=mode))


# -- with exchange of rows -----------------------------------------------------------------------


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """(LU, pivots): both triangles in one matrix, and which rows were exchanged, for `lu_solve` and `lu_unpack`.

    Shapes: A and LU (..., m, n); pivots (..., min(m, n)) int32, counted from 1. Raises LinAlgError for a singular matrix.

    >>> torch.linalg.lu_factor(tensor([[1., 2.], [4., 4.]])).LU
    tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]])
    """
    A = matrix(A, "linalg.lu_factor")
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    if info.all_numbers().any():
        found = np.ravel(info.all_numbers())
        bad = np.flatnonzero(found)[0]
        first = found[bad]
        batch = "" if A.ndim == 2 else f"(Batch element {bad}): "
        raise rows.LinAlgError(
            f"torch.linalg.lu_factor: {batch}U[{first},{first}] is zero and using it on lu_solve would result in a division by zero. If "
            "you still want to perform the "
            "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return lu_factor_result(LU, pivots)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """(LU, pivots, info) as from `lu_factor`, for singular matrices too.

    Shapes: A and LU (..., m, n); pivots (..., min(m, n)) int32; info (...) int32: the place of the first
    zero on the diagonal of U, 0 if there is none.

    >>> torch.linalg.lu_factor_ex(tensor([[1., 2.], [2., 4.]])).info
    tensor(2, dtype=torch.int32)
    """
    A = matrix(A, "linalg.lu_factor")
    pivots, order = _pivoting(A, pivot)
    low, up = _triangles(A, order)
    k = min(A.shape[-2:])
    off = low - eye(A.shape[-2], A)[:, :k]
    LU = _packed(off, up)
    return lu_factor_ex_result(LU, pivots, first_zero(diagonals.diagonal(up.detach(), 0, -2, -1)))


def first_zero(values: Tensor) -> Tensor:
    """For each row of values the place of the first 0, counted from 1; 0 if there is none."""
    if not values.shape[-1]:
        return new_tensor(np.zeros(values.shape[:-1], np.int32)[()])
    zero = values == 0
    found = reduce.argmax(pointwise.to(zero, dtypes.int32), -1) + 1
    return pointwise.to(pointwise.where(reduce.any(zero, -1), found, 0), dtypes.int32)


def _packed(off: Tensor, up: Tensor) -> Tensor:
    """The part below the diagonal and the one above in one matrix: each is padded with zeros to the full size."""
    m, k = off.shape[-2:]
    n = up.shape[-1]
    zeros = lambda *lengths: new_tensor(np.zeros((*off.shape[:-2], *lengths), off.payload.dtype))
    return shape.cat([off, zeros(m, n - k)], -1) + shape.cat([up, zeros(m - k, n)], -2)


def _pivoting(A: Tensor, pivot: bool) -> tuple[Tensor, Tensor | None]:
    m, k = A.shape[-2], min(A.shape[-2:])
    if not pivot:
        return new_tensor(np.broadcast_to(np.arange(1, k + 1, dtype=np.int32), (*A.shape[:-2], k))), None
    pivots = run(rows.lu_pivots, A.detach())
    return pivots, unpack(pivots, m)


def _triangles(A: Tensor, order: Tensor | None) -> tuple[Tensor, Tensor]:
    """L and U of A with its rows in the given order. The row of the table is for square matrices; the rest is solved for."""
    if order is not None:
        A = index.gather(A, -2, shape.expand(shape.unsqueeze(order, -1), A.shape))
    m, n = A.shape[-2:]
    k = min(m, n)
    both = run(rows.lu, A[..., :k, :k])
    low, up = diagonals.tril(both, -1) + eye(k, A), diagonals.triu(both)
    if m > k:
        low = shape.cat([low, solve_triangular(up, A[..., k:, :], upper=True, left=False)], -2)
    if n > k:
        rest = solve_triangular(low, A[..., k:], upper=False, unitriangular=True)
        up = shape.cat([up, rest], -1)
    return low, up


@returns_fresh_memory
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """(P, L, U) with A = P @ L @ U: a permutation, ones on the diagonal and nothing above it, nothing below it.

    Shapes, with k = min(m, n): A (..., m, n); P (..., m, m), empty without pivot; L (..., m, k); U (..., k, n).

    >>> torch.linalg.lu(tensor([[1., 2.], [4., 4.]])).U
    tensor([[4., 4.],
            [0., 1.]])
    """
    A = matrix(A, "linalg.lu")
    _, order = _pivoting(A, pivot)
    P = new_tensor(np.zeros(0, A.payload.dtype)) if order is None else permutation(order, A)
    return lu_result(P, *_triangles(A, order))


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """(P, L, U) from the two results of `lu_factor`; empty tensors for the parts that are not unpacked.

    Shapes, with k = min(m, n): LU_data (..., m, n); LU_pivots (..., k) int32; P (..., m, m); L (..., m, k); U (..., k, n).
    Raises RuntimeError for pivots that are not int32.

    >>> torch.lu_unpack(*torch.linalg.lu_factor(tensor([[1., 2.], [4., 4.]]))).L
    tensor([[1.0000, 0.0000],
            [0.2500, 1.0000]])
    """
    if unpack_pivots and LU_pivots.payload.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended "
            "to be used with the output produced by torch.linalg.lu_factor"
        )
    if LU_data.ndim < 2:
        raise RuntimeError("torch.lu_unpack: The input tensor LU_data must have at least 2 dimensions.")
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    empty = new_tensor(np.zeros(0, LU_data.payload.dtype))
    P = permutation(unpack(LU_pivots, m), LU_data) if unpack_pivots else empty
    if not unpack_data:
        return lu_unpack_result(P, empty, empty)
    low = diagonals.tril(LU_data[..., :k], -1) + eye(m, LU_data)[:, :k]
    return lu_unpack_result(P, low, diagonals.triu(LU_data[..., :k, :]))


lu_unpack_result = named("lu_unpack", "P L U", __name__)


def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections: what `geqrf` gives, as an orthonormal matrix.

    Shapes: A and the result (..., m, n), m >= n; tau (..., k), k <= n. Raises RuntimeError for shapes or dtypes that do not fit.

    >>> Q = torch.linalg.householder_product(*torch.geqrf(tensor([[3., 1.], [4., 2.]])))
    >>> allclose(Q.mT @ Q, torch.eye(2), atol=1e-6)
    True
    """
    A = matrix(A, "torch.linalg.householder_product")
    floats(tau, "torch.linalg.householder_product")
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.shape[-1]:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"torch.linalg.householder_product: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} "
            f"and input.ndim is equal to {A.ndim}"
        )
    if tau.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}"
        )
    if A.payload.dtype != tau.payload.dtype:
        raise RuntimeError(f"torch.linalg.householder_product: tau dtype {tau.dtype} does not match input dtype {A.dtype}")
    whole = eye(m, A)[:, :n]
    Q = shape.expand(whole, (*A.shape[:-2], m, n))
    vectors = diagonals.tril(A, -1) + whole
    if not tau.shape[-1]:
        return Q + A * 0
    for i in range(tau.shape[-1] - 1, -1, -1):
        v = vectors[..., i : i + 1]
        Q = Q - tau[..., None, i : i + 1] * v @ (shape.transpose(v.conj(), -2, -1) @ Q)
    return Q
