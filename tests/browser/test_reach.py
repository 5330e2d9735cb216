"""Explorables within reach of everyone: every state by the rules of WCAG, pages from right to left, forced colours."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets
from tests.browser.test_explorables import OTHERS, made, put

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


def small_layer():
    x, w = torch.tensor([[1.0, -2.0], [0.5, 3.0]]), torch.tensor([[1.0], [-1.0]], requires_grad=True)
    return torch.Stepper(lambda: torch.tanh(x @ w).sum())


@pytest.mark.parametrize("name", OTHERS)
def test_no_state_violates_a_wcag_rule(open_page, axe, name):
    page = open_page(made(name))
    page.emulate_media(reduced_motion="reduce")
    for share in (0, 0.5, 1):
        put(page, share)
        assert axe(page, ".al-root") == [], share


# -- right to left --------------------------------------------------------------------------------------

PLACES = """() => [...document.querySelectorAll(".al-root *")].filter((e) => e.checkVisibility()).map((e) => {
    const box = e.getBoundingClientRect(), root = document.querySelector(".al-root").getBoundingClientRect();
    return [e.tagName, Math.round(box.x - root.x), Math.round(box.width)].join(" "); })"""


@pytest.mark.parametrize("make", [small_layer, widgets.chain_rule, widgets.graph_builder, lambda: made("explore")])
def test_on_a_page_from_right_to_left_everything_is_where_it_is_elsewhere(open_page, make):
    page = open_page(make())
    page.emulate_media(reduced_motion="reduce")
    before = page.evaluate(PLACES)
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.evaluate(PLACES) == before


def test_on_a_page_from_right_to_left_the_right_arrow_goes_on(open_page, drive):
    page = open_page(small_layer())
    page.evaluate("document.documentElement.dir = 'rtl'")
    driven = drive(page, "Backward pass of Σ (SumBackward0)")
    driven.step.press("ArrowRight")
    expect(driven.root).to_contain_text("Step 1 of 4")
    page = open_page(widgets.chain_rule())
    page.evaluate("document.documentElement.dir = 'rtl'")
    slider = page.locator("input[type=range]")
    before = int(slider.input_value())
    slider.press("ArrowRight")
    assert int(slider.input_value()) == before + 1


# -- forced colours -------------------------------------------------------------------------------------

# Lines against what is behind them, words against the box that they stand in; colours as the screen mixes them.
FAINT = """() => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const mixed = (colours) => {
        for (const c of colours) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); }
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (c) => { const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort(); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
    const paper = getComputedStyle(document.querySelector(".al-root")).backgroundColor, wrong = new Set();
    const seen = (e) => e.checkVisibility({ visibilityProperty: true });
    for (const e of document.querySelectorAll(".al-box, .al-line, .al-l, .al-ring, .al-cell:not(.al-hit), .al-axes, .al-heat-edge, .al-rim, .al-pill > rect")) {
        if (seen(e) && contrast(mixed([paper, getComputedStyle(e).stroke]), mixed([paper])) < 3) wrong.add(`${e.getAttribute("class")} ${getComputedStyle(e).stroke}`);
    }
    for (const e of document.querySelectorAll(".al-graph text")) {
        const box = e.parentElement.querySelector(".al-box, .al-heat-low, .al-heat-high, rect, .al-cell");
        const behind = mixed([paper, box ? getComputedStyle(box).fill : paper].map((c) => (c === "none" ? paper : c)));
        if (seen(e) && contrast(mixed([paper, getComputedStyle(e).fill]), behind) < 4.5) wrong.add(e.textContent);
    }
    const heats = [".al-heat-high", ".al-heat-low"].map((c) => [...document.querySelectorAll(c)].find(seen)).filter(Boolean);
    for (const e of heats) if (contrast(mixed([paper, getComputedStyle(e).fill]), mixed([paper])) < 1.8) wrong.add(`cell ${getComputedStyle(e).fill}`);
    const ring = getComputedStyle(document.activeElement);
    if (ring.outlineStyle === "none" || contrast(mixed([paper, ring.outlineColor]), mixed([paper])) < 3) wrong.add(`focus ${ring.outline}`);
    return [...wrong];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["small_layer", "graph_builder", "chain_rule", "matmul_backward", "train", "vector_jacobian", "accumulation"]
)
def test_in_forced_colours_lines_words_cells_and_the_focus_are_seen(open_page, screenshot, name, scheme):
    page = open_page(small_layer() if name == "small_layer" else made(name))
    page.emulate_media(forced_colors="active", color_scheme=scheme, reduced_motion="reduce")
    put(page, 0.5)
    target = page.locator(".al-graph [tabindex='0']")
    (target if target.count() else page.get_by_role("button", name="Reset")).first.focus()
    page.keyboard.press("Shift")  # the focus is the keyboard's
    screenshot(page, f"forced-{name}-{scheme}", full_page=True)
    assert page.evaluate(FAINT) == []
