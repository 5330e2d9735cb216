"""Rules for forwards that fill arrays, go round loops or write a sigmoid out: the step that a slip is in is named."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import GENERAL, Op


def spec(forward, inputs, *shapes, **more):
    rules = dict.fromkeys(inputs.split(), derivative_of_forward)
    return Spec(forward.__name__, Op(forward.__name__, forward, GENERAL, **rules), shapes=shapes, **more)


def blended(table, at):
    i = np.clip(np.floor(at).astype(int), 0, len(table) - 2)
    f = at - i
    return (1 - f) * table[i] + f * table[i + 1]


def blended_rule(g, table, at):
    i = np.clip(np.floor(at).astype(int), 0, len(table) - 2)
    left = np.zeros_like(table)
    np.add.at(left, i, (1 - at + i) * g)
    return left, g * table[i + 1]


def received(x, *, to=(0, 2, 0, 1)):
    total, degree = np.zeros((3, x.shape[1])), np.bincount(to, minlength=3)
    np.add.at(total, list(to), x)
    return total / degree[:, None]


def received_rule(g, x, to):
    return g[list(to)]


def attended(q, k):
    e = np.exp(q @ k.T)
    return np.tanh(e / e.sum(-1, keepdims=True))


def attended_rule(g, q, k):
    e = np.exp(q @ k.T)
    p = e / e.sum(-1, keepdims=True)
    d = g * (1 - np.tanh(p) ** 2) * p * (1 - p)
    return d @ k, d.T @ q


def lagged(x, *, lags):
    return np.stack([np.sum(x[: len(x) - k] * x[k:]) for k in range(1, lags + 1)])


def lagged_rule(g, x, lags):
    gx = np.zeros_like(x)
    for k in range(1, lags + 1):
        gx[k:] += g[k - 1] * x[: len(x) - k]
    return gx


def ranked(x, *, width):
    return (1 / (1 + np.exp((x[:, None] - x) / -width))).sum(1)


def ranked_rule(g, x, width):
    s = 1 / (1 + np.exp((x[:, None] - x) / -width))
    d = g[:, None] * s / width
    return d.sum(1) - d.sum(0)


def neighbours(x, *, width):
    return np.stack([x[k:] * 1.0 @ x[: len(x) - k] for k in range(1, width + 1)])


def neighbours_rule(g, x, width):
    return sum(g[k - 1] * (np.roll(x, k) + np.roll(x, -k)) for k in range(1, width + 1))


def shared(t):
    p = t / t.sum()
    return np.sum(p * np.log(p / p.sum(0)))


def shared_rule(g, t):
    p = t / t.sum()
    return g * (np.log(p) - (p * np.log(p)).sum()) / t.sum()


def paid(c, r):
    t = np.arange(1, len(c) + 1)
    return (c / (1 + r) ** t).sum()


def paid_rule(g, c, r):
    t = np.arange(len(c))
    return g / (1 + r) ** t, -(g * c * t / (1 + r) ** (t + 1)).sum()


def variation(x, *, eps):
    return np.sqrt(np.diff(x) ** 2 + eps).sum(-1)


def variation_rule(g, x, eps):
    s = g[..., None] * np.diff(x) / np.sqrt(np.diff(x) ** 2 + eps)
    ends = np.concatenate([s, s[..., :1]], -1)
    gx = np.roll(ends, 1, -1) - ends
    gx[..., 0] = -s[..., 0]
    return gx


def mixed(p, q):
    return 0.5 * (p * np.log(2 * p / (p + q)) + q * np.log(2 * q / (p + q))).sum()


def mixed_rule(g, p, q):
    m = (p + q) / 2
    return g * 0.5 * np.log(p / m), g * 0.5 * np.log(q / p)


def blurred(x, *, power):
    return x / (np.abs(x) ** power).mean(-1, keepdims=True) ** (1 / power)


def blurred_rule(g, x, power):
    n = (np.abs(x) ** power).mean(-1, keepdims=True) ** (1 / power)
    y = x / n
    return (g - y * (g * y).mean(-1, keepdims=True)) / n


POSITIVE = {"p": (0.2, 1.0), "q": (0.2, 1.0)}
CASES = [
    (spec(blended, "table at", ((5,), (4,)), ((6,), (3,)), domain={"at": (0.1, 3.9)}), blended_rule, "at", "through the difference `1 - f`"),
    (spec(received, "x", ((4, 2),), ((4, 3),)), received_rule, "x", "without its division by a constant, in the derivative of the quotient"),
    (spec(attended, "q k", ((3, 2), (4, 2)), ((2, 3), (3, 3))), attended_rule, "q", "the diagonal alone of the derivative of the quotient"),
    (spec(lagged, "x", ((6,),), ((7,),), settings=({"lags": 2}, {"lags": 3})), lagged_rule, "x", "one half of the product rule alone: both factors of each product"),
    (spec(ranked, "x", ((4,),), ((5,),), settings=({"width": 0.7}, {"width": 1.3})), ranked_rule, "x", "without the factor 1 - s in the derivative of sigmoid"),
    (spec(neighbours, "x", ((6,),), ((7,),), settings=({"width": 2}, {"width": 3})), neighbours_rule, "x", "with nothing that comes round the end in `np.roll(x, "),
    (spec(shared, "t", ((3, 4),), ((2, 3),), domain={"t": (0.2, 2.0)}), shared_rule, "t", "with 1 in the place of the sum over an axis"),
    (spec(paid, "c r", ((4,), ()), ((5,), ()), domain={"r": (0.02, 0.5)}), paid_rule, "c", "with a count from another number in `np.arange(len(c))`"),
    (spec(variation, "x", ((2, 5),), ((3, 4),), settings=({"eps": 0.1}, {"eps": 0.4})), variation_rule, "x", "everywhere but at the last place along axis 1"),
    (spec(mixed, "p q", ((3, 4), (3, 4)), ((2, 3), (2, 3)), domain=POSITIVE), mixed_rule, "q", "another value in the place of `p` in `q / p`"),
    (spec(blurred, "x", ((2, 4),), ((3, 3),), settings=({"power": 3.0}, {"power": 4.0})), blurred_rule, "x", "a wrong derivative of one step, that of"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "rule", "x", "words"), CASES, ids=lambda case: getattr(case, "name", None))
def test_the_step_is_named(exercise, rule, x, words):
    (found,) = [d for d in check(exercise, rule).diagnoses if d.text.startswith(f"The gradient for {x} ")]
    assert words in found.text


def test_values_that_change_places_get_no_hint_about_the_order_of_arguments():
    def rule(g, table, at):
        i = np.clip(np.floor(at).astype(int), 0, len(table) - 2)
        shares = np.zeros_like(table)
        np.add.at(shares, i, (at - i) * g)
        np.add.at(shares, i + 1, (1 - at + i) * g)
        return shares, g * (table[i + 1] - table[i])

    (found,) = check(CASES[0][0], rule).diagnoses
    assert "exchanged" in found.text and "arguments" not in found.hint
