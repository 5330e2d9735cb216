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


def in_words(exercise, candidate):
    return " ".join(f"{d.text} {d.where} {d.hint}" for d in told(exercise, candidate))


def visited(root, found=None):
    found = [] if found is None else found
    if root not in found:
        for parent in root.parents:
            visited(parent, found)
        found.append(root)
    return found


EARLIER = []


@pytest.mark.parametrize(("candidate", "said"), [
    (lambda root: None, "result is None, expected a list of nodes"),
    (lambda root: [id(node) for node in visited(root)], "the list has an int in it, expected the nodes themselves"),
    (lambda root: visited(root, EARLIER), "a node in it that is not of this graph, such as one from an earlier call"),
])  # fmt: skip
def test_a_list_that_cannot_be_used_is_not_called_an_error_of_the_code(candidate, said):
    assert said in in_words("topological_order", candidate) and "raised" not in in_words("topological_order", candidate)


def test_an_error_outside_of_the_code_is_not_called_one_of_its_lines():
    said = in_words("trace_table", lambda: None)
    assert "calling your code or using what it returned raised TypeError" in said and "your line" not in said


def test_none_is_explained_by_a_missing_return():
    assert "ends without `return`" in in_words("trace_table", lambda x: None)
    assert "ends without `return`" in in_words("value_ops", value_class("return Value(math.exp", "Value(math.exp"))
    assert "ends without `return`" not in in_words("trace_table", lambda x: (1, 2))


def hat(x):
    return {"u": 3 * x + 2, "y": (3 * x + 2) ^ 2}


def test_a_hat_is_not_a_power():
    (found,) = told("trace_table", hat)
    assert "In Python a power is written **" in found.hint


def test_a_value_among_numbers_is_named():
    assert "losses has a Value in it, expected numbers" in in_words("neuron", lambda w, b, x, t, *_: (w, b, [value_class()(x)]))
    operands = value_class("(other.data, self.data)", "(other, self)")
    assert "the result's local has a Value in it" in in_words("value_ops", operands)


def test_results_in_another_order_are_named():
    assert "expected w, b and the list of losses, in this order" in in_words("neuron", lambda w, b, *_: ([0.0], w, b))


def test_a_wrong_number_comes_with_the_input_that_it_was_computed_from():
    (found, *_) = told("trace_table", lambda x: {"u": 5, "y": 25, "dy_du": 10, "du_dx": 3, "dy_dx": 30})
    u, x = (float(found.text.partition(word)[2].split(",")[0].strip(". ")) for word in ("expected ", "x = "))
    assert math.isclose(u, 3 * x + 2, rel_tol=1e-5)
