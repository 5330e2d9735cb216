"""How far one distribution is from another: the mean of log p - log q over draws of p."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab import linalg
from autolab.distributions.continuous import Cauchy, Exponential, Gamma, HalfNormal, Laplace, Normal, Uniform
from autolab.distributions.discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from autolab.distributions.distribution import Distribution, Independent
from autolab.distributions.multivariate import Beta, Dirichlet, MultivariateNormal, half_log_det
from autolab.distributions.transformed import EULER, Gumbel, Pareto, TransformedDistribution
from autolab.nn import functional as F

_PAIRS: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[..., Any]:
    """As a decorator: the function computes kl_divergence for this pair of classes, and for those that inherit from them.

    Raises TypeError for what is not a subclass of Distribution.

    >>> class Point(Normal):
    ...     pass
    >>> @register_kl(Point, Normal)
    ... def kl_point(p, q):
    ...     return -q.log_prob(p.mean)
    >>> kl_divergence(Point(0.0, 1.0), Normal(0.0, 1.0))  # log(2 pi) / 2
    tensor(0.9189)
    """
    for t in (type_p, type_q):
        if not (isinstance(t, type) and issubclass(t, Distribution)):
            raise TypeError(f"Expected type_{'p' if t is type_p else 'q'} to be a Distribution subclass but got {t}")

    def kept(function: Callable[..., Any]) -> Callable[..., Any]:
        _PAIRS[type_p, type_q] = function
        return function

    return kept


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The Kullback-Leibler divergence of p from q, of their batch_shape. Raises NotImplementedError for an unknown pair.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _PAIRS:
                return _PAIRS[a, b](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}: add it with register_kl, or take the "
        "mean of p.log_prob(x) - q.log_prob(x) over draws x of p."
    )


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), float("inf"))


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    on = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    return on + (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = t.masked_fill((q.probs == 0).expand_as(t), float("inf"))
    return t.masked_fill((p.probs == 0).expand_as(t), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    spread = ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    return total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + spread


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    a, b = p._unbroadcasted_scale_tril, q.scale_tril
    trace = linalg.solve_triangular(b, a.expand(b.shape) if a.ndim < b.ndim else a, upper=False).pow(2).sum((-2, -1))
    d = linalg.solve_triangular(b, (q.loc - p.loc).unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)
    return half_log_det(b) - half_log_det(a) + 0.5 * (trace + d - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("two Independents that take another number of dims as one draw")
    return p.summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    """Source: Chyzak and Nielsen 2019, equation 8."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, float("inf"))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - apart + ratio * EULER + (apart + (1 + ratio).lgamma()).exp() - (1 + EULER)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, float("inf"))


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("two distributions that are transformed in other ways")
    found = kl_divergence(p.base_dist, q.base_dist)
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return found.sum(tuple(range(-more, 0))) if more > 0 else found
