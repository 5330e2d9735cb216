"""What forward works out by a name that the rule has, too; the same slip in lines that differ by their numbers; what a statement makes of g."""

from types import SimpleNamespace

import numpy as np
import pytest

from autolab.check import LocalCandidate, Reference, Spec, check, derivative_of_forward
from autolab.check.diagnosis.diagnosis import Mistake
from autolab.check.diagnosis.failures import setting_of_wrong_calls
from autolab.check.diagnosis.repairs.beside import OVERWRITES, as_written
from autolab.check.diagnosis.repairs.words import without_numbers
from autolab.engine.op import GENERAL, Op


def spec(name, forward, inputs, **more):
    return Spec(name, Op(name, forward, GENERAL, **dict.fromkeys(inputs.split(), derivative_of_forward)), **more)


def integral(f, *, dx=0.5):
    w = np.ones(f.shape[-1])
    w[1:-1:2] = 4
    w[2:-1:2] = 2
    return (f * w).sum(-1) * dx / 3


def ends_twice(g, f, dx):
    w = np.empty(f.shape[-1])
    w[1::2] = 4
    w[::2] = 2
    return g[..., None] * w * dx / 3


def four_and_two_exchanged(g, f, dx):
    w = np.ones(f.shape[-1])
    w[1:-1:2] = 2
    w[2:-1:2] = 4
    return g[..., None] * w * dx / 3


INTEGRAL = spec("integral", integral, "f", shapes=(((3, 7),), ((2, 9),)), settings=({"dx": 0.5}, {"dx": 0.2}))


def test_weights_that_are_not_those_of_forward():
    for rule in (ends_twice, four_and_two_exchanged):
        (found,) = check(INTEGRAL, rule).diagnoses
        assert "with the `w` of forward in the place of the rule's own" in found.text
    assert "which is another one at [0], [8]" in check(INTEGRAL, ends_twice).diagnoses[0].text


def test_what_is_wrong_inside_goes_before_the_name():
    def smoothed(z, *, eps=0.1):
        t = (1 - eps) * np.eye(z.shape[1])[: len(z)] + eps / z.shape[1]
        e = np.exp(z - z.max(1, keepdims=True))
        return -(t * (z - z.max(1, keepdims=True) - np.log(e.sum(1, keepdims=True)))).sum()

    def three(g, z, eps):
        t = (1 - eps) * np.eye(z.shape[1])[: len(z)] + eps / 3
        e = np.exp(z - z.max(1, keepdims=True))
        return g * (t.sum(1, keepdims=True) * e / e.sum(1, keepdims=True) - t)

    (found,) = check(spec("smoothed", smoothed, "z", shapes=(((2, 5),), ((3, 4),))), three).diagnoses
    assert "in the place of 3 in `eps / 3`" in found.text and "of forward" not in found.text


def rounds(y, a, *, dt=0.3):
    y2 = y + dt * a * y * (1 - y)
    y3 = y2 + dt * a * y2 * (1 - y2)
    return y3 + dt * a * y3 * (1 - y3)


def one_half_of_each_product(g, y, a, dt):
    y2 = y + dt * a * y * (1 - y)
    y3 = y2 + dt * a * y2 * (1 - y2)
    ga = dt * g * y3 * (1 - y3)
    g3 = g + dt * g * a * (1 - y3)
    ga = ga + dt * g3 * y2 * (1 - y2)
    g2 = g3 + dt * g3 * a * (1 - 2 * y2)
    ga = ga + dt * g2 * y * (1 - y)
    return g2 + dt * g2 * a * (1 - 2 * y), ga


def twice_a_step(g, y, a, dt):
    y2 = y + dt * a * y * (1 - y)
    y3 = y2 + dt * a * y2 * (1 - y2)
    g3 = g + 2 * dt * g * a * (1 - 2 * y3)
    g2 = g3 + 2 * dt * g3 * a * (1 - 2 * y2)
    return g2 + dt * g2 * a * (1 - 2 * y), dt * (g * y3 * (1 - y3) + g3 * y2 * (1 - y2) + g2 * y * (1 - y))


def test_the_same_slip_in_lines_that_differ_by_their_numbers():
    exercise = spec("rounds", rounds, "y a", shapes=(((4,), (4,)), ((3,), (3,))), domain={"y": (0.1, 0.9), "a": (0.5, 2.0)})
    found = check(exercise, twice_a_step).diagnoses[0]
    assert "2 times" in found.text and "in the place of 2" in found.text and found.certainty == "certain"
    assert without_numbers("a2 = 2 * k3 + k") == without_numbers("a5 = 7 * k1 + k") != without_numbers("a2 = 2 * k3 - k")


def gated(x, w, u):
    t = 1 / (1 + np.exp(-(x @ u)))
    return t * np.tanh(x @ w)


def without_the_slope(which):
    def of_sigmoid(g, x, w, u):
        t, h = 1 / (1 + np.exp(-(x @ u))), np.tanh(x @ w)
        gh = g * t * (1 - h**2)
        gt = g * h
        return gh @ w.T + gt @ u.T, x.T @ gh, x.T @ gt

    def of_tanh(g, x, w, u):
        t, h = 1 / (1 + np.exp(-(x @ u))), np.tanh(x @ w)
        gh = g * t
        gt = g * h * t * (1 - t)
        return gh @ w.T + gt @ u.T, x.T @ gh, x.T @ gt

    return {"sigmoid": of_sigmoid, "tanh": of_tanh}[which]


@pytest.mark.parametrize("which", ["sigmoid", "tanh"])
def test_a_slope_that_a_statement_lacks(which):
    exercise = spec("gated", gated, "x w u", shapes=(((2, 3), (3, 4), (3, 4)), ((3, 2), (2, 5), (2, 5))))
    said = {"sigmoid": "one more factor in `g * h`", "tanh": "one more factor in `g * t`"}[which]
    assert said in check(exercise, without_the_slope(which)).diagnoses[0].text


def tiles(a, b):
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(a.shape[0] * b.shape[0], -1)


def other_order(g, a, b):
    g4 = g.reshape(a.shape[0], a.shape[1], b.shape[0], b.shape[1])
    return (g4 * b).sum((2, 3)), (g4 * a[:, :, None, None]).sum((0, 1))


def pairs(r):
    return sum(1 / r[i:j].sum() for i in range(len(r)) for j in range(i + 1, len(r) + 1))


def first_alone(g, r):
    gr = np.zeros_like(r)
    for i in range(len(r)):
        for j in range(i + 1, len(r) + 1):
            gr[i] -= g / r[i:j].sum() ** 2
    return gr


def ranked(s, y, *, sigma=1.5):
    m = y[:, None] > y[None]
    return (m * np.log1p(np.exp(-sigma * (s[:, None] - s[None])))).sum() / m.sum()


def by_all_pairs(g, s, y, sigma):
    m = y[:, None] > y[None]
    d = -sigma * m / (1 + np.exp(sigma * (s[:, None] - s[None])))
    return g * (d.sum(1) - d.sum(0)) / m.size, None


MENDED = {
    "axes": (
        spec("tiles", tiles, "a b", shapes=(((2, 3), (4, 5)), ((3, 2), (2, 4)))),
        other_order,
        "with the axes in another order, and then exchanged, in `g.reshape(",
    ),
    "a range": (
        spec("pairs", pairs, "r", shapes=(((4,),), ((5,),)), domain={"r": (0.5, 2.0)}),
        first_alone,
        "several entries, and not one alone, in `gr[i] -=",
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_what_one_change_mends(name):
    exercise, rule, said = MENDED[name]
    assert said in check(exercise, rule).diagnoses[0].text


def test_the_number_of_pairs_that_count():
    def make(rng, shapes, settings):
        return rng.normal(size=shapes[0]), rng.permutation(shapes[0][0])

    exercise = Spec("ranked", Op("ranked", ranked, GENERAL, s=derivative_of_forward), shapes=(((4,), (4,)), ((6,), (6,))), make=make)
    (found,) = check(exercise, by_all_pairs).diagnoses
    assert "the number of entries where `m` is True in the place of `m.size`" in found.text


def test_settings_that_change_together_are_named_together():
    both = [{"dx": 0.5, "axis": -1}, {"dx": 0.5, "axis": -1}, {"dx": 0.2, "axis": 0}]
    calls = [SimpleNamespace(settings=settings, names=settings) for settings in both]
    assert setting_of_wrong_calls(calls, [False, False, True]) == "only where dx is 0.5 and axis is negative"
    calls[1].settings["dx"] = 0.2  # then it is the axis alone
    assert setting_of_wrong_calls(calls, [False, False, True]) == "only where axis is negative"


def test_nothing_was_exchanged_where_the_other_gradient_is_right():
    exercise = spec("scaled", lambda x, a: (x * a).sum(1), "x a", shapes=(((3, 4), (4,)), ((2, 5), (5,))))
    (found,) = check(exercise, lambda g, x, a: (g[:, None] * a, (g[:, None] * x**2).sum(0))).diagnoses
    assert "should receive" not in found.text


def bumps(x, *, a=1.5):
    y = a * x * (1 - x)
    return a * y * (1 - y)


def half_a_product(g, x, a):
    y = a * x * (1 - x)
    gy = g * a * (1 - y)
    return gy * a * (1 - x)


def test_half_of_a_product_in_several_lines():
    exercise = spec("bumps", bumps, "x", shapes=(((4,),), ((2, 3),)), domain={"x": (0.1, 0.9)}, settings=({"a": 1.5}, {"a": 0.7}))
    (found,) = check(exercise, half_a_product).diagnoses
    assert "another number in `1 - y`: of a product both factors have a derivative" in found.text and "2 times" in found.text


def counted(x, *, count=3):
    at = np.arange(count)
    return (x[:, None] ** (1 - at)).sum(1)


def test_whole_numbers_less_than_1_are_no_share():
    exercise = spec("counted", counted, "x", shapes=(((4,),), ((3,),)), domain={"x": (0.5, 2.0)}, settings=({"count": 3}, {"count": 4}))

    def rule(g, x, count):
        at = np.arange(count)
        return g * ((1 - at) * x[:, None] ** (1 - at)).sum(1)

    (found,) = check(exercise, rule).diagnoses
    assert "`1 - at`" in found.text or "`-at`" in found.text or "power" in found.text


def overlapping(x, w):
    out = np.zeros(len(x) - len(w) + 1)
    for k in range(len(w)):
        out = out + w[k] * x[k : k + len(out)]
    return out


def each_over_the_last(g, x, w):
    gx, gw = np.zeros(len(x)), np.zeros(len(w))
    for k in range(len(w)):
        gx[k : k + len(g)] = g * w[k]
        gw[k] = g @ x[k : k + len(g)]
    return gx, gw


def recurrent(x, w, u):
    h, out = np.zeros(len(u)), []
    for t in range(len(x)):
        h = np.tanh(x[t] @ w + h @ u)
        out.append(h)
    return np.stack(out)


def of_its_own_step(g, x, w, u, out):
    gx, gw, gu = np.zeros_like(x), np.zeros_like(w), np.zeros_like(u)
    for t in range(len(x)):
        ga = g[t] * (1 - out[t] ** 2)
        gx[t] = w @ ga
        gw += np.outer(x[t], ga)
        gu += np.outer(out[t - 1] if t else 0 * ga, ga)
    return gx, gw, gu


def test_it_is_said_to_overwrite_only_where_a_place_is_written_twice():
    exercise = spec("overlapping", overlapping, "x w", shapes=(((6,), (3,)), ((5,), (2,))))
    assert "a sum of all that is written" in check(exercise, each_over_the_last).diagnoses[0].text
    exercise = spec("recurrent", recurrent, "x w u", shapes=(((4, 2), (2, 3), (3, 3)), ((3, 3), (3, 2), (2, 2))))
    seen = Mistake("overwritten", f"keeps only one of several contributions{OVERWRITES}", True)
    o = SimpleNamespace(ask=SimpleNamespace(candidate=LocalCandidate(of_its_own_step, Reference.of(exercise))))
    assert "the others are left out" in as_written(seen, o).text and "overwrites" not in as_written(seen, o).text
