"""A course's site, built by its command and served below a path. It takes minutes, so it runs where the site is published."""

import functools
import http.server
import os
import re
import threading
import zipfile
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autolab.cli.course import course
from docs.make.site import PAGES, Handler

TITLE = "Optimization, spring"
SECRET = "secret_of_the_answer"
HOMEWORK = "exercises/handout/hw1/cubes"
BUILT = os.environ.get("AUTOLAB_COURSE_SITE")  # the folder, if it is there already
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not BUILT and "lite" not in os.environ.get("AUTOLAB_REQUIRE", ""), reason="it takes minutes (AUTOLAB_REQUIRE=browser,lite)"
    ),
]


def homework(answer):
    graded = {"nbgrader": {"grade_id": "cube", "grade": False, "solution": True, "locked": False, "schema_version": 3}}
    cells = [new_markdown_cell("# The cube"), new_code_cell("import autolab as torch"), new_code_cell(answer, metadata=graded)]
    return new_notebook(cells=cells)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The folder of a site with three lessons and an exercise that the repository does not have."""
    if BUILT:
        return Path(BUILT)
    folder = tmp_path_factory.mktemp("course")
    answers = {"release": "def cube(x):\n    raise NotImplementedError", "source": f"### BEGIN SOLUTION\n{SECRET} = 3\n### END SOLUTION"}
    for kind, answer in answers.items():
        (folder / kind / "hw1").mkdir(parents=True)
        nbformat.write(homework(answer), folder / kind / "hw1" / "cubes.ipynb")
    before = PAGES.stat().st_mtime_ns
    command = ["site", str(folder / "pages"), "--course", str(folder), "--title", TITLE, "--lessons", "00 03 04"]
    done = CliRunner().invoke(course, command)
    assert done.exit_code == 0, done.output
    assert PAGES.stat().st_mtime_ns == before  # the clone's own site
    return folder / "pages"


@pytest.fixture(scope="module")
def site(pages, tmp_path_factory):
    """Its address: a path of a host that has nothing else."""

    class Quiet(Handler):
        def log_message(self, *args):
            """Nothing."""

    host = tmp_path_factory.mktemp("host")
    (host / "some").mkdir()
    (host / "some" / "path").symlink_to(pages)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(host)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/some/path"
    server.shutdown()
    server.server_close()


def test_it_has_the_lessons_that_were_chosen_and_its_own_exercise(pages):
    assert sorted(path.name[:2] for path in (pages / "notebooks").glob("*.html")) == ["00", "03", "04"]
    assert [path.relative_to(pages).as_posix() for path in (pages / "exercises/handout").rglob("*.html")] == [f"{HOMEWORK}.html"]
    files = pages / "lite" / "files"
    assert {path.stem for path in files.rglob("*.ipynb")} == {"00-start-here", "03-chain-rule", "04-inside-backward", "cubes", "pytorch"}


def test_no_solution_is_in_it(pages):
    for path in pages.rglob("*"):
        if path.suffix in (".html", ".ipynb", ".txt", ".js", ".json"):
            assert SECRET not in path.read_text("utf-8"), path
    (wheel,) = pages.glob("lite/static/pyodide/autolab_grad-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if "/course/" in name] == []


def test_its_pages_name_itself_and_no_other_address(pages):
    """Its own exercise is not on Binder, and search engines are not sent to the project's site."""
    for name in "index", "notebooks/04-inside-backward", HOMEWORK:
        text = (pages / f"{name}.html").read_text("utf-8")
        assert f'<meta property="og:site_name" content="{TITLE}">' in text
        assert 'rel="canonical"' not in text and "github.io" not in text
    assert "mybinder" not in (pages / f"{HOMEWORK}.html").read_text("utf-8")
    assert re.search(rf'href="[^"]*lite/notebooks/index.html\?path={HOMEWORK}.ipynb"', (pages / f"{HOMEWORK}.html").read_text("utf-8"))


def test_it_works_below_a_path(look):
    page = look("index.html")
    page.get_by_role("heading", name=TITLE).wait_for()
    page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_text("Step 1 of 7").wait_for()
    page.get_by_role("link", name="Problem sets").last.click()
    page.locator("article").get_by_role("link", name=re.compile("cube")).click()
    page.locator("a.run-here").click()
    page.set_default_timeout(120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")
    page.locator(".jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("import autolab as torch\nprint(torch.ones(2).sum() * 21)")
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea-output").get_by_text("tensor(42.)").wait_for()
