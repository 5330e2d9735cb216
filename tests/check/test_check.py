"""The checker finds every wrong rule, names the mistake, and refuses no right one."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from autolab.autograd import Function
from autolab.check import SPECS, LocalCandidate, Reference, Spec, check, diagnose, judge
from autolab.check.api.score import RowCandidate, mutation_score
from autolab.check.diagnosis.formulas.equivalent_formulas import NamedFormula
from autolab.check.run.cases import forget
from autolab.check.run.inputs import BROADCAST, draw
from autolab.check.run.observation import Observation, observe
from autolab.check.run.reference import stretched_axes, sum_to
from autolab.engine.op import ELEMENTWISE, Op

from . import right_fresh, right_more, right_styles  # noqa: F401  (fills the list)
from .right import RIGHT, ReluFromOutput, Square
from .wrong import WRONG, ForgetsToSum


def name(entry):
    return f"{entry[0]}-{entry[-1].__name__}"


@pytest.mark.parametrize("entry", [w for w in WRONG if w.says], ids=name)
def test_a_report_on_a_wrong_rule_says_what_is_wrong(entry):
    report = check(entry.operation, entry.rule)
    assert report.points < report.max_points
    assert entry.says in str(report)


@pytest.mark.parametrize("entry", RIGHT, ids=name)
def test_a_right_rule_gets_all_points_and_no_diagnosis(entry):
    report = check(*entry, seed=1)
    assert report.passed, str(report)
    assert report.points == report.max_points
    assert report.diagnoses == ()


@pytest.mark.parametrize("operation", sorted(SPECS))
def test_every_slip_of_the_pen_in_a_row_is_caught(operation):
    assert mutation_score(operation, named=False).missed == ()


def test_the_row_itself_passes():
    for spec in SPECS.values():
        reference = Reference.of(spec)
        assert judge(spec, reference, RowCandidate(reference)).passed, spec.name


# --- what the report says


def test_a_missing_sum_is_named_with_its_axis_and_both_shapes():
    text = str(check("mul", ForgetsToSum))
    for phrase in (
        "mul: 6.25 of 10 points",
        "The gradient for y is not summed over axis 0: y has shape (5,), and forward stretched it to (3, 5)",
        "received shape (3, 5), expected shape (5,)",
        "The same holds for x",
        "(certain)",
        "hint: ",
    ):
        assert phrase in text


def test_the_worst_place_is_shown_with_both_numbers():
    worst = check("square", lambda g, x: np.where(x == x.max(), 0.0, 2 * g * x)).diagnoses[0].worst
    assert worst.index is not None
    assert worst.yours == 0.0
    assert worst.expected != 0.0
    assert f"received 0, expected {worst.expected:.6g}" in str(worst)


def test_what_is_not_recognised_is_not_called_certain():
    (found,) = check("exp", lambda g, x: g * np.cosh(x + 0.3) * np.sqrt(np.abs(np.sin(3 * x)))).diagnoses
    assert (found.family, found.certainty) == ("unknown", "unknown")
    assert "received" in str(found)


def test_two_mistakes_are_both_told():
    text = check("mul", lambda g, x, y: (-g * y, -g * x)).diagnoses[0].text
    assert "the wrong sign" in text
    assert "not summed over axis 0" in text


def test_an_exception_is_shown_with_the_line_that_raised_it():
    def misspelt(g, x):
        return 2 * g * X  # noqa: F821

    report = check("square", misspelt)
    assert "NameError: name 'X' is not defined" in str(report)
    assert "return 2 * g * X" in str(report)
    assert report.points == 0


def test_a_blank_answer_gets_no_points_and_no_lecture():
    class Blank(Function):
        @staticmethod
        def forward(ctx, x):
            raise NotImplementedError

        @staticmethod
        def backward(ctx, g):
            raise NotImplementedError

    report = check("square", Blank)
    assert report.points == 0
    assert [d.text for d in report.diagnoses] == ["forward is not written yet"]


def test_care_counts_only_once_a_gradient_is_right():
    report = check("square", lambda g, x: g * np.cosh(x))
    assert report.points == 0
    assert "its points wait for a right gradient" in str(report)


def test_a_wrong_forward_is_told_apart_from_a_right_backward():
    report = check("square", (lambda x: x**3, lambda g, x: 2 * g * x))
    verdicts = {v.name: v.passed for v in report.verdicts}
    assert verdicts["forward"] is False
    assert verdicts["value"] is True


def verdicts(report):
    return {v.name: v.passed for v in report.verdicts}


def test_a_backward_that_spoils_what_forward_saved_fails_the_second_time():
    def overwrites(g, out):
        out *= g
        return out

    report = check("exp", (np.exp, overwrites))
    assert [d.family for d in report.diagnoses] == ["second call"]
    # what forward returned was right when it returned
    assert verdicts(report)["forward"] is True
    assert verdicts(report)["accumulation"] is False


def test_right_numbers_in_another_shape_fail_the_shape_only_once():
    found = verdicts(check("square", lambda g, x: (2 * g * x).ravel()))
    assert found["shape"] is False
    assert found["forward"] is None


def test_a_softmax_that_overflows_is_unstable_and_otherwise_right():
    def naive(x, axis):
        e = np.exp(x)
        return e / e.sum(axis, keepdims=True)

    report = check("softmax", (naive, lambda g, out, axis: out * (g - (g * out).sum(axis, keepdims=True))))
    assert [name for name, passed in verdicts(report).items() if passed is False] == ["stability"]
    assert "The result of forward is not finite for large or tiny numbers" in str(report)


def test_an_exercise_on_an_operation_of_ones_own_is_a_few_lines():
    swish = Op("swish", lambda x: x / (1 + np.exp(-x)), ELEMENTWISE,
               x=lambda g, x: g * (1 / (1 + np.exp(-x)) * (1 + x * (1 - 1 / (1 + np.exp(-x))))))  # fmt: skip
    spec = Spec("swish", swish, points={"value": 3, "upstream": 1})
    assert check(spec, lambda g, x, out: g * (out + (1 - out) / (1 + np.exp(-x)))).points == 4
    assert check(spec, lambda g, x, out: g * out).points == 0
    assert mutation_score(spec).missed == ()


def test_a_slope_within_the_kink_is_accepted_and_remarked_on():
    report = check("relu", lambda g, x: g * (x >= 0))
    assert report.passed
    assert "you take the slope 1, PyTorch takes 0: both are right" in str(report)


def test_what_moves_g_to_the_wrong_place_still_follows_g():
    report = check("flip", lambda g: g)
    upstream = next(v for v in report.verdicts if v.name == "upstream")
    assert upstream.passed is not False
    assert report.points < report.max_points / 2


def test_a_gradient_that_does_not_follow_g_is_told_what_was_seen():
    report = check("exp", lambda g, out: g * g * out)
    assert "for the sum of two g it must be the sum of their gradients" in str(report)


def test_gradients_exchanged_are_not_called_unsummed():
    report = check("sub", lambda g, x, y: (-sum_to(g, y.shape), sum_to(g, x.shape)))
    assert {d.family for d in report.diagnoses} == {"swapped"}


def test_a_derivative_kept_from_an_earlier_call_is_called_that():
    kept = []
    report = check("tanh", lambda g, out: g * (kept or kept.append(1 - out**2) or kept)[0])
    assert (report.diagnoses[0].family, report.diagnoses[0].certainty) == ("state", "certain")


def test_a_rule_that_is_wrong_in_float32_only_fails_by_its_dtype():
    report = check("exp", lambda g, out: g * out if out.dtype == np.float64 else g)
    assert [(v.name, v.passed) for v in report.verdicts if v.passed is False] == [("dtype", False)]


def test_a_gradient_of_another_dtype_is_right_and_remarked_on():
    report = check("exp", lambda g, out: (g * out).astype(np.float64))
    assert report.passed
    assert "for float32 inputs the gradient for x is float64" in report.notes[0]


def test_another_eps_is_nearly_right_and_no_difference_quotient():
    report = check("sqrt", lambda g, x: 0.5 * g / np.sqrt(x + 1e-6))
    assert report.diagnoses[0].family == "number"
    assert report.points > report.max_points / 2


def test_the_points_of_an_exercise_do_not_depend_on_the_answer():
    assert {check("mul", w.rule).max_points for w in WRONG if w.operation == "mul" and isinstance(w.rule, type)} == {10.0}


def test_an_exercise_may_be_worth_other_points():
    report = check("mul", ForgetsToSum, points=2)
    assert (report.points, report.max_points) == (1.25, 2.0)


def test_a_report_is_json_html_and_text():
    report = check("mul", ForgetsToSum)
    data = json.loads(report.to_json())
    assert data["points"] == 6.25
    assert data["diagnoses"][0]["certainty"] == "certain"
    html = report._repr_html_()
    assert "<script" not in html
    assert "not summed over axis 0" in html
    assert "6.25 of 10" in html


def test_numbers_that_are_not_finite_are_still_json():
    json.loads(check("square", lambda g, x: g * np.nan).to_json(), parse_constant=pytest.fail)


def test_what_a_student_wrote_is_escaped_in_html():
    def tag(g, x):
        raise ValueError("<img src=x>")

    assert "<img" not in check("square", tag)._repr_html_()


def test_while_nbgrader_runs_the_text_is_the_points(monkeypatch):
    report = check("mul", ForgetsToSum)
    assert "not summed" in report._repr_mimebundle_()["text/plain"]
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert report._repr_mimebundle_()["text/plain"] == "6.25"


def test_printing_and_warnings_stay_inside(capsys):
    def noisy(g, x):
        print("hello")
        return 2 * g * x + 0 * np.log(np.zeros_like(x) - 1).astype(bool)

    check("square", noisy)
    assert capsys.readouterr() == ("", "")


def test_the_same_seed_gives_the_same_report():
    a, b = (json.loads(check("tanh", lambda g, out: g * out, seed=7).to_json()) for _ in range(2))
    a.pop("seconds"), b.pop("seconds")
    assert a == b


# --- bad calls


@pytest.mark.parametrize("candidate", [3, "Mul", None, Square.__dict__])
def test_something_that_is_no_rule_is_refused_with_what_to_pass(candidate):
    with pytest.raises(TypeError, match="takes a Function class, a pair"):
        check("mul", candidate)


def test_methods_that_are_not_static_are_refused():
    class NotStatic:
        def forward(ctx, x):
            return x

        def backward(ctx, g):
            return g

    with pytest.raises(TypeError, match="Write @staticmethod above"):
        check("square", NotStatic)


def test_what_is_wrong_with_two_inputs_for_one_reason_is_said_once():
    report = check("matmul", (lambda x, y: x @ y, lambda g, x, y: (g @ y.T, x.T @ g)))
    assert next(v for v in report.verdicts if v.name == "value").reason.count("backward raised") == 1


def test_an_unknown_operation_names_the_nearest():
    with pytest.raises(KeyError, match=r"no operation called 'mull'.*Did you mean 'mul' or 'multiply'"):
        check("mull", Square)


@pytest.mark.parametrize("operation", ["einsum", "scatter", "index_put"])
def test_an_operation_whose_inputs_are_unknown_says_what_to_add(operation):
    with pytest.raises(LookupError, match=rf"no exercise on '{operation}' yet.*Add a Spec\('{operation}'"):
        check(operation, Square)


def test_an_operation_without_a_gradient_has_no_rule():
    with pytest.raises(LookupError, match="'argmax' has no gradient"):
        check("argmax", Square)


def test_a_row_without_an_exercise_is_checked_by_its_kind():
    assert check("expm1", lambda g, x: g * np.exp(x)).passed
    assert not check("expm1", lambda g, out: g * out).passed


# --- diagnose, outside a course


def test_diagnose_says_what_is_wrong_on_given_inputs(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=4)
    (found,) = diagnose(lambda g, x, y: (g * y, g * x), "mul", (x, y))
    assert (found.family, found.input) == ("not summed", "y")
    assert diagnose(lambda g, x, y: (g * y, (g * x).sum(0)), "mul", (x, y)) == []


def test_diagnose_takes_any_pair_as_the_right_rule(rng):
    right = (lambda x: x**3, lambda g, x: 3 * g * x**2)
    (found,) = diagnose(lambda g, x: g * x**2, right, (rng.normal(size=5),))
    assert found.family == "constant"
    assert "0.333333 times the right one" in found.text


def test_numbers_that_hide_a_mistake_make_a_diagnosis_less_sure():
    (found,) = diagnose(lambda g, x: g * x, "exp", (np.array([1.0, 2.0, 3.0]),))
    assert found.certainty == "likely"


def test_diagnose_knows_pytorch_functions(torch, rng):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    (found,) = diagnose(Exp, "exp", (rng.normal(size=(3, 4)),))
    assert found.family == "variable"


# --- where the rule runs is nobody's business


def test_a_verdict_needs_only_arrays_from_the_rule():
    class Elsewhere:
        judges_forward = True

        def __init__(self, rule):
            self.local = LocalCandidate(rule, Reference.of("relu"))

        def call(self, *question):
            return pickle.loads(pickle.dumps(self.local.call(*question)))

    spec, reference = SPECS["relu"], Reference.of("relu")
    assert judge(spec, reference, Elsewhere(ReluFromOutput)).passed


# --- inputs


def test_no_two_numbers_agree_and_none_is_nearly_whole(rng):
    a = draw(rng, (40, 50))
    assert len(np.unique(a)) == a.size
    assert np.abs(a - np.round(a)).min() >= 0.079
    assert a.min() < -2.8
    assert a.max() > 2.8


def test_every_way_to_broadcast_is_tried():
    stretched = {(stretched_axes(x, np.broadcast_shapes(x, y)), stretched_axes(y, np.broadcast_shapes(x, y))) for x, y in BROADCAST}
    assert len(stretched) == 8
    assert any(a and b for a, b in stretched)


def test_the_next_check_says_the_same():
    forget()
    first, second = (str(check("softmax", lambda g, x, out, axis: out * (g - (g * out).sum(0, keepdims=True)))) for _ in range(2))
    assert first == second and "axis" in first


def test_the_next_check_works_out_no_slip_again(monkeypatch):
    evaluated, evaluate = [], NamedFormula.evaluate
    monkeypatch.setattr(NamedFormula, "evaluate", lambda self, o, *slip: evaluated.append((o, slip)) or evaluate(self, o, *slip))
    forget()
    counts = []
    for _ in range(2):
        check("sigmoid", lambda g, x: g * np.sin(x))
        counts.append(sum(bool(slip) and isinstance(o, Observation) for o, slip in evaluated))
        evaluated.clear()
    assert counts[0] > 50 > 0 == counts[1]


def test_where_the_rule_of_a_row_is_replaced_the_next_check_goes_by_the_new_one(monkeypatch):
    assert check("square", lambda g, x: 2 * g * x).passed
    monkeypatch.setattr(Reference.of("square").row.rules["x"], "function", lambda g, x: 3 * g * x)
    assert not check("square", lambda g, x: 2 * g * x).passed


def test_what_cancels_is_0_whatever_rounding_leaves_of_it():
    x = np.array([1.0, 2.0])
    names = Reference.of("square").environment([x], {})
    seen = observe(Reference.of("square"), names, np.ones(2), [np.array([1e-17, 0.0])])
    assert seen.gave("x", np.array([0.0, -2e-17]))
    assert not seen.gave("x", np.array([1e-8, 0.0]))


def slope_of_square(g, x, out, doubled=True):
    return 2 * g * x if doubled else g * x


@pytest.mark.parametrize("rule", [slope_of_square, lambda g, x, out, doubled=True: 2 * g * x if doubled else g * x])
def test_a_right_rule_keeps_its_own_defaults(rule):
    spec = Spec("squared", Op("squared", lambda x: x * x, ELEMENTWISE, x=rule))
    assert check(spec, lambda g, x: 2 * g * x).passed
    assert not check(spec, lambda g, x: g * x).passed
    assert diagnose(lambda g, x: g * x, (lambda x: x * x, rule), [np.array([0.3, 1.7, -0.4])])
    assert not diagnose(lambda g, x: 2 * g * x, (lambda x: x * x, rule), [np.array([0.3, 1.7, -0.4])])


def test_a_right_rule_that_asks_for_what_is_no_value_is_refused():
    spec = Spec("squared", Op("squared", lambda x: x * x, ELEMENTWISE, x=lambda g, x, doubled: 2 * g * x if doubled else g * x))
    with pytest.raises(TypeError, match="a rule asks for 'doubled', which is not an input"):
        check(spec, lambda g, x: g * x)
