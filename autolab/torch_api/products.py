"""Products of vectors and matrices that are made of a few others: with something added, of many factors, along chosen dims."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import arithmetic
from autolab.torch_api import creation, diagonals, index, joining, pointwise, reduce, shape
from autolab.torch_api.dims import BOOLS, axis_of, refuse, require_tensor
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.linalg import bmm, dot, matmul, mm, mv, outer
from autolab.torch_api.older_overloads import numbers_last
from autolab.torch_api.public import declare, method, public


def _plus(name: str, product: Callable[[Tensor, Tensor], Tensor], names: tuple[str, str], doc: str) -> Any:
    def function(input: Tensor, *factors: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Tensor:
        if len(factors) > 2:
            newer = f"{name}(input, {names[0]}, {names[1]}, *, beta=1, alpha=1)"
            (input, *factors), (beta, *alphas) = numbers_last(name, (input, *factors), 3, newer)  # type: ignore[assignment]
            alpha = alphas[0] if alphas else alpha
        wanted = names[len(factors) :]
        if set(named) != set(wanted):
            raise TypeError(f"{name}() received an invalid combination of arguments: it takes input, {names[0]}, {names[1]}, beta, alpha")
        a, b = (*factors, *(named[n] for n in wanted))
        require_tensor(input, name)
        for position, (t, what) in enumerate(zip((a, b), names), 2):
            require_tensor(t, name, what, position)
        if modes.autocast is not None:
            return modes.autocast.whole(name, function, (input, a, b), beta=beta, alpha=alpha)
        if input.payload.dtype not in dtypes.INEXACT:  # PyTorch refuses in one of these functions, and cuts off in the others
            for what, number in (("beta", beta), ("alpha", alpha)):
                if name == "addr" and isinstance(number, float):
                    raise RuntimeError(f"For integral input tensors, argument {what} must not be a floating point number.")
            own = bool if input.payload.dtype == np.bool_ else int
            beta, alpha = own(beta), own(alpha)
        narrow = input.dtype if input.payload.dtype in dtypes.NARROW and a.dtype == b.dtype == input.dtype else None
        if narrow is not None:  # in float32, rounded once
            input, a, b = (pointwise.to(t, dtypes.float32) for t in (input, a, b))
        if name == "addmm":
            check_addmm(input, a, b)
        out = product(a, b)
        if input.payload.dtype != out.payload.dtype and name != "addr":
            found = (input.dtype.title, out.dtype.title)
            raise RuntimeError(
                "{} input tensors must have the same dtype, but got {}, {}, and {}".format(name, *found, out.dtype.title)
                if name == "addmv"
                else "self and mat2 must have the same dtype, but got {} and {}".format(*found)
            )
        if input.shape != out.shape:
            input = shape.expand(input, out.shape)
        if alpha != 1:
            out = out * alpha
        if beta != 0:  # what is not wanted is not looked at: nan stays out
            out = (input if beta == 1 else input * beta) + out
        return out if narrow is None else pointwise.to(out, narrow)

    return declare(function, name, doc, method=True, inplace=True, out=True)


def check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    if input.payload.dtype != mat2.payload.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {input.dtype.title} and {mat2.dtype.title}")
    for what, t in (("mat1", mat1), ("mat2", mat2)):
        if t.ndim != 2:
            raise RuntimeError(f"{what} must be a matrix, got {t.ndim}-D tensor")


def _sum_of_products(batch1: Tensor, batch2: Tensor) -> Tensor:
    return reduce.sum(bmm(batch1, batch2), 0)


def _outer(vec1: Tensor, vec2: Tensor) -> Tensor:
    for what, t in (("vec1", vec1), ("vec2", vec2)):
        if t.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {what}, but got {t.ndim}-D")
    return outer(vec1, vec2)


addmm = _plus(
    "addmm",
    mm,
    ("mat1", "mat2"),
    """beta * input + alpha * (mat1 @ mat2).

Shapes: input broadcasts to (n, m); mat1 (n, k); mat2 (k, m).

>>> addmm(tensor([1., 2.]), tensor([[1., 0.]]), tensor([[3., 4.], [5., 6.]]), beta=10)
tensor([[13., 24.]])
""",
)
addmv = _plus(
    "addmv",
    mv,
    ("mat", "vec"),
    """beta * input + alpha * (mat @ vec).

Shapes: input broadcasts to (n,); mat (n, k); vec (k,).

>>> addmv(tensor([10., 20.]), tensor([[1., 2.], [3., 4.]]), tensor([1., 0.]))
tensor([11., 23.])
""",
)
addr = _plus(
    "addr",
    _outer,
    ("vec1", "vec2"),
    """beta * input + alpha * outer(vec1, vec2).

Shapes: input broadcasts to (n, m); vec1 (n,); vec2 (m,).

>>> addr(ones(2, 2), tensor([1., 2.]), tensor([3., 4.]))
tensor([[4., 5.],
        [7., 9.]])
""",
)
baddbmm = _plus(
    "baddbmm",
    bmm,
    ("batch1", "batch2"),
    """beta * input + alpha * bmm(batch1, batch2).

Shapes: input broadcasts to (B, n, m); batch1 (B, n, k); batch2 (B, k, m).

>>> baddbmm(zeros(2), ones(4, 2, 3), ones(4, 3, 2)).shape
torch.Size([4, 2, 2])
""",
)
addbmm = _plus(
    "addbmm",
    _sum_of_products,
    ("batch1", "batch2"),
    """beta * input + alpha * the sum of all products in two stacks.

Shapes: input broadcasts to (n, m); batch1 (B, n, k); batch2 (B, k, m).

>>> addbmm(zeros(2, 2), ones(4, 2, 3), ones(4, 3, 2))
tensor([[12., 12.],
        [12., 12.]])
""",
)


@public(method=True, out=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of two vectors, the first one conjugated if it is complex.

    Shapes: (n,), (n,) -> ().

    >>> vdot(tensor([1., 2.]), tensor([3., 4.]))
    tensor(11.)
    """
    if isinstance(input, Tensor) and input.payload.dtype in dtypes.COMPLEX:
        input = input.conj()
    return dot(input, other)


@public(method=True, out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products along the last dims: (..., k), (..., k) -> (..., ...). With a number, the product.

    Raises RuntimeError for different dtypes, and for last dims of different lengths.

    >>> inner(tensor([[1., 2.], [3., 4.]]), tensor([1., 10.]))
    tensor([21., 43.])
    """
    require_tensor(input, "inner")
    if not input.ndim or not require_tensor(other, "inner", "other", 2).ndim:
        return input * other
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"both inputs should have same dtype, but got {input.dtype.title} and {other.dtype.title}")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public(out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums of products over pairs of dims: the last `dims` of a with the first of b, or the two lists of dims.

    Raises RuntimeError for dims that do not fit.

    >>> tensordot(ones(2, 3), ones(3, 4), 1).shape
    torch.Size([2, 4])
    """
    require_tensor(a, "tensordot", "a")
    require_tensor(b, "tensordot", "b", 2)
    if isinstance(dims, Tensor):
        dims = dims.numbers().tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    da, db = (list(d) if not isinstance(d, int) else [d] for d in dims)
    if len(da) != len(db):
        raise RuntimeError("both dimension lists should have same length")
    da, db = ([d % t.ndim if -t.ndim <= d < t.ndim else axis_of(d, t.ndim) for d in ds] for t, ds in ((a, da), (b, db)))
    for i, j in zip(da, db):
        if a.shape[i] != b.shape[j] and a.shape[i] != 1 and b.shape[j] != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
        if a.shape[i] != b.shape[j]:  # a length of 1 is as good as a sum over the other
            a = reduce.sum(a, i, True) if b.shape[j] == 1 else a
            b = reduce.sum(b, j, True) if a.shape[i] == 1 else b
    left, right = [d for d in range(a.ndim) if d not in da], [d for d in range(b.ndim) if d not in db]
    n = math.prod(a.shape[d] for d in da)
    rows, columns = [a.shape[d] for d in left], [b.shape[d] for d in right]
    flat = matmul(
        shape.reshape(shape.permute(a, left + da), math.prod(rows), n), shape.reshape(shape.permute(b, db + right), n, math.prod(columns))
    )
    return shape.reshape(flat, rows + columns)


@public(method=True, out=True)
@returns_fresh_memory
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every entry of input times the whole of other.

    Shapes: (n, m) and (k, l) give (n * k, m * l).

    >>> kron(tensor([1, 10]), tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    n = max(require_tensor(input, "kron").ndim, require_tensor(other, "kron", "other", 2).ndim)
    a, b = ((1,) * (n - t.ndim) + tuple(t.shape) for t in (input, other))
    apart = shape.reshape(input, *(k for m in a for k in (m, 1))) * shape.reshape(other, *(k for m in b for k in (1, m)))
    return shape.reshape(apart, *(m * k for m, k in zip(a, b)))


@method
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix. Raises RuntimeError for anything but a matrix.

    >>> torch.trace(tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if modes.autocast is not None:
        (input,) = modes.autocast.cast("trace", (input,))
    if require_tensor(input, "trace").ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    refuse(input, "trace", BOOLS)
    return reduce.sum(diagonals.diagonal(input))


@public(method=True, out=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along a dim of length 3 (the first such dim, if none is named).

    Raises RuntimeError if there is no dim of length 3.

    >>> cross(tensor([1., 0., 0.]), tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    require_tensor(input, "cross")
    if dim is None and input.ndim == require_tensor(other, "cross", "other", 2).ndim:
        found = [d for d, n in enumerate(input.shape) if n == 3]
        if not found:
            raise RuntimeError(f"no dimension of size 3 in input: its shape is {list(input.shape)}")
        dim = found[0]
    return vector_product(input, other, -1 if dim is None else dim)


def vector_product(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The vector product along a dim of length 3; the other dims broadcast."""
    if require_tensor(input, "linalg.cross").ndim != require_tensor(other, "linalg.cross", "other", 2).ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, but they have {input.ndim} and {other.ndim}.")
    if input.payload.dtype == np.bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'. Convert it first: t.int() or t.float().")
    if input.payload.dtype != other.payload.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {other.dtype.title}")
    axis = axis_of(dim, input.ndim)
    if axis is None or input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {0 if axis is None else input.shape[axis]} and "
            f"{0 if axis is None else other.shape[axis]}"
        )
    (a, b, c), (x, y, z) = shape.unbind(input, axis), shape.unbind(other, axis)
    return shape.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis)


@public(out=True)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of all the matrices, in the cheapest order.

    Shapes: (m, n), (n, k) ... (p, q) give (m, q). Raises RuntimeError for anything but a matrix.

    >>> chain_matmul(ones(2, 3), ones(3, 4), ones(4, 5)).shape
    torch.Size([2, 5])
    """
    factors = joining.tensor_list("chain_matmul", matrices)
    for t in factors:
        if t.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {t.ndim}, expected 2 instead.")
    return pointwise.clone(factors[0]) if len(factors) == 1 else multiply(factors)


def multiply(factors: Sequence[Tensor]) -> Tensor:
    """The product of matrices that fit, in the order with the fewest multiplications (Cormen et al., section 14.2)."""
    sizes = [t.shape[0] for t in factors] + [factors[-1].shape[1]]
    n = len(factors)
    cost = {(i, i): 0 for i in range(n)}
    cut = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            choices = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            cut[i, j] = min(choices, key=choices.__getitem__)
            cost[i, j] = choices[cut[i, j]]

    def product(i: int, j: int) -> Tensor:
        return factors[i] if i == j else mm(product(i, cut[i, j]), product(cut[i, j] + 1, j))

    return product(0, n - 1)


@public()
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the entries of a vector as columns, the highest first unless `increasing`.

    Shapes: x (n,); result (n, N), by default (n, n). Raises RuntimeError for anything but a vector.

    >>> vander(tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if require_tensor(x, "vander", "x").ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    out = powers(x, n)
    return out if increasing else shape.flip(out, 1)


def powers(x: Tensor, n: int) -> Tensor:
    """x ** 0, x ** 1, ... x ** (n - 1) along a new last dim."""
    if n == 0 or not x.shape.numel():
        dtype = x.dtype if x.payload.dtype in dtypes.INEXACT else dtypes.int64
        return creation.empty(*x.shape, n, dtype=dtype)
    if x.payload.dtype not in dtypes.INEXACT:
        x = pointwise.to(x, dtypes.int64)
    columns = [new_tensor(np.ones(x.shape, x.payload.dtype))]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    return shape.stack(columns, -1)


@public()
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-distances between all rows of two matrices: (..., n, k), (..., m, k) -> (..., n, m).

    compute_mode: for p = 2, whether to compute by a product of matrices, which is fast, and loses digits where rows are close:
    for more than 25 rows ("use_mm_for_euclid_dist_if_necessary"), always ("use_mm_for_euclid_dist"), or never ("donot_use_...").

    Raises RuntimeError for integers and complex numbers, and for rows of different lengths; NotImplementedError for 16 bits.

    >>> cdist(tensor([[0., 0.]]), tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    for name, t in (("X1", require_tensor(x1, "cdist", "x1")), ("X2", require_tensor(x2, "cdist", "x2", 2))):
        if t.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {t.ndim}D")
    for name, t in (("X1", x1), ("X2", x2)):
        if t.payload.dtype not in dtypes.FLOATING:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {t.dtype.title}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if modes.autocast is not None:
        x1, x2 = modes.autocast.cast("cdist", (x1, x2))
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode.removeprefix("donot_") not in ("use_mm_for_euclid_dist", "use_mm_for_euclid_dist_if_necessary"):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if modes.autocast is not None:
        x1, x2 = modes.autocast.cast("cdist", (x1, x2))
    by_products = max(x1.shape[-2], x2.shape[-2]) > 25 if compute_mode[-9:] == "necessary" else compute_mode[:3] == "use"
    if not (p == 2 and by_products):
        _refuse_halves("cdist", x1)
    if x1.payload.dtype != x2.payload.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.title} but found {x2.dtype.title}")
    if p == 2:
        from autolab.rules.matrix import distances  # loaded when first used, as all of linear algebra

        return apply(distances, (x1, x2), {"by_products": by_products})
    return reduce.norm(shape.unsqueeze(x1, -2) - shape.unsqueeze(x2, -3), p, -1)


@public()
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-distances between all pairs of rows of a matrix, in one dim: (n, k) -> (n * (n - 1) / 2,).

    Raises RuntimeError for anything but a matrix, and for a negative p.

    >>> pdist(tensor([[0., 0.], [3., 4.], [0., 4.]]))
    tensor([5., 4., 3.])
    """
    if require_tensor(input, "pdist").ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input.payload.dtype not in dtypes.FLOATING:
        raise RuntimeError(f"pdist only supports floating-point dtypes, but got {input.dtype.title}. Convert first: t.float().")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if modes.autocast is not None:
        (input,) = modes.autocast.cast("pdist", (input,))
    if input.shape[0] > 1:
        _refuse_halves("pdist", input)
    first, second = np.triu_indices(input.shape[0], 1)
    one, other = (index.index_select(input, 0, new_tensor(i.astype(np.int64))) for i in (first, second))
    return reduce.norm(one - other, p, -1)


def _refuse_halves(function: str, x: Tensor) -> None:
    """Distances want more digits than 16 bits have. Those of no entries pass."""
    if x.payload.dtype in dtypes.NARROW and x.payload.size:
        raise NotImplementedError(f"\"{function}\" not implemented for '{x.dtype.title}'. Convert first: t.float().")


@public(method=True, inplace=True, out=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2. Shapes broadcast.

    >>> addcmul(tensor([1., 1.]), tensor([1., 2.]), tensor([3., 4.]), value=10)
    tensor([31., 81.])
    """
    return _fused(arithmetic.addcmul, input, tensor1, tensor2, older, value)


@public(method=True, inplace=True, out=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2. Shapes broadcast. Raises RuntimeError for a quotient of integers.

    >>> addcdiv(tensor([1., 1.]), tensor([1., 2.]), tensor([2., 4.]), value=10)
    tensor([6., 6.])
    """
    return _fused(arithmetic.addcdiv, input, tensor1, tensor2, older, value)


def _fused(row: Op, input: Tensor, tensor1: Tensor, tensor2: Tensor, older: Any, value: Any) -> Tensor:
    if older:
        newer = f"{row.name}(input, tensor1, tensor2, *, value=1)"
        (input, tensor1, tensor2), (value,) = numbers_last(row.name, (input, tensor1, tensor2, *older), 3, newer)
    for position, (name, t) in enumerate((("input", input), ("tensor1", tensor1), ("tensor2", tensor2)), 1):
        require_tensor(t, row.name, name, position)
    if isinstance(value, float) and all(t.payload.dtype not in dtypes.INEXACT for t in (input, tensor1, tensor2)):
        value = int(value)
    return apply(row, (input, tensor1, tensor2), {"value": value})
