"""The gradient of forward with another state of a loop, or another entry of a scan; and terms that are left out in several places."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def spec(forward, *inputs, shapes, settings=({},), **more):
    row = Op(forward.__name__, forward, GENERAL, **dict.fromkeys(inputs, derivative_of_forward))
    return Spec(forward.__name__, row, shapes=shapes, settings=settings, **more)


def force(q):
    f = np.sin(q)
    f[1:] += q[:-1] ** 2
    return f


def verlet(q, v, *, dt, steps):
    for _ in range(steps):
        half = v - dt * force(q)
        q = q + dt * half
        v = half - dt * force(q)
    return np.stack([q, v])


VERLET = spec(verlet, "q", "v", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"dt": 0.3, "steps": 3}, {"dt": 0.2, "steps": 4}))


def back_through(q, gf):
    gq = np.cos(q) * gf
    gq[:-1] += 2 * q[:-1] * gf[1:]
    return gq


def before_the_drift(g, q, v, dt, steps):
    states = [q]
    for _ in range(steps):
        v = v - dt * force(q)
        q = q + dt * v
        v = v - dt * force(q)
        states.append(q)
    gq, gv = g
    for q in states[-2::-1]:
        gq = gq - dt * back_through(q, gv)
        gv = gv + dt * gq
        gq = gq - dt * back_through(q, gv)
    return gq, gv


def sweeps(a, b, *, rounds):
    x = np.zeros(len(b), dtype=np.result_type(a, b))
    for _ in range(rounds):
        for i in range(len(b)):
            x[i] = (b[i] - a[i] @ x) / 3
    return x


SWEEPS = spec(sweeps, "a", "b", shapes=(((4, 4), (4,)), ((3, 3), (3,))), settings=({"rounds": 2}, {"rounds": 3}), broadcast=False)


def from_before_the_sweep(g, a, b, rounds):
    n, gx, ga, gb = len(b), g.copy(), np.zeros_like(a), np.zeros_like(b)
    states = [np.zeros(n)]
    for _ in range(rounds):
        x = states[-1].copy()
        for i in range(n):
            x[i] = (b[i] - a[i] @ x) / 3
        states.append(x)
    for x in states[-2::-1]:
        for i in reversed(range(n)):
            c, gx[i] = gx[i] / 3, 0
            gb[i] += c
            ga[i] -= c * x
            gx -= c * a[i]
    return ga, gb


def bent(q):
    bend = -2 * q
    bend[1:] += q[:-1]
    bend[:-1] += q[1:]
    return bend


def pendulums(q, v, *, dt, steps):
    for _ in range(steps):
        v = v + dt * (bent(q) - np.sin(q))
        q = q + dt * v
    return np.stack([q, v])


PENDULUMS = spec(pendulums, "q", "v", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"dt": 0.3, "steps": 3}, {"dt": 0.2, "steps": 4}))


def without_neighbours(g, q, v, dt, steps):
    states = [q]
    for _ in range(steps):
        v = v + dt * (bent(q) - np.sin(q))
        q = q + dt * v
        states.append(q)
    gq, gv = g
    for q in states[-2::-1]:
        gv = gv + dt * gq
        gq = gq - dt * (2 + np.cos(q)) * gv
    return gq, gv


def areas(p, w):
    at = (np.arange(len(p)) + 1) % len(p)
    return (np.sin(p[at] * p) + np.exp(-p[at]) * p) @ w


AREAS = spec(areas, "p", "w", shapes=(((5,), (5, 6)), ((4,), (4, 5))), broadcast=False)


def own_corner_alone(g, p, w):
    after = np.roll(p, -1)
    return (w @ g) * (np.cos(after * p) * after + np.exp(-after)), np.outer(np.sin(after * p) + np.exp(-after) * p, g)


def arm(theta, length):
    phi = np.cumsum(theta, axis=1)
    return np.stack([(length * np.cos(phi)).sum(1), (length * np.sin(phi)).sum(1)], 1)


ARM = spec(arm, "theta", "length", shapes=(((3, 4), (4,)), ((2, 3), (3,))), broadcast=False)


def about_the_base(g, theta, length):
    phi = np.cumsum(theta, axis=1)
    turn = g[:, 1:] * length * np.cos(phi) - g[:, :1] * length * np.sin(phi)
    every = np.roll(turn, 1, axis=1)[:, ::-1].sum(1, keepdims=True) * np.ones_like(theta)
    return every, (g[:, :1] * np.cos(phi) + g[:, 1:] * np.sin(phi)).sum(0)


def at_risk(x, d):
    total = np.logaddexp.accumulate(x[:, ::-1], axis=1)[:, ::-1]
    return (d * (total - x)).sum(1)


AT_RISK = spec(at_risk, "x", "d", shapes=(((3, 5), (3, 5)), ((2, 4), (2, 4))), broadcast=False)


def all_at_risk(g, x, d):
    total = np.logaddexp.accumulate(x[:, ::-1], axis=1)[:, ::-1]
    share = np.exp(x - x.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    return g[:, None] * (d.sum(1, keepdims=True) * share - d), g[:, None] * (total - x)


def without_the_events(g, x, d):
    total = np.logaddexp.accumulate(x[:, ::-1], axis=1)[:, ::-1]
    gx = -d
    for i in range(x.shape[1]):
        gx[:, i:] += np.exp(x[:, i:] - total[:, i, None])
    return g[:, None] * gx, g[:, None] * (total - x)


@pytest.mark.parametrize(
    ("exercise", "rule", "words"),
    [
        (VERLET, before_the_drift, "is right with `q` in `v = half - dt * force(q)` as it is in `half = v - dt * force(q)` in each turn"),
        (SWEEPS, from_before_the_sweep, "is right with the `x` from before the inner loop in every turn of the loop"),
        (PENDULUMS, without_neighbours, "what comes back through all that is added to entries of `bend`, as if that were a constant"),
        (AREAS, own_corner_alone, "what comes back through `p[at]` in all its places, as if that were a constant"),
        (ARM, about_the_base, "the same everywhere along axis 1"),
        (AT_RISK, all_at_risk, "the last entry of `np.logaddexp.accumulate(x[:, ::-1], axis=1)` is in the place of all of them"),
        (AT_RISK, without_the_events, "would be right with one more factor in `np.exp(x[:, i:] - total[:, i, None])`"),
    ],
)
def test_the_other_state_is_named(exercise, rule, words):
    report = check(exercise, rule, seconds=60)
    assert not report.passed
    assert any(words in found.text for found in report.diagnoses), report


def from_each_on(v, axis):
    return np.flip(np.cumsum(np.flip(v, axis), axis), axis)


@pytest.mark.parametrize(
    ("operation", "rule", "words"),
    [
        (
            "cumprod",
            lambda g, x, out, axis: from_each_on(g, axis) * np.take(out, [-1], axis) / x,
            "uses the last result of forward for all",
        ),
        ("cumsum", lambda g, x, axis: from_each_on(g, axis) + g, "adds up what comes after each entry, twice its own place"),
    ],
)
def test_a_scan_by_name(operation, rule, words):
    assert words in check(operation, rule).diagnoses[0].text
