"""Factors of symmetric matrices that need not be positive-definite: those of LAPACK, beside PyTorch, and what they solve."""

import numpy as np
import pytest

import autolab

KINDS = ["real", "symmetric", "hermitian"]


def matrices(rng, kind, n, small=1.0):
    """Stacks of two, symmetric or Hermitian; a small diagonal asks for blocks of two."""
    a = rng.standard_normal((2, n, n)) + (0 if kind == "real" else 1j * rng.standard_normal((2, n, n)))
    a[..., np.arange(n), np.arange(n)] *= small
    return a + (a.swapaxes(-1, -2).conj() if kind == "hermitian" else a.swapaxes(-1, -2))


@pytest.mark.parametrize("small", [1.0, 1e-3])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_the_factors_are_pytorchs(torch, rng, kind, n, small):
    a = matrices(rng, kind, n, small)
    here, there = (T.linalg.ldl_factor(T.tensor(a), hermitian=kind == "hermitian") for T in (autolab, torch))
    assert here.pivots.dtype == autolab.int32
    assert here.pivots.tolist() == there.pivots.tolist()
    np.testing.assert_allclose(here.LD.numpy(), there.LD.numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_they_solve_equations(rng, kind):
    a, b = matrices(rng, kind, 6, 1e-3), rng.standard_normal((3, 2, 6, 2))
    A = autolab.tensor(a)
    x = autolab.linalg.ldl_solve(
        *autolab.linalg.ldl_factor(A, hermitian=kind == "hermitian"), autolab.tensor(b).to(A.dtype), hermitian=kind == "hermitian"
    )
    np.testing.assert_allclose(a @ x.numpy(), b, atol=1e-9)


def test_nothing_is_solved_where_there_is_nothing(lib):
    x = lib.linalg.ldl_solve(lib.ones(0, 0), lib.ones(0, dtype=lib.int32), lib.ones(0, 5))
    assert x.shape == (0, 5)


def test_a_singular_matrix_has_factors_and_the_place_of_its_zero(lib):
    found = lib.linalg.ldl_factor_ex(lib.ones(2, 2, 2))
    assert (found.info.tolist(), found.LD.tolist()) == ([2, 2], [[[1, 0], [1, 0]]] * 2)
    assert lib.linalg.ldl_factor_ex(lib.zeros(2, 2)).info.item() == 1
    with pytest.raises(RuntimeError, match="linalg.ldl_factor"):
        lib.linalg.ldl_factor(lib.ones(2, 2))


def test_only_the_lower_triangle_is_read(lib):
    A = lib.tensor([[1.0, 9, 9], [2, 3, 9], [4, 5, 6]])
    assert lib.linalg.ldl_factor(A).pivots.tolist() == [3, 2, 3]


def test_they_have_no_derivative(lib):
    A, b = lib.eye(2, requires_grad=True), lib.ones(2, 1, requires_grad=True)
    LD, pivots = lib.linalg.ldl_factor(A)
    for result in (LD, lib.linalg.ldl_solve(LD.detach(), pivots, b)):
        with pytest.raises((RuntimeError, NotImplementedError), match="derivative for .*ldl"):
            result.sum().backward()


def test_a_map_over_samples_is_a_loop(rng):
    a, b = autolab.tensor(matrices(rng, "real", 3)), autolab.tensor(rng.standard_normal((4, 3, 2)))
    LD, pivots = autolab.func.vmap(autolab.linalg.ldl_factor)(a)
    assert pivots.tolist() == autolab.linalg.ldl_factor(a).pivots.tolist()
    x = autolab.func.vmap(autolab.linalg.ldl_solve, in_dims=(0, 0, None))(LD, pivots, b)
    np.testing.assert_allclose((a[:, None] @ x).numpy(), b.expand(2, 4, 3, 2).numpy(), atol=1e-9)


WRONG = [
    ((2, 3), (2,), (2, 1), "torch.linalg.ldl_solve: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ((2, 2), (2,), (3, 1), "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is 2 by 2 but each b matrix is 3 by 1"),
    ((2, 2), (1,), (2, 1), "Expected LD.shape.:-1. and pivots.shape to be the same, but got pivots with shape .1. instead"),
]


@pytest.mark.parametrize(("LD", "pivots", "b", "words"), WRONG, ids=str)
def test_what_does_not_fit_is_refused_as_in_pytorch(lib, LD, pivots, b, words):
    with pytest.raises(RuntimeError, match=words):
        lib.linalg.ldl_solve(lib.ones(LD), lib.ones(pivots, dtype=lib.int32), lib.ones(b))
