"""What every test may ask for: seeded randomness, PyTorch to compare with, a real browser.

PyTorch, numba and Chromium are large, not every machine lets bubblewrap isolate a process, and the site takes minutes to build,
so a test that needs one is skipped where it is absent. CI names them in AUTOLAB_REQUIRE ("browser,firefox,torch,numba,box,site"),
and then the run refuses to start without them; "lite" is the site with notebooks that run in the browser, which then may ask
Pyodide's host for NumPy. tests/packaging/test_require.py sees that no test asks for PyTorch or numba in another way.
CI's last run leaves out what has passed in its first one, which has none of them (AUTOLAB_PASSED).
"""

import importlib.util
import os
import re
import shutil
import sys

import numpy as np
import pytest

INSTALL = {
    "torch": "PyTorch is not installed (`pip install torch==2.13.0 expecttest`)",
    "box": "bubblewrap is not installed or may not isolate here (`apt install bubblewrap`; in a container see docs/instructors.md)",
    "numba": "numba is not installed (`pip install numba`), which one backend of autolab.compile writes its loops with",
    "browser": "Chromium or Playwright is not installed (`apt install chromium`, `pip install playwright`)",
    "site": "the site is not built (`make site`)",
    "lite": "the site is not built with the notebooks that run in the browser (`make site`, with npm and a network)",
    "firefox": "Firefox or websocket-client is not installed (`apt install firefox-esr`, `pip install websocket-client`)",
}
NEEDS = {"torch": ("torch", "expecttest"), "numba": ("numba",), "browser": ("playwright",), "firefox": ("websocket",)}  # modules
SITE = {"site": "index.html", "lite": "lite"}
MARKS = {"oracle": "torch", "browser": "browser", "firefox": "firefox", "numba": "numba"}
FIXTURES = {"torch": "oracle", "browser": "browser", "page": "browser", "firefox": "firefox"}
# Folders whose tests do the same whatever else is installed: one that has passed need not pass again in the same Python.
ROOMS = """
amp autograd check cli compiler data datasets distributions docs draw engine fast func linalg nn notebooks optim questions rules
serialization torch_api trace utils wasm widgets
"""
ALIKE_FILES = tuple(f"tests/packaging/test_{name}.py" for name in ("binder", "circles", "makefile", "repository", "stubs", "wheel"))
ALIKE = tuple(f"{top}/{room}/" for top in ("tests", "autolab") for room in ROOMS.split()) + ALIKE_FILES
collect_ignore = ["compat/program.py"]  # a program for PyTorch, which a test runs


def chromium_path():
    names = "chromium", "chromium-browser", "google-chrome"
    return os.environ.get("AUTOLAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def firefox_path():
    return os.environ.get("AUTOLAB_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")


def is_here(need):
    if need == "box":
        from autolab.course.grading.sandbox import works

        return works("bubblewrap")
    if need in SITE:
        from docs.make.site import PAGES

        return "AUTOLAB_SITE_ADDRESS" in os.environ or (PAGES / SITE[need]).exists()  # looked at where it is deployed, or here
    return all(map(importlib.util.find_spec, NEEDS[need])) and PROGRAMS.get(need, bool)() is not None


PROGRAMS = {"browser": chromium_path, "firefox": firefox_path}


def calm_hypothesis():
    """Hypothesis explains a failure by tracing lines, which with Python 3.11 once went on for ever after the browser's tests.

    And a machine that does other work as well is slow, which is not a failure.
    """
    if importlib.util.find_spec("hypothesis") is None:
        return
    from hypothesis import HealthCheck, Phase, settings

    phases = [p for p in Phase if p is not Phase.explain]
    settings.register_profile("autolab", phases=phases, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("autolab")


def lessons(root):
    """The number of every lesson, with its question: both stand in the list of the lessons."""
    listed = (root / "notebooks" / "README.md").read_text("utf-8")
    return re.findall(r"^\| \[(\d\d) · .*?\| (.*?) \|", listed, re.M)


def pytest_configure(config):
    calm_hypothesis()
    for number, question in lessons(config.inipath.parent):
        config.addinivalue_line("markers", f"lesson{number}: {question}")
    os.environ.setdefault("AUTOLAB_HOME", "off")  # tests are nobody's attempts
    if hasattr(config, "workerinput"):  # of pytest-xdist: the process that started it has looked
        return
    if (path := os.environ.get("AUTOLAB_PASSED")) and not os.path.exists(path):
        config.pluginmanager.register(Passed(path))
    required = {name.strip() for name in os.environ.get("AUTOLAB_REQUIRE", "").split(",")} - {""}
    for need in required:
        if need not in INSTALL:
            raise pytest.UsageError(f"AUTOLAB_REQUIRE names {need!r}; it may name {', '.join(sorted(INSTALL))}")
        if not is_here(need):
            raise pytest.UsageError(f"AUTOLAB_REQUIRE names {need!r}, but {INSTALL[need]}")


class Passed:
    """Writes which tests have passed into the file that AUTOLAB_PASSED names; a run that finds the file leaves those of ALIKE out."""

    def __init__(self, path):
        self.path, self.passed = path, []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed.append(f"{report.nodeid}\n")

    def pytest_unconfigure(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.writelines(self.passed)


def pytest_collection_modifyitems(config, items):
    path = os.environ.get("AUTOLAB_PASSED")
    if not path or not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        passed = {line.rstrip("\n") for line in file if line.startswith(ALIKE)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


def pytest_itemcollected(item):
    for fixture in FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(FIXTURES[fixture])


def pytest_runtest_setup(item):
    if item.get_closest_marker("speed") and os.environ.get("AUTOLAB_FAST") == "0":
        pytest.skip("there are no shortcuts (AUTOLAB_FAST=0)")
    for mark, need in MARKS.items():
        if item.get_closest_marker(mark) and not is_here(need):
            pytest.skip(INSTALL[need])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """In a browser there is one thread and one process: a test that starts another is skipped there."""
    try:
        return (yield)
    except (RuntimeError, OSError) as error:
        if sys.platform == "emscripten" and str(error).endswith(("can't start new thread", "emscripten does not support processes.")):
            pytest.skip("a browser has one thread and one process")
        raise


@pytest.fixture(scope="session")
def torch():
    """PyTorch, one thread: the other side of a comparison."""
    if not is_here("torch"):  # a test that asks while it runs, by getfixturevalue, has no mark
        pytest.skip(INSTALL["torch"])
    import torch

    torch.set_num_threads(1)
    return torch


@pytest.fixture(params=["autolab", pytest.param("torch", marks=pytest.mark.oracle)])
def lib(request):
    """autolab, then PyTorch: a test that takes `lib` states what holds on both sides."""
    if request.param == "torch":
        return request.getfixturevalue("torch")
    import autolab

    return autolab


@pytest.fixture(scope="session")
def chromium():
    """Path of the browser that Playwright is to drive."""
    return chromium_path()


@pytest.fixture(scope="session", autouse=True)
def _jupyter_folders(tmp_path_factory):
    """Kernels that tests start read nobody's settings, and run where the home is read-only."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))


@pytest.fixture
def rng():
    """Random arrays that are the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_random_numbers_in_every_run():
    import autolab

    seed = getattr(autolab, "manual_seed", None)
    if seed is not None:
        seed(0)
