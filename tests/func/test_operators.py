"""Every operator of PyTorch's database, on its own samples: vmap is a loop, jvp is the transpose of vjp, and both nest.

What PyTorch's functorch tests do with it. The values themselves are compared with PyTorch's in tests/oracle.
"""

import itertools

import numpy as np
import pytest

import autolab
from autolab import func
from autolab.autograd.pytree import flatten, unflatten
from autolab.transforms.batched import loops

from ..oracle.compare import RANDOM, here, leaves, operators, ours

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SAMPLES = 1  # of each operator; all of 4 pass, in two minutes

# Inside vmap they would need the numbers of one sample, or a result of another shape for each; PyTorch refuses most of them too.
REFUSED = set(
    "allclose argwhere equal geqrf histogramdd item linspace#1 nonzero nonzero_static unique unique_consecutive linalg.pinv "
    "native_batch_norm nn.functional.batch_norm nn.functional.batch_norm#1 nn.functional.instance_norm".split()  # shared statistics
)
# They look at numbers and have no derivative: they run for each sample and are counted.
ONE_BY_ONE = {"bucketize", "histc", "histogram", "isin", "searchsorted", "nn.functional.ctc_loss"}
# Forward and backward differ on purpose, as in PyTorch: at places named twice, for 16-bit floats, for a variance of one number; or there
# is not a derivative (unique).
NO_TRANSPOSE = set(
    "unique unique_consecutive bfloat16 half nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d std#1 "
    "std_mean#1 var_mean#1".split()
)
ONCE = {"nn.functional.ctc_loss"}  # has no second derivative
FREE_PHASE = {"linalg.eig"}  # the parts of an eigenvector have no derivative
WITHOUT_FIRST = {"igamma", "igammac"}  # have no derivative for their first input, and refuse to give one
WITHOUT = {"linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"}  # have none at all


def runs(sample, f):
    """The sample as a function of its floats, giving a list of tensors, of complex numbers their parts; and these floats.

    None if it cannot be called.
    """
    try:
        args, kwargs = ours((sample.input, *sample.args)), ours(sample.kwargs)
        f(*args, **kwargs)
    except Exception:  # what is not there is told in tests/oracle
        return None
    values, form = flatten((args, kwargs))
    places = [i for i, t in enumerate(values) if isinstance(t, autolab.Tensor) and t.is_floating_point()]

    def call(*xs):
        args, kwargs = unflatten((dict(enumerate(values)) | dict(zip(places, xs, strict=True))).values(), form)
        return [autolab.view_as_real(t) if t.is_complex() else t for t in leaves(f(*args, **kwargs))]

    return (call, [values[i] for i in places]) if places else None


def samples(torch, name, info):
    """The calls that can be made here, of the first samples."""
    if here(info) is None or info.name in RANDOM or name.endswith("scaled_dot_product_attention"):
        return []
    torch.manual_seed(0)
    try:
        # info.sample_inputs would look through the call stack for each sample, which takes longer than all the rest.
        found = list(itertools.islice(info.sample_inputs_func(info, "cpu", torch.float64, False), SAMPLES))
    except Exception:  # an operator of other dtypes
        return []
    return [one for one in (runs(sample, here(info)) for sample in found) if one is not None]


OPERATORS = operators()


@pytest.fixture(scope="module")
def calls(torch):
    """The calls of each operator, made once."""
    made = {}
    return lambda name: made.setdefault(name, samples(torch, name, OPERATORS[name]))


def close(ours, theirs, tolerance):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance)


def stacked(*results):
    return [autolab.stack(list(parts)) for parts in zip(*results, strict=True)]


def other(x):
    """A second sample, near enough to be as valid."""
    return x * 0.999


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in REFUSED])
def test_vmap_is_a_loop_over_the_samples(calls, name):
    loops.clear()
    for call, xs in calls(name):
        pairs = [autolab.stack([x, other(x)]) for x in xs]
        close(func.vmap(call)(*pairs), stacked(call(*xs), call(*map(other, xs))), 1e-7)
        if len(xs) > 1:
            close(func.vmap(lambda x: call(x, *xs[1:]))(pairs[0]), stacked(call(*xs), call(other(xs[0]), *xs[1:])), 1e-7)
            close(func.vmap(lambda x: call(*xs[:-1], x))(pairs[-1]), stacked(call(*xs), call(*xs[:-1], other(xs[-1]))), 1e-7)
    assert not loops or name in ONE_BY_ONE


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in NO_TRANSPOSE | ONCE | WITHOUT_FIRST | WITHOUT | FREE_PHASE])
def test_jvp_is_the_transpose_of_vjp(calls, name):
    for call, xs in calls(name):
        leaf = [x.clone().requires_grad_() for x in xs]
        outs = call(*leaf)
        places = [i for i, o in enumerate(outs) if o.requires_grad]
        if not places:
            continue
        normal = lambda t, seed: autolab.tensor(np.random.default_rng(seed).standard_normal(tuple(t.shape)), dtype=t.dtype)
        vs, us = [normal(x, 5) for x in xs], [normal(outs[i], 9) for i in places]
        back = autolab.autograd.grad([outs[i] for i in places], leaf, us, allow_unused=True)
        moved = func.jvp(call, tuple(xs), tuple(vs))[1]
        left = sum(float((moved[i] * u).sum()) for i, u in zip(places, us, strict=True))
        right = sum(float((g * v).sum()) for g, v in zip(back, vs, strict=True) if g is not None)
        np.testing.assert_allclose(left, right, 1e-6, 1e-6)


@pytest.mark.parametrize("name", sorted(WITHOUT_FIRST | WITHOUT))
def test_a_derivative_that_nobody_has_is_refused_in_both_directions(calls, name):
    for call, xs in calls(name)[:1]:
        for transform in (lambda f: func.grad(lambda *ys: f(*ys)[0].sum())(*xs), lambda f: func.jvp(f, tuple(xs), tuple(xs))):
            with pytest.raises(
                NotImplementedError, match=f"the derivative for '{name.replace('.', '_')}[_ex]*(: input)?' is not implemented"
            ):
                transform(call)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in REFUSED | ONCE | WITHOUT_FIRST | WITHOUT | FREE_PHASE])
def test_a_gradient_for_each_sample_is_a_loop_of_gradients(calls, name):
    for call, xs in calls(name):
        places = [i for i, o in enumerate(call(*[x.clone().requires_grad_() for x in xs])) if o.requires_grad]
        if not places:
            continue
        loss = lambda *xs: sum(o.sin().sum() for i, o in enumerate(call(*xs)) if i in places)
        gradient = func.grad(loss, tuple(range(len(xs))))
        pairs = [autolab.stack([x, other(x)]) for x in xs]
        close(func.vmap(gradient)(*pairs), stacked(gradient(*xs), gradient(*map(other, xs))), 1e-6)
