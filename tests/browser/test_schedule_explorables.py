"""The graph of the gradient and the timeline of checkpoints in a real browser."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

MADE = {
    "many nodes": lambda: widgets.gradient_graph(lambda x: torch.exp(torch.sin(x)), x=-2.5),
    "long numbers": lambda: widgets.gradient_graph(lambda x: 1e6 * torch.sigmoid(x) ** 3 / 7, x=-1.0 / 3),
    "x * sin(x)": lambda: widgets.gradient_graph({"x * sin(x)": lambda x: x * torch.sin(x)}),
    "twelve layers": lambda: widgets.checkpoint_timeline(12, 1), "three slots": lambda: widgets.checkpoint_timeline(4, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_no_words_overlap_or_leave_their_picture_in_any_state(open_page, overlaps, name):
    page = open_page(MADE[name]())
    wrong = {width: overlaps(page, width, 60) for width in (320, 1400)}
    if name in ("long numbers", "twelve layers"):  # wider than a phone: there the picture is scrolled
        wrong[320] = [said for said in wrong[320] if "wider than its box" not in said]
    assert {width: found for width, found in wrong.items() if found} == {}


def test_x_is_dragged_and_every_number_follows(open_page, drive, drag):
    page = open_page(widgets.gradient_graph().move(step=3))
    driven = drive(page, "The graph of the gradient")
    expect(driven.status).to_contain_text("dy/dx = 6.75 has a graph of its own")
    drag(page, driven.root.locator(".al-number-handle").first, 8)
    expect(driven.status).to_contain_text("dy/dx = 12 has a graph of its own")
    driven.root.locator(".al-number-handle").first.press("ArrowLeft")
    expect(driven.status).to_contain_text("dy/dx = 6.75")
    driven.root.get_by_label("grad with").select_option("create_graph=False")
    driven.step.click()
    expect(driven.status).to_contain_text("does not have a grad_fn")


def test_a_slot_is_dragged_to_the_best_layer(open_page, drive, drag):
    page = open_page(widgets.checkpoint_timeline())
    driven = drive(page, "Checkpoints in a chain of 10 layers: sin")
    handle = driven.root.locator(".al-graph").get_by_role("slider", name="slot 1")
    size = driven.root.locator(".al-graph > svg").first.bounding_box()["height"] / float(
        driven.root.locator(".al-graph > svg").first.get_attribute("height")
    )
    drag(page, handle, 0, -23 * size)  # a line
    expect(driven.status).to_contain_text("You win: 30 forward runs")
    driven.root.locator(".al-graph").get_by_role("slider", name="slot 2").press("ArrowUp")
    expect(driven.status).to_contain_text("slot 2 keeps the output of layer 1")
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("You win: 30 forward runs")


def test_on_a_narrow_screen_slots_and_time_stand_below_each_other_in_full(open_page):
    page = open_page(widgets.checkpoint_timeline())
    page.set_viewport_size({"width": 320, "height": 800})
    slots, time = (tile.bounding_box() for tile in page.locator(".al-graph > svg").all())
    assert slots["y"] + slots["height"] <= time["y"]
    assert page.locator(".al-graph").evaluate("(e) => e.scrollWidth <= e.clientWidth")


def test_a_value_is_run_on_kept_and_restored_by_drag_and_by_key(open_page, drive, overlaps):
    page = open_page(widgets.checkpoint_game(4, 1))
    assert [overlaps(page, width, 60) for width in (320, 1400)] == [[], []]
    driven = drive(page, "Checkpoint game: 4 layers of sin, 1 slot")
    board = driven.root.locator(".al-graph > svg").first
    board.get_by_role("button", name="x, current: Run").press("Enter")
    board.get_by_role("button", name="h1, current: Run").drag_to(board.get_by_role("button", name="Run layer 2"))
    expect(driven.status).to_contain_text("h2 is the current value after 2 runs.")
    expect(board.get_by_role("button", name="h2, current: Run")).to_be_focused()
    board.get_by_role("button", name="h2, current: Run").drag_to(board.locator("[data-drop=slots]"))
    expect(driven.status).to_contain_text("h2 is kept")
    board.get_by_role("button", name="Restore x").drag_to(board.locator("[data-drop=now]"), target_position={"x": 20, "y": 8})
    expect(driven.status).to_contain_text("x is the current value")
    driven.button("Undo").click()
    for action in ["Run", "Back", "Back", "Run", "Back", "Back"]:
        driven.button(action).press("Enter")
    expect(driven.status).to_contain_text("You win: 8 runs, the fewest with 1 slot.")
