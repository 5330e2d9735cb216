"""How large a matrix is, what rank it has, and functions of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.linalg.checks import eye, floats, matrix, run, square
from autolab.linalg.factors import eigvalsh, svdvals
from autolab.linalg.solving import inv
from autolab.rules import matrix as rows
from autolab.torch_api import diagonals, joining, pointwise, products, reduce, shape
from autolab.torch_api.dims import axis_of, require_tensor, whole
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.linalg import matmul


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The p-norm of all entries, or along dim(s): ord is a number, inf or -inf. The gradient at 0 is 0.

    Shapes: x of any shape; result without dim(s), or with length 1 there if keepdim.
    Raises RuntimeError for no entries where the norm needs one, TypeError for an ord that is not a number.

    >>> torch.linalg.vector_norm(tensor([3., -4.])), torch.linalg.vector_norm(tensor([3., -4.]), inf)
    (tensor(5.), tensor(4.))
    """
    floats(x, "linalg.vector_norm", low=True)
    if isinstance(ord, str):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not str ({ord!r})")
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    if (ord < 0 or ord == math.inf) and x.ndim and any(x.shape[d] == 0 for d in dims):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an identity. "
            f"The shape is {list(x.shape)}."
        )
    return reduce.norm(x, ord, dim, keepdim, dtype=dtype)


ORDERS = (1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc")


@returns_fresh_memory
def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A norm of the matrices in two dims, by its order.

    "fro" is the root of the sum of squares, "nuc" the sum of singular values; 2, 1 and inf are the largest singular value, sum of a column
    and sum of a row of absolute values; -2, -1 and -inf the smallest.

    Shapes: A (..., m, n); result (...), or (..., 1, 1) if keepdim.
    Raises RuntimeError for fewer than two dims, for dims that are equal, and for another order.

    >>> torch.linalg.matrix_norm(tensor([[1., -2.], [3., 4.]]), 1)
    tensor(6.)
    """
    floats(A, "linalg.matrix_norm", low=True)
    if dtype is not None:
        A = pointwise.to(A, dtype)
    if ord not in ORDERS:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported." if not isinstance(ord, str) else
                           f"linalg.matrix_norm: Order {ord} not supported. It is one of 'fro', 'nuc', or a number.")  # fmt: skip
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dims))}")
    i, j = (axis_of(d, A.ndim) for d in dims)
    if i == j:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    if ord == "fro":
        return reduce.norm(A, 2, dims, keepdim)
    pick = reduce.amin if ord in (-1, -2, -math.inf) else reduce.amax
    if ord in ("nuc", 2, -2):
        values = svdvals(shape.movedim(A, (i, j), (-2, -1)))
        out = reduce.sum(values, -1) if ord == "nuc" else pick(values, -1)
        if keepdim:
            for d in sorted((i + A.ndim, j + A.ndim)):  # type: ignore[operator]
                out = shape.unsqueeze(out, d)
        return out
    along, across = (i, j) if ord in (1, -1) else (j, i)
    sums = reduce.sum(pointwise.abs(A), along, True)
    out = pick(sums, across, True)
    return out if keepdim else shape.squeeze(out, (i, j))


@returns_fresh_memory
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A matrix norm for two dims or a word as order, a vector norm otherwise; without ord the root of the sum of all squares.

    Shapes: A of any shape; result without dim(s), or with length 1 there if keepdim. Raises RuntimeError for more than two dims.

    >>> torch.linalg.norm(tensor([[2., 0.], [0., 1.]])), torch.linalg.norm(tensor([[2., 0.], [0., 1.]]), "nuc")
    (tensor(2.2361), tensor(3.))
    """
    floats(A, "linalg.norm", low=True)
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if ord is not None:
        if dims is not None and len(dims) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dims))}]")
        if dims is None and A.ndim not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.")
    if ord is not None and (isinstance(ord, str) or (len(dims) == 2 if dims is not None else A.ndim == 2)):
        return matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def cond(A: Tensor, p: Any = None) -> Tensor:
    """How much solving with A enlarges errors: the norm of A times the norm of its inverse; inf for singular matrices.

    Shapes: A (..., n, n), or (..., m, n) for p None, 2 or -2; result (...). Raises RuntimeError for another norm.

    >>> torch.linalg.cond(tensor([[1., 0.], [0., 100.]]))
    tensor(100.)
    """
    A = matrix(A, "linalg.cond")
    if p is None or p in (2, -2):
        values = svdvals(A)
        if not values.shape[-1]:
            return reduce.sum(values, -1)
        large, small = values[..., 0], values[..., -1]
        return small / large if p == -2 else large / small
    if p not in ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    A = square(A, f"linalg.cond(ord={p})")
    if not A.shape[-1]:
        return reduce.sum(A, (-2, -1))
    return matrix_norm(A, p) * matrix_norm(run(rows.inv, A, check=False), p)


def matrix_rank(A: Tensor, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The number of singular values larger than max(atol, rtol * the largest).

    Shapes: A (..., m, n); result (...) int64.

    >>> torch.linalg.matrix_rank(tensor([[1., 2.], [2., 4.]]))
    tensor(1)
    """
    A = (square if hermitian else matrix)(A, "linalg.matrix_rank")
    eps = max(A.shape[-2:]) * float(np.finfo(A.payload.dtype).eps)
    least, share = (t.numbers() if isinstance(t, Tensor) else t for t in (tol if atol is None else atol, rtol))
    if share is None:
        share = eps if least is None else np.where(np.asarray(least) > 0, 0.0, eps)
    if tol is not None and atol is None:
        share = 0.0
    values = pointwise.abs((eigvalsh(A) if hermitian else svdvals(A)).detach())
    if not values.shape[-1]:
        return reduce.sum(pointwise.to(values, dtypes.int64), -1)
    own = values.payload.dtype  # real numbers, whatever A is
    bound = reduce.amax(values, -1) * new_tensor(np.asarray(share, own)[()])
    bound = pointwise.maximum(bound, new_tensor(np.asarray(0.0 if least is None else least, own)[()]))
    return reduce.sum(values > shape.unsqueeze(bound, -1), -1)


def matrix_power(A: Tensor, n: int) -> Tensor:
    """A times itself, n factors, by squaring; for negative n the inverse's. Raises LinAlgError if that does not exist.

    Shapes: A and the result (..., n, n).

    >>> torch.linalg.matrix_power(tensor([[1., 1.], [0., 1.]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    A = require_tensor(A, "linalg.matrix_power", "A")
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    n = whole(n, "linalg.matrix_power(): argument 'n' (position 2)")
    if n == 0:
        return pointwise.where(new_tensor(np.zeros(A.shape, bool)), A, eye(A.shape[-1], A))
    if n < 0:
        A, n = inv(A), -n
    out = None
    while True:
        if n & 1:
            out = A if out is None else matmul(out, A)
        n >>= 1
        if not n:
            return out.clone() if out is A else out  # type: ignore[return-value]
        A = matmul(A, A)


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices: the sum of all A ** k / k!.

    Shapes: A and the result (..., n, n).

    >>> torch.linalg.matrix_exp(tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return run(rows.matrix_exp, square(A, "linalg.matrix_exp", low=True))


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices in the cheapest order; the first and the last may be vectors.

    Shapes: (m, n), (n, k) ... (p, q) give (m, q); a vector as the first or last leaves out m or q.
    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> torch.linalg.multi_dot([ones(2, 3), ones(3, 4), ones(4)])
    tensor([12., 12.])
    """
    factors = list(tensors)
    if len(factors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(factors)}")
    first, last = factors[0].ndim == 1, factors[-1].ndim == 1
    for i, t in enumerate(factors):
        inside = 0 < i < len(factors) - 1
        if t.ndim != 2 and (inside or t.ndim != 1):
            where = f"tensor {i}" if inside else "the first tensor" if not i else "the last tensor"
            raise RuntimeError(f"multi_dot(): {where} must be {'2D' if inside else '1D or 2D'} but got {t.ndim}D")
        if t.payload.dtype != factors[0].payload.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {factors[0].dtype.title} and tensor {i} "
                f"{t.dtype.title}"
            )
    if first:
        factors[0] = shape.unsqueeze(factors[0], 0)
    if last:
        factors[-1] = shape.unsqueeze(factors[-1], -1)
    for i, (a, b) in enumerate(zip(factors, factors[1:])):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied")
    out = products.multiply(factors)
    return shape.reshape(out, [n for n, dropped in zip(out.shape, (first, last)) if not dropped])


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers of the entries along a new last dim: 1, x, x ** 2 ... up to N of them (by default as many as there are entries).

    Shapes: x (..., n); result (..., n, N).

    >>> torch.linalg.vander(tensor([1., 2., 3.]))
    tensor([[1., 1., 1.],
            [1., 2., 4.],
            [1., 3., 9.]])
    """
    x = joining.atleast_1d(require_tensor(x, "linalg.vander"))
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return products.powers(x, n)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums of products along a dim, the first conjugated if it is complex; the other dims broadcast.

    Shapes: x and y (..., n); result (...). Raises RuntimeError for integers, and for two dtypes.

    >>> torch.linalg.vecdot(tensor([1., 2.]), tensor([3., 4.]))
    tensor(11.)
    """
    if require_tensor(x, "linalg.vecdot").payload.dtype not in dtypes.INEXACT:
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.title}. Convert it first: x.float(), or "
            "sum the products: (x * y).sum(-1)."
        )
    if x.payload.dtype != require_tensor(y, "linalg.vecdot", "y", 2).payload.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.title} and y of type {y.dtype.title} "
            "instead. Convert one of them: y.to(x.dtype)."
        )
    return reduce.sum(x.conj() * y, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of the matrices in the last two dims, as a view.

    Shapes: A (..., m, n); result (..., min(m, n)), fewer for an offset.

    >>> torch.linalg.diagonal(tensor([[1., 2.], [3., 4.]]))
    tensor([1., 4.])
    """
    return diagonals.diagonal(A, offset, dim1, dim2)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along a dim of length 3; the other dims broadcast.

    Shapes: input, other and the result (..., 3).

    >>> torch.linalg.cross(tensor([1., 0., 0.]), tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    return products.vector_product(input, other, dim)
