"""What a report says of pieces, of rows and of places that are off by a number, and of series."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
import autolab.nn.functional as F
from autolab.check import Spec, check, diagnose
from autolab.check.run.exercises import softmax
from autolab.engine.op import ELEMENTWISE, LINEAR, Op


def pieces(x):
    """Three straight lines."""
    return np.where(x < -2, 0.01 * x - 3.98, np.where(x < 1, 2 * x, x + 1))


def slopes(x, low, middle, high):
    return np.where(x < -2, low, np.where(x < 1, middle, high))


PIECES = Spec("pieces", Op("pieces", pieces, ELEMENTWISE, x=lambda g, x: g * slopes(x, 0.01, 2.0, 1.0)))


def said(found):
    return found.diagnoses[0].text if hasattr(found, "diagnoses") else found[0].text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((0.1, 2.0, 1.0), "where x is below -2, and right elsewhere: there it is 10 times the right one"),
        ((0.01, 1.0, 1.0), "where x is between -2 and 1, and right elsewhere: there it is 0.5 times the right one"),
        ((0.01, 2.0, 3.0), "where x is above 1, and right elsewhere: there it is 3 times the right one"),
        ((0.1, 2.0, 3.0), "where x is below -2, it is 10 times the right one; where x is above 1, it is 3 times the right one"),
        ((0.5, 3.0, -1.0), "where x is below -2, it is 50 times the right one; where x is between -2 and 1, it is 1.5 times the right one; "
                           "where x is above 1, it has the wrong sign"),
    ],
)  # fmt: skip
def test_a_wrong_constant_is_said_with_its_piece(wrong, words):
    assert words in said(check(PIECES, lambda g, x: g * slopes(x, *wrong)))


def test_a_wrong_number_of_the_formula_is_said_with_its_piece():
    text = said(check("leaky_relu", lambda g, x, negative_slope: g * np.where(x > 0, 2, negative_slope)))
    assert (
        "another number in the formula (" in text and "; it is wrong where x is above 0, and right elsewhere: there it is 2 times" in text
    )


def huber_gradient(x, y, inside, outside):
    return np.where(np.abs(x - y) < 1.3, inside * (x - y), outside * np.sign(x - y))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize(
    ("numbers", "words"), [((1, 1), "x - y is above 1.3, and right elsewhere: there it is 0.769231"), ((2, 1.3), "between -1.3 and 1.3")]
)
def test_the_piece_of_a_loss_is_named(reduction, numbers, words, rng):
    x, y = rng.uniform(-2.9, 2.9, (2, 5, 7))

    def rule(g, x, y):
        gx = g * huber_gradient(x, y, *numbers) / (x.size if reduction == "mean" else 1)
        return gx, -gx

    assert words in said(diagnose(rule, lambda x, y: F.huber_loss(x, y, delta=1.3, reduction=reduction), [x, y]))


@pytest.mark.parametrize(
    ("function", "slope", "words"),
    [
        (lambda x: F.hardswish(x).sum(), lambda x: np.where(x < -3, 0.1, np.where(x > 3, 1, (2 * x + 3) / 6)), "where x is below -3"),
        (lambda x: autolab.where(x < 1, x * x, x.exp()), lambda x: np.where(x < 1, 2 * x, 2 * np.exp(x)), "where x is above 1"),
        (lambda x: autolab.where(x < 1, x * x, x.exp()).sum(), lambda x: np.where(x < 1, -2 * x, np.exp(x)), "where x is below 1"),
    ],
)
def test_a_function_of_steps_has_its_pieces_named(function, slope, words, rng):
    assert words in said(diagnose(lambda g, x: g * slope(x), function, [rng.uniform(-4.9, 4.9, (6, 9))]))


def test_a_series_is_not_taken_for_a_piece(rng):
    x = rng.uniform(-0.9, 0.9, (5, 7))
    rule = lambda g, x: g * (np.arctanh(x) + x * sum(x ** (2 * k) for k in range(4)))  # noqa: E731
    assert [d.family for d in diagnose(rule, lambda x: x * autolab.atanh(x), [x])] != ["places"]


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (lambda x, k: (-1) ** k * x ** (2 * k), "is, near 0, the gradient of atan"),
        (lambda x, k: x ** (2 * k + 1) / (2 * k + 1), "is, near 0, g times the result of forward"),
    ],
)
def test_of_a_long_series_it_is_said_whose_it_is(term, words):
    assert words in said(check("atanh", lambda g, x: g * sum(term(x, k) for k in range(40))))


def test_five_terms_of_a_series_are_a_series_that_was_cut():
    assert "cut after 5 terms" in said(check("atanh", lambda g, x: g * sum(x ** (2 * k) for k in range(5))))


TARGET = np.array([2, 0, 3, 1, 2])
ONE_HOT = np.eye(4)[TARGET]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (0.8 * ONE_HOT + 0.2, "off by -0.03 times g everywhere"),
        (ONE_HOT + 0.05, "off by -0.04 times g at 5 of 20 places and right at the rest"),
        (ONE_HOT, "off by -0.03 times g at 5 of 20 places and by 0.01 times g at the rest"),
    ],
)
def test_another_smoothed_target_is_off_by_numbers(target, words, rng):
    x = rng.uniform(-2.9, 2.9, (5, 4))
    loss = lambda x: F.cross_entropy(x, autolab.tensor(TARGET), label_smoothing=0.2)  # noqa: E731
    assert words in said(diagnose(lambda g, x: g * (softmax(x) - target) / 5, loss, [x]))


def test_a_target_of_each_row_is_off_by_numbers_too(rng):
    x = rng.uniform(-2.9, 2.9, (5, 4))
    loss = lambda x: -(autolab.log_softmax(x, 1) * autolab.tensor(0.8 * ONE_HOT + 0.05)).sum(1)  # noqa: E731
    assert "off by -0.15 times g at 5 of 20" in said(diagnose(lambda g, x: g[:, None] * (softmax(x) - ONE_HOT), loss, [x]))


def test_a_weight_of_each_row_that_is_missing_is_a_number_for_each_row(rng):
    x, weight = rng.uniform(-2.9, 2.9, (5, 4)), autolab.tensor(rng.uniform(0.3, 2.7, 4))
    loss = lambda x: F.cross_entropy(x, autolab.tensor(TARGET), weight=weight)  # noqa: E731
    assert "a number of its own for each place along axis 0 of x" in said(diagnose(lambda g, x: g * (softmax(x) - ONE_HOT) / 5, loss, [x]))


@pytest.mark.parametrize("shift", [3, -4, 2])
def test_a_roll_by_another_number_is_said_in_places(shift):
    right = lambda g: np.roll(g, -1, -1)  # noqa: E731
    spec = Spec("turn", Op("turn", lambda x: np.roll(x, 1, -1), LINEAR, x=right), shapes=(((3, 6),), ((4, 6),)))
    assert f"rolled by {(shift + 1) % 6} of 6 places along axis 1" in said(check(spec, lambda g: np.roll(g, shift, -1)))


@pytest.mark.parametrize("seed", [1, 28, 35])  # with which two places lie as those of a window would
def test_the_order_of_numbers_is_not_read_as_a_window(seed):
    x = np.random.default_rng(seed).uniform(-2.9, 2.9, (4, 5))

    def rule(g, x):
        out = np.zeros_like(x)
        np.put_along_axis(out, np.argsort(x, 1)[:, :2], g, 1)
        return out

    (found,) = diagnose(rule, lambda x: autolab.topk(x, 2, 1)[0], [x])
    assert "counts sizes from the other end" in found.text
