"""Distributions whose draws are vectors, and Beta, which is the first half of one."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autolab import linalg
from autolab.distributions import constraints
from autolab.distributions.distribution import Distribution, together
from autolab.distributions.exp_family import ExponentialFamily
from autolab.distributions.standard_gamma import gamma_draws
from autolab.torch_api.creation import eye
from autolab.torch_api.joining import broadcast_shapes
from autolab.torch_api.random import randn
from autolab.torch_api.shape import stack


class MultivariateNormal(Distribution):
    """A normal vector with mean loc and a covariance, given as such, as its inverse (precision) or as its Cholesky factor.

    Shapes: loc (..., K), matrices (..., K, K), draws (..., K).

    >>> torch.distributions.MultivariateNormal(zeros(2), torch.eye(2)).log_prob(zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        named = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        named = {name: matrix for name, matrix in named.items() if matrix is not None}
        if len(named) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        vars(self)[name] = matrix.expand(*batch, -1, -1)
        self.loc = loc.expand(*batch, -1)
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def __getattr__(self, name: str) -> Any:
        if name not in ("scale_tril", "covariance_matrix", "precision_matrix") or "_unbroadcasted_scale_tril" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        tril = self._unbroadcasted_scale_tril
        matrix = tril if name == "scale_tril" else tril @ tril.mT
        matrix = linalg.inv(matrix) if name == "precision_matrix" else matrix
        vars(self)[name] = matrix = matrix.expand(*self._batch_shape, *self._event_shape, *self._event_shape)
        return matrix

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        tril = self._unbroadcasted_scale_tril
        shape = broadcast_shapes((value - self.loc).shape[:-1], tril.shape[:-2])
        d = (value - self.loc).expand(*shape, -1).unsqueeze(-1)
        m = linalg.solve_triangular(tril.expand(*shape, -1, -1), d, upper=False).squeeze(-1).pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + m) - half_log_det(tril)

    def entropy(self) -> Any:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)
        return found.expand(self._batch_shape)


def factor_of(name: str, matrix: Any) -> Any:
    """The Cholesky factor of a covariance, of which a matrix is given under this name."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return linalg.cholesky(matrix)
    turned = linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT  # of the inverse, from that with both axes turned round
    return linalg.solve_triangular(turned, eye(matrix.shape[-1], dtype=matrix.dtype), upper=False)


def half_log_det(tril: Any) -> Any:
    """Half the logarithm of the determinant of tril @ tril.mT."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class Dirichlet(ExponentialFamily):
    """Probabilities of K classes; the larger a concentration, the larger its share.

    Shapes: concentration (..., K); batch_shape (...); draws (..., K), which add up to 1.

    >>> torch.distributions.Dirichlet(tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = gamma_draws(self.concentration, self._extended_shape(sample_shape))
        return drawn / drawn.sum(-1, True)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        spread = ((a - 1.0) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - spread

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """A number in [0, 1]: what concentration1 successes and concentration0 failures say of a probability. Both broadcast to batch_shape.

    >>> torch.distributions.Beta(3.0, 1.0).mean
    tensor(0.7500)
    """

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = together(concentration1, concentration0)
        self._dirichlet = Dirichlet(stack([self.concentration1, self.concentration0], -1), validate_args=False)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return new

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        return (self.concentration1 - 1) / (self.concentration1 + self.concentration0 - 2)

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
