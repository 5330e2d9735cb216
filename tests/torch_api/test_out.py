"""`out=`: the result goes into a tensor that is there, checked as in PyTorch."""

import numpy as np
import pytest

import autolab

WITH_OUT = {
    "exp": lambda T, x, out: T.exp(x, out=out),
    "add": lambda T, x, out: T.add(x, 1, alpha=2, out=out),
    "lerp": lambda T, x, out: T.lerp(x, 2 * x, 0.5, out=out),
    "digamma": lambda T, x, out: T.digamma(x, out=out),
    "cumsum": lambda T, x, out: T.cumsum(x, 0, out=out),
    "where": lambda T, x, out: T.where(x > 1, x, -x, out=out),
    "full": lambda T, x, out: T.full((3,), 2.5, out=out),
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_the_result_is_written_there_and_given_back(torch, name):
    outs = []
    for T in (autolab, torch):
        out = T.zeros(3, dtype=T.float64)
        assert WITH_OUT[name](T, T.tensor([0.5, 1.5, 2.5], dtype=T.float64), out) is out
        outs.append(out.numpy())
    np.testing.assert_allclose(*outs, rtol=1e-12)


@pytest.mark.parametrize(("name", "args"), {"rand": (3,), "randn": (3,), "randint": (5, 9, (3,)), "randperm": (3,)}.items())
def test_random_numbers_are_drawn_into_it_in_its_dtype(name, args, torch):
    for T in (autolab, torch):
        out = T.full((3,), -1.0, dtype=T.float64)
        assert getattr(T, name)(*args, out=out) is out
        assert (out != -1).any() and out.dtype is T.float64


def test_a_keyword_that_nobody_knows_is_refused(torch):
    for T in (autolab, torch):
        with pytest.raises(TypeError, match="dtyp"):
            T.randn(3, dtyp=T.float64)


def test_two_results_go_into_two_tensors():
    values, indices = autolab.zeros(2), autolab.zeros(2, dtype=autolab.int64)
    result = autolab.sort(autolab.tensor([2.0, 1.0]), out=(values, indices))
    assert result.values is values
    assert (values.tolist(), indices.tolist()) == ([1, 2], [1, 0])


def test_a_smaller_category_is_refused(torch):
    for T in (autolab, torch):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
            T.exp(T.ones(2), out=T.zeros(2, dtype=T.int64))


def test_a_larger_dtype_is_filled(torch):
    for T in (autolab, torch):
        assert T.add(T.tensor([1, 2]), 1, out=T.zeros(2, dtype=T.float64)).tolist() == [2.0, 3.0]


def test_another_shape_is_resized_with_a_warning(torch):
    for T in (autolab, torch):
        out = T.zeros(2)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape"):
            T.exp(T.zeros(3), out=out)
        assert out.tolist() == [1, 1, 1]


def test_an_empty_tensor_is_resized_in_silence(torch):
    for T in (autolab, torch):
        assert T.mul(T.ones(3), 2, out=T.empty(0)).tolist() == [2, 2, 2]


def test_no_gradient_is_lost_without_a_word(torch):
    for T in (autolab, torch):
        x = T.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
            T.exp(x, out=T.zeros(2))
        with T.no_grad():
            assert T.exp(x * 0, out=T.zeros(2)).tolist() == [1, 1]


def test_memory_that_overlaps_is_refused(torch):
    for T in (autolab, torch):
        x = T.arange(4.0)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            T.exp(x[:-1], out=x[1:])
        with pytest.raises(RuntimeError, match="unsupported operation: more than one element of the written-to tensor"):
            T.exp(x, out=T.zeros(1).expand(4))


def test_the_input_itself_is_no_overlap(torch):
    for T in (autolab, torch):
        x = T.zeros(3)
        assert T.exp(x, out=x).tolist() == [1, 1, 1]


def test_what_was_saved_is_known_to_be_overwritten():
    x, out = autolab.ones(2, requires_grad=True), autolab.ones(2)
    y = x * out
    autolab.neg(autolab.ones(2), out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
