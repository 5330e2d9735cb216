"""Hooks: when they run, what they may change, how they go away. Each story is told on both sides."""

import weakref

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")


@pytest.fixture
def x(lib):
    return lib.tensor([1.0, 2.0], requires_grad=True)


def test_hooks_run_in_pytorchs_order(x):
    ran = []
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_prehook(lambda gs: ran.append("before the node"))
    y.grad_fn.register_hook(lambda inputs, outputs: ran.append("after the node"))
    y.register_hook(lambda g: ran.append("on the tensor"))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda gs: ran.append("before accumulating"))
    accumulator.register_hook(lambda inputs, outputs: ran.append("after the accumulator"))
    x.register_hook(lambda g: ran.append("on the leaf"))
    x.register_post_accumulate_grad_hook(lambda leaf: ran.append("after accumulating"))
    y.sum().backward()
    assert ran == [
        "on the tensor", "before the node", "after the node",
        "on the leaf", "before accumulating", "after accumulating", "after the accumulator",
    ]  # fmt: skip


def test_hooks_on_one_tensor_run_in_the_order_of_registration_each_on_the_result_of_the_last(x):
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 5)
    x.sum().backward()
    assert seen == [[1.0, 1.0], [2.0, 2.0]]
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_tensor_hook_that_returns_nothing_changes_nothing(x):
    (x * 2).register_hook(lambda g: None)
    y = x * 2
    y.register_hook(lambda g: None)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_tensor_hook_replaces_the_gradient_on_its_way(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]


def test_retained_gradients_are_those_after_the_tensor_hooks(x):
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]


def test_retain_grad_accumulates_like_a_leaf_and_once_however_often_it_is_asked(x):
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]
    assert y.retains_grad and not x.retains_grad


def test_a_retained_gradient_is_that_of_the_tensor_as_it_is_now(x):
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 1).sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_retained_gradient_is_that_of_the_tensor_as_it_is_after_a_write_through_a_view(x):
    y = x * 2
    y.retain_grad()
    y[0] = 7.0
    (y * y).sum().backward()
    assert y.grad.tolist() == [14.0, 8.0]
    assert x.grad.tolist() == [0.0, 16.0]


def test_a_tensor_hook_stays_with_the_value_it_was_registered_on(x):
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1.0, 1.0]), ("before", [5.0, 5.0])]


def test_a_post_hook_may_replace_what_the_node_sends_on(x):
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(None if g is None else g * 5 for g in inputs))
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_post_hook_sees_what_the_node_sends_on_and_what_it_received(lib, x):
    c, seen = lib.tensor([3.0, 4.0]), []
    y = x * c
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend([inputs, outputs]))
    y.sum().backward()
    (to_x, to_c), (received,) = seen
    assert to_x.tolist() == [3.0, 4.0] and to_c is None and received.tolist() == [1.0, 1.0]


def test_a_pre_hook_may_replace_what_the_node_receives(x):
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 3,))
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_grad_captures_a_gradient_before_the_hooks_of_the_node_behind_it(lib, x):
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    gy, gx = lib.autograd.grad((y * y).sum(), [y, x])
    assert gy.tolist() == [4.0, 8.0]
    assert gx.tolist() == [80.0, 160.0]


def test_grad_captures_a_gradient_after_the_hooks_of_its_tensor(lib, x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    z = (y * y).sum()
    assert lib.autograd.grad(z, x, retain_graph=True)[0].tolist() == [8000.0, 16000.0]
    assert lib.autograd.grad(z, y)[0].tolist() == [40.0, 80.0]


def test_grad_runs_no_hook_of_the_accumulator(lib, x):
    y, ran = x * 2, []
    y.grad_fn.next_functions[0][0].register_prehook(lambda gs: ran.append("before"))
    y.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs: ran.append("after"))
    x.register_post_accumulate_grad_hook(lambda leaf: ran.append("accumulated"))
    assert lib.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 2.0]
    assert ran == [] and x.grad is None


def test_a_hook_after_accumulation_may_use_the_gradient_up(lib, x):
    def step(leaf):
        with lib.no_grad():
            leaf -= 0.5 * leaf.grad
        leaf.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.tolist() == [0.0, 1.0] and x.grad is None


def test_a_removed_hook_is_silent_and_removing_it_twice_is_no_error(x):
    ran = []
    handle = x.register_hook(lambda g: ran.append(1))
    x.sum().backward()
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert ran == [1]


def test_a_hook_may_be_registered_for_a_block(x):
    ran = []
    with x.register_hook(lambda g: ran.append(1)):
        x.sum().backward()
    x.sum().backward()
    assert ran == [1]


def test_a_hook_may_run_another_backward_pass(lib, x):
    w = lib.tensor(5.0, requires_grad=True)

    def hook(g):
        with lib.enable_grad():
            (w * w).backward()
        return g * w.grad

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert w.grad.item() == 10.0
    assert x.grad.tolist() == [20.0, 20.0]


def test_a_hook_may_run_backward_over_the_very_graph_that_is_being_walked(x):
    y = x * x
    z, during = (y * 3).sum(), []

    def hook(g):
        if not during:
            during.append(None)
            z.backward(retain_graph=True)
            during.append(x.grad.tolist())

    y.register_hook(hook)
    z.backward(retain_graph=True)
    assert during[1] == [6.0, 12.0]
    assert x.grad.tolist() == [12.0, 24.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_are_recorded_only_if_the_pass_is(lib, x, create_graph):
    y, modes = x * x, []
    y.register_hook(lambda g: modes.append(lib.is_grad_enabled()))
    y.grad_fn.register_prehook(lambda gs: modes.append(lib.is_grad_enabled()))
    y.grad_fn.register_hook(lambda inputs, outputs: modes.append(lib.is_grad_enabled()))
    x.register_post_accumulate_grad_hook(lambda leaf: modes.append(lib.is_grad_enabled()))
    y.sum().backward(create_graph=create_graph)
    assert modes == [create_graph] * 4


def test_a_hook_can_be_differentiated_through(lib, x):
    y = x * 1
    with y.register_hook(lambda g: g * y):
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [1.0, 2.0]
    assert lib.autograd.grad(g.sum(), x)[0].tolist() == [1.0, 1.0]


def test_an_exception_in_a_hook_leaves_the_engine_usable(lib, x):
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    z = (y + 1).sum()
    with pytest.raises(ZeroDivisionError):
        z.backward()
    handle.remove()
    assert lib.is_grad_enabled() and x.grad is None
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_hooks_of_one_output_of_several_see_its_gradient_only(lib):
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    first, second = x.split(2)
    first.retain_grad()
    second.register_hook(lambda g: g * 10)
    (first * second).sum().backward()
    assert first.grad.tolist() == [3.0, 4.0]
    assert x.grad.tolist() == [3.0, 4.0, 10.0, 20.0]


def test_a_hook_hung_on_a_node_while_its_values_are_unpacked_still_runs(lib, x):
    nodes, seen = [], []

    def unpack(t):
        nodes[0].register_hook(lambda inside, outside: seen.append(outside) or tuple(g / 2 for g in inside))
        return t

    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp()
    nodes.append(y.grad_fn)
    y.backward(lib.ones_like(y))
    assert lib.allclose(x.grad, x.exp() / 2) and not any(seen[0])


def test_a_hook_lives_as_long_as_its_graph_and_no_longer():
    import autolab as torch

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2

    def hook(g):
        return None

    alive = weakref.ref(hook)
    y.register_hook(hook)
    del hook
    assert alive() is not None
    del y
    assert alive() is None


# -- what a hook may not do -----------------------------------------------------------------------


def on_tensor(x, hook):
    x.register_hook(hook)
    return x * 2


def before_node(x, hook):
    y = x * 2
    y.grad_fn.register_prehook(hook)
    return y


def after_node(x, hook):
    y = x * 2
    y.grad_fn.register_hook(hook)
    return y


MESSAGES = [
    (on_tensor, lambda g: g.sum(), RuntimeError, ["has changed the size of value"]),
    (on_tensor, lambda g: g.double(), RuntimeError, ["has changed the type of value", "was torch.", "got torch."]),
    (on_tensor, lambda g: 3, TypeError, ["expected Variable, but hook returned 'int'"]),
    (before_node, lambda gs: (gs[0], gs[0]), RuntimeError, ["incorrect number of values", "got 2, but expected 1"]),
    (after_node, lambda i, o: (i[0],), RuntimeError, ["incorrect number of values", "got 1, but expected 2"]),
    (after_node, lambda i, o: 3, TypeError, ["expected tuple, but hook returned 'int'"]),
    (after_node, lambda i, o: (3, None), TypeError, ["expected Variable, but hook returned 'int'"]),
    (after_node, lambda i, o: (i[0].sum(), None), RuntimeError, ["has changed the size of value"]),
]


@pytest.mark.parametrize(("register", "hook", "error", "phrases"), MESSAGES)
def test_a_hook_that_returns_something_else_is_refused(x, register, hook, error, phrases):
    y = register(x, hook)
    with pytest.raises(error) as caught:
        y.sum().backward()
    assert [p for p in phrases if p not in str(caught.value)] == []


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_tensor_without_gradient_takes_no_hook(lib, register):
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        getattr(lib.tensor([1.0]), register)(print)


def test_only_leaves_take_a_hook_after_accumulation(x):
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_only_tensors_with_a_gradient_can_retain_it(lib):
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        lib.tensor([1.0]).retain_grad()


def test_a_hook_after_accumulating_returns_nothing_or_the_leaf_it_got(lib, x):
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.add_(leaf.grad, alpha=-1))
    x.sum().backward()
    assert x.tolist() == [0.0, 1.0]
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


def test_the_hooks_of_a_tensor_are_a_dict_under_pytorchs_name(lib):
    for x in (lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True) * 2, lib.ones(1)):
        assert not x._backward_hooks
        x._backward_hooks = {0: lambda g: g * 10}
        if x.requires_grad:
            assert lib.autograd.grad((x * 3).sum(), x)[0].item() == (30 if x.is_leaf else 3)
        for name in ("_backward_hooks", "_grad_fn"):
            with pytest.raises(RuntimeError):
                delattr(x, name)
