"""Transforms of matrices, of shapes, of pieces, and by a distribution function."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from autolab import linalg
from autolab.distributions import constraints
from autolab.distributions.transform import Transform, summed
from autolab.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from autolab.nn import functional as F
from autolab.size import Size
from autolab.torch_api.creation import eye
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.shape import cat, stack


class ReshapeTransform(Transform):
    """The same numbers, with `in_shape` as the last dims of an argument and `out_shape` as those of a result.

    Raises ValueError if the two have different numbers of entries.

    >>> torch.distributions.transforms.ReshapeTransform((4,), (2, 2))(torch.zeros(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"in_shape, out_shape have different numbers of elements: {self.in_shape} and {self.out_shape}")

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        """With out_shape in the place of in_shape."""
        return _ends(shape, self.in_shape) + self.out_shape

    def inverse_shape(self, shape: Any) -> Any:
        """With in_shape in the place of out_shape."""
        return _ends(shape, self.out_shape) + self.in_shape


def _ends(shape: Any, end: Size) -> Size:
    """What comes before this end of a shape."""
    cut = len(shape) - len(end)
    if cut < 0:
        raise ValueError(f"Too few dimensions on input: {Size(shape)} does not end with {end}")
    if tuple(shape[cut:]) != tuple(end):
        raise ValueError(f"Shape mismatch: expected {end} but got {Size(shape[cut:])}")
    return Size(shape[:cut])


class LowerCholeskyTransform(Transform):
    """A square matrix to a lower triangle whose diagonal is positive: that of the exponentials.

    >>> torch.distributions.transforms.LowerCholeskyTransform()(tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """A square matrix to a positive definite one: L @ L.mT, L that of LowerCholeskyTransform.

    >>> torch.distributions.transforms.PositiveDefiniteTransform()(tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform()._inverse(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of D correlations: lower triangles whose rows have length 1.

    tanh of a number says how much of what is left of a row's length an entry takes; the diagonal takes the rest.

    >>> torch.distributions.transforms.CorrCholeskyTransform()(torch.zeros(3))
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """

    bijective, domain, codomain = True, constraints.real_vector, constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        taken = vec_to_tril_matrix(x.tanh().clamp(min=eps - 1, max=1 - eps), -1)
        left = F.pad((1 - taken**2).sqrt().cumprod(-1)[..., :-1], (1, 0), value=1)
        return (taken + eye(taken.shape[-1], dtype=x.dtype)) * left

    def _inverse(self, y: Any) -> Any:
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], (1, 0), value=1)
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of x and the entries below the diagonal of y."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        return 0.5 * left.log().sum(-1) - 2 * (x + F.softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """(..., D (D - 1) / 2) to (..., D, D)."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input: one at least is needed")
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {shape[-1]} is not D (D - 1) / 2 for any D")
        return Size(shape[:-1]) + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        """(..., D, D) to (..., D (D - 1) / 2)."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input: a matrix is needed")
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {Size(shape)}")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class _OfParts(Transform):
    """Other transforms for other parts along a dim."""

    transforms: list[Transform]
    dim: int

    bijective = property(lambda self: all(t.bijective for t in self.transforms), doc="Whether all are.")

    def _cut(self, x: Any) -> Any:
        """The parts of a tensor."""
        raise NotImplementedError

    def _put(self, parts: list[Any]) -> Any:
        """The tensor of these parts."""
        raise NotImplementedError

    def _call(self, x: Any) -> Any:
        return self._put([t(part) for t, part in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._put([t._inverse(part) for t, part in zip(self.transforms, self._cut(y), strict=True)])

    def _stretches(self, x: Any, y: Any) -> list[Any]:
        return [t.log_abs_det_jacobian(*pair) for t, *pair in zip(self.transforms, self._cut(x), self._cut(y), strict=True)]


class CatTransform(_OfParts):
    """One transform for each piece along a dim, as `cat` joins them; the pieces have `lengths`, or 1 each.

    >>> t = torch.distributions.transforms
    >>> t.CatTransform([t.ExpTransform(), t.identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, tseq: Iterable[Transform], dim: int = 0, lengths: Iterable[int] | None = None, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms), doc="The largest.")
    length = property(lambda self: sum(self.lengths), doc="That of all pieces.")

    @property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _cut(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != self.length:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal length {self.length}")
        return x.split(self.lengths, self.dim)

    def _put(self, parts: list[Any]) -> Any:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pairs = zip(self._stretches(x, y), self.transforms, strict=True)
        found = [summed(stretch, self.event_dim - t.event_dim) for stretch, t in pairs]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(found, dim) if dim < 0 else sum(found)


class StackTransform(_OfParts):
    """One transform for each index along a dim, as `stack` lays them.

    >>> t = torch.distributions.transforms
    >>> t.StackTransform([t.ExpTransform(), t.identity_transform])(torch.zeros(2, 3))
    tensor([[1., 1., 1.],
            [0., 0., 0.]])
    """

    def __init__(self, tseq: Iterable[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim

    @property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _cut(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal len(transforms) {len(self.transforms)}")
        return x.unbind(self.dim)

    def _put(self, parts: list[Any]) -> Any:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return stack(self._stretches(x, y), self.dim)


class CumulativeDistributionTransform(Transform):
    """The probability of at most x under a distribution: what copulas are made of.

    >>> d = torch.distributions
    >>> d.CumulativeDistributionTransform(d.Normal(0.0, 1.0))(tensor(0.0))
    tensor(0.5000)
    """

    bijective, codomain, sign = True, constraints.unit_interval, 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support, doc="The support of the distribution.")

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)
