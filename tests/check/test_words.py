"""What a student reads: two explanations at most, the likelier first, each about what is there, and the line of code itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autolab as torch
from autolab.check import check, diagnose
from autolab.check.api.check import _listed
from autolab.check.diagnosis.diagnosis import Mistake
from autolab.check.diagnosis.family import Family
from autolab.check.diagnosis.named import read
from autolab.check.diagnosis.repairs.beside import with_repair

RNG = np.random.default_rng(11)
X, Y, V = RNG.uniform(0.2, 2.8, (4, 3)), RNG.uniform(0.3, 2.7, (4, 3)), RNG.uniform(0.2, 0.9, 7)


def said(found):
    return " ".join(d.text for d in found)


def explanations(text):
    """A change and what it comes to in numbers are one."""
    return len(re.findall(r"\. Or it |, or with ", text)) + 1


def plus_under_the_root(g, x):
    return g / np.sqrt(x**2 + 1)


def divided_by_y_alone(g, x, y):
    d = -g
    return g / y, d * x / y


def no_factor_x(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * (s + s * (1 - s))


@pytest.mark.parametrize(
    ("operation", "rule"),
    [("acosh", plus_under_the_root), ("div", divided_by_y_alone), ("silu", no_factor_x), ("tanh", lambda g, out: g * (1 - out))],
)
def test_there_are_two_explanations_at_most(operation, rule):
    assert all(explanations(d.text) <= 2 for d in check(operation, rule).diagnoses)


def test_of_two_changes_the_one_is_said_that_agrees_with_the_numbers():
    text = said(check("acosh", plus_under_the_root).diagnoses)
    assert "the other sign in `x**2 + 1`" in text and "another number" not in text


def test_a_value_that_mends_by_chance_comes_after_what_is_left_out():
    repair = Mistake("variable", "would be right with another value in the place of `g` in `-g` (line 3)", True)
    assert with_repair(Mistake("factor", "is the right one times y"), repair, "y").text.startswith(
        "is the right one times y. Or it would be"
    )
    assert with_repair(Mistake("variable", "uses g where y belongs"), repair, "y").text.startswith("would be right with")


def test_what_comes_besides_is_said_once():
    assert said(check("div", divided_by_y_alone).diagnoses).count("besides") == 1


def test_no_mask_is_named_where_there_is_none():
    def envelope_is_constant(g, x):
        return g * np.exp(-x / 2) * 3 * np.cos(3 * x)

    (found,) = diagnose(envelope_is_constant, lambda x: torch.exp(-x / 2) * torch.sin(3 * x), [X])
    assert "misses one of its terms" in found.text and not re.search("relu|mask", found.text)


def test_what_the_names_of_a_rule_are():
    def helper(x):
        return np.maximum(x, 0)

    assert {"sqrt", "np", "x"} <= read([plus_under_the_root])
    assert "<" in read([lambda x: x * (x > 0)])
    assert read([np.maximum]) == {"maximum"}
    assert read([eval("lambda x: x")]) is None


def test_a_difference_the_wrong_way_round_is_a_sign():
    def plus(g, x, out):
        m = x.mean()
        s = np.sqrt(((x - m) ** 2).sum())
        return g * (1 / x.size / s + m * (x - m) / s**3)

    (found,) = diagnose(plus, lambda x: x.mean() / ((x - x.mean()) ** 2).sum().sqrt(), [V])
    assert "the other order" not in found.text and "sign" in found.text


def test_a_line_is_quoted_beside_its_number():
    def half_ends(g, x):
        w = np.ones(x.shape[0] + 0)
        w[[0, -1]] *= 3
        return g * w

    ends = np.array([0.5, 1, 1, 1, 1, 1, 0.5])
    (found,) = diagnose(half_ends, lambda x: (x * torch.tensor(ends)).sum(), [V])
    assert "`w[[0, -1]] *= 3` (line" in found.text


def test_an_earlier_value_is_said_with_its_line_of_code():
    def stale(g, x, y):
        g = g * y
        return g, g * x

    (found,) = diagnose(stale, lambda x, y: x * y, [X, Y])
    assert "before `g = g * y`" in found.text


def test_what_a_change_takes_away_does_not_belong_there():
    repair = Mistake("variable", "would be right with another value in the place of `angle` in `np.sin(angle)` (line 3)", True)
    for guess, is_said in (
        ("uses the result of forward where angle belongs", False),
        ("uses angle where the result of forward belongs", True),
    ):
        text = with_repair(Mistake("variable", guess), repair, "angle").text
        assert (guess in text) == is_said and repair.text in text


def test_two_changes_at_one_place_are_said_once():
    other = Family("operation", "would be right with another operation in `n - 1` (line 3)")
    repair = Mistake("number", "would be right with another number in the place of 1 in `n - 1` (line 3)", also=(other,))
    found = with_repair(None, repair, "x")
    assert found.text == repair.text and found.parts == ("operation",)
    elsewhere = Family("operation", "would be right with another operation in `n - 1` (line 4)")
    assert with_repair(None, Mistake("number", repair.text, also=(elsewhere,)), "x").text.count("right with") == 1


def test_names_are_listed():
    assert _listed(["a"]) == "a"
    assert _listed(["a", "b", "c"]) == "a, b and c"
