"""One function of each tensor in a list, as optimizers for PyTorch call them."""

import pytest


def test_a_function_of_each_tensor_comes_in_a_tuple(lib):
    xs = [lib.tensor([1.0, 2.0]), lib.tensor(3.0)]
    assert [t.tolist() for t in lib._foreach_mul(xs, 2)] == [[2, 4], 6]
    assert [t.tolist() for t in lib._foreach_add(xs, [lib.tensor(1.0), lib.tensor(2.0)], alpha=10)] == [[11, 12], 23]


def test_the_form_with_an_underscore_writes(lib):
    xs = [lib.tensor([1.0, 2.0]), lib.tensor(3.0)]
    lib._foreach_addcdiv_(xs, xs, [lib.tensor(2.0), lib.tensor(3.0)], 4)
    lib._foreach_maximum_(xs, 4)
    assert [t.tolist() for t in xs] == [[4, 6], 7]


def test_gradients_flow_through_a_list(lib):
    xs = [lib.tensor(1.0, requires_grad=True), lib.tensor(2.0, requires_grad=True)]
    sum(lib._foreach_pow(xs, 3)).backward()
    assert [x.grad.item() for x in xs] == [3, 12]


def test_a_list_of_another_length_is_refused(lib):
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors"):
        lib._foreach_add([lib.ones(1)], [lib.ones(1), lib.ones(1)])
