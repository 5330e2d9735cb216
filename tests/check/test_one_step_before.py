"""An index of a step that is off by one, shifts that go the wrong way together, and a setting that cannot be 0."""

import numpy as np

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def spec(name, forward, inputs, **more):
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)


def followed(a, x, first):
    state, states = first, []
    for t in range(len(x)):
        state = a[t] * state + (1 - a[t]) * x[t]
        states.append(state)
    return np.stack(states)


FROM_0 = spec("from_0", lambda a, x: followed(a, x, 0.0), "a x", shapes=(((5,), (5,)), ((4,), (4,))), domain={"a": (0.1, 0.9)})
FROM_FIRST = spec("from_first", followed, "a x first", shapes=(((4, 3), (4, 3), (3,)), ((3, 2), (3, 2), (2,))), domain={"a": (0.1, 0.9)})


def test_the_state_after_a_step_in_the_place_of_the_one_before_it():
    def rule(g, a, x, out):
        ga, gx, carry = np.zeros_like(a), np.zeros_like(x), 0.0
        for t in reversed(range(len(x))):
            carry = carry + g[t]
            ga[t] = carry * (out[t] - x[t])
            gx[t] = carry * (1 - a[t])
            carry = carry * a[t]
        return ga, gx

    (found,) = check(FROM_0, rule).diagnoses
    assert "would be right with the place before the one in `out[t]`, and 0 before the first" in found.text
    assert found.text.endswith("In its numbers, it is the right one times a") and found.certainty == "certain"


def test_the_state_before_the_first_step_may_be_an_input():
    def rule(g, a, x, first, out):
        ga, gx, carry = np.zeros_like(a), np.zeros_like(x), np.zeros_like(first)
        for t in reversed(range(len(x))):
            carry = carry + g[t]
            ga[t] = carry * (out[t] - x[t])
            gx[t] = carry * (1 - a[t])
            carry = carry * a[t]
        return ga, gx, carry

    (found,) = check(FROM_FIRST, rule).diagnoses
    assert "would be right with the place before the one in `out[t]`, and `first` before the first" in found.text


def test_the_factor_of_the_step_before():
    def rule(g, a, x, out):
        ga, gx, carry = np.zeros_like(a), np.zeros_like(x), 0.0
        for t in reversed(range(len(x))):
            carry = carry + g[t]
            ga[t] = carry * ((out[t - 1] if t else 0.0) - x[t])
            gx[t] = carry * (1 - a[t])
            carry = carry * a[t - 1]
        return ga, gx

    (found,) = check(FROM_0, rule).diagnoses
    assert "would be right with the place after the one in `a[t - 1]`" in found.text


def test_a_multiple_that_no_loop_gives_is_said_as_it_is():
    exercise = spec("logistic", lambda a, x: (np.log1p(np.exp(a)) * x).sum(), "a x", shapes=(((3,), (3,)), ((4,), (4,))))
    (found,) = check(exercise, lambda g, a, x: (g * x * a / (1 + np.exp(-a)), g * np.log1p(np.exp(a)))).diagnoses
    assert "times a" in found.text and "before the first" not in found.text


def test_two_shifts_of_one_array_that_go_the_wrong_way():
    ring = spec("ring", lambda x: (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x, "x", shapes=(((6,),), ((7,),)))

    def rule(g, x):
        of_difference = g * np.roll(x, 1)
        of_factor = g * (np.roll(x, -1) - np.roll(x, 2))
        return np.roll(of_difference, -1) - np.roll(of_difference, 2) + np.roll(of_factor, -1) - g

    (found,) = check(ring, rule).diagnoses
    assert "with the other direction in `np.roll(of_difference, -1)`" in found.text and "2 times" in found.text


def test_a_setting_that_is_left_out_where_0_would_divide_0_by_0():
    def attraction(at, m, *, soft=0.3):
        apart = np.sqrt(((at[:, None] - at[None]) ** 2).sum(-1) + soft**2)
        return -0.5 * (m[:, None] * m[None] / apart * (1 - np.eye(len(m)))).sum()

    def rule(g, at, m, soft):
        between = at[:, None] - at[None]
        apart = np.sqrt((between**2).sum(-1))
        apart[np.diag_indices(len(m))] = 1
        apart_3 = m[:, None] * m[None] / apart**3 * (1 - np.eye(len(m)))
        return g * (apart_3[..., None] * between).sum(1), -g * (m[None] / apart * (1 - np.eye(len(m)))).sum(1)

    exercise = spec(
        "attraction",
        attraction,
        "at m",
        shapes=(((4, 2), (4,)), ((3, 3), (3,))),
        settings=({"soft": 0.3}, {"soft": 1.0}),
        domain={"m": (0.5, 2.0)},
    )
    (found,) = check(exercise, rule).diagnoses
    assert "does not use soft: it is what would be right if soft were 0, but where that would divide 0 by 0" in found.text
