"""Rules speak NumPy. When a backward pass is itself recorded they meet Tensors, so every function of NumPy that they call needs a row."""

import dis
import types

import numpy as np
import pytest

import autolab
from autolab.engine.tensor import NUMPY_FUNCTIONS
from autolab.rules import TABLE

# These make arrays out of shapes, or sort axes; no Tensor reaches them. The last three stand behind a question for the type, for speed.
MAKERS = {"zeros", "ones", "eye", "arange", "argsort", "empty", "einsum", "vecdot"}


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
        "stack": ([x, x], -1), "roll": (x, (1,), (-1,)), "tile": (x, (2, 2)), "cumsum": (x, -1), "cumprod": (x, -1), "arccos": (x / 2,), "arcsin": (x / 2,), "arctanh": (x / 2,), "arccosh": (x + 1,),
        "flip": (x, -1), "squeeze": (x,),
        "add": (x, x), "invert": (whole,), "bitwise_and": (whole, whole), "bitwise_or": (whole, whole), "bitwise_xor": (whole, whole),
    }  # fmt: skip
    args = arguments.get(function.__name__) or ((x,) * getattr(function, "nin", 1))
    raw = [[v.numpy() for v in a] if isinstance(a, list) else getattr(a, "payload", a) for a in args]
    result = function(*args)
    assert isinstance(result, autolab.Tensor)
    np.testing.assert_allclose(result.numpy(), function(*raw))


AXES = {
    "stack": lambda np, x, k: np.stack([x, x * 2], k),
    "concatenate": lambda np, x, k: np.concatenate([x, x * 2], k),
    "sum": lambda np, x, k: np.sum(x, k),
    "mean": lambda np, x, k: np.mean(x, axis=(k,), keepdims=True),
    "max": lambda np, x, k: np.max(x, axis=k),
    "prod": lambda np, x, k: np.prod(x, k),
    "cumsum": lambda np, x, k: np.cumsum(x, k),
    "flip": lambda np, x, k: np.flip(x, k),
    "roll": lambda np, x, k: np.roll(x, 1, k),
    "expand_dims": lambda np, x, k: np.expand_dims(x, k),
    "squeeze": lambda np, x, k: np.squeeze(np.expand_dims(x, k), k),
    "swapaxes": lambda np, x, k: np.swapaxes(x, 0, k),
    "moveaxis": lambda np, x, k: np.moveaxis(x, k, 0),
    "transpose": lambda np, x, k: np.transpose(x, (k, (k + 1) % 3, (k + 2) % 3)),
    "take_along_axis": lambda np, x, k: np.take_along_axis(x, np.zeros([1 if a == k else n for a, n in enumerate((2, 3, 2))], int), k),
}


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", AXES)
def test_axes_may_be_counted_from_the_front(name, axis, rng):
    array = rng.standard_normal((2, 3, 2))
    x = autolab.tensor(array, requires_grad=True)
    out = AXES[name](np, x, axis)
    np.testing.assert_allclose(out.detach().numpy(), AXES[name](np, array, axis))
    assert autolab.autograd.gradcheck(lambda t: AXES[name](np, t, axis), x)
