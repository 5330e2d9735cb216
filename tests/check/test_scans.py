"""Running sums and recurrences: another step's value, a factor on the wrong side of the scan, another count."""

from __future__ import annotations

import numpy as np
import pytest

import autolab as torch
from autolab.check import Spec, check, diagnose
from autolab.engine.op import GENERAL, Op


def suffix_sums(a):
    return np.flip(np.cumsum(np.flip(a, -1), -1), -1)


def counts(x):
    return np.arange(1.0, x.shape[-1] + 1)


def recurrence(a, b):
    h, steps = np.zeros_like(b[..., 0]), []
    for t in range(b.shape[-1]):
        h = a[..., t] * h + b[..., t]
        steps.append(h)
    return np.stack(steps, -1)


def carried_back(g, a, by=1):
    """Of each step what comes back to it, with the factor of `by` steps on."""
    n = g.shape[-1]
    back = [g[..., -1]]
    for t in reversed(range(n - 1)):
        back.append(g[..., t] + (back[-1] * a[..., t + by] if by is not None else back[-1]))
    return np.stack(back[::-1], -1)


def before(h):
    return np.concatenate([np.zeros_like(h[..., :1]), h[..., :-1]], -1)


def positive(rng, shapes, settings):
    return tuple(rng.uniform(0.3, 2.7, shape) for shape in shapes)


def spec(name, forward, count=1, **rules):
    shapes = (((3, 5),) * count, ((4,),) * count)
    return Spec(name, Op(name, forward, GENERAL, **rules), shapes=shapes, make=positive)


RECURRENCE = spec("linear_recurrence", recurrence, 2, a=lambda g, a, out: carried_back(g, a) * before(out),
                  b=lambda g, a: carried_back(g, a))  # fmt: skip
DISCOUNTED = spec("discounted", lambda a, b: np.flip(recurrence(np.flip(a, -1), np.flip(b, -1)), -1), 2,
                  a=lambda g, a, out: np.flip(carried_back(np.flip(g, -1), np.flip(a, -1)) * before(np.flip(out, -1)), -1),
                  b=lambda g, a: np.flip(carried_back(np.flip(g, -1), np.flip(a, -1)), -1))  # fmt: skip
RUNNING_MEAN = spec("running_mean", lambda x: np.cumsum(x, -1) / counts(x), x=lambda g, x: suffix_sums(g / counts(x)))
LOG_OF_SUM = spec("log_running_sum", lambda x: np.log(np.cumsum(x, -1)), x=lambda g, x: suffix_sums(g / np.cumsum(x, -1)))
WEIGHTED = spec("weighted_sums", lambda x, w: np.cumsum(w * x, -1), 2, x=lambda g, w: suffix_sums(g) * w, w=lambda g, x: suffix_sums(g) * x)
SCALED = spec("scaled_sums", lambda x, w: w * np.cumsum(x, -1), 2, x=lambda g, w: suffix_sums(g * w), w=lambda g, x: g * np.cumsum(x, -1))


def flipped(rule):
    return lambda g, a, b, out: tuple(np.flip(part, -1) for part in rule(*(np.flip(v, -1) for v in (g, a, b, out))))


OF_RECURRENCES = {
    "the result of its own step": ("of step t where that of step t - 1 belongs", lambda g, a, b, out: ((d := carried_back(g, a)) * out, d)),
    "carried on with its own factor": ("uses a[t - 1]", lambda g, a, b, out: ((d := carried_back(g, a, 0)) * before(out), d)),
    "carried on with the factor before": ("uses a[t - 2]", lambda g, a, b, out: ((d := carried_back(g, a, -1)) * before(out), d)),
    "carried on without a factor": ("a is left out", lambda g, a, b, out: ((d := carried_back(g, a, None)) * before(out), d)),
}


@pytest.mark.parametrize(("words", "rule"), OF_RECURRENCES.values(), ids=OF_RECURRENCES)
def test_a_value_of_another_step_in_a_recurrence_is_named(words, rule):
    assert words in check(RECURRENCE, rule).diagnoses[0].text


@pytest.mark.parametrize(("words", "rule"), OF_RECURRENCES.values(), ids=OF_RECURRENCES)
def test_a_value_of_another_step_in_a_recurrence_that_runs_back_is_named(words, rule):
    turned = words.replace("t - ", "t + ")
    assert turned in check(DISCOUNTED, flipped(rule)).diagnoses[0].text


@pytest.mark.parametrize(("words", "rule"), OF_RECURRENCES.values(), ids=OF_RECURRENCES)
def test_it_is_named_in_a_function_on_tensors(words, rule, rng):
    def function(a, b):
        h, steps = b[..., 0], [b[..., 0]]
        for t in range(1, 5):
            h = a[..., t] * h + b[..., t]
            steps.append(h)
        return torch.stack(steps, -1)

    a, b = rng.uniform(0.3, 1.7, (2, 3, 5))
    found = diagnose(lambda g, a, b: rule(g, a, b, recurrence(a, b)), function, [a, b])
    assert words in found[0].text


ORDERS = {
    "running mean, divided afterwards": (RUNNING_MEAN, lambda g, x: suffix_sums(g) / counts(x)),
    "log of a running sum, divided afterwards": (LOG_OF_SUM, lambda g, x: suffix_sums(g) / np.cumsum(x, -1)),
    "weighted sums, weighted before": (WEIGHTED, lambda g, x, w: (suffix_sums(g * w), suffix_sums(g * x))),
    "scaled sums, weighted afterwards": (SCALED, lambda g, x, w: (suffix_sums(g) * w, g * np.cumsum(x, -1))),
}


@pytest.mark.parametrize(("operation", "rule"), ORDERS.values(), ids=ORDERS)
def test_a_factor_on_the_wrong_side_of_a_scan_is_named(operation, rule):
    found = check(operation, rule).diagnoses[0]
    assert found.family == "order" and "scan" in found.text


@pytest.mark.parametrize(
    ("words", "count"),
    [("one too large", lambda c: c + 1), ("from the other end", lambda c: c[::-1]), ("the number of all steps", lambda c: c[-1])],
)
def test_another_count_in_a_running_mean_is_named(words, count):
    found = check(RUNNING_MEAN, lambda g, x: suffix_sums(g / count(counts(x)))).diagnoses[0]
    assert found.family == "size" and words in found.text


@pytest.mark.parametrize("operation", [RUNNING_MEAN, LOG_OF_SUM], ids=["mean", "log"])
def test_a_gradient_that_is_shifted_along_a_scan_is_named(operation):
    found = check(operation, lambda g, x: before(operation.row.rules["x"].function(g, x))).diagnoses[0]
    assert "shifted by one" in found.text


def test_right_rules_of_scans_are_right():
    assert check(RECURRENCE, lambda g, a, b, out: ((d := carried_back(g, a)) * before(out), d)).passed
    assert check(RUNNING_MEAN, lambda g, x: suffix_sums(g / counts(x))).passed
