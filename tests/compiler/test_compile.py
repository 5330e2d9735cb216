"""A compiled function gives what the function gives, or says why it is left to eager mode."""

import copy
import gc
import math
import pickle
import warnings

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import CompileError, explain, source_of

F = torch.nn.functional


def same(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-6, atol=1e-6)


def is_compiled(f):
    return "compiled" in str(explain(f)) and "eager" not in str(explain(f))


PROGRAMS = {
    "chain": (lambda x, y: ((x * y + x).tanh() * 2 - y.exp()).sum(), [(3, 4), (3, 4)]),
    "broadcasting": (lambda x, y: (x * y + y).mean(), [(5, 3), (3,)]),
    "matrices": (lambda x, w, b: torch.tanh(x @ w + b).pow(2).sum(), [(4, 3), (3, 2), (2,)]),
    "linear": (lambda x, w, b: F.linear(x, w, b).relu().sum(), [(4, 3), (2, 3), (2,)]),
    "softmax": (lambda x: (torch.softmax(x, -1) * x).sum(), [(4, 5)]),
    "norm": (lambda x, g, b: (F.layer_norm(x, (5,), g, b) ** 3).sum(), [(4, 5), (5,), (5,)]),
    "views": (lambda x: (x.reshape(6, 2).t() * x.transpose(0, 1).reshape(2, 6)).sum(), [(3, 4)]),
    "slices": (lambda x: (x[1:] * x[:-1]).sum() + x[0, 1] * 3, [(4, 3)]),
    "joined": (lambda x, y: torch.cat([x, y * x, y], 0).sin().sum(), [(2, 3), (2, 3)]),
    "several ways": (lambda x: torch.stack([a * 2 for a in x.chunk(2, 0)]).sum(), [(4, 3)]),
    "choices": (lambda x, y: torch.where(x > y, x * 2, y).sum() + x.clamp(-1, 1).sum() + torch.maximum(x, y).sum(), [(3, 3), (3, 3)]),
    "reductions": (lambda x: x.amax(0).sum() + x.var(1).sum() + x.logsumexp(0).mean() + x.prod(1).sum(), [(3, 4)]),
    "a number": (lambda x: x * x + 3 * x, [()]),
    "used twice": (lambda x: x + x, [(3,)]),
    "two constants": (lambda x: (x * (torch.ones(3) * torch.full((3,), 2.0)).cumsum(0)).sum(), [(2, 3)]),
    "a constant": (lambda x: (x * torch.ones(3) + torch.arange(3.0)).sum(), [(2, 3)]),
    "an unused input": (lambda x, y: (x * 2).sum(), [(3,), (3,)]),
    "wide": (lambda x, y: ((x * y + x).tanh() * y).exp().sum() + (x - y).abs().mean(), [(300, 400), (300, 400)]),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True).sum(), [(2, 4, 3), (2, 4, 3), (2, 4, 3)]),
    "convolution": (lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2).sum(), [(2, 3, 6, 6), (4, 3, 3, 3)]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients_are_those_of_eager_mode(name, dtype):
    function, shapes = PROGRAMS[name]
    compiled = torch.compile(function)
    for seed in range(3):  # traced, replayed, replayed with what was left over
        torch.manual_seed(seed)
        mine = [torch.randn(s, dtype=dtype, requires_grad=True) for s in shapes]
        theirs = [t.detach().clone().requires_grad_() for t in mine]
        a, b = compiled(*mine), function(*theirs)
        same(a, b)
        a.sum().backward()
        b.sum().backward()
        for m, t in zip(mine, theirs, strict=True):
            assert (m.grad is None) == (t.grad is None)
            if m.grad is not None:
                same(m.grad, t.grad)
    assert is_compiled(compiled), explain(compiled)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_backward_pass_inside_is_compiled_with_the_rest(name):
    function, shapes = PROGRAMS[name]

    def step(*inputs):
        for t in inputs:
            t.grad = None
        loss = function(*inputs).sum()
        loss.backward()
        return loss.detach()

    compiled = torch.compile(step)
    torch.manual_seed(1)
    inputs = [torch.randn(s, requires_grad=True) for s in shapes]
    for _ in range(3):
        expected = step(*inputs)
        grads = [t.grad for t in inputs]
        same(compiled(*inputs), expected)
        for t, g in zip(inputs, grads, strict=True):
            if g is not None:
                same(t.grad, g)
    assert is_compiled(compiled), explain(compiled)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_training_takes_the_same_path(optimizer):
    torch.manual_seed(3)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    losses = []
    for wrap in (lambda f: f, torch.compile):
        model = network()
        steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)

        def step(x, y, model=model, steps=steps):
            steps.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            steps.step()
            return loss.detach()

        step = wrap(step)
        losses.append([step(x, y).item() for _ in range(20)])
    assert is_compiled(step)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_gradients_add_up_when_nobody_sets_them_to_none():
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def step(x):
        (x * w).sum().backward()

    for _ in range(4):
        step(torch.ones(3))
    assert w.grad.tolist() == [4.0, 4.0, 4.0] and is_compiled(step)


def test_a_module_stays_a_module():
    model = network()
    compiled = torch.compile(model)
    x = torch.randn(5, 4)
    for _ in range(2):
        same(compiled(x), model(x))
    assert isinstance(compiled, torch.nn.Module) and "OptimizedModule" in repr(compiled) and len(compiled) == len(model)
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    assert compiled.train(False) is compiled and not model.training
    compiled.scale = 3.0
    assert model.scale == 3.0 and torch.compile(compiled)._orig_mod is model
    del compiled.scale
    assert not hasattr(model, "scale")
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'scale'"):
        compiled.scale  # noqa: B018


def test_a_compiled_module_is_a_layer_of_another():
    inner, x = torch.nn.Linear(4, 4), torch.randn(5, 4)
    outer = torch.nn.Sequential(torch.compile(inner), torch.nn.ReLU())
    assert [name for name, _ in outer.named_parameters()] == ["0._orig_mod.weight", "0._orig_mod.bias"]
    both = torch.compile(outer)
    for _ in range(3):
        same(outer(x), inner(x).relu())
        same(both(x), inner(x).relu())
    assert is_compiled(outer[0]) and is_compiled(both)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_compiled_module_has_weights_and_programs_of_its_own(again):
    compiled, x = torch.compile(torch.nn.Linear(4, 3)), torch.randn(5, 4)
    compiled(x), compiled(x)
    other = again(compiled)
    with torch.no_grad():
        other.weight.zero_()
        other.bias.zero_()
    for _ in range(3):
        assert other(x).abs().max() == 0 and compiled(x).abs().max() > 0
    assert is_compiled(other)


def test_hooks_of_a_compiled_module_and_of_the_module_run():
    model, x, seen = torch.nn.Linear(4, 3), torch.randn(5, 4), []
    compiled = torch.compile(model)
    compiled.register_forward_hook(lambda *_: seen.append("outer"))
    model.register_forward_hook(lambda *_: seen.append("inner"))
    for _ in range(3):
        compiled(x)
    assert seen == ["inner", "outer"] * 3


def test_a_deeply_nested_network_is_compiled():
    model = torch.nn.Linear(3, 3)
    for _ in range(8):
        model = torch.nn.Sequential(model)
    f, x = torch.compile(lambda x: model(x).sum()), torch.ones(2, 3)
    for _ in range(2):
        same(f(x), model(x).sum())
    assert is_compiled(f)


def test_what_differs_is_compiled_anew():
    calls = []

    def f(x, k=1):
        calls.append(0) if False else None
        return x * k

    g = torch.compile(f)
    same(g(torch.ones(2)), torch.ones(2))
    same(g(torch.ones(2), 3), torch.full((2,), 3.0))
    same(g(torch.ones(3), 3), torch.full((3,), 3.0))
    same(g(torch.ones(2, dtype=torch.float64), k=2), torch.full((2,), 2.0, dtype=torch.float64))
    assert len(explain(g).programs) == 4


def test_a_number_from_outside_is_watched():
    settings = {"scale": 2.0}
    f = torch.compile(lambda x: x * settings["scale"])
    assert f(torch.ones(1)).item() == f(torch.ones(1)).item() == 2
    settings["scale"] = 5.0
    assert f(torch.ones(1)).item() == f(torch.ones(1)).item() == 5


def test_train_and_eval_are_two_programs():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    f = torch.compile(model)
    x = torch.ones(2, 3)
    f(x)
    model.eval()
    same(f(x), model(x))
    same(f(x), model(x))


def test_numbers_drawn_at_random_are_drawn_each_time():
    f = torch.compile(lambda x: F.dropout(x, 0.5))
    x = torch.ones(100)
    assert len({tuple(f(x).tolist()) for _ in range(5)}) == 5
    g = torch.compile(lambda x: x + torch.randn(3))
    assert g(torch.ones(3)).tolist() != g(torch.ones(3)).tolist()


def test_what_depends_on_numbers_is_left_to_eager_mode():
    f = torch.compile(lambda x: x * 2 if x.sum() > 0 else -x)
    assert f(torch.ones(2)).tolist() == f(torch.ones(2)).tolist() == [2, 2]
    assert f(-torch.ones(2)).tolist() == [1, 1]
    assert "Python looks at the numbers of a tensor" in str(explain(f)) and "test_compile.py" in str(explain(f))
    g = torch.compile(lambda x: x * x.max().item())
    assert [g(torch.tensor([1.0, k])).tolist()[1] for k in (2.0, 3.0)] == [4, 9]


def test_fullgraph_turns_the_reason_into_an_error():
    with pytest.raises(CompileError, match="cannot be compiled as a whole: Python looks at the numbers"):
        torch.compile(lambda x: x if x.sum() > 0 else -x, fullgraph=True)(torch.ones(2))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return 3 * g  # wrong on purpose: only this rule may be used


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return y.sum()


def in_place(x):
    y = x * 2
    y.add_(1)
    return (y * y).sum()


BREAKS = {
    "a Function": lambda x: Doubled.apply(x).sum(), "a hook": hooked, "in place": in_place,
    "an item written": lambda x: (lambda y: (y.__setitem__(0, 7.0), y * y)[1].sum())(x * 1),
    "a tensor from an array": lambda x: (x * torch.tensor(np.ones(3, np.float32))).sum(),
    "an index": lambda x: x[x > 0].sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_what_cannot_be_replayed_is_right_all_the_same(name):
    f = torch.compile(BREAKS[name])
    for k in range(3):
        x = torch.tensor([1.0, 2.0, -3.0 + k * 4], requires_grad=True)
        y = x.detach().clone().requires_grad_()
        a, b = f(x), BREAKS[name](y)
        a.backward()
        b.backward()
        same(a, b)
        same(x.grad, y.grad)
    assert "eager" in str(explain(f))


def test_side_effects_are_not_lost():
    seen = []

    @torch.compile
    def f(x):
        seen.append(len(seen))
        return x + 1

    for _ in range(3):
        f(torch.ones(1))
    assert seen == [0, 1, 2] and "outside of itself" in str(explain(f))


def test_running_statistics_keep_running():
    model, twin = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    f = torch.compile(model)
    for k in range(3):
        x = torch.randn(8, 3) + k
        same(f(x), twin(x))
    same(model.running_mean, twin.running_mean)


def test_results_are_not_overwritten_by_the_next_call():
    f = torch.compile(lambda x: (x * 2, x + 1))
    f(torch.ones(3))
    first = f(torch.ones(3))
    f(torch.full((3,), 5.0))
    assert first[0].tolist() == [2, 2, 2] and first[1].tolist() == [2, 2, 2]


def test_two_graphs_of_one_program_live_side_by_side():
    f = torch.compile(lambda x: (x * x).tanh().sum())
    xs = [torch.full((3,), float(k), requires_grad=True) for k in range(4)]
    ys = [f(x) for x in xs]
    for x, y in zip(reversed(xs), reversed(ys), strict=True):
        y.backward()
        u = x.detach().clone().requires_grad_()
        (u * u).tanh().sum().backward()
        same(x.grad, u.grad)


def test_a_graph_goes_on_through_a_compiled_part():
    f = torch.compile(lambda x: x.exp())
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        (f(x * 2) * 3).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 6 * np.exp([2.0, 2.0]), rtol=1e-6)


def test_second_derivatives_come_from_eager_mode():
    f = torch.compile(lambda x: (x**3).sum())
    f(torch.ones(2, requires_grad=True))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [6, 12]


def test_an_input_written_to_before_backward_is_noticed():
    f = torch.compile(lambda x, y: (x * y).sum())
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    f(x, y)
    out = f(x, y)
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        out.backward()


def test_transforms_and_modes_see_the_function_itself():
    f = torch.compile(lambda x: (x * x).sum())
    f(torch.ones(2))
    assert torch.func.grad(f)(torch.ones(2)).tolist() == [2, 2]
    with torch.no_grad():
        assert not f(torch.ones(2, requires_grad=True)).requires_grad


def test_many_kinds_of_calls_are_told_once():
    f = torch.compile(lambda x: x + 1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(1, 14):
            f(torch.ones(n))
    assert [str(w.message) for w in said if "was compiled 8 times" in str(w.message)].__len__() == 1


def test_buffers_are_used_again():
    def f(x):
        for _ in range(50):
            x = (x + 1) * 0.5
        return x

    g = torch.compile(f)
    x = torch.ones(100, 100)
    same(g(x), f(x))
    same(g(x), f(x))
    (program,) = explain(g).programs
    assert program.bytes <= 2 * 40_000


def test_chains_on_large_arrays_run_in_blocks():
    f = torch.compile(lambda x: ((x * 2 + 1).tanh() * x).sum())
    x = torch.randn(500, 500)
    same(f(x), f(x))
    assert "for lo in range" in source_of(f) and "run in blocks" in str(explain(f))


@pytest.mark.parametrize("size", [1000, 100_000])  # as one call, and in blocks
def test_relu_runs_as_a_clip(size):
    def plain(x):
        return torch.relu(x * 2 + 1) * 3

    f = torch.compile(plain)
    x = torch.randn(size)
    x[:3] = torch.tensor([math.nan, math.inf, -math.inf])
    f(x)
    same(f(x), plain(x))
    assert "clip(" in source_of(f) and "maximum(" not in source_of(f)


def test_a_compiled_step_leaves_nothing_behind():
    gc.disable()
    try:
        f = torch.compile(lambda x: (x * x).sum())
        x = torch.ones(10, requires_grad=True)
        f(x).backward()
        before = len(gc.get_objects())
        for _ in range(20):
            f(x).backward()
        assert len(gc.get_objects()) - before < 20
    finally:
        gc.enable()


def test_used_as_a_decorator_and_on_a_method():
    class Scale:
        by = 3.0

        def __init__(self):
            self.w = torch.ones(2, requires_grad=True)

        def run(self, x):
            return (x * self.w * self.by).sum()

    s = Scale()
    run = torch.compile(s.run)
    assert run(torch.ones(2)).item() == run(torch.ones(2)).item() == 6
    s.by = 4.0
    assert run(torch.ones(2)).item() == 8

    @torch.compile(dynamic=True, backend="inductor", mode="max-autotune")
    def f(x):
        return x + 1

    assert f(torch.zeros(1)).item() == f(torch.zeros(1)).item() == 1
    with pytest.raises(TypeError, match="expects a function"):
        torch.compile(3)
    with pytest.raises(TypeError, match="what compile\\(\\) returned"):
        explain(len)


KEYS = {
    "rows": lambda x, i, k: x[i], "pairs": lambda x, i, k: x[i, k], "columns": lambda x, i, k: x[:, k], "a table": lambda x, i, k: x[i[:, None], k],
    "rows of a part": lambda x, i, k: x[i, 1:3], "a new axis": lambda x, i, k: x[i, None],
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_an_index_may_be_another_at_each_call(name):
    f = torch.compile(lambda x, i, k: (KEYS[name](x, i, k) ** 2).sum())
    for i, k in (([0, 2], [1, 3]), ([1, 1], [-1, 0])):
        x, y = (torch.arange(12.0).reshape(3, 4).clone().requires_grad_() for _ in range(2))
        i, k = torch.tensor(i), torch.tensor(k)
        f(x, i, k).backward()
        (KEYS[name](y, i, k) ** 2).sum().backward()
        same(x.grad, y.grad)
    assert is_compiled(f) and len(explain(f).programs) == 1
    if name != "columns":
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
            f(x, torch.tensor([0, 3]), k)
        assert len(explain(f).programs) == 1


def test_slices_of_the_data_are_served_by_one_program():
    data, net = torch.randn(12, 4), torch.nn.Linear(4, 2)
    f = torch.compile(lambda x: net(x).square().sum())
    for k in (0, 3, 6):
        same(f(data[k : k + 3]), net(data[k : k + 3]).square().sum())
    assert len(explain(f).programs) == 1
    same(f(data.T[:4].reshape(4, 12)[:, :4]), net(data.T[:4].reshape(4, 12)[:, :4]).square().sum())  # apart in memory


def test_a_slice_of_what_has_a_history_is_traced_with_it():
    w, net = torch.randn(6, 4, requires_grad=True), torch.nn.Linear(4, 2)
    f = torch.compile(lambda x: net(x).square().sum())
    for _ in range(2):
        w.grad = None
        f((w * 2)[:3]).backward()
        got, w.grad = w.grad, None
        net((w * 2)[:3]).square().sum().backward()
        same(got, w.grad)


def test_an_index_from_outside_is_read_at_each_call():
    rows = torch.tensor([0, 1])
    f = torch.compile(lambda x: x[rows] * 2)
    x = torch.tensor([1.0, 2.0, 3.0])
    f(x)
    rows[0] = 2
    assert f(x).tolist() == [6, 4] and is_compiled(f)


@pytest.mark.parametrize("clip", [torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_])
def test_gradients_are_clipped_in_a_compiled_step(clip):
    def train(compiled):
        torch.manual_seed(0)
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (net(x) * 50).square().mean()
            loss.backward()
            clip(net.parameters(), 0.5)
            optimizer.step()
            return loss

        step = compiled(step)
        found = [step(torch.full((2, 3), k + 1.0)).item() for k in range(4)]
        assert compiled is not torch.compile or is_compiled(step)
        return [*found, *net.weight.flatten().tolist()]

    np.testing.assert_allclose(train(torch.compile), train(lambda f: f), rtol=1e-6)


def test_the_norm_before_clipping_is_a_number_that_is_looked_at():
    net = torch.nn.Linear(3, 1)

    def step(x):
        net(x).sum().backward()
        return torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0) * 1

    f = torch.compile(step)
    norms = [f(torch.full((1, 3), k + 1.0)).item() for k in range(2)]
    assert norms[0] == pytest.approx(2) and not is_compiled(f)


def test_numbers_in_a_list_are_as_good_as_numbers():
    f = torch.compile(lambda x, scale: x * torch.tensor([1.0, scale]))
    for scale in (2.0, 3.0, 2.0):
        assert f(torch.ones(2), scale).tolist() == [1, scale]
    assert is_compiled(f)


def test_a_gradient_that_the_call_clears_first_is_compiled_for_once():
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        w.grad = None
        (w * w).sum().backward()
        with torch.no_grad():
            w.sub_(0.25 * w.grad)

    compiled = torch.compile(step)
    for _ in range(3):  # at the first call there is no gradient to clear
        compiled()
    assert w.tolist() == [0.125, 0.25]
    assert len(explain(compiled).programs) == 1
