"""Under a dragging hand nothing moves that is not dragged: not the picture, not the line of a slider, not after it is let go."""

import pytest

pytest.importorskip("anywidget")
pytest.importorskip("PIL")
from autolab.widgets.panel import Panel  # noqa: E402
from tests.browser.contact_sheet import MAKERS  # noqa: E402

pytestmark = pytest.mark.browser
DRAGGED = ".al-graph .al-handle:not([aria-hidden]), .al-range"  # a handle that another part of the picture shows is hidden in this one
WAY = [(90, 0), (90, -90), (-90, -90), (-90, 90)]  # of a handle, in pixels
ALONG = [0.02, 0.5, 0.98, 0.4]  # of a slider's line

# Goes back to the start, brings an element to where it can be dragged, watches what moves from there on, and says where the element is.
WATCH = """(element) => {
    [...document.querySelectorAll(".al-root button")].find((b) => b.textContent === "Reset")?.click();
    document.getAnimations().forEach((one) => one.finish());
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const all = [...document.querySelectorAll(".al-graph, .al-graph > svg, .al-range")];
    const places = () => all.map((e) => {
        const { left, top, width } = e.getBoundingClientRect(), inside = e.matches("svg") ? e.parentElement : { scrollLeft: 0, scrollTop: 0 };
        return e.checkVisibility() && [left + inside.scrollLeft, top + inside.scrollTop, e.matches(".al-range") ? width : 0].map(Math.round).join(" ");
    });
    const before = places(), name = (e) => e.getAttribute("aria-label") || e.getAttribute("class");
    window.moved = new Set();
    window.said = new Set();
    window.look = () => {
        window.said.add([...document.querySelectorAll("[role=status]")].map((e) => e.textContent).join());
        places().forEach((now, i) => { if (now && before[i] && now !== before[i] && all[i].isConnected) window.moved.add(`${name(all[i])}: ${before[i]} -> ${now}`); });
    };
    window.look();
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height, along: element.matches(".al-range") ? (element.value - element.min) / (element.max - element.min) : null };
}"""
# After what the page does at a move of the hand, and once more when that is painted.
ON_EVERY_MOVE = """() => {
    if (window.look) return;
    for (const type of ["pointermove", "touchmove", "input"]) window.addEventListener(type, () => { look(); requestAnimationFrame(() => look()); });
}"""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """Pages with the positions that a hand comes to from the start: most of the time went into computing the others."""
    monkeypatch.setattr("autolab.widgets.panel.PAGE_STATES", 150)
    monkeypatch.setattr("autolab.widgets.versions.PAGE_STATES", 300)
    monkeypatch.setattr("autolab.widgets.explorer.PAGE_FRAMES", 60)
    monkeypatch.setattr("autolab.widgets.builder.PAGE_CHAINS", 300)
    monkeypatch.setattr("autolab.widgets.builder.CHAINS", 300)
    monkeypatch.setattr(Panel, "_fill", near_the_start)


def near_the_start(panel, patience, most=None):
    """The frames where one control has moved, or two that one handle may move."""
    for at in panel._positions():
        moved = {name for name, c in panel._controls.items() if at[name] != c["start"]}
        if len(moved) < 2 or (len(moved) == 2 and moved <= set(panel.tracks)):
            panel._cached_frame(at)


def by_mouse(page, points):
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point)
    page.mouse.up()


def ways(box):
    """Where the hand goes that drags an element."""
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if box["along"] is None:
        return [(x, y), *((x + dx, y + dy) for dx, dy in WAY)]
    return [(box["x"] + 8 + (box["width"] - 16) * place, y) for place in (box["along"], *ALONG)]


def moved(page, width, hand):
    """What moves while everything that can be dragged is dragged, one after another."""
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # laid out anew
    page.evaluate(ON_EVERY_MOVE)
    wrong, said = [], set()
    for element in page.locator(DRAGGED).all():
        hand(page, ways(element.evaluate(WATCH)))
        found = page.evaluate("() => { look(); return [[...moved], [...said]]; }")
        wrong += [f"{element.get_attribute('aria-label')}: {one}" for one in found[0]]
        said |= set(found[1])
    assert len(said) > 1 or not page.locator(DRAGGED).count()  # it was dragged
    return wrong


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_moves_that_is_not_dragged(open_page, name):
    page = open_page(MAKERS[name]())
    assert {width: moved(page, width, by_mouse) for width in (320, 768, 1280)} == {320: [], 768: [], 1280: []}


@pytest.mark.parametrize("name", ["checkpoint_timeline", "curvature", "live", "loop_to_vmap", "softmax_backward", "Stepper"])
def test_nothing_moves_that_no_finger_drags(open_page, command, name):
    page = open_page(MAKERS[name]())
    command("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def by_finger(page, points):
        for kind, point in [("touchStart", points[0]), *(("touchMove", one) for one in points[1:])]:
            command("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [dict(zip("xy", point))]})
        command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    assert moved(page, 320, by_finger) == []
