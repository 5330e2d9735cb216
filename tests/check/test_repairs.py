"""One mistake planted in a right rule, in every way of writing: the change that mends it is found, and the line is quoted."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import autolab as torch
from autolab.autograd import Function
from autolab.check import Spec, check, derivative_of_forward, diagnose
from autolab.check.diagnosis.repairs import edits, put_in, trials
from autolab.check.diagnosis.repairs.beside import in_full
from autolab.check.diagnosis.repairs.calls import _helpers
from autolab.check.diagnosis.repairs.changed_rule import ChangedRule
from autolab.check.diagnosis.repairs.schema import Schema
from autolab.check.diagnosis.repairs.search import LEAST, MOST, Search, find_repair
from autolab.check.run.candidate import LocalCandidate
from autolab.check.run.inputs import draw
from autolab.check.run.observation import Question, observe
from autolab.check.run.reference import Reference
from autolab.engine.op import GENERAL, Op

RNG = np.random.default_rng(5)
X, Y, SQUARE = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 4))
W, V, B = RNG.normal(size=(3, 5)), RNG.normal(size=6), RNG.normal(size=3)


@dataclass(frozen=True)
class Planted:
    """A rule with one mistake: what it should be, on what, the family, and a piece of the line that is quoted."""

    rule: Any
    right: Any
    inputs: tuple
    family: str
    quote: str
    x: str = ""


PLANTED: list[Planted] = []


def planted(right, inputs, family, quote, x=""):
    def keep(rule):
        PLANTED.append(Planted(rule, right, inputs, family, quote, x))
        return rule

    return keep


def sigmoid(x):
    return 1 / (1 + np.exp(x))


def normalised(x):
    return x / np.sqrt((x * x).sum(0, keepdims=True))


def row_unit(x):
    return x / (x * x).sum(-1, keepdim=True).sqrt()


def softmax_of(x):
    return torch.softmax(x, -1)


planted(lambda x: torch.sin(x) * x, (X,), "sign", "-x * np.cos(x)")(lambda g, x: g * (np.sin(x) + -x * np.cos(x)))
planted(lambda x: x**3, (X,), "power", "x**3")(lambda g, x: 3 * g * x**3)
planted(lambda x: torch.cosh(x), (X,), "function", "np.cosh(x)")(lambda g, x: g * np.cosh(x))
planted(lambda x, y: x / y, (X, Y), "factor|power|variable", "g * x", "y")(lambda g, x, y: (g / y, -g * x / y))
planted(lambda x, w: x @ w, (X, W), "order|transposed|swapped", "g.T", "w")(lambda g, x, w: (g @ w.T, g.T @ x))
planted(lambda x, w: x @ w, (SQUARE, SQUARE.T + 1), "transposed", "g @ w", "x")(lambda g, x, w: (g @ w, x.T @ g))
planted(lambda x: (x > 0) * x, (X,), "mask", "x < 0")(lambda g, x: g * (x < 0))
planted(lambda x: x.sum(-1), (SQUARE,), "keepdims", "g")(lambda g, x: g * np.ones_like(x))
planted(lambda x: x.mean(0), (X,), "size", "x.shape[1]")(lambda g, x: np.broadcast_to(g / x.shape[1], x.shape))
planted(lambda x: x.flip(0).cumsum(0), (X,), "flipped", "np.cumsum(g, 0)")(lambda g, x: np.cumsum(g, 0))


@planted(softmax_of, (X,), "axis", "(g * out).sum(0, keepdims=True)")
def softmax_other_axis(g, x, out):
    dot = (g * out).sum(0, keepdims=True)
    return out * (g - dot)


@planted(softmax_of, (X,), "averaged", "(g * out).mean(-1, keepdims=True)")
def softmax_mean(g, x, out):
    return out * (g - (g * out).mean(-1, keepdims=True))


@planted(row_unit, (X,), "axis", "(x * x).sum(0, keepdims=True)")
def unit_with_a_helper(g, x):
    u = normalised(x)
    n = np.sqrt((x * x).sum(-1, keepdims=True))
    v = x / n
    return (g - v * (g * v).sum(-1, keepdims=True)) / n if u is None else (g - u * (g * u).sum(-1, keepdims=True)) / n


@planted(lambda x: torch.nn.functional.softplus(x), (X,), "sign", "sigmoid(x)")
def softplus_by_a_helper(g, x):
    return g * sigmoid(x)


@planted(lambda x: x.cumsum(0), (V,), "places", "len(x) - 2")
def cumsum_loop(g, x):
    out, total = np.zeros_like(x), 0.0
    for i in range(len(x) - 2, -1, -1):
        total += g[i]
        out[i] = total
    return out


@planted(lambda x: x[1:] - x[:-1], (V,), "overwritten", "out[:-1] = -g")
def difference_overwrites(g, x):
    out = np.zeros_like(x)
    out[1:] += g
    out[:-1] = -g
    return out


@planted(lambda x: x[1:] * x[:-1], (V,), "places", "x[1:]")
def product_of_neighbours(g, x):
    out = np.zeros_like(x)
    out[1:] += g * x[1:]
    out[:-1] += g * x[1:]
    return out


@planted(lambda x, b: x + b, (X, B), "averaged", "g.mean(0)", "b")
def bias_averaged(g, x, b):
    db = g.mean(0)
    return g, db


@planted(lambda x: x.abs() ** 1.5, (X,), "number", "2 * g")
def branch(g, x):
    if x.ndim > 5:
        return g
    return 2 * g * np.abs(x) ** 0.5 * np.sign(x)


@planted(lambda x: torch.exp(x) / (1 + x * x), (X,), "factor", "2 * e * x")
def quotient(g, x):
    e = np.exp(x) / (1 + x * x)
    slope = e - 2 * e * x / (1 + x * x) * x
    return g * slope


@planted(lambda x: torch.tanh(x), (X,), "power", "ctx.t")
class TanhSavedAsAttribute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.t = torch.tanh(x)
        return ctx.t

    @staticmethod
    def backward(ctx, g):
        return g * (1 - ctx.t)


@planted(lambda x: torch.exp(x), (X,), "variable", "x")
class ExpSavesItsInput(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out


@planted(lambda x, y: x * y.sin(), (X, Y), "function", "y.sin()", "y")
class OnTensors(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y.sin()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y.sin(), g * x * y.sin()


@planted(lambda x, y: x * y, (X, Y), "swapped|variable", "g * x")
def pair_swapped(g, x, y):
    return g * x, g * y


@planted(lambda x: (x * x).sum(), (X,), "constant", "g")
def lost_number(g, x):
    return g * x


@planted(lambda x: torch.log(x * x + 1), (X,), "number|term", "x * x")
def another_number(g, x):
    inside = x * x + 2
    return 2 * g * x / inside


def height(x):
    return np.sin(x)


def slope_of_height(x):
    return np.cos(x)


planted(lambda x: torch.sin(x), (X,), "function", "height(x)")(lambda g, x: g * height(x))


def spread(x, w):
    m = (w * x).sum(-1, keepdim=True) / w.sum(-1, keepdim=True)
    return (w * (x - m) ** 2).sum(-1)


@planted(spread, (X, np.abs(Y) + 0.5), "averaged", "x.mean(-1, keepdims=True)")
def spread_about_the_plain_mean(g, x, w):
    m = x.mean(-1, keepdims=True)
    return 2 * g[:, None] * w * (x - m), g[:, None] * (x - m) ** 2


@planted(lambda x: x.abs() ** 3.5, (X,), "number", "g * n")
def exponent_that_is_not_raised(g, x):
    n = 2.5
    return g * n * np.abs(x) ** n * np.sign(x)


def observations(case):
    reference = Reference.of(case.right, case.inputs)
    candidate = LocalCandidate(case.rule, reference)
    names = reference.environment(case.inputs, {})
    rng, found = np.random.default_rng(3), []
    for _ in range(2):
        g = draw(rng, names["out"].shape)
        answer = candidate.call(case.inputs, {}, (g,))
        got = None if answer.fault else answer.gradients[0]
        found.append(observe(reference, names, g, got, {}, Question(candidate, reference, case.inputs, {})))
    return found, candidate


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: getattr(case.rule, "__name__", "rule").strip("<>") + " " + case.quote)
def test_the_change_that_mends_a_planted_mistake_is_found(case):
    seen, _ = observations(case)
    repair = find_repair(seen, case.x or seen[0].reference.inputs[0])
    assert repair is not None
    found = in_full(repair)
    assert case.quote in found.text
    assert {found.family, *found.parts} & set(case.family.split("|"))


def closed_over(n):
    def rule(g, x):
        return n * g * x**n

    return rule


def test_a_closed_function_is_read_with_what_it_closes_over():
    seen, _ = observations(Planted(closed_over(3), lambda x: x**3, (X,), "", ""))
    assert "`n * g * x**n`" in find_repair(seen, "x").text or "`x**n`" in find_repair(seen, "x").text


def test_a_rule_without_source_has_no_repair():
    names = {"np": np}
    exec("def rule(g, x):\n    return g * np.cosh(x)", names)
    seen, candidate = observations(Planted(names["rule"], lambda x: torch.cosh(x), (X,), "", ""))
    assert find_repair(seen, "x") is None
    assert not Schema(candidate.methods).methods


def endless_when_changed(g, x):
    i = 0
    while i < 3:
        i += 1
    return g * np.cosh(x)


def test_a_change_that_makes_a_loop_endless_is_given_up_by_count():
    seen, _ = observations(Planted(endless_when_changed, lambda x: torch.cosh(x), (X,), "", ""))
    assert "`np.cosh(x)`" in find_repair(seen, "x").text


def test_a_rule_that_is_not_here_is_not_read():
    class Elsewhere:
        judges_forward = False

        def __init__(self, candidate):
            self.candidate = candidate

        def call(self, *arguments):
            return self.candidate.call(*arguments)

    seen, candidate = observations(Planted(lambda g, x: g * np.cosh(x), lambda x: torch.cosh(x), (X,), "", ""))
    away = [observe(o.reference, o.names, o.g, o.got.values(), {}, Question(Elsewhere(candidate), o.reference, o.inputs, {})) for o in seen]
    assert find_repair(seen, "x") is not None and find_repair(away, "x") is None


def power_with_the_other_logarithm(g, x, y):
    return g * y * x ** (y - 1), g * x**y * np.log(np.abs(y))


def test_a_mistake_that_no_formula_predicts_is_certain_with_its_line():
    found = next(d for d in check("pow", power_with_the_other_logarithm).diagnoses if d.input == "y")
    assert (found.family, found.certainty) == ("variable", "certain")
    assert "`np.abs(y)`" in found.text and "besides, it is not summed" in found.text


def test_where_the_slip_is_comes_before_what_its_numbers_look_like():
    rule = lambda g, x, y, out: (g * np.exp(x - out), g * np.exp(out - out))
    (found,) = diagnose(rule, "logaddexp", [X, Y])
    assert (found.family, found.certainty, found.input) == ("upstream only", "certain", "y")
    assert "would be right with another value in the place of `out`" in found.text.partition("In its numbers, it is the incoming")[0]


def test_a_change_that_says_the_same_as_the_numbers_adds_the_line():
    (found,) = check("tanh", lambda g, x, out: g * (1 - x * x)).diagnoses
    before, _, after = found.text.partition(": it would be right with ")
    assert (found.family, found.certainty) == ("variable", "certain") and "where the result of forward belongs" in before
    assert "in `x * x`" in after and "2 times)" in after


def test_points_do_not_depend_on_the_source():
    names = {"np": np}
    exec("def rule(g, x, y):\n    return g * y * x ** (y - 1), g * x**y * np.log(np.abs(y))", names)
    with_source, without = check("pow", power_with_the_other_logarithm), check("pow", names["rule"])
    assert with_source.points == without.points
    assert [d.text for d in with_source.diagnoses] != [d.text for d in without.diagnoses]


def rule_that_raises(g, x, y):
    return g @ np.swapaxes(y, 0, 1), x.swapaxes(-1, -2) @ g


def test_a_rule_that_raises_is_mended_too():
    (found, *_) = check("bmm", rule_that_raises).diagnoses
    assert (
        found.family == "exception"
        and "The rule would be right with another number in the place of 0 in `np.swapaxes(y, 0, 1)`" in found.text
    )
    assert "number" in found.alternatives


def test_no_name_of_a_family_is_new():
    from autolab.check.api.points import CREDIT
    from autolab.check.diagnosis.repairs import calls

    known = put_in.FUNCTIONS.values()
    assert {family for family, _ in known} | set(calls.DROPPED.values()) | set(calls.FAMILY_OF.values()) <= set(CREDIT)
    for case in PLANTED:
        seen, _ = observations(case)
        assert find_repair(seen, case.x or seen[0].reference.inputs[0]).family in CREDIT


def test_the_inputs_of_a_check_share_what_repairs_may_ask():
    seen, candidate = observations(Planted(lambda g, x: g * x, lambda x: x.exp(), (X,), "", ""))

    def most():
        search = Search(seen, "x", candidate)
        assert search.note()  # how long it is
        return search.most

    assert most() == MOST
    find_repair(seen, "x")
    spent = seen[0].reference.repairing
    assert spent > 0 and most() == max(MOST - spent, LEAST)
    seen[0].reference.repairing = 10 * MOST
    assert most() == LEAST


def test_unlikely_changes_are_made_only_if_no_likely_one_mends_the_rule(monkeypatch):
    made, unlikely = [], trials.unlikely_edits
    monkeypatch.setattr(trials, "unlikely_edits", lambda *at: made.append(at) or unlikely(*at))
    other_sign, _ = observations(Planted(lambda g, x: g * (np.sin(x) + -x * np.cos(x)), lambda x: torch.sin(x) * x, (X,), "", ""))
    assert find_repair(other_sign, "x") and not made
    halved, _ = observations(Planted(lambda g, x: g * np.cos(x) / np.pi, lambda x: torch.sin(x) / 7, (X,), "", ""))
    find_repair(halved, "x")
    assert made


def test_unlikely_changes_are_all_that_cost_so_much_at_one_place():
    seen, candidate = observations(Planted(lambda g, x: g * (np.exp(x) * x), lambda x: x.exp() * x, (X,), "", ""))
    search = Search(seen, "x", candidate)
    with search.rule.rule.batch():
        assert search.rule.note()
        costs = [trial.cost for trial in search.trials.all()]
        unlikely = [e for site in search.rule.schema.visited() for e in edits.unlikely_edits(site, search.trials.pools.of(site))]
    assert costs == sorted(costs) and len(unlikely) > 0.5 * len(costs) and min(e.cost for e in unlikely) >= edits.UNLIKELY


def test_only_the_students_own_helpers_are_tried_in_the_place_of_another():
    def tried(names):
        space = {**names, "np": np}
        exec(compile("def shape(v): return v * v\ndef rule(g, x): return g * shape(x)", "<a cell>", "exec"), space)
        site = SimpleNamespace(do=space["shape"], node=ast.parse("shape(x)", mode="eval").body, function="rule")
        return [name for name, _ in _helpers(site, "shape")]

    own = {}
    text = "def other(v): return v + v\n"
    linecache.cache["<another cell>"] = len(text), None, text.splitlines(True), "<another cell>"
    exec(compile(text, "<another cell>", "exec"), own)
    assert tried({"other": own["other"], "torch_is_tensor": torch.is_tensor}) == ["other"]


def in_place(g, x, y):
    g *= y
    x += 1
    return g, g * x


@pytest.mark.parametrize(
    ("rule", "raises"),
    [
        (lambda g, x, y: (g * y, g * x), False),
        (lambda g, x, out: (g * out / x, None), False),
        ((lambda x, y: x * y, lambda g, x, y: (g * y, x * g)), False),
        (in_place, False),
        (lambda g, x, y: (g @ y, g), True),
        (lambda g, x, y: g, True),
    ],
)
def test_an_attempt_gives_what_a_call_gives(rule, raises):
    candidate = LocalCandidate(rule, Reference.of("mul"))
    x, y, g = X.copy(), Y.copy(), RNG.normal(size=X.shape)
    answer = candidate.call((x, y), {}, (g.copy(),))
    with candidate.batch():
        attempt = candidate.attempt((x, y), {}, g, X * Y)
    assert (attempt is None) == raises == bool(answer.fault)
    assert np.array_equal(x, X) and np.array_equal(y, Y)  # on copies
    if attempt:
        out, gradients = attempt
        np.testing.assert_array_equal(out, X * Y)
        assert all(a is b is None or np.array_equal(a, b) for a, b in zip(gradients, answer.gradients[0], strict=True))


@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (0, 2)])
def test_right_is_right_whatever_is_compared_first(shape):
    o, candidate = observations(Planted(lambda g, x: g * x, lambda x: x.exp(), (X,), "", ""))
    rule = ChangedRule(o, "x", candidate)
    want = RNG.normal(size=shape)
    right = SimpleNamespace(want={"x": want})
    others = [want * (1 + 1e-6), -want, want + 1e-3, np.where(want == np.max(want, initial=0), want, 0), np.full(shape, np.nan)]
    for value in (want, want.copy(), *others, want[None], None):
        same = value is not None and value.shape == shape and np.allclose(value, want, rtol=1e-9, atol=0)
        assert rule.is_right(right, {"x": value}, "x") == (same or (value is None and not want.any()))


def hinge(x, y):
    return np.maximum(0.0, 1 + x - y).sum()


def without_a_margin(g, x, y):
    d = g * (x - y > 0)
    return d, -d


def test_a_number_that_is_0_may_be_the_mistake():
    """A factor does not move it: whether the gradient is a straight line in it is asked at two other places."""
    op = Op("hinge", hinge, GENERAL, x=derivative_of_forward, y=derivative_of_forward)
    found, *_ = check(Spec("hinge", op, shapes=(((3, 5), (3, 5)), ((4, 4), (4, 4)))), without_a_margin).diagnoses
    assert "another number in the place of 0 in `x - y > 0`" in found.text
