"""What was said by chance of wrong rules made by mutations (`fuzz.py`): each was certain, and not so."""

import numpy as np

import autolab as torch
from autolab.autograd import Function
from autolab.check import Spec, check, derivative_of_forward
from autolab.check.diagnosis.replays.settings import may_not_use
from autolab.check.diagnosis.step_names import _firsts
from autolab.check.run.candidate import LocalCandidate
from autolab.check.run.observation import Question, observe
from autolab.check.run.reference import Reference
from autolab.engine.op import GENERAL, Op


def texts(report):
    return " ".join(found.text for found in report.diagnoses)


class SquareAsAMemoryView(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy()
        return torch.from_numpy(ctx.x**2)

    @staticmethod
    def backward(ctx, g):
        return memoryview(g.numpy() * ctx.x * 2)


def test_a_memoryview_is_no_tensor():
    report = check("square", SquareAsAMemoryView)
    assert "want a Tensor" in str(report)


def test_entries_of_g_that_are_cut_off_are_not_kept_from_an_earlier_call():
    def rule(g, condition, x, y):
        return None, np.where(condition, g, 0), np.where(g > 0, np.where(condition, 0, g), 0)

    assert "earlier call" not in texts(check("where", rule))


def test_where_g_is_turned_round_no_interval_is_named():
    def rule(g, x, min, max):
        return (g * ((x >= min) & (x <= max)))[..., ::-1]

    assert "wrong where x is between" not in texts(check("clamp", rule))


def test_what_is_right_for_some_g_only_is_not_said_of_large_numbers():
    def rule(g, x, mask, value):
        return np.where(mask, 0, g), None, np.maximum(np.where(mask, g, 0).sum(), 0)

    said = texts(check("masked_fill", rule))
    assert "right for ordinary numbers" not in said and said


def turned(x, *, base=10.0):
    half = x.shape[1] // 2
    angle = np.arange(len(x))[:, None] * base ** (-np.arange(half) / half)
    a, b = x[:, :half], x[:, half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=1)


def counted_from_1(g, x, base):
    half = x.shape[1] // 2
    angle = np.arange(1, len(x) + 1)[:, None] * base ** (-np.arange(half) / half)
    a, b = g[:, :half], g[:, half:]
    return np.concatenate([a * np.cos(angle) + b * np.sin(angle), b * np.cos(angle) - a * np.sin(angle)], axis=1)


TURNED = Spec("turned", Op("turned", turned, GENERAL, x=derivative_of_forward), shapes=(((3, 4),), ((4, 6),)))


def test_as_far_as_others_is_not_round_the_end():
    (found,) = check(TURNED, counted_from_1).diagnoses
    assert "a count from another number in `np.arange(1, len(x) + 1)`" in found.text and "goes on at the beginning" not in found.text


def test_whether_a_rule_uses_a_setting_is_asked_of_the_rule():
    reference = Reference.of(TURNED)
    x = np.random.default_rng(0).normal(size=(3, 4))
    names, g = reference.environment([x], {"base": 10.0}), np.ones((3, 4))
    for rule, unused in ((counted_from_1, False), (lambda g, x, base: g, True), (lambda g, x: g, True)):
        candidate = LocalCandidate(rule, reference)
        ask = Question(candidate, reference, [x], {"base": 10.0})
        got = candidate.call([x], {"base": 10.0}, (g,)).gradients[0]
        assert may_not_use(observe(reference, names, g, got, {"base": 10.0}, ask), "base") == unused


def test_a_call_is_one_place_whichever_of_its_instructions_runs():
    code = (lambda f, a: f(a) + f(a * 2)).__code__
    places = list(code.co_positions())
    firsts = _firsts(code)
    for k in range(1, len(places)):
        same = places[k] == places[k - 1] and places[k][2] is not None
        assert (firsts[k] == firsts[k - 1]) == same
    assert _firsts(code.replace(co_linetable=b"")) == []
