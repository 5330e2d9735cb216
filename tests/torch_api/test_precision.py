"""Sixteen-bit floats are added up in float32 and rounded once; careful forms stay exact where the plain ones break down."""

import numpy as np
import pytest

import autolab

HALVES = ["float16", "bfloat16"]
REDUCTIONS = {
    "sum": lambda T, x: x.sum(0), "mean": lambda T, x: x.mean(0), "var": lambda T, x: x.var(0), "std": lambda T, x: x.std(0),
    "norm": lambda T, x: x.norm(2, 0), "logsumexp": lambda T, x: x.logsumexp(0), "cumsum": lambda T, x: x.cumsum(0),
    "nansum": lambda T, x: x.nansum(0), "softmax": lambda T, x: x.softmax(0), "prod": lambda T, x: x[:30].prod(0),
    "nanmean": lambda T, x: x.nanmean(0), "cumprod": lambda T, x: x[:30].cumprod(0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_rounded_once(dtype, name, rng):
    x = autolab.tensor(rng.uniform(0.5, 1.5, (1500, 3)), dtype=getattr(autolab, dtype))
    got = REDUCTIONS[name](autolab, x)
    wide = REDUCTIONS[name](autolab, x.double()).to(got.dtype)
    assert got.dtype == x.dtype
    spacing = 2**-10 if dtype == "float16" else 2**-7
    np.testing.assert_allclose(got.double().numpy(), wide.double().numpy(), rtol=1.01 * spacing)


@pytest.mark.parametrize("dtype", HALVES)
def test_more_ones_than_the_dtype_can_count(dtype):
    x = autolab.ones(3000, dtype=getattr(autolab, dtype), requires_grad=True)
    assert x.sum().item() == pytest.approx(3000, rel=5e-3)  # one by one it would stop at 2048, or at 256
    x.mean().backward()
    assert x.grad.dtype == x.dtype


EXTREME = {
    "log1p": (lambda T, x: T.log1p(x), [1e-300, 1e-18, 1e300]),
    "expm1": (lambda T, x: T.expm1(x), [1e-300, -1e-18, -800.0]),
    "logsumexp": (lambda T, x: T.logsumexp(x, 0), [1e300, -1e300, 0.0]),
    "logaddexp": (lambda T, x: T.logaddexp(x, -x), [800.0, -1e5, 1e-200]),
    "logcumsumexp": (lambda T, x: T.logcumsumexp(x, 0), [-1e5, 800.0, 1e5]),
    "sigmoid": (lambda T, x: T.sigmoid(x), [-700.0, 700.0, 40.0]),
    "xlogy": (lambda T, x: T.xlogy(x, x), [1e-300, 1e300, 5.0]),
    "logit": (lambda T, x: T.logit(x, 1e-6), [0.0, 1e-8, 1.0]),
    "hypot": (lambda T, x: T.hypot(x, 2 * x), [1e200, 1e-200, -1e300]),
    "erfc": (lambda T, x: T.erfc(x), [26.0, -26.0, 5.0]),
    "erfcx": (lambda T, x: T.special.erfcx(x), [1e10, 30.0, -5.0]),
    "log_ndtr": (lambda T, x: T.special.log_ndtr(x), [-30.0, 5.0, 9.0]),
    "lgamma": (lambda T, x: T.lgamma(x), [1e-100, 170.0, 1e15]),
    "digamma": (lambda T, x: T.digamma(x), [1e-9, 1e15, -0.5]),
    "i0e": (lambda T, x: T.special.i0e(x), [1e5, -700.0, 1e-9]),
    "softplus": (lambda T, x: T.nn.functional.softplus(x), [-800.0, 800.0, 20.5]),
    "logsigmoid": (lambda T, x: T.nn.functional.logsigmoid(x), [-800.0, 800.0, -30.0]),
    "log_softmax": (lambda T, x: T.log_softmax(x, 0), [1e5, -1e5, 0.0]),
    "sinc": (lambda T, x: T.sinc(x), [0.0, 0.5, 1e3]),  # near 0 PyTorch's gradient loses all digits
    "cosh and sinh": (lambda T, x: T.cosh(x) - T.sinh(x).abs(), [300.0, -20.0, 1e-9]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", EXTREME)
def test_far_out_values_and_gradients_are_pytorchs(torch, name):
    expression, numbers = EXTREME[name]
    found = []
    for T in (autolab, torch):
        x = T.tensor(numbers, dtype=T.float64, requires_grad=True)
        y = expression(T, x)
        y.sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.1, 3.7), (0.0, 6.283185307179586)])
def test_float32_counts_between_two_ends_as_pytorch_does(torch, ends):
    for steps in (2, 7, 28, 101):
        assert autolab.linspace(*ends, steps).tolist() == torch.linspace(*ends, steps).tolist()


@pytest.mark.parametrize("align_corners", [True, False])
def test_the_grid_of_an_identity_is_pytorchs_so_its_gradients_are(torch, align_corners):
    grids = [
        T.nn.functional.affine_grid(T.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 12, 28), align_corners=align_corners)
        for T in (autolab, torch)
    ]
    assert grids[0].tolist() == grids[1].tolist()  # to the bit: between two entries, the side decides about the gradient
