"""Linear algebra under the names of torch.linalg: the last two dims are a matrix, all others a stack of them."""

from autolab.linalg.factors import (
    cholesky,
    cholesky_ex,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    slogdet,
    svd,
    svdvals,
)
from autolab.linalg.norms import (
    cond,
    cross,
    diagonal,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    vander,
    vecdot,
    vector_norm,
)
from autolab.linalg.solving import inv, inv_ex, lstsq, lu_solve, pinv, solve, solve_ex, solve_triangular, tensorinv, tensorsolve
from autolab.rules.matrix import LinAlgError
from autolab.torch_api.linalg import matmul
from autolab.torch_api.out import with_out as _with_out

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

# `out=` for all of them.
globals().update({_name: _with_out(globals()[_name]) for _name in __all__ if _name != "LinAlgError"})
