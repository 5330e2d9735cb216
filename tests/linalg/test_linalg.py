"""Matrices: what the factors multiply to, what is refused, and gradients where PyTorch has them."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import autolab
from autolab import linalg


def matrix(rng, *shape, shift=3.0):
    return autolab.tensor(rng.standard_normal(shape) + shift * np.eye(*shape[-2:]))


def close(a, b, tolerance=1e-10):
    return np.allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.fixture(params=["3,3", "2,4,4", "2,1,3,3"])
def square(request, rng):
    return matrix(rng, *map(int, request.param.split(",")))


@pytest.fixture(params=["3,3", "2,5,3", "3,5", "2,2,4"])
def any_matrix(request, rng):
    return matrix(rng, *map(int, request.param.split(",")))


def test_the_inverse_times_the_matrix_is_one(square):
    assert close(linalg.inv(square) @ square, autolab.eye(square.shape[-1], dtype=autolab.float64).expand(square.shape))


def test_what_solve_finds_solves(square, rng):
    b = autolab.tensor(rng.standard_normal((*square.shape[:-1], 2)))
    assert close(square @ linalg.solve(square, b), b)
    assert close(linalg.solve(square, b.mT, left=False) @ square, b.mT)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_a_factorization_solves_from_either_side_and_transposed(square, rng, left, adjoint):
    b = autolab.tensor(rng.standard_normal(square.shape))
    x = linalg.lu_solve(*linalg.lu_factor(square), b, left=left, adjoint=adjoint)
    a = square.mT if adjoint else square
    assert close(a @ x if left else x @ a, b)


def test_factors_multiply_to_the_matrix(any_matrix):
    p, low, up = linalg.lu(any_matrix)
    q, r = linalg.qr(any_matrix)
    u, s, vh = linalg.svd(any_matrix, full_matrices=False)
    for product in (p @ low @ up, q @ r, (u * s[..., None, :]) @ vh):
        assert close(product, any_matrix)


def test_roots_and_eigenvectors_of_a_symmetric_matrix_give_it_back(square):
    a = square @ square.mT
    lower, (w, v) = linalg.cholesky(a), linalg.eigh(a)
    assert close(lower @ lower.mT, a) and close((v * w[..., None, :]) @ v.mT, a)
    assert close(linalg.cholesky(a, upper=True), lower.mT)


def test_the_determinant_of_a_product_is_the_product_of_determinants(square):
    assert close(linalg.det(square @ square), linalg.det(square) ** 2)
    sign, log = linalg.slogdet(square)
    assert close(sign * log.exp(), linalg.det(square))


def test_the_exponential_of_a_sum_of_commuting_matrices_is_a_product(square):
    assert close(linalg.matrix_exp(square + 2 * square), linalg.matrix_exp(square) @ linalg.matrix_exp(2 * square), 1e-9)


def test_the_determinant_of_a_singular_matrix_has_its_gradient():
    a = autolab.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], dtype=autolab.float64, requires_grad=True)
    linalg.det(a).backward()
    assert close(a.grad, autolab.tensor([[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]], dtype=autolab.float64))


def test_eigenvalues_that_are_equal_have_gradients_though_their_vectors_have_none():
    a = autolab.eye(3, dtype=autolab.float64).requires_grad_()
    linalg.eigvalsh(a).sum().backward()
    assert close(a.grad, autolab.eye(3, dtype=autolab.float64))
    linalg.svdvals(a).sum().backward()
    assert close(a.grad, 2 * autolab.eye(3, dtype=autolab.float64))


SINGULAR = {
    "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed": lambda T: T.linalg.inv(T.ones(3, 3)),
    r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero": lambda T: T.linalg.inv(T.stack([T.eye(2), T.zeros(2, 2)])),
    "torch.linalg.solve: The solver failed because the input matrix is singular": lambda T: T.linalg.solve(T.ones(2, 2), T.ones(2)),
    r"linalg.cholesky: The factorization could not be completed .* order 2 is not": lambda T: T.linalg.cholesky(T.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "linalg.cholesky: The factorization could .* order 3 is not": lambda T: T.linalg.cholesky(T.tensor([1.0, 1.0, float("nan")]).diag()),
    r"linalg.cholesky: \(Batch element 0\)": lambda T: T.linalg.cholesky(T.ones(2, 2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("words", SINGULAR)
def test_a_matrix_that_will_not_do_is_refused_with_its_place(lib, words):
    with pytest.raises(lib.linalg.LinAlgError, match=words):
        SINGULAR[words](lib)
    assert issubclass(lib.linalg.LinAlgError, RuntimeError)


def test_a_vector_and_a_power_that_do_not_fit_are_refused_in_the_same_words(lib):
    with pytest.raises(RuntimeError, match=r"linalg.solve: Incompatible shapes of A and B for the equation AX = B \(3x3 and 4x1\)"):
        lib.linalg.solve(lib.eye(3), lib.ones(4))
    with pytest.raises(TypeError, match=r"argument 'n' \(position 2\) must be int, not float"):
        lib.linalg.matrix_power(lib.eye(3), 1.5)


NOT_FINITE = {  # in PyTorch's words; not asked of PyTorch, whose library crashes on some of them
    "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned .* contains infs or NaNs": linalg.eigvalsh,
    "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values": linalg.matrix_rank,
    "linalg.pinv: The algorithm failed to converge because the input matrix contained non-finite values": linalg.pinv,
    "torch.linalg.eig: input tensor should not contain infs or NaNs": linalg.eigvals,
}


@pytest.mark.skipif(
    sys.platform == "emscripten", reason="a browser's processor does not say that a calculation was invalid: the result is nan"
)
@pytest.mark.parametrize("words", NOT_FINITE)
def test_a_matrix_with_a_nan_has_no_eigenvalues_and_the_error_is_not_numpys(words):
    with pytest.raises(RuntimeError, match=words) as refused:
        NOT_FINITE[words](autolab.full((3, 3), float("nan")))
    assert isinstance(refused.value, linalg.LinAlgError) is ("eig:" not in words)  # which PyTorch checks by itself


def test_the_ex_forms_say_in_info_what_went_wrong(lib):
    a = lib.stack([lib.eye(2), lib.tensor([[1.0, 2.0], [2.0, 1.0]])])
    assert lib.linalg.cholesky_ex(a).info.tolist() == [0, 2]
    assert lib.linalg.inv_ex(lib.eye(3)).info.item() == 0
    assert lib.linalg.lu_factor_ex(lib.ones(2, 2)).info.item() == 2


def test_a_condition_number_says_how_errors_grow():
    assert linalg.cond(autolab.tensor([[1.0, 0.0], [0.0, 1e-3]])).item() == pytest.approx(1000, rel=1e-5)
    assert linalg.cond(autolab.ones(2, 2), 1).item() == float("inf")


def test_trace_is_a_function_and_a_package(lib):
    x = lib.arange(9.0).view(3, 3).requires_grad_()
    lib.trace(x).backward()
    assert x.trace().item() == 12 and lib.equal(x.grad, lib.eye(3))


def test_the_package_of_traces_keeps_its_functions():
    assert autolab.trace.record is __import__("autolab.trace", fromlist=["record"]).record


def test_linear_algebra_is_loaded_when_it_is_used():
    said = "import sys, autolab; a = 'autolab.linalg' in sys.modules; autolab.eye(2).det(); print(a, 'autolab.linalg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split() == ["False", "True"]


EXPRESSIONS = {
    "cond": lambda T, a, b: T.linalg.cond(a),
    "nuclear": lambda T, a, b: T.linalg.matrix_norm(a, "nuc"),
    "spectral": lambda T, a, b: T.linalg.matrix_norm(a, 2, keepdim=True),
    "smallest": lambda T, a, b: T.linalg.matrix_norm(a, -2),
    "columns": lambda T, a, b: T.linalg.matrix_norm(a, 1),
    "rows": lambda T, a, b: T.linalg.norm(a, float("-inf"), dim=(-2, -1)),
    "vector": lambda T, a, b: T.linalg.vector_norm(a, 3, dim=-1),
    "power": lambda T, a, b: T.linalg.matrix_power(a, 5),
    "negative power": lambda T, a, b: T.linalg.matrix_power(a, -2),
    "multi_dot": lambda T, a, b: T.linalg.multi_dot([a[0], b[0], a[1], b[1, 0]]),
    "tensorinv": lambda T, a, b: T.linalg.tensorinv(a[0].reshape(3, 3, 1), ind=1),
    "tensorsolve": lambda T, a, b: T.linalg.tensorsolve(a[0].reshape(3, 3, 1), b[0, 0]),
    "lstsq": lambda T, a, b: T.linalg.lstsq(a, b).solution,
    "residuals": lambda T, a, b: T.linalg.lstsq(a[..., :2], b, driver="gelsd").residuals,
    "pinv": lambda T, a, b: T.linalg.pinv(a[..., :2]),
    "logdet": lambda T, a, b: T.logdet(a @ a.mT),
    "cholesky_inverse": lambda T, a, b: T.cholesky_inverse(T.linalg.cholesky(a @ a.mT)),
    "cholesky_solve": lambda T, a, b: T.cholesky_solve(b, T.linalg.cholesky(a @ a.mT)),
    "lu_solve": lambda T, a, b: T.linalg.lu_solve(*T.linalg.lu_factor(a), b),
    "lu": lambda T, a, b: T.cat([f[..., :2, :2] for f in T.linalg.lu(a[..., :2])[1:]]),
    "householder": lambda T, a, b: T.linalg.householder_product(a, b[:, 0] * 0.3),
    "triangular_solve": lambda T, a, b: T.triangular_solve(b, a, transpose=True).solution,
    "wide qr": lambda T, a, b: T.linalg.qr(T.cat([a, b], -1)).R.abs(),
    "kron": lambda T, a, b: T.kron(a, b),
    "cross": lambda T, a, b: T.linalg.cross(a, b[:, :1]),
    "cdist": lambda T, a, b: T.cdist(a, b),
    "pdist": lambda T, a, b: T.pdist(a[0], 3),
    "tensordot": lambda T, a, b: T.tensordot(a, b, ([1, 2], [2, 1])),
    "baddbmm": lambda T, a, b: T.baddbmm(a, a, b, beta=0.5, alpha=2),
    "einsum": lambda T, a, b: T.einsum(a, [..., 0, 1], b, [..., 1, 2], [..., 2, 0]),
    "vander": lambda T, a, b: T.linalg.vander(a, N=4),
}


ONCE = {"cdist", "pdist"}  # PyTorch has no second gradient of these


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_gradients_and_second_gradients_are_pytorchs(torch, name):
    rng = np.random.default_rng(5)
    raw = [rng.standard_normal((2, 3, 3)) + 3 * np.eye(3), rng.standard_normal((2, 3, 3))]
    found = []
    for T in (autolab, torch):
        inputs = [T.tensor(r, requires_grad=True) for r in raw]
        out = EXPRESSIONS[name](T, *inputs)
        first = T.autograd.grad((out * out).sum(), inputs, create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        second = T.autograd.grad(total, inputs, allow_unused=True) if name not in ONCE else ()
        zero = T.zeros(2, 3, 3, dtype=T.float64)
        found.append([t.detach().numpy() for t in (out, *(zero if g is None else g for g in (*first, *second)))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["addmm", "baddbmm", "addmv"])
def test_what_is_added_to_a_product_of_16_bits_is_rounded_once(rng, name, dtype):
    shapes = {"addmm": ((8, 8), (8, 64), (64, 8)), "baddbmm": ((2, 8, 8), (2, 8, 64), (2, 64, 8)), "addmv": ((8,), (8, 64), (64,))}
    narrow = [autolab.tensor(rng.standard_normal(s)).to(getattr(autolab, dtype)) for s in shapes[name]]
    exact = getattr(autolab, name)(*[t.double() for t in narrow])
    found = getattr(autolab, name)(*narrow)
    assert (found == exact.to(found.dtype)).double().mean() > 0.97


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (2, 20, 9)])
def test_random_projections_find_the_factors_of_a_matrix_of_low_rank(rng, shape):
    left, right = rng.standard_normal((*shape[:-1], 3)), rng.standard_normal((*shape[:-2], 3, shape[-1]))
    a = autolab.tensor(left @ right, requires_grad=True)
    u, s, v = autolab.svd_lowrank(a, q=4)
    assert close((u * s[..., None, :]) @ v.mT, a, 1e-8)
    u, s, v = autolab.pca_lowrank(a, q=4)
    assert close((u * s[..., None, :]) @ v.mT, a - a.mean(-2, keepdim=True), 1e-8)


def test_directions_of_largest_variance_come_first(lib):
    x = lib.randn(200, 3) * lib.tensor([1.0, 10.0, 0.1])
    _, s, v = lib.pca_lowrank(x, q=2)
    assert s[0] > s[1] and abs(v[1, 0].item()) > 0.99
    with pytest.raises(ValueError, match=r"q\(=4\) must be non-negative integer"):
        lib.pca_lowrank(x, q=4)


@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg_finds_pytorchs_few_eigenvalues(torch, rng, largest):
    a, b = (rng.standard_normal((9, 9)) for _ in range(2))
    a, b = a @ a.T, b @ b.T + np.eye(9)
    for more in ({}, {"B": b}):
        (e, u), (expected, _) = (
            lib.lobpcg(lib.tensor(a), 2, **{k: lib.tensor(v) for k, v in more.items()}, largest=largest) for lib in (autolab, torch)
        )
        np.testing.assert_allclose(e.numpy(), expected.numpy(), rtol=1e-4)
        np.testing.assert_allclose(a @ u.numpy(), more.get("B", np.eye(9)) @ u.numpy() * e.numpy(), atol=1e-8)


def test_the_gradient_of_a_largest_eigenvalue_is_symmetric(lib):
    a = lib.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]], dtype=lib.float64, requires_grad=True)
    start = lib.ones(3, 1, dtype=lib.float64)
    e, _ = lib.lobpcg(a, 1, X=start)
    e.sum().backward()
    assert lib.allclose(a.grad, a.grad.mT)
    with pytest.raises(ValueError, match="LOBPCG algorithm is not applicable when the number of A rows"):
        lib.lobpcg(a, 2)


def test_the_gradient_of_eigenvectors_is_symmetric_as_the_matrix_is(rng):
    a = matrix(rng, 4, 4)
    a = (a + a.mT).requires_grad_()
    values, vectors = linalg.eigh(a)
    (vectors @ (values.sin()[:, None] * vectors.mT) * autolab.arange(16.0).reshape(4, 4)).sum().backward()
    assert close(a.grad, a.grad.mT)


RESULTS = {
    "eigh": "A", "qr": "A", "svd": "A", "slogdet": "A", "lu": "A", "lu_factor": "A", "inv_ex": "A", "cholesky_ex": "A", "solve_ex": "A, A",
    "ldl_factor_ex": "A", "eig": "A",
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_with_names_are_printed_as_pytorchs_and_pickled(lib, name):
    found = getattr(lib.linalg, name)(*[lib.eye(2) * 2] * len(RESULTS[name].split()))
    shown = repr(found)
    assert shown.startswith(f"torch.return_types.linalg_{name}(\n")
    assert all(f"{field}={getattr(found, field)!r}" in shown for field in re.findall(r"^(\w+)=", shown, re.M))
    assert repr(pickle.loads(pickle.dumps(found))) == shown
