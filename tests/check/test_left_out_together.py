"""What is left out together, or written in several lines: inner derivatives, `=` for `+=`, signs, a total for sums that grow, a term of a step."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def spec(name, forward, inputs, **more):
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)


def bonds(at, *, a=0.8, rest=1.0):
    between = at[1:] - at[:-1]
    r = np.sqrt((between**2).sum(axis=1))
    e = 1 - np.exp(-a * (r - rest))
    return (e**2).sum()


def test_several_inner_derivatives_are_left_out():
    def rule(g, at, a, rest):
        between = at[1:] - at[:-1]
        r = np.sqrt((between**2).sum(axis=1))
        pull = (g * 2 * (1 - np.exp(-a * (r - rest))) / r)[:, None] * between
        g_at = np.zeros_like(at)
        g_at[1:] += pull
        g_at[:-1] -= pull
        return g_at

    exercise = spec("bonds", bonds, "at", shapes=(((4, 3),), ((5, 2),)), settings=({"a": 0.8, "rest": 1.0}, {"a": 1.3, "rest": 0.6}))
    (found,) = check(exercise, rule).diagnoses
    assert "leaves out the derivatives of the difference `1 - np.exp(-a * (r - rest))`, exp and the product" in found.text
    assert "is passed on to the result of the difference `r - rest`" in found.text


def edges(x, *, eps=0.1):
    dx, dy = x[1:-1, 2:] - x[1:-1, :-2], x[2:, 1:-1] - x[:-2, 1:-1]
    return np.sqrt(dx * dx + dy * dy + eps)


EDGES = spec("edges", edges, "x", shapes=(((5, 6),), ((4, 4),)), settings=({"eps": 0.1}, {"eps": 0.5}))


def overwritten(g, x, out, eps):
    dx, dy = x[1:-1, 2:] - x[1:-1, :-2], x[2:, 1:-1] - x[:-2, 1:-1]
    gx = np.zeros_like(x)
    gx[1:-1, 2:] += g / out * dx
    gx[1:-1, :-2] = -g / out * dx
    gx[2:, 1:-1] += g / out * dy
    gx[:-2, 1:-1] = -g / out * dy
    return gx


def of_the_wrong_sign(g, x, out, eps):
    dx, dy = x[1:-1, 2:] - x[1:-1, :-2], x[2:, 1:-1] - x[:-2, 1:-1]
    gx = np.zeros_like(x)
    gx[1:-1, 2:] += g / out * dx
    gx[1:-1, :-2] += g / out * dx
    gx[2:, 1:-1] += g / out * dy
    gx[:-2, 1:-1] += g / out * dy
    return gx


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (overwritten, "with a sum of all that is written in `gx[1:-1, :-2] = -g / out * dx`"),
        (of_the_wrong_sign, "with the other sign in `gx[1:-1, :-2] += g / out * dx`"),
    ],
)
def test_lines_with_the_same_slip_are_named(rule, words):
    (found,) = check(EDGES, rule).diagnoses
    assert words in found.text and "2 times" in found.text


def test_a_total_in_the_place_of_sums_that_grow():
    def at_risk(eta, d):
        risk = np.cumsum(np.exp(eta)[::-1])[::-1]
        return -(d * (eta - np.log(risk))).sum()

    def rule(g, eta, d):
        e = np.exp(eta)
        risk = e.sum()
        return g * (e * np.cumsum(d / risk) - d), -g * (eta - np.log(risk))

    exercise = spec("at_risk", at_risk, "eta d", shapes=(((5,), (5,)), ((7,), (7,))), domain={"d": (0.2, 1.0)}, broadcast=False)
    texts = [found.text for found in check(exercise, rule).diagnoses]
    assert any("another value in the place of `risk`, one of shape (5,) in `d / risk`" in text for text in texts)
    assert all("does not depend on" not in text for text in texts)


def test_a_term_of_each_step_is_no_mask():
    def advantages(rewards, values, *, gamma=0.9):
        made = rewards + gamma * values[1:] - values[:-1]
        out, later = np.zeros_like(rewards), 0.0
        for t in range(len(rewards) - 1, -1, -1):
            later = made[t] + gamma * 0.8 * later
            out[t] = later
        return out

    def rule(g, rewards, values, gamma):
        made, carry = np.zeros_like(rewards), 0.0
        for t in range(len(rewards)):
            carry = g[t] + gamma * 0.8 * carry
            made[t] = carry
        g_values = np.zeros_like(values)
        g_values[:-1] -= made
        return made, g_values

    exercise = spec(
        "advantages",
        advantages,
        "rewards values",
        shapes=(((4,), (5,)), ((6,), (7,))),
        settings=({"gamma": 0.9}, {"gamma": 0.7}),
        broadcast=False,
    )
    (found,) = check(exercise, rule).diagnoses
    assert "misses a term" in found.text and "mask" not in found.text


def test_a_condition_that_is_missing_is_called_missing():
    def waiting(service, arrival):
        w, out = 0.0, []
        for t in range(len(service)):
            w = np.maximum(w + service[t] - arrival[t], 0)
            out.append(w)
        return np.stack(out)

    def rule(g, service, arrival):
        gs, carry = np.zeros_like(service), 0.0
        for t in range(len(g) - 1, -1, -1):
            carry = carry + g[t]
            gs[t] = carry
        return gs, -gs

    exercise = spec(
        "waiting", waiting, "service arrival", shapes=(((6,), (6,)), ((8,), (8,))), domain={"service": (0.1, 2.0), "arrival": (0.1, 2.0)}
    )
    texts = [found.text for found in check(exercise, rule).diagnoses]
    assert any("a mask or a condition is missing" in text or "a mask or a choice is missing" in text for text in texts)
