"""Inputs whose names are settings elsewhere, or words of the checker: each rule is judged, and told the same as under another name."""

import linecache

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op

NAMES = ("axis", "keepdims", "dim", "axes", "eps", "n", "key", "raw", "shape", "size", "exponent", "index", "dims", "ddof", "mask", "names")
FORWARD = "def forward(w, {0}):\n    return np.tanh({0} @ w) / (1 + ({0} * {0}).sum(1, keepdims=True))\n"
RULES = (  # what comes before the gradient for w, and the gradient for the input with the name
    ("2 * ", "(g / s) @ w.T * 2"),  # nothing that is known
    ("", "((1 - t * t) * g / s) @ w.T"),  # without the second term
    ("", "((1 - t * t) * g / s) @ w.T - 2 * {0} * (g * t).sum(1, keepdims=True) / s"),  # the divisor is not squared
)


def made(name, tmp_path, number):
    factor, gradient = RULES[number]
    rule = (
        f"def rule(g, w, {name}):\n    t, s = np.tanh({name} @ w), 1 + ({name} * {name}).sum(1, keepdims=True)\n"
        f"    return {factor}{name}.T @ ((1 - t * t) * g / s), {gradient.format(name)}\n"
    )
    scope = {"np": np}
    for k, source in enumerate((FORWARD.format(name), rule)):
        file = tmp_path / f"{name}_{number}_{k}.py"
        file.write_text(source)
        linecache.checkcache(str(file))
        exec(compile(source, str(file), "exec"), scope)
    row = Op("quotient", scope["forward"], GENERAL, **dict.fromkeys(("w", name), derivative_of_forward))
    return Spec("quotient", row, shapes=(((3, 2), (4, 3)), ((2, 3), (3, 2)))), scope["rule"]


def sentences(name, tmp_path, number):
    exercise, rule = made(name, tmp_path, number)
    report = check(exercise, rule, seconds=60)
    assert not report.passed
    return [(d.family, d.input if d.input == "w" else "") for d in report.diagnoses]


@pytest.mark.parametrize("number", range(len(RULES)))
def test_a_name_changes_nothing(tmp_path, number):
    said = sentences("x", tmp_path, number)
    assert said
    assert {name: sentences(name, tmp_path, number) for name in NAMES} == dict.fromkeys(NAMES, said)
