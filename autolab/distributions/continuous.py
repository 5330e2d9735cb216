"""Distributions over the real numbers, or a part of them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from autolab.distributions import constraints
from autolab.distributions.distribution import Distribution, epsilon, together
from autolab.distributions.exp_family import ExponentialFamily
from autolab.distributions.standard_gamma import gamma_draws
from autolab.special import gammainc
from autolab.torch_api.creation import empty
from autolab.torch_api.pointwise import where
from autolab.torch_api.random import rand, randn
from autolab.torch_api.shape import broadcast_tensors


class _LocScale(Distribution):
    """loc + scale * noise."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def noise(self, shape: Any) -> Any:
        """Draws of the distribution with loc 0 and scale 1."""
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.noise(self._extended_shape(sample_shape)) * self.scale

    def standard(self, value: Any) -> Any:
        """(value - loc) / scale, checked."""
        self._validate_sample(value)
        return (value - self.loc) / self.scale

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc


class Normal(_LocScale, ExponentialFamily):
    """The bell curve with mean loc and standard deviation scale: density exp(-((x - loc) / scale)**2 / 2) / (scale sqrt(2 pi)).

    Shapes: loc and scale broadcast to batch_shape.

    >>> torch.distributions.Normal(0.0, 1.0).log_prob(tensor(0.0))
    tensor(-0.9189)
    """

    _mean_carrier_measure = 0

    def noise(self, shape: Any) -> Any:
        return randn(shape, dtype=self.loc.dtype)

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + (self.standard(value) / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    _natural_params = property(lambda self: (self.loc / self.scale**2, -0.5 / self.scale**2))

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x**2 / y + 0.5 * (-math.pi / y).log()


class LogNormal(Distribution):
    """exp of a normal number; loc and scale are those of the normal number, and broadcast to batch_shape.

    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.base_dist = Normal(loc, scale, validate_args=validate_args)
        self.loc, self.scale = self.base_dist.loc, self.base_dist.scale
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape)
        return new

    @property
    def mean(self) -> Any:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.base_dist.log_prob(value.log()) - value.log()

    def cdf(self, value: Any) -> Any:
        return self.base_dist.cdf(value.log())

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf(value).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class Laplace(_LocScale):
    """Falls off exponentially on both sides of loc: density exp(-|x - loc| / scale) / (2 scale). loc and scale broadcast to batch_shape.

    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(tensor(0.0))
    tensor(-0.6931)
    """

    def noise(self, shape: Any) -> Any:
        u = rand(shape, dtype=self.loc.dtype) * (2 - epsilon(self.loc)) + (epsilon(self.loc) - 1)
        return -u.sign() * (-u.abs().clamp(min=np.finfo(u.payload.dtype).tiny)).log1p()

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return 2**0.5 * self.scale

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 0.5 - 0.5 * (value - self.loc).sign() * (-(value - self.loc).abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class Cauchy(_LocScale):
    """The ratio of two normal numbers, so wide that it has no mean: density 1 / (pi scale (1 + ((x - loc) / scale)**2)).

    Shapes: loc and scale broadcast to batch_shape.

    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(tensor(1.0))
    tensor(0.7500)
    """

    def noise(self, shape: Any) -> Any:
        return empty(shape, dtype=self.loc.dtype).cauchy_()

    @property
    def mean(self) -> Any:
        return self.loc.detach() * math.nan

    @property
    def variance(self) -> Any:
        return self.loc.detach() * 0 + math.inf

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        return self.standard(value).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()


class HalfNormal(Distribution):
    """The absolute value of a normal number with mean 0 and standard deviation scale, which has batch_shape.

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = together(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Any:
        return self.scale * 0

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return (randn(self._extended_shape(sample_shape), dtype=self.scale.dtype) * self.scale).abs()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return Normal(0 * self.scale, self.scale, validate_args=False).log_prob(value) + math.log(2)

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return (value / self.scale / math.sqrt(2)).erf()

    def icdf(self, value: Any) -> Any:
        return self.scale * value.erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log() - math.log(2)


class Uniform(Distribution):
    """The same density, 1 / (high - low), everywhere in [low, high). low and high broadcast to batch_shape.

    >>> torch.distributions.Uniform(0.0, 4.0).variance
    tensor(1.3333)
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = together(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:  # type: ignore[override]
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @property
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return math.nan * self.high

    @property
    def variance(self) -> Any:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.low + rand(self._extended_shape(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        inside = (self.low <= value) & (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The time to the next event, of which `rate` are expected in a unit of time: density rate exp(-rate x). rate has batch_shape.

    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        return self.rate * 0

    @property
    def stddev(self) -> Any:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x: Any) -> Any:
        return -(-x).log()


class Gamma(ExponentialFamily):
    """The time to the concentration-th event, if `rate` are expected in a unit of time.

    Shapes: concentration and rate broadcast to batch_shape. Density rate**a x**(a - 1) exp(-rate x) / gamma(a), a the concentration.

    >>> torch.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = together(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return gamma_draws(self.concentration, self._extended_shape(sample_shape)) / self.rate

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, value = broadcast_tensors(self.concentration, value)
        powers = where(a == 1, value * 0, (a - 1) * value.log()) if (value == 0).any() else (a - 1) * value.log()
        return a * self.rate.log() + powers - self.rate * value - a.lgamma()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of the squares of df standard normal numbers. df has batch_shape.

    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = together(df)
        super().__init__(0.5 * self.df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return Chi2(self.df.expand(batch_shape), validate_args=False)


class StudentT(Distribution):
    """A normal number divided by an estimate of its scale from df others: the fewer, the wider its tails.

    Shapes: df, loc and scale broadcast to batch_shape. The mean is known for df above 1, the variance above 2.

    >>> torch.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = together(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        found = self.scale.pow(2) * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        spread = gamma_draws(0.5 * self.df, shape) * 2 / self.df
        return self.loc + self.scale * randn(shape, dtype=self.df.dtype) * spread.rsqrt()

    def _log_normalizer(self) -> Any:
        """log of the density's constant, but the scale."""
        half = 0.5 * self.df
        return 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma() - (half + 0.5).lgamma()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1.0) * (y * y / self.df).log1p() - self.scale.log() - self._log_normalizer()

    def entropy(self) -> Any:
        half = 0.5 * (self.df + 1)
        return self.scale.log() + self._log_normalizer() + half * (half.digamma() - (0.5 * self.df).digamma())
