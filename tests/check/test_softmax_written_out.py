"""Attention with one query: a softmax written out, which has decided in some of the calls, where most of its gradient is rounding."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.diagnosis.replays.stepwise import Chain, links_to
from autolab.engine.op import GENERAL, Op


def spec(name, forward, inputs, **more):
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)


def attended(q, k, v, *, scale=0.5):
    s = k @ q * scale
    e = np.exp(s - s.max())
    return e / e.sum() @ v


EXERCISE = spec(
    "attended", attended, "q k v", shapes=(((3,), (4, 3), (4, 2)), ((2,), (3, 2), (3, 5))), settings=({"scale": 0.5}, {"scale": 1.3})
)


def rule(back, scaled=True):
    """The rule with this for the derivative of the softmax, of its shares and of what comes back to them."""

    def attended_rule(g, q, k, v, scale):
        s = k @ q * scale
        e = np.exp(s - s.max())
        p = e / e.sum()
        gs = back(p, v @ g) * (scale if scaled else 1)
        return k.T @ gs, np.outer(gs, q), np.outer(p, g)

    return attended_rule


@pytest.mark.parametrize(
    ("back", "words"),
    [
        (lambda p, g: p * (1 - p) * g, "the diagonal alone of the derivative of the quotient"),
        (lambda p, g: p * (g - g.sum()), "subtracts a plain sum in the derivative of the softmax that is written out, and not one weighted by its own"),
        (lambda p, g: g - p @ g, "lacks a factor of the softmax that is written out: its own result, that of the quotient"),
        (lambda p, g: p * g, "misses one of its terms: what comes back through the sum"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_named_for_query_and_keys(back, words):
    (found,) = check(EXERCISE, rule(back)).diagnoses
    assert found.text.startswith("The gradient for q ")
    assert words in found.text and "The same holds for k" in found.text


def test_a_scale_that_is_left_out_is_in_no_term():
    (found,) = check(EXERCISE, rule(lambda p, g: p * (g - p @ g), scaled=False)).diagnoses
    assert "without one of its factors (a constant), in the derivative of the product" in found.text
    assert "terms" not in found.text


def test_the_rule_is_right():
    assert check(EXERCISE, rule(lambda p, g: p * (g - p @ g))).passed


def heavy_tailed(y, logs, *, nu=3.0):
    z = y / np.exp(logs)
    return (logs + 0.5 * (nu + 1) * np.log(1 + z**2 / nu)).mean()


def test_a_division_by_a_setting_is_not_that_of_a_mean():
    exercise = spec(
        "heavy_tailed",
        heavy_tailed,
        "y logs",
        shapes=(((4,), (4,)), ((2, 3), (2, 3))),
        settings=({"nu": 3.0}, {"nu": 7.0}),
        broadcast=False,
    )

    def without(g, y, logs, nu):
        z = y / np.exp(logs)
        gz = g / z.size * (nu + 1) * z / (1 + z**2)
        return gz / np.exp(logs), g / z.size - gz * z

    (found,) = check(exercise, without).diagnoses
    assert "for y is right for a computation that never divides by this constant: it leaves out the quotient `z ** 2 / nu`" in found.text
    assert "The same holds for logs" in found.text


def test_a_factor_for_a_whole_call_may_come_from_another_input():
    def spread(x, w):
        mean = (w[:, None] * x).sum(axis=0) / w.sum()
        return (w[:, None] * (x - mean) ** 2).sum(axis=0) / w.sum()

    exercise = spec("spread", spread, "x w", shapes=(((5, 3), (5,)), ((4, 2), (4,))), domain={"w": (0.5, 2.0)})

    def by_count(g, out, x, w):
        from_mean = x - (w[:, None] * x).sum(axis=0) / w.sum()
        return g * 2 * w[:, None] * from_mean / len(x), ((from_mean**2 - out) * g).sum(axis=1) / len(x)

    first, _ = check(exercise, by_count).diagnoses
    assert first.text.startswith("The gradient for x is the right one times the mean of all of w")


def test_the_sum_below_shares_is_said_to_differ_by_what_it_does():
    def rank(a, p):
        return a / a.sum(axis=0, keepdims=True) @ p

    def along_the_wrong_axis(g, a, p):
        total = a.sum(axis=0, keepdims=True)
        gm = np.outer(g, p)
        return (gm - (gm * a / total).sum(axis=1)) / total, (a / total).T @ g

    exercise = spec("rank", rank, "a p", shapes=(((4, 4), (4,)), ((3, 3), (3,))), domain={"a": (0.2, 2.0)})
    (found,) = check(exercise, along_the_wrong_axis).diagnoses
    assert "by a multiple of a" not in found.text and "sum" in found.text


def test_a_setting_that_is_the_same_in_every_call_may_be_the_factor():
    exercise = spec(
        "scaled", lambda x, *, alpha=0.5: np.tanh(x).sum(axis=-1) * alpha, "x", shapes=(((3, 4),), ((2, 5),)), settings=({"alpha": 0.5},)
    )
    (found,) = check(exercise, lambda g, x, alpha: g[:, None] * (1 - np.tanh(x) ** 2)).diagnoses
    assert "2 times the right one" in found.text and "or alpha, a setting, is missing" in found.text


def test_what_cancels_out_is_no_link():
    """Nothing comes back to the largest entry that is taken off, but rounding: a rule without it lacks no term."""

    def shares(x):
        e = (x - x.max()).exp()
        return e / e.sum()

    chain = Chain(shares, {"x": np.array([0.3, 1.2, -0.7])}, {}, np.array([0.2, -0.5, 0.9]))
    (largest,) = chain.constant
    assert chain.steps[largest - 1].row.name == "max"
    assert all(chain.steps[i].sources[k] != largest and chain.steps[i].place != largest for i, k in links_to(chain, "x"))
