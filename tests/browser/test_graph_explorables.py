"""The explorables of the graph in a real browser: operations are dragged in, edges are cut, gradients travel."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


@pytest.fixture(scope="module")
def saved_builder(tmp_path_factory):
    return widgets.graph_builder(x=2.0, w=3.0).save_html(tmp_path_factory.mktemp("builder") / "page.html")


@pytest.fixture
def builder(page, saved_builder, drive):
    """A page with the graph builder, and the driven explorable."""
    page.goto(saved_builder.as_uri())
    page.wait_for_selector("[data-autolab] > *", state="attached")
    page.emulate_media(reduced_motion="reduce")
    yield page, drive(page, "Graph builder")
    assert page.errors == [] and page.external == []


def node(page, k):
    return page.locator(f'[data-node="{k}"]')


def drag(page, button, target, release=True):
    button.hover()
    page.mouse.down()
    box = target.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    if release:
        page.mouse.up()


# -- graph builder -------------------------------------------------------------------------------------


def test_an_operation_is_dragged_onto_a_leaf_or_a_result(builder):
    page, driven = builder
    drag(page, driven.button("exp"), node(page, 1))
    expect(driven.status).to_have_text("exp made a node: ExpBackward0, value 20.0855. Its next_functions: AccumulateGrad of w.")
    drag(page, driven.button("× w"), node(page, 2))
    drag(page, driven.button("sin"), node(page, 2))
    expect(node(page, 4)).to_have_attribute("aria-label", "sin SinBackward0 h3 = 0.944471")
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("× w made a node")


def test_a_drag_that_ends_elsewhere_or_by_escape_does_nothing(builder):
    page, driven = builder
    drag(page, driven.button("exp"), driven.button("Reset"))
    drag(page, driven.button("exp"), node(page, 0), release=False)
    expect(page.locator(".al-over")).to_have_count(1)
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator(".al-ghost")).to_have_count(0)
    expect(driven.status).to_contain_text("Only leaves")


def test_the_same_is_done_by_keys(builder):
    page, driven = builder
    node(page, 1).press("Enter")
    expect(driven.status).to_have_text("w is chosen: the next operation is applied to it.")
    driven.button("square").press("Enter")
    node(page, 2).press("ArrowUp")
    expect(node(page, 1)).to_be_focused()
    driven.button("backward()").press("Space")
    expect(driven.status).to_have_text("backward() from h1 has run: x.grad is None, w.grad is 6.")
    expect(driven.button("exp")).to_have_attribute("aria-disabled", "true")


def test_the_second_operand_is_any_node_by_drag_and_by_keys(builder):
    page, driven = builder
    driven.button("× w").click()
    driven.button("sin").click()
    drag(page, driven.button("+ another"), node(page, 2))
    expect(driven.status).to_contain_text("+ h1 made a node: AddBackward0, value 5.72058")
    driven.button("Undo").click()
    driven.button("× another").press("Enter")
    expect(driven.status).to_have_text("× joins h2 with another node: choose that one. Escape takes it back.")
    expect(node(page, 3)).to_be_focused()
    page.keyboard.press("Escape")
    expect(driven.status).to_contain_text("sin made a node")
    driven.button("× another").press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(driven.status).to_contain_text("× h1 made a node: MulBackward0")
    expect(driven.button("× another")).to_have_attribute("aria-pressed", "false")


def test_a_gradient_that_travels_is_what_its_edge_carries(builder):
    page, driven = builder
    driven.button("× w").click()
    driven.button("sin").click()
    drag(page, driven.button("+ another"), node(page, 2))
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(
        "new MutationObserver(() => document.getAnimations().forEach((a) => a.pause())).observe(document.body, {childList: true, subtree: true})"
    )
    driven.button("backward()").click()
    expect(page.locator(".al-token text")).to_have_text(["1", "1", "0.96017", "5.880511", "3.920341"])


def test_touch_drags_too(builder, command):
    page, driven = builder
    a, b = (one.bounding_box() for one in (driven.button("exp"), node(page, 1)))
    spots = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (a, b)]
    command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": spots[0][0], "y": spots[0][1]}]})
    for share in (0.2, 0.6, 1.0):
        x, y = (p + share * (q - p) for p, q in zip(*spots))
        command("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y}]})
    command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(driven.status).to_contain_text("exp made a node: ExpBackward0, value 20.0855")


@pytest.mark.parametrize("width", [320, 1200])
def test_the_graph_grows_and_never_shrinks_and_what_can_be_pressed_is_known(builder, width):
    page, driven = builder
    page.set_viewport_size({"width": width, "height": 800})
    first, second, third = ["× w", "+ x", "square"], ["sin", "× x", "exp"], ["relu", "+ itself"]  # from x, from x again, from w
    for k, name in enumerate([*first, *second, *third], 1):
        if name in (second[0], third[0]):
            node(page, 0 if name in second else 1).click()
        driven.button(name).click()
        expect(page.locator(".al-builder [data-node]")).to_have_count(2 + k)
        svg = page.locator(".al-graph > svg")
        assert svg.bounding_box()["width"] >= float(svg.get_attribute("width"))
        box, frame = node(page, 1 + k).bounding_box(), page.locator(".al-graph").bounding_box()
        assert frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(node(page, 9)).to_have_attribute("aria-label", "+ AddBackward0 h8 = 6")
    node(page, 4).click()  # what is known goes on from here
    driven.button("backward()").click()
    expect(driven.status).to_have_text("backward() from h3 has run: x.grad is 64, w.grad is 32.")


PROGRAMS = [
    [], ["× w", "square"], ["× itself", "× itself", "+ x"], ["exp", ("x", "sin"), ("h1", "+ itself"), ("h1", None)], ["relu", "× w", "backward()"],
    [("w", "+ itself"), "backward()"], ["× w", "exp", "× h1", "backward()"], ["square", ("w", "exp"), ("h1", "+ h2"), "backward()"], ["sin", ("x", "exp"), "backward()"],
]  # fmt: skip


def test_a_page_says_what_python_says(builder):
    page, driven = builder
    names = ["x", "w", *(f"h{k}" for k in range(1, 9))]
    driven.root.get_by_text("Table of what is shown").click()
    for program in PROGRAMS:
        driven.reset()
        python = widgets.graph_builder(x=2.0, w=3.0)
        for one in program:
            onto, move = one if isinstance(one, tuple) else (None, one)
            if onto:
                python.choose(onto)
                node(page, names.index(onto)).press("Enter")
            if move:
                python.press(move)
                sign, _, other = move.partition(" ")
                driven.button(f"{sign} another" if other.startswith("h") else move).click()
                if other.startswith("h"):
                    node(page, names.index(other)).click()
        expect(driven.status).to_have_text(python.sentence)
        expect(driven.root.locator("tbody tr")).to_have_count(len(python.rows))
        assert [row.locator("th, td").all_inner_texts() for row in driven.root.locator("tbody tr").all()] == python.rows


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_builder_violates_no_wcag_rule(builder, axe, screenshot, scheme, width):
    page, driven = builder
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    for name in ["× w", "square", "exp"]:
        driven.button(name).click()
    assert axe(page, "body") == []
    driven.button("backward()").click()
    assert axe(page, "body") == []
    screenshot(page, f"builder-{scheme}-{width}", full_page=True)


def test_gradients_travel_through_the_builder_unless_that_is_not_wanted(builder):
    page, driven = builder
    driven.button("× w").click()
    driven.button("backward()").click()
    expect(page.locator(".al-token")).to_have_count(0)
    driven.button("Undo").click()
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(
        "new MutationObserver(() => document.getAnimations().forEach((a) => a.pause())).observe(document.body, {childList: true, subtree: true})"
    )
    driven.button("backward()").click()
    expect(page.locator(".al-token")).to_have_count(2)
    driven.button("Undo").click()  # interrupts them
    expect(page.locator(".al-token")).to_have_count(0)


@pytest.fixture
def line_by(builder, command):
    """Draws a line from the ring to a node, by mouse or by finger."""
    page, _ = builder

    def drawn(hand, target):
        points = [
            (b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in (page.locator("[data-ring]").bounding_box(), target.bounding_box())
        ]
        points.insert(1, tuple(sum(one) / 2 for one in zip(*points)))
        if hand == "mouse":
            page.mouse.move(*points[0])
            page.mouse.down()
            for point in points[1:]:
                page.mouse.move(*point)
            page.mouse.up()
            return
        for kind, point in [("touchStart", points[0]), *(("touchMove", one) for one in points[1:]), ("touchEnd", None)]:
            command("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [dict(zip("xy", point))] if point else []})

    return drawn


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_a_line_from_the_ring_to_a_node_joins_the_two(builder, line_by, hand):
    page, driven = builder
    page.set_viewport_size({"width": 360, "height": 900})
    driven.button("sin").click()
    line_by(hand, node(page, 1))
    expect(driven.status).to_contain_text("h1 and w: press + or × to join them.")
    page.locator("[data-move]").last.click()
    expect(driven.status).to_contain_text("× w made a node: MulBackward0, value 2.72789.")
    line_by(hand, node(page, 2))
    page.keyboard.press("Escape")
    expect(driven.status).to_contain_text("× w made a node")
    line_by(hand, driven.button("exp"))  # no node
    expect(page.locator("[data-move]")).to_have_count(0)
    driven.button("Undo").click()
    expect(driven.status).to_contain_text("sin made a node")


def test_the_ring_is_led_by_keys_too(builder):
    page, driven = builder
    driven.button("sin").click()
    page.locator("[data-ring]").press("Enter")
    for key in "ArrowUp", "Enter", "ArrowRight", "Enter":
        page.keyboard.press(key)
    expect(driven.status).to_contain_text("× w made a node: MulBackward0, value 2.72789.")


def test_where_a_page_ends_it_says_so_and_gives_the_code_that_goes_on_from_there(builder):
    page, driven = builder
    end = driven.root.get_by_role("group", name="Code", include_hidden=True)
    for name in ["sin", "× w", "exp"]:
        expect(end).to_be_hidden()
        driven.button(name).click()
    expect(driven.root).to_contain_text("Known are operations on x, w, h1, h2. Run it here, in a notebook, to go on with all of it:")
    python = eval(end.inner_text().partition("\n\n")[2], {"graph_builder": widgets.graph_builder})
    expect(driven.status).to_have_text(python.sentence)
    assert python.press("square").sentence.startswith("square made a node")
    node(page, 0).click()
    expect(end).to_be_hidden()


# -- scissors ----------------------------------------------------------------------------------------


def test_an_edge_is_cut_where_it_is_pressed(open_page, drive, monkeypatch):
    monkeypatch.setattr("autolab.widgets.panel.PATIENCE", 0)
    panel = widgets.scissors()
    monkeypatch.setattr(type(panel), "offline", type(panel).state)  # the frames that are visited here
    panel.move(xa="cut").move(ab="cut").move(xa="joined").reset().past = []
    page = open_page(panel)
    page.emulate_media(reduced_motion="reduce")
    driven = drive(page, "Scissors")
    driven.root.get_by_role("button", name="Edge from x to a: press to cut it").click()
    expect(driven.status).to_have_text("Cut: x to a. After c.backward(), x.grad is None and w.grad is 28.")
    expect(driven.root.locator(".al-code")).to_contain_text("a = x.detach() * w")
    driven.root.get_by_role("button", name="Edge from a to b: press to cut it").press("Enter")
    expect(driven.status).to_contain_text("Cut: x to a, a to b. c.backward() raises RuntimeError: element 0 of tensors")
    driven.root.get_by_role("button", name="Edge from x to a: cut, press to join it").click()
    expect(driven.status).to_contain_text("Cut: a to b.")
    driven.button("Undo").click()
    driven.button("Undo").click()
    expect(driven.status).to_have_text("Cut: x to a. After c.backward(), x.grad is None and w.grad is 28.")


# -- stepper -------------------------------------------------------------------------------------------


@pytest.fixture
def stepper(open_page, drive):
    """A page with the stepper of a small layer, and the driven explorable."""
    x, w = torch.tensor([[1.0, -2.0], [0.5, 3.0]]), torch.tensor([[1.0], [-1.0]], requires_grad=True)
    b = torch.tensor([0.5], requires_grad=True)
    page = open_page(torch.Stepper(lambda: torch.tanh(x @ w + b).sum()))
    return page, drive(page, "Backward pass of Σ (SumBackward0)")


def test_what_a_node_sends_travels_along_its_edges_and_back(stepper):
    page, driven = stepper
    page.evaluate(
        "new MutationObserver(() => document.getAnimations().forEach((a) => a.pause())).observe(document.body, {childList: true, subtree: true})"
    )
    for edges in (1, 1, 2):  # a sum, a tanh, an addition with two inputs: the flights of a step end with the next one
        driven.step.click()
        expect(page.locator(".al-flight")).to_have_count(edges)
    driven.button("Undo").click()
    expect(page.locator(".al-flight")).to_have_count(2)
    page.evaluate("document.getAnimations().forEach((a) => a.finish())")
    expect(page.locator(".al-flight")).to_have_count(0)


def test_nothing_travels_for_those_who_ask_for_that_nor_on_a_jump(stepper):
    page, driven = stepper
    driven.step.press("End")
    expect(page.locator(".al-flight")).to_have_count(0)
    page.emulate_media(reduced_motion="reduce")
    driven.button("Undo").click()
    expect(driven.root).to_contain_text("Step 5 of 6")
    expect(page.locator(".al-flight")).to_have_count(0)


def test_cells_of_a_gradient_are_seen_once_the_node_has_fired(stepper):
    _, driven = stepper
    tanh = driven.root.get_by_role("button", name="TanhBackward0")
    assert tanh.locator(".al-block").count() == 2
    expect(tanh.locator(".al-block").nth(0)).to_be_visible()
    expect(tanh.locator(".al-block").nth(1)).to_be_hidden()
    driven.step.click()
    driven.step.click()
    expect(tanh.locator(".al-block").nth(1)).to_be_visible()
    expect(driven.root.locator(".al-inspect .al-heat svg")).to_have_count(2)


def test_cells_say_their_number_when_they_are_pointed_at_or_have_the_focus(stepper):
    page, driven = stepper
    readout, written = driven.root.locator(".al-readout"), driven.root.locator(".al-inspect .al-heat-cell")
    driven.root.locator("[data-told='x[0, 1] = -2'], [data-told='w[1, 0] = -1']").first.hover()
    expect(readout).to_have_text("w[1, 0] = -1")
    driven.root.get_by_role("button", name="TanhBackward0").first.click()
    expect(written).to_have_text(["1", "-0.96"])
    written.first.focus()
    expect(readout).to_have_text("value[0, 0] = 0.998178")
    page.keyboard.press("ArrowDown")
    expect(readout).to_have_text("value[1, 0] = -0.964028")
    expect(driven.status).to_contain_text("Ready.")  # no step was taken


def test_the_cells_on_an_edge_have_their_colours(stepper):
    _, driven = stepper
    driven.step.press("End")
    cell = driven.root.locator(".al-pill .al-heat-high").first
    assert cell.evaluate("(e) => getComputedStyle(e).fill") == "rgb(65, 151, 217)"


def test_a_large_tensor_is_a_histogram_that_is_pointed_at_and_walked_through(open_page, drive):
    x = torch.linspace(-1, 1, 200, requires_grad=True)
    driven = drive(open_page(widgets.Stepper((x * 2).sum(), names={"x": x})), "Backward pass of Σ (SumBackward0)")
    driven.step.press("End")
    readout, page = driven.root.locator(".al-readout"), driven.root.page
    driven.root.locator("[data-told^='x: 10 of 200 numbers are from -1 to -0.9']").hover()
    expect(readout).to_have_text("x: 10 of 200 numbers are from -1 to -0.9")
    driven.root.locator(".al-pill [data-told='sent to x: 200 of 200 numbers are 2']").hover()
    expect(readout).to_have_text("sent to x: 200 of 200 numbers are 2")
    bars = driven.root.get_by_role("group", name="Histogram: [200], -1 to 1").locator(".al-heat-cell")
    bars.first.focus()
    page.keyboard.press("ArrowRight")
    expect(readout).to_have_text("x: 10 of 200 numbers are from -0.9 to -0.8")
    driven.root.locator(".al-inspect [aria-label^='x: block 0, 23']").hover()
    expect(readout).to_have_text("x: block 0, 23 of 1 by 24, mean about 1")


def test_a_cell_of_complex_numbers_says_the_number_and_has_the_colour_of_its_magnitude(open_page):
    z = torch.tensor([3 + 4j, 1e-7 - 2.5j], requires_grad=True)
    page = open_page(torch.Stepper((z * z).abs().sum()))
    page.get_by_role("button", name="Step", exact=True).click(click_count=3)
    cells = page.locator(".al-heat-cell")
    labels = [cells.nth(k).get_attribute("aria-label") for k in range(2)]
    assert labels == ["value[0] = -7+24j", "value[1] = -6.25-5e-7j"]
