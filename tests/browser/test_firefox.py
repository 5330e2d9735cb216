"""Explorables in Firefox."""

import json

import pytest

from autolab import widgets
from autolab.draw import chart

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

from autolab.widgets.panel import Frame, Panel, slider  # noqa: E402

SMALL = {
    "memory_against_depth": {"depths": (2, 4), "segments": (0, 2)},
    "forward_against_reverse": {"sizes": (1, 4)},
    "optimizer_race": {"steps": 10, "rates": (0.01, 0.1)},
}
STATUS = "document.querySelector('.al-status').textContent"
NAMES = [
    name for name in widgets.__all__
    if name not in ("Stepper", "explore", "Explorer", "live", "quiz", "predict", "progress", "compare", "train")
]  # fmt: skip


def few_frames(panel, *most):
    """A page where each control can be moved alone: counted frames, not timed ones, so that it is the same on any machine."""
    for name, control in panel._controls.items():
        for k in range(min(len(control["stops"]), 100)):
            panel._cached_frame({**panel.at, name: k})
    return panel.state()


@pytest.mark.parametrize("name", NAMES)
def test_every_explorable_goes_there_and_back_in_firefox(firefox, tmp_path, monkeypatch, name):
    monkeypatch.setattr("autolab.widgets.panel.PATIENCE", 0)
    monkeypatch.setattr(Panel, "offline", few_frames)
    widget = getattr(widgets, name)(**SMALL.get(name, {}))
    firefox.open(widget.save_html(tmp_path / "page.html").as_uri(), 800)
    firefox.until("document.querySelector('.al-root')")
    start = firefox.evaluate(STATUS)
    for press in ("[aria-label=Actions] button, .al-press", "[role=toolbar] button[title='Right arrow']"):
        if firefox.evaluate(f"Boolean(document.querySelector({json.dumps(press)}))"):
            firefox.drag(press, 0, 0)
            break
    else:
        usable = ".al-range:not([aria-disabled=true])", ".al-choice select"  # in a menu, what was not computed is greyed
        firefox.evaluate(f"({' || '.join(f'document.querySelector({json.dumps(one)})' for one in usable)}).focus()")
        firefox.press(
            "Home" if firefox.evaluate("Boolean(document.activeElement.selectedIndex ?? Number(document.activeElement.value))") else "End"
        )
    firefox.until(f"{STATUS} !== {json.dumps(start)}")
    firefox.evaluate("[...document.querySelectorAll('.al-root button')].find((b) => b.textContent === 'Reset').id = 'reset'")
    firefox.drag("#reset", 0, 0)  # a press waits its turn behind the one before; click() from a script would not
    firefox.until(f"{STATUS} === {json.dumps(start)}")
    assert firefox.evaluate("document.documentElement.scrollWidth") <= 800


def point():
    def make(x, y):
        return Frame(f"x is {x:g}, y is {y:g}.", [chart.rectangle(0, 0, 300, 300), chart.handle(50 + 20 * x, 250 - 20 * y, "x", "y")])

    tracks = {"x": [50 + 20 * k for k in range(11)], "y": [250 - 20 * k for k in range(11)]}
    return Panel("Point", [slider("x", range(11), start=5), slider("y", range(11), start=5)], make, [], (300, 300), tracks=tracks)


@pytest.mark.parametrize("kind", ["mouse", "touch"])
def test_a_handle_follows_mouse_and_finger_in_firefox(firefox, tmp_path, kind):
    firefox.open(point().save_html(tmp_path / "page.html").as_uri(), 400)
    firefox.until("document.querySelector('.al-root')")
    scale = firefox.evaluate("document.querySelector('.al-svg').getBoundingClientRect().width / 300")
    firefox.drag(".al-handle", 60 * scale, -40 * scale, kind)
    firefox.until(f"{STATUS} === 'x is 8, y is 7.'")
    firefox.press("ArrowRight", "ArrowDown")
    firefox.until(f"{STATUS} === 'x is 9, y is 6.'")
    for _ in range(3):
        firefox.evaluate("[...document.querySelectorAll('.al-root button')].find((b) => b.textContent === 'Undo').click()")
    assert firefox.evaluate(STATUS) == "x is 5, y is 5."
