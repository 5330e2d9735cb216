"""The numba backend: chains of elementwise steps as machine code, with the results of eager mode."""

import sys

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import explain, source_of

NUMBA = pytest.mark.numba
N = 10_000


def both(function, *shapes, dtype=torch.float32):
    """Results and gradients of a function, compiled and in eager mode, in a call that replays."""
    compiled, found = torch.compile(function, backend="numba"), []
    for f in (compiled, compiled, function):
        torch.manual_seed(0)
        inputs = [(torch.randn(shape, dtype=dtype) / 2).requires_grad_() for shape in shapes]
        out = f(*inputs)
        out.sum().backward()
        found.append([out.detach().numpy(), *[t.grad.numpy() for t in inputs]])
    return compiled, found[1], found[2]


@NUMBA
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", [
    lambda x, y: ((x * y + x).tanh() * y).exp().sum() + (x - y).abs().mean(),
    lambda x, y: ((x.exp() + 1).log() / (y * y + 1)).sqrt(),
    lambda x, y: torch.where(x > y, x.relu(), y * 2) * torch.maximum(x, y) - torch.minimum(x, -y),
    lambda x, y: torch.sigmoid(x) * y.reciprocal() + (x >= 0) * y,
], ids=["elementwise", "roots", "choices", "masks"])  # fmt: skip
def test_chains_as_machine_code_give_what_eager_mode_gives(function, dtype):
    compiled, mine, theirs = both(function, (N,), (N,), dtype=dtype)
    assert "machine code" in str(explain(compiled))
    assert "for i in range" in source_of(compiled)
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=np.abs(b).max() * np.finfo(b.dtype).eps * 8)


@NUMBA
def test_arithmetic_is_rounded_as_numpy_rounds_it():
    _, mine, theirs = both(lambda x, y: x * y + x / y - x * x * 0.3, (N,), (N,))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@NUMBA
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_polynomials_are_as_close_as_numpys_functions(name):
    from autolab.compiler import lanes

    xs = np.concatenate([np.linspace(-87, 88, 20_001), np.linspace(-2, 2, 20_001)]).astype(np.float32)
    xs = np.exp(xs) if name == "log" else xs
    exact = getattr(np, name)(xs.astype(np.float64))
    got = np.array([getattr(lanes, name)(x) for x in xs], np.float64)
    assert (np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() < 1.5


@NUMBA
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_polynomials_know_the_ends_of_the_number_line(name):
    from autolab.compiler import lanes

    xs = np.array([0, -0.0, np.inf, -np.inf, np.nan, -1, 1e-40, 3e38, -3e38, 1], np.float32)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(xs)
    np.testing.assert_allclose([getattr(lanes, name)(x) for x in xs], expected, rtol=2e-7)


@NUMBA
def test_what_has_no_formula_stays_a_call_between_two_loops():
    compiled, mine, theirs = both(lambda x: ((x * 2 + 1).sin() * x).exp(), (N,))
    assert "sin(" in source_of(compiled)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)


@NUMBA
def test_not_a_number_is_not_swallowed_by_a_maximum():
    f = torch.compile(lambda x: torch.maximum(x, x * 0.5).relu() + 1, backend="numba")
    x = torch.full((N,), float("nan"))
    assert f(x).isnan().all() and f(x).isnan().all()


def test_without_numba_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "autolab.compiler.machine", raising=False)
    with pytest.raises(ImportError, match="pip install"):
        torch.compile(lambda x: x, backend="numba")
