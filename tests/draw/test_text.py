"""The graph as text."""

import re

import pytest

import autolab as torch
from autolab.draw import text
from autolab.trace import record


def leaf(data):
    return torch.tensor(data, requires_grad=True)


@pytest.mark.lesson02
def test_the_graph_of_lesson_2():
    w, x = leaf(3.0), leaf(2.0)
    product = w * x
    y = product**2
    assert (
        text(y)
        == """\
xʸ (PowBackward0)  y  36
└─ × (MulBackward0)  product  6
   ├─ w (AccumulateGrad)  3
   └─ x (AccumulateGrad)  2"""
    )


def test_shapes_and_dtypes_of_tensors():
    x = torch.ones(2, 3).requires_grad_()
    assert "x (AccumulateGrad)  float32 [2, 3]" in text(x.sum())


def test_a_shared_node_is_written_once():
    x = leaf(2.0)
    twice = x * 2
    assert (
        text(twice + twice)
        == """\
+ (AddBackward0)  8
├─ × (MulBackward0) (1)  twice  4
│  └─ x (AccumulateGrad)  2
└─ × (MulBackward0) (1), see above"""
    )


def test_the_output_of_an_operation_with_several_is_named():
    x = leaf([1.0, 2.0])
    parts = x.unbind()
    assert "output 1 of unbind (UnbindBackward0)" in text(parts[0] * parts[1])


def test_what_is_left_out_is_said():
    x = leaf(1.0)
    y = x
    for _ in range(300):
        y = y + 1
    assert text(y).splitlines()[-1] == "... 101 more lines; limit=None prints them all"
    assert len(text(y, limit=None).splitlines()) == 301


def test_a_recorded_pass_is_followed_by_its_table():
    x = leaf(2.0)
    assert (
        text(record((3 * x + 1) ** 2)).partition("\n\n")[2]
        == """\
step  node               receives  sends
1     xʸ (PowBackward0)  1         +: 1 * (2 * 7 ** (2 - 1)) = 14
2     + (AddBackward0)   14        ×: 14
3     × (MulBackward0)   14        x: 14 * 3 = 42
4     x                  42        x.grad = 42"""
    )


def test_each_gradient_that_is_sent_has_a_line():
    w, x, b = leaf(3.0), leaf(2.0), leaf(1.0)
    assert (
        text(record(w * x + b)).partition("\n\n")[2]
        == """\
step  node              receives  sends
1     + (AddBackward0)  1         ×: 1
                                  b: 1
2     b                 1         b.grad = 1
3     × (MulBackward0)  1         w: 1 * 2 = 2
                                  x: 1 * 3 = 3
4     w                 2         w.grad = 2
5     x                 3         x.grad = 3"""
    )


def test_where_a_rule_is_too_long_the_result_is_shown_and_the_summed_axes():
    scores, bias = torch.zeros(300, 400).requires_grad_(), torch.zeros(400).requires_grad_()
    table = text(record(((scores + bias) * 1.5).log_softmax(1).sum())).partition("\n\n")[2]
    assert max(map(len, table.splitlines())) <= 96
    assert "np." not in table
    assert re.search(r"bias: .*, summed over axis 0\n", table)


def test_a_rule_that_fits_is_shown():
    x, b = torch.ones(3, 4).requires_grad_(), leaf([0.5, 1.0, 2.0, 4.0])
    assert "x: float32[3, 4] * [0.5, 1, 2, 4] = [3, 4], 0.5 to 4\n" in text(record((x * b).sum()))


def test_a_prompt_shows_the_text_itself():
    x = leaf(2.0)
    assert repr(text(x * 2)) == str(text(x * 2))


def test_what_has_no_graph_is_refused():
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        text(torch.tensor(1.0))


def test_a_long_table_says_how_many_steps_are_left():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(300):
        y = y + 1
    printed = text(record(y))
    assert printed.endswith("... 101 more steps; limit=None prints them all")
    assert len(printed.splitlines()) < 410
    assert "more" not in text(record(y), limit=None)
