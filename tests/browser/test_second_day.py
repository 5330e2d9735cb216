"""A notebook that was run, saved and closed: opened again, it shows its explorables, and they work, before any cell is run."""

import json
import re
import urllib.request

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ACT, WAIT, _sessions, _until, run_notebook, watched

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")

CELLS = [
    """\
import autolab as torch
from autolab import widgets
from autolab.widgets.questions import number
x = torch.tensor(1.0, requires_grad=True)
y = (3 * x + 2) ** 2
stepper = torch.Stepper(y)
stepper""",
    """\
z = (2 * x + 1) ** 3
follower = torch.Stepper(z)  # follows through Python
stepper.observe(lambda change: setattr(follower, "position", change.new), "position")
follower""",
    "torch.explore(lambda a, b: (a * b).sin(), a=(0, 2), b=(-1, 1))",
    "widgets.version_counter()",
    'widgets.quiz("Browser", number("2 + 2?", 4, "Counted."))',
    'print("-".join(["all", "cells", "ran"]))',
]
NOT_FOUND = re.compile("Error displaying widget|model not found|Loading widget")


def made(path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def opened(browser):
    """Opens a page of its own, with errors and requests watched."""
    contexts = []

    def new():
        contexts.append(browser.new_context(viewport={"width": 1300, "height": 1000}))
        page = watched(contexts[-1])
        page.set_default_timeout(ACT)
        return page

    yield new
    for context in contexts:
        context.close()


def go_to(page, jupyter, name):
    """Open a notebook that is there already, and wait for its kernel."""
    kind, base, _ = jupyter
    page.goto(f"{base}/lab/tree/{name}?reset" if kind == "lab" else f"{base}/notebooks/{name}", timeout=WAIT * 1000)
    _until(
        lambda: any(k["execution_state"] == "idle" and k["connections"] >= 1 for k in _sessions(base, name)),
        lambda: f"no idle kernel with a connection: {_sessions(base, name)}",
    )
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")


def stop_kernels(jupyter, name):
    for kernel in _sessions(jupyter[1], name):
        urllib.request.urlopen(urllib.request.Request(f"{jupyter[1]}/api/kernels/{kernel['id']}", method="DELETE"))


def restart(page):
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()


def stepper(page, of="y"):
    return page.get_by_role("group", name=f"Backward pass of {of}", exact=True)


def step(page):
    stepper(page).get_by_role("button", name="Step", exact=True).click()


def says(page, text):
    expect(stepper(page).get_by_role("status").first).to_contain_text(text)


def kernel_says(page, text):
    """What the second stepper says, which only Python moves."""
    expect(stepper(page, "z").get_by_role("status").first).to_contain_text(text)


def moved(page, text):
    """Move a slider to where only Python knows the answer; what is then said."""
    page.get_by_role("slider", name="a", exact=True).press("Home")
    expect(page.get_by_role("group", name="Explore a function").get_by_role("status")).to_contain_text(text)


def run_all(page):
    last = page.locator(".jp-CodeCell").last
    page.get_by_role("menuitem", name="Edit", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Clear Outputs of All Cells")).click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    last.get_by_text("all-cells-ran", exact=True).wait_for(timeout=WAIT * 1000)


def saved_by_keys(page, path):
    """Press Ctrl+S while the focus is in a widget, and wait until the file holds what was run."""
    stepper(page).get_by_role("button", name="Step", exact=True).focus()
    page.keyboard.press("Control+s")
    _until(lambda: "data-autolab" in path.read_text("utf-8"), lambda: "Ctrl+S did not save the notebook")


@pytest.fixture(scope="module")
def run_and_saved(jupyter, browser, tmp_path_factory):
    """A notebook that was run and saved; its page."""
    path = jupyter[2] / "second-day.ipynb"
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = watched(context)
    page.set_default_timeout(ACT)
    run_notebook(page, jupyter, made(tmp_path_factory.mktemp("notebook") / path.name), "all-cells-ran")
    saved_by_keys(page, path)
    yield page, path
    stop_kernels(jupyter, path.name)
    context.close()


@pytest.fixture
def day_one(run_and_saved):
    """The notebook with its steppers at the start; each test puts the kernel back to work that it stops."""
    page, _ = run_and_saved
    stepper(page).get_by_role("button", name="Reset", exact=True).click(force=True)  # it may say that there is nothing to reset
    kernel_says(page, "Ready.")
    return run_and_saved


def test_a_notebook_opened_again_shows_explorables_that_work_and_run_makes_them_live(day_one, jupyter, opened, screenshot):
    """It is a copy, so its kernel has run nothing; and what is done in one does not disturb the other."""
    first, path = day_one
    copy = path.with_name("second-day-copy.ipynb")
    copy.write_bytes(path.read_bytes())
    page = opened()
    go_to(page, jupyter, copy.name)
    says(page, "Ready. xʸ (PowBackward0) fires first.")
    expect(page.get_by_text(NOT_FOUND)).to_have_count(0)
    step(page)
    says(page, "xʸ (PowBackward0) receives 1")
    screenshot(page, f"{jupyter[0]}-opened-again")
    moved(page, "no Python is running here")
    run_all(page)
    says(page, "Ready.")
    step(page)
    kernel_says(page, "xʸ (PowBackward0) receives 1")
    moved(page, "a = 0, b = 0.3: the result is 0")
    says(first, "Ready.")
    assert [error for error in page.errors if "autolab" in error.lower()] == []
    stop_kernels(jupyter, copy.name)


def test_the_file_holds_no_state_of_widgets_and_is_small(day_one):
    _, path = day_one
    notebook = nbformat.read(path, 4)
    assert "widgets" not in notebook.metadata
    assert "widget-view" not in path.read_text("utf-8")
    assert path.stat().st_size < 250_000


def test_after_a_reload_with_the_same_kernel_an_explorable_is_where_it_was(day_one, jupyter):
    page, path = day_one
    step(page)
    step(page)
    kernel_says(page, "+ (AddBackward0) receives 27")
    go_to(page, jupyter, path.name)
    says(page, "+ (AddBackward0) receives 10")
    step(page)
    kernel_says(page, "× (MulBackward0) receives 27")


def test_when_the_kernel_is_restarted_explorables_go_on_without_it_until_they_are_run(day_one):
    page, _ = day_one
    step(page)
    kernel_says(page, "xʸ (PowBackward0) receives 1")
    restart(page)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")
    step(page)
    says(page, "+ (AddBackward0) receives 10")
    kernel_says(page, "xʸ (PowBackward0) receives 1")
    expect(page.get_by_text(NOT_FOUND)).to_have_count(0)
    moved(page, "no Python is running here")
    run_all(page)
    step(page)
    kernel_says(page, "xʸ (PowBackward0) receives 1")


def test_a_notebook_that_is_not_trusted_shows_still_pictures(day_one, jupyter, opened, screenshot):
    _, path = day_one
    notebook = nbformat.read(path, 4)
    notebook.cells[0].outputs[0]["data"]["text/html"] += "<!-- from elsewhere -->"
    foreign = path.with_name("from-elsewhere.ipynb")
    nbformat.write(notebook, foreign)
    page = opened()
    go_to(page, jupyter, foreign.name)
    picture = page.get_by_role("img", name="Backward pass of y")
    expect(picture).to_be_visible()
    assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    expect(page.get_by_text(NOT_FOUND)).to_have_count(0)
    screenshot(page, f"{jupyter[0]}-not-trusted")
    stop_kernels(jupyter, foreign.name)


# -- viewers without Jupyter -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def as_page(tmp_path_factory):
    """The notebook, run, as the HTML that nbviewer makes of it."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    folder = tmp_path_factory.mktemp("viewer")
    notebook = nbformat.read(made(folder / "viewed.ipynb"), 4)
    NotebookClient(notebook, timeout=WAIT, kernel_name="python3").execute()
    exporter = HTMLExporter(require_js_url="", jquery_url="", mathjax_url="", html_manager_semver_range="0")
    page = folder / "viewed.html"
    page.write_text(exporter.from_notebook_node(notebook)[0], "utf-8")
    return page.as_uri()


def test_a_viewer_that_runs_scripts_shows_explorables_that_work(as_page, opened, screenshot):
    page = opened()
    page.goto(as_page)
    says(page, "Ready.")
    step(page)
    says(page, "xʸ (PowBackward0) receives 1")
    screenshot(page, "viewer-with-scripts", full_page=True)
    assert [error for error in page.errors if "ERR_" not in error] == []  # the exporter asks a network for MathJax


def test_a_viewer_that_runs_no_script_shows_still_pictures(as_page, browser, screenshot):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(as_page)
    for name in ("Backward pass of y", "Explore a function"):
        expect(page.get_by_role("img", name=name)).to_be_visible()
    expect(page.get_by_text("2 + 2?", exact=True)).to_be_visible()
    screenshot(page, "viewer-without-scripts", full_page=True)
    context.close()


# -- keys --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", ["Control+Shift+c"])
def test_shortcuts_of_the_notebook_work_while_the_focus_is_in_a_widget(day_one, jupyter, keys):
    page, _ = day_one
    stepper(page).get_by_role("button", name="Step", exact=True).focus()
    page.keyboard.press(keys)
    expect(page.locator(".lm-CommandPalette, .jp-ModalCommandPalette").first).to_be_visible()
    page.keyboard.press("Escape")
    stepper(page).get_by_role("button", name="Step", exact=True).press("ArrowRight")
    says(page, "xʸ (PowBackward0) receives 1")  # and its own keys are its own again


def test_a_text_field_keeps_the_keys_that_edit_text_and_no_others(day_one):
    page, _ = day_one
    field = page.get_by_role("textbox", name="a number")
    held = "(event) => { window.held = event.target.hasAttribute('data-lm-suppress-shortcuts'); }"  # what JupyterLab looks at
    page.evaluate(f"() => document.addEventListener('keydown', {held}, true)")
    field.press("Control+a")
    assert page.evaluate("window.held") is True
    field.press("Control+b")
    assert page.evaluate("window.held") is False


def test_the_file_is_json_that_any_viewer_reads(day_one):
    _, path = day_one
    kinds = [set(o["data"]) for c in json.loads(path.read_text("utf-8"))["cells"] for o in c["outputs"] if "data" in o]
    assert kinds
    assert all({"text/html", "text/plain"} <= kind for kind in kinds)
