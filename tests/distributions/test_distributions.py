"""Distributions: PyTorch's numbers, draws with the moments they promise, gradients through both."""

import importlib

import numpy as np
import pytest

import autolab
from autolab import distributions as here
from autolab.distributions.standard_gamma import gamma_slope


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def positive(*shape, seed=0):
    return np.abs(numbers(*shape, seed=seed)) + 0.5


def shares(*shape, seed=0):
    x = positive(*shape, seed=seed)
    return x / x.sum(-1, keepdims=True)


def lower(*shape):
    return np.tril(numbers(*shape, seed=4), -1) + np.eye(shape[-1]) * positive(shape[-1], seed=5)


COVARIANCE = lower(2, 3, 3) @ np.swapaxes(lower(2, 3, 3), -1, -2)
# name: parameters, values to ask about
KINDS = {
    "Normal": ({"loc": numbers(4), "scale": positive(3, 4)}, numbers(3, 4, seed=1)),
    "LogNormal": ({"loc": numbers(4), "scale": positive(4, seed=1)}, positive(3, 4)),
    "Laplace": ({"loc": numbers(4), "scale": positive(4)}, numbers(3, 4, seed=1)),
    "Cauchy": ({"loc": numbers(4), "scale": positive(4)}, numbers(3, 4, seed=1)),
    "HalfNormal": ({"scale": positive(4)}, positive(3, 4)),
    "Uniform": ({"low": numbers(4) - 3, "high": numbers(4) + 3}, numbers(4)),
    "Exponential": ({"rate": positive(4)}, positive(3, 4)),
    "Gamma": ({"concentration": positive(4), "rate": positive(4, seed=1)}, positive(3, 4)),
    "Beta": ({"concentration1": positive(4) + 1, "concentration0": positive(4, seed=1) + 1}, shares(3, 4)),
    "Dirichlet": ({"concentration": positive(2, 4)}, shares(3, 2, 4)),
    "Bernoulli": ({"probs": shares(4)}, np.array([0.0, 1, 1, 0])), "Bernoulli of logits": ({"logits": numbers(4)}, np.array([0.0, 1, 1, 0])),
    "Geometric": ({"probs": shares(4)}, np.array([0.0, 1, 5, 2])),
    "Binomial": ({"total_count": np.array([4.0, 5, 6]), "probs": shares(3)}, np.array([0.0, 5, 3])),
    "Poisson": ({"rate": positive(4)}, np.array([0.0, 1, 5, 2])),
    "Categorical": ({"probs": positive(3, 4)}, np.array([0, 3, 1])), "Categorical of logits": ({"logits": numbers(3, 4)}, np.array([[0, 3, 1]])),
    "OneHotCategorical": ({"logits": numbers(3, 4)}, np.eye(4)[[0, 3, 1]]),
    "MultivariateNormal": ({"loc": numbers(3), "scale_tril": lower(2, 3, 3)}, numbers(5, 2, 3)),
    "MultivariateNormal of covariance": ({"loc": numbers(3), "covariance_matrix": COVARIANCE}, numbers(5, 1, 3)),
    "MultivariateNormal of precision": ({"loc": numbers(2, 3), "precision_matrix": COVARIANCE}, numbers(5, 2, 3)),
    "Gumbel": ({"loc": numbers(4), "scale": positive(4)}, numbers(3, 4, seed=1)),
    "HalfCauchy": ({"scale": positive(4)}, positive(3, 4)),
    "Pareto": ({"scale": positive(4) / 2, "alpha": positive(4, seed=1) + 3}, positive(3, 4) + 3),
    "Weibull": ({"scale": positive(4), "concentration": positive(4, seed=1) + 1}, positive(3, 4)),
    "Chi2": ({"df": positive(4)}, positive(3, 4)),
    "StudentT": ({"df": positive(4) + 4, "loc": numbers(4), "scale": positive(4, seed=1)}, numbers(3, 4, seed=1)),
    "NegativeBinomial": ({"total_count": np.array([4.0, 5, 6]), "probs": shares(3)}, np.array([0.0, 5, 3])),
    "NegativeBinomial of logits": ({"total_count": np.array([4.0, 5, 6]), "logits": numbers(3)}, np.array([0.0, 5, 3])),
}  # fmt: skip


def made(T, kind, requires_grad=False):
    """The distribution in one library, and its parameters."""
    d = importlib.import_module(f"{T.__name__}.distributions")
    parameters = {k: T.tensor(v, requires_grad=requires_grad) for k, v in KINDS[kind][0].items()}
    return getattr(d, kind.split()[0])(**parameters), list(parameters.values())


def answer(ask):
    """An array, or the type of what was raised."""
    try:
        return ask().detach().numpy()
    except (NotImplementedError, AttributeError) as error:
        return type(error)


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_and_their_gradients_are_pytorchs(torch, kind):
    found = []
    for T in (autolab, torch):
        p, parameters = made(T, kind, requires_grad=True)
        logs = p.log_prob(T.tensor(KINDS[kind][1]))
        asked = [x for x, name in zip(parameters, KINDS[kind][0]) if name != "total_count"]
        found.append([logs.detach().numpy(), *(g.numpy() for g in T.autograd.grad(logs.sum(), asked))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_a_distribution_is_pytorchs(torch, kind):
    (ours, _), (theirs, _) = made(autolab, kind), made(torch, kind)
    assert (tuple(ours.batch_shape), tuple(ours.event_shape)) == (tuple(theirs.batch_shape), tuple(theirs.event_shape))
    names = ["mean", "variance", "stddev"] + ["mode"] * (kind not in ("Dirichlet", "Beta"))
    for name in names:
        np.testing.assert_allclose(answer(lambda: getattr(ours, name)), answer(lambda: getattr(theirs, name)), rtol=1e-6, atol=1e-9)
    if kind.split()[0] not in ("Binomial", "Poisson", "NegativeBinomial"):  # they have none, or not for several counts
        np.testing.assert_allclose(ours.entropy().numpy(), theirs.entropy().numpy(), rtol=1e-6)
    if repr(theirs) != f"{kind}()" and kind != "Chi2":  # PyTorch's that are made of others show nothing
        assert repr(ours) == repr(theirs)
    assert repr(ours.support) == repr(theirs.support)


@pytest.mark.parametrize(
    "kind",
    ["Normal", "LogNormal", "Laplace", "Cauchy", "HalfNormal", "Uniform", "Exponential", "Gumbel", "HalfCauchy", "Pareto", "Weibull"],
)
def test_distribution_functions_and_their_inverses_are_pytorchs(torch, kind):
    (ours, _), (theirs, _) = made(autolab, kind), made(torch, kind)
    x, q = KINDS[kind][1], shares(3, 4)
    np.testing.assert_allclose(ours.cdf(autolab.tensor(x)).numpy(), theirs.cdf(torch.tensor(x)).numpy(), rtol=1e-9)
    np.testing.assert_allclose(ours.icdf(autolab.tensor(q)).numpy(), theirs.icdf(torch.tensor(q)).numpy(), rtol=1e-9)


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.startswith(("Cauchy", "Categorical", "HalfCauchy"))])
def test_draws_have_the_mean_and_variance_they_promise(kind):
    autolab.manual_seed(0)
    p, _ = made(autolab, kind)
    x = p.sample((20000,)).numpy()
    assert x.shape == (20000, *p.batch_shape, *p.event_shape)
    np.testing.assert_allclose(x.mean(0), p.mean.expand(x.shape[1:]).numpy(), atol=0.06 * x.std() + 0.01, rtol=0.05)
    if kind not in ("LogNormal", "Pareto", "StudentT"):  # whose squares are too wide to add up
        np.testing.assert_allclose(x.var(0), p.variance.expand(x.shape[1:]).numpy(), rtol=0.12, atol=0.003)


def test_a_categorical_draws_in_proportion():
    autolab.manual_seed(0)
    p = here.Categorical(probs=autolab.tensor([[1.0, 2.0, 1.0], [0.0, 0.0, 5.0]]))
    drawn = p.sample((4000,))
    assert drawn.shape == (4000, 2) and drawn.dtype == autolab.int64 and (drawn[:, 1] == 2).all()
    np.testing.assert_allclose(np.bincount(drawn[:, 0].numpy()) / 4000, [0.25, 0.5, 0.25], atol=0.03)
    assert p.sample().shape == (2,) and p.sample((3, 5)).shape == (3, 5, 2)


@pytest.mark.parametrize("kind", [k for k in KINDS if getattr(here, k.split()[0]).has_rsample is True])
def test_draws_move_with_the_parameters(kind):
    p, parameters = made(autolab, kind, requires_grad=True)
    grads = autolab.autograd.grad(p.rsample((5,)).square().sum(), parameters)
    assert all(g.abs().sum() > 0 for g in grads) and not p.sample().requires_grad


def test_where_draws_cannot_move_it_says_so():
    with pytest.raises(NotImplementedError, match=r"Poisson has no rsample: draw with sample\(\)"):
        here.Poisson(2.0).rsample()


def test_a_draw_of_a_gamma_keeps_the_share_that_lies_below_it():
    a = np.repeat([0.05, 0.4, 1.0, 3.0, 40.0, 2000.0], 50)
    x = np.random.default_rng(0).standard_gamma(a).clip(1e-250)
    h, f = a * 1e-5, lambda b: autolab.special.gammainc(autolab.tensor(b), autolab.tensor(x)).numpy()
    density = here.Gamma(autolab.tensor(a), 1.0).log_prob(autolab.tensor(x)).exp().numpy()
    np.testing.assert_allclose(gamma_slope(a, x) * density, -(f(a + h) - f(a - h)) / (2 * h), rtol=1e-5, atol=1e-9)


def test_the_slope_of_a_gammas_draw_is_pytorchs(torch):
    a = np.repeat([0.05, 0.4, 1.0, 3.0, 40.0, 2000.0], 50)
    x = np.random.default_rng(0).standard_gamma(a).clip(1e-250)
    np.testing.assert_allclose(gamma_slope(a, x), torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x)), rtol=1e-3)


def test_draws_of_a_gamma_move_inside_transforms():
    draw = lambda c: here.Gamma(c, 1.0, validate_args=False).rsample()
    slopes = autolab.vmap(autolab.func.grad(draw), randomness="different")(autolab.ones(4))
    assert slopes.shape == (4,) and (slopes > 0).all()
    c = autolab.ones(4, requires_grad=True)
    autolab.vmap(draw, randomness="different")(c).sum().backward()
    assert (c.grad > 0).all()


def test_the_slope_of_a_gammas_draw_has_no_derivative(lib):
    c = lib.ones(2, requires_grad=True)
    x = importlib.import_module(f"{lib.__name__}.distributions").Gamma(c, 1.0).rsample()
    (slope,) = lib.autograd.grad(x.sum(), c, create_graph=True)
    with pytest.raises(RuntimeError, match="the derivative for '_standard_gamma_grad' is not implemented"):
        slope.sum().backward()


@pytest.mark.parametrize("family", [here.Gamma, here.Beta])
def test_the_mean_of_draws_moves_as_the_mean(family):
    autolab.manual_seed(0)
    parameters = [autolab.tensor(v, requires_grad=True) for v in ([2.5, 1.5], [0.3, 0.7])]
    p = family(*parameters)
    drawn, known = (autolab.autograd.grad(v.sum(), parameters) for v in (p.rsample((40000,)).mean(0), p.mean))
    np.testing.assert_allclose(autolab.stack(drawn), autolab.stack(known), rtol=0.06)


def test_the_distribution_function_of_a_gamma_is_pytorchs(torch):
    ours, theirs = (made(T, "Gamma")[0].cdf(T.tensor(positive(3, 4))).numpy() for T in (autolab, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_values_that_can_be_counted_are_enumerated(torch):
    found = []
    for T in (autolab, torch):
        d = importlib.import_module(f"{T.__name__}.distributions")
        p = d.Binomial(3, probs=T.tensor([0.2, 0.9]))
        found.append(
            [p.entropy().numpy(), *(p.enumerate_support(e).numpy() for e in (True, False)), d.Independent(p, 0).enumerate_support()]
        )
        with pytest.raises(NotImplementedError, match="Inhomogeneous total count not supported by"):
            d.Binomial(T.tensor([1.0, 2.0]), probs=T.tensor(0.5)).entropy()
        with pytest.raises(NotImplementedError, match="Enumeration over cartesian product is not implemented"):
            d.Independent(p, 1).enumerate_support()
        assert not d.Independent(p, 1).has_enumerate_support and d.Multinomial(2, T.ones(3)).param_shape == (3,)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


NO_PAIR = ("LogNormal", "Uniform", "HalfCauchy", "Weibull", "StudentT", "NegativeBinomial", "Pareto", "Binomial")
PAIRS = [k for k in KINDS if k.split()[0] not in NO_PAIR]


@pytest.mark.parametrize("kind", PAIRS)
def test_divergences_are_pytorchs(torch, kind):
    found = []
    for T in (autolab, torch):
        d = importlib.import_module(f"{T.__name__}.distributions")
        p, parameters = made(T, kind)
        names = list(KINDS[kind][0])
        q = type(p)(**{n: x.flip(0) * (2 if n in ("scale", "rate") else 1) for n, x in zip(names, parameters) if x.ndim})
        found.append(d.kl_divergence(p, q).numpy())
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-12)


def test_a_divergence_may_be_added(lib):
    d = importlib.import_module(f"{lib.__name__}.distributions")

    class Own(d.Normal):
        pass

    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Cauchy and q type Normal"):
        d.kl_divergence(d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0))
    d.register_kl(Own, Own)(lambda p, q: lib.tensor(7.0))
    assert d.kl_divergence(Own(0.0, 1.0), Own(0.0, 1.0)) == 7 and d.kl_divergence(Own(0.0, 1.0), d.Normal(0.0, 1.0)) == 0


WRONG = [
    (lambda d, T: d.Normal(T.zeros(2), T.tensor([1.0, -1.0])),
     r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal\(loc: torch.Size\(\[2\]\), scale: torch.Size\(\[2\]\)\) to "
     r"satisfy the constraint GreaterThan\(lower_bound=0.0\), but found invalid values:"),
    (lambda d, T: d.Categorical(T.ones(2), T.ones(2)), "Either `probs` or `logits` must be specified, but not both."),
    (lambda d, T: d.Categorical(T.tensor(1.0)), "`probs` parameter must be at least one-dimensional."),
    (lambda d, T: d.Normal("a", 1.0), "Input arguments must all be instances of Number, torch.Tensor"),
    (lambda d, T: d.Normal(0.0, 1.0).log_prob(1.0), "The value argument to log_prob must be a Tensor"),
    (lambda d, T: d.Bernoulli(T.tensor(0.5)).log_prob(T.tensor(2.0)), r"Expected value argument \(Tensor of shape \(\)\) to be within the support "),
    (lambda d, T: d.Categorical(T.ones(3)).log_prob(T.tensor(3)), r"to be within the support \(IntegerInterval\(lower_bound=0, upper_bound=2\)\)"),
    (lambda d, T: d.Normal(T.zeros(2), 1.0).log_prob(T.zeros(3)), r"Value is not broadcastable with batch_shape\+event_shape"),
    (lambda d, T: d.MultivariateNormal(T.zeros(2), T.eye(2)).log_prob(T.zeros(3)), "The right-most size of value must match event_shape"),
    (lambda d, T: d.Independent(d.Normal(T.zeros(2), 1.0), 2), "Expected reinterpreted_batch_ndims <= "),
    (lambda d, T: d.MultivariateNormal(T.zeros(2)), "Exactly one of covariance_matrix or precision_matrix or scale_tril"),
    (lambda d, T: d.Uniform(1.0, 1.0), r"of distribution Uniform\(low: 1.0, high: 1.0\) to satisfy the constraint LessThan\(upper_bound=1.0\)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_is_refused_in_pytorchs_words(lib, call, words):
    d = importlib.import_module(f"{lib.__name__}.distributions")
    d.Distribution.set_default_validate_args(True)  # torch.compile has switched it off in the whole process, if a test used it
    with pytest.raises(ValueError, match=words):
        call(d, lib)


def test_checks_may_be_left_out(lib):
    d = importlib.import_module(f"{lib.__name__}.distributions")
    assert d.Normal(0.0, -1.0, validate_args=False).scale == -1


def test_independent_dims_add_up(lib):
    d = importlib.import_module(f"{lib.__name__}.distributions")
    p = d.Independent(d.Normal(lib.zeros(4, 3), lib.ones(4, 3)), 1)
    assert p.log_prob(lib.zeros(2, 4, 3)).shape == (2, 4) and p.entropy().shape == (4,) and p.rsample((5,)).shape == (5, 4, 3)
    assert (tuple(p.batch_shape), tuple(p.event_shape)) == ((4,), (3,)) and d.kl_divergence(p, p).tolist() == [0, 0, 0, 0]
    assert repr(p) == "Independent(Normal(loc: torch.Size([4, 3]), scale: torch.Size([4, 3])), 1)"
    assert p.expand((2, 4)).batch_shape == (2, 4) and d.Categorical(lib.ones(3)).expand((5,)).sample().shape == (5,)


def test_all_values_of_a_discrete_distribution(lib):
    d = importlib.import_module(f"{lib.__name__}.distributions")
    assert d.Bernoulli(lib.tensor([0.5, 0.5])).enumerate_support().tolist() == [[0, 0], [1, 1]]
    assert d.Categorical(lib.ones(2, 3)).enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert d.OneHotCategorical(lib.ones(2)).enumerate_support().tolist() == [[1, 0], [0, 1]]


def test_a_policy_learns_from_rewards():
    autolab.manual_seed(0)
    logits = autolab.zeros(3, requires_grad=True)
    optimizer = autolab.optim.Adam([logits], lr=0.1)
    for _ in range(60):
        policy = here.Categorical(logits=logits)
        actions = policy.sample((16,))
        rewards = autolab.tensor([0.0, 1.0, 0.2])[actions]
        optimizer.zero_grad()
        (-policy.log_prob(actions) * (rewards - rewards.mean()) - 0.01 * policy.entropy()).mean().backward()
        optimizer.step()
    assert here.Categorical(logits=logits).probs[1] > 0.9


def test_the_package_lists_its_families_and_their_modules(lib):
    names = dir(importlib.import_module(f"{lib.__name__}.distributions"))
    assert {"Normal", "normal", "studentT", "constraints", "kl_divergence"} <= set(names)
    assert not {"HOMES", "continuous", "discrete", "relaxed"} & set(names)


@pytest.mark.parametrize("module", ["", "constraints", "transforms", "utils", "constraint_registry"])
def test_no_name_of_pytorchs_is_missing(torch, module):
    ours, theirs = (importlib.import_module(f"{T.__name__}.distributions.{module}".rstrip(".")) for T in (autolab, torch))
    public = getattr(theirs, "__all__", [name for name in dir(theirs) if name in ours.__all__])
    assert sorted(set(public) - set(dir(ours))) == []
