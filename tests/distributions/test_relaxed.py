"""Relaxed choices, broken sticks and quotients: PyTorch's numbers and gradients, and draws that are what they promise."""

import importlib

import numpy as np
import pytest

import autolab

from .test_distributions import answer, numbers, positive, shares

# name: parameters, values to ask about
KINDS = {
    "RelaxedBernoulli": ({"temperature": np.array(0.7), "probs": shares(4)}, shares(3, 4, seed=1)),
    "RelaxedBernoulli of logits": ({"temperature": np.array([2.0]), "logits": numbers(4)}, shares(3, 4, seed=1)),
    "RelaxedOneHotCategorical": ({"temperature": np.array(0.7), "probs": shares(2, 4)}, shares(3, 2, 4, seed=1)),
    "RelaxedOneHotCategorical of logits": ({"temperature": np.array(1.5), "logits": numbers(4)}, shares(3, 4, seed=1)),
    "OneHotCategoricalStraightThrough": ({"logits": numbers(3, 4)}, np.eye(4)[[0, 3, 1]]),
    "Kumaraswamy": ({"concentration1": positive(4), "concentration0": positive(4, seed=1)}, shares(3, 4)),
    "InverseGamma": ({"concentration": positive(4) + 4, "rate": positive(3, 4, seed=1)}, positive(3, 4)),
    "FisherSnedecor": ({"df1": positive(4) + 2, "df2": positive(3, 4, seed=1) + 3}, positive(3, 4)),
    "LogisticNormal": ({"loc": numbers(2, 3), "scale": positive(3)}, shares(5, 2, 4)),
}  # fmt: skip


def library(T):
    return importlib.import_module(f"{T.__name__}.distributions")


def made(T, kind, requires_grad=False):
    parameters = {k: T.tensor(v, requires_grad=requires_grad) for k, v in KINDS[kind][0].items()}
    return getattr(library(T), kind.split()[0])(**parameters), list(parameters.values())


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_and_their_gradients_are_pytorchs(torch, kind):
    found = []
    for T in (autolab, torch):
        p, parameters = made(T, kind, requires_grad=True)
        logs = p.log_prob(T.tensor(KINDS[kind][1]))
        found.append([logs.detach().numpy(), *(g.numpy() for g in T.autograd.grad(logs.sum(), parameters))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def same(a, b):
    """The same numbers, or what was raised."""
    if isinstance(a, type):
        assert a is b
    else:
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_them_is_pytorchs(torch, kind):
    (ours, _), (theirs, _) = made(autolab, kind), made(torch, kind)
    for a, b in ((ours, theirs), (ours.expand((5, *ours.batch_shape)), theirs.expand((5, *theirs.batch_shape)))):
        assert (tuple(a.batch_shape), tuple(a.event_shape)) == (tuple(b.batch_shape), tuple(b.event_shape))
        for name in ["mean", "variance"] + ["mode"] * (kind != "Kumaraswamy"):
            same(answer(lambda: getattr(a, name)), answer(lambda: getattr(b, name)))  # noqa: B023
        same(answer(a.entropy), answer(b.entropy))
        assert tuple(a.sample((2,)).shape) == tuple(b.sample((2,)).shape)
    assert repr(ours.support) == repr(theirs.support)
    assert ours.has_rsample == theirs.has_rsample


@pytest.mark.parametrize("kind", ["Kumaraswamy", "InverseGamma", "FisherSnedecor"])
def test_draws_have_the_mean_they_promise(kind):
    autolab.manual_seed(0)
    p, _ = made(autolab, kind)
    draws = p.sample((40000,)).numpy()
    np.testing.assert_allclose(draws.mean(0), p.mean.expand(draws.shape[1:]).numpy(), rtol=0.1)


def test_the_mode_is_where_the_density_is_largest():
    p = library(autolab).Kumaraswamy(autolab.tensor([2.0, 3.0, 0.5]), autolab.tensor([3.0, 1.5, 2.0]))
    grid = autolab.linspace(0.01, 0.99, 981, dtype=autolab.float64)[:, None]
    np.testing.assert_allclose(p.mode[:2].numpy(), grid[p.log_prob(grid).argmax(0)[:2], 0].numpy(), atol=1e-3)
    assert p.mode[2].isnan()


def test_a_parameter_first_asked_for_by_a_draw_has_its_gradient(lib):
    logits = lib.tensor([0.5, -0.5], requires_grad=True)
    p = library(lib).Categorical(logits=logits)
    p.sample()
    assert lib.autograd.grad(p.probs[0], logits)[0][0] > 0


def test_a_soft_choice_is_as_probable_as_the_hard_one():
    autolab.manual_seed(0)
    p, _ = made(autolab, "RelaxedBernoulli")
    np.testing.assert_allclose((p.sample((20000,)) > 0.5).double().mean(0).numpy(), p.probs.numpy(), atol=0.015)
    p, _ = made(autolab, "RelaxedOneHotCategorical")
    most = autolab.nn.functional.one_hot(p.sample((20000,)).argmax(-1), 4)
    np.testing.assert_allclose(most.double().mean(0).numpy(), p.probs.numpy(), atol=0.015)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.split()[0] not in ("InverseGamma", "FisherSnedecor")])
def test_draws_have_gradients(lib, kind):
    p, parameters = made(lib, kind, requires_grad=True)
    x = p.rsample((3,))
    grads = lib.autograd.grad((x * lib.arange(x.shape[-1])).sum(), parameters)
    assert all(g.isfinite().all() and g.abs().sum() > 0 for g in grads)


def test_a_straight_through_draw_has_the_gradient_of_the_probabilities(lib):
    p = lib.tensor([0.2, 0.8], requires_grad=True)
    q = library(lib).OneHotCategoricalStraightThrough(probs=p)
    x = q.rsample()
    assert sorted(x.tolist()) == [0, 1]
    (x * lib.tensor([1.0, 3.0])).sum().backward()
    np.testing.assert_allclose(p.grad.tolist(), [-1.6, 0.4], rtol=1e-5)  # less their mean: probabilities sum to 1


def test_a_stick_is_broken_and_put_together_as_in_pytorch(torch):
    found = []
    for T in (autolab, torch):
        t, x = library(T).StickBreakingTransform(), T.tensor(numbers(3, 4), requires_grad=True)
        y = t(x)
        slope = t.log_abs_det_jacobian(x, y)
        found.append([v.detach().numpy() for v in (y, t.inv(y), slope, *T.autograd.grad(slope.sum() + (y * y).sum(), x))])
        assert (t.forward_shape((2, 3)), t.inverse_shape((2, 3)), t.event_dim) == ((2, 4), (2, 2), 1)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
