"""What can be taken in the hand, in a real browser: handles, numbers, presses, drops, tensors, and what moves between frames."""

import numpy as np
import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab.draw import chart

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

from autolab.widgets.panel import Frame, Panel, StateMachine, slider, timeline  # noqa: E402

XS, YS = [100 + 20 * k for k in range(11)], [260 - 20 * k for k in range(11)]


def plane():
    """A point that two sliders move, a third that a number moves, two words that set the first."""

    def make(x, y, n):
        point = chart.keyed("box", chart.rectangle(XS[int(x)] - 20, 280, 40, 20))
        parts = [
            chart.rectangle(80, 40, 260, 240),
            chart.handle(XS[int(x)], YS[int(y)], "x", "y", "the point"),
            chart.number_handle(400, 100, chart.short(n), "n", "the number"),
            chart.pressable([chart.rectangle(370, 150, 70, 30), chart.words(405, 170, "x = 9", "", "middle")], set=("x", 9)),
            point,
        ]
        return Frame(f"x is {x:g}, y is {y:g}, n is {n:g}.", parts, [["x", f"{x:g}"]])

    controls = [slider("x", range(11), start=5), slider("y", range(11), start=5), slider("n", range(11), start=5)]
    return Panel("Plane", controls, make, ["Name", "Value"], (480, 320), tracks={"x": XS, "y": YS})


def steps():
    """Three steps with a box that moves, one that comes and one that goes, and a number that travels."""

    def make(step):
        parts = [chart.keyed("a", chart.rectangle(20 + 150 * int(step), 20, 60, 40))]
        parts += [chart.keyed(f"only {step}", chart.rectangle(20, 100, 60, 40, "leaf"))]
        flights = [chart.flight("3.5", (20, 200), (320, 200), "grad")] * 20 if step else []
        return Frame(f"At step {step}.", parts, [["step", str(step)]], flights=flights, focus=(20 + 150 * int(step), 20, 60, 40))

    return Panel("Steps", [timeline(3)], make, ["Name", "Value"], (600, 240))


def machine():
    """Words that are dragged onto a canvas."""

    def show(state):
        chips = [
            chart.draggable([chart.rectangle(20 + 90 * k, 20, 80, 30), chart.words(60 + 90 * k, 40, n, "", "middle")], n, "canvas")
            for k, n in enumerate(("exp", "sin", "cos"))
        ]
        canvas = chart.drop([chart.rectangle(20, 80, 300, 120, "empty"), chart.words(30, 150, " ".join(state) or "nothing")], "canvas")
        return Frame(f"{len(state)} words: {' '.join(state)}.", [*chips, canvas], [["words", " ".join(state)]])

    return StateMachine(
        "Canvas", (), lambda s, a: (*s, a), show, lambda s: ["exp", "sin"] if len(s) < 3 else [], ["Name", "Value"], (340, 220)
    )


def tensors():
    """A small tensor, and its scale."""
    return Panel(
        "Tensors", [slider("k", (1, 2))],
        lambda k: Frame("A tensor.", [chart.heat(20, 20, k * np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]]), label="W"),
                                      chart.scale_legend(20, 100, -3, 3), chart.distribution(220, 20, np.arange(100.0))]),
        ["Name", "Value"], (420, 140),
    )  # fmt: skip


@pytest.fixture
def opened(open_page, drive):
    """Open a panel; returns the page and the driven explorable."""

    def made(panel):
        page = open_page(panel)
        return page, drive(page, panel.title)

    return made


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def scale(page):
    return page.evaluate("(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)(document.querySelector('.al-graph > svg'))")


def test_a_drag_of_a_handle_moves_both_controls_and_is_one_undo(opened, drag):
    page, driven = opened(plane())
    drag(page, page.get_by_role("slider", name="the point"), 60 * scale(page), -40 * scale(page))
    expect(driven.status).to_have_text("x is 8, y is 7, n is 5.")
    expect(page.get_by_role("slider", name="the point")).to_be_focused()
    driven.button("Undo").click()
    expect(driven.status).to_have_text("x is 5, y is 5, n is 5.")
    expect(driven.button("Undo")).to_have_attribute("aria-disabled", "true")


def test_arrows_move_a_handle_as_the_hand_does_and_keep_the_focus(opened):
    page, driven = opened(plane())
    point = page.get_by_role("slider", name="the point")
    point.focus()
    for key, said in [
        ("ArrowRight", "x is 6, y is 5"),
        ("ArrowUp", "x is 6, y is 6"),
        ("ArrowDown", "x is 6, y is 5"),
        ("Home", "x is 0, y is 5"),
    ]:
        page.keyboard.press(key)
        expect(driven.status).to_contain_text(said)
        expect(point).to_be_focused()
    expect(point).to_have_attribute("aria-valuetext", "x 0, y 5")
    number = page.get_by_role("slider", name="the number")
    number.press("ArrowUp")
    number.press("ArrowRight")
    expect(driven.status).to_contain_text("n is 7")


def test_escape_takes_a_drag_back(opened, drag):
    page, driven = opened(plane())
    drag(page, page.get_by_role("slider", name="the point"), 60, 0, release=False)
    expect(driven.status).not_to_contain_text("x is 5")
    page.keyboard.press("Escape")
    expect(driven.status).to_have_text("x is 5, y is 5, n is 5.")
    page.mouse.move(10, 10)
    page.mouse.up()
    expect(driven.status).to_have_text("x is 5, y is 5, n is 5.")
    expect(driven.button("Undo")).to_have_attribute("aria-disabled", "true")


def test_a_number_is_dragged_sideways_six_pixels_a_stop(opened, drag):
    page, driven = opened(plane())
    drag(page, page.get_by_role("slider", name="the number"), 18, 0)
    expect(driven.status).to_contain_text("n is 8")
    assert page.get_by_role("slider", name="the number").evaluate("e => getComputedStyle(e).cursor") == "ew-resize"


def test_words_in_a_picture_set_a_control_by_mouse_and_keys(opened):
    page, driven = opened(plane())
    word = page.get_by_role("button", name="x = 9")
    word.click()
    expect(driven.status).to_contain_text("x is 9")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(word).to_be_focused()
    driven.button("Undo").click()
    expect(word).to_have_attribute("aria-pressed", "false")
    for key in "Enter", "Space":
        word.press(key)
        expect(driven.status).to_contain_text("x is 9")
        driven.button("Undo").click()


def test_a_word_is_dragged_onto_the_canvas_or_pressed(opened, drag):
    page, driven = opened(machine())
    chip, canvas = page.locator(".al-drag").first, page.locator(".al-drop")
    x, y = middle(chip)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*middle(canvas), steps=5)
    expect(page.locator(".al-over")).to_have_count(1)
    page.mouse.up()
    expect(driven.status).to_have_text("1 words: exp.")
    expect(page.locator(".al-ghost")).to_have_count(0)
    drag(page, page.locator(".al-drag").nth(1), 0, 30)  # not far enough
    expect(driven.status).to_have_text("1 words: exp.")
    page.locator(".al-drag").nth(1).press("Enter")
    expect(driven.status).to_have_text("2 words: exp sin.")
    page.locator(".al-drag").nth(1).click()
    expect(driven.status).to_have_text("3 words: exp sin sin.")
    expect(chip).to_have_attribute("aria-disabled", "true")
    driven.button("Undo").click()
    expect(driven.status).to_have_text("2 words: exp sin.")


def test_what_has_a_key_glides_from_where_it_is_and_numbers_travel(opened):
    page, driven = opened(steps())
    page.evaluate("window.slow = new MutationObserver(() => document.getAnimations().forEach((a) => { a.playbackRate = 0.01; }))")
    page.evaluate("slow.observe(document.querySelector('.al-graph > svg'), { childList: true, subtree: true, attributes: true })")
    left = "document.querySelector('[data-key=a]').getBoundingClientRect().x"
    before = page.evaluate(left)
    driven.step.click()
    assert page.evaluate(left) == pytest.approx(before, abs=30)  # it sets out from where it was
    expect(page.locator(".al-flight")).to_have_count(12)
    driven.step.click()
    page.wait_for_timeout(60)
    assert page.evaluate(left) == pytest.approx(before, abs=60)  # and again, from the midst of the first glide
    page.evaluate("slow.disconnect(); document.getAnimations().forEach((a) => a.finish())")
    expect(page.locator(".al-flight")).to_have_count(0)
    assert page.evaluate(left) == pytest.approx(before + 300 * scale(page), abs=1)
    expect(page.locator(".al-graph [data-key]")).to_have_count(2)


def test_nothing_moves_for_those_who_ask_for_that(opened):
    page, driven = opened(steps())
    page.emulate_media(reduced_motion="reduce")
    driven.step.click()
    assert page.evaluate("document.getAnimations().length") == 0
    expect(page.locator(".al-flight")).to_have_count(0)


def test_on_a_small_screen_words_keep_their_size_and_the_picture_follows_its_frame(opened):
    page, driven = opened(steps())
    page.set_viewport_size({"width": 320, "height": 600})
    page.emulate_media(reduced_motion="reduce")
    assert scale(page) == 1
    driven.button("Reset").press("End")
    expect(driven.status).to_have_text("At step 3.")
    assert page.evaluate("document.querySelector('.al-graph').scrollLeft") > 200
    page.set_viewport_size({"width": 1600, "height": 600})
    assert scale(page) == pytest.approx(1.35, abs=1e-3)


def test_arrows_and_space_work_after_a_click_on_the_picture(opened):
    page, driven = opened(steps())
    page.locator(".al-graph").click()
    page.keyboard.press("ArrowRight")
    expect(driven.status).to_have_text("At step 1.")
    page.keyboard.press("ArrowLeft")
    expect(driven.status).to_have_text("At step 0.")
    page.keyboard.press("Space")
    expect(driven.button("Pause")).to_be_visible()


def test_cells_of_a_tensor_say_their_number(opened, axe):
    page, _ = opened(tensors())
    cells, readout = page.locator(".al-heat-cell"), page.locator(".al-readout")
    cells.nth(1).hover()
    expect(readout).to_have_text("W[0, 1] = -2")
    cells.first.focus()
    for key, told in [("ArrowRight", "W[0, 1] = -2"), ("ArrowDown", "W[1, 1] = 3"), ("End", "W[1, 2] = -1"), ("ArrowDown", "W[1, 2] = -1")]:
        page.keyboard.press(key)
        expect(readout).to_have_text(told)
    assert page.evaluate("document.querySelectorAll('.al-heat-cell[tabindex=\"0\"]').length") == 1
    for scheme in "light", "dark":
        page.emulate_media(color_scheme=scheme)
        assert axe(page, "body") == []


@pytest.mark.parametrize("make", [plane, steps, machine])
def test_what_can_be_taken_in_the_hand_violates_no_wcag_rule(opened, axe, make):
    page, _ = opened(make())
    assert axe(page, "body") == []


# -- touch and pen ---------------------------------------------------------------------------------------


def strip():
    """A handle that moves sideways only."""

    def make(x):
        return Frame(f"x is {x:g}.", [chart.rectangle(0, 0, 290, 400), chart.handle(XS[int(x)] - 60, 100, "x", "", "the point")])

    controls = [slider("x", range(11), start=5)]
    return Panel("Strip", controls, make, ["Name", "Value"], (290, 400), tracks={"x": [x - 60 for x in XS]})


def touch(command, x, y, dx, dy):
    command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for k in range(1, 9):
        command("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + dx * k / 8, "y": y + dy * k / 8}]})
    command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_finger_drags_a_word_onto_the_canvas_and_the_page_stays(opened, command):
    page, driven = opened(machine())
    page.set_viewport_size({"width": 360, "height": 300})
    command("Emulation.setTouchEmulationEnabled", {"enabled": True})
    chip = page.locator(".al-drag").first
    chip.scroll_into_view_if_needed()
    (x, y), (to_x, to_y), before = middle(chip), middle(page.locator(".al-drop")), page.evaluate("scrollY")
    touch(command, x, y, to_x - x, min(to_y, 290) - y)
    expect(driven.status).to_have_text("1 words: exp.")
    assert page.evaluate("scrollY") == before


def test_a_finger_moves_a_handle_along_its_way_and_the_page_across_it(opened, command):
    page, driven = opened(strip())
    page.set_viewport_size({"width": 360, "height": 400})
    command("Emulation.setTouchEmulationEnabled", {"enabled": True})
    point = page.get_by_role("slider", name="the point").last
    point.scroll_into_view_if_needed()
    touch(command, *middle(point), 60, 0)
    expect(driven.status).to_have_text("x is 8.")
    scrolled = "scrollY + document.querySelector('.al-graph').scrollTop"
    before = page.evaluate(scrolled)
    touch(command, *middle(point), 0, -120)
    expect(driven.status).to_have_text("x is 8.")
    page.wait_for_function(f"{scrolled} > {before} + 20")
    driven.button("Undo").click()
    expect(driven.status).to_have_text("x is 5.")


def test_a_pen_moves_a_handle(opened, command):
    page, driven = opened(plane())
    x, y = middle(page.get_by_role("slider", name="the point"))
    for kind, by in [
        ("mousePressed", 0),
        ("mouseMoved", 30 * scale(page)),
        ("mouseMoved", 60 * scale(page)),
        ("mouseReleased", 60 * scale(page)),
    ]:
        command(
            "Input.dispatchMouseEvent",
            {"type": kind, "x": x + by, "y": y, "button": "left", "buttons": 1, "clickCount": 1, "pointerType": "pen"},
        )
    expect(driven.status).to_have_text("x is 8, y is 5, n is 5.")


# -- speed -----------------------------------------------------------------------------------------------


def field(count):
    """So many numbers, of which each step changes one in ten, and a point that glides."""

    def make(step):
        cells = [
            chart.rectangle(2 + 40 * (k % 25), 2 + 30 * (k // 25), 38, 26, "leaf" if (k + step) % 10 else "grad")
            + chart.words(21 + 40 * (k % 25), 20 + 30 * (k // 25), k + (not (k + step) % 10), "", "middle")
            for k in range(count)
        ]
        return Frame(f"At step {step}.", [*cells, chart.keyed("point", chart.mark(20 + 15 * step, 20, "a"))])

    return Panel("Field", [timeline(40)], make, [], (1010, 30 * -(-count // 25)))


@pytest.mark.parametrize("count", [100, 1000])
def test_a_step_touches_what_changed_and_nothing_else(opened, count):
    page, driven = opened(field(count))
    page.evaluate("""() => {
        const graph = document.querySelector(".al-graph");
        [window.drawn, window.touched] = [[...graph.querySelectorAll("rect, text")], 0];
        const note = (records) => { window.touched += records.length; };
        new MutationObserver(note).observe(graph, { subtree: true, childList: true, attributes: true, characterData: true });
    }""")
    driven.step.evaluate("(step) => { step.click(); return new Promise((done) => requestAnimationFrame(() => setTimeout(done))); }")
    assert page.evaluate("window.drawn.length") >= 2 * count and page.evaluate("window.drawn.every((el) => el.isConnected)")
    assert 0 < page.evaluate("window.touched") < count / 2


# -- an animation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_animation_shows_one_picture_at_a_time(page, tmp_path, motion):
    page.emulate_media(reduced_motion=motion)
    page.goto(steps().film(tmp_path / "steps.svg", seconds=2).as_uri())
    seen = """() => [...document.querySelectorAll(".al-film")].map((g, k) =>
        [...g.querySelectorAll("rect, text")].some((el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true })))"""
    shown = []
    for k in range(4):
        page.evaluate("(at) => document.getAnimations().forEach((a) => { a.pause(); a.currentTime = at; })", 1000 + 2000 * k)
        shown.append(page.evaluate(seen))
    one = [[k == j for j in range(4)] for k in range(4)]
    assert shown == (one if motion == "no-preference" else one[-1:] * 4)


def test_two_parts_that_set_the_same_stop_stay_two_in_every_frame(open_page, drive):
    def make(k):
        both = [chart.pressable([chart.rectangle(20 + 90 * i, 20, 80, 30), chart.words(60 + 90 * i, 40, f"{n} {int(k)}")], set=("k", 1))
                for i, n in enumerate(("left", "right"))]  # fmt: skip
        return Frame(f"k is {int(k)}.", [chart.drop(both, "nothing")])

    driven = drive(open_page(Panel("Twins", [slider("k", range(4))], make, [], (260, 80))), "Twins")
    for k in (1, 2, 3, 2):
        driven.root.locator("input[type=range]").fill(str(k))
        expect(driven.root.locator(".al-press text")).to_have_text([f"left {k}", f"right {k}"])


def test_on_paper_a_handle_is_what_it_stands_for(open_page):
    from autolab import widgets

    page = open_page(widgets.matmul_backward())
    look = """() => [".al-ring", ".al-grip", ".al-held", "[role=toolbar]", ".al-rest"].map((name) => [...document.querySelectorAll(name)]
        .some((el) => getComputedStyle(el).display !== "none"))"""
    assert page.evaluate(look) == [True, True, True, True, False]
    page.emulate_media(media="print")
    assert page.evaluate(look) == [False, False, False, False, True]
    page.emulate_media(media="screen")


def test_a_handle_has_44_pixels_for_a_finger(browser, tmp_path):
    context = browser.new_context(viewport={"width": 320, "height": 600}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(strip().save_html(tmp_path / "page.html").as_uri())
    page.wait_for_selector(".al-handle")
    x, y = middle(page.locator(".al-handle .al-ring"))
    found = page.evaluate(
        "(places) => places.map(([x, y]) => Boolean(document.elementFromPoint(x, y).closest('.al-handle')))",
        [[x - 21, y], [x + 21, y], [x, y - 21], [x, y + 21], [x - 30, y]],
    )
    context.close()
    assert found == [True] * 4 + [False]


def test_on_a_small_screen_the_sentence_stays_in_sight(opened):
    page, driven = opened(tall())
    page.set_viewport_size({"width": 390, "height": 500})
    page.mouse.wheel(0, 600)
    page.wait_for_function("scrollY > 200")
    assert driven.status.bounding_box()["y"] >= 0


def test_the_picture_stays_where_it_is_when_the_sentence_is_shorter(opened, drag):
    page, driven = opened(tall())
    page.set_viewport_size({"width": 390, "height": 900})
    place = driven.root.locator(".al-graph")
    before = place.bounding_box()["y"]
    drag(page, driven.root.locator(".al-handle"), 60, release=False)
    expect(driven.status).to_have_text("Short.")
    assert place.bounding_box()["y"] == before
    page.mouse.up()
    assert place.bounding_box()["y"] == before


def tall():
    """A picture that is higher than the screen, with a handle; what is said is long at the start only."""
    return Panel(
        "Tall", [slider("x", range(11), start=5)],
        lambda x: Frame("A long sentence. " * 12 if x == 5 else "Short.", [chart.rectangle(20, 20, 200, 900), chart.handle(XS[int(x)], 60, "x")]),
        [], (340, 960), tracks={"x": XS},
    )  # fmt: skip


def test_a_name_that_is_cut_on_a_phone_is_said_where_it_is_pointed_at_or_has_the_focus(open_page):
    page = open_page(torch.explore(lambda x, y: x.relu() + y.relu(), x=(-1, 1), y=(-1, 1)))
    page.set_viewport_size({"width": 320, "height": 800})
    cut, readout = page.locator(".al-node", has_text="…"), page.locator(".al-readout")
    cut.first.hover()
    expect(readout).to_have_text("relu (ReluBackward0)")
    page.get_by_role("button", name="Undo").focus()
    cut.last.focus()
    expect(readout).to_have_text("relu (ReluBackward0)")


# -- a number that is pulled ---------------------------------------------------------------------------


def counted():
    """A number that actions raise and lower, and a word that an action changes."""

    def show(state):
        here = sum(1 if a == "more" else -1 for a in state)
        return Frame(
            f"{len(state)} writes, at {here}.", [chart.pull_handle(100, 60, here, "more", "less", "the number")], [["at", str(here)]]
        )

    def can(state):
        return ["more", "less", "other"] if len(state) < 4 else []

    return StateMachine("Count", (), lambda s, a: (*s, a), show, can, ["Name", "Value"], (200, 120))


def test_a_pull_up_and_down_is_an_action_for_each_stop_and_one_undo(opened):
    page, driven = opened(counted())
    x, y = middle(page.get_by_role("spinbutton", name="the number"))
    page.mouse.move(x, y)
    page.mouse.down()
    for up, said in [(15, "1 writes, at 1."), (30, "2 writes, at 2."), (14, "3 writes, at 1."), (-30, "4 writes, at 0.")]:
        page.mouse.move(x, y - up)
        expect(driven.status).to_have_text(said)  # what is not known is not asked for
    page.mouse.up()
    expect(page.get_by_role("spinbutton", name="the number")).to_have_attribute("aria-disabled", "true")
    driven.button("Undo").click()
    expect(driven.status).to_have_text("0 writes, at 0.")
    expect(driven.button("Undo")).to_have_attribute("aria-disabled", "true")


def test_arrows_and_presses_pull_as_the_hand_does_and_there_is_no_button_for_them(opened):
    page, driven = opened(counted())
    number = page.get_by_role("spinbutton", name="the number")
    number.press("ArrowUp")
    number.press("ArrowUp")
    expect(driven.status).to_have_text("2 writes, at 2.")
    expect(number).to_be_focused()
    expect(number).to_have_attribute("aria-valuenow", "2")
    box = number.bounding_box()
    number.click(position={"x": box["width"] / 2, "y": box["height"] - 6})
    expect(driven.status).to_have_text("3 writes, at 1.")
    number.click(position={"x": box["width"] / 2, "y": 6})
    expect(driven.status).to_have_text("4 writes, at 2.")
    assert driven.root.get_by_role("group", name="Actions").get_by_role("button").count() == 0
    driven.button("Reset").click()
    assert driven.root.get_by_role("group", name="Actions").get_by_role("button").all_inner_texts() == ["other"]


def test_escape_takes_a_pull_back_and_a_finger_pulls(opened, command):
    page, driven = opened(counted())
    x, y = middle(page.get_by_role("spinbutton", name="the number"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 30)
    expect(driven.status).to_have_text("2 writes, at 2.")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(driven.status).to_have_text("0 writes, at 0.")
    for kind, up in ("touchStart", 0), ("touchMove", 20), ("touchMove", 43), ("touchEnd", None):
        command("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if up is None else [{"x": x, "y": y - up}]})
    expect(driven.status).to_have_text("3 writes, at 3.")
