"""The gradient of a computation that differs from forward in one place: which one it is, where no change of the rule mends it."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def spec(forward, *inputs, shapes, settings=({},), **more):
    row = Op(forward.__name__, forward, GENERAL, **dict.fromkeys(inputs, derivative_of_forward))
    return Spec(forward.__name__, row, shapes=shapes, settings=settings, **more)


def midpoint(x, k, *, h, steps):
    for _ in range(steps):
        a = -k * x * x
        y = x + 0.5 * h * a
        x = x + h * (-k * y * y)
    return x


MIDPOINT = spec(
    midpoint, "x", "k", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"h": 0.1, "steps": 3}, {"h": 0.2, "steps": 4}),
    domain={"x": (0.2, 1.5), "k": (0.2, 1.5)},
)  # fmt: skip


def of_eulers_step(g, x, k, h, steps):
    saved = []
    for _ in range(steps):
        saved.append(x)
        y = x - 0.5 * h * k * x * x
        x = x - h * k * y * y
    dk = np.zeros_like(k)
    for x in reversed(saved):
        dk += -g * h * x * x
        g = g * (1 - 2 * h * k * x)
    return g, dk


def of_the_last_values(g, x, k, h, steps):
    for _ in range(steps):
        y = x - 0.5 * h * k * x * x
        x = x - h * k * y * y
    dk = np.zeros_like(k)
    for _ in range(steps):
        dk += -g * h * y * y
        dy = -2 * g * h * k * y
        dk += -0.5 * h * dy * x * x
        g = g + dy - h * dy * k * x
    return g, dk


def balanced(x, *, rounds):
    p = np.exp(x)
    for _ in range(rounds):
        p = p / p.sum(1, keepdims=True)
        p = p / p.sum(0, keepdims=True)
    return p


BALANCED = spec(balanced, "x", shapes=(((3, 3),), ((2, 4),)), settings=({"rounds": 2}, {"rounds": 3}), domain={"x": (-1.0, 1.0)})


def of_the_last_round(g, x, rounds):
    first = p = np.exp(x)
    for _ in range(rounds):
        q = p / (r := p.sum(1, keepdims=True))
        p = q / (c := q.sum(0, keepdims=True))
    g = (g - (g * p).sum(0, keepdims=True)) / c
    g = (g - (g * q).sum(1, keepdims=True)) / r
    return g * first


def paths(s, *, gap):
    n, m = s.shape
    a = [[0.0 * s[0, 0] for _ in range(m + 1)] for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a[i][j] = np.logaddexp(np.logaddexp(a[i - 1][j] - gap, a[i][j - 1] - gap), a[i - 1][j - 1] + s[i - 1, j - 1])
    return a[n][m]


PATHS = spec(paths, "s", shapes=(((3, 4),), ((3, 2),)), settings=({"gap": 0.5}, {"gap": 1.0}))


def of_the_best_path(g, s, gap):
    n, m = s.shape
    a = np.zeros((n + 1, m + 1))
    ds = np.zeros_like(s)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a[i, j] = max(a[i - 1, j] - gap, a[i, j - 1] - gap, a[i - 1, j - 1] + s[i - 1, j - 1])
    i, j = n, m
    while i and j:
        if a[i, j] == a[i - 1, j - 1] + s[i - 1, j - 1]:
            i, j = i - 1, j - 1
            ds[i, j] = g
        elif a[i, j] == a[i - 1, j] - gap:
            i -= 1
        else:
            j -= 1
    return ds


def paths_of_soft_maxima(s, *, gap):
    n, m = s.shape
    a = [[0.0 * s[0, 0] for _ in range(m + 1)] for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            z = np.stack([a[i - 1][j - 1] + s[i - 1, j - 1], a[i - 1][j] - gap, a[i][j - 1] - gap])
            top = z.max()
            a[i][j] = np.log(np.exp(z - top).sum()) + top
    return a[n][m]


SOFT = spec(paths_of_soft_maxima, "s", shapes=(((3, 4),), ((3, 2),)), settings=({"gap": 0.5}, {"gap": 1.0}))


def soft_paths(g, s, gap, table, share):
    n, m = s.shape
    a, w = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1, 3))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            z = np.array([a[i - 1, j - 1] + s[i - 1, j - 1], a[i - 1, j] - gap, a[i, j - 1] - gap])
            a[i, j], w[i, j] = table(z), share(z)
    da, ds = np.zeros((n + 1, m + 1)), np.zeros_like(s)
    da[n, m] = g
    for i in range(n, 0, -1):
        for j in range(m, 0, -1):
            ds[i - 1, j - 1] = da[i, j] * w[i, j, 0]
            da[i - 1, j - 1] += da[i, j] * w[i, j, 0]
            da[i - 1, j] += da[i, j] * w[i, j, 1]
            da[i, j - 1] += da[i, j] * w[i, j, 2]
    return ds


def soft(z):
    return np.log(np.exp(z).sum())


def softmax(z):
    return np.exp(z - soft(z))


def of_the_larger_one(g, s, gap):
    return soft_paths(g, s, gap, soft, lambda z: np.eye(3)[z.argmax()])


def of_a_hard_table(g, s, gap):
    return soft_paths(g, s, gap, np.max, softmax)


LEFT_OUT = "in which `np.log(np.exp(z - top).sum())` is left out of `np.log(np.exp(z - top).sum()) + top`"


@pytest.mark.parametrize(
    ("exercise", "rule", "words"),
    [
        (
            MIDPOINT,
            of_eulers_step,
            "in which `0.5 * h * a` is left out of `x + 0.5 * h * a` in each turn, where each begins with the right",
        ),
        (MIDPOINT, of_the_last_values, "from after the loop in every turn of the loop, where each has its own"),
        (BALANCED, of_the_last_round, "is right but for what the turns of the loop before the last do to `p`, which it leaves out"),
        (PATHS, of_the_best_path, "in which the larger of the two is in the place of `np.logaddexp("),
        (SOFT, of_the_larger_one, "misses a term: what comes back through `np.log(np.exp(z - top).sum())`, as if that were a constant"),
        (SOFT, of_a_hard_table, f"is right with the values of another forward, {LEFT_OUT}"),
    ],
)
def test_another_forward_is_named(exercise, rule, words):
    (found, *_) = check(exercise, rule, seconds=60).diagnoses
    assert words in found.text
    assert found.certainty == "likely"
    assert "unknown" not in (found.family, *found.alternatives)


def test_a_gradient_of_no_other_forward_stays_unknown():
    def rule(g, x, rounds):
        return np.sin(7 * x + g) ** 3

    (found, *_) = check(BALANCED, rule, seconds=60).diagnoses
    assert "another forward" not in found.text


def test_what_is_right_in_the_smaller_call_alone_is_not_said():
    """After one step Euler's derivative is that of another forward; after three only from the right states."""
    found = check(MIDPOINT, of_eulers_step, seconds=60).diagnoses
    assert all("where each begins with the right values" in each.text for each in found)


def mean_of_quotients(x, y):
    return np.mean(np.abs(x - y) / np.abs(y), axis=0)


def of_a_quotient_of_sums(g, x, y):
    s, d = np.sign(x - y), np.abs(y).sum(0)
    return g * s / d, -g * s / d - g * np.abs(x - y).sum(0) * np.sign(y) / d**2


@pytest.mark.parametrize("forward", [mean_of_quotients, lambda x, y: (np.abs(x - y) / np.abs(y)).mean(0)])
def test_a_quotient_of_means_is_named(forward):
    exercise = spec(forward, "x", "y", shapes=(((4, 3), (4, 3)), ((3, 5), (3, 5))))
    (found, *_) = check(exercise, of_a_quotient_of_sums, seconds=60).diagnoses
    assert "the quotient of two `mean`s is in the place of " in found.text


def length(q):
    return np.sqrt(((q[1:] - q[:-1]) ** 2).sum(-1)).sum()


def of_signs(g, q):
    d = np.sign(q[1:] - q[:-1])
    out = np.zeros_like(q)
    out[1:] += g * d
    out[:-1] -= g * d
    return out


def test_a_sign_in_the_place_of_a_direction_is_named():
    (found, *_) = check(spec(length, "q", shapes=(((4, 2),), ((5, 3),))), of_signs, seconds=60).diagnoses
    assert "a unit vector, divided by its length, in the place of `np.sign(" in found.text
