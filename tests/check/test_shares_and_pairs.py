"""Shares that change with their own entry alone, what belongs to both of a pair, geometric means, and how many count."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.diagnosis.failures import of_the_wrong_calls
from autolab.engine.op import GENERAL, Op


def spec(forward, *inputs, shapes, settings=({},), **more):
    row = Op("forward", forward, GENERAL, **dict.fromkeys(inputs, derivative_of_forward))
    return Spec("forward", row, shapes=shapes, settings=settings, **more)


def first(exercise, rule):
    (found, *_) = check(exercise, rule, seconds=60).diagnoses
    return found.text


def weighted(s, v, *, causal):
    s = np.where(np.tri(*s.shape) > 0, s, -np.inf) if causal else s  # one step more
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ v


def of_each_share_alone(g, s, v, causal):
    s = np.where(np.tri(*s.shape) > 0, s, -np.inf) if causal else s
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return (g @ v.T) * p * (1 - p), p.T @ g


def test_a_slip_is_found_in_calls_of_other_steps():
    """The steps before the quotient are others where a setting takes another branch."""
    exercise = spec(weighted, "s", "v", shapes=(((3, 4), (4, 2)), ((3, 3), (3, 3))), settings=({"causal": False}, {"causal": True}))
    assert "has the diagonal alone of the derivative of the quotient" in first(exercise, of_each_share_alone)


def apart(x, *, soft):
    d = x[:, None] - x[None, :]
    return 0.5 * np.sqrt(d * d + soft).sum(axis=1)


def of_its_own_g(g, x, soft):
    d = x[:, None] - x[None, :]
    return (g[:, None] * d / np.sqrt(d * d + soft)).sum(axis=1)


def of_its_own_half(g, x, soft):
    d = x[:, None] - x[None, :]
    return (0.5 * g[:, None] * d / np.sqrt(d * d + soft)).sum(axis=1)


@pytest.mark.parametrize("rule", [of_its_own_g, of_its_own_half])
def test_what_belongs_to_the_other_of_a_pair_is_named(rule):
    text = first(spec(apart, "x", shapes=(((4,),), ((5,),)), settings=({"soft": 0.3}, {"soft": 0.7})), rule)
    assert "what belongs to `[j, i]` besides what belongs to `[i, j]` in `" in text


def mixed(a, *, shift):
    e = np.sqrt(a[:, None] * a[None, :])
    return np.tanh(e - shift).sum(axis=1)


def of_the_arithmetic_mean(g, a, shift):
    e = np.sqrt(a[:, None] * a[None, :])
    d = g[:, None] / np.cosh(e - shift) ** 2
    return 0.5 * (d.sum(axis=1) + d.sum(axis=0))


def test_an_arithmetic_mean_for_a_geometric_one_is_named():
    exercise = spec(mixed, "a", shapes=(((4,),), ((3,),)), settings=({"shift": 0.5}, {"shift": 1.0}), domain={"a": (0.3, 2.0)})
    text = first(exercise, of_the_arithmetic_mean)
    assert "is right with the slopes of another forward, in which half the sum of the two is in the place of `np.sqrt(" in text


def per_event(x, b, *, event):
    e = np.asarray(event)
    return (np.log1p(np.exp(x @ b)) * e).sum() / e.sum()


def of_all_rows(g, x, b, event):
    e = np.asarray(event)
    d = g * e / (1 + np.exp(-(x @ b))) / len(e)
    return np.outer(d, b), x.T @ d


def test_how_many_count_is_a_size():
    events = ({"event": [1, 0, 1, 1, 0]}, {"event": [1, 0, 0, 1, 0]})
    text = first(spec(per_event, "x", "b", shapes=(((5, 2), (2,)), ((5, 3), (3,))), settings=events), of_all_rows)
    assert "with the number of entries where `e` is 1 in the place of `len(e)`" in text


@pytest.mark.parametrize(
    ("where", "value"), [("except where swap is True", False), ("only where swap is True", True), ("only where swap is False", False)]
)
def test_a_setting_the_other_way_round_in_some_calls_has_one_value_in_all(where, value):
    assert of_the_wrong_calls("takes swap the other way round", where) == f"is what would be right if swap were {value}"


def test_another_setting_may_be_the_other_way_round():
    text = "takes swap the other way round"
    assert of_the_wrong_calls(text, "except where mean is True") == text


def ridge(x, y, *, penalty):
    return np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)


def of_the_right_side_alone(g, x, y, penalty):
    m = x.T @ x + penalty * np.eye(x.shape[1])
    s = np.linalg.solve(m, g)
    return np.outer(y, s), x @ s


def test_a_path_that_is_missing_is_no_factor_of_0():
    exercise = spec(ridge, "x", "y", shapes=(((5, 2), (5,)), ((4, 3), (4,))), settings=({"penalty": 0.5}, {"penalty": 1.5}))
    text = first(exercise, of_the_right_side_alone)
    assert "0 times as large" not in text and "misses one of its terms" in text


def filtered(y, *, start, gain):
    level = start  # a number, and an array after the first turn
    for t in range(len(y)):
        level = level + gain * np.tanh(y[t] - level)
    return level


def of_the_last_level(g, y, start, gain):
    level = start
    for t in range(len(y)):
        level = level + gain * np.tanh(y[t] - level)
    out = np.zeros_like(y)
    for t in reversed(range(len(y))):
        slope = gain / np.cosh(y[t] - level) ** 2
        out[t] = g * slope
        g = g * (1 - slope)
    return out


def test_a_state_may_begin_with_a_number():
    exercise = spec(filtered, "y", shapes=(((4,),), ((5,),)), settings=({"start": 0.5, "gain": 0.3}, {"start": -0.2, "gain": 0.6}))
    assert "from after the loop in every turn" in first(exercise, of_the_last_level)


def shifted(a, b):
    return a @ a + b * np.eye(len(a))


def of_all_entries(g, a, b):
    return g @ a.T + a.T @ g, np.array(g.sum())


def test_a_sum_of_all_entries_for_the_trace_is_named():
    text = first(spec(shifted, "a", "b", shapes=(((3, 3), ()), ((4, 4), ()))), of_all_entries)
    assert "with another function than `sum` in `g.sum()`" in text


def whitened(x):
    s, u = np.linalg.eigh(x @ x.T + 0.5 * np.eye(len(x)))
    return (u * np.sqrt(s)) @ u.T


def of_the_other_basis(g, x):
    s, u = np.linalg.eigh(x @ x.T + 0.5 * np.eye(len(x)))
    k = 1 / (np.sqrt(s)[:, None] + np.sqrt(s))
    d = u.T @ (k * (u.T @ g @ u)) @ u
    return (d + d.T) @ x


def test_a_change_of_basis_the_other_way_round_is_named():
    text = first(spec(whitened, "x", shapes=(((3, 4),), ((2, 3),))), of_the_other_basis)
    assert "with a transpose more or less of the first and of the last factor in `u.T @" in text


def spread(x, w):
    return np.linalg.slogdet(x.T @ np.diag(w**2) @ x + 0.1 * np.eye(x.shape[1]))[1]


def of_squared_rows(g, x, w):
    h = x @ np.linalg.inv((x.T * w**2) @ x + 0.1 * np.eye(x.shape[1]))
    return 2 * g * w[:, None] ** 2 * h, 2 * g * w * (h**2).sum(axis=1)


def test_a_square_for_a_product_of_two_is_named():
    text = first(spec(spread, "x", "w", shapes=(((5, 2), (5,)), ((4, 3), (4,)))), of_squared_rows)
    assert "with another value in the place of one of the two factors in `h" in text


def turned(w, v):
    a = (w - w.T) / 2
    return np.tanh(a) @ v


def of_the_whole_matrix(g, w, v):
    a = (w - w.T) / 2
    d = (g @ v.T) / np.cosh(a) ** 2
    return d, np.tanh(a).T @ g


def test_what_belongs_to_the_other_of_a_pair_with_the_other_sign_is_named():
    text = first(spec(turned, "w", "v", shapes=(((3, 3), (3, 2)), ((4, 4), (4, 3)))), of_the_whole_matrix)
    assert "with what belongs to `[j, i]` with the other sign besides what belongs to `[i, j]` in `" in text


def bilinear(x, y, w):
    return np.einsum("...i,kij,...j->...k", x, w, y)


def of_one_sum(g, x, y, w):
    k, m, n = w.shape
    u, v, f = x.reshape(-1, m), y.reshape(-1, n), g.reshape(-1, k)
    dx = np.einsum("nk,kij,nj->ni", f, w, v).reshape(x.shape)
    dy = np.einsum("nk,kij,ni->nj", f, w, u).reshape(y.shape)
    return dx, dy, np.einsum("ki,j->kij", f.T @ u, v.sum(axis=0))


def test_one_factor_of_an_einsum_that_is_added_up_by_itself_is_named():
    exercise = spec(bilinear, "x", "y", "w", shapes=(((4, 2), (4, 3), (2, 2, 3)), ((2, 3, 3), (2, 3, 2), (4, 3, 2))))
    assert "adds up one factor of an einsum by itself" in first(exercise, of_one_sum)
