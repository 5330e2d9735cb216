"""Where forward compares numbers, both sides are drawn close by: a condition that leaves a setting out is told from the right one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from autolab.check import SPECS, Spec, check, derivative_of_forward
from autolab.check.api.check import reference_of
from autolab.check.run.cases import cases, shapes_for
from autolab.check.run.thresholds import distances
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

ROWS = (((3, 5),), ((4, 4),))
PAIRS = (((3, 5), (3, 5)), ((4, 4), (4, 4)))
TRIPLES = (((3, 4),) * 3, ((4, 4),) * 3)


class Exercise(NamedTuple):
    spec: Spec
    right: object
    wrong: object  # a condition without its setting


def exercise(name, forward, right, wrong, inputs="x", kind=GENERAL, **more):
    op = Op(name, forward, kind, **dict.fromkeys(inputs.split(), derivative_of_forward))
    return Exercise(Spec(name, op, **more), right, wrong)


def column(a):
    return a[:, None]


def apart(a, b):
    return ((a - b) ** 2).sum(1)


def triplet(mask):
    def rule(g, a, p, n, margin):
        m = 2 * g * column(mask(apart(a, p), apart(a, n), margin))
        return m * (n - p), m * (p - a), m * (a - n)

    return rule


def of_difference(slope):
    return lambda g, x, y, m: (g * slope(x - y, m), -g * slope(x - y, m))


def of_sums(mask):
    return lambda g, x, top: column(g * mask(x.sum(-1), top)) * np.ones_like(x)


def of_means(mask):
    return lambda g, x, low, high: column(g * mask(x.mean(-1), low, high)) / x.shape[-1] * np.ones_like(x)


def gated(mask):
    return lambda g, x, w, b: (2 * g * np.outer((m := mask(x @ w, b)) * (x @ w), w), 2 * g * x.T @ (m * (x @ w)))


def ordered(rng, shapes, settings):
    return tuple(np.sort(rng.uniform(-6, 6, s), axis=-1) for s in shapes)


def of_gaps(mask):
    return lambda g, x, least: -np.diff(g * mask(np.diff(x, axis=-1), least), axis=-1, prepend=0, append=0)


EXERCISES = [
    exercise("triplet", lambda a, p, n, *, margin: np.maximum(apart(a, p) - apart(a, n) + margin, 0).sum(),
             triplet(lambda near, far, margin: near - far + margin > 0), triplet(lambda near, far, margin: near > far),
             "a p n", shapes=TRIPLES, settings=({"margin": 0.2}, {"margin": 0.5})),
    exercise("ranked", lambda x, y, *, m: np.maximum(m - (x - y), 0).sum(),
             of_difference(lambda d, m: -1.0 * (d < m)), of_difference(lambda d, m: -1.0 * (d < 0)),
             "x y", shapes=PAIRS, settings=({"m": 0.15}, {"m": 0.3})),
    exercise("tube", lambda x, y, *, m: np.where(np.abs(x - y) < m, 0.0, np.abs(x - y) - m).sum(),
             of_difference(lambda d, m: np.sign(d) * (np.abs(d) >= m)), of_difference(lambda d, m: np.sign(d)),
             "x y", shapes=PAIRS, settings=({"m": 0.05}, {"m": 0.12})),
    exercise("capped", lambda x, *, top: np.minimum(x.sum(axis=-1), top),
             of_sums(lambda s, top: s < top), of_sums(lambda s, top: 1.0), shapes=ROWS, settings=({"top": 9.0}, {"top": 11.0})),
    exercise("held", lambda x, *, low, high: np.clip(x.mean(axis=-1), low, high),
             of_means(lambda m, low, high: (m > low) & (m < high)), of_means(lambda m, low, high: m > low),
             shapes=ROWS, settings=({"low": -2.5, "high": 2.6}, {"low": -2.2, "high": 2.4})),
    exercise("gated", lambda x, w, *, b: np.where(x @ w > b, (x @ w) ** 2, 0.0).sum(),
             gated(lambda z, b: z > b), gated(lambda z, b: z > 0),
             "x w", shapes=(((4, 3), (3,)), ((5, 4), (4,))), settings=({"b": 0.2}, {"b": 0.4})),
    exercise("beyond", lambda x, *, t: np.where(x > t, x - t, 0.0),
             lambda g, x, t: g * (x > t), lambda g, x, t: g * (t < 0) * (x > -4), kind=ELEMENTWISE, settings=({"t": 5.0}, {"t": -4.0})),
    exercise("shrunk", lambda x, *, t: np.sign(x) * np.maximum(np.abs(x) - t, 0),
             lambda g, x, t: g * (np.abs(x) > t), lambda g, x, t: g * 1.0, kind=ELEMENTWISE, settings=({"t": 0.04}, {"t": 0.02})),
    exercise("wide_gaps", lambda x, *, least: np.maximum(np.diff(x, axis=-1), least),
             of_gaps(lambda d, least: d > least), of_gaps(lambda d, least: 1.0),
             shapes=(((2, 3),), ((3, 3),)), settings=({"least": 0.3}, {"least": 0.4}), make=ordered),
    exercise("bounded", lambda x, *, t: np.where(x < t, x * x, t * t),
             lambda g, x, t: 2 * g * x * (x < t), lambda g, x, t: 2 * g * x * (x < 4.5),
             kind=ELEMENTWISE, settings=({"t": 4.0}, {"t": 5.0}), domain={"x": (0.5, 5.5)}, shapes=(((2, 2),), ((3,),))),
]  # fmt: skip
BY_NAME = pytest.mark.parametrize("one", EXERCISES, ids=[e.spec.name for e in EXERCISES])


def value_cases(spec):
    return [c for c in cases(spec, reference_of(spec), np.random.default_rng(0)) if c.purpose == "value"]


@BY_NAME
def test_both_sides_of_each_comparison_are_drawn_close_to_where_it_turns(one):
    forward = one.spec.row.forward
    for settings in one.spec.settings:
        found = [distances(lambda *a: forward(*a, **settings), c.inputs) for c in value_cases(one.spec) if c.settings == settings]  # noqa: B023
        least = min(settings.values(), key=abs)
        for several in zip(*found, strict=True):
            every = np.concatenate([d.ravel() for d in several])
            limit = max(abs(least), 0.1 * np.median(abs(every)))
            assert np.any((every > 0) & (every < limit)) and np.any((every < 0) & (every > -limit))


@BY_NAME
def test_a_condition_without_its_setting_is_refused_among_ordinary_numbers(one):
    report = check(one.spec, one.wrong)
    assert not report.passed
    assert not any("for ordinary numbers" in d.text for d in report.diagnoses)


@BY_NAME
def test_the_right_condition_is_accepted(one):
    report = check(one.spec, one.right)
    assert report.passed, str(report)


@pytest.mark.parametrize(("name", "setting"), [("triplet", "margin"), ("capped", "top"), ("held", "high"), ("gated", "b"), ("tube", "m")])
def test_the_setting_that_is_left_out_is_named(name, setting):
    one = next(e for e in EXERCISES if e.spec.name == name)
    words = "does not use" if name in ("triplet", "gated") else "leaves out the condition with"  # a sum without it, or no bound
    assert f"{words} {setting}:" in check(one.spec, one.wrong).diagnoses[0].text


def test_a_limit_that_is_never_reached_is_said_so():
    one = next(e for e in EXERCISES if e.spec.name == "capped")
    assert "what would be right if no number were beyond it" in check(one.spec, one.wrong).diagnoses[0].text


@pytest.mark.parametrize("name", ["square", "gelu", "softmax", "layer_norm", "bce_with_logits", "logaddexp"])
def test_no_call_is_added_where_nothing_is_compared(name):
    spec = SPECS[name]
    assert len(value_cases(spec)) == len(shapes_for(spec, reference_of(spec))) * len(spec.settings)
