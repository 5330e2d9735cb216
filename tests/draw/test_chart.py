"""Curves, bars and matrices as SVG text."""

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
    widths = [float(run.split("h")[1].split("v")[0]) for path in root for run in path.attrib["d"].split("M")[1:]]
    assert sum(widths) == pytest.approx(2 * axes.width, rel=1e-3)


def test_text_of_others_is_escaped():
    assert "<script>" not in chart.words(0, 0, "<script>") + chart.cells(0, 0, [["<script>"]])[0]


def test_a_range_is_never_empty():
    low, high = chart.span([3.0, 3.0])
    assert low < 3 < high
    assert chart.span([np.nan])[0] < chart.span([np.nan])[1]
