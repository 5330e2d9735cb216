"""A diagnosis that fails says nothing, and a student never sees its error."""

import numpy as np
import pytest

from autolab.check import Spec, check, diagnose
from autolab.check.diagnosis import explain, predictions, quiet
from autolab.check.diagnosis.formulas.mutants import mutants
from autolab.engine.op import ELEMENTWISE, Op


def parts(x):
    e = np.exp(-x)
    return x, 1 / (1 + e), e


RULES = {
    "a lambda": lambda g, x: (lambda x, s, e: g * s * (1 + x * e * s))(*parts(x)),
    "a lambda with a star": lambda g, x: (lambda *a: g * a[1] * (1 + a[0] * a[2] * a[1]))(*parts(x)),
    "a power of what a star brings": lambda g, x: g * np.multiply(*parts(x)[1:2], 1 + np.multiply(*parts(x)[:2]) * parts(x)[2]),
    "a display": lambda g, x: g * sum([*parts(x)][1:2]) * (1 + x * parts(x)[2] * parts(x)[1]),
    "a comprehension": lambda g, x: g * sum(x * 0 + s for s in parts(x)[1:2]) * (1 + x * parts(x)[2] * parts(x)[1]),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("slip", [lambda g, x: g * parts(x)[1], lambda g, x: g * x * x * x, lambda g, x: RULES["a display"](g, x) ** 2])
def test_however_a_reference_is_written_a_wrong_rule_is_only_wrong(name, slip):
    spec = Spec("gate", Op("gate", lambda x: x / (1 + np.exp(-x)), ELEMENTWISE, x=RULES[name]))
    assert [check(spec, slip).passed for _ in range(2)] == [False, False]


@pytest.mark.parametrize("look", ["find_regions", "known_function", "constant_factor", "families"])
def test_a_look_that_fails_leaves_a_verdict(monkeypatch, look):
    monkeypatch.setattr(quiet, "STRICT", False)
    broken = quiet.quiet(lambda *a, **k: 1 / 0) if look != "families" else lambda *a, **k: (1 / n for n in [0])
    monkeypatch.setattr(predictions if look == "families" else explain, look, broken)
    report = check("exp", lambda g, x: g * np.where(x > 0.3, np.exp(x), np.cos(x) ** 3))
    assert not report.passed and report.diagnoses


@pytest.mark.parametrize("step", ["begin", "only_what_is_there", "as_written", "_invariant", "setting_of_wrong_calls"])
def test_what_comes_before_and_after_the_looks_may_fail(monkeypatch, step):
    monkeypatch.setattr(quiet, "STRICT", False)
    monkeypatch.setattr(explain, step, lambda *a, **k: 1 / 0)
    report = check("mul", lambda g, x, y: (g * np.cos(y) ** 3 + x**3, g * x))
    (found,) = report.diagnoses
    assert not report.passed and (found.input, found.certainty) == ("x", "unknown") and "The gradient for x is wrong" in found.text


def test_the_letters_of_a_lambda_in_a_reference_are_not_said():
    spec = Spec(
        "gate", Op("gate", lambda x: x / (1 + np.exp(-x)), ELEMENTWISE, x=lambda g, x: (lambda A, B: g * A * (1 + B / A))(*gate_parts(x)))
    )
    found = check(spec, lambda g, x: g * gate_parts(x)[0] * (1 - gate_parts(x)[1] / gate_parts(x)[0])).diagnoses
    assert found[0].family == "term sign" and not check(spec, lambda g, x: g * (1 + x)).passed
    without = check(spec, lambda g, x: g * gate_parts(x)[0] * gate_parts(x)[1]).diagnoses[0].text
    assert "an intermediate value" in without and " A" not in without and " B" not in without


def gate_parts(x):
    s = 1 / (1 + np.exp(-x))
    return s, s * (1 - s) * x


@pytest.mark.parametrize(
    ("forward", "rule", "said"),
    [
        (lambda h, z: (h * z.tanh()).exp() + h, lambda g, h, z: (g * np.exp(h * np.tanh(z)) + g, None), "(the result of tanh)"),
        (lambda h, z: (h / z.cosh()).sin() + h, lambda g, h, z: (g * np.cos(h / np.cosh(z)) + g, None), "division by the result of cosh"),
        (lambda h, z: (h * 2.7).sin() + h * z, lambda g, h, z: (g * np.cos(h * 2.7) + g * z, None), "(a constant)"),
    ],
)
def test_a_step_speaks_of_the_values_of_the_learner(forward, rule, said):
    found, _ = diagnose(rule, forward, [np.array([[0.4, 1.3, -0.7]]), np.array([[1.7, 0.6, 2.2]])])
    assert said in found.text


def test_a_constant_of_a_module_is_not_said():
    texts = [mutant.text for mutant, _ in mutants("g * normal(x, CHANNEL) - average(g, CHANNEL) / x", ("x", "out", "g"))]
    assert any("one with x" in text for text in texts) and not any("CHANNEL" in text for text in texts)
