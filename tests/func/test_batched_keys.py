"""Index tensors that differ between samples, functions that look at numbers, and gradients for many directions at once."""

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.transforms.batched import loops

# PyTorch warns where it runs in a loop.
pytestmark = [
    pytest.mark.lesson13,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]

A = np.arange(24.0).reshape(2, 3, 4)
I = np.array([[0, 2], [1, -1]], np.int64)  # two samples of two indices

KEYS = {
    "one": lambda T, a, i: a[i[0]],
    "several": lambda T, a, i: a[i],
    "in a later dim": lambda T, a, i: a[:, i],
    "pairs": lambda T, a, i: a[i, i + 1],
    "apart": lambda T, a, i: a[None, i, :, None],
    "with an array": lambda T, a, i: a[T.tensor([0, 1]), i],
    "with a slice": lambda T, a, i: a[1:, i],
    "with an integer": lambda T, a, i: a[2, i],
    "broadcast": lambda T, a, i: a[i[:, None], i],
    "take": lambda T, a, i: a.take(i),
    "gather": lambda T, a, i: a.gather(0, i.abs().unsqueeze(1)),
    "index_select": lambda T, a, i: a.index_select(0, i.abs()),
    "take_along_dim": lambda T, a, i: T.take_along_dim(a, i.abs().unsqueeze(1), 0),
    "written": lambda T, a, i: put(a, i, -1.0),
    "written with a vector": lambda T, a, i: put(a, (slice(None), i), a[:, :2] * 10),
    "index_put": lambda T, a, i: a.index_put((i,), a[:2] * 10),
    "index_put, added": lambda T, a, i: a.index_put((i * 0 + 1,), a[:2] * 10, accumulate=True),
    "index_add": lambda T, a, i: a.index_add(0, i.abs(), a[:2]),
    "index_fill": lambda T, a, i: a.index_fill(0, i.abs(), 7.0),
    "index_copy": lambda T, a, i: a.index_copy(0, i.abs(), a[1:]),
    "scatter": lambda T, a, i: a.scatter(0, i.abs().unsqueeze(1), -1.0),
    "put": lambda T, a, i: a.put(i, a[0, :2] * 10),
    "masked_scatter": lambda T, a, i: a.masked_scatter(a % 2 == 0, a * 10),
}


def put(a, key, value):
    out = a * 1
    out[key] = value
    return out


@pytest.mark.oracle
@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_each_samples_own_is_a_loop_without_a_loop(torch, name):
    def run(T, over):
        return over(lambda a, i: KEYS[name](T, a, i))(T.tensor(A), T.tensor(I))

    one_by_one = lambda f: lambda a, i: autolab.stack([f(x, k) for x, k in zip(a, i, strict=True)])
    loops.clear()
    together = run(autolab, func.vmap)
    assert not loops
    assert together.equal(run(autolab, one_by_one))
    if name != "written with a vector":  # which PyTorch refuses inside vmap alone
        np.testing.assert_array_equal(together.numpy(), run(torch, torch.func.vmap).numpy())


@pytest.mark.parametrize("name", [n for n in KEYS if n not in ("index_fill",)])
def test_gradients_go_through_keys_of_each_samples_own(name):
    a, i = autolab.tensor(A), autolab.tensor(I)
    loss = lambda a, i: (KEYS[name](autolab, a, i) ** 2).sum()
    each = autolab.stack([func.grad(loss)(x, k) for x, k in zip(a, i, strict=True)])
    assert func.vmap(func.grad(loss))(a, i).allclose(each)
    assert func.grad(lambda a: func.vmap(loss)(a, i).sum())(a).allclose(each)


def test_samples_of_keys_into_one_shared_tensor():
    a, i = autolab.tensor(A[0]), autolab.tensor(I)
    assert func.vmap(lambda a, i: a[i], (None, 0))(a, i).equal(autolab.stack([a[k] for k in i]))


LOOKING = {
    "searchsorted": lambda x: autolab.searchsorted(x.sort()[0], x),
    "bucketize": lambda x: autolab.bucketize(x, autolab.tensor([3.0, 9.0], dtype=x.dtype)),
    "histc": lambda x: autolab.histc(x, 3, 0, 30),
}


@pytest.mark.parametrize("name", LOOKING)
def test_what_looks_at_numbers_runs_for_each_sample_and_is_counted(name):
    xs = autolab.tensor(A[0])
    expected = autolab.stack([LOOKING[name](x) for x in xs])
    inside_grad = lambda x: func.vjp(lambda y: (y, LOOKING[name](y)), x, has_aux=True)[2]
    for f in (LOOKING[name], inside_grad):
        loops.clear()
        assert func.vmap(f)(xs).equal(expected)
        assert set(loops) == {name}


@pytest.mark.parametrize(
    "look", [lambda x: x.nonzero(), lambda x: x.tolist(), lambda x: autolab.nn.functional.one_hot(x.long()), lambda x: x.to(int)[x > 0]]
)
def test_numbers_of_one_sample_are_not_those_of_all(look):
    with pytest.raises(RuntimeError, match="vmap"):
        func.vmap(look)(autolab.ones(2, 3))


def test_many_directions_in_one_pass():
    x = autolab.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y, directions = x**2, autolab.eye(3)
    expected = autolab.diag(2 * x.detach())
    (rows,) = autolab.autograd.grad(y, x, directions, is_grads_batched=True, retain_graph=True)
    assert rows.equal(expected)
    each = func.vmap(lambda v: autolab.autograd.grad(y, x, v, retain_graph=True)[0])(directions)
    assert each.equal(expected)
    (rows,) = autolab.autograd.grad(y, x, directions, is_grads_batched=True, create_graph=True)
    (second,) = autolab.autograd.grad(rows.sum(), x)
    assert second.tolist() == [2, 2, 2]


def test_directions_of_several_outputs_and_unused_inputs():
    x, w = (autolab.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    found = autolab.autograd.grad(
        (x * 2, x.sum()), (x, w), (autolab.ones(3, 2), autolab.arange(3.0)), is_grads_batched=True, allow_unused=True
    )
    assert found[0].tolist() == [[2, 2], [3, 3], [4, 4]] and found[1] is None
    with pytest.raises(ValueError, match="is_grads_batched=True"):
        autolab.autograd.grad((x * 2, x.sum()), x, (autolab.ones(3, 2), autolab.ones(2)), is_grads_batched=True)
