"""What layers and optimizers do with complex numbers, beside PyTorch."""

import numpy as np
import pytest

import autolab as torch
from autolab.autograd import gradcheck, gradgradcheck

F = torch.nn.functional


@pytest.fixture
def oracle(torch):
    """PyTorch: here `torch` is autolab, as in a program."""
    return torch


def drawn(*shape, complex=True):
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape) + 1j * rng.normal(size=shape) if complex else rng.normal(size=shape)


def both(oracle, f, *arrays):
    """Value and gradients of f, here and there, with the same numbers behind."""
    found = []
    for lib in (torch, oracle):
        inputs = [lib.from_numpy(a.copy()).requires_grad_() for a in arrays]
        out = f(lib, *inputs)
        g = lib.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
        found.append([t.detach().numpy() for t in (out, *lib.autograd.grad((out * g.to(out.dtype)).abs().square().sum(), inputs))])
    return zip(*found, strict=True)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("name", ["conv{}d", "conv_transpose{}d"])
def test_convolutions_of_complex_numbers(oracle, name, dims):
    f = lambda lib, x, w, b: getattr(lib.nn.functional, name.format(dims))(x, w, b, stride=2, padding=1)
    for mine, theirs in both(oracle, f, drawn(2, 4, *(5,) * dims), drawn(4, 4, *(3,) * dims), drawn(4)):
        assert np.allclose(mine, theirs)


@pytest.mark.parametrize("f", [
    lambda lib, z: lib.nn.functional.pad(z, (1, 2, 0, 1), value=3),
    lambda lib, z: lib.logsumexp(z, 1), lambda lib, z: lib.var_mean(z, 0)[0], lambda lib, z: lib.var_mean(z, 1)[1],
    lambda lib, z: lib.std_mean(z, 1)[0], lambda lib, z: lib.nn.functional.unfold(z[None, None], 2)[0],
])  # fmt: skip
def test_operations_that_complex_numbers_have_in_pytorch(oracle, f):
    for mine, theirs in both(oracle, f, drawn(4, 5)):
        assert mine.dtype == theirs.dtype and np.allclose(mine, theirs)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("options", [
    {}, {"center": False}, {"pad_mode": "constant", "normalized": True}, {"onesided": False}, {"win_length": 6, "hop_length": 3},
])  # fmt: skip
def test_short_time_fourier_transforms(oracle, options, complex):
    def f(lib, x):
        window = lib.hann_window(options.get("win_length", 8), dtype=lib.float64)
        return lib.stft(x, 8, window=window, return_complex=True, **options)

    for mine, theirs in both(oracle, f, drawn(2, 20, complex=complex)):
        assert mine.dtype == theirs.dtype and np.allclose(mine, theirs)


@pytest.mark.parametrize(
    "options", [{}, {"length": 17}, {"normalized": True}, {"onesided": False}, {"onesided": False, "return_complex": True}]
)
def test_the_inverse_of_a_short_time_fourier_transform(oracle, options):
    window = lambda lib: lib.hamming_window(8, dtype=lib.float64)
    n = 8 if "onesided" in options else 5
    for mine, theirs in both(oracle, lambda lib, X: lib.istft(X, 8, window=window(lib), **options), drawn(2, n, 9)):
        assert mine.dtype == theirs.dtype and np.allclose(mine, theirs)


@pytest.mark.filterwarnings("ignore:The length of signal")
def test_a_longer_signal_than_there_is_ends_in_zeros(oracle):
    X = drawn(5, 4)
    mine, theirs = (lib.istft(lib.from_numpy(X), 8, window=lib.ones(8, dtype=lib.float64), length=30).numpy() for lib in (torch, oracle))
    assert np.allclose(mine, theirs) and not mine[-10:].any()


def test_silu_has_a_complex_derivative(oracle):
    z = torch.from_numpy(drawn(3)).requires_grad_()
    assert np.allclose(F.silu(z).detach().numpy(), oracle.nn.functional.silu(oracle.from_numpy(drawn(3))).numpy())
    assert gradcheck(F.silu, z)


def test_a_signal_comes_back_from_its_short_time_fourier_transform():
    x, window = torch.from_numpy(drawn(2, 40, complex=False)), torch.hann_window(16, dtype=torch.float64)
    spectrum = x.stft(16, window=window, return_complex=True)
    assert torch.allclose(spectrum.istft(16, window=window, length=40), x)


def test_short_time_fourier_transforms_have_second_derivatives():
    x = torch.from_numpy(drawn(12, complex=False)).requires_grad_()
    f = lambda x: torch.stft(x, 8, return_complex=True).abs().square().sum()
    assert gradcheck(f, x) and gradgradcheck(f, x)


@pytest.mark.parametrize(("call", "said"), [
    (lambda x: torch.stft(x, 8), "return_complex parameter be given"), (lambda x: torch.stft(x, 99, center=False, return_complex=True), "0 < n_fft"),
    (lambda x: torch.stft(x, 8, window=torch.ones(5), return_complex=True), "win_length=8"), (lambda x: torch.istft(x, 8), "complex-valued"),
    (lambda x: torch.istft(torch.ones(5, 4) * 1j, 8, hop_length=16, center=False), "leave an entry without weight"),
])  # fmt: skip
def test_what_does_not_fit_is_said(call, said):
    with pytest.raises(RuntimeError, match=said):
        call(torch.ones(20))


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1}, "Adam": {"amsgrad": True}, "AdamW": {}, "NAdam": {}, "RAdam": {}, "Adamax": {},
    "Adagrad": {"lr": 0.1}, "RMSprop": {"centered": True, "momentum": 0.5}, "Adadelta": {}, "Rprop": {}, "ASGD": {}, "LBFGS": {"lr": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_moves_complex_parameters_as_pytorch_does(oracle, name):
    ends = []
    for lib in (torch, oracle):
        z, c = lib.from_numpy(drawn(3, 2)).requires_grad_(), lib.from_numpy(drawn(3, 2) * 1j)
        optimizer = getattr(lib.optim, name)([z], **{"lr": 0.05, **OPTIMIZERS[name]})

        def closure(lib=lib, z=z, c=c, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((z * z - c).abs() ** 2).sum()
            loss.backward()
            return loss

        for _ in range(5):
            optimizer.step(closure)
        ends.append(z.detach().numpy())
    assert np.allclose(*ends)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_an_optimizer_that_pytorch_has_for_real_numbers_only_says_so(name):
    with pytest.raises(TypeError, match="does not support complex parameters"):
        getattr(torch.optim, name)([torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)])
