"""How much a check works, counted in calls: a clock would tell of the machine."""

from __future__ import annotations

from collections import Counter

import numpy as np

from autolab.check import Reference, Spec, check

from .wrong_layers import conv1d_assigns


def test_each_row_of_a_jacobian_is_asked_for_once():
    asked = Counter()

    def rule(g, x, weight):
        asked[x.tobytes(), g.tobytes()] += np.count_nonzero(g) == 1
        return conv1d_assigns(g, x, weight)

    assert check("conv1d", rule).diagnoses[0].family == "overwritten"
    assert max(asked.values()) == 1


def test_the_right_gradient_of_a_call_is_worked_out_once():
    worked_out = Counter()

    def backward(g, x):
        worked_out[x.tobytes(), g.tobytes()] += 1
        return 3 * g * x * x

    spec = Spec("cube", row=(lambda x: x**3, backward), shapes=(((3, 5),), ((4, 4),)))
    assert check(spec, lambda g, x: 3 * g * x**2).passed
    assert max(worked_out.values()) == 1


def test_a_formula_is_read_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr("autolab.engine.op.Op.formula", lambda *_: "asked for")
    reference = Reference.of("sin")
    assert "formulas" not in vars(reference) and reference.formulas == {"x": "asked for"}
