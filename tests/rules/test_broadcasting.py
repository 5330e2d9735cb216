"""Rows that work entry by entry, in random shapes that broadcast."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import autolab
from autolab.rules import TABLE

from .samples import SAMPLES
from .test_table import agree, run

ELEMENTWISE = [
    pytest.param(s, id=f"{s.row}-{k}")
    for k, s in enumerate(SAMPLES)
    if TABLE[s.row].kind == "elementwise" and s.differentiable() and len(s.cases.split(";")[0].split()) > 1 and s.row not in ("copy", "fill", "prelu", "binary_cross_entropy", "huber_loss")  # whose functions want one size, or write into it
    and "v" not in s.expression.__code__.co_varnames  # masked_fill takes a number
]  # fmt: skip


@pytest.mark.filterwarnings(r"ignore::RuntimeWarning:autolab\.")
@pytest.mark.parametrize("sample", ELEMENTWISE)
def test_any_shapes_that_broadcast(torch, sample):
    inputs = len(sample.cases.split(";")[0].split())
    shapes = mutually_broadcastable_shapes(num_shapes=inputs, max_dims=3, min_side=0, max_side=3)

    @settings(derandomize=True, max_examples=20, deadline=None, database=None)
    @given(shapes)
    def compare(broadcastable):
        if sample.row in ("masked_fill", "keep", "keep_at", "straight_at"):  # whose result has the shape of the first input, or of both
            broadcastable = broadcastable._replace(input_shapes=(broadcastable.result_shape, *broadcastable.input_shapes[1:]))
        arrays = sample.draws(broadcastable.input_shapes)
        out, ours = run(autolab, sample.here, sample.tensors(autolab, arrays))
        _, theirs = run(torch, sample.expression, sample.tensors(torch, arrays))
        assert tuple(out.shape) == broadcastable.result_shape
        for a, b in zip(ours, theirs, strict=False):
            agree(a, b, rtol=1e-9, atol=1e-11)

    compare()


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((2, 3), (2, 4)), ((2, 3), (3, 2)), ((0,), (2,))])
@pytest.mark.parametrize("name", ["add", "mul", "maximum", "pow", "where"])
def test_shapes_that_do_not_broadcast_are_named_with_both_shapes(name, shapes):
    x, y = (autolab.tensor(np.ones(s), requires_grad=True) for s in shapes)
    args = (x.detach() > 0, x, y) if name == "where" else (x, y)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(\d\) must match the size of tensor b \(\d\) at non-singleton") as error:
        getattr(autolab, name)(*args)
    assert all(str(list(s)) in str(error.value) for s in shapes)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("stretch", [
    lambda T, b, x: x + b, lambda T, b, x: x * b, lambda T, b, x: b.expand(5000, 3), lambda T, b, x: T.nn.functional.linear(x[:, :1] * 0, b[:, None], b),
    lambda T, b, x: x * b[0],
])  # fmt: skip
def test_gradients_of_what_was_stretched_add_up_in_float32(stretch, dtype):
    b = autolab.zeros(3, dtype=getattr(autolab, dtype), requires_grad=True)
    x = autolab.ones(5000, 3, dtype=b.dtype)
    stretch(autolab, b, x).backward(autolab.full((5000, 3), 0.125, dtype=b.dtype))
    assert b.grad.dtype == b.dtype
    assert abs(b.grad[0].item() / (625 if b.grad[1] else 1875) - 1) < 0.004
