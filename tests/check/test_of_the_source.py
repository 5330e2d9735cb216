"""What is said of a rule is true of its source and not of its numbers alone: which size, which power, which sum, which turn."""

from __future__ import annotations

import re

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

ROWS = (((3, 5),), ((4, 4),))
PAIRS = (((3, 5), (3, 5)), ((4, 4), (4, 4)))


def own(forward, *names, kind=GENERAL, **more):
    return Spec("own", Op("own", forward, kind, **dict.fromkeys(names, derivative_of_forward)), **more)


def first(spec, rule):
    """What is said first."""
    d = check(spec, rule).diagnoses[0]
    return f"({d.certainty}) {d.text}"


# ---------- which size was taken, and which belongs

KEYS = own(lambda q, k, v: q @ (k.T @ v) / len(k), "q", "k", "v", shapes=(((3, 4), (5, 4), (5, 2)), ((4, 4), (4, 4), (4, 4))))
COLUMNS = own(lambda x, w: (x @ w).mean(axis=0), "x", "w", shapes=(((3, 4), (4, 2)), ((4, 4), (4, 4))))


def by_the_queries(g, q, k, v):
    n = len(q)
    return g @ v.T @ k / n, v @ g.T @ q / n, k @ q.T @ g / n


def by_a_width(g, x, w):
    m = w.shape[1]
    whole = np.ones((len(x), 1)) * g
    return whole @ w.T / m, x.T @ whole / m


@pytest.mark.parametrize(
    ("spec", "rule", "taken", "belongs"),
    [(KEYS, by_the_queries, "axis 0 of q", "axis 0 of k"), (COLUMNS, by_a_width, "axis 1 of w", "axis 0 of x")],
)
def test_a_size_in_the_place_of_another_is_named_with_the_one_that_belongs(spec, rule, taken, belongs):
    for d in check(spec, rule).diagnoses:
        assert f"divided by the size of {taken}, where the size of {belongs} belongs" in d.text


def test_a_fixed_number_is_one_that_the_rule_has():
    spec = own(lambda x: ((x - x.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1), "x", shapes=ROWS)

    def too_small(g, x):
        n, c = x.shape[-1], x - x.mean(-1, keepdims=True)
        return (1 - 1 / n) * 2 * g[:, None] * c / n  # 12 / 15 and 12 / 16 of it

    def twelve(g, x):
        return 2 * g[:, None] * (x - x.mean(-1, keepdims=True)) / 12

    assert "12 in every call" not in first(spec, too_small)
    assert "divided by 12 in every call" in first(spec, twelve)


# ---------- n and n - 1, a letter of a formula, a factor that is transposed


def by_n(g, x, axis):
    n = x.shape[axis]
    return 2 * np.expand_dims(g, axis) * (x - x.mean(axis, keepdims=True)) / n


def a_factor_too_many(g, x, axis):
    n = x.shape[axis]
    return 2 / (n - 1) * (x - x.mean(axis, keepdims=True)) * (1 - 1 / n) * np.expand_dims(g, axis)


def test_n_for_n_less_1_is_certain_only_if_the_rule_divides_by_n():
    assert "(certain)" in (said := first("var", by_n))
    assert "one of the two divides by n" in said
    assert "one of the two divides by n" not in (said := first("var", a_factor_too_many))
    assert "one factor less in" in said


def another_power(g, x, weight):
    n, c = x.shape[-1], x - x.mean(-1, keepdims=True)
    var = (c * c).mean(-1, keepdims=True) + 1e-5
    d = g * weight
    through_var = (d * c * -0.5 * var**-0.5).sum(-1, keepdims=True)
    through_mean = -(d / np.sqrt(var)).sum(-1, keepdims=True)
    return d / np.sqrt(var) + through_var * 2 * c / n + through_mean / n, (g * c / np.sqrt(var)).sum(0), g.sum(0)


def test_a_change_of_the_source_goes_before_a_letter_of_a_formula_that_the_rule_does_not_have():
    said = first("layer_norm", another_power)
    assert "another number in the place of -0.5" in said
    assert "in the normalised x" not in said


def _invertible(rng, shapes, settings):
    (shape,) = shapes
    return (rng.uniform(-1, 1, shape) + 5 * np.eye(len(np.empty(shape))),)


CAYLEY = own(
    lambda a: np.linalg.solve(np.eye(len(a)) + a, np.eye(len(a)) - a), "a", shapes=(((3, 3),), ((4, 4),)), make=_invertible
)  # fmt: skip


def test_it_is_the_factor_of_the_rule_that_is_transposed():
    def rule(g, a, out):
        inverse = np.linalg.inv(np.eye(len(a)) + a)
        return -inverse @ g @ (np.eye(len(a)) + out).T

    said = first(CAYLEY, rule)
    assert "a transpose more or less in `-inverse @ g`" in said
    assert "result" not in said


@pytest.mark.parametrize(
    ("operation", "rule", "words"),
    [
        ("std", lambda g, x, out, axis: np.expand_dims(g / out**2, axis) * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1),
         "the place of 2 in `out**2`"),
        ("sigmoid", lambda g, out: g * out * out * (1 - out), "one factor less in `g * out`"),
    ],
)  # fmt: skip
def test_what_is_there_once_too_often_is_quoted(operation, rule, words):
    assert words in first(operation, rule)


def over_the_queries(g, q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    p = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    dp = g @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-2, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


def test_the_sum_along_another_axis_is_quoted():
    assert "another axis in the place of -2 in `(dp * p).sum(-2, keepdims=True)`" in first("attention", over_the_queries)


# ---------- sums and masks


@pytest.mark.parametrize(
    ("operation", "rule", "words"),
    [
        ("log_softmax", lambda g, out, axis: g - (np.exp(out) * g).sum(axis, keepdims=True), "`np.exp(out)` outside of the `sum`"),
        ("softmax", lambda g, out, axis: out * g - out * out * g.sum(axis, keepdims=True), "`out` inside the `sum`"),
    ],
)
def test_a_factor_on_the_wrong_side_of_a_sum_is_named(operation, rule, words):
    assert words in first(operation, rule)


def mean_of_the_row(g, out):
    on = out > 0
    return on * (g - g.mean(-1, keepdims=True))


def sum_of_the_row(g, out):
    on = out > 0
    return on * (g - g.sum(-1, keepdims=True) / on.sum(-1, keepdims=True))


def everywhere(g, out):
    on = out > 0
    return g - (g * on).sum(-1, keepdims=True) / on.sum(-1, keepdims=True)


def by_the_size_of_the_row(g, out):
    on = out > 0
    return on * (g - (g * on).sum(-1, keepdims=True) / out.shape[-1])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (mean_of_the_row, "the entries alone where `on` is True in `g.mean"),
        (sum_of_the_row, "the entries alone where `on` is True in `g.sum"),
        (everywhere, "the mask `on` as a factor of"),
        (by_the_size_of_the_row, "the number of entries where `on` is True in the place of `out.shape[-1]`"),
    ],
)
def test_a_mask_that_was_left_out_is_named(rule, words):
    assert words in first("project_simplex", rule)


# ---------- the last step, settings, loops


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (lambda x: np.sqrt((x * x).sum()), "sqrt"),
        (lambda x: np.linalg.norm(x), "the root in the norm"),
        (lambda x: (x**2).sum() ** (1 / 3), "the power"),
    ],
)
def test_a_factor_that_the_last_step_of_forward_explains_is_its_derivative(forward, name):
    said = first(own(forward, "x", shapes=(((4,),), ((3,),))), lambda g, x: 2 * g * x)
    assert f"without the derivative of {name}, which is the last step of forward" in said


def test_a_factor_of_the_result_is_no_last_step_where_that_is_another():
    spec = own(lambda x: x.shape[-1] / (1 / x).sum(), "x", shapes=(((4,),), ((3,),)), domain={"x": (0.2, 3.0)})
    assert "last step" not in first(spec, lambda g, x, out: g * out / x.size / x**2)


PINBALL = own(
    lambda x, y, *, tau: np.maximum(tau * (y - x), (tau - 1) * (y - x)).mean(), "x", "y", shapes=PAIRS,
    settings=({"tau": 0.3}, {"tau": 0.85}),
)  # fmt: skip


def test_a_ratio_of_one_setting_alone_is_said_as_what_it_is_of_the_setting():
    def rule(g, x, y, tau):
        d = g * tau * np.sign(x - y) / x.size
        return d, -d

    said = first(PINBALL, rule)
    assert "there it is tau / (1 - tau) times the right one" in said
    assert "0.42857" not in said


def test_the_rest_of_a_share_for_the_share_is_no_sign_of_another_value():
    def rule(g, x, y, tau):
        d = g * np.where(y > x, -(1 - tau), tau) / x.size
        return d, -d

    said = first(PINBALL, rule)
    assert "`tau` and `1 - tau` in each other's places" in said
    assert "the other sign of `y`" not in said


def test_a_lost_sign_is_said_as_one():
    said = first("huber", lambda g, x, delta: np.where(np.abs(x) <= delta, g * x, g * delta))
    assert re.search("the derivative of (the )?abs.*, which is the sign of what is in it", said)
    assert "where x belongs" not in said


def newton(x, *, steps):
    y = 0.5 * (1 + x)
    for _ in range(steps):
        y = 0.5 * (y + x / y)
    return y


NEWTON = own(newton, "x", kind=ELEMENTWISE, settings=({"steps": 1}, {"steps": 4}), domain={"x": (0.2, 3.0)})
NEWTON_OF_ROWS = own(newton, "x", shapes=ROWS, settings=({"steps": 1}, {"steps": 3}), domain={"x": (0.2, 3.0)})


@pytest.mark.parametrize("spec", [NEWTON, NEWTON_OF_ROWS])
def test_the_derivative_of_the_limit_is_not_that_for_as_many_turns_as_an_axis_has_entries(spec):
    said = first(spec, lambda g, x: g / (2 * np.sqrt(x)))
    assert "the derivative of the limit that forward comes near to" in said
    assert "the size of axis" not in said


@pytest.mark.parametrize("spec", [NEWTON, NEWTON_OF_ROWS])
def test_the_last_turn_alone_is_said_to_be_that(spec):
    def rule(g, x, steps):
        return g * 0.5 / newton(x, steps=steps - 1)

    assert "the last turns of forward's loop alone" in first(spec, rule)


def rnn(x, w):
    h = 0 * x[0]
    for t in range(len(x)):
        h = np.tanh(x[t] + w @ h)
    return h


RNN = own(rnn, "x", "w", shapes=(((5, 3), (3, 3)), ((4, 4), (4, 4))))


def states(x, w):
    h = [0 * x[0]]
    for t in range(len(x)):
        h.append(np.tanh(x[t] + w @ h[-1]))
    return h


def overwritten(g, x, w):
    h = states(x, w)
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for t in range(len(x) - 1, -1, -1):
        dz = g * (1 - h[t + 1] ** 2)
        dx[t] = dz
        dw = np.outer(dz, h[t])
        g = w.T @ dz
    return dx, dw


def overwritten_in_a_while(g, x, w):
    h = states(x, w)
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    t = len(x) - 1
    while t >= 0:
        dz = g * (1 - h[t + 1] ** 2)
        dx[t] = dz
        dw = np.outer(dz, h[t])
        g = w.T @ dz
        t -= 1
    return dx, dw


@pytest.mark.parametrize("rule", [overwritten, overwritten_in_a_while])
def test_zeros_of_the_last_turn_of_a_loop_are_a_sum_that_is_missing(rule):
    assert "is zero everywhere: it would be right with a sum of all values in `dw = np.outer(dz, h[t])`" in first(RNN, rule)


def test_zeros_that_each_turn_makes_belong_before_the_loop():
    def rule(g, x, w):
        h = states(x, w)
        dx = np.zeros_like(x)
        for t in range(len(x) - 1, -1, -1):
            dw = np.zeros_like(w)
            dz = g * (1 - h[t + 1] ** 2)
            dx[t] = dz
            dw += np.outer(dz, h[t])
            g = w.T @ dz
        return dx, dw

    assert "`dw = np.zeros_like(w)` outside the loop" in first(RNN, rule)
