"""A value in a trace is exact where it is complete, and says so where it is a summary."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from autolab.draw.cells import grid_of
from autolab.trace.values import COMPLETE, TraceValue, histogram, narrow, number, value_of


def through_json(value):
    return TraceValue.from_dict(json.loads(json.dumps(value.to_dict(), allow_nan=False)))


@given(arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, max_dims=3, max_side=4), elements=st.floats(width=32)))
def test_a_complete_value_is_exact_to_the_bit(array):
    back = through_json(value_of(array))
    data = np.array(back.data, dtype=object)
    restored = np.array([float(x) for x in data.ravel()], np.float32).reshape(array.shape)
    assert np.array_equal(restored.view(np.uint32)[~np.isnan(array)], array.view(np.uint32)[~np.isnan(array)])
    assert np.array_equal(np.isnan(restored), np.isnan(array))


@given(st.floats(allow_nan=False))
def test_a_label_is_at_most_eight_characters(x):
    assert len(narrow(x)) <= 8


@pytest.mark.parametrize("shape", [(65,), (8, 9), (2, 3, 4, 5), (1000, 1000)])
def test_a_large_tensor_is_a_summary_that_says_its_shape_and_range(shape, rng):
    array = rng.normal(size=shape)
    value = through_json(value_of(array))
    assert not value.complete
    assert value.shape == shape
    assert (value.low, value.high) == (array.min(), array.max())
    assert value.mean == pytest.approx(array.mean())
    assert str(list(shape)) in value.text
    assert number(array.max()) in value.text


def test_the_corner_is_the_first_four_rows_and_columns(rng):
    array = rng.normal(size=(3, 10, 20))
    assert value_of(array).corner == array[0, :4, :4].tolist()


def test_what_is_not_finite_is_counted_and_left_out_of_the_range():
    array = np.arange(100.0)
    array[3], array[4] = np.nan, np.inf
    value = value_of(array)
    assert (value.low, value.high, value.nonfinite) == (0, 99, 2)
    assert "2 not finite" in value.text


def test_nothing_finite_is_said():
    assert "nothing finite" in value_of(np.full(100, np.nan)).text


def test_one_changed_bit_changes_the_fingerprint():
    one, other = np.zeros(1000), np.zeros(1000)
    other[500] = 5e-324
    assert value_of(one).fingerprint != value_of(other).fingerprint


@pytest.mark.parametrize("size", [COMPLETE, COMPLETE + 1])
def test_the_border_between_complete_and_summary(size):
    assert value_of(np.zeros(size)).complete == (size <= COMPLETE)


@pytest.mark.parametrize(("raw", "text"), [
    (np.float32(30), "30"), (np.float64("nan"), "nan"), (np.float32("-inf"), "-inf"), (np.bool_(True), "True"),
    (np.int64(2**62), str(2**62)), (np.array([1.5, -2.0]), "[1.5, -2]"), (np.zeros((0, 3)), "[0, 3], empty"),
    (np.ones((2, 2), bool), "[[True, True], [True, True]]"), (np.float32(0.1), "0.1"),
])  # fmt: skip
def test_text_of_small_values(raw, text):
    assert through_json(value_of(raw)).text == text


def test_bfloat16_is_exact():
    import ml_dtypes

    value = value_of(np.array([0.1, 3.0], ml_dtypes.bfloat16))
    assert value.dtype == "bfloat16"
    assert value.data == [float(ml_dtypes.bfloat16(0.1)), 3.0]


def test_a_shape_is_not_mistaken_for_a_number():
    assert value_of(np.zeros(30)).label == "[30]"
    assert value_of(np.float32(30)).label == "30"
    assert math.prod(value_of(np.zeros((128, 64, 3, 3))).shape) > COMPLETE
    assert value_of(np.zeros((128, 64, 3, 3))).label == "[4-d]"


def test_a_heat_map_has_few_blocks_from_the_lowest_to_the_highest():
    heat = value_of(np.outer(np.ones(30), np.arange(100.0))).heat
    assert len(heat) == 12
    assert {len(line) for line in heat} == {24}
    assert heat[0] == "".join(sorted(heat[0])) and heat[0][0] == "0" and heat[0][-1] == "9"


def test_a_heat_map_marks_what_is_not_finite():
    array = np.zeros((2, 48))
    array[0, :24] = np.nan
    array[1, 0] = np.inf  # its neighbour in the block is finite
    assert value_of(array).heat == ["x" * 12 + "0" * 12, "0" * 24]


def test_a_small_tensor_needs_no_heat_map():
    assert value_of(np.zeros(64)).heat is None


def test_a_large_tensor_has_a_histogram_of_its_finite_elements():
    values = value_of(np.array([np.nan, np.inf] + [0.0] * 50 + [0.96, 1.0] * 25)).counts
    assert values == [50] + [0] * 18 + [50]
    assert value_of(np.full(100, 3.0)).counts == [100]
    assert value_of(np.full(100, np.nan)).counts == []


def test_the_histogram_of_a_range_beyond_float64_counts_every_element():
    assert histogram(np.linspace(-1, 1, 1000) * 1.7e308, -1.7e308, 1.7e308) == [50] * 20


def test_the_histogram_counts_in_pieces_what_numpy_counts_at_once():
    array = np.random.default_rng(0).normal(size=200_000)
    assert value_of(array).counts == np.histogram(array, 20)[0].tolist()


def test_complex_numbers_are_written_in_full_and_coloured_by_their_magnitude():
    value = value_of(np.array([[3 + 4j, -0.1j], [complex(np.nan, 1), 1e-7 - 2e30j]]))
    assert value.data == [["3+4j", "0-0.1j"], ["nan+1j", "1e-07-2e+30j"]]
    assert np.array_equal(grid_of(value), [[5, 0.1], [np.nan, 2e30]], equal_nan=True)


def test_the_summary_of_many_complex_numbers_is_that_of_their_magnitudes():
    value = value_of(np.full(100, 3 - 4j))
    assert value.text == "[100], magnitudes all 5" and value.corner[0] == "3-4j"


def test_one_complex_number_has_a_short_label():
    assert value_of(np.complex128(1 / 3 - 2j)).label == "0.333-2j"
