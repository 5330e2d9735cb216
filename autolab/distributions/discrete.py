"""Distributions over whole numbers: coins, dice, counts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from autolab.autograd import enable_grad, no_grad
from autolab.distributions import constraints
from autolab.distributions.distribution import Distribution, epsilon, together
from autolab.distributions.exp_family import ExponentialFamily
from autolab.nn import functional as F
from autolab.torch_api import random
from autolab.torch_api.creation import arange, eye
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.joining import broadcast_shapes


def inside(probs: Any) -> Any:
    """Probabilities, moved off 0 and 1 as far as the dtype can tell."""
    return probs.clamp(min=epsilon(probs), max=1 - epsilon(probs))


class _Odds(Distribution):
    """A parameter that comes as probabilities or as logits: one is given, the other is found when it is asked for."""

    binary = True

    def given(self, probs: Any, logits: Any) -> Any:
        """Keep what was given, and return it."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        if self.binary:
            (value,) = together(value)
        vars(self)[name] = value
        return value

    def __getattr__(self, name: str) -> Any:
        with enable_grad():  # it is kept, and may be asked for again where gradients are wanted
            if name == "logits" and "probs" in vars(self):
                p = inside(self.probs)
                found = p.log() - (-p).log1p() if self.binary else p.log()
            elif name == "probs" and "logits" in vars(self):
                found = self.logits.sigmoid() if self.binary else self.logits.softmax(-1)
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        vars(self)[name] = found
        return found

    @property
    def _param(self) -> Any:
        return vars(self).get("probs", vars(self).get("logits"))

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()


class Bernoulli(_Odds, ExponentialFamily):
    """1 with probability probs = sigmoid(logits), else 0.

    >>> Bernoulli(probs=tensor(0.25)).log_prob(tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self.given(probs, logits).shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return random.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = together(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        values = arange(2, dtype=self._param.dtype).view(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    _natural_params = property(lambda self: (self.probs.logit(),))

    def _log_normalizer(self, x: Any) -> Any:
        return F.softplus(x)


class Geometric(_Odds):
    """How many tries fail before the first success: k with probability probs (1 - probs)**k. probs or logits has batch_shape.

    >>> torch.distributions.Geometric(probs=tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self.given(probs, logits).shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return self.probs * 0

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            u = random.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype)
            return (u.clamp(min=epsilon(u)).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        probs, value = together(self.probs, value)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Binomial(_Odds):
    """How many of total_count tries succeed, each with probability probs = sigmoid(logits). All broadcast to batch_shape.

    >>> torch.distributions.Binomial(10, probs=tensor(0.3)).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name = "probs" if logits is None else "logits"
        self.total_count, value = together(total_count, self.given(probs, logits))
        self.total_count = self.total_count.to(value.dtype)
        vars(self)[name] = value
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return random.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return value * logits - n * F.softplus(logits) + ways

    def enumerate_support(self, expand: bool = True) -> Any:
        n = int(self.total_count.max())
        if self.total_count.min() != n:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`: ask one distribution at a time.")
        values = arange(1 + n, dtype=self._param.dtype).view(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def entropy(self) -> Any:
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)


class Categorical(_Odds):
    """Class k with probability probs[..., k], or in proportion to exp(logits[..., k]).

    Shapes: probs or logits (..., K); draws (...), int64.

    >>> Categorical(logits=tensor([0., 0.])).entropy()
    tensor(0.6931)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        value = self.given(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{'probs' if logits is None else 'logits'}` parameter must be at least one-dimensional.")
        if logits is None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return self.probs.sum(-1).detach() * float("nan")

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        n = 1
        for length in sample_shape:
            n *= length
        with no_grad():
            drawn = random.multinomial(self.probs.reshape(-1, self._num_events), n, True)
        return drawn.T.reshape(shape)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        value, logits = value.long().unsqueeze(-1), self.logits
        shape = broadcast_shapes(value.shape[:-1], logits.shape[:-1])
        return logits.expand(*shape, -1).gather(-1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Any:
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = arange(self._num_events).view(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class _OfClasses(Distribution):
    """What draws from a Categorical, which holds the probabilities of the classes."""

    _categorical: Categorical

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities of the classes."""
        return self._categorical.logits


class OneHotCategorical(_OfClasses):
    """A Categorical whose draws are rows of 0 with a 1 at the class.

    Shapes: probs or logits (..., K); batch_shape (...); draws (..., K).

    >>> torch.distributions.OneHotCategorical(probs=tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return F.one_hot(self._categorical.mode, self.event_shape[0]).to(self.probs.dtype)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample(sample_shape)
        return F.one_hot(drawn, self.event_shape[0]).to(self.probs.dtype)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.event_shape[0]
        values = eye(n, dtype=self.probs.dtype).view(n, *(1,) * len(self.batch_shape), n)
        return values.expand(n, *self.batch_shape, n) if expand else values


class Poisson(ExponentialFamily):
    """How many events come where `rate` are expected: k with probability rate**k exp(-rate) / k!. rate has batch_shape.

    >>> torch.distributions.Poisson(tensor(2.0)).log_prob(tensor(0.0))
    tensor(-2.)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return random.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        rate, value = together(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x: Any) -> Any:
        return x.exp()


class Multinomial(_OfClasses):
    """How often each of K classes comes in total_count draws. Shapes: probs or logits (..., K); draws (..., K), counts as floats.

    Raises NotImplementedError for a total_count that is not a whole number.

    >>> torch.distributions.Multinomial(10, probs=tensor([0.2, 0.8])).mean
    tensor([2., 8.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported: it is one whole number for all")
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return F.one_hot(drawn, self._event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = together(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Any:
        n = self.total_count
        of_class = Binomial(n, probs=self.probs, validate_args=False)
        counts = arange(1 + n, dtype=self.probs.dtype).reshape(-1, *(1,) * self.probs.ndim)[1:]
        repeated = (of_class.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + repeated

    def __repr__(self) -> str:
        return "Multinomial()"


class NegativeBinomial(_Odds):
    """How many tries succeed, each with probability probs, before total_count have failed. All broadcast to batch_shape.

    >>> torch.distributions.NegativeBinomial(3.0, probs=tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name = "probs" if logits is None else "logits"
        self.total_count, value = together(total_count, self.given(probs, logits))
        self.total_count = self.total_count.to(value.dtype)
        vars(self)[name] = value
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            shape = self._extended_shape(sample_shape)
            rate = random._standard_gamma(self.total_count.expand(shape)) * self.logits.exp()
            return random.poisson(rate)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        powers = n * F.logsigmoid(-logits) + value * F.logsigmoid(logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return powers + ways.masked_fill(n + value == 0, 0.0)
