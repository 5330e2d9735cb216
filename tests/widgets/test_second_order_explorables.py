"""Explorables of vmap and of second derivatives: what they show against a loop by hand, and against formulas."""

import re

import numpy as np
import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets

LIGHT = 150_000  # characters of a page


@pytest.mark.parametrize("make", [widgets.loop_to_vmap, widgets.curvature])
def test_a_page_is_light(make, tmp_path):
    assert len(make().save(tmp_path / "page.html").read_text("utf-8")) < LIGHT


# -- vmap --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folded():
    return widgets.loop_to_vmap()


def at(panel, **values):
    return panel.reset().move(**values)


def numbers(text):
    return np.array(eval(text))


W, X, Y = np.array([1.0, 2, -1]), np.array([[1.0, 0, 2], [0, 1, -1], [2, 1, 0], [-1, 1, 1]]), np.array([1.0, 1, 2, -1])


def test_rows_and_columns_are_the_same_numbers(folded):
    losses = (X @ W - Y) ** 2
    for step in (4, 8):
        assert numbers(at(folded, step=step).rows[-1][1]) == pytest.approx(losses)
    assert re.findall(r'aria-label="v3\[(\d), 0\] = ([\d.]+)"', folded.picture()) == [(str(k), f"{v:g}") for k, v in enumerate(losses)]


def test_gradients_of_each_sample_add_to_what_backward_gives(folded):
    each = numbers(at(folded, step=9).rows[-1][1])
    assert each == pytest.approx(2 * (X @ W - Y)[:, None] * X)
    total = [float(v) for v in re.findall(r'aria-label="gradient of the sum\[0, \d\] = ([-\d.]+)"', at(folded, step=10).picture())]
    assert total == pytest.approx(each.sum(0))


def test_operations_are_those_that_ran(folded):
    counts = [at(folded, step=8, in_dims=dims).rows[-2][1:] for dims in ("(None, 0, 0)", "(None, 1, 0)", "(0, None, None)")]
    assert counts == [["21", "3"], ["21", "4"], ["17", "3"]]  # 4 × (3 + what selects) + stack; a transpose more for axis 1
    assert "One sample more costs the loop 9 operations, and vmap 0." in at(folded, step=10).sentence


def test_shapes_have_the_axis_only_where_an_argument_has_it():
    panel = widgets.loop_to_vmap(lambda a, b: (2 * a) * b, (torch.ones(3, 2), torch.ones(3, 2)))
    assert [row[1:3] for row in panel.rows[:2]] == [["[2]", "[2]"], ["[2]", "[3, 2]"]]
    assert "runs mul" in at(panel, step=6).picture()


def test_a_change_of_what_is_shared_changes_every_row(folded):
    for dims, changed in (("(None, 0, 0)", 3), ("(0, None, None)", 1)):
        before, after = (numbers(at(folded, step=8, in_dims=dims, first=v).rows[-1][1]) for v in (1, 2))
        assert (before != after).sum() == changed  # x of sample 1 begins with 0


def test_rows_slide_together_and_numbers_of_a_column_travel_at_once(folded):
    def height(step):
        found = at(folded, step=step).picture()
        return {int(k): float(y) for k, y in re.findall(r'data-key="to row (\d)".*?<text x="[\d.]+" y="([\d.]+)"', found)}

    apart, together = height(4), height(5)
    assert apart[0] == together[0] and apart[3] - apart[0] > together[3] - together[0]
    assert [len(at(folded, step=k)._cached_frame(folded.at).get("flights", [])) for k in (0, 1, 5, 6)] == [0, 1, 0, 4]


def test_a_row_and_an_empty_column_are_pressed_to_run_up_to_them(folded):
    def pressed(step):
        found = at(folded, step=step).picture()
        return dict(re.findall(r'data-key="to (\w+ \d)" class="al-press" data-set="step" data-stop="(\d)"', found))

    rows = {f"row {k}": str(k + 1) for k in range(4)}
    assert pressed(0) == rows | {f"column {k}": str(k + 6) for k in range(3)}
    assert pressed(6) == rows | {"column 1": "7", "column 2": "8"}
    assert at(folded, step=7).sentence.startswith("v2 = v1 − y, once for all")


def test_a_function_of_vectors_has_no_gradient_step():
    panel = widgets.loop_to_vmap(lambda v: torch.softmax(v, 0), (torch.ones(2, 3),))
    assert panel.controls[-1]["stops"][-1] == 4
    assert "f sees shape [3], the engine computes [2, 3]" in at(panel, step=4).sentence


def test_what_vmap_cannot_draw_is_refused():
    with pytest.raises(ValueError, match=r"as many in each; it got a \[2\], b \[3\]"):
        widgets.loop_to_vmap(lambda a, b: a * b, (torch.ones(2), torch.ones(3)))
    with pytest.raises(ValueError, match="room for 6 samples"):
        widgets.loop_to_vmap(lambda a: a * 2, (torch.ones(7),))
    with pytest.raises(ValueError, match="has 7 operations"):
        widgets.loop_to_vmap(lambda a: 2**7 * a * 1 * 1 * 1 * 1 * 1 * 1, (torch.ones(2),))
    with pytest.raises(ValueError, match=r"in_dims \(None,\) does not fit"):
        widgets.loop_to_vmap(lambda a: a * 2, (torch.ones(2),), [(None,)])
    with pytest.raises(TypeError, match="returned int; it must return a Tensor"):
        widgets.loop_to_vmap(lambda a: 3, (torch.ones(2),))


# -- curvature ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def surface():
    return widgets.curvature()


def table(panel):
    return {row[0]: [numbers(cell) if cell.startswith("(") and ";" not in cell else cell for cell in row[1:]] for row in panel.rows}


def test_newton_reaches_the_minimum_of_a_quadratic_in_one_step(surface):
    for px, py in ((-2, 1), (1, 2), (0, -1)):
        found = table(at(surface, px=px, py=py))
        assert found["Newton's step"][0] == pytest.approx([0, 0], abs=1e-6)
        assert "at the minimum of its model." in surface.sentence


def test_a_gradient_step_climbs_when_it_is_too_long_for_the_curvature(surface):
    assert "The gradient step climbs to 14.7: 0.3 is too long where the curvature along it is 7.99" in at(surface).sentence
    assert "The gradient step descends" in at(surface, rate=0.1).sentence


def test_newton_climbs_to_a_saddle(surface):
    said = at(surface, function="saddle", px=-1, py=1).sentence
    assert "H is indefinite, with eigenvalues -2 and 1" in said and "Newton's step climbs to 0, at the saddle of its model" in said
    assert "The gradient is 0: neither step moves" in at(surface, function="saddle", px=0, py=0).sentence


def test_h_v_is_the_hessian_times_v():
    panel = widgets.curvature(lambda x, y: x**2 * y + 3 * y**2, start=(1.0, 2.0)).move(angle=30)
    H, v = np.array([[4.0, 2.0], [2.0, 6.0]]), np.array([np.cos(np.pi / 6), 0.5])
    assert table(panel)["H v"][0] == pytest.approx(H @ v, rel=0.01)
    assert f"v · H v = {v @ H @ v:.3g}" in panel.sentence


def test_an_eigenvector_is_not_turned(surface):
    assert at(surface, angle=30).sentence.endswith("H v is 1 v: an eigenvector.")
    assert at(surface, angle=120).sentence.endswith("H v is 8 v: an eigenvector.")


def test_without_an_inverse_there_is_no_newton_step():
    panel = widgets.curvature(lambda x, y: x**2 + y, start=(1.0, 1.0))
    assert "There is no Newton step: H has no inverse." in panel.sentence
    assert table(panel)["Newton's step"] == ["none"]


@pytest.mark.parametrize(("f", "sign"), [
    (lambda x, y: x**2 + x * y + 2 * y**2, 1), (lambda x, y: x**2 - 2 * y**2, -1), (lambda x, y: y**2 - 3 * x**2, -1),
])  # fmt: skip
def test_the_level_of_the_model_goes_through_the_point_around_newtons_goal(f, sign):
    panel = widgets.curvature(f, start=(1.0, -0.5))
    a, b, c, d, *goal = map(float, re.search(r'transform="matrix\(([^)]*)\)"', panel.picture())[1].split())
    point = [panel.tracks[n][panel.at[n]] for n in ("px", "py")]
    u, w = np.linalg.solve([[a, c], [b, d]], np.subtract(point, goal))
    assert u**2 + sign * w**2 == pytest.approx(1, abs=0.02)


def test_a_page_has_every_point_with_every_step_size(surface):
    frames, stops = surface.offline()["frames"], {c["name"]: len(c["stops"]) for c in surface.controls}
    angle = surface.controls[-1]["start"]
    assert {f"{f},{i},{j},{r},{angle}" for f, i, j, r in np.ndindex(*(stops[n] for n in ("function", "px", "py", "rate")))} <= set(frames)


def test_surfaces_that_cannot_be_drawn_are_refused():
    with pytest.raises(TypeError, match=r"curvature calls f with two numbers"):
        widgets.curvature(lambda x: x)
    with pytest.raises(TypeError, match="must return one number that depends on x and y"):
        widgets.curvature(lambda x, y: 3.0)
