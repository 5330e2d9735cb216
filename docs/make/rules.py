"""The reference of the table, written from the table: `python -m docs.make.rules > docs/rules.md`."""

import inspect
import types

from autolab.engine.op import Op
from autolab.rules import (
    activations,
    arithmetic,
    bessel,
    calculus,
    complex_matrix,
    complex_numbers,
    conv,
    ctc,
    elementwise,
    error_functions,
    fourier,
    gamma,
    indefinite,
    index,
    linalg,
    matrix,
    nn,
    order,
    padding,
    polynomials,
    pool,
    recurrent,
    reduce,
    resize,
    scatter,
    shape,
    strided,
    view_write,
)

from .formulas import is_arithmetic, mathematics

FAMILIES = {
    elementwise: "Entry by entry",
    calculus: "Entry by entry: the functions of a calculus book",
    arithmetic: "Entry by entry: remainders, choices, bits",
    complex_numbers: "Complex numbers",
    order: "Putting in order",
    reduce: "Fewer numbers out of many",
    shape: "Other shapes, other orders",
    index: "Picking entries, and putting them back",
    scatter: "Writing at places that an index names",
    linalg: "Products of matrices",
    matrix: "Whole matrices: inverses, determinants, factorizations",
    complex_matrix: "Whole matrices of complex numbers",
    indefinite: "Whole matrices: symmetric, and not positive-definite",
    strided: "Views by strides",
    view_write: "Writing through views",
    fourier: "Fourier transforms",
    nn: "Networks: probabilities, losses, norms",
    activations: "Networks: activations",
    conv: "Networks: convolutions",
    pool: "Networks: pools",
    padding: "Networks: edges",
    resize: "Networks: other sizes",
    recurrent: "Networks: recurrent layers",
    ctc: "Networks: sequences",
    error_functions: "Special functions: the error function's relatives",
    gamma: "Special functions: gamma's family",
    bessel: "Special functions: Bessel's and Airy's",
    polynomials: "Special functions: orthogonal polynomials",
}

PREFACE = r"""# The rules

Every operation of autolab, written from the table in [autolab/rules](../autolab/rules) by `python -m docs.make.rules`.
What is here is the text of the code that runs; large arrays may be computed by an equal, faster [kernel](../autolab/fast/kernels).

How to read a row:

- **forward** computes the result from raw arrays, in NumPy's words.
- **backward** gives the gradient of each input from `g`, the gradient of the result (`u` where an input is itself called `g`).
  `x:` says for which input, if there are several.
- **remembers** is what the result keeps for it: `out` is the result, an input's own name its value, `x_shape` only its shape.
  Settings of the call, such as `axis`, are kept too. An input that needs no gradient costs nothing: if only `x` needs one, `mul`
  keeps only `y`.
- **in symbols** is the same as mathematics, where it is mathematics: first the result, then, after $\bar x =$, the gradient of $x$.
  $[a < b]$ is 1 where the condition holds, 0 elsewhere. A product is one entry by entry, $x \mathbin{@} y$ one
  of matrices; sums run over the axes that the row names or that were stretched.
- **kind** gives the other modes. *elementwise*: axes stretched by broadcasting are summed by the engine, so no formula mentions them.
  *linear*: the rule is the transpose. *bilinear*: linear in each of two inputs. *general*: only the rule is known. A *view* looks
  into its input's memory.
- Complex numbers go through the same formulas: where the table has $f(g)$ the gradient is $\overline{f(\bar g)}$. The rows that take them
  are named in [complex_numbers.py](../autolab/rules/complex_numbers.py), beside the rows that [only they need](#complex-numbers).
- A formula that is longer than a line is a function; its text is below its table.
"""


def text():
    """The whole page."""
    parts = [PREFACE]
    shown = set()
    for family, title in FAMILIES.items():
        own = [row for row in rows_of(family) if row.name not in shown]
        shown |= {row.name for row in own}
        parts += [f"## {title}\n", first_line(family), table(own), functions(family)]
    return "\n".join(part for part in parts if part)


def rows_of(family):
    """The rows of one file, in the order in which they are there."""
    return [value for value in vars(family).values() if isinstance(value, Op) and value.forward.__module__ == family.__name__]


def first_line(family):
    return f"{inspect.getdoc(family)}\n"


def table(rows):
    lines = ["| op | forward | remembers | backward | in symbols | kind |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [f"`{row.name}`", code(row.forward_formula()), remembers(row), backward(row), symbols(row), kind(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def backward(row):
    return by_input({x: code(row.formula(x)) for x in row.rules})


def symbols(row):
    """The result and the gradients as mathematics; of rows that do not work entry by entry only what is arithmetic."""
    texts = {"": row.forward_formula(), **{rf"\bar {letter(x)} = ": row.formula(x) for x in row.rules}}
    if row.kind != "elementwise":
        texts = {name: text for name, text in texts.items() if is_arithmetic(text) and not text.isidentifier()}
    formulas = {name: mathematics(text) for name, text in texts.items()}
    return "<br>".join(f"${name}{formula}$" for name, formula in formulas.items() if formula) or "-"


def letter(name):
    """The name of an input as a symbol."""
    return name if len(name) == 1 else rf"{{\mathrm{{{name}}}}}"


def remembers(row):
    kept = {x: [m for n in rule.needs for m in (row.shared[n][1] if n in row.shared else (n,))] for x, rule in row.rules.items()}
    needs = {x: [n for n in dict.fromkeys(names) if n not in row.settings] for x, names in kept.items()}
    return by_input({x: ", ".join(map(code, names)) or "-" for x, names in needs.items()})


def by_input(cells):
    """One line for each input; without its name if there is only one."""
    if not cells:
        return "-"
    if len(cells) == 1 or len(set(cells.values())) == 1:
        return next(iter(cells.values()))
    return "<br>".join(f"{x}: {cell}" for x, cell in cells.items())


def kind(row):
    return f"{row.kind}, view" if row.view else row.kind


def code(formula):
    return "`" + formula.replace("|", "\\|") + "`"


def functions(family):
    """The functions of the file that formulas call."""
    own = [f for f in vars(family).values() if isinstance(f, types.FunctionType) and f.__module__ == family.__name__]
    sources = [inspect.getsource(f).strip() for f in own if f.__name__ != "<lambda>"]
    return "```python\n" + "\n\n\n".join(sources) + "\n```\n" if sources else ""


if __name__ == "__main__":
    print(text(), end="")
