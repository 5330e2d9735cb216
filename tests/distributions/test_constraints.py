"""Constraints, and the transforms that lead to what they allow: PyTorch's, and their own inverses."""

import importlib

import numpy as np
import pytest

import autolab

from .test_distributions import numbers

ROWS, MATRICES = numbers(4, 3), numbers(2, 3, 3)
SIMPLE = "real positive nonnegative unit_interval simplex real_vector corr_cholesky".split()
OF_MATRICES = "lower_cholesky positive_definite positive_semidefinite".split()
BUILT = {
    "greater_than": lambda c: c.greater_than(2.0),
    "greater_than_eq": lambda c: c.greater_than_eq(2.0),
    "less_than": lambda c: c.less_than(1.0),
    "interval": lambda c: c.interval(-1.0, 2.0),
    "half_open_interval": lambda c: c.half_open_interval(0.0, 3.0),
    "unit interval": lambda c: c.interval(0, 1),
    "independent": lambda c: c.independent(c.positive, 1),
    "cat": lambda c: c.cat([c.positive, c.real], dim=1, lengths=[1, 2]),
    "stack": lambda c: c.stack([c.positive, c.real, c.unit_interval], dim=1),
}


def library(T):
    return importlib.import_module(f"{T.__name__}.distributions")


def constraint(T, name):
    c = library(T).constraints
    return BUILT[name](c) if name in BUILT else getattr(c, name)


@pytest.mark.parametrize("name", SIMPLE + OF_MATRICES + list(BUILT))
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_transforms_to_a_constraint_are_pytorchs(torch, registry, name):
    if registry == "biject_to" and name in OF_MATRICES:
        with pytest.raises(NotImplementedError, match="Cannot transform _"):
            library(autolab).biject_to(constraint(autolab, name))
        return
    found = []
    for T in (autolab, torch):
        t = getattr(library(T), registry)(constraint(T, name))
        x = T.tensor(MATRICES if name in OF_MATRICES else ROWS, requires_grad=True)
        y = t(x)
        assert constraint(T, name).check(y).all()
        stretch = t.log_abs_det_jacobian(x, y) if t.bijective else y
        known = [repr(t) if name not in ("cat", "stack") else "", repr(t.domain), repr(t.codomain), t.codomain.event_dim]
        slopes = T.autograd.grad(y.square().sum(), x)[0]
        shapes = tuple(t.forward_shape(x.shape)), tuple(t.inverse_shape(y.shape))
        found.append([known, shapes, *(v.detach().numpy() for v in (y, t.inv(y), stretch, slopes))])
    (known, shapes, *ours), (known_there, shapes_there, *theirs) = found
    assert known == known_there and shapes == shapes_there
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", "lower_triangular positive_integer positive_semidefinite square symmetric corr_cholesky".split())
def test_what_a_constraint_lets_pass_is_pytorchs(torch, name):
    for values in (MATRICES, np.eye(3), -np.eye(3), np.tril(MATRICES), MATRICES + MATRICES.swapaxes(-1, -2), MATRICES[:, :2]):
        if values.shape[-2] == 3 or name not in ("positive_semidefinite", "corr_cholesky"):
            ours, theirs = (constraint(T, name).check(T.tensor(values)) for T in (autolab, torch))
            assert ours.tolist() == theirs.tolist()
    assert repr(constraint(autolab, name)) == repr(constraint(torch, name))


NORMAL = lambda T, d: d.Normal(T.tensor(ROWS), T.ones(4, 3, dtype=T.float64))  # noqa: E731
DISTRIBUTIONS = {
    "parameters for each of several": lambda T, d: d.TransformedDistribution(
        d.Normal(T.tensor(0.0, dtype=T.float64), T.tensor(1.0, dtype=T.float64)), d.AffineTransform(T.tensor(ROWS[0]), 2.0)
    ),
    "another shape": lambda T, d: d.TransformedDistribution(NORMAL(T, d), [d.ReshapeTransform((3,), (3, 1)), d.ExpTransform()]),
    "correlations": lambda T, d: d.TransformedDistribution(NORMAL(T, d), d.CorrCholeskyTransform()),
    "pieces": lambda T, d: d.TransformedDistribution(NORMAL(T, d), d.CatTransform([d.ExpTransform(), d.identity_transform], -1, [1, 2])),
    "a copula": lambda T, d: d.TransformedDistribution(
        d.MultivariateNormal(T.zeros(3, dtype=T.float64), scale_tril=T.tensor(np.tril(np.ones((3, 3))))),
        d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_that_change_their_shape_are_pytorchs(torch, name):
    found = []
    for T in (autolab, torch):
        p = DISTRIBUTIONS[name](T, library(T))
        value = 0.3 * T.ones(p.base_dist.batch_shape + p.base_dist.event_shape, dtype=T.float64)
        for t in p.transforms:
            value = t(value)
        larger = p.expand((2, *p.batch_shape))
        shapes = [tuple(s) for s in (p.batch_shape, p.event_shape, larger.batch_shape, p.rsample((5,)).shape)]
        found.append((shapes, p.log_prob(value).numpy(), larger.log_prob(value).numpy()))
    assert found[0][0] == found[1][0]
    for ours, theirs in zip(*(f[1:] for f in found), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7)


ANSWERS = {
    "a triangle as a vector": lambda T, u: u.tril_matrix_to_vec(T.tensor(MATRICES), -1),
    "with some above": lambda T, u: u.tril_matrix_to_vec(T.tensor(MATRICES), 1),
    "a vector as a triangle": lambda T, u: u.vec_to_tril_matrix(T.tensor(ROWS)),
    "below the diagonal": lambda T, u: u.vec_to_tril_matrix(T.tensor(ROWS), -1),
    "above it": lambda T, u: u.vec_to_tril_matrix(T.ones(8), 1),
    "probabilities": lambda T, u: u.logits_to_probs(T.tensor(ROWS)),
    "logits": lambda T, u: u.probs_to_logits(T.tensor([0.0, 0.5, 1.0]), is_binary=True),
    "logarithms": lambda T, u: u.probs_to_logits(T.tensor([0.0, 0.5, 1.0])),
    "one shape": lambda T, u: u.broadcast_all(T.ones(2), 3.0)[1],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_helpers_of_families_are_pytorchs(torch, name):
    ours, theirs = (ANSWERS[name](T, importlib.import_module(f"{T.__name__}.distributions.utils")) for T in (autolab, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_vector_that_fills_no_triangle_is_refused(lib):
    with pytest.raises(ValueError, match="The size of last dimension is 5 which cannot be expressed as"):
        importlib.import_module(f"{lib.__name__}.distributions.utils").vec_to_tril_matrix(lib.ones(5))


def test_another_registry_has_transforms_of_its_own(lib):
    d = library(lib)
    registry = importlib.import_module(f"{lib.__name__}.distributions.constraint_registry").ConstraintRegistry()
    registry.register(d.constraints.positive, lambda constraint: d.SoftplusTransform())
    assert isinstance(registry(d.constraints.greater_than(0.0)), d.SoftplusTransform)
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass or instance"):
        registry.register(int, lambda constraint: None)


def test_a_family_of_ones_own_says_what_depends(lib):
    c = library(lib).constraints

    class Upto(library(lib).Distribution):
        @c.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return c.interval(0.0, self.top)

    assert c.is_dependent(Upto.support) and not Upto.support.is_discrete
    with pytest.raises(NotImplementedError, match=r"\.event_dim cannot be determined statically"):
        assert c.dependent.event_dim
    assert c.dependent(event_dim=2).event_dim == 2
