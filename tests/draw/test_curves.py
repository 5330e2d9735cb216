"""Curves in numbers: jumps stay jumps, level lines lie on their level."""

import numpy as np
import pytest

from autolab.draw.curves import contours, heights, sample, simplified


@pytest.mark.parametrize("f", [np.sin, lambda x: np.tanh(300 * x), np.abs, lambda x: 5e6 * x, lambda x: np.exp(-1000 * (x - 0.1) ** 2)])
def test_a_continuous_function_has_no_jump_however_steep(f):
    assert sample(lambda x: (f(x),), -3, 3)[2] == []


@pytest.mark.parametrize(("f", "places"), [
    (np.round, [-1.5, -0.5, 0.5, 1.5]), (np.sign, [0, 0]), (lambda x: x + (x > 0.123), [0.123]), (lambda x: 1e-9 * (x > 1), [1]),
])  # fmt: skip
def test_each_jump_is_found_where_it_is_and_interrupts_the_line(f, places):
    xs, values, jumps = sample(lambda x: (float(f(x)),), -2, 2)
    assert sorted(jump[1] for jump in jumps) == pytest.approx(places, abs=1e-5)
    assert (np.diff(xs) >= 0).all()
    steps = np.abs(np.diff(values[:, 0]))
    assert np.nanmax(steps) < 0.1 * np.ptp(values[np.isfinite(values)])


def test_a_jump_of_one_number_interrupts_all_and_is_named():
    _, values, ((column, at, before, there, behind),) = sample(lambda x: (max(x, 0.0), float(x > 0)), -1, 1)
    assert (column, at, before, there, behind) == (1, 0.0, 0.0, 0.0, 1.0)
    assert np.isnan(values).all(1).sum() == 1


def test_a_pole_leaves_room_for_the_rest():
    _, values, _ = sample(lambda x: (1 / x if x else np.inf,), -1, 1)
    kept = heights(values)
    assert np.abs(kept).max() < 60 and (np.abs(kept) < 2).sum() > 70


@pytest.mark.parametrize("level", [0.1, 1.0, 3.9, 5.0])
def test_points_of_a_level_line_are_on_the_level_and_lines_are_whole(level):
    grid = np.linspace(-2, 2, 60)
    lines = contours(grid, grid, grid[None] ** 2 + grid[:, None] ** 2, level)
    points = np.array([point for line in lines for point in line])
    assert np.allclose((points**2).sum(1), level, atol=0.01)
    assert len(lines) == (1 if level < 4 else 4)  # a circle, or what is left of it in the corners


def test_level_lines_at_a_saddle_do_not_cross():
    grid = np.linspace(-1, 1, 20)  # the saddle is inside of a cell
    lines = contours(grid, grid, grid[None] * grid[:, None], 1e-4)
    assert len(lines) == 2
    assert all(len({x > 0 for x, _ in line}) == 1 for line in lines)


def test_a_simplified_line_stays_within_its_tolerance():
    angle = np.linspace(0, 2 * np.pi, 400)
    circle = list(zip(100 * np.cos(angle), 100 * np.sin(angle)))
    few = np.array(simplified(circle, 0.5))
    middles = (few[1:] + few[:-1]) / 2
    assert len(few) < 60
    assert np.abs(np.hypot(*middles.T) - 100).max() < 1
