"""Inputs with a structure, and forwards that are ill-conditioned: no right rule is refused there, and wrong ones are found as elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import check
from autolab.check.api.check import judge, reference_of
from autolab.check.run.candidate import LocalCandidate, parameters
from autolab.check.run.cases import cases

from .right_structured import RIGHT

FIRST = {spec.name: (spec, rule) for spec, rule in reversed(RIGHT)}
LARGE_OR_TINY = ("range", "extreme")


@pytest.mark.parametrize(("spec", "rule"), RIGHT, ids=[spec.name for spec, _ in RIGHT])
def test_a_rule_that_is_right_on_all_that_may_be_drawn_is_accepted(spec, rule):
    report = check(spec, rule)
    assert report.passed, str(report)


def of_each(change):
    """A rule with every gradient changed."""

    def changed(rule, spec):
        def backward(g, *values):
            found = rule(g, *values)
            several = found if isinstance(found, tuple) else (found,)
            inputs = [v for v in values if isinstance(v, np.ndarray)]
            new = tuple(change(np.asarray(d), inputs) for d in several)
            return new if isinstance(found, tuple) else new[0]

        return backward

    return changed


def without_g(rule, spec):
    return lambda g, *values: rule(np.ones_like(g), *values)


def size_of_g(rule, spec):
    return lambda g, *values: rule(np.abs(g), *values)


def is_largest(d):
    return np.abs(d) == np.abs(d).max(initial=0.0)


WRONG = {
    "the sign": of_each(lambda d, inputs: -d),
    "twice": of_each(lambda d, inputs: 2 * d),
    "one entry": of_each(lambda d, inputs: np.where(is_largest(d), 0.0, d)),
    "the size": of_each(lambda d, inputs: np.where(is_largest(d), -d, d)),
    "a thousandth": of_each(lambda d, inputs: d * (1 + 1e-3 * np.cos(np.arange(d.size)).reshape(d.shape))),
    "a small number": of_each(lambda d, inputs: d * (1 + 1e-7 * np.sin(np.arange(d.size)).reshape(d.shape)) + 1e-7),
    "float32": of_each(lambda d, inputs: d.astype(np.float32).astype(float)),
    "the other way round": of_each(lambda d, inputs: d[..., ::-1].copy()),
    "without g": without_g,
    "the size of g": size_of_g,
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_rule_is_refused_in_each_of_these_exercises(kind):
    accepted = []
    for spec, rule in FIRST.values():
        reference = reference_of(spec)
        candidate = LocalCandidate(named(WRONG[kind](rule, spec), rule), reference)
        if judge(spec, reference, candidate, naming=False).passed:
            accepted.append(spec.name)
    assert accepted == []


FAR = {
    "where numbers are large": lambda a: np.abs(a).max(initial=0.0) > 500,
    "where they are tiny": lambda a: 0 < np.abs(a).max(initial=0.0) < 1e-7,
}

NOT_KNOWN = {"where numbers are large": set(), "where they are tiny": {"versine_ratio"}}  # its forward has lost all digits there


@pytest.mark.parametrize("where", FAR)
def test_a_rule_that_is_wrong_for_large_or_tiny_numbers_alone_is_refused_where_these_may_occur(where):
    holds, accepted, tried = FAR[where], [], 0
    for spec, rule in FIRST.values():
        reference = reference_of(spec)
        drawn = [c for c in cases(spec, reference, np.random.default_rng(0)) if c.purpose in LARGE_OR_TINY]
        if not any(holds(a) for case in drawn for a in case.inputs):
            continue
        tried += 1
        lost = of_each(lambda d, inputs: 2 * d if any(map(holds, inputs)) else d)
        asked = [x for x in parameters(rule) if x in reference.inputs]
        if asked and judge(spec, reference, LocalCandidate(named(lost(rule, spec), rule), reference), naming=False).passed:
            accepted.append(spec.name)
    assert set(accepted) <= NOT_KNOWN[where] and tried > 15


@pytest.mark.parametrize("name", ["inverse", "solved", "log_determinant", "inverse_form", "log_volume"])
def test_a_tiny_matrix_is_as_far_from_singular_as_the_others(name):
    spec, _ = FIRST[name]
    drawn = [c.inputs[0] for c in cases(spec, reference_of(spec), np.random.default_rng(0))]
    tiny = [a for a in drawn if np.abs(a).max() < 1e-7]
    assert tiny and max(map(np.linalg.cond, tiny)) <= 1.001 * max(np.linalg.cond(a) for a in drawn[:4])


def named(changed, rule):
    """A function that asks for what the right rule asks for."""
    names = ", ".join(parameters(rule))
    return eval(f"lambda {names}: changed({names})", {"changed": changed})
