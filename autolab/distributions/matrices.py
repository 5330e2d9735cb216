"""Normal vectors with few directions of correlation, and distributions over covariances and correlations."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

from autolab import linalg
from autolab.distributions import constraints
from autolab.distributions.continuous import Chi2
from autolab.distributions.distribution import Distribution, together
from autolab.distributions.exp_family import ExponentialFamily
from autolab.distributions.multivariate import Beta, factor_of, half_log_det
from autolab.distributions.utils import lazy_property
from autolab.special import multigammaln
from autolab.torch_api.creation import arange, eye, tensor
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.joining import broadcast_shapes
from autolab.torch_api.pointwise import where
from autolab.torch_api.random import randn
from autolab.torch_api.shape import broadcast_tensors, cat


class LowRankMultivariateNormal(Distribution):
    """A normal vector whose covariance is cov_factor @ cov_factor.mT + diag(cov_diag): few directions, and noise in each entry.

    Shapes: loc and cov_diag (..., K), cov_factor (..., K, R), draws (..., K). Only matrices of R by R are factored, by Woodbury's identity.

    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m, and has {cov_factor.shape}")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}, and has {cov_diag.shape}")
        try:
            batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError:
            shapes = f"loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            raise ValueError(f"Incompatible batch shapes: {shapes}") from None
        self.loc, self.cov_diag = loc.expand(*batch, -1), cov_diag.expand(*batch, -1)
        self.cov_factor = cov_factor.expand(*batch, -1, -1)
        self._factor, self._diag = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        self._capacitance_tril = linalg.cholesky(scaled @ cov_factor + eye(cov_factor.shape[-1], dtype=loc.dtype))
        super().__init__(batch, event_shape, validate_args)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return (self._factor.pow(2).sum(-1) + self._diag).expand(self._batch_shape + self._event_shape)

    @property
    def covariance_matrix(self) -> Any:
        """Shape (..., K, K)."""
        return self._whole(self._factor @ self._factor.mT + self._diag.diag_embed())

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        root = self._diag.sqrt().unsqueeze(-1)
        scaled = self._factor / root
        return self._whole(root * linalg.cholesky(scaled @ scaled.mT + eye(scaled.shape[-2], dtype=root.dtype)))

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        part = linalg.solve_triangular(self._capacitance_tril, self._factor.mT / self._diag.unsqueeze(-2), upper=False)
        return self._whole(self._diag.reciprocal().diag_embed() - part.mT @ part)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        along = randn((*shape[:-1], self.cov_factor.shape[-1], 1), dtype=self.loc.dtype)
        return self.loc + (self._factor @ along).squeeze(-1) + self._diag.sqrt() * randn(shape, dtype=self.loc.dtype)

    def _log_det(self) -> Any:
        return 2 * half_log_det(self._capacitance_tril) + self._diag.log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        apart = value - self.loc
        along = (self._factor.mT / self._diag.unsqueeze(-2)) @ apart.unsqueeze(-1)
        tril = self._capacitance_tril.expand(*along.shape[:-2], -1, -1)
        explained = linalg.solve_triangular(tril, along, upper=False).squeeze(-1).pow(2).sum(-1)
        square = (apart.pow(2) / self._diag).sum(-1) - explained
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + square)

    def entropy(self) -> Any:
        found = 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape)


class Wishart(ExponentialFamily):
    """The sum of df outer products of normal vectors with a covariance: matrices that are positive definite.

    Shapes: df (...), larger than K - 1; one of covariance_matrix, precision_matrix and scale_tril (..., K, K); draws (..., K, K).

    >>> torch.distributions.Wishart(tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        named = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        named = {name: matrix for name, matrix in named.items() if matrix is not None}
        if len(named) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = df if hasattr(df, "expand") else tensor(df, dtype=matrix.dtype)
        batch, size = broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-1]
        self.df = df.expand(batch)
        if (self.df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if (self.df < size).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        vars(self)[name] = matrix.expand(*batch, -1, -1)
        self._size = size
        super().__init__(batch, matrix.shape[-2:], validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    @property
    def arg_constraints(self) -> Any:  # type: ignore[override]
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._size - 1),
        }  # fmt: skip

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(*batch_shape, -1, -1)
        return new

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(*self._batch_shape, *self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """That of the normal vectors."""
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._whole(linalg.inv(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT))

    @property
    def mean(self) -> Any:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._size - 1
        return where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """By Bartlett's decomposition. Draws that are singular are made anew, so many times at most (10 by default).

        Warns if there are some.
        """
        drawn = self._bartlett(sample_shape)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            singular = ~self.support.check(drawn)
            if not singular.any():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            drawn = where(singular[..., None, None], self._bartlett(sample_shape), drawn)
        return drawn

    def _bartlett(self, sample_shape: Any) -> Any:
        free = self.df.unsqueeze(-1) - arange(self._size, dtype=self._unbroadcasted_scale_tril.dtype)
        diagonal = Chi2(free, validate_args=False).rsample(sample_shape).sqrt()
        noise = randn(self._extended_shape(sample_shape), dtype=diagonal.dtype).tril(-1)
        root = self._unbroadcasted_scale_tril @ (noise + diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed())
        return root @ root.mT

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        nu, p, tril = self.df, self._size, self._unbroadcasted_scale_tril
        inverse = linalg.inv(tril)
        trace = (inverse.mT @ inverse * value).sum((-2, -1))
        normalizer = nu * (p * math.log(2) / 2 + half_log_det(tril)) + multigammaln(nu / 2, p)
        return (nu - p - 1) / 2 * linalg.slogdet(value)[1] - trace / 2 - normalizer

    def entropy(self) -> Any:
        nu, p = self.df, self._size
        digammas = ((nu / 2).unsqueeze(-1) - arange(p, dtype=nu.dtype) / 2).digamma().sum(-1)
        scale = (p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
        return scale + multigammaln(nu / 2, p) - (nu - p - 1) / 2 * digammas + nu * p / 2

    _natural_params = property(lambda self: (-self.precision_matrix / 2, (self.df - self._size - 1) / 2))

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        half, p = y + (self._size + 1) / 2, self._size
        return half * (p * math.log(2) - linalg.slogdet(-2 * x)[1]) + multigammaln(half, p)


class LKJCholesky(Distribution):
    """Cholesky factors of correlations of `dim` variables: a concentration above 1 prefers weak ones, 1 makes all equally likely.

    Shapes: concentration (...), draws (..., dim, dim). Source: Lewandowski, Kurowicka and Joe 2009, section 3.

    >>> torch.distributions.LKJCholesky(3).sample().square().sum(-1)  # rows of length 1
    tensor([1.0000, 1.0000, 1.0000])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = together(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        dtype, n = self.concentration.dtype, self.dim
        tiny = finfo(dtype).tiny
        above = cat([arange(1, dtype=dtype), arange(n - 1, dtype=dtype)])  # rows above each, but the first
        last = self.concentration.detach().unsqueeze(-1) + 0.5 * (n - 2) - 0.5 * above
        first, last = broadcast_tensors(above + 0.5, last)
        share = Beta(first, last, validate_args=False).sample(sample_shape).unsqueeze(-1)  # how much of a row is off the diagonal
        direction = randn(self._extended_shape(sample_shape), dtype=dtype).tril(-1)
        row = share.sqrt() * direction / direction.square().sum(-1, True).sqrt().clamp(min=tiny)  # the first row stays 0
        return row + (1 - row.square().sum(-1)).clamp(min=tiny).sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, eta = self.dim, self.concentration
        powers = 2 * (eta - 1).unsqueeze(-1) + n - arange(2, n + 1)
        half = eta + 0.5 * (n - 1)
        normalizer = 0.5 * (n - 1) * math.log(math.pi) + multigammaln(half - 0.5, n - 1) - (n - 1) * half.lgamma()
        return (powers * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1) - normalizer
