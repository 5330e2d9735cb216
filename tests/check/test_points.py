"""Points: how much of an exercise is understood."""

from __future__ import annotations

import numpy as np
import pytest

from autolab.check import BEHAVIOURS, Behaviour, LocalPlayer, Scene, Spec, check, derivative_of_forward
from autolab.check.api.check import judge, reference_of
from autolab.check.api.judge_behaviour import judge_behaviour
from autolab.check.api.points import AT_LEAST, CREDIT, DECIDED, NOTHING, PART, SLIP, credit
from autolab.check.api.resemblance import FACTS
from autolab.check.diagnosis.diagnosis import diagnosis
from autolab.check.diagnosis.hints import HINTS
from autolab.check.run.exercises import average, normal, per_deviation
from autolab.check.run.specs import spec_for
from autolab.engine.op import ELEMENTWISE, GENERAL, Op

from .changed import CHANGES, CannotChange, Changed, Raising
from .measure_generated import generate
from .measure_points import share_of_wrong
from .wrong import WRONG, ForgetsToSum


def part(operation, rule):
    report = check(operation, rule)
    return report.points / report.max_points


def square(backward):
    return part("square", (np.square, backward))


def test_the_more_is_understood_the_more_points():
    return_g, without_g = square(lambda g: g), square(lambda g, x: 2 * x)
    half, right = square(lambda g, x: -2 * g * x), square(lambda g, x: 2 * g * x)
    assert 0 < return_g < without_g < half < 0.5 < right == 1


def test_a_slip_in_a_number_costs_as_much_as_one_in_a_sign():
    assert square(lambda g, x: g * x) == square(lambda g, x: -2 * g * x)


def test_care_earns_nothing_where_no_gradient_is_right():
    report = check("square", lambda g, x: g * np.cosh(x))
    assert report.points == 0
    assert [v.name for v in report.verdicts if v.passed] == []


def test_a_gradient_that_is_right_for_one_of_two_inputs_earns_a_part_of_everything():
    def one(g, x, y):
        return g, g

    report = check("sub", (np.subtract, one))
    care = next(v for v in report.verdicts if v.name == "purity")
    assert care.points == care.max_points / 2


def layer_norm(x_gradient):
    def backward(g, x, weight, bias):
        return x_gradient(g * weight, x), (g * normal(x)).sum(0), g.sum(0)

    return part("layer_norm", (lambda x, weight, bias: normal(x) * weight + bias, backward))


def without_mean_and_variance(h, x):
    return per_deviation(x) * h


def without_variance(h, x):
    return per_deviation(x) * (h - average(h))


def whole(h, x):
    return per_deviation(x) * (h - average(h) - normal(x) * average(h * normal(x)))


def test_a_layer_norm_without_its_hard_part_earns_less_than_half():
    assert layer_norm(without_mean_and_variance) <= layer_norm(without_variance) < 0.5
    assert layer_norm(whole) == 1


@pytest.mark.parametrize("points", [1.0, 4.0, 25.0])
def test_a_cell_is_worth_the_same_part_as_its_report(points):
    pytest.importorskip("nbformat")
    from autolab.course.grading.grade import verdict_outputs, worth
    from autolab.course.grading.judge import CellOutcome

    outcome = CellOutcome(report=check("mul", ForgetsToSum))
    (shown,) = verdict_outputs('check("mul", Mul)', points, outcome)
    assert worth(outcome, points) == float(shown.data["text/plain"]) == pytest.approx(0.625 * points, abs=0.01)
    assert f"{worth(outcome, points):g} of {points:g} points" in shown.data["text/html"]


@pytest.mark.parametrize("points", [1.0, 2.5, 8.0])
def test_a_report_is_scaled_and_not_cut_off(points):
    report = check("mul", ForgetsToSum)
    assert report.worth(points).points == pytest.approx(points * report.points / report.max_points, abs=0.01)
    assert check("mul", ForgetsToSum, points=points).points < points


def value_of(report):
    return next(v.share for v in report.verdicts if v.name == "value")


def test_a_rule_that_raises_for_some_shapes_earns_half_of_the_others():
    report = check("softmax", lambda g, out, axis: out * (g - np.einsum("ij,ij->i", g, out)[:, None]) if axis == -1 else 1 / 0)
    value = next(v for v in report.verdicts if v.name == "value")
    assert 0 < value.share < SLIP


@pytest.mark.parametrize("name", ["square", "softmax", "sum", "cumsum", "flip", "sigmoid", "std", "triu", "log_softmax"])
@pytest.mark.parametrize("only", [2, 3])
def test_a_rule_that_raises_for_some_shapes_earns_at_least_a_quarter_in_every_operation(name, only):
    def of_these_axes_only(right, x, g, out):
        if x.ndim != only:
            raise ValueError
        return right(g)

    report = judge(spec_for(name), reference_of(spec_for(name)), Raising(reference_of(spec_for(name)), of_these_axes_only))
    assert PART <= value_of(report) < SLIP


def two_axes(right, x, g, out):
    _rows, _columns = out.shape
    return right(g)


def three_axes(right, x, g, out):
    return right(np.moveaxis(g, 2, 2))


@pytest.mark.parametrize("axes", [two_axes, three_axes])
@pytest.mark.parametrize("name", ["exp", "mul", "where", "pow", "softmax", "matmul", "tril"])
def test_a_rule_for_one_number_of_axes_earns_a_quarter_in_every_operation(name, axes):
    spec = spec_for(name)
    assert value_of(judge(spec, reference_of(spec), Raising(reference_of(spec), axes))) == PART


def test_a_rule_that_always_raises_earns_nothing():
    assert value_of(check("softmax", lambda g, out, axis: 1 / 0)) == NOTHING


ALIKE = {
    "conv: first tap left out": PART,  # one of them is not named: a third of its derivatives is right
    "derivative squared": PART,
    "matrix: no transposes": PART,
    "matrix: not inverted": PART,
    "matrix: wrong sign of a term": SLIP,
    "pieces: kink moved": SLIP,
    "pieces: value in a piece": PART,
    "reciprocal of the derivative": PART,
}


@pytest.mark.parametrize("family", ALIKE)
def test_a_family_of_mistakes_earns_the_same_in_every_operation_and_way_of_writing(family):
    earned = {}
    for rule in generate():
        if rule.family == family and not rule.inputs:
            earned[rule.operation] = share_of_wrong(check(rule.reference, rule.rule))
    assert len(earned) > 4
    assert {name: part for name, part in earned.items() if abs(part - ALIKE[family]) > 0.02} == {}


def test_every_kind_of_mistake_has_a_part():
    assert set(CREDIT) == set(HINTS)
    assert set(DECIDED) | set(AT_LEAST) == set(FACTS)
    assert {*CREDIT.values(), *DECIDED.values(), *AT_LEAST.values()} == {SLIP, PART, NOTHING}


def own(forward, *shapes, kind=GENERAL, **more):
    return Spec("own", Op("own", forward, kind, x=derivative_of_forward), shapes=tuple((s,) for s in shapes), **more)


ZIGZAG = own(lambda x: np.where(x < -1, 0.5 * x + 0.5, np.where(x < 1.2, -x - 1, 2 * x - 4.6)), kind=ELEMENTWISE)
ROUND_CORNERS = own(lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5), kind=ELEMENTWISE)
EXPONENTIAL = own(lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1), kind=ELEMENTWISE)
LOG_DET = own(lambda x: np.linalg.slogdet(x)[1], (3, 3), (4, 4))
INVERSE = own(lambda x: np.linalg.inv(x), (3, 3), (4, 4))
PINHOLE = own(lambda x: x[:, :2] / x[:, 2:], (4, 3), (3, 3), domain={"x": (0.4, 3.0)})
RATIO = own(lambda x: x[1:] / x[:-1], (5,), (7,), domain={"x": (0.4, 3.0)})
GATE = own(lambda x, *, b: x * np.tanh(b * x), kind=ELEMENTWISE, settings=({"b": 1.7}, {"b": 0.4}))
DAMPED = own(lambda x, *, a: np.exp(-a * x) * np.cos(2.5 * x), kind=ELEMENTWISE, settings=({"a": 0.3}, {"a": 0.8}))
GAMMA = own(
    lambda x, *, k, t: x**k * np.exp(-x / t),
    kind=ELEMENTWISE,
    settings=({"k": 2.5, "t": 1.4}, {"k": 1.5, "t": 0.7}),
    domain={"x": (0.3, 3.0)},
)
ENTROPY = own(lambda x, *, p: np.log(x) * x**p, kind=ELEMENTWISE, settings=({"p": 1.6}, {"p": 2.3}), domain={"x": (0.3, 3.0)})
WAVES = own(lambda x, *, k: np.sin(k * x) - x**3, kind=ELEMENTWISE, settings=({"k": 1.6}, {"k": 0.7}))
SQUASHED = own(lambda x, *, c: x / (1 + c * (x * x).sum(-1, keepdims=True)), (3, 5), (4, 4), settings=({"c": 0.3}, {"c": 1.4}))
PENALTY = own(lambda x, *, c: np.sin(x).sum(-1) + c * (x**4).mean(-1), (3, 5), (4, 4), settings=({"c": 0.3}, {"c": 1.4}))
SCORES = own(lambda x, *, t: np.log(np.exp(x / t).sum(-1)) * (x * x).sum(-1), (3, 5), (4, 4), settings=({"t": 1.3}, {"t": 2.4}))


def shares(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


SAME = {
    "a factor is lost in one of its terms": (PART, [
        (GATE, lambda g, x, b: g * (np.tanh(b * x) + x * (1 - np.tanh(b * x) ** 2))),
        (DAMPED, lambda g, x, a: g * np.exp(-a * x) * (-np.cos(2.5 * x) - 2.5 * np.sin(2.5 * x))),
        (GAMMA, lambda g, x, k, t: g * (k * x ** (k - 1) - x**k) * np.exp(-x / t)),
        (ENTROPY, lambda g, x, p: g * (x ** (p - 1) + np.log(x) * x ** (p - 1))),
        (WAVES, lambda g, x, k: g * (np.cos(k * x) - 3 * x * x)),
        (SQUASHED, lambda g, x, c: (
            g / (d := 1 + c * (x * x).sum(-1, keepdims=True)) - 2 * x * (g * x).sum(-1, keepdims=True) / d**2)),
        (PENALTY, lambda g, x, c: g[:, None] * (np.cos(x) + 4 * x**3 / x.shape[-1])),
        (SCORES, lambda g, x, t: g[:, None] * (
            shares(x / t) * (x * x).sum(-1, keepdims=True) + 2 * x * np.log(np.exp(x / t).sum(-1, keepdims=True)))),
    ]),
    "a kink in another place": (SLIP, [
        ("abs", lambda g, x: g * np.sign(x - 1)),
        ("clamp", lambda g, x: g * ((x >= 0) & (x <= 1))),
        ("relu", lambda g, x: g * (x > 0.4)),
        (ZIGZAG, lambda g, x: g * np.where(x < -1, 0.5, np.where(x < 1.0, -1.0, 2.0))),
        (ROUND_CORNERS, lambda g, x: g * np.where(np.abs(x) < 1.3, x, np.sign(x))),
        (EXPONENTIAL, lambda g, x: g * np.where(x > -0.4, 1.0, np.exp(np.minimum(x, 0)))),
    ]),
    "a matrix that is not inverted": (PART, [
        (LOG_DET, lambda g, x: g * x.T),
        ("det", lambda g, x, out: np.reshape(g * out, (*np.shape(g), 1, 1)) * np.swapaxes(x, -1, -2)),
        (INVERSE, lambda g, x: -x.T @ g @ x.T),
    ]),
    "the derivative squared": (PART, [
        ("sin", lambda g, x: g * np.cos(x) ** 2),
        ("cos", lambda g, x: g * np.sin(x) ** 2),
        ("tanh", lambda g, out: g * (1 - out**2) ** 2),
        ("exp", lambda g, out: g * out**2),
    ]),
    "the derivative upside down": (PART, [
        ("sin", lambda g, x: g / np.cos(x)),
        ("log", lambda g, x: g * x),
        ("exp", lambda g, out: g / out),
    ]),
    "the sign of one term": (SLIP, [
        ("leaky_relu", lambda g, x, negative_slope: np.where(x > 0, g, -negative_slope * g)),
        ("logit", lambda g, x: g * (1 / x - 1 / (1 - x))),
        (PINHOLE, lambda g, x: np.hstack([g / x[:, 2:], (g * x[:, :2]).sum(1, keepdims=True) / x[:, 2:] ** 2])),
        (RATIO, lambda g, x: np.append(0, g / x[:-1]) + np.append(g * x[1:] / x[:-1] ** 2, 0)),
    ]),
    "the sign of some entries": (SLIP, [
        ("square", lambda g, x: 2 * g * np.abs(x)),
        ("huber", lambda g, x, delta: g * np.where(np.abs(x) <= delta, x, delta)),
        ("cosh", lambda g, x: g * np.abs(np.sinh(x))),
        ("det", lambda g, x, out: np.reshape(g * out, (*np.shape(g), 1, 1)) * np.abs(np.swapaxes(np.linalg.inv(x), -1, -2)) * np.sign(
            np.reshape(out, (*np.shape(g), 1, 1)))),
    ]),
    "a number in one piece": (SLIP, [
        ("hardtanh", lambda g, x, low, high: 2 * g * ((x > low) & (x < high))),
        ("silu", lambda g, x, out: np.where(x > 0, 1.5, 1) * g * (1 / (1 + np.exp(-x)) + out * (1 - 1 / (1 + np.exp(-x))))),
        ("huber", lambda g, x, delta: g * np.where(np.abs(x) <= delta, 2 * x, delta * np.sign(x))),
    ]),
    "a term or a function inside is lost": (PART, [
        ("logit", lambda g, x: g / x),
        ("log_softmax", lambda g, out, axis: g - out * g.sum(axis, keepdims=True)),
        (PINHOLE, lambda g, x: np.hstack([g / x[:, 2:], np.zeros((len(x), 1))])),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("mistake", SAME)
def test_the_same_mistake_earns_the_same_however_it_is_found(mistake):
    share, rules = SAME[mistake]
    earned = [next(v.share for v in check(exercise, rule).verdicts if v.name == "value") for exercise, rule in rules]
    assert earned == [share] * len(rules)


@pytest.mark.parametrize("mistake", SAME)
def test_a_mistake_earns_the_same_where_the_source_is_not_read(mistake, monkeypatch):
    """As in the sandbox of a grader."""
    monkeypatch.setattr("autolab.check.diagnosis.explain.find_repair", lambda *_: None)
    share, rules = SAME[mistake]
    assert [value_of(check(exercise, rule)) for exercise, rule in rules] == [share] * len(rules)


OPERATIONS = ("square", "log", "sigmoid", "mul", "div", "softmax", "log_softmax", "layer_norm", "std", "mean", "cumsum", "matmul", "roll",
              "tril", "gather", "max_pool", "mse_loss", "batch_norm")  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_mistake_earns_the_same_in_every_operation(change):
    make, share = CHANGES[change]
    earned = {}
    for name in OPERATIONS:
        spec = spec_for(name)
        reference = reference_of(spec)
        try:
            report = judge(spec, reference, Changed(reference, make))
        except CannotChange:
            continue
        earned[name] = next(v.share for v in report.verdicts if v.name == "value")
    assert len(earned) > 2
    assert {name: part for name, part in earned.items() if part != share} == {}


@pytest.mark.parametrize("fact", DECIDED)
def test_what_the_numbers_show_counts_whatever_the_mistake_is_called(fact):
    parts = {credit(diagnosis(family, "certain", ""), 0, 4, fact) for family in CREDIT}
    assert parts == {DECIDED[fact]}


def test_a_roll_along_the_wrong_axis_is_no_slip_in_a_number():
    report = check("roll", lambda g, shift, axis: np.roll(g, -shift, -1 - axis))
    assert next(v.share for v in report.verdicts if v.name == "value") == PART


@pytest.mark.parametrize("name", ["log_density", "inverse_form", "dot"])
def test_a_rule_that_is_right_for_positive_g_alone_earns_less_than_half(name):
    spec = spec_for(name)
    reference = reference_of(spec)
    report = judge(spec, reference, Changed(reference, lambda right, x, g, out: right(abs(g))))
    assert 0 < report.points < 0.5 * report.max_points


@pytest.mark.parametrize("name", ["square", "cosh", "det"])
def test_the_size_of_a_gradient_is_no_slip_in_a_sign(name):
    """It does not follow g."""
    spec = spec_for(name)
    reference = reference_of(spec)
    report = judge(spec, reference, Changed(reference, lambda right, x, g, out: abs(right(g))))
    assert next(v.share for v in report.verdicts if v.name == "value") < SLIP


def test_every_wrong_rule_costs_a_twentieth():
    kept = {w.rule.__name__: part(w.operation, w.rule) for w in WRONG}
    assert {name: share for name, share in kept.items() if share > 0.95} == {}


def zeros(first=0.0, *rest, **settings):
    return np.zeros(np.shape(first)) if isinstance(first, np.ndarray) else 0.0


UNRELATED = {
    "a number": lambda *args, **settings: 7.25,
    "an array": lambda *args, **settings: np.array([7.25, -3.5, 2.125]),
    "a pair": lambda *args, **settings: (7.25, -3.5),
    "nothing": lambda *args, **settings: None,
    "an empty list": lambda *args, **settings: [],
    "zeros": zeros,
    "a pair of zeros": lambda *args, **settings: (zeros(*args), zeros(*args)),
    "its input": lambda first=None, *rest, **settings: first,
    "its last input": lambda *args, **settings: args[-1] if args else None,
    "its inputs": lambda *args, **settings: args,
    "a constant function": lambda *args, **settings: lambda *inner: 7.25,
    "an empty class": type("Answer", (), {}),
    "no table": {},
}


@pytest.mark.parametrize("given", UNRELATED)
def test_an_answer_that_has_nothing_to_do_with_an_exercise_earns_nothing(given):
    earned = {name: judge_behaviour(b, LocalPlayer(b, UNRELATED[given], seconds=1)).points for name, b in BEHAVIOURS.items()}
    assert {name: points for name, points in earned.items() if points} == {}


def test_what_comes_besides_earns_as_much_of_its_points_as_the_rest():
    value = [Scene(f"twice {n}", lambda f, n=n: {"result": f(n)}, lambda n=n: {"result": 2 * n}, "doubled", "Try it.") for n in (2, 3)]
    calm = Scene("calm", lambda f: {"raises": f(0) is None}, lambda: {"raises": False}, "nothing is raised", "Try 0.", 3.0, side=True)
    doubling = Behaviour("doubling", (*value, calm))
    reports = [judge_behaviour(doubling, LocalPlayer(doubling, f)) for f in (lambda n: 2 * n, lambda n: n * n, lambda n: n)]
    assert [report.points for report in reports] == [5, 2.5, 0]
    assert [report.verdicts[2].passed for report in reports] == [True, True, None]
    assert "wait for the rest" in reports[2].verdicts[2].reason


class Recursive:
    """Right passes that call themselves once for each node."""

    @staticmethod
    def backward_order(root):
        found = {}

        def visit(node):
            found[id(node)] = node
            for parent in node.parents:
                visit(parent)

        visit(root)
        return sorted(found.values(), key=lambda node: -node.number)

    @staticmethod
    def run_backward(root, g):
        arrived = {id(root): g}
        for node in Recursive.backward_order(root):
            whole = arrived.pop(id(node))
            if not node.parents:
                node.grad = whole if node.grad is None else node.grad + whole
                continue
            for parent, part in zip(node.parents, node.rule(whole), strict=True):
                arrived[id(parent)] = arrived[id(parent)] + part if id(parent) in arrived else part


@pytest.mark.parametrize("name", ["backward_order", "run_backward"])
def test_a_pass_that_is_right_but_not_in_deep_graphs_keeps_three_quarters(name):
    report = judge_behaviour(BEHAVIOURS[name], LocalPlayer(BEHAVIOURS[name], getattr(Recursive, name)), points=8)
    assert [v.name for v in report.verdicts if not v.passed] == ["deep chain"] and report.points == pytest.approx(6, abs=0.02)


def test_of_what_the_pass_of_the_first_milestone_is_worth_depth_is_a_quarter():
    of_the_pass = "a value used several times", "a value that has to wait", "two backward calls", "a long chain", "many ways"
    points = {scene.name: scene.points for scene in BEHAVIOURS["capstone_scalars"].scenes}
    assert points["a long chain"] == sum(points[name] for name in of_the_pass) / 4
