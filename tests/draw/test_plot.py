"""Plots, histograms and images: every number that is drawn is where it belongs, and what cannot be drawn is said."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import autolab
from autolab import draw
from autolab.draw.figure import used_style
from autolab.draw.plot import BUCKET, thinned
from autolab.draw.style import STYLE

SVG = "{http://www.w3.org/2000/svg}"


def elements(picture, kind):
    return [e for e in ET.fromstring(picture).iter() if kind in e.attrib.get("class", "").split()]


def curve(picture, kind="a"):
    """The points of the (single, uninterrupted) line of that kind, in pixels. Samples in the legend do not count."""
    (path,) = [e.attrib["d"] for e in elements(picture, f"al-l-{kind}") if "l" in e.attrib["d"]]
    numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*", path)]
    return np.cumsum(np.array(numbers).reshape(-1, 2), axis=0)


@pytest.fixture
def steps():
    return np.random.default_rng(0).normal(size=5000).cumsum()


PICTURES = {
    "lines": lambda: draw.plot({"a < b": [1, 2, 3], "c": ([0, 1], [2, 0])}, x="step", y="loss", title="Two & two"),
    "points": lambda: draw.plot(points={"p": (range(9), range(9))}, lines=[0, 9]),
    "histogram": lambda: draw.histogram({"w": np.arange(-20, 20), "b": [0.5]}, title="Weights"),
    "grey": lambda: draw.images(np.arange(32).reshape(2, 4, 4), titles="ab", title="Ink"),
    "signed": lambda: draw.images(np.eye(3) - 0.5, rows="abc", across="def"),
}


@pytest.fixture(params=PICTURES)
def picture(request):
    return PICTURES[request.param]()


# -- every picture ---------------------------------------------------------------------------------


def test_a_picture_is_an_image_with_a_name_and_a_description_and_no_ids(picture):
    root = ET.fromstring(picture)
    assert root.attrib["role"] == "img" and root.attrib["aria-label"]
    assert root.find(f"{SVG}desc").text == picture.text
    assert not [e for e in root.iter() if "id" in e.attrib]


def test_a_notebook_shows_the_picture_and_a_terminal_its_text(picture):
    assert picture._repr_svg_() == picture
    assert repr(picture) == picture.text
    assert "<" not in picture.text.replace("a < b", "")


def test_every_class_that_is_drawn_has_its_rule_and_type_is_14_pixels_or_more(picture):
    style = ET.fromstring(picture).find(f"{SVG}style").text
    used = {name for e in ET.fromstring(picture).iter() for name in e.attrib.get("class", "").split()} - {"al-t", "al-plot"}
    assert [name for name in used if f".{name}" not in style] == []
    assert all(int(px) >= 14 for px in re.findall(r"font-size:(\d+)px", style))


def test_every_colour_has_one_for_the_dark(picture):
    style = ET.fromstring(picture).find(f"{SVG}style").text
    light, dark = style.split("[data-jp-theme-light=false]")
    assert set(re.findall(r"var\((--al-[\w-]+)", light)) == set(re.findall(r"(--al-[\w-]+):", dark))


def test_a_style_says_nothing_about_other_pictures_of_the_page(picture):
    style = ET.fromstring(picture).find(f"{SVG}style").text.split("[data-jp")[0]
    assert [s for s in re.findall(r"([^{}]+)\{", style) if not s.startswith((".al-figure ", ".al-svg"))] == []
    assert "al-k-grad" not in style and len(style) < len(STYLE)


def test_lines_of_every_kind_come_with_their_rules_since_a_later_style_on_the_page_would_grey_them():
    assert all(f".al-l-{kind}{{" in used_style('class="al-l al-l-zero"') for kind in "abcdef")


def test_all_words_are_inside_of_the_picture(picture):
    root = ET.fromstring(picture)
    for text in root.iter(f"{SVG}text"):
        x, wide, anchor = float(text.attrib["x"]), 8.5 * len(text.text), text.attrib["text-anchor"]
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        assert left >= -1 and left + wide <= float(root.attrib["width"]) + 1, text.text


# -- lines and points ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [list, tuple, np.array, autolab.tensor, lambda ys: autolab.tensor(ys, requires_grad=True) * 1])
def test_lists_arrays_and_tensors_draw_the_same(make):
    assert draw.plot({"a": make([1.0, 4.0, 2.0])}) == draw.plot({"a": ([0, 1, 2], [1.0, 4.0, 2.0])})


def test_losses_that_are_tensors_in_a_list_need_no_item_and_record_nothing():
    losses = [autolab.tensor(1.0, requires_grad=True) * k for k in range(3)]
    assert draw.plot(losses) == draw.plot([0, 1, 2])


def test_a_line_goes_where_its_numbers_are():
    points = curve(draw.plot(([0, 1, 3], [5, 7, 1]), xlim=(0, 4), ylim=(0, 10), size=(480, 320)))
    shares = (points[:, 0] - 62) / (480 - 80)
    heights = (points[:, 1] - points[2, 1]) / (points[1, 1] - points[2, 1])
    assert shares == pytest.approx([0, 0.25, 0.75], abs=1e-3)
    assert heights == pytest.approx([4 / 6, 1, 0], abs=1e-3)


def test_on_a_logarithmic_axis_equal_factors_are_equal_distances():
    _, ys = curve(draw.plot([1, 10, 100, 1000], log=True)).T
    xs, _ = curve(draw.plot(([1, 10, 100, 1000], [1, 2, 3, 4]), log="x")).T
    assert np.diff(ys) == pytest.approx([np.diff(ys)[0]] * 3, abs=0.2)
    assert np.diff(xs) == pytest.approx([np.diff(xs)[0]] * 3, abs=0.2)


@pytest.mark.parametrize("ends", [(0.3, 2.3), (0.02, 0.9), (1e-8, 1e3), (90, 110)])
def test_every_logarithmic_axis_has_at_least_three_numbers(ends):
    notes = elements(draw.plot(ends, log=True), "al-note")
    assert len([e for e in notes if e.attrib["text-anchor"] == "end"]) >= 3


def test_what_is_not_finite_interrupts_the_line_and_is_said():
    picture = draw.plot([1, 2, np.nan, 4, np.inf, 5, 6])
    (path,) = [e.attrib["d"] for e in elements(picture, "al-l-a")]
    assert path.count("M") == 3
    assert "left out: 1 nan, 1 infinite" in picture.text


def test_what_has_no_logarithm_is_left_out_and_said():
    picture = draw.plot({"loss": [0.0, 1, 10, -3]}, log=True)
    assert "left out of loss: 2 not positive, on a logarithmic axis" in picture.text
    assert len(curve(picture)) == 2


def test_a_long_line_is_small_and_keeps_its_extremes(steps):
    picture = draw.plot(steps)
    _, ys = curve(picture).T
    everything = curve(draw.plot(([0, 0.1, 1], [0, steps.min(), steps.max()]), ylim=None))
    assert len(picture) < 8000
    assert (ys.max() - ys.min()) == pytest.approx(everything[:, 1].max() - everything[:, 1].min(), abs=3)


def test_thinning_keeps_ends_and_the_highest_and_lowest_point_of_every_bucket(steps):
    px = np.linspace(0, 560, len(steps))
    keep = thinned(px, steps)
    buckets = np.floor(px / BUCKET)
    for bucket in np.unique(buckets):
        inside, few = steps[buckets == bucket], steps[keep[buckets[keep] == bucket]]
        assert (few.min(), few.max()) == (inside.min(), inside.max())
    assert {0, len(steps) - 1} <= set(keep)


def test_a_path_that_turns_back_keeps_its_shape():
    angle = np.linspace(0, 2 * np.pi, 3000)
    points = curve(draw.plot((np.cos(angle), np.sin(angle)), size=(400, 400)))
    assert len(points) < 1500
    assert np.ptp(points, axis=0) == pytest.approx([320 / 1, np.ptp(points[:, 1])], abs=2)
    assert points[0] == pytest.approx(points[-1], abs=1)


def test_lines_differ_in_more_than_colour():
    picture = draw.plot({str(k): [k, k + 1] for k in range(6)})
    style = used_style(picture)
    dashes = {re.search(rf"\.al-l-{kind}\{{(?:stroke-dasharray:([^;]*))?", style)[1] for kind in "abcdef"}
    assert len(dashes) == 6
    assert all(elements(picture, f"al-m-{kind}") for kind in "abcd")


def test_points_are_marks_and_those_on_one_pixel_are_drawn_once():
    marks = elements(draw.plot(points=([0, 1, 1, 2], [0, 1, 1, 2])), "al-m-a")
    assert len(marks) == 3


def test_points_outside_of_the_axes_are_not_drawn():
    assert len(elements(draw.plot(points=([0, 1, 2], [0, 5, 1]), ylim=(-1, 2)), "al-m-a")) == 2


def test_the_text_has_ends_and_extremes_of_a_long_line(steps):
    head, row = draw.plot({"walk": steps}, x="step", y="height").text.splitlines()[1:3]
    assert head.split() == ["step", "0", "1250", "2500", "3749", "4999", "lowest", "highest"]
    assert [float(v) for v in row.split()[-2:]] == pytest.approx([steps.min(), steps.max()], rel=1e-2)
    assert [float(v) for v in row.split()[1:6]] == pytest.approx(steps[[0, 1250, 2500, 3749, 4999]], rel=1e-2)


def test_what_rounding_leaves_of_zero_on_an_axis_is_zero():
    x = np.linspace(-5, 5, 5)
    x[2] = -7.45e-08
    assert "e-08" not in draw.plot((x, np.sin(x + 1))).text
    assert "1e-08" in draw.plot(([1e-8, 0.5, 1], [1, 2, 3]), log="x").text


def test_lines_over_the_same_numbers_share_a_table_and_others_have_their_own():
    assert draw.plot({"a": [1, 2], "b": [3, 4]}).text.count("lowest") == 1
    assert draw.plot({"a": [1, 2], "b": ([5, 6], [3, 4])}).text.count("lowest") == 2


@pytest.mark.parametrize(("call", "words"), [
    (lambda: draw.plot(), "nothing to draw"),
    (lambda: draw.plot([]), "nothing is left to draw of 0 values"),
    (lambda: draw.plot([np.nan]), "nothing is left to draw of 1 values (left out: 1 nan)"),
    (lambda: draw.plot({"a": np.ones((2, 3))}), "'a': the values have shape [2, 3]"),
    (lambda: draw.plot(([1, 2], [1, 2, 3])), "xs have shape [2], ys [3]"),
    (lambda: draw.plot({str(k): [1] for k in range(7)}), "7 lines cannot be told apart"),
    (lambda: draw.plot([1, 2], log="z"), "log is 'z'"),
    (lambda: draw.histogram({"w": [np.inf]}), "'w' has no number to draw (left out of w: 1 infinite)"),
    (lambda: draw.histogram({}), "nothing to draw"),
    (lambda: draw.images(np.ones((2, 3, 4, 4))), "images[:, 0]"),
    (lambda: draw.images(np.ones((50, 30, 30))), "45000 pixels"),
    (lambda: draw.images(np.ones((2, 3, 3)), titles="abc"), "titles has 3 entries, and there are 2"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_a_way_out(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


@pytest.mark.parametrize("values", [[1j], ["a", "b"], [[1], [1, 2]]])
def test_what_is_no_real_number_is_refused_by_name(values):
    with pytest.raises(TypeError, match="of 'loss' are not real numbers"):
        draw.plot({"loss": values})


# -- histograms ----------------------------------------------------------------------------------


def test_the_bars_of_a_histogram_have_the_heights_of_its_counts():
    (bars,) = elements(draw.histogram([0.0, 0, 0, 1, 1, 3, 3], bins=3), "al-k-a")
    floor, heights = float(re.search(r"M\S+ (\S+?)V", bars.attrib["d"])[1]), re.findall(r"V([\d.]+)H", bars.attrib["d"])
    tall = floor - np.array([float(h) for h in heights])
    assert tall / tall[0] == pytest.approx([1, 2 / 3, 2 / 3], abs=0.01)


def test_histograms_share_their_axis_unless_told_otherwise():
    def ends(picture):
        return [re.findall(r"H([\d.]+)", e.attrib["d"])[-1] for e in elements(picture, "al-k-a")]

    widths = {"wide": [-8.0, 8], "narrow": [-1.0, 1]}
    shared = [e.attrib["d"].count("M") for e in elements(draw.histogram(widths), "al-k-a")]
    assert shared == [1, 1]
    one, other = (elements(draw.histogram(widths, bins=16, share=s), "al-k-a")[1].attrib["d"] for s in (True, False))
    assert one != other and ends(draw.histogram(widths)) == ends(draw.histogram(widths, share=False))


def test_numbers_outside_of_the_axis_are_said():
    text = draw.histogram([-5.0, 0, 1, 99, np.nan], xlim=(-1, 1)).text
    assert "left out: 1 nan, 2 outside of the axis" in text
    assert text.splitlines()[2].split()[:3] == ["values", "2", "0.5"]


# -- images --------------------------------------------------------------------------------------


def shades(picture, kind):
    """(column, row) -> opacity, of pixels of the first image, from the paths of a picture."""
    found = {}
    for path in elements(picture, f"al-i-{kind}"):
        x = y = 0.0
        for how, dx, dy, run in re.findall(r"([Mm])(-?[\d.]+) ?(-?[\d.]+)h(\d+)", path.attrib["d"]):
            x, y = (float(dx), float(dy)) if how == "M" else (x + float(dx), y + float(dy))
            found |= {(round(x, 3) + k, round(y, 3)): float(path.attrib["stroke-opacity"]) for k in range(int(run))}
            x += int(run)
    left, top = min(x for x, _ in found), min(y for _, y in found)
    return {(round(x - left), round(y - top)): shade for (x, y), shade in found.items()}


def test_each_pixel_has_the_shade_of_its_number():
    array = np.random.default_rng(0).random((7, 5))
    array[0, 0] = 1
    found = shades(draw.images(array), "ink")
    assert all(found.get((j, i), 0) == pytest.approx(array[i, j], abs=1 / 32 + 0.01) for i, j in np.ndindex(7, 5))


def test_above_zero_is_blue_below_is_orange_and_marked_and_zero_is_the_paper():
    picture = draw.images([[1.0, 0.0, -1.0], [0.5, 0.0, 1e-9]])
    assert set(shades(picture, "high")) == {(0, 0), (0, 1), (2, 1)}
    assert len(shades(picture, "low")) == 1
    assert "".join(e.attrib["d"] for e in elements(picture, "al-heat-sign")[:1]).count("M") == 1


def test_all_images_share_one_scale():
    picture = draw.images([[[0.5]], [[1.0]]])
    assert sorted(float(e.attrib["stroke-opacity"]) for e in elements(picture, "al-i-ink")) == [0.5, 1.0]
    assert [float(e.attrib["stroke-opacity"]) for e in elements(draw.images([[0.5]], scale=2), "al-i-ink")] == [0.25]


def test_convolutions_come_with_their_one_channel_and_a_matrix_alone():
    array = np.arange(18.0).reshape(2, 3, 3)
    assert draw.images(array[:, None]) == draw.images(array)
    assert draw.images(array[0]) == draw.images(array[:1])


def test_sixteen_digits_take_few_kilobytes():
    digits, _ = autolab.datasets.digits("train")
    assert len(draw.images(digits[:16])) < 10_000


def test_the_text_of_images_has_numbers_of_each_and_all_of_a_small_one():
    assert draw.images([[[0, 4.0], [2, 2]]] * 2, titles=["up", "down"]).text.splitlines()[2].split() == ["up", "0", "2", "4"]
    assert draw.images([[0, 0.25]]).text.splitlines()[1].split() == ["0", "0.25"]
    assert "left out: 1 nan" in draw.images([[0, np.nan]]).text
