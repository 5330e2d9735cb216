"""Transforms of functions of complex numbers: as in PyTorch, alone and within each other."""

import numpy as np
import pytest

import autolab

FUNCTIONS = {
    "square": lambda T, z: (z * z.conj()).real.sum(), "exp": lambda T, z: (z.exp().abs() ** 2).sum(), "angle": lambda T, z: z.angle().sum(),
    "matrix": lambda T, z: (T.tensor(M) @ z).abs().sum(), "power": lambda T, z: (z**z).real.sum(), "prod": lambda T, z: z.prod().imag,
    "norm": lambda T, z: z.norm(), "cat": lambda T, z: T.cat([z, z * 1j]).abs().sum(), "real": lambda T, z: (z * z.real).exp().real.sum(),
    "einsum": lambda T, z: T.einsum("i,ij->j", z, T.tensor(M)).abs().sum(), "sgn": lambda T, z: z.sgn().real.sum(),
    "where": lambda T, z: T.where(z.real > 0, z, z * z).imag.sum(), "pairs": lambda T, z: T.view_as_real(z).pow(3).sum(),
    "select": lambda T, z: (z[0] * z[1:]).abs().sum(), "std": lambda T, z: z.std(), "polar": lambda T, z: T.polar(z.abs(), z.imag).real.sum(),
    "parts": lambda T, z: (T.complex(z.imag.exp(), z.real) ** 2).real.sum(), "mixed": lambda T, z: (z.real * z + 1j).abs().sum(),
}  # fmt: skip
rng = np.random.default_rng(0)
Z, V, M = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((2, 3), (2, 3), (3, 3)))

TRANSFORMS = {
    "grad": lambda F, f, z, v: F.grad(f)(z[0]),
    "vmap": lambda F, f, z, v: F.vmap(f)(z),
    "vmap of grad": lambda F, f, z, v: F.vmap(F.grad(f))(z),
    "jvp": lambda F, f, z, v: F.jvp(f, (z[0],), (v[0],))[1],
    "jvp of grad": lambda F, f, z, v: F.jvp(F.grad(f), (z[0],), (v[0],))[1],
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_of_complex_functions_are_pytorchs(torch, name):
    for transform in TRANSFORMS.values():
        ours, theirs = (transform(T.func, lambda z, T=T: FUNCTIONS[name](T, z), T.tensor(Z), T.tensor(V)) for T in (autolab, torch))
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(ours.numpy(), theirs.resolve_conj().numpy(), rtol=1e-9, atol=1e-12)


def test_a_cotangent_is_multiplied_by_the_conjugate_of_the_derivative():
    _, back = autolab.func.vjp(lambda z: z * z, autolab.tensor(1 + 2j))
    assert back(autolab.tensor(1 + 0j))[0].item() == pytest.approx(2 - 4j)


def test_a_tangent_is_multiplied_by_the_derivative():
    _, moved = autolab.func.jvp(lambda z: z * z, (autolab.tensor(1 + 2j),), (autolab.tensor(1 + 0j),))
    assert moved.item() == pytest.approx(2 + 4j)
