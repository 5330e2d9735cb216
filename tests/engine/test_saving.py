"""What a result remembers: as little as its rules ask for, and only as it was."""

import numpy as np
import pytest

import autolab as torch
from autolab.engine.op import ELEMENTWISE, Op


def saved(y):
    return [value.name for value in y.grad_fn.saved_values()]


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


@pytest.fixture
def c():
    return torch.tensor([4.0, 5.0, 6.0])


def test_a_product_saves_only_the_factor_that_some_gradient_needs(x, c):
    (kept,) = (x * c).grad_fn.saved_values()
    assert kept.name == "y" and kept.value is c.payload
    (kept,) = (c * x).grad_fn.saved_values()
    assert kept.name == "x" and kept.value is c.payload
    assert sorted(saved(x * x)) == ["x", "y"]


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "sqrt"])
def test_a_function_of_its_own_result_saves_the_result_and_not_the_input(x, name):
    y = getattr(x, name)()
    (kept,) = y.grad_fn.saved_values()
    assert kept.name == "out" and kept.value is y.payload


def test_a_sum_of_two_saves_nothing(x, c):
    assert saved(x + c) == []
    assert saved(x - x) == []


def test_a_reduction_saves_the_shape_and_no_values(x):
    assert not any(isinstance(value.value, np.ndarray) for value in x.sum().grad_fn.saved_values())


def test_a_matrix_product_saves_only_the_matrix_that_some_gradient_needs():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4)
    (kept,) = (a @ b).grad_fn.saved_values()
    assert kept.name == "y" and kept.value is b.payload


def test_nothing_is_saved_where_nothing_is_recorded(x, c):
    assert (c * c).grad_fn is None
    with torch.no_grad():
        assert (x * x).grad_fn is None


def test_saved_values_are_gone_once_the_graph_is_freed(x):
    y = x.exp()
    node = y.grad_fn
    assert not node.is_freed()
    y.sum().backward()
    assert node.is_freed() and [v.value for v in node.saved_values()] == [None]


def test_saved_values_stay_if_the_graph_is_retained(x):
    y = x.exp()
    y.sum().backward(retain_graph=True)
    assert not y.grad_fn.is_freed() and y.grad_fn.saved_values()[0].value is y.payload


# -- as it was ----------------------------------------------------------------------------------------


def test_a_result_that_was_saved_may_not_be_written_to(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


def test_an_input_that_was_saved_may_not_be_written_to(lib):
    x, c = lib.tensor([1.0, 2.0], requires_grad=True), lib.ones(2)
    y = (x * c).sum()
    c.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        y.backward()


def test_what_was_not_saved_may_be_written_to(lib):
    x, c = lib.tensor([1.0, 2.0], requires_grad=True), lib.ones(2)
    y = (x + c).sum() + (c * x).detach().sum()
    c.add_(1)
    y.backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_parameter_may_be_updated_if_its_value_was_not_saved(lib):
    x, w = lib.tensor([1.0, 2.0]), lib.ones(2, requires_grad=True)
    y = (x * w).sum()
    with lib.no_grad():
        w.add_(1)
    y.backward()
    assert w.grad.tolist() == [1.0, 2.0]


def test_a_parameter_may_not_be_updated_if_its_value_was_saved(lib):
    x, w = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    y = (x * w).sum()
    with lib.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        y.backward()


def test_a_write_through_a_view_is_noticed(lib):
    x, c = lib.ones(2, requires_grad=True), lib.ones(4)
    y = (x * c[:2]).sum()
    c[3] = 7.0
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.backward()


def test_a_write_through_detach_is_noticed_and_one_through_data_is_not(lib):
    x, c, d = lib.ones(2, requires_grad=True), lib.ones(2), lib.ones(2)
    y, z = (x * c).sum(), (x * d).sum()
    c.detach().zero_()
    d.data.zero_()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.backward()
    z.backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_the_version_message_names_value_node_dtype_shape_and_versions(x, c):
    y = x.exp()
    y.mul_(2).add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    assert "[torch.FloatTensor [3]], which is output 0 of ExpBackward0, is at version 2; expected version 0 instead" in str(caught.value)
    for phrase in ("`out` of ExpBackward0", "float32 of shape [3]", "is at version 2; expected version 0", "out-of-place"):
        assert phrase in str(caught.value)
    z = x * c
    c.zero_()
    with pytest.raises(RuntimeError, match=r"operation: \[torch.FloatTensor \[3\]\] is at version 1.*\n.*`y` of MulBackward0"):
        z.sum().backward()


def test_a_modified_value_is_shown_as_such(x, c):
    z = x * c
    assert [v.version_ok for v in z.grad_fn.saved_values()] == [True]
    c.add_(1)
    assert [v.version_ok for v in z.grad_fn.saved_values()] == [False]


def test_a_refused_pass_leaves_no_gradient_behind(x):
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError):
        y.sum().backward()
    assert x.grad is None and torch.is_grad_enabled()


def test_what_the_rules_that_run_do_not_need_is_none(lib):
    a, b = lib.ones(2, requires_grad=True), lib.ones(2)
    node = (a * b).grad_fn
    assert node._saved_self is None and node._saved_other.equal(b) and node.requires_grad
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor with value None is forbidden"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_an_index_is_freed_as_a_saved_value_is(lib):
    x = lib.arange(3.0).requires_grad_()
    for y in (x[[2, 2]].sum(), lib.zeros(3).index_put((lib.tensor([0, 1]),), x[:2]).sum()):
        y.backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            y.backward()


def test_a_kept_tensor_that_is_alive_is_that_very_tensor(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * 3
    z = y * (y + 1)
    assert z.grad_fn._saved_self is y and z.grad_fn._raw_saved_self.data is y
    e = z.exp()
    assert e.grad_fn._saved_result is not e  # it would keep its own node alive


def test_what_has_no_derivative_says_so_in_backward(lib):
    values = lib.unique(lib.tensor([2.0, 1.0, 2.0], requires_grad=True), return_counts=True)[0]
    assert values.requires_grad and values.grad_fn.name() == "Unique2Backward0"
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2' is not implemented"):
        values.sum().backward()


def scaled_by_default(**details):
    return Op("scaled", lambda x: 3 * x, ELEMENTWISE, **details)


@pytest.mark.parametrize("rule", [lambda g, factor=3: g * factor, lambda g, x_shape, factor=3: g * factor + 0 * x_shape[0]])
def test_a_parameter_that_names_no_value_keeps_its_default(rule):
    x = torch.ones(2, requires_grad=True)
    row = scaled_by_default(x=rule)
    assert torch.autograd.grad(row(x).sum(), x)[0].tolist() == [3.0, 3.0]
    assert torch.func.grad(lambda x: row(x).sum())(x.detach()).tolist() == [3.0, 3.0]
    assert torch.func.jvp(row, (x.detach(),), (x.detach(),))[1].tolist() == [3.0, 3.0]


def test_a_default_is_kept_in_a_compiled_program():
    x = torch.ones(2, requires_grad=True)
    row = scaled_by_default(x=lambda g, factor=3: g * factor)
    torch.compile(lambda x: row(x).sum())(x).backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_default_is_kept_where_nothing_is_generated(monkeypatch):
    monkeypatch.setattr("autolab.engine.op.CODEGEN", {})
    x = torch.ones(2, requires_grad=True)
    scaled_by_default(x=lambda g, factor=3: g * factor)(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_parameter_with_a_default_that_names_a_value_is_given_it():
    x = torch.ones(2, requires_grad=True)
    scaled_by_default(x=lambda g, x=None: 3 * g * x)(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_default_before_a_value_is_refused():
    with pytest.raises(TypeError, match="'factor', which keeps its default, before 'x': move it to the end"):
        scaled_by_default(x=lambda g, factor=3, x=None: g * factor)


def test_a_parameter_that_names_no_value_is_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="a rule asks for 'factor', which is not an input"):
        scaled_by_default(x=lambda g, factor: g * factor)(x)
