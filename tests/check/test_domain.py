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


@pytest.mark.parametrize("limits", [(0.9, 1.0), (-1.0, -0.98), (2.0, 2.01), (0.1, 3.9)])
def test_numbers_are_drawn_between_their_limits(limits):
    a = draw(np.random.default_rng(0), (200,), *limits)
    assert np.all((limits[0] <= a) & (a < limits[1]))
