"""The rules of an exercise are held against differences of its forward: no right reference is refused, no wrong one passes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from autolab.check import Kink, Reference, Spec, prove
from autolab.check.diagnosis.formulas.expressions import Values
from autolab.check.diagnosis.formulas.mutants import mutants
from autolab.check.run.differences import gradient, slope
from autolab.check.run.specs import load_rows, spec_for
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

COUNT = itertools.count()
# Kinks, jumps, ties, poles, constants, values that overflow, inputs without a gradient.
HARD = ["relu", "abs", "clamp", "leaky_relu", "sign", "remainder", "amax", "log", "sqrt", "pow", "tanh", "round_through"]


def own(rule, forward=lambda x: x / (1 + np.abs(x)), kind=ELEMENTWISE, **more):
    return Spec("own", Op("own", forward, kind, x=rule), **more)


@pytest.mark.parametrize("name", HARD)
def test_a_right_reference_is_never_refused(name):
    load_rows()
    assert prove(spec_for(name)) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (own(lambda g, x: g / (1 + np.abs(x))), "the rule for x is not the derivative of forward: at x = "),
        (own(lambda g, x: g * np.where(x > 6, 1, x > 0), lambda x: np.clip(x, 0, 6)), "the rule gives"),
        (own(lambda g, x: g * np.sign(x), lambda x: np.abs(x), kink=Kink("x", 0.0, (0.5, 1.0), 1.0)), "at the kink x = 0 the rule takes the slope 0"),
        (own(lambda g, x: (g * np.ones_like(x)).sum(), lambda x: x.sum(), GENERAL), "returns shape ()"),
        (own(lambda g, x: g * x, lambda x: x * x / 2 + next(COUNT)), "forward gives another result"),
        (own(lambda g, x: 1 / g["no"], lambda x: x), "the reference raises IndexError"),
        (own(lambda g, x: g, lambda x: np.round(x)), "the rule gives"),
        (own(lambda g, z: g * z), "a rule asks for 'z', which is not an input"),
        (own(lambda g, x: g, lambda x: np.asarray(float(x)), domain={"x": (1, 2)}), "forward, or what makes its inputs, raises TypeError"),
        (own(lambda g, x: 2 * g * x, lambda x: x * x, domain={"z": (1, 2)}), "the spec says something of z, and the inputs of forward are x"),
        (own(lambda g, x: g / x, lambda x: np.log(x)), "forward is not a number for some inputs (x = -"),
        (own(lambda g, x: 2 * g * np.asarray(x.detach()) if hasattr(x, "detach") else 2 * g * x, lambda x: x * x, second=True), "rules"),
    ],
)  # fmt: skip
def test_a_wrong_reference_is_named(spec, said):
    (found,) = prove(spec)
    assert said in found


def test_an_operation_of_ones_own_whose_shapes_are_not_known_is_told_how_to_give_them():
    row = Op("own", lambda x, y: x @ y, GENERAL, x=lambda g, y: g @ y.T, y=lambda g, x: x.T @ g)
    with pytest.raises(LookupError, match=r"such as shapes=\(\(\(3, 5\), \(3, 5\)\),\)") as said:
        prove(Spec("own", row))
    assert "specs.py" not in str(said.value)


def test_a_rule_that_is_no_derivative_is_allowed_where_the_spec_says_so():
    assert prove(own(lambda g: g, lambda x: np.round(x), surrogate=True)) == []


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "log1p"])
def test_no_reference_with_a_slip_of_the_pen_passes(name):
    spec, right = spec_for(name), Reference.of(spec_for(name))
    needs = (*right.inputs, "out", *(f"{x}_shape" for x in right.inputs), *right.settings)
    passed = []
    for x in right.differentiable():
        for mutant, wrong in mutants(right.formulas[x], (*right.inputs, "out", "g"), spelled=True):

            def rule(g, *values, x=x, wrong=wrong):
                return wrong.value(Values(right.names_of_rule(x, g, dict(zip(needs, values, strict=True)))))

            if not prove(spec, replace(right, rules={**right.rules, x: (rule, needs)})):
                passed.append(mutant.formula)
    assert passed == []


def test_differences_know_where_there_is_no_derivative():
    _, uncertainty = slope(lambda t: np.abs(t), np.array([0.0]))
    assert uncertainty > 1e-3
    value, uncertainty = slope(lambda t: np.abs(np.array([1e-9]) + t), np.array([1e-9]))
    assert value == pytest.approx(1.0, abs=1e-6) and uncertainty < 1e-4


def test_differences_come_as_close_as_float64_allows():
    a, b, g = np.random.default_rng(0).normal(size=(3, 4, 4))
    value, uncertainty = gradient(lambda x, y: np.exp(x) @ y, (a, b), 0, g)
    assert np.allclose(value, np.exp(a) * (g @ b.T), rtol=1e-10) and uncertainty.max() < 1e-8
