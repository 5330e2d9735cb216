"""For the examples in docstrings: the names that a program has after `import autolab as torch` (and `from autolab import *`)."""

import builtins
import os
import warnings
from importlib.util import find_spec

import pytest

import autolab

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
    doctest_namespace["__name__"] = "__main__"  # a class of an example is a program's, not autolab's
    autolab.manual_seed(0)
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"autolab\.")  # as the package itself does: log(0) is -inf
