"""For the examples in docstrings: the names that a program has after `import autolab as torch` (and `from autolab import *`)."""

import builtins

import pytest

import autolab


@pytest.fixture(autouse=True)
def _names_of_a_program(request, doctest_namespace):
    doctest_namespace.clear()
    example = getattr(request.node, "dtest", None)
    if example is None:
        return
    taken = {*example.globs, *dir(builtins)}
    doctest_namespace.update({name: getattr(autolab, name) for name in autolab.__all__ if name not in taken}, torch=autolab)
    autolab.manual_seed(0)
