"""Starting values: their spread follows from the shape, and writing them is not recorded."""

import math

import pytest


def spread(t):
    return (t * t).mean().item() ** 0.5


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("kaiming_uniform_", {}, math.sqrt(2 / 300)),
        ("kaiming_uniform_", {"a": math.sqrt(5)}, math.sqrt(2 / 6 / 300)),
        ("kaiming_normal_", {"nonlinearity": "relu"}, math.sqrt(2 / 300)),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}, 5 / 3 / math.sqrt(200)),
        ("xavier_uniform_", {}, math.sqrt(2 / 500)),
        ("xavier_normal_", {"gain": 3.0}, 3 * math.sqrt(2 / 500)),
        ("uniform_", {"a": -1.0, "b": 1.0}, math.sqrt(1 / 3)),
        ("normal_", {"mean": 0.0, "std": 2.0}, 2.0),
        ("constant_", {"val": 0.5}, 0.5),
        ("ones_", {}, 1.0),
        ("zeros_", {}, 0.0),
    ],
)
def test_the_spread_is_as_said(lib, name, settings, expected):
    w = lib.nn.Parameter(lib.empty(200, 300))
    assert getattr(lib.nn.init, name)(w, **settings) is w
    assert w.is_leaf and spread(w.detach()) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("name", ["tanh", "relu", "leaky_relu", "selu", "linear", "sigmoid", "conv2d"])
def test_gains_are_pytorchs(torch, name):
    import autolab

    assert autolab.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)


def test_what_has_no_fan_is_refused(lib):
    with pytest.raises(ValueError, match="Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"):
        lib.nn.init.xavier_uniform_(lib.empty(3))
    with pytest.raises(ValueError, match="Unsupported nonlinearity x"):
        lib.nn.init.calculate_gain("x")
