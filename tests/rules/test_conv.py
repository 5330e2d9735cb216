"""Convolutions lay out what their taps see in one of several ways: they all say the same."""

import numpy as np
import pytest

from autolab.fast.kernels import conv as kernels
from autolab.rules import conv as rows

SETTINGS = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}


def by_definition(x, weight):
    """Sums over windows, group by group; and the windows."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)))
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, :, :, ::2]
    seen, weight = seen.reshape(len(x), 2, -1, *seen.shape[2:]), weight.reshape(2, -1, *weight.shape[1:])
    return np.einsum("ngcyxij,gocij->ngoyx", seen, weight).reshape(len(x), -1, *seen.shape[3:5]), seen


@pytest.mark.parametrize("value", [1, 10**6])
@pytest.mark.parametrize("name", [None, "ENTRIES", "FOR_WEIGHT", "PLACES", "TAPS", "FEW"])
def test_a_convolution_and_its_gradients_do_not_depend_on_the_layout(rng, monkeypatch, name, value):
    if name is not None:
        monkeypatch.setattr(kernels, name, value)
    x, other, weight = rng.normal(size=(3, 4, 9, 7)), rng.normal(size=(3, 4, 9, 7)), rng.normal(size=(6, 2, 3, 2))
    expected, seen = by_definition(x, weight)
    g = rng.normal(size=expected.shape)
    np.testing.assert_allclose(rows.conv(x, weight, np.arange(6.0), **SETTINGS), expected + np.arange(6.0)[:, None, None])
    gw = np.einsum("ngcyxij,ngoyx->gocij", seen, g.reshape(3, 2, 3, *g.shape[2:])).reshape(weight.shape)
    np.testing.assert_allclose(rows.conv_weight(g, x, kernel=(3, 2), **SETTINGS), gw)
    gx = rows.conv_input(g, weight, shape=(9, 7), **SETTINGS)
    assert np.sum(gx * other) == pytest.approx(np.sum(g * by_definition(other, weight)[0]))


@pytest.mark.parametrize("way", [rows.conv, rows.conv_values], ids=["fast", "plain"])
def test_no_sample_at_all_gives_none(way):
    settings = dict(SETTINGS, groups=1)
    assert way(np.zeros((0, 2, 9, 7)), np.ones((6, 2, 3, 2)), None, **settings).shape == (0, 6, 5, 9)
    back = {rows.conv: rows.conv_input, rows.conv_values: rows.conv_input_values}[way]
    assert back(np.zeros((0, 6, 5, 9)), np.ones((6, 2, 3, 2)), shape=(9, 7), **settings).shape == (0, 2, 9, 7)
