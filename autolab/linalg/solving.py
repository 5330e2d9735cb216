"""Inverses, and what they are for: solving systems of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.linalg.checks import eye, floats, matrix, run, same_dtype, square, under_autocast, zeros_info
from autolab.rules import matrix as rows
from autolab.torch_api import index, pointwise, reduce, shape
from autolab.torch_api.dims import common_shape, require_tensor
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.linalg import matmul
from autolab.torch_api.named_results import named

inv_ex_result = named("linalg_inv_ex", "inverse info", __name__)
solve_ex_result = named("linalg_solve_ex", "result info", __name__)
lstsq_result = named("linalg_lstsq", "solution residuals rank singular_values", __name__)


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices. To solve A @ X = B, `solve` is faster and more exact.

    Shapes: A and the result (..., n, n). Raises LinAlgError for a singular matrix.

    >>> torch.linalg.inv(tensor([[2., 0.], [1., 1.]]))
    tensor([[ 0.5000,  0.0000],
            [-0.5000,  1.0000]])
    """
    return run(rows.inv, square(A, "linalg.inv"))


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """(inverse, info) as from `inv`, but a singular matrix raises only if check_errors.

    Shapes: A and inverse (..., n, n); info (...) int32, 0 where all went well.

    >>> torch.linalg.inv_ex(tensor([[1., 2.], [2., 4.]])).info
    tensor(2, dtype=torch.int32)
    """
    A = square(A, "linalg.inv")
    if check_errors:
        return inv_ex_result(inv(A), zeros_info(A))
    sign, _ = run(rows.slogdet, A.detach())
    return inv_ex_result(run(rows.inv, A, check=False), pointwise.to((sign == 0) * A.shape[-1], dtypes.int32))


@returns_fresh_memory
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A @ X = B, or X @ A = B if not left.

    Shapes: A (..., n, n); B (..., n, k), or vectors (..., n) if B has one dim, or just the batch of A and n; X as B.
    Raises LinAlgError for a singular A.

    >>> torch.linalg.solve(tensor([[2., 0.], [1., 1.]]), tensor([2., 3.]))
    tensor([1., 2.])
    """
    A = matrix(A, "linalg.solve")
    B = under_autocast("linalg.solve", require_tensor(B, "linalg.solve", "B", 2))
    same_dtype(A, B, "linalg.solve")
    A = square(A, "linalg.solve")
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors:
        if not left:
            raise RuntimeError(
                "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is "
                "equivalent to B / A.squeeze(-1)"
            )
        B = shape.unsqueeze(B, -1)
    if B.ndim < 2:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    n, found = A.shape[-1], B.shape[-2 if left else -1]
    if n != found:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if vectors:
        return shape.squeeze(_solve(A, B), -1)
    return _solve(A, B) if left else _mT(_solve(_mT(A), _mT(B)))


def _solve(A: Tensor, B: Tensor) -> Tensor:
    common_shape(*(new_tensor(np.broadcast_to(np.empty((), bool), t.shape[:-2])) for t in (A, B)))
    return run(rows.solve, A, B)


def _mT(A: Tensor) -> Tensor:
    return shape.transpose(A, -2, -1)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """(result, info) as from `solve`; info is 0, as a singular A raises LinAlgError here in any case.

    Shapes: A (..., n, n); B and result (..., n, k); info (...) int32.

    >>> torch.linalg.solve_ex(tensor([[2., 0.], [1., 1.]]), tensor([2., 3.])).result
    tensor([1., 2.])
    """
    return solve_ex_result(solve(A, B, left=left), zeros_info(A))


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X with A @ X = B (X @ A = B if not left) for the upper or lower triangle of A; if unitriangular, its diagonal is ones.

    Shapes: A (..., n, n); B and the result (..., n, k). Raises RuntimeError for shapes that do not fit.

    >>> torch.linalg.solve_triangular(tensor([[2., 0.], [1., 1.]]), tensor([[2.], [3.]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    A = square(A, "linalg.solve_triangular")
    B = under_autocast("linalg.solve_triangular", require_tensor(B, "linalg.solve_triangular", "B", 2))
    same_dtype(A, B, "linalg.solve_triangular")
    if B.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if left:
        return run(rows.solve_triangular, A, B, upper=upper, unit=unitriangular)
    return _mT(run(rows.solve_triangular, _mT(A), _mT(B), upper=not upper, unit=unitriangular))


def pinv(A: Tensor, rtol: Any = None, *, atol: Any = None, hermitian: bool = False, rcond: Any = None) -> Tensor:
    """The pseudo-inverse (Moore and Penrose): singular values up to max(atol, rtol * the largest) count as zero.

    Shapes: A (..., m, n); result (..., n, m).

    >>> torch.linalg.pinv(tensor([[2.], [0.]]))
    tensor([[0.5000, 0.0000]])
    """
    A = matrix(A, "linalg.pinv")
    rtol = rcond if rtol is None else rtol
    if rtol is None and atol is not None:
        rtol = max(A.shape[-2:]) * float(np.finfo(A.payload.dtype).eps) if not np.any(np.asarray(_plain(atol)) > 0) else 0.0
    settings = {"atol": 0.0 if atol is None else _plain(atol), "rtol": _plain(rtol), "hermitian": hermitian}
    return run(rows.pinv, A, **settings)


def _plain(tolerance: Any) -> Any:
    return tolerance.numbers() if isinstance(tolerance, Tensor) else tolerance


DRIVERS = ("gelsy", "gels", "gelsd", "gelss")


@returns_fresh_memory
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """(solution, residuals, rank, singular_values) of the least squares problem: X that makes the norm of A @ X - B smallest.

    Shapes: A (..., m, n); B (..., m, k); solution (..., n, k); residuals (..., k), the sums of squares; rank (...) int64.
    Only the solution and the residuals have a gradient. The residuals are given for more rows than columns and full rank;
    the singular values for the drivers "gelsd" and "gelss". Raises RuntimeError for shapes that do not fit, and for another driver.

    >>> A, B = tensor([[1., 0.], [1., 1.], [1., 2.]]), tensor([[1.], [3.], [5.]])
    >>> torch.linalg.lstsq(A, B).solution.round(decimals=4)
    tensor([[1.],
            [2.]])
    """
    A = matrix(A, "torch.linalg.lstsq")
    same_dtype(A, require_tensor(B, "torch.linalg.lstsq", "B", 2), "torch.linalg.lstsq")
    if B.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if driver not in (None, *DRIVERS):
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of {DRIVERS}")
    m, n = A.shape[-2:]
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    X = shape.unsqueeze(B, -1) if vectors else B
    if X.shape[-2] != m:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)" if not vectors else
                           "torch.linalg.lstsq: input.size(-2) should match other.size(-1)")  # fmt: skip
    values = run(rows.svd, A.detach())[1]
    share = max(m, n) * float(np.finfo(A.payload.dtype).eps) if rcond is None else rcond
    rank = reduce.sum(values > values[..., :1] * share, -1)
    solution = matmul(run(rows.pinv, A, rtol=rcond), X)
    residuals = shape.reshape(solution.real if solution.is_complex() else solution, -1)[:0]
    if m > n and driver != "gelsy" and np.all(rank.all_numbers() == n):
        misses = matmul(A, solution) - X
        residuals = reduce.sum(misses.abs() ** 2 if misses.is_complex() else misses * misses, -2)
    return lstsq_result(
        shape.squeeze(solution, -1) if vectors else solution,
        residuals,
        rank if driver != "gels" else new_tensor(np.zeros(0, np.int64)),
        values if driver in ("gelsd", "gelss") else new_tensor(np.zeros(0, values.payload.dtype)),
    )


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of tensordot with A: its first `ind` dims are the rows of a square matrix, the others the columns.

    Shapes: A (*rows, *columns) with as many rows as columns; result (*columns, *rows). Raises LinAlgError for a singular matrix.

    >>> torch.linalg.tensorinv(ones(4, 2, 2) + torch.eye(4).reshape(4, 2, 2), ind=1).shape
    torch.Size([2, 2, 4])
    """
    floats(A, "tensorinv")
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    left, right = A.shape[:ind], A.shape[ind:]
    n = int(np.prod(right))
    if n != int(np.prod(left)):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{n} != {int(np.prod(left))}"
        )
    return shape.reshape(inv(shape.reshape(A, n, n)), (*right, *left))


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B; dims of A named in `dims` are moved to its end first.

    Shapes: B (*rows); A (*rows, *columns) with as many rows as columns; result (*columns). Raises LinAlgError for a singular matrix.

    >>> torch.linalg.tensorsolve(2 * torch.eye(4).reshape(4, 2, 2), ones(4))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    floats(A, "tensorsolve")
    if dims is not None:
        A = shape.movedim(A, list(dims), list(range(-len(dims), 0)))
    right = A.shape[B.ndim :]
    n = int(np.prod(right))
    if n != int(np.prod(B.shape)):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{n} != {int(np.prod(B.shape))}"
        )
    return shape.reshape(solve(shape.reshape(A, n, n), shape.reshape(B, -1)), right)


# -- with a factorization at hand ----------------------------------------------------------------


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A @ X = B, from the Cholesky factor of A.

    Shapes: B and the result (..., n, k); L (..., n, n). Raises RuntimeError for shapes that do not fit.

    >>> torch.cholesky_solve(tensor([[2.], [3.]]), tensor([[2., 0.], [0., 1.]]))
    tensor([[0.5000],
            [3.0000]])
    """
    for name, t in (("b", require_tensor(B, "cholesky_solve", "B")), ("u", square(L, "cholesky_solve", "A"))):
        if t.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions instead")
    if L.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by {L.shape[-1]} but each b matrix is "
            f"{B.shape[-2]} by {B.shape[-1]}"
        )
    L = L.mH if upper else L
    return solve_triangular(L.mH, solve_triangular(L, B, upper=False), upper=True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from the Cholesky factor of A.

    Shapes: L and the result (..., n, n).

    >>> torch.cholesky_inverse(tensor([[2., 0.], [0., 1.]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    L = square(L, "cholesky_inverse", "A")
    return cholesky_solve(eye(L.shape[-1], L), L, upper)


def unpack(pivots: Tensor, m: int) -> Tensor:
    """The permutation of rows that pivots (row k with row pivots[k] - 1, for one k after the other) stand for."""
    return run(rows.lu_order, pivots, rows=m)


def permutation(order: Tensor, like: Tensor) -> Tensor:
    """P with (P.mT @ A)[i] = A[order[i]]."""
    n = order.shape[-1]
    return _mT(_rows(shape.expand(eye(n, like), (*order.shape, n)), order))


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A @ X = B (X @ A = B if not left; the transpose of A if adjoint), from `lu_factor`.

    Shapes: LU (..., n, n); pivots (..., n) int32; B and the result (..., n, k).
    Raises RuntimeError for shapes that do not fit, and for pivots that are not int32.

    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(tensor([[2., 0.], [1., 1.]])), tensor([[2.], [3.]]))
    tensor([[1.],
            [2.]])
    """
    LU = square(LU, "torch.linalg.lu_solve", "LU")
    same_dtype(LU, require_tensor(B, "linalg.lu_solve", "B", 3), "linalg.lu_solve")
    if pivots.payload.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    order = unpack(pivots, LU.shape[-1])
    if adjoint:
        middle = solve_triangular(LU.mH, B, upper=False)
        return matmul(permutation(order, LU), solve_triangular(LU.mH, middle, upper=True, unitriangular=True))
    return solve_triangular(LU, solve_triangular(LU, _rows(B, order), upper=False, unitriangular=True), upper=True)


def _rows(B: Tensor, order: Tensor) -> Tensor:
    """The rows of each matrix in another order."""
    lead = common_shape(*(new_tensor(np.broadcast_to(np.empty((), bool), s)) for s in (B.shape[:-2], order.shape[:-1])))
    B = shape.expand(B, (*lead, *B.shape[-2:]))
    return index.gather(B, -2, shape.expand(shape.unsqueeze(order, -1), B.shape))
