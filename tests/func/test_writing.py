"""Writing in place inside transforms: as PyTorch has it, on boxes, through views, and down to the arrays."""

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.transforms.batched import loops

from .test_containers import matrix, vector

pytestmark = [pytest.mark.lesson13, pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")]


def a_view(T, x):
    y = x * 2
    y[0].mul_(x[1])
    y[1:].add_(y[0])
    return y


def the_base_of_a_view(T, x):
    y = x * 2
    part = y[1:]
    y.sin_()
    return part * y[:2]


def a_view_of_a_view(T, x):
    y = (x * 2).reshape(1, 3)
    y.T[1:][0].copy_(x[:1] ** 2)
    return y[0]


def zeros_from_here(T, x):
    y = T.zeros_like(x)
    y[:2] = x[1:] ** 3
    y[2] = 7.0
    return y + y[0]


def a_diagonal(T, x):
    y = x.new_zeros(3, 3)
    y.diagonal().copy_(x.exp())
    return y @ x


def a_constant(T, x):
    y = x * 2
    y[1].fill_(5.0)
    y[2].zero_()
    return y * x


def sister_views(T, x):
    y = x.sin()
    a, b = y[:2], y[1:]
    a.mul_(3)
    b.mul_(x[0])
    return a * b


def saved_and_written(T, x):
    y = x + 1
    y.mul_(x)  # saves what it overwrites
    return y.exp_() + x  # saves its result


def a_row_of_indices(T, x):
    y = x**2
    y[T.tensor([0, 2])] = x[:2]
    y[y > 100] = 0.0
    return y


def a_loop(T, x):
    total = x[0] * 0
    for part in x:
        total += part * part
    return total.reshape(1)


def a_detached_copy(T, x):
    y = x.detach().clone()
    y[0] = x[1]
    return y * x


def masked(T, x):
    return (x * 1).masked_fill_(x > 1.5, 0.5) * x


PROGRAMS = [
    a_view, the_base_of_a_view, a_view_of_a_view, zeros_from_here, a_diagonal, a_constant, sister_views, saved_and_written,
    a_row_of_indices, a_loop, a_detached_copy, masked,
]  # fmt: skip
# zeros of one sample cannot take what differs between samples; new_zeros and zeros_like can.
TRANSFORMS = {
    "jvp": lambda T, f: T.func.jvp(f, (vector(T),), (vector(T) + 1,)),
    "vjp": lambda T, f: T.func.jacrev(f)(vector(T)),
    "jacfwd": lambda T, f: T.func.jacfwd(f)(vector(T)),
    "hessian": lambda T, f: T.func.hessian(lambda x: f(x).sum())(vector(T)),
    "reverse over forward": lambda T, f: T.func.jacrev(T.func.jacfwd(lambda x: f(x).sum()))(vector(T)),
    "vmap": lambda T, f: T.func.vmap(f)(matrix(T)),
    "vmap over columns": lambda T, f: T.func.vmap(f, 1, 1)(T.stack([vector(T), vector(T) + 1, vector(T) / 2])),
    "vmap(grad)": lambda T, f: T.func.vmap(T.func.grad(lambda x: f(x).sum()))(matrix(T)),
    "grad(vmap)": lambda T, f: T.func.grad(lambda x: T.func.vmap(f)(x).sum())(matrix(T)),
    "vmap(jvp)": lambda T, f: T.func.vmap(lambda x: T.func.jvp(f, (x,), (x,))[1])(matrix(T)),
}


def leaves(x):
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple | list) else [x]


@pytest.mark.oracle
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_write_give_pytorchs_numbers(torch, program, transform):
    if program is a_row_of_indices and "vmap" in transform:
        pytest.skip("a mask picks another number of entries from each sample")
    loops.clear()
    ours = leaves(TRANSFORMS[transform](autolab, lambda x: program(autolab, x)))
    assert not loops
    theirs = leaves(TRANSFORMS[transform](torch, lambda x: program(torch, x)))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 1e-5)


def test_vmap_writes_into_its_argument():
    xs = autolab.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = func.vmap(lambda x: x.mul_(2))(xs)
    assert xs.tolist() == [[2, 4], [6, 8]] and out.equal(xs)


def test_jvp_writes_into_its_argument_and_moves_it():
    x = autolab.tensor([1.0, 2.0])
    out, moved = func.jvp(lambda x: x.mul_(3).sum(), (x,), (autolab.ones(2),))
    assert x.tolist() == [3, 6] and out == 9 and moved == 6


def test_a_write_is_counted_for_who_saved_the_value():
    def f(x):
        y = x * 2
        z = y.sin()  # saves y
        y[0].add_(1)
        return z.sum()

    for transform in (func.grad(f), func.vmap(func.grad(f))):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            transform(autolab.ones(2, 2))


def test_a_write_through_a_transform_reaches_the_graph_below():
    w = autolab.tensor(3.0, requires_grad=True)

    def f(x):
        y = x * w
        y[0].mul_(x[1])
        return y.sum()

    func.vmap(f)(autolab.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert w.grad == 1 * 2 + 2 + 3 * 4 + 4


def test_batches_of_index_tensors_write_each_into_its_own_sample():
    ys, at = matrix(autolab), autolab.tensor([0, 2])

    def f(y, i):
        out = y * 1
        out[i] = 0.0
        out[1 + i * 0] += y[i]
        return out

    assert func.vmap(f)(ys, at).tolist() == [[0, 3, 3], [4, 11, 0]]
    assert func.vmap(func.grad(lambda y, i: f(y, i).sum()))(ys, at).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_box_can_look_at_itself_in_another_shape():
    def loss(w, x):
        y = (x @ w).squeeze_(0)
        y.unsqueeze_(-1).mul_(3)
        return (y**2).sum()

    w, x = autolab.randn(4, 2), autolab.randn(3, 1, 4)
    expected = autolab.stack([func.grad(loss)(w, one) for one in x])
    assert func.vmap(func.grad(loss), (None, 0))(w, x).allclose(expected)
    assert expected.allclose(autolab.stack([func.grad(lambda w, x: 9 * ((x @ w) ** 2).sum())(w, one) for one in x]))


def test_the_copy_of_a_captured_tensor_takes_what_is_differentiated():
    fixed = autolab.ones(2, 3)

    def f(x):
        room = fixed.clone()
        row = room[0]
        row.copy_(x * x)
        return room

    x = autolab.tensor([1.0, 2.0, 3.0])
    _, moved = autolab.func.jvp(f, (x,), (autolab.ones(3),))
    assert moved.tolist() == [[2.0, 4.0, 6.0], [0.0, 0.0, 0.0]]
    assert autolab.func.grad(lambda x: f(x).sum())(x).tolist() == [2.0, 4.0, 6.0]
    assert autolab.vmap(lambda fixed: autolab.func.grad(lambda x: fixed.clone().copy_(x).sum())(x))(fixed).shape == (2, 3)


@pytest.mark.parametrize("where", [0, 1, 2])
def test_strides_of_a_sample_look_into_the_memory_of_all(where):
    x = autolab.arange(30.0).reshape(3, 2, 5)
    across = x.movedim(where, 0)
    stride, n = across.stride()[1:], across.shape[1:]
    seen = autolab.vmap(lambda s: s.as_strided(n[::-1], stride[::-1]), where)(x)
    assert seen._base is not None
    assert seen._base is across.mT._base
    assert seen.tolist() == across.mT.tolist()


def test_each_sample_gets_room_with_these_strides():
    x = autolab.ones(3, 4, dtype=autolab.float64)
    room = autolab.vmap(lambda x: x.new_empty_strided((2, 3), (1, 2)), in_dims=1)(x)
    assert (room.shape, room.stride(), room.dtype) == ((4, 2, 3), (6, 1, 2), autolab.float64)
    assert autolab.vmap(autolab.vmap(lambda x: x.new_empty_strided((2,), (0,))))(x).stride() == (4, 1, 0)


def test_a_sample_may_turn_in_place():
    def turned(x):
        y = x * 1
        y.t_()
        y[0] = 5.0
        y.unsqueeze_(1)
        return y

    x = autolab.arange(24.0).reshape(3, 2, 4)
    assert autolab.vmap(turned)(x).tolist() == [turned(one).tolist() for one in x]
    gradient = autolab.func.grad(lambda x: (turned(x) ** 2).sum())
    assert autolab.vmap(gradient)(x).tolist() == [gradient(one).tolist() for one in x]
    given = x.clone()
    autolab.vmap(lambda x: x.t_().mul_(2))(given)
    assert given.tolist() == (2 * x).tolist()


def test_what_vmap_takes_in_and_gives_back_unchanged_is_the_same_tensor():
    x = autolab.ones(2, 3, 4)
    for dim in range(3):
        assert autolab.vmap(lambda x: x, dim, dim)(x) is x
        assert autolab.vmap(lambda x: x.mul_(2), dim, dim)(x) is x
    assert x.unique().tolist() == [8]
