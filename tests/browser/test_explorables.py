"""Every explorable in a real browser: as a page from disk without a kernel, and in JupyterLab and Notebook 7."""

import pytest
from playwright.sync_api import expect

from autolab import widgets
from autolab.widgets.questions import choice, number, order, quiz, several, shape

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

NAMES = [
    "Forward and back through square_of_line", "Graph builder", "Chain rule of square_of_line", "The bucket of gradients of square", "Scissors",
    "Two gradients: relu and StraightThrough", "Version counter", "Broadcasting a * b, forward and back", "Gradients of A @ B",
    "Memory against depth", "Forward mode against reverse mode", "Underflow in float16", "Fusion: memory traffic, eager and fused",
    "Optimizer race on valley", "Two worlds: first and second",
]  # fmt: skip
PAGES = {
    "forward_and_back": widgets.forward_and_back, "graph_builder": widgets.graph_builder, "chain_rule": widgets.chain_rule,
    "accumulation": widgets.accumulation, "scissors": widgets.scissors, "two_gradients": widgets.two_gradients,
    "version_counter": widgets.version_counter, "broadcast_backward": widgets.broadcast_backward, "matmul_backward": widgets.matmul_backward,
    "memory_against_depth": lambda: widgets.memory_against_depth(depths=(2, 4), segments=(0, 2)),
    "forward_against_reverse": lambda: widgets.forward_against_reverse(sizes=(1, 4)), "underflow": widgets.underflow, "fusion": widgets.fusion,
    "optimizer_race": lambda: widgets.optimizer_race(steps=10, rates=(0.01, 0.1)),
    "compare": lambda: widgets.compare(lambda w: w * 2, lambda w: w * 3, w=1.0), "train": lambda: widgets.train(steps=80).wait(),
}  # fmt: skip


def questions():
    return quiz(
        "All kinds", choice("Which is `b`?", {"a": "No: it is the other.", "b": "It is."}, "b"),
        several("Which are even?", {"2": "Even.", "3": "Odd.", "4": "Even."}, ["2", "4"]), number("2 + 2?", 4, "Counted.", {5: "One too many."}),
        shape("Of ones(2, 3)?", (2, 3), "Rows first."), order("A step?", ["forward", "backward", "step"], "So it is."),
    )  # fmt: skip


@pytest.fixture
def open_page(browser, tmp_path, page):
    """Save an explorable and open the file."""

    def opened(widget):
        page.goto(widget.save_html(tmp_path / "page.html").as_uri())
        page.wait_for_selector("[data-autolab] > *", state="attached")  # what is long is unpacked after the page has loaded
        return page

    yield opened
    assert page.errors == []
    assert page.external == []


@pytest.fixture(autouse=True)
def few_states(monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PAGE_STATES", 600)


# -- pages from disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_a_page_goes_there_and_back_and_violates_no_wcag_rule(open_page, name, drive, axe, screenshot):
    widget = PAGES[name]()
    page = open_page(widget)
    driven = drive(page, widget.title)
    driven.goes_there_and_back()
    driven.changed_by_keys()
    driven.root.get_by_text("Table of what is shown").click()
    for scheme, width in [("light", 1100), ("dark", 420)]:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 800})
        screenshot(page, f"explorable-{name}-{scheme}-{width}", full_page=True)
        assert axe(page, "body") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 320, "height": 256})  # 1280 by 1024 at 400 %
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize(("width", "rows"), [(1100, 1), (420, 2)])
def test_on_a_narrow_screen_the_halves_of_a_picture_stand_below_each_other_in_full(open_page, width, rows):
    page = open_page(widgets.two_gradients())
    page.set_viewport_size({"width": width, "height": 800})
    halves = [half.bounding_box() for half in page.locator(".al-graph > svg").all()]
    right = max(half["x"] + half["width"] for half in halves)
    assert len(halves) == 2 and len({round(half["y"]) for half in halves}) == rows
    assert right <= page.locator(".al-root").bounding_box()["x"] + page.locator(".al-root").bounding_box()["width"]


def test_a_page_plays_by_the_space_bar_and_goes_to_either_end(open_page, drive):
    page = open_page(widgets.forward_and_back())
    driven = drive(page, NAMES[0])
    driven.root.get_by_role("combobox", name="Speed").select_option("4")
    page.get_by_role("group", name="Picture").focus()
    page.evaluate("document.activeElement.blur()")
    driven.button("Play").click()
    expect(driven.button("Pause")).to_be_visible()
    expect(driven.root).to_contain_text("Step 7 of 7")
    expect(driven.button("Play")).to_be_visible()
    driven.button("Undo").press("Home")
    expect(driven.root).to_contain_text("Step 0 of 7")
    driven.button("Undo").press("End")
    expect(driven.root).to_contain_text("Step 7 of 7")


def test_one_drag_of_a_slider_is_one_undo(open_page, drive):
    page = open_page(widgets.chain_rule())
    driven = drive(page, NAMES[2])
    start = driven.status.inner_text()
    box = driven.root.get_by_role("slider").bounding_box()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    expect(driven.status).not_to_have_text(start)
    driven.button("Undo").click()
    expect(driven.status).to_have_text(start)


def test_a_page_without_a_kernel_says_where_its_states_end(open_page, drive):
    page = open_page(widgets.graph_builder())  # with all states of three presses
    driven = drive(page, "Graph builder")
    for _ in range(3):
        driven.button("square").click()
        expect(driven.status).to_contain_text("square made a node")
    driven.button("square").click()
    expect(driven.status).to_contain_text("no Python is running here to compute it")
    driven.button("Undo").click()
    driven.button("exp").click()
    expect(driven.status).to_contain_text("exp made a node")


def test_the_room_has_no_train_button_where_nobody_can_train(open_page, drive):
    page = open_page(widgets.train(steps=40).wait())
    assert page.get_by_role("button", name="Train").count() == 0


# -- the quiz ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_kind_of_question_is_answered_without_a_kernel(open_page, scheme, axe, screenshot):
    page = open_page(questions())
    page.emulate_media(color_scheme=scheme)
    forms = page.locator("form")
    said = forms.get_by_role("status")
    page.get_by_label("a", exact=True).check()
    forms.nth(0).get_by_role("button", name="Check").click()
    expect(said.nth(0)).to_have_text("Not yet. No: it is the other.")
    page.get_by_label("a", exact=True).press("ArrowDown")
    page.keyboard.press("Enter")
    expect(said.nth(0)).to_have_text("Right. It is.")
    page.get_by_label("2", exact=True).press("Space")
    page.get_by_label("2", exact=True).press("Enter")
    expect(said.nth(1)).to_contain_text("Missing: 4.")
    page.get_by_label("4", exact=True).check()
    forms.nth(1).get_by_role("button", name="Check").click()
    expect(said.nth(1)).to_contain_text("Right.")
    page.get_by_label("a number").fill("5")
    page.keyboard.press("Enter")
    expect(said.nth(2)).to_have_text("Not yet. One too many.")
    page.get_by_label("a number").fill("8/2")
    page.keyboard.press("Enter")
    expect(said.nth(2)).to_have_text("Right. Counted.")
    page.get_by_label("a shape").fill("(2, 3)")
    page.keyboard.press("Enter")
    expect(said.nth(3)).to_have_text("Right. Rows first.")
    for step in ["backward", "forward"]:
        up = page.get_by_role("button", name=f"Up: {step}", exact=True)
        up.press("Enter")
        up.press("Enter")
        expect(up).to_be_focused()
    forms.nth(4).get_by_role("button", name="Check").click()
    expect(said.nth(4)).to_have_text("Right. So it is.")
    expect(page.get_by_text("5 of 5 answered")).to_be_visible()
    screenshot(page, f"quiz-{scheme}", full_page=True)
    assert axe(page, "body") == []


# -- in a notebook ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_in_a_notebook_it_goes_there_and_back(notebook, name, drive, screenshot):
    driven = drive(notebook[1], name)
    driven.goes_there_and_back()
    driven.changed_by_keys()
    screenshot(notebook[1], f"{notebook[0]}-{name}")


def test_python_answers_where_nothing_was_computed_in_advance(notebook, drive):
    driven = drive(notebook[1], "Graph builder")
    driven.reset()
    for k in range(5):
        driven.button("square" if k == 0 else "sin").click()
        expect(driven.status).to_contain_text("square made" if k == 0 else "sin made")
        expect(driven.root.locator(".al-node")).to_have_count(k + 2)
    driven.button("backward()").click()
    expect(driven.status).to_contain_text("backward() has run: x.grad is")
    driven.button("Reset").click()


def test_a_network_is_trained_in_the_background_and_stopped(notebook, drive, screenshot):
    driven = drive(notebook[1], "Training room")
    driven.button("Train").click()
    driven.button("Stop").click()
    expect(driven.button("Train")).to_be_visible()
    driven.button("Train").click()
    expect(driven.status).to_contain_text("After 80 of 80 steps", timeout=30_000)
    expect(driven.button("Train")).to_be_visible()
    screenshot(notebook[1], f"{notebook[0]}-training-room")
    driven.goes_there_and_back()


def test_an_expression_is_typed_in_a_notebook(notebook, drive):
    page = notebook[1]
    field = page.get_by_label("Expression")
    field.fill("x ** 3")
    field.press("Enter")
    driven = drive(page, "Live engine")
    expect(driven.status).to_contain_text("its gradient is")
    slider = driven.root.get_by_role("slider")
    expect(slider).to_have_count(1)
    slider.press("End")
    expect(driven.status).to_have_text("x = 3: the result is 27; its gradient is 27 for x.")
    field.fill("x +")
    field.press("Enter")
    problem = page.locator("form").get_by_role("alert")
    expect(problem).to_contain_text("is no expression")
    field.fill("x ** 2")  # the same input: another graph
    field.press("Enter")
    expect(problem).to_be_hidden()
    slider.press("Home")
    expect(driven.status).to_have_text("x = -3: the result is 9; its gradient is -6 for x.")


def test_answers_of_a_quiz_reach_python_and_typing_runs_no_cell(notebook):
    page = notebook[1]
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    field = page.get_by_label("a number")
    field.press_sequentially("4")
    field.press("Enter")
    expect(page.get_by_text("Right. Counted.")).to_be_visible()
    page.get_by_role("radio", name="b", exact=True).check()
    page.get_by_role("radio", name="b", exact=True).press("Enter")
    expect(page.get_by_text("Right. It is.")).to_be_visible()
    expect(page.get_by_text("2 of 2 answered")).to_be_visible()
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
