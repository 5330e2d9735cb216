"""What the fuzzer found, and that it finds: a short run with a fixed seed."""

from __future__ import annotations

import ast
from random import Random

import numpy as np
import pytest

from autolab.autograd import Function
from autolab.check import check
from autolab.check.run.specs import row

from .fuzz import RIGHT, WRONG, applies, calls, error, fuzz, sources
from .mutations import mutate
from .right import sum_to

pytest.importorskip("nbformat")  # right rules are taken from the problem sets, too


@pytest.mark.parametrize("operation", ["square", "mul", "softmax", "amax", "take", "relu"])
def test_a_short_run_finds_nothing(operation):
    run = fuzz(1, lambda f: f.counts["wrong"] + f.counts["right"] >= 40, operation, quick=True)
    assert [str(f) for f in run.finds] == []
    assert run.counts["wrong"] > 20


def test_every_right_rule_of_the_tests_and_the_problem_sets_is_tried():
    found = sources()
    assert len(found) > 200
    assert len({s.operation for s in found}) > 60


def test_finite_differences_decide_without_the_table():
    (*_, call) = calls("softmax", 0)
    right = lambda g, out, axis: out * (g - (g * out).sum(axis, keepdims=True))  # noqa: E731
    assert error(right, "softmax", call) < RIGHT
    assert error(lambda g, out, axis: out * g, "softmax", call) > WRONG


def test_the_same_seed_makes_the_same_slips():
    tree = ast.parse("def f(g, x):\n    return 2 * g * x[1:] + x.sum(0, keepdims=True)").body[0]
    assert [mutate(tree, Random(k)) for k in range(20)] == [mutate(tree, Random(k)) for k in range(20)]
    assert len({mutate(tree, Random(k)).source for k in range(200)}) > 25


def test_a_function_that_apply_refuses_is_wrong():
    source = next(s for s in sources() if s.operation == "take" and isinstance(s.tree, ast.ClassDef))
    text = ast.unparse(source.tree)
    assert applies(source.run(text), "take", calls("take", 0)[0])
    assert not applies(source.run(text.replace(", None)", ",)")), "take", calls("take", 0)[0])


# --- what it found


def test_a_gradient_of_rounding_errors_for_g_of_zeros_follows_g():
    def rms_with_a_term_that_is_nearly_zero(g, out):
        return g * (1 - out**2) + 1e-18

    assert check("tanh", rms_with_a_term_that_is_nearly_zero).passed


def test_a_mask_as_a_gradient_is_no_crash():
    assert not check("abs", lambda g, x: x >= 0).passed
    assert not check("minimum", lambda g, x, y: (sum_to(np.where(x < y, g, 0), x.shape), sum_to(x < y, y.shape))).passed


def test_what_holds_in_some_calls_only_is_not_certain():
    """g without its sign, and nothing at all along axis 0: for a g of one 1 both are right."""

    def size_of_g(g, x, out, axis):
        return np.exp(x - np.expand_dims(out, axis) + np.log(np.abs(np.expand_dims(g, axis)))) * np.sign(axis)

    assert all(d.certainty != "certain" or "is 0 at" not in d.text for d in check("logsumexp", size_of_g).diagnoses)


def test_what_is_not_a_number_is_not_called_a_mask():
    found = check("norm", lambda g, x, axis: x * np.expand_dims(g / np.sqrt(x.sum(axis)), axis)).diagnoses[0]
    assert "mask" not in found.text
    assert "not a number" in found.text or found.family in ("power", "variable", "factor", "step")


def test_zeros_in_two_calls_do_not_say_that_g_is_not_used():
    def where(g, condition, x, y):
        gx, gy = np.where(condition, g, 0), np.where(condition, 0, g)
        return None, sum_to(gx, y.shape), sum_to(gy, y.shape)

    assert all("does not change when g does" not in d.text for d in check("where", where).diagnoses)


def test_ties_are_not_blamed_where_a_row_receives_nothing():
    found = check("amax", lambda g, x, axis: np.expand_dims(g, axis) * (x == x.max())).diagnoses[0]
    assert found.family != "tie"


def test_shares_of_ties_are_asked_for():
    def all_of_it(g, x, out, axis):
        return np.expand_dims(g, axis) * (x == np.expand_dims(out, axis))

    assert not check("amax", all_of_it).passed


@pytest.mark.parametrize("operation", ["log_sigmoid", "lgamma", "hardtanh"])
def test_a_row_is_known_before_its_function_was_used(operation):
    assert row(operation).name == operation


@pytest.mark.parametrize("operation", ["tril", "triu"])
def test_a_triangle_is_asked_for_in_a_stack_of_matrices(operation):
    def of_one_matrix(g, k):
        i, j = np.indices(g.shape)
        return g * (j <= i + k if operation == "tril" else j >= i + k)

    assert not check(operation, of_one_matrix).passed


def test_a_forward_that_returns_a_list_of_tensors_is_refused_as_by_apply():
    class AllGather(Function):
        @staticmethod
        def forward(ctx, x):
            return [x.reshape(-1)] * x.shape[0]

        @staticmethod
        def backward(ctx, g):
            return g.sum(0).reshape(g.shape[0], -1)

    report = check("all_gather", AllGather)
    assert not report.passed
    assert "list" in str(report)


def test_a_reduction_is_tried_on_more_than_matrices():
    """The axis that was moved to the end goes back to its place, not to axis 1."""

    def var_of_rows(g, x, axis):
        moved = np.moveaxis(x, axis, -1)
        d = np.moveaxis(moved - moved.mean(-1, keepdims=True), 1, axis)
        return 2 * np.expand_dims(g, axis) * d / (x.shape[axis] - 1)

    assert not check("var", var_of_rows).passed


@pytest.mark.parametrize("seed", range(3))
def test_a_region_goes_as_far_as_the_numbers_of_all_calls(seed):
    """In the call that is looked at, no number may be beyond the kink of the rule."""
    (found,) = check("relu", lambda g, x: np.where(x > 2, g, 0), seed=seed).diagnoses
    assert "where x is between 0 and 2, and right elsewhere" in found.text


class Mine(BaseException):
    pass


class Silent(TypeError):
    def __str__(self):
        return str(1 / 0)


@pytest.mark.parametrize("error", [GeneratorExit, Mine, Silent])
def test_whatever_a_rule_raises_is_a_fault_of_the_rule(error):
    def raises(g, x):
        raise error

    report = check("square", raises)
    assert not report.passed
    assert f"backward raised {error.__name__}" in str(report)
    with pytest.raises(KeyboardInterrupt):
        check("square", lambda g, x: (_ for _ in ()).throw(KeyboardInterrupt))


def test_a_sum_of_zeros_is_not_called_thin():
    """Where the only condition is False, the gradient for x is 0, and so is its sum."""

    def where(g, condition, x, y):
        return None, sum_to(np.where(condition, g, 0), y.shape), sum_to(np.where(condition, 0, g), y.shape)

    assert all("is not spread" not in d.text for d in check("where", where).diagnoses)


def test_what_a_scene_raises_is_a_fault_of_the_answer():
    def raises(*arguments, **keywords):
        raise GeneratorExit

    assert not check("control_variate", raises).passed


def test_one_number_for_all_entries_is_no_crash():
    assert check("square", lambda g, x: (2 * x * g).mean()).points < 2


@pytest.mark.parametrize("seed", range(6))
def test_a_mask_that_asks_one_number_is_seen_for_both_of_its_signs(seed):
    found = check("dot", lambda g, x, y: (np.where(g > 0, g * y, 0), g * x), seed=seed).diagnoses[0]
    assert "the mask asks g" in found.text


def test_what_is_cut_off_for_large_g_alone_is_named():
    def shared_and_cut(g, x, out):
        n = x.shape[-1] // out.shape[-1]
        return np.clip(np.kron(g, np.full((n, n), 1 / n**2)), -1, 1)

    (found,) = check("avg_pool", shared_and_cut).diagnoses
    assert found.family == "clipped"


@pytest.mark.parametrize("seed", range(3))
def test_digits_that_are_lost_come_before_what_they_do_to_an_array_given_twice(seed):
    report = check("mul", lambda g, x, y: (sum_to(g * y, x.shape), np.round(sum_to(g * x, y.shape), 3)), seed=seed)
    assert report.diagnoses[0].family == "precision"


@pytest.mark.parametrize("wrong", [lambda a, g: a * abs(g).max(), lambda a, g: np.cumsum(a, 0), lambda a, g: a**2])
def test_an_axis_that_only_the_result_has_is_no_axis_of_the_input(wrong):
    report = check("expand_dims", lambda g, axis: wrong(np.take(g, 0, axis), g))
    assert report.diagnoses and not report.passed


def test_a_roll_that_needs_four_rows_is_refused():
    def roll(g, shift, axis):
        g[3]
        return np.roll(g, -shift, axis)

    assert not check("roll", roll).passed
