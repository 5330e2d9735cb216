"""Arguments and results in containers, on both sides: the same forms, the same numbers."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from functools import partial

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.autograd.pytree import flatten, spread, unflatten

# PyTorch's own linearize warns of itself.
pytestmark = [
    pytest.mark.lesson13,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]

Pair = namedtuple("Pair", "a b")


def vector(T):
    return T.tensor([1.0, 2.0, 3.0])


def matrix(T):
    return T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def of(use):
    return lambda T: use(T, T.func, vector(T), matrix(T))


PROGRAMS = {
    "grad of a dict": of(lambda T, F, x, y: F.grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x * 2]})),
    "grad of a named tuple": of(lambda T, F, x, y: F.grad(lambda p: (p.a * p.b).sum())(Pair(x, x))),
    "grad of two trees": of(lambda T, F, x, y: F.grad(lambda a, b: (a["x"] * b[0]).sum(), argnums=(1, 0))({"x": x}, (x,))),
    "grad counted from the end": of(lambda T, F, x, y: F.grad(lambda a, b: (a * b).sum(), argnums=-1)(x, x * 3)),
    "grad with aux": of(lambda T, F, x, y: F.grad(lambda a: ((a**2).sum(), {"k": a * 2, "l": [a]}), has_aux=True)(x)),
    "grad and value with aux": of(lambda T, F, x, y: F.grad_and_value(lambda a: ((a**2).sum(), (a * 2,)), has_aux=True)(x)),
    "vjp of a dict": of(
        lambda T, F, x, y: F.vjp(lambda d: {"o": d["a"] * 2, "p": (d["a"].sum(),)}, {"a": x})[1]({"o": x, "p": (T.tensor(1.0),)})
    ),
    "vjp of two": of(lambda T, F, x, y: F.vjp(lambda a, b: (a * b, a + b), x, x * 2)[1]((x, x))),
    "vjp of a list": of(lambda T, F, x, y: F.vjp(lambda a: [a, a * 2], x)[1]([x, x])),
    "vjp's output": of(lambda T, F, x, y: F.vjp(lambda a: OrderedDict(s=a), x)[0]),
    "jvp of a dict": of(lambda T, F, x, y: F.jvp(lambda d: {"o": d["a"] * 2}, ({"a": x},), ({"a": x},))),
    "jvp with aux": of(lambda T, F, x, y: F.jvp(lambda d: (d * 2, {"z": d}), (x,), (x,), has_aux=True)),
    "jacrev of a dict": of(lambda T, F, x, y: F.jacrev(lambda d, e: {"o": d["a"] * 2 * e}, argnums=(0,))({"a": x}, x)),
    "jacfwd of a dict": of(lambda T, F, x, y: F.jacfwd(lambda d, e: {"o": d["a"] * 2 * e}, argnums=(0,))({"a": x}, x)),
    "jacrev of both": of(lambda T, F, x, y: F.jacrev(lambda d, e: (d * e, d.sum()), argnums=(0, 1))(x, x)),
    "jacrev in chunks": of(lambda T, F, x, y: F.jacrev(lambda d: d**2, chunk_size=2)(x)),
    "jacfwd with aux": of(lambda T, F, x, y: F.jacfwd(lambda d: (d * 2, d * 3), has_aux=True)(x)),
    "hessian of a dict": of(lambda T, F, x, y: F.hessian(lambda d: (d["a"] ** 3).sum())({"a": x[:2]})),
    "hessian of both": of(lambda T, F, x, y: F.hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(x[:1], x[:1])),
    "vmap over a dict": of(lambda T, F, x, y: F.vmap(lambda d: {"o": d["a"] * d["b"]}, in_dims=({"a": 0, "b": 0},))({"a": y, "b": y})),
    "vmap over all in a dict": of(lambda T, F, x, y: F.vmap(lambda d: OrderedDict(o=d["a"], s=d["b"].sum()))({"a": y, "b": y})),
    "vmap over a part": of(lambda T, F, x, y: F.vmap(lambda a, b: a[0] * b * a[1].sum(), in_dims=((0, None), 0))((y, y), y)),
    "vmap to nested dims": of(lambda T, F, x, y: F.vmap(lambda d: (d, [d.sum(), (d,)]), out_dims=(1, [0, (1,)]))(y)),
    "vmap to one dim for all": of(lambda T, F, x, y: F.vmap(lambda d: (d, [d, (d,)]), out_dims=1)(y)),
    "vmap with keywords": of(lambda T, F, x, y: F.vmap(lambda a, s: a * s.sum())(y, s=y)),
    "vmap with something else": of(lambda T, F, x, y: F.vmap(lambda a: (a, "hi", None), out_dims=(0, None, None))(y)),
    "vmap to a constant": of(lambda T, F, x, y: F.vmap(lambda a: T.tensor(3.14))(y)),
    "vmap of a tuple of one": of(lambda T, F, x, y: F.vmap(lambda a: a, out_dims=(1,))(y)),
    "vmap in chunks": of(lambda T, F, x, y: F.vmap(lambda a: (a * 2, a.sum()), chunk_size=1, out_dims=(1, 0))(y)),
    "vmap over chunks of another dim": of(lambda T, F, x, y: F.vmap(lambda a: {"o": a * 2}, in_dims=1, chunk_size=2)(y)),
    "vmap of no sample": of(lambda T, F, x, y: F.vmap(lambda a: a * 2)(T.ones(0, 3))),
    "vmap of a partial": of(lambda T, F, x, y: F.vmap(partial(T.mul, x))(y)),
    "linearize": of(lambda T, F, x, y: (lambda o, push: (o, push(x), push(2 * x)))(*F.linearize(lambda a: a.sin() * a, x))),
    "linearize a dict": of(
        lambda T, F, x, y: (lambda o, push: (o, push({"a": x})))(*F.linearize(lambda d: {"z": d["a"] ** 2, "s": d["a"].sum()}, {"a": x}))
    ),
    "all columns of a linearization": of(lambda T, F, x, y: F.vmap(F.linearize(lambda a: a**2, x)[1])(T.eye(3))),
}


def same(ours, theirs):
    if isinstance(ours, autolab.Tensor):
        assert ours.shape == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-6, 1e-6)
        return
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        same(list(ours.values()), list(theirs.values()))
    elif isinstance(ours, tuple | list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_forms_and_numbers_are_pytorchs(torch, name):
    same(PROGRAMS[name](autolab), PROGRAMS[name](torch))


FORMS = [
    3,
    None,
    (1, [2, (3,)], {"a": 4, "b": [5]}),
    OrderedDict(b=1, a=2),
    defaultdict(list, a=1, b=[2]),
    deque([1, 2], maxlen=2),
    Pair(1, (2,)),
    (),
    {},
]


@pytest.mark.parametrize("x", FORMS, ids=repr)
def test_a_container_is_put_together_again_as_it_was(x):
    leaves, form = flatten(x)
    again = unflatten(leaves, form)
    assert again == x and type(again) is type(x) and form.size == len(leaves)
    assert getattr(again, "maxlen", None) == getattr(x, "maxlen", None)


def test_a_form_is_written_as_the_containers_alone():
    assert repr(flatten((1, [2], {"a": (3,)}, Pair(4, None)))[1]) == "(*, [*], {'a': (*,)}, Pair(*, *))"


def test_a_value_is_spread_over_the_leaves_below_it():
    form = flatten((1, (2, [3, 4])))[1]
    assert spread(0, form) == [0, 0, 0, 0] and spread((0, 1), form) == [0, 1, 1, 1] and spread((0, (1, [2, 3])), form) == [0, 1, 2, 3]
    assert spread([0, 1], form) is None and spread((0,), form) is None and spread((0, (1, (2, 3))), form) is None


def test_linearize_runs_the_function_once():
    runs = []
    _, push = func.linearize(lambda x: runs.append(x.shape) or x.sin(), vector(autolab))
    push(vector(autolab))
    push(vector(autolab))
    assert runs == [(3,)]


def test_a_linearization_can_be_differentiated_and_batched():
    x = autolab.tensor([0.5, 1.5], dtype=autolab.float64)
    pushed = lambda x: func.linearize(lambda a: a**3, x)[1](x)  # 3 x^2 * x
    assert func.jacrev(pushed)(x).diagonal().allclose(9 * x**2)
    assert func.vmap(pushed)(x[None]).allclose(3 * x[None] ** 3)


def test_chunks_give_what_the_whole_batch_gives():
    xs = autolab.rand(7, 3)
    f = lambda x: (x.sin(), [x.sum(), x.outer(x)])
    whole = func.vmap(f, out_dims=(1, [0, 2]))(xs)
    for size in (1, 2, 3, 7, 9):
        parts = func.vmap(f, out_dims=(1, [0, 2]), chunk_size=size)(xs)
        assert parts[0].equal(whole[0]) and parts[1][0].equal(whole[1][0]) and parts[1][1].equal(whole[1][1])


def test_a_chunk_is_no_longer_than_asked():
    seen = []
    func.vmap(lambda x: seen.append(x.value.shape[0]) or x, chunk_size=3)(autolab.rand(8, 2))
    assert seen == [3, 3, 2]
