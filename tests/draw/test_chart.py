"""Curves, bars and matrices as SVG text."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from autolab.draw import chart
from autolab.draw.chart import Axes


@pytest.fixture
def axes():
    return Axes((0, 10), (-1, 1), (0, 0), (300, 200))


def parsed(*parts):
    return ET.fromstring(chart.picture(parts, 300, 200, "a < b"))


def test_a_picture_says_what_it_shows_and_has_no_ids(axes):
    root = parsed(
        axes.frame(), axes.line([0, 5, 10], [0, 1, 0]), axes.point(5, 1, "c", "top"), chart.legend(0, 0, [("a", "x"), ("b", "y")])
    )
    assert root.attrib["aria-label"] == "a < b"
    assert not [el for el in root.iter() if "id" in el.attrib]


def test_the_corners_of_the_axes_are_the_corners_of_the_frame(axes):
    assert (axes.x(0), axes.x(10)) == (axes.left, axes.left + axes.width)
    assert (axes.y(1), axes.y(-1)) == (axes.top, axes.top + axes.height)


def test_a_curve_is_interrupted_where_it_is_not_finite(axes):
    path = ET.fromstring(axes.line([0, 1, 2, 3, 4], [0, 0.5, np.nan, 0.5, 0])).attrib["d"]
    assert path.count("M") == 2 and path.count("L") == 2
    assert axes.line([0, 1], [np.nan, np.inf]) == ""


def test_a_tangent_ends_at_the_frame_and_keeps_its_slope(axes):
    path = ET.fromstring(axes.straight(5, 0, 1.0)).attrib["d"]
    (x0, y0), (x1, y1) = (map(float, p.split()) for p in path[1:].split("L"))
    assert (x0, x1) == pytest.approx((axes.x(4), axes.x(6)), abs=0.1)
    assert (y0, y1) == pytest.approx((axes.y(-1), axes.y(1)), abs=0.1)
    assert axes.straight(5, 0, np.nan) == ""


def test_marks_differ_in_shape_and_what_is_outside_is_left_out(axes):
    shapes = {chart.mark(0, 0, kind).split("class")[0] for kind in chart.KINDS}
    assert len(shapes) == 4
    assert axes.point(5, 3) == axes.point(50, 0) == axes.point(5, np.inf) == ""


def test_bars_stand_on_the_floor_and_empty_ones_are_left_out(axes):
    bars = ET.fromstring(f"<g>{axes.bars([0, 1, 2], [1, 2, 3], [0.5, 0, 1])}</g>")
    assert [float(b.attrib["y"]) + float(b.attrib["height"]) for b in bars] == pytest.approx([axes.top + axes.height] * 2, abs=0.2)


@pytest.mark.parametrize(("log", "values"), [("x", (1e-8, 1e4)), ("xy", (1, 1000))])
def test_a_logarithmic_axis_has_powers_of_ten(log, values):
    marked = Axes(values, (1, 1000), log=log).frame()
    assert "1000" in marked or "0.01" in marked


def test_regions_cover_the_frame_once(axes):
    grid = np.array([[0, 0, 1], [1, 1, 1]])
    root = ET.fromstring(chart.regions(axes, grid, "ab"))
    across, down = map(float, root[0].attrib["transform"][6:-1].split())
    assert [path.attrib["d"] for path in root[0]] == ["M0 0h2v1h-2z", "M2 0h1v2h-3v-1h2z"]
    assert (3 * across, 2 * down) == pytest.approx((axes.width, axes.height), rel=1e-3)


def area(path):
    """What a path of `outline` encloses, holes taken off."""
    total = 0
    for loop in path.split("z")[:-1]:
        x, y = map(int, re.match(r"M(\d+) (\d+)", loop).groups())
        for way, by in re.findall(r"([hv])(-?\d+)", loop):
            total += -y * int(by) if way == "h" else 0
            x, y = (x + int(by), y) if way == "h" else (x, y + int(by))
    return total


@pytest.mark.parametrize("seed", range(8))
def test_an_outline_encloses_the_cells_and_no_others(seed):
    cells = np.random.default_rng(seed).random((7, 9)) < 0.2 + 0.1 * seed
    assert area(chart.outline(cells)) == cells.sum()
    assert area(chart.outline(np.zeros((2, 2)))) == 0


def test_an_outline_that_goes_round_a_hole_leaves_it_out():
    ring = np.ones((3, 3), bool)
    ring[1, 1] = False
    path = chart.outline(ring)
    assert (path.count("M"), area(path)) == (2, 8)


def test_text_of_others_is_escaped():
    assert "<script>" not in chart.words(0, 0, "<script>") + chart.cells(0, 0, [["<script>"]])[0]


def test_a_range_is_never_empty():
    low, high = chart.span([3.0, 3.0])
    assert low < 3 < high
    assert chart.span([np.nan])[0] < chart.span([np.nan])[1]
