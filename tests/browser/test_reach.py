"""Explorables within reach of everyone: the rules of WCAG, pages from right to left, forced colours. Panels: test_explorables.py."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets
from tests.browser.test_explorables import OTHERS, made, put

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


def small_layer():
    x, w = torch.tensor([[1.0, -2.0], [0.5, 3.0]]), torch.tensor([[1.0], [-1.0]], requires_grad=True)
    return torch.Stepper(lambda: torch.tanh(x @ w).sum())


@pytest.mark.parametrize("name", OTHERS)
def test_no_state_violates_a_wcag_rule(open_page, axe, name):
    page = open_page(made(name))
    page.emulate_media(reduced_motion="reduce")
    for share in (0, 0.5, 1):
        put(page, share)
        assert axe(page, ".al-root") == [], share


# -- right to left --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [small_layer, lambda: made("explore"), lambda: made("live")])
def test_on_a_page_from_right_to_left_everything_is_where_it_is_elsewhere(open_page, displaced, make):
    page = open_page(make())
    page.emulate_media(reduced_motion="reduce")
    assert displaced(page) == []


def test_on_a_page_from_right_to_left_the_right_arrow_goes_on(open_page, drive):
    page = open_page(small_layer())
    page.evaluate("document.documentElement.dir = 'rtl'")
    driven = drive(page, "Backward pass of Σ (SumBackward0)")
    driven.step.press("ArrowRight")
    expect(driven.root).to_contain_text("Step 1 of 4")
    page = open_page(widgets.chain_rule())
    page.evaluate("document.documentElement.dir = 'rtl'")
    slider = page.locator("input[type=range]")
    before = int(slider.input_value())
    slider.press("ArrowRight")
    assert int(slider.input_value()) == before + 1


# -- forced colours -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["small_layer", "graph_builder", "train", *OTHERS])
def test_in_forced_colours_lines_words_cells_and_the_focus_are_seen(open_page, faint, screenshot, name, scheme):
    page = open_page(small_layer() if name == "small_layer" else made(name))
    page.emulate_media(forced_colors="active", color_scheme=scheme, reduced_motion="reduce")
    put(page, 0.5)
    assert faint(page) == []
    screenshot(page, f"forced-{name}-{scheme}", full_page=True)
