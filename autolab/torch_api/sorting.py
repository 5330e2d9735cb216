"""Functions that put numbers in order, pick one by its rank, find, count and tell apart."""

from __future__ import annotations

import builtins
import functools
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.apply import apply
from autolab.engine.op import Op
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import order as rows
from autolab.torch_api import index as indexing
from autolab.torch_api.dims import BOOLS, HALVES, INTEGERS, axis_of, refuse, refuse_complex, require_tensor
from autolab.torch_api.layout import returns_fresh_memory
from autolab.torch_api.more_pointwise import lerp
from autolab.torch_api.named_results import named
from autolab.torch_api.not_differentiable import mark_not_differentiable
from autolab.torch_api.pointwise import clone, isnan
from autolab.torch_api.public import public
from autolab.torch_api.reduce import amax, amin
from autolab.torch_api.sampling import one_by_one

sort_result = named("sort", "values indices", __name__)
topk_result = named("topk", "values indices", __name__)
kthvalue_result = named("kthvalue", "values indices", __name__)
median_result = named("median", "values indices", __name__)
nanmedian_result = named("nanmedian", "values indices", __name__)
mode_result = named("mode", "values indices", __name__)
cummax_result = named("cummax", "values indices", __name__)
cummin_result = named("cummin", "values indices", __name__)
aminmax_result = named("aminmax", "min max", __name__)
histogram_result = named("histogram", "hist bin_edges", __name__)
histogramdd_result = named("histogramdd", "hist bin_edges", __name__)
results = {
    "sort": sort_result, "topk": topk_result, "kthvalue": kthvalue_result, "median": median_result,
    "nanmedian": nanmedian_result, "mode": mode_result, "cummax": cummax_result, "cummin": cummin_result,
    "aminmax": aminmax_result, "histogram": histogram_result, "histogramdd": histogramdd_result,
}  # fmt: skip


def _along(row: Op, input: Tensor, dim: Any, **settings: Any) -> Any:
    """Run a row that gives values and positions along one dim. A 0-d tensor is its own order."""
    name = row.name.removesuffix("_along")
    axis = axis_of(dim, require_tensor(input, name).ndim)
    if axis is None:
        return results[name](clone(input), new_tensor(np.int64(0)))
    return results[name](*apply(row, (input,), {"axis": axis, **settings}))


def _entries(name: str, input: Tensor, dim: Any) -> None:
    """Raise IndexError if there is nothing to pick along the dim."""
    axis = axis_of(dim, require_tensor(input, name).ndim)
    if axis is not None and input.payload.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis + input.ndim} to have non-zero size. The shape is {list(input.shape)}.")


@public(method=True, out=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """(values, indices) in order along dim; equal entries keep their order, nan is the largest.

    >>> sort(tensor([3, 1, 2])).indices
    tensor([1, 2, 0])
    """
    return _along(rows.sort, input, dim, descending=descending)


@public(method=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along dim.

    Shapes: the result has the input's; int64.

    >>> argsort(tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    axis = axis_of(dim, require_tensor(input, "argsort").ndim)
    if axis is None:
        return new_tensor(np.int64(0))
    return apply(rows.argsort, (input,), {"axis": axis, "descending": descending})


@public(method=True, out=True)
def msort(input: Tensor) -> Tensor:
    """The values in order along dim 0.

    >>> msort(tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    return sort(input, 0)[0]


@public(method=True, out=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) entries along dim, in order, and where they are. Raises RuntimeError for a k out of range.

    >>> topk(tensor([3., 1., 2.]), 2).values
    tensor([3., 2.])
    """
    if require_tensor(input, "topk").payload.dtype == np.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU. Convert it first: t.int().")
    axis = axis_of(dim, input.ndim)
    if not 0 <= k <= (1 if axis is None else input.payload.shape[axis]):
        raise RuntimeError(f"selected index k out of range: k is {k}, and the shape {list(input.shape)}")
    return _along(rows.topk, input, dim, k=k, largest=largest)


@public(method=True, out=True)
def cummax(input: Tensor, dim: int) -> Any:
    """The largest entry so far along dim, and where it is (of equals, the last).

    >>> cummax(tensor([1, 3, 2, 3]), 0)
    torch.return_types.cummax(
    values=tensor([1, 3, 3, 3]),
    indices=tensor([0, 1, 1, 3]))
    """
    return _along(rows.cummax, input, dim)


@public(method=True, out=True)
def cummin(input: Tensor, dim: int) -> Any:
    """The smallest entry so far along dim, and where it is (of equals, the last).

    >>> cummin(tensor([3, 1, 2, 1]), 0)
    torch.return_types.cummin(
    values=tensor([3, 1, 1, 1]),
    indices=tensor([0, 1, 1, 3]))
    """
    return _along(rows.cummin, input, dim)


@public(method=True, out=True)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest entry along dim (k from 1), and where it is. Raises RuntimeError for a k out of range.

    >>> kthvalue(tensor([30, 10, 20]), 2)
    torch.return_types.kthvalue(
    values=tensor(20),
    indices=tensor(2))
    """
    refuse(require_tensor(input, "kthvalue"), "kthvalue_cpu", BOOLS)
    axis = axis_of(dim, input.ndim)
    n = 1 if axis is None else input.payload.shape[axis]
    if n == 0:
        _entries("kthvalue", input, dim)
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}: k is {k} of {n}")
    return _along(rows.kthvalue, input, dim, k=k, keepdims=keepdim)


def _middle(name: str, of_all: Op, along: Op, doc: str, of_nan: str) -> Any:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        refuse(require_tensor(input, name), "median_out" if dim is not None else "median_cpu", BOOLS)
        if dim is None:
            return apply(of_all, (input,), {})
        _entries(name, input, dim)
        return _along(along, input, dim, keepdims=keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} Of two in the middle the lower one; along one dim (values, indices).

Over the whole tensor equal entries share the gradient; along a dim the entry at `indices` gets it all.

>>> {name}(tensor([4., 1., 3., 2.])), {name}(tensor([[1, 9, 5]]), dim=1).values
(tensor(2.), tensor([5]))
>>> {name}(tensor([1., nan, 2.]))
tensor({of_nan})
"""
    return public(method=True)(function)


median = _middle("median", rows.median, rows.median_along, "The entry in the middle, nan if there is one.", "nan")
nanmedian = _middle("nanmedian", rows.nanmedian, rows.nanmedian_along, "The entry in the middle of those that are not nan.", "1.")


@public(method=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent entry along dim (the smallest of several), and where it is.

    >>> mode(tensor([3, 1, 3, 1, 2]), 0)
    torch.return_types.mode(
    values=tensor(1),
    indices=tensor(3))
    """
    _entries("mode", input, dim)
    return _along(rows.mode, input, dim, keepdims=keepdim)


@public(method=True, out=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """(min, max), of all entries or along dim. Ties share the gradient. Raises RuntimeError for an empty tensor.

    >>> aminmax(tensor([[3, 1], [2, 4]]), dim=1)
    torch.return_types.aminmax(
    min=tensor([1, 2]),
    max=tensor([3, 4]))
    """
    if require_tensor(input, "aminmax").payload.size == 0 and dim is None:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if dim is not None:
        _entries("aminmax", input, dim)
    dims: Any = () if dim is None else dim
    return results["aminmax"](amin(input, dims, keepdim), amax(input, dims, keepdim))


@public(method=True, out=True)
@returns_fresh_memory
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The values below which a fraction q (a number or a 1-d tensor) of the entries lies; nan if there is one.

    interpolation between two entries: "linear", "lower", "higher", "nearest" or "midpoint".

    >>> quantile(tensor([1., 2., 3., 4.]), tensor([0., 0.5, 0.9]))
    tensor([1.0000, 2.5000, 3.7000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@public(method=True, out=True)
@returns_fresh_memory
def nanquantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """`quantile` of the entries that are not nan.

    >>> nanquantile(tensor([1., nan, 3.]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def _quantile(name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    if require_tensor(input, name).payload.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.payload.dtype != input.payload.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    share: Any = q if isinstance(q, Tensor) else new_tensor(dtypes.cast(q, input.payload.dtype))
    fraction = share.all_numbers()
    if not np.all((fraction >= 0) & (fraction <= 1)):
        raise RuntimeError(f"{name}() q " + ("must be in the range [0, 1] but got " + str(q) if not isinstance(q, Tensor) else
                                              "values must be in the range [0, 1]"))  # fmt: skip
    axis = axis_of(-1 if dim is None else dim, input.ndim if dim is not None else 1)
    x: Any = input.reshape(-1) if dim is None or axis is None else input.movedim(axis, -1)
    if input.payload.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    x = sort(x)[0]
    n = x.shape[-1]
    lost = isnan(x).sum(-1, keepdim=True).detach()
    last = ((n - lost if name == "nanquantile" else lost * 0 + n) - 1).clamp(min=0).to(input.dtype)
    place = share.detach().reshape(-1) * last
    if name == "quantile":
        place = np.where(lost > 0, last, place)  # the last entry is nan, if one is
    if interpolation in ("lower", "higher", "nearest"):
        rounded: Any = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}[interpolation]
        place = rounded(place)
    low = np.floor(place)
    out = indexing.gather(x, -1, low.long())
    if interpolation in ("linear", "midpoint"):
        high = indexing.gather(x, -1, np.ceil(place).long())
        # place - low, so that q, too, gets its gradient
        weight = 0.5 if interpolation == "midpoint" else share.reshape(-1) * last - low
        out = lerp(out, high, weight)
    if isinstance(q, Tensor) and q.ndim:
        out = out.movedim(-1, 0)
    else:
        out = out.squeeze(-1)
    if keepdim and input.ndim:
        if dim is None:
            out = out.reshape(*out.shape, *(1,) * input.ndim)
        else:
            out = out.unsqueeze(axis)  # type: ignore[arg-type]
    return out


@public(out=True)
@one_by_one
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                 sorter: Any = None) -> Tensor:  # fmt: skip
    """Where the values would have to be inserted to keep the last dim of the sequence in order.

    Before equal entries, or behind them if `right`. All dims but the last must match, unless the sequence is 1-d. dtypes promote.

    Raises RuntimeError for shapes that do not fit, NotImplementedError for bools and complex numbers.

    >>> searchsorted(tensor([1, 3, 5]), 4)
    tensor(2)
    """
    require_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    common = dtypes.result_type([sorted_sequence.payload, input.payload if isinstance(input, Tensor) else input])
    s, v = dtypes.cast(sorted_sequence.numbers(), common), dtypes.cast(input.numbers() if isinstance(input, Tensor) else input, common)
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    if s.ndim == 0:
        raise RuntimeError("torch.searchsorted(): input value can be a scalar only when sorted tensor dimension is 1" if v.ndim == 0 else
                           "torch.searchsorted(): sorted_sequence must have at least one dimension")  # fmt: skip
    if v.size and (common == np.bool_ or common in dtypes.COMPLEX | dtypes.UNSIGNED):
        raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{dtypes.of(common).title}'. Compare integers or floats.")
    if s.ndim > 1 and s.shape[:-1] != v.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundary tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            f"value tensor must match, but we got boundary tensor {list(s.shape)} and input value tensor {list(v.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(s.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.payload.dtype != np.int64:
            raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.title}")
        if sorter.numbers().size and (sorter.numbers().min() < 0 or sorter.numbers().max() >= s.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        s = np.take_along_axis(s, sorter.numbers(), -1)
    at: Any = "right" if right or side == "right" else "left"
    if s.ndim == 1:
        found = np.searchsorted(s, v, at)
    elif not s.size or not v.size:
        found = np.zeros(v.shape, np.int64)
    else:
        pairs = zip(s.reshape(-1, s.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True)
        found = np.array([np.searchsorted(a, b, at) for a, b in pairs]).reshape(v.shape)
    return new_tensor(np.asarray(found).astype(np.int32 if out_int32 else np.int64)[()])


@public(out=True)
@one_by_one
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The bucket between sorted boundaries (1-d) that each value falls into.

    Bucket i is (boundaries[i - 1], boundaries[i]], or with `right` [boundaries[i - 1], boundaries[i]). Raises RuntimeError for
    boundaries that are not a vector.

    >>> bucketize(tensor([0, 3, 9]), tensor([1, 3, 5]))
    tensor([0, 1, 3])
    >>> bucketize(tensor([0, 3, 9]), tensor([1, 3, 5]), right=True)
    tensor([0, 2, 3])
    """
    if require_tensor(boundaries, "bucketize", "boundaries", 2).ndim != 1:
        raise RuntimeError(f"torch.bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(method=True)
@one_by_one
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2 ... occurs in a 1-d tensor of natural numbers; or the sums of their weights.

    Raises RuntimeError for negative numbers, NotImplementedError for floats.

    >>> bincount(tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    a = require_tensor(input, "bincount").numbers()
    if a.dtype in dtypes.FLOATING or a.dtype == np.bool_ or a.dtype in dtypes.UNSIGNED:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.title}'. It counts integers.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if a.ndim != 1 or (a < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return new_tensor(dtypes.as_places(np.bincount(a, minlength=minlength)))
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    w = weights.numbers()
    return new_tensor(np.bincount(a, w, minlength).astype(w.dtype if w.dtype == np.float32 else np.float64))


def _range(name: str, a: Any, low: float, high: float, room: float) -> tuple[float, float]:
    """The range of a histogram: as given, or from the smallest to the largest entry; never empty."""
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min" if name == "torch.histc" else f"{name}: min should not exceed max")
    if low == high and a.size:
        low, high = builtins.float(a.min()), builtins.float(a.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    return (low - room, high + room) if low == high else (low, high)


@public(method=True, out=True)
@one_by_one
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many entries fall into each of `bins` equal parts of [min, max] (0, 0: of their own range).

    Raises RuntimeError for fewer than one part.

    >>> histc(tensor([0., 1., 1., 4.]), bins=4, min=0, max=4)
    tensor([1., 2., 0., 1.])
    """
    refuse_complex(require_tensor(input, "histc"), "aminmax_cpu")
    refuse(input, "histogram_cpu", INTEGERS | dtypes.UNSIGNED)
    a = input.numbers()
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _range("torch.histc", a, min, max, 1)
    return new_tensor(np.histogram(a, bins, (low, high))[0].astype(a.dtype))


@public(method=True)
@one_by_one
def histogram(input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """(hist, bin_edges): counts, or sums of weights, in `bins` equal parts of a range, or between the edges that bins lists.

    Raises RuntimeError for fewer than one part.

    >>> histogram(tensor([0., 1., 1., 4.]), bins=2)
    torch.return_types.histogram(
    hist=tensor([3., 1.]),
    bin_edges=tensor([0., 2., 4.]))
    """
    refuse(require_tensor(input, "histogram"), "histogramdd", INTEGERS if isinstance(bins, Tensor) else INTEGERS | HALVES)
    a = input.numbers()
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError("histogramdd(): if weight tensor is provided it should have the same shape as the input tensor")
    if isinstance(bins, Tensor):
        edges = bins.numbers()
    else:
        if bins <= 0:
            raise RuntimeError(f"histogram(): bins must be > 0, but got {bins} for dimension 0")
        low, high = _range("histogram()", a, *(range or (0.0, 0.0)), 0.5)  # type: ignore[call-arg]
        edges = np.linspace(low, high, bins + 1)
    w = None if weight is None else weight.numbers().reshape(-1)
    found = np.histogram(a.reshape(-1), edges, weights=w, density=density)[0]
    return results["histogram"](new_tensor(found.astype(a.dtype)), new_tensor(edges.astype(a.dtype)))


@public()
def histogramdd(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """(hist, list of bin_edges) of points: input (..., D), hist with one dim for each coordinate.

    bins: a number, one for each coordinate, or the edges of each as tensors; range: lowest and highest of each, one after the other.

    Raises RuntimeError for fewer than two dims, and for bins that do not fit.

    >>> hist, edges = histogramdd(tensor([[0., 0.], [1., 1.], [1., 0.]]), bins=[2, 2])
    >>> hist
    tensor([[1., 0.],
            [1., 1.]])
    """
    refuse(require_tensor(input, "histogramdd"), "histogramdd", INTEGERS)
    a = input.numbers()
    if a.ndim < 2:
        raise RuntimeError("histogramdd(): input tensor should have at least 2 dimensions")
    points = a.reshape(-1, a.shape[-1])
    bins = [bins] * a.shape[-1] if isinstance(bins, int) else list(bins)
    if len(bins) != a.shape[-1]:
        raise RuntimeError(
            f"histogramdd: The size of bins must be equal to the innermost dimension of the input. {len(bins)} are given for {a.shape[-1]}"
        )
    edges = []
    for k, b in enumerate(bins):
        if isinstance(b, Tensor):
            edges.append(b.numbers())
            continue
        low, high = (0.0, 0.0) if range is None else range[2 * k : 2 * k + 2]
        edges.append(np.linspace(*_range("histogramdd()", points[:, k], low, high, 0.5), b + 1))
    inside = np.all([(x >= e[0]) & (x <= e[-1]) for x, e in zip(points.T, edges)], axis=0)
    places = [np.minimum(np.searchsorted(e, x[inside], "right") - 1, len(e) - 2) for x, e in zip(points.T, edges)]
    found = np.zeros([len(e) - 1 for e in edges])
    np.add.at(found, tuple(places), 1 if weight is None else weight.numbers().reshape(-1)[inside])
    if density:
        found = found / found.sum() / functools.reduce(np.multiply.outer, [np.diff(e) for e in edges])
    return results["histogramdd"](new_tensor(found.astype(a.dtype)), [new_tensor(e.astype(a.dtype)) for e in edges])


@public()
@one_by_one
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each of the elements is among the test elements. One of the two may be a number.

    Shapes: the result has that of the elements.

    >>> isin(tensor([1, 2, 3]), tensor([2, 5]))
    tensor([False,  True, False])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError(f"isin(): argument 'elements' (position 1) must be Tensor, not {type(elements).__name__}")
    a, b = (np.asarray(t.payload if isinstance(t, Tensor) else t) for t in (elements, test_elements))
    if a.dtype == np.bool_ or b.dtype == np.bool_:
        raise RuntimeError("Unsupported input type encountered for isin(): Bool. Convert them first: t.int().")
    if a.dtype in dtypes.UNSIGNED or b.dtype in dtypes.UNSIGNED:
        found = dtypes.of(a.dtype if a.dtype in dtypes.UNSIGNED else b.dtype)
        raise NotImplementedError(f"\"isin_default_cpu\" not implemented for '{found.title}'. Convert it first: t.long().")
    return new_tensor(np.isin(a, b, invert=invert)[()])


@public(method=True)
@one_by_one
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The different entries in order, or the different slices along dim; on request where each entry went, and the counts.

    Raises IndexError for a dim that is not there.

    >>> unique(tensor([3, 1, 3]))
    tensor([1, 3])
    """
    refuse_complex(require_tensor(input, "unique"), "unique")
    a = input.numbers()
    axis = None if dim is None else axis_of(dim, a.ndim)
    if dim is not None and axis is None:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if axis is not None and 0 in np.delete(a.shape, axis):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    inverse = inverse.reshape(a.shape if dim is None else -1)
    made = _asked(values, inverse, counts, return_inverse, return_counts)
    return _without_derivative(made, input, *(("_unique2", "Unique2Backward0") if dim is None else ("unique_dim", "UniqueDimBackward0")))


@public(method=True)
@one_by_one
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The entries (or slices along dim) without those that equal the one before.

    >>> unique_consecutive(tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    a = require_tensor(input, "unique_consecutive").numbers()
    line = a.reshape(-1) if dim is None or not a.ndim else np.moveaxis(a, axis_of(dim, a.ndim) or 0, 0)
    differs = (line[1:] != line[:-1]).any(tuple(range(1, line.ndim)))
    starts = np.concatenate([np.ones(builtins.min(len(line), 1), bool), differs])
    values = line[starts]
    if dim is not None and a.ndim:
        values = np.moveaxis(values, 0, axis_of(dim, a.ndim) or 0)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(np.flatnonzero(starts), len(line)))
    made = _asked(values, inverse.reshape(a.shape) if dim is None else inverse, counts, return_inverse, return_counts)
    return _without_derivative(made, input, "unique_consecutive", "UniqueConsecutiveBackward0")


def _without_derivative(made: Any, input: Tensor, function: str, node: str) -> Any:
    mark_not_differentiable(made[0] if isinstance(made, tuple) else made, (input,), function, node)
    return made


def _asked(values: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool) -> Any:
    found = [values, *([inverse.astype(np.int64)] if with_inverse else []), *([counts.astype(np.int64)] if with_counts else [])]
    made = tuple(new_tensor(np.ascontiguousarray(f)) if f.ndim else new_tensor(f[()]) for f in found)
    return made if len(made) > 1 else made[0]
