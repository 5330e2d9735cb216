"""Sentences that fit what they are said of: an index along its axis, a size by its name, a count as a count."""

import numpy as np
import pytest

from autolab.autograd import Function
from autolab.check import Behaviour, LocalPlayer, Scene, Spec, check, derivative_of_forward, diagnose
from autolab.check.api.judge_behaviour import judge_behaviour
from autolab.engine.op import LINEAR, Op


def put(g, index, x_shape, axis):
    out, at = np.zeros(x_shape), list(np.ogrid[tuple(map(slice, index.shape))])
    at[axis] = index
    np.add.at(out, tuple(at), g)
    return out


def three_along(rng, shapes, settings):
    (shape, _), axis = shapes, settings["axis"]
    return rng.normal(size=shape), rng.integers(0, shape[axis], size=[3 if a == axis else n for a, n in enumerate(shape)])


TAKE = Spec(
    "take_entries", Op("take_entries", lambda x, index, *, axis: np.take_along_axis(x, index, axis), LINEAR, x=put),
    settings=({"axis": 0}, {"axis": 1}), shapes=(((4, 3), (3, 3)), ((4, 4), (4, 4))), make=three_along,
)  # fmt: skip


def test_an_index_that_is_used_along_another_axis_is_no_mask():
    found = check(TAKE, lambda g, index, x_shape, axis: put(g, np.minimum(index, x_shape[1 - axis] - 1), x_shape, 1 - axis)).diagnoses[0]
    assert found.family == "axis" and "uses index along axis 1 of x, and forward uses it along axis 0" in found.text


def test_an_index_that_is_right_needs_no_sentence():
    assert check(TAKE, put).passed


def mean_over(name, inputs):
    lost = {"x": lambda g, x_shape: np.broadcast_to(g / x_shape[0], x_shape)}
    forward = {1: lambda x: x.mean(0), 2: lambda x, weight: x.mean(0) * weight}[inputs]
    if inputs == 2:
        lost = {"x": lambda g, x_shape, weight: np.broadcast_to(g * weight / x_shape[0], x_shape), "weight": lambda g, x: g * x.mean(0)}
    shapes = tuple(((n, 5), (5,))[:inputs] for n in (3, 4, 7))
    return Spec(name, Op(name, forward, LINEAR, **lost), shapes=shapes)


@pytest.mark.parametrize(
    ("inputs", "rule", "is_batch"),
    [
        (1, lambda g, x_shape: np.broadcast_to(g, x_shape) + 0, False),
        (2, lambda g, x, x_shape, weight: (np.broadcast_to(g * weight, x_shape) + 0, g * x.mean(0)), True),
    ],
)
def test_a_count_of_workers_is_no_batch_size(inputs, rule, is_batch):
    text = check(mean_over("of_workers", inputs), rule).diagnoses[0].text
    assert "the size of axis 0 of x" in text and ("batch size" in text) == is_batch


@pytest.mark.parametrize("given", [lambda n: 2 * n, lambda n: 0])
def test_a_count_is_said_as_it_is(given):
    scene = Scene("steps", lambda f, n: {"steps": f(n)}, lambda n: {"steps": int(n)}, "it counts", "Count.", inputs=lambda rng: (int(rng.integers(3, 9)),))  # fmt: skip
    behaviour = Behaviour("counting", (scene,))
    text = judge_behaviour(behaviour, LocalPlayer(behaviour, given)).diagnoses[0].text
    assert "what it should be" not in text and "everywhere" not in text


def back_through_steps(g, x_shape, axis):
    ends = [[(int(a == axis), 0)[::side] for a in range(len(x_shape))] for side in (1, -1)]
    return np.pad(g, ends[0]) - np.pad(g, ends[1])


@pytest.mark.parametrize(
    ("axis", "said"),
    [(0, "only where axis is 0: elsewhere it is something else"), (1, "except where axis is 0: there it is something else")],
)
def test_where_a_rule_is_wrong_is_not_where_it_is_right(axis, said):
    row = Op("steps", lambda x, *, axis: np.diff(x, axis=axis), LINEAR, x=derivative_of_forward)
    steps = Spec("steps", row, shapes=(((4, 5),), ((4, 4),)), settings=({"axis": 0}, {"axis": 1}))
    assert said in check(steps, lambda g: back_through_steps(g, g.shape, axis)).diagnoses[0].text


def through_integers(g, index, x_shape):
    rows = np.zeros(x_shape, dtype=int)
    for j, i in enumerate(index):
        rows[i] = rows[i] + 4 * g[j]
    return rows.astype(float)


@pytest.mark.parametrize(
    ("forward", "rule", "inputs"),
    [
        (lambda x, index: 4 * x[index], through_integers, lambda rng: (rng.normal(size=(4, 3)), np.array([0, 2, 2, 1]))),
        (lambda x: np.cumsum(x, 0) * 5, lambda g: np.flip(np.cumsum(np.flip(5 * g // 1, 0), 0), 0), lambda rng: (rng.normal(size=(5, 3)),)),
    ],
)
def test_whole_numbers_are_said_where_they_were_cut_before_the_end(forward, rule, inputs, rng):
    (found,) = diagnose(rule, forward, inputs(rng))
    assert found.family == "precision" and "holds whole numbers alone" in found.text


class WithoutItsAxis(Function):
    """The mean, and g, without the axis that forward removed: it fails for 3 by 5, and means another axis for 4 by 4."""

    @staticmethod
    def forward(ctx, x, axis):
        ctx.save_for_backward(x)
        ctx.axis = axis
        return x.var(axis)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * (x - x.mean(ctx.axis)) * g / (x.shape[ctx.axis] - 1), None


def test_what_a_rule_raises_in_some_calls_is_said_before_a_guess_about_the_others():
    first, *rest = check("var", WithoutItsAxis).diagnoses
    assert "an axis that forward removed was not put back" in first.text and rest
    assert first.text.count("compared from the right") == 1


def test_a_bound_that_is_written_in_is_no_cause_that_is_not_known():
    def rule(g, weight, index):
        total = np.zeros_like(weight)
        for t in range(4):
            for k in range(index.shape[1]):
                total[index[t, k]] += g[t] / index.shape[1]
        return total

    found = check("embedding_bag", rule).diagnoses
    assert "`range(4)`" in found[0].text or "a bound seems to be a fixed number" in found[0].text


def test_a_size_that_is_written_in_gets_the_hint_of_a_size():
    rule = lambda g, x_shape, axis: np.broadcast_to(np.expand_dims(g, axis), x_shape) / 3
    (found,) = check("mean", rule).diagnoses
    assert "divided by 3 in every call" in found.text and "ask it for its shape" in found.hint


def test_entries_that_are_reached_by_mistake_are_no_question_of_a_mask():
    assert "came from this input" in check("var", WithoutItsAxis).diagnoses[1].hint
