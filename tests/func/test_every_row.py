"""Every row in every mode: forward mode against backward and against PyTorch, vmap against a loop, and both nested in reverse mode.

With AUTOLAB_SHAPES=first, each sample has the first of its shapes only: enough where the same runs without shortcuts.
"""

import os

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.transforms.batched import loops

from ..rules.samples import SAMPLES

# log(0) is -inf without a word, as in PyTorch, whose forward mode loads something that warns of itself.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore::RuntimeWarning:autolab\."),
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]

SHAPES = slice(1 if os.environ.get("AUTOLAB_SHAPES") == "first" else None)
CASES = [pytest.param(s, case, id=f"{s.row}-{k}-{case}") for k, s in enumerate(SAMPLES) for case in s.cases.split("; ")[SHAPES]]
WITH_RULES = [p for p in CASES if p.values[0].differentiable()]
# The mean of nothing is nan, whatever moves.
FINITE = [p for p in WITH_RULES if not (p.values[0].row == "mean" and "0" in p.values[1])]
SMALL = [p for p in WITH_RULES if "0" not in p.values[1]]
FIRST_OF_ROW = {s.row: s for s in reversed(SAMPLES)}


def few(cases):
    """Enough to nest two transforms: the first case of each sample, and of each row all cases of its first sample."""
    return [p for p in cases if p.values[1] == p.values[0].cases.split("; ")[0] or p.values[0] is FIRST_OF_ROW[p.values[0].row]]


NESTED = few(SMALL)
SIZE = 3


def floats(arrays):
    return tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")


def of_floats(call, T, arrays):
    """The expression as a function of its floating inputs, and those inputs."""
    inputs, places = [T.tensor(a) for a in arrays], floats(arrays)

    def f(*xs):
        full = dict(enumerate(inputs)) | dict(zip(places, xs))
        return call(T, *full.values())

    return f, tuple(inputs[i] for i in places)


def directions(T, tensors, seed=7):
    rng = np.random.default_rng(seed)
    return tuple(T.tensor(rng.standard_normal(tuple(t.shape)), dtype=t.dtype) for t in tensors)


def inner(us, vs):
    return sum(float((u.double() * v.double()).sum()) for u, v in zip(us, vs))


def close(ours, theirs, rtol=1e-9, atol=1e-11):
    ours, theirs = (np.asarray(t.detach()) if hasattr(t, "detach") else t for t in (ours, theirs))
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol, atol)


@pytest.mark.parametrize(("sample", "case"), FINITE)
def test_jvp_is_the_transpose_of_vjp(sample, case):
    f, xs = of_floats(sample.here, autolab, sample.arrays(case))
    if not xs:
        pytest.skip("the sample has no floating input")
    vs = directions(autolab, xs)
    out, back = func.vjp(f, *xs)
    (u,) = directions(autolab, [out], seed=8)
    tolerance = 1e-6 if sample.row == "to" else 1e-9
    for moving in patterns(xs):
        some = tuple(xs[i] for i in moving)
        alone = lambda *given, moving=moving: f(*(dict(enumerate(xs)) | dict(zip(moving, given))).values())
        same, tangent = func.jvp(alone, some, tuple(vs[i] for i in moving))
        close(same, out)
        assert tangent.dtype == out.dtype and tangent.shape == out.shape
        expected = inner([back(u)[i] for i in moving], [vs[i] for i in moving])
        assert inner([tangent], [u]) == pytest.approx(expected, rel=tolerance, abs=tolerance)


# copy and fill write into an input; PyTorch's forward mode takes products in a scatter for constants; with class weights PyTorch's forward mode knows derivatives that its backward does not.
# It has no forward mode for the last three.
def is_pytorchs(sample, case):
    return sample.row not in ("copy", "fill", "scatter_prod", "igamma", "igammac", "zeta") and (
        sample.row != "binary_cross_entropy_with_logits" or len(case.split()) < 4
    )


@pytest.mark.oracle
@pytest.mark.parametrize(("sample", "case"), [p for p in SMALL if is_pytorchs(*p.values)])
def test_jvp_is_pytorchs(torch, sample, case):
    arrays = sample.arrays(case)
    f, xs = of_floats(sample.here, autolab, arrays)
    theirs, their_xs = of_floats(sample.expression, torch, arrays)
    if not xs:
        pytest.skip("the sample has no floating input")
    for a, b in zip(func.jvp(f, xs, directions(autolab, xs)), torch.func.jvp(theirs, their_xs, directions(torch, their_xs)), strict=True):
        close(a, b.numpy())


def patterns(arrays):
    """Which inputs move, or have samples of their own: all of them; and each alone, the others shared."""
    everything = tuple(range(len(arrays)))
    return [everything, *((i,) for i in everything if len(arrays) > 1)]


def stacks(sample, case, mapped, dtype=np.float64, first=0):
    """Inputs with samples stacked in front where mapped; in_dims; and the inputs of each sample alone. Other numbers for another `first`."""
    one = sample.arrays(case, first, dtype)
    many = [sample.arrays(case, seed, dtype) for seed in range(first, first + SIZE)]
    full = [np.stack([m[i] for m in many]) if i in mapped else a for i, a in enumerate(one)]
    alone = [[m[i] if i in mapped else a for i, a in enumerate(one)] for m in many]
    tensors = [autolab.tensor(a) for a in full]
    return tensors, tuple(0 if i in mapped else None for i in range(len(one))), [[autolab.tensor(a) for a in m] for m in alone]


@pytest.mark.parametrize(
    ("sample", "case", "dtype"),
    [pytest.param(*p.values, d, id=f"{p.id}-{d}") for d, ps in (("float64", CASES), ("float32", few(CASES))) for p in ps],
)
def test_vmap_is_a_loop_without_a_loop(sample, case, dtype):
    rtol = 1e-10 if dtype == "float64" else 2e-5
    for mapped in patterns(sample.arrays(case)):
        full, in_dims, alone = stacks(sample, case, mapped, dtype)
        if sample.row in ("copy", "fill") and 0 not in mapped:
            continue  # writes samples into a shared tensor
        loops.clear()
        result = func.vmap(lambda *xs: sample.here(autolab, *xs), in_dims)(*full)
        assert not loops
        one_by_one = [sample.here(autolab, *xs) for xs in alone]
        assert result.dtype == one_by_one[0].dtype
        close(result, np.stack([t.numpy() for t in one_by_one]), rtol, atol=rtol / 10)


@pytest.mark.parametrize(("sample", "case"), [p for p in NESTED if floats(p.values[0].arrays(p.values[1]))])
def test_what_a_rule_calls_inside_vmap_is_noted_for_any_numbers(sample, case):
    def loss(*xs):
        return sample.here(autolab, *xs).double().sin().sum()

    places = floats(sample.arrays(case))
    for mapped in patterns(sample.arrays(case)):
        for first in (0, 10, 20):  # the first time the shapes are remembered, the second time the calls are noted
            full, in_dims, alone = stacks(sample, case, mapped, first=first)
            expected = [func.grad(loss, places)(*xs) for xs in alone]
            for k, g in enumerate(func.vmap(func.grad(loss, places), in_dims)(*full)):
                close(g, np.stack([e[k].numpy() for e in expected]))


@pytest.mark.parametrize(("sample", "case"), NESTED)
def test_vmap_and_grad_nest_both_ways_without_a_loop(sample, case):
    def loss(*xs):
        return sample.here(autolab, *xs).double().sin().sum()

    places = floats(sample.arrays(case))
    for mapped in patterns(sample.arrays(case)):
        full, in_dims, alone = stacks(sample, case, mapped)
        own, shared = (tuple(i for i in places if (i in mapped) is has) for has in (True, False))
        gradients = [func.grad(loss, places)(*xs) for xs in alone] if places else []
        by_place = {i: np.stack([g[k].numpy() for g in gradients]) for k, i in enumerate(places)}
        loops.clear()
        if own:
            for i, g in zip(own, func.vmap(func.grad(loss, own), in_dims)(*full)):
                close(g, by_place[i])
            total = func.grad(lambda *xs, d=in_dims: func.vmap(loss, d)(*xs).sum(), own)(*full)
            for i, g in zip(own, total):
                close(g, by_place[i])
        if shared:
            total = func.grad(lambda *xs, d=in_dims: func.vmap(loss, d)(*xs).sum(), shared)(*full)
            for i, g in zip(shared, total):
                close(g, by_place[i].sum(0))
        assert not loops


@pytest.mark.parametrize(("sample", "case"), NESTED)
def test_forward_over_reverse_is_reverse_over_forward(sample, case):
    f, xs = of_floats(sample.here, autolab, sample.arrays(case))
    leaves = [x.clone().requires_grad_() for x in xs]
    if not leaves or not f(*leaves).requires_grad:
        pytest.skip("the sample has no floating input that a rule differentiates")
    found = autolab.autograd.grad(f(*leaves).sum(), leaves, allow_unused=True)
    free = tuple(i for i, g in enumerate(found) if g is not None)  # class weights and the like have no rule
    everything, xs = xs, tuple(xs[i] for i in free)
    vs, every = directions(autolab, xs), tuple(range(len(xs)))

    def loss(*xs):
        full = dict(enumerate(everything)) | dict(zip(free, xs))
        return f(*full.values()).double().sin().sum()

    def moved(*xs):
        return func.jvp(loss, xs, vs)[1]

    tolerance = 1e-5 if sample.row == "to" else 1e-9
    forward = func.jvp(func.grad(loss, every), xs, vs)[1]
    for a, b in zip(forward, func.grad(moved, every)(*xs), strict=True):
        close(a, b, rtol=tolerance, atol=tolerance)


def stacked(sample, case, i, *lead):
    """The i-th input of many samples, along leading axes."""
    arrays = [sample.arrays(case, seed)[i] for seed in range(int(np.prod(lead)))]
    return autolab.tensor(np.stack(arrays).reshape(*lead, *arrays[0].shape))


NOT_WRITING = [p for p in few(CASES) if p.values[0].row not in ("copy", "fill")]


@pytest.mark.parametrize(("sample", "case"), NOT_WRITING)
def test_vmap_in_vmap_is_two_loops(sample, case):
    f, n = (lambda *xs: sample.here(autolab, *xs)), len(sample.arrays(case))
    xs = [stacked(sample, case, i, 2, SIZE) for i in range(n)]
    expected = np.stack([np.stack([f(*[x[a, b] for x in xs]).numpy() for b in range(SIZE)]) for a in range(2)])
    loops.clear()
    close(func.vmap(func.vmap(f))(*xs), expected)
    close(func.vmap(func.vmap(f), 1, 1)(*xs), expected)
    # The first input has samples in the outer batch only, the others in the inner.
    ys = [x[:, 0] if i == 0 else x[0] for i, x in enumerate(xs)]
    shared = (None,) * (n - 1)
    if n > 1:
        expected = np.stack([np.stack([f(ys[0][a], *[y[b] for y in ys[1:]]).numpy() for b in range(SIZE)]) for a in range(2)])
        close(func.vmap(func.vmap(f, (None, *(0,) * (n - 1))), (0, *shared))(*ys), expected)
    assert not loops


@pytest.mark.parametrize(("sample", "case"), NESTED)
def test_forward_mode_and_vmap_nest_both_ways(sample, case):
    n, places = len(sample.arrays(case)), floats(sample.arrays(case))
    if not places:
        pytest.skip("the sample has no floating input")
    xs = [stacked(sample, case, i, SIZE) for i in range(n)]
    vs = directions(autolab, [xs[i] for i in places])

    def push(f, xs, vs):
        full = lambda *moving: f(*(dict(enumerate(xs)) | dict(zip(places, moving))).values())
        return func.jvp(full, tuple(xs[i] for i in places), tuple(vs))[1]

    f = lambda *xs: sample.here(autolab, *xs)
    expected = np.stack([push(f, [x[k] for x in xs], [v[k] for v in vs]).numpy() for k in range(SIZE)])
    close(func.vmap(lambda *a: push(f, a[:n], a[n:]))(*xs, *vs), expected)
    close(push(func.vmap(f), xs, vs), expected)


@pytest.mark.parametrize(("sample", "case"), NESTED)
def test_forward_and_reverse_give_one_jacobian(sample, case):
    f, xs = of_floats(sample.here, autolab, sample.arrays(case))
    if not xs:
        pytest.skip("the sample has no floating input")
    every, tolerance = tuple(range(len(xs))), (1e-6 if sample.row == "to" else 1e-9)
    for a, b in zip(func.jacfwd(f, every)(*xs), func.jacrev(f, every)(*xs), strict=True):
        close(a.double(), b.double(), rtol=tolerance, atol=tolerance)
