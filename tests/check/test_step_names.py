"""A step of forward is called by its operation, and by its code where several have that name."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import check, diagnose
from autolab.check.diagnosis.replays.stepwise import Chain
from autolab.check.diagnosis.replays.two_slips import _both


def unit(a):
    return a / np.sqrt((a * a).sum(axis=-1, keepdims=True))


def rounds(x):
    h = x
    for _ in range(3):
        h = np.tanh(h + x)
    return h


def named_parts(x):
    a = x * x
    b = x * x
    return a / (1 + b)


def scaled_mean(x):
    return {"mean": x.mean() * x.mean(axis=0)}["mean"]


FORWARDS = {
    "one of its kind": (lambda x, y: x.sum() + y, ["the sum", "the addition"]),
    "its own expression": (lambda x, y: x.sum() * y.sum(), ["`x.sum()`", "`y.sum()`", "the product"]),
    "an operator": (lambda x, y: (x * y) / (x + y * y), ["the product `x * y`", "the product `y * y`", "the addition", "the quotient"]),
    "what is around it": (
        lambda x, y: np.sqrt((x * x).sum()) + (x * x).sum() ** 2,
        ["the product in `np.sqrt((x * x).sum())`", "the sum in `np.sqrt((x * x).sum())`", "sqrt",
         "the product in `(x * x).sum() ** 2`", "the sum in `(x * x).sum() ** 2`", "the power", "the addition"],
    ),
    "the other one is cut": (lambda x, y: np.exp(x) * np.exp(y) + np.exp(x), [
        "`np.exp(x)` in `np.exp(x) * np.exp(y)`", "`np.exp(y)`", "the product", "`np.exp(x)` in `... + np.exp(x)`", "the addition"]),
    "side by side": (lambda x, y: x.mean() * x.mean(), [
        "the first `x.mean()` in `x.mean() * x.mean()`", "the second `x.mean()` in `x.mean() * x.mean()`", "the product"]),
    "which call of a helper": (lambda x, y: unit(x) * unit(y), [
        *(said for z in "xy" for said in (f"the product `a * a` in `unit({z})`", f"`(a * a).sum(axis=-1, keepdims=True)` in `unit({z})`",
                                          f"`np.sqrt((a * a).sum(axis=-1, keepdims=True))` in `unit({z})`",
                                          f"the quotient `a / np.sqrt((a * a).sum(axis=-1, keepdims=True))` in `unit({z})`")),
        "the product `unit(x) * unit(y)`"]),
    "rounds of a loop": (lambda x, y: rounds(x), [
        *(said for k in ("first", "second", "third")
          for said in (f"the addition `h + x` (in the {k} of three rounds)", f"`np.tanh(h + x)` (in the {k} of three rounds)"))]),
    "statements": (lambda x, y: named_parts(x), ["the product in `a = x * x`", "the product in `b = x * x`", "the addition", "the quotient"]),
    "a long one": (
        lambda x, y: ((x - x.mean(axis=-1, keepdims=True)) ** 3).mean(axis=-1) / (x + y.mean(axis=-1, keepdims=True)).mean(axis=-1),
        ["`x.mean(axis=-1, keepdims=True)`", "the difference", "the power", "`((x - x.mean(axis=-1, keepdims=True)) ** 3).mean(axis=-1)`",
         "`y.mean(axis=-1, keepdims=True)`", "the addition", "`(x + y.mean(axis=-1, keepdims=True)).mean(axis=-1)`", "the quotient"],
    ),
    "braces": (lambda x, y: scaled_mean(x), ["`x.mean()`", "`x.mean(axis=0)`", "the product"]),
}  # fmt: skip


def names(forward, rng):
    inputs = {"x": rng.uniform(0.5, 1.5, (3, 3)), "y": rng.uniform(0.5, 1.5, (3, 3))}
    chain = Chain(forward, inputs, {}, np.ones(()))
    return [chain.names[i] for i in range(len(chain.steps))]


@pytest.mark.parametrize("kind", FORWARDS)
def test_a_step_is_named_by_what_says_which_one_it_is(kind, rng):
    forward, expected = FORWARDS[kind]
    assert names(forward, rng) == expected


@pytest.fixture
def without_source():
    spaces = {"np": np}
    exec("def forward(x, y):\n    return x.sum() / (1 + y.sum()) + x.sum() * y.sum()", spaces)
    return spaces["forward"]


def test_without_source_a_step_is_named_by_its_role_or_its_number(without_source, rng):
    found = names(without_source, rng)
    assert [said for said in found if "sum" in said] == [
        "the sum in the numerator", "the sum in the denominator", "the sum (the third of four in forward)", "the sum (the fourth of four in forward)",
    ]  # fmt: skip


def test_without_columns_nothing_is_quoted(rng):
    def forward(x, y):
        return x.sum() / (1 + y.sum())

    forward.__code__ = forward.__code__.replace(co_linetable=b"")
    assert names(forward, rng)[:2] == ["the sum in the numerator", "the sum in the denominator"]


def said(rule, forward, *inputs):
    return " ".join(d.text for d in diagnose(rule, forward, list(inputs)))


def test_a_missing_term_is_said_with_its_code(rng):
    def rule(g, x, y):
        d = x.sum() + y.sum()
        return g * y / d, g * (x / d - (x * y).sum() / d**2)

    x, y = rng.uniform(0.5, 1.5, (2, 5))
    assert "what comes back through `x.sum()`" in said(rule, lambda x, y: (x * y).sum() / (x.sum() + y.sum()), x, y)


def test_the_place_of_a_constant_is_said(rng):
    text = said(
        lambda g, x: g / np.sqrt((x * x).sum()), lambda x: x / np.sqrt((x * x).sum()) * (1 + (x * x).sum() * 0), rng.uniform(0.5, 1.5, 5)
    )
    assert "`np.sqrt((x * x).sum())`" in text


def test_two_steps_that_give_the_same_numbers_are_both_named(rng):
    def rule(g, x):
        return g * (np.exp(x) * np.exp(x).sum() + 3 * x * x)

    text = said(rule, lambda x: np.exp(x).sum() * np.exp(x).sum() + (x**3).sum(), rng.uniform(0.5, 1.5, (3, 4)))
    assert "through `np.exp(x)` in `np.exp(x).sum() * ...` or `np.exp(x)` in `... * np.exp(x).sum()` (both give the same numbers)" in text


def test_steps_on_one_way_are_one_place(rng):
    def rule(g, x):
        return g * np.cos(x)

    assert "same numbers" not in said(rule, lambda x: np.sin(x).sum() + (x * x).mean(), rng.uniform(0.5, 1.5, (3, 4)))


def test_a_round_of_a_loop_is_named(rng):
    def rule(g, x):
        h, total = [x], 0 * x
        for _ in range(3):
            h.append(np.tanh(h[-1] + x))
        for k in (3, 2, 1):
            g = g * (1 - h[k] ** 2 if k != 2 else 1)
            total = total + g
        return total + g

    assert "`np.tanh(h + x)` (in the second of three rounds)" in said(rule, rounds, rng.uniform(0.5, 1.5, (3, 4)))


def test_of_equal_expressions_in_a_line_the_wrong_one_is_quoted_with_what_is_around_it():
    def rule(g, x, y, out):
        nx, ny = np.sqrt((x * x).sum(-1, keepdims=True)), np.sqrt((y * y).sum(-1, keepdims=True))
        c, g = out[..., None], g[..., None]
        return g * (y / (nx * ny) - c * x / (nx * ny)), g * (x / (nx * ny) - c * y / ny**2)

    assert "in the place of `ny` in `nx * ny` in `c * x / (nx * ny)` (line" in check("cosine", rule).diagnoses[0].text


def test_of_equal_names_in_an_expression_the_wrong_one_is_counted(rng):
    def rule(g, x, y):
        return g * (y * y), g * 0.5 * x * x

    assert "in `y * y` (the first `y`, line" in said(rule, lambda x, y: x * x * y / 2, *rng.uniform(0.5, 1.5, (2, 3, 4)))


def test_the_same_mistake_in_two_places_is_said_once():
    def rule(g, x, weight):
        inv = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        z = (x - x.mean(-1, keepdims=True)) * inv
        dx = inv * (g * weight - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True))
        return dx, (g * z).sum(0), g.sum(0)

    text = check("layer_norm", rule).diagnoses[0].text
    assert "the same mistake in two places" in text and text.count("weight)") == 1
    assert "in the mean of g * weight, and in the mean of g * weight * normal(x)" in text


def test_two_mistakes_are_two():
    assert _both("is without a", "has the wrong sign") == "seems to have two mistakes. It is without a; and it has the wrong sign"
