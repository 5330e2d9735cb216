"""The dtype in which a leaf collects its gradient. Both sides."""

import pytest


@pytest.fixture
def x(lib):
    return lib.tensor([1.0, 2.0], requires_grad=True)


def doubled_in_float64(lib):
    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.to(lib.float64) * 2

    return Doubled.apply


def test_it_is_that_of_the_leaf_unless_said_otherwise(lib, x):
    assert x.grad_dtype is lib.float32
    x.grad_dtype = lib.float16
    assert x.grad_dtype is lib.float16
    x.grad_dtype = None
    assert x.grad_dtype is None


@pytest.mark.parametrize("name", ["float16", "float64", "bfloat16"])
def test_gradients_are_cast_to_it_when_they_arrive(lib, x, name):
    x.grad_dtype = getattr(lib, name)
    (x * 3).sum().backward()
    assert x.grad.dtype is getattr(lib, name) and x.grad.tolist() == [3.0, 3.0]
    (x * 3).sum().backward()
    assert x.grad.dtype is getattr(lib, name) and x.grad.tolist() == [6.0, 6.0]


def test_none_takes_gradients_as_they_come(lib, x):
    doubled_in_float64(lib)(x).sum().backward()
    assert x.grad.dtype is lib.float32
    x.grad = None
    x.grad_dtype = None
    doubled_in_float64(lib)(x).sum().backward()
    assert x.grad.dtype is lib.float64


def test_what_is_assigned_must_have_it(lib, x):
    x.grad_dtype = lib.float16
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype 'float' to a tensor with grad_dtype 'Half'"):
        x.grad = lib.ones(2)
    x.grad_dtype = None
    x.grad = lib.ones(2, dtype=lib.float64)
    assert x.grad.dtype is lib.float64


def test_it_cannot_change_under_a_gradient_or_belong_to_a_result(lib, x):
    x.grad = lib.ones(2)
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to 'Half' because there is already a gradient with dtype 'float'"):
        x.grad_dtype = lib.float16
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        (x * 2).grad_dtype  # noqa: B018
    with pytest.raises(RuntimeError, match="grad_dtype must be a torch.dtype or None"):
        x.grad_dtype = 3
