"""A student gets a problem set, as `make lab` serves it: from a lesson, from a terminal; and an instructor opens Formgrader."""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from .conftest import ACT, ROOT, run_notebook, serving, watched
from .conftest import _until as until

pytestmark = pytest.mark.browser
NOTEBOOK = "elementwise-rules.ipynb"
CELLS = ["import autolab as torch", 'torch.exercises("ps2")', 'print("-".join(["all", "cells", "ran"]))']
GONE = {"VIRTUAL_ENV", "BASH_ENV", "ENV"}


@pytest.fixture(scope="module", params=["lab", "notebook"])
def served(request, tmp_path_factory):
    """A front end whose environment is not on PATH, as where `make lab` is typed; the course is a folder in its folder."""
    root = tmp_path_factory.mktemp("root")
    course = root / "exercises"
    shutil.copytree(ROOT / "exercises" / "source" / "ps2", course / "source" / "ps2")
    for name in ("nbgrader_config.py", "jupyter_server_config.py"):
        shutil.copy(ROOT / "exercises" / name, course)
    outside = [p for p in os.environ["PATH"].split(os.pathsep) if not (Path(p) / "autolab").exists()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(outside))
        patch.setenv("SHELL", "/bin/bash")
        patch.setenv("JUPYTER_CONFIG_PATH", str(course))
        for name in GONE:
            patch.delenv(name, raising=False)
        with serving(request.param, root, tmp_path_factory.mktemp("home")) as jupyter:
            yield jupyter


@pytest.fixture
def opened(served, browser):
    """A page of it with room for errors."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = watched(context)
    page.set_default_timeout(ACT)
    yield served, page
    context.close()


@pytest.fixture
def lesson(tmp_path):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, tmp_path / "lesson.ipynb")
    return tmp_path / "lesson.ipynb"


def test_the_button_of_a_lesson_opens_the_problem_set(opened, lesson, screenshot):
    (kind, _, root), page = opened
    run_notebook(page, opened[0], lesson, "all-cells-ran")
    button = page.get_by_role("link", name=f"Open {NOTEBOOK}")
    screenshot(page, f"{kind}-problem-set-card")
    assert (root / "ps2" / NOTEBOOK).is_file()
    if kind == "notebook":  # each notebook has a tab of its own there
        with page.context.expect_page() as event:
            button.click()
        page = event.value
    else:
        button.click()
        expect(page.get_by_role("tab", name=NOTEBOOK)).to_be_visible()
    expect(page.get_by_role("heading", name="Backward rules, one entry at a time")).to_be_visible()
    screenshot(page, f"{kind}-problem-set-opened")


def test_run_all_in_a_problem_set_goes_through_to_the_end(opened, tmp_path):
    jupyter, page = opened
    notebook = nbformat.read(ROOT / "exercises" / "handout" / "ps2" / NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(CELLS[-1]))
    nbformat.write(notebook, tmp_path / NOTEBOOK)
    run_notebook(page, jupyter, tmp_path / NOTEBOOK, "all-cells-ran")


def test_what_a_lesson_tells_to_type_works_in_the_terminal_that_it_opens(opened, screenshot):
    (kind, base, root), page = opened
    if kind == "lab":
        page.goto(f"{base}/lab?reset")
        page.get_by_role("menuitem", name="File", exact=True).click()
        page.get_by_text("New", exact=True).hover()
        page.get_by_role("menuitem", name="Terminal").click()
    else:
        page.goto(f"{base}/terminals/1")
    page.locator(".xterm-screen").click()
    page.keyboard.type(
        "cd ~; cd $JUPYTER_SERVER_ROOT; (autolab progress; autolab exercises ps3; which nbgrader) >said.txt 2>&1; mv said.txt done.txt\n"
    )
    until(lambda: (root / "done.txt").exists(), lambda: screenshot(page, f"failed-terminal-{kind}"))
    said = (root / "done.txt").read_text()
    assert f"0 of {len([*(ROOT / 'notebooks').glob('[0-9]*.ipynb')])} lessons done" in said
    assert "Open ps3/shapes-and-reductions.ipynb in the file browser, or http://" in said
    assert said.splitlines()[-1] == str(Path(sys.executable).parent / "nbgrader")
    (root / "done.txt").unlink()


def test_formgrader_opens_at_once(opened, screenshot):
    (kind, base, _), page = opened
    page.goto(f"{base}/formgrader/manage_assignments")
    expect(page.get_by_role("row").filter(has_text="ps2")).to_be_visible(timeout=60_000)  # it hung for ever
    screenshot(page, f"{kind}-formgrader")
