"""The gradient of duals is a dual: the backward pass runs on duals, whatever stands in its way. The same in both libraries."""

import numpy as np
import pytest

import autolab
from autolab.autograd import forward_ad

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

X, V = [[0.5, 1.2, 1.9], [1.4, 0.7, 1.1]], [[0.8, -0.4, -0.6], [0.0, -0.4, 0.3]]


def written(y, x):
    y = y.clone()
    y[0] = x[1] * x[0]
    return y


FUNCTIONS = {
    "exp": lambda lib, x: x.exp(),
    "tanh": lambda lib, x: x.tanh() * x,
    "sqrt": lambda lib, x: x.sqrt(),
    "softmax": lambda lib, x: x.softmax(-1),
    "cumprod": lambda lib, x: x.cumprod(1),
    "norm": lambda lib, x: x.norm(),
    "max": lambda lib, x: x.max(1).values * x.sum(1),
    "cat": lambda lib, x: lib.cat([x, x * x]),
    "unbind": lambda lib, x: x.unbind(1)[1] * x.split(1, 1)[0][:, 0],
    "product": lambda lib, x: x @ x.T @ x,
    "where": lambda lib, x: lib.where(x > 1, x * x, 2 * x),
    "power": lambda lib, x: x**x,
    "einsum": lambda lib, x: lib.einsum("ij,kj,ki->i", x, x, lib.ones(2, 2, dtype=lib.float64)),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (3,)) * x,
    "in place": lambda lib, x: (x * 2).mul_(x).add_(x),
    "write through a view": lambda lib, x: written(x * 3, x),
}


def tangents(lib, function, of):
    """The gradient of a number made with the function, and its tangent, with respect to a leaf, a result that is differentiated further,
    or the function's own result."""
    x, v = (lib.tensor(t, dtype=lib.float64) for t in (X, V))
    with lib.autograd.forward_ad.dual_level():
        leaf = lib.autograd.forward_ad.make_dual(x.requires_grad_(), v)
        between = leaf * 1.5
        if of == "hooked leaf":
            between.register_hook(lambda g: g * g)
        y = function(lib, between)
        number = (y * y * lib.arange(1.0, y.numel() + 1, dtype=lib.float64).reshape(y.shape)).sum()
        (g,) = lib.autograd.grad(number, {"leaf": leaf, "hooked leaf": leaf, "between": between, "result": y}[of])
        return [t.detach().tolist() for t in lib.autograd.forward_ad.unpack_dual(g)]


@pytest.mark.parametrize("of", ["leaf", "hooked leaf", "between", "result"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_have_the_tangents_that_they_have_in_pytorch(torch, name, of):
    ours, theirs = (tangents(lib, FUNCTIONS[name], of) for lib in (autolab, torch))
    assert all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(ours, theirs, strict=True))


def second(lib, function):
    """The tangent of the gradient of a function of [1, 2] along ones."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.autograd.forward_ad.dual_level():
        d = lib.autograd.forward_ad.make_dual(x, lib.ones(2))
        (g,) = lib.autograd.grad(function(d).sum(), d)
        return lib.autograd.forward_ad.unpack_dual(g).tangent.tolist()


def test_a_function_is_differentiated_by_its_backward(lib):
    class Clipped(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return (3 * g * x * x).clamp(max=6)

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * (3 * x * x).detach()

    assert second(lib, Clipped.apply) == [6.0, 0.0]
    assert second(lib, lambda x: Clipped.apply(x) ** 2) == [30.0, 0.0]  # 6 x^5 up to 6


def test_hooks_see_duals_and_run_once(lib):
    seen = []

    def function(d):
        y = d * d
        y.register_hook(lambda g: seen.append(lib.autograd.forward_ad.unpack_dual(g).tangent.tolist()))
        return y * y

    assert second(lib, function) == [12.0, 48.0]
    assert seen == [[4.0, 8.0]]


def test_the_graph_is_freed_as_without_tangents(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.autograd.forward_ad.dual_level():
        y = lib.autograd.forward_ad.make_dual(x, lib.ones(2)).sin().sum()
        lib.autograd.grad(y, x, retain_graph=True)
        (g,) = lib.autograd.grad(y, x)
        assert not g.requires_grad
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            lib.autograd.grad(y, x)


def test_a_dual_leads_into_the_graph_of_its_value(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.autograd.forward_ad.dual_level():
        y = lib.autograd.forward_ad.make_dual(x, lib.ones(2)) ** 3
        assert y.grad_fn.name() == "PowBackward0" and lib.autograd.graph.get_gradient_edge(y).node is y.grad_fn
        lib.autograd.backward(y, lib.tensor([1.0, 3.0]))
        assert x.grad.tolist() == [3.0, 36.0]


def test_a_hessian_column_by_column_goes_through_hooks(lib):
    def function(x):
        y = x * 2
        y.register_hook(lambda g: g * g)
        return (y**3).sum()

    found = lib.autograd.functional.hessian(function, lib.ones(2), vectorize=True, outer_jacobian_strategy="forward-mode")
    assert found.tolist() == [[1152.0, 0.0], [0.0, 1152.0]]


def test_a_tangent_that_was_written_over_is_missed():
    x, v = autolab.tensor([1.0, 2.0], requires_grad=True), autolab.ones(2)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, v)
        y = (d**3).sum()
        forward_ad.unpack_dual(d).tangent.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation: the tangent of shape"):
            autolab.autograd.grad(y, d)
