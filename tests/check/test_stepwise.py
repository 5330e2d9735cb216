"""Functions that stand in no table: the checker follows their steps, and refuses no right rule."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

import autolab
from autolab.autograd import Function
from autolab.check import Reference, assert_gradients, check, diagnose
from autolab.check.diagnosis.formulas.decompositions import DECOMPOSITIONS
from autolab.check.diagnosis.replays.stepwise import Chain, slips
from autolab.check.run.cases import cases
from autolab.check.run.inputs import draw
from autolab.check.run.specs import SPECS, spec_for


def layer(x, w, b):
    return (x @ w + b).tanh()


@pytest.fixture
def given(rng):
    return [draw(rng, (3, 5)), draw(rng, (5, 4)), draw(rng, (4,))]


def right(g, x, w, out):
    r = g * (1 - out**2)
    return r @ w.T, x.T @ r, r.sum(0)


def test_a_chain_has_the_gradient_of_the_engine(given, rng):
    g = draw(rng, (3, 4))
    chain = Chain(layer, dict(zip("xwb", given, strict=True)), {}, g)
    out = np.tanh(given[0] @ given[1] + given[2])
    assert [step.row.name for step in chain.steps] == ["mm", "add", "tanh"]
    assert all(np.allclose(chain.gradients[k], a) for k, a in enumerate(right(g, given[0], given[1], out)))


def test_a_right_rule_for_a_layer_is_accepted(given):
    assert_gradients(right, layer, given)


@pytest.mark.parametrize(
    ("says", "rule"),
    [
        ("without the derivative of tanh", lambda g, x, w, out: (g @ w.T, x.T @ g, g.sum(0))),
        ("is averaged over axis 0", lambda g, x, w, out: (*right(g, x, w, out)[:2], right(g, x, w, out)[2] / 3)),
        ("not summed over axis 0", lambda g, x, w, out: (*right(g, x, w, out)[:2], g * (1 - out**2))),
        ("uses the result of the addition where the result of forward belongs", lambda g, x, w, b: right(g, x, w, x @ w + b)),
    ],
)
def test_a_slip_in_a_layer_is_named(given, says, rule):
    assert says in " ".join(d.text for d in diagnose(rule, layer, given))


def test_a_value_taken_for_a_constant_is_named(rng):
    x = draw(rng, (4, 5))
    (found,) = diagnose(lambda g, x: g / x.std(0, ddof=1), lambda x: (x - x.mean(0)) / x.std(0), [x])
    assert found.family == "term"
    assert "takes mean and std for constants" in found.text


def test_two_explanations_are_both_said_and_neither_is_certain(rng):
    (found,) = diagnose(lambda g, out: g * out, lambda x: x * x.exp(), [draw(rng, (3, 5))])
    assert (found.family, found.alternatives, found.certainty) == ("term", ("forward",), "likely")
    assert ". Or it is g times the result of forward" in found.text


def test_a_function_that_makes_a_tensor_is_followed_too(rng):
    x, y = draw(rng, (4, 5)), draw(rng, (4, 5))
    (found,) = diagnose(lambda g, x: g * (x - y) / 20, lambda x: (x.exp() - autolab.tensor(y) * x).mean(), [x])
    assert "uses x where" in found.text


def test_a_function_that_is_one_row_is_spelled_out(rng):
    rule = lambda g, x: g * np.tanh(np.log1p(np.exp(x)))  # noqa: E731
    (found,) = diagnose(rule, autolab.nn.functional.mish, [draw(rng, (4, 5))])
    assert found.family == "term"


def test_another_function_in_a_mean_is_named(rng):
    (found,) = diagnose(lambda g, x: g * np.sign(x) / 20, lambda x: x.cosh().log().mean(), [draw(rng, (4, 5))])
    assert "derivative of abs in it" in found.text


@pytest.mark.parametrize(
    ("family", "rule"),
    [
        ("term", lambda g, x, out: -out.T @ g @ out.T),
        ("term sign", lambda g, x, out: -out.T @ g @ out.T - (np.eye(5) - x @ out) @ g.T @ out @ out.T),
    ],
)
def test_a_pseudo_inverse_has_more_terms_than_an_inverse(family, rule, rng):
    assert diagnose(rule, lambda x: autolab.linalg.pinv(x), [draw(rng, (5, 3))])[0].family == family


@pytest.mark.parametrize("operation", sorted(DECOMPOSITIONS))
def test_each_operation_spelled_out_has_the_gradient_of_its_row(operation, rng):
    spec = spec_for(operation)
    reference = Reference.of(spec.row or operation)
    case = next(iter(cases(spec, reference, rng)))
    names, g = reference.environment(case.inputs, case.settings), case.upstream[0]
    for function in DECOMPOSITIONS[operation]:
        chain = Chain(function, dict(zip(reference.inputs, case.inputs, strict=True)), case.settings, g)
        for x in reference.differentiable():
            assert np.allclose(chain.gradients[chain.inputs.index(x)], reference.gradient(x, g, names))
            assert sum(1 for _ in slips(chain, x)) > 0


# --- what a function, its inputs and its rule may look like


def test_an_index_has_no_gradient(rng):
    x, index = draw(rng, (4, 3)), np.array([0, 0, 2])

    def rows(g, x, index):
        back = np.zeros_like(x)
        np.add.at(back, index, g)
        return back, None

    assert diagnose(rows, lambda x, index: x[index], [x, index]) == []


@pytest.mark.parametrize(
    "reference",
    [
        lambda x, y: x * y,
        lambda *xs: xs[0] * xs[1],
        lambda x, y, scale=1.0: x * y * scale,
        functools.partial(lambda k, x, y: k * x * y, 1.0),
        np.multiply,
        (np.multiply, lambda g, x, y: (g * y, g * x)),
        "mul",
    ],
)
def test_a_reference_may_be_written_in_many_ways(reference, rng):
    inputs = [draw(rng, (3, 5)), draw(rng, (3, 5))]
    assert diagnose(lambda g, a, b: (g * b, g * a), reference, inputs) == []


def test_pytorch_classes_are_followed_too(given, torch):
    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return (x @ w + b).tanh()

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w.T, x.T @ g, g.sum(0)

    assert "without the derivative of tanh" in diagnose(Layer, layer, given)[0].text


def test_any_slope_within_a_kink_is_right(rng):
    x = draw(rng, (3, 5))
    x[0] = 0.0
    assert diagnose(lambda g, x: g * (x >= 0), lambda x: x.relu(), [x]) == []
    assert diagnose(lambda g, x: g * np.where(x == 0, 2.0, x > 0), lambda x: x.relu(), [x]) != []


def test_a_number_of_float32_is_no_difference_quotient(rng):
    class Third(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 0.3

        @staticmethod
        def backward(ctx, g):
            return g * autolab.tensor([0.3])

    x = draw(rng, (3, 5))
    assert diagnose(Third, lambda x: x * 0.3, [x]) == []
    (found,) = diagnose(lambda g, x: g * ((x + 1e-5) ** 3 - (x - 1e-5) ** 3) / 2e-5, lambda x: x**3, [x])
    assert found.family == "finite differences"


def test_what_a_call_leaves_behind_is_said_first(rng):
    def writes(g, x):
        g *= 3 * x**2
        return g

    assert diagnose(writes, lambda x: x**3, [draw(rng, (3, 5))])[0].family == "mutation"


# --- what is accepted, with a word


def test_a_gradient_of_another_dtype_is_accepted():
    report = check("square", lambda g, x: np.float64(2) * g * x)
    assert report.points == report.max_points
    assert "for float32 inputs the gradient for x is float64" in str(report)


def test_arrays_from_backward_are_accepted_and_mentioned():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = np.exp(x.numpy())
            return autolab.from_numpy(ctx.y)

        @staticmethod
        def backward(ctx, g):
            return g.numpy() * ctx.y

    report = check("exp", Exp)
    assert report.passed
    assert "note: your rule returns NumPy arrays" in str(report)


def test_a_parameter_with_a_default_is_no_input():
    assert check("exp", lambda g, out, scale=1.0: g * out * scale).passed


def test_every_operation_that_is_spelled_out_can_be_checked():
    assert all(name in SPECS or inspect.isfunction(spec_for(name).row or len) or Reference.of(name) for name in DECOMPOSITIONS)
