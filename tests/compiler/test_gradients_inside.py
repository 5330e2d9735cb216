"""`autograd.grad` and `backward` within a compiled function: part of the program, or a reason to leave it alone."""

import re

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import explain, source_of

F = torch.nn.functional


def is_compiled(f):
    return "compiled" in str(explain(f)) and "eager" not in str(explain(f))


def tensors(seed, *shapes):
    torch.manual_seed(seed)
    return [torch.randn(s, requires_grad=True) for s in shapes]


def leaves_of(nest):
    return [nest] if isinstance(nest, torch.Tensor) else [t for item in nest if item is not None for t in leaves_of(item)]


def penalty(x, w):
    y = (x @ w).tanh().pow(2).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return y + (g.pow(2).sum() + 1).sqrt()


def hessian_times_vector(x, w, v):
    g = torch.autograd.grad(F.gelu(x @ w).softmax(-1).pow(2).mean(), (x, w), create_graph=True)
    return torch.autograd.grad((g[0] * v).sum(), (x, w))


def third_derivative(x):
    y = (x.sin() * x.exp()).sum()
    for _ in range(3):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y


def weighted(x, w, v):
    y = (x * x @ w).exp()
    return torch.autograd.grad(y, (x, w), v @ w.detach())


def of_the_middle(x, w):
    h = x @ w
    return torch.autograd.grad((h * h).sum(), [h, w])


def of_several(x, w):
    return torch.autograd.grad([(x * x).sum(), (x @ w).sum()], x)


def kept_for_later(x, w):
    y = (x @ w).tanh().sum()
    (g,) = torch.autograd.grad(y, w, retain_graph=True)
    return y * 2, g


def unused(x, w):
    return torch.autograd.grad((x * x).sum(), (x, w), allow_unused=True)


CALLS = {
    "a penalty": (penalty, [(4, 3), (3, 2)]),
    "hvp": (hessian_times_vector, [(4, 3), (3, 2), (4, 3)]),
    "third": (third_derivative, [(5,)]),
    "weighted": (weighted, [(4, 3), (3, 2), (4, 3)]),
    "the middle": (of_the_middle, [(4, 3), (3, 2)]),
    "several": (of_several, [(4, 3), (3, 2)]),
    "kept": (kept_for_later, [(4, 3), (3, 2)]),
    "unused": (unused, [(4, 3), (3, 2)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_inside_are_compiled_with_the_rest(name):
    function, shapes = CALLS[name]
    compiled = torch.compile(function)
    for seed in range(3):
        mine, theirs = tensors(seed, *shapes), tensors(seed, *shapes)
        a, b = leaves_of(compiled(*mine)), leaves_of(function(*theirs))
        assert [t.requires_grad for t in a] == [t.requires_grad for t in b]
        if a[0].requires_grad:
            a[0].sum().backward()
            b[0].sum().backward()
        a += [t.grad for t in mine if t.grad is not None]
        b += [t.grad for t in theirs if t.grad is not None]
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            np.testing.assert_allclose(one.detach(), other.detach(), rtol=2e-5, atol=1e-6)
    assert is_compiled(compiled), explain(compiled)


def test_a_stretched_gradient_is_added_as_it_is_and_that_of_a_bias_is_a_product():
    w, b, v, x = tensors(0, (3, 3), (3,), (3,), (4, 3))

    @torch.compile
    def step():
        gw, gb = torch.autograd.grad((x @ w + b).tanh().sum(), (w, b), create_graph=True)
        return torch.autograd.grad((gb * v).sum() + gw.sum(), (w, b))

    step()
    assert not re.search("broadcast_to|restore|fit", source_of(step))


def test_training_with_a_gradient_penalty_takes_the_same_path():
    found = []
    for compiled in (lambda f: f, torch.compile):
        (w, x) = tensors(3, (3, 2), (4, 3))
        optimizer = torch.optim.Adam([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = penalty(x, w)
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = compiled(step)
        losses = [run(x).item() for _ in range(6)]
        found.append([*losses, *w.detach().numpy().ravel()])
    assert is_compiled(run), explain(run)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_a_gradient_to_start_from_is_an_input_and_not_a_constant():
    @torch.compile
    def step(x, weight):
        x.grad = None
        (x * x).sum().backward(weight)
        return x.grad.sum().detach()

    x = torch.ones(3, requires_grad=True)
    assert [step(x, torch.tensor(k)).item() for k in (1.0, 2.0, 3.0)] == [6, 12, 18]


def test_a_gradient_made_of_numbers_from_elsewhere_is_left_to_eager_mode():
    numbers = iter([1.0, 2.0, 3.0])
    f = torch.compile(lambda x: torch.autograd.grad((x * x).sum(), x, torch.tensor(next(numbers)))[0])
    x = torch.ones(3, requires_grad=True)
    assert [f(x).sum().item() for _ in range(3)] == [6, 12, 18]


def test_a_hook_is_called_at_each_pass():
    calls = []
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: calls.append(1) or g * 2)
    f = torch.compile(lambda x: torch.autograd.grad((x * x).sum(), x, create_graph=True)[0])
    assert [f(x).sum().item() for _ in range(3)] == [12, 12, 12]
    assert len(calls) == 3


def test_a_graph_that_grad_has_used_up_stays_used_up():
    def f(x):
        y = (x * x).sum()
        torch.autograd.grad(y, x)
        return y

    compiled = torch.compile(f)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="second time"):
            compiled(torch.ones(3, requires_grad=True)).backward()


def two_networks():
    """A step of a generator and a discriminator, as people write it; the parameters of both."""
    torch.manual_seed(0)
    make, judge = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    for_make, for_judge = torch.optim.Adam(make.parameters()), torch.optim.Adam(judge.parameters())
    real, noise = torch.randn(5, 3), torch.randn(5, 2)

    def step():
        made = make(noise)
        for_judge.zero_grad()
        judged = judge(made.detach()).sigmoid().mean() - judge(real).sigmoid().mean()
        judged.backward()
        for_judge.step()
        for_make.zero_grad()
        loss = -judge(made).sigmoid().mean()
        loss.backward()
        for_make.step()
        return loss + judged.detach()

    return step, [*make.parameters(), *judge.parameters()]


def test_two_networks_that_train_each_other_are_one_program():
    (step, mine), (eager, theirs) = two_networks(), two_networks()
    compiled = torch.compile(step, fullgraph=True)
    for _ in range(4):
        torch.testing.assert_close(compiled(), eager())
    torch.testing.assert_close(mine, theirs)
    with pytest.raises(RuntimeError, match="second time"):
        compiled().backward()


def test_a_graph_without_saved_values_can_be_used_twice():
    w = torch.ones(3, requires_grad=True)

    def f():
        w.grad = None
        loss = w.sum()
        loss.backward()
        return loss

    compiled = torch.compile(f)
    for _ in range(3):
        compiled().backward()
        assert w.grad.tolist() == [2, 2, 2]
