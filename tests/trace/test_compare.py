"""Two runs: the first place where they part, in words that a learner can act on."""

import pytest

import autolab as torch
from autolab.trace import compare, record


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def run(f, x=2.0, before=None):
    x = leaf(x)
    if before is not None:
        x.grad = torch.tensor(before)
    return record(f(x), names={"x": x})


def test_the_same_code_gives_the_same_run():
    found = compare(run(lambda x: (3 * x + 1) ** 2), run(lambda x: (3 * x + 1) ** 2))
    assert found.equal
    assert found.first is None
    assert found.sentence == "The two runs are the same, bit for bit."


@pytest.mark.lesson05
def test_a_forgotten_zero_grad_is_found_at_the_leaf():
    found = compare(run(lambda x: x**2), run(lambda x: x**2, before=4.0))
    assert [d.where for d in found.differences] == ["backward"]
    assert found.sentence == "Backward 2: x finds nothing in one run and 4 in the other in .grad."


def test_another_number_is_found_where_it_enters():
    found = compare(run(lambda x: (3 * x + 1).sin()), run(lambda x: (3 * x + 2).sin()))
    assert found.first.where == "forward"
    assert found.sentence.startswith("Forward 3: + (AddBackward0) made 7 in one run and 8 in the other")


@pytest.mark.lesson06
def test_a_detach_is_found_where_the_graphs_part():
    found = compare(run(lambda x: (x * 3).exp() * x), run(lambda x: (x * 3).detach().exp() * x))
    assert found.sentence.startswith("Forward 2: × (MulBackward0) made 6 in one run and 806.8")
    assert found.differences[1].sentence == "Forward 3: only the first run has eˣ (ExpBackward0)."


def test_a_wrong_rule_is_found_where_its_gradient_leaves():
    def rule(factor):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * factor

        return Double.apply

    found = compare(run(rule(2)), run(rule(3)))
    assert found.sentence == "Backward 1: DoubleBackward sends x 2 in one run and 3 in the other."


def test_one_bit_of_a_large_tensor_is_seen():
    x = torch.ones(100)
    y = x.clone()
    y[57] = 1 + 2**-23
    found = compare(record((x.requires_grad_() * 2).sum()), record((y.requires_grad_() * 2).sum()))
    assert found.first.where == "forward"


def test_only_traces_are_compared():
    with pytest.raises(TypeError, match=r"two traces, got Tensor; make one with autolab\.trace\.record"):
        compare(run(lambda x: x * 2), leaf(1.0))
