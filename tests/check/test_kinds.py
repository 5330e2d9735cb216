"""What a report says of windows, products of matrices, pieces, and rules that raise."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autolab
from autolab.autograd import Function
from autolab.check import Spec, check, diagnose
from autolab.check.run.exercises import softmax
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def first(report):
    return report.diagnoses[0]


def test_a_rule_that_raises_is_told_the_shapes_that_its_line_was_given():
    found = first(check("mm", lambda g, x, y: (g @ np.ones((9, 2)), x.T @ g)))
    assert "with g (3, 5), x (3, 4)" in found.text
    assert "columns on the left as rows on the right; here they are 5 and 9" in found.text


def test_a_rule_that_fails_for_some_calls_is_told_what_they_have_in_common():
    found = first(check("tanh", lambda g, out: g * (1 - out**2) + np.zeros((3, 5))))
    assert "only where the result has shape (3, 5)" in found.text
    assert "number" in found.alternatives


def test_a_setting_for_which_a_rule_raises_is_named():
    spec = Spec("sum", settings=({"axis": 0}, {"axis": None}), shapes=(((3, 5),), ((4, 4),)))
    found = first(check(spec, lambda g, x, axis: g * np.ones_like(x) if axis == 0 else g[:, None] * np.ones_like(x)))
    assert "except where axis is None" in found.text


def pairs(x):
    """Sums of three neighbours, two steps apart."""
    return x[..., 0:5:2] + x[..., 1:6:2] + x[..., 2:7:2]


def pairs_back(g, step):
    out = np.zeros((*g.shape[:-1], 7))
    for p in range(3):
        out[..., p * step : p * step + 3] += g[..., p : p + 1]
    return out


def right_pairs_back(g):
    return pairs_back(g, 2)


PAIRS = Spec("pairs", Op("pairs", pairs, GENERAL, x=lambda g: right_pairs_back(g)), shapes=(((2, 7),), ((3, 7),)))


def test_the_step_of_a_window_is_read_from_the_gradient():
    found = first(check(PAIRS, lambda g: pairs_back(g, 1)))
    assert "moves its window by 1 along axis 1 of x from one result to the next, where forward moves it by 2" in found.text


def test_padding_that_is_not_cut_off_is_named():
    found = first(check(PAIRS, lambda g: np.pad(pairs_back(g, 2), ((0, 0), (1, 1)))))
    assert (found.family, "begins there at place 1" in found.text) == ("padding", True)


A = np.random.default_rng(2).normal(size=(3, 3)) + 3 * np.eye(3)


def test_transposes_that_are_missing_on_both_sides_are_named():
    (found,) = diagnose(lambda g, a, out: -out @ g @ out, lambda a: autolab.linalg.inv(a), [A])
    assert found.family == "transposed"
    assert "a transpose more or less of the first and of the last factor" in found.text


def test_one_term_twice_for_two_different_ones_is_named():
    x = np.array([0.4, -1.3, 2.7])
    (found,) = diagnose(lambda g, a, x: (g * np.outer(x, x), 2 * g * a @ x), lambda a, x: x @ a @ x, [A, x])
    assert "has one of its 2 products 2 times" in found.text


def ramp(x):
    return np.where(x < -1, -1, np.where(x > 1, 1, x))


RAMP = Spec("ramp", Op("ramp", ramp, ELEMENTWISE, x=lambda g, x: g * ((x >= -1) & (x <= 1))))


def test_of_a_kink_in_another_place_both_places_are_said():
    found = first(check(RAMP, lambda g, x: g * ((x >= -1) & (x <= 1.4))))
    assert "is wrong where x is between 1 and 1.4, and right elsewhere: there it is g" in found.text
    assert "Forward changes its formula at x = 1, the rule at 1.4" in found.text


def test_a_wrong_number_in_one_piece_is_named_with_its_region():
    found = first(check(RAMP, lambda g, x: g * np.where(x > 1, 0.3, np.abs(x) <= 1)))
    assert "is wrong where x is above 1, and right elsewhere: there it is 0.3 times g" in found.text


def test_the_gradient_of_another_operation_is_named():
    assert "gradient of erf" in first(check("tanh", lambda g, x: g * 2 / np.sqrt(np.pi) * np.exp(-x * x))).text


def of_several_lines():
    width = 1.7

    def back(grad, x):
        e = np.exp(-x * x)
        return grad * (width * np.cos(width * x) * e - 2 * x * np.sin(width * x) * e)

    def forward(x):  # in Python's numbers: no step of it can be followed
        return np.vectorize(lambda t: math.sin(width * t) * math.exp(-t * t))(x)

    return Op("wave", forward, ELEMENTWISE, x=back)


def test_a_reference_of_several_lines_has_a_formula_to_get_wrong():
    found = first(check(Spec("wave", of_several_lines()), lambda g, x: g * np.exp(-x * x) * (np.cos(1.7 * x) - 2 * x * np.sin(1.7 * x))))
    assert found.family == "factor"


def assigns(root):
    order, seen = [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        for parent, local in zip(node.parents, node.local, strict=True):
            parent.grad = node.grad * local


def test_a_mistake_that_fails_several_scenes_is_said_once():
    (found,) = check("value_backward", assigns).diagnoses
    assert (found.family, found.certainty) == ("overwritten", "certain")


def test_no_letter_of_the_checker_is_in_a_sentence():
    report = check("sinc", lambda g, x: g * (np.cos(x) / x - np.sin(x) / x**2))
    assert "an intermediate value" in str(report) and "_part" not in str(report)


def test_a_rule_is_given_the_settings_that_a_call_left_out():
    op = Op("stretch", lambda x, *, by=3: by * x, ELEMENTWISE, x=lambda g, by: by * g)
    assert check(Spec("stretch", op), lambda g, x, by: by * g).passed


def test_an_index_along_the_wrong_axis_is_named():
    rule = lambda g, x, index: (np.add.at(out := np.zeros_like(x), (index % len(x), np.arange(g.shape[1])), g), (out, None))[1]
    assert "along axis 0" in check("gather", rule).diagnoses[0].text


EIGENVALUES = lambda a: autolab.linalg.eigh(a)[0]
SYMMETRIC = np.array([[4.0, 1.0, 0.3], [1.0, 2.0, -0.6], [0.3, -0.6, 7.0]])


@pytest.mark.parametrize(
    ("rule", "family"),
    [
        (lambda g, v: v.T @ np.diag(g) @ v, "transposed"),
        (lambda g, v: v @ np.diag(g), "factor"),
        (lambda g, v: np.diag(g), "factor"),
        (lambda g, v: v @ np.diag(g[::-1]) @ v.T, "flipped"),
    ],
)
def test_eigenvalues_are_read_as_a_product_with_the_eigenvectors(rule, family):
    wrong = lambda g, a: rule(g, np.linalg.eigh(a)[1])
    assert diagnose(wrong, EIGENVALUES, [SYMMETRIC])[0].family == family


def test_a_target_that_is_not_smoothed_is_off_by_two_numbers():
    rule = lambda g, x, target: (g * (softmax(x) - 0.9 * np.eye(x.shape[1])[target] - 0.1 / x.shape[1]) / len(x), None)
    assert "smooths" in check("cross_entropy", rule).diagnoses[0].text


def test_all_of_g_at_the_largest_entry_of_all_is_another_axis():
    def rule(g, x):
        out = np.zeros_like(x)
        out.flat[x.argmax()] = g.sum()
        return out

    assert "the largest of the whole x" in check("amax", rule).diagnoses[0].text


def test_a_series_that_is_cut_late_is_not_called_another_coefficient():
    assert "cut after 4 terms" in check("atanh", lambda g, x: g * (1 + x**2 + x**4 + x**6)).diagnoses[0].text


class Unpacked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return autolab.exp(x)

    @staticmethod
    def backward(ctx, g):
        return g * np.exp(ctx.saved_tensors.data)


def power_of_a_tuple(g, x):
    return g * 4 * (x,) ** 3


def one_answer(g, x):
    return g * 4 * x**3 if x > 0 else g


def test_what_was_not_unpacked_is_named():
    for rule, exercise in ((Unpacked, "exp"), (power_of_a_tuple, "fourth_power")):
        (found,) = check(exercise, rule).diagnoses
        assert "A tuple is where an array should be" in found.text and "takes it out" in found.hint


def test_a_condition_on_a_whole_tensor_is_explained():
    class Power(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**4

        @staticmethod
        def backward(ctx, g):
            return one_answer(g, *ctx.saved_tensors)

    (found,) = check("fourth_power", Power).diagnoses
    assert "ask for one answer" in found.text and "torch.where" in found.hint


def test_two_results_in_place_of_one_are_not_called_a_shape():
    class Hinge(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return autolab.max(1 - x, 0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return -g * (x < 1)

    said = check("hinge", Hinge).diagnoses[0].text
    assert said == "forward returned a tuple of 2, expected one array or tensor of numbers"


def test_a_gradient_that_is_none_asks_for_a_return():
    (found,) = check("fourth_power", lambda g, x: None).diagnoses
    assert "ends without `return`" in found.hint


def test_what_forward_did_not_save_is_said_and_no_array_is_blamed():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (out,) = ctx.saved_tensors
            return g * out

    text = check("exp", Exp).diagnoses[0].text
    assert "backward takes 1 of what forward saved, and forward saved nothing: does it call `ctx.save_for_backward`?" in text
    assert "axes" not in text
