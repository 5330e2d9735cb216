"""Rules that look right and are not: none is accepted; and what is right is accepted, with a note where PyTorch asks for more."""

from __future__ import annotations

import numpy as np
import pytest

import autolab
from autolab.autograd import Function
from autolab.check import SPECS, Reference, Spec, check
from autolab.check.run.cases import cases, edges
from autolab.check.run.exercises import sigmoid, softmax
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

from . import right_more, right_styles
from .families_accepted import FAMILIES, function, made
from .right import sum_to


@pytest.fixture(scope="module")
def families():
    found: dict[str, list] = {}
    for family, wrong in made():
        found.setdefault(family, []).append(wrong)
    return found


@pytest.mark.parametrize("family", [f.__name__ for f in FAMILIES])
def test_no_wrong_rule_of_a_family_is_accepted(families, family):
    accepted = [f"{w.operation}: {w.where}" for w in families[family] if check(w.spec, w.rule).passed]
    assert accepted == []
    assert len(families[family]) > 10


@pytest.mark.parametrize("operation", ["softmax", "take", "cross_entropy", "sum", "where", "dropout"])
def test_one_value_for_each_argument_is_right_as_a_tuple_and_as_a_list(operation):
    spec = SPECS[operation]
    reference = Reference.of(spec)
    assert "want a tuple" not in str(check(operation, function(spec, reference, tuple)))
    report = check(operation, function(spec, reference, list))
    assert report.passed
    assert "F.apply and PyTorch want a tuple" in str(report)


def test_the_checker_refuses_the_count_that_apply_refuses():
    class Take(Function):
        @staticmethod
        def forward(ctx, x, index):
            ctx.save_for_backward(index)
            ctx.rows = len(x)
            return x[index]

        @staticmethod
        def backward(ctx, g):
            (index,) = ctx.saved_tensors
            return autolab.zeros(ctx.rows, *g.shape[index.ndim :], dtype=g.dtype).index_add(
                0, index.reshape(-1), g.reshape(-1, *g.shape[index.ndim :])
            )

    assert "returned 1 gradient, expected 2" in check("take", Take).diagnoses[0].text
    with pytest.raises(RuntimeError, match=r"expected 2, got 1"):
        Take.apply(autolab.ones(3, 2, requires_grad=True), autolab.tensor([0, 0])).sum().backward()


def test_a_plain_function_may_leave_out_what_has_no_gradient():
    def backward(g, x, target):
        return g * (softmax(x) - np.eye(x.shape[1])[target]) / len(x)

    assert check("cross_entropy", backward).passed


def test_a_mask_as_a_gradient_is_numbers_as_in_the_engine():
    report = check("relu", lambda g, x: x > 0)
    assert report.diagnoses[0].family == "upstream ignored"


def test_what_forward_returns_as_an_array_is_mentioned():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = np.exp(x.numpy())
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g * autolab.from_numpy(ctx.y)

    report = check("exp", Exp)
    assert report.passed
    assert "your rule returns NumPy arrays" in report.notes[0]


def test_every_input_of_where_is_stretched_alone_and_with_another(rng):
    shapes = [[a.shape for a in c.inputs] for c in cases(SPECS["where"], Reference.of("where"), rng) if c.purpose == "broadcast"]
    for k in range(3):
        assert any(s[k] != np.broadcast_shapes(*s) for s in shapes)
    assert any(sum(a != np.broadcast_shapes(*s) for a in s) == 2 for s in shapes)


# --- large and tiny numbers


def naive_bce(x, target):
    p = 1 / (1 + np.exp(-x))
    return -(target * np.log(p) + (1 - target) * np.log(1 - p)).mean()


def naive_logcumsumexp(x, axis):
    return np.log(np.cumsum(np.exp(x), axis))


def logcumsumexp_back(g, x, out, axis):
    weighted = np.flip(np.cumsum(np.flip(g * np.exp(-out), axis), axis), axis)
    return np.exp(x) * weighted


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        ("bce_with_logits", (naive_bce, lambda g, x, target: (g * (sigmoid(x) - target) / x.size, None))),
        ("logcumsumexp", logcumsumexp_back),
        ("log_sigmoid", lambda g, x: g * np.exp(-x) / (1 + np.exp(-x))),
        ("div", lambda g, x, y: (sum_to(g / y, x.shape), sum_to(-g * x / np.maximum(y * y, 1e-8), y.shape))),
        ("reciprocal", lambda g, x: -g / np.maximum(x * x, 1e-8)),
        ("log", lambda g, x: g / np.maximum(x, 1e-6)),
        ("norm", lambda g, x, out, axis: np.expand_dims(g / np.maximum(out, 1e-6), axis) * x),
        ("atanh", lambda g, x: g / np.maximum(1 - x * x, 1e-6)),
    ],
)  # fmt: skip
def test_a_form_that_fails_far_from_ordinary_numbers_is_nearly_right(operation, rule):
    report = check(operation, rule)
    assert report.diagnoses[0].family == "unstable"
    assert 0.5 < report.points / report.max_points < 1


def test_the_edges_of_a_domain_come_from_the_numbers_that_an_exercise_draws():
    assert edges(Spec("atanh", domain={"x": (-0.9, 0.9)}), "x") == (-1, 1)
    assert edges(Spec("pow", domain={"x": (0.1, 3.0)}), "x") == (0, np.inf)
    assert edges(Spec("acosh", domain={"x": (1.0, 3.0)}), "x") == (1, np.inf)
    assert edges(Spec("exp"), "x") == (-np.inf, np.inf)


# --- ties


def test_max_pool_gives_g_to_the_first_of_its_largest_entries(torch, rng):
    spec = SPECS["max_pool"]
    x, g = spec.ties(rng, ((2, 3, 4, 6),), {})[0], rng.normal(size=(2, 3, 2, 3))
    t = torch.tensor(x, requires_grad=True)
    torch.nn.functional.max_pool2d(t, 2).backward(torch.tensor(g))
    reference = Reference.of(spec)
    np.testing.assert_array_equal(reference.gradient("x", g, reference.environment([x], {})), t.grad.numpy())


def test_who_gives_g_to_every_largest_entry_is_told_and_loses_nothing():
    assert "do not add up to g" in check("max_pool", right_more.max_pool).notes[0]
    assert check("max_pool", right_more.max_pool).passed
    assert check("max_pool", right_styles.first_of_each_block).notes == ()


def test_every_row_of_amax_has_its_maximum_more_than_once(rng):
    (x,) = SPECS["amax"].make(rng, ((7, 5),), {"axis": -1})
    assert ((x == x.max(-1, keepdims=True)).sum(-1) > 1).all()


# --- sentences that are true


@pytest.mark.parametrize("names", [("z", "p"), ("s", "n"), ("p", "z"), ("k", "c"), ("h", "e")])
def test_an_input_may_have_any_letter(names):
    a, b = names
    row = eval(f"lambda {a}, {b}: {a} * np.sin({b})", {"np": np})
    rules = {a: eval(f"lambda g, {b}: g * np.sin({b})", {"np": np}), b: eval(f"lambda g, {a}, {b}: g * {a} * np.cos({b})", {"np": np})}
    wrong = eval(
        f"lambda g, {a}, {b}: (summed(g * np.sin({a}), {a}.shape), summed(g * {a} * np.cos({b}), {b}.shape))", {"np": np, "summed": sum_to}
    )
    found = check(Spec("product", Op("product", row, ELEMENTWISE, **rules)), wrong).diagnoses[0]
    assert found.text == f"The gradient for {a} uses {a} where {b} belongs"


def test_a_missing_root_of_d_is_asked_for_as_a_size():
    def backward(g, q, k, v):
        p = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
        h = g @ np.swapaxes(v, -1, -2)
        s = p * (h - (h * p).sum(-1, keepdims=True))
        return s @ k, np.swapaxes(s, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g

    found = check("attention", backward).diagnoses[0]
    assert found.family == "constant"
    assert "bring down" not in found.hint


@pytest.mark.parametrize("size", [len, np.size])
def test_a_size_in_another_ones_place_is_not_called_a_variable(size):
    row = Op("shifted", lambda x, y: x * x / 2 + x * size(y), GENERAL, x=lambda g, x, y: g * (x + size(y)), y=lambda g, y: 0 * y)
    spec = Spec("shifted", row, shapes=(((3, 5), (4,)), ((4, 4), (6,)), ((6, 2), (3,))))
    found = check(spec, lambda g, x, y: (g * (x + size(x)), 0 * y)).diagnoses[0]
    assert "uses x where y belongs" not in found.text


def test_a_function_that_leaves_out_an_input_without_a_gradient_is_told_so():
    rule = lambda g, condition: (np.where(condition, g, 0), np.where(condition, 0, g))  # noqa: E731
    report = check("where", rule)
    assert {v.name: v.passed for v in report.verdicts}["value"]
    assert "for x and y alone" in report.notes[0]
