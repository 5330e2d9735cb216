"""Softmax, attention and convolution in the hand: entries are pressed, a logit, an output and a weight are dragged."""

import pytest
from playwright.sync_api import expect

from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


def test_a_logit_is_dragged_and_an_entry_of_its_gradient_pressed(open_page, drive, drag):
    page = open_page(widgets.softmax_backward())
    driven = drive(page, "Backward through softmax")
    driven.root.get_by_role("button", name="z.grad[1]").click()
    expect(driven.status).to_contain_text("z.grad[1] is g times column 1 of J")
    before = driven.status.inner_text()
    drag(page, driven.root.get_by_role("slider", name="z[0]").last, 0, 40)
    expect(driven.status).not_to_have_text(before)
    driven.button("Undo").click()
    expect(driven.status).to_have_text(before)


def test_an_output_of_attention_is_dragged_and_a_weight_pressed(open_page, drive, drag):
    page = open_page(widgets.attention_backward())
    driven = drive(page, "Backward through attention")
    handle = driven.root.get_by_role("slider", name="output")
    drag(page, handle, 0, -45)
    expect(driven.status).to_contain_text("out[0] = 1 × V[0]")
    handle.press("ArrowDown")
    expect(driven.status).to_contain_text("out[1] = ")
    driven.root.get_by_role("button", name="P[2, 1] = ").press("Enter")
    expect(driven.status).to_contain_text("row 2 of Q times row 1 of K")
    handle.press("ArrowUp")
    expect(driven.status).not_to_contain_text("P[2, 1] = ")


def test_an_input_is_pressed_and_what_is_pointed_at_is_said(open_page, drive):
    page = open_page(widgets.convolution_backward())
    driven = drive(page, "Backward through a convolution")
    driven.root.get_by_role("button", name="x[1, 2] = ").click()
    expect(driven.status).to_contain_text("x[1, 2] is used by 4 of 9 outputs")
    driven.root.locator('[aria-label="weights[0, 2] = 3"]').last.hover()
    expect(driven.root.locator(".al-readout")).to_have_text("weights[0, 2] = 3")
    driven.root.get_by_role("slider", name="w[0, 0]").last.press("ArrowLeft")
    expect(driven.status).to_contain_text("x.grad[1, 2] = ")


def test_a_cell_under_the_mouse_shows_what_pressing_it_would(open_page, drive):
    page = open_page(widgets.convolution_backward())
    driven = drive(page, "Backward through a convolution")
    start, cell = driven.status.inner_text(), driven.root.get_by_role("button", name="x[1, 2] = ")
    cell.hover()
    expect(driven.status).to_contain_text("x[1, 2] is used by 4 of 9 outputs")
    expect(driven.root).to_contain_text("Entry 0 of")
    expect(driven.button("Undo")).to_be_disabled()
    driven.root.get_by_role("button", name="y[0, 0] = ").hover()
    expect(driven.status).to_contain_text("y[0, 0] is the window of x")
    page.mouse.move(0, 0)
    expect(driven.status).to_have_text(start)
    cell.hover()
    expect(driven.status).to_contain_text("x[1, 2] is used by 4 of 9 outputs")
    # the numbers travel, though they were seen before
    assert cell.evaluate(
        "(cell) => { cell.dispatchEvent(new MouseEvent('click', { bubbles: true })); return document.querySelectorAll('.al-flight').length; }"
    )
    page.mouse.move(0, 0)
    expect(driven.root).not_to_contain_text("Entry 0 of")
    driven.button("Undo").press("Enter")
    expect(driven.status).to_have_text(start)
