"""Functions with an order or a kink: a step past the next entry sees another function, and nobody is refused for that."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward, prove
from autolab.check.run.differences import gradient
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

ROWS = (((3, 5),), ((4, 4),), ((7,),))


def put(index, g, x):
    d = np.zeros(x.shape)
    np.put_along_axis(d, index, g, -1)
    return d


def median_back(g, x):
    n = x.shape[-1]
    middle = np.argsort(x, -1)[..., (n - 1) // 2 : n // 2 + 1]
    return put(middle, np.repeat(g[..., None] / middle.shape[-1], middle.shape[-1], -1), x)


def gap_back(g, x):
    places = np.argsort(x, -1)
    return put(places[..., 1:], g, x) - put(places[..., :-1], g, x)


KINKED = {
    "sorted": (GENERAL, lambda x: np.sort(x, -1), lambda g, x: put(np.argsort(x, -1), g, x)),
    "median": (GENERAL, lambda x: np.median(x, -1), median_back),
    "three": (GENERAL, lambda x: np.sort(x, -1)[..., :-4:-1], lambda g, x: put(np.argsort(-x, -1)[..., :3], g, x)),
    "largest": (GENERAL, lambda x: np.max(np.array(x.tolist()), -1), lambda g, x: (x == x.max(-1, keepdims=True)) * g[..., None]),
    "gaps": (GENERAL, lambda x: np.diff(np.sort(x, -1)), gap_back),
    "clipped": (ELEMENTWISE, lambda x: np.interp(x, [-1.5, 1.5], [-1.5, 1.5]), lambda g, x: g * (np.abs(x) < 1.5)),
    "pieces": (ELEMENTWISE, lambda x: np.choose(np.asarray(x) > 0.5, [0 * x, 3 * x]), lambda g, x: 3 * g * (x > 0.5)),
}


@pytest.mark.parametrize("name", KINKED)
def test_a_right_rule_of_an_ordered_function_has_all_points(name):
    kind, forward, rule = KINKED[name]
    shapes = ROWS if kind == GENERAL else ()
    report = check(Spec(name, Op(name, forward, kind, x=derivative_of_forward), shapes=shapes), rule)
    assert (report.passed, report.points) == (True, report.max_points), report


@pytest.mark.parametrize("name", KINKED)
def test_a_right_rule_of_an_ordered_function_is_proven(name):
    kind, forward, rule = KINKED[name]
    assert prove(Spec(name, Op(name, forward, kind, x=rule), shapes=ROWS if kind == GENERAL else ())) == []


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-12])
def test_differences_see_the_order_of_entries_that_are_close(gap):
    x, g = gap * np.array([3.0, 1.0, 2.0, 5.0, 4.0]), np.arange(5.0)
    value, uncertainty = gradient(np.sort, (x,), 0, g)
    assert np.allclose(value, g[[2, 0, 1, 4, 3]]) and uncertainty.max() < 1e-7


def test_differences_know_nothing_where_entries_are_equal():
    _, uncertainty = gradient(np.sort, (np.array([1.0, 1.0, 2.0]),), 0, np.array([1.0, 2.0, 3.0]))
    assert list(np.isinf(uncertainty)) == [True, True, False]


def tied(rng, shapes, settings):
    return (np.tile(rng.normal(size=2), (3, 3)),)


def largest_and_first(x):
    numbers = np.array(x.tolist())  # no operation on tensors
    return np.max(numbers, -1) + numbers[..., 0]


def largest_and_first_back(g, x):
    among = x == x.max(-1, keepdims=True)
    return g[..., None] * (among / among.sum(-1, keepdims=True) + (np.arange(x.shape[-1]) == 0))


def test_what_is_not_known_is_not_wrong():
    op = Op("largest", largest_and_first, GENERAL, x=derivative_of_forward)
    spec = Spec("largest", op, shapes=ROWS[:1], make=tied)
    assert check(spec, largest_and_first_back).passed
    assert not check(spec, lambda g, x: largest_and_first_back(g, x) + 1).passed


def test_nothing_is_right_of_a_forward_without_a_derivative():
    spec = Spec(
        "noise",
        Op(
            "noise",
            lambda x: np.interp(x, [-9, 9], [-9, 9]) + np.random.default_rng().normal(size=np.shape(x)),
            ELEMENTWISE,
            x=derivative_of_forward,
        ),
    )
    report = check(spec, lambda g, x: g)
    assert not report.passed and "settle nowhere" in str(report)
