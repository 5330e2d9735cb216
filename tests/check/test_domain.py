"""A domain that an exercise tells is never left: not by the cases, the differences or a diagnosis."""

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward, prove
from autolab.check.run.inputs import draw
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

TABLE = np.array([1.0, -0.5, 2.0, 0.7])  # an entry for each whole number of the domain
LOW, HIGH = 0.1, 3.9


def looked_up(x, t):
    return x * TABLE[np.floor(np.asarray(t)).astype(int)] * t


def t_back(g, x, t):
    return g * x * TABLE[np.floor(t).astype(int)]


RULES = {
    "right": lambda g, x, t: (looked_up(g, t), t_back(g, x, t)),
    "another number": lambda g, x, t: (looked_up(g, t), 2.5 * t_back(g, x, t)),
    "without g": lambda g, x, t: (looked_up(g, t), t_back(1, x, t)),
    "without x": lambda g, x, t: (looked_up(g, t), t_back(g, 1, t)),
    "a window": lambda g, x, t: (looked_up(g, t), t_back(g, x, t) * (t < 2.5)),
    "another power": lambda g, x, t: (looked_up(g, t), t_back(g, x, t) * np.exp(t)),
}


def watched(rule, seen):
    # Without a source: a repair of the rule would note another name.
    return eval("lambda g, x, t: (seen.append(t), rule(g, x, t))[1]", {"seen": seen, "rule": rule})


@pytest.mark.parametrize("kind", [ELEMENTWISE, GENERAL])
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_nothing_is_asked_outside_of_the_domain(name, left_out, kind):
    seen = []
    rules = {"x": lambda g, t: looked_up(g, t), "t": t_back}
    op = Op("looked_up", looked_up, kind, **(dict.fromkeys(rules, derivative_of_forward) if left_out else rules))
    spec = Spec("looked_up", op, domain={"t": (LOW, HIGH)}, broadcast=False, shapes=(((3, 4), (3, 4)), ((5, 5), (5, 5))))
    assert check(spec, watched(RULES[name], seen)).passed == (name == "right")
    assert min(map(np.min, seen)) >= LOW and max(map(np.max, seen)) <= HIGH  # and looked_up raises outside


def test_a_rule_is_proven_inside_of_the_domain():
    op = Op("looked_up", looked_up, ELEMENTWISE, x=lambda g, t: looked_up(g, t), t=t_back)
    assert prove(Spec("looked_up", op, domain={"t": (LOW, HIGH)}, broadcast=False)) == []


@pytest.mark.parametrize("limits", [(0.9, 1.0), (-1.0, -0.98), (2.0, 2.01), (0.1, 3.9), (0.5, np.inf), (-np.inf, -7), (-np.inf, np.inf)])
def test_numbers_are_drawn_between_their_limits(limits):
    a = draw(np.random.default_rng(0), (200,), *limits)
    assert np.all((limits[0] <= a) & (a < limits[1]))


def test_a_result_that_is_wrong_for_large_numbers_alone_is_refused():
    """Of windows with a number above 0, which all drawn ones have, the size of the maximum is the maximum."""
    windows = lambda x: np.moveaxis(x.reshape(*x.shape[:-2], x.shape[-2] // 2, 2, x.shape[-1] // 2, 2), -3, -2)

    def back(g, x, out):
        first = windows(x).reshape(*out.shape, 4).argmax(-1)
        spread = (np.arange(4) == first[..., None]) * g[..., None]
        return np.moveaxis(spread.reshape(*out.shape, 2, 2), -2, -3).reshape(x.shape)

    right, size = (check("max_pool", (f, back)) for f in (lambda x: windows(x).max((-2, -1)), lambda x: abs(windows(x).max((-2, -1)))))
    assert right.passed and not size.passed
    assert "The result of forward is right for ordinary numbers" in size.diagnoses[0].text


DISTANCES = {
    "absolute values": (lambda x: np.abs(x[:, None] - x).sum(), lambda d: np.where(d > 0, 1.0, -1.0) + np.eye(len(d))),
    "the larger of two": (lambda x: np.maximum(x[:, None], x).sum(), lambda d: np.where(d > 0, 1.0, 0.0) + np.eye(len(d)) / 2),
    "the lesser of two": (lambda x: np.minimum(x[:, None], x).sum(), lambda d: np.where(d < 0, 1.0, 0.0) + np.eye(len(d)) / 2),
    "a hinge": (lambda x: np.maximum(x[:, None] - x, 0).sum(), lambda d: np.where(d >= 0, 0.5, -0.5) - np.eye(len(d)) / 2),
    "the range": (lambda x: x.max() - x.min(), None),
}


@pytest.mark.parametrize("limits", [(0.5, 4.0), (-2.0, -0.5), (-1.0, 1.0), (0.2, np.inf)])
@pytest.mark.parametrize("name", DISTANCES)
def test_no_two_inputs_are_equal_at_the_edge_of_a_domain(name, limits):
    """Where two are, any slope between those beside it is right, and a right rule may give another one than the exercise."""
    forward, slope = DISTANCES[name]

    def rule(g, x):
        if slope is None:
            return g * ((x >= x.max()) * 1.0 - (x <= x.min()))
        return g * 2 * slope(x[:, None] - x).sum(1)

    spec = Spec(name, Op("of_pairs", forward, GENERAL, x=derivative_of_forward), shapes=(((5,),), ((7,),)), domain={"x": limits})
    report = check(spec, rule)
    assert report.passed, [d.text for d in report.diagnoses]
