"""What is said to be certain holds on other numbers, too: a place that is the smallest by chance, a gradient that is 0 because it is small."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import Spec, check
from autolab.engine.op import GENERAL, Op


def loops(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for i in range(x.shape[0]):
        for k in range(x.shape[0]):  # as many as the rows, not as the columns
            for j in range(y.shape[1]):
                gx[i, k] += g[i, j] * y[k, j]
                gy[k, j] += g[i, j] * x[i, k]
    return gx, gy


@pytest.mark.parametrize("seed", range(20))
def test_a_column_that_is_left_out_is_not_the_smallest_entry_of_each_row(seed):
    assert "smallest" not in str(check("mm", loops, seed=seed).diagnoses)


@pytest.mark.parametrize(("cut", "said"), [(np.trunc, "cut off"), (np.round, "rounded to whole numbers")])
@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_fractions_that_are_cut_off_do_not_leave_a_gradient_that_is_zero_everywhere(cut, said, name):
    slope = {"sigmoid": lambda out: out * (1 - out), "tanh": lambda out: 1 - out**2}[name]
    found = check(name, lambda g, out: cut(0.3 * g * slope(out) / 0.3)).diagnoses[0]
    assert said in found.text


def test_what_is_zero_for_a_large_g_as_well_is_zero_everywhere():
    assert "zero everywhere" in check("sigmoid", lambda g: 0 * g).diagnoses[0].text


def of_fit(g, a, b):
    weights, back = np.linalg.solve(a.T @ a, a.T @ b), np.linalg.solve(a.T @ a, a.T @ g)
    return np.outer(g - a @ back, weights) + np.outer(b - a @ weights, back), a @ back


FIT = Spec(
    "fit",
    Op(
        "fit",
        lambda a, b: a @ np.linalg.solve(a.T @ a, a.T @ b),
        GENERAL,
        a=lambda g, a, b: of_fit(g, a, b)[0],
        b=lambda g, a, b: of_fit(g, a, b)[1],
    ),
    shapes=(((5, 2), (5,)), ((6, 3), (6,))),
    make=lambda rng, shapes, settings: (rng.uniform(-1, 1, shapes[0]) + 2 * np.eye(*shapes[0]), rng.uniform(-3, 3, shapes[1])),
)


def test_a_residual_that_is_left_out_is_not_certainly_an_exchange_that_makes_it_zero():
    def rule(g, a, b):
        inner = np.linalg.inv(a.T @ a)
        h = inner @ a.T @ g
        return np.outer(g - a @ h, inner @ a.T @ b), a @ h

    found = check(FIT, rule).diagnoses[0]
    assert found.family == "term" or found.certainty == "likely"


def of_nearer(g, a, p, n, margin, always=False):
    to_p, to_n = np.linalg.norm(a - p, axis=-1, keepdims=True), np.linalg.norm(a - n, axis=-1, keepdims=True)
    h = g / len(a) * ((to_p - to_n + margin > 0) | always)
    return h * ((a - p) / to_p - (a - n) / to_n), -h * (a - p) / to_p, h * (a - n) / to_n


def nearer(a, p, n, *, margin):
    return np.maximum(np.linalg.norm(a - p, axis=-1) - np.linalg.norm(a - n, axis=-1) + margin, 0).mean()


NEARER = Spec(
    "nearer",
    Op("nearer", nearer, GENERAL, a=lambda g, a, p, n, margin: of_nearer(g, a, p, n, margin)[0],
       p=lambda g, a, p, n, margin: of_nearer(g, a, p, n, margin)[1], n=lambda g, a, p, n, margin: of_nearer(g, a, p, n, margin)[2]),
    shapes=(((5, 3),) * 3, ((7, 2),) * 3), settings=({"margin": 0.4}, {"margin": 0.9}),
)  # fmt: skip


def test_a_condition_that_is_left_out_is_no_margin_of_some_round_number_and_no_exchange():
    found = check(NEARER, lambda g, a, p, n, margin: of_nearer(g, a, p, n, margin, True)).diagnoses
    assert [
        d for d in found if d.certainty == "certain" and ("margin were 10" in d.text or d.text.startswith("The gradient for p uses"))
    ] == []


RIDGE = Spec(
    "ridge",
    Op("ridge", lambda x: np.linalg.slogdet(x @ x.T + np.eye(len(x)))[1], GENERAL,
       x=lambda g, x: 2 * g * np.linalg.solve(x @ x.T + np.eye(len(x)), x)),
    shapes=(((3, 5),), ((2, 4),)),
)  # fmt: skip


def test_products_that_fit_one_matrix_by_chance_are_not_counted():
    found = check(RIDGE, lambda g, x: 2 * g * (x @ x.T + np.eye(len(x))) @ x).diagnoses[0]
    assert "products" not in found.text


def test_what_is_smaller_than_rounding_is_not_held_between_two_numbers():
    found = check("sigmoid", lambda g, out: g * out * (1 - out) * 1e-300).diagnoses[0]
    assert "held between" not in found.text
