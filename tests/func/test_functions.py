"""Custom Functions met by transforms: their own jvp and vmap, and a batching rule made from forward and backward."""

import numpy as np
import pytest

import autolab
from autolab import func

from .test_writing import leaves

pytestmark = [pytest.mark.lesson07, pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")]


def functions(T):
    """Three Functions whose rules are wrong by a factor on purpose: no derivative of their forward can be mistaken for their own."""

    class Wave(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, n):
            return x.sin() * n, x.cos()

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * x.cos() * ctx.n * 2 - h * x.sin(), None

        @staticmethod
        def jvp(ctx, moved, _):
            (x,) = ctx.saved_tensors
            return moved * x.cos() * ctx.n * 2, -moved * x.sin()

    class Product(T.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * 3, g * x

        @staticmethod
        def vmap(info, in_dims, x, y):
            x, y = (t.movedim(d, 0) if d is not None else t.expand(info.batch_size, *t.shape) for t, d in zip((x, y), in_dims))
            return Product.apply(x, y).movedim(0, -1), -1

    class Marked(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, w):
            return x * w, x.round()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, _):
            x, w = ctx.saved_tensors
            return g * w, (g * x).sum() * 5

    return Wave, Product, Marked


def uses(T):
    F, (wave, product, marked) = T.func, functions(T)
    x, y = T.tensor([1.0, 2.0, 3.0]), T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f, loss = (lambda x: wave.apply(x, 2)), (lambda x: wave.apply(x, 2)[0].sum())
    w = T.tensor(0.5, requires_grad=True)
    leaf = x.clone().requires_grad_()
    F.vmap(f)(leaf)[0].sum().backward()
    yield "leaf", leaf.grad
    yield "jvp", F.jvp(f, (x,), (x,))
    yield "vmap", F.vmap(f)(y)
    yield "vmap(grad)", F.vmap(F.grad(loss))(y)
    yield "grad(vmap)", F.grad(lambda x: F.vmap(f)(x)[0].sum())(y)
    yield "vmap(jvp)", F.vmap(lambda x: F.jvp(f, (x,), (x,)))(y)
    yield "jvp(vmap)", F.jvp(F.vmap(f), (y,), (y,))
    yield "vmap(vmap)", F.vmap(F.vmap(f))(y)
    yield "jacrev", F.jacrev(f)(x)
    yield "jacfwd", F.jacfwd(f)(x)
    yield "hessian", F.hessian(loss)(x)
    yield "vmap(hessian)", F.vmap(F.hessian(loss))(y)
    yield "own vmap", F.vmap(product.apply, (0, None))(y, x)
    yield "own vmap twice", F.vmap(F.vmap(product.apply, (0, None)), (None, 0))(x, x)
    yield "own vmap of gradients", F.vmap(F.grad(lambda a, b: product.apply(a, b).sum(), (0, 1)), (0, None))(y, x)
    yield "gradient of a shared input", F.grad(lambda w: F.vmap(lambda x: marked.apply(x, w)[0].sum())(y).sum())(w)
    yield "gradients per sample of it", F.vmap(F.grad(lambda w, x: marked.apply(x, w)[0].sum()), (None, 0))(w, y)
    yield "no gradient of a marked output", F.vmap(F.grad(lambda x: (marked.apply(x, w)[1] + x).sum()))(y)


NAMES = [name for name, _ in uses(autolab)]


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_custom_functions_inside_transforms_give_pytorchs_numbers(torch, name):
    ours, theirs = (leaves(dict(uses(T))[name]) for T in (autolab, torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-5, 1e-5)


def test_a_vmap_is_told_the_number_of_samples_and_what_random_means():
    seen = []

    class Told(autolab.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
            return x * 1, 0

    func.vmap(Told.apply, randomness="same")(autolab.ones(4, 2))
    assert seen == [(4, "same", (0,), (4, 2))]


def test_tensors_made_inside_a_forward_belong_to_the_level_of_its_inputs():
    class Padded(autolab.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            out = x.new_zeros(3)
            out[:2] = x
            return out * autolab.ones(3)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g[:2] * 7

    x = autolab.tensor([1.0, 2.0])
    assert func.jacrev(Padded.apply)(x).tolist() == [[7, 0], [0, 7], [0, 0]]
    assert func.vmap(Padded.apply)(x.expand(2, 2)).tolist() == [[1, 2, 0], [1, 2, 0]]
    assert func.vmap(func.grad(lambda x: Padded.apply(x).sum()))(x.expand(2, 2)).tolist() == [[7, 7], [7, 7]]


@pytest.mark.parametrize(
    ("jvp", "phrase"),
    [
        (lambda ctx, t: (t, t), r"Function's jvp returned an invalid number of forward gradients \(expected 1 but got 2\)"),
        (lambda ctx, t: t[:1], r"Tensor is of size \[3\] while the given forward gradient is of size \[1\]"),
        (lambda ctx, t: 3.0, r"expected Variable or None \(got float\) for grad output 0"),
    ],
)
def test_a_jvp_that_does_not_fit_is_refused(jvp, phrase):
    class Wrong(autolab.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    Wrong.jvp = staticmethod(jvp)
    with pytest.raises(RuntimeError, match=phrase):
        func.jvp(Wrong.apply, (autolab.ones(3),), (autolab.ones(3),))


def writes_in_place(mark):
    """A Function that doubles its argument where it lies."""

    class Doubled(autolab.autograd.Function):
        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            if mark:
                ctx.mark_dirty(inputs[0])
            else:
                ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2)

    return Doubled.apply


def test_a_function_may_write_into_its_argument_inside_a_transform():
    doubled, x = writes_in_place(True), autolab.tensor([1.0, 2.0])
    f = lambda x: doubled(x.clone()) ** 2
    assert func.grad(lambda x: f(x).sum())(x).tolist() == [8.0, 16.0]
    tangent = autolab.ones(2)
    assert func.jvp(f, (x,), (tangent,))[1].tolist() == [8.0, 16.0] and tangent.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("run", [lambda f, x: f(x), lambda f, x: func.grad(lambda x: f(x.clone()).sum())(x)])
def test_an_input_that_is_the_output_cannot_be_saved_as_both(run):
    with pytest.raises(RuntimeError, match="An input that has been returned as-is as output is being saved"):
        run(writes_in_place(False), autolab.ones(2))


def test_nodes_of_functions_inside_transforms_bear_pytorchs_name():
    names = []
    func.grad(lambda x: (names.append(writes_in_place(True)(x.clone()).grad_fn.name()), x.sum())[1])(autolab.ones(2))
    assert names == ["DoubledGeneratedBackward"]


def test_a_function_may_write_to_a_view_inside_a_transform():
    class Tripled(autolab.autograd.Function):
        @staticmethod
        def forward(x):
            return x.mul_(3)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 5 * g  # no derivative of its forward could be mistaken for it

    def f(x):
        y = x * 2
        row = y[0]
        Tripled.apply(row)
        return (y * autolab.tensor([[1.0], [10.0]])).sum() + row.sum()

    x = autolab.ones(2, 3)
    assert f(x) == 3 * 6 + 3 * 20 + 3 * 6
    assert func.grad(f)(x).tolist() == [[20.0] * 3, [20.0] * 3]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_vmap_rule_is_told_along_which_dim_the_samples_of_an_input_run(dim):
    class Same(autolab.autograd.Function):
        @staticmethod
        def forward(x, pair):
            return x, pair

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, pair):
            told.append((in_dims, tuple(x.shape)))
            return (x, pair), in_dims

    x, told = autolab.arange(12.0).reshape(3, 4), []
    a, (b, c) = func.vmap(Same.apply, (dim, 0))(x, [x.movedim(dim, 0), x.movedim(dim, 0)])
    func.vmap(lambda x: Same.apply(x * 1, []), dim)(x)
    samples = x.movedim(dim, 0)
    assert a.tolist() == b.tolist() == c.tolist() == samples.tolist()
    assert told == [((dim % 2, [0, 0]), (3, 4)), ((0, []), tuple(samples.shape))]


# -- where PyTorch's numbers are others, against finite differences --------------------------------------------------


def slopes(f, x, step=1e-5):
    """The Jacobian of f by central differences."""
    columns = []
    for k in range(x.size):
        d = np.zeros(x.size)
        d[k] = step
        d = d.reshape(x.shape)
        columns.append((f(autolab.tensor(x + d)).numpy() - f(autolab.tensor(x - d)).numpy()) / (2 * step))
    return np.stack(columns, -1).reshape(*columns[0].shape, *x.shape)


class Sine(autolab.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0].cos()


@pytest.mark.parametrize("outer", [func.jacfwd, func.jacrev])
@pytest.mark.parametrize("inner", [func.jacfwd, func.jacrev])
def test_the_rules_of_a_function_are_differentiated_in_every_mode(inner, outer):
    x = np.array([0.3, -0.7])
    np.testing.assert_allclose(outer(inner(Sine.apply))(autolab.tensor(x)).numpy(), slopes(inner(Sine.apply), x), atol=1e-9)


NORMS = {
    "layer_norm": lambda x: autolab.nn.functional.layer_norm(x, (3,)),
    "batch_norm": lambda x: autolab.nn.functional.batch_norm(x, None, None, training=True),
    "instance_norm": lambda x: autolab.nn.functional.instance_norm(x[None]),
}


@pytest.mark.parametrize("outer", [func.jacfwd, func.jacrev])
@pytest.mark.parametrize("name", NORMS)
def test_the_tangent_of_a_normalization_can_be_differentiated(name, outer):
    x, t = np.random.default_rng(0).standard_normal((2, 4, 3))

    def tangent(x):
        return func.jvp(NORMS[name], (x,), (autolab.tensor(t),))[1]

    np.testing.assert_allclose(outer(tangent)(autolab.tensor(x)).numpy(), slopes(tangent, x), rtol=1e-6, atol=1e-6)
