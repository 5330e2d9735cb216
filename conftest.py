"""For the examples in docstrings: the names that a program has after `import autolab as torch` (and `from autolab import *`)."""

import builtins
import os
import warnings
from importlib.util import find_spec

import pytest

import autolab
import autolab.fast.first_calls
import autolab.nn  # before pytest runs a file of it: two copies of a class would not know each other

os.environ["AUTOLAB_HOME"] = "off"  # no test counts as an attempt of the person who runs it, and no lesson shows how many there were

autolab.fast.first_calls.FIRST_CALLS = 0  # rows are written out at once; the general way has a run of its own (AUTOLAB_FAST=0)

NUMBA = "direct", "lanes", "loops", "machine", "moves", "notes", "one_pass"  # modules of an extra
collect_ignore = [] if find_spec("numba") else [f"autolab/compiler/{name}.py" for name in NUMBA]
collect_ignore.append("autolab/course/grading/offline")  # it stands for pip in a student's box


def pytest_collectstart(collector):
    """Lessons are saved with the still forms of explorables; scripts, which differ from run to run, are not compared."""
    if getattr(collector, "path", None) is not None and collector.path.suffix == ".ipynb":
        collector.skip_compare = (*collector.skip_compare, "text/html")


def pytest_itemcollected(item):
    """Numbers that a machine may change in their last digits are compared with a tolerance."""
    if hasattr(item, "cell") and hasattr(item, "sanitize"):
        from tests.notebooks.tolerance import allow

        allow(item)


@pytest.fixture
def names_of_a_program():
    """What an example finds besides the names of its module. Random numbers start alike, and log(0) is -inf without a word."""

    def names(module_names):
        taken = {*module_names, *dir(builtins)}
        autolab.manual_seed(0)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"autolab\.")  # as the package itself does
        of_autolab = {name: getattr(autolab, name) for name in autolab.__all__ if name not in taken}
        return {**of_autolab, "torch": autolab, "__name__": "__main__"}  # a class of an example is a program's, not autolab's

    return names


@pytest.fixture(autouse=True)
def _names_of_a_doctest(request, doctest_namespace, names_of_a_program):
    doctest_namespace.clear()
    example = getattr(request.node, "dtest", None)
    if example is not None:
        doctest_namespace.update(names_of_a_program(example.globs))
