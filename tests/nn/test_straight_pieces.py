"""Functions with flat or straight pieces: their second derivative is 0, not missing."""

import pytest

PIECES = {
    "relu": "Threshold", "relu6": "Hardtanh", "hardtanh": "Hardtanh", "leaky_relu": "LeakyRelu", "hardshrink": "Hardshrink",
    "softshrink": "Softshrink", "threshold": "Threshold", "prelu": "PreluKernel", "max_pool2d": "MaxPool2DWithIndices",
}  # fmt: skip


def called(lib, name, x):
    more = {"threshold": (0.1, 0.2), "prelu": (lib.tensor([0.2]),), "max_pool2d": (2,)}
    return getattr(lib.nn.functional, name)(x, *more.get(name, ()))


@pytest.mark.parametrize("name", PIECES)
def test_the_gradient_can_be_differentiated_again(lib, name):
    x = lib.linspace(-1.3, 1.7, 16).reshape(1, 4, 4).requires_grad_()
    (g,) = lib.autograd.grad(called(lib, name, x).sum(), x, create_graph=True)
    assert g.grad_fn.name() == f"{PIECES[name]}BackwardBackward0"
    (second,) = lib.autograd.grad(g.sum(), x)
    assert second.shape == x.shape and not second.any()


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "max_pool2d"])
def test_second_order_goes_through_what_stands_before_and_behind(lib, name):
    lib.manual_seed(0)
    x = lib.randn(1, 4, 4, dtype=lib.float64, requires_grad=True)
    assert lib.autograd.gradgradcheck(lambda x: called(lib, name, x * x * x) ** 2, (x,))


def test_the_second_derivative_of_a_network_of_relus_by_its_input_is_zero(lib):
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(1, 8), lib.nn.ReLU(), lib.nn.Linear(8, 1))
    x = lib.linspace(-1, 1, 5).reshape(5, 1).requires_grad_()
    (slope,) = lib.autograd.grad(net(x).sum(), x, create_graph=True)
    (bend,) = lib.autograd.grad(slope.sum(), x, create_graph=True)
    assert bend.requires_grad and not bend.any()
    ((slope - 1) ** 2 + bend**2).sum().backward()
    assert net[0].weight.grad.any() and net[2].weight.grad.any()


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_a_hessian_of_relus_is_zero(lib):
    def f(x):
        return lib.relu(x).sum()

    assert not lib.autograd.functional.hessian(f, lib.tensor([1.0, -1.0]), strict=True).any()
    assert not lib.func.hessian(f)(lib.tensor([1.0, -1.0])).any()
