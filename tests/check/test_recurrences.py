"""Recurrences written as loops: each slip of a loop, crossed with recurrences, on arrays and as functions on tensors."""

from __future__ import annotations

import numpy as np
import pytest

import autolab as torch
from autolab.check import Spec, check, derivative_of_forward, diagnose
from autolab.engine.op import GENERAL, Op


def linear(v):
    return v


def constant(h):
    return 1 + 0 * h


CELLS = {  # what is applied at the end of a step, on arrays and on tensors, and its slope by the state
    "leaky": (linear, linear, constant),
    "tanh": (np.tanh, torch.tanh, lambda h: 1 - h * h),
    "sigmoid": (lambda v: 1 / (1 + np.exp(-v)), torch.sigmoid, lambda h: h * (1 - h)),
}


def states(cell, x, a):
    h, every = np.zeros_like(x[0]), []
    for step in x:
        h = CELLS[cell][0](a * h + step)
        every.append(h)
    return np.stack(every)


def back(cell, g, x, a, slip=""):
    """The rule of h[t] = f(a h[t - 1] + x[t]), all states or the last alone, with a slip."""
    h = states(cell, x, a)
    every = g.ndim == h.ndim
    before = np.concatenate([0 * h[:1], h[:-1]])
    gx, ga, carried = np.zeros_like(x), 0 * h[0], 0 * h[0]
    if not every:
        carried = g
    order = range(len(x)) if slip == "direction" else reversed(range(len(x)))
    for t in order:
        total = (g[t] if every and not (slip == "overwritten" and t < len(x) - 1) else 0) + carried
        slope = CELLS[cell][2](before[t] if slip == "slope before" else h[t])
        gx[t] = total * (1 if slip in ("no slope", "no own slope") else slope)
        carried = total * (1 if slip in ("no slope", "no slope carried") else slope) * (1 if slip == "no factor" else a)
        if slip == "nothing carried":
            carried = 0 * carried
        part = gx[t] * (h if slip == "its own state" else before)[t]
        ga = part if slip == "= in the loop" and t else ga + part
        if slip == "last step" and t == len(x) - 1:
            ga = 0 * ga
    return gx, ga.sum() if not np.ndim(a) else ga


SAID = {
    "no factor": "passes what comes back from the step after on",
    "direction": "runs through the steps in the wrong direction",
    "overwritten": "takes the place of a step's own g",
    "nothing carried": "each step uses its own g alone",
    "its own state": "uses the state of step t where that of step t - 1 belongs",
    "last step": "lacks what step",
    "no slope": "in what a step makes of all that comes to it",
    "no own slope": "in what a step makes of its own g",
    "no slope carried": "where it passes on what comes back",
    "slope before": "the factor of the step before",
}
CURVED = {"no slope", "no own slope", "no slope carried", "slope before"}
CASES = [(cell, slip) for cell in CELLS for slip in SAID if cell != "leaky" or slip not in CURVED]


def numbers(rng, shapes, settings):
    return rng.uniform(-1.4, 1.4, shapes[0]), rng.uniform(0.3, 0.9, shapes[1])


def spec(cell, shapes=(((5, 3), ()), ((4, 2), ())), last=False):
    def forward(x, a):
        return states(cell, x, a)[-1 if last else slice(None)]

    row = Op("recurrence", forward, GENERAL, x=lambda g, x, a: back(cell, g, x, a)[0], a=lambda g, x, a: back(cell, g, x, a)[1])
    return Spec("recurrence", row, shapes=shapes, make=numbers)


def function(cell):
    def on_tensors(x, a):
        h, every = 0 * x[0], []
        for t in range(5):
            h = CELLS[cell][1](a * h + x[t])
            every.append(h)
        return torch.stack(every)

    return on_tensors


def texts(found):
    return " ".join(d.text for d in found)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("last", [False, True])
def test_the_right_rule_of_a_recurrence_is_right(cell, last):
    assert check(spec(cell, last=last), lambda g, x, a: back(cell, g, x, a)).passed


@pytest.mark.parametrize(("cell", "slip"), CASES)
def test_a_slip_in_the_loop_of_a_recurrence_is_named(cell, slip):
    assert SAID[slip] in texts(check(spec(cell), lambda g, x, a: back(cell, g, x, a, slip)).diagnoses)


@pytest.mark.parametrize(("cell", "slip"), CASES)
def test_it_is_named_for_a_function_on_tensors(cell, slip, rng):
    inputs = numbers(rng, ((5, 3), (3,)), {})
    assert SAID[slip] in texts(diagnose(lambda g, x, a: back(cell, g, x, a, slip), function(cell), inputs))


@pytest.mark.parametrize("cell", ["tanh", "sigmoid"])
@pytest.mark.parametrize("slip", ["no slope carried", "no slope", "no factor"])
def test_of_the_last_state_alone_it_is_read_from_shorter_inputs(cell, slip):
    assert SAID[slip] in texts(check(spec(cell, last=True), lambda g, x, a: back(cell, g, x, a, slip)).diagnoses)


@pytest.mark.parametrize("cell", CELLS)
def test_what_is_not_carried_back_may_be_an_input_that_is_not_carried_on(cell):
    row = Op("recurrence", lambda x, a: states(cell, x, a), GENERAL, x=lambda g, x, a: back(cell, g, x, a)[0],
             a=lambda g, x, a, out: back(cell, g, x, a)[1])  # fmt: skip
    both = Spec("recurrence", row, shapes=(((5, 3), ()), ((4, 2), ())), make=numbers)
    found = check(both, lambda g, x, a: (back(cell, g, x, a)[0], back(cell, g, x, a, "nothing carried")[1])).diagnoses
    assert [d.certainty for d in found] == ["likely"]
    assert SAID["nothing carried"] in texts(found)


def test_a_mean_is_no_recurrence_of_prefixes():
    assert "step" not in texts(check("mean", lambda g, x, axis: np.expand_dims(g, axis) * np.ones_like(x) / 5).diagnoses)


def hinge(x, y):
    return np.maximum(0, 1 - x * y).mean()


def test_where_no_step_comes_before_another_there_is_no_recurrence():
    spec = Spec("hinge", Op("hinge", hinge, GENERAL, x=derivative_of_forward, y=derivative_of_forward), shapes=(((5,), (5,)), ((7,), (7,))))
    said = texts(check(spec, lambda g, x, y: (-g * y / len(x), -g * x / len(x))).diagnoses)
    assert "without its mask" in said and "step" not in said
