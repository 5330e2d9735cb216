"""The table: every law that a row has to keep, for every row, on the samples beside this file."""

from itertools import zip_longest

import numpy as np
import pytest

import autolab
from autolab.autograd import grad, gradcheck, gradgradcheck
from autolab.engine.node import edge_of
from autolab.rules import TABLE, complex_matrix, complex_numbers, fourier
from autolab.torch_api.special import NO_HALVES

from .samples import SAMPLES, Sample

# log(0) is -inf without a word, as in PyTorch; `autolab` sees to that for its users.
pytestmark = pytest.mark.filterwarnings(r"ignore::RuntimeWarning:autolab\.")

CASES = [pytest.param(s, case, id=f"{s.row}-{k}-{case}") for k, s in enumerate(SAMPLES) for case in s.cases.split("; ")]
FIRST = [pytest.param(s, s.cases.split("; ")[0], id=f"{s.row}-{k}") for k, s in enumerate(SAMPLES)]
WITH_RULES = [p for p in CASES if p.values[0].differentiable()]
FIRST_WITH_RULES = [p for p in FIRST if p.values[0].differentiable()]
HALVES = ["float16", "bfloat16"]
# Whole matrices and some special functions are not computed with in 16 bits, here as in PyTorch.
NOT_NARROW = {"to", *NO_HALVES}
NARROW = [
    p for p in FIRST_WITH_RULES if p.values[0].row not in NOT_NARROW and TABLE[p.values[0].row].forward.__module__ != "autolab.rules.matrix"
]
SMALL = [p for p in WITH_RULES if "0" not in p.values[1]]


def run(T, call, inputs):
    """Result, gradients and second gradients, None where there are none. The weights are the same on both sides."""
    asked = [t for t in inputs if t.requires_grad]
    out = call(T, *inputs)
    result = [out]
    if out.requires_grad:
        first = T.autograd.grad(weighed(T, out, 1), asked, create_graph=True, allow_unused=True)
        result += first
        first = [g for g in first if g is not None and g.requires_grad]
        if first:
            total = sum(weighed(T, g, k) for k, g in enumerate(first, 2))
            result += T.autograd.grad(total, asked, allow_unused=True)
    return out, [None if t is None else t.detach() for t in result]


def weighed(T, t, seed):
    weights = np.random.default_rng(seed).standard_normal(tuple(t.shape)).astype(np.float64)
    return (t * T.tensor(weights, dtype=t.dtype)).sum()


def agree(ours, theirs, rtol, atol):
    """None stands for a gradient of zeros: either side may know that there is none."""
    if ours is None and theirs is None:
        return
    theirs = None if theirs is None else theirs.numpy(force=True)
    ours = None if ours is None else ours.numpy()
    ours = np.zeros_like(theirs) if ours is None else ours
    theirs = np.zeros_like(ours) if theirs is None else theirs
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol, atol)


def rows_of(tensor):
    """The rows of the table that made a result, from its graph. Its edges are walked, for `next_functions` shows PyTorch's nodes."""
    stack, rows = [edge_of(tensor)], set()
    while stack:
        edge = stack.pop()
        if edge is not None:
            rows.add(edge[0].op and edge[0].op.name)
            stack += edge[0].edges
    return rows


# Rows without a second derivative, in PyTorch too: tests/nn/test_ctc.py; without any: tests/linalg/test_indefinite.py.
ELSEWHERE = {"ctc_loss", "ctc_loss_back", "ldl_factor", "ldl_solve"}
# Rows of complex numbers: test_complex.py, and tests/linalg; of Fourier transforms: tests/fft.
ELSEWHERE |= {
    row.name for row in TABLE.values() if row.forward.__module__ in {m.__name__ for m in (complex_matrix, complex_numbers, fourier)}
}


def test_every_row_has_a_sample():
    assert [name for name in TABLE if name not in {s.row for s in SAMPLES} | ELSEWHERE] == []


@pytest.mark.parametrize(("sample", "case"), FIRST_WITH_RULES)
def test_the_sample_runs_its_row(sample: Sample, case):
    arrays = sample.arrays(case)
    assert sample.row in rows_of(sample.here(autolab, *sample.tensors(autolab, arrays)))


@pytest.mark.parametrize(("sample", "case"), CASES)
def test_value_gradients_and_second_gradients_are_pytorchs(torch, sample: Sample, case):
    arrays = sample.arrays(case)
    out, ours = run(autolab, sample.here, sample.tensors(autolab, arrays))
    expected, theirs = run(torch, sample.expression, sample.tensors(torch, arrays))
    if out.requires_grad and not sample.named:
        assert out.grad_fn.name() == expected.grad_fn.name()
    for a, b in zip_longest(ours, theirs):
        agree(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("sample", "case"), FIRST)
def test_float32_values_and_gradients_are_pytorchs(torch, sample: Sample, case):
    arrays = sample.arrays(case, dtype=np.float32)
    _, ours = run(autolab, sample.here, sample.tensors(autolab, arrays))
    _, theirs = run(torch, sample.expression, sample.tensors(torch, arrays))
    for a, b in zip_longest(ours, theirs):
        agree(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("sample", "case"), WITH_RULES)
def test_float32_in_float32_gradients_out(sample: Sample, case):
    inputs = sample.tensors(autolab, sample.arrays(case, dtype=np.float32))
    _, results = run(autolab, sample.here, inputs)
    assert {r.dtype for r in results if r is not None} == {autolab.float32}


@pytest.mark.parametrize(("sample", "case"), [p for p in SMALL if p.values[0].row != "to"])
def test_rules_agree_with_finite_differences_twice(sample: Sample, case):
    inputs = sample.tensors(autolab, sample.arrays(case, seed=3))
    call = lambda *xs: sample.here(autolab, *xs)
    few = sum(t.numel() for t in inputs) <= 40  # else directions are compared, not each entry with each
    assert gradcheck(call, inputs, fast_mode=not few)
    if any(g is not None and g.requires_grad for g in grad(call(*inputs).sum(), [t for t in inputs if t.requires_grad],
                                                           create_graph=True, allow_unused=True)):  # fmt: skip
        assert gradgradcheck(call, inputs, fast_mode=not few)


@pytest.mark.parametrize(("sample", "case"), [p for p in FIRST if np.prod([len(c) for c in p.values[1].split()]) > 1])
def test_memory_order_changes_nothing(sample: Sample, case):
    inputs = sample.tensors(autolab, sample.arrays(case))
    _, c = run(autolab, sample.here, inputs)
    turned = [autolab.from_numpy(np.array(t.detach().numpy(), order="F")).requires_grad_(t.requires_grad) for t in inputs]
    _, f = run(autolab, sample.here, turned)
    for a, b in zip(c, f, strict=True):
        assert (a is None and b is None) or np.allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("sample", "case"), NARROW)
def test_half_precision_stays_half_precision(sample: Sample, case, dtype):
    inputs = sample.tensors(autolab, sample.arrays(case), dtype=getattr(autolab, dtype))
    asked = [t for t in inputs if t.requires_grad]
    out = sample.here(autolab, *inputs)
    gradients = grad(out.sum(), asked, allow_unused=True)
    exact = sample.here(autolab, *[t.detach().double() if t.is_floating_point() else t for t in inputs])
    assert {str(t.dtype) for t in (out, *gradients) if t is not None} == {f"torch.{dtype}"}
    np.testing.assert_allclose(out.detach().double().numpy(), exact.numpy(), rtol=0.1, atol=0.1)
