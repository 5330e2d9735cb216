"""Programs that people write with transforms, on both sides."""

import numpy as np
import pytest

import autolab

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")]


def normal(T, *shape, seed=0):
    return T.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape))


def parameters(T):
    return normal(T, 5, 4), normal(T, 5), normal(T, 3, 5), normal(T, 3)


def network(T, w1, b1, w2, b2, x):
    f = T.nn.functional
    return f.linear(f.gelu(f.layer_norm(f.linear(x, w1, b1), (5,))), w2, b2)


def loss(T):
    return lambda w1, b1, w2, b2, x, y: T.nn.functional.cross_entropy(network(T, w1, b1, w2, b2, x), y)


def data(T):
    return normal(T, 6, 4), T.tensor([0, 1, 2, 0, 1, 2])


def per_sample_gradients(T, F):
    return F.vmap(F.grad(loss(T), (0, 1, 2, 3)), (None,) * 4 + (0, 0))(*parameters(T), *data(T))


def gauss_newton(T, F):
    w1, b1, w2, b2 = parameters(T)
    jacobian = F.vmap(lambda x: F.jacrev(lambda w: network(T, w, b1, w2, b2, x))(w1))(data(T)[0]).flatten(2)
    return (jacobian.transpose(1, 2) @ jacobian).mean(0)


def neural_tangent_kernel(T, F):
    w1, b1, w2, b2 = parameters(T)
    f = lambda w, x: network(T, w, b1, w2, b2, x)

    def kernel(x, y):
        _, back = F.vjp(lambda w: f(w, x), w1)
        push = lambda v: F.jvp(lambda w: f(w, y), (w1,), (back(v)[0],))[1]
        return F.vmap(push)(T.eye(3, dtype=T.float64))

    x = data(T)[0]
    return F.vmap(F.vmap(kernel, (None, 0)), (0, None))(x, x[:2])


def hessian_vector_product(T, F):
    w1, *rest = parameters(T)
    return F.jvp(lambda w: F.grad(loss(T))(w, *rest, *data(T)), (w1,), (normal(T, 5, 4, seed=1),))[1]


def laplacian(T, F):
    f = lambda x: (x.sin() * x.cumsum(0)).prod() + x.norm() + x.logsumexp(0) + x.max() + x.std()
    return F.vmap(lambda x: F.hessian(f)(x).diagonal().sum())(data(T)[0])


def third_derivatives(T, F):
    return F.jacfwd(F.hessian(lambda x: (x.sin() * x.cumsum(0)).prod() + x.logsumexp(0)))(normal(T, 3))


def unrolled_recurrence(T, F):
    w = normal(T, 4, 4)

    def last(h, xs):
        for x in xs:
            h = (w @ h + x).tanh()
        return h

    return F.jacrev(F.jacrev(last))(normal(T, 4), data(T)[0])


def attention_jacobians(T, F):
    q, k, v = (normal(T, 2, 3, 5, 4, seed=n) for n in range(3))
    attend = lambda q, k, v: ((q @ k.transpose(-1, -2) / 2).softmax(-1) @ v).sum(0)
    return F.vmap(F.vmap(F.jacrev(attend)))(q, k, v)


def sparse_rows(T, F):
    look = lambda table, i: T.nn.functional.embedding(i, table).tanh().sum()
    return F.vmap(F.grad(look), (None, 0))(normal(T, 7, 4), T.tensor([[1, 2], [3, 3], [0, 6]]))


def learned_step(T, F):
    """The derivative of a loss after two steps of descent by the length of the steps."""
    w1, *rest = parameters(T)

    def after(rate):
        w = w1
        for _ in range(2):
            w = w - rate * F.grad(loss(T))(w, *rest, *data(T))
        return loss(T)(w, *rest, *data(T))

    return F.grad_and_value(after)(T.tensor(0.1, dtype=T.float64))


def both_sides_of_a_choice(T, F):
    return F.vmap(F.grad(lambda x: T.where(x > 0, x**2, -x).sum()))(data(T)[0])


def shuffled_entries(T, F):
    f = lambda x: T.cat([x, x.flip(0)]).view(2, -1).T.reshape(-1)[1:]
    g = lambda x: T.stack([a.sum() * b.mean() for a, b in zip(x.split(2), x.chunk(2), strict=True)])
    return F.vmap(F.jacfwd(f))(data(T)[0]), F.jacrev(g)(data(T)[0][0])


PROGRAMS = [
    attention_jacobians, both_sides_of_a_choice, gauss_newton, hessian_vector_product, laplacian, learned_step,
    neural_tangent_kernel, per_sample_gradients, shuffled_entries, sparse_rows, third_derivatives, unrolled_recurrence,
]  # fmt: skip


def leaves(x):
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple | list) else [x]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_give_pytorchs_numbers(torch, program):
    ours, theirs = (leaves(program(T, T.func)) for T in (autolab, torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == tuple(b.shape) and str(a.dtype) == str(b.dtype)
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-9, 1e-11)
