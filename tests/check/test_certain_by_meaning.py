"""What agrees by accident is not certain: each kind of sentence crossed with mistakes of other kinds that give the same numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def own(forward, *names, kind=GENERAL, **more):
    return Spec("own", Op("own", forward, kind, **dict.fromkeys(names, derivative_of_forward)), **more)


def spelled(forward, kind=GENERAL, shapes=(((4,),), ((6,),)), settings=None, **row):
    """A spec whose row has its formulas written out."""
    more = {"settings": settings} if settings else {}
    more |= {"shapes": shapes} if kind is GENERAL else {}
    return Spec("own", Op("own", forward, kind, **row), **more)


def said(spec, rule):
    """All that is said, a line for each input."""
    return "\n".join(f"({d.certainty}) {d.text}" for d in check(spec, rule).diagnoses)


def written_into(dtype, value):
    array = np.zeros(np.shape(value), dtype)
    array[...] = value
    return array


def beside(g, axis):
    return np.expand_dims(g, axis)


MEAN_SQUARE = own(lambda x: (x * x).mean(), "x", shapes=(((5,),), ((3, 4),)))
PRODUCT = own(lambda x, y: x * y, "x", "y", kind=ELEMENTWISE, broadcast=False)
RESULTS = {
    "relu": ("relu", lambda g, x: g * (x > 0)),
    "abs": ("abs", lambda g, x: g * np.sign(x)),
    "sin": ("sin", lambda g, x: g * np.cos(x)),
    "sum": ("sum", lambda g, x, axis: beside(g, axis) * np.ones_like(x)),
    "cumsum": ("cumsum", lambda g, x, axis: np.flip(np.flip(g, axis).cumsum(axis), axis)),
    "mean square": (MEAN_SQUARE, lambda g, x: 2 * g * x / x.size),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("dtype", [bool, int])
def test_a_result_that_lost_its_numbers_still_depends_on_g(name, dtype):
    spec, right = RESULTS[name]
    text = said(spec, {1: lambda g, x: 0, 2: lambda g, x: written_into(dtype, right(g, x)),
                       3: lambda g, x, axis: written_into(dtype, right(g, x, axis))}[right.__code__.co_argcount])  # fmt: skip
    assert "depend on" not in text and "is 1 everywhere" not in text
    assert ("True and False" if dtype is bool else "fractions") in text


OF_G = {
    "square": ("square", lambda g, x, lose: 2 * x * lose(g)),
    "sin": ("sin", lambda g, x, lose: np.cos(x) * lose(g)),
    "exp": ("exp", lambda g, x, lose: np.exp(x) * lose(g)),
    "product": (PRODUCT, lambda g, x, y, lose: (lose(g) * y, lose(g) * x)),
}


@pytest.mark.parametrize("name", OF_G)
@pytest.mark.parametrize("dtype", [bool, int])
def test_a_g_that_lost_its_numbers_is_no_g_left_out(name, dtype):
    spec, rule = OF_G[name]
    lose = lambda g: written_into(dtype, g)
    text = said(spec, (lambda g, x, y: rule(g, x, y, lose)) if name == "product" else (lambda g, x: rule(g, x, lose)))
    assert "depend on" not in text
    assert ("takes each entry of g that is not 0 for 1" if dtype is bool else "takes g without its fractions") in text


@pytest.mark.parametrize("rule", [lambda g, x: x > 0, lambda g, x: (x > 0) * 1, lambda g, x: (x > 0) * 1.0])
def test_a_mask_alone_has_g_left_out(rule):
    assert "does not depend on the incoming gradient g" in said("relu", rule)


def of_bias(g, x, b):
    for _ in range(x.size):
        d = g
    return g * np.ones_like(x), np.asarray(d)


def of_angle(g, x, c):
    for _ in range(len(x)):
        d = g * np.sin(c)
    return -g * np.ones_like(x), d


def of_steps(g, w, k):
    for _ in range(k):
        d = -0.1 * g
    return d


def of_members(g, x, n):
    for _ in range(n):
        d = g * np.cos(x)
    return d


def of_heads(g, x, w):
    for _ in range(2):
        d = (g * x).sum()
    return 2 * g * w, d


SCALARS = (((4,), ()), ((5,), ()))
ROUNDS = {
    "bias": (own(lambda x, b: (x + b).sum(), "x", "b", shapes=SCALARS), of_bias),
    "angle": (own(lambda x, c: -(x + np.cos(c)).sum(), "x", "c", shapes=SCALARS), of_angle),
    "steps": (own(lambda w, *, k: sum(-0.1 * w for _ in range(k)), "w", kind=ELEMENTWISE, settings=({"k": 2}, {"k": 3})), of_steps),
    "members": (own(lambda x, *, n: sum(np.sin(x) for _ in range(n)), "x", kind=ELEMENTWISE, settings=({"n": 4}, {"n": 3})), of_members),
    "heads": (own(lambda x, w: sum(x * w for _ in range(2)), "x", "w", shapes=SCALARS), of_heads),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_the_last_of_equal_rounds_is_no_division(name):
    text = said(*ROUNDS[name])
    assert "a sum of all values in" in text
    assert not re.search(r"divided by|averaged|times the right one", text)


def test_a_sum_of_all_rounds_that_is_divided_is_one():
    def rule(g, x, n):
        d = 0 * x
        for _ in range(n):
            d = d + g * np.cos(x)
        return d / n

    assert "divided by n" in said(ROUNDS["members"][0], rule)


SETTINGS = ({"a": 1.7}, {"a": 0.6})
SQUARES = {
    "number": (spelled(lambda x: x + x**3 / 12, ELEMENTWISE, x=lambda g, x: g * (1 + x**2 / 4)), lambda g, x: g * (1 + x**2 / 2)),
    "larger number": (spelled(lambda x: x**2 + x**3 / 27, ELEMENTWISE, x=lambda g, x: g * (2 * x + x**2 / 9)), lambda g, x: g * (2 * x + x**2 / 3)),
    "product": (spelled(lambda x, *, a: x - x**3 / (a * a) / 3, ELEMENTWISE, settings=SETTINGS, x=lambda g, x, a: g * (1 - x * x / (a * a))),
                lambda g, x, a: g * (1 - x * x / a)),
    "power": (spelled(lambda x, *, a: x - x**3 / a**2 / 3, ELEMENTWISE, settings=SETTINGS, x=lambda g, x, a: g * (1 - x * x / a**2)),
              lambda g, x, a: g * (1 - x * x / a)),
    "square": (spelled(lambda x, *, a: x + x**4 / np.square(a), ELEMENTWISE, settings=SETTINGS,
                       x=lambda g, x, a: g * (1 + 4 * x**3 / np.square(a))), lambda g, x, a: g * (1 + 4 * x**3 / a)),
}  # fmt: skip


@pytest.mark.parametrize("name", SQUARES)
def test_a_square_that_is_missing_is_no_root_too_many(name):
    text = said(*SQUARES[name])
    assert "root where there is none" not in text
    assert not re.search(r"\(certain\).*root", text)


def halves(g):
    return np.split(g, 2)


def sums_and_differences(x):
    return np.concatenate([x[0::2] + x[1::2], x[0::2] - x[1::2]])


def one_after_the_other(g):
    a, d = halves(g)
    return np.concatenate([a + d, a - d])


def pairs(x):
    return x[0::2] * x[1::2]


INTERLEAVED = {
    "stack": (spelled(sums_and_differences, x=lambda g: np.stack([g[: len(g) // 2] + g[len(g) // 2 :], g[: len(g) // 2] - g[len(g) // 2 :]], 1).reshape(-1)), one_after_the_other),
    "stack last": (spelled(sums_and_differences, x=lambda g: np.stack([g[: len(g) // 2] + g[len(g) // 2 :], g[: len(g) // 2] - g[len(g) // 2 :]], -1).reshape(-1)), one_after_the_other),
    "stack axis": (spelled(sums_and_differences, x=lambda g: np.stack([g[: len(g) // 2] + g[len(g) // 2 :], g[: len(g) // 2] - g[len(g) // 2 :]], axis=1).ravel()), one_after_the_other),
    "products": (spelled(pairs, x=lambda g, x: np.stack([g * x[1::2], g * x[0::2]], -1).reshape(-1)), lambda g, x: np.concatenate([g * x[1::2], g * x[0::2]])),
    "concatenate": (spelled(pairs, x=lambda g, x: np.concatenate([(g * x[1::2])[:, None], (g * x[0::2])[:, None]], 1).reshape(-1)), lambda g, x: np.concatenate([g * x[1::2], g * x[0::2]])),
}  # fmt: skip


@pytest.mark.parametrize("name", INTERLEAVED)
def test_halves_that_are_not_interleaved_are_no_other_number(name):
    text = said(*INTERLEAVED[name])
    assert "joined along another axis" in text and "number" not in text


def back(a):
    return np.cumsum(a[::-1])


WEIGHTED = spelled(lambda x, w: np.cumsum(x * w), shapes=(((5,), (5,)), ((4,), (4,))), x=lambda g, w: w * np.cumsum(g[::-1])[::-1],
                   w=lambda g, x: x * np.cumsum(g[::-1])[::-1])  # fmt: skip
TURNED = {
    "cumsum": (spelled(lambda x: np.cumsum(x), x=lambda g: np.cumsum(g[::-1])[::-1]), back),
    "squares": (spelled(lambda x: np.cumsum(x * x), x=lambda g, x: 2 * x * np.cumsum(g[::-1])[::-1]), lambda g, x: 2 * x * back(g)),
    "exp": (spelled(lambda x: np.cumsum(np.exp(x)), x=lambda g, x: np.exp(x) * g[::-1].cumsum()[::-1]), lambda g, x: np.exp(x) * back(g)),
    "weights": (WEIGHTED, lambda g, x, w: (w * back(g), x * back(g))),
    "suffix": (spelled(lambda x: np.cumsum(x[::-1])[::-1] ** 2, x=lambda g, x: np.cumsum(2 * g * np.cumsum(x[::-1])[::-1])), lambda g, x: np.cumsum(2 * g * back(x))),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_a_sum_that_is_not_turned_round_again_is_no_sign(name):
    text = said(*TURNED[name])
    assert re.search("flip|backwards|other order", text) and "minus" not in text


OF_LENGTH_4 = {
    "mean": (own(lambda x: x.mean(-1), "x", shapes=(((3, 4),), ((2, 4),))), lambda g, x: beside(g, -1) * np.ones_like(x)),
    "squares": (own(lambda x: (x * x).mean(-1), "x", shapes=(((3, 4),), ((2, 4),))), lambda g, x: beside(g, -1) * 2 * x),
    "rows": (own(lambda x: np.exp(x).mean(0), "x", shapes=(((4, 3),), ((4, 2),))), lambda g, x: g * np.exp(x)),
    "all": (own(lambda x: (x * x).mean(), "x", shapes=(((2, 2),), ((4,),))), lambda g, x: g * 2 * x),
    "weights": (own(lambda x, w: (x * w).mean(0), "x", "w", shapes=(((4, 3), (3,)), ((4, 2), (2,)))),
                lambda g, x, w: (g * w * np.ones_like(x) / len(x), (g * x).sum(0))),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_LENGTH_4)
def test_a_number_that_is_a_length_in_every_call_may_be_the_length(name):
    text = said(*OF_LENGTH_4[name])
    assert "4 times the right one" in text and "which is 4 in every call" in text


def test_a_size_that_is_the_same_in_every_call_is_only_perhaps_the_divisor():
    heads = own(lambda q: sum((q * q).sum() for _ in range(4)), "q", shapes=(((4,),), ((2, 2),)))
    assert "divided by the number of entries" not in said(heads, lambda g, q: 2 * g * q)


def bounds(*low_and_high):
    return {"kind": ELEMENTWISE, "domain": {"x": low_and_high}}


INVERSES = {
    "reciprocal": (own(lambda x: 1 / x, "x", **bounds(0.3, 2.5)), lambda g, out: -g / out**2),
    "mobius": (own(lambda x: (1 - x) / (1 + x), "x", **bounds(0.1, 2.5)), lambda g, out: -2 * g / (1 + out) ** 2),
    "quotient": (own(lambda x: x / (x - 1), "x", **bounds(1.2, 2.5)), lambda g, out: -g / (out - 1) ** 2),
    "circle": (own(lambda x: np.sqrt(1 - x * x), "x", **bounds(0.1, 0.9)), lambda g, out: -g * out / np.sqrt(1 - out * out)),
    "log of tanh": (own(lambda x: -np.log(np.tanh(x / 2)), "x", **bounds(0.3, 2.5)), lambda g, out: -g / np.sinh(out)),
    "abs": ("abs", lambda g, out: g * np.sign(out)),
    "clip": (own(lambda x: np.clip(x, -1, 1), "x", kind=ELEMENTWISE), lambda g, out: g * (np.abs(out) <= 1)),
}


@pytest.mark.parametrize("name", INVERSES)
def test_the_result_in_the_place_of_x_is_among_the_readings(name):
    text = said(*INVERSES[name])
    assert "uses the result of forward where x belongs" in text and "(certain)" not in text


def squash(z):
    return 1 / (1 + np.exp(-z))


def gated(i, f, c, n):
    return squash(f) * c + squash(i) * np.tanh(n)


def through_gates(g, i, f, c, n, slip):
    one, other, new = squash(i), squash(f), np.tanh(n)
    slope = {"tanh": lambda s: 1 - s * s}.get(slip, lambda s: s * (1 - s))
    return g * new * one * (1 - one), g * c * slope(other), g * (one if slip == "gate" else other), g * one * (1 - new * new)


def test_gates_of_a_cell_have_their_names():
    cell = own(gated, "i", "f", "c", "n", shapes=(((4,),) * 4, ((3,),) * 4))
    assert "uses sigmoid(i) where sigmoid(f) belongs" in said(cell, lambda g, i, f, c, n: through_gates(g, i, f, c, n, "gate"))
    assert "the slope of tanh where that of sigmoid(f)" in said(cell, lambda g, i, f, c, n: through_gates(g, i, f, c, n, "tanh"))


def test_what_is_no_sigmoid_is_not_called_one():
    spec = own(lambda x, y: y / (2 + np.exp(-x)), "x", "y", shapes=(((4,), (4,)), ((3,), (3,))))
    assert "sigmoid(" not in said(spec, lambda g, x, y: (g * y / (2 + np.exp(-x)), g * x))


POSITIVE = {"kind": ELEMENTWISE, "domain": {"x": (0.3, 2.5)}}
POWERS = {
    "number": (own(lambda x: x**3, "x", kind=ELEMENTWISE), lambda g, x: 3 * g * (x**3 - 1)),
    "large": (own(lambda x: x**14, "x", kind=ELEMENTWISE, domain={"x": (0.1, 0.9)}), lambda g, x: g * (14 * x**14 - 1)),
    "setting": (own(lambda x, *, n: x**n, "x", settings=({"n": 3.0}, {"n": 2.5}), **POSITIVE), lambda g, x, n: g * (n * x**n - 1)),
    "of a sum": (own(lambda x: (1 + x) ** 5 / 5, "x", kind=ELEMENTWISE), lambda g, x: g * ((1 + x) ** 5 - 1)),
    "a term": (own(lambda x: x**3 + 2 * x, "x", kind=ELEMENTWISE), lambda g, x: g * (3 * x**3 - 1 + 2)),
    "divisor": (own(lambda x, *, n: -(x**-n), "x", settings=({"n": 3.0}, {"n": 2.5}), **POSITIVE), lambda g, x, n: g * (n / x**n + 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", POWERS)
def test_an_exponent_without_its_brackets_is_no_series(name):
    text = said(*POWERS[name])
    assert "brackets around the exponent" in text and "series" not in text


LOGS = {
    "setting": (own(lambda x, *, n: x**n, "x", settings=({"n": 3.0}, {"n": 2.5}), **POSITIVE), lambda g, x, out: g * out * np.log(x)),
    "number": (own(lambda x: x**3, "x", **POSITIVE), lambda g, x, out: g * out * np.log(x)),
    "scaled": (own(lambda x: 2 * x**3 + 1, "x", **POSITIVE), lambda g, x: 2 * g * x**3 * np.log(x)),
    "of a sum": (own(lambda x: (1 + x) ** -3, "x", **POSITIVE), lambda g, x, out: -g * out * np.log(1 + x)),
    "quotient": (own(lambda x: x**3 / (1 + x**3), "x", **POSITIVE), lambda g, x: g * x**3 * np.log(x) / (1 + x**3) ** 2),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_rule_of_an_exponential_is_named_where_that_of_a_power_belongs(name):
    assert "as in the rule of an exponential" in said(*LOGS[name])


def oscillator(x, v, *, dt):
    for _ in range(2):
        x, v = x + dt * v, v - dt * np.sin(x)
    return np.stack([x, v])


def too_early(g, x, v, dt):
    before = [x]
    for _ in range(2):
        x, v = x + dt * v, v - dt * np.sin(x)
        before.append(x)
    a, b = g
    for t in (1, 0):
        b = b + dt * a
        a = a - dt * np.cos(before[t]) * b
    return a, b


def predators(x, v, *, dt):
    for _ in range(2):
        x, v = x + dt * (x - x * v), v + dt * (x * v - v)
    return np.stack([x, v])


def predators_too_early(g, x, v, dt):
    states = [(x, v)]
    for _ in range(2):
        x, v = x + dt * (x - x * v), v + dt * (x * v - v)
        states.append((x, v))
    a, b = g
    for x, v in reversed(states[:2]):
        a = a * (1 + dt * (1 - v)) + b * dt * v
        b = b * (1 + dt * (x - 1)) - a * dt * x
    return a, b


@pytest.mark.parametrize(("forward", "rule"), [(oscillator, too_early), (predators, predators_too_early)])
def test_a_new_value_that_is_used_too_early_is_no_eps(forward, rule):
    spec = own(forward, "x", "v", shapes=(((4,), (4,)), ((3,), (3,))), settings=({"dt": 0.1}, {"dt": 0.05}))
    text = said(spec, rule)
    assert "before" in text and not re.search("eps appears|approximation", text)


@pytest.mark.parametrize("name", ["x + 2y", "2y - x"])
def test_a_small_difference_in_steps_is_said_as_what_it_may_be(name):
    sign = 1 if name == "x + 2y" else -1
    spec = own(lambda x, v, *, dt: np.stack([x + dt * v, v - sign * dt * x]), "x", "v", shapes=(((4,), (4,)), ((3,), (3,))),
               settings=({"dt": 0.1}, {"dt": 0.05}))  # fmt: skip
    rule = lambda g, x, v, dt: (lambda gx: (gx, g[1] + dt * gx))(g[0] - sign * dt * g[1])
    text = said(spec, rule)
    assert "new value" in text and "approximation" not in text
