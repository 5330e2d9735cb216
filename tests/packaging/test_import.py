import subprocess
import sys

import pytest

# what NumPy has not loaded already and what would double the cost of `import autolab`
SLOW = {
    "asyncio",
    "concurrent.futures",
    "doctest",
    "email",
    "http",
    "importlib.metadata",
    "multiprocessing",
    "pydoc",
    "sqlite3",
    "unittest",
    "xml",
}


def modules_after(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture(scope="module")
def added():
    return modules_after("import autolab") - modules_after("import numpy, ml_dtypes")


def test_importing_autolab_loads_nothing_else_that_is_installed(added):
    outside = {name.partition(".")[0] for name in added} - sys.stdlib_module_names
    assert {name for name in outside if "cython" not in name} <= {"autolab", "numpy"}


def test_importing_autolab_loads_no_slow_part_of_the_standard_library(added):
    assert not added & SLOW


def test_importing_autolab_asks_about_notebooks_only_in_one(added):
    assert "autolab.utils.tracebacks" not in added
    assert "autolab.utils.tracebacks" in modules_after("import IPython, autolab")


@pytest.mark.parametrize("package", ["trace", "draw", "check"])
def test_pictures_and_checks_work_without_jupyter(package):
    loaded = {name.partition(".")[0] for name in modules_after(f"import autolab.{package}")}
    assert not loaded & {"IPython", "ipykernel", "ipywidgets", "anywidget", "nbformat", "nbgrader", "traitlets"}
