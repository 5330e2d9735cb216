"""Divergences between families: PyTorch's numbers and gradients, for all pairs that it knows."""

import importlib

import numpy as np
import pytest

import autolab
from autolab.distributions.kl import _PAIRS

from .test_distributions import numbers, positive

MATRIX = np.eye(3) + 0.3
HALF = {  # name: parameters of p, and of q
    "Bernoulli": ([positive(4) / 4], [positive(4, seed=7) / 4]),
    "Beta": ([positive(4), positive(4, seed=1)], [positive(4, seed=7), positive(4, seed=8)]),
    "Binomial": ([3.0, positive(4) / 4], [3.0, positive(4, seed=7) / 4]),
    "Chi2": ([positive(4)], [positive(4, seed=7)]),
    "ContinuousBernoulli": ([positive(4) / 4], [positive(4, seed=7) / 4]),
    "Exponential": ([positive(4)], [positive(4, seed=7)]),
    "Gamma": ([positive(4), positive(4, seed=1)], [positive(4, seed=7), positive(4, seed=8)]),
    "Gumbel": ([numbers(4), positive(4)], [numbers(4, seed=7), positive(4, seed=7)]),
    "Laplace": ([numbers(4), positive(4)], [numbers(4, seed=7), positive(4, seed=7)]),
    "LowRankMultivariateNormal": (
        [numbers(2, 3), numbers(3, 2, seed=1), positive(3)],
        [numbers(3, seed=7), numbers(2, 3, 2, seed=8), positive(3, seed=7)],
    ),
    "MultivariateNormal": ([numbers(2, 3), MATRIX], [numbers(3, seed=7), 2 * MATRIX]),
    "Normal": ([numbers(4), positive(4)], [numbers(4, seed=7), positive(4, seed=7)]),
    "Pareto": ([positive(4), positive(4) + 1], [positive(4, seed=7), positive(4, seed=8) + 1]),
    "Poisson": ([positive(4)], [positive(4, seed=7)]),
    "Uniform": (
        [np.array([0.1, 0.2, -0.5, 1.0]), np.array([0.3, 0.9, 0.5, 3.7])],
        [np.array([-0.1, -0.2, 0.1, -0.2]), np.array([1.1, 1.5, 0.5, 0.9])],
    ),
    "Wishart": ([np.array(4.5), MATRIX], [np.array(5.5), 2 * MATRIX]),
}
PAIRS = [(p, q) for p in HALF for q in HALF if (p, q) in {(a.__name__, b.__name__) for a, b in _PAIRS}]
PAIRS += [("Wishart", "Wishart"), ("Chi2", "Normal"), ("Chi2", "Gumbel"), ("Uniform", "Chi2")]


def divergence(T, p_name, q_name):
    d = importlib.import_module(f"{T.__name__}.distributions")
    parameters = [
        [v if isinstance(v, float) else T.tensor(v, requires_grad=True) for v in HALF[n][i]] for i, n in enumerate((p_name, q_name))
    ]
    p, q = (getattr(d, name)(*own) for name, own in zip((p_name, q_name), parameters))
    found = d.kl_divergence(p, q)
    leaves = [v for own in parameters for v in own if not isinstance(v, float)]
    finite = found[found.isfinite()]
    grads = T.autograd.grad(finite.sum(), leaves, allow_unused=True) if finite.requires_grad and p_name != "Wishart" else []
    return [found.detach().numpy(), *(np.zeros(v.shape) if g is None else g.numpy() for g, v in zip(grads, leaves))]


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences_are_pytorchs(torch, p, q):
    ours, theirs = divergence(autolab, p, q), divergence(torch, p, q)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7)
    if "Uniform" not in (p, q):  # of what is infinite, PyTorch's gradients are nan
        for a, b in zip(ours[1:], theirs[1:], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_no_pair_of_pytorchs_is_missing(torch):
    known = [pair for pair in torch.distributions.kl._KL_REGISTRY if all(d.__module__.startswith("torch.") for d in pair)]
    theirs = {(p.__name__, q.__name__) for p, q in known}
    assert theirs - {(p.__name__, q.__name__) for p, q in _PAIRS} == set()


def test_a_uniform_and_a_continuous_bernoulli_have_the_same_ends():
    d = importlib.import_module("autolab.distributions")
    flat, same = d.Uniform(0.0, 1.0), d.ContinuousBernoulli(0.5)
    assert abs(d.kl_divergence(flat, same)) < 1e-6 and abs(d.kl_divergence(same, flat)) < 1e-6


def test_divergences_are_the_means_of_what_they_say():
    autolab.manual_seed(0)
    d = importlib.import_module("autolab.distributions")
    for p, q in [(d.Gamma(2.0, 3.0), d.Gumbel(0.5, 1.0)), (d.Uniform(0.1, 0.7), d.Beta(2.0, 3.0)), (d.Pareto(1.0, 6.0), d.Gamma(2.0, 1.0))]:
        x = p.sample((20000,))
        np.testing.assert_allclose((p.log_prob(x) - q.log_prob(x)).mean(), d.kl_divergence(p, q), rtol=0.1)


def test_two_exponential_families_have_no_common_divergence(lib):
    d = importlib.import_module(f"{lib.__name__}.distributions")
    with pytest.raises(NotImplementedError, match=r"different exponential families cannot\s+be computed using Bregman divergences"):
        d.kl_divergence(d.Poisson(lib.tensor(1.0)), d.Normal(0.0, 1.0))
