"""Explorables of vmap and of second derivatives in the hand."""

import pytest
from playwright.sync_api import expect

from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


@pytest.mark.parametrize(("make", "name", "by"), [
    (widgets.curvature, "the point", (60, 40)), (widgets.curvature, "v", (-80, 0)), (widgets.loop_to_vmap, "first entry of w", (12, 0)),
])  # fmt: skip
def test_it_is_dragged_stepped_by_arrows_and_undone(open_page, drive, drag, make, name, by):
    widget = make().move(**({"step": 3} if make is widgets.loop_to_vmap else {}))
    page = open_page(widget)
    driven = drive(page, widget.title)
    picture = driven.root.locator(".al-graph").first
    start, handle = picture.inner_html(), driven.root.get_by_role("slider", name=name, exact=True).last
    told = handle.get_attribute("aria-valuetext")
    drag(page, handle, *by)
    expect(handle).not_to_have_attribute("aria-valuetext", told)
    driven.button("Undo").click()
    expect(handle).to_have_attribute("aria-valuetext", told)
    handle.press("ArrowRight")
    expect(handle).not_to_have_attribute("aria-valuetext", told)
    expect(handle).to_be_focused()
    assert picture.inner_html() != start


def test_rows_glide_into_the_axis(open_page, drive):
    page = open_page(widgets.loop_to_vmap().move(step=4))
    page.emulate_media(reduced_motion="no-preference")
    driven = drive(page, "A loop becomes an axis: vmap of squared_error")
    row = driven.root.locator("[data-key='row 3']").first
    before = row.bounding_box()["y"]
    page.evaluate("""() => {
        const animate = Element.prototype.animate;
        window.glided = [];
        Element.prototype.animate = function (...all) { window.glided.push(this.dataset.key); return animate.apply(this, all); };
    }""")
    driven.step.click()
    expect(driven.status).to_contain_text("rows become one axis")
    assert "row 3" in page.evaluate("window.glided")
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_function("(el) => el.getAnimations().length === 0", arg=row.element_handle())
    assert row.bounding_box()["y"] < before - 30
