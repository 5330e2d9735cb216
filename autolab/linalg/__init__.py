"""Linear algebra under the names of torch.linalg: the last two dims are a matrix, all others a stack of them."""

from autolab.linalg import factors, indefinite, norms, solving
from autolab.rules.matrix import LinAlgError
from autolab.torch_api import linalg as _products
from autolab.torch_api.out import with_out as _with_out

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex",
    "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

cholesky = _with_out(factors.cholesky)
cholesky_ex = _with_out(factors.cholesky_ex)
cond = _with_out(norms.cond)
cross = _with_out(norms.cross)
det = _with_out(factors.det)
diagonal = _with_out(norms.diagonal)
eig = _with_out(factors.eig)
eigh = _with_out(factors.eigh)
eigvals = _with_out(factors.eigvals)
eigvalsh = _with_out(factors.eigvalsh)
householder_product = _with_out(factors.householder_product)
inv = _with_out(solving.inv)
inv_ex = _with_out(solving.inv_ex)
ldl_factor = _with_out(indefinite.ldl_factor)
ldl_factor_ex = _with_out(indefinite.ldl_factor_ex)
ldl_solve = _with_out(indefinite.ldl_solve)
lstsq = _with_out(solving.lstsq)
lu = _with_out(factors.lu)
lu_factor = _with_out(factors.lu_factor)
lu_factor_ex = _with_out(factors.lu_factor_ex)
lu_solve = _with_out(solving.lu_solve)
matmul = _with_out(_products.matmul)
matrix_exp = _with_out(norms.matrix_exp)
matrix_norm = _with_out(norms.matrix_norm)
matrix_power = _with_out(norms.matrix_power)
matrix_rank = _with_out(norms.matrix_rank)
multi_dot = _with_out(norms.multi_dot)
norm = _with_out(norms.norm)
pinv = _with_out(solving.pinv)
qr = _with_out(factors.qr)
slogdet = _with_out(factors.slogdet)
solve = _with_out(solving.solve)
solve_ex = _with_out(solving.solve_ex)
solve_triangular = _with_out(solving.solve_triangular)
svd = _with_out(factors.svd)
svdvals = _with_out(factors.svdvals)
tensorinv = _with_out(solving.tensorinv)
tensorsolve = _with_out(solving.tensorsolve)
vander = _with_out(norms.vander)
vecdot = _with_out(norms.vecdot)
vector_norm = _with_out(norms.vector_norm)
