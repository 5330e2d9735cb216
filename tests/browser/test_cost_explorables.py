"""Explorables of costs and derivatives in a real browser: what is drawn can be taken in the hand, and read on every screen."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

# Some with arguments of their own: numbers of many digits, the most rows and columns, three axes.
MADE = {
    "vector_jacobian": widgets.vector_jacobian, "dual_numbers": widgets.dual_numbers, "finite_differences": widgets.finite_differences,
    "paths": widgets.paths, "vanishing_and_exploding": lambda: widgets.vanishing_and_exploding(gains=(0.25, 1.0, 4.0)),
    "seven": lambda: widgets.matmul_backward((7, 2), (2, 7)),
    "thirds": lambda: widgets.matmul_backward(torch.tensor([[1.0, 2.0]]) / 3, torch.tensor([[-20.0], [5.0]]) / 7),
    "three axes": lambda: widgets.broadcast_backward((3, 1, 4), (2, 1), "/"), "numbers": lambda: widgets.broadcast_backward((), (8,), "-"),
    "long program": lambda: widgets.dual_numbers(lambda x: torch.sigmoid(x**3 / 7).log().exp() - x, x=-1.5),
    "three paths": lambda: widgets.paths(lambda h: h * torch.sin(h) - h / 7, x=-2.0),
    "memory": lambda: widgets.memory_against_depth(depths=(2, 4), segments=(0, 2)), "two inputs": lambda: widgets.fusion(two_inputs),
}  # fmt: skip


def two_inputs(x):
    return torch.exp(x * 2 + x) * torch.sqrt(x) - x


@pytest.mark.parametrize("name", MADE)
def test_no_words_overlap_or_leave_their_picture_in_any_state(open_page, overlaps, name):
    page = open_page(MADE[name]())
    wrong = {width: overlaps(page, width, 24) for width in (320, 1400)}
    if name == "seven":  # columns of readable numbers are wider than a phone: there the picture is scrolled
        wrong[320] = [said for said in wrong[320] if "wider than its box" not in said]
    assert {width: found for width, found in wrong.items() if found} == {}


def test_the_step_of_a_difference_is_dragged_along_its_axis(open_page, drive, drag):
    page = open_page(widgets.finite_differences())
    driven = drive(page, "How wrong is a finite difference of growing_wave?")
    start = driven.status.inner_text()
    handle = driven.root.get_by_role("slider", name="h", exact=True).last
    drag(page, handle, -120)
    expect(driven.status).to_contain_text("so rounding leads")
    driven.button("Undo").click()
    expect(driven.status).to_have_text(start)
    handle.press("End")
    expect(driven.status).to_contain_text("h = 1 in float64")


def test_a_jacobian_is_resized_at_its_corner(open_page, drive, drag):
    page = open_page(widgets.forward_against_reverse())
    driven = drive(page, "Forward mode against reverse mode")
    expect(driven.status).to_contain_text("8 inputs, 4 outputs")
    drag(page, driven.root.get_by_role("slider", name="Size of the Jacobian"), -270, 180)
    expect(driven.status).to_contain_text("2 inputs, 8 outputs")
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("8 inputs, 4 outputs")


def test_an_entry_of_a_matrix_is_pressed_and_one_of_g_is_turned(open_page, drive):
    page = open_page(widgets.matmul_backward())
    driven = drive(page, "Gradients of A @ B")
    driven.root.get_by_role("button", name="B[1, 2] = ").click()
    expect(driven.status).to_contain_text("So B.grad[1, 2] is column 1 of A times column 2 of g: 2 × 3 + 5 × 1 = 11.")
    driven.root.get_by_role("button", name="A[0, 1] = ").press("Enter")
    expect(driven.status).to_contain_text("(-1) × 5")
    driven.root.get_by_role("slider", name="g[0, 0]").last.press("ArrowRight")
    expect(driven.status).to_contain_text("0 × 5")


def test_a_block_is_added_where_the_next_one_would_stand(open_page, drive):
    page = open_page(widgets.paths())
    driven = drive(page, "Paths: all of them, or one visit of each node")
    driven.root.locator(".al-graph").get_by_role("button", name="one block more").click()
    expect(driven.status).to_contain_text("16 paths lead")
    driven.button("all paths").click()
    expect(driven.status).to_contain_text("All 16 paths")


def test_a_sum_over_an_axis_is_cells_that_glide_together(open_page, drive):
    page = open_page(widgets.broadcast_backward().move(step=3))
    driven = drive(page, "Broadcasting a * b, forward and back")
    cell = page.locator('.al-graph [data-key="a0.3grad"]').last
    before = cell.bounding_box()["x"]
    driven.step.click()
    page.wait_for_function(
        "(x) => [...document.querySelectorAll('[data-key=\"a0.3grad\"]')].at(-1).getBoundingClientRect().x < x - 60", arg=before
    )
    expect(driven.status).to_contain_text("a.grad has shape [3, 1]")


def test_a_handle_in_a_half_that_comes_late_can_be_taken_by_hand_and_by_keys(open_page):
    page = open_page(widgets.broadcast_backward())
    page.set_viewport_size({"width": 375, "height": 1200})
    page.get_by_role("button", name="Reset").press("End")
    handle, said = page.get_by_role("slider", name="g[0, 0]").last, page.get_by_role("status").first
    handle.press("ArrowRight")
    expect(said).to_contain_text("g[0, 0] = 2 is in b.grad[0] = 7")
    expect(handle).to_be_focused()
    box = handle.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 15)
    page.mouse.down()
    page.mouse.move(box["x"] + 33, box["y"] + 15, steps=4)
    page.mouse.up()
    expect(said).to_contain_text("g[0, 0] = 4 is in b.grad[0] = 9")
    page.get_by_role("button", name="Undo").click()
    expect(said).to_contain_text("g[0, 0] = 2")


def test_the_fused_loop_is_dragged_through_the_blocks(open_page, drive, drag):
    page = open_page(widgets.fusion(x=torch.ones(100_000)))
    driven = drive(page, "Fusion: memory traffic, eager and fused")
    ring = driven.root.get_by_role("slider", name="Fused loop")
    drag(page, ring, 500)
    expect(driven.status).to_contain_text("times less")
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("Ready.")
    ring.press("ArrowRight")
    expect(driven.status).to_contain_text("multiply reads 400 kB")


def test_the_result_is_pulled_onto_the_plus_and_back_onto_the_joint_before(open_page, drive):
    page = open_page(widgets.paths())
    driven = drive(page, "Paths: all of them, or one visit of each node")
    for blocks in 4, 5, 4, 3:
        onto = "[tabindex='0'] > [data-drop=more]" if blocks > int(driven.status.inner_text()[0]) else "[data-drop=less]"
        driven.root.locator(".al-drag[tabindex='0']").drag_to(driven.root.locator(onto))
        expect(driven.status).to_contain_text(f"{blocks} blocks of 2 paths")


def by_finger(command, points):
    """Leads a finger from point to point."""
    for kind, point in [("touchStart", points[0]), *(("touchMove", one) for one in points[1:]), ("touchEnd", None)]:
        command("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [dict(zip("xy", point))] if point else []})


def middle(locator):
    locator.evaluate("(e) => e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })")
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_drags_the_fused_loop_and_arrows_step_it(open_page, drive, command):
    page = open_page(widgets.fusion(x=torch.ones(100_000)))
    page.set_viewport_size({"width": 360, "height": 800})
    driven = drive(page, "Fusion: memory traffic, eager and fused")
    ring = driven.root.get_by_role("slider", name="Fused loop")
    x, y = middle(ring)
    by_finger(command, [(x, y), (x + 30, y), (x + 60, y + 4), (x + 110, y + 4)])
    expect(driven.status).to_contain_text("Fused, block")
    assert int(ring.get_attribute("aria-valuenow")) > 4
    ring.press("ArrowLeft")
    ring.press("End")
    expect(driven.status).to_contain_text("times less")
    for _ in range(2):
        driven.button("Undo").click()
    expect(driven.status).to_contain_text("Fused, block")
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("Ready.")


def test_a_finger_pulls_the_result_of_paths_and_arrows_do_the_same(open_page, drive, command):
    page = open_page(widgets.paths())
    page.set_viewport_size({"width": 360, "height": 800})
    driven = drive(page, "Paths: all of them, or one visit of each node")
    result = driven.root.locator(".al-drag[tabindex='0']")
    start = middle(result)
    more = driven.root.locator("[tabindex='0'] > [data-drop=more]").bounding_box()
    by_finger(command, [start, (start[0] + 12, start[1]), (more["x"] + more["width"] / 2, more["y"] + more["height"] / 2)])
    expect(driven.status).to_contain_text("4 blocks of 2 paths")
    for key, blocks in ("ArrowRight", 5), ("ArrowLeft", 4), ("ArrowLeft", 3):
        result.press(key)
        expect(driven.status).to_contain_text(f"{blocks} blocks of 2 paths")
        expect(result).to_be_focused()
