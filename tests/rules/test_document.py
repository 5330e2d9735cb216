"""docs/rules.md is written from the table."""

import re
from pathlib import Path

import pytest

from autolab.rules import TABLE
from docs.make import formulas
from docs.make import rules as document

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_what_the_table_says():
    assert PAGE.read_text() == document.text(), "run: python -m docs.make.rules > docs/rules.md"


def test_every_row_stands_on_the_page_once():
    names = re.findall(r"^\| `(\w+)` \|", document.text(), re.MULTILINE)
    assert sorted(names) == sorted(TABLE)


def test_a_row_of_the_page_has_six_cells_that_a_student_can_read():
    rows = [line for line in document.text().splitlines() if line.startswith("| `")]
    assert (
        r"| `mul` | `x * y` | x: `y`<br>y: `x` | x: `g * y`<br>y: `g * x` | $x y$<br>$\bar x = g y$<br>$\bar y = g x$ | elementwise |"
        in rows
    )
    assert r"| `exp` | `np.exp(x)` | `out` | `g * out` | $\exp(x)$<br>$\bar x = g \mathrm{out}$ | elementwise |" in rows
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {8}


FORMULAS = {
    "g * (1 - out * out)": r"g (1 - \mathrm{out}^2)",
    "-0.5 * g * x / y": r"\frac{-0.5 g x}{y}",
    "keep_at(g, out > 0, out)": r"g [\mathrm{out} > 0]",
    "np.where(x == y, g / 2, np.where(x < y, 0, g))": r"\begin{cases} \frac{g}{2} & x = y \cr 0 & x < y \cr g & \text{otherwise} \end{cases}",
    "x ** (n - 1)": "x^{n - 1}",
    "straight_at(np.abs(x), x, of='Abs')": r"\lvert x \rvert",
    "np.exp(-x * x) * 2": r"\exp(-x^2) \cdot 2",
    "g - (x - y)": "g - (x - y)",
    "helper(x, y_shape)": r"\mathrm{helper}(x, \mathrm{y~shape})",
    "[f(i) for i in x]": None,
    "np.sum(x * y, axis=axis)": r"\sum (x y)",
    "g @ y.mT": r"g \mathbin{@} y^\top",
    "np.roll(x, shift, axis=axis)": None,
}  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_set_as_mathematics(formula):
    assert formulas.mathematics(formula) == FORMULAS[formula]


def test_mathematics_holds_nothing_that_markdown_would_change():
    set_ = re.findall(r"\$([^$]*)\$", document.text())
    assert len(set_) > 200
    assert [m for m in set_ if re.search(r"\\[^a-zA-Z]|[_|*`]", m) or m.count("{") != m.count("}")] == []
