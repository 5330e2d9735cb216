"""The explorables of implicit functions and of gradients of expectations in a real browser: dragged, stepped by keys, read."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

# With arguments of their own: long numbers, one solution only, many samples, no gradient at all.
MADE = {
    "implicit": widgets.implicit_function,
    "small": lambda: widgets.implicit_function(lambda a, x: 1e4 * (x * torch.exp(x) - a / 7e4), (-3.0, 3e5), (0.0, 3.0), (0.1234, 2.7), 4),
    "expectations": lambda: widgets.expectation_gradients(mus=(-1.5, 0.0, 1.5)),
    "large": lambda: widgets.expectation_gradients(lambda x: (x > 0) * -12345.678, (-1e-3, 123.4), (1e-2, 98.7), (1, 1000)),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_no_words_overlap_or_leave_their_picture_in_any_state(open_page, overlaps, name):
    page = open_page(MADE[name]())
    wrong = {width: overlaps(page, width, 60) for width in (320, 760, 1400)}
    assert {width: found for width, found in wrong.items() if found} == {}


def test_the_solution_is_dragged_past_the_fold_and_its_start_to_another_branch(open_page, drive, drag):
    page = open_page(widgets.implicit_function())
    driven = drive(page, "Implicit function: the derivative without the solver")
    begin, handle = driven.status.inner_text(), driven.root.get_by_role("slider", name="a on the curve")
    before = handle.bounding_box()
    drag(page, handle, 75)
    expect(driven.status).to_contain_text("a = 2.5: Newton's method takes 65 steps")
    after = handle.bounding_box()
    assert after["x"] > before["x"] + 40 and after["y"] < before["y"] - 60  # it has jumped to the upper branch
    driven.button("Undo").click()
    expect(driven.status).to_have_text(begin)
    drag(page, driven.root.get_by_role("slider", name="start of Newton's method"), 0, -90)
    expect(driven.status).to_contain_text("to x = -0.3473, one of 3 solutions")
    handle.press("Home")
    expect(driven.status).to_contain_text("a = -2.5")
    expect(handle).to_be_focused()


def test_mu_is_dragged_below_its_density(open_page, drive, drag):
    page = open_page(widgets.expectation_gradients(mus=(-1.0, 0.0, 1.0), sigmas=(1.0,)))
    driven = drive(page, "Gradient of an expectation: two clouds of estimates")
    begin, handle = driven.status.inner_text(), driven.root.get_by_role("slider", name="mu", exact=True).last
    drag(page, handle, -90)
    expect(driven.status).to_contain_text("mu = -1, sigma = 1, 4 samples: the true gradient is -2")
    driven.button("Undo").click()
    expect(driven.status).to_have_text(begin)
    handle.press("ArrowLeft")
    expect(driven.status).to_contain_text("mu = 0")
    driven.root.get_by_role("combobox", name="f", exact=True).select_option("step")
    expect(driven.status).to_contain_text("Reparameterisation is wrong")


def test_the_density_is_widened_by_its_flank_by_hand_and_by_arrows(open_page, drive, drag):
    page = open_page(widgets.expectation_gradients(mus=(0.0, 1.0)))
    driven = drive(page, "Gradient of an expectation: two clouds of estimates")
    flank = driven.root.locator(".al-graph").get_by_role("slider", name="sigma")
    drag(page, flank, -80)
    expect(driven.status).to_contain_text("mu = 1, sigma = 0.5")
    flank.press("ArrowRight")
    expect(driven.status).to_contain_text("sigma = 0.7")
    driven.button("Undo").click()
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("sigma = 1")
