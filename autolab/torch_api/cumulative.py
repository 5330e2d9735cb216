"""Differences, integrals and moments of series of numbers, made of other functions."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from autolab import dtypes
from autolab.engine.tensor import Tensor, new_tensor
from autolab.rules import input_checks
from autolab.torch_api.complex_numbers import complex
from autolab.torch_api.dims import axis_of, require_tensor, to_floats
from autolab.torch_api.layout import forget_base, returns_fresh_memory
from autolab.torch_api.pointwise import clamp, clone, div, pow, to
from autolab.torch_api.public import method, public
from autolab.torch_api.reduce import cumsum, mean, norm, sum
from autolab.torch_api.shape import cat, movedim


def _narrowed(x: Tensor, axis: int, start: int, stop: int | None) -> Tensor:
    """A range of entries along one axis."""
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop),)]


@public(method=True, out=True)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """The differences between neighbours along dim, n times over; of bools, whether they differ.

    Shapes: (..., n, ...) gives (..., n - 1, ...) for each time. Raises RuntimeError for a 0-d tensor, and for a negative n.

    >>> diff(tensor([1, 4, 9]))
    tensor([3, 5])
    """
    axis = axis_of(dim, require_tensor(input, "diff").ndim)
    if axis is None:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    ends = [("prepend", prepend), ("append", append)]
    for _, end in ends:
        if end is not None and end.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    parts = [p for p in (prepend, input, append) if p is not None]
    for part in parts:
        for a in range(-input.ndim, 0):
            if a != axis and part.shape[a] != input.shape[a]:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
                    f"input.size({a + input.ndim}) = {input.shape[a]}, but got tensor.size({a + input.ndim}) = {part.shape[a]}"
                )
    x: Any = cat(parts, axis) if len(parts) > 1 else input
    x = x if n else input
    for _ in range(builtins.min(n, x.shape[axis])):
        later, earlier = _narrowed(x, axis, 1, None), _narrowed(x, axis, 0, -1)
        x = later != earlier if x.payload.dtype == np.bool_ else later - earlier
    return clone(x) if x is input else x


@public()
@returns_fresh_memory
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative along each dim of a function given by samples: central differences inside, one-sided ones at the ends.

    spacing: one distance, one for each dim, or the coordinates along each dim as 1-d tensors.

    Raises RuntimeError for a dim that is too short, for spacings that do not fit, and for bools.

    >>> gradient(tensor([0., 1., 4., 9.]))
    (tensor([1., 2., 4., 5.]),)
    """
    x: Any = require_tensor(input, "gradient")
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, but got edge_order={edge_order}")
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    axes = [axis_of(d, x.ndim) for d in dims]
    for a in axes:
        if axes.count(a) > 1:
            raise RuntimeError(f"dim {a + x.ndim} appears multiple times in the list of dims")
    spacing = 1 if spacing is None else spacing
    many = isinstance(spacing, list | tuple)
    spacings = list(spacing) if many else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'dim', but got {len(spacings)}"
        )
    for a, h in zip(axes, spacings):
        if isinstance(h, Tensor) and h.ndim == 1 and h.shape[0] != x.shape[a]:
            raise RuntimeError(
                "torch.gradient expected each spacing tensor to have the same length as the dim it belongs to, but got "
                f"{h.shape[0]} coordinates for {x.shape[a]} entries"
            )
        if x.shape[a] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if isinstance(h, Tensor) and h.ndim:
            input_checks.bools_to_negate(h.payload)
    input_checks.bools_to_subtract(x.payload, x.payload)
    x = to_floats(x)
    wide = to(x, dtypes.float32) if x.payload.dtype in dtypes.NARROW else x  # several steps, rounded once
    return tuple(to(_slope(wide, a, h, edge_order), x.dtype) for a, h in zip(axes, spacings))


def _slope(x: Any, axis: Any, spacing: Any, edge_order: int) -> Tensor:
    n = x.shape[axis]
    x = movedim(x, axis, -1)
    at: Any = spacing if isinstance(spacing, Tensor) and spacing.ndim == 1 else new_tensor(np.arange(n).astype(x.payload.dtype)) * spacing
    at = to(at, x.dtype)
    h = at[1:] - at[:-1]
    steps = (x[..., 1:] - x[..., :-1]) / h
    before, after = h[:-1], h[1:]
    inner = (steps[..., :-1] * after + steps[..., 1:] * before) / (before + after)
    first, last = steps[..., :1], steps[..., -1:]
    if edge_order == 2:  # the slope, at its end, of the parabola through the outer three samples
        first = first - (steps[..., 1:2] - first) * h[0] / (h[0] + h[1])
        last = last + (last - steps[..., -2:-1]) * h[-1] / (h[-1] + h[-2])
    return movedim(cat([first, inner, last], -1), -1, axis)


def _areas(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Any:
    """The areas of the trapezoids between neighbours along dim, which becomes the last one."""
    axis = axis_of(dim, require_tensor(y, name, "y").ndim)
    if y.payload.dtype == np.bool_:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if axis is None:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions" if name == "trapezoid" else
            "slice() cannot be applied to a 0-dim tensor."
        )  # fmt: skip
    line: Any = movedim(y, axis, -1)
    heights = line[..., 1:] + line[..., :-1]
    if x is None:
        return heights * (dx / 2) if not isinstance(dx, Tensor) else heights * dx / 2
    if x.payload.dtype == np.bool_:
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
    at: Any = x
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    else:
        if x.ndim < y.ndim:
            at = x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape))
        at = movedim(at, axis, -1)
    return heights * (at[..., 1:] - at[..., :-1]) / 2


@public(aliases="trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along dim by the trapezoidal rule; samples stand dx apart (default 1), or at x.

    >>> trapezoid(tensor([0., 1., 2.]))
    tensor(2.)
    """
    areas = _areas("trapezoid", y, x, 1 if dx is None else dx, dim)
    return sum(areas, -1)


@public()
@returns_fresh_memory
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integrals along dim up to each sample but the first, by the trapezoidal rule.

    >>> cumulative_trapezoid(tensor([0., 1., 2.]))
    tensor([0.5000, 2.0000])
    """
    axis = axis_of(dim, require_tensor(y, "cumulative_trapezoid", "y").ndim)
    areas = _areas("cumulative_trapezoid", y, x, 1 if dx is None else dx, dim)
    return movedim(cumsum(areas, -1), -1, axis)


@public(method=True)
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables (rows) over observations (columns), weighted by how often and how much they count.

    Shapes: input (V, N) for V variables and N observations, or (N,); result (V, V) or (). Raises RuntimeError for more dims, bools, and
    weights that do not fit.

    >>> cov(tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x: Any = require_tensor(input, "cov")
    if x.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions")
    if x.payload.dtype == np.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = x.reshape(1, -1) if x.ndim < 2 else x
    n = x.shape[1]
    weights: Any = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.ndim > 1:
            raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions")
        floats = w.payload.dtype in dtypes.FLOATING
        if name == "fweights" and (floats or w.payload.dtype == np.bool_):
            raise RuntimeError(f"cov(): expected fweights to have integral dtype but got fweights with {w.dtype.title} dtype")
        if name == "aweights" and not floats:
            raise RuntimeError(f"cov(): expected aweights to have floating point dtype but got aweights with {w.dtype.title} dtype")
        if w.payload.size != n:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.payload.size} != {n}"
            )
        if (w.all_numbers() < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
        weights = w if weights is None else weights * w
    x = to_floats(x)
    if weights is None:
        total: Any = n
        average = mean(x, 1, True)
    else:
        total = sum(weights)
        if n and not np.all(total.all_numbers() != 0):
            raise ZeroDivisionError("cov(): weights sum to zero, can't be normalized")
        average = sum(x * weights, 1, True) / total
    if aweights is None or correction == 0:
        free = total - correction
    else:
        free = total - correction * sum(weights * aweights) / total
    free = clamp(free, min=0) if isinstance(free, Tensor) else builtins.max(free, 0)
    apart = x - average
    scaled = apart if weights is None else apart * weights
    out = div(apart @ scaled.mH, free)
    return out.reshape(()) if x.shape[0] == 1 else out


@public(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables (rows) over observations (columns), within [-1, 1].

    Of complex numbers, both parts lie within [-1, 1].

    Shapes: input (V, N), or (N,); result (V, V), or (). Raises RuntimeError for more dims.

    >>> corrcoef(tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if require_tensor(input, "corrcoef").ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
    c: Any = cov(input)
    if c.ndim == 0:
        return c / c
    variances = c.diagonal()
    spread = pow(variances.real if c.is_complex() else variances, 0.5)
    c = c / spread.reshape(-1, 1) / spread
    return complex(clamp(c.real, -1, 1), clamp(c.imag, -1, 1)) if c.is_complex() else clamp(c, -1, 1)


@public(method=True, out=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other.

    Shapes: both broadcast; the result is a number.

    >>> dist(tensor([0., 0.]), tensor([3., 4.]))
    tensor(5.)
    """
    require_tensor(other, "dist", "other", 2)
    return norm(require_tensor(input, "dist") - other, p)


@public(method=True, inplace=True, out=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along dim whose p-norm exceeds maxnorm, scaled down to it.

    Raises RuntimeError for fewer than two dims, p <= 0, or maxnorm < 0.

    >>> renorm(tensor([[3., 4.], [0.3, 0.4]]), p=2, dim=0, maxnorm=1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    x: Any = require_tensor(input, "renorm")
    if x.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {x.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = axis_of(dim, x.ndim)
    size: Any = norm(x, p, [a for a in range(-x.ndim, 0) if a != axis], True)
    too_long = size > maxnorm
    return x * (maxnorm / (size + 1e-7)).where(too_long, new_tensor(np.ones((), x.payload.dtype)[()]))


@method
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the dims along which a tensor of this size would have been stretched to the input's shape.

    Raises RuntimeError if this size does not broadcast to the input's shape.

    >>> ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    if not shape:
        return sum(input)
    extra = input.ndim - len(shape)
    if extra < 0 or any(m not in (1, n) for m, n in zip(shape, input.shape[builtins.max(extra, 0) :])):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(input.shape)}}}.")
    dims = [d for d, n in enumerate(input.shape) if d < extra or (shape[d - extra] == 1 and n != 1)]
    return forget_base(sum(input, dims, True).reshape(shape)) if dims else input
