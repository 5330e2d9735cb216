"""Every explorable in JupyterLab and in Notebook 7: by mouse, by keys, and with what Python knows of it."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


class Widget:
    """One explorable on a page, found by its name."""

    def __init__(self, page, name):
        self.page = page
        self.root = page.get_by_role("group", name=name, exact=True)
        self.status = self.root.get_by_role("status")

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True)

    def node(self, name):
        return self.root.locator(f'[data-node][aria-description^="{name}"]')

    def says(self, text):
        expect(self.status).to_contain_text(text)


@pytest.fixture
def stepper(notebook):
    widget = Widget(notebook[1], "Backward pass of y")
    widget.root.scroll_into_view_if_needed()
    widget.button("Reset").click(force=True)  # it may say that there is nothing to reset
    widget.says("Ready. xʸ (PowBackward0) fires first.")
    return widget


def test_step_undo_and_reset_by_mouse(stepper, notebook, screenshot):
    for sentence in [
        "xʸ (PowBackward0) receives 1; + (AddBackward0) gets 1 × (2 × 5 ** (2 - 1)) = 10.",
        "+ (AddBackward0) receives 10; × (MulBackward0) gets 10.",
        "× (MulBackward0) receives 10; x gets 10 × 3 = 30.",
        "x (AccumulateGrad) receives 30; x.grad becomes 30.",
    ]:
        stepper.button("Step").click()
        stepper.says(sentence)
    expect(stepper.root).to_contain_text("Step 4 of 4")
    screenshot(notebook[1], f"{notebook[0]}-stepper")
    expect(stepper.button("Step")).to_have_attribute("aria-disabled", "true")
    stepper.button("Step").click(force=True)
    expect(stepper.root).to_contain_text("Step 4 of 4")
    stepper.button("Undo").click()
    stepper.says("× (MulBackward0) receives 10")
    expect(stepper.node("leaf x")).not_to_have_class(re.compile("al-on"))
    stepper.button("Reset").click()
    stepper.says("Ready.")


def test_step_and_undo_by_keys(stepper):
    keyboard = stepper.page.keyboard
    stepper.button("Step").focus()
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    stepper.says("+ (AddBackward0) receives 10")
    keyboard.press("ArrowLeft")
    stepper.says("xʸ (PowBackward0) receives 1")
    keyboard.press("End")
    stepper.says("x.grad becomes 30")
    keyboard.press("Home")
    stepper.says("Ready.")
    expect(stepper.button("Step")).to_be_focused()


def test_the_space_bar_plays_and_stops(stepper):
    stepper.root.get_by_role("combobox", name="Speed").select_option("4")
    stepper.node("+ (AddBackward0)").focus()
    stepper.page.keyboard.press("Space")
    expect(stepper.button("Pause")).to_be_visible()
    stepper.says("x.grad becomes 30")
    expect(stepper.button("Play")).to_be_visible()


def test_play_by_mouse(stepper):
    stepper.root.get_by_role("combobox", name="Speed").select_option("4")
    stepper.button("Play").click()
    stepper.says("x.grad becomes 30")
    expect(stepper.button("Play")).to_be_visible()
    stepper.root.get_by_role("combobox", name="Speed").select_option("0.5")
    stepper.button("Play").click()  # from the start again
    stepper.says("Ready.")
    stepper.button("Pause").click()
    expect(stepper.button("Play")).to_be_visible()


def test_a_node_is_inspected_by_mouse(stepper):
    stepper.button("Step").click()
    inspected = stepper.root.get_by_role("group", name="Inspected node")
    stepper.node("× (MulBackward0)").click()
    expect(inspected).to_contain_text("MulBackward0")
    expect(inspected).to_contain_text("not yet")
    stepper.node("y, made by xʸ (PowBackward0)").click()
    expect(inspected).to_contain_text("1 * (2 * 5 ** (2 - 1)) = 10")
    expect(inspected).to_contain_text("freed by backward()")


def test_nodes_are_walked_by_keys(stepper):
    keyboard = stepper.page.keyboard
    inspected = stepper.root.get_by_role("group", name="Inspected node")
    stepper.root.get_by_role("combobox", name="Speed").focus()
    keyboard.press("Tab")  # the timeline
    keyboard.press("Tab")
    expect(stepper.node("y, made by xʸ (PowBackward0)")).to_be_focused()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    expect(stepper.node("× (MulBackward0)")).to_be_focused()
    expect(inspected).to_contain_text("MulBackward0")
    keyboard.press("ArrowUp")
    expect(inspected).to_contain_text("AddBackward0")
    keyboard.press("ArrowRight")
    stepper.says("xʸ (PowBackward0) receives 1")


def test_edges_are_followed_by_keys(stepper):
    stepper.node("y, made by xʸ (PowBackward0)").focus()
    for name in ("+ (AddBackward0)", "× (MulBackward0)", "leaf x"):
        stepper.page.keyboard.press("Shift+ArrowLeft")
        expect(stepper.node(name)).to_be_focused()
    stepper.page.keyboard.press("Shift+ArrowRight")
    expect(stepper.node("× (MulBackward0)")).to_be_focused()
    stepper.says("Ready.")  # nothing was stepped, and the notebook has not taken the keys


def test_the_table_tells_the_same(stepper):
    stepper.root.get_by_text("Table of all steps").click()
    table = stepper.root.get_by_role("table")
    third = table.get_by_role("row").nth(3)
    sends = third.get_by_text("x: 10 * 3 = 30")
    expect(third).to_contain_text("3× (MulBackward0)3")
    expect(sends).to_be_hidden()  # not yet
    for _ in range(3):
        stepper.button("Step").click()
    expect(sends).to_be_visible()
    stepper.button("Undo").click()
    expect(sends).to_be_hidden()
    stepper.root.get_by_text("Table of all steps").click()
    expect(table).to_be_hidden()


def test_python_knows_where_the_stepper_is(stepper):
    told = stepper.page.get_by_text(re.compile(r"^the kernel is at \d$"))
    expect(told).to_have_text("the kernel is at 0")
    stepper.button("Step").click()
    stepper.button("Step").click()
    expect(told).to_have_text("the kernel is at 2")


def test_two_steppers_do_not_disturb_each_other(stepper):
    other = Widget(stepper.page, "Backward pass of Σ (SumBackward0)")
    other.button("Reset").click(force=True)
    other.button("Step").click()
    other.says("Σ (SumBackward0) receives 1")
    stepper.says("Ready.")


def test_a_group_is_opened_by_the_kernel_and_a_node_is_found(notebook):
    large = Widget(notebook[1], "Backward pass of z")
    large.root.scroll_into_view_if_needed()
    trail = large.root.get_by_role("group", name="Open groups").get_by_role("button")
    large.root.locator(".al-closed").first.click()
    expect(trail).to_have_count(2)
    large.page.keyboard.press("Escape")
    expect(trail).to_have_count(1)
    field = large.root.get_by_role("searchbox", name="Find a node")
    field.fill("tanh")
    for _ in range(40):
        field.press("Enter")
    expect(large.root).to_contain_text("41 of 60: tanh (TanhBackward0)")
    expect(large.root.locator(".al-chosen")).to_have_attribute("aria-label", re.compile("^tanh TanhBackward0 "))
    assert large.root.locator("[data-node]").count() <= 60


def test_keys_of_the_notebook_are_left_alone_by_the_stepper_and_the_other_way_round(stepper):
    cells = stepper.page.locator(".jp-Notebook .jp-Cell").count()
    stepper.button("Step").focus()
    for key in ["a", "b", "x", "ArrowDown", "ArrowUp"]:  # in command mode: insert above and below, cut, move
        stepper.page.keyboard.press(key)
    assert stepper.page.locator(".jp-Notebook .jp-Cell").count() == cells
    expect(stepper.button("Step")).to_be_focused()


@pytest.fixture
def one_slider(notebook):
    widget = Widget(notebook[1], "Explore a function")
    widget.root = widget.root.first
    widget.status = widget.root.get_by_role("status")
    widget.root.scroll_into_view_if_needed()
    widget.button("Reset").click(force=True)  # it may say that there is nothing to reset
    widget.says("x = 1, y = 2: the result is 3; its gradient is 4 for x and 1 for y.")
    return widget


@pytest.fixture
def two_sliders(notebook):
    widget = Widget(notebook[1], "Explore a function")
    widget.root = widget.root.last
    widget.status = widget.root.get_by_role("status")
    widget.root.scroll_into_view_if_needed()
    widget.button("Reset").click(force=True)  # it may say that there is nothing to reset
    widget.says("a = 1, b = 0.3: the result is 0.29552")
    return widget


def test_a_slider_is_moved_by_keys(one_slider):
    slider = one_slider.root.locator(".al-range[aria-label=x]")
    slider.focus()
    one_slider.page.keyboard.press("ArrowRight")
    one_slider.says("x = 1.1, y = 2: the result is 3.41; its gradient is 4.2 for x and 1.1 for y.")
    expect(one_slider.root.locator('[data-grad="n3"]')).to_have_text(".grad 4.2")
    expect(one_slider.root.locator('[data-value="n0"]')).to_have_text("= 3.41")
    one_slider.page.keyboard.press("Home")
    one_slider.says("x = -3, y = 2: the result is 3; its gradient is -4 for x and -3 for y.")


def test_a_slider_is_moved_by_mouse(one_slider, notebook, screenshot):
    slider = one_slider.root.locator(".al-range[aria-label=x]")
    box = slider.bounding_box()
    slider.click(position={"x": box["width"] - 2, "y": box["height"] / 2})
    one_slider.says("x = 3, y = 2: the result is 15; its gradient is 8 for x and 3 for y.")
    screenshot(notebook[1], f"{notebook[0]}-explore")


def test_python_is_asked_where_nothing_is_computed_in_advance(two_sliders):
    two_sliders.root.locator(".al-range[aria-label=a]").focus()
    two_sliders.page.keyboard.press("Home")
    two_sliders.says("a = 0, b = 0.3: the result is 0; its gradient is 0.3 for a and 0 for b.")
    two_sliders.root.locator(".al-range[aria-label=b]").focus()
    two_sliders.page.keyboard.press("End")
    two_sliders.says("a = 0, b = 1: the result is 0; its gradient is 1 for a and 0 for b.")
    expect(two_sliders.root).to_have_attribute("aria-busy", "false")


def test_no_wcag_violation(notebook, axe):
    assert axe(notebook[1], ".al-root") == []


def test_the_theme_of_the_notebook_is_followed(notebook):
    colour = "getComputedStyle(document.querySelector('.al-status')).color"
    switch = "(light) => document.body.setAttribute('data-jp-theme-light', light)"
    page = notebook[1]
    light = page.evaluate(colour)
    page.evaluate(switch, "false")
    assert page.evaluate(colour) != light
    page.evaluate(switch, "true")
    assert page.evaluate(colour) == light


def test_the_cells_of_a_report_are_aligned_to_the_left(notebook):
    table = notebook[1].locator(".autolab-report table")
    aligned = "cells => [...new Set([...cells].map((cell) => getComputedStyle(cell).textAlign))]"
    expect(table).to_contain_text("passed")
    assert table.locator("th, td").evaluate_all(aligned) == ["left"]
