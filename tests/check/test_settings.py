"""A setting that a rule ignores: every setting of every exercise has calls that tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autolab.check import check
from autolab.check.api.check import judge
from autolab.check.run.candidate import Answer
from autolab.check.run.reference import Reference
from autolab.check.run.specs import SPECS, spec_for

NOT_ASKED = {
    ("diagonal", "axis1"): "an exercise on matrices",
    ("diagonal", "axis2"): "an exercise on matrices",
    ("logit", "eps"): "a number that torch.special.logit clips at, and the function of the lessons has none",
    ("inv", "check"): "says what is done with a matrix that has no inverse",
}
SAME = [("keepdims", False)]  # the rules of the table reshape g, which does nothing where the axis is still there
REDUCTIONS = ("sum", "mean", "logsumexp", "std", "prod", "norm", "amin", "var", "amax")


class Ignores:
    """The right rule, which asks for a setting and takes another value for it."""

    judges_forward = False

    def __init__(self, reference: Reference, setting: str, value: object):
        self.reference, self.setting, self.value = reference, setting, value
        self.wants = (setting,)

    def call(self, inputs, settings, upstream, between=None):
        names = self.reference.environment(inputs, settings)
        names[self.setting] = self.value
        gradients = [tuple(self._gradient(x, g, names) for x in self.reference.inputs) for g in upstream]
        return Answer(names["out"], tuple(gradients), tuple(inputs), tuple(upstream))

    def _gradient(self, x, g, names):
        try:
            return self.reference.gradient(x, g, names) if x in self.reference.rules else None
        except Exception:  # a setting that does not fit these shapes
            return np.full_like(names[x], np.nan)


def ignored() -> Iterator[tuple[str, str, object]]:
    """Each setting that a rule asks for, with each value that it has in a call, or in none."""
    for name, spec in SPECS.items():
        reference = Reference.of(spec)
        for setting in reference.settings:
            if (name, setting) not in NOT_ASKED and any(setting in needs for _, needs in reference.rules.values()):
                calls = [{**reference.defaults, **s} for s in (*spec.settings, *spec.besides)]
                values = dict.fromkeys(s[setting] for s in calls)
                yield from ((name, setting, value) for value in values if (setting, value) not in SAME)


@pytest.mark.parametrize(("name", "setting", "value"), list(ignored()))
def test_a_rule_that_ignores_a_setting_is_refused(name, setting, value):
    spec = spec_for(name)
    reference = Reference.of(spec)
    assert not judge(spec, reference, Ignores(reference, setting, value), naming=False).passed


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_rule_that_asks_for_keepdims_follows_it(name):
    """The axis comes back twice where it is still there."""
    reference = Reference.of(name)
    rule, needs = reference.rules["x"]

    def backward(g, x, x_shape, out, ord, axis, correction):
        names = {"x": x, "x_shape": x_shape, "ord": ord, "axis": (axis,), "keepdims": True, "correction": correction}
        return rule(np.expand_dims(g, axis), *({**names, "out": np.expand_dims(out, axis)}[n] for n in needs))

    def asks(g, x, x_shape, out, axis, keepdims, ord=2, correction=1):
        return backward(g, x, x_shape, out, ord, axis, correction)

    def does_not_ask(g, x, x_shape, out, axis, ord=2, correction=1):
        return backward(g, x, x_shape, out, ord, axis, correction)

    report = check(name, asks)
    assert not report.passed or "keepdims=True, which the exercise does not ask for, backward raised" in str(report.notes)  # it raises
    report = check(name, does_not_ask)
    assert report.passed
    assert "keepdims" not in str(report.notes)


def test_a_rule_that_hard_codes_what_it_does_not_ask_for_is_told_so():
    """It is right for the calls of the exercise; a Function has no place for another setting."""

    def with_n_less_one(g, x, axis):
        return np.expand_dims(2 * g, axis) * (x - x.mean(axis, keepdims=True)) / (x.shape[axis] - 1)

    def asks(g, x, axis, correction):
        return with_n_less_one(g, x, axis)

    report = check("var", with_n_less_one)
    assert report.passed
    assert "with axis=-1, correction=0, which the exercise does not ask for, the gradient for x is another" in str(report.notes)
    report = check("var", asks)
    assert not report.passed
    assert "right where correction is 1, and wrong with axis=-1, correction=0" in str(report.diagnoses)


def test_the_order_of_a_norm_is_asked_for():
    def euclidean(g, x, axis):
        return np.expand_dims(g, axis) * x / np.sqrt((x * x).sum(axis, keepdims=True))

    def euclidean_only(g, x, ord, axis):
        if ord != 2:
            raise NotImplementedError
        return euclidean(g, x, axis)

    assert "right where ord is 2, and wrong with ord=3" in str(check("norm", euclidean).diagnoses)
    assert check("norm", euclidean_only).passed


def test_every_setting_of_an_exercise_has_two_values_in_its_calls():
    one_value = set()
    for name, spec in SPECS.items():
        defaults = Reference.of(spec).defaults
        for setting in {s for settings in spec.settings for s in settings}:
            values = {repr({**defaults, **settings}[setting]) for settings in (*spec.settings, *spec.besides)}
            one_value |= {(name, setting)} if len(values) < 2 else set()
    assert one_value == {("expand", "shape")}  # its rule needs the shape of x alone
