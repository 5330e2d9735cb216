"""A gradient that is not spread over the entries of its input, and wrong besides: both are said."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op

ROWS = Spec("mean_of_rows", Op("mean_of_rows", lambda x: x.mean(0), GENERAL, x=derivative_of_forward), shapes=(((4, 3),), ((2, 5),)))


def mean_along(x, *, axis):
    return x.mean(axis)


def rms(x, *, axis):
    return np.sqrt((x * x).mean(axis))


def along(forward):
    axes = ({"axis": 0}, {"axis": 1})
    return Spec(
        forward.__name__, Op(forward.__name__, forward, GENERAL, x=derivative_of_forward), shapes=(((4, 3),), ((2, 5),)), settings=axes
    )


@pytest.mark.parametrize(
    ("rule", "besides"),
    [
        (lambda g, x: g / 4, "divided by 4 in every call, where the size of axis 0 of x belongs"),
        (lambda g, x: g / x.size, "divided by the size of axis 1 of x"),
        (lambda g, x: -g / len(x), "wrong sign"),
    ],
)
def test_what_is_wrong_besides_is_said(rule, besides):
    (found,) = check(ROWS, rule).diagnoses
    assert found.family == "not spread" and "besides" in found.text and besides in found.text


def test_with_an_axis_put_back_too():
    (found,) = check(along(mean_along), lambda g, x, axis: np.expand_dims(g, axis) / x.size).diagnoses
    assert found.family == "not spread" and "divided by the size of axis 0 of the result" in found.text


def test_two_mistakes_earn_no_more_than_one():
    one, two = (check(ROWS, rule).points for rule in (lambda g, x: g / len(x), lambda g, x: g / x.size))
    assert two <= one


def test_what_is_not_spread_alone_is_said_alone():
    (found,) = check(ROWS, lambda g, x: g / len(x)).diagnoses
    assert found.text.endswith("is not spread over the entries that share them")


def test_a_reduction_without_the_axis_of_the_call_is_named():
    def rule(g, x, axis):
        n = x.shape[axis]
        return np.expand_dims(g, axis) * x / (n * np.sqrt((x * x).mean()))

    (found,) = check(along(rms), rule).diagnoses
    assert "would be right with `axis` as the axis in `(x * x).mean()`" in found.text
