"""How much a check tries: counted, the same on every machine, and shared by all inputs."""

from __future__ import annotations

import gc
import math
from collections import Counter

import numpy as np
import pytest

import autolab
from autolab.check import Spec, check, derivative_of_forward
from autolab.check.api.check import judge, reference_of
from autolab.check.diagnosis import budget
from autolab.check.diagnosis.family import Family
from autolab.check.run import cases
from autolab.check.run.candidate import LocalCandidate
from autolab.check.run.reference import MOST_CALLS
from autolab.engine.op import GENERAL, Op

X = np.random.default_rng(0).normal(size=(3, 5))


def normed(x, y, z, *, power):
    c = x - x.mean(-1, keepdims=True)
    return c / ((c * c).mean(-1, keepdims=True) + 0.1) ** power * y + np.tanh(z)


def unknown(g, x, y, z):
    """Wrong for every input, in no way that has a name."""
    mixed = np.sin(g @ g.T @ x + np.cumsum(x, 0) ** 2) * g.std()
    return mixed, mixed * y, mixed + z


THREE = Spec(
    "normed",
    Op("normed", normed, GENERAL, **dict.fromkeys("xyz", derivative_of_forward)),
    shapes=(((3, 5),) * 3, ((4, 4),) * 3),
    settings=({"power": 0.5}, {"power": 0.7}),
)


def tried(spec, rule):
    reference = reference_of(spec)
    judge(spec, reference, LocalCandidate(rule, reference, 5.0))
    return reference.tried


def test_all_inputs_of_a_check_share_one_budget():
    assert 0.9 * budget.MOST < tried(THREE, unknown) <= budget.MOST


def test_a_smaller_budget_is_kept_as_well(monkeypatch):
    monkeypatch.setattr(budget, "MOST", 2000)
    monkeypatch.setattr(budget, "LEAST", 500)
    assert 0 < tried(THREE, unknown) <= 2000


def test_where_the_budget_is_spent_what_is_seen_is_said(monkeypatch):
    points = check(THREE, unknown).points
    monkeypatch.setattr(budget, "MOST", 0)
    report = check(THREE, unknown)
    assert {d.certainty for d in report.diagnoses} <= {"unknown", "likely"} and report.points == points
    assert "x" in {d.input for d in report.diagnoses}


@pytest.mark.parametrize("most", [800, 3000, budget.MOST])
def test_what_an_earlier_check_worked_out_counts_as_if_it_had_not(monkeypatch, most):
    monkeypatch.setattr(budget, "MOST", most)
    cases.forget()
    first, again = ([d.text for d in check("layer_norm", lambda g, x, weight, bias: (g * x, g * x, g * 3)).diagnoses] for _ in range(2))
    assert first == again


def test_forward_is_not_differenced_for_settings_that_are_only_tried():
    asked = Counter()

    def forward(x, *, power):
        asked[power] += 1
        return x * (1 + x * x).sum(-1, keepdims=True) ** power

    spec = Spec("scaled", Op("scaled", forward, GENERAL, x=derivative_of_forward), shapes=(((3, 5),),), settings=({"power": 0.5},))
    assert not check(spec, lambda g, x, power: g * x * np.cumsum(x)[-1]).passed
    others = [count for power, count in asked.items() if power != 0.5]
    assert others and max(others) < 12 < asked[0.5]


def potential(a, *, q):
    """The energy of some points: a loop over their pairs."""
    total = 0.0
    for i in range(len(a)):
        for j in range(i):
            total = total + q / (((a[i] - a[j]) ** 2).sum() + 0.1)
    return total


def forces(g, a, q):
    between = a[:, None] - a
    return (g * -2 * q * between / ((between**2).sum(-1, keepdims=True) + 0.1) ** 2).sum(1)


def with_shapes(forward, rule, *shapes):
    return Spec("potential", Op("potential", forward, GENERAL, a=rule), shapes=shapes, settings=({"q": 0.7}, {"q": 1.3}))


def sizes_asked(spec, rule):
    """How many numbers forward and the rule were called with, in the checks of this spec."""
    sizes = set()
    row = spec.row

    def forward(a, *, q):
        sizes.add(math.prod(a.shape))
        return row.forward(a, q=q)

    def backward(g, a, q):
        sizes.add(math.prod(a.shape))
        return rule(g, a, q)

    right = {"a": row.rules["a"].function}
    check(Spec("potential", Op("potential", forward, GENERAL, **right), shapes=spec.shapes, settings=spec.settings), backward)
    return sizes


@pytest.mark.parametrize("rule", [derivative_of_forward, forces])
def test_a_loop_over_pairs_is_not_run_for_many_numbers(rule):
    spec = with_shapes(potential, rule, ((4, 2),), ((5, 2),))
    assert check(spec, forces).passed
    assert max(sizes_asked(spec, lambda g, a, q: np.sin(forces(g, a, q)) * np.cumsum(a, 0))) < 100


def test_a_rule_that_loops_over_pairs_is_not_run_for_many_numbers():
    def loops(g, a, q):
        found = np.zeros_like(a)
        for i in range(len(a)):
            for _ in range(len(a)):
                found[i] += g * q * np.where(a[i] > 1, 3.0, 2.0) * a[i] / len(a)
        return found

    spec = with_shapes(lambda a, *, q: q * (a * a).sum(), lambda g, a, q: 2 * g * q * a, ((4, 2),), ((5, 2),))
    assert max(sizes_asked(spec, loops)) < 100
    assert max(sizes_asked(spec, lambda g, a, q: g * q * np.where(a > 1, 3.0, 2.0) * a)) > 1000  # where NumPy loops it is asked


def test_a_look_without_an_end_is_ended_and_no_other_is_begun(monkeypatch):
    looks = Counter()

    def endless(wrong, x):
        looks[x] += 1
        while True:
            pass

    monkeypatch.setattr("autolab.check.diagnosis.explain.find_same_slip", endless)
    monkeypatch.setattr("autolab.check.diagnosis.explain.SECONDS", 0.05)
    report = check(THREE, unknown)
    assert looks == {"x": 1} and {d.certainty for d in report.diagnoses} == {"unknown"} and not report.passed
    monkeypatch.undo()
    assert {d.certainty for d in check("mul", lambda g, x, y: (g, g)).diagnoses} == {"certain"}  # the next check looks again


def test_each_submission_that_is_judged_by_one_reference_has_a_whole_budget():
    reference = reference_of(THREE)

    def spent():
        judge(THREE, reference, LocalCandidate(unknown, reference, 5.0))
        return reference.tried, reference.explained

    assert len({spent() for _ in range(3)}) == 1


def test_calls_of_the_rules_are_counted_whatever_look_makes_them(monkeypatch):
    reference = reference_of(THREE)
    judge(THREE, reference, LocalCandidate(unknown, reference, 5.0))
    assert 100 < reference.calls < 2000
    monkeypatch.setattr("autolab.check.run.reference.MOST_CALLS", 100)
    judge(THREE, reference, LocalCandidate(unknown, reference, 5.0))
    assert reference.stopped and reference.calls <= 130  # the one that was too many, of several g perhaps
    assert {d.certainty for d in check(THREE, unknown).diagnoses} == {"unknown"}


def looping(times):
    """The rule that is wrong in no way that has a name, after a loop that adds nothing."""

    def rule(g, x, y, z):
        for _ in range(times):
            pass
        return unknown(g, x, y, z)

    return rule


def spent_on(times):
    reference = reference_of(THREE)
    report = judge(THREE, reference, LocalCandidate(looping(times), reference, 5.0))
    assert not report.passed and {d.certainty for d in report.diagnoses} <= {"unknown", "likely"}
    return reference


def test_a_rule_that_loops_is_called_less_often():
    assert spent_on(0).weight == spent_on(500).weight == 1
    often = spent_on(5 * budget.LINES)
    assert often.weight == 11 and often.calls <= MOST_CALLS + often.weight  # a loop has two lines


def test_of_a_rule_that_loops_without_measure_nothing_is_tried():
    reference = spent_on(budget.MOST_LINES)
    assert reference.stopped and reference.weight > MOST_CALLS and reference.repairing == 0


def test_lines_are_counted_to_the_most_and_no_further():
    assert budget.MOST_LINES < budget.lines_run(lambda: looping(2 * budget.MOST_LINES)(X, X, X, X)) < budget.MOST_LINES + 100


def test_what_was_tried_is_gone_when_the_check_ends():
    def alive():
        return sum(issubclass(type(thing), Family) for thing in gc.get_objects())  # `__class__` of some things warns

    gc.collect()
    before = alive()
    gc.disable()
    try:
        check(THREE, unknown)
        after = alive()
    finally:
        gc.enable()
    assert after - before < 400  # of more than a thousand


def test_lines_of_the_engine_do_not_count():
    """They are fewer once functions are written out for an operation: what is tried may not depend on what ran before."""
    x = autolab.ones(3, requires_grad=True)

    def step():
        return (x * x).exp().sum().backward()

    step()  # loads what is loaded with a first call
    assert budget.lines_run(step) < 20  # its own and NumPy's
