"""The explorable of implicit functions: its derivatives by hand, through a solver that is written again here, and where there is none."""

import re

import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets.implicit import _newton, fold


@pytest.fixture(scope="module")
def three():
    return widgets.implicit_function()


def table(panel, **at):
    return {row[0].partition(" through")[0].partition(",")[0]: row[1:] for row in panel.move(**at).rows}


@pytest.mark.parametrize(("F", "a", "start", "slope"), [
    ("fold", 0, 2, lambda x: 1 / (3 * x**2 - 3)), ("fold", 1, 0, lambda x: 1 / (3 * x**2 - 3)), ("circle", 1, -2, lambda x: -1 / x),
    ("kepler", 1, 2, lambda x: 1 / (1 - 0.8 * torch.cos(torch.tensor(x)).item())),
])  # fmt: skip
def test_the_formula_is_the_slope_by_hand_and_so_is_the_difference(three, F, a, start, slope):
    found = table(three, F=F, a=a, start=start)
    exact = slope(float(found["x"][0]))
    assert float(found["dx/da = -F_a / F_x"][0]) == pytest.approx(exact, rel=1e-4)
    assert float(found["dx/da by difference"][0]) == pytest.approx(exact, rel=1e-4)


def test_the_derivative_through_the_steps_is_that_of_newtons_method_by_hand(three):
    found = table(three, F="fold", a=1, start=-2)
    a, x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True), -2.0
    for _ in range(3):
        x = x - (x**3 - 3 * x - a) / (3 * x**2 - 3)
    x.backward()
    third = _newton(fold, 1.0, -2.0, 24.0)
    assert third.errors[1][3] == pytest.approx(abs(a.grad.item() - third.exact))
    assert float(found["dx/da"][0]) == pytest.approx(third.exact, rel=1e-5)


def test_at_an_unfinished_x_the_formula_is_ahead_of_the_derivative_through_the_steps():
    _, through, formula = _newton(fold, 1.0, 2.0, 24.0).errors
    assert all(by_formula < 0.1 * by_steps for by_steps, by_formula in zip(through[1:], formula[1:]))


def test_a_start_that_is_a_solution_gives_no_derivative_through_no_step(three):
    found = table(three, F="fold", a=2, start=2)
    assert [float(found[k][0]) for k in ("dx/da = -F_a / F_x", "dx/da")] == pytest.approx([1 / 9, 0], rel=1e-5)
    assert "takes no step, and through no step dx/da is 0" in three.sentence


def test_steps_that_wander_end_at_x_and_not_at_its_derivative(three):
    found = table(three, F="fold", a=2.5, start=-2)
    assert float(found["x"][1]) < 1e-6 and float(found["dx/da = -F_a / F_x"][1]) < 1e-6
    assert float(found["dx/da"][1]) > 1000
    assert "x is right, and its derivative through the steps is not" in three.sentence


@pytest.mark.parametrize(("F", "a", "start"), [("fold", 2, -2), ("fold", -2, 0), ("circle", 2, 2), ("circle", -2, 0)])
def test_where_the_tangent_is_vertical_no_derivative_exists(three, F, a, start):
    found = table(three, F=F, a=a, start=start)
    assert "The tangent is vertical: dx/da does not exist" in three.sentence and "F_x ≠ 0" in three.sentence
    assert found["dx/da = -F_a / F_x"][1] == found["dx/da"][1] == "none exists"
    assert len(re.findall(r'class="al-l al-l-grad"', three.picture())) == 2  # the tangent and the legend


def test_what_has_no_solution_and_what_the_solver_misses_are_told_apart(three):
    assert "no x in the picture solves" in three.move(F="circle", a=2.5, start=2).sentence
    assert "F_x is 0 on its way" in three.move(F="circle", a=1, start=0).sentence
    assert three.rows == [["x", "none found", "", ""]]


def test_the_number_of_solutions_is_said(three):
    assert "one of 3 solutions" in three.move(F="fold", a=1, start=-2).sentence
    assert "the only solution" in three.move(F="kepler", a=1, start=2).sentence


def test_more_steps_save_more_and_the_formula_saves_the_same(three):
    few, many = (table(three, F="fold", a=a, start=2) for a in (1, -2.5))
    assert few["dx/da = -F_a / F_x"][2] == many["dx/da = -F_a / F_x"][2] == "1"
    assert int(many["dx/da"][2]) > 4 * int(few["dx/da"][2])


def test_the_handle_is_on_the_curve(three):
    for F, a in (("fold", 1), ("circle", -1), ("kepler", 2)):
        x = float(table(three, F=F, a=a, start=2)["x"][0])
        ((px, py),) = re.findall(r'data-along-x="a".*?translate\(([-\d.]+) ([-\d.]+)\)', three.picture())
        assert float(px) == pytest.approx(three.tracks["a"][three.at["a"]], abs=0.1)
        low, high = three.tracks["start"][0], three.tracks["start"][2]  # x = -2 and 2
        assert float(py) == pytest.approx(low + (x + 2) / 4 * (high - low), abs=0.2)


def test_functions_of_students_are_taken_or_refused_by_name():
    panel = widgets.implicit_function([lambda a, x: x * torch.exp(x) - a], a=(0.5, 2.5), x=(0, 2), starts=(1.0,), stops=3)
    assert float(panel.move(a=2.5).rows[3][1]) == pytest.approx(0.958586, abs=1e-5)
    with pytest.raises(TypeError, match=r"fixed returned float; F\(a, x\) must return a Tensor"):
        widgets.implicit_function(fixed)
    with pytest.raises(RuntimeError, match="a single number that depends on both"):
        widgets.implicit_function(lambda a, x: x**2)
    with pytest.raises(ValueError, match="is 0 nowhere between a = -3 and 3"):
        widgets.implicit_function(lambda a, x: a**2 + x**2 + 1)


def fixed(a, x):
    return 1.0


def test_a_page_stays_below_150_kilobytes(three, tmp_path):
    assert three.reset().save(tmp_path / "page.html").stat().st_size < 150_000
