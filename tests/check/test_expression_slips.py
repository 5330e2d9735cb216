"""One slip in an expression: in several operations each, caught and named by its place."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

import autolab as torch
from autolab.check import check, diagnose
from autolab.check.diagnosis.repairs.changed_rule import ChangedRule
from autolab.check.diagnosis.repairs.search import Search

from .expression_slips import rule_of, table, verdict, wrong_rules
from .test_repairs import PLANTED, observations

RNG = np.random.default_rng(11)
SQUARE = RNG.normal(size=(3, 3))
X, Y, W, V = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=6)
FOUR = RNG.normal(size=(2, 3, 2, 2))


def softmax(g, out, axis):
    dot = (g * out).sum(axis=axis, keepdims=True)
    return out * (g - dot)


def layer_norm(g, x, weight):
    n = x.shape[-1]
    d = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    z, h = d * r, g * weight
    dx = r * (h - h.sum(-1, keepdims=True) / n - z * (h * z).mean(-1, keepdims=True))
    axes = tuple(range(g.ndim - 1))
    return dx, (g * z).sum(axes), g.sum(axes)


def mm(g, x, y):
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    for i in range(len(x)):
        dx[i] = g[i] @ y.T
        dy += np.outer(x[i], g[i])
    return dx, dy


def logaddexp(g, x, y, x_shape, y_shape):
    share = 1 / (1 + np.exp(y - x))
    return sum_to(g * share, x_shape), sum_to(g * (1 - share), y_shape)


def sum_to(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    axes = tuple(k for k, n in enumerate(shape) if n == 1)
    return g.sum(axes, keepdims=True) if axes else g


RULES = [rule_of(rule.__name__, rule) for rule in (softmax, layer_norm, mm, logaddexp)]


def test_slips_in_expressions_are_caught_and_named_by_their_place():
    verdicts = [v for slip in wrong_rules(RULES, 4) if (v := verdict(slip))]
    by_kind = defaultdict(list)
    for v in verdicts:
        by_kind[v.slip.kind].append(v.named)
    assert len(by_kind) >= 15 and all(v.caught for v in verdicts)
    assert sum(v.named for v in verdicts) >= 0.8 * len(verdicts), table(verdicts)


def of_scale(g, x, w):
    return g * w, g * x.sum(0)


def of_a_row_scale(g, x, w):
    return g * w, g * x.sum(-1, keepdims=True)


def outer_by_columns(g, x, y):
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    for j in range(len(y)):
        dx += g[:, j] * y
        dy[j] = g[:, j] @ x
    return dx, dy


def mv_by_rows(g, x, y):
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    for i in range(len(x)):
        dx[i] = g[i] * y
        dy += g * x[i]
    return dx, dy


def plus_for_a_quotient(g, x, y):
    return g / y, -g * x + y**2


def plus_for_a_root(g, x, y):
    return g * x + np.sqrt(x * x + y * y), g * y / np.sqrt(x * x + y * y)


def one_end_only(g, x):
    out = np.zeros_like(x)
    for j in range(3):
        for i in range(len(g)):
            out[j] += g[i]
    return out


def wide(x):
    return x[:-2] + x[1:-1] + x[2:]


def mean_over_spread(g, x):
    m, s, n = x.mean(0), x.std(0), len(x)
    return g / (n * s) - g * m * (x - m) / (s**3 * (n - 1))


def cumsum_at_the_end(g, axis):
    turned = np.moveaxis(g, axis, -1)
    return np.cumsum(turned[..., ::-1], -1)[..., ::-1]


def cumsum_by_a_matrix(g, axis):
    n = g.shape[axis]
    return np.moveaxis(g, axis, -1) @ np.tril(np.ones((n, n)))


def tiles(g, x):
    n, m = x.shape[-2:]
    return g.reshape(*x.shape[:2], n, 2, m, 2)


def tiled(x):
    return x.repeat_interleave(2, -1).repeat_interleave(2, -2)


CASES = (
    (of_scale, lambda x, w: x * w, (X, W), "`g` inside the `sum` of `g * ...`"),
    (of_a_row_scale, lambda x, w: x * w, (X, X[:, :1]), "`g` inside the `sum` of `g * ...`"),
    (outer_by_columns, lambda x, y: x.unsqueeze(1) * y, (X[:, 0], Y[:, 0]), "an index `j` of `y` in `g[:, j] * y`"),
    (mv_by_rows, lambda x, y: x @ y, (SQUARE, W), "an index `i` of `g` in `g * x[i]`"),
    (plus_for_a_quotient, lambda x, y: x / y, (X, Y), "another operation in `-g * x + y**2`"),
    (plus_for_a_root, torch.hypot, (X, Y), "another operation in `g * x + np.sqrt(x * x + y * y)`"),
    (one_end_only, wide, (V,), "`j` plus `i`"),
    (mean_over_spread, lambda x: x.mean(0) / x.std(0), (X,), "n - 1 for n in `x.std(0)`"),
    (tiles, tiled, (FOUR,), "added up along two axes"),
)


@pytest.mark.parametrize(("rule", "right", "inputs", "said"), CASES, ids=lambda value: getattr(value, "__name__", "").strip("<>"))
def test_a_slip_is_said_with_what_mends_it(rule, right, inputs, said):
    assert any(said in found.text for found in diagnose(rule, right, inputs))


def mm_by_entries(g, x, y):
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[0]):
                dx[i, k] += g[i, j] * y[k, j]
                dy[k, j] += g[i, j] * x[i, k]
    return dx, dy


def outer_by_entries(g, x, y):
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    for i in range(len(x)):
        for j in range(g.shape[0]):
            dx[i] += g[i, j] * y[j]
            dy[j] += g[i, j] * x[i]
    return dx, dy


@pytest.mark.parametrize(("operation", "rule"), [("mm", mm_by_entries), ("outer", outer_by_entries)])
def test_of_a_rule_that_runs_long_the_likeliest_change_of_every_place_is_tried_first(operation, rule):
    for found in check(operation, rule).diagnoses:
        assert "shape[0]" in found.text


def cumsum_of_sines(g, x, axis):
    """Long, and mended by no single change."""
    out = np.zeros_like(x)
    g, out = np.moveaxis(g, axis, -1), np.moveaxis(out, axis, -1)
    for i in range(g.shape[-1]):
        for j in range(g.shape[-1]):
            if j > i:
                out[..., i] += np.sin(g[..., j]) * np.cumsum(x)[-1]
    return np.moveaxis(out, -1, axis)


def test_no_change_is_tried_twice_in_one_search(monkeypatch):
    tried, is_repaired = Counter(), ChangedRule.is_repaired

    def counted(rule, k, changes):
        tried[rule, k, tuple(changes.items())] += 1
        return is_repaired(rule, k, changes)

    monkeypatch.setattr(ChangedRule, "is_repaired", counted)
    assert check("cumsum", cumsum_of_sines).diagnoses
    assert len(tried) > 20 and max(tried.values()) == 1


@pytest.mark.parametrize("rule", [cumsum_at_the_end, cumsum_by_a_matrix])
def test_axes_that_are_not_moved_back_are_said(rule):
    (found, *_) = check("cumsum", rule).diagnoses
    assert "with its axes in another order" in found.text


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: getattr(case.rule, "__name__", "rule").strip("<>") + " " + case.quote)
def test_what_is_known_to_mend_nothing_does_not_when_it_is_tried(case):
    seen, candidate = observations(case)
    search = Search(seen, case.x or seen[0].reference.inputs[0], candidate)
    rule = search.rule
    with rule.rule.batch():
        assert rule.note()
        passed_over = [trial for trial in search.trials.all() if not search.slopes.may_mend(trial.edit, trial.sites)]
        assert not any(rule.is_repaired(0, trial.changes) for trial in passed_over)


def odd_and_right(g, x):
    n, y = (x.size + 1) - 1, np.transpose(np.transpose(x))
    return (g * np.ones_like(g) * n / x.size * np.sinh(y))[..., None].sum(-1)


def odd_and_with_one_slip(g, x):
    n, y = (x.size + 1) - 1, np.transpose(np.transpose(x))
    return (g * np.ones_like(g) * n / x.size * np.cosh(y))[..., None].sum(-1)


def test_an_expression_that_is_odd_and_right_is_not_accused():
    assert not diagnose(odd_and_right, torch.cosh, [X])
    (found,) = diagnose(odd_and_with_one_slip, torch.cosh, [X])
    assert "np.cosh(y)" in found.text and not any(harmless in found.text for harmless in ("size", "transpose", "ones_like", "None"))
