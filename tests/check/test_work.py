"""How much a check works, counted in calls: a clock would tell of the machine."""

from __future__ import annotations

from collections import Counter

import numpy as np

from autolab.check import Reference, Spec, check, derivative_of_forward, diagnose
from autolab.check.diagnosis.gradients import products
from autolab.check.diagnosis.gradients.patterns import MOST_ROWS
from autolab.check.diagnosis.gradients.products import MOST_NUMBERS, _some
from autolab.check.diagnosis.replays.stepwise import Chain
from autolab.check.run import reference as reference_module
from autolab.check.run.candidate import LocalCandidate
from autolab.engine.op import GENERAL, Op

from . import own_specs
from .wrong_layers import conv1d_assigns


def test_each_row_of_a_jacobian_is_asked_for_once():
    asked = Counter()

    class Counting:  # it has no source that a repair may change
        judges_forward = False
        rule = LocalCandidate(conv1d_assigns, Reference.of("conv1d"))

        def call(self, inputs, settings, upstream, between=None):
            asked.update((inputs[0].tobytes(), g.tobytes()) for g in upstream if np.count_nonzero(g) == 1)
            return self.rule.call(inputs, settings, upstream, between)

    assert check("conv1d", Counting()).diagnoses[0].family == "overwritten"
    assert max(asked.values()) == 1


def test_the_rows_of_all_jacobians_together_are_bounded():
    asked = []

    def rule(g, x):
        asked.append(np.count_nonzero(g) == 1)
        return g @ np.random.default_rng(g.shape[-1]).normal(size=(g.shape[-1], x.shape[-1]))

    shapes = tuple(((5, n),) for n in (6, 8, 10))
    assert not check(Spec("softmax", shapes=shapes, settings=({"axis": -1},)), lambda g, x, axis: rule(g, x)).passed
    assert 0 < sum(asked) <= MOST_ROWS == 96


def test_the_right_gradient_of_a_call_is_worked_out_once():
    worked_out = Counter()

    def backward(g, x):
        worked_out[x.tobytes(), g.tobytes()] += 1
        return 3 * g * x * x

    spec = Spec("cube", row=(lambda x: x**3, backward), shapes=(((3, 5),), ((4, 4),)))
    assert check(spec, lambda g, x: 3 * g * x**2).passed
    assert max(worked_out.values()) == 1


def test_a_formula_is_read_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr("autolab.engine.op.Op.formula", lambda *_: "asked for")
    reference = Reference.of("sin")
    assert "formulas" not in vars(reference) and reference.formulas == {"x": "asked for"}


def test_the_search_for_a_mistake_is_counted_and_the_verdict_does_not_depend_on_it(monkeypatch):
    whole = check("softmax", lambda g, out, axis: out * (g + (g * out).sum(axis, keepdims=True)))
    for name in ("predictions.MOST_TRIED", "predictions.LEAST_TRIED", "replays.tape_slips.MOST_WORK", "replays.tape_slips.LEAST_WORK"):
        monkeypatch.setattr(f"autolab.check.diagnosis.{name}", 5)
    short = check("softmax", lambda g, out, axis: out * (g + (g * out).sum(axis, keepdims=True)))
    assert whole.diagnoses[0].family == "term sign" != short.diagnoses[0].family
    assert [v.passed for v in whole.verdicts] == [v.passed for v in short.verdicts]


def test_products_of_large_matrices_are_not_tried(monkeypatch):
    monkeypatch.setattr("autolab.check.diagnosis.gradients.products._right", lambda calls: 1 / 0)
    x, y = np.random.default_rng(0).normal(size=(2, 130, 130))
    assert diagnose(lambda g, x, y: (g @ y, x @ g), lambda x, y: x @ y, [x, y])


def test_a_large_array_is_compared_by_some_of_its_numbers():
    few = _some(np.arange(3.0 * MOST_NUMBERS).reshape(3, -1))
    assert few.shape == (MOST_NUMBERS,) and few[0] == 0 and few[-1] == 3 * MOST_NUMBERS - 1


def test_what_moves_where_an_input_moves_is_known_where_parts_are_put_together():
    # So a slip that cannot explain what came back is told by a product, and is not sent back through all steps.
    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4))
    for put in (np.stack, np.concatenate):
        chain = Chain(lambda x, y, put=put: put([x * y, x], -1).exp(), {"x": x, "y": y}, {}, np.array(0.7))
        assert chain._nudge("x") is not None


def test_forward_is_called_a_few_times_for_each_number_of_an_exercise_without_a_rule():
    called = Counter()

    def forward(x, weight):
        called["forward"] += 1
        return own_specs.conv_forward(x, weight)

    op = Op("conv_of_mine", forward, GENERAL, x=derivative_of_forward, weight=derivative_of_forward)
    shapes = ((3, 3, 14), (4, 3, 3)), ((2, 2, 9), (2, 2, 4))
    assert not check(Spec("conv", op, shapes=shapes), lambda g, x, weight: (0.5 * g.sum() * x, weight)).passed
    assert called["forward"] < 10 * sum(np.prod(shape) for some in shapes for shape in some)


def test_what_is_right_where_nothing_is_compared_is_not_worked_out():
    asked = Counter()

    def backward(g, x):
        asked[float(np.abs(x).max())] += 1
        return 3 * g * x * x

    spec = Spec("cube", row=(lambda x: x**3, backward), shapes=(((3, 5),), ((4, 4),)))
    assert not check(spec, lambda g, x: 2 * g * x**2).passed
    assert max(asked) < 10  # of large numbers, on which a rule is tried if it is right for others


def test_all_gradients_of_a_call_share_one_run_of_forward():
    runs = []

    def forward(x, y, z):
        runs.append(x)
        return (x * y).tanh() @ z if hasattr(x, "tanh") else np.tanh(x * y) @ z

    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    reference = Reference.of(Op("f", forward, GENERAL, x=derivative_of_forward, y=derivative_of_forward, z=derivative_of_forward))
    names = reference.environment(inputs, {})
    for g in rng.normal(size=(4, 3, 2)):
        for x in reference.inputs:
            reference.gradient(x, g, names)
    assert sum(not isinstance(x, np.ndarray) for x in runs) == 1


def test_a_jacobian_is_one_pass_of_the_engine_and_its_rows_are_those_of_single_passes(monkeypatch):
    passes, run_one = [], reference_module.grad
    monkeypatch.setattr(reference_module, "grad", lambda *args, **settings: passes.append(settings) or run_one(*args, **settings))
    op = Op("attended", own_specs.attended_forward, GENERAL, q=derivative_of_forward, k=derivative_of_forward, v=derivative_of_forward)
    reference = Reference.of(op)
    inputs = [np.random.default_rng(k).normal(size=(4, 3)) for k in range(3)]
    names = reference.environment(inputs, {})
    reference.gradient("q", names["out"], names)
    gs, before = list(np.eye(12).reshape(12, 4, 3)), len(passes)
    together = reference.gradients("q", gs, names)
    assert len(passes) == before + 1
    np.testing.assert_allclose(together, [reference.gradient("q", g, names) for g in gs], rtol=1e-12, atol=1e-14)


def test_no_answer_is_asked_for_where_the_right_gradient_is_no_product_of_matrices(monkeypatch):
    asked, call = [], products._call
    monkeypatch.setattr(products, "_call", lambda *at, answered=True, **more: asked.append(answered) or call(*at, answered, **more))
    x, y = np.random.default_rng(0).normal(size=(2, 4, 4))
    assert diagnose(lambda g, x, y: (np.sin(g) @ y, x.T @ g), lambda x, y: (x @ y).tanh(), [x, y])
    assert asked and not any(asked)
    assert diagnose(lambda g, x, y: (np.cumsum(g @ y, 0), x.T @ g), lambda x, y: x @ y, [x, y])
    assert any(asked)
