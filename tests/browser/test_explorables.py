"""Every explorable in a real browser: as a page from disk without a kernel, and in JupyterLab and Notebook 7."""

import functools
import re

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets
from autolab.draw import chart
from autolab.widgets import panel as panels
from autolab.widgets.panel import Frame, Panel, timeline
from autolab.widgets.questions import choice, number, order, predict, quiz, several, shape

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

NAMES = [
    "Forward and back through square_of_line", "Graph builder", "Chain rule of square_of_line", "The bucket of gradients of square", "Scissors",
    "Two gradients: relu and StraightThrough", "Version counter", "Broadcasting a * b, forward and back", "Gradients of A @ B",
    "Memory against depth", "Forward mode against reverse mode", "Underflow in float16", "Fusion: memory traffic, eager and fused",
    "Optimizer race on valley", "Two worlds: first and second", "Vector times Jacobian", "Dual numbers through product_and_sine",
    "How wrong is a finite difference of growing_wave?", "Paths: all of them, or one visit of each node", "Vanishing and exploding gradients",
    "The graph of the gradient", "Checkpoints in a chain of 10 layers: sin",
    "Implicit function: the derivative without the solver", "Gradient of an expectation: two clouds of estimates",
    "A loop becomes an axis: vmap of squared_error", "Curvature: Newton's step against the gradient's",
    "Backward through softmax", "Backward through attention", "Backward through a convolution",
]  # fmt: skip
# Each explorable by itself, but those that would take long or want an argument.
PAGES = {name: getattr(widgets, name) for name in widgets.__all__ if name not in (
    "Stepper", "explore", "Explorer", "live", "quiz", "predict", "progress",
)} | {
    "memory_against_depth": lambda: widgets.memory_against_depth(depths=(2, 4), segments=(0, 2)),
    "forward_against_reverse": lambda: widgets.forward_against_reverse(sizes=(1, 4)),
    "optimizer_race": lambda: widgets.optimizer_race(steps=10, rates=(0.01, 0.1)),
    "compare": lambda: widgets.compare(lambda w: w * 2, lambda w: w * 3, w=1.0), "train": lambda: widgets.train(steps=80).wait(),
    "vanishing_and_exploding": lambda: widgets.vanishing_and_exploding(depths=(2, 8), gains=(0.5, 1.0)),
    "implicit_function": lambda: widgets.implicit_function(stops=6), "expectation_gradients": lambda: widgets.expectation_gradients(mus=(-1.0, 1.0)),
}  # fmt: skip


def network():
    torch.manual_seed(0)
    x, w = torch.randn(2, 3), torch.randn(3, 4, requires_grad=True)
    return torch.Stepper(((x @ w).relu() @ torch.ones(4, 1, requires_grad=True)).exp().mean())


OTHERS = {
    "stepper": network, "explore": lambda: torch.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=2.0), "live": lambda: widgets.live("x * y", y=2.0),
}  # fmt: skip


@functools.cache
def made(name):
    return (PAGES | OTHERS)[name]()


def questions():
    return quiz(
        "All kinds", choice("Which is `b`?", {"a": "No: it is the other.", "b": "It is."}, "b"),
        several("Which are even?", {"2": "Even.", "3": "Odd.", "4": "Even."}, ["2", "4"]), number("2 + 2?", 4, "Counted.", {5: "One too many."}),
        shape("Of ones(2, 3)?", (2, 3), "Rows first."), order("A step?", ["forward", "backward", "step"], "So it is."),
    )  # fmt: skip


def put(page, share):
    """All controls at a share of their way: steps, sliders, choices; and one action."""
    root = page.locator(".al-root").last
    steps = root.get_by_text(re.compile(r" \d+ of \d+$")).first
    if root.get_by_role("toolbar").get_by_role("button", name="Step", exact=True).count():
        root.get_by_role("button", name="Reset").press("End")
        last = int(steps.inner_text().split()[-1])
        for _ in range(round((1 - share) * last)):
            page.keyboard.press("ArrowLeft")
    for slider in root.locator("input[type=range]").all():
        if slider.is_enabled():  # else nothing was computed there
            slider.fill(str(round(share * int(slider.get_attribute("max")))))
    for menu in root.locator(".al-choice select").all():
        menu.select_option(index=round(share * (menu.locator("option").count() - 1)))
    actions = root.get_by_role("group", name="Actions").locator("button:not([aria-disabled=true])")
    if actions.count():
        actions.nth(round(share * (actions.count() - 1))).click()


@pytest.fixture(autouse=True)
def few_states(monkeypatch):
    for module in "panel", "versions":
        monkeypatch.setattr(f"autolab.widgets.{module}.PAGE_STATES", 600)


# -- pages from disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_a_page_goes_there_and_back_and_can_be_used_by_everyone(open_page, name, drive, axe, displaced, faint, screenshot):
    widget = made(name)
    page = open_page(widget)
    driven = drive(page, widget.title)
    driven.goes_there_and_back()
    driven.root.get_by_text("Table of what is shown").click()
    for share, scheme, width in [(0, "light", 1100), (0.5, "dark", 420), (1, "light", 320)]:
        put(page, share)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 800 if width > 320 else 256})  # 320 by 256 is 1280 by 1024 at 400 %
        screenshot(page, f"explorable-{name}-{scheme}-{width}", full_page=True)
        if share:  # all explorables at their start are seen by axe in a notebook
            assert axe(page, "body") == [], share
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert displaced(page) == [], share
        page.emulate_media(forced_colors="active")
        assert faint(page) == [], share
        page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_words_of_14_pixels_neither_overlap_nor_leave_their_picture_in_any_state(open_page, overlaps, name):
    page = open_page(made(name))
    most = 60 if name in OTHERS else 120  # there only numbers change
    # Words grow with their picture, so what meets in a state meets at each width; where halves move, a few states show it.
    wrong = {width: overlaps(page, width, limit) for width, limit in [(320, most), (760, 20), (1400, 20)]}
    assert {width: found for width, found in wrong.items() if found} == {}


def test_words_that_cannot_be_read_are_found(open_page, overlaps):
    def make(step):
        second = [
            chart.words(12 + 90 * step, 60, "second"),
            chart.rectangle(200, 80, 40, 28),
            chart.words(220, 100, "too long", "", "middle"),
        ]
        return Frame(f"Step {step}.", [chart.words(10, 60, "first"), *second, chart.words(260, 140, "out of it")])

    page = open_page(Panel("Tangled", [timeline(1)], make, [], (300, 160)))
    assert overlaps(page, 700) == [
        '"out of it" leaves the picture (Step 0.)', '"first" meets "second" (Step 0.)', '"too long" leaves its box (Step 0.)',
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "rows"), [(1100, 1), (420, 2)])
def test_on_a_narrow_screen_the_halves_of_a_picture_stand_below_each_other_in_full(open_page, width, rows):
    page = open_page(widgets.two_gradients())
    page.set_viewport_size({"width": width, "height": 800})
    halves = [half.bounding_box() for half in page.locator(".al-graph > svg").all()]
    assert len(halves) == 2 and len({round(half["y"]) for half in halves}) == rows
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_tile_has_the_room_that_its_scene_needs_and_below_another_begins_with_what_it_has(open_page):
    def make(size):
        far = {"small": 80, "large": 250}[size]
        return Frame(size, [chart.rectangle(10, 10, far, far), chart.rectangle(310, 200, far, 40)])

    page = open_page(Panel("Scenes", [panels.choice("size", ["small", "large"])], make, [], (600, 300), breaks=[300]))
    for size, width, boxes in [
        ("small", 1100, [(0, 0, 100, 100), (300, 0, 100, 250)]), ("large", 1100, [(0, 0, 270, 270), (300, 0, 270, 250)]),
        ("large", 420, [(0, 0, 270, 270), (300, 190, 270, 60)]),
    ]:  # fmt: skip
        page.set_viewport_size({"width": width, "height": 800})
        page.get_by_role("combobox").select_option(size)
        page.wait_for_function(
            "(x) => Math.abs(document.querySelectorAll('.al-graph > svg')[1].viewBox.baseVal.y - x) < 4", arg=boxes[1][1]
        )
        found = [tuple(map(float, svg.get_attribute("viewBox").split())) for svg in page.locator(".al-graph > svg").all()]
        assert found == [pytest.approx(box, abs=3) for box in boxes], (size, width)


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
    box = driven.root.locator("input[type=range]").bounding_box()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    expect(driven.status).not_to_have_text(start)
    driven.button("Undo").click()
    expect(driven.status).to_have_text(start)


def test_a_page_without_a_kernel_greys_out_what_was_not_computed(open_page, drive):
    page = open_page(widgets.graph_builder())  # with all chains of three operations
    driven = drive(page, "Graph builder")
    grey = driven.root.get_by_text("What is greyed out was not computed in advance")
    for _ in range(3):
        expect(grey).to_be_hidden()
        driven.button("square").click()
        expect(driven.status).to_contain_text("square made a node")
    expect(grey).to_be_visible()
    expect(driven.button("square")).to_be_disabled()
    expect(driven.button("backward()")).to_be_enabled()
    driven.button("square").press("Enter")
    expect(driven.status).to_contain_text("no Python is running here to compute it")
    expect(driven.root.locator(".al-node")).to_have_count(5)  # two leaves, three results
    driven.button("Undo").click()
    expect(driven.button("exp")).to_be_enabled()


# Moves what can be moved, wherever that leads, and tells whether anything said that it was not computed, and was greyed out.
WALK = """async () => {
    const root = document.querySelector(".al-panel"), all = (what) => [...root.querySelectorAll(what)], found = { said: "", grey: false };
    let dice = 5;
    const random = (n) => { dice = (dice * 1103515245 + 12345) % 2147483648; return Math.floor((dice / 2147483648) * n); };
    const on = (e) => e.getAttribute("aria-disabled") !== "true", count = (e) => (e.matches("select") ? e.options.length : Number(e.max) + 1);
    for (let k = 0; k < 120; k++) {
        const can = all("[aria-label=Actions] button, .al-press, .al-range, .al-choice select").filter(on), e = can[random(can.length)];
        if (!e || k % 8 === 7) { all("button").find((b) => b.textContent === "Reset").click(); continue; }
        if (e.matches(".al-range")) e.value = String(random(count(e))); else if (e.matches("select")) e.selectedIndex = random(count(e));
        for (const type of e.matches(".al-range, select") ? ["input", "change"] : ["click"]) e.dispatchEvent(new Event(type, { bubbles: true }));
        await new Promise((done) => setTimeout(done));
        if (/not computed/.test(root.querySelector(".al-status").textContent)) found.said = e.outerHTML.slice(0, 200);
        found.grey ||= !root.querySelector(".al-far").hidden;
    }
    return found; }"""


@pytest.mark.parametrize("name", ["graph_builder", "version_counter", "curvature", "optimizer_race"])
def test_what_is_not_greyed_out_on_a_page_was_computed(open_page, name):
    assert open_page(made(name)).evaluate(WALK) == {"said": "", "grey": True}


def test_the_room_has_no_train_button_where_nobody_can_train(open_page, drive):
    page = open_page(widgets.train(steps=40).wait())
    assert page.get_by_role("button", name="Train").count() == 0


# -- the quiz ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("question", "said"), [
    (choice("Which?", {"a": "No.", "b": "The truth."}, "b"), "Choose an answer first."),
    (number("2 + 2?", 4, "The truth."), "Write a number, such as 0.5 or 1/3."), (shape("Of ones(2)?", (2,), "The truth."), "Write a shape, such as 3, 4."),
])  # fmt: skip
def test_a_prediction_that_cannot_be_read_does_not_show_the_truth(open_page, question, said):
    page = open_page(predict(question))
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_role("status")).to_have_text(said)


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
        expect(driven.root.locator(".al-node")).to_have_count(k + 3)
    driven.button("backward()").click()
    expect(driven.status).to_contain_text("backward() from h5 has run: x.grad is")
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
    slider = driven.root.locator("input[type=range]")
    expect(slider).to_have_count(1)
    slider.press("End")
    expect(driven.status).to_have_text("x = 3: the result is 27; its gradient is 27 for x.")
    field.fill("x +")
    field.press("Enter")
    problem = page.locator("form").get_by_role("alert")
    expect(problem).to_contain_text("is not an expression")
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
