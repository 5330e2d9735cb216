"""Long loops: a change is sought in a smaller call, among places that may mend all that is wrong; and what several gradients share."""

import numpy as np
import pytest

from autolab.check import LocalCandidate, Reference, Spec, check, derivative_of_forward
from autolab.check.diagnosis.smaller import smaller_call
from autolab.check.run.observation import TOLERANCE, Question, error_of, observe
from autolab.engine.op import GENERAL, Op


def spec(name, forward, inputs, **more):
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)


def rated(r, s, *, k=0.8, scale=2.0):
    r = np.array(r)
    for t in range(len(s)):
        i, j = t % len(r), (t + 1) % len(r)
        change = k * (s[t] - 1 / (1 + np.exp((r[j] - r[i]) / scale)))
        r[i] += change
        r[j] -= change
    return r


RATED = spec("rated", rated, "r s", shapes=(((4,), (14,)), ((3,), (10,))), settings=({"k": 0.8, "scale": 2.0}, {"k": 0.5, "scale": 1.5}))


def without_scale(g, r, s, k, scale):
    r, shares = np.array(r), []
    for t in range(len(s)):
        i, j = t % len(r), (t + 1) % len(r)
        shares.append(1 / (1 + np.exp((r[j] - r[i]) / scale)))
        r[i] += k * (s[t] - shares[t])
        r[j] -= k * (s[t] - shares[t])
    gr, gs = np.array(g), np.zeros(len(s))
    for t in reversed(range(len(s))):
        i, j = t % len(r), (t + 1) % len(r)
        gs[t] = k * (gr[i] - gr[j])
        gd = gs[t] * shares[t] * (1 - shares[t])
        gr[i] -= gd
        gr[j] += gd
    return gr, gs


def test_a_setting_that_is_missing_in_a_long_loop():
    (found, *_) = check(RATED, without_scale).diagnoses
    assert "with one more divisor of" in found.text and "gs[t] * shares[t] * (1 - shares[t])" in found.text
    assert found.certainty == "certain" and "unknown" not in [d.family for d in check(RATED, without_scale).diagnoses]


def test_a_smaller_call_is_wrong_too_and_has_fewer_rounds():
    reference = Reference.of(RATED)
    candidate, settings = LocalCandidate(without_scale, reference), {"k": 0.8, "scale": 2.0}
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=4), rng.uniform(size=14)]
    names, g = reference.environment(inputs, settings), rng.normal(size=4)
    ask = Question(candidate, reference, inputs, settings)
    o = observe(reference, names, g, candidate.call(inputs, settings, (g,)).gradients[0], settings, ask)
    small = smaller_call(o, "r")
    assert small.shape("r") == (2,) and small.shape("s") == (2,) and error_of(small, "r") > TOLERANCE
    assert smaller_call(small, "r") is None  # nothing can be taken away


def controlled(goal, k, *, steps=5, dt=0.2):
    x, s, last = np.zeros(goal.shape), np.zeros(goal.shape), goal
    path = []
    for _ in range(steps):
        e = goal - x
        s = s + e * dt
        u = k[0] * e + k[1] * s + k[2] * (e - last) / dt
        last = e
        x = x + dt * (u - x)
        path.append(x)
    return np.stack(path)


def without_feedback(g, goal, k, steps, dt):
    x, s, last = np.zeros(goal.shape), np.zeros(goal.shape), goal
    kept = []
    for _ in range(steps):
        e = goal - x
        s = s + e * dt
        kept.append((e, s, (e - last) / dt))
        x = x + dt * (k[0] * e + k[1] * s + k[2] * (e - last) / dt - x)
        last = e
    gk, g_goal, gx, gs, g_last = np.zeros(3), np.zeros(goal.shape), 0.0, 0.0, 0.0
    for t in reversed(range(steps)):
        gx = gx + g[t]
        gu = dt * gx
        gk += [np.sum(gu * value) for value in kept[t]]
        gs = gs + k[1] * gu
        ge = k[0] * gu + k[2] * gu / dt + dt * gs + g_last
        g_last = -k[2] * gu / dt
        g_goal = g_goal + ge
        gx = (1 - dt) * gx
    return g_goal + g_last, gk


def test_a_step_of_a_long_forward_is_named_where_a_loop_has_few_rounds():
    exercise = spec("controlled", controlled, "goal k", shapes=(((2,), (3,)),), settings=({"steps": 5, "dt": 0.2}, {"steps": 4, "dt": 0.3}))
    found = check(exercise, without_feedback).diagnoses[0]
    assert "misses one of its terms: what comes back through the difference `goal - x`" in found.text
    assert "That is seen in a smaller call, with goal (2,), k (3,), steps=2" in found.text


def fading(theta, n1, n2):
    s = n1 / n2 * np.sin(theta)
    c, d = np.cos(theta), np.sqrt(1 - s * s)
    return ((n1 * c - n2 * d) / (n1 * c + n2 * d)) ** 2


def half_a_root(g, theta, n1, n2):
    s = n1 / n2 * np.sin(theta)
    c, d = np.cos(theta), np.sqrt(1 - s * s)
    u, v = n1 * c, n2 * d
    gr = g * 2 * (u - v) / (u + v)
    gu, gv = gr * 2 * v / (u + v) ** 2, -gr * 2 * u / (u + v) ** 2
    gs = -gv * n2 * s / (2 * d)
    g1, g2 = gu * c + gs * np.sin(theta) / n2, gv * d - gs * n1 / n2**2 * np.sin(theta)
    return gs * n1 / n2 * np.cos(theta) - gu * n1 * np.sin(theta), g1, g2


def test_the_slip_behind_several_gradients_goes_before_what_mends_one_of_them():
    domain = {"theta": (0.2, 1.2), "n1": (0.9, 1.2), "n2": (1.4, 1.8)}
    exercise = spec("fading", fading, "theta n1 n2", shapes=(((5,),) * 3, ((2, 3),) * 3), domain=domain)
    for found in check(exercise, half_a_root).diagnoses:
        assert "`2 * d`" in found.text and "`gr * 2" not in found.text


def lit(sigma, color):
    light, out = 1.0, 0.0
    for i in range(len(sigma)):
        out = out + light * (1 - np.exp(-sigma[i])) * color[i]
        light = light * np.exp(-sigma[i])
    return out


def one_too_far(g, sigma, color):
    alpha = 1 - np.exp(-sigma)
    light = np.cumprod(1 - alpha)
    w = light * alpha
    c = color @ g
    behind = np.cumsum((w * c)[::-1])[::-1] - w * c
    return light * (1 - alpha) * c - behind, w[:, None] * g


def unit_rows(v, s, x):
    return x @ (s[:, None] * v / np.sqrt((v * v).sum(1, keepdims=True))).T


def without_the_column(g, v, s, x):
    norm = np.sqrt((v * v).sum(1, keepdims=True))
    gw = g.T @ x
    along = (gw * v / norm).sum(1)
    return (gw - v / norm * along[:, None]) / norm, along, g @ (s[:, None] * v / norm)


def first_g_alone(g, z, lags):
    gz = np.zeros(len(z))
    for h in range(1, lags + 1):
        d = (z[h:] - z[:-h]) / (len(z) - h)
        gz[h:] += g[0] * d
        gz[:-h] -= g[0] * d
    return gz


def lagged(z, *, lags=2):
    return np.array([0.5 * ((z[h:] - z[:-h]) ** 2).mean() for h in range(1, lags + 1)])


PLANTED = {
    "a product that takes its own entry in": (
        spec("lit", lit, "sigma color", shapes=(((5,), (5, 3)), ((4,), (4, 2))), domain={"sigma": (0.1, 1.5)}),
        one_too_far,
        "each entry without its own part, as what comes before it alone, in `np.cumprod(1 - alpha)`",
    ),
    "a factor for each row": (
        spec("unit_rows", unit_rows, "v s x", shapes=(((3, 4), (3,), (2, 4)), ((2, 5), (2,), (4, 5)))),
        without_the_column,
        "with one more factor in",
    ),
    "one entry of g in every turn": (
        spec("lagged", lagged, "z", shapes=(((7,),), ((6,),)), settings=({"lags": 2}, {"lags": 3})),
        first_g_alone,
        "a place that moves with the loop in the place of 0 in `g[0]`",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_one_change_mends(name):
    exercise, rule, said = PLANTED[name]
    found = check(exercise, rule).diagnoses[0]
    assert said in found.text and found.certainty == "certain"


def weighed(x, w):
    out = np.zeros(len(x) + 1)
    for i in range(len(x)):
        out[i] += w[i, 1] * x[i]
        out[i + 1] += w[i, 2] * x[i] ** 2
    return out


def in_each_others_places(g, x, w):
    gx, gw = np.zeros(len(x)), np.zeros(w.shape)
    for i in range(len(x)):
        gx[i] += w[i, 2] * g[i]
        gx[i] += 2 * w[i, 1] * x[i] * g[i + 1]
        gw[i, 1] += x[i] * g[i]
        gw[i, 2] += x[i] ** 2 * g[i + 1]
    return gx, gw


def test_two_numbers_in_each_others_places_among_many():
    exercise = spec("weighed", weighed, "x w", shapes=(((4,), (4, 3)), ((5,), (5, 4))))
    (found,) = check(exercise, in_each_others_places).diagnoses
    assert found.input == "x" and "`w[i, 1]` and `w[i, 2]` in each other's places" in found.text


def test_a_gradient_that_is_right_is_not_given_to_another_input():
    exercise = spec("modulated", lambda x, a, b: (1 + a) * x + b, "x a b", shapes=(((4,),) * 3, ((2, 3),) * 3))
    (found,) = check(exercise, lambda g, x, a, b: (g * (1 + a), g, g)).diagnoses
    assert found.input == "a" and "should receive" not in found.text and "local derivative is missing" in found.text
