"""Notebooks that run in the browser itself: the lite part of the built site, in Chromium, with no network. `make site` builds it first.

Python takes seconds to start there, so each test opens a notebook once and does all of its work in it.
"""

import json
import os
import re
import time
import zipfile
from urllib.parse import urlsplit

import nbformat
import pytest

from docs.make.choice import ROOT
from docs.make.site import PAGES

LITE = PAGES / "lite"
NUMPY = LITE / "static" / "pyodide"
AWAY = "AUTOLAB_SITE_ADDRESS" in os.environ  # looked at where it is deployed, and not built here
REQUIRED = "lite" in os.environ.get("AUTOLAB_REQUIRE", "").split(",")  # with a network, if it needs one
REASON = (
    "" if AWAY else "the site is not built (`make site`)" if not (PAGES / "index.html").exists()
    else "the site was built without its lite part (no npm, or no network)" if not LITE.exists()
    else "" if REQUIRED or list(NUMPY.glob("numpy-*.whl")) else "the site takes NumPy from Pyodide's host (AUTOLAB_WASM_WHEELS names a folder that has it)"
)  # fmt: skip
runs = pytest.mark.skipif(bool(REASON), reason=REASON)
built = pytest.mark.skipif(not LITE.exists(), reason=REASON)
pytestmark = pytest.mark.browser
START = 120_000  # milliseconds until Python must have started; 10 seconds on two idle cores

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.first = nn.Linear(2, hidden)
        self.second = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


torch.manual_seed(0)
x = torch.randn(200, 2)
y = (x[:, 0] * x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
net = Net(16)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(20):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), labels)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    right = (net(x).argmax(dim=1) == y).float().mean()
print(f"{torch.__version__}: {right.item():.2f} right")
"""

STATE = """() => [...document.querySelectorAll(".jp-Notebook .jp-CodeCell")].map((cell) => ({
  run: /\\[\\d+\\]/.test(cell.querySelector(".jp-InputPrompt")?.textContent ?? ""),
  busy: cell.querySelector(".jp-InputPrompt")?.textContent.includes("*"),
  error: cell.querySelector('[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]')?.textContent,
  empty: !cell.querySelector(".cm-content")?.textContent.trim(),
}))"""


@pytest.fixture
def notebook(look):
    """Open a notebook of the lite part, and wait until its kernel is there."""

    def opened(path, **options):
        page = look(f"lite/notebooks/index.html?path={path}", **options)
        page.set_default_timeout(START)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")
        return page

    return opened


def write(page, cell, text):
    page.locator(".jp-CodeCell").nth(cell).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def run(page, *menu):
    page.get_by_role("menuitem", name=menu[0], exact=True).click()
    page.get_by_role("menuitem", name=menu[1], exact=True).click()


def finished(page, seconds=120):
    """The state of each code cell once all that were begun have ended."""
    end = time.monotonic() + seconds
    page.wait_for_timeout(500)
    while True:
        cells = page.evaluate(STATE)
        if not any(cell["busy"] for cell in cells) and any(cell["run"] for cell in cells):
            return cells
        assert time.monotonic() < end, cells
        page.wait_for_timeout(200)


@runs
def test_a_lesson_runs_from_top_to_bottom(notebook):
    page = notebook("notebooks/04-inside-backward.ipynb")
    assert page.get_by_role("menuitem", name="Nbgrader").count() == 0  # which is installed where the site is built
    run(page, "Edit", "Clear Outputs of All Cells")
    run(page, "Run", "Run All Cells")
    cells = finished(page)
    assert [cell for cell in cells if not cell["empty"] and (cell["error"] or not cell["run"])] == []
    page.get_by_text("received shape (3, 5), expected shape (5,)").last.wait_for()  # what the checker says of the last rule
    stepper = page.locator(".al-root").filter(has=page.get_by_role("button", name="Step", exact=True)).first
    stepper.get_by_role("button", name="Step", exact=True).click()
    stepper.get_by_text("Step 1 of").wait_for()


@runs
def test_a_pytorch_program_runs_and_a_loop_can_be_left(notebook, browser):
    page = notebook("pytorch.ipynb")
    write(page, 0, PROGRAM)
    page.keyboard.press("Shift+Enter")
    page.get_by_text("2.13.0+autolab: 1.00 right").wait_for()
    if not AWAY:
        asked = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
        scripts = {PAGES / urlsplit(name).path[1:] for name in asked}
        size = sum(file.stat().st_size for file in {*scripts, *NUMPY.iterdir()} if file.is_file())  # as it is, not compressed
        assert size < 35.5e6  # 35 MB, as docs/site/run.md says
    write(page, 1, "sum(iter(int, 1))  # a loop in C, as in a call of NumPy that does not return")
    page.keyboard.press("Shift+Enter")
    page.wait_for_timeout(4000)
    page.evaluate("window.autolabPatience = 2")  # that is over already, as when the cell before had been running too
    page.get_by_text("A cell has been running for 2 seconds").wait_for()
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    write(page, 2, "print(6 * 7)")
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea-output").get_by_text("42").wait_for()
    page.wait_for_timeout(12_000)  # it saves by itself every ten seconds
    page.reload()
    page.locator(".jp-CodeCell").first.get_by_text("class Net").wait_for()
    page.locator(".jp-CodeCell").nth(1).get_by_text("a loop in C").wait_for()


@runs
def test_a_wrong_rule_is_named_and_progress_and_text_stay(notebook):
    page = notebook("exercises/handout/ps2/elementwise-rules.ipynb")
    cells = nbformat.read(ROOT / "exercises/handout/ps2/elementwise-rules.ipynb", as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    place = next(i for i, text in enumerate(code) if text.startswith("class FourthPower"))
    wrong = (
        "class FourthPower(Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x**4\n"
        "    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_tensors\n        return g * x**3"
    )
    write(page, place, wrong)
    page.keyboard.press("Escape")
    page.locator(".jp-CodeCell").nth(place).locator(".jp-InputPrompt").click()
    run(page, "Run", "Run All Cells")
    check = page.locator(".jp-CodeCell").nth(next(i for i, text in enumerate(code) if 'check("fourth_power"' in text))
    check.locator(".jp-OutputArea-output").get_by_text("0.25 times the right one").first.wait_for()
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1000)
    page.reload()
    page.locator(".jp-CodeCell").nth(place).get_by_text("return g * x**3").wait_for()
    page.goto(page.url.split("/lite/")[0] + "/lite/tree/index.html")
    page.locator(".jp-DirListing-item").get_by_text("progress", exact=True).wait_for()


@built
def test_the_site_is_small():
    assert sum(file.stat().st_size for file in PAGES.rglob("*") if file.is_file()) < 120e6


@built
def test_every_notebook_of_the_site_is_there_and_its_links_lead_to_it():
    for page in [*(PAGES / "notebooks").glob("*.html"), *(PAGES / "exercises" / "handout").glob("*/*.html")]:
        link = re.search(r'class="run-here" href="([^"?]*)\?path=([^"]*)"', page.read_text("utf-8"))
        assert (page.parent / link[1]).resolve() == LITE / "notebooks" / "index.html"
        assert (LITE / "files" / link[2]).exists(), page


@built
def test_no_solution_is_in_the_site():
    """Nor a hidden test: neither in a notebook or a page, nor in the package that runs there."""
    secrets = set()
    for path in ROOT.glob("exercises/source/*/*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for kind in ("SOLUTION", "HIDDEN TESTS"):
                for found in re.findall(rf"### BEGIN {kind}\n(.*?)### END {kind}", cell.source, re.S):
                    secrets |= {found.strip()} if found.count("\n") > 2 else set()
    assert len(secrets) > 40
    notebooks = [*(LITE / "files").rglob("*.ipynb")]
    assert len(notebooks) > 8
    for path in notebooks:
        cells = nbformat.read(path, as_version=4).cells
        assert [cell.id for cell in cells if any(secret in cell.source for secret in secrets)] == [], path
    for page in (PAGES / "exercises" / "handout").rglob("*.html"):
        text = re.sub(r"<[^>]*>", "", page.read_text("utf-8"))
        assert not any(" ".join(secret.split()) in " ".join(text.split()) for secret in secrets), page
    (wheel,) = NUMPY.glob("autolab_grad-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if name.endswith(".zip") or "/course/" in name or "BEGIN SOLUTION" in name] == []


@built
def test_the_lock_names_what_is_there():
    packages = json.loads((NUMPY / "pyodide-lock.json").read_text("utf-8"))["packages"]
    assert {re.sub("[._]", "-", name).lower() for package in packages.values() for name in package["depends"]} <= set(packages)
    missing = [p["file_name"] for p in packages.values() if "://" not in p["file_name"] and not (NUMPY / p["file_name"]).exists()]
    assert missing == []
    assert packages["torch"]["imports"] == ["torch"]
    assert urlsplit(packages["matplotlib"]["file_name"]).scheme == "https"  # fetched where a program imports it


@built
def test_jedi_finds_the_folders_that_it_lists():
    """Without one of them a completion with Tab fails."""
    (wheel,) = NUMPY.glob("jedi-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for folder in ("stdlib/3/", "stdlib/2and3/", "third_party/"):
        assert any(name.startswith(f"jedi/third_party/typeshed/{folder}") for name in names), folder


@built
@pytest.mark.parametrize(
    ("width", "missing", "said"),
    [
        (1280, "delete window.WebAssembly", "WebAssembly is turned off"),
        (1280, "delete Array.prototype.at", "This browser is too old for notebooks"),
        (1280, "IDBFactory.prototype.open = () => { throw new Error('blocked'); }", "This browser keeps no files"),
        (390, "", "half of a cell. The page has the same pictures. The page of this notebook"),
    ],
    ids=["no WebAssembly", "old", "no storage", "phone"],
)
def test_what_the_browser_lacks_is_said(browser, site, width, missing, said):
    context = browser.new_context(viewport={"width": width, "height": 800})
    context.add_init_script(missing)
    page = context.new_page()
    page.goto(f"{site}/lite/notebooks/index.html?path=notebooks/04-inside-backward.ipynb")
    page.get_by_role("status").locator("p").filter(has_text=said).wait_for()
    context.close()


@built
@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ("numpy-*.whl", "NumPy could not be loaded"),
        ("pyodide.asm.wasm", "A part of Python (pyodide.asm.wasm) could not be loaded"),
        ("micropip-*.whl", "Python has not started after 2 seconds"),
    ],
)
def test_what_is_blocked_is_said(browser, site, files, sentence):
    context = browser.new_context()
    context.add_init_script("window.autolabPatience = 2")
    context.route(f"**/{files}", lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{site}/lite/notebooks/index.html?path=notebooks/04-inside-backward.ipynb")
    told = page.get_by_role("status").locator("p").filter(has_text=sentence)
    told.wait_for()
    assert told.get_by_role("link").get_attribute("href") == "../../notebooks/04-inside-backward.html"
    context.close()
