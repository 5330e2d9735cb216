"""A lesson that has just been opened: nothing to save, and no answer in sight before its cell is run."""

import shutil

import pytest
from playwright.sync_api import expect

from .conftest import ACT, ROOT, _sessions, _until, serving, watched

pytestmark = pytest.mark.browser
LESSON = "05-accumulation.ipynb"


@pytest.fixture(scope="module", params=["lab", "notebook"])
def lesson(request, browser, tmp_path_factory):
    """A lesson as `make lab` and Binder open it, with a kernel and nothing run; and which front end."""
    root, home = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("home")
    shutil.copy(ROOT / "notebooks" / LESSON, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_CONFIG_PATH", str(ROOT / "exercises"))
        with serving(request.param, root, home) as (kind, base, _):
            page = watched(browser.new_context(viewport={"width": 1100, "height": 900}))
            page.set_default_timeout(ACT)
            page.goto(f"{base}/lab/tree/{LESSON}?reset" if kind == "lab" else f"{base}/notebooks/{LESSON}")
            _until(lambda: any(kernel["connections"] for kernel in _sessions(base, LESSON)), lambda: "no kernel")
            page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")
            yield kind, page
            page.context.close()


def cell(page, source):
    return page.locator(".jp-CodeCell").filter(has_text=source).first


def test_a_lesson_just_opened_has_nothing_to_save(lesson, screenshot):
    kind, page = lesson
    screenshot(page, f"lesson-opened-{kind}")
    expect(page.locator(".jp-Notebook")).to_be_visible()
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)


def test_what_answers_a_prediction_is_folded_until_it_is_run(lesson, screenshot):
    kind, page = lesson
    asked, answer = cell(page, "from autolab"), cell(page, "for _ in range(3)")
    expect(answer.locator(".jp-OutputPlaceholder")).to_be_visible()
    expect(answer.locator(".jp-Cell-outputWrapper")).not_to_contain_text("tensor")
    asked.click()
    page.keyboard.press("Shift+Enter")
    answer.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    expect(answer.locator(".jp-OutputPlaceholder")).to_have_count(0)
    expect(answer.locator(".jp-Cell-outputWrapper")).to_contain_text("tensor(18.)")
    screenshot(page, f"lesson-answer-{kind}")


def test_printed_text_breaks_at_words_once_a_widget_is_there(lesson):
    _, page = lesson
    cell(page, "predict(asks.three)").locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    page.locator(".al-root").first.wait_for()
    printed = cell(page, "for _ in range(3)").locator(".jp-OutputArea-output pre").first
    expect(printed).to_have_css("word-break", "normal")
    expect(printed).to_have_css("overflow-wrap", "anywhere")
