"""What must hold for every function: transforms are linear maps, they obey the chain rule, and they nest in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autolab
from autolab.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25, deadline=None)


def normal(seed, *shape):
    return autolab.tensor(np.random.default_rng(seed).standard_normal(shape))


def f(x):
    """From (..., 3) to (..., 2): products, sums, a softmax, a norm."""
    w = normal(1, 3, 2)
    return (x.softmax(-1) @ w).tanh() * x.norm(dim=-1, keepdim=True) + (x[..., :2] * x[..., 1:]).exp()


def h(y):
    return (y.sin() * y.flip(-1)).sum(-1)


def close(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a.numpy(), b.numpy(), tolerance, tolerance)


@few
@given(seeds)
def test_jvp_is_linear_in_the_tangent(seed):
    x, u, v = normal(seed, 3, 3)
    push = lambda t: jvp(f, (x,), (t,))[1]
    close(push(2 * u - 3 * v), 2 * push(u) - 3 * push(v))


@few
@given(seeds)
def test_vjp_is_linear_in_the_cotangent(seed):
    (x,), (u, v) = normal(seed, 1, 3), normal(seed + 1, 2, 2)
    _, back = vjp(f, x)
    close(back(2 * u - 3 * v)[0], 2 * back(u)[0] - 3 * back(v)[0])


@few
@given(seeds)
def test_jvp_and_vjp_are_transposes(seed):
    (x, v), u = normal(seed, 2, 3), normal(seed + 1, 2)
    (back,) = vjp(f, x)[1](u)
    close((jvp(f, (x,), (v,))[1] * u).sum(), (back * v).sum())


@few
@given(seeds)
def test_the_jacobian_of_a_composition_is_the_product_of_the_jacobians(seed):
    x = normal(seed, 3)
    close(jacrev(lambda x: h(f(x)))(x), jacfwd(h)(f(x)) @ jacrev(f)(x))


@few
@given(seeds, st.integers(1, 5))
def test_vmap_is_the_stack_of_the_results(seed, n):
    xs = normal(seed, n, 3)
    close(vmap(f)(xs), autolab.stack([f(x) for x in xs]))


@few
@given(seeds)
def test_forward_and_reverse_give_one_jacobian(seed):
    x = normal(seed, 3)
    close(jacfwd(f)(x), jacrev(f)(x))


@few
@given(seeds)
def test_a_hessian_is_symmetric_however_it_is_computed(seed):
    x = normal(seed, 3)
    matrix = hessian(lambda x: h(f(x)))(x)
    close(matrix, matrix.T)
    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev):
            close(outer(inner(lambda x: h(f(x))))(x), matrix)


def test_an_inner_derivative_does_not_see_the_outer_variable():
    # d/dx (x * d/dy (x + y)) = d/dx x = 1; confusing the two perturbations would give 2.
    x, one = autolab.tensor(2.0), autolab.tensor(1.0)
    push = lambda f: lambda x: jvp(f, (x,), (one,))[1]
    for outer in (grad, push):
        for inner in (grad, push):
            assert outer(lambda x, d=inner: x * d(lambda y: x + y)(one))(x) == 1
            assert outer(lambda x, d=inner: d(lambda y: x * y * y)(x))(x) == 4 * x


def test_third_derivatives():
    x = autolab.tensor(0.7, dtype=autolab.float64)
    close(grad(grad(grad(lambda x: x.sin() * x**3)))(x), 6 * x.sin() + 18 * x * x.cos() - 9 * x**2 * x.sin() - x**3 * x.cos())
    mixed = jvp(grad(lambda x: jvp(lambda y: y**4, (x,), (x * 0 + 1,))[1]), (x,), (x * 0 + 1,))[1]
    close(mixed, 24 * x)


def test_a_hessian_for_each_sample():
    xs = normal(3, 4, 3)
    close(vmap(hessian(lambda x: h(f(x))))(xs), autolab.stack([hessian(lambda x: h(f(x)))(x) for x in xs]))


def test_vmap_in_vmap_runs_over_two_batches():
    a, b = normal(1, 2, 3), normal(2, 4, 3)
    outer = vmap(vmap(autolab.dot, (None, 0)), (0, None))
    close(outer(a, b), a @ b.T)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_deep_nesting_is_pytorchs(torch):
    def deep(T, F):
        w = T.tensor([[0.3, -0.2], [0.5, 0.1]], dtype=T.float64)
        loss = lambda w, x: ((w @ x).tanh() ** 2).sum()
        per_sample = lambda w, xs: F.vmap(F.grad(loss), (None, 0))(w, xs)
        xs = T.tensor([[1.0, 2.0], [-0.5, 0.3], [0.1, 0.9]], dtype=T.float64)
        fisher = lambda w: (per_sample(w, xs) ** 2).sum()
        return F.jacfwd(F.grad(fisher))(w), F.vmap(F.jacrev(F.grad(loss), 1), (None, 0))(w, xs)

    for ours, theirs in zip(deep(autolab, autolab.func), deep(torch, torch.func), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-9, 1e-12)
