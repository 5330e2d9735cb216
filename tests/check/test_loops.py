"""Rules for forwards with loops: one slip, made in every round by replacing a piece of the right rule, is said by the numbers alone."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.run.reference import Reference
from autolab.engine.op import GENERAL, Op


def gated(x, a, b):
    h, states = 0.0, []
    for t in range(len(x)):
        s = 1 / (1 + np.exp(-b * x[t]))
        h = s * h + (1 - s) * np.tanh(a * h + x[t])
        states.append(h)
    return np.stack(states)


GATED = """
    def rule(g, x, a, b):
        before, gates, h = [], [], 0.0
        for t in range(len(x)):
            s, u = 1 / (1 + np.exp(-b * x[t])), np.tanh(a * h + x[t])
            before.append(h)
            gates.append((s, u))
            h = s * h + (1 - s) * u
        dx, da, db, dh = np.zeros_like(x), 0.0, 0.0, 0.0
        for t in reversed(range(len(x))):
            (s, u), dh = gates[t], dh + g[t]
            dz = dh * (1 - s) * (1 - u**2)
            dv = dh * (before[t] - u) * s * (1 - s)
            dx[t] = dz + b * dv
            da, db = da + dz * before[t], db + dv * x[t]
            dh = dh * s + a * dz
        return dx, da, db
"""


def network(x, m, b):
    h, states = np.zeros(len(m)), np.zeros_like(x)
    for t in range(len(x)):
        h = np.tanh(m @ h + x[t] + b)
        states[t] = h
    return states


NETWORK = """
    def rule(g, x, m, b, out):
        dx, dm, dh = np.zeros_like(x), np.zeros_like(m), 0 * b
        for t in reversed(range(len(x))):
            d = g[t] + dh
            dz = d * (1 - out[t] ** 2)
            dx[t] = dz
            dm += np.outer(dz, out[t - 1] if t else 0 * b)
            dh = m.T @ dz
        return dx, dm, dx.sum(0)
"""


def corrected(x, *, decay):
    v, out = np.zeros(x.shape[1:]), []
    for t in range(len(x)):
        v = decay * v + (1 - decay) * x[t] ** 2
        out.append(v / (1 - decay ** (t + 1)))
    return np.stack(out)


CORRECTED = """
    def rule(g, x, decay):
        dx, dv = np.zeros_like(x), 0 * x[0]
        for t in reversed(range(len(x))):
            dv = decay * dv + g[t] / (1 - decay ** (t + 1))
            dx[t] = dv * (1 - decay) * 2 * x[t]
        return dx
"""


def levels(x, *, a, b):
    level, trend, out = x[0], 0 * x[0], []
    for t in range(1, len(x)):
        new = a * x[t] + (1 - a) * (level + trend)
        trend = b * (new - level) + (1 - b) * trend
        level = new
        out.append(level + trend)
    return np.stack(out)


LEVELS = """
    def rule(g, x, a, b):
        dx, level, trend = np.zeros_like(x), 0 * x[0], 0 * x[0]
        for t in range(len(x) - 1, 0, -1):
            trend = trend + g[t - 1]
            new = level + g[t - 1] + b * trend
            dx[t] = a * new
            level, trend = (1 - a) * new - b * trend, (1 - b) * trend + (1 - a) * new
        dx[0] = level
        return dx
"""


def path_sum(e, w):
    a = e[0]
    for t in range(1, len(e)):
        a = e[t] + np.log(np.exp(a[:, None] + w).sum(0))
    return np.log(np.exp(a).sum())


PATH_SUM = """
    def rule(g, e, w):
        a, shares = e[0], []
        for t in range(1, len(e)):
            z = np.exp(a[:, None] + w)
            shares.append(z / z.sum(0))
            a = e[t] + np.log(z.sum(0))
        d, de, dw = g * np.exp(a) / np.exp(a).sum(), np.zeros_like(e), np.zeros_like(w)
        for t in range(len(e) - 1, 0, -1):
            de[t] = d
            dw = dw + shares[t - 1] * d
            d = shares[t - 1] @ d
        de[0] = d
        return de, dw
"""

VECTORS, SCALARS = (((4, 3), (3, 3), (3,)), ((5, 2), (2, 2), (2,))), (((5,), (), ()), ((6,), (), ()))
EXERCISES = {
    GATED: ("gated", gated, {"shapes": SCALARS}),
    NETWORK: ("network", network, {"shapes": VECTORS}),
    CORRECTED: ("corrected", corrected, {"shapes": (((4, 2),), ((5,),)), "settings": ({"decay": 0.8}, {"decay": 0.5}), "domain": {"x": (0.3, 1.5)}}),
    LEVELS: ("levels", levels, {"shapes": (((5,),), ((6, 2),)), "settings": ({"a": 0.4, "b": 0.3}, {"a": 0.7, "b": 0.2})}),
    PATH_SUM: ("path_sum", path_sum, {"shapes": (((3, 2), (2, 2)), ((4, 3), (3, 3)))}),
}  # fmt: skip
LOST = "loses one of several contributions"
SLIPS = [
    (GATED, "(1 - u**2)", "(1 - u)", "without one of its factors, in the derivative of `np.tanh(a * h + x[t])`"),
    (GATED, "* s * (1 - s)\n", "\n", "without the derivative of the sigmoid `1 / (1 + np.exp(-b * x[t]))`"),
    (GATED, "* s * (1 - s)\n", "* (1 - s**2)\n", "has the slope of tanh where that of the sigmoid `1 / (1 + np.exp(-b * x[t]))` belongs"),
    (GATED, "(before[t] - u)", "before[t]", "What comes back through the difference `1 - s` is missing, in every step"),
    (GATED, "+ a * dz", "", "What comes back through the product `a * h` to what a is combined with is missing, in every step"),
    (NETWORK, "m.T @ dz", "m.T @ d", "what comes back through the matrix product `m @ h`, in every step"),
    (NETWORK, "out[t] ** 2", "out[t]", "without one of its factors, in the derivative of `np.tanh(m @ h + x[t] + b)`"),
    (CORRECTED, " / (1 - decay ** (t + 1))", "", "without one of its divisions, in the derivative of the quotient `v / (1 - decay ** (t + 1))`"),
    (LEVELS, " - b * trend,", ",", "What comes back through the difference `new - level` is missing, in every step"),
    (PATH_SUM, "dw = dw + shares", "dw = shares", LOST),
]  # fmt: skip


def written(text):
    """A rule whose source cannot be read."""
    names = {"np": np}
    exec(textwrap.dedent(text), names)
    return names["rule"]


def exercise(name, forward, more):
    inputs = [x for x in forward.__code__.co_varnames[: forward.__code__.co_argcount] if x != "keep"]
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs, derivative_of_forward)), **more)


@pytest.mark.parametrize("text", EXERCISES)
def test_the_right_rule_of_a_loop_is_right(text):
    assert check(exercise(*EXERCISES[text]), written(text)).passed


@pytest.mark.parametrize(("text", "right", "wrong", "said"), SLIPS)
def test_a_slip_in_every_round_is_named_with_the_step_of_forward(text, right, wrong, said):
    assert text.count(right) == 1
    found = check(exercise(*EXERCISES[text]), written(text.replace(right, wrong))).diagnoses
    assert found and all(said in d.text for d in found)


def resetting(x, keep, *, rate=0.7):
    s, out = 0 * x[0], []
    for t in range(len(x)):
        s = x[t] + rate * keep[t] * s
        out.append(s)
    return np.stack(out)


def some_zeros(rng, shapes, settings):
    keep = np.arange(shapes[1][0]) % 3 != 1
    return rng.uniform(0.3, 1.7, shapes[0]), keep.astype(int)


RESETTING = exercise(
    "resetting", resetting, {"shapes": (((6,), (6,)), ((7,), (7,))), "settings": ({"rate": 0.7}, {"rate": 0.4}), "make": some_zeros}
)


def carried(by):
    """The rule of a sum that begins again, with this factor where it goes on."""
    return written(f"""
    def rule(g, x, keep, rate):
        dx, c = np.zeros_like(x), 0.0
        for t in reversed(range(len(x))):
            dx[t] = c = g[t] + c
            c = c * {by}
        return dx, None
    """)


def test_the_input_that_is_not_used_as_a_mask_is_named():
    assert check(RESETTING, carried("rate * keep[t]")).passed
    (found,) = check(RESETTING, carried("rate")).diagnoses
    assert "does not use keep where it passes on what comes back from the step after" in found.text


def test_a_mask_that_is_the_wrong_way_round_is_no_factor_that_is_the_same_in_all_steps():
    (found,) = check(RESETTING, carried("rate * (1 - keep[t])")).diagnoses
    assert "a condition is the wrong way round" in found.text


def test_what_forward_makes_of_a_state_at_the_end_is_one_factor_of_g():
    weights = np.arange(2.0, 9.0)

    def back(g, x, late=False):
        c, dx = 0.0, np.zeros_like(x)
        for t in reversed(range(len(x))):
            dx[t] = c = 0.6 * c + g[t] * (1.0 if late else weights[t])
        return dx

    def forward(x):
        s, out = 0.0, np.empty_like(x)
        for t in range(len(x)):
            s = 0.6 * s + x[t]
            out[t] = weights[t] * s
        return out

    spec = Spec("weighted", Op("weighted", forward, GENERAL, x=lambda g, x: back(g, x)), shapes=(((5,),), ((6,),)))
    (found,) = check(spec, lambda g, x: back(g, x, late=True)).diagnoses
    assert "what forward makes of a state where it gives it out" in found.text


def test_whole_numbers_in_forward_are_as_exact_as_on_arrays():
    right = Reference.of(Op("resetting", resetting, GENERAL, x=derivative_of_forward))
    names = right.environment([np.array([0.4, 1.3, 0.8]), np.array([1, 1, 0])], {"rate": 0.7})
    assert right.gradient("x", np.array([0.0, 1.0, 0.0]), names).tolist() == [0.7, 1.0, 0.0]
