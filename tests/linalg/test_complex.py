"""Matrices of complex numbers: factors, solutions and determinants, with gradients and second gradients as in PyTorch."""

import numpy as np
import pytest

import autolab
from autolab.autograd import gradcheck, gradgradcheck

rng = np.random.default_rng(0)
Z, X = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)), rng.standard_normal((3, 3))


def of_eigh(T, L, V):
    return L.exp().sum() + ((V * L.sin()) @ V.mH)[0, 1].abs() + (V.abs() ** 2)[0, 1]


def of_svd(T, U, S, Vh):
    return S.exp().sum() + ((U * S.sin()) @ Vh)[0, 1].abs() + (U.abs() ** 2)[0, 1] + (U @ Vh)[1, 1].abs()


def of_eig(T, L, V):
    return ((V * L.abs()) @ T.linalg.inv(V)).abs().sum() + (V.abs() ** 4).sum()


LOSSES = {
    "cholesky": lambda T, z: T.linalg.cholesky(z @ z.mH).abs().sum(),
    "cholesky upper": lambda T, z: T.linalg.cholesky(z @ z.mH, upper=True)[0].abs().sum(),
    "cholesky_solve": lambda T, z: T.cholesky_solve(z[:, :1], T.linalg.cholesky(z @ z.mH)).abs().sum(),
    "det": lambda T, z: T.linalg.det(z).abs(), "eig": lambda T, z: of_eig(T, *T.linalg.eig(z)),
    "eigh": lambda T, z: of_eigh(T, *T.linalg.eigh(z + z.mH)), "eigvals": lambda T, z: T.linalg.eigvals(z).abs().pow(3).sum(),
    "exp": lambda T, z: T.linalg.matrix_exp(z).abs().sum(), "inv": lambda T, z: T.linalg.inv(z).abs().sum(),
    "lstsq": lambda T, z: T.linalg.lstsq(z, z[:, :1] + 1).solution.abs().sum(), "logdet": lambda T, z: (T.logdet(z) * (2 - 3j)).real, "lu": lambda T, z: T.linalg.lu_factor(z)[0].abs().sum(),
    "norm": lambda T, z: T.linalg.norm(z, 2) + T.linalg.norm(z, "nuc"), "pinv tall": lambda T, z: T.linalg.pinv(z[:, :2]).abs().sum(),
    "pinv wide": lambda T, z: T.linalg.pinv(z[:2]).abs().sum(), "qr": lambda T, z: sum(a.abs().sum() for a in T.linalg.qr(z)),
    "slogdet": lambda T, z: (lambda sign, log: (sign * sign).abs() * log + abs(sign - 2))(*T.linalg.slogdet(z)),
    "solve": lambda T, z: T.linalg.solve(z, z[:, :1] + 1).abs().sum(), "svd": lambda T, z: of_svd(T, *T.linalg.svd(z, full_matrices=False)),
    "svd tall": lambda T, z: of_svd(T, *T.linalg.svd(z[:, :2], full_matrices=False)),
    "svd wide": lambda T, z: of_svd(T, *T.linalg.svd(z[:2], full_matrices=False)),
}  # fmt: skip


def derivatives(T, name, array):
    z = T.tensor(array, requires_grad=True)
    loss = LOSSES[name](T, z)
    (g,) = T.autograd.grad(loss, z, create_graph=True)
    (h,) = T.autograd.grad((g.abs() ** 2).sum(), z)
    return [t.detach().resolve_conj().numpy() for t in (loss, g, h)]


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_through_matrices_are_pytorchs(torch, name):
    for array in (Z, X):
        for ours, theirs in zip(*(derivatives(T, name, array) for T in (autolab, torch)), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["cholesky", "eig", "eigh", "inv", "logdet", "qr", "slogdet", "solve", "svd wide"])
def test_every_mode_agrees_with_finite_differences(name):
    z = autolab.tensor(Z[:2, :2] if name != "svd wide" else Z, requires_grad=True)
    f = lambda z: LOSSES[name](autolab, z)
    assert gradcheck(f, z, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(f, z)


FREE = [
    ("T.linalg.eigh(z + z.mH)[1].real.sum()", "The eigenvectors in the complex case are specified up to multiplication"),
    ("T.linalg.eig(z)[1].imag.sum()", "The eigenvectors in the complex case are specified up to multiplication"),
    ("T.linalg.svd(z)[0].real.sum()", "The singular vectors in the complex case are specified up to multiplication"),
]


@pytest.mark.parametrize(("expression", "words"), FREE)
def test_a_loss_that_depends_on_a_phase_has_no_gradient(torch, expression, words):
    for T in (autolab, torch):
        loss = eval(expression, {"T": T, "z": T.tensor(Z, requires_grad=True)})
        with pytest.raises(RuntimeError, match=words):
            loss.backward()


def test_eigenvalues_of_a_rotation_are_complex():
    L, V = autolab.linalg.eig(autolab.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    assert autolab.allclose(autolab.tensor([[0j, 1], [-1, 0]]) @ V, V * L)
    assert sorted(autolab.linalg.eigvals(autolab.eye(2) * 1j).imag.tolist()) == [1, 1]


def test_reflections_make_a_unitary_matrix_and_multiply_by_it(lib):
    A = lib.tensor([[1 + 2j, 0.5], [3j, 1.0], [2.0, 1 - 1j]], dtype=lib.complex128)
    a, tau = lib.geqrf(A)
    Q = lib.linalg.householder_product(a, tau)
    assert lib.allclose(Q.mH @ Q, lib.eye(2, dtype=lib.complex128))
    assert lib.allclose(Q @ a[:2].triu(), A)
    assert lib.allclose(lib.ormqr(a, tau, A, transpose=True)[:2], a[:2].triu())
    assert lib.allclose(lib.ormqr(a, tau, A.mH.contiguous(), left=False)[:, :2], a[:2].triu().mH)


def test_pivots_are_chosen_as_lapack_does(torch):
    z = np.array([[3 + 0j, 1], [2 + 2j, 5]])  # |2 + 2i| is below 3, |2| + |2| is above
    ours, theirs = (T.linalg.lu_factor(T.tensor(z)) for T in (autolab, torch))
    assert ours.pivots.tolist() == theirs.pivots.tolist() == [2, 2]
    np.testing.assert_allclose(ours.LU.numpy(), theirs.LU.numpy())
