"""The transforms of `func`, compiled: all their levels become one list of NumPy calls."""

import types

import numpy as np
import pytest

import autolab as torch
from autolab.compiler import explain
from autolab.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

F = torch.nn.functional


def curved(x):
    return torch.tanh(x).sum() + (x[1:] * x[:-1] ** 2).sum()


def slope(x):
    return torch.sin(x) * x**3


def loss(p, x, y):
    return F.cross_entropy(functional_call(NET, p, (x[None],)), y[None])


def batch_loss(p, x, y):
    return F.cross_entropy(functional_call(NET, p, (x,)).tanh(), y)


def after_a_step(p, x, y):
    g = grad(batch_loss)(p, x, y)
    return batch_loss({name: p[name] - 0.1 * g[name] for name in p}, x, y)


torch.manual_seed(0)
NET = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
TRANSFORMS = {
    "grad": grad(curved), "value": grad_and_value(curved), "hessian": hessian(curved), "jacrev": jacrev(slope), "jacfwd": jacfwd(slope),
    "jvp": lambda x: jvp(curved, (x,), (x * 2,)), "vjp": lambda x: vjp(slope, x)[1](x), "hvp": lambda x: jvp(grad(curved), (x,), (x,)),
    "linearize": lambda x: linearize(slope, x)[1](x), "vmap": vmap(slope), "twice": vmap(grad(grad(lambda t: slope(t) * t))),
    "for each": vmap(hessian(lambda t: slope(t) * t)), "trace": lambda x: torch.einsum("ii", hessian(curved)(x)),
    "in chunks": vmap(slope, chunk_size=2),
}  # fmt: skip
OF_A_NETWORK = {"each sample": vmap(grad(loss), (None, 0, 0)), "batch": grad(batch_loss), "through a step": grad(after_a_step)}


def numbers(nest):
    return [x.tolist() for x in torch.autograd.pytree.flatten(nest)[0]]


def check(transform, *calls):
    compiled = torch.compile(transform)
    for args in calls:
        for got, want in zip(numbers(compiled(*args)), numbers(transform(*args)), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)
    return str(explain(compiled))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_becomes_one_program(name):
    told = check(TRANSFORMS[name], *[(torch.randn(5),) for _ in range(3)])
    assert "1. compiled" in told and "2." not in told


@pytest.mark.parametrize("name", OF_A_NETWORK)
def test_a_network_by_its_parameters(name):
    def call():
        return {n: torch.randn_like(p) for n, p in NET.named_parameters()}, torch.randn(6, 4), torch.randint(0, 3, (6,))

    assert "1. compiled" in check(OF_A_NETWORK[name], call(), call(), call())


def test_a_module_for_each_sample_has_its_parameters_of_today():
    net = torch.nn.Linear(2, 1)
    compiled, x = torch.compile(vmap(net)), torch.ones(3, 2)
    for change in (lambda: None, lambda: net.weight.data.mul_(2), lambda: setattr(net, "weight", torch.nn.Parameter(torch.ones(1, 2)))):
        change()
        assert torch.equal(compiled(x), net(x))
    assert "1. compiled" in str(explain(compiled))


def made_of_a_variable():
    factor = 3.0

    def change():
        nonlocal factor
        factor = 4.0

    return (lambda x: (x * factor).sum()), change


def made_of_an_attribute():
    state = types.SimpleNamespace(k=2.0)
    return (lambda x: (x * state.k).sum()), lambda: setattr(state, "k", 5.0)


def made_of_a_list():
    state = [2.0]
    return (lambda x: (x * state[0]).sum()), lambda: state.__setitem__(0, 5.0)


def made_of_a_tensor():
    w = torch.tensor([2.0])
    return (lambda x: (x * w).sum()), lambda: w.mul_(3)


@pytest.mark.parametrize("make", [made_of_a_variable, made_of_an_attribute, made_of_a_list, made_of_a_tensor])
@pytest.mark.parametrize("transform", [grad, hessian, vmap, lambda f: vmap(grad(f)), lambda f: lambda x: grad(f)(x)])
def test_what_the_function_inside_reads_is_watched(make, transform):
    function, change = make()
    made, x = transform(function), torch.randn(4, 3)
    compiled = torch.compile(made)
    if transform in (grad, hessian):
        x = x[0]
    for _ in range(2):
        assert torch.equal(compiled(x), made(x))
        change()
        assert torch.equal(compiled(x), made(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 2).sum() if x.sum() > 0 else (x * 3).sum(), lambda x: (x * x.sum().item()).sum(), lambda x: x[x.argmax()],
        lambda x: x[x > 0].sum(), lambda x: (x * torch.rand(2)).sum(),
    ],
    ids=["a branch", "a number", "an index", "a mask", "a draw"],
)  # fmt: skip
def test_what_depends_on_numbers_stays_eager(function):
    compiled, eager = torch.compile(grad(function)), grad(function)
    for x in ([1.0, 2.0], [-1.0, -2.0], [5.0, 1.0]):
        torch.manual_seed(0)
        got = compiled(torch.tensor(x))
        torch.manual_seed(0)
        assert torch.equal(got, eager(torch.tensor(x)))
    assert "left to eager mode" in str(explain(compiled))


def test_a_constant_that_is_returned_is_the_callers():
    compiled, x = torch.compile(lambda x: (grad(lambda y: (y * 0 + x).sum())(x), torch.zeros(2))), torch.ones(2)
    for _ in range(3):
        slopes, zeros = compiled(x)
        assert numbers([slopes, zeros]) == [[0, 0], [0, 0]]
        slopes += 1
        zeros += 1


def test_a_tensor_made_inside_of_a_transform_is_a_constant():
    assert "1. compiled" in check(grad(lambda x: (x * torch.arange(3.0)).sum() + torch.zeros(3)[1]), (torch.randn(3),), (torch.randn(3),))
