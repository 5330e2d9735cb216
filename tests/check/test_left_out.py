"""A spec without its rules: the check takes the derivative of forward, and says what it says with the rules."""

import numpy as np
import pytest

from autolab.autograd import Function
from autolab.check import Kink, Spec, check, derivative_of_forward
from autolab.engine.op import ELEMENTWISE, GENERAL, Op


def on_arrays(x):
    """What does not run on tensors: differences stand in."""
    return np.array([[v * v * v for v in row] for row in np.atleast_2d(x).reshape(-1, x.shape[-1])]).reshape(x.shape)


SOFTSIGN = Spec("softsign", Op("softsign", lambda x: x / (1 + np.abs(x)), ELEMENTWISE, x=derivative_of_forward))
CUBE = Spec("cube", Op("cube", on_arrays, GENERAL, x=derivative_of_forward), shapes=(((3, 5),), ((4, 4),)))
BLEND = Spec(
    "blend",
    Op("blend", lambda x, y, w: w * x + (1 - w) * y, ELEMENTWISE, x=derivative_of_forward, y=derivative_of_forward),
    broadcast=False,
)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (SOFTSIGN, lambda g, x: g / (1 + np.abs(x)) ** 2),
        (CUBE, lambda g, x: 3 * g * x * x),
        (BLEND, lambda g, x, y, w: (g * w, g * (1 - w), None)),
    ],
)
def test_a_right_rule_has_all_points(spec, rule):
    report = check(spec, rule)
    assert report.passed and report.points == report.max_points


@pytest.mark.parametrize(
    ("spec", "rule", "family"),
    [
        (SOFTSIGN, lambda g, x: g / (1 + np.abs(x)), "term"),
        (SOFTSIGN, lambda g, x: -g / (1 + np.abs(x)) ** 2, "sign"),
        (SOFTSIGN, lambda g, x: 1 / (1 + np.abs(x)) ** 2, "upstream ignored"),
        (CUBE, lambda g, x: g * x * x, "constant"),
        (CUBE, lambda g, x: 3 * x * x, "upstream ignored"),
        (BLEND, lambda g, x, y, w: (g * (1 - w), g * w, None), "swapped"),
    ],
)
def test_a_wrong_rule_is_named(spec, rule, family):
    assert check(spec, rule).diagnoses[0].family == family


def test_a_spec_may_say_that_shapes_are_equal():
    assert "broadcasting" not in [v.name for v in check(BLEND, lambda g, x, y, w: (g * w, g * (1 - w), None)).verdicts]


class Softsign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x.abs())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 + x.abs()) ** 2


class Detached(Softsign):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 + x.detach().abs()) ** 2


def left_out(forward, kind=GENERAL, **more):
    return Spec("mine", Op("mine", forward, kind, x=derivative_of_forward), shapes=(((3, 5),), ((4, 4),)), **more)


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x * float(x.sum()),
        lambda x: x / x.sum().item(),
        lambda x: x * np.array(x.tolist()),
        lambda x: x + 0.05 * np.tanh(np.array(x.tolist())),
    ],
)
def test_numbers_that_leave_the_graph_are_a_mistake_of_the_spec(forward):
    with pytest.raises(LookupError, match=r"rule for x of 'mine'.* out of the graph.* operations on tensors.* surrogate=True"):
        check(left_out(forward), lambda g, x: g)


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("forward", "rule"),
    [
        (lambda x: np.maximum(x, 0), lambda g, x: g * (x > 0)),
        (lambda x: np.where(x > 0.3, x, 0.1 * x), lambda g, x: np.where(x > 0.3, g, 0.1 * g)),
        (lambda x: np.round(x), lambda g, x: 0 * g),
        (lambda x: np.exp(x - float(x.max())) * np.exp(float(x.max())), lambda g, out: g * out),
        (lambda x: np.tanh(np.array(x.tolist())), lambda g, out: g * (1 - out * out)),
    ],
)
def test_kinks_steps_and_shifts_do_not_leave_it(forward, rule, seed):
    kink = Kink("x", 0.0, slopes=(0.0, 1.0), convention=0.0)
    assert check(left_out(forward), rule, seed=seed).passed
    assert check(left_out(lambda x: np.maximum(x, 0), ELEMENTWISE, kink=kink), lambda g, x: g * (x > 0), seed=seed).passed


def test_a_step_out_of_what_forward_takes_says_nothing():
    def between(t, table):
        i = np.floor(t).astype(int)
        return table[i] + (t - i) * (table[i + 1] - table[i])

    def places(rng, shapes, settings):
        return np.array([0.004, 1.5, 2.996]), rng.normal(size=4)

    op = Op("between", between, GENERAL, t=derivative_of_forward, table=derivative_of_forward)
    spec = Spec("between", op, shapes=(((3,), (4,)),), make=places)

    def rule(g, t, table):
        i = np.floor(t).astype(int)
        g_table = np.zeros(4)
        np.add.at(g_table, i, g * (1 - t + i))
        np.add.at(g_table, i + 1, g * (t - i))
        return g * (table[i + 1] - table[i]), g_table

    assert check(spec, rule).passed


def test_its_second_derivative_is_asked_as_well():
    assert check(SOFTSIGN, Softsign, second_order=True).passed
    assert [d.family for d in check(SOFTSIGN, Detached, second_order=True).diagnoses] == ["second order"]


def test_a_setting_reaches_forward_as_it_is_written():
    running = Op("running", lambda x, *, axis=None: np.cumsum(x, axis), GENERAL, x=derivative_of_forward)
    spec = Spec("running", running, settings=({"axis": 0}, {"axis": -1}), shapes=(((3, 5),), ((4, 4),)))
    assert check(spec, lambda g, axis: np.flip(np.cumsum(np.flip(g, axis), axis), axis)).passed


def std_back(g, x):
    return g[..., None] * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) / x.shape[-1]


def standardize_back(g, x):
    r = 1 / x.std(-1, keepdims=True)
    z = (x - x.mean(-1, keepdims=True)) * r
    return r * (g - g.mean(-1, keepdims=True) - z * (g * z).mean(-1, keepdims=True))


@pytest.mark.parametrize(("forward", "rule"), [
    (lambda x: x.std(-1), std_back),
    (lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True), standardize_back),
])  # fmt: skip
def test_forward_means_what_it_means_on_arrays(forward, rule):
    # x.std(-1) of a tensor divides by n - 1, and of an array by n.
    assert check(Spec("spread", Op("spread", forward, GENERAL, x=derivative_of_forward), shapes=(((3, 5),), ((4, 4),))), rule).passed


def test_a_variance_is_differentiated_without_differences(monkeypatch):
    monkeypatch.setattr("autolab.check.run.differences.derivative", lambda *a, **k: 1 / 0)
    spread = Op("spread", lambda x: np.var(x, -1, ddof=1), GENERAL, x=derivative_of_forward)

    def rule(g, x):
        return 2 * g[..., None] * (x - x.mean(-1, keepdims=True)) / (x.shape[-1] - 1)

    assert check(Spec("spread", spread, shapes=(((3, 5),), ((4, 4),))), rule).passed
