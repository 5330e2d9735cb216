"""A formula as numbered expressions gives what Python gives, and works out what slips share once."""

import ast
from collections import Counter

import numpy as np
import pytest

from autolab.check.diagnosis.formulas.expressions import Expressions, Values, Wrong
from autolab.check.diagnosis.formulas.mutants import mutants

X = np.array([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25]])
FORMULAS = [
    "g * x[:, 1:] ** -2 + (-0.5)", "x.sum(-1, keepdims=True) / x.shape[0]", "np.where(x > 0, g[:, :1], 0)", "max(2, *x.shape)",
    "(x if n < 3 else g).T @ g", "~(x == x.max()) & (x != 0)", "sum(a * n for a in x[0])", "(lambda a: a * n)(x)",
    "0 < n < 3", "(x > 0) if n and not n > 3 else 1", "1 / 0 if n > 5 else 2", "dict(a=n)['a'] // 2 % 3",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_an_expression_comes_to_what_python_says(formula):
    names = {"np": np, "x": X, "g": X[:, :2] if ".T @" not in formula else X, "n": 2}
    got = Wrong.of(ast.parse(formula, mode="eval")).value(Values(names))
    assert np.array_equal(got, eval(formula, dict(names)))


def outcome(run):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(run())
        except Exception as error:
            return repr(error)


@pytest.mark.parametrize(
    "formula", ["g * (1 - x * x)", "np.where(x > 0, g, -g)", "(g - g.mean(-1, keepdims=True)) / x.var(-1, keepdims=True)"]
)
def test_a_slip_comes_to_what_its_text_says(formula):
    names = {"np": np, "x": X, "g": X + 1, "out": X - 4}
    values = Values(names)
    for mutant, wrong in mutants(formula, ("x", "g", "out"), spelled=True):
        got, want = outcome(lambda w=wrong: w.value(values)), outcome(lambda m=mutant: eval(m.formula, dict(names)))
        assert np.array_equal(got, want, equal_nan=not isinstance(want, str)), mutant.formula


def test_no_slip_is_the_formula_itself_or_another_slip():
    texts = [mutant.formula for mutant, _ in mutants("2 * g * x + g * x", ("x", "g"), spelled=True)]
    assert len(texts) == len(set(texts)) and "2 * g * x + g * x" not in texts


def test_what_slips_share_is_worked_out_once():
    asked = Counter()
    names = {"x": X, "g": X, "f": lambda a: (asked.update("f"), np.exp(a))[1]}
    values = Values(names)
    assert len([wrong.value(values) for _, wrong in mutants("g * x * f(x + 1) / 3", ("g",))]) > 5
    assert asked["f"] < 12


def test_an_unknown_name_is_an_error():
    tree = Expressions(ast.parse("missing + 1", mode="eval"))
    with pytest.raises(NameError, match="missing"):
        tree.value(tree.root, Values({}))


def test_numbers_that_cannot_be_divided_wait_until_they_are_asked_for():
    wrong = Wrong.of(ast.parse("1 / 0", mode="eval"))
    with pytest.raises(ZeroDivisionError):
        wrong.value(Values({}))
