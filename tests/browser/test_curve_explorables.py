"""Explorables of functions and of training in the hand: points on curves, values in nodes, the start of a race, typed expressions."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


def parabola():
    return torch.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=(-2, 2, 1))


@pytest.mark.parametrize(("make", "name", "by", "said"), [
    (widgets.chain_rule, "x on the curve of square_of_line", (-100, 0), "At x = -"),
    (widgets.two_gradients, "x of relu", (-120, 0), "At x = -"),
    (lambda: widgets.underflow(torch.tensor([1e-9, 1e-6, 1e-3])), "scale", (40, 0), "(2^"),
    (lambda: widgets.optimizer_race(steps=4, rates=(0.05,), momenta=(0.9,)), "start of the race", (80, -60), "step 0"),
])  # fmt: skip
def test_a_point_is_dragged_stepped_by_arrows_and_undone(open_page, drive, make, name, by, said, drag):
    widget = make()
    page = open_page(widget)
    driven = drive(page, widget.title)
    start, handle = driven.status.inner_text(), driven.root.get_by_role("slider", name=name, exact=True).last
    before = handle.bounding_box()
    drag(page, handle, *by)
    expect(driven.status).not_to_have_text(start)
    expect(driven.status).to_contain_text(said)
    after = handle.bounding_box()
    assert (after["x"] - before["x"]) * by[0] > 0  # it went with the hand
    driven.button("Undo").click()
    expect(driven.status).to_have_text(start)
    handle.press("ArrowRight")
    expect(driven.status).not_to_have_text(start)
    expect(handle).to_be_focused()
    handle.press("ArrowLeft")
    expect(driven.status).to_have_text(start)


def test_an_input_is_dragged_in_its_node_and_on_its_curve(open_page, drive, drag):
    page = open_page(parabola())
    driven = drive(page, "Explore a function")
    start = driven.status.inner_text()
    node, curve = driven.root.locator(".al-node.al-handle"), driven.root.get_by_role("slider", name="x on its curve")
    drag(page, node.first, 60)
    expect(driven.status).not_to_have_text(start)
    driven.button("Undo").click()
    expect(driven.status).to_have_text(start)
    drag(page, curve, -90)
    expect(driven.status).to_contain_text("x = -")
    driven.button("Undo").click()
    node.first.press("ArrowRight")
    expect(driven.status).not_to_have_text(start)
    expect(node.first).to_have_attribute(
        "aria-valuetext", driven.root.get_by_role("slider", name="x", exact=True).first.get_attribute("aria-valuetext")
    )
    driven.button("Reset").click()
    expect(driven.status).to_have_text(start)


def test_a_finger_drags_the_point_on_a_curve(browser, tmp_path):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(parabola().save_html(tmp_path / "page.html").as_uri())
    handle = page.get_by_role("slider", name="x on its curve")
    handle.scroll_into_view_if_needed()
    start = page.get_by_role("status").inner_text()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = context.new_cdp_session(page)
    for kind, at in [("touchStart", x), ("touchMove", x - 30), ("touchMove", x - 70)]:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.get_by_role("status")).not_to_have_text(start)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_have_text(start)
    context.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_the_graph_of_a_function_is_in_its_frame_with_its_output(open_page, width):
    page = open_page(widgets.live("(3 * x + 2) ** 2"))
    page.set_viewport_size({"width": width, "height": 900})
    frame, output = page.locator(".al-graph").first.bounding_box(), page.locator(".al-node.al-out").bounding_box()
    assert frame["x"] <= output["x"] and output["x"] + output["width"] <= frame["x"] + frame["width"] + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_keeps_its_text_box_and_shows_what_it_knows(open_page, axe):
    page = open_page(widgets.live("x + 1", x=(0, 1, 0.25)))
    field, said = page.get_by_label("Expression"), page.get_by_role("group", name="Live engine").get_by_role("status")
    expect(field).to_have_value("x + 1")
    page.get_by_role("button", name="x ** 2", exact=True).click()
    expect(field).to_have_value("x ** 2")
    expect(said.first).to_contain_text("its gradient is")
    expect(page.get_by_role("group", name="Live engine").locator("input[type=range]")).to_have_count(1)
    field.fill("x ** 7")
    expect(page.get_by_role("alert")).to_contain_text("no Python is running here")
    assert axe(page, "body") == []


def test_a_room_on_a_page_has_the_settings_that_were_tried(open_page, drive):
    room = widgets.train(steps=40).wait().move(noise=0.3).wait()
    page = open_page(room)
    driven = drive(page, "Training room")
    first = driven.status.inner_text()
    driven.root.get_by_role("slider", name="noise").press("ArrowLeft")
    driven.root.get_by_role("slider", name="noise").press("ArrowLeft")
    expect(driven.status).not_to_have_text(first)
    expect(driven.root.locator(".al-heat-high").first).to_be_visible()
