"""What lessons 18 and 19 tell, held to be true: by other means than running the lesson."""

import re

import numpy as np
import pytest

import autolab as torch

from .test_later_stories import Lesson


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def numbers(lines):
    return [[float(n) for n in re.findall(r"-?\d+\.\d+(?:e[+-]\d+)?", line)] for line in lines]


@pytest.mark.lesson18
@pytest.mark.parametrize("part", ["product", "inverse", "solve", "det", "cholesky", "norm", "softmax"])
def test_each_rule_is_the_derivative_and_that_of_the_engine(part, double):
    lesson = Lesson("18")
    lesson.run("imports", "inner-show", "judge-define")
    torch.manual_seed(5)
    lesson["Z"] = torch.randn(3, 3)
    off = [found for line in lesson.run(f"{part}-check") if "off from" in line for found in re.findall(r"0\.\d+", line)]
    assert len(off) >= 2 and not any(map(float, off))


@pytest.mark.lesson18
def test_the_rule_of_eigenvectors_is_that_of_the_engine(double):
    lesson = Lesson("18")
    lesson.run("imports")
    torch.manual_seed(5)
    lesson["Z"] = torch.randn(3, 3)
    assert numbers(lesson.run("eigen-check")[:1]) == [[0.0]]


@pytest.mark.lesson18
def test_the_judge_sees_a_wrong_rule(double):
    lesson = Lesson("18")
    lesson.run("imports", "inner-show", "judge-define")
    said = lesson.run("inverse-check", change=lambda source: source.replace("-B.T @", "-B @"))
    assert min(numbers(said[:1])[0]) > 1e-3


@pytest.mark.lesson18
def test_two_a_da_misses_as_much_as_there_is_and_the_product_rule_a_hundredth(double):
    lesson = Lesson("18")
    lesson.run("imports", "inner-show")
    rows = np.array([[float(n) for n in line.split()] for line in lesson.run("square-show")[1:]])
    assert rows[:-1, 1] / rows[1:, 1] == pytest.approx([10, 10], rel=0.3)
    assert rows[:-1, 2] / rows[1:, 2] == pytest.approx([100, 100], rel=0.01)


@pytest.mark.lesson18
def test_cholesky_is_refused_until_its_input_is_symmetrised(double):
    lesson = Lesson("18")
    lesson.run("imports", "inner-show")
    assert lesson.run("symmetric-show")[1:] == [
        "move lower: 0.2500, the engine says 0.1250", "move upper: 0.0000, the engine says 0.1250", "move both: 0.2500, the engine says 0.2500"
    ]  # fmt: skip
    refused, accepted = lesson.run("symmetric-check")
    assert "refused" in refused and "accepted" in accepted


@pytest.mark.lesson18
def test_at_equal_eigenvalues_a_vector_has_no_gradient_and_the_plane_has_one(double):
    for name, values in [("vector", [1.0, 1.0]), ("plane", [1.0, 1.0, 3.0])]:
        A = torch.tensor(values).diag().requires_grad_()
        V = torch.linalg.eigh(A).eigenvectors
        loss = V[0, 0] * V[1, 0] if name == "vector" else (V[:, :2] @ V[:, :2].T)[:, 2].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            loss.backward()
        assert A.grad.isfinite().all() == (name == "plane")


@pytest.mark.lesson18
def test_the_gaussian_that_fits_best_has_the_covariance_of_the_data(double):
    lesson = Lesson("18")
    lesson.run("imports", "precision-set", "gauss-step")
    fitted, S = numbers(lesson.run("gauss-fit"))
    assert fitted == pytest.approx(S, abs=2e-3)
    assert lesson["losses"][-1] == pytest.approx(lesson["best"], abs=1e-6)


@pytest.mark.lesson18
def test_the_sandwich_is_that_of_the_engine(double):
    lesson = Lesson("18")
    lesson.run("imports", "precision-set")
    assert lesson.solution() == ["largest difference 0.000000"]


@pytest.fixture
def implicit(double):
    lesson = Lesson("19")
    lesson.run("imports", "precision-set", "function-define")
    return lesson


@pytest.mark.lesson19
def test_through_the_steps_the_derivative_comes_later_than_by_the_formula(implicit):
    rows = np.array([[float(n) for n in line.split()] for line in implicit.run("sqrt-show")[1:]])
    assert (rows[1:, 2] > 3 * rows[1:, 3]).all() and rows[-1, 1] < 1e-8
    assert rows[2:, 3] == pytest.approx(rows[2:, 1] / 18, rel=0.5)


@pytest.mark.lesson19
def test_towards_the_fold_the_derivative_grows_like_one_over_a_root_and_beyond_there_is_no_solution(implicit):
    rows = np.array([[float(n) for n in line.split()] for line in implicit.run("fold-show")[1:]])
    assert rows[2:4, 4] * np.sqrt(3 * (2 - rows[2:4, 0])) == pytest.approx([0.5, 0.5], rel=0.03)
    assert rows[-1, 2] < -1e-3 and max(abs(np.roots([1, 0, -3, -2.01]).imag)) > 0


@pytest.mark.lesson19
def test_unrolled_grows_with_the_steps_and_implicit_is_ahead(implicit):
    implicit.run("equilibrium-define", "equilibrium-check", "memory-measure", "memory-show")
    held, errors = implicit["kilobytes"], {name: np.array(values) for name, values in implicit["errors"].items()}
    assert np.diff(held["unrolled"]) == pytest.approx([0.96] * 4) and len(set(held["implicit"])) == 1
    ahead = errors["unrolled"] / errors["implicit"]
    assert 4 < min(ahead) and max(ahead) < 7.5


@pytest.mark.lesson19
def test_the_hyperparameter_settles_where_the_held_out_loss_is_smallest(implicit):
    implicit.run("bilevel-data", "bilevel-show", "bilevel-define", "bilevel-check", "bilevel-fit")
    best = implicit["visited"][-1][1]
    assert best < min(implicit["curve"]) and best < implicit["visited"][0][1] - 0.1


@pytest.mark.lesson19
def test_the_chain_hangs_still_at_a_minimum_and_a_weight_near_a_nail_lifts_its_middle(implicit):
    implicit.run("chain-define", "chain-show")
    m, p, energy = implicit["m"].detach(), implicit["p"].detach(), implicit["energy"]
    assert torch.func.grad(energy, argnums=1)(m, p).abs().max() < 1e-10
    assert torch.linalg.eigvalsh(torch.func.hessian(energy, argnums=1)(m, p)).min() > 0
    assert implicit["sensitivity"][0] > 0 > implicit["sensitivity"][9] == implicit["sensitivity"].min()


@pytest.mark.lesson19
def test_both_gradients_of_a_path_are_of_order_four_and_friction_spoils_the_adjoint(implicit):
    implicit.run("ode-define", "ode-travel", "ode-adjoint", "ode-compare")
    both, friction = implicit["both"], torch.tensor([4.0, 5.0])
    off = [(r - a).norm().item() for r, a, _, _ in (both(implicit["p"], 5.0, N) for N in (40, 80))]
    assert off[0] / off[1] == pytest.approx(16, rel=0.15)
    assert (both(friction, 12.0, 120)[2] - implicit["start"]).norm() > 1


@pytest.mark.lesson19
def test_the_planet_by_hand_is_that_of_differences(implicit):
    implicit.run("exercise-cell")
    said = re.findall(r"\[[^\]]*\]", implicit.solution()[0])
    assert said[0] == said[1]
