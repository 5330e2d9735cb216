"""The graph: what it is made of, how long it can be used, which part of it a pass walks."""

import warnings
from collections import UserDict

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
FREED = "Trying to backward through the graph a second time"


# -- nodes and edges ---------------------------------------------------------------------------------


def test_edges_lead_to_nodes_accumulators_and_nothing(lib):
    x, c = lib.tensor([2.0], requires_grad=True), lib.tensor([1.0])
    y = x * c + x
    (product, _), (accumulator, _) = y.grad_fn.next_functions
    assert (type(y.grad_fn).__name__, type(product).__name__) == ("AddBackward0", "MulBackward0")
    assert type(accumulator).__name__ == "AccumulateGrad" and accumulator.variable is x
    assert product.next_functions == ((accumulator, 0), (None, 0))
    assert accumulator.next_functions == ()


def test_a_leaf_has_one_accumulator_as_long_as_a_graph_holds_it(lib):
    x = lib.tensor([2.0], requires_grad=True)
    a, b = x * 2, x * 3
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0]


def test_a_node_says_which_gradients_it_expects(lib):
    x = lib.ones(2, 3, requires_grad=True)
    (product,) = (x * 2).grad_fn._input_metadata
    assert list(product.shape) == [2, 3] and product.dtype is lib.float32
    assert [list(m.shape) for m in x.unbind()[0].grad_fn._input_metadata] == [[3], [3]]


def test_the_first_gradient_of_a_recorded_pass_is_a_copy_into_new_memory(lib):
    x = lib.tensor([2.0], requires_grad=True)
    (x * x * x).backward(create_graph=True)
    assert type(x.grad.grad_fn).__name__ == "CopyBackwards"
    assert x.grad.grad_fn.next_functions[0] == (None, 0)


def test_an_edge_to_one_of_several_outputs_carries_its_number(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    first, second, third = x.unbind()
    product = second * third
    assert [t.output_nr for t in (first, second, third)] == [0, 1, 2]
    assert product.grad_fn.next_functions == ((second.grad_fn, 1), (third.grad_fn, 2))


def test_nodes_carry_metadata_of_ones_own(lib):
    y = lib.tensor([2.0], requires_grad=True) * 2
    y.grad_fn.metadata["where"] = "here"
    assert y.grad_fn.metadata == {"where": "here"}


def test_later_nodes_have_larger_numbers():
    import autolab as torch

    x = torch.tensor(1.0, requires_grad=True)
    a = x * 2
    b = a + x
    c = x * 3
    assert a.grad_fn.seq < b.grad_fn.seq < c.grad_fn.seq
    assert b.grad_fn.name() == "AddBackward0" and b.grad_fn.op.name == "add"


def test_leaves_and_constants_have_no_node(lib):
    x, c = lib.tensor(1.0, requires_grad=True), lib.tensor(1.0)
    assert x.is_leaf and x.grad_fn is None and x.requires_grad
    assert c.is_leaf and (c * 2).is_leaf and (c * 2).grad_fn is None
    assert not (x * c).is_leaf and (x * c).requires_grad
    assert not (x > c).requires_grad


def test_detach_cuts_the_path(lib):
    x = lib.tensor(3.0, requires_grad=True)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0


# -- how long it lasts ---------------------------------------------------------------------------------


def test_a_retained_graph_can_be_used_again(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x**3
    y.backward(retain_graph=True)
    assert x.grad.item() == 12.0
    y.backward()
    assert x.grad.item() == 24.0


def test_a_freed_graph_says_so_and_what_to_do(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x**3
    y.backward()
    with pytest.raises(RuntimeError, match=FREED) as caught:
        y.backward()
    assert "retain_graph=True" in str(caught.value)
    assert x.grad.item() == 12.0


def test_what_two_losses_share_is_freed_by_the_first(lib):
    x = lib.tensor(2.0, requires_grad=True)
    h = x * x
    (h * 3).backward()
    with pytest.raises(RuntimeError, match=FREED):
        (h * 5).backward()


def test_two_roots_of_one_retained_graph_add_up(lib):
    x = lib.tensor(2.0, requires_grad=True)
    h = x * x
    (h * 3).backward(retain_graph=True)
    (h * 5).backward()
    assert x.grad.item() == 32.0


def test_a_pass_frees_only_what_it_walked(lib):
    x = lib.tensor(3.0, requires_grad=True)
    h = x * x
    assert lib.autograd.grad(h * h, h)[0].item() == 18.0
    assert lib.autograd.grad(h, x)[0].item() == 6.0


def test_a_node_that_saves_no_values_is_never_freed(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x + 3
    y.backward()
    y.backward()
    assert x.grad.item() == 2.0


# -- part of it ------------------------------------------------------------------------------------------


def test_backward_gives_gradients_to_the_named_inputs_only(lib):
    x, w = lib.tensor(2.0, requires_grad=True), lib.tensor(3.0, requires_grad=True)
    y = x * w
    (y * y).backward(inputs=[x, y])
    assert (x.grad.item(), y.grad.item(), w.grad) == (36.0, 12.0, None)


def test_backward_leaves_an_input_alone_that_is_not_below_it(lib):
    x, w = lib.tensor(2.0, requires_grad=True), lib.tensor(3.0, requires_grad=True)
    (x * 2).backward(inputs=[w])
    assert x.grad is None and w.grad is None


@pytest.mark.parametrize("start", ["backward", "grad"])
def test_the_tensor_hooks_of_one_root_run_whatever_is_asked_for(lib, start):
    x, w, seen = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor(3.0, requires_grad=True), []

    def go(*roots):
        if start == "backward":
            lib.autograd.backward(roots, inputs=[w])
        else:
            assert lib.autograd.grad(roots, w, allow_unused=True) == (None,)

    y, z = (x * x).sum(), (x * 3).sum()
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.item()))
    z.register_hook(lambda g: seen.append(g.item()))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("after the node"))
    go(y)
    assert seen == [1.0] and y.grad.item() == 1.0
    go(y, z)
    assert seen == [1.0] and x.grad is None and w.grad is None
    leaf = lib.tensor(2.0, requires_grad=True)
    leaf.register_hook(lambda g: seen.append(g.item() + 1))
    leaf.register_post_accumulate_grad_hook(seen.append)
    go(leaf)
    assert seen == [1.0, 2.0] and leaf.grad is None


def test_grad_returns_gradients_and_touches_none(lib):
    x, w = lib.tensor(2.0, requires_grad=True), lib.tensor(3.0, requires_grad=True)
    got = lib.autograd.grad(x * w, [x, w])
    assert [g.item() for g in got] == [3.0, 2.0]
    assert x.grad is None and w.grad is None


def test_inputs_may_have_names(lib):
    x, y = lib.tensor([2.0], requires_grad=True), lib.tensor([3.0], requires_grad=True)
    found = lib.autograd.grad(x * x, {"x": x, 7: y}, allow_unused=True)
    assert found["x"].tolist() == [4.0] and found[7] is None
    (x * y).backward(inputs={"y": y})
    assert x.grad is None and y.grad.tolist() == [2.0]


def test_grad_may_be_asked_for_one_input_twice_and_for_the_output_itself(lib):
    x = lib.tensor(3.0, requires_grad=True)
    y = x * x
    assert [g.item() for g in lib.autograd.grad(y, [x, y, x])] == [6.0, 1.0, 6.0]


def test_grad_for_outputs_of_one_node_tells_them_apart(lib):
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    a, b = x.split(2)
    gb, ga, gx = lib.autograd.grad((a * b * b).sum(), [b, a, x])
    assert gb.tolist() == [6.0, 16.0] and ga.tolist() == [9.0, 16.0]
    assert gx.tolist() == [9.0, 16.0, 6.0, 16.0]


def test_grad_of_an_unused_input_is_none_or_zeros_as_asked(lib):
    x, w = lib.tensor(2.0, requires_grad=True), lib.tensor([3.0, 4.0], requires_grad=True)
    y = x * 2
    assert lib.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True)[1] is None
    assert lib.autograd.grad(y, [x, w], materialize_grads=True)[1].tolist() == [0.0, 0.0]


def test_grad_weighs_the_entries_of_its_outputs(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    (g,) = lib.autograd.grad(x * x, x, lib.tensor([10.0, 100.0]))
    assert g.tolist() == [20.0, 400.0]


def test_a_weight_of_another_float_type_is_converted(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(lib.ones(2, dtype=lib.float64))
    assert x.grad.dtype == lib.float32


# -- second derivatives ------------------------------------------------------------------------------------


def test_gradients_of_gradients_come_from_the_same_engine(lib):
    x = lib.tensor(2.0, requires_grad=True)
    (first,) = lib.autograd.grad(x**4, x, create_graph=True)
    (second,) = lib.autograd.grad(first, x, create_graph=True)
    (third,) = lib.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (32.0, 48.0, 48.0)
    assert first.requires_grad and not third.requires_grad


def test_create_graph_retains_the_graph(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x**3
    lib.autograd.grad(y, x, create_graph=True)
    y.backward(create_graph=True)
    y.backward()
    assert x.grad.item() == 24.0


def test_create_graph_records_even_within_no_grad(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x**3
    with lib.no_grad():
        (g,) = lib.autograd.grad(y, x, create_graph=True)
    assert g.requires_grad


def test_without_create_graph_a_gradient_is_a_constant(lib):
    x = lib.tensor(2.0, requires_grad=True)
    (x**3).backward()
    assert not x.grad.requires_grad and x.grad.grad_fn is None


def test_the_weights_of_a_recorded_pass_are_differentiated_too(lib):
    x, v = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 5.0], requires_grad=True)
    (g,) = lib.autograd.grad(x**3, x, v, create_graph=True)
    to_x, to_v = lib.autograd.grad(g.sum(), [x, v])
    assert to_x.tolist() == [18.0, 60.0] and to_v.tolist() == [3.0, 12.0]


def test_backward_with_create_graph_warns_of_the_cycle_it_makes():
    import autolab as torch

    x = torch.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match=r"create_graph=True will create a reference cycle") as caught:
        (x**3).backward(create_graph=True)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x**3).backward()


# -- messages ------------------------------------------------------------------------------------------------


def ask(lib, **more):
    """Names for the snippets below."""
    return {
        "torch": lib, "UserDict": UserDict, "backward": lib.autograd.backward, "grad": lib.autograd.grad, "c": lib.tensor(2.0),
        "s": lib.tensor(2.0, requires_grad=True), "w": lib.tensor(3.0, requires_grad=True),
        "x": lib.tensor([2.0, 3.0], requires_grad=True), "i": lib.tensor([1, 2]),
    }  # fmt: skip


# snippet, error, opening words that both have, what only autolab adds
MESSAGES = [
    ("(x * x).backward()", RuntimeError,
     "grad can be implicitly created only for scalar outputs", ["[2]", "gradient=", ".sum()"]),
    ("c.backward()", RuntimeError,
     "element 0 of tensors does not require grad and does not have a grad_fn", ["no_grad()"]),
    ("backward([s * 2, c])", RuntimeError,
     "element 1 of tensors does not require grad and does not have a grad_fn", []),
    ("grad(c * 2, [c])", RuntimeError,
     "element 0 of tensors does not require grad", []),
    ("grad(s * 2, [s, c])", RuntimeError,
     "One of the differentiated Tensors does not require grad", []),
    ("grad(s * 2, [s, w])", RuntimeError,
     "The differentiated Tensor at index 1 appears to not have been used", ["allow_unused=True"]),
    ("grad(s * 2, [])", RuntimeError,
     "`inputs` argument to `grad()` cannot be empty", []),
    ("(s * 2).backward(inputs=[])", RuntimeError,
     "`inputs` argument to `backward()` cannot be empty", []),
    ("(s * 2).backward(inputs=[c])", RuntimeError,
     "can't retain_grad on Tensor that has requires_grad=False", []),
    ("grad(s, s, allow_unused=False, materialize_grads=True)", ValueError,
     "Expected allow_unused to be True or not passed", []),
    ("(x * x).backward(torch.ones(3))", RuntimeError,
     "Mismatch in shape: grad_output[0] has a shape of torch.Size([3])", ["output[0] has a shape of torch.Size"]),
    ("(x * x).backward([1.0, 2.0])", TypeError,
     "gradients can be either Tensors or None, but got float", []),
    ("backward([x * x, x * 2], [torch.ones(2)])", RuntimeError,
     "got 2 tensors and 1 gradients", []),
    ("torch.tensor([1, 2], requires_grad=True)", RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients", []),
    ("i.requires_grad_()", RuntimeError,
     "only Tensors of floating point dtype can require gradients", ["int64", "float"]),
    ("(x * 2).requires_grad_(False)", RuntimeError,
     "you can only change requires_grad flags of leaf variables", ["detach"]),
    ("x.numpy()", RuntimeError,
     "Can't call numpy() on Tensor that requires grad", ["detach().numpy()"]),
    ("setattr(s, 'grad', 3)", TypeError,
     "assigned grad expected to be a Tensor or None", []),
    ("setattr(s, 'grad', s)", RuntimeError,
     "can't assign Variable as its own grad", []),
    ("setattr(x, 'grad', torch.ones(3))", RuntimeError,
     "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'", []),
    ("setattr(x, 'grad', torch.ones(2, dtype=torch.float64))", RuntimeError,
     "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'. The gradient must match the tensor's", []),
    ("setattr(x, 'grad', torch.tensor([1, 2]))", RuntimeError,
     "attempting to assign a gradient with dtype 'long int' to a tensor with grad_dtype 'Float'", []),
    ("setattr(x, 'requires_grad', 3)", RuntimeError,
     "requires_grad must be a bool", ["int"]),
    ("x.requires_grad_(3)", TypeError,
     "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not int", []),
    ("setattr(i, 'requires_grad', True)", RuntimeError,
     "only Tensors of floating point and complex dtype can require gradients", ["int64"]),
    ("torch.nn.Parameter(i)", RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients", ["int64"]),
    ("delattr(x, 'requires_grad')", RuntimeError,
     "requires_grad must be a bool", []),
    ("delattr(x, 'data')", RuntimeError,
     "Deleting tensor data is not allowed. Delete tensor instead!", []),
    ("backward(s * 2, inputs=UserDict(s=s))", TypeError,
     "`inputs` argument to `backward()` must be a dict, not UserDict. Other Mapping types are not supported", ["dict(inputs)"]),
    ("grad(s * 2, UserDict(s=s))", TypeError,
     "`inputs` argument to `grad()` must be a dict, not UserDict. Other Mapping types are not supported", []),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening", "more"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_what_cannot_be_asked_is_refused_in_pytorchs_opening_words(lib, snippet, error, opening, more):
    with pytest.raises(error) as caught:
        eval(snippet, ask(lib))
    assert str(caught.value).startswith(opening)
    assert lib.__name__ == "torch" or [p for p in more if p not in str(caught.value)] == []


def test_grad_variables_is_the_old_name_of_grad_tensors(lib):
    x = lib.ones(2, requires_grad=True)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead."):
        lib.autograd.backward(x * 2, grad_variables=lib.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="arguments both passed to `backward"):
        lib.autograd.backward(x * 2, lib.ones(2), grad_variables=lib.ones(2))


def test_asking_a_result_for_its_gradient_warns(lib):
    y = lib.tensor(2.0, requires_grad=True) * 2
    with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_numbers_given_by_hand_decide_among_the_nodes_that_could_run_next(lib):
    x = lib.ones(2, requires_grad=True)
    a, b = x * 2, x * 3
    c = a + b
    order: list[str] = []
    for name, node, number in (("a", a.grad_fn, 100), ("b", b.grad_fn, 99), ("c", c.grad_fn, 98)):
        node._set_sequence_nr(number)
        node.register_prehook(lambda g, name=name: order.append(name))
    c.sum().backward()
    assert order == ["c", "a", "b"] and x.grad.tolist() == [5, 5]


def test_a_node_cannot_be_pickled(lib):
    import pickle

    node = (lib.ones(2, requires_grad=True) * 2).grad_fn
    for one, name in ((node, "MulBackward0"), (node.next_functions[0][0], "AccumulateGrad")):
        with pytest.raises(TypeError, match=f"cannot pickle '{name}' object"):
            pickle.dumps(one)


def test_an_accumulator_has_the_highest_number_of_all(lib):
    node = (lib.ones(2, requires_grad=True) * 2).grad_fn
    assert node.next_functions[0][0]._sequence_nr() == 2**64 - 1
