"""Tensors as coloured cells in the boxes and on the lines of a graph."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import autolab as torch
from autolab.draw import cells
from autolab.draw.svg import render
from autolab.trace import record
from autolab.trace.values import value_of

NS = "{http://www.w3.org/2000/svg}"


def picture(x):
    return render(record((x * 2).sum(), names={"x": x}), cells=True)


@pytest.fixture
def matrix():
    return torch.tensor([[1.0, -2.0], [0.0, 3.0], [float("nan"), 0.5]], requires_grad=True)


def test_a_small_tensor_has_a_cell_for_each_number_and_says_it(matrix):
    node = next(g for g in ET.fromstring(picture(matrix)).iter(f"{NS}g") if g.get("class", "").startswith("al-node al-leaf"))
    told = [t.text for t in node.iter(f"{NS}title")]
    assert "x[0, 1] = -2" in told and "x[1, 1] = 3" in told and "gradient of x[0, 0] = 2" in told


def test_what_is_negative_differs_by_a_mark_too_and_by_the_scale_of_the_picture(matrix):
    drawn, wide, high = cells.block(value_of(matrix.detach().numpy()), 0, 0, 6.0, "x")
    assert drawn.count("al-heat-sign") == drawn.count("al-heat-low") == 1
    assert 'class="al-heat-high" fill-opacity="0.57"' in drawn  # half of the scale, of what is left above the faintest
    assert (wide, high) == (30, 45)


def test_a_small_number_is_seen_not_to_be_zero():
    drawn, _, _ = cells.block(value_of(np.array([0.0, 1e-9, -1e-9])), 0, 0, 6.0, "x")
    assert [drawn.count(f'fill-opacity="{share}"') for share in ("0.00", "0.15")] == [1, 2]


def test_a_box_is_as_tall_as_its_words_and_its_cells(matrix):
    tall, low = (
        float(re.search(r'al-leaf[^>]*>.*?<rect class="al-box"[^>]*height="([\d.]+)"', p)[1])
        for p in (picture(matrix), picture(torch.tensor(1.0, requires_grad=True)))
    )
    assert tall - low == 8 + 45


def test_the_gradient_that_travels_along_a_line_is_shown_in_cells():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    pills = re.findall(r'<g class="al-pill">(.*?)</g></g>', picture(x))
    assert len(pills) == 2 and all(p.count("al-heat-high") == 3 for p in pills)


def test_a_large_tensor_is_a_histogram_on_its_node_and_on_its_line():
    drawn = render(record((torch.linspace(-1, 1, 200, requires_grad=True) * 2).sum()), cells=True)
    nodes = [len(re.findall(r"<title>[^<]*: \d+ of 200 numbers are ", part)) for part in re.split('<g class="al-node', drawn)[1:]]
    assert nodes == [0, 20 + 1, 20 + 1]  # the values, and gradients that are all equal
    pills = re.findall(r'<g class="al-pill">(.*?)</g></g></g>', drawn)
    told = [re.findall(r"<title>(.*?)</title>", pill) for pill in pills]
    assert told == [["sent to x: 200 of 200 numbers are 1"], ["sent to x: 200 of 200 numbers are 2"]]


def test_a_histogram_parts_what_is_negative_by_a_line_at_zero():
    drawn, wide, high = cells.block(value_of(np.linspace(-1, 3, 400)), 0, 0, 1.0, "x")
    assert (wide, high) == cells.ROOM
    assert (drawn.count("al-heat-low"), drawn.count("al-heat-high")) == (5, 15)
    assert 'd="M14.5 0v46' in drawn  # a quarter of the way


def test_a_tensor_too_wide_for_cells_is_a_histogram_too():
    told = re.findall(r"<title>(.*?)</title>", cells.block(value_of(np.arange(64.0)), 0, 0, 1.0, "x")[0])
    assert told[0] == "x: 4 of 64 numbers are from 0 to 3.15" and len(told) == 20


def test_a_large_tensor_of_an_old_trace_is_shown_by_the_means_of_its_blocks():
    old = value_of(np.arange(1000.0))
    old.counts = None
    assert cells.block(old, 0, 0, 1.0, "x")[0].count("fill-opacity") == 24


def test_a_large_tensor_is_also_known_by_the_means_of_its_blocks():
    assert cells.grid_of(value_of(torch.ones(200, 300).numpy())).shape == (12, 24)
    assert not cells.has_cells(value_of(torch.ones(()).numpy()))
    assert not cells.has_cells(value_of(torch.ones(0, 3).numpy()))


def test_the_legend_has_the_scale_only_where_there_are_cells(matrix):
    assert "values to ±" in picture(matrix)
    assert "values to ±" not in picture(torch.tensor(1.0, requires_grad=True))
