"""Attention in blocks: several heads, or some queries of one head, at a time."""

import os
import tracemalloc

import numpy as np
import pytest

import autolab
from autolab.rules import nn as rows

if os.environ.get("AUTOLAB_FAST") == "0":
    pytest.skip("without kernels there is nothing to compare", allow_module_level=True)

from autolab.fast.kernels import nn as kernels

pytestmark = pytest.mark.speed


@pytest.mark.parametrize("room", [1, 7, 40, 100, 10_000])  # a query at a time, a few, a head, two heads, all
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "source"), [(6, 6), (3, 7), (7, 3)])
@pytest.mark.parametrize("size", [1, 1000], ids=["moderate", "large scores"])
def test_blocks_give_what_the_formula_gives(room, causal, length, source, size, rng, monkeypatch):
    monkeypatch.setattr(kernels, "ROOM", room)
    xs = [rng.standard_normal((2, 3, n, 4)) for n in (length, source, source)]
    xs[0] *= size
    g = rng.standard_normal((2, 3, length, 4))
    out = kernels.whole_attention(*xs, scale=0.5, causal=causal)
    np.testing.assert_allclose(out, rows.attended(*xs, scale=0.5, causal=causal), rtol=1e-9, atol=1e-12)
    found, expected = kernels.whole_attention_back(g, xs, out, 0.5, causal), rows.attention_rule(g, xs, out, 0.5, causal)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("room", [7, 40, 10_000])
def test_heads_that_lie_beside_each_other_are_not_copied(room, rng, monkeypatch):
    monkeypatch.setattr(kernels, "ROOM", room)
    xs = list(rng.standard_normal((2, 6, 3, 3, 4)).transpose(2, 0, 3, 1, 4))  # of (N, L, 3, H, E), as one product gives them
    g = rng.standard_normal((2, 6, 3, 4)).swapaxes(1, 2)
    out = kernels.whole_attention(*xs, scale=0.5, causal=True)
    np.testing.assert_allclose(out, rows.attended(*xs, scale=0.5, causal=True), rtol=1e-9)
    found, expected = kernels.whole_attention_back(g, xs, out, 0.5, True), rows.attention_rule(g, xs, out, 0.5, True)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert all(made.swapaxes(1, 2).flags.c_contiguous for made in (out, *found))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_stays_where_the_formula_has_it(bad, rng, monkeypatch):
    monkeypatch.setattr(kernels, "ROOM", 12)
    xs = [rng.standard_normal((1, 2, 6, 4)) for _ in range(3)]
    xs[0][0, 1, 2, 3] = bad
    out, expected = kernels.whole_attention(*xs, scale=0.5, causal=True), rows.attended(*xs, scale=0.5, causal=True)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))


def test_all_weights_are_never_there_at_once():
    heads, length = 2, 1024
    q = autolab.randn(1, heads, length, 8, requires_grad=True)
    autolab.nn.functional.scaled_dot_product_attention(q[:, :, :8], q[:, :, :8], q[:, :, :8])  # what is made once
    tracemalloc.start()
    autolab.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < heads * length * length * 4 / 2
