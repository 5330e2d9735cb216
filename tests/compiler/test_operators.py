"""PyTorch's sample inputs of its operators: compiled, each gives what eager mode gives, on other numbers than it was traced with."""

import itertools
import warnings

import numpy as np
import pytest

import autolab
from autolab.compiler import api, compile

from ..oracle import compare

pytestmark = pytest.mark.oracle
SAMPLES = 2
UNCOMPARABLE = (
    "rand",
    "empty",
    "dropout",
    "bernoulli",
    "normal",
    "multinomial",
    "uniform",
    "cauchy",
    "exponential",
    "geometric",
    "rrelu",
    "resize",
    "fractional",
    "multi_head",
)


def another(value, scale):
    """The same nest of arguments with fresh leaves: floats that require grad scaled, whole numbers (indices) turned round."""
    if isinstance(value, autolab.Tensor):
        t = value.detach().clone()
        if value.requires_grad:
            t = (t * scale).detach()
        elif scale != 1 and t.dtype is autolab.int64 and t.ndim:
            t = t.flip(0)
        return t.requires_grad_(value.requires_grad)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[another(v, scale) for v in value])
    if isinstance(value, list | tuple):
        return type(value)(another(v, scale) for v in value)
    return {k: another(v, scale) for k, v in value.items()} if isinstance(value, dict) else value


def results(function, args, kwargs):
    """The tensors that a call gives, then the gradients of its inputs."""
    inputs = [t for t in compare.leaves(args, kwargs) if t.requires_grad]
    outs = list(compare.leaves(function(*args, **kwargs)))
    roots = [o for o in outs if o.requires_grad]
    if not roots or not inputs:
        return outs
    incoming = [autolab.tensor(np.random.default_rng(i).standard_normal(tuple(o.shape)), dtype=o.dtype) for i, o in enumerate(roots)]
    return [*outs, *autolab.autograd.grad(roots, inputs, incoming, allow_unused=True)]


def same(a, b):
    if a is None or b is None:
        return a is b
    return (a.shape, a.dtype, a.requires_grad) == (b.shape, b.dtype, b.requires_grad) and np.allclose(
        compare.numbers(a), compare.numbers(b), rtol=1e-9, atol=1e-9, equal_nan=True
    )


def test_every_operator_compiled_is_the_operator(torch):
    wrong, compiled = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, info in compare.operators().items():
            function = None if any(word in name for word in UNCOMPARABLE) else compare.here(info)
            if function is None or torch.float64 not in info.supported_dtypes("cpu"):
                continue
            with_grad = torch.float64 in info.supported_backward_dtypes("cpu")
            for i, sample in enumerate(itertools.islice(info.sample_inputs("cpu", torch.float64, requires_grad=with_grad), SAMPLES)):
                try:
                    args, kwargs = compare.ours((sample.input, *sample.args)), compare.ours(sample.kwargs)
                    expected = [results(function, another(args, k), another(kwargs, k)) for k in (1.0, 0.9)]
                except Exception:  # what eager mode does not take is told elsewhere
                    continue
                f = compile(function)
                found = [results(f, another(args, k), another(kwargs, k)) for k in (1.0, 0.9)]
                compiled += any(isinstance(p, api.Program) for p in f._compiled.programs[True])
                if not all(len(a) == len(b) and all(map(same, a, b)) for a, b in zip(expected, found, strict=True)):
                    wrong.append(f"{name} {i}: {compare.describe(sample)}")
    assert wrong == []
    assert compiled > 400
