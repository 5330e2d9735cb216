"""Pages that work from disk: every button and slider, with no kernel, in both themes, wide and narrow."""

import re

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab.widgets.base import CSS, MODULE

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


def network():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 30), torch.nn.ReLU(), torch.nn.Linear(30, 10))
    images, labels = torch.randn(16, 64), torch.randint(0, 10, (16,))
    loss = torch.nn.CrossEntropyLoss()(model(images), labels)
    return torch.Stepper(loss)


def square():
    x = torch.tensor(1.0, requires_grad=True)
    y = (3 * x + 2) ** 2
    return torch.Stepper(y)


def neuron():
    def neuron(x, w):
        return (w * x + 0.5).tanh() if x > -2 else w * x

    return torch.explore(neuron, x=(-3, 3), w=(-1, 1))


def chain(count):
    x, w = torch.tensor(1.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(count // 3):
        y = (y * w).tanh() + x
    return torch.Stepper(y)


def network_of_blocks():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            return x + self.outer(self.inner(x).relu())

    torch.manual_seed(0)
    model = torch.nn.Sequential(*[Block() for _ in range(10)])
    loss = (model(torch.randn(20, 8)) ** 2).mean()
    return torch.Stepper(loss)


def hooked():
    def halve(g):
        return g / 2

    x = torch.tensor(1.0, requires_grad=True)
    middle = 3 * x
    middle.register_hook(halve)
    return torch.Stepper((middle + 2) ** 2)


def test_a_graph_that_fills_the_page_is_seen_whole_and_what_is_inspected_goes_below(open_page):
    w, x, b = (torch.tensor(v, requires_grad=True) for v in (-3.0, 2.0, 8.0))
    page = open_page(torch.Stepper((w * x + b) ** 2))
    page.set_viewport_size({"width": 1240, "height": 900})
    assert page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.al-graph'))") <= 0
    assert page.locator(".al-inspect").bounding_box()["x"] < 100


def test_the_stepper_by_mouse(open_page):
    page = open_page(square())
    status = page.get_by_role("status")
    for _ in range(3):
        page.get_by_role("button", name="Step", exact=True).click()
    expect(status).to_have_text("× (MulBackward0) receives 10; x gets 10 × 3 = 30.")
    page.get_by_role("button", name="Undo").click()
    expect(status).to_have_text("+ (AddBackward0) receives 10; × (MulBackward0) gets 10.")
    page.get_by_role("button", name="Reset").click()
    expect(status).to_have_text("Ready. xʸ (PowBackward0) fires first.")
    page.get_by_role("combobox", name="Speed").select_option("4")
    page.get_by_role("button", name="Play").click()
    expect(status).to_have_text("x (AccumulateGrad) receives 30; x.grad becomes 30.")


def test_the_stepper_by_keys_alone(open_page):
    page = open_page(square())
    status, keys = page.get_by_role("status"), page.keyboard
    keys.press("Tab")
    expect(page.get_by_role("button", name="Reset")).to_be_focused()
    keys.press("ArrowRight")
    expect(status).to_contain_text("xʸ (PowBackward0) receives 1")
    for _ in range(6):
        keys.press("Tab")
    expect(page.locator('[data-node="n0"]')).to_be_focused()
    keys.press("ArrowDown")
    expect(page.get_by_role("group", name="Inspected node")).to_contain_text("AddBackward0")
    keys.press("End")
    expect(status).to_contain_text("x.grad becomes 30")
    keys.press("Home")
    expect(status).to_contain_text("Ready.")
    keys.press("Tab")
    expect(page.get_by_role("group", name="Inspected node").get_by_role("button", name="AddBackward0")).to_be_focused()
    keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_role("table")).to_be_visible()


def test_a_node_says_its_gradient_once_it_has_one(open_page):
    page = open_page(square())
    node = page.locator('[data-node="n0"]')
    expect(node).to_have_attribute("aria-label", "xʸ PowBackward0 y = 25")
    expect(node).to_have_attribute("aria-description", "y, made by xʸ (PowBackward0): x ** exponent = 25, float32")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(node).to_have_attribute("aria-label", "xʸ PowBackward0 y = 25 grad 1")


def test_sliders_by_keys(open_page):
    page = open_page(neuron())
    page.locator(".al-range[aria-label=w]").focus()
    page.keyboard.press("End")
    page.locator(".al-range[aria-label=x]").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("status")).to_contain_text("x = 3, w = 1: the result is 0.998178")
    page.keyboard.press("Home")  # the other branch of the function: another graph
    expect(page.get_by_role("status")).to_contain_text("x = -3, w = 1: the result is -3; its gradient is 1 for x")
    expect(page.locator("[data-node]")).to_have_count(3)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("[data-node]")).to_have_count(5)


def test_the_value_of_a_slider_is_spoken(open_page):
    page = open_page(neuron())
    slider = page.locator(".al-range[aria-label=x]")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "3")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 420)])
@pytest.mark.parametrize("make", [square, network, neuron, network_of_blocks])
def test_no_wcag_violation_and_no_sideways_scrolling(open_page, make, width, scheme, axe, screenshot):
    widget = make()
    page = open_page(widget)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_text("Table of all").click()
    if make is not neuron:
        for _ in range(3):
            page.get_by_role("button", name="Step", exact=True).click()
    screenshot(page, f"page-{make.__name__}-{width}-{scheme}", full_page=True)
    assert axe(page, "body") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_text_in_the_boxes_is_not_clipped(open_page):
    # with the fonts that are really there
    page = open_page(network())
    outside = page.evaluate("""() => [...document.querySelectorAll('.al-node')].flatMap((g) => {
        const box = g.querySelector('.al-box').getBoundingClientRect();
        return [...g.querySelectorAll('text')].filter((t) => {
            const r = t.getBoundingClientRect();
            return r.width && (r.left < box.left || r.right > box.right || r.top < box.top || r.bottom > box.bottom);
        }).map((t) => t.textContent);
    })""")
    assert outside == []


def test_focus_is_seen(open_page):
    page = open_page(square())
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outline"
    assert "3px" in page.evaluate(outline)
    for _ in range(6):
        page.keyboard.press("Tab")
    assert "3px" in page.evaluate(outline)


def test_nothing_moves_by_itself_where_motion_is_reduced(open_page):
    page = open_page(square())
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.querySelector('.al-box')).transitionDuration") == "0s"


IN_FRAME = """() => {
    const frame = document.querySelector(".al-graph"), outer = frame.getBoundingClientRect();
    const node = document.querySelector(".al-chosen").getBoundingClientRect();
    return frame.scrollHeight > frame.clientHeight + 100 && node.top >= outer.top && node.bottom <= outer.bottom;
}"""


def test_on_a_jump_over_many_steps_only_what_fires_last_moves(open_page):
    page = open_page(chain(45))
    moving = page.get_by_role("button", name="Reset").evaluate("""(reset) => {
        const graph = document.querySelector(".al-graph");
        reset.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
        return document.getAnimations().filter((one) => graph.contains(one.effect.target)).length; }""")
    assert moving < 10


@pytest.mark.parametrize("reduced", ["reduce", "no-preference"])
def test_the_node_that_fires_is_scrolled_into_view_and_the_page_stays(open_page, reduced):
    page = open_page(network())
    page.emulate_media(reduced_motion=reduced)
    page.set_viewport_size({"width": 1000, "height": 500})
    for _ in range(8):
        page.get_by_role("button", name="Step", exact=True).press("ArrowRight")
        page.wait_for_function(IN_FRAME)
    assert page.evaluate("scrollY") == 0


def test_the_node_that_fires_first_is_in_view_though_the_widget_is_attached_late(page):
    # as JupyterLab does it
    page.set_viewport_size({"width": 1000, "height": 500})
    page.goto("about:blank")
    page.add_style_tag(content=CSS)
    page.evaluate(
        """async ([code, data]) => {
            const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
            const module = (await import(url)).default;
            const model = {get: (k) => data[k], set() {}, save_changes() {}, on() {}, off() {}};
            const el = document.createElement("div");
            module.render({model, el});
            await new Promise(requestAnimationFrame);
            document.body.append(el);
        }""",
        [MODULE, network().offline()],
    )
    page.wait_for_function(IN_FRAME)


def test_many_on_a_page_and_each_cleans_up(page):
    state = square().offline()
    page.goto("about:blank")
    left = page.evaluate(
        """async ([code, data]) => {
            const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
            const module = (await import(url)).default;
            let heard = 0;
            const ends = [1, 2, 3].map(() => {
                const traits = {...data, playing: true};
                const model = {
                    get: (k) => traits[k], set: (k, v) => { traits[k] = v; }, save_changes() {},
                    on: () => { heard += 1; }, off: () => { heard -= 1; },
                };
                const el = document.body.appendChild(document.createElement("div"));
                return module.render({model, el});
            });
            const drawn = document.querySelectorAll("svg.al-svg").length, listening = heard;
            let timers = 0;
            const clear = window.clearInterval;
            window.clearInterval = (t) => { timers += t !== null; clear(t); };
            ends.forEach((end) => end());
            return [drawn, listening > 0, heard, timers, document.querySelectorAll(".al-root").length];
        }""",
        [MODULE, state],
    )
    assert left == [3, True, 0, 3, 0]


# -- large graphs -------------------------------------------------------------------------------------


def boxes(page):
    return page.locator("[data-node]")


def test_a_large_graph_opens_and_steps(open_page, screenshot):
    page = open_page(chain(1000))
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("+ (AddBackward0) receives 1")
    assert boxes(page).count() <= 60
    page.get_by_role("button", name="Reset").press("End")
    expect(page.get_by_text("Step 1001 of 1001")).to_be_visible()
    expect(page.locator(".al-closed").first).to_contain_text(re.compile(r"(\d+) of \1 fired"))
    screenshot(page, "page-large")


def test_groups_are_opened_and_closed_by_mouse(open_page):
    page = open_page(chain(300))
    whole = boxes(page).count()
    page.locator(".al-closed").first.click()
    expect(boxes(page)).not_to_have_count(whole)
    page.get_by_role("group", name="Open groups").get_by_role("button", name="Whole graph").click()
    expect(boxes(page)).to_have_count(whole)


def test_groups_are_opened_and_closed_by_keys(open_page):
    page = open_page(chain(300))
    trail = page.get_by_role("group", name="Open groups").get_by_role("button")
    page.locator(".al-closed").first.focus()
    page.keyboard.press("Enter")
    expect(trail).to_have_count(2)
    assert page.evaluate("document.activeElement.matches('[data-node]')")  # inside
    page.keyboard.press("Escape")
    expect(trail).to_have_count(1)


def test_a_node_is_found_and_its_group_opened(open_page, screenshot):
    page = open_page(network_of_blocks())
    field = page.get_by_role("searchbox", name="Find a node")
    field.fill("9.inner.weight")
    expect(page.get_by_role("group", name="Inspected node")).to_contain_text("model.9.inner.weight")
    page.wait_for_function("document.querySelector('.al-chosen').getAttribute('aria-description').startsWith('leaf model.9.inner.weight')")
    field.fill("relu")
    field.press("Enter")
    expect(page.get_by_text("2 of 10: relu (ReluBackward0)")).to_be_visible()
    field.fill("nothing of this name")
    expect(page.get_by_text("no such node")).to_be_visible()
    screenshot(page, "page-found")


def test_edges_are_followed_by_keys(open_page):
    page = open_page(square())
    keys, inspected = page.keyboard, page.get_by_role("group", name="Inspected node")
    page.locator('[data-node="n0"]').focus()
    keys.press("Shift+ArrowLeft")
    expect(inspected).to_contain_text("AddBackward0")
    keys.press("Shift+ArrowLeft")
    keys.press("Shift+ArrowLeft")
    expect(page.locator('[data-node="n3"]')).to_be_focused()
    keys.press("Shift+ArrowRight")
    expect(page.locator('[data-node="n2"]')).to_be_focused()
    expect(page.get_by_role("status")).to_contain_text("Ready.")  # nothing was stepped


def test_the_picture_is_zoomed_and_dragged_and_the_page_scrolls_on(open_page):
    page = open_page(network_of_blocks())
    width = "document.querySelector('.al-graph > svg').getBoundingClientRect().width"
    start = page.evaluate(width)
    page.get_by_role("button", name="Larger").click()
    assert page.evaluate(width) > 1.2 * start
    page.keyboard.press("0")
    assert page.evaluate(width) == start
    page.set_viewport_size({"width": 1000, "height": 400})
    frame = page.locator(".al-graph").bounding_box()
    page.mouse.move(frame["x"] + 5, frame["y"] + 60)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function(f"{width} > {start}")
    assert page.evaluate("scrollY") == 0
    for _ in range(30):
        page.mouse.wheel(0, 300)
    page.wait_for_function("scrollY > 0")


def test_hooks_are_seen_when_they_run(open_page):
    page = open_page(hooked())
    pill = page.locator(".al-node .al-pill")
    expect(pill).to_have_css("visibility", "hidden")
    page.get_by_role("button", name="Reset").press("End")
    expect(pill).to_have_css("visibility", "visible")
    page.locator('[data-node="n2"]').click()
    expect(page.get_by_role("group", name="Inspected node")).to_contain_text("hook halvesees 10, gives 5")
