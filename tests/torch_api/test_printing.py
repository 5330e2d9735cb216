"""A tensor prints as in PyTorch, to the letter."""

import numpy as np
import pytest

import autolab

INF, NAN = float("inf"), float("nan")
rng = np.random.default_rng(0)
NUMBERS = {
    "whole floats": [1.0, 2.0, -3.0],
    "floats": [0.1, -2.5, 3.25],
    "floats and a whole one": [1.5, 2.0, 100.0],
    "one float": 0.3,
    "one whole float": 5.0,
    "one integer": 7,
    "one bool": True,
    "integers": [1, -20, 300],
    "bools": [True, False],
    "nothing": [],
    "no rows": np.zeros((0, 3), np.float32),
    "no columns": np.zeros((2, 0), np.float32),
    "no integers": np.zeros((0,), np.int64),
    "small": [1e-5, 2e-5],
    "very small": [1e-20, 1.0],
    "large": [1e9, 1.0],
    "large whole": [123456789.0, 1.0],
    "just below scientific": [99999999.0, 1.0],
    "whole with a wide range": [1.0, 1001.0],
    "wide range": [0.5, 501.0],
    "range of just 1000": [0.5, 500.0],
    "below 1e-4": [0.00009, 0.5],
    "inf": [INF, 1.0],
    "inf and fractions": [-INF, 1.5],
    "nan": [NAN, 1.0],
    "nan and fractions": [NAN, 0.5],
    "only nan": [NAN, NAN],
    "only inf": [INF, -INF],
    "nan, inf and large": [NAN, INF, 1e10],
    "a negative zero": [-0.0, 1.0],
    "zeros": [0.0, 0.0],
    "zero and small": [0.0, 1e-6],
    "rounding up": [0.99999, 9.99996],
    "matrix": [[1.0, 2.0], [3.0, 4.5]],
    "matrix of integers": [[1, 22], [333, 4]],
    "three dims": np.arange(12).reshape(2, 3, 2),
    "four dims": np.arange(8.0).reshape(2, 2, 1, 2),
    "a row that wraps": rng.standard_normal(30),
    "integers that wrap": np.arange(60),
    "wide rows": rng.standard_normal((2, 15)),
    "wide numbers": 1e6 * rng.standard_normal(20),
    "1000 entries": np.arange(1000.0),
    "1001 entries": np.arange(1001.0),
    "a summary of fractions": rng.standard_normal(2000),
    "a summary of a matrix": rng.standard_normal((50, 40)),
    "a summary of rows only": rng.standard_normal((400, 3)),
    "a summary of columns only": rng.standard_normal((3, 400)),
    "a summary of three dims": rng.standard_normal((12, 10, 11)),
    "a summary of integers": np.arange(40 * 40).reshape(40, 40),
    "a summary of bools": np.arange(1200) % 2 == 0,
    "random": rng.standard_normal((3, 4)),
    "random and large": 1000 * rng.standard_normal((3, 4)),
    "probabilities": rng.random((2, 10)),
}
DTYPES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(torch, name):
    assert repr(autolab.tensor(NUMBERS[name])) == repr(torch.tensor(NUMBERS[name]))


@pytest.mark.parametrize(
    "name", ["floats", "wide range", "nan", "nothing", "no rows", "random", "a row that wraps", "one float", "1001 entries"]
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats(torch, name, dtype):
    ours, theirs = (T.tensor(NUMBERS[name], dtype=getattr(T, dtype)) for T in (autolab, torch))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", [[1, 0, 3], 1, [], [[1, 2], [0, 1]]], ids=str)
def test_every_dtype(torch, dtype, values):
    ours, theirs = (T.tensor(values, dtype=getattr(T, dtype)) for T in (autolab, torch))
    assert repr(ours) == repr(theirs)


HISTORIES = {
    "a leaf": lambda T, x: x,
    "a result": lambda T, x: x * 2,
    "a number": lambda T, x: x.sum(),
    "a matrix": lambda T, x: T.stack([x, x]),
    "a long row": lambda T, x: T.cat([x] * 5),
    "whole rows": lambda T, x: T.cat([x] * 13) * 0,
    "nothing": lambda T, x: x[:0],
    "float64": lambda T, x: x.double(),
    "float64 that wraps": lambda T, x: T.cat([x] * 8).double(),
    "detached": lambda T, x: (x * 2).detach(),
    "one of several": lambda T, x: x.unbind()[0],
    "a sum": lambda T, x: x + x,
    "a leaf of its own": lambda T, x: T.ones(2, 2, requires_grad=True),
    "a leaf of float64": lambda T, x: T.ones(2, dtype=T.float64, requires_grad=True),
    "an integer": lambda T, x: x.argmax(),
    "written in place": lambda T, x: (x * 1).mul_(2),
    "a maximum": lambda T, x: x.max(dim=0),
    "a minimum": lambda T, x: T.min(x, 0, keepdim=True),
    "values": lambda T, x: x.view(3, 1).max(1).values,
    "a tuple": lambda T, x: x.split(2),
    "a shape": lambda T, x: x.shape,
    "a dtype": lambda T, x: x.dtype,
    "a device": lambda T, x: x.device,
}


@pytest.mark.parametrize("name", HISTORIES)
def test_what_a_tensor_says_of_its_history(torch, name):
    ours, theirs = (HISTORIES[name](T, T.tensor([0.5, -1.25, 3.0], requires_grad=True)) for T in (autolab, torch))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("options", [
    {"precision": 2}, {"precision": 8}, {"linewidth": 40}, {"edgeitems": 1}, {"threshold": 5}, {"sci_mode": True}, {"sci_mode": False},
    {"profile": "short"}, {"profile": "full"}, {"precision": 3, "linewidth": 120},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("name", ["floats", "random", "1001 entries", "a row that wraps", "wide range", "inf and fractions", "zeros"])
def test_printing_can_be_set(torch, name, options):
    try:
        for T in (autolab, torch):
            T.set_printoptions(**options)
        assert repr(autolab.tensor(NUMBERS[name])) == repr(torch.tensor(NUMBERS[name]))
    finally:
        for T in (autolab, torch):
            T.set_printoptions(profile="default")


@pytest.mark.parametrize("spec", ["", ".3f", "8.2e", "g", ">10"])
def test_a_0d_tensor_formats_as_its_number(torch, spec):
    assert format(autolab.tensor(2.5), spec) == format(torch.tensor(2.5), spec)


def test_str_and_repr_are_the_same():
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    assert str(x) == repr(x) == f"{x}" == "tensor([1., 2.], requires_grad=True)"
