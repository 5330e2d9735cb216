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
    for t in (
        lib.randn(2, 3),
        lib.tensor(2.0),
        lib.ones(2, requires_grad=True),
        lib.ones(2, dtype=lib.bfloat16),
        lib.nn.Parameter(lib.ones(2)),
    ):
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


ONE_ENTRY = (
    "x.cumsum(0)", "x.cumprod(0)", "x.logcumsumexp(0)", "x.max(0)[0]", "x.min(0).values", "x.gather(0, lib.tensor(0))", "x.sum(0)",
    "x.amax()", "x.sort()[0]", "x.softmax(0)", "x.clone()", "x.flip(())", "x.roll(1)", "x.nan_to_num()", "x.index_select(0, lib.tensor(0))",
)  # fmt: skip


@pytest.mark.parametrize("call", ONE_ENTRY)
def test_a_result_of_one_number_is_not_the_input(lib, call):
    x = lib.tensor(2.0)
    x.numpy()  # from now on an array, not a number
    out = eval(call)
    out.add_(5)
    assert x.item() == 2 and not out._is_view()


def test_a_row_that_is_looked_up_is_a_copy(lib):
    weight = lib.ones(3, 2)
    lib.nn.functional.embedding(lib.tensor(1), weight).zero_()
    assert weight.all()


LIKE_THE_INPUT = (
    "x.diff(0)", "lib.chain_matmul(x[0])", "x.rot90(4)", "lib.nn.functional.unfold(x, 1)", "lib.nn.functional.pixel_shuffle(x, 1)",
    "lib.nn.functional.pixel_unshuffle(x, 1)", "lib.channel_shuffle(x, 1)",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated:UserWarning")
@pytest.mark.parametrize("call", LIKE_THE_INPUT)
def test_a_result_that_looks_like_the_input_is_a_copy(lib, call):
    x = lib.ones(1, 2, 2)
    out = eval(call)
    out.zero_()
    assert x.all() and not out._is_view()


OF_THEIR_OWN = (
    "x.roll(1)", "x.rot90()", "x.take(lib.tensor([0]))", "x.put(lib.tensor([0]), lib.ones(1))", "x.index_copy(0, lib.tensor([0]), x[:1])",
    "x[0] @ x", "lib.ones(2, 2, 2) @ x[0]", "x[0] @ lib.ones(2, 2, 2)", "lib.kron(x, x)", "x.quantile(0.5)",
    "x.quantile(0.5, 0)", "lib.cumulative_trapezoid(x)", "lib.gradient(x)[0]", "lib.linalg.matrix_norm(x, 1)", "lib.linalg.norm(x, 1)",
    "lib.linalg.solve(lib.eye(2), x[0])", "lib.linalg.solve(lib.eye(2).repeat(2, 1, 1), x)", "lib.group_norm(x[None], 2)",
)  # fmt: skip


@pytest.mark.parametrize("call", OF_THEIR_OWN)
def test_a_result_whose_last_step_looks_at_something_made_on_the_way_is_no_view(lib, call):
    x = lib.ones(2, 2, requires_grad=True) * 2
    out = eval(call, {"lib": lib, "x": x})
    assert not out._is_view() and out._base is None
    before = out.grad_fn
    out += 1
    assert out.grad_fn.name() == "AddBackward0" and out.grad_fn.next_functions[0][0] is before
    assert out.detach_().is_leaf


VIEWS = ("lib.einsum('ij->ji', x)", "lib.einsum('ij', x)", "lib.einsum('ii->i', x)", "x.ravel()", "x[0].ravel()")


@pytest.mark.parametrize("call", VIEWS)
def test_a_result_that_only_looks_at_the_input_is_a_view_of_it(lib, call):
    x = lib.ones(2, 2)
    view = eval(call)
    assert view._base is x
    view.zero_()
    assert x._version == 1 and not x.all()


@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad now defaults to obj.requires_grad:UserWarning")
def test_asarray_and_broadcast_tensors_give_back_what_fits(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    assert lib.asarray(x) is x and lib.asarray(y) is y and lib.asarray(y, requires_grad=True) is y
    assert lib.asarray(x, copy=True).grad_fn.name() == "CloneBackward0" and lib.asarray(x, dtype=lib.float64).requires_grad
    assert not lib.asarray(y, requires_grad=False, copy=True).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        lib.asarray(x, dtype=lib.int64)
    same, stretched = lib.broadcast_tensors(x, lib.ones(1))
    assert same is x and stretched.shape == (2,) and stretched._is_view()
