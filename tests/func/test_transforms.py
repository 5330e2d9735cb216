"""Each transform with each of its arguments, against PyTorch's."""

import numpy as np
import pytest

import autolab

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")]

A = np.random.default_rng(0).standard_normal((4, 3))
B = np.random.default_rng(1).standard_normal((4, 3))


def product(a, b):
    return (a * b).sum(-1).sin()


def total(a, b):
    return product(a, b).sum()


def pair(a, b):
    return product(a, b), a.exp()


def with_aux(f):
    return lambda a, b: (f(a, b), {"a": a * 2, "both": (a, b)})


CALLS = {
    "grad": lambda F, a, b: F.grad(total)(a, b),
    "grad of the second": lambda F, a, b: F.grad(total, argnums=1)(a, b),
    "grad of the last": lambda F, a, b: F.grad(total, argnums=-1)(a, b),
    "grad of both": lambda F, a, b: F.grad(total, argnums=(1, 0))(a, b),
    "grad of a tuple of one": lambda F, a, b: F.grad(total, argnums=(0,))(a, b),
    "grad with aux": lambda F, a, b: F.grad(with_aux(total), has_aux=True)(a, b),
    "grad with keywords": lambda F, a, b: F.grad(lambda a, *, k: (a * k).sum())(a, k=b),
    "grad of what it does not use": lambda F, a, b: F.grad(lambda a, b: b.sum())(a, b),
    "grad of the identity": lambda F, a, b: F.grad(lambda x: x)(a.sum()),
    "grad_and_value": lambda F, a, b: F.grad_and_value(total)(a, b),
    "grad_and_value with aux": lambda F, a, b: F.grad_and_value(with_aux(total), (0, 1), True)(a, b),
    "vjp": lambda F, a, b: F.vjp(product, a, b)[1](b[:, 0]),
    "vjp twice": lambda F, a, b: [F.vjp(product, a, b)[1](v) for v in (a[:, 1], b[:, 0])],
    "vjp of a pair": lambda F, a, b: F.vjp(pair, a, b)[1]((b[:, 0], b)),
    "vjp's output": lambda F, a, b: F.vjp(pair, a, b)[0],
    "vjp with aux": lambda F, a, b: F.vjp(with_aux(product), a, b, has_aux=True)[::2],
    "jvp": lambda F, a, b: F.jvp(product, (a, b), (b, a)),
    "jvp of a pair": lambda F, a, b: F.jvp(pair, (a, b), (b, a)),
    "jvp with aux": lambda F, a, b: F.jvp(with_aux(product), (a, b), (b, a), has_aux=True),
    "jvp of a constant": lambda F, a, b: F.jvp(lambda a: b, (a,), (a,)),
    "jacrev": lambda F, a, b: F.jacrev(product)(a, b),
    "jacrev of both": lambda F, a, b: F.jacrev(product, (0, 1))(a, b),
    "jacrev of a pair": lambda F, a, b: F.jacrev(pair, (0, 1))(a, b),
    "jacrev with aux": lambda F, a, b: F.jacrev(with_aux(product), has_aux=True)(a, b),
    "jacrev of a scalar": lambda F, a, b: F.jacrev(total)(a, b),
    "jacfwd": lambda F, a, b: F.jacfwd(product, 1)(a, b),
    "jacfwd of both": lambda F, a, b: F.jacfwd(product, (0, 1))(a, b),
    "jacfwd of a pair": lambda F, a, b: F.jacfwd(pair, (1, 0))(a, b),
    "jacfwd with aux": lambda F, a, b: F.jacfwd(with_aux(product), has_aux=True)(a, b),
    "jacfwd of a scalar's function": lambda F, a, b: F.jacfwd(lambda x: x * b)(a.sum()),
    "hessian": lambda F, a, b: F.hessian(total)(a, b),
    "hessian of both": lambda F, a, b: F.hessian(total, (0, 1))(a, b),
    "vmap": lambda F, a, b: F.vmap(product)(a, b),
    "vmap over columns": lambda F, a, b: F.vmap(product, in_dims=1)(a, b),
    "vmap over the last": lambda F, a, b: F.vmap(product, in_dims=-1)(a, b),
    "vmap over different dims": lambda F, a, b: F.vmap(lambda x, y: x.outer(y), in_dims=(0, 1))(a, b.T),
    "vmap with a shared argument": lambda F, a, b: F.vmap(product, in_dims=(0, None))(a, b[0]),
    "vmap to the last dim": lambda F, a, b: F.vmap(lambda x: x * 2, out_dims=-1)(a),
    "vmap to two dims": lambda F, a, b: F.vmap(lambda x, y: (x.outer(y), x), out_dims=(1, 0))(a, b),
    "vmap with a constant output": lambda F, a, b: F.vmap(lambda x: (x, b), out_dims=(0, None))(a),
    "vmap with a spread output": lambda F, a, b: F.vmap(lambda x: b)(a),
    "vmap with keywords": lambda F, a, b: F.vmap(lambda x, *, scale: x * scale)(a, scale=3),
    "vmap of nothing": lambda F, a, b: F.vmap(lambda x: x.softmax(0).cumsum(0))(a[:0]),
    "vmap in vmap": lambda F, a, b: F.vmap(F.vmap(lambda x, y: x * y, (0, None)), (None, 0))(a[0], b[1]),
    "vmap over an index": lambda F, a, b: F.vmap(lambda x, i: x[i], (None, 0))(b, a.argmax(1)),
    "vmap with item assignment spelled out": lambda F, a, b: F.vmap(lambda x: x.roll(1).flip(0).repeat(2))(a),
}


def leaves(x):
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple | list) else [x]


def structure(x):
    if isinstance(x, dict):
        return {k: structure(v) for k, v in x.items()}
    return tuple(structure(item) for item in x) if isinstance(x, tuple | list) else None


@pytest.mark.parametrize("name", CALLS)
def test_structure_and_numbers_are_pytorchs(torch, name):
    ours = CALLS[name](autolab.func, autolab.tensor(A), autolab.tensor(B))
    theirs = CALLS[name](torch.func, torch.tensor(A), torch.tensor(B))
    assert structure(ours) == structure(theirs)
    for a, b in zip(leaves(ours), leaves(theirs), strict=True):
        assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-10, 1e-12)


def test_dtypes_promote_inside_vmap_as_they_do_alone(torch):
    def run(T):
        scalars, vector = T.ones(2, dtype=T.float64), T.ones(3, dtype=T.float32)
        return T.func.vmap(lambda s: s * vector)(scalars), T.func.vmap(lambda s: vector + s.int())(scalars)

    assert [str(t.dtype) for t in run(autolab)] == [str(t.dtype) for t in run(torch)]


JOINED = {
    "d * i": "float64", "i * d": "float64", "i + d": "float64", "torch.maximum(i, d)": "float64", "torch.atan2(i, d)": "float64",
    "i ** d": "float64", "i * 2.5": "float32", "i > d": "bool", "i.clone().mul_(d)": "float32", "torch.ones(3) * d * i": "float32",
    "torch.ones(3, dtype=torch.float64) * i": "float64", "n * i": "float32", "n * torch.tensor(2)": "int64", "n.double() * i": "float64",
}  # fmt: skip


@pytest.mark.parametrize("call", JOINED)
def test_samples_of_no_dims_are_joined_as_numbers_of_no_dims(lib, call):
    def f(i, n):
        return eval(call, {"torch": lib, "i": i, "n": n, "d": lib.tensor(0.5, dtype=lib.float64)})

    i, n = lib.arange(2.0), lib.arange(2, dtype=lib.int32)
    assert str(lib.func.vmap(f)(i, n).dtype) == f"torch.{JOINED[call]}"
    assert str(lib.func.vmap(lib.func.vmap(f))(i[None], n[None]).dtype) == f"torch.{JOINED[call]}"
