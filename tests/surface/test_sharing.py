"""Arrays of other libraries and tensors are one memory; copies are not."""

import copy
import pickle

import numpy as np
import pytest

import autolab


def test_an_array_of_a_tensor_is_its_memory(lib):
    for t in (lib.zeros(3), lib.tensor(0.0), lib.zeros(2, 3).t(), lib.zeros(2, dtype=lib.int32)):
        for array in (np.asarray(t), t.numpy(), np.from_dlpack(t)):
            value = t.sum().item() + 1
            t.fill_(value)
            assert (np.asarray(array) == value).all()


def test_a_tensor_of_an_array_is_its_memory(lib):
    array = np.zeros((2, 3), np.float32)
    for t in (lib.from_numpy(array), lib.as_tensor(array), lib.from_dlpack(array)):
        t += 1
    assert (array == 3).all()


def test_memory_goes_to_pytorch_and_back(torch):
    ours = autolab.zeros(3)
    theirs = torch.from_dlpack(ours)
    theirs[1] = 5
    back = autolab.from_dlpack(theirs)
    back[0] = 7
    assert ours.tolist() == theirs.tolist() == [7, 5, 0]
    assert ours.__dlpack_device__() == (1, 0)


def test_numpy_may_ask_for_a_copy_or_another_dtype():
    t = autolab.ones(2)
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    np.array(t)[0] = 9
    assert t.tolist() == [1, 1]


def test_what_requires_grad_is_not_handed_out(lib):
    t = lib.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        np.asarray(t)
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach()"):
        np.from_dlpack(t)
    with pytest.raises((AttributeError, TypeError, RuntimeError)):
        lib.from_dlpack([1, 2])


COPIES = pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])


@COPIES
def test_a_copied_tensor_is_the_same_and_another(lib, copied):
    for t in (lib.randn(2, 3), lib.tensor(2.0), lib.ones(2, requires_grad=True), lib.ones(2, dtype=lib.bfloat16), lib.nn.Parameter(lib.ones(2))):
        other = copied(t)
        assert type(other) is type(t) and repr(other) == repr(t)
        other.detach().fill_(9)
        assert not lib.equal(other, t)


@COPIES
def test_what_was_noted_on_a_tensor_is_copied_too(lib, copied):
    t = lib.ones(2)
    t.note = ["mine"]
    assert copied(t).note == ["mine"] and copied(t).note is not t.note


@COPIES
def test_a_copied_module_is_on_its_own(lib, copied):
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Dropout(0.3))
    model[0].bias.requires_grad_(False)
    other = copied(model.eval())
    assert repr(other) == repr(model) and not other.training and not other[0].bias.requires_grad
    with lib.no_grad():
        other[0].weight.zero_()
    assert model[0].weight.abs().sum() > 0


@COPIES
def test_a_parameter_used_twice_is_one_parameter_in_the_copy(lib, copied):
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    other = copied(model)
    assert other[0].weight is other[1].weight and other[0].weight is not model[0].weight


def test_a_deep_copy_takes_the_gradient_along_and_refuses_results(lib):
    x = lib.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    other = copy.deepcopy(x)
    assert other.grad.tolist() == [2, 2] and other.grad is not x.grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
