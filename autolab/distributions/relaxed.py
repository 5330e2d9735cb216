"""Choices that can be differentiated, and families made of others by a transform: powers, quotients, broken sticks."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autolab.distributions import constraints
from autolab.distributions.continuous import Gamma, Normal, Uniform
from autolab.distributions.discrete import Categorical, OneHotCategorical, _Odds, _OfClasses, inside
from autolab.distributions.distribution import Distribution, together
from autolab.distributions.standard_gamma import gamma_draws
from autolab.distributions.transformed import EULER, TransformedDistribution
from autolab.distributions.transforms import AffineTransform, ExpTransform, PowerTransform, SigmoidTransform, StickBreakingTransform
from autolab.torch_api.creation import ones_like, zeros_like
from autolab.torch_api.pointwise import where
from autolab.torch_api.random import rand
from autolab.torch_api.shape import broadcast_tensors


class LogitRelaxedBernoulli(_Odds):
    """The log-odds of a RelaxedBernoulli.

    Shapes: temperature broadcasts to probs or logits, which have batch_shape.

    >>> torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(tensor(1.0), logits=tensor(0.0)).log_prob(tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (self.temperature,) = together(temperature)
        super().__init__(self.given(probs, logits).shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        p = inside(self.probs.expand(shape))
        u = inside(rand(shape, dtype=p.dtype))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_tensors(self.logits, value)
        apart = logits - value * self.temperature
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class _Relaxed(TransformedDistribution):
    """What a relaxed choice takes from the distribution of its logarithms."""

    temperature = property(lambda self: self.base_dist.temperature, doc="How soft the choice is: 0 would be a hard one.")
    probs = property(lambda self: self.base_dist.probs, doc="The probabilities of the choices.")
    logits = property(lambda self: self.base_dist.logits, doc="The logarithms of the odds.")


class RelaxedBernoulli(_Relaxed):
    """A Bernoulli whose draws lie between 0 and 1, near them for a low temperature, and have a gradient.

    Shapes: temperature broadcasts to probs or logits, which have batch_shape. Source: Maddison, Mnih and Teh 2017.

    >>> torch.distributions.RelaxedBernoulli(tensor(0.5), probs=tensor(0.5)).log_prob(tensor(0.3))
    tensor(-0.5633)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits, validate_args), SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(_OfClasses):
    """The logarithms of a RelaxedOneHotCategorical.

    Shapes: probs or logits (..., K); batch_shape (...); draws (..., K), whose exponentials sum to 1.

    >>> one = torch.distributions.relaxed_categorical.ExpRelaxedCategorical(tensor(1.0), logits=tensor([0.0, 0.0]))
    >>> one.log_prob(tensor([0.5, 0.5]).log())
    tensor(-1.3863)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (self.temperature,) = together(temperature)
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = inside(rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        return ((self.logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k = self._event_shape[0]
        logits, value = broadcast_tensors(self.logits, value)
        return (logits - value * self.temperature).log_softmax(-1).sum(-1) + math.lgamma(k) + self.temperature.log() * (k - 1)


class RelaxedOneHotCategorical(_Relaxed):
    """A OneHotCategorical whose draws are softened: rows that sum to 1, near a corner for a low temperature, and have a gradient.

    Shapes: probs or logits (..., K); batch_shape (...); draws (..., K). Source: Jang, Gu and Poole 2017.

    >>> torch.distributions.RelaxedOneHotCategorical(tensor(0.5), probs=tensor([0.1, 0.9])).rsample((3,)).sum(-1).round()
    tensor([1., 1., 1.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform(), validate_args)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose draws pass a gradient as if they were the probabilities. Source: Bengio, Léonard and Courville 2013.

    >>> p = tensor([0.0, 1.0], requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(probs=p).rsample().detach()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Kumaraswamy(TransformedDistribution):
    """Shares of a whole, as of a Beta, with a simple distribution function: 1 - (1 - x**a)**b.

    Shapes: concentration1 (a) and concentration0 (b) broadcast to batch_shape.

    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = together(concentration1, concentration0)
        base = Uniform(zeros_like(self.concentration0), ones_like(self.concentration0), validate_args)
        first, last = (PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1))
        super().__init__(base, [first, AffineTransform(1.0, -1.0), last], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return type(self)(self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape), self._validate_args)

    def _moment(self, n: int) -> Any:
        """b * B(1 + n / a, b)"""
        a, b = 1 + n / self.concentration1, self.concentration0
        return (b.log() + a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        known = (a >= 1) & (b >= 1) & (a * b > 1)
        return where(known, (where(known, a - 1, 0) / where(known, a * b - 1, 1)).pow(a.reciprocal()), math.nan)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * ((b + 1).digamma() + EULER) - a.log() - b.log()


class InverseGamma(TransformedDistribution):
    """1 / x for x of a Gamma.

    Shapes: concentration and rate broadcast to batch_shape.

    >>> torch.distributions.InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-ones_like(base.rate)), validate_args)

    concentration = property(lambda self: self.base_dist.concentration, doc="The concentration of the Gamma.")
    rate = property(lambda self: self.base_dist.rate, doc="The rate of the Gamma.")

    @property
    def mean(self) -> Any:
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """The quotient of two Chi2, each divided by its degrees of freedom.

    Shapes: df1 and df2 broadcast to batch_shape.

    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = together(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Any:
        return where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), math.nan)

    @property
    def variance(self) -> Any:
        a, b = self.df1, self.df2
        return where(b > 4, 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4)), math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        above, below = (gamma_draws(df / 2, self._extended_shape(sample_shape)) / df for df in (self.df1, self.df2))
        return above / below

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        whole = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return whole + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()


class LogisticNormal(TransformedDistribution):
    """Shares of a whole, made of normal numbers by breaking a stick: (..., n) parameters, (..., n + 1) shares that sum to 1.

    Shapes: loc and scale broadcast to (..., n); batch_shape (...); draws (..., n + 1).

    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).rsample((3,)).sum(-1).round()
    tensor([1., 1., 1.])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args)
        if not normal.batch_shape:
            normal = normal.expand([1])
        super().__init__(normal, StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc, doc="The means of the normal numbers.")
    scale = property(lambda self: self.base_dist.base_dist.scale, doc="Their standard deviations.")
