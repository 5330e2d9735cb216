"""What somebody new to the subject tries in problem set 1: luck earns nothing, and what is said is true and in reach."""

import linecache

import pytest

from autolab import relu, where
from autolab.autograd import Function
from autolab.check import check
from autolab.course.solutions import modules
from tests.check.test_causes import in_words, told, value_class, visited
from tests.course.test_capstone import EXERCISES, MODULE, engine

LOOP = """p = 1.0
        for _ in range(int(n)):
            p = p * self.data
        return Value(p, (self,), (n * p / self.data,))"""
POWER = "return Value(self.data**n, (self,), (n * self.data ** (n - 1),))"
PRODUCT = "return Value(self.data * other.data, (self, other), (other.data, self.data))"


def cell(name, source, **names):
    """What a cell of a notebook defines; its lines can be found by its name."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), names)
    return names


def test_an_order_by_the_numbers_is_no_topological_order():
    assert not check("topological_order", lambda root: sorted(visited(root), key=lambda node: node.data)).passed
    assert not check("topological_order", lambda root: sorted(visited(root), key=lambda node: -node.data)).passed


def test_an_exponent_may_be_negative_or_a_fraction():
    said = in_words("value_ops", value_class(POWER, LOOP))
    assert ".data and .local of a ** -1: received [1, " in said


def test_an_operation_leaves_the_gradients_of_its_operands_alone():
    said = in_words("value_ops", value_class(PRODUCT, f"self.grad += other.data; {PRODUCT}"))
    assert "the operation changes a.grad" in said


@pytest.mark.parametrize(("parents", "said"), [
    ("(other, self)", "(b, a)"), ("(self, self)", "(a, a)"), ("(self, 3)", "(a, an int)"), ("(self, Value(1))", "(a, another Value)"),
])  # fmt: skip
def test_parents_are_told_by_their_names(parents, said):
    change = PRODUCT.replace("(self, other), (other.data, self.data)", f"{parents}, (self.data, other.data)")
    assert f"the result's parents are {said}, expected (a, b)" in in_words("value_ops", value_class(PRODUCT, change))


def test_missing_parents_are_missed():
    assert "the result has no parents" in in_words(
        "value_ops", value_class("(self, other), (other.data, self.data)", "(), (other.data, self.data)")
    )


def test_the_slopes_of_a_sum_are_named_in_a_product():
    assert "those of a sum" in in_words("value_ops", value_class("(other.data, self.data)", "(1.0, 1.0)"))


@pytest.mark.parametrize(("order", "said"), [
    (lambda root: [*root.parents, root], "your list is [c, d]"),
    (lambda root: set(visited(root)), "a set, which has no order"),
    (lambda root: [], "The list is empty"),
    (lambda root: visited(root)[:-1], "The root is not on the list"),
    (lambda root: [root, *visited(root)[:-1]], "every node after its parents: this is not so, and should be"),
])  # fmt: skip
def test_a_list_that_is_wrong_is_shown(order, said):
    assert said in in_words("topological_order", order)


def ends_after_the_root(root):
    root.grad = 1.0
    for parent, local in zip(root.parents, root.local, strict=True):
        parent.grad += local


def test_a_walk_that_ends_too_early_is_not_called_one_in_the_wrong_direction_alone():
    (found,) = told("value_backward", ends_after_the_root)
    assert found.text.endswith("the walk runs from the inputs to the root, or ends after the root")


def test_gradients_that_are_returned_and_not_stored_are_seen():
    assert "backward returns a dict, and every .grad is 0 still" in in_words("value_backward", lambda root: {id(root): 1.0})


def half(root):
    root.grad = 0.5
    for node in reversed(visited(root)):
        for parent, local in zip(node.parents, node.local, strict=True):
            parent.grad += node.grad * local


def test_two_halves_are_not_one_call_that_replaces_the_other():
    assert "second call replaces" not in in_words("value_backward", half)


@pytest.mark.parametrize("inside", ["", "n.grad = 0.0 if n.parents else n.grad"])
def test_a_graph_that_is_built_once_is_named_in_the_first_loop(inside):
    source = f"""
def train(w, b, x, t, rate, steps):
    W, B, losses = Value(w), Value(b), []
    loss = ((W * Value(x) + B).tanh() + Value(-t)) ** 2
    for _ in range(steps):
        W.grad = B.grad = 0.0
        for n in visited(loss):
            {inside or "pass"}
        loss.grad = 1.0
        for n in reversed(visited(loss)):
            for parent, local in zip(n.parents, n.local):
                parent.grad += n.grad * local
        losses.append(loss.data)
        W.data, B.data = W.data - rate * W.grad, B.data - rate * B.grad
    return W.data, B.data, losses
"""
    (found,) = told("neuron", cell("once", source, Value=value_class(), visited=visited)["train"])
    assert found.text.startswith("The graph is built once")


@pytest.mark.parametrize(("line", "hint"), [
    ("return maths.pi", "misspelt"),
    ("return [x for x in [3, 2].sort()]", "`.sort()` changes the list itself"),
    ("return {'u': 1}", "which kind of thing"),
])  # fmt: skip
def test_a_hint_is_about_what_happened_and_not_about_numbers(line, hint):
    (found,) = told("trace_table", cell("answer", f"def trace(x):\n    {line}\n")["trace"])
    assert hint in found.hint and "by hand" not in found.hint


def test_a_misspelt_entry_is_told_with_those_that_are_there():
    assert "the entries of the table are 'dydu', expected 'u' as well" in in_words("trace_table", lambda x: {"dydu": x})


def test_a_line_of_another_cell_comes_with_the_one_that_called_it():
    names = cell("cell-1", "def inner(x):\n    return x.data\n")
    outer = cell("cell-2", "def trace(x):\n    return inner(3 * x)\n", **names)["trace"]
    (found,) = told("trace_table", outer)
    assert found.text.endswith("(your line 2: return x.data, called by `return inner(3 * x)`)")


def test_a_line_of_the_same_cell_comes_alone():
    source = "def inner(x):\n    return x.data\ndef trace(x):\n    return inner(3 * x)\n"
    assert "called by" not in in_words("trace_table", cell("cell-3", source)["trace"])


def test_a_long_reason_is_said_once():
    text = str(check("trace_table", lambda x: (x, x, x)))
    assert text.count("expected a dict with the entries of the table") == 2 and text.count("as above") == 2


def test_a_short_reason_is_repeated():
    assert str(check("trace_table", cell("blank", "def trace(x):\n    raise NotImplementedError\n")["trace"])).count("not written yet") == 4


def test_the_derivative_of_relu_at_zero_is_that_of_the_contract():
    text = (
        modules(EXERCISES, "capstone")[MODULE]
        + "\nValue.relu = lambda self: Value(max(self.data, 0.0), (self,), (float(self.data >= 0),))\n"
    )
    (found,) = told("capstone_scalars", engine(text))
    assert found.text == "The derivative of relu at 0 is 1, and should be 0"


def test_what_is_saved_beyond_the_limit_is_said_with_its_size():
    class Masks(Function):
        @staticmethod
        def forward(ctx, x, height):
            ctx.save_for_backward(x < 0, abs(x) < height)
            return relu(height - abs(x))

        @staticmethod
        def backward(ctx, g):
            left, inside = ctx.saved_tensors
            return where(left, g, -g) * inside, None

    (found,) = told("frugal_hat", Masks)
    assert (found.text, found.certainty) == ("More than one byte is saved for each entry", "certain")
    assert found.where.endswith("your number of bytes for each entry is 2")


def test_of_many_numbers_without_a_right_one_beside_them_the_first_are_shown():
    text = in_words("shared_buffer", lambda weights, x, t, rate, steps: (weights, [0.0] * steps))
    assert ", ...] (18 numbers), which is not right" in text
