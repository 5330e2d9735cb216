"""`steps()` is the one engine: walking it shows what backward does."""

import numpy as np
import pytest

import autolab as torch
from autolab.engine.backward import steps


def small_net(dtype=torch.float64):
    torch.manual_seed(0)
    x, w, b = (torch.randn(*s, dtype=dtype, requires_grad=True) for s in ((4, 3), (2, 3), (2,)))
    loss = torch.nn.functional.cross_entropy((x @ w.T + b).tanh(), torch.tensor([0, 1, 1, 0]))
    return loss, [x, w, b]


def walk(loss, **options):
    return list(steps([loss], [np.ones((), loss.payload.dtype)[()]], **options))


def test_walking_the_steps_gives_the_gradients_of_backward_to_the_bit():
    loss, leaves = small_net()
    walk(loss)
    again, others = small_net()
    again.backward()
    for leaf, other in zip(leaves, others):
        assert leaf.grad.numpy().tobytes() == other.grad.numpy().tobytes()


def test_each_node_is_yielded_once_latest_first():
    loss, _ = small_net()
    nodes = [node for node, _, _ in walk(loss) if node.next_functions]
    numbers = [node.seq for node in nodes]
    assert nodes[0] is loss.grad_fn and len(set(nodes)) == len(nodes)
    assert numbers == sorted(numbers, reverse=True)


def test_what_a_node_sends_out_is_what_its_children_receive():
    loss, _ = small_net()
    sent = {}
    for node, incoming, outgoing in walk(loss):
        if node in sent:
            np.testing.assert_array_equal(incoming[0], sent[node])
        for (child, _), g in zip(node.next_functions, outgoing):
            if child is not None and g is not None:
                sent[child] = sent[child] + g if child in sent else g


def test_an_accumulator_is_yielded_after_it_has_updated_the_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).sum()
    for node, incoming, outgoing in steps([y], [np.float32(1)]):
        if type(node).__name__ == "AccumulateGrad":
            assert node.variable is x and outgoing == ()
            assert x.grad.tolist() == incoming[0].tolist() == [3.0, 3.0]
            return
    pytest.fail("no accumulator fired")


def test_a_node_with_several_outputs_shows_one_incoming_gradient_for_each():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, _, c = x.unbind()
    _, incoming, outgoing = next(s for s in walk(a * c) if s[0] is a.grad_fn)
    assert [None if g is None else float(g) for g in incoming] == [3.0, None, 1.0]
    assert outgoing[0].tolist() == [3.0, 0.0, 1.0]


def test_an_edge_that_needs_no_gradient_shows_none():
    x, c = torch.tensor([1.0], requires_grad=True), torch.tensor([5.0])
    _, _, outgoing = walk((x * c).sum())[1]
    assert outgoing[0].tolist() == [5.0] and outgoing[1] is None


def test_a_walk_can_be_abandoned_half_way():
    loss, leaves = small_net()
    half = steps([loss], [np.ones(())], retain_graph=True)
    next(half), next(half)
    half.close()
    assert [leaf.grad for leaf in leaves] == [None] * 3 and torch.is_grad_enabled()
    loss.backward()
    assert all(leaf.grad is not None for leaf in leaves)


def test_two_walks_over_one_graph_do_not_disturb_each_other():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sum()
    one, two = (steps([y], [np.float32(1)], retain_graph=True, accumulate=False) for _ in range(2))
    pairs = list(zip(one, two, strict=True))
    assert all(a[0] is b[0] and np.array_equal(a[1][0], b[1][0]) for a, b in pairs)


def test_gradients_that_the_walker_keeps_are_not_accumulated_into():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).sum()
    kept = walk(y, retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert kept[-1][1][0].tolist() == [3.0, 3.0]


def test_a_walk_without_accumulation_leaves_no_mark():
    loss, leaves = small_net()
    walk(loss, retain_graph=True, accumulate=False)
    assert [leaf.grad for leaf in leaves] == [None] * 3
    loss.backward()


def test_a_walk_may_start_from_several_roots():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = x * 2, x * 3
    list(steps([a, b], [np.ones(2, np.float32), np.full(2, 10, np.float32)]))
    assert x.grad.tolist() == [32.0, 32.0]
