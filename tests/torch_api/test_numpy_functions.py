"""NumPy's functions called on tensors: those without a row give what they give for PyTorch's tensors, arrays or tensors."""

import numpy as np
import pytest

import autolab
from autolab.engine.tensor import NUMPY_FUNCTIONS

# What has no result to compare, asks for a file, or writes to its argument.
LEFT_OUT = {
    "info",
    "empty_like",
    "copyto",
    "fromfile",
    "genfromtxt",
    "load",
    "loadtxt",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "block",
}
# PyTorch's tensors have methods of these names that NumPy calls in its own way, and that refuse: here they take NumPy's arguments.
MORE_HERE = {"all", "any", "choose", "imag", "isreal", "lexsort", "size", "unstack", "fftfreq", "rfftfreq"}
CALLS = {
    "m": lambda T: (matrix(T),),
    "v": lambda T: (vector(T),),
    "v, v": lambda T: (vector(T), vector(T)),
    "m, v": lambda T: (matrix(T), vector(T)),
    "m, 1": lambda T: (matrix(T), 1),
    "1, v": lambda T: (1, vector(T)),
    "[v, v]": lambda T: ([vector(T), vector(T)],),
    "array, v": lambda T: (vector(T).numpy(), vector(T)),
}


def matrix(T):
    return T.tensor([[4.0, 1.0, 2.0], [3.0, 5.0, 6.0], [7.0, 9.0, 8.5]], dtype=T.float64)


def vector(T):
    return T.tensor([1.0, 2.0, 3.0], dtype=T.float64)


def functions(module):
    """The public functions of a NumPy module that ask their arguments for a rule, and have none."""
    for name in sorted(set(dir(module)) - LEFT_OUT - MORE_HERE):
        function = getattr(module, name)
        if (isinstance(function, np.ufunc) or hasattr(function, "_implementation")) and function not in NUMPY_FUNCTIONS:
            yield function


def outcome(function, args):
    """Kind, dtype and numbers of the results; "refused" for any error."""
    try:
        return described(function(*args))
    except Exception:
        return "refused"


def described(result):
    if isinstance(result, tuple | list):
        return [described(r) for r in result]
    kind = type(result).__name__
    if kind not in ("Tensor", "ndarray"):
        return repr(result)
    array = np.asarray(result)
    return kind, array.astype(np.uint8 if array.dtype == bool else array.dtype).round(6).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("module", [np, np.linalg, np.fft], ids=lambda m: m.__name__)
def test_numpy_functions_without_a_row_give_what_they_give_for_pytorch(torch, module, call):
    arguments = CALLS[call]
    found = {f.__name__: (outcome(f, arguments(autolab)), outcome(f, arguments(torch))) for f in functions(module)}
    assert len(found) > 10
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {}


def test_numpy_functions_without_a_row_refuse_what_requires_grad():
    x = autolab.ones(3, requires_grad=True)
    for function in (np.median, np.linspace, np.unique, np.cbrt, np.histogram):
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad") as refused:
            function(x, x) if function is np.linspace else function(x)
        assert f"numpy.{function.__name__} has no differentiation rule" in refused.value.__notes__[0]


def test_numpy_saves_a_tensor_as_its_array(tmp_path):
    np.save(tmp_path / "x.npy", autolab.tensor([1.0, 2.0]))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.float32([1, 2]))


def test_numpy_calls_that_a_row_does_not_take_are_numpys():
    x = autolab.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert [i.tolist() for i in np.where(x)] == [[0, 1], [1, 0]]
    np.testing.assert_array_equal(np.cumsum(x), [0, 2, 5, 5])
    assert np.power(x, 2).tolist() == [[0, 4], [9, 0]]


def test_a_tensor_is_no_place_for_a_result_of_numpy():
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        np.cbrt(autolab.ones(2), out=autolab.ones(2))


def test_an_array_takes_the_result_of_numpy():
    out = np.zeros(2)
    np.cbrt(autolab.tensor([8.0, 27.0], dtype=autolab.float64), out=out)
    np.testing.assert_allclose(out, [2, 3])


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (3,)), ((3,), (3, 2)), ((3,), (3,)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)), ((4, 2, 3), (3, 1))]
)
def test_a_product_with_an_array_takes_vectors_too(a, b):
    x, y = np.random.default_rng(0).normal(size=a), np.random.default_rng(1).normal(size=b)
    for product in (lambda t: t @ y, lambda t: np.matmul(t, y)):
        np.testing.assert_allclose(product(autolab.tensor(x)).numpy(), x @ y)
        assert autolab.autograd.gradcheck(product, (autolab.tensor(x, requires_grad=True),))
    for product in (lambda t: x @ t, lambda t: np.matmul(x, t)):
        assert autolab.autograd.gradcheck(product, (autolab.tensor(y, requires_grad=True),))
