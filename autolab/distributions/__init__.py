"""Probability distributions: draw numbers, ask for their log-probability, differentiate it.

    policy = Categorical(logits=network(state))
    action = policy.sample()
    loss = -policy.log_prob(action) * reward

`sample` has no gradient; `rsample` gives numbers that are a differentiable function of the parameters (loc + scale * noise), where a
distribution has such a form. `kl_divergence(p, q)` knows the usual pairs.
"""

import sys as _sys

from autolab.distributions import constraint_registry, constraints, transforms, utils
from autolab.distributions import kl_pairs as _kl_pairs
from autolab.distributions.constraint_registry import biject_to, transform_to
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
from autolab.distributions.exp_family import ExponentialFamily
from autolab.distributions.kl import kl_divergence, register_kl
from autolab.distributions.matrices import LKJCholesky, LowRankMultivariateNormal, Wishart
from autolab.distributions.more_continuous import ContinuousBernoulli, GeneralizedPareto, VonMises
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
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from autolab.torch_api.missing import explain_missing as _explain_missing

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky",
    "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical",
    "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform",
    "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
    "constraints", "identity_transform", "kl_divergence", "register_kl", "transform_to", "transforms",
]  # fmt: skip

# Where PyTorch has a family in a module of its own: `torch.distributions.normal.Normal`.
_FILES = {
    "continuous": "cauchy chi2 exponential gamma half_normal laplace log_normal normal studentT uniform",
    "discrete": "bernoulli binomial categorical geometric multinomial negative_binomial one_hot_categorical poisson",
    "distribution": "independent",
    "matrices": "lkj_cholesky lowrank_multivariate_normal wishart",
    "more_continuous": "continuous_bernoulli generalized_pareto von_mises",
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
    return [
        *__all__,
        *HOMES,
        "constraint_registry",
        "distribution",
        "exp_family",
        "kl",
        "utils",
        *(name for name in globals() if name.startswith("__")),
    ]


_explain_missing(_sys.modules[__name__])
