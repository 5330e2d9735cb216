"""Slips with whole statements, and others that no single expression mends: in several operations, named by their line."""

from __future__ import annotations

import numpy as np
import pytest

import autolab as torch
from autolab.check import check, diagnose
from autolab.check.diagnosis.repairs.schema import Schema

from .statement_slips import NOT_COUNTED, SAID_WITHOUT_A_LINE, lines_said, slips

RNG = np.random.default_rng(8)
X, Y, V = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=5)
SQUARE = RNG.normal(size=(3, 3))


def cumsum_from_the_end(g, axis):
    back, total = np.zeros_like(g), 0.0
    for i in range(g.shape[axis] - 1, -1, -1):
        total = total + g.take(i, axis)
        back[(slice(None),) * (axis % g.ndim) + (i,)] = total
    return back


def mm_row_by_row(g, x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(y)
    for i in range(len(x)):
        gx[i] = g[i] @ y.T
        gy += np.outer(x[i], g[i])
    return gx, gy


def take_one_by_one(g, x, index):
    back = np.zeros_like(x)
    for place in np.ndindex(index.shape):
        back[index[place]] += g[place]
    return back


RIGHT = (("cumsum", cumsum_from_the_end), ("mm", mm_row_by_row), ("take", take_one_by_one))


@pytest.mark.parametrize(("operation", "rule"), RIGHT, ids=lambda value: value if isinstance(value, str) else "")
def test_a_slip_with_a_statement_is_named_by_its_line(operation, rule):
    assert check(operation, rule).passed
    wrong = named = 0
    for slip in slips(rule):
        report = check(operation, slip.rule)
        if not report.passed and not any(d.family in NOT_COUNTED for d in report.diagnoses):
            wrong += 1
            named += bool(slip.lines & lines_said(report)) or report.diagnoses[0].family == SAID_WITHOUT_A_LINE.get(slip.kind)
    assert wrong >= 4 and named >= 0.8 * wrong


def steps(x, a):
    m = x[0] * 0 + 1
    for t in range(len(x)):
        m = a * m * torch.sin(x[t])
    return m


def uses_the_state_after_its_update(g, x, a):
    before, m = [], 1.0
    for t in range(len(x)):
        m = a * m * np.sin(x[t])
        before.append(m)
    dx, da = np.zeros_like(x), 0.0
    for t in range(len(x) - 1, -1, -1):
        da += g * before[t] * np.sin(x[t])
        dx[t] = g * a * before[t] * np.cos(x[t])
        g = g * a * np.sin(x[t])
    return dx, da


def test_a_state_that_is_used_after_its_update_is_said_with_the_two_statements():
    for found in diagnose(uses_the_state_after_its_update, steps, [V, np.array(0.3)]):
        assert "`before.append(m)`" in found.text and "`m = a * m * np.sin(x[t])`" in found.text


def uses_what_has_been_written_over(g, x):
    y = np.sin(x)
    y = y * np.exp(x)
    return g * np.exp(x) * (y + np.cos(x))


def other_coefficient(g, x):
    return g * (7.25 * x**2 - 3 * x)


OTHERS = (
    (uses_what_has_been_written_over, lambda x: torch.sin(x) * torch.exp(x), [X], "the value of `y` before `y = y * np.exp(x)`"),
    (other_coefficient, lambda x: 2.375 * x**3 - 1.5 * x**2, [X], "another number in the place of 7.25"),
)


@pytest.mark.parametrize(("rule", "right", "inputs", "said"), OTHERS, ids=lambda value: getattr(value, "__name__", "").strip("<>"))
def test_what_no_single_expression_mends_is_named(rule, right, inputs, said):
    (found, *_) = diagnose(rule, right, inputs)
    assert said in found.text


def takes_where_it_should_add(g, index, x_shape, axis):
    back = np.zeros(x_shape)
    back[: g.shape[0], : g.shape[1]] = np.take_along_axis(g, index, axis)
    return back


def test_entries_taken_where_they_are_to_be_added_are_said():
    (found, *_) = check("gather", takes_where_it_should_add).diagnoses
    assert "each entry added at its index" in found.text


ARGUMENTS = ((X, 0), (X @ SQUARE, X, SQUARE), (V[:2], V, np.array([1, 3])))


@pytest.mark.parametrize(("rule", "arguments"), [(rule, a) for (_, rule), a in zip(RIGHT, ARGUMENTS, strict=True)])
def test_a_rule_runs_in_the_schema_as_it_does_by_itself(rule, arguments):
    made, right = Schema({"backward": rule}).methods["backward"](*arguments), rule(*arguments)
    for a, b in zip(made, right, strict=True):
        assert np.array_equal(a, b)


def odd_and_with_one_slip(g, x):
    total = 0.0
    total = 1.0
    for _ in (1, 2):
        total = 1.0
    scale = total
    scale = scale * 1.0
    return scale * g * np.cosh(x)


def test_a_statement_that_is_odd_and_harmless_is_not_accused():
    (found,) = diagnose(odd_and_with_one_slip, lambda x: torch.cosh(x), [X])
    assert "np.cosh(x)" in found.text and "total" not in found.text


def weight(v):
    return v + 2.5


def one_number_for_both(g, x, y):
    return g * weight(y), g * (weight(x) - 0.5)


def test_what_mended_one_input_mends_the_next():
    """By itself, the gradient for y has a nearer number that mends it: the 0.5."""
    found = diagnose(one_number_for_both, lambda x, y: x * y + 1.25 * x + 0.75 * y, [X, Y])
    assert found and all("2.5 in" in d.text and "0.5 in" not in d.text for d in found)


def mm_made_anew(g, x, y):
    for i in range(x.shape[0]):
        gx, gy = (np.zeros_like(x), np.zeros_like(y))
        for j in range(y.shape[1]):
            for k in range(x.shape[1]):
                gx[i, k] += g[i, j] * y[k, j]
                gy[k, j] += g[i, j] * x[i, k]
    return gx, gy


def test_of_a_long_rule_statements_are_asked_about_first():
    assert "outside the loop (line" in check("mm", mm_made_anew).diagnoses[0].text
