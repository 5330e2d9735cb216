"""One mistake in a piece of the engine is told once, with the checks that show it, however many there are."""

import math
import textwrap

import pytest

from autolab.check import BEHAVIOURS
from autolab.check.api.judge_behaviour import judge_behaviour
from autolab.check.behaviour.scenes import LocalPlayer
from autolab.course.solutions import modules
from tests.course.test_capstone import EXERCISES, MODULE, engine

VALUE = """
class Value:
    def __init__(self, data, parents=(), local=()):
        self.data, self.parents, self.local, self.grad = data, parents, local, 0.0

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, n):
        return Value(self.data**n, (self,), (n * self.data ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.data), (self,), (math.exp(self.data),))

    def tanh(self):
        return Value(math.tanh(self.data), (self,), (1 - math.tanh(self.data) ** 2,))

    def relu(self):
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),))
"""


def told(exercise, candidate):
    return judge_behaviour(BEHAVIOURS[exercise], LocalPlayer(BEHAVIOURS[exercise], candidate), seed=3).diagnoses


def value_class(*change):
    names = {"math": math}
    exec(textwrap.dedent(VALUE).replace(*change) if change else VALUE, names)
    return names["Value"]


def test_the_class_without_a_mistake_has_no_causes():
    assert told("value_ops", value_class()) == ()


@pytest.mark.parametrize(
    "change",
    [
        ("= data, parents, local,", "= data, parents, (),"),
        ("= data, parents, local,", "= data, (), local,"),
        ("= data, parents, local,", "= data, parents, tuple(-slope for slope in local),"),
        ("= data, parents, local,", "= round(data), parents, local,"),
        ("(self,)", "(Value(self.data),)"),
    ],
)
def test_a_wrong_line_of_the_constructor_is_one_cause_and_one_sentence(change):
    first, *rest = told("value_ops", value_class(*change))
    assert [d.family for d in rest] in ([], ["follows"])
    assert first.family != "follows" and all("more checks fail: " in d.text for d in rest)


def test_the_same_error_in_several_checks_is_told_once_with_all_of_them():
    (only,) = told("value_ops", value_class("math.", "maths."))
    assert "'maths' is not defined" in only.text and only.where == "'exp', and 1 more: tanh"


@pytest.mark.parametrize(
    ("change", "family", "lines"),
    [
        (("node.grad * local", "local"), "upstream ignored", 2),
        (("reversed(order)", "order"), "order", 3),
        (("reversed(order)", "reversed(ordre)"), "exception", 1),
        (("(other.data, self.data)", "(self.data, other.data)"), "swapped", 2),
        (("self.grad = 1.0", "self.grad = 0.0"), "upstream ignored", 2),
    ],
)
def test_a_mistake_in_the_first_milestone_is_named_and_told_in_a_few_lines(change, family, lines):
    text = modules(EXERCISES, "capstone")[MODULE]
    assert change[0] in text
    found = told("capstone_scalars", engine(text.replace(*change)))
    assert (found[0].family, len(found)) == (family, lines)
