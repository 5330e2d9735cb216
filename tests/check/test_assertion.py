"""The checker in tests, and on functions outside a course."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.autograd import Function
from autolab.check import assert_gradients, assert_rule, diagnose

from .right import Square


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x**2


def test_a_right_rule_passes_silently(rng):
    assert_rule("square", Square)
    assert_gradients(Cube, lambda x: x * x * x, [rng.normal(size=(3, 4))])


def test_a_wrong_rule_fails_with_its_diagnosis(rng):
    with pytest.raises(AssertionError, match=r"square: .*points[\s\S]*0\.5 times the right one"):
        assert_rule("square", lambda g, x: g * x)
    with pytest.raises(AssertionError, match="1.5 times the right one"):
        assert_gradients(Cube, lambda x: x * x, [np.full((2, 2), 1.0)])


def test_a_function_on_tensors_is_a_reference_with_settings_of_its_own(rng):
    def scaled(x, y):
        return (x * y).sum(-1)

    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    (found,) = diagnose(lambda g, x, y: (g[:, None] * y, -g[:, None] * x), scaled, (x, y))
    assert (found.family, found.input) == ("sign", "y")
