"""For the examples in docstrings: the names that a program has after `import autolab as torch` (and `from autolab import *`)."""

import builtins
import os
from importlib.util import find_spec

import pytest

import autolab
import autolab.nn  # before pytest runs a file of it: two copies of a class would not know each other

os.environ["AUTOLAB_HOME"] = "off"  # no test counts as an attempt of the person who runs it, and no lesson shows how many there were

collect_ignore = [] if find_spec("numba") else ["autolab/compiler/machine.py"]  # an extra


def pytest_collectstart(collector):
    """Lessons are saved with the still forms of explorables; scripts, which differ from run to run, are not compared."""
    if getattr(collector, "path", None) is not None and collector.path.suffix == ".ipynb":
        collector.skip_compare = (*collector.skip_compare, "text/html")


@pytest.fixture(autouse=True)
def _names_of_a_program(request, doctest_namespace):
    doctest_namespace.clear()
    example = getattr(request.node, "dtest", None)
    if example is None:
        return
    taken = {*example.globs, *dir(builtins)}
    doctest_namespace.update({name: getattr(autolab, name) for name in autolab.__all__ if name not in taken}, torch=autolab)
    autolab.manual_seed(0)
