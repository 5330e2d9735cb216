"""The timeline of a stepper and of a panel: what travels between two steps is where the hand is, once."""

import pytest
from playwright.sync_api import expect

import autolab as torch
from autolab import widgets

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")


def stepper():
    w = torch.tensor([0.5, -1.0], requires_grad=True)
    return torch.Stepper((w * torch.tensor([2.0, 3.0]) + 1).relu().sum())


@pytest.fixture(params=[stepper, widgets.forward_and_back])
def opened(request, open_page):
    return open_page(request.param())


@pytest.fixture
def scrub():
    """Hold the timeline at a place: `scrub(page, 1.5)`."""

    def to(page, place, down=False):
        line = page.get_by_role("slider", name="Step")
        box, last = line.bounding_box(), float(line.get_attribute("max"))
        page.mouse.move(box["x"] + 8 + (box["width"] - 16) * place / last, box["y"] + box["height"] / 2)
        if down:
            page.mouse.down()

    return to


def test_what_travels_follows_the_hand_and_only_once(opened, scrub):
    scrub(opened, 0, down=True)
    for place in (0.3, 0.8, 1.4, 2.6, 1.5):
        scrub(opened, place)
        expect(opened.locator(".al-count").first).to_contain_text(f"Step {int(place)} of")
        expect(opened.locator(".al-flight")).to_have_count(1)


def test_further_along_the_timeline_is_further_on_the_way(open_page, scrub):
    page = open_page(widgets.forward_and_back())
    scrub(page, 0, down=True)
    at = []
    for place in (0.3, 0.7, 0.4):
        scrub(page, place)
        at += page.evaluate(
            "[...document.querySelectorAll('.al-flight')].map((e) => parseFloat(getComputedStyle(e).translate.split(' ').at(-1)))"
        )
    assert 0 < at[0] < at[2] < at[1]


@pytest.mark.parametrize(("place", "step"), [(1.3, 1), (1.7, 2)])
def test_let_go_the_timeline_goes_to_the_nearer_step(opened, scrub, place, step):
    scrub(opened, 0, down=True)
    scrub(opened, place)
    opened.mouse.up()
    expect(opened.locator(".al-count").first).to_contain_text(f"Step {step} of")
    expect(opened.get_by_role("slider", name="Step")).to_have_value(str(step))
    expect(opened.locator(".al-flight")).to_have_count(0)


def test_a_drag_of_the_timeline_is_one_undo(open_page, scrub):
    page = open_page(widgets.forward_and_back())
    scrub(page, 0, down=True)
    for place in (0.5, 1.5, 2.5, 3):
        scrub(page, place)
    page.mouse.up()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".al-count")).to_have_text("Step 0 of 7")


def test_with_less_motion_the_timeline_goes_from_step_to_step(opened, scrub):
    opened.emulate_media(reduced_motion="reduce")
    scrub(opened, 0, down=True)
    scrub(opened, 1.8)
    expect(opened.get_by_role("slider", name="Step")).to_have_value("2")
    expect(opened.locator(".al-flight")).to_have_count(0)


def test_the_timeline_goes_by_keys(opened):
    opened.get_by_role("slider", name="Step").press("ArrowRight")
    expect(opened.locator(".al-count").first).to_contain_text("Step 1 of")
    opened.get_by_role("slider", name="Step").press("End")
    expect(opened.get_by_role("slider", name="Step")).to_have_attribute(
        "aria-valuetext", opened.locator(".al-count").first.inner_text()[5:]
    )


def test_fast_steps_never_have_two_sets_in_the_air(opened):
    opened.get_by_role("button", name="Step", exact=True).focus()
    most = opened.evaluate(
        """() => { const step = document.querySelector("[title='Right arrow']"), most = [];
        for (let k = 0; k < 4; k++) { step.click(); most.push(document.getAnimations().filter((a) => a.effect.target.matches(".al-flight")).length); }
        return Math.max(...most); }"""
    )
    assert most == 1
