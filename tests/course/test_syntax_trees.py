"""Parts of a syntax tree have the same numbers when a copy is disguised, and others when the code does something else."""

import pytest

from autolab.course.syntax_trees import MOST, parts

CODE = """
import numpy as np
from math import pi

def rule(x, y, g):
    scale = np.exp(-x * x / 2) + y
    if y.ndim > 1:
        scale = scale + pi * np.sum(g, axis=0)
    return g * scale - x / y, np.where(x > 0, g, 0.5 * g)
"""
DISGUISES = {
    "names": [("scale", "s"), ("rule", "f"), ("g,", "grad,"), ("g ", "grad "), ("* g", "* grad")],
    "comments and layout": [("+ y\n", "+ y  # mine\n\n"), ("    ", "  "), (" * ", "*")],
    "imports": [("import numpy as np\nfrom math import pi", "from math import pi\nimport os\nimport numpy as np")],
    "a docstring": [("g):\n", 'g):\n    """What it does."""\n')],
    "annotations": [("(x, y, g)", "(x: float, y, g) -> float"), ("    scale = np.exp", "    scale: float = np.exp")],
    "dead assignments": [("    if y", "    unused = x + y\n    also = unused * 2\n    if y")],
    "statements without effect": [("    if y", "    print(x)\n    assert x is not None\n    x + y\n    pass\n    if y")],
    "code after the return": [("0.5 * g)\n", "0.5 * g)\n    scale = scale - 1\n    return scale\n")],
    "branches that never run": [("    if y", "    if False:\n        x = y\n    while 0:\n        x = x + 1\n    if y")],
    "a power": [("x * x", "x**2")],
    "a power by name": [("x * x", "np.square(x)")],
    "the order of a sum": [("np.exp(-x * x / 2) + y", "y + np.exp(-x * x / 2)")],
    "the order of a product": [("g * scale", "scale * g")],
    "a difference": [("g * scale - x / y", "-x / y + g * scale")],
    "a quotient": [("x / y", "y**-1 * x")],
    "an operator by name": [("g * scale", "np.multiply(g, scale)")],
    "in place": [("scale = scale + pi", "scale += pi")],
    "a method": [("np.sum(g, axis=0)", "g.sum(axis=0)")],
    "another library": [("np.", "torch."), ("axis", "dim")],
    "a comparison": [("y.ndim > 1", "1 < y.ndim")],
    "else": [("    return", "    if x is y:\n        return g\n    return"), ("    return g *", "    else:\n        return g *")],
}


def values(source):
    return {part.value for part in parts(source)}


@pytest.mark.parametrize("kind", DISGUISES)
def test_a_disguise_changes_no_part(kind):
    code, copy = CODE, CODE
    for plain, hidden in DISGUISES[kind]:
        assert plain in copy
        copy = copy.replace(plain, hidden)
    if kind == "else":
        code = CODE.replace("    return", "    if x is y:\n        return g\n    return")
    assert copy != code and values(copy) == values(code)


@pytest.mark.parametrize(
    ("plain", "other"),
    [("-x * x", "x * x"), ("g * scale - x", "g * scale + x"), ("x / y", "x * y"),
        ("x / y", "y / y"),
        ("g * scale", "g * g"), ("x > 0", "x < 0"), ("exp", "log"), ("axis=0", "axis=1"),
     ("x * x / 2", "x * x / 3"), ("+ pi", "- pi"), ("if y.ndim", "if not y.ndim"), ("0.5 * g)", "0.5 * g)[0]"), ("x * x", "x * x * x")],
)  # fmt: skip
def test_other_code_has_other_parts(plain, other):
    assert plain in CODE and values(CODE.replace(plain, other)) != values(CODE)


def test_a_statement_that_is_moved_keeps_its_number():
    first, second = "    a = np.exp(x) * np.log(y) + g * 2\n", "    b = np.sqrt(g * 3 + x) - np.sin(y)\n"
    one, other = (values(f"def f(x, y, g):\n{lines}    return a, b\n") for lines in (first + second, second + first))
    assert len(one & other) >= 2


@pytest.mark.parametrize(
    "source", ["(" * 5000, "def f(:", "a" + ".b" * 50_000, "+".join("a" * 60_000), "\0", f"a = {'[' * MOST}{']' * MOST}"]
)
def test_what_is_no_python_or_too_deep_has_no_parts(source):
    assert parts(source) is None
