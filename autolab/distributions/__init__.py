"""Probability distributions: draw numbers, ask for their log-probability, differentiate it.

    policy = Categorical(logits=network(state))
    action = policy.sample()
    loss = -policy.log_prob(action) * reward

`sample` has no gradient; `rsample` gives numbers that are a differentiable function of the parameters (loc + scale * noise), where a
distribution has such a form. `kl_divergence(p, q)` knows the usual pairs.
"""

import sys as _sys

from autolab.distributions import constraints, transforms
from autolab.distributions.continuous import Cauchy, Chi2, Exponential, Gamma, HalfNormal, Laplace, LogNormal, Normal, StudentT, Uniform
from autolab.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    Poisson,
)
from autolab.distributions.distribution import Distribution, Independent
from autolab.distributions.kl import kl_divergence, register_kl
from autolab.distributions.multivariate import Beta, Dirichlet, MultivariateNormal
from autolab.distributions.relaxed import (
    FisherSnedecor,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from autolab.distributions.transformed import Gumbel, HalfCauchy, MixtureSameFamily, Pareto, TransformedDistribution, Weibull
from autolab.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from autolab.torch_api.missing import explain_missing as _explain_missing

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ComposeTransform",
    "Dirichlet", "Distribution", "ExpTransform", "Exponential", "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "HalfCauchy",
    "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal", "LogisticNormal", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform",
    "Weibull", "constraints", "identity_transform", "kl_divergence", "register_kl", "transforms",
]  # fmt: skip

# Where PyTorch has a family in a module of its own: `torch.distributions.normal.Normal`.
_FILES = {
    "continuous": "cauchy chi2 exponential gamma half_normal laplace log_normal normal studentT uniform",
    "discrete": "bernoulli binomial categorical geometric multinomial negative_binomial one_hot_categorical poisson",
    "distribution": "independent",
    "multivariate": "beta dirichlet multivariate_normal",
    "relaxed": "fishersnedecor inverse_gamma kumaraswamy logistic_normal relaxed_bernoulli relaxed_categorical",
    "transformed": "gumbel half_cauchy mixture_same_family pareto transformed_distribution weibull",
}
HOMES = {name: file for file, names in _FILES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in HOMES:
        return _sys.modules[f"{__name__}.{HOMES[name]}"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *HOMES, "distribution", "kl", *(name for name in globals() if name.startswith("__"))]


_explain_missing(_sys.modules[__name__])
