"""A distribution seen through a transform, families that are one, and mixtures."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autolab.distributions import constraints
from autolab.distributions.continuous import Cauchy, Exponential
from autolab.distributions.discrete import Categorical
from autolab.distributions.distribution import Distribution, Independent, together
from autolab.distributions.transform import ComposeTransform, Transform, summed
from autolab.size import Size
from autolab.torch_api.creation import empty, full_like, zeros_like
from autolab.torch_api.pointwise import where

EULER = 0.57721566490153286


class TransformedDistribution(Distribution):
    """The distribution of transform(x), x from the base: its log-density is that of x less the log of how x is stretched.

    Raises ValueError for what is no transform.

    >>> d = torch.distributions
    >>> lognormal = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()])
    >>> lognormal.log_prob(tensor(1.0)), d.LogNormal(0.0, 1.0).log_prob(tensor(1.0))
    (tensor(-0.9189), tensor(-0.9189))
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for t in self.transforms:
            if not isinstance(t, Transform):
                raise ValueError(f"transforms must be a Transform or a list of Transforms, and {t!r} is none")
        self.whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        together_here, together_there = self.whole.domain.event_dim, self.whole.codomain.event_dim
        if len(shape) < together_here:
            raise ValueError(f"base_distribution needs to have shape with size at least {together_here}, but got {shape}.")
        of_result = Size(self.whole.forward_shape(shape))
        of_base = Size(self.whole.inverse_shape(of_result))  # larger than the shape, if the transform has parameters for each of several
        events = len(base_distribution.event_shape)
        if of_base != shape:
            base_distribution = base_distribution.expand(of_base[: len(of_base) - events])
        missing = together_here - events
        self.base_dist = Independent(base_distribution, missing) if missing > 0 else base_distribution
        split = len(of_result) - max(together_there, len(self.base_dist.event_shape) + together_there - together_here)
        super().__init__(of_result[:split], of_result[split:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        shape = self.whole.inverse_shape(Size(batch_shape) + self._event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.whole(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        x = self.whole._inverse(value)
        more = len(self._event_shape) - self.whole.codomain.event_dim
        stretched = summed(self.whole.log_abs_det_jacobian(x, value), more)
        events = self.whole.domain.event_dim + more
        return summed(self.base_dist.log_prob(x), events - len(self.base_dist.event_shape)) - stretched

    def _turned(self, probability: Any) -> Any:
        """Counted from the other end, where the transform decreases."""
        sign = self.whole.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return self._turned(self.base_dist.cdf(self.whole._inverse(value)))

    def icdf(self, value: Any) -> Any:
        return self.whole(self.base_dist.icdf(self._turned(value)))


class Gumbel(Distribution):
    """The largest of many numbers: loc - scale * log(-log(u)) for u uniform in (0, 1). loc and scale broadcast to batch_shape.

    >>> torch.distributions.Gumbel(0.0, 1.0).mean  # Euler's constant
    tensor(0.5772)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        waiting = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).exponential_()
        return self.loc - self.scale * waiting.log()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Any) -> Any:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + EULER)


class HalfCauchy(Distribution):
    """|x| for x from a Cauchy distribution around 0. scale has batch_shape.

    >>> torch.distributions.HalfCauchy(1.0).cdf(tensor(1.0))
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = together(scale)
        self.base_dist = Cauchy(zeros_like(self.scale), self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape)
        return new

    @property
    def mean(self) -> Any:
        return full_like(self.scale, math.inf)

    @property
    def mode(self) -> Any:
        return zeros_like(self.scale)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class Pareto(Distribution):
    """Sizes whose larger ones are rarer by a power: density alpha scale**alpha / x**(alpha + 1) from scale on.

    Shapes: scale and alpha broadcast to batch_shape.

    >>> torch.distributions.Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = together(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * Exponential(self.alpha, validate_args=False).rsample(sample_shape).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 1 - (self.scale / value).pow(self.alpha)

    def icdf(self, value: Any) -> Any:
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(Distribution):
    """How long a thing lasts that fails more often (concentration above 1) or less with age: scale * t**(1 / concentration), t exponential.

    Shapes: scale and concentration broadcast to batch_shape.

    >>> torch.distributions.Weibull(1.0, 1.0).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = together(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * (1 + 1 / self.concentration).lgamma().exp()

    @property
    def mode(self) -> Any:
        return self.scale * ((self.concentration - 1) / self.concentration) ** (1 / self.concentration)

    @property
    def variance(self) -> Any:
        k = 1 / self.concentration
        return self.scale.pow(2) * ((1 + 2 * k).lgamma().exp() - (2 * (1 + k).lgamma()).exp())

    def rsample(self, sample_shape: Any = ()) -> Any:
        waiting = empty(self._extended_shape(sample_shape), dtype=self.scale.dtype).exponential_()
        return self.scale * waiting.pow(1 / self.concentration)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k, z = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * z.log() - z.pow(k)

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(-(value / self.scale).pow(self.concentration)).expm1()

    def icdf(self, value: Any) -> Any:
        return self.scale * (-(-value).log1p()).pow(1 / self.concentration)

    def entropy(self) -> Any:
        k = 1 / self.concentration
        return EULER * (1 - k) + (self.scale * k).log() + 1


class MixtureSameFamily(Distribution):
    """A draw from one of several distributions of a family, chosen by a Categorical: the last dim of the batch is the choice.

    Shapes: mixture_distribution (...) over K, component_distribution (..., K); batch_shape (...).

    >>> d = torch.distributions
    >>> two = d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(tensor([-1.0, 1.0]), torch.ones(2)))
    >>> two.mean, two.variance
    (tensor(0.), tensor(2.))
    """

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        own, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for n, m in zip(reversed(own), reversed(batch[:-1])):
            if 1 not in (n, m) and n != m:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({own}) is not compatible with `component_distribution.batch_shape`({batch})"
                )
        choices = mixture_distribution.logits.shape[-1]
        if choices != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({choices}) does not equal `component_distribution.batch_shape[-1]` ({batch[-1]})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution, doc="The choice, a Categorical.")
    component_distribution = property(lambda self: self._component_distribution, doc="The distributions among which is chosen.")

    @property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *(1,) * len(self._event_shape))

    def _of_choices(self, value: Any) -> Any:
        """Summed over the choices, each by its probability."""
        return (self._weights() * value).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Any:
        return self._of_choices(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        apart = self._component_distribution.mean - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._of_choices(self._component_distribution.variance) + self._of_choices(apart.pow(2))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        each = self._component_distribution.log_prob(value.unsqueeze(-1 - len(self._event_shape)))
        return (each + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        each = self._component_distribution.cdf(value.unsqueeze(-1 - len(self._event_shape)))
        return (each * self._mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        n = len(self._event_shape)
        draws = self._component_distribution.sample(sample_shape)
        choice = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        index = choice.reshape(*choice.shape, *(1,) * (n + 1)).expand(*choice.shape, 1, *self._event_shape)
        return draws.gather(-1 - n, index).squeeze(-1 - n)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        choices = self._component_distribution.batch_shape[-1]
        component = self._component_distribution.expand((*batch_shape, choices))
        return MixtureSameFamily(self._mixture_distribution.expand(batch_shape), component, validate_args=False)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
