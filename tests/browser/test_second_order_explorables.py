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


def test_rows_are_folded_and_columns_filled_by_hand_and_each_drag_is_one_undo(open_page, drive, drag):
    page = open_page(widgets.loop_to_vmap())
    driven = drive(page, "A loop becomes an axis: vmap of squared_error")
    ring = driven.root.get_by_role("slider", name="Loop")
    drag(page, ring, 0, 60)
    expect(driven.status).to_contain_text("Sample 0: the loop calls")
    drag(page, ring, 0, 400)
    expect(driven.status).to_contain_text("4 rows become one axis")
    vmap = driven.root.get_by_role("slider", name="vmap")
    drag(page, vmap, 70)
    expect(driven.status).to_contain_text("v1 = w · x, once for all 4 samples")
    for said in "rows become one axis", "Sample 0", "How many operations":
        driven.button("Undo").click()
        expect(driven.status).to_contain_text(said)
    for key, said in [("ArrowDown", "Sample 0"), ("ArrowRight", "Sample 1"), ("ArrowUp", "Sample 0"), ("ArrowLeft", "How many")]:
        ring.press(key)
        expect(driven.status).to_contain_text(said)


def test_a_finger_folds_the_rows(open_page, drive, command):
    page = open_page(widgets.loop_to_vmap())
    page.set_viewport_size({"width": 360, "height": 1000})
    driven = drive(page, "A loop becomes an axis: vmap of squared_error")
    driven.root.get_by_role("slider", name="Loop").evaluate("(e) => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = driven.root.get_by_role("slider", name="Loop").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind, by in ("touchStart", 0), ("touchMove", 30), ("touchMove", 90), ("touchMove", 230), ("touchEnd", None):
        command("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if by is None else [{"x": x, "y": y + by}]})
    expect(driven.status).to_contain_text("4 rows become one axis")
