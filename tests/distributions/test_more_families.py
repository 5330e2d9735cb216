"""Families of shares, tails, angles and matrices: PyTorch's numbers and gradients, and draws that have the moments they promise."""

import importlib

import numpy as np
import pytest

import autolab

from .test_distributions import COVARIANCE, lower, numbers, positive

# name: parameters, values to ask about (of LKJCholesky: numbers that a transform makes factors of)
KINDS = {
    "ContinuousBernoulli": ({"probs": np.array([0.1, 0.5, 0.4995, 0.8])}, np.array([[0.1, 0.2, 0.7, 0.9], [0, 1, 0.5, 0.3]])),
    "ContinuousBernoulli of logits": ({"logits": np.array([-2, 0.0, 0.001, 3.0])}, np.array([0.1, 0.2, 0.7, 0.9])),
    "VonMises": ({"loc": np.array([0, 1.0, -3]), "concentration": np.array([0.3, 5.0, 20])}, numbers(2, 3)),
    "LowRankMultivariateNormal": (
        {"loc": numbers(2, 3), "cov_factor": numbers(2, 3, 2, seed=1), "cov_diag": positive(3)},
        numbers(2, 2, 3, seed=2),
    ),
    "Wishart": ({"df": np.array([3.0, 5.0]), "covariance_matrix": COVARIANCE}, COVARIANCE * np.array([0.5, 2])[:, None, None, None]),
    "Wishart of precision": ({"df": np.array(4.5), "precision_matrix": COVARIANCE}, COVARIANCE),
    "Wishart of a factor": ({"df": np.array(4.5), "scale_tril": lower(2, 3, 3)}, COVARIANCE),
    "LKJCholesky": ({"concentration": np.array([0.7, 1.0, 4.0])}, numbers(3, 6)),
}
KNOWN = "mean mode variance stddev covariance_matrix scale_tril precision_matrix param_shape batch_shape event_shape has_rsample".split()


def library(T):
    return importlib.import_module(f"{T.__name__}.distributions")


def made(T, kind, requires_grad=False):
    parameters = {name: T.tensor(value, requires_grad=requires_grad) for name, value in KINDS[kind][0].items()}
    family, values = getattr(library(T), kind.split()[0]), T.tensor(KINDS[kind][1])
    if kind == "LKJCholesky":
        return family(4, **parameters), list(parameters.values()), library(T).CorrCholeskyTransform()(values)
    return family(**parameters), list(parameters.values()), values


def answer(function):
    """A list of arrays, or what was raised."""
    try:
        found = function()
    except (NotImplementedError, AttributeError) as e:
        return type(e).__name__.replace("MissingName", "AttributeError")
    return found.detach().numpy() if hasattr(found, "detach") else str(found)


def same(a, b, rtol=2e-6, atol=1e-9):
    assert type(a) is type(b)
    if isinstance(a, str):
        assert a == b
    else:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.mark.filterwarnings("ignore:Low df values", "ignore:Singular sample")
@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_and_their_gradients_are_pytorchs(torch, kind):
    found = []
    for T in (autolab, torch):
        p, parameters, values = made(T, kind, requires_grad=True)
        logs = p.log_prob(values)
        larger = p.expand((2, *p.batch_shape)).log_prob(values)
        found.append([logs, larger, *T.autograd.grad(logs.sum(), parameters)])
    for ours, theirs in zip(*found, strict=True):
        same(ours.detach().numpy(), theirs.detach().numpy())


@pytest.mark.filterwarnings("ignore:Low df values", "ignore:Singular sample")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_them_is_pytorchs(torch, kind):
    (ours, _, x), (theirs, _, y) = made(autolab, kind), made(torch, kind)
    for name in KNOWN:
        same(answer(lambda: getattr(ours, name)), answer(lambda: getattr(theirs, name)), atol=1e-5)  # noqa: B023
    for ask in (lambda p, _: p.entropy(), lambda p, v: p.cdf(v), lambda p, v: p.icdf(0 * v + 0.3)):
        same(answer(lambda: ask(ours, x)), answer(lambda: ask(theirs, y)))  # noqa: B023
    assert repr(ours) == repr(theirs) and repr(ours.support) == repr(theirs.support)
    assert ours.sample((2,)).shape == tuple(theirs.sample((2,)).shape)


@pytest.mark.filterwarnings("ignore:Low df values", "ignore:Singular sample")
@pytest.mark.parametrize("kind", ["ContinuousBernoulli", "LowRankMultivariateNormal", "Wishart", "Wishart of precision"])
def test_draws_have_the_mean_they_promise(kind):
    autolab.manual_seed(0)
    p, parameters, _ = made(autolab, kind, requires_grad=True)
    draws = p.rsample((4000,))
    assert p.support.check(draws).all()
    np.testing.assert_allclose(draws.mean(0).detach(), p.mean.detach(), atol=0.08 * p.stddev.max().item())
    assert all(g.abs().sum() > 0 for g in autolab.autograd.grad(draws.square().sum(), parameters))


def test_angles_are_spread_as_the_variance_says():
    autolab.manual_seed(0)
    p, _, _ = made(autolab, "VonMises")
    draws = p.sample((20000,))
    assert (draws >= -np.pi).all() and (draws < np.pi).all()
    np.testing.assert_allclose((draws - p.loc).cos().mean(0), 1 - p.variance, atol=0.02)


def test_correlations_are_the_weaker_the_larger_the_concentration(torch):
    moments = []
    for T in (autolab, torch):
        T.manual_seed(0)
        p, _, _ = made(T, "LKJCholesky")
        factors = p.sample((5000,))
        assert p.support.check(factors).all()
        moments.append([factors.mean(0).numpy(), factors.var(0).numpy()])
    np.testing.assert_allclose(*moments, atol=0.03)


def test_a_generalized_pareto_is_pytorchs(torch):  # in float32: PyTorch's computes in no other
    found = []
    for T in (autolab, torch):
        shape = [T.tensor(v, dtype=T.float32, requires_grad=True) for v in (np.zeros(6), positive(6), [-0.9, -0.5, 0, 0.3, 0.7, 2.0])]
        p = library(T).GeneralizedPareto(*shape)
        x = T.tensor(0.15 * positive(2, 6, seed=3), dtype=T.float32)
        logs = p.log_prob(x)
        known = [logs, p.cdf(x), p.icdf(x / 3), p.log_survival_function(x), p.entropy(), p.mean, p.variance, p.mode, p.support.upper_bound]
        found.append([v.detach().numpy() for v in (*known, *T.autograd.grad(logs.sum(), shape))])
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, rtol=2e-4)


def test_a_generalized_pareto_that_is_bounded_ends_where_it_says():
    p = library(autolab).GeneralizedPareto(0.0, 1.0, autolab.tensor([-0.5, -1.0]))
    assert (p.rsample((100,)) <= autolab.tensor([2.0, 1.0])).all()
    np.testing.assert_allclose(p.log_prob(autolab.tensor([[0.3], [1.0]]))[:, 1], [0, 0])  # for -1 the uniform distribution


FAMILIES = {
    "Normal": lambda d: d.Normal(0.3, 2.0), "Exponential": lambda d: d.Exponential(2.0), "Gamma": lambda d: d.Gamma(2.5, 0.7),
    "Bernoulli": lambda d: d.Bernoulli(0.3), "Wishart": lambda d: made(autolab, "Wishart of a factor")[0],
    "ContinuousBernoulli": lambda d: d.ContinuousBernoulli(0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_an_exponential_family_has_its_entropy_from_the_normalizer(name):
    p = FAMILIES[name](library(autolab))
    np.testing.assert_allclose(library(autolab).ExponentialFamily.entropy(p), p.entropy(), rtol=1e-5)


def test_which_families_are_exponential(lib):
    found = {n for n, kind in vars(library(lib)).items() if isinstance(kind, type) and issubclass(kind, library(lib).ExponentialFamily)}
    assert found == {*FAMILIES, "Poisson", "Beta", "Dirichlet", "Chi2", "ExponentialFamily"}


def test_a_wishart_draws_anew_what_is_singular():
    p = library(autolab).Wishart(autolab.tensor(2.0), autolab.eye(2))
    p._bartlett = (lambda draws: lambda shape: next(draws))(iter([autolab.zeros(2, 2), autolab.eye(2)]))
    with pytest.warns(UserWarning, match="Singular sample detected"):
        assert p.rsample().equal(autolab.eye(2))
