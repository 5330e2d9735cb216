"""Rules speak NumPy. When a backward pass is itself recorded they meet Tensors, so every function of NumPy that they call needs a row."""

import dis
import types

import numpy as np
import pytest

import autolab
from autolab.engine.tensor import NUMPY_FUNCTIONS
from autolab.rules import TABLE

# These make arrays out of shapes, or sort axes; no Tensor reaches them.
MAKERS = {"zeros", "ones", "arange", "argsort"}


def numpy_names(function, seen):
    """The names after `np.` in a function and in every function of the package that it calls. Rows that it calls have their own rules."""
    if function in seen:
        return set()
    seen.add(function)
    return names_in(function.__code__, function.__globals__, seen)


def names_in(code, known, seen):
    names, before = set(), None
    for step in dis.get_instructions(code):
        if before is np and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.add(step.argval)
        before = known.get(step.argval) if step.opname == "LOAD_GLOBAL" else None
        if isinstance(before, types.FunctionType) and before.__module__.startswith("autolab"):
            names |= numpy_names(before, seen)
        if isinstance(step.argval, types.CodeType):
            names |= names_in(step.argval, known, seen)
    return names


@pytest.mark.parametrize("name", TABLE)
def test_every_numpy_function_in_a_rule_has_a_row(name):
    used = {n for rule in TABLE[name].rules.values() for n in numpy_names(rule.function, set())}
    functions = {n for n in used - MAKERS if callable(getattr(np, n)) and not isinstance(getattr(np, n), type)}
    assert {n for n in functions if getattr(np, n) not in NUMPY_FUNCTIONS} == set()


def test_the_search_finds_what_stands_in_helpers():
    assert "sign" in numpy_names(TABLE["norm"].rules["x"].function, set())
    assert {"stack", "concatenate"} <= numpy_names(TABLE["prod"].rules["x"].function, set())


@pytest.mark.parametrize("function", [f for f in NUMPY_FUNCTIONS if f not in (np.shape, np.ndim)], ids=lambda f: f.__name__)
def test_numpy_functions_of_tensors_give_tensors(function):
    x = autolab.tensor([[0.3, 0.7], [1.2, 0.4]], dtype=autolab.float64)
    whole = autolab.tensor([[0, 1], [1, 0]])
    arguments = {
        "transpose": (x,), "swapaxes": (x, 0, 1), "moveaxis": (x, 0, 1), "reshape": (x, (4,)), "broadcast_to": (x, (3, 2, 2)),
        "expand_dims": (x, -1), "where": (x > 0.5, x, x), "take_along_axis": (x, np.array([[0], [1]]), -1), "concatenate": ([x, x], -1),
        "stack": ([x, x], -1), "roll": (x, (1,), (-1,)), "tile": (x, (2, 2)), "cumsum": (x, -1), "flip": (x, -1), "squeeze": (x,),
        "add": (x, x), "invert": (whole,), "bitwise_and": (whole, whole), "bitwise_or": (whole, whole), "bitwise_xor": (whole, whole),
    }  # fmt: skip
    args = arguments.get(function.__name__) or ((x,) * getattr(function, "nin", 1))
    raw = [[v.numpy() for v in a] if isinstance(a, list) else getattr(a, "payload", a) for a in args]
    result = function(*args)
    assert isinstance(result, autolab.Tensor)
    np.testing.assert_allclose(result.numpy(), function(*raw))


def test_a_numpy_function_without_a_row_says_so():
    with pytest.raises(TypeError, match="numpy.median has no differentiation rule"):
        np.median(autolab.ones(3))
    with pytest.raises(TypeError, match="numpy.arctan2 has no differentiation rule"):
        np.arctan2(autolab.ones(3), autolab.ones(3))
