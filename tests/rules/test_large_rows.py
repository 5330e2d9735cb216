"""Rows that go another way for large arrays give what they give for small ones."""

import numpy as np
import pytest

import autolab
from autolab.fast.kernels import nn as kernels

F = autolab.nn.functional
SCORES = {
    "moderate": lambda rng: rng.standard_normal((4, 40, 40)),
    "large": lambda rng: rng.standard_normal((4, 40, 40)) * 300,
    "one row far below the others": lambda rng: rng.standard_normal((4, 40, 40)) - 500 * (np.arange(40)[:, None] == 3),
    "-inf among them": lambda rng: np.where(rng.random((4, 40, 40)) < 0.3, -np.inf, rng.standard_normal((4, 40, 40))),
    "a nan": lambda rng: np.where(np.arange(6400).reshape(4, 40, 40) == 77, np.nan, 1.0),
}
CALLS = {
    "softmax": lambda x: F.softmax(x, -1),
    "softmax along the first": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "attention": lambda x: F.scaled_dot_product_attention(x, x.mT, x),
    "causal attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities(call, scores, dtype, rng, monkeypatch):
    x = autolab.tensor(scores(rng).astype(dtype), requires_grad=True)
    g = autolab.tensor(rng.standard_normal((4, 40, 40)).astype(dtype))
    with np.errstate(all="ignore"):
        y = call(x)
        slope = autolab.autograd.grad(y, x, g)[0]
        monkeypatch.setattr(kernels, "MANY", 1 << 40)
        expected = call(x)
        expected_slope = autolab.autograd.grad(expected, x, g)[0]
    near = {"rtol": 2e-5, "atol": 2e-5} if dtype is np.float32 else {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), **near)
    if np.isfinite(expected_slope.numpy()).all():
        size = float(expected_slope.abs().max())
        np.testing.assert_allclose(slope.numpy() / size, expected_slope.numpy() / size, **near)


def test_layer_norm_of_any_layout_and_weight(rng, torch):
    x = rng.standard_normal((3, 8, 5, 16))
    w, b, g = rng.standard_normal(16), rng.standard_normal(16), rng.standard_normal((5, 8, 3, 16))
    for weight, bias in ((w, b), (w, None), (None, None)):
        found = []
        for lib in (autolab, torch):
            leaves = [None if a is None else lib.tensor(a, requires_grad=True) for a in (x, weight, bias)]
            y = lib.nn.functional.layer_norm(leaves[0].transpose(0, 2), (16,), leaves[1], leaves[2])
            y.backward(lib.tensor(g))
            found.append([y.detach().numpy(), *(t.grad.numpy() for t in leaves if t is not None)])
        for ours, theirs in zip(*found):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_gelu_is_as_exact_as_float32_allows(rng):
    x = np.concatenate([rng.uniform(-15, 15, 20000), rng.normal(size=20000)]).astype(np.float32)
    single, double = (autolab.tensor(x, dtype=dtype, requires_grad=True) for dtype in (autolab.float32, autolab.float64))
    y, exact = F.gelu(single), F.gelu(double)
    y.sum().backward()
    exact.sum().backward()
    assert ((y - exact).abs() <= 2e-7 * double.abs()).all()
    assert ((single.grad - double.grad).abs() <= 3e-7).all()
    assert F.gelu(autolab.tensor([-1000.0, -20, 0, 20, 1000])).tolist() == [0, 0, 0, 20, 1000]


@pytest.mark.parametrize("settings", [{}, {"dim": (0, 1)}, {"dim": (0, 1), "keepdim": True}, {"dim": 1}])
@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_sums_of_many_are_as_exact_as_pytorchs(reduce, settings, rng, torch):
    x = (10 ** rng.uniform(-5, 5, (301, 1003))).astype(np.float32)
    x[3] += np.float32(1e6)
    ours, theirs = (getattr(lib.tensor(x), reduce)(**settings) for lib in (autolab, torch))
    right = getattr(torch.tensor(x).double(), reduce)(**settings).numpy()
    assert ours.dtype == autolab.float32 and ours.shape == theirs.shape
    np.testing.assert_allclose(ours.numpy(), right, rtol=max(np.abs(theirs.numpy() / right - 1).max(), 2.4e-7))
    with np.errstate(over="ignore"):
        assert getattr(autolab.full((300, 300), np.nan), reduce)().isnan() and getattr(autolab.full((300, 300), 1e38), reduce)().isinf()


def test_cubes_of_bools_and_of_whole_numbers_stay_what_they_are():
    assert (autolab.arange(5000) ** 3).tolist()[-1] == 4999**3
    assert ((autolab.arange(5000) % 2).bool() ** 3).dtype == autolab.int64


@pytest.mark.parametrize("settings", [{}, {"dim": (0, 1)}, {"dim": (0, 1), "keepdim": True}, {"dim": 1}, {"p": 3}])
def test_norms_of_many_are_as_exact_as_pytorchs(settings, rng, torch):
    x = rng.standard_normal((301, 1003)).astype(np.float32)
    ours, theirs = (lib.tensor(x).norm(**settings) for lib in (autolab, torch))
    right = torch.tensor(x).double().norm(**settings).numpy()
    assert ours.dtype == autolab.float32 and ours.shape == theirs.shape
    np.testing.assert_allclose(ours.numpy(), right, rtol=1e-6)


@pytest.mark.parametrize("n", [70_000, 65_536 + 1024])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_products_of_many(n, dtype, rng, torch):
    x = np.ones(n, dtype) if dtype == "int64" else (1 + rng.standard_normal(n) / 1000).astype(dtype)
    x[[5, -3]] = 3
    ours, theirs = (lib.tensor(x).prod() for lib in (autolab, torch))
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
@pytest.mark.parametrize("settings", [{}, {"delta": 0.5}, {"delta": 3.0}])
def test_losses_that_grow_straight_are_pytorchs(name, settings, rng, torch):
    x, y = rng.standard_normal((2, 70_000)) * 3
    x[:3] = y[:3] + [0, 1, 0.5]  # on the corners
    if name == "smooth_l1_loss":
        settings = {"beta" if k == "delta" else k: v for k, v in settings.items()}
    found = []
    for lib in (autolab, torch):
        a, b = (lib.tensor(v, requires_grad=True) for v in (x, y))
        loss = getattr(lib.nn.functional, name)(a, b, reduction="none", **settings)
        (loss * lib.tensor(y)).sum().backward()
        found.append([loss, a.grad, b.grad])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_a_loss_that_grows_straight_has_no_curvature_at_its_corner(torch):
    slopes = []
    for lib in (autolab, torch):
        x = lib.tensor([1.0, 0.2, -4.0], dtype=lib.float64, requires_grad=True)
        loss = lib.nn.functional.huber_loss(x, lib.zeros(3, dtype=lib.float64), reduction="sum")
        (slope,) = lib.autograd.grad(loss, x, create_graph=True)
        slopes.append(lib.autograd.grad(slope.sum(), x)[0].tolist())
    assert slopes[0] == slopes[1] == [0, 1, 0]
