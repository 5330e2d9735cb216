"""Fourier transforms: values, gradients and second gradients as in PyTorch, forward mode and vmap against finite differences."""

import numpy as np
import pytest

import autolab
from autolab.autograd import gradcheck, gradgradcheck

REAL_IN = "rfft ihfft rfft2 ihfft2 rfftn ihfftn".split()
NAMES = ["fft", "ifft", "irfft", "hfft", "fft2", "ifft2", "irfft2", "hfft2", "fftn", "ifftn", "irfftn", "hfftn", *REAL_IN]
ONE = [{}, {"n": 5}, {"n": 2, "norm": "ortho"}, {"n": 4, "dim": 0, "norm": "forward"}]
SEVERAL = [{}, {"s": (3, 4)}, {"s": (2, 3), "dim": (0, 2), "norm": "ortho"}, {"dim": (1, 0), "norm": "forward"}]


def settings(name):
    return SEVERAL if name[-1] in "2n" else ONE


CASES = [(name, k) for name in NAMES for k in range(4)]


def numbers(rng, shape, of_complex):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape) if of_complex else rng.standard_normal(shape)


def input_for(T, name, shape=(3, 4, 3)):
    return T.tensor(numbers(np.random.default_rng(0), shape, name not in REAL_IN), requires_grad=True)


def derivatives(T, name, options):
    """The value, its gradient along weights, and the gradient of that by the weights: the transform is linear."""
    x = input_for(T, name)
    out = getattr(T.fft, name)(x, **options)
    weight = T.tensor(numbers(np.random.default_rng(1), tuple(out.shape), out.is_complex()), requires_grad=True)
    (g,) = T.autograd.grad(out, x, weight, create_graph=True)
    (more,) = T.autograd.grad(g, weight, T.tensor(numbers(np.random.default_rng(2), tuple(x.shape), x.is_complex())))
    return [t.detach().resolve_conj().numpy() for t in (out, g, more)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_transforms_and_gradients_are_pytorchs(torch, name, case):
    for ours, theirs in zip(*(derivatives(T, name, settings(name)[case]) for T in (autolab, torch)), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", ["fft", "irfft", "rfft", "hfft", "irfftn", "ihfft2"])
def test_every_mode_agrees_with_finite_differences(name):
    x = input_for(autolab, name, (2, 3))
    f = lambda x: getattr(autolab.fft, name)(x)
    assert gradcheck(f, x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert gradgradcheck(f, x, check_fwd_over_rev=True)


@pytest.mark.parametrize("expression", [
    "fftfreq(5, 0.5)", "fftfreq(4)", "rfftfreq(5)", "rfftfreq(4, 2.0)", "fftshift(T.arange(5))", "ifftshift(T.arange(5))", "fft(T.arange(4))",
    "fftshift(T.arange(12).reshape(3, 4), dim=1)", "ifftshift(T.arange(12).reshape(3, 4))",
    "irfft(T.tensor([1 + 2j, 3 + 4j]))", "fft(T.ones(3, dtype=T.complex64), out=T.empty(3, dtype=T.complex64))",
])  # fmt: skip
def test_calls_give_what_they_give_in_pytorch(torch, expression):
    ours, theirs = (eval(f"T.fft.{expression}", {"T": T}) for T in (autolab, torch))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(("expression", "error", "words"), [
    ("fft(T.ones(3), n=0)", RuntimeError, r"Invalid number of data points \(0\) specified"),
    ("fft(T.ones(3), norm='half')", RuntimeError, "Invalid normalization mode: \"half\""),
    ("rfft(T.ones(3) * 1j)", RuntimeError, "rfft expects a real input tensor, but got ComplexFloat"),
    ("irfft(T.ones(1))", RuntimeError, r"Invalid number of data points \(0\) specified"),
    ("fft(T.tensor(1.0))", IndexError, "Dimension specified as -1 but tensor has no dimensions"),
    ("fftn(T.ones(2, 2), dim=(0, 0))", RuntimeError, "FFT dims must be unique"),
    ("fftn(T.ones(2, 2), s=(2,), dim=(0, 1))", RuntimeError, "When given, dim and shape arguments must have the same length"),
    ("fftn(T.ones(2), s=(2, 2))", RuntimeError, "Got shape with 2 values but input tensor only has 1 dimensions"),
])  # fmt: skip
def test_what_cannot_be_is_refused_in_pytorchs_words(torch, expression, error, words):
    for T in (autolab, torch):
        with pytest.raises(error, match=words):
            eval(f"T.fft.{expression}", {"T": T})


def test_the_energy_of_a_signal_is_that_of_its_spectrum():
    x = autolab.randn(8, dtype=autolab.float64)
    assert autolab.fft.fft(x, norm="ortho").norm().item() == pytest.approx(x.norm().item())


def test_a_sample_is_transformed_by_itself_inside_vmap():
    x = autolab.randn(3, 4)
    assert autolab.allclose(autolab.func.vmap(autolab.fft.fft)(x), autolab.fft.fft(x))
