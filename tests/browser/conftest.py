"""A real browser against JupyterLab, Notebook 7 and pages from disk. Each point below once cost a failed run:

- Jupyter's directories and HOME are its own, the port is picked here and not retried, no token, loopback only;
- a notebook is run only when its kernel is idle *and* has a connection, else Notebook 7 asks for a kernel over the page;
- what is waited for is a text that the last cell prints, or a condition; nothing sleeps;
- things are found by ARIA role and name; the server's whole process group is ended; a failure leaves a screenshot.

Starting a server and running a notebook takes seconds, so each front end opens one notebook with every explorable in
it, and every test begins by resetting the one that it drives.
"""

import functools
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

import autolab

try:
    from playwright.sync_api import expect
except ImportError:  # the tests that need it are skipped
    expect = None

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
WAIT = 60  # seconds until a server or a kernel must have answered
ACT = 20_000  # milliseconds until a page must have; it takes hundredths of that, unless the machine is busy with other things
ROOT = Path(autolab.__file__).parent.parent


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        expect.set_options(timeout=ACT)
        yield started
        started.close()


def watched(context):
    """A page that remembers what should not happen: errors in the console, requests off the machine."""
    page = context.new_page()
    page.errors, page.external = [], []
    page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", lambda r: page.external.append(r.url) if _is_external(r.url) else None)
    return page


def _is_external(url):
    return not url.startswith(("data:", "blob:", "file:", "http://127.0.0.1", "ws://127.0.0.1", "about:"))


@pytest.fixture(scope="session")
def spare_pages(browser):
    """Pages that tests pass on to each other: opening one takes longer than most of what is done on it."""
    pages = []
    yield pages
    for page in pages:
        page.context.close()


@pytest.fixture
def page(browser, spare_pages, request, screenshot):
    """An empty page, as one that was just opened."""
    opened = spare_pages.pop() if spare_pages else watched(browser.new_context())
    opened.set_default_timeout(ACT)
    opened.set_viewport_size({"width": 1100, "height": 900})
    opened.emulate_media(color_scheme="light", reduced_motion="no-preference", forced_colors="none")
    opened.mouse.up()
    opened.mouse.move(0, 0)
    opened.errors.clear()
    opened.external.clear()
    opened.changed = False
    yield opened
    if getattr(request.node, "failed", False):
        screenshot(opened, f"failed-{request.node.name}")
        opened.changed = True
    if opened.changed:
        opened.context.close()
    else:
        opened.evaluate("() => { try { localStorage.clear(); } catch { /* an empty page has none */ } }")
        opened.goto("about:blank")
        spare_pages.append(opened)


@pytest.fixture
def command(page):
    """Sends a command of Chromium's protocol to the page, which is then left to no other test."""
    page.changed = True
    return page.context.new_cdp_session(page).send


@pytest.fixture(scope="session")
def screenshot(pytestconfig):
    """Keep a picture of a page under build/screenshots, to be looked at."""
    folder = pytestconfig.rootpath / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)

    def take(page, name, **options):
        safe = "".join(c if c.isalnum() or c in "-." else "-" for c in name)
        page.screenshot(path=folder / f"{safe}.png", **options)

    return take


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed:
        item.failed = True
    return report


def pytest_collection_modifyitems(config, items):
    """Notebook 7 has JupyterLab's widgets: of its explorables, one in four goes there and back in it too."""
    again = [i for i in items if i.name.startswith("test_in_a_notebook_it_goes_") and i.callspec.params["jupyter"] == "notebook"]
    left = set(again) - set(again[::4])
    config.hook.pytest_deselected(items=[*left])
    items[:] = [i for i in items if i not in left]


# -- Jupyter ------------------------------------------------------------------------------------------


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="session", params=["lab", "notebook"])
def jupyter(request, tmp_path_factory):
    """A running server: which front end, its address, its folder."""
    with serving(request.param, tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("home")) as served:
        yield served


@contextmanager
def serving(kind, root, home):
    """A Jupyter server of a front end ("lab", "notebook") with its files in `root` and its own in `home`."""
    port = _free_port()
    own = [f"JUPYTER_{what}_DIR" for what in ("CONFIG", "DATA", "RUNTIME")]
    own += ["JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"]
    env = dict(os.environ, HOME=str(home), PYTHONPATH=str(ROOT), **{name: str(home / name.lower()) for name in own})
    settings = home / "jupyterlab_settings_dir" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    # else a cell that is not in sight is not in the page
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    command = [
        sys.executable, "-m", "jupyter", kind, "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password=",
        f"--ServerApp.root_dir={root}", "--LabApp.news_url=", "--ServerApp.disable_check_xsrf=True",  # tests stop kernels themselves
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    base, log = f"http://127.0.0.1:{port}", home / "server.log"
    with open(log, "w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=root, start_new_session=True)
    try:
        _until(lambda: _answers(base), lambda: f"{kind} did not start:\n{log.read_text()[-2000:]}", server)
        yield kind, base, root
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(20)


def _until(happened, complain, server=None):
    end = time.monotonic() + WAIT
    while not happened():
        if time.monotonic() > end or (server is not None and server.poll() is not None):
            raise RuntimeError(complain())
        time.sleep(0.05)


def _answers(base):
    try:
        urllib.request.urlopen(base + "/api/status", timeout=1).close()
    except OSError:
        return False
    return True


def _sessions(base, name):
    with urllib.request.urlopen(base + "/api/sessions") as answer:
        return [s["kernel"] for s in json.load(answer) if s["path"] == name]


def run_notebook(page, jupyter, source, last):
    """Open a notebook, run all its cells, and wait until its last cell has printed `last`."""
    kind, base, root = jupyter
    shutil.copy(source, root / source.name)
    page.goto(f"{base}/lab/tree/{source.name}?reset" if kind == "lab" else f"{base}/notebooks/{source.name}", timeout=WAIT * 1000)
    _until(
        lambda: any(k["execution_state"] == "idle" and k["connections"] >= 1 for k in _sessions(base, source.name)),
        lambda: f"no idle kernel with a connection: {_sessions(base, source.name)}",
    )
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', state="attached")
    page.errors.clear()  # what the front end itself reports while it loads
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.get_by_text(last, exact=True).last.wait_for(timeout=WAIT * 1000)


# anywidget says so after two seconds, which a machine that does other work besides may need, and shows the widget later all
# the same. One that is really missing fails its test, which looks for it.
TOO_SLOW = "[anywidget] Failed to initialize model."

CELLS = [
    """\
import ipywidgets
import autolab as torch
from autolab.check import check""",
    """\
x = torch.tensor(1.0, requires_grad=True)
y = (3 * x + 2) ** 2
stepper = torch.Stepper(y)
stepper""",
    """\
told = ipywidgets.Label("the kernel is at 0")
stepper.observe(lambda change: setattr(told, "value", f"the kernel is at {change.new}"), "position")
told""",
    """\
w = torch.tensor([0.5, -1.0], requires_grad=True)
second = torch.Stepper((w * torch.tensor([2.0, 3.0]) + 1).relu().sum())
second""",
    """\
z = x
for _ in range(60):
    z = (z * w[0]).tanh() + x
torch.Stepper(z)""",
    "torch.explore(lambda x, y: x * y + x**2, x=(-3, 3), y=2.0)",
    "torch.explore(lambda a, b: (a * b).sin(), a=(0, 2), b=(-1, 1))",
    'check("square", (lambda x: x * x, lambda g, x: g * x))',
    """\
from autolab import widgets
from autolab.widgets.questions import choice, number
widgets.live("x * y", y=2.0)""",
    """\
for make in [
    widgets.forward_and_back, widgets.graph_builder, widgets.chain_rule, widgets.accumulation, widgets.scissors, widgets.two_gradients,
    lambda: widgets.memory_against_depth(depths=(2, 4), segments=(0, 2)), widgets.version_counter,
    widgets.broadcast_backward, widgets.matmul_backward,
]:
    display(make())""",
    """\
for make in [
    lambda: widgets.forward_against_reverse(sizes=(1, 4)), lambda: widgets.underflow(torch.tensor([1e-9, 1e-6, 1.0])),
    lambda: widgets.fusion(x=torch.ones(100_000)), lambda: widgets.optimizer_race(steps=10, rates=(0.01, 0.1)),
    lambda: widgets.compare(lambda w: w * 2, lambda w: w * 3, w=1.0), lambda: widgets.train(steps=80, start=False),
    widgets.vector_jacobian, widgets.dual_numbers, widgets.finite_differences, widgets.paths,
    lambda: widgets.vanishing_and_exploding(depths=(2, 8), gains=(0.5, 1.0)), widgets.gradient_graph, widgets.checkpoint_timeline,
    lambda: widgets.implicit_function(stops=6), lambda: widgets.expectation_gradients(mus=(-1.0, 1.0)),
    widgets.loop_to_vmap, widgets.curvature,
    widgets.softmax_backward, widgets.attention_backward, widgets.convolution_backward,
]:
    display(make())""",
    """\
widgets.quiz("Browser", choice("Which?", {"a": "No: it is `b`.", "b": "It is."}, "b"), number("2 + 2?", 4, "Counted.", {5: "One too many."}))""",
    'print("-".join(["all", "cells", "ran"]))',
]


@pytest.fixture
def notebook(opened_notebook):
    """The notebook with all explorables: which front end, and the page. Errors and requests off the machine fail a test."""
    kind, page = opened_notebook
    page.errors.clear()
    page.external.clear()
    yield kind, page
    assert page.errors == []
    assert page.external == []


@pytest.fixture(scope="session")
def opened_notebook(jupyter, browser, tmp_path_factory, screenshot):
    """One notebook with all explorables, opened and run."""
    import nbformat

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}  # else it asks
    source = tmp_path_factory.mktemp("notebook") / "explorables.ipynb"
    nbformat.write(made, source)
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = watched(context)
    page.set_default_timeout(ACT)
    try:
        run_notebook(page, jupyter, source, "all-cells-ran")
    except Exception:
        screenshot(page, f"failed-to-run-{jupyter[0]}")
        raise
    page.errors[:] = [error for error in page.errors if error != TOO_SLOW]
    assert page.errors == []  # while the widgets were loaded
    assert page.external == []
    yield jupyter[0], page
    context.close()


# -- an explorable, whatever it is -------------------------------------------------------------------


class Driven:
    """One explorable on a page, found by its name, and driven by whatever controls it has."""

    def __init__(self, page, name):
        self.page, self.root = page, page.get_by_role("group", name=name, exact=True)
        self.status = self.root.get_by_role("status").first
        self.step = self.root.get_by_role("toolbar").get_by_role("button", name="Step", exact=True)
        self.root.evaluate("(root) => root.scrollIntoViewIfNeeded()")  # at once: what follows typing is made anew

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True)

    def reset(self):
        """Back to the start; returns what is said there."""
        self.button("Reset").click(force=True)  # it may say that there is nothing to reset
        expect(self.button("Reset")).to_have_attribute("aria-disabled", "true")
        expect(self.root).not_to_have_attribute("aria-busy", "true")  # Python has answered, so what is said is of the start
        return self.status.inner_text()

    def changed_by_mouse(self):
        actions = self.root.get_by_role("group", name="Actions").get_by_role("button")
        if self.step.count():
            self.step.click()
        elif actions.count():
            actions.first.click()
        elif self.root.get_by_role("slider").count():
            slider = self.root.get_by_role("slider").first
            box = slider.bounding_box()
            slider.click(position={"x": 3 if float(slider.input_value()) > 0 else box["width"] - 3, "y": box["height"] / 2})
        else:
            self.root.get_by_role("combobox").first.select_option(index=1)

    def changed_by_keys(self):
        keys = self.page.keyboard
        actions = self.root.get_by_role("group", name="Actions").get_by_role("button")
        if self.step.count():
            self.step.focus()
            keys.press("ArrowRight")
        elif actions.count():
            actions.first.focus()
            keys.press("Enter")
        elif self.root.get_by_role("slider").count():
            slider = self.root.get_by_role("slider").first
            slider.focus()
            keys.press("Home" if float(slider.input_value()) > 0 else "End")
        else:
            self.root.get_by_role("combobox").first.focus()
            keys.press("ArrowDown")

    def goes_there_and_back(self):
        """By mouse and by keys: change, undo, change, reset; the sentence follows each time. The table opens and closes."""
        start = self.reset()
        for change in self.changed_by_mouse, self.changed_by_keys:
            change()
            expect(self.status).not_to_have_text(start)
            self.button("Undo").press("Enter")
            expect(self.status).to_have_text(start)
            change()
            expect(self.status).not_to_have_text(start)
            self.button("Reset").click()
            expect(self.status).to_have_text(start)
        table = self.root.get_by_text("Table of what is shown")
        table.click()
        expect(self.root.get_by_role("row").nth(1)).to_be_visible()
        table.click()


@pytest.fixture
def drive():
    """Find an explorable on a page: `drive(page, "Graph builder")`."""
    return Driven


@pytest.fixture
def open_page(browser, tmp_path, page):
    """Save an explorable and open the file."""

    def opened(widget):
        page.goto(widget.save_html(tmp_path / "page.html").as_uri())
        page.wait_for_selector("[data-autolab] > *", state="attached")  # what is long is unpacked after the page has loaded
        return page

    yield opened
    assert page.errors == []
    assert page.external == []


@pytest.fixture
def drag():
    """Drag an element by the mouse, in small steps, and let go: `drag(page, handle, 60, -40)`."""

    def dragged(page, handle, dx, dy=0, release=True):
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + dx, y + dy, steps=6)
        if release:
            page.mouse.up()

    return dragged


@pytest.fixture
def overlaps():
    """What cannot be read in the pictures of the explorable on a page of a width, in its states: a list of sentences.

    `overlaps(page, 320) == []` if all can be read.
    """
    script = (Path(__file__).parent / "overlap.js").read_text("utf-8")

    def found(page, width, limit=120):
        page.emulate_media(reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 700})
        answer = page.evaluate(script, limit)
        assert answer["states"] > 1  # it has moved
        return answer["wrong"]

    return found


@pytest.fixture
def displaced():
    """What stands elsewhere once the page is written from right to left: `displaced(page) == []` if nothing does."""
    places = """() => [...document.querySelectorAll(".al-root *")].filter((e) => e.checkVisibility()).map((e) => {
        const box = e.getBoundingClientRect(), root = document.querySelector(".al-root").getBoundingClientRect();
        return [e.tagName, Math.round(box.x - root.x), Math.round(box.width)].join(" "); })"""

    def found(page):
        page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        before = page.evaluate(places)
        page.evaluate("document.documentElement.dir = 'rtl'")
        after = page.evaluate(places)
        page.evaluate("document.documentElement.dir = ''")
        assert len(before) > 10  # it has looked
        return [pair for pair in zip(before, after, strict=True) if len(set(pair)) > 1]

    return found


@pytest.fixture
def faint():
    """What has too little contrast on a page, the focus too: `faint(page) == []` if all can be seen."""
    script = (Path(__file__).parent / "faint.js").read_text("utf-8")

    def found(page):
        target = page.locator(".al-graph [tabindex='0']")
        (target if target.count() else page.get_by_role("button", name="Reset")).first.focus()
        page.keyboard.press("Shift")  # the focus is the keyboard's
        return page.evaluate(script)

    return found


# -- Firefox -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def running_firefox(tmp_path_factory):
    from tests.browser.firefox import Firefox

    path = os.environ.get("AUTOLAB_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    with Firefox(path, tmp_path_factory.mktemp("firefox")) as started:
        yield started


@pytest.fixture
def firefox(running_firefox):
    """Firefox; at the end its console has shown no error."""
    running_firefox.errors.clear()
    running_firefox.requests.clear()
    yield running_firefox
    assert running_firefox.errors == []


# -- the site ------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def site():
    """The address of the built site, as a static host serves it, or AUTOLAB_SITE_ADDRESS. `make site` builds it."""
    from docs.make.site import PAGES, Handler

    if "AUTOLAB_SITE_ADDRESS" in os.environ:
        yield os.environ["AUTOLAB_SITE_ADDRESS"].rstrip("/")
        return

    class Quiet(Handler):
        def log_message(self, *args):
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(PAGES)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


# JupyterLite asks the host for each file that a learner has made, and then the browser.
NO_ERROR = re.compile("favicon|/lite/(api/contents|files)/")


def distribution(site):
    """Where a site takes NumPy from if it has none of its own, as its lock file says: from Pyodide's host."""
    with urllib.request.urlopen(f"{site}/lite/static/pyodide/pyodide-lock.json") as lock:
        names = [package["file_name"] for package in json.load(lock)["packages"].values()]
    return {name.rpartition("/")[0] for name in names if "://" in name}


@pytest.fixture
def look(browser, site):
    """Open a page of the site; at the end there was no error, and no request to another host."""
    contexts, wrong = [], []
    host = site[: site.index("/", len("https://"))] if site.count("/") > 2 else site
    served = (host, *distribution(site)) if "lite" in os.environ.get("AUTOLAB_REQUIRE", "") else host

    def opened(page, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on(
            "console", lambda said: wrong.append(said.text) if said.type == "error" and not NO_ERROR.search(said.location["url"]) else None
        )
        tab.on("request", lambda r: wrong.append(r.url) if r.url.startswith("http") and not r.url.startswith(served) else None)
        tab.goto(f"{site}/{page}")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


# -- accessibility --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def axe():
    """Ask axe-core for violations of WCAG 2.2 AA below a selector; each is one line of text.

    What is written on a control has to be in its name, too: else who speaks to a browser cannot press it.
    """
    try:
        import axe_playwright_python as found
    except ImportError:
        missing = "axe-core is not installed (`pip install axe-playwright-python`)"
        (pytest.fail if "browser" in os.environ.get("AUTOLAB_REQUIRE", "") else pytest.skip)(missing)
    script = (Path(found.__file__).parent / "axe.min.js").read_text("utf-8")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

    def violations(page, selector):
        page.evaluate(script)
        result = page.evaluate(
            "([selector, tags]) => axe.run({include: [selector]}, {runOnly: {type: 'tag', values: tags}, "
            "resultTypes: ['violations'], rules: {'label-content-name-mismatch': {enabled: true}}})",
            [selector, tags],
        )
        assert len(result["passes"]) > 10  # it has looked
        return [f"{v['id']}: {n['html'][:200]} {n['failureSummary']}" for v in result["violations"] for n in v["nodes"]]

    return violations
