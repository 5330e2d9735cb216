"""Rules for forwards that fill arrays, go round loops or write a sigmoid out: the step that a slip is in is named."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.check.run.reference import sum_to
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


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
    t = np.arange(1, c.shape[1] + 1)
    return (c / (1 + r)[:, None] ** t).sum(1)


def paid_rule(g, c, r):
    t, base, g = np.arange(c.shape[1]), (1 + r)[:, None], g[:, None]
    return g / base**t, -(g * c * t / base ** (t + 1)).sum(1)


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


def produced(k, *, rho):
    return (k**rho).sum(-1) ** 2


def produced_rule(g, k, rho):
    return (2 * g * (k**rho).sum(-1))[:, None] * k**rho * np.log(k)


def steep(x, *, eps):
    across, along = (x[1:-1, 2:] - x[1:-1, :-2]), (x[2:, 1:-1] - x[:-2, 1:-1])
    return np.sqrt(across**2 + along**2 + eps)


def steep_rule(g, out, x):
    across = g * (x[1:-1, 2:] - x[1:-1, :-2]) / out
    along = g * (x[2:, 1:-1] - x[:-2, 1:-1]) / out
    gx = np.zeros_like(x)
    gx[1:-1, 2:] += along
    gx[1:-1, :-2] -= along
    gx[2:, 1:-1] += across
    gx[:-2, 1:-1] -= across
    return gx


def reached(x, w, *, to=(0, 2, 0, 1)):
    into = (np.arange(3)[:, None] == np.array(to)) * 1.0
    return (into * w) @ x / (into @ w)[:, None]


def reached_rule(g, x, w, to, out):
    to = list(to)
    count, total = np.bincount(to, minlength=3), np.bincount(to, weights=w, minlength=3)
    return (w / count[to])[:, None] * g[to], ((x - out[to]) * g[to]).sum(1) / total[to]


def kept(x, *, k):
    return np.sort(x, -1)[..., k : x.shape[-1] - k].mean(-1)


def kept_rule(g, x, k):
    n = x.shape[-1]
    rank = np.argsort(np.argsort(x, -1), -1)
    return g[..., None] * ((rank >= k) & (rank < n - k)) / n


def due(c, r, *, start):
    return (c * (1 + r[:, None]) ** (-1.0 * (start + np.arange(c.shape[1])))).sum(1)


def due_rule(g, c, r, start):
    gc, gr = np.zeros_like(c), 0 * r
    for t in range(c.shape[1]):
        gc[:, t] = g * (1 + r) ** -float(t + start)
        gr -= g * c[:, t] * t * (1 + r) ** -float(t + start + 1)
    return gc, gr


def smooth(x, a):
    rows, h = [], 0 * x[0]
    for t in range(len(x)):
        h = (1 - a) * h + a * x[t]
        rows.append(h)
    return np.stack(rows)


def smooth_rule(g, x, a, out):
    gx, ga, carry = np.zeros_like(x), np.zeros_like(a), 0 * a
    for t in reversed(range(len(x))):
        carry = carry + g[t]
        gx[t] = a * carry
        ga += carry * (x[t] - (out[t - 1] if t else 0))
        carry = a * carry
    return gx, ga


def pooled(x, *, size):
    return np.log(np.exp(x.reshape(len(x), -1, size)).sum(-1))


def pooled_rule(g, x, size):
    return np.repeat(g, size, 1) / size


def gated(x, w):
    return x * (1 / (1 + np.exp(-(x @ w))))


def gated_rule(g, x, w):
    s = 1 / (1 + np.exp(-(x @ w)))
    return g * s + (g * x) @ w.T, x.T @ (g * x)


def deviating(r, *, ddof):
    d = r - r.mean(-1, keepdims=True)
    return r.mean(-1) + np.sqrt((d * d).sum(-1) / (r.shape[-1] - ddof))


def deviating_rule(g, r, ddof):
    d, n = r - r.mean(-1, keepdims=True), r.shape[-1]
    s = np.sqrt((d * d).sum(-1, keepdims=True) / (n - ddof))
    return g[:, None] * (1 / n + d / (n * s))


def thirds(x):
    return (x**2).sum(-1, keepdims=True) * np.sin(x)


def thirds_rule(g, x):
    return g * (x**2).sum(-1, keepdims=True) * np.cos(x) + 0.7 * x * (g * np.sin(x)).sum(-1, keepdims=True)


def split(p, f):
    return f * p[:, :2] / p[:, 2:]


def split_rule(g, p, f):
    gp = np.zeros_like(p)
    gp[:, :2] = g * f / p[:, 2:]
    gp[:, 2] = -g[:, 0] * f[0] * p[:, 0] / p[:, 2] ** 2
    return gp, (g * p[:, :2] / p[:, 2:]).sum(0)


POSITIVE = {"p": (0.2, 1.0), "q": (0.2, 1.0)}


def leaky(x, k):
    h = x @ k
    return np.tanh(np.where(h > 0, h, 0.1 * h)).sum(axis=0)


def leaky_rule(g, x, k):
    h = x @ k
    u = g * (1 - np.tanh(np.where(h > 0, h, 0.1 * h)) ** 2)
    return u @ k.T, x.T @ u


def leaky_exchanged(g, x, k):
    h = x @ k
    u = g * (1 - np.tanh(np.where(h > 0, h, 0.1 * h)) ** 2)
    u[h > 0] *= 0.1
    return u @ k.T, x.T @ u


CASES = [
    (spec(blended, "table at", ((5,), (4,)), ((6,), (3,)), domain={"at": (0.1, 3.9)}), blended_rule, "at", "through the difference `1 - f`"),
    (spec(received, "x", ((4, 2),), ((4, 3),)), received_rule, "x", "without its division by a constant, in the derivative of the quotient"),
    (spec(attended, "q k", ((3, 2), (4, 2)), ((2, 3), (3, 3))), attended_rule, "q", "the diagonal alone of the derivative of the quotient"),
    (spec(lagged, "x", ((6,),), ((7,),), settings=({"lags": 2}, {"lags": 3})), lagged_rule, "x", "one half of the product rule alone: both factors of each product"),
    (spec(ranked, "x", ((4,),), ((5,),), settings=({"width": 0.7}, {"width": 1.3})), ranked_rule, "x", "without the factor 1 - s in the derivative of sigmoid"),
    (spec(neighbours, "x", ((6,),), ((7,),), settings=({"width": 2}, {"width": 3})), neighbours_rule, "x", "with nothing that comes round the end in `np.roll(x, "),
    (spec(shared, "t", ((3, 4),), ((2, 3),), domain={"t": (0.2, 2.0)}), shared_rule, "t", "never divides by the result of `p.sum(0)`"),
    (spec(paid, "c r", ((2, 4), (2,)), ((3, 5), (3,)), domain={"r": (0.02, 0.5)}), paid_rule, "c", "with a count from another number in `np.arange(c.shape[1])`"),
    (spec(variation, "x", ((2, 5),), ((3, 4),), settings=({"eps": 0.1}, {"eps": 0.4})), variation_rule, "x", "everywhere but at the last place along axis 1"),
    (spec(mixed, "p q", ((3, 4), (3, 4)), ((2, 3), (2, 3)), domain=POSITIVE), mixed_rule, "q", "another value in the place of `p` in `q / p`"),
    (spec(blurred, "x", ((2, 4),), ((3, 3),), settings=({"power": 3.0}, {"power": 4.0})), blurred_rule, "x", "a wrong derivative of one step, that of"),
    (spec(produced, "k", ((2, 3),), ((3, 4),), domain={"k": (0.3, 2.0)}, settings=({"rho": 1.5}, {"rho": 2.5})), produced_rule, "k", "as in the rule of an exponential: k is in the base"),
    (spec(steep, "x", ((4, 5),), ((5, 4),), settings=({"eps": 0.1}, {"eps": 0.4})), steep_rule, "x", "in each other's places"),
    (spec(reached, "x w", ((4, 2), (4,)), ((4, 3), (4,)), domain={"w": (0.3, 2.0)}), reached_rule, "x", "another value in the place of `count` in `count[to]`"),
    (spec(kept, "x", ((2, 6),), ((3, 7),), settings=({"k": 1}, {"k": 2})), kept_rule, "x", "with `n` less twice `k`"),
    (spec(due, "c r", ((3, 4), (3,)), ((2, 3), (2,)), domain={"r": (0.1, 0.9)}, settings=({"start": 1}, {"start": 2})), due_rule, "r", "`t` plus `start`"),
    (spec(smooth, "x a", ((4, 2), (2,)), ((5, 3), (3,)), domain={"a": (0.1, 0.9)}), smooth_rule, "x", "with 1 - a in the place of `a` in `a * carry`"),
    (spec(pooled, "x", ((2, 6),), ((3, 4),), settings=({"size": 2},)), pooled_rule, "x", "the same share of its g, as a mean does"),
    (spec(gated, "x w", ((2, 3), (3, 3)), ((4, 2), (2, 2))), gated_rule, "x", "without the derivative of sigmoid"),
    (spec(deviating, "r", ((3, 5),), ((2, 4),), settings=({"ddof": 1}, {"ddof": 2})), deviating_rule, "r", "`n` less `ddof`"),
    (spec(thirds, "x", ((2, 3),), ((3, 4),)), thirds_rule, "x", "has one of its terms 0.35 times as large as it should be"),
    (spec(leaky, "x k", ((4, 3), (3, 2)), ((3, 2), (2, 4))), leaky_rule, "x", "takes one side of where everywhere"),
    (spec(leaky, "x k", ((4, 3), (3, 2)), ((3, 2), (2, 4))), leaky_exchanged, "x", "the two sides of"),
    (spec(split, "p f", ((4, 3), (2,)), ((5, 3), (2,)), domain={"p": (0.5, 2.0)}), split_rule, "p", "one of several contributions: the others are left out, and all of them have to be added"),
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


def test_what_is_summed_is_not_called_averaged_besides():
    forward = Op("bound", lambda s, k, *, n=2.0: s**n / (k**n + s**n), ELEMENTWISE, s=derivative_of_forward, k=derivative_of_forward)
    bound = Spec("bound", forward, domain={"s": (0.2, 2.0), "k": (0.2, 2.0)}, settings=({"n": 2.0}, {"n": 3.0}))

    def rule(g, out, s, k, n):
        return sum_to(g * k / (k + s) ** 2, s.shape), sum_to(-g * n * out * (1 - out) / k, k.shape)

    (found,) = check(bound, rule).diagnoses
    assert "would be right if n were 1" in found.text and "besides" not in found.text
