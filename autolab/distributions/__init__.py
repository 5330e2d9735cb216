"""Probability distributions: draw numbers, ask for their log-probability, differentiate it.

    policy = Categorical(logits=network(state))
    action = policy.sample()
    loss = -policy.log_prob(action) * reward

`sample` has no gradient; `rsample` gives numbers that are a differentiable function of the parameters (loc + scale * noise), where a
distribution has such a form. `kl_divergence(p, q)` knows the usual pairs.
"""

import sys as _sys

from autolab.distributions import constraints
from autolab.distributions.continuous import Cauchy, Exponential, Gamma, HalfNormal, Laplace, LogNormal, Normal, Uniform
from autolab.distributions.discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from autolab.distributions.distribution import Distribution, Independent
from autolab.distributions.kl import kl_divergence, register_kl
from autolab.distributions.multivariate import Beta, Dirichlet, MultivariateNormal
from autolab.torch_api.missing import explain_missing as _explain_missing

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Dirichlet", "Distribution", "Exponential", "Gamma", "Geometric",
    "HalfNormal", "Independent", "Laplace", "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson", "Uniform",
    "constraints", "kl_divergence", "register_kl",
]  # fmt: skip

_explain_missing(_sys.modules[__name__])
