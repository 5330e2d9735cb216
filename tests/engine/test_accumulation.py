"""Gradients add: where paths meet, from call to call, and without touching anybody else's numbers."""

import numpy as np
import pytest

# PyTorch and autolab warn of the cycle x -> x.grad -> graph -> x; these tests make it on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


def test_gradients_add_when_a_tensor_is_used_twice(lib):
    x = lib.tensor(3.0, requires_grad=True)
    (x * x + x).backward()
    assert x.grad.item() == 7.0


def test_gradients_add_from_one_backward_to_the_next(lib):
    x = lib.tensor(3.0, requires_grad=True)
    (x * 2).backward()
    (x * 5).backward()
    assert x.grad.item() == 7.0


def test_a_gradient_does_not_fit_one_of_another_shape(lib):
    w = lib.ones(2, requires_grad=True)
    (w * w).sum().backward()
    w.data = lib.zeros(3)
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0"
    ):
        (w * w).sum().backward()


def test_a_gradient_is_not_stretched_to_one_of_another_shape(lib):
    w = lib.ones(1, requires_grad=True)
    (w * w).sum().backward()
    w.data = lib.zeros(3)
    with pytest.raises(RuntimeError, match=r"output with shape \[1\] doesn't match the broadcast shape \[3\]"):
        (w * w).sum().backward()


def test_a_diamond_of_24_storeys_is_walked_once_and_not_2_to_the_24_times(lib):
    x = lib.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(24):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**24


def test_each_node_fires_once_with_its_whole_incoming_gradient(lib):
    x = lib.tensor(1.0, requires_grad=True)
    a = x * 2
    seen = []
    a.register_hook(lambda g: seen.append(g.item()))
    (a * 3 + a * 4 + a).backward()
    assert seen == [8.0]


def test_a_leaf_hook_sees_the_sum_of_all_paths_once(lib):
    x = lib.tensor(1.0, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 3 + (x * 2) * x).backward()
    assert seen == [7.0]


def test_nodes_fire_in_reverse_order_of_creation():
    import autolab as torch

    x = torch.tensor(1.0, requires_grad=True)
    a, fired = x * 2, []
    b, c = a * 3, a * 4
    d = b * c
    for name, t in (("a", a), ("b", b), ("c", c), ("d", d)):
        t.grad_fn.register_hook(lambda inputs, outputs, name=name: fired.append(name))
    d.backward()
    assert fired == ["d", "c", "b", "a"]


def test_unbind_waits_for_the_gradients_of_all_its_outputs(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, b, c = x.unbind()
    assert a.grad_fn is b.grad_fn is c.grad_fn
    (a * b + b * c).backward()
    assert x.grad.tolist() == [2.0, 4.0, 2.0]


def test_an_output_nobody_used_contributes_zeros(lib):
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    _, second = x.split(2)
    (second * second).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 6.0, 8.0]


@pytest.mark.parametrize("one", [lambda x: x.split(5), lambda x: x.chunk(1), lambda x: x[:1].unbind()])
def test_a_split_into_one_piece_is_differentiated_like_any_other(lib, one):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    (piece,) = one(x)
    (piece * piece).sum().backward()
    assert x.grad.tolist()[0] == 2.0


def test_max_over_a_dim_sends_its_gradient_to_the_entry_it_took(lib):
    x = lib.tensor([[1.0, 5.0, 3.0], [9.0, 2.0, 8.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    values.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    assert not indices.requires_grad


def test_several_roots_add_up_even_if_one_is_inside_the_other(lib):
    x = lib.tensor([2.0, 3.0], requires_grad=True)
    h = x * x
    lib.autograd.backward([h, h.sum(), x], [lib.ones(2), None, lib.tensor([10.0, 20.0])])
    assert x.grad.tolist() == [18.0, 32.0]


def test_a_root_given_twice_counts_twice(lib):
    x = lib.tensor(3.0, requires_grad=True)
    y = x * x
    lib.autograd.backward([y, y])
    assert x.grad.item() == 12.0


def test_backward_from_a_leaf_gives_it_the_gradient_itself(lib):
    x = lib.tensor(2.0, requires_grad=True)
    x.backward()
    x.backward()
    assert x.grad.item() == 2.0
    assert lib.autograd.grad(x, x)[0].item() == 1.0


def test_two_losses_may_share_a_part_that_saves_nothing(lib):
    x = lib.tensor(2.0, requires_grad=True)
    h = x + 1
    (h * 3).backward()
    (h * 5).backward()
    assert x.grad.item() == 8.0


# -- nobody else's numbers ---------------------------------------------------------------------------


def addresses(*tensors):
    return {t.data_ptr() for t in tensors}


@pytest.mark.parametrize("create_graph", [False, True])
def test_two_leaves_never_share_one_gradient(lib, create_graph):
    x, y = (lib.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    given = lib.tensor([1.0, 1.0])
    (x + y).backward(given, create_graph=create_graph)
    assert len(addresses(x.grad, y.grad, given)) == 3


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_retained_gradient_is_a_copy(lib, create_graph):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y, given = x + 0, lib.tensor([1.0, 1.0])
    y.retain_grad()
    y.backward(given, create_graph=create_graph)
    assert len(addresses(x.grad, y.grad, given)) == 3


def test_zeroing_a_gradient_in_place_changes_no_other(lib):
    x, y = (lib.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    given = lib.tensor([5.0, 6.0])
    (x + y).backward(given)
    x.grad.zero_()
    assert y.grad.tolist() == given.tolist() == [5.0, 6.0]


def test_a_gradient_is_never_a_saved_value():
    import autolab as torch

    x, c = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    y = (x * c).sum()
    y.backward(retain_graph=True)
    x.grad.zero_()
    assert c.tolist() == [3.0, 4.0]
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_a_gradient_seen_by_a_hook_keeps_its_numbers_when_more_is_accumulated():
    import autolab as torch

    x, kept = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_hook(kept.append)
    for _ in range(2):
        (x * 3).sum().backward()
    assert [g.tolist() for g in kept] == [[3.0, 3.0], [3.0, 3.0]]
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.speed
def test_a_gradient_that_nobody_else_holds_is_taken_over_without_a_copy():
    import autolab as torch

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            g = g * 2
            made.append(g.data_ptr())
            return g

    made, x = [], torch.tensor([1.0, 2.0], requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.data_ptr() == made[0]


def test_the_gradient_of_a_view_is_accumulated_apart_from_its_source():
    import autolab as torch

    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    given = torch.ones(2, 2)
    x.reshape(2, 2).backward(given)
    x.grad.zero_()
    assert given.sum().item() == 4.0


def test_accumulation_writes_into_the_gradient_that_is_there(lib):
    x = lib.tensor([2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward()
    assert x.grad is first
    assert first.tolist() == [8.0, 12.0]


def test_accumulation_is_a_write_that_is_noticed(lib):
    x, w = lib.tensor([2.0, 3.0], requires_grad=True), lib.ones(2, requires_grad=True)
    (x * x).sum().backward()
    penalty = (w * x.grad).sum()
    (x * x).sum().backward()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        penalty.backward()


def test_a_gradient_that_the_user_assigned_is_added_to_in_place(lib):
    x, mine = lib.tensor([2.0, 3.0], requires_grad=True), lib.tensor([10.0, 10.0])
    x.grad = mine
    x.sum().backward()
    assert mine.tolist() == [11.0, 11.0]


def test_accumulation_with_create_graph_makes_a_new_tensor(lib):
    x = lib.tensor([2.0, 3.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    (x**3).sum().backward(create_graph=True)
    assert first.tolist() == [12.0, 27.0]
    assert x.grad.tolist() == [24.0, 54.0]
    assert x.grad.requires_grad


def test_gradients_have_the_shape_and_dtype_of_what_they_are_for(lib):
    x = lib.tensor([[1.0], [2.0]], requires_grad=True)
    w = lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64, requires_grad=True)
    (x * w).sum().backward()
    assert tuple(x.grad.shape) == (2, 1) and x.grad.dtype == lib.float32
    assert tuple(w.grad.shape) == (3,) and w.grad.dtype == lib.float64
    assert x.grad.tolist() == [[6.0], [6.0]] and w.grad.tolist() == [3.0, 3.0, 3.0]


def test_a_random_graph_gets_the_gradients_of_pytorch(torch, rng):
    import autolab

    values = rng.standard_normal((3, 4))
    picks = rng.integers(0, 1000, (40, 2))
    found = []
    for lib in (autolab, torch):
        made = [lib.tensor(v, requires_grad=True) for v in values]
        leaves = list(made)
        for i, j in picks:
            a, b = made[i % len(made)], made[j % len(made)]
            made.append((a * b).tanh() if (i + j) % 2 else a - b.sigmoid())
        sum(m.sum() for m in made[-5:]).backward()
        found.append([leaf.grad.numpy() for leaf in leaves])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-14)
