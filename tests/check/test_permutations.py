"""Where forward only moves its numbers: which order the gradient has instead."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import Spec, check, diagnose
from autolab.engine.op import GENERAL, Op


def spec(name, forward, rule, *shapes):
    return Spec(name, Op(name, forward, GENERAL, x=rule), shapes=tuple((shape,) for shape in shapes))


def moved(*order):
    shapes = ((2, 3, 4, 5)[: len(order)], (3,) * len(order))
    return spec("moved", lambda x: np.transpose(x, order), lambda g: np.transpose(g, np.argsort(order)), *shapes)


PAIRS = spec("pairs", lambda x: x.reshape(len(x) // 2, -1), lambda g, x_shape: g.reshape(x_shape), (4, 6), (6, 5))
COLUMNS = spec("columns", lambda x: x.ravel(order="F"), lambda g, x_shape: g.reshape(x_shape, order="F"), (4, 6), (3, 5))
MERGED = spec("merged", lambda x: x.reshape(x.shape[0], -1), lambda g, x_shape: g.reshape(x_shape), (2, 3, 4), (3, 2, 5))
SHAPED = (PAIRS, MERGED)


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 0, 1), (0, 2, 3, 1), (3, 0, 1, 2)])
def test_the_permutation_of_forward_for_its_inverse_is_named(order):
    (found,) = check(moved(*order), lambda g: np.transpose(g, order)).diagnoses[:1]
    assert (found.family, found.certainty) == ("permutation", "certain") and "inverse" in found.text


@pytest.mark.parametrize("order", [(1, 2, 0), (1, 0, 2), (0, 2, 3, 1), (0, 2, 1, 3)])
def test_all_axes_in_the_opposite_order_are_named(order):
    found = check(moved(*order), lambda g: g.T).diagnoses[0]
    assert found.family == "permutation" and "opposite order" in found.text


@pytest.mark.parametrize("order", [(0, 2, 3, 1), (0, 2, 1, 3)])
def test_two_axes_that_are_exchanged_are_named(order):
    exchanged = lambda g: np.swapaxes(np.transpose(g, np.argsort(order)), 0, 1)
    assert "axes 0 and 1 of x exchanged" in check(moved(*order), exchanged).diagnoses[0].text


@pytest.mark.parametrize("operation", SHAPED, ids=["pairs", "merged"])
@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("is read and written column by column", lambda g, x_shape: g.reshape(x_shape, order="F")),
        ("reads g column by column", lambda g, x_shape: g.ravel(order="F").reshape(x_shape)),
        ("is written column by column", lambda g, x_shape: g.ravel().reshape(x_shape, order="F")),
    ],
)
def test_columns_for_rows_are_named(operation, words, rule):
    found = check(operation, rule).diagnoses[0]
    assert found.family == "permutation" and words in found.text


def test_rows_for_columns_are_named():
    assert "row by row" in check(COLUMNS, lambda g, x_shape: g.reshape(x_shape)).diagnoses[0].text


HALVES = {
    "added": (lambda x: x[:, :3].sin() + x[:, 3:].exp(), lambda g, x: np.concatenate([g * np.cos(x[:, :3]), g * np.exp(x[:, 3:])], 1)),
    "gated": (lambda x: x[:, :3] * x[:, 3:].tanh(),
              lambda g, x: np.concatenate([g * np.tanh(x[:, 3:]), g * x[:, :3] / np.cosh(x[:, 3:]) ** 2], 1)),
}  # fmt: skip


@pytest.mark.parametrize(("function", "right"), HALVES.values(), ids=HALVES)
def test_halves_that_are_exchanged_are_named(function, right, rng):
    x = rng.uniform(0.3, 1.7, (4, 6))
    assert diagnose(right, function, [x]) == []
    (found,) = diagnose(lambda g, x: np.roll(right(g, x), 3, 1), function, [x])
    assert found.family == "permutation" and "halves" in found.text


def test_a_right_move_is_right():
    assert check(moved(1, 2, 0), lambda g: np.transpose(g, (2, 0, 1))).passed
    assert check(COLUMNS, lambda g, x_shape: g.reshape(x_shape[::-1]).T).passed
