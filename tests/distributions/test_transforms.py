"""Transforms, what they make of distributions, mixtures and counts: PyTorch's numbers, and gradients."""

import importlib

import numpy as np
import pytest

import autolab

X = np.array([[0.3, -0.7], [1.2, 0.4]])
# name: arguments, points of its domain
TRANSFORMS = {
    "ExpTransform": ((), X), "SigmoidTransform": ((), X), "TanhTransform": ((), X), "SoftplusTransform": ((), X),
    "AffineTransform": ((1.5, -2.0), X), "PowerTransform": ((2.5,), np.abs(X)),
}  # fmt: skip


def library(T):
    return importlib.import_module(f"{T.__name__}.distributions")


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_and_their_inverses_are_pytorchs(torch, name):
    found = []
    for T in (autolab, torch):
        settings, points = TRANSFORMS[name]
        t = getattr(library(T), name)(*(T.tensor(s, dtype=T.float64) for s in settings))
        x = T.tensor(points, requires_grad=True)
        y = t(x)
        slope = t.log_abs_det_jacobian(x, y)
        g = T.autograd.grad(slope.sum(), x)[0] if slope.requires_grad else None
        inverse = t.inv.log_abs_det_jacobian(y, x)
        found.append([v.detach().numpy() for v in (y, t.inv(y), slope, inverse, T.zeros(1) if g is None else g)] + [float(t.sign)])
        assert (t.inv.inv is t) and repr(t.domain) and t.bijective
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_jacobian_is_that_of_the_function(name):
    settings, points = TRANSFORMS[name]
    t = getattr(library(autolab), name)(*settings)
    x = autolab.tensor(points, requires_grad=True)
    (slope,) = autolab.autograd.grad(t(x).sum(), x)
    np.testing.assert_allclose(t.log_abs_det_jacobian(x, t(x)).detach().numpy(), np.log(np.abs(slope.numpy())), rtol=1e-9, atol=1e-12)


MADE = {
    "log-normal": lambda d, T: d.TransformedDistribution(d.Normal(loc(T), scale(T)), d.ExpTransform()),
    "squashed": lambda d, T: d.TransformedDistribution(d.Normal(loc(T), scale(T)), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]),
    "of a vector": lambda d, T: d.TransformedDistribution(d.Independent(d.Normal(loc(T), scale(T)), 1), [d.SigmoidTransform()]),
    "over a vector": lambda d, T: d.TransformedDistribution(d.Normal(loc(T), scale(T)), [d.AffineTransform(0.5, 0.1, event_dim=1)]),
    "of nothing": lambda d, T: d.TransformedDistribution(d.Normal(loc(T), scale(T)), []),
    "mixture": lambda d, T: d.MixtureSameFamily(d.Categorical(scale(T)), d.Normal(loc(T), scale(T))),
    "mixture of vectors": lambda d, T: d.MixtureSameFamily(d.Categorical(scale(T)[:1]), d.Independent(d.Normal(*pair(T)), 1)),
    "multinomial": lambda d, T: d.Multinomial(3, logits=loc(T)),
}


def loc(T):
    return T.tensor(X, requires_grad=True)


def scale(T):
    return T.tensor(np.abs(X) + 0.1, requires_grad=True)


def pair(T):
    return loc(T)[None], scale(T)[None]


VALUES = {"multinomial": np.array([[1.0, 2.0], [3.0, 0.0]]), "mixture": np.array([0.2, 0.7])}


@pytest.mark.parametrize("kind", MADE)
def test_their_log_probabilities_are_pytorchs(torch, kind):
    found = []
    for T in (autolab, torch):
        p = MADE[kind](library(T), T)
        found.append(p.log_prob(T.tensor(VALUES.get(kind, np.array([[0.2, 0.7]])))).detach().numpy())
        found.append([tuple(p.batch_shape), tuple(p.event_shape), tuple(p.sample((5,)).shape), str(p.support)])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9)
    assert found[1] == found[3]


@pytest.mark.parametrize("kind", ["mixture", "mixture of vectors", "multinomial"])
def test_draws_have_the_mean_and_variance_that_pytorch_names(torch, kind):
    ours, theirs = (MADE[kind](library(T), T) for T in (autolab, torch))
    for name in ("mean", "variance"):
        np.testing.assert_allclose(getattr(ours, name).detach().numpy(), getattr(theirs, name).detach().numpy(), rtol=1e-9)
    autolab.manual_seed(0)
    x = ours.sample((20000,)).numpy()
    np.testing.assert_allclose(x.mean(0), ours.mean.detach().numpy(), atol=0.05)
    np.testing.assert_allclose(x.var(0), ours.variance.detach().numpy(), rtol=0.1, atol=0.02)


def test_distribution_functions_follow_the_transform(torch):
    found = []
    for T in (autolab, torch):
        p, q = MADE["squashed"](library(T), T), T.tensor([0.2, 0.7], dtype=T.float64)
        found.append([p.cdf(q).detach().numpy(), p.icdf(q).detach().numpy()])
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_the_entropy_of_counts_is_pytorchs(torch):
    ours, theirs = (MADE["multinomial"](library(T), T).entropy().detach().numpy() for T in (autolab, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_transformed_draws_move_with_the_parameters():
    d = library(autolab)
    x = autolab.tensor(X, requires_grad=True)
    draws = d.TransformedDistribution(d.Normal(x, 1.0), d.TanhTransform()).rsample((5,))
    assert autolab.autograd.grad(draws.sum(), x)[0].abs().sum() > 0 and draws.shape == (5, 2, 2)


def test_divergences_do_not_change_under_a_transform(lib):
    d = library(lib)
    base = d.Normal(lib.zeros(2), 1.0), d.Normal(lib.ones(2), 2.0)
    p, q = (d.TransformedDistribution(b, [d.ExpTransform()]) for b in base)
    assert d.kl_divergence(p, q).tolist() == d.kl_divergence(*base).tolist()


def test_divergences_of_counts_and_tails_are_pytorchs(torch):
    found = []
    for T in (autolab, torch):
        d, x, y = library(T), T.tensor([0.2, 0.6]), T.tensor([2.0, 3.0])
        pairs = [
            (d.Binomial(T.tensor([3.0, 4.0]), x), d.Binomial(T.tensor([3.0, 2.0]), 1 - x)),
            (d.Pareto(y, y + 1), d.Pareto(y.flip(0), y)),
        ]
        found.append([d.kl_divergence(p, q).tolist() for p, q in pairs])
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Binomial(1, x), d.Binomial(2, x))
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_families_have_modules_of_their_own(lib):
    d = library(lib)
    homes = {"multinomial": "Multinomial", "studentT": "StudentT", "normal": "Normal", "transforms": "ExpTransform", "kl": "kl_divergence"}
    assert all(getattr(getattr(d, module), name) is getattr(d, name) for module, name in homes.items())


WRONG = [
    (lambda d, T: d.TransformedDistribution(d.Normal(0.0, 1.0), 3), (ValueError, TypeError), "."),
    (lambda d, T: d.Multinomial(T.ones(2), T.ones(2)), NotImplementedError, "inhomogeneous total_count is not supported"),
    (lambda d, T: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)), ValueError, "The Mixture distribution needs to be"),
    (lambda d, T: d.MixtureSameFamily(d.Categorical(T.ones(3)), d.Normal(T.ones(2), 1.0)), ValueError, "does not equal `component_dist"),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_what_does_not_fit_is_refused(lib, call, error, words):
    with pytest.raises(error, match=words):
        call(library(lib), lib)


def test_transforms_are_equal_if_they_do_the_same(lib):
    t, two = lib.distributions.transforms, [lib.tensor([1.0, 2.0]) for _ in range(2)]
    affine = [t.AffineTransform(a, 3.0, event_dim=1) for a in two]
    assert affine[0] == affine[1] != t.AffineTransform(two[0] + 1, 3.0, event_dim=1)
    assert t.ComposeTransform([affine[0], t.ExpTransform()]) == t.ComposeTransform([affine[1], t.ExpTransform()])
    assert t.ExpTransform() == t.ExpTransform() != t.TanhTransform() and t.PowerTransform(two[0]) == t.PowerTransform(two[1])


def test_a_transform_of_ones_own_is_written_as_in_pytorch(lib):
    d = lib.distributions

    class Cube(d.transforms.Transform):
        domain = codomain = d.constraints.real
        bijective, sign = True, 1
        _call, _inverse = staticmethod(lambda x: x**3), staticmethod(lambda y: y ** (1 / 3))

        def log_abs_det_jacobian(self, x, y):
            return (3 * x**2).log()

    cubed = d.TransformedDistribution(d.Normal(0.0, 1.0), Cube())
    x = lib.tensor(2.0)
    assert Cube().inv(lib.tensor(8.0)).item() == pytest.approx(2.0)
    assert cubed.log_prob(x**3).item() == pytest.approx((d.Normal(0.0, 1.0).log_prob(x) - (3 * x**2).log()).item(), rel=1e-5)
