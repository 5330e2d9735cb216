"""What an added exercise is worth: a right answer gets all its points, whatever they are, and a wrong one the part that it has."""

import nbformat
import pytest

from autolab.check import Report
from autolab.course.grading.grade import worth
from autolab.course.grading.judge import CellOutcome
from autolab.course.scaffold import add_exercise
from autolab.course.solutions import solve

RULES = {
    "mul": """class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x
""",
    "tanh": """class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.tanh(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * (1 - out * out)
""",
}


def points(course, name, rule, of):
    """What the cells of an added exercise give for a rule, as the grader counts."""
    text = add_exercise(course, "ps9", name, points=of)
    notebook = nbformat.read(course / "source" / "ps9" / f"{text.stem}.ipynb", as_version=4)
    found = {name: report for name, report in solve(notebook, {name: rule}).items() if isinstance(report, Report)}
    cells = {c.id: c.metadata["nbgrader"]["points"] for c in notebook.cells if c.id in found}
    return sum(worth(CellOutcome(value=found[c], report=found[c]), cells[c]) for c in cells)


@pytest.mark.parametrize("of", [10, 20, 3, 6.667, 0.3])
def test_a_right_answer_gets_all_points(tmp_path, of):
    assert points(tmp_path, "tanh", RULES["tanh"], of) == pytest.approx(of, abs=0.005)


@pytest.mark.parametrize("of", [10, 30])
def test_a_product_without_sums_over_stretched_axes_gets_five_eighths(tmp_path, of):
    assert points(tmp_path, "mul", RULES["mul"], of) == pytest.approx(0.625 * of)


@pytest.mark.parametrize("of", [1 / 3, 3.333, 2.468])
def test_no_part_of_a_point_is_lost_to_rounding(of):
    from autolab.check import check

    assert check("square", lambda g, x: 2 * g * x, points=of).points == pytest.approx(of, abs=1e-6)
