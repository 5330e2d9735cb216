"""Divergences between two families: minus the entropy of p, less the mean of log q over draws of p, which a few moments of p give."""

from __future__ import annotations

import math
from typing import Any

from autolab.autograd import enable_grad, grad
from autolab.distributions.continuous import Exponential, Gamma, Laplace, Normal, Uniform
from autolab.distributions.discrete import Bernoulli, Binomial, Poisson
from autolab.distributions.exp_family import ExponentialFamily
from autolab.distributions.kl import register_kl
from autolab.distributions.matrices import LowRankMultivariateNormal
from autolab.distributions.more_continuous import ContinuousBernoulli
from autolab.distributions.multivariate import Beta, MultivariateNormal, half_log_det
from autolab.distributions.transformed import EULER, Gumbel, Pareto
from autolab.torch_api.creation import full_like
from autolab.torch_api.dtype_info import finfo
from autolab.torch_api.pointwise import where


def _uniform_log(low: Any, high: Any) -> Any:
    """The mean of log x over [low, high]; what is below 0, which the caller sets to infinity, does not count."""
    tiny = finfo(low.dtype).tiny
    low, high = low.clamp(min=tiny), high.clamp(min=tiny)
    return (high * high.log() - low * low.log()) / where(high > low, high - low, 1.0) - 1


MEAN_OF_LOG = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - EULER,
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + 1 / p.alpha,
    Uniform: lambda p: _uniform_log(p.low, p.high),
}
MEAN_OF_EXP = {  # of exp(-t x)
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate).pow(-p.concentration),
    Normal: lambda p, t: (t * (t * p.scale.pow(2) / 2 - p.loc)).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}


def _of(table: Any, d: Any, otherwise: Any = None) -> Any:
    """What a table says of the family of d."""
    return next((entry for kind, entry in table.items() if isinstance(d, kind)), otherwise)


def _to_normal(p: Any, q: Any) -> Any:
    return -(q.scale * math.sqrt(2 * math.pi)).log() - (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


def _to_exponential(p: Any, q: Any) -> Any:
    return q.rate.log() - q.rate * p.mean


def _to_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    return a * q.rate.log() - a.lgamma() + (a - 1) * _of(MEAN_OF_LOG, p)(p) - q.rate * p.mean


def _to_gumbel(p: Any, q: Any) -> Any:
    t = 1 / q.scale
    return t.log() - t * (p.mean - q.loc) - (t * q.loc).exp() * _of(MEAN_OF_EXP, p)(p, t)


def _to_laplace(p: Any, q: Any) -> Any:
    """From a Normal: the mean of |x - loc| is that of a folded normal number."""
    d = p.loc - q.loc
    away = p.scale * math.sqrt(2 / math.pi) * (-0.5 * (d / p.scale).pow(2)).exp() + d * (d / (p.scale * math.sqrt(2))).erf()
    return -(2 * q.scale).log() - away / q.scale


def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    return p.mean * q.logits + (-q.probs).log1p() + q._log_constant()


def _to_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    logs = (a - 1) * _uniform_log(p.low, p.high) + (b - 1) * _uniform_log(1 - p.high, 1 - p.low)
    return logs + (a + b).lgamma() - a.lgamma() - b.lgamma()


def _to_pareto(p: Any, q: Any) -> Any:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _of(MEAN_OF_LOG, p)(p)


def _to_uniform(p: Any, q: Any) -> Any:
    return -(q.high - q.low).log()


def _to_poisson(p: Any, q: Any) -> Any:
    return p.mean * q.rate.log() - q.rate  # of 0 and 1, whose factorials are 1


# The mean of log q over draws of p, and for which p.
MEANS = {
    Normal: (_to_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    Exponential: (_to_exponential, (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)),
    Gamma: (_to_gamma, (Beta, Exponential, Pareto, Uniform)),
    Gumbel: (_to_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Laplace: (_to_laplace, (Normal,)),
    ContinuousBernoulli: (_to_continuous_bernoulli, (Beta, ContinuousBernoulli, Uniform)),
    Beta: (_to_beta, (Uniform,)),
    Pareto: (_to_pareto, (Uniform,)),
    Uniform: (_to_uniform, (Beta, ContinuousBernoulli)),
    Poisson: (_to_poisson, (Bernoulli,)),
}
BOUNDS = {Beta: (0, 1), ContinuousBernoulli: (0, 1), Exponential: (0, math.inf), Gamma: (0, math.inf)}


def _inside(p: Any, q: Any) -> Any:
    """Whether each p stays within q, where one of them is a Uniform, whose ends are parameters."""
    if isinstance(q, Uniform):
        return (q.low <= 0) & (q.high >= 1)
    low, high = (q.scale, math.inf) if isinstance(q, Pareto) else _of(BOUNDS, q, (-math.inf, math.inf))
    return (p.low >= low) & (p.high <= high)


def _register(p_type: type, q_type: type, mean_of_log: Any) -> None:
    @register_kl(p_type, q_type)
    def divergence(p: Any, q: Any) -> Any:
        known = None
        if p_type is Pareto:  # whose moments may be infinite: then nothing is computed with them, or gradients were nan
            known = p.alpha > (2 if q_type is Normal else 1)
            p = Pareto(p.scale, where(known, p.alpha, 3.0), validate_args=False)
        elif Uniform in (p_type, q_type):
            known = _inside(p, q)
        found = -p.entropy() - mean_of_log(p, q)
        return found if known is None else where(known, found, math.inf)


def _register_infinite(p_type: type, q_type: type, parameter: str) -> None:
    @register_kl(p_type, q_type)
    def divergence(p: Any, q: Any) -> Any:
        return full_like(getattr(p, parameter), math.inf)


for q_type, (mean_of_log, p_types) in MEANS.items():
    for p_type in p_types:
        _register(p_type, q_type, mean_of_log)

INFINITE = {  # p reaches where q never is; a parameter of p, for the shape
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: ("concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gumbel: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Laplace: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Normal: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
}
for narrow, (parameter, others) in INFINITE.items():
    for other in others:
        _register_infinite(narrow, other, parameter)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _normal_vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed: {p.event_shape} "
            f"and {q.event_shape}"
        )
    apart = (q.loc - p.loc).unsqueeze(-1)
    square = (apart.mT @ q.precision_matrix @ apart)[..., 0, 0]
    trace = (q.precision_matrix * p.covariance_matrix).sum((-2, -1))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + square - p.event_shape[0])


def _log_det(p: Any) -> Any:
    return p._log_det() if isinstance(p, LowRankMultivariateNormal) else 2 * half_log_det(p._unbroadcasted_scale_tril)


@register_kl(ExponentialFamily, ExponentialFamily)
def _one_family(p: Any, q: Any) -> Any:
    """F(q) - F(p) - <q - p, dF(p)>, F the log-normalizer of the natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences: add it with "
            "register_kl."
        )
    with enable_grad():
        ours = [n if n.requires_grad else n.detach().requires_grad_() for n in p._natural_params]
        normalizer = p._log_normalizer(*ours)
        slopes = grad(normalizer.sum(), ours, create_graph=True)
    found = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, slope in zip(ours, q._natural_params, slopes, strict=True):
        term = (b - a) * slope
        found = found - term.sum(tuple(range(len(q.batch_shape), term.ndim)))
    wanted = any(n.requires_grad for n in (*p._natural_params, *q._natural_params))
    return found if wanted else found.detach()
