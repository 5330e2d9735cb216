"""What PyTorch warns of, it is warned of here. PyTorch gives some of these once in a process, so they are not told on both sides."""

import copy
import pickle

import pytest


@pytest.fixture
def x():
    import autolab

    return autolab.tensor([2.0], requires_grad=True)


def test_a_float_of_what_requires_grad_loses_its_gradient(x, recwarn):
    import autolab

    for convert in (float, lambda t: autolab.tensor([t])):
        with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior"):
            convert(x)
    assert (int(x), bool(x), x.item(), x.tolist(), float(x.detach()), f"{x.sum():.1f}") == (2, True, 2.0, [2.0], 2.0, "2.0")


@pytest.mark.parametrize("shape", [(3,), (1, 2, 3)])
def test_a_transpose_is_that_of_a_matrix(x, shape):
    with pytest.warns(UserWarning, match="The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated"):
        assert x.expand(shape).T.shape == shape[::-1]
    with pytest.warns(UserWarning, match="Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."):
        assert x.sum().T.shape == ()


def test_several_indices_come_in_a_tuple(x):
    m = x.detach().expand(3, 3).clone()
    for key in ([[0, 1], [0, 2]], [slice(0, 1), 0], [None, 0], [..., 0]):
        with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional indexing is deprecated"):
            assert m[key].tolist() == m[tuple(key)].tolist()
    assert m[[0, 1]].shape == (2, 3)


def test_hooks_are_not_pickled(lib):
    x = lib.ones(2, requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        assert not pickle.loads(pickle.dumps(x))._backward_hooks
    assert copy.deepcopy(x).requires_grad


def test_an_unserializable_hook_is_left_behind_without_a_word(lib):
    from importlib import import_module

    x = lib.ones(2, requires_grad=True)
    x.register_hook(import_module(f"{lib.__name__}.utils.hooks").unserializable_hook(lambda g: g))
    assert pickle.loads(pickle.dumps(x)).requires_grad


def test_only_inputs_is_what_grad_always_does(lib):
    x = lib.ones(2, requires_grad=True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        lib.autograd.grad(x.sum(), x, only_inputs=False)


def test_bytes_as_a_mask_are_deprecated(x):
    import autolab

    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead"):
        assert x[autolab.tensor([1], dtype=autolab.uint8)].shape == (1,)
