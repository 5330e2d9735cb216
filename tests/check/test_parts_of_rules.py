"""A part of a rule that is another one: an operand of einsum, a share for its rest, the place of a factor, the point of a derivative."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def spec(forward, *inputs, **more):
    return Spec(forward.__name__, Op(forward.__name__, forward, GENERAL, **dict.fromkeys(inputs, derivative_of_forward)), **more)


def triple(a, b, r, *, scale):
    return np.tanh(np.einsum("id,jd,d->ij", a, b, r) * scale)


TRIPLE = spec(triple, "a", "b", "r", shapes=(((3, 4), (2, 4), (4,)), ((2, 3), (4, 3), (3,))), settings=({"scale": 0.5}, {"scale": 1.2}))


def an_operand_less(g, a, b, r, out, scale):
    ds = g * (1 - out**2) * scale
    return np.einsum("ij,jd,d->id", ds, b, r), np.einsum("ij,id,d->jd", ds, a, r), np.einsum("ij,id->d", ds, a)


def an_operand_more(g, a, b, r, out, scale):
    ds = g * (1 - out**2) * scale
    return np.einsum("ij,jd,d->id", ds, b, r), np.einsum("ij,id,d->jd", ds, a, r), np.einsum("ij,id,jd,d->d", ds, a, b, r)


def another_operand(g, a, b, r, out, scale):
    ds = g * (1 - out**2) * scale
    return np.einsum("ij,jd,d->id", ds, b, r), np.einsum("ij,jd,d->jd", ds, b, r), np.einsum("ij,id,jd->d", ds, a, b)


def blend(x, y, *, p):
    up = np.tanh(p * x + (1 - p) * y)
    return up * y * y + p * x * x


BLEND = spec(blend, "x", "y", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"p": 0.3}, {"p": 0.8}))


def of_the_rest(g, x, y, p):
    up = np.tanh(p * x + (1 - p) * y)
    du = g * y * y * (1 - up * up)
    return (1 - p) * du + 2 * g * p * x, p * du + 2 * g * up * y


def smooth(x, *, n):
    a = np.tril(np.ones((len(x), len(x)))) + n * np.eye(len(x))
    return np.tanh(a @ x / a.sum(1)[:, None])


SMOOTH = spec(smooth, "x", shapes=(((4, 3),), ((5, 2),)), settings=({"n": 1}, {"n": 2}))


def after_the_product(g, x, out, n):
    a = np.tril(np.ones((len(x), len(x)))) + n * np.eye(len(x))
    d = a.sum(1)
    dz = g * (1 - out * out)
    return a.T @ dz / d[:, None]


def softened(x):
    return np.tanh(x) @ np.tril(np.ones((x.shape[1], x.shape[1]))) / np.arange(1, x.shape[1] + 1)


SOFTENED = spec(softened, "x", shapes=(((3, 4),), ((2, 3),)))


def before_the_product(g, x):
    a = np.tril(np.ones((x.shape[1], x.shape[1])))
    n = np.arange(1, x.shape[1] + 1)
    return (1 - np.tanh(x) ** 2) * (g @ (a.T / n))


def rising(x, y):
    return (np.cumsum(x * x, -1) - y) ** 2


RISING = spec(rising, "x", "y", shapes=(((2, 4), (2, 4)), ((3, 5), (3, 5))), broadcast=False)


def no_running_sum(g, x, y):
    d = 2 * g * (np.cumsum(x * x, -1) - y)
    return 2 * x * d, -d


def stretched(u, k):
    return k * np.concatenate([u[:1], u[1:] - u[:-1]])


STRETCHED = spec(stretched, "u", "k", shapes=(((5,), (5,)), ((4,), (4,))), broadcast=False)


def the_other_end(g, u, k):
    f = g * k
    return f - np.append(f[1:], 0.0), g * np.diff(u, append=0.0)


def anomaly(m, e, *, iterations):
    x = m
    for _ in range(iterations):
        x = x - (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
    return np.cos(x) - e


ANOMALY = spec(
    anomaly, "m", "e", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"iterations": 12}, {"iterations": 15}),
    domain={"m": (0.3, 2.5), "e": (0.1, 0.6)}, broadcast=False,
)  # fmt: skip


def solved(m, e):
    x = m
    for _ in range(20):
        x = x - (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
    return x


def at_another_point(g, m, e, iterations):
    x = solved(m, e)
    d = 1 - e * np.cos(m)
    return -g * np.sin(x) / d, -g * np.sin(x) ** 2 / d - g


def not_at_the_solution(g, m, e, iterations):
    d = 1 - e * np.cos(m)
    return -g * np.sin(m) / d, -g * np.sin(m) ** 2 / d - g


def masked(p, y, *, valid):
    m = np.array(valid, float)
    d = (p - y) * m
    return (d * d).sum(-1) / m.sum()


MASKED = spec(
    masked, "p", "y", shapes=(((3, 5), (3, 5)), ((2, 5), (2, 5))), settings=({"valid": (1, 1, 0, 1, 0)}, {"valid": (1, 0, 0, 1, 1)}),
    broadcast=False,
)  # fmt: skip


def of_all_entries(g, p, y, valid):
    m = np.array(valid, float)
    d = 2 * (p - y) * m / p.shape[-1] * g[..., None]
    return d, -d


def expectile(y, q, *, tau):
    u = y - q
    return np.where(u >= 0, tau, 1 - tau) * u * u


EXPECTILE = spec(expectile, "y", "q", shapes=(((3, 4), (3, 4)), ((5,), (5,))), settings=({"tau": 0.3}, {"tau": 0.8}), broadcast=False)


def of_a_quantile(g, y, q, tau):
    u = y - q
    d = g * np.where(u >= 0, tau, tau - 1)
    return d, -d


def a_sign_in_one_piece(g, y, q, tau):
    u = y - q
    d = 2 * g * np.where(u >= 0, tau, tau - 1) * u
    return d, -d


def log_ratio(x, y, *, eps):
    return np.log(np.abs(x) + eps) - np.log(np.abs(y) + eps)


LOG_RATIO = spec(log_ratio, "x", "y", shapes=(((3, 4), (3, 4)), ((4,), (4,))), settings=({"eps": 0.1}, {"eps": 0.5}), broadcast=False)


def without_abs(g, x, y, eps):
    return g / (x + eps), -g * np.sign(y) / (np.abs(y) + eps)


def shared_first(x, *, n):
    a = np.tril(np.ones((len(x), len(x)))) + n * np.eye(len(x))
    return np.tanh(a @ (x / a.sum(0)[:, None]) + x)


SHARED_FIRST = spec(shared_first, "x", shapes=(((4, 3),), ((5, 2),)), settings=({"n": 1}, {"n": 2}))


def shared_too_late(g, x, out, n):
    a = np.tril(np.ones((len(x), len(x)))) + n * np.eye(len(x))
    d = a.sum(0)
    dz = g * (1 - out * out)
    return a.T @ (dz / d[:, None]) + dz


def heun(x, *, h):
    first = np.sin(x)
    second = np.sin(x + h * first)
    return x + h * (first + second) / 2


HEUN = spec(heun, "x", shapes=(((7,),), ((3, 4),)), settings=({"h": 0.1}, {"h": 0.4}))


def of_ralston(g, x, h):
    s = x + h * np.sin(x)
    d2 = 0.75 * h * g * np.cos(s)
    return g + d2 + (0.25 * h * g + h * d2) * np.cos(x)


def two_terms(x, w):
    return np.tanh(x) * w + np.sin(x) ** 3


TWO_TERMS = spec(two_terms, "x", "w", shapes=(((4,), ()), ((3, 2), ())))
COMMON = "lambda g, x, w: (g * w * (1 - np.tanh(x) ** 2 + 3 * np.sin(x) ** 2 * np.cos(x)), (g * np.tanh(x)).sum())"
SHARED = "lambda g, x, w: (g * (w * (1 - np.tanh(x) ** 2) + 3 * np.sin(x) ** 2 * np.cos(x) / w), (g * np.tanh(x)).sum())"


def guessed(x, w, *, guess, lapse):
    return np.log(guess + (1 - guess - lapse) / (1 + np.exp(-x * w)))


GUESSED = spec(
    guessed, "x", "w", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"guess": 0.2, "lapse": 0.05}, {"guess": 0.3, "lapse": 0.1}),
    broadcast=False,
)  # fmt: skip


def without_the_lapse(g, x, w, out, guess, lapse):
    f = 1 / (1 + np.exp(-x * w))
    d = g * np.exp(-out) * (1 - guess) * f * (1 - f)
    return d * w, d * x


def balanced(x, *, gamma):
    return (x / x.mean(axis=0)) ** (1 / gamma)


BALANCED = spec(balanced, "x", shapes=(((5, 3),), ((3, 4),)), settings=({"gamma": 2.2}, {"gamma": 1.6}), domain={"x": (0.2, 0.9)})


def of_its_own_place(g, x, out, gamma):
    n, mean, d = len(x), x.mean(axis=0), np.zeros_like(x)
    for i, j in np.ndindex(x.shape):
        pull = g[i, j] * out[i, j] / gamma
        d[i, j] += pull / x[i, j]
        d[i, j] -= pull / mean[j] / n
    return d


@pytest.mark.parametrize(
    ("spec", "rule", "said"),
    [
        (TRIPLE, an_operand_less, "with one more operand in `np.einsum(\"ij,id->d\", ds, a)`"),
        (TRIPLE, an_operand_more, "is the right one times r"),
        (TRIPLE, another_operand, "another operand in the place of `b`"),
        (BLEND, of_the_rest, "would be right with `p` in the place of `1 - p` in `(1 - p) * du`"),
        (SMOOTH, after_the_product, "`d[:, None]` before the product, and not after it"),
        (GUESSED, without_the_lapse, "would be right with one more term in `1 - guess`"),
        (BALANCED, of_its_own_place, "all along an axis, and not one entry, in `d[i, j] -= pull / mean[j] / n`"),
        (SHARED_FIRST, shared_too_late, "`d[:, None]` after the product, and not before it"),
        (HEUN, of_ralston, "what comes back through them is 0.5 and 1.5 times as large as it should be"),
        (TWO_TERMS, eval(COMMON), "has one of its terms w times as large as it should be"),  # without a source that could be changed
        (TWO_TERMS, eval(SHARED), "has one of its terms 1 / w times as large as it should be"),
        (SOFTENED, before_the_product, "applies a factor or divisor"),
        (RISING, no_running_sum, "with a running sum of"),
        (STRETCHED, the_other_end, "another end than `append`"),
        (ANOMALY, at_another_point, "another value in the place of `m` in `np.cos(m)`"),
        (ANOMALY, not_at_the_solution, "the `x` that the loop of forward ends with in the place of `m`"),
        (MASKED, of_all_entries, "the number of entries where `m` is 1 in the place of `p.shape[-1]`"),
        (EXPECTILE, of_a_quantile, "the absolute value is in the place of the square of `u`"),
        (EXPECTILE, a_sign_in_one_piece, "the other sign of `tau - 1`"),
        (LOG_RATIO, without_abs, "its argument is in the place of `np.abs(x)`"),
    ],
)  # fmt: skip
def test_the_part_is_named(spec, rule, said):
    report = check(spec, rule)
    assert said in " ".join(d.text for d in report.diagnoses), report
    assert not report.passed


def test_a_mask_that_the_rule_has_is_not_certain_to_be_missing():
    (found,) = check("elu", lambda g, x, alpha: alpha * g * np.where(x > 0, 1, np.exp(np.minimum(x, 0)))).diagnoses
    (without,) = check("elu", lambda g, x, alpha: alpha * g * np.exp(np.minimum(x, 0))).diagnoses
    assert (found.certainty, without.certainty) == ("likely", "certain")
