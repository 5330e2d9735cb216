"""The quiet loop is equal to `steps`: same gradients, bit for bit but where products are stacked, with the same hooks in the same order."""

import tracemalloc

import numpy as np
import pytest

import autolab
from autolab.autograd.graph import get_gradient_edge
from autolab.engine.backward import schedule, steps
from autolab.fast.backward import STEPS, run_pass, schedule_by_number

pytestmark = pytest.mark.speed


def shared(x, y, z):
    s = x * y
    return s.sum() + (s * s.exp()).sum() * z.sum()


def several_results(x, y, z):
    a, b = (x * y).split(2)
    return (a * b.sin()).sum() - z.mean()


def views(x, y, z):
    w = x * 1
    w[1:3] = y[:2] * z
    return (w.reshape(2, 2) ** 2).sum() + w[0]


def functions(x, y, z):
    return Scaled.apply(x * y, z.sum()).sum() + Scaled.apply(y, z.sum())[0]


def itself(x, y, z):
    return x


def numbers(x, y, z):
    h = x[0]
    for _ in range(3):
        h = (h * y[1] + z[0]).tanh()
    return h


def recurrent(x, y, z):
    W = x[:4].outer(y[:4])
    h = W * 0.5
    for _ in range(3):
        h = (W @ h + y[:4]).tanh()
    return h.sum() * z.sum()


def pieces(x, y, z):
    w = (x[:4].outer(y[:4]) * 1).reshape(2, 2, 4).permute(1, -1, 0)
    return (w[0] * w[1, 1:2]).sum() + w[1, 2, 0] * w[0, 2, 0] * w.swapaxes(0, 2)[0, 0, 0] + (x[1:] * x[:-1]).sum() * z.sum()


PROGRAMS = [shared, several_results, views, functions, itself, numbers, recurrent, pieces]


class Scaled(autolab.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k

    @staticmethod
    def backward(ctx, g):
        x, k = ctx.saved_tensors
        return g * k, (g * x).sum()


def drain(*args, **options):
    for _ in steps(*args, **options):
        pass


def outcome(loop, program, named, hooks, create_graph, large):
    """Everything that can be seen of a pass: gradients, captured ones, and the hooks' calls."""
    size = 1 << 17 if large else 4
    rng, heard = np.random.default_rng(0), []
    x, y, z = (autolab.tensor(rng.random(n), requires_grad=True) for n in (size, size, 2 if program is not views else 1))
    if program is views or program is several_results:
        x, y = (t.detach()[:4].clone().requires_grad_() for t in (x, y))
    out = program(x, y, z)
    leaves = {"x": x, "y": y, "z": z}
    if hooks:
        for name, leaf in leaves.items():
            leaf.register_hook(lambda g, name=name: heard.append((name, g.tolist())))
        if out.grad_fn is not None:
            out.grad_fn.register_hook(lambda gi, go: heard.append(("after", [g is None for g in gi])))
    captured = {}
    edges = None if named is None else [get_gradient_edge(leaves[name]) for name in named]
    edges = edges and [edge.node for edge in edges]
    seed = np.ones(out.shape)
    loop([out], [autolab.tensor(seed) if create_graph else seed], inputs=edges, captured=captured, create_graph=create_graph)
    grads = {name: None if leaf.grad is None else leaf.grad.tolist() for name, leaf in leaves.items()}
    found = {i: captured[edge].tolist() for i, edge in enumerate(edges or ()) if captured.get(edge) is not None}
    return grads, found, heard


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "create_graph"])
@pytest.mark.parametrize("hooks", [False, True], ids=["bare", "hooked"])
@pytest.mark.parametrize("named", [None, ("x",), ("x", "y"), ("x", "y", "z")], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_quiet_loop_gives_what_steps_gives(program, named, hooks, create_graph, large):
    assert outcome(run_pass, program, named, hooks, create_graph, large) == outcome(drain, program, named, hooks, create_graph, large)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nodes_run_in_the_order_of_creation_reversed(program):
    out = program(*(autolab.rand(4, requires_grad=True) for _ in range(2)), autolab.rand(1, requires_grad=True))
    start = [get_gradient_edge(out).node]
    assert schedule(start) == schedule_by_number(start)


@pytest.mark.parametrize("zero", [autolab.round, autolab.floor, autolab.sign, autolab.bernoulli])
def test_a_zero_gradient_passes_through_the_rules_of_a_single_number(zero):
    x = autolab.tensor(0.3, requires_grad=True)
    zero(x.sigmoid()).backward()
    assert x.grad.item() == 0


@pytest.mark.parametrize(
    ("made", "written"), [(lambda x: x * x, True), (lambda x: x.split(2)[0], False), (lambda x: Scaled.apply(x, x[0]), False)]
)
def test_a_step_is_written_for_rows_of_one_result(made, written):
    y = made(autolab.ones(2, requires_grad=True) * 1)
    y.sum().backward()
    assert (STEPS[type(y.grad_fn)] is not None) == written


def test_a_written_step_leaves_a_saved_value_that_was_changed_to_the_loop():
    x = autolab.ones(2, requires_grad=True) * 1
    y = (x * x).sum()
    y.backward()
    assert STEPS[type(y.grad_fn.next_functions[0][0])] is not None
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    y = (x * x).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_pieces_of_one_tensor_share_one_array_of_zeros():
    whole = (autolab.randn(64, 1000, requires_grad=True) * 1).reshape(64, 8, 125).permute(1, 0, 2)
    loss = sum(piece.sum() for piece in [whole[k] for k in range(8)])
    loss.backward(retain_graph=True)
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * 4 * whole.numel()
