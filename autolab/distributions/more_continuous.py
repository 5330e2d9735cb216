"""Numbers in [0, 1] of which images are made, tails beyond a threshold, angles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autolab.distributions import constraints
from autolab.distributions.discrete import _Odds
from autolab.distributions.distribution import Distribution, together
from autolab.distributions.exp_family import ExponentialFamily
from autolab.distributions.utils import clamp_probs
from autolab.nn import functional as F
from autolab.special import i0e, i1e, xlog1py
from autolab.torch_api.creation import tensor
from autolab.torch_api.generator import source
from autolab.torch_api.pointwise import where
from autolab.torch_api.random import rand
from autolab.torch_api.shape import broadcast_tensors


class ContinuousBernoulli(_Odds, ExponentialFamily):
    """A number in [0, 1] with density C probs**x (1 - probs)**(1 - x): what a decoder of grey images says of a pixel.

    Shapes: probs or logits have batch_shape. Between the two `lims`, where the formulas divide 0 by 0, their Taylor series holds.
    Source: Loaiza-Ganem and Cunningham 2019.

    >>> torch.distributions.ContinuousBernoulli(probs=tensor(0.5)).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    probs: Any

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        self._lims = lims
        super().__init__(self.given(probs, logits).shape, validate_args=validate_args)
        if "probs" in vars(self):
            self.probs = clamp_probs(self.probs)

    def _away(self, formula: Any, series: Any) -> Any:
        """The formula of probs away from 1/2, near it the series in powers of probs - 1/2."""
        away = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return where(away, formula(where(away, self.probs, self._lims[0])), series(self.probs - 0.5))

    @property
    def mean(self) -> Any:
        return self._away(lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), lambda d: 0.5 + (1 / 3 + 16 / 45 * d**2) * d)

    @property
    def variance(self) -> Any:
        return self._away(
            lambda p: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2,
            lambda d: 1 / 12 - (1 / 15 - 128 / 945 * d**2) * d**2,
        )

    def _log_constant(self) -> Any:
        """log C = log(2 artanh(1 - 2 p) / (1 - 2 p))"""
        return self._away(
            lambda p: ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log(),
            lambda d: math.log(2) + (4 / 3 + 104 / 45 * d**2) * d**2,
        )

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self._param.dtype))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_tensors(self.logits, value)
        return self._log_constant() - F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        found = self._away(lambda p: (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), lambda d: value)
        return where(value <= 0, 0.0, where(value >= 1, 1.0, found))

    def icdf(self, value: Any) -> Any:
        return self._away(lambda p: ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p()), lambda d: value)

    def entropy(self) -> Any:
        off, on = (-self.probs).log1p(), self.probs.log()
        return self.mean * (off - on) - self._log_constant() - off

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Any) -> Any:
        away = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        far = where(away, x, self._lims[0] - 0.5)
        return where(away, far.expm1().abs().log() - far.abs().log(), 0.5 * x + x**2 / 24 - x**4 / 2880)


class GeneralizedPareto(Distribution):
    """How far beyond a threshold loc a value lies: exponential for a concentration of 0, heavy tailed above, bounded below it.

    Shapes: loc, scale and concentration broadcast to batch_shape. The mean is known for a concentration below 1, the variance below 1/2.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_prob(tensor(2.0))  # the exponential distribution
    tensor(-2.)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = together(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Up to loc - scale / concentration, if that is negative."""
        bounded = self.concentration < 0
        top = where(bounded, self.loc - self.scale / where(bounded, self.concentration, -1.0), math.inf)
        return constraints.interval(self.loc, top)

    def _split(self, formula: Any, limit: Any) -> Any:
        """The formula of the concentration; where that is 0, its limit."""
        zero = self.concentration.isclose(tensor(0.0, dtype=self.concentration.dtype))
        return where(zero, limit, formula(where(zero, 1.0, self.concentration)))

    @property
    def mean(self) -> Any:
        known = self.concentration < 1
        return where(known, self.loc + self.scale / (1 - where(known, self.concentration, 0.5)), math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        known = self.concentration < 0.5
        c = where(known, self.concentration, 0.25)
        return where(known, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -self.scale.log() - self._split(lambda c: xlog1py(1 + 1 / c, c * z), z)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than this value."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -self._split(lambda c: (c * z).log1p() / c, z)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of at most this value."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        left = (-value).log1p()
        return self.loc + self.scale * self._split(lambda c: (-c * left).expm1() / c, -left)

    def entropy(self) -> Any:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)


class VonMises(Distribution):
    """An angle around loc, the normal distribution of the circle: density exp(concentration cos(x - loc)) / (2 pi I0(concentration)).

    Shapes: loc and concentration broadcast to batch_shape. Draws lie in [-pi, pi); mean and variance are those of directions.

    >>> torch.distributions.VonMises(tensor(0.0), tensor(1.0)).log_prob(tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = together(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape, dtype = self._extended_shape(sample_shape), self.loc.dtype
        turn = source(None).vonmises(0.0, self.concentration.expand(shape).numbers().astype("float64"))
        return (tensor(turn + math.pi) + self.loc.detach().double()).remainder(2 * math.pi).sub(math.pi).to(dtype)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()
