"""Functions that make fewer numbers out of many."""

from __future__ import annotations

import builtins
import warnings
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor
from autolab.rules import reduce as rows
from autolab.torch_api.dims import Dims, axes_of, axis_of, refuse, require_floats, require_tensor, to_floats, whole
from autolab.torch_api.named_results import named
from autolab.torch_api.pointwise import clone, maximum, minimum, to
from autolab.torch_api.public import declare, public

ALL: dict[str, Any] = {"axis": None, "keepdims": False}


def _reduce(row: Op, input: Tensor, dim: Any, keepdim: bool, **settings: Any) -> Tensor:
    require_tensor(input, row.name)
    if dim is None and not keepdim and not settings:
        return row.run(input, settings=ALL)
    axis = axes_of(dim, input.ndim)
    if axis is None and dim is not None and row in (rows.sum, rows.mean):  # all dims, but along dims: SumBackward1
        axis = tuple(range(-input.ndim, 0))
    return apply(row, (input,), {"axis": axis, "keepdims": keepdim, **settings})


@public(method=True, out=True)
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all entries, or along dim(s). Integers and bools are summed as int64.

    Shapes: (n, m) along dim 0 gives (m,), or (1, m) with keepdim; so for all functions of this kind.

    >>> sum(tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """
    require_tensor(input, "sum")
    if dtype is not None:
        input = to(input, dtype)
    elif input.payload.dtype not in dtypes.INEXACT:
        input = to(input, dtypes.int64)
    return _reduce(rows.sum, input, dim, keepdim)


@public(method=True, out=True)
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of all entries, or along dim(s). Raises RuntimeError for integers.

    >>> mean(tensor([[1., 2.], [3., 4.]]), dim=1)
    tensor([1.5000, 3.5000])
    """
    require_tensor(input, "mean")
    if dtype is not None:
        input = to(input, dtype)
        if input.payload.dtype not in dtypes.INEXACT:
            raise RuntimeError(
                "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
                f"Got: {input.dtype.title}"
            )
    if input.payload.dtype not in dtypes.INEXACT:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype.title}. Convert it first: t.float().mean()."
        )
    return _reduce(rows.mean, input, dim, keepdim)


def _spread(row: Op, name: str, doc: str) -> Any:
    def function(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
                 correction: float | None = None) -> Any:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        if require_tensor(input, name).payload.dtype not in dtypes.INEXACT:
            raise RuntimeError(
                f"std and var only support floating point and complex dtypes, but got {input.dtype.title}. "
                f"Convert it first: t.float().{name}()."
            )
        result = _reduce(row, input, dim, keepdim, correction=correction)
        first = result[0] if isinstance(result, tuple) else result
        if first.payload.size and input.payload.size // first.payload.size <= correction:
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                "(input numel divided by output numel).",
                UserWarning,
                stacklevel=2,
            )
        return result

    single = name in ("var", "std")
    return declare(function, name, doc, method=single, out=single)


var = _spread(
    rows.var,
    "var",
    """Variance over all entries or along dim(s), divided by n - correction (default 1).

>>> var(tensor([1., 2., 3., 4.])), var(tensor([1., 2., 3., 4.]), correction=0)
(tensor(1.6667), tensor(1.2500))
""",
)
std = _spread(
    rows.std,
    "std",
    """Standard deviation over all entries or along dim(s): the root of `var`.

>>> std(tensor([[1., 3.], [2., 6.]]), dim=1)
tensor([1.4142, 2.8284])
""",
)
var_mean = _spread(
    rows.var_mean,
    "var_mean",
    """(var, mean), of all entries or along dim(s); arguments as for `var`.

>>> var_mean(tensor([1., 2., 3.]))
(tensor(1.), tensor(2.))
""",
)
std_mean = _spread(
    rows.std_mean,
    "std_mean",
    """(std, mean), of all entries or along dim(s); arguments as for `std`.

>>> std_mean(tensor([1., 2., 3.]))
(tensor(1.), tensor(2.))
""",
)


@public(method=True, out=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all entries, or along one dim. Its gradient is right at zeros too.

    >>> prod(tensor([2, 3, 4]))
    tensor(24)
    """
    require_tensor(input, "prod")
    dim = None if dim is None else whole(dim, "prod(): argument 'dim'")
    if dtype is not None:
        input = to(input, dtype)
    elif input.payload.dtype not in dtypes.INEXACT:
        input = to(input, dtypes.int64)
    return _reduce(rows.prod, input, dim, keepdim)


max_result = named("max", "values indices", __name__)
min_result = named("min", "values indices", __name__)


def _extreme(name: str, of_all: Op, along: Op, pairwise: Any, result: Any) -> Any:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return pairwise(input, dim if other is None else other)
        require_tensor(input, name)
        if dim is None:
            _need_entries(name, input, None)
            return apply(of_all, (input,), {})
        axis = axis_of(dim, input.ndim)
        _need_entries(name, input, axis)
        return result(*apply(along, (input,), {"axis": axis, "keepdims": keepdim}))

    function.__name__ = function.__qualname__ = name
    return public(method=True, out=True)(function)


def _need_entries(name: str, input: Tensor, axis: Any, error: type[Exception] = RuntimeError) -> None:
    """Raise PyTorch's error if there is nothing to choose from: in the whole tensor (axis None) or along axes."""
    shape = input.payload.shape
    if 0 not in shape:
        return
    if axis is None:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
            f"argument; the shape is {list(shape)}."
        )
    for a in (axis,) if isinstance(axis, int) else axis:
        if shape[a] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {a + len(shape)} to have non-zero size. The shape is {list(shape)}.")


max = _extreme("max", rows.max_of_all, rows.max_along, maximum, max_result)
max.__doc__ = """The largest entry; or along one dim (values, indices), the first of equals; or of two tensors.

Over the whole tensor ties share the gradient; along a dim the entry at `indices` gets it all. Raises RuntimeError for an empty tensor.

>>> max(tensor([[1., 5.], [3., 2.]]))
tensor(5.)
>>> values, indices = max(tensor([[1., 5.], [3., 2.]]), dim=1)
>>> values, indices
(tensor([5., 3.]), tensor([1, 0]))
"""
min = _extreme("min", rows.min_of_all, rows.min_along, minimum, min_result)
min.__doc__ = """The smallest entry; or along one dim (values, indices), the first of equals; or of two tensors.

Over the whole tensor ties share the gradient; along a dim the entry at `indices` gets it all. Raises RuntimeError for an empty tensor.

>>> min(tensor([[1., 5.], [3., 2.]]))
tensor(1.)
>>> values, indices = min(tensor([[1., 5.], [3., 2.]]), dim=1)
>>> values, indices
(tensor([1., 2.]), tensor([0, 1]))
"""


@public(method=True, out=True)
def amax(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """The largest entries along dim(s); ties share the gradient. Raises RuntimeError for an empty tensor, IndexError for an empty dim.

    >>> amax(tensor([[1., 5.], [3., 2.]]), dim=1)
    tensor([5., 3.])
    """
    _need_entries("amax", require_tensor(input, "amax"), axes_of(dim, input.ndim))
    return _reduce(rows.amax, input, dim, keepdim)


@public(method=True, out=True)
def amin(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """The smallest entries along dim(s); ties share the gradient. Raises RuntimeError for an empty tensor, IndexError for an empty dim.

    >>> amin(tensor([[1., 5.], [3., 2.]]), dim=1)
    tensor([1., 2.])
    """
    _need_entries("amin", require_tensor(input, "amin"), axes_of(dim, input.ndim))
    return _reduce(rows.amin, input, dim, keepdim)


def _where_is(row: Op, name: str, doc: str) -> Any:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        axis = None if dim is None else axis_of(dim, require_tensor(input, name).ndim)
        if require_tensor(input, name).payload.dtype in dtypes.COMPLEX:
            raise RuntimeError(f"{name}(): does not support complex input. Take z.real, z.imag or z.abs().")
        if input.payload.dtype == np.bool_:
            raise RuntimeError(f"{name}(): does not support bool input. Convert it first: t.int().")
        refuse(input, f"{name}_cpu", dtypes.UNSIGNED)
        _need_entries(name, input, axis, IndexError)
        return apply(row, (input,), {"axis": axis, "keepdims": keepdim})

    return declare(function, name, doc, method=True, out=True)


argmax = _where_is(
    rows.argmax,
    "argmax",
    """The index of the largest entry (of the flattened tensor, or along dim); int64.

>>> argmax(tensor([[1., 5.], [3., 2.]])), argmax(tensor([[1., 5.], [3., 2.]]), dim=1)
(tensor(1), tensor([1, 0]))
""",
)
argmin = _where_is(
    rows.argmin,
    "argmin",
    """The index of the smallest entry (of the flattened tensor, or along dim); int64.

>>> argmin(tensor([[1., 5.], [3., 2.]])), argmin(tensor([[1., 5.], [3., 2.]]), dim=1)
(tensor(0), tensor([0, 1]))
""",
)


@public(method=True, out=True)
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether every entry is nonzero (as uint8 for uint8).

    >>> all(tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    return _truth(rows.all, input, dim, keepdim)


@public(method=True, out=True)
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether some entry is nonzero (as uint8 for uint8).

    >>> any(tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    return _truth(rows.any, input, dim, keepdim)


def _truth(row: Op, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if isinstance(dim, list | tuple) and not dim:  # no dim, not all of them, as in PyTorch
        result = input != 0
    else:
        result = _reduce(row, input, dim, keepdim)
    return to(result, dtypes.uint8) if input.payload.dtype == np.uint8 else result


@public(method=True, out=True)
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the entries that are not nan. Integers and bools are summed as int64.

    >>> nansum(tensor([1., nan, 3.]))
    tensor(4.)
    """
    require_tensor(input, "nansum")
    if dtype is not None:
        input = to(input, dtype)
    if input.payload.dtype not in dtypes.INEXACT:
        return sum(input, dim, keepdim)
    return _reduce(rows.nansum, input, dim, keepdim)


@public(method=True, out=True)
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the entries that are not nan. Raises RuntimeError for integers.

    >>> nanmean(tensor([1., nan, 3.]))
    tensor(2.)
    """
    if require_tensor(input, "nanmean").payload.dtype not in dtypes.INEXACT:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.title}")
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input == input, dim, keepdim)


@public(method=True, out=True)
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) along dim(s), without overflow.

    >>> logsumexp(tensor([1000., 1000.]), 0)
    tensor(1000.6932)
    """
    return _reduce(rows.logsumexp, to_floats(require_tensor(input, "logsumexp")), dim, keepdim)


@public(method=True, inplace=True, out=True)
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along dim.

    Shapes: the result has the input's.

    >>> cumsum(tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    require_tensor(input, "cumsum")
    if dtype is not None:
        input = to(input, dtype)
    elif input.payload.dtype not in dtypes.INEXACT:
        input = to(input, dtypes.int64)
    return apply(rows.cumsum, (input,), {"axis": axis_of(dim, input.ndim)})


@public(method=True, inplace=True, out=True)
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along dim. The gradient is right at zeros too.

    >>> cumprod(tensor([1, 2, 3, 4]), 0)
    tensor([ 1,  2,  6, 24])
    """
    require_tensor(input, "cumprod")
    if dtype is not None:
        input = to(input, dtype)
    elif input.payload.dtype not in dtypes.INEXACT:
        input = to(input, dtypes.int64)
    axis = axis_of(dim, input.ndim)
    return clone(input) if axis is None else apply(rows.cumprod, (input,), {"axis": axis})


@public(method=True, out=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log of the running sums of exp(input) along dim, without overflow.

    >>> logcumsumexp(tensor([1000., 1000.]), 0)
    tensor([1000.0000, 1000.6932])
    """
    if require_tensor(input, "logcumsumexp").payload.dtype not in dtypes.COMPLEX:
        require_floats(input, "logcumsumexp_out_cpu")
    axis = axis_of(dim, input.ndim)
    return clone(input) if axis is None else apply(rows.logcumsumexp, (input,), {"axis": axis})


@public(method=True, out=True)
def norm(input: Tensor, p: Any = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The p-norm of all entries, or along dim(s): p is a number, inf, -inf, "fro" (2), or "nuc" for matrices.

    The gradient at 0 is 0. "nuc" is the sum of the singular values; the other norms of matrices are in `linalg`.

    Raises RuntimeError for integers, and for another order.

    >>> norm(tensor([3., 4.]))
    tensor(5.)
    """
    if p == "nuc":
        return _nuclear(input if dtype is None else to(input, dtype), dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): only a number, inf, -inf, 'fro' or 'nuc' can be the order, but got '{p}'")
    if dtype is not None:
        input = to(input, dtype)
    if input.payload.dtype not in dtypes.INEXACT:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.title}. "
            "Convert it first: t.float().norm()."
        )
    ord = 2 if p in (None, "fro") else builtins.float(p)
    return _reduce(rows.norm, input, dim, keepdim, ord=ord)


def _nuclear(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    import autolab.rules.complex_matrix  # noqa: F401  loaded when first used, as all of linear algebra
    from autolab.rules.matrix import svd

    axes = axes_of((0, 1) if dim is None else dim, input.ndim) or ()
    if len(axes) != 2 or (dim is None and input.ndim != 2):
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(axes)} for a tensor of {input.ndim} dims")
    matrices = input.movedim(axes, (-2, -1))
    values = sum(apply(svd, (matrices,), {})[1], -1)
    if keepdim:
        for axis in sorted(a + input.ndim for a in axes):
            values = values.unsqueeze(axis)
    return values


@public(method=True, out=True)
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many entries are not zero.

    >>> count_nonzero(tensor([[0, 1], [2, 3]]), dim=0)
    tensor([1, 2])
    """
    refuse(input, "nonzero_count_cpu", dtypes.UNSIGNED)
    return sum(input != 0, dim)
