"""Factors of symmetric matrices that need not be positive-definite, and equations solved with them."""

from __future__ import annotations

from typing import Any

from autolab.engine.tensor import Tensor
from autolab.linalg.checks import run, square
from autolab.rules import indefinite as rows
from autolab.rules.matrix import LinAlgError
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.named_results import named

ldl_factor_result = named("linalg_ldl_factor", "LD pivots", __name__)
ldl_factor_ex_result = named("linalg_ldl_factor_ex", "LD pivots info", __name__)


def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """(LD, pivots) of symmetric matrices, of which only the lower triangle is read, for `ldl_solve`. They have no derivative.

    hermitian: complex matrices are Hermitian, not symmetric. LD holds D on its diagonal, in blocks of one or two, and L below.

    Shapes: A and LD (..., n, n); pivots (..., n) int32, counted from 1, negative for a block of two. Raises LinAlgError for a singular D.

    >>> torch.linalg.ldl_factor(tensor([[4., 2.], [2., 0.]])).LD
    tensor([[ 4.0000,  0.0000],
            [ 0.5000, -1.0000]])
    """
    LD, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    _raise_for(info, "torch.linalg.ldl_factor")
    return ldl_factor_result(LD, pivots)


def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """(LD, pivots, info) as from `ldl_factor`, for singular matrices too unless check_errors.

    Shapes: A and LD (..., n, n); pivots (..., n) int32; info (...) int32: the place of the first zero on the diagonal of D,
    0 if there is none.

    >>> torch.linalg.ldl_factor_ex(tensor([[1., 1.], [1., 1.]])).info
    tensor(2, dtype=torch.int32)
    """
    LD, pivots, info = run(rows.ldl, square(A, "torch.linalg.ldl_factor_ex"), hermitian=hermitian)
    if check_errors:
        _raise_for(info, "torch.linalg.ldl_factor_ex")
    return ldl_factor_ex_result(LD, pivots, info)


def _raise_for(info: Tensor, name: str) -> None:
    found = info.all_numbers()
    if found.any():
        at = int(found[found > 0].flat[0])
        raise LinAlgError(f"{name}: D[{at},{at}] is zero: the matrix is singular. linalg.ldl_factor_ex gives its factors all the same.")


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A @ X = B, from the (LD, pivots) of `ldl_factor`. It has no derivative.

    Shapes: LD (..., n, n); pivots (..., n) int32 or int64; B and the result (..., n, k). Raises RuntimeError for shapes that do not fit.

    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(tensor([[0., 2.], [2., 0.]])), tensor([[2.], [4.]]))
    tensor([[2.],
            [1.]])
    """
    LD = square(LD, "torch.linalg.ldl_solve")
    if require_tensor(B, "linalg.ldl_solve", "B", 3).ndim < 2:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b matrix is "
            f"{B.shape[-2]} by {B.shape[-1]}"
        )
    if LD.payload.dtype != B.payload.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.title} and A of type {LD.dtype.title} instead."
        )
    if require_tensor(pivots, "linalg.ldl_solve", "pivots", 2).payload.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.title}")
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    return run(rows.ldl_solve, LD, pivots, B, hermitian=hermitian)
