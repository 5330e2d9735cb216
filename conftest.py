"""For the examples in docstrings: the names that a program has after `import autolab as torch`."""

import pytest

import autolab


@pytest.fixture(autouse=True)
def _names_of_a_program(doctest_namespace):
    names = {"torch": autolab, "tensor": autolab.tensor, "Tensor": autolab.Tensor, "nn": autolab.nn, "optim": autolab.optim}
    doctest_namespace.update(names)
    autolab.manual_seed(0)
