"""Gradients that are clipped at once are what they are one by one."""

import math

import numpy as np
import pytest

import autolab
from autolab.fast import clip
from autolab.nn.utils import clip_grad_norm_, get_total_norm

pytestmark = pytest.mark.speed
SHAPES = (5, 3), (7,), (), (300, 300), (1, 4)


def parameters(dtype=autolab.float32):
    autolab.manual_seed(0)
    found = [autolab.zeros(shape, dtype=dtype, requires_grad=True) for shape in SHAPES]
    for p in found:
        p.grad = autolab.randn(p.shape, dtype=dtype)
    return found


def clipped(params, max_norm, norm_type, at_once, monkeypatch):
    monkeypatch.setattr(clip, "ON", at_once)
    return clip_grad_norm_(params, max_norm, norm_type).numpy(), [p.grad.numpy() for p in params], [p.grad._version for p in params]


@pytest.mark.parametrize("dtype", [autolab.float32, autolab.float64])
@pytest.mark.parametrize(("max_norm", "norm_type"), [(1.0, 2.0), (1e6, 2.0), (0.5, 1.0), (2.0, math.inf)])
def test_the_norm_and_the_gradients_are_those_of_one_after_the_other(max_norm, norm_type, dtype, monkeypatch):
    norms, grads, versions = zip(*[clipped(parameters(dtype), max_norm, norm_type, on, monkeypatch) for on in (True, False)])
    np.testing.assert_allclose(norms[0], norms[1], rtol=4 * np.finfo(norms[1].dtype).eps)
    assert norms[0].dtype == norms[1].dtype and versions[0] == versions[1]
    for mine, right in zip(*grads, strict=True):
        np.testing.assert_allclose(mine, right, rtol=8 * np.finfo(right.dtype).eps)


def test_a_gradient_whose_entries_share_memory_is_refused_as_before():
    p = autolab.zeros(4, requires_grad=True)
    p.grad = autolab.ones(1).expand(4)
    with pytest.raises(RuntimeError, match="more than one element"):
        clip_grad_norm_([p], 0.1)


def test_a_gradient_that_lies_across_is_clipped_where_it_lies():
    p = autolab.zeros(4, 3, requires_grad=True)
    p.grad = autolab.randn(3, 4).T
    memory = p.grad.numpy()
    clip_grad_norm_([p], 0.1)
    assert get_total_norm([p.grad]).item() == pytest.approx(0.1, rel=1e-4)
    assert np.shares_memory(memory, p.grad.numpy())


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_norm_that_is_no_number_is_still_noticed(bad):
    with pytest.raises(RuntimeError, match="non-finite"):
        get_total_norm([autolab.tensor([1.0, bad])], error_if_nonfinite=True)
