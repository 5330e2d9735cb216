"""What is certain is true, also where two slips give the same numbers; and what is said has names that a student knows."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
from autolab.check import Spec, check, diagnose
from autolab.check.behaviour.relations import relation
from autolab.check.diagnosis.formulas.mutants import A_STEP, mutants, step_in_words, value_in_words
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def said(name, rule):
    return str(check(name, rule))


def back_to(a, shape):
    a = a.sum(tuple(range(a.ndim - len(shape))))
    return a.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_a_number_times_g_is_no_exchange_of_values(name):
    rule = lambda g, x, y: (back_to(g / 2, x.shape), back_to(g / 2, y.shape))
    found = check(name, rule).diagnoses[0]
    assert "is 0.5 times g" in found.text and "where x belongs" not in found.text


def test_a_share_by_the_length_of_the_row_is_no_exchange_of_values():
    def rule(g, x, axis):
        largest = x == x.max(axis, keepdims=True)
        return np.expand_dims(g, axis) * largest / x.shape[axis]

    assert not [d for d in check("amax", rule).diagnoses if d.family == "variable" or d.certainty == "certain"]


@pytest.mark.parametrize("formula", ["g * (x == out)", "g / (x - out)", "g * (x / out)"])
def test_a_value_is_not_exchanged_so_that_something_is_compared_with_itself(formula):
    texts = [m.formula for m, _ in mutants(formula, ("x", "out"), spelled=True) if m.family == "variable"]
    assert not [t for t in texts if any(same in t for same in ("x == x", "out == out", "x - x", "out - out", "x / x", "out / out"))]


def linear(divide):
    def rule(g, x, weight, bias):
        rows, flat = x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1])
        return g @ weight, flat.T @ rows / divide(rows, weight), flat.sum(0)

    return rule


def test_a_mean_over_the_rows_of_a_batch_is_named():
    assert "divided by the number of rows of x" in said("linear", linear(lambda rows, weight: len(rows)))


def test_a_quotient_of_two_sizes_is_never_certain():
    wrong = lambda g, x, axis: np.expand_dims(g, axis) * np.ones_like(x) * len(x) / (x.size - 1)
    found = check("sum", wrong).diagnoses[0]
    assert found.certainty == "likely" and "where the size of axis 0 of x" in found.text


def test_an_elementwise_operation_has_no_window():
    rule = lambda g, x, y: (back_to(g, x.shape), back_to(-g * np.fmod(x, y), y.shape))
    assert "goes on at the beginning" not in said("fmod", rule)
    assert "uses the result of forward where another value belongs" in said("fmod", rule)


@pytest.mark.parametrize("name", ["_unit", "_other", "_size", "_left", "_rows", "_anything"])
def test_the_letters_of_a_formula_are_not_said(name):
    assert name.removeprefix("_") not in value_in_words(name).split()[:1] and "_" not in value_in_words(name)


@pytest.mark.parametrize("name", ["across", "deviation", "keep", "greater"])
def test_the_helpers_of_a_formula_are_not_said(name):
    assert name not in step_in_words(name)


def test_a_function_of_numpy_is_said():
    assert step_in_words("cumsum") == "its cumsum"


def length(y, x):
    return np.sqrt((x * x).sum(-1, keepdims=True))


def cosine(f):
    def one(g, x, y):
        size = length(None, x)
        unit, other = x / size, y / length(None, y)
        return f(g[..., None], unit, other, size)

    return lambda g, x, y: (one(g, x, y), one(g, y, x))


def test_a_projection_that_is_missing_is_said_in_words_that_a_student_knows():
    text = said("cosine", cosine(lambda g, unit, other, size: g * other / size))
    assert "one of its terms" in text and "across" not in text and A_STEP not in text


def test_arrays_of_a_scene_are_not_numbered():
    draws = [(np.arange(1.0, 6) * k, np.arange(1.0, 6) * k * 3 * k, (np.array([3.0 * k, 0]), np.ones(2))) for k in (1, 2)]
    assert "the first array" in relation(draws)[1]


def test_the_helper_that_keeps_one_side_is_not_said():
    x = np.array([[-1.7, 0.3, 1.4], [0.8, -0.6, 2.2]])
    found = diagnose(lambda g, x: g * -np.sign(x), lambda x: autolab.relu(1 - abs(x)), [x])
    assert "its keep" not in str(found)


def test_one_number_everywhere_is_certain():
    assert check("square", lambda g, x: g * x).diagnoses[0].certainty == "certain"


def test_more_numbers_than_g_has_are_no_piece_of_it():
    spread = lambda g, x: np.repeat(g[..., None], x.shape[-1], -1)
    texts = said("sum", spread)
    assert "is made of the numbers of g" in texts and "another piece" not in texts


TOP = Spec("top_two", Op("top_two", lambda x: np.sort(x, -1)[..., -2:].sum(-1), GENERAL,
                         x=lambda g, x: g[..., None] * (x >= np.sort(x, -1)[..., -2:-1])), shapes=(((3, 5),), ((4, 4),)))  # fmt: skip


def test_a_place_that_the_values_choose_is_that_of_one_call():
    text = said(TOP, lambda g, x: g[..., None] * (x == x.max(-1, keepdims=True)))
    assert "in this call where it should not be" in text


def test_a_softmax_over_all_in_place_of_those_before_goes_on_nowhere():
    def rule(g, x, axis):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True) * g.sum(axis, keepdims=True)

    assert "goes on at the beginning" not in said("logcumsumexp", rule)


PINBALL = Spec("pinball", Op("pinball", lambda x, y, *, q: np.maximum(q * (y - x), (q - 1) * (y - x)), ELEMENTWISE,
                             x=lambda g, x, y, q: g * np.where(y > x, -q, 1 - q), y=lambda g, x, y, q: g * np.where(y > x, q, q - 1)),
               settings=({"q": 0.9}, {"q": 0.3}))  # fmt: skip


def test_any_slope_is_right_at_a_kink_where_both_inputs_are_equal():
    def rule(g, x, y, q):
        d = g * ((x > y) - q)
        return back_to(d, x.shape), back_to(-d, y.shape)

    assert check(PINBALL, rule).passed


def test_a_rule_that_fails_for_a_shape_is_not_told_that_numbers_are_too_large():
    def rule(g, out, axis):
        _n, _c, _d = out.shape
        return out * (g - (g * out).sum(axis, keepdims=True))

    text = said("softmax", rule)
    assert "not enough values to unpack" in text and "With large or tiny numbers" not in text


def test_a_value_that_would_be_compared_with_itself_alone_is_not_said_to_be_used():
    text = said("median", lambda g, x: g * np.ones_like(x) / x.size)
    assert "where the result of forward belongs" not in text
