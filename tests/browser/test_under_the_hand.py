"""Under a dragging hand nothing moves that is not dragged: not the picture, not the line of a slider, not after it is let go."""

import pytest

pytest.importorskip("anywidget")
pytest.importorskip("PIL")
from tests.browser.contact_sheet import MAKERS  # noqa: E402

pytestmark = pytest.mark.browser
DRAGGED = ".al-graph .al-handle, .al-range"
WAY = [(90, 0), (90, -90), (-90, -90), (-90, 90)]  # of a handle, in pixels
ALONG = [0.02, 0.5, 0.98, 0.4]  # of a slider's line

WATCH = """() => {
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
}"""
# After what the page does at a move of the hand, and once more when that is painted.
ON_EVERY_MOVE = """() => {
    if (window.look) return;
    for (const type of ["pointermove", "touchmove", "input"]) window.addEventListener(type, () => { look(); requestAnimationFrame(() => look()); });
}"""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """Pages with fewer positions: most of the time went into computing those that no hand came to."""
    monkeypatch.setattr("autolab.widgets.panel.PAGE_STATES", 300)
    monkeypatch.setattr("autolab.widgets.explorer.PAGE_FRAMES", 200)


def by_mouse(page, points):
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point)
    page.mouse.up()


def ways(element):
    """Where the hand goes that drags an element."""
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if not element.evaluate("(e) => e.matches('.al-range')"):
        return [(x, y), *((x + dx, y + dy) for dx, dy in WAY)]
    at = element.evaluate("(e) => (e.value - e.min) / (e.max - e.min)")
    return [(box["x"] + 8 + (box["width"] - 16) * place, y) for place in (at, *ALONG)]


def moved(page, width, hand):
    """What moves while everything that can be dragged is dragged, one after another."""
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # laid out anew
    page.evaluate(ON_EVERY_MOVE)
    wrong, said = [], set()
    for element in page.locator(DRAGGED).all():
        element.evaluate("(e) => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
        page.evaluate(WATCH)
        hand(page, ways(element))
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
