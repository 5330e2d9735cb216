"""Two slips in one rule, and terms of values that forward works out: families of mistakes crossed with operations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import autolab as torch
from autolab.check import check, diagnose

# Of each operation its derivative as a product or a sum of two parts, and each part with a slip in it.
PRODUCTS = {
    "tanh(x * x)": (
        lambda x: (x * x).tanh(),
        [lambda x: 2 * x, lambda x: 1 - np.tanh(x * x) ** 2],
        [lambda x: 2 * x * x, lambda x: 1 + np.tanh(x * x) ** 2],
    ),
    "exp(sin(x))": (
        lambda x: x.sin().exp(),
        [lambda x: np.cos(x), lambda x: np.exp(np.sin(x))],
        [lambda x: -np.cos(x), lambda x: np.sin(x)],
    ),
    "log(1 + x²)": (lambda x: (1 + x * x).log(), [lambda x: 2 * x, lambda x: 1 / (1 + x * x)], [lambda x: x * x, lambda x: 1 + x * x]),
}
SUMS = {
    "3x³ - 2x² + x": (
        lambda x: 3 * x**3 - 2 * x**2 + x,
        [lambda x: 9 * x**2, lambda x: -4 * x, lambda x: np.ones_like(x)],
        [lambda x: 9 * x, lambda x: 4 * x, lambda x: 0 * x],
    ),
    "x sin x + exp x": (
        lambda x: x * x.sin() + x.exp(),
        [lambda x: np.sin(x), lambda x: x * np.cos(x), np.exp],
        [lambda x: -np.sin(x), lambda x: x * np.sin(x), lambda x: 0 * x],
    ),
}


def rules(operations, combine):
    for name, (function, right, wrong) in operations.items():
        for both in combinations(range(len(right)), 2):
            parts = [wrong[k] if k in both else right[k] for k in range(len(right))]
            yield pytest.param(function, lambda g, x, parts=parts: g * combine(p(x) for p in parts), id=f"{name}, {both}")


def product(parts):
    one, other = parts
    return one * other


@pytest.fixture
def x(rng):
    return rng.uniform(0.2, 2.8, (3, 5))


@pytest.mark.parametrize(("function", "rule"), [*rules(PRODUCTS, product), *rules(SUMS, sum)])
def test_two_slips_in_one_rule_are_named(function, rule, x):
    (found,) = diagnose(rule, function, [x])
    assert found.certainty == "likely"


def test_each_of_two_slips_is_said(x):
    (found,) = diagnose(lambda g, x: g * (9 * x + 4 * x + 1), SUMS["3x³ - 2x² + x"][0], [x])
    assert "two mistakes" in found.text
    assert "term sign" in {found.family, *found.alternatives}
    assert len(found.alternatives) == 1


def test_two_slips_of_a_row_are_said_for_all_its_calls():
    report = check("silu", lambda g, x, out: g * (1 / (1 + np.exp(-x)) - 2 * (out - out / (1 + np.exp(-x)))))
    assert not report.passed
    assert report.diagnoses[0].certainty == "likely"


def entropy(x):
    p = x / x.sum(0, keepdim=True)
    return -(p * p.log()).sum(0)


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        ("term", lambda p, h, s: -np.log(p) / s),
        ("term", lambda p, h, s: -(np.log(p) - h) / s),
        ("factor", lambda p, h, s: -p * (np.log(p) + h) / s),
        ("factor", lambda p, h, s: -(np.log(p) + h)),
    ],
)
def test_a_term_of_what_forward_works_out_is_named(family, wrong, x):
    def rule(g, x):
        s = x.sum(0)
        p = x / s
        return g * wrong(p, -(p * np.log(p)).sum(0), s)

    (found,) = diagnose(rule, entropy, [x])
    assert found.family == family
    assert "wrong factors" not in found.text


def test_a_right_rule_on_paper_is_right(x):
    def rule(g, x):
        p = x / x.sum(0)
        return -g * (np.log(p) - (p * np.log(p)).sum(0)) / x.sum(0)

    assert diagnose(rule, entropy, [torch.tensor(x).numpy()]) == []
