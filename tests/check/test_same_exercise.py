"""What is right in an exercise of one's own is worked out once, and anew where anything that it depends on is another."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import Spec, check, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, Op

CALLS = []
POWER = 2


def powered(x):
    CALLS.append(np.shape(x))
    return x**POWER


def severed(x):
    return x * np.array(x.tolist())


def exercise(forward=powered):
    return Spec("powered", Op("powered", forward, ELEMENTWISE, x=derivative_of_forward), domain={"x": (0.2, 3.0)})


def doubled(g, x):
    return 2 * g * x


def calls_of(rule):
    CALLS.clear()
    assert check(exercise(), rule).passed
    return len(CALLS)


def test_the_second_check_of_an_exercise_asks_forward_for_its_results_only():
    first, second = calls_of(doubled), calls_of(doubled)
    assert second < first / 2


def test_an_exercise_whose_forward_changed_is_another(monkeypatch):
    assert check(exercise(), doubled).passed
    monkeypatch.setattr("tests.check.test_same_exercise.POWER", 3)
    assert not check(exercise(), doubled).passed


def test_an_exercise_that_cannot_be_checked_is_refused_each_time():
    for _ in range(5):
        with pytest.raises(LookupError, match="out of the graph"):
            check(exercise(severed), doubled)


def test_the_second_check_says_what_the_first_said():
    texts = [[d.text for d in check(exercise(), lambda g, x: g * x**2).diagnoses] for _ in range(2)]
    assert texts[0] == texts[1] != []
